package addressguard

import (
	"errors"
	"net"
	"net/netip"
	"testing"
	"time"
)

// TestOutgoingGuardOwnAddresses checks that the addresses of this machine's interfaces are
// refused soon after they were added, public or not, and that nothing is sent if they
// cannot be read.
func TestOutgoingGuardOwnAddresses(t *testing.T) {
	network := func(address string) net.Addr {
		return &net.IPNet{IP: net.ParseIP(address), Mask: net.CIDRMask(24, 32)}
	}
	addresses, failure, reads := []net.Addr{network("93.184.215.14"), network("2606:4700::1")}, error(nil), 0
	g := NewOutgoingGuard(nil, false)
	g.own.List = func() ([]net.Addr, error) {
		reads++
		return addresses, failure
	}
	for range 3 {
		for address, refused := range map[string]bool{
			"93.184.215.14:80": true, "[2606:4700::1]:443": true, "93.184.215.15:80": false,
			"[2606:4700::2]:443": false,
		} {
			network := "tcp4"
			if address[0] == '[' {
				network = "tcp6"
			}
			if err := g.Control(network, address, nil); errors.Is(err, ErrRefused) != refused {
				t.Errorf("Control of %s = %v, want refused: %t", address, err, refused)
			}
		}
	}
	if reads != 1 {
		t.Errorf("read %d times", reads)
	}
	addresses = append(addresses, network("93.184.215.15"))
	now := time.Now().Add(OwnAddressesAge)
	if own, err := g.own.Has(netip.MustParseAddr("93.184.215.15"), now); !own || err != nil || reads != 2 {
		t.Errorf("a new address: %t, %v, read %d times", own, err, reads)
	}
	failure = errors.New("no")
	if _, err := g.own.Has(netip.MustParseAddr("93.184.215.16"), now.Add(OwnAddressesAge)); err == nil {
		t.Error("an address is accepted although the machine's own cannot be read")
	}
	if own, err := net.InterfaceAddrs(); err != nil || len(own) == 0 {
		t.Errorf("this machine's addresses: %v, %v", own, err)
	}
}

// TestOutgoingGuardDenied checks that addresses which the operator denies are refused,
// also if private addresses are allowed.
func TestOutgoingGuardDenied(t *testing.T) {
	for _, private := range []bool{false, true} {
		g := NewOutgoingGuard([]netip.Prefix{
			netip.MustParsePrefix("93.184.0.0/16"), netip.MustParsePrefix("2606:4700::/32"),
		}, private)
		for address, refused := range map[string]bool{
			"93.184.215.14:80": true, "[2606:4700::1]:443": true, "[::ffff:93.184.215.14]:80": true,
			"1.1.1.1:80": false, "10.0.0.1:80": !private, "168.63.129.16:80": true,
		} {
			network := "tcp4"
			if address[0] == '[' {
				network = "tcp6"
			}
			if err := g.Control(network, address, nil); errors.Is(err, ErrRefused) != refused {
				t.Errorf("private allowed: %t, %s: %v, want refused: %t", private, address, err, refused)
			}
		}
	}
}
