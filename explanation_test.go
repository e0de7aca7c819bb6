package allswell_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/allswell/allswell"
	"pgregory.net/rapid"
)

// drawMonitor draws a monitor in any state, as it can be at an instant.
func drawMonitor(t *rapid.T) allswell.Monitor {
	wait := drawWait(t)
	m := allswell.Monitor{
		Interval: wait.Interval, Cron: wait.Cron, Grace: wait.Grace, Enabled: rapid.IntRange(0, 9).Draw(t, "enabled") > 0, State: allswell.MonitorUp,
		LastPingAt: wait.Since, WaitingSince: wait.Since, RejectedAt: wait.RejectedAt, FailureThreshold: rapid.IntRange(0, 6).Draw(t, "threshold"),
	}
	switch rapid.IntRange(0, 5).Draw(t, "kind") {
	case 0:
		m.LastPingAt, m.WaitingSince, m.RejectedAt = time.Time{}, time.Time{}, time.Time{}
	case 1:
		m.State = allswell.MonitorDown
	case 2:
		m.SuppressedUntil = at(time.Duration(rapid.Int64Range(-5_000, 5_000).Draw(t, "maintenance s")) * time.Second)
	case 3:
		m.LastPingAt = epoch.Add(-time.Hour)
	}
	return m
}

// TestExplanationFollowsTheRule compares explanations with the deadline, and with the checks that follow.
func TestExplanationFollowsTheRule(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m, gaps := drawMonitor(t), drawGaps(t)
		tick := allswell.Tick{Period: time.Duration(rapid.IntRange(1, 300).Draw(t, "period s")) * time.Second, Threshold: 3, Gaps: gaps}
		now := at(time.Duration(rapid.Int64Range(0, 10_000).Draw(t, "now s")) * time.Second)
		for tick.Instant = epoch.Truncate(tick.Period); !tick.Instant.After(now); tick.Instant = tick.Instant.Add(tick.Period) {
			tick.AsOf = tick.Instant
			m.ApplyTick(tick)
		}
		tick.AsOf = now
		e := m.Explain(tick)
		if e.State != m.Condition() || !e.DueAt.Equal(m.DueAt(gaps)) {
			t.Fatalf("%s, due %v; the monitor is %s, due %v", e.State, e.DueAt, m.Condition(), m.DueAt(gaps))
		}
		if !e.DueAt.IsZero() {
			due := e.ExpectedAt.Add(m.Grace)
			if plain := (allswell.PingWait{Since: m.WaitingSince, Interval: m.Interval, Cron: m.Cron, Grace: m.Grace}).Deadline(nil); !plain.Equal(due) {
				t.Fatalf("without extensions due %v, want %v", plain, due)
			}
			for _, x := range e.Extensions {
				if !x.DueAt.After(due) {
					t.Fatalf("an extension from %v to %v: %+v", due, x.DueAt, x)
				}
				due = x.DueAt
			}
			if !due.Equal(e.DueAt) {
				t.Fatalf("the extensions lead to %v, the deadline is %v", due, e.DueAt)
			}
		}
		if next := m; !e.DownAt.IsZero() { // the checks that follow, one by one
			for next.State == allswell.MonitorUp {
				tick.AsOf = tick.Instant
				next.ApplyTick(tick)
				if next.State == allswell.MonitorDown && !tick.Instant.Equal(e.DownAt) {
					t.Fatalf("down at %v, want %v", tick.Instant, e.DownAt)
				}
				tick.Instant = tick.Instant.Add(tick.Period)
			}
		} else if m.Enabled && m.State == allswell.MonitorUp && !m.WaitingSince.IsZero() {
			t.Fatal("a monitor that can go down has no DownAt")
		}
	})
}

func TestExplanationSentences(t *testing.T) {
	clock := func(t time.Time) string { return t.UTC().Format("15:04:05") }
	day := time.Date(2026, 3, 14, 0, 0, 0, 0, time.UTC)
	when := func(hour, minute int) time.Time {
		return day.Add(time.Duration(hour)*time.Hour + time.Duration(minute)*time.Minute)
	}
	up := allswell.Monitor{Enabled: true, State: allswell.MonitorUp, Interval: time.Hour, LastPingAt: when(2, 12), WaitingSince: when(2, 12)}
	change := func(f func(*allswell.Monitor)) allswell.Monitor { m := up; f(&m); return m }
	for name, c := range map[string]struct {
		m    allswell.Monitor
		now  time.Time
		gaps []allswell.ListeningGap
		want string
	}{
		"disabled": {change(func(m *allswell.Monitor) { m.Enabled = false }), when(2, 30), nil,
			"The monitor is paused until somebody resumes it. No ping is expected, and its ping URL answers 404."},
		"paused": {change(func(m *allswell.Monitor) { m.Enabled, m.PausedUntil = false, when(5, 0) }), when(2, 30), nil,
			"The monitor is paused until 05:00:00. Until then no ping is expected, and its ping URL answers 404. Then its next ping is due as if it had just pinged."},
		"waiting": {change(func(m *allswell.Monitor) { m.LastPingAt, m.WaitingSince = time.Time{}, time.Time{} }), when(2, 30), nil,
			"The monitor waits for its first ping. Until then it cannot go down."},
		"up": {up, when(2, 30), nil, "The last ping came at 02:12:00. The next one is due within 1 hour, by 03:12:00. " +
			"It goes down at 03:15:00 if no ping comes before: then 3 checks in a row will have found it overdue."},
		"late": {change(func(m *allswell.Monitor) { m.ConsecutiveFailures, m.TickedAt = 2, when(4, 0) }), when(4, 0).Add(time.Second),
			[]allswell.ListeningGap{{From: when(2, 50), To: when(2, 58)}},
			"The last ping came at 02:12:00. The next one was due within 1 hour, by 03:12:00. " +
				"Extended to 03:58:00, because Allswell could not receive pings from 02:50:00 until 02:58:00. " +
				"2 of 3 checks in a row have found it overdue. It goes down at 04:01:00 if no ping comes before."},
		"down": {change(func(m *allswell.Monitor) {
			m.State, m.ConsecutiveFailures, m.TickedAt = allswell.MonitorDown, 3, when(3, 15)
		}), when(4, 0), nil,
			"The last ping came at 02:12:00. The next one was due within 1 hour, by 03:12:00. " +
				"It has been down since 03:15:00, when 3 checks in a row had found it overdue. The next ping ends the outage."},
		"enabled again, rejected, maintenance": {change(func(m *allswell.Monitor) {
			m.LastPingAt, m.RejectedAt, m.SuppressedUntil, m.FailureThreshold = when(1, 0), when(3, 0), when(2, 30), 1
		}), when(2, 30), nil, "The last ping came at 01:00:00. The monitor was enabled or its interval changed at 02:12:00: a ping is due within 1 hour, by 03:12:00. " +
			"Extended to 03:30:00, one interval after the end of the component's maintenance at 02:30:00. " +
			"Extended to 04:00:00, because a valid ping was rejected at 03:00:00: the job is alive. " +
			"It goes down at 04:01:00 if no ping comes before: then one check will have found it overdue."},
	} {
		e := c.m.Explain(allswell.Tick{AsOf: c.now, Period: time.Minute, Threshold: 3, Gaps: c.gaps})
		if got := strings.Join(e.Sentences(clock), " "); got != c.want {
			t.Errorf("%s:\ngot  %s\nwant %s", name, got, c.want)
		}
		if !slices.Contains(allswell.MonitorConditions, e.State) {
			t.Errorf("%s: state %q", name, e.State)
		}
	}
}

// TestMonitorDurations compares the durations with the history of a component that follows the monitor.
func TestMonitorDurations(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		gaps := drawGaps(t)
		changes := []allswell.StatusChange{{At: epoch, Status: allswell.StatusOperational}}
		var outages []allswell.Outage
		now := epoch
		step := func() time.Time {
			now = now.Add(time.Duration(rapid.IntRange(1, 4000).Draw(t, "step s")) * time.Second)
			return now
		}
		for range rapid.IntRange(0, 5).Draw(t, "outages") {
			o := allswell.Outage{StartedAt: step()}
			changes = append(changes, allswell.StatusChange{At: o.StartedAt, Status: allswell.StatusMajorOutage})
			if end := step(); rapid.IntRange(0, 5).Draw(t, "ongoing") > 0 {
				o.EndedAt = end
				changes = append(changes, allswell.StatusChange{At: end, Status: allswell.StatusOperational})
			}
			outages = append(outages, o)
			if o.EndedAt.IsZero() {
				break
			}
		}
		step()
		want := allswell.NewHistory(changes, gaps, now, time.UTC).Last(allswell.HistoryDays)
		if got := allswell.MonitorDurations(outages, gaps, epoch, now); got != want {
			t.Fatalf("durations %v, want %v", got, want)
		}
		middle := epoch.Add(now.Sub(epoch) / 2)
		got := allswell.MonitorDurations(outages, gaps, epoch, middle)
		got.Add(allswell.MonitorDurations(outages, gaps, middle, now))
		if got != want {
			t.Fatalf("durations of both halves %v, want %v", got, want)
		}
	})
}
