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

// TestRefusalsAreNotLost follows tokens through beats that fail and succeed,
// while others are refused.
func TestRefusalsAreNotLost(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var r refusals
		now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
		unsaved := map[string]time.Time{}
		refuse := func(label string) {
			for range rapid.IntRange(0, 5).Draw(t, label) {
				now = now.Add(time.Second)
				token := fmt.Sprint(rapid.IntRange(0, 9).Draw(t, "token"))
				r.add(token, now)
				if _, ok := unsaved[token]; !ok {
					unsaved[token] = now
				}
			}
		}
		check := func(others map[string]time.Time) {
			oldest := now.Add(1)
			for _, tokens := range []map[string]time.Time{unsaved, others} {
				for _, came := range tokens {
					if came.Before(oldest) {
						oldest = came
					}
				}
			}
			got, any := r.oldest(true)
			if any != !oldest.After(now) || any && !got.Equal(oldest) {
				t.Fatalf("oldest %s (%t), want %s of %v and %v", got, any, oldest, unsaved, others)
			}
		}
		for range rapid.IntRange(1, 10).Draw(t, "beats") {
			refuse("before")
			check(nil)
			beat, saving := r.take(), unsaved
			if got := slices.Sorted(slices.Values(beat)); !slices.Equal(got, slices.Sorted(maps.Keys(saving))) {
				t.Fatalf("a beat saves %v, but %v are unsaved", got, saving)
			}
			unsaved = map[string]time.Time{}
			refuse("meanwhile")
			check(saving)
			saved := rapid.Bool().Draw(t, "saved")
			if r.settle(saved); !saved {
				maps.Copy(unsaved, saving) // they came earlier
			}
			check(nil)
		}
	})
}

// TestRefusalsAreBounded, in memory and per transaction.
func TestRefusalsAreBounded(t *testing.T) {
	var r refusals
	complaints := 0
	for i := range maxRefused + 1000 {
		if !r.add(fmt.Sprint(i), time.Now()) {
			complaints++
		}
	}
	if len(r.pending) != maxRefused || complaints != 1000 {
		t.Errorf("%d are remembered, want %d; %d were turned away, want 1000", len(r.pending), maxRefused, complaints)
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
	if _, any := r.oldest(true); any || len(seen) != maxRefused {
		t.Errorf("%d were saved, want %d; more: %t", len(seen), maxRefused, any)
	}
}

// TestManyRefusalsAreSavedAtOnce: when there are more than one transaction
// takes, the next beat does not wait.
func TestManyRefusalsAreSavedAtOnce(t *testing.T) {
	inWorlds(t, Config{}, func(w *world) {
		now := time.Now()
		for i := range 3 * maxSaved {
			w.batcher.refusals.add(fmt.Sprintf("%032d", i), now)
		}
		w.batcher.refusals.add(w.monitor.Token, now)
		w.stop()
		if w.refused() != 0 || w.now(w.monitor.ID).RejectedAt.IsZero() {
			w.Errorf("%d are not saved", w.refused())
		}
	})
}

func TestKnown(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var k known
		want := map[uint64]bool{}
		short := rapid.Uint64Range(0, 50)
		for range rapid.IntRange(0, 50).Draw(t, "before") {
			n := short.Draw(t, "added")
			k.add(n)
			want[n] = true
		}
		if !k.has(1 << 40) {
			t.Fatal("before load, every token may be valid")
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

// TestMemoryOfAMillionTokens: at most ten bytes each, also of those that were
// added after the start.
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
	k := new(known)
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
