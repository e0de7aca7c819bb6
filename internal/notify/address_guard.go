package notify

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"sync"
	"syscall"
	"time"

	"code.dny.dev/ssrf"
)

// ownAddressesAge is the maximum age of the cached list of this machine's addresses: a
// new address is rejected after at most this time.
const ownAddressesAge = 5 * time.Second

// metadata are the addresses of cloud metadata services that look public. The others
// are private or link-local.
var metadata = []netip.Prefix{
	netip.MustParsePrefix("168.63.129.16/32"), // Azure's agent, DNS and health probes
}

// errRefusedAddress means that the guard rejected an address. The wrapping error says
// which one and why; only the operator may see it.
var errRefusedAddress = errors.New("webhooks may not go to this address")

// guard decides which addresses webhooks may connect to.
type guard struct {
	denied       []netip.Prefix // ALLSWELL_WEBHOOK_DENY
	allowPrivate bool
	public       *ssrf.Guardian
	own          ownAddresses
}

func newGuard(c Config) *guard {
	return &guard{
		denied: c.Deny, allowPrivate: c.AllowPrivate,
		public: ssrf.New(ssrf.WithAnyPort()), own: ownAddresses{list: net.InterfaceAddrs},
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
	if inAny(metadata, addr) {
		return fmt.Errorf("%w: %s is a cloud's metadata service", errRefusedAddress, addr)
	}
	own, err := g.own.has(addr, time.Now())
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

// ownAddresses caches the addresses of this machine's interfaces. It is safe for
// concurrent use.
type ownAddresses struct {
	list func() ([]net.Addr, error)

	mu    sync.Mutex
	known map[netip.Addr]bool
	read  time.Time
}

// has reports whether the machine has an address. The answer is at most
// ownAddressesAge old. It returns an error if the addresses cannot be read.
func (o *ownAddresses) has(addr netip.Addr, now time.Time) (bool, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.known == nil || now.Sub(o.read) >= ownAddressesAge {
		list, err := o.list()
		if err != nil {
			return false, err
		}
		o.known, o.read = make(map[netip.Addr]bool, len(list)), now
		for _, a := range list {
			if network, ok := a.(*net.IPNet); ok {
				if own, ok := netip.AddrFromSlice(network.IP); ok {
					o.known[own.Unmap()] = true
				}
			}
		}
	}
	return o.known[addr], nil
}
