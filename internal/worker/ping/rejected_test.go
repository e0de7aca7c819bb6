package ping

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"
)

func (l *logged) has(text string) bool { return strings.Contains(l.String(), text) }

// TestRejectedPingsAreKept takes tokens through transactions that fail and succeed, while further pings are rejected.
// Some of these arrived earlier.
func TestRejectedPingsAreKept(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		var r rejectedPings
		now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
		unsaved := map[string]time.Time{}
		reject := func(label string) {
			for range rapid.IntRange(0, 5).Draw(t, label) {
				now = now.Add(time.Second)
				token := fmt.Sprint(rapid.IntRange(0, 9).Draw(t, "token"))
				arrived := now.Add(-time.Duration(rapid.SampledFrom([]int{0, 0, 3}).Draw(t, "late")) * time.Second)
				r.add(token, arrived)
				if first, ok := unsaved[token]; !ok || arrived.Before(first) {
					unsaved[token] = arrived
				}
			}
		}
		check := func(others map[string]time.Time) {
			oldest := now.Add(1)
			for _, tokens := range []map[string]time.Time{unsaved, others} {
				for _, arrived := range tokens {
					if arrived.Before(oldest) {
						oldest = arrived
					}
				}
			}
			got, any := r.oldest(true)
			if any != !oldest.After(now) || any && !got.Equal(oldest) {
				t.Fatalf("oldest %s (%t), want %s of %v and %v", got, any, oldest, unsaved, others)
			}
		}
		for range rapid.IntRange(1, 10).Draw(t, "transactions") {
			reject("before")
			check(nil)
			taken, saving := r.take(), unsaved
			if got := slices.Sorted(slices.Values(taken)); !slices.Equal(got, slices.Sorted(maps.Keys(saving))) {
				t.Fatalf("a transaction saves %v, but %v are unsaved", got, saving)
			}
			unsaved = map[string]time.Time{}
			reject("meanwhile")
			check(saving)
			saved := rapid.Bool().Draw(t, "saved")
			if r.settle(saved); !saved {
				for token, arrived := range saving {
					if first, ok := unsaved[token]; !ok || arrived.Before(first) {
						unsaved[token] = arrived
					}
				}
			}
			check(nil)
		}
	})
}

// TestRejectedPingsAreBounded checks the limits in memory and per transaction.
func TestRejectedPingsAreBounded(t *testing.T) {
	t.Parallel()
	var r rejectedPings
	refused := 0
	for i := range maxRejected + 1000 {
		if !r.add(fmt.Sprint(i), time.Now()) {
			refused++
		}
	}
	if len(r.pending) != maxRejected || refused != 1000 {
		t.Errorf("%d are kept, want %d; %d were refused, want 1000", len(r.pending), maxRejected, refused)
	}
	seen := map[string]bool{}
	for {
		tokens := r.take()
		if len(tokens) > maxSaved {
			t.Fatalf("%d in one transaction", len(tokens))
		}
		for _, token := range tokens {
			seen[token] = true
		}
		r.settle(true)
		if len(tokens) < maxSaved {
			break
		}
	}
	if _, any := r.oldest(true); any || len(seen) != maxRejected {
		t.Errorf("%d were saved, want %d; more: %t", len(seen), maxRejected, any)
	}
}

// TestManyRejectedPingsAreSavedAtOnce checks that the next transaction follows immediately if there are more rejected
// pings than one takes.
func TestManyRejectedPingsAreSavedAtOnce(t *testing.T) {
	t.Parallel()
	onEachEngine(t, Config{}, func(w *testServer) {
		now := time.Now()
		for i := range 3 * maxSaved {
			w.batcher.rejected.add(fmt.Sprintf("%032d", i), now)
		}
		w.batcher.rejected.add(w.monitor.Token, now)
		w.stop()
		if w.rejectedCount() != 0 || w.now(w.monitor.ID).RejectedAt.IsZero() {
			w.Errorf("%d are not saved", w.rejectedCount())
		}
	})
}

func TestTokenSet(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var k tokenSet
		want := map[uint64]bool{}
		short := rapid.Uint64Range(0, 50)
		for range rapid.IntRange(0, 50).Draw(t, "before") {
			n := short.Draw(t, "added")
			k.add(n)
			want[n] = true
		}
		if !k.has(1 << 40) {
			t.Fatal("an unknown token is not in the set before load")
		}
		loaded := rapid.SliceOfN(short, 0, 50).Draw(t, "loaded")
		for _, n := range loaded {
			want[n] = true
		}
		k.load(slices.Clone(loaded))
		for range rapid.IntRange(0, 20).Draw(t, "after") {
			n := short.Draw(t, "added")
			k.add(n)
			want[n] = true
		}
		for n := range uint64(52) {
			if k.has(n) != want[n] {
				t.Fatalf("has(%d) is %t", n, k.has(n))
			}
		}
	})
}

// TestMemoryOfAMillionTokens checks that a token takes at most ten bytes, including
// tokens added after the start.
func TestMemoryOfAMillionTokens(t *testing.T) {
	heap := func() int64 {
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return int64(m.HeapAlloc)
	}
	const tokens, added = 1_000_000, 20_000
	random := rand.New(rand.NewPCG(1, 2))
	before := heap()
	k := new(tokenSet)
	func() {
		var shorts []uint64
		for range tokens {
			shorts = append(shorts, random.Uint64())
		}
		k.load(shorts)
	}()
	for range added {
		k.add(random.Uint64())
	}
	if each := float64(heap()-before) / (tokens + added); each > 10 {
		t.Errorf("%.1f bytes per token", each)
	}
	if n := len(k.sorted) + len(k.added); n != tokens+added {
		t.Errorf("%d tokens, want %d", n, tokens+added)
	}
}
