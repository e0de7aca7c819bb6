package notify

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"syscall"
	"time"

	"code.dny.dev/ssrf"

	"github.com/allswell/allswell/internal/addressguard"
)

// errRefusedAddress means that the guard rejected an address. The wrapping error says
// which one and why; only the operator may see it.
var errRefusedAddress = errors.New("webhooks may not go to this address")

// guard decides which addresses webhooks may connect to.
type guard struct {
	denied       []netip.Prefix // ALLSWELL_WEBHOOK_DENY
	allowPrivate bool
	public       *ssrf.Guardian
	own          addressguard.OwnAddresses
}

func newGuard(c Config) *guard {
	return &guard{
		denied: c.Deny, allowPrivate: c.AllowPrivate,
		public: ssrf.New(ssrf.WithAnyPort()), own: addressguard.OwnAddresses{List: net.InterfaceAddrs},
	}
}

// control is the Control of a net.Dialer. The dialer calls it with each address before
// it connects, so an earlier DNS response cannot mislead it.
func (g *guard) control(network, address string, _ syscall.RawConn) error {
	target, err := netip.ParseAddrPort(address)
	if err != nil {
		return fmt.Errorf("%w: %s: %w", errRefusedAddress, address, err)
	}
	addr := target.Addr().WithZone("").Unmap()
	if inAny(g.denied, addr) {
		return fmt.Errorf("%w: %s is in ALLSWELL_WEBHOOK_DENY", errRefusedAddress, addr)
	}
	if g.allowPrivate {
		return nil
	}
	if err := g.public.Safe(network, address, nil); err != nil {
		return fmt.Errorf("%w: %w", errRefusedAddress, err)
	}
	if addressguard.IsMetadata(addr) {
		return fmt.Errorf("%w: %s is a cloud's metadata service", errRefusedAddress, addr)
	}
	own, err := g.own.Has(addr, time.Now())
	if err != nil {
		return fmt.Errorf("%w: this machine's own addresses cannot be read: %w", errRefusedAddress, err)
	}
	if own {
		return fmt.Errorf("%w: %s is this machine's own", errRefusedAddress, addr)
	}
	return nil
}

// literal returns the error of control for the host of a URL that is an IP address in the usual
// notation, and nil for names, which may resolve to another address at any time.
func (g *guard) literal(host string) error {
	addr, err := netip.ParseAddr(host)
	if err != nil {
		return nil
	}
	network := "tcp6"
	if addr = addr.Unmap(); addr.Is4() {
		network = "tcp4"
	}
	return g.control(network, netip.AddrPortFrom(addr, 443).String(), nil)
}

func inAny(networks []netip.Prefix, addr netip.Addr) bool {
	return slices.ContainsFunc(networks, func(p netip.Prefix) bool { return p.Contains(addr) })
}
