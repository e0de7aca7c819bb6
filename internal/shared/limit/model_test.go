package limit

import (
	"fmt"
	"net/netip"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// effective returns when an event of key at now counts: not before the key's newest event.
func (n *naive) effective(key string, now time.Time) time.Time {
	if all := n.at[key]; len(all) > 0 && all[len(all)-1].After(now) {
		return all[len(all)-1]
	}
	return now
}

func (n *naive) left(key string, now time.Time) int {
	return n.most - len(n.live(key, n.effective(key, now)))
}

func (n *naive) add(key string, now time.Time) {
	n.at[key] = append(n.at[key], n.effective(key, now))
}

// reset returns when the oldest event of key leaves the window, or one that begins now.
func (n *naive) reset(key string, now time.Time) time.Time {
	at := n.effective(key, now)
	if live := n.live(key, at); len(live) > 0 {
		at = live[0]
	}
	return at.Add(n.window)
}

// TestLimitsAreTheModel compares both limiters with the reference, over addresses of every kind and times that also go
// back a little, as with concurrent callers. Full predicts each verdict and counts nothing.
func TestLimitsAreTheModel(t *testing.T) {
	addresses := []string{
		"192.0.2.1", "::ffff:192.0.2.1", "192.0.2.2", "::ffff:192.0.2.2", "::ffff:198.51.100.7", "203.0.113.9",
		"2001:db8:0:1::1", "2001:db8:0:1::1%eth0", "2001:db8:0:1::2", "2001:db8:0:1:ffff::", "2001:db8:0:2::1",
		"2001:db8:0:3::1", "::1",
	}
	rapid.Check(t, func(t *rapid.T) {
		most := rapid.IntRange(1, 6).Draw(t, "most")
		l, a := New(most, time.Minute), NewAddresses(most, time.Minute)
		ofKey := naive{most, time.Minute, map[string][]time.Time{}}
		ofAddress := naive{most, time.Minute, map[string][]time.Time{}}
		ofNetwork := naive{10 * most, time.Minute, map[string][]time.Time{}}
		now := began.Add(rapid.SampledFrom([]time.Duration{0, 20 * 365 * 24 * time.Hour}).Draw(t, "start"))
		for range rapid.IntRange(1, 300).Draw(t, "events") {
			now = now.Add(time.Duration(rapid.Int64Range(int64(-time.Second), int64(4*time.Second)).Draw(t, "step")))
			if s := rapid.SampledFrom(addresses).Draw(t, "address"); rapid.Bool().Draw(t, "by key") {
				left := ofKey.left(s, now)
				if full := l.Full(s, now); full != (left <= 0) {
					t.Fatalf("%d left of a key: full %t", left, full)
				}
				if left > 0 {
					ofKey.add(s, now)
				}
				want := Verdict{left > 0, most, max(0, left-1), ofKey.reset(s, now)}
				if got := l.Take(s, now); !same(got, want) {
					t.Fatalf("a key: %+v, want %+v", got, want)
				}
			} else {
				addr := netip.MustParseAddr(s)
				v4 := addr.Is4() || addr.Is4In6()
				address := addr.Unmap().WithZone("").String()
				network := netip.PrefixFrom(addr.WithZone(""), 64).Masked().String()
				left := ofAddress.left(address, now)
				if !v4 {
					left = min(left, ofNetwork.left(network, now))
				}
				if full := a.Full(addr, now); full != (left <= 0) {
					t.Fatalf("%d left of %s: full %t", left, addr, full)
				}
				if left > 0 {
					ofAddress.add(address, now)
					if !v4 {
						ofNetwork.add(network, now)
					}
				}
				want := Verdict{left > 0, most, ofAddress.left(address, now), ofAddress.reset(address, now)}
				if !v4 {
					n := Verdict{Remaining: ofNetwork.left(network, now), Reset: ofNetwork.reset(network, now)}
					if n.Remaining < want.Remaining || n.Remaining == want.Remaining && n.Reset.After(want.Reset) {
						want.Remaining, want.Reset = n.Remaining, n.Reset
					}
				}
				if got := a.Take(addr, now); !same(got, want) {
					t.Fatalf("Take of %s = %+v, want %+v", addr, got, want)
				}
			}
		}
	})
}

func same(a, b Verdict) bool {
	return a.Allowed == b.Allowed && a.Limit == b.Limit && a.Remaining == b.Remaining && a.Reset.Equal(b.Reset)
}

// TestNetworksOfMappedAddresses checks that IPv4 addresses have no network in common, in either notation: all mapped
// ones are in one /64.
func TestNetworksOfMappedAddresses(t *testing.T) {
	for _, form := range []string{"198.51.%d.%d", "::ffff:198.51.%d.%d"} {
		a := NewAddresses(1, time.Minute)
		for i := range 100 {
			addr := netip.MustParseAddr(fmt.Sprintf(form, i/10, i%10))
			if a.Full(addr, began) {
				t.Fatalf("%s is full after %d others", addr, i)
			}
			if v := a.Take(addr, began); !v.Allowed {
				t.Fatalf("Take of %s = %+v after %d others", addr, v, i)
			}
			if !a.Full(addr, began) {
				t.Fatalf("%s is not full after its one event", addr)
			}
		}
	}
}

// TestSweepKeepsWhatCounts fills a limiter far beyond the size at which its maps are made anew, and checks after the
// sweep that the events in the window still count, that events before it are forgotten, and that their keys are gone.
func TestSweepKeepsWhatCounts(t *testing.T) {
	l := New(1, time.Minute)
	key := func(kind string, i int) string { return fmt.Sprint(kind, i) }
	for i := range 4000 {
		l.Take(key("old", i), began)
	}
	for i := range 200 {
		l.Take(key("kept", i), began.Add(time.Nanosecond))
	}
	end := began.Add(time.Minute)
	for i := range 200 {
		if !l.Full(key("kept", i), end) {
			t.Fatalf("event %d of the window does not count after the sweep", i)
		}
	}
	for i := range 4000 {
		if l.Full(key("old", i), end) {
			t.Fatalf("event %d counts after its window", i)
		}
	}
	if n := l.keys.len(); n != 200 {
		t.Errorf("%d keys are left, want the 200 with an event in the window", n)
	}
	for i := range l.keys.shards {
		if s := &l.keys.shards[i]; s.peak > 16 && s.peak > 4*max(1, len(s.logs)) {
			t.Errorf("a map of %d keys was not made anew for %d", s.peak, len(s.logs))
		}
	}
}

// TestFullTableEvicts checks that a full table takes a new key, whatever its clock shows, and that keys which are
// already in it are never evicted for their own events.
func TestFullTableEvicts(t *testing.T) {
	for _, start := range []time.Time{began, time.Now().Add(time.Hour)} {
		tab := newTable[uint64](5, time.Minute, shardCount)
		for i := range uint64(2000) {
			for range 2 {
				e := tab.enter(i, start.Add(time.Duration(i)))
				e.add()
				e.leave()
			}
			e := tab.enter(i, start.Add(time.Duration(i)))
			if e.count != 2 {
				t.Fatalf("key %d has %d events, want 2", i, e.count)
			}
			e.leave()
		}
		if n := tab.len(); n > shardCount {
			t.Errorf("%d keys, want at most %d", n, shardCount)
		}
	}
}

// TestLimitsOfTokens: requests without a valid token are limited unless there are no limits at all.
func TestLimitsOfTokens(t *testing.T) {
	for _, row := range []struct{ perToken, failures int }{{0, 0}, {1, 100}, {600, 100}} {
		tokens := NewTokens(row.perToken)
		if got := tokens.Calls.Limit(); got != row.perToken {
			t.Errorf("%d requests per token: %d", row.perToken, got)
		}
		addr := netip.MustParseAddr("192.0.2.1")
		allowed := 0
		for range 200 {
			if tokens.Failed.Take(addr, began).Allowed {
				allowed++
			}
		}
		if want := map[int]int{0: 200, 100: 100}[row.failures]; allowed != want {
			t.Errorf("%d per token: %d requests without a token allowed, want %d", row.perToken, allowed, want)
		}
		calls := 0
		for range 1000 {
			if tokens.Calls.Take(strings.Repeat("a", 8), began).Allowed {
				calls++
			}
		}
		if want := map[int]int{0: 1000, 1: 1, 600: 600}[row.perToken]; calls != want {
			t.Errorf("%d per token: %d allowed", row.perToken, calls)
		}
		if tokens.Calls.Full("other", began) || tokens.Calls.Full("aaaaaaaa", began) != (row.perToken > 0) {
			t.Errorf("%d per token: full", row.perToken)
		}
	}
}
