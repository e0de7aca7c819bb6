// Package addressguard says which addresses are private, this machine's own, or a cloud's metadata service. What people
// configure must not lead the service there unless the operator permits it.
package addressguard

import (
	"net"
	"net/netip"
	"slices"
	"sync"
	"time"

	"code.dny.dev/ssrf"
)

// OwnAddressesAge is the maximum age of the cached list of this machine's addresses: a
// new address is noticed after at most this time.
const OwnAddressesAge = 5 * time.Second

// metadata are the addresses of clouds' metadata services, which give out credentials.
var metadata = []netip.Prefix{
	netip.MustParsePrefix("169.254.169.254/32"),
	netip.MustParsePrefix("169.254.170.0/24"),   // AWS, tasks and pods
	netip.MustParsePrefix("168.63.129.16/32"),   // Azure's agent, DNS and health probes
	netip.MustParsePrefix("100.100.100.200/32"), // Alibaba
	netip.MustParsePrefix("192.0.0.192/32"),     // Oracle
	netip.MustParsePrefix("fd00:ec2::/32"),      // AWS
	netip.MustParsePrefix("fd20:ce::254/128"),   // Google
	netip.MustParsePrefix("fd00:42::42/128"),    // Scaleway
	netip.MustParsePrefix("169.254.42.42/32"),   // Scaleway
}

// translated are the networks of IPv6 in whose addresses translators and tunnels find one of IPv4, with the index of
// its first byte.
var translated = map[netip.Prefix]int{
	netip.MustParsePrefix("::/96"):           12, // IPv4-compatible
	netip.MustParsePrefix("::ffff:0:0:0/96"): 12, // SIIT
	netip.MustParsePrefix("64:ff9b::/96"):    12, // NAT64
	netip.MustParsePrefix("64:ff9b:1::/48"):  12, // NAT64 of a local network, with the usual prefixes of 96 bits
	netip.MustParsePrefix("2002::/16"):       2,  // 6to4
}

// IsMetadata reports whether an address belongs to a cloud's metadata service, also if a translator of addresses leads
// there.
func IsMetadata(addr netip.Addr) bool {
	for network, at := range translated {
		if network.Contains(addr) {
			bytes := addr.As16()
			addr = netip.AddrFrom4([4]byte(bytes[at : at+4]))
			break
		}
	}
	return slices.ContainsFunc(metadata, func(p netip.Prefix) bool { return p.Contains(addr) })
}

var public = ssrf.New(ssrf.WithAnyPort(), ssrf.WithAnyNetwork())

// CheckPublic returns an error, which names the address and the reason, unless an address is public.
func CheckPublic(addr netip.Addr) error {
	network := "tcp6"
	if addr.Is4() {
		network = "tcp4"
	}
	return public.Safe(network, netip.AddrPortFrom(addr, 443).String(), nil)
}

// OwnAddresses caches the addresses of this machine's interfaces. It is safe for
// concurrent use.
type OwnAddresses struct {
	List func() ([]net.Addr, error) // net.InterfaceAddrs, but for tests

	mu    sync.Mutex
	known map[netip.Addr]bool
	read  time.Time
}

// Has reports whether the machine has an address. The answer is at most
// OwnAddressesAge old. It returns an error if the addresses cannot be read.
func (o *OwnAddresses) Has(addr netip.Addr, now time.Time) (bool, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.known == nil || now.Sub(o.read) >= OwnAddressesAge {
		list, err := o.List()
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
