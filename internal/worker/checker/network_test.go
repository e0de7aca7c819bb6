package checker

import (
	"errors"
	"net"
	"net/netip"
	"syscall"
	"testing"

	"github.com/allswell/allswell/internal/shared/addressguard"
)

// TestThisMachine checks what may be reached of this machine, under each of its addresses, also addresses of the
// loopback network that no interface lists.
func TestThisMachine(t *testing.T) {
	listeners := []netip.AddrPort{netip.MustParseAddrPort("0.0.0.0:8080"), netip.MustParseAddrPort("127.0.0.5:9090")}
	_, other, _ := net.ParseCIDR("192.0.2.0/24")
	other.IP = net.IPv4(192, 0, 2, 7)
	for _, mode := range []PrivateMode{PrivateAuto, PrivateOn, PrivateOff} {
		for _, self := range []bool{false, true} {
			first, others := newGuards(Config{Private: mode, Self: self, Listeners: listeners})
			own := &addressguard.OwnAddresses{List: func() ([]net.Addr, error) { return []net.Addr{other}, nil }}
			first.own, others.own = own, own
			for target, listens := range map[string]bool{
				"127.0.0.1:8080": true, "127.0.0.2:8080": true, "127.255.255.254:8080": true, "[::1]:8080": true,
				"0.0.0.0:8080":   true,
				"192.0.2.7:8080": true, "127.0.0.5:9090": true, "0.0.0.0:9090": true,
				"127.0.0.2:9090": false, "127.0.0.1:8081": false, "10.0.0.1:8080": false,
			} {
				address := netip.MustParseAddrPort(target)
				for name, g := range map[string]*guard{"first": first, "others": others} {
					err := g.refuse("tcp", address)
					private := mode == PrivateOn || mode == PrivateAuto && name == "first"
					if permitted := private && (self || !listens); (err == nil) != permitted {
						t.Errorf("permitted: %s, %s, itself %t, %s: %v", mode, name, self, target, err)
					}
					hidden := private && !self && listens && name == "others"
					if errors.Is(err, syscall.ECONNREFUSED) != hidden {
						t.Errorf("hidden: %s, %s, itself %t, %s: %v", mode, name, self, target, err)
					}
				}
			}
		}
	}
}
