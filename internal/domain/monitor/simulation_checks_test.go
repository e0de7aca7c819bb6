package monitor_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/allswell/allswell/internal/domain/domaintest"
	"github.com/allswell/allswell/internal/domain/monitor"
	"github.com/allswell/allswell/internal/domain/schedule"
	"pgregory.net/rapid"
)

// checker is a replica that checks.
type checker struct {
	name, location string
	dead           []schedule.ListeningGap // it does not run; what it has claimed is lost
	cut            []schedule.ListeningGap // it reaches nothing, and says so
	lies           bool                    // it does not reach the target, but other hosts
}

// runningCheck is a check that a replica runs.
type runningCheck struct {
	by    *checker
	from  time.Time
	until time.Time
}

// checkWorld is a target that replicas check, second by second.
type checkWorld struct {
	monitor  monitor.Monitor
	latency  time.Duration
	checkers []*checker
	broken   schedule.ListeningGap   // when the target does not work
	steps    []schedule.ListeningGap // during each, the clock is ahead by its length; at its end it goes back
	until    time.Time

	retry   bool
	running []runningCheck
	log     []string
}

// clock returns what the clock shows.
func (w *checkWorld) clock(now time.Time) time.Time {
	for _, s := range w.steps {
		if !now.Before(s.From) && now.Before(s.To) {
			return now.Add(s.Len())
		}
	}
	return now
}

func (w *checkWorld) alive(now time.Time) map[string]string {
	replicas := make(map[string]string)
	for _, c := range w.checkers {
		if !inside(c.dead, now) {
			replicas[c.name] = c.location
		}
	}
	return replicas
}

// claim does what the store does with the claim of a replica.
func (w *checkWorld) claim(c *checker, now time.Time) {
	m, clock := &w.monitor, w.clock(now)
	round := m.CheckState.Round
	switch {
	case !m.NextCheckAt.After(clock):
		m.NextCheckAt, m.CheckState.Round, w.retry = monitor.NextCheck(m.ID, m.Interval, clock), monitor.CheckRound{},
			false
	case w.retry && !slices.Contains(round.Failed, c.location) && !slices.Contains(round.Unknown, c.name):
		w.retry = false
	default:
		return
	}
	w.running = append(w.running, runningCheck{c, now, now.Add(w.latency)})
}

// finish applies the results of the checks that end now.
func (w *checkWorld) finish(now time.Time) {
	m := &w.monitor
	w.running = slices.DeleteFunc(w.running, func(r runningCheck) bool {
		if inside(r.by.dead, now) {
			return true
		}
		if r.until.After(now) {
			return false
		}
		result := monitor.CheckResult{
			Replica: r.by.name, Location: r.by.location, StartedAt: w.clock(r.from), Status: monitor.CheckOK,
		}
		switch {
		case inside(r.by.cut, now):
			result.Status = monitor.CheckUnknown
		case r.by.lies, inside([]schedule.ListeningGap{w.broken}, now):
			result.Status = monitor.CheckFailed
		}
		before := m.DisplayState()
		e := m.ApplyCheckResult(result, monitor.CheckView{Now: w.clock(now), Threshold: 3, Replicas: w.alive(now)})
		if w.retry = e.Retry; !e.RecheckBy.IsZero() && e.RecheckBy.Before(m.NextCheckAt) {
			m.NextCheckAt = e.RecheckBy
		}
		if condition := m.DisplayState(); condition != before {
			w.log = append(w.log,
				fmt.Sprintf("%v %s by %s: %s", now.Sub(domaintest.Epoch), result.Status, r.by.name, condition))
		}
		return true
	})
}

// run calls after with every second, until it returns false.
func (w *checkWorld) run(after func(now time.Time) bool) {
	m := &w.monitor
	m.NextCheckAt = domaintest.Epoch
	last := domaintest.Epoch
	for now := domaintest.Epoch; now.Before(w.until); now = now.Add(time.Second) {
		if clock := w.clock(now); clock.Before(last) && m.NextCheckAt.After(clock.Add(m.Interval)) {
			m.NextCheckAt = clock // as the store repairs times in the future
		}
		last = w.clock(now)
		w.finish(now)
		for i := range w.checkers { // another one is the first each time
			if c := w.checkers[(int(now.Unix())+i)%len(w.checkers)]; !inside(c.dead, now) {
				w.claim(c, now)
			}
		}
		if !after(now) {
			return
		}
	}
}

func drawCheckWorld(t *rapid.T) *checkWorld {
	seconds := func(lo, hi int, name string) time.Duration {
		return time.Duration(rapid.IntRange(lo, hi).Draw(t, name+" s")) * time.Second
	}
	w := &checkWorld{
		checkers: []*checker{
			{name: "a", location: "here"}, {name: "b", location: "here"}, {name: "c", location: "there"},
		},
	}
	w.monitor = checkedMonitor(func(m *monitor.Monitor) {
		m.ID = fmt.Sprintf("mon_%d", rapid.IntRange(0, 99).Draw(t, "id"))
		m.Interval = seconds(10, 120, "interval")
		m.Check.Timeout = min(seconds(1, 60, "timeout"), m.Interval-time.Second)
		m.FailureThreshold = rapid.IntRange(1, 4).Draw(t, "K")
		m.Check.RecoveryThreshold = rapid.IntRange(1, 3).Draw(t, "R")
		m.Check.ConfirmFrom = rapid.IntRange(1, 2).Draw(t, "N")
	})
	w.latency = min(seconds(0, 60, "latency"), w.monitor.Check.Timeout)
	w.until = domaintest.At(30*w.monitor.Interval + 10*time.Minute)
	return w
}

// drawFaults draws when a replica is dead, or cut off.
func (w *checkWorld) drawFaults(t *rapid.T, name string) (gaps []schedule.ListeningGap) {
	for now := domaintest.Epoch; now.Before(w.until) && len(gaps) < 10; {
		from := now.Add(time.Duration(rapid.IntRange(0, 600).Draw(t, name+" after s")) * time.Second)
		now = from.Add(time.Duration(rapid.IntRange(1, 600).Draw(t, name+" for s")) * time.Second)
		gaps = append(gaps, schedule.ListeningGap{From: from, To: now})
	}
	return gaps
}

// drawSteps draws when the clock is ahead.
func (w *checkWorld) drawSteps(t *rapid.T) {
	for now := domaintest.Epoch.Add(time.Minute); now.Before(w.until) && rapid.Bool().Draw(t, "step"); {
		from := now.Add(time.Duration(rapid.IntRange(0, 600).Draw(t, "step after s")) * time.Second)
		now = from.Add(time.Duration(rapid.IntRange(1, 7200).Draw(t, "step s")) * time.Second)
		w.steps = append(w.steps, schedule.ListeningGap{From: from, To: now})
	}
}

func TestTargetThatWorksIsNeverMarkedDown(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := drawCheckWorld(t)
		for _, c := range w.checkers {
			c.dead, c.cut = w.drawFaults(t, c.name+" dead"), w.drawFaults(t, c.name+" cut")
		}
		w.drawSteps(t)
		w.run(func(now time.Time) bool {
			if w.monitor.ConsecutiveFailures > 0 || w.monitor.State == monitor.MonitorDown {
				t.Fatalf("a target that works has failures at %v: %+v", now.Sub(domaintest.Epoch), w.monitor)
			}
			return true
		})
	})
}

// One location that does not reach the target is not enough for a check that two have to confirm.
func TestOneLocationAloneRaisesNothing(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := drawCheckWorld(t)
		w.monitor.Check.ConfirmFrom = 2
		w.checkers[2].lies = true
		w.checkers[1].dead = w.drawFaults(t, "b dead")
		w.run(func(now time.Time) bool {
			if w.monitor.ConsecutiveFailures > 0 {
				t.Fatalf("one location has caused failures at %v: %+v", now.Sub(domaintest.Epoch), w.monitor)
			}
			return true
		})
	})
}

// TestBrokenTargetIsReportedInTime checks that a target that stops working is down in time if one replica works all the
// time, and up again in time.
func TestBrokenTargetIsReportedInTime(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := drawCheckWorld(t)
		m := &w.monitor
		faults := rapid.Bool().Draw(t, "others fail")
		if faults {
			w.latency = min(w.latency, m.Interval/4) // so that all can check within an interval
			for _, c := range w.checkers[1:] {
				c.cut = w.drawFaults(t, c.name+" cut")
			}
		}
		from := time.Duration(rapid.IntRange(0, int(5*m.Interval/time.Second)).Draw(t, "broken from s")) * time.Second
		recheck := max(m.Interval/4, 5*time.Second)
		once := w.latency + 2*time.Second // a check, and at most a second until it is claimed
		bound := m.Interval + w.latency + time.Second
		if faults || m.Check.ConfirmFrom > 1 {
			once = 3 * once // it is handed on
			bound += 2 * once
		}
		bound += time.Duration(m.FailureThreshold-1) * (recheck + once)
		if faults && m.Check.ConfirmFrom > 1 { // the check after a round may be claimed before the round ends
			bound += time.Duration(m.FailureThreshold) * m.Interval
		}
		w.broken = schedule.ListeningGap{From: domaintest.At(from), To: domaintest.At(from + bound + time.Minute)}
		up := m.Interval + 3*once + time.Duration(m.Check.RecoveryThreshold-1)*(recheck+once) + time.Minute
		w.until = w.broken.To.Add(up)
		down := time.Duration(-1)
		w.run(func(now time.Time) bool {
			if down < 0 && m.State == monitor.MonitorDown {
				down = now.Sub(domaintest.Epoch) - from
			}
			return true
		})
		if down < 0 || down > bound {
			t.Fatalf("down %v after it broke, the limit is %v: interval %v, latency %v, threshold %d, from %d\n%v",
				down, bound, m.Interval, w.latency, m.FailureThreshold, m.Check.ConfirmFrom, w.log)
		}
		if m.State == monitor.MonitorDown {
			t.Fatalf("still down %v after it works\n%v", up, w.log)
		}
	})
}
