package allswell_test

import (
	"testing"
	"time"

	"github.com/allswell/allswell"
	"pgregory.net/rapid"
)

// epoch is when the tests' virtual time begins.
var epoch = time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)

// at is the instant so long after the epoch.
func at(d time.Duration) time.Time { return epoch.Add(d) }

// secs is a hole from one second to another after the epoch.
func secs(from, to float64) allswell.ListeningGap {
	return allswell.ListeningGap{From: at(seconds(from)), To: at(seconds(to))}
}

func seconds(s float64) time.Duration { return time.Duration(s * float64(time.Second)) }

// TestDeadline checks the rule of docs/deadlines.md for a monitor of
// 1000 s that was last pinged at the epoch.
func TestDeadline(t *testing.T) {
	type holes = []allswell.ListeningGap
	for _, c := range []struct {
		name    string
		refused float64 // 0: never
		holes   holes
		want    float64
	}{
		{"undisturbed", 0, nil, 1000},
		{"a hole before the wait", 0, holes{secs(-300, -100)}, 1000},
		{"a hole that ends as the wait begins", 0, holes{secs(-300, 0)}, 1000},

		{"deaf in the first half: no grant", 0, holes{secs(100, 400)}, 1000},
		{"deaf until the very middle: no grant", 0, holes{secs(100, 500)}, 1000},
		{"deaf from the first half into the second: a fresh interval", 0, holes{secs(100, 500.001)}, 1500.001},
		{"deaf in the second half: a fresh interval", 0, holes{secs(600, 700)}, 1700},
		{"deaf for 30 s is deaf", 0, holes{secs(600, 630)}, 1630},
		{"deaf over the deadline", 0, holes{secs(990, 5000)}, 6000},
		{"deaf from the deadline on", 0, holes{secs(1000, 1100)}, 2100},
		{"deaf for a day", 0, holes{secs(500, 86_900)}, 87_900},

		{"deaf twice in the first half: no grant", 0, holes{secs(10, 60), secs(300, 400)}, 1000},
		{"after a grant the first half of the wait grants too", 0, holes{secs(600, 700), secs(750, 800)}, 1800},
		{"after a grant the granted interval grants", 0, holes{secs(600, 700), secs(1050, 1150)}, 2150},
		{"a window after the granted interval", 0, holes{secs(600, 700), secs(1711, 1800)}, 1700},

		{"the cap: twice the interval and the deaf time", 0, holes{secs(600, 700), secs(1600, 1700)}, 2200},
		{"the cap counts deaf time that granted nothing", 0, holes{secs(10, 110), secs(600, 700), secs(1600, 1700)}, 2300},
		{"the cap grows with endless restarts, but more slowly than they last", 0,
			holes{secs(500, 530), secs(700, 730), secs(900, 930), secs(1100, 1130), secs(1300, 1330), secs(1500, 1530), secs(1700, 1730), secs(1900, 1930), secs(2100, 2130), secs(2300, 2330)},
			2000 + 9*30},

		{"a window that begins long after the deadline", 0, holes{secs(1011, 1100)}, 1000},
		{"a window that may have met a ping that was on its way", 0, holes{secs(1010, 1100)}, 2090},

		{"a short hole well before the deadline: nothing", 0, holes{secs(600, 629.999)}, 1000},
		{"a short hole over the deadline: its length and a second", 0, holes{secs(995, 1015)}, 1036},
		{"a short hole just before the deadline", 0, holes{secs(980, 999)}, 1019},
		{"short holes that leave a retry no pause count as one", 0, holes{secs(960, 975), secs(990.999, 1000)}, 2000},
		{"short holes with a retry's pause between them do not", 0, holes{secs(960, 975), secs(991, 1000)}, 1010},

		{"a refused ping proves life for one interval", 900, nil, 1900},
		{"a refused ping before the last recorded one proves nothing more", -50, nil, 1000},
		{"refused pings know no cap", 50_000, nil, 51_000},
		{"refused just after the wait began", 1, nil, 1001},
		{"deafness after a refused ping grants as after a recorded one", 5000, holes{secs(5700, 5800)}, 6800},
		{"deafness before a refused ping is over", 5000, holes{secs(600, 700)}, 6000},
	} {
		t.Run(c.name, func(t *testing.T) {
			wait := allswell.PingWait{Since: epoch, Interval: 1000 * time.Second}
			if c.refused != 0 {
				wait.RejectedAt = at(seconds(c.refused))
			}
			if got := wait.Deadline(c.holes).Sub(epoch); got != seconds(c.want) {
				t.Errorf("the deadline is %v after the last ping, want %v", got, seconds(c.want))
			}
		})
	}
}

// drawHoles draws holes of every kind, in order and without overlap, from a
// little before the epoch on.
func drawHoles(t *rapid.T) []allswell.ListeningGap {
	var holes []allswell.ListeningGap
	end := at(-100 * time.Second)
	for range rapid.IntRange(0, 8).Draw(t, "holes") {
		gap := rapid.OneOf(rapid.Int64Range(1, 40_000), rapid.Int64Range(1, 2_000_000)).Draw(t, "gap ms")
		length := rapid.OneOf(rapid.Int64Range(1, 40_000), rapid.Int64Range(1, 4_000_000)).Draw(t, "length ms")
		from := end.Add(time.Duration(gap) * time.Millisecond)
		end = from.Add(time.Duration(length) * time.Millisecond)
		holes = append(holes, allswell.ListeningGap{From: from, To: end})
	}
	return holes
}

func drawWait(t *rapid.T) allswell.PingWait {
	wait := allswell.PingWait{
		Since:    epoch,
		Interval: time.Duration(rapid.Int64Range(1, 2000).Draw(t, "interval s")) * time.Second,
	}
	if rapid.Bool().Draw(t, "refused") {
		wait.RejectedAt = at(time.Duration(rapid.Int64Range(-10_000, 5_000_000).Draw(t, "refused ms")) * time.Millisecond)
	}
	return wait
}

// deafness is the time of holes after an instant.
func deafness(holes []allswell.ListeningGap, since time.Time) (sum time.Duration) {
	for _, h := range holes {
		if h.To.After(since) {
			if h.From.Before(since) {
				h.From = since
			}
			sum += h.Len()
		}
	}
	return sum
}

func TestDeadlineIsNeverBeforeTheInterval(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		wait, holes := drawWait(t), drawHoles(t)
		due := wait.Deadline(holes)
		if due.Before(wait.Since.Add(wait.Interval)) {
			t.Fatalf("due %v after the last ping, before the interval of %v", due.Sub(wait.Since), wait.Interval)
		}
		if !wait.RejectedAt.IsZero() && due.Before(wait.RejectedAt.Add(wait.Interval)) {
			t.Fatalf("due %v after a refused ping, before the interval of %v", due.Sub(wait.RejectedAt), wait.Interval)
		}
	})
}

func TestDeadlineIsNeverAfterTheCapUnlessRefused(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		wait, holes := drawWait(t), drawHoles(t)
		wait.RejectedAt = time.Time{}
		limit := 2*wait.Interval + deafness(holes, wait.Since)
		if got := wait.Deadline(holes).Sub(wait.Since); got > limit {
			t.Fatalf("due after %v, beyond the cap of %v", got, limit)
		}
	})
}

// TestDeadlineIsNeverEarlierForOneMoreGap checks that another listening gap never makes a
// deadline earlier. The store finds overdue monitors by a deadline that was computed with
// the gaps of an earlier moment, so that must never be too late.
func TestDeadlineIsNeverEarlierForOneMoreGap(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		wait, holes := drawWait(t), drawHoles(t)
		if len(holes) == 0 {
			return
		}
		drop := rapid.IntRange(0, len(holes)-1).Draw(t, "drop")
		fewer := append(append([]allswell.ListeningGap{}, holes[:drop]...), holes[drop+1:]...)
		if with, without := wait.Deadline(holes), wait.Deadline(fewer); with.Before(without) {
			t.Fatalf("due after %v with a hole from %v to %v, after %v without", with.Sub(epoch), holes[drop].From.Sub(epoch), holes[drop].To.Sub(epoch), without.Sub(epoch))
		}
	})
}
