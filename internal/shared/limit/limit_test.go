package limit

import (
	"encoding/binary"
	"fmt"
	"net/netip"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"pgregory.net/rapid"
)

var began = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// naive is a reference implementation: it keeps all allowed events and counts them each time.
type naive struct {
	most   int
	window time.Duration
	at     map[string][]time.Time
}

func (n *naive) live(key string, now time.Time) (live []time.Time) {
	for _, at := range n.at[key] {
		if at.After(now.Add(-n.window)) {
			live = append(live, at)
		}
	}
	return live
}

// TestLimiterIsExact compares a Limiter with the reference over random events, and
// then checks every window.
func TestLimiterIsExact(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := &naive{rapid.IntRange(1, 70).Draw(t, "most"), time.Minute, map[string][]time.Time{}}
		l := New(n.most, n.window)
		now := began
		step := rapid.OneOf(
			rapid.Just(time.Duration(0)),
			rapid.Just(time.Minute),
			rapid.Just(time.Minute-1),
			rapid.Map(rapid.Int64Range(0, int64(2*time.Second)), func(n int64) time.Duration {
				return time.Duration(n)
			}),
			rapid.Map(rapid.Int64Range(0, int64(90*time.Second)), func(n int64) time.Duration {
				return time.Duration(n)
			}),
		)
		for range rapid.IntRange(1, 400).Draw(t, "events") {
			now = now.Add(step.Draw(t, "step"))
			key := rapid.SampledFrom([]string{"a", "b"}).Draw(t, "key")
			before := n.live(key, now)
			v := l.Take(key, now)
			if want := len(before) < n.most; v.Allowed != want {
				t.Fatalf("%d of %d in the window: allowed %t, want %t", len(before), n.most, v.Allowed, want)
			}
			if v.Allowed {
				n.at[key] = append(n.at[key], now)
			}
			live := n.live(key, now)
			if v.Limit != n.most || v.Remaining != n.most-len(live) || !v.Reset.Equal(live[0].Add(n.window)) {
				t.Fatalf("%+v, want remaining %d, reset %s", v, n.most-len(live), live[0].Add(n.window))
			}
		}
		for _, at := range n.at {
			for i := range len(at) - n.most {
				if at[i+n.most].Sub(at[i]) < n.window {
					t.Fatalf("the limiter allowed %d events from %s to %s", n.most+1, at[i], at[i+n.most])
				}
			}
		}
	})
}

func TestResetIsWhenTheNextIsAllowed(t *testing.T) {
	l := New(3, time.Minute)
	for i := range 3 {
		l.Take("a", began.Add(time.Duration(i)*time.Second))
	}
	v := l.Take("a", began.Add(10*time.Second))
	if v.Allowed || !v.Reset.Equal(began.Add(time.Minute)) {
		t.Fatalf("the fourth: %+v", v)
	}
	if v := l.Take("a", v.Reset.Add(-1)); v.Allowed {
		t.Fatalf("allowed before the reset: %+v", v)
	}
	if v := l.Take("a", v.Reset); !v.Allowed {
		t.Fatalf("refused at the reset: %+v", v)
	}
}

func TestNoLimit(t *testing.T) {
	l, a := New(0, time.Minute), NewAddresses(0, time.Minute)
	for range 1000 {
		if v := l.Take("a", began); v != (Verdict{Allowed: true}) {
			t.Fatalf("Take without a limit = %+v", v)
		}
		if v := a.Take(netip.MustParseAddr("2001:db8::1"), began); v != (Verdict{Allowed: true}) {
			t.Fatalf("Take without a limit = %+v", v)
		}
	}
}

// TestConcurrentTakes takes from one key in many goroutines, some with an older now.
func TestConcurrentTakes(t *testing.T) {
	a := NewAddresses(60, time.Minute)
	var allowed atomic.Int64
	var wg sync.WaitGroup
	for i := range 16 {
		wg.Go(func() {
			for j := range 100 {
				addr := netip.AddrFrom16([16]byte{0: 0x20, 1: 1, 15: byte(j % 2)})
				if a.Take(addr, began.Add(time.Duration((i*j)%7)*time.Second)).Allowed {
					allowed.Add(1)
				}
			}
		})
	}
	wg.Wait()
	if got := allowed.Load(); got != 120 {
		t.Fatalf("%d of two addresses allowed, want 120", got)
	}
}

func TestAddressAndNetwork(t *testing.T) {
	a := NewAddresses(60, time.Minute)
	take := func(want int, addresses ...string) {
		t.Helper()
		got := 0
		for range 700 {
			for _, s := range addresses {
				if a.Take(netip.MustParseAddr(s), began).Allowed {
					got++
				}
			}
		}
		if got != want {
			t.Errorf("addresses %v: %d events allowed, want %d", addresses, got, want)
		}
	}
	take(60, "192.0.2.1", "::ffff:192.0.2.1") // the same address
	take(60, "192.0.2.2")                     // its neighbour has its own limit
	take(60, "fe80::1%eth0", "fe80::1%eth1")

	var one, other []string // addresses of two networks that differ in bit 64
	for i := range 20 {
		one = append(one, fmt.Sprintf("2001:db8:0:2::%x", i))
		other = append(other, fmt.Sprintf("2001:db8:0:3::%x", i))
	}
	take(60, one[0])
	take(540, one...)
	take(600, other...)

	v := a.Take(netip.MustParseAddr("2001:db8:0:2::ffff"), began)
	if v.Allowed || v.Limit != 60 || v.Remaining != 0 || !v.Reset.Equal(began.Add(time.Minute)) {
		t.Errorf("a new address of a full network: %+v", v)
	}
}

// TestRefusedEventsDoNotCount checks that refusals for the address do not count for the network, and vice versa. The
// reset belongs to whichever allows fewer further events, and is the later one if both allow as many: waiting until
// then is enough.
func TestRefusedEventsDoNotCount(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		const most = 3
		a := NewAddresses(most, time.Minute)
		now := began
		var address, network naive
		address, network = naive{most, time.Minute, map[string][]time.Time{}},
			naive{10 * most, time.Minute, map[string][]time.Time{}}
		for range rapid.IntRange(1, 200).Draw(t, "events") {
			now = now.Add(time.Duration(rapid.Int64Range(0, int64(3*time.Second)).Draw(t, "step")))
			addr := netip.AddrFrom16([16]byte{
				0: 0x20, 7: rapid.SampledFrom([]byte{0, 1}).Draw(t, "network"),
				15: rapid.ByteRange(0, 20).Draw(t, "host"),
			})
			key := netip.PrefixFrom(addr, 64).Masked().String()
			left := min(most-len(address.live(addr.String(), now)), 10*most-len(network.live(key, now)))
			v := a.Take(addr, now)
			if v.Allowed != (left > 0) {
				t.Fatalf("%d left: allowed %t", left, v.Allowed)
			}
			if v.Allowed {
				left--
				address.at[addr.String()] = append(address.at[addr.String()], now)
				network.at[key] = append(network.at[key], now)
			}
			if v.Remaining != left {
				t.Fatalf("remaining %d, want %d", v.Remaining, left)
			}
			reset := func(n naive, key string) time.Time {
				if live := n.live(key, now); len(live) > 0 {
					return live[0].Add(n.window)
				}
				return now.Add(n.window)
			}
			ofAddress, ofNetwork := most-len(address.live(addr.String(), now)), 10*most-len(network.live(key, now))
			want := reset(address, addr.String())
			if other := reset(network, key); ofNetwork < ofAddress || ofNetwork == ofAddress && other.After(want) {
				want = other
			}
			if !v.Reset.Equal(want) {
				t.Fatalf("%d left of the address, %d of the network: reset %s, want %s", ofAddress, ofNetwork, v.Reset,
					want)
			}
		}
	})
}

// len returns the number of keys.
func (t *table[K]) len() (n int) {
	for i := range t.shards {
		n += len(t.shards[i].logs)
	}
	return n
}

func TestKeysAreBounded(t *testing.T) {
	const keys = 1 << 12
	tab := newTable[uint64](1<<20, time.Minute, keys)
	take := func(key uint64, now time.Time) bool {
		e := tab.enter(key, now)
		defer e.leave()
		if e.full() {
			return false
		}
		e.add()
		return true
	}
	// One key is used again and again during a flood of new keys, twenty times as
	// many as there is room for.
	for i := range uint64(20 * keys) {
		now := began.Add(time.Duration(i) * 200 * time.Microsecond)
		if !take(i+1, now) {
			t.Fatalf("key %d was refused at its first event", i)
		}
		if i%50 == 0 && !take(0, now) {
			t.Fatalf("the regular key was refused at event %d", i)
		}
		if n := tab.len(); i%997 == 0 && n > keys {
			t.Fatalf("%d keys, want at most %d", n, keys)
		}
	}
	e := tab.enter(0, began.Add(17*time.Second))
	defer e.leave()
	if e.count < 200 {
		t.Errorf("the regular key was evicted: %d of 1639 events are kept", e.count)
	}
}

func TestExpiredKeysAreEvictedFirst(t *testing.T) {
	tab := newTable[uint64](1, time.Minute, shardCount*8)
	put := func(key uint64, now time.Time) {
		e := tab.enter(key, now)
		e.add()
		e.leave()
	}
	for i := range uint64(10_000) {
		put(i, began)
	}
	full := tab.len()
	if full != shardCount*8 {
		t.Fatalf("the full table has %d keys, want %d", full, shardCount*8)
	}
	later := began.Add(time.Minute)
	for i := range uint64(shardCount) { // reaches most shards
		put(20_000+i, later)
	}
	if n := tab.len(); n > full*3/4 {
		t.Errorf("%d keys of %d are left after all have expired", n, full)
	}
	for i := range uint64(shardCount) {
		e := tab.enter(20_000+i, later)
		if e.count == 0 {
			t.Errorf("key %d was evicted before expired keys", i)
		}
		e.leave()
	}
}

// TestMemoryOfAMillionAddresses measures one event per address. IPv6 addresses in
// different networks need two entries each.
func TestMemoryOfAMillionAddresses(t *testing.T) {
	for name, c := range map[string]struct {
		address func(i uint32) netip.Addr
		most    int64 // MB
	}{
		"IPv4": {func(i uint32) netip.Addr {
			return netip.AddrFrom4([4]byte(binary.BigEndian.AppendUint32(nil, i*2654435761)))
		}, 90},
		"IPv6": {func(i uint32) netip.Addr {
			a := [16]byte{0: 0x20, 15: 1}
			binary.BigEndian.PutUint32(a[4:], i*2654435761)
			return netip.AddrFrom16(a)
		}, 120},
	} {
		t.Run(name, func(t *testing.T) {
			a := NewAddresses(60, time.Minute)
			before := heap()
			for i := range uint32(1_000_000) {
				if !a.Take(c.address(i), began).Allowed {
					t.Fatal("refused")
				}
			}
			used := (heap() - before) / 1e6
			t.Logf("%d MB for %d addresses", used, a.addresses.len())
			if used > c.most {
				t.Errorf("the limiter uses %d MB, want at most %d", used, c.most)
			}
			if n := a.addresses.len(); n < 980_000 {
				t.Errorf("only %d addresses are kept", n)
			}
			for i := range uint32(1000) {
				a.Take(c.address(i), began.Add(time.Minute))
			}
			if rest := (heap() - before) / 1e6; rest > 5 {
				t.Errorf("the limiter uses %d MB after a minute", rest)
			}
			runtime.KeepAlive(a)
		})
	}
}

func heap() int64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

func BenchmarkAddresses(b *testing.B) {
	a := NewAddresses(60, time.Minute)
	now := time.Now()
	addr := netip.MustParseAddr("192.0.2.1")
	b.ReportAllocs()
	for b.Loop() {
		addr = addr.Next()
		a.Take(addr, now)
		now = now.Add(time.Microsecond)
	}
}

// TestFullDoesNotCount checks that Full predicts Take and does not change it.
func TestFullDoesNotCount(t *testing.T) {
	a := NewAddresses(2, time.Minute)
	for _, s := range []string{"192.0.2.1", "2001:db8::1"} {
		addr := netip.MustParseAddr(s)
		for n := range 4 {
			for range 5 {
				if a.Full(addr, began) != (n >= 2) {
					t.Errorf("Full of %s after %d events = %v", s, n, n < 2)
				}
			}
			if a.Take(addr, began).Allowed != (n < 2) {
				t.Errorf("Take of %s decides wrongly about event %d", s, n)
			}
		}
	}
	for i := range 20 {
		a.Take(netip.MustParseAddr(fmt.Sprintf("2001:db8::1:%x", i)), began)
	}
	if !a.Full(netip.MustParseAddr("2001:db8::2"), began) {
		t.Error("the network is full, but a new address in it is not")
	}
	if NewAddresses(0, time.Minute).Full(netip.MustParseAddr("192.0.2.1"), began) {
		t.Error("full without a limit")
	}
}
