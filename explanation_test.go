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
		MonitorConfig: allswell.MonitorConfig{Interval: wait.Interval, Cron: wait.Cron, Grace: wait.Grace, Enabled: rapid.IntRange(0, 9).Draw(t, "enabled") > 0, FailureThreshold: rapid.IntRange(0, 6).Draw(t, "threshold")},
		MonitorStatus: allswell.MonitorStatus{
			State:      allswell.MonitorUp,
			LastPingAt: wait.Since, WaitingSince: wait.Since, RejectedAt: wait.RejectedAt,
		},
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
		if !e.DownAt.IsZero() && (!m.Enabled || m.State == allswell.MonitorDown || m.WaitingSince.IsZero()) {
			t.Fatalf("down at %v, although it is %s", e.DownAt, e.State)
		}
	})
}

func TestExplanationSentences(t *testing.T) {
	clock := func(t time.Time) string { return t.UTC().Format("15:04:05") }
	day := time.Date(2026, 3, 14, 0, 0, 0, 0, time.UTC)
	when := func(hour, minute int) time.Time {
		return day.Add(time.Duration(hour)*time.Hour + time.Duration(minute)*time.Minute)
	}
	up := allswell.Monitor{
		MonitorConfig: allswell.MonitorConfig{Enabled: true, Interval: time.Hour},
		MonitorStatus: allswell.MonitorStatus{State: allswell.MonitorUp, LastPingAt: when(2, 12), WaitingSince: when(2, 12)},
	}
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
		"two gaps": {up, when(3, 50), []allswell.ListeningGap{{From: when(2, 50), To: when(2, 58)}, {From: when(3, 30), To: when(3, 40)}},
			"The last ping came at 02:12:00. The next one was due within 1 hour, by 03:12:00. " +
				"Extended to 03:58:00, because Allswell could not receive pings from 02:50:00 until 02:58:00. " +
				"Extended to 04:30:00, because Allswell could not receive pings from 03:30:00 until 03:40:00. " + // after 03:12:00: alone it extends nothing
				"It goes down at 04:33:00 if no ping comes before: then 3 checks in a row will have found it overdue."},
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

// TestExplanationSentencesOfJobs explains a monitor whose job reports more than pings, or has a schedule or a grace.
func TestExplanationSentencesOfJobs(t *testing.T) {
	clock := func(t time.Time) string { return t.UTC().Format("15:04:05") }
	base := allswell.Monitor{
		MonitorConfig: allswell.MonitorConfig{Enabled: true, Interval: time.Hour, FailureThreshold: 1},
		MonitorStatus: allswell.MonitorStatus{State: allswell.MonitorUp, LastPingAt: at(0), WaitingSince: at(0)},
	} // 12:00
	down := func(reason allswell.OutageReason) func(*allswell.Explanation) {
		return func(e *allswell.Explanation) { e.Reason, e.DownSince = reason, at(10*time.Minute) }
	}
	const (
		last  = "The last ping came at 12:00:00."
		next  = " It goes down at 13:01:00 if no ping comes before: then one check will have found it overdue."
		plain = last + " The next one is due within 1 hour, by 13:00:00." + next
		rule  = ": the monitor has been down since 12:10:00. The next success of a run that satisfies the conditions, or the next ping without a run, ends the outage. " + last
	)
	for name, c := range map[string]struct {
		monitor func(*allswell.Monitor)
		explain func(*allswell.Explanation)
		want    string
	}{
		"silent": {nil, down(allswell.OutageSilent), plain},
		"failed": {nil, down(allswell.OutageFailed), "The job reported a failure at 12:10:00, so the monitor went down at once. The next success or ping ends the outage. " + last},
		"failed, taken over, with a warning": {nil, func(e *allswell.Explanation) {
			down(allswell.OutageFailed)(e)
			e.TakenOver, e.Warned = true, []allswell.Condition{allswell.ConditionNoOverlap, allswell.ConditionMinRuntime}
		}, "The job reported a failure at 12:10:00, so the monitor went down at once. The next success or ping ends the outage. " + last +
			" Its incident was taken over: the ping does not resolve it. Warning: A run began before another one had ended. Warning: A run was too short."},
		"failed, never pinged": {nil, func(e *allswell.Explanation) {
			down(allswell.OutageFailed)(e)
			e.LastPingAt = time.Time{}
		}, "The job reported a failure at 12:10:00, so the monitor went down at once. The next success or ping ends the outage."},
		"run overdue":   {nil, down(allswell.OutageRunOverdue), "A run of the job did not end in time: the monitor has been down since 12:10:00. The next success or ping ends the outage. " + last},
		"run too short": {nil, down(allswell.OutageRunTooShort), "A run was too short" + rule},
		"run too often": {nil, down(allswell.OutageRunTooOften), "The job runs too often" + rule},
		"runs overlap":  {nil, down(allswell.OutageRunOverlap), "A run began before another one had ended" + rule},
		"a run": {func(m *allswell.Monitor) { m.RunDueAt = at(40 * time.Minute) }, nil,
			plain + " A run has begun. It counts as a failure if it has not ended by 12:40:00."},
		"a warning": {nil, func(e *allswell.Explanation) { e.Warned = []allswell.Condition{allswell.ConditionMaxPerInterval} }, plain + " Warning: The job runs too often."},
		"silent, taken over": {func(m *allswell.Monitor) { m.State, m.TickedAt = allswell.MonitorDown, at(61*time.Minute) }, func(e *allswell.Explanation) { e.TakenOver = true },
			last + " The next one is due within 1 hour, by 13:00:00. It has been down since 13:01:00, when one check had found it overdue. The next ping ends the outage. " +
				"Its incident was taken over: the ping does not resolve it."},
		"with a grace, after maintenance": {func(m *allswell.Monitor) { m.Grace, m.SuppressedUntil = 10*time.Minute, at(20*time.Minute) }, nil,
			last + " The next one is due within 1 hour, by 13:00:00, and late from 13:10:00 (10 minutes of grace)." +
				" Extended to 13:30:00, one interval and the grace after the end of the component's maintenance at 12:20:00." +
				" It goes down at 13:31:00 if no ping comes before: then one check will have found it overdue."},
		"with a schedule, after maintenance": {func(m *allswell.Monitor) {
			m.Cron, m.SuppressedUntil = allswell.Cron{Expression: "30 * * * *", TimeZone: "Asia/Kolkata"}, at(45*time.Minute)
		}, nil, last + " The next one is due at 13:00:00, which is 18:30 Asia/Kolkata, the next time of 30 * * * *." + next},
		"with a schedule, maintenance until it was due": {func(m *allswell.Monitor) {
			m.Cron, m.SuppressedUntil = allswell.Cron{Expression: "*/20 * * * *", TimeZone: "UTC"}, at(25*time.Minute)
		}, nil, last + " The next one is due at 12:20:00, which is 12:20 UTC, the next time of */20 * * * *." +
			" Extended to 12:40:00, the next due time after the end of the component's maintenance at 12:25:00." +
			" It goes down at 12:41:00 if no ping comes before: then one check will have found it overdue."},
		"a new schedule": {func(m *allswell.Monitor) {
			m.Cron, m.LastPingAt = allswell.Cron{Expression: "0 * * * *", TimeZone: "UTC"}, at(-time.Hour)
		}, nil, "The last ping came at 11:00:00. The monitor was enabled or its schedule changed at 12:00:00: a ping is due at 13:00:00, which is 13:00 UTC, the next time of 0 * * * *." + next},
	} {
		m := base
		if c.monitor != nil {
			c.monitor(&m)
		}
		e := m.Explain(allswell.Tick{AsOf: at(15 * time.Minute), Period: time.Minute, Threshold: 3})
		if c.explain != nil {
			c.explain(&e)
		}
		if got := strings.Join(e.Sentences(clock), " "); got != c.want {
			t.Errorf("%s:\ngot  %s\nwant %s", name, got, c.want)
		}
		if e.Period != time.Minute || e.Interval != m.Interval || e.Cron != m.Cron || e.Grace != m.Grace || !e.RunDueAt.Equal(m.RunDueAt) {
			t.Errorf("%s: %+v", name, e)
		}
	}
	ofAJob := allswell.Explanation{Interval: time.Hour, PingGaps: slices.Repeat([]allswell.PingGap{{Length: 2 * time.Hour}}, 8)}
	if r, ok := ofAJob.Rhythm(); !ok || r.Every != 2*time.Hour {
		t.Errorf("rhythm %v, %v", r, ok)
	}
	ofAJob.Cron = allswell.Cron{Expression: "0 * * * *", TimeZone: "UTC"}
	if r, ok := ofAJob.Rhythm(); ok {
		t.Errorf("a monitor with a schedule has the rhythm %v", r)
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
