package allswell_test

import (
	"testing"
	"time"

	"github.com/allswell/allswell"
	"pgregory.net/rapid"
)

// epoch is the beginning of the tests' virtual time.
var epoch = time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)

// at returns the instant d after the epoch.
func at(d time.Duration) time.Time { return epoch.Add(d) }

// secs returns the gap between two times, in seconds after the epoch.
func secs(from, to float64) allswell.ListeningGap {
	return allswell.ListeningGap{From: at(seconds(from)), To: at(seconds(to))}
}

func seconds(s float64) time.Duration { return time.Duration(s * float64(time.Second)) }

// deadlineCase is a wait since the epoch, and its deadline. Times are in seconds after that.
type deadlineCase struct {
	name     string
	rejected float64 // 0: never
	gaps     []allswell.ListeningGap
	want     float64
}

// check compares the deadline of a wait, to which it adds the rejected ping.
func (c deadlineCase) check(t *testing.T, wait allswell.PingWait) {
	t.Run(c.name, func(t *testing.T) {
		if c.rejected != 0 {
			wait.RejectedAt = at(seconds(c.rejected))
		}
		if got := wait.Deadline(c.gaps).Sub(epoch); got != seconds(c.want) {
			t.Errorf("the deadline is %v after the last ping, want %v", got, seconds(c.want))
		}
	})
}

// TestDeadline checks the rule of docs/deadlines.md for a monitor of
// 1000 s that was last pinged at the epoch.
func TestDeadline(t *testing.T) {
	type gaps = []allswell.ListeningGap
	for _, c := range []deadlineCase{
		{"undisturbed", 0, nil, 1000},
		{"a gap before the wait", 0, gaps{secs(-300, -100)}, 1000},
		{"a gap that ends when the wait begins", 0, gaps{secs(-300, 0)}, 1000},

		{"a gap in the first half: no grant", 0, gaps{secs(100, 400)}, 1000},
		{"a gap until exactly the middle: no grant", 0, gaps{secs(100, 500)}, 1000},
		{"a gap from the first half into the second: a fresh interval", 0, gaps{secs(100, 500.001)}, 1500.001},
		{"a gap in the second half: a fresh interval", 0, gaps{secs(600, 700)}, 1700},
		{"a gap of 30 s is long", 0, gaps{secs(600, 630)}, 1630},
		{"a gap across the deadline", 0, gaps{secs(990, 5000)}, 6000},
		{"a gap that begins at the deadline", 0, gaps{secs(1000, 1100)}, 2100},
		{"a gap of a day", 0, gaps{secs(500, 86_900)}, 87_900},

		{"two gaps in the first half: no grant", 0, gaps{secs(10, 60), secs(300, 400)}, 1000},
		{"after a grant, a gap in the first half grants too", 0, gaps{secs(600, 700), secs(750, 800)}, 1800},
		{"a gap in the granted interval grants", 0, gaps{secs(600, 700), secs(1050, 1150)}, 2150},
		{"a gap after the granted interval", 0, gaps{secs(600, 700), secs(1711, 1800)}, 1700},

		{"the cap: twice the interval and the gaps", 0, gaps{secs(600, 700), secs(1600, 1700)}, 2200},
		{"the cap includes gaps that granted nothing", 0, gaps{secs(10, 110), secs(600, 700), secs(1600, 1700)}, 2300},
		{"endless restarts: the cap grows more slowly than they last", 0,
			gaps{secs(500, 530), secs(700, 730), secs(900, 930), secs(1100, 1130), secs(1300, 1330), secs(1500, 1530), secs(1700, 1730), secs(1900, 1930), secs(2100, 2130), secs(2300, 2330)},
			2000 + 9*30},

		{"a gap that begins long after the deadline", 0, gaps{secs(1011, 1100)}, 1000},
		{"a gap in which a late ping may have been lost", 0, gaps{secs(1010, 1100)}, 2090},

		{"a short gap well before the deadline: no grant", 0, gaps{secs(600, 629.999)}, 1000},
		{"a short gap across the deadline: its length and a second", 0, gaps{secs(995, 1015)}, 1036},
		{"a short gap just before the deadline", 0, gaps{secs(980, 999)}, 1019},
		{"short gaps closer than the pause between retries count as one", 0, gaps{secs(960, 975), secs(990.999, 1000)}, 2000},
		{"short gaps a retry's pause apart count separately", 0, gaps{secs(960, 975), secs(991, 1000)}, 1010},

		{"a rejected ping begins a new interval", 900, nil, 1900},
		{"a rejected ping before the last recorded one has no effect", -50, nil, 1000},
		{"the cap does not apply to rejected pings", 50_000, nil, 51_000},
		{"a ping rejected just after the wait began", 1, nil, 1001},
		{"a gap after a rejected ping grants like one after a recorded ping", 5000, gaps{secs(5700, 5800)}, 6800},
		{"a gap before a rejected ping has no effect", 5000, gaps{secs(600, 700)}, 6000},
	} {
		c.check(t, allswell.PingWait{Since: epoch, Interval: 1000 * time.Second})
	}
}

// TestCronDeadline checks the rule of docs/deadlines.md for a monitor that is due every hour, with a grace of
// 300 s, and was last pinged at the epoch. Times are in seconds after that.
func TestCronDeadline(t *testing.T) {
	type gaps = []allswell.ListeningGap
	for _, c := range []deadlineCase{
		{"undisturbed", 0, nil, 3900},
		{"a gap before it is due", 0, gaps{secs(1000, 3599)}, 3900},
		{"a gap until it is due", 0, gaps{secs(3500, 3600)}, 7500},
		{"a gap within the grace", 0, gaps{secs(3700, 3730)}, 7500},
		{"a gap in which a late ping may have been lost", 0, gaps{secs(3910, 4000)}, 7500},
		{"a gap after it is late", 0, gaps{secs(3911, 4000)}, 3900},
		{"a gap over three due times", 0, gaps{secs(3700, 10_900)}, 14_700},
		{"two gaps", 0, gaps{secs(3700, 3800), secs(7300, 7400)}, 11_100},
		{"a third gap excuses nothing", 0, gaps{secs(3700, 3800), secs(7300, 7400), secs(10_900, 11_000)}, 11_100},
		{"a third gap grants retries", 0, gaps{secs(3700, 3800), secs(7300, 7400), secs(11_050, 11_100)}, 11_131},
		{"a short gap before the deadline", 0, gaps{secs(3800, 3820)}, 3900},
		{"a short gap across the deadline", 0, gaps{secs(3890, 3910)}, 3931},
		{"short gaps that count as one", 0, gaps{secs(3850, 3865), secs(3880, 3890)}, 7500},
		{"a rejected ping", 3650, nil, 7500},
		{"a gap after a rejected ping", 3650, gaps{secs(7300, 7400)}, 11_100},
	} {
		c.check(t, allswell.PingWait{Since: epoch, Interval: time.Hour, Cron: allswell.Cron{Expression: "@hourly", TimeZone: "UTC"}, Grace: 300 * time.Second})
	}
}

// TestRetriesOfFrequentCron checks that the time for retries ends with the next deadline, for a monitor that is due every
// minute without a grace.
func TestRetriesOfFrequentCron(t *testing.T) {
	type gaps = []allswell.ListeningGap
	for _, c := range []deadlineCase{
		{"undisturbed", 0, nil, 60},
		{"a short gap across the deadline", 0, gaps{secs(55, 65)}, 76},
		{"a gap whose retries end before the next deadline", 0, gaps{secs(65, 92)}, 120},
		{"a gap whose retries would end after it", 0, gaps{secs(65, 94)}, 120},
		{"a gap that ends after it", 0, gaps{secs(69, 98)}, 120},
	} {
		c.check(t, allswell.PingWait{Since: epoch, Interval: time.Minute, Cron: allswell.Cron{Expression: "* * * * *", TimeZone: "UTC"}})
	}
}

// TestGraceDeadline checks the rule of docs/deadlines.md for a monitor with an interval of 1000 s that was last pinged
// at the epoch. Times are in seconds after that.
func TestGraceDeadline(t *testing.T) {
	type gaps = []allswell.ListeningGap
	wait := func(grace float64) allswell.PingWait {
		return allswell.PingWait{Since: epoch, Interval: 1000 * time.Second, Grace: seconds(grace)}
	}
	for _, c := range []deadlineCase{
		{"undisturbed", 0, nil, 1300},
		{"a gap before the next ping is expected", 0, gaps{secs(100, 200)}, 1300},
		{"a gap in which a ping may have been lost that followed a late one", 0, gaps{secs(100, 200.001)}, 1500.001},
		{"a gap within the grace", 0, gaps{secs(1100, 1200)}, 2500},
		{"a gap after the grace", 0, gaps{secs(1311, 1400)}, 1300},
		{"the cap", 0, gaps{secs(1200, 1300), secs(2500, 2600)}, 2800},
		{"a rejected ping", 1250, nil, 2550},
	} {
		c.check(t, wait(300))
	}
	for _, c := range []deadlineCase{
		{"a grace of over half an interval, a gap at once", 0, gaps{secs(1, 31)}, 1631},
		{"a short gap", 0, gaps{secs(1, 30)}, 1600},
	} {
		c.check(t, wait(600))
	}
}

// drawGaps draws gaps of all lengths, in order and without overlap, from shortly before the
// epoch.
func drawGaps(t *rapid.T) []allswell.ListeningGap {
	var gaps []allswell.ListeningGap
	end := at(-100 * time.Second)
	for range rapid.IntRange(0, 8).Draw(t, "gaps") {
		pause := rapid.OneOf(rapid.Int64Range(1, 40_000), rapid.Int64Range(1, 2_000_000)).Draw(t, "pause ms")
		length := rapid.OneOf(rapid.Int64Range(1, 40_000), rapid.Int64Range(1, 4_000_000)).Draw(t, "length ms")
		from := end.Add(time.Duration(pause) * time.Millisecond)
		end = from.Add(time.Duration(length) * time.Millisecond)
		gaps = append(gaps, allswell.ListeningGap{From: from, To: end})
	}
	return gaps
}

func drawWait(t *rapid.T) allswell.PingWait {
	wait := allswell.PingWait{
		Since:    epoch,
		Interval: time.Duration(rapid.Int64Range(1, 2000).Draw(t, "interval s")) * time.Second,
	}
	if rapid.Bool().Draw(t, "cron") {
		minute := rapid.SampledFrom([]string{"*", "*/3", "*/20", "7,12,50"}).Draw(t, "minute")
		wait.Cron = allswell.Cron{Expression: minute + " * * * *", TimeZone: "UTC"}
	}
	wait.Grace = time.Duration(rapid.SampledFrom([]int64{0, 0, 30, 600}).Draw(t, "grace s")) * time.Second
	if rapid.Bool().Draw(t, "rejected") {
		wait.RejectedAt = at(time.Duration(rapid.Int64Range(-10_000, 5_000_000).Draw(t, "rejected ms")) * time.Millisecond)
	}
	return wait
}

// totalGap returns the total length of the gaps after an instant.
func totalGap(gaps []allswell.ListeningGap, since time.Time) (sum time.Duration) {
	for _, h := range gaps {
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
		wait, gaps := drawWait(t), drawGaps(t)
		due := wait.Deadline(gaps)
		if due.Before(wait.DueAt().Add(wait.Grace)) {
			t.Fatalf("due %v after the last ping, before the schedule %v", due.Sub(wait.Since), wait)
		}
		if wait.Cron.IsZero() && !wait.RejectedAt.IsZero() && due.Before(wait.RejectedAt.Add(wait.Interval)) {
			t.Fatalf("due %v after a rejected ping, before the interval of %v", due.Sub(wait.RejectedAt), wait.Interval)
		}
	})
}

func TestDeadlineIsNeverAfterTheCapUnlessRejected(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		wait, gaps := drawWait(t), drawGaps(t)
		wait.RejectedAt, wait.Cron = time.Time{}, allswell.Cron{}
		limit := 2*(wait.Interval+wait.Grace) + totalGap(gaps, wait.Since)
		if got := wait.Deadline(gaps).Sub(wait.Since); got > limit {
			t.Fatalf("due after %v, beyond the cap of %v", got, limit)
		}
	})
}

// TestDeadlineIsNeverEarlierForOneMoreGap checks that another listening gap never makes a
// deadline earlier. The store finds overdue monitors by a deadline that was computed with
// the gaps of an earlier moment, so that must never be too late.
func TestDeadlineIsNeverEarlierForOneMoreGap(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		wait, gaps := drawWait(t), drawGaps(t)
		if len(gaps) == 0 {
			return
		}
		drop := rapid.IntRange(0, len(gaps)-1).Draw(t, "drop")
		fewer := append(append([]allswell.ListeningGap{}, gaps[:drop]...), gaps[drop+1:]...)
		if with, without := wait.Deadline(gaps), wait.Deadline(fewer); with.Before(without) {
			t.Fatalf("due after %v with a gap from %v to %v, after %v without it", with.Sub(epoch), gaps[drop].From.Sub(epoch), gaps[drop].To.Sub(epoch), without.Sub(epoch))
		}
	})
}
