package fair

import (
	"net/netip"
	"testing"
)

func TestKeysOfClients(t *testing.T) {
	for _, test := range []struct {
		a, b                      string
		sameAddress, sameNetworks bool
	}{
		{"192.0.2.1", "192.0.2.1", true, true},
		{"192.0.2.1", "::ffff:192.0.2.1", true, true},
		{"192.0.2.1", "192.0.2.2", false, true},
		{"192.0.2.1", "192.0.3.1", false, false},
		{"2001:db8::1", "2001:db8::ffff:1:1%eth0", true, true},
		{"2001:db8::1", "2001:db8:0:1::1", false, true},
		{"2001:db8::1", "2001:db8:1::1", false, false},
	} {
		a, b := Client(netip.MustParseAddr(test.a)), Client(netip.MustParseAddr(test.b))
		if (a[0] == b[0]) != test.sameAddress || (a[1] == b[1]) != test.sameNetworks {
			t.Errorf("keys of clients: %s has %v, %s has %v", test.a, a, test.b, b)
		}
	}
}
