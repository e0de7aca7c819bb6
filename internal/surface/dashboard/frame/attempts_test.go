package frame

import (
	"fmt"
	"net/http/httptest"
	"net/netip"
	"strings"
	"testing"
	"time"
)

// TestAttemptsTakeLittleMemory checks what is kept of attempts: keys of a fixed length, and none of accounts from an
// address above its limit.
func TestAttemptsTakeLittleMemory(t *testing.T) {
	for _, address := range []string{"192.0.2.1", "2001:db8:aaaa:bbbb:cccc:dddd:eeee:ffff%eth0"} {
		key := accountKey(netip.MustParseAddr(address), Attempter{Account: strings.Repeat("x", 300_000), Proven: true})
		if len(key) > 100 {
			t.Errorf("from %s, a key has %d bytes", address, len(key))
		}
	}
	limits, start := NewSignInLimits(), time.Now()
	take := func(from, account string, after time.Duration) bool {
		r := httptest.NewRequest("POST", "/admin/sign-in", nil)
		r.RemoteAddr = from
		return limits.take(r, Attempter{Account: account}, start.Add(after)).Allowed
	}
	for range SignInsPerAddress {
		take("192.0.2.1:1", "", 0)
	}
	for range SignInsPerAccount {
		if take("192.0.2.1:1", "ada@example.com", SignInWindow/2) {
			t.Fatal("an attempt above the limit of the address is answered")
		}
	}
	if !take("192.0.2.1:1", "ada@example.com", SignInWindow+time.Minute) {
		t.Error("attempts above the limit of the address are kept for the account")
	}

	// One customer has a whole IPv6 network of 64 bits.
	for i := range SignInsPerAccount + 1 {
		if got := take(fmt.Sprintf("[2001:db8::%x]:1", i+1), "ada@example.com", 0); got != (i < SignInsPerAccount) {
			t.Errorf("attempt %d from a network: %v", i+1, got)
		}
	}
	if !take("[2001:db8:0:1::1]:1", "ada@example.com", 0) {
		t.Error("the attempts of one network count for another")
	}
}
