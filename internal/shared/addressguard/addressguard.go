// Package addressguard recognizes addresses that are private, belong to this machine, or to a cloud's metadata service.
// Addresses that people configure must not lead the service there unless the operator permits it.
package addressguard

import (
	"fmt"
	"net"
	"net/netip"
	"sync"
	"syscall"
	"time"

	"code.dny.dev/ssrf"
)

// OwnAddressesAge is the maximum age of the cached list of this machine's addresses: a
// new address is noticed after at most this time.
const OwnAddressesAge = 5 * time.Second

// metadata are the addresses of clouds' metadata services, which give out credentials, besides the link-local ones.
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

// noHost are the addresses that do not belong to one host.
var noHost = []netip.Prefix{
	netip.MustParsePrefix("0.0.0.0/8"),
	netip.MustParsePrefix("224.0.0.0/4"),
	netip.MustParsePrefix("255.255.255.255/32"),
	netip.MustParsePrefix("::/128"),
	netip.MustParsePrefix("ff00::/8"),
}

// translated are the IPv6 networks whose addresses contain an IPv4 address, which translators and tunnels use.
var translated = []struct {
	network netip.Prefix
	bytes   [4]int // indexes of the bytes of the IPv4 address
}{
	{netip.MustParsePrefix("::/96"), [4]int{12, 13, 14, 15}},           // IPv4-compatible
	{netip.MustParsePrefix("::ffff:0:0:0/96"), [4]int{12, 13, 14, 15}}, // SIIT
	{netip.MustParsePrefix("64:ff9b::/96"), [4]int{12, 13, 14, 15}},    // NAT64
	// NAT64 of a local network with a prefix of 48 bits (RFC 6052)
	{netip.MustParsePrefix("64:ff9b:1::/48"), [4]int{6, 7, 9, 10}},
	{netip.MustParsePrefix("64:ff9b:1::/48"), [4]int{7, 9, 10, 11}},      // 56
	{netip.MustParsePrefix("64:ff9b:1::/48"), [4]int{9, 10, 11, 12}},     // 64
	{netip.MustParsePrefix("64:ff9b:1::/48"), [4]int{12, 13, 14, 15}},    // 96
	{netip.MustParsePrefix("2002::/16"), [4]int{2, 3, 4, 5}},             // 6to4
	{netip.MustParsePrefix("2001::/32"), [4]int{4, 5, 6, 7}},             // Teredo: its server
	{netip.MustParsePrefix("::200:5efe:0:0/96"), [4]int{12, 13, 14, 15}}, // ISATAP without a prefix
	{netip.MustParsePrefix("::5efe:0:0/96"), [4]int{12, 13, 14, 15}},
}

// WhyNever returns why nothing may ever connect to an address, whatever the operator permits, such as "it is
// link-local"; "": it may be permitted. It also finds IPv4 addresses in IPv6 addresses that lead there.
func WhyNever(addr netip.Addr) string {
	addr = addr.WithZone("").Unmap()
	if addr.IsLoopback() {
		return "" // ::1 is not 0.0.0.1
	}
	if why := whyNever(addr); why != "" || addr.Is4() {
		return why
	}
	all := addr.As16()
	for _, t := range translated {
		if !t.network.Contains(addr) {
			continue
		}
		inner := netip.AddrFrom4([4]byte{all[t.bytes[0]], all[t.bytes[1]], all[t.bytes[2]], all[t.bytes[3]]})
		if why := whyNever(inner); why != "" && (t.bytes[3] == 15 || !inAny(noHost, inner)) {
			return why
		}
	}
	if teredo := netip.MustParsePrefix("2001::/32"); teredo.Contains(addr) { // its client, whose bits are inverted
		return whyNever(netip.AddrFrom4([4]byte{^all[12], ^all[13], ^all[14], ^all[15]}))
	}
	return ""
}

func whyNever(addr netip.Addr) string {
	switch {
	case inAny(metadata, addr):
		return "it belongs to a cloud's metadata service"
	case addr.IsLinkLocalUnicast():
		return "it is link-local"
	case inAny(noHost, addr):
		return "it is not the address of one host"
	}
	return ""
}

// Control is the Control of a net.Dialer that connects to all addresses except those for which WhyNever has a reason.
// It is for servers that the operator configures. The error wraps ErrRefused.
func Control(_, address string, _ syscall.RawConn) error {
	target, err := netip.ParseAddrPort(address)
	if err != nil {
		return fmt.Errorf("%w: %s: %w", ErrRefused, address, err)
	}
	if why := WhyNever(target.Addr()); why != "" {
		return fmt.Errorf("%w: %s: %s", ErrRefused, target.Addr(), why)
	}
	return nil
}

var public = ssrf.New(ssrf.WithAnyPort(), ssrf.WithAnyNetwork())

// CheckPublic returns an error with the address and the reason, unless the address is public.
func CheckPublic(addr netip.Addr) error {
	network := "tcp6"
	if addr.Is4() {
		network = "tcp4"
	}
	return public.Safe(network, netip.AddrPortFrom(addr, 443).String(), nil)
}

// OwnAddresses caches the addresses of this machine's interfaces. It is safe for concurrent use.
type OwnAddresses struct {
	List func() ([]net.Addr, error) // net.InterfaceAddrs, except in tests

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
