package notify

import (
	"maps"
	"strings"
	"testing"
	"time"
)

// TestBreaker plays what becomes of messages to a host that gets four at a
// time: f finds it in trouble, k does not, and a dot is a second that passes.
func TestBreaker(t *testing.T) {
	began := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	seconds := func(n int) string { return strings.Repeat(".", n) }
	const free, probe, full = 0, 3, 4 // places that it does not get
	for _, c := range []struct {
		name, history string
		want          int
	}{
		{"nothing known", "", free},
		{"all is well", "kkk", free},
		{"four failures", "ffff", free},
		{"five failures", "fffff", full},
		{"five failures, but not in a row", "ffffkffff", free},
		{"just before the pause ends", "fffff" + seconds(9), full},
		{"when the pause ends", "fffff" + seconds(10), probe},
		{"the probe is taken", "fffff" + seconds(10) + "k", free},
		{"and all is forgotten", "fffff" + seconds(10) + "kffff", free},
		{"the probe fails", "fffff" + seconds(10) + "f", full},
		{"the second pause is longer", "fffff" + seconds(10) + "f" + seconds(19), full},
		{"and ends", "fffff" + seconds(10) + "f" + seconds(20), probe},
		{"those that were on their way do not lengthen it", "ffffffff" + seconds(10), probe},
		{"no pause is longer than five minutes", "fffff" + strings.Repeat(seconds(300)+"f", 20) + seconds(299), full},
		{"the longest one ends", "fffff" + strings.Repeat(seconds(300)+"f", 20) + seconds(300), probe},
	} {
		b := newBreakers(4, webhookBreakFirst, webhookBreakMost)
		now := began
		for _, what := range c.history {
			if what == '.' {
				now = now.Add(time.Second)
			} else {
				b.note("host", what == 'f', now)
			}
		}
		busy := map[string]int{"other": 1}
		b.fill(busy, now)
		want := map[string]int{"other": 1}
		if c.want > 0 {
			want["host"] = c.want
		}
		if !maps.Equal(busy, want) {
			t.Errorf("%s: %v, want %v", c.name, busy, want)
		}
	}
}

func TestBreakersAreBounded(t *testing.T) {
	b := newBreakers(4, webhookBreakFirst, webhookBreakMost)
	for n := range 3 * maxBreakers {
		b.note(time.Duration(n).String(), true, time.Time{})
		if len(b.hosts) > maxBreakers {
			t.Fatalf("%d hosts are remembered, want %d at most", len(b.hosts), maxBreakers)
		}
	}
}

// A probe is one message, and counts those that are on their way.
func TestBreakerProbesWithOne(t *testing.T) {
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	for _, b := range []breakers{
		newBreakers(webhookPerHost, webhookBreakFirst, webhookBreakMost),
		newBreakers(mailPerHost, mailBreakFirst, mailBreakMost),
	} {
		for range breakAfter {
			b.note("host", true, now)
		}
		for flying := range b.perHost {
			busy := map[string]int{"host": flying}
			b.fill(busy, now.Add(b.first-1))
			if busy["host"] < b.perHost {
				t.Errorf("%d of %d are on their way, and %d places are left in the pause", flying, b.perHost, b.perHost-busy["host"])
			}
			want := 0
			if flying == 0 {
				want = 1
			}
			busy = map[string]int{"host": flying}
			b.fill(busy, now.Add(b.first))
			if got := max(0, b.perHost-busy["host"]); got != want {
				t.Errorf("%d of %d are on their way, and %d places are left after the pause, want %d", flying, b.perHost, got, want)
			}
		}
	}
}
