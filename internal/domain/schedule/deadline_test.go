package schedule_test

import (
	"testing"
	"time"

	"github.com/allswell/allswell/internal/domain/domaintest"
	"github.com/allswell/allswell/internal/domain/schedule"
	"pgregory.net/rapid"
)

// deadlineCase is a wait since the epoch, and its deadline. Times are in seconds after that.
type deadlineCase struct {
	name     string
	rejected float64 // 0: never
	gaps     []schedule.ListeningGap
	want     float64
}

// check compares the deadline of a wait, to which it adds the rejected ping.
func (c deadlineCase) check(t *testing.T, wait schedule.PingWait) {
	t.Run(c.name, func(t *testing.T) {
		if c.rejected != 0 {
			wait.RejectedAt = domaintest.At(domaintest.Seconds(c.rejected))
		}
		if got := wait.Deadline(c.gaps).Sub(domaintest.Epoch); got != domaintest.Seconds(c.want) {
			t.Errorf("the deadline is %v after the last ping, want %v", got, domaintest.Seconds(c.want))
		}
	})
}

// TestDeadline checks the rule of docs/deadlines.md for a monitor of
// 1000 s that was last pinged at the epoch.
func TestDeadline(t *testing.T) {
	type gaps = []schedule.ListeningGap
	for _, c := range []deadlineCase{
		{"undisturbed", 0, nil, 1000},
		{"a gap before the wait", 0, gaps{domaintest.Gap(-300, -100)}, 1000},
		{"a gap that ends when the wait begins", 0, gaps{domaintest.Gap(-300, 0)}, 1000},

		{"a gap in the first half: no grant", 0, gaps{domaintest.Gap(100, 400)}, 1000},
		{"a gap until exactly the middle: no grant", 0, gaps{domaintest.Gap(100, 500)}, 1000},
		{"a gap from the first half into the second: a fresh interval", 0, gaps{domaintest.Gap(100, 500.001)},
			1500.001},
		{"a gap in the second half: a fresh interval", 0, gaps{domaintest.Gap(600, 700)}, 1700},
		{"a gap of 30 s is long", 0, gaps{domaintest.Gap(600, 630)}, 1630},
		{"a gap across the deadline", 0, gaps{domaintest.Gap(990, 5000)}, 6000},
		{"a gap that begins at the deadline", 0, gaps{domaintest.Gap(1000, 1100)}, 2100},
		{"a gap of a day", 0, gaps{domaintest.Gap(500, 86_900)}, 87_900},

		{"two gaps in the first half: no grant", 0, gaps{domaintest.Gap(10, 60), domaintest.Gap(300, 400)}, 1000},
		{"after a grant, a gap in the first half grants too", 0,
			gaps{domaintest.Gap(600, 700), domaintest.Gap(750, 800)}, 1800},
		{"a gap in the granted interval grants", 0, gaps{domaintest.Gap(600, 700), domaintest.Gap(1050, 1150)}, 2150},
		{"a gap after the granted interval", 0, gaps{domaintest.Gap(600, 700), domaintest.Gap(1711, 1800)}, 1700},

		{"the cap: twice the interval and the gaps", 0, gaps{domaintest.Gap(600, 700), domaintest.Gap(1600, 1700)},
			2200},
		{"the cap includes gaps that granted nothing", 0,
			gaps{domaintest.Gap(10, 110), domaintest.Gap(600, 700), domaintest.Gap(1600, 1700)}, 2300},
		{"endless restarts: the cap grows more slowly than they last", 0,
			gaps{
				domaintest.Gap(500, 530), domaintest.Gap(700, 730), domaintest.Gap(900, 930),
				domaintest.Gap(1100, 1130), domaintest.Gap(1300, 1330), domaintest.Gap(1500, 1530),
				domaintest.Gap(1700, 1730), domaintest.Gap(1900, 1930), domaintest.Gap(2100, 2130),
				domaintest.Gap(2300, 2330),
			},
			2000 + 9*30},

		{"a gap that begins long after the deadline", 0, gaps{domaintest.Gap(1011, 1100)}, 1000},
		{"a gap in which a late ping may have been lost", 0, gaps{domaintest.Gap(1010, 1100)}, 2090},

		{"a short gap well before the deadline: no grant", 0, gaps{domaintest.Gap(600, 629.999)}, 1000},
		{"a short gap across the deadline: its length and a second", 0, gaps{domaintest.Gap(995, 1015)}, 1036},
		{"a short gap just before the deadline", 0, gaps{domaintest.Gap(980, 999)}, 1019},
		{"short gaps closer than the pause between retries count as one", 0,
			gaps{domaintest.Gap(960, 975), domaintest.Gap(990.999, 1000)}, 2000},
		{"short gaps a retry's pause apart count separately", 0,
			gaps{domaintest.Gap(960, 975), domaintest.Gap(991, 1000)}, 1010},

		{"a rejected ping begins a new interval", 900, nil, 1900},
		{"a rejected ping before the last recorded one has no effect", -50, nil, 1000},
		{"the cap does not apply to rejected pings", 50_000, nil, 51_000},
		{"a ping rejected just after the wait began", 1, nil, 1001},
		{"a gap after a rejected ping grants like one after a recorded ping", 5000, gaps{domaintest.Gap(5700, 5800)},
			6800},
		{"a gap before a rejected ping has no effect", 5000, gaps{domaintest.Gap(600, 700)}, 6000},
	} {
		c.check(t, schedule.PingWait{Since: domaintest.Epoch, Interval: 1000 * time.Second})
	}
}

// TestCronDeadline checks the rule of docs/deadlines.md for a monitor that is due every hour, with a grace of
// 300 s, and was last pinged at the epoch. Times are in seconds after that.
func TestCronDeadline(t *testing.T) {
	type gaps = []schedule.ListeningGap
	for _, c := range []deadlineCase{
		{"undisturbed", 0, nil, 3900},
		{"a gap before it is due", 0, gaps{domaintest.Gap(1000, 3599)}, 3900},
		{"a gap until it is due", 0, gaps{domaintest.Gap(3500, 3600)}, 7500},
		{"a gap within the grace", 0, gaps{domaintest.Gap(3700, 3730)}, 7500},
		{"a gap in which a late ping may have been lost", 0, gaps{domaintest.Gap(3910, 4000)}, 7500},
		{"a gap after it is late", 0, gaps{domaintest.Gap(3911, 4000)}, 3900},
		{"a gap over three due times", 0, gaps{domaintest.Gap(3700, 10_900)}, 14_700},
		{"two gaps", 0, gaps{domaintest.Gap(3700, 3800), domaintest.Gap(7300, 7400)}, 11_100},
		{"a third gap excuses nothing", 0,
			gaps{domaintest.Gap(3700, 3800), domaintest.Gap(7300, 7400), domaintest.Gap(10_900, 11_000)}, 11_100},
		{"a third gap grants retries", 0,
			gaps{domaintest.Gap(3700, 3800), domaintest.Gap(7300, 7400), domaintest.Gap(11_050, 11_100)}, 11_131},
		{"a short gap before the deadline", 0, gaps{domaintest.Gap(3800, 3820)}, 3900},
		{"a short gap across the deadline", 0, gaps{domaintest.Gap(3890, 3910)}, 3931},
		{"short gaps that count as one", 0, gaps{domaintest.Gap(3850, 3865), domaintest.Gap(3880, 3890)}, 7500},
		{"a rejected ping", 3650, nil, 7500},
		{"a gap after a rejected ping", 3650, gaps{domaintest.Gap(7300, 7400)}, 11_100},
	} {
		c.check(t, schedule.PingWait{
			Since: domaintest.Epoch, Interval: time.Hour, Cron: schedule.Cron{Expression: "@hourly", TimeZone: "UTC"},
			Grace: 300 * time.Second,
		})
	}
}

// TestRetriesOfFrequentCron checks that the time for retries ends with the next deadline, for a monitor that is due
// every minute without a grace.
func TestRetriesOfFrequentCron(t *testing.T) {
	type gaps = []schedule.ListeningGap
	for _, c := range []deadlineCase{
		{"undisturbed", 0, nil, 60},
		{"a short gap across the deadline", 0, gaps{domaintest.Gap(55, 65)}, 76},
		{"a gap whose retries end before the next deadline", 0, gaps{domaintest.Gap(65, 92)}, 120},
		{"a gap whose retries would end after it", 0, gaps{domaintest.Gap(65, 94)}, 120},
		{"a gap that ends after it", 0, gaps{domaintest.Gap(69, 98)}, 120},
	} {
		c.check(t, schedule.PingWait{
			Since: domaintest.Epoch, Interval: time.Minute,
			Cron: schedule.Cron{Expression: "* * * * *", TimeZone: "UTC"},
		})
	}
}

// TestGraceDeadline checks the rule of docs/deadlines.md for a monitor with an interval of 1000 s that was last pinged
// at the epoch. Times are in seconds after that.
func TestGraceDeadline(t *testing.T) {
	type gaps = []schedule.ListeningGap
	wait := func(grace float64) schedule.PingWait {
		return schedule.PingWait{
			Since: domaintest.Epoch, Interval: 1000 * time.Second, Grace: domaintest.Seconds(grace),
		}
	}
	for _, c := range []deadlineCase{
		{"undisturbed", 0, nil, 1300},
		{"a gap before the next ping is expected", 0, gaps{domaintest.Gap(100, 200)}, 1300},
		{"a gap in which a ping may have been lost that followed a late one", 0, gaps{domaintest.Gap(100, 200.001)},
			1500.001},
		{"a gap within the grace", 0, gaps{domaintest.Gap(1100, 1200)}, 2500},
		{"a gap after the grace", 0, gaps{domaintest.Gap(1311, 1400)}, 1300},
		{"the cap", 0, gaps{domaintest.Gap(1200, 1300), domaintest.Gap(2500, 2600)}, 2800},
		{"a rejected ping", 1250, nil, 2550},
	} {
		c.check(t, wait(300))
	}
	for _, c := range []deadlineCase{
		{"a grace of over half an interval, a gap at once", 0, gaps{domaintest.Gap(1, 31)}, 1631},
		{"a short gap", 0, gaps{domaintest.Gap(1, 30)}, 1600},
	} {
		c.check(t, wait(600))
	}
}

func TestDeadlineIsNeverBeforeTheInterval(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		wait, gaps := domaintest.DrawWait(t), domaintest.DrawGaps(t)
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
		wait, gaps := domaintest.DrawWait(t), domaintest.DrawGaps(t)
		wait.RejectedAt, wait.Cron = time.Time{}, schedule.Cron{}
		limit := 2*(wait.Interval+wait.Grace) + domaintest.TotalGap(gaps, wait.Since)
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
		wait, gaps := domaintest.DrawWait(t), domaintest.DrawGaps(t)
		if len(gaps) == 0 {
			return
		}
		drop := rapid.IntRange(0, len(gaps)-1).Draw(t, "drop")
		fewer := append(append([]schedule.ListeningGap{}, gaps[:drop]...), gaps[drop+1:]...)
		if with, without := wait.Deadline(gaps), wait.Deadline(fewer); with.Before(without) {
			t.Fatalf("due after %v with a gap from %v to %v, after %v without it", with.Sub(domaintest.Epoch),
				gaps[drop].From.Sub(domaintest.Epoch), gaps[drop].To.Sub(domaintest.Epoch),
				without.Sub(domaintest.Epoch))
		}
	})
}
