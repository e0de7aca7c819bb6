package notify

import (
	"maps"
	"strings"
	"testing"
	"time"
)

// TestBreaker plays a history of attempts to a host with four messages at a time: "f"
// is a failure, "k" a success, and "." a second without an attempt.
func TestBreaker(t *testing.T) {
	t.Parallel()
	began := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	seconds := func(n int) string { return strings.Repeat(".", n) }
	const free, probe, full = 0, 3, 4 // messages blocked, of 4
	for _, c := range []struct {
		name, history string
		want          int
	}{
		{"no attempts", "", free},
		{"only successes", "kkk", free},
		{"four failures", "ffff", free},
		{"five failures", "fffff", full},
		{"five failures, but not in a row", "ffffkffff", free},
		{"just before the pause ends", "fffff" + seconds(9), full},
		{"when the pause ends", "fffff" + seconds(10), probe},
		{"the probe succeeds", "fffff" + seconds(10) + "k", free},
		{"and the failures are forgotten", "fffff" + seconds(10) + "kffff", free},
		{"the probe fails", "fffff" + seconds(10) + "f", full},
		{"the second pause is longer", "fffff" + seconds(10) + "f" + seconds(19), full},
		{"and ends", "fffff" + seconds(10) + "f" + seconds(20), probe},
		{"messages in flight do not extend it", "ffffffff" + seconds(10), probe},
		{"no pause is longer than five minutes", "fffff" + strings.Repeat(seconds(300)+"f", 20) + seconds(299), full},
		{"the longest one ends", "fffff" + strings.Repeat(seconds(300)+"f", 20) + seconds(300), probe},
	} {
		b := newBreakers(webhookChannel)
		now := began
		for _, what := range c.history {
			if what == '.' {
				now = now.Add(time.Second)
			} else {
				b.note("host", what == 'f', now)
			}
		}
		inFlight := map[string]int{"other": 1}
		b.block(inFlight, now)
		want := map[string]int{"other": 1}
		if c.want > 0 {
			want["host"] = c.want
		}
		if !maps.Equal(inFlight, want) {
			t.Errorf("%s: %v, want %v", c.name, inFlight, want)
		}
	}
}

func TestBreakersAreBounded(t *testing.T) {
	b := newBreakers(webhookChannel)
	for n := range 3 * maxBreakers {
		b.note(time.Duration(n).String(), true, time.Time{})
		if len(b.hosts) > maxBreakers {
			t.Fatalf("%d hosts are tracked, want %d at most", len(b.hosts), maxBreakers)
		}
	}
}

// TestBreakerProbesWithOne checks that one test message is allowed after a pause, if none
// is being sent.
func TestBreakerProbesWithOne(t *testing.T) {
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	for _, b := range []breakers{
		newBreakers(webhookChannel),
		newBreakers(emailChannel),
	} {
		for range breakAfter {
			b.note("host", true, now)
		}
		for sending := range b.perHost {
			inFlight := map[string]int{"host": sending}
			b.block(inFlight, now.Add(b.minPause-1))
			if inFlight["host"] < b.perHost {
				t.Errorf("%d of %d are being sent, and %d more may be during the pause", sending, b.perHost, b.perHost-inFlight["host"])
			}
			want := 0
			if sending == 0 {
				want = 1
			}
			inFlight = map[string]int{"host": sending}
			b.block(inFlight, now.Add(b.minPause))
			if got := max(0, b.perHost-inFlight["host"]); got != want {
				t.Errorf("%d of %d are being sent, and %d more may be after the pause, want %d", sending, b.perHost, got, want)
			}
		}
	}
}
