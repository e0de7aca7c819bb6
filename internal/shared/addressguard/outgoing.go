package addressguard

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"syscall"
	"time"

	"code.dny.dev/ssrf"
)

// ErrRefused means that an OutgoingGuard or Control rejected an address. The wrapping error says which one and why;
// only the operator may see it.
var ErrRefused = errors.New("messages may not go to this address")

// OutgoingGuard decides which addresses the messages of webhooks and of alert channels may be sent to. It is safe for
// concurrent use.
type OutgoingGuard struct {
	denied       []netip.Prefix
	allowPrivate bool
	public       *ssrf.Guardian
	own          OwnAddresses
}

// NewOutgoingGuard returns a guard that refuses denied networks (ALLSWELL_WEBHOOK_DENY) and the addresses of WhyNever.
// Unless allowPrivate is true (ALLSWELL_WEBHOOK_ALLOW_PRIVATE), it also refuses addresses that are not public, and this
// machine's own addresses.
func NewOutgoingGuard(denied []netip.Prefix, allowPrivate bool) *OutgoingGuard {
	return &OutgoingGuard{
		denied: denied, allowPrivate: allowPrivate, public: ssrf.New(ssrf.WithAnyPort()),
		own: OwnAddresses{List: net.InterfaceAddrs},
	}
}

// Control is the Control of a net.Dialer. The dialer calls it with each address before it connects, so an earlier DNS
// response cannot mislead it. The error wraps ErrRefused.
func (g *OutgoingGuard) Control(network, address string, _ syscall.RawConn) error {
	target, err := netip.ParseAddrPort(address)
	if err != nil {
		return fmt.Errorf("%w: %s: %w", ErrRefused, address, err)
	}
	addr := target.Addr().WithZone("").Unmap()
	if inAny(g.denied, addr) {
		return fmt.Errorf("%w: %s is in ALLSWELL_WEBHOOK_DENY", ErrRefused, addr)
	}
	if why := WhyNever(addr); why != "" {
		return fmt.Errorf("%w: %s: %s", ErrRefused, addr, why)
	}
	if g.allowPrivate {
		return nil
	}
	if err := g.public.Safe(network, address, nil); err != nil {
		return fmt.Errorf("%w: %w", ErrRefused, err)
	}
	own, err := g.own.Has(addr, time.Now())
	if err != nil {
		return fmt.Errorf("%w: this machine's own addresses cannot be read: %w", ErrRefused, err)
	}
	if own {
		return fmt.Errorf("%w: %s is this machine's own", ErrRefused, addr)
	}
	return nil
}

// Literal returns the error of Control for the host of a URL that is an IP address in the usual
// notation, and nil for names, which may resolve to another address at any time.
func (g *OutgoingGuard) Literal(host string) error {
	addr, err := netip.ParseAddr(host)
	if err != nil {
		return nil
	}
	network := "tcp6"
	if addr = addr.Unmap(); addr.Is4() {
		network = "tcp4"
	}
	return g.Control(network, netip.AddrPortFrom(addr, 443).String(), nil)
}

func inAny(networks []netip.Prefix, addr netip.Addr) bool {
	return slices.ContainsFunc(networks, func(p netip.Prefix) bool { return p.Contains(addr) })
}
