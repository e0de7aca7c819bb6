package monitor_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/allswell/allswell/internal/domain/domaintest"
	"github.com/allswell/allswell/internal/domain/kernel"
	"github.com/allswell/allswell/internal/domain/monitor"
	"github.com/allswell/allswell/internal/domain/schedule"
	"github.com/allswell/allswell/internal/domain/statuspage"
	"pgregory.net/rapid"
)

// drawMonitor draws a monitor in any state, as it can be at an instant.
func drawMonitor(t *rapid.T) monitor.Monitor {
	wait := domaintest.DrawWait(t)
	m := monitor.Monitor{
		MonitorConfig: monitor.MonitorConfig{
			Interval: wait.Interval, Cron: wait.Cron, Grace: wait.Grace,
			Enabled:          rapid.IntRange(0, 9).Draw(t, "enabled") > 0,
			FailureThreshold: rapid.IntRange(0, 6).Draw(t, "threshold"),
		},
		MonitorStatus: monitor.MonitorStatus{
			State:      monitor.MonitorUp,
			LastPingAt: wait.Since, WaitingSince: wait.Since, RejectedAt: wait.RejectedAt,
		},
	}
	switch rapid.IntRange(0, 5).Draw(t, "kind") {
	case 0:
		m.LastPingAt, m.WaitingSince, m.RejectedAt = time.Time{}, time.Time{}, time.Time{}
	case 1:
		m.State = monitor.MonitorDown
	case 2:
		m.SuppressedUntil = domaintest.At(time.Duration(rapid.Int64Range(-5_000, 5_000).Draw(t,
			"maintenance s")) * time.Second)
	case 3:
		m.LastPingAt = domaintest.Epoch.Add(-time.Hour)
	}
	return m
}

// TestExplanationFollowsTheRule compares explanations with the deadline, and with the checks that follow.
func TestExplanationFollowsTheRule(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m, gaps := drawMonitor(t), domaintest.DrawGaps(t)
		tick := monitor.Tick{
			Period: time.Duration(rapid.IntRange(1, 300).Draw(t, "period s")) * time.Second, Threshold: 3, Gaps: gaps,
		}
		now := domaintest.At(time.Duration(rapid.Int64Range(0, 10_000).Draw(t, "now s")) * time.Second)
		for tick.Instant = domaintest.Epoch.Truncate(
			tick.Period,
		); !tick.Instant.After(now); tick.Instant = tick.Instant.Add(tick.Period) {
			tick.AsOf = tick.Instant
			m.ApplyTick(tick)
		}
		tick.AsOf = now
		e := m.Explain(tick)
		if e.State != m.DisplayState() || !e.DueAt.Equal(m.DueAt(gaps)) {
			t.Fatalf("%s, due %v; the monitor is %s, due %v", e.State, e.DueAt, m.DisplayState(), m.DueAt(gaps))
		}
		if !e.DueAt.IsZero() {
			due := e.ExpectedAt.Add(m.Grace)
			plain := (schedule.PingWait{
				Since: m.WaitingSince, Interval: m.Interval, Cron: m.Cron, Grace: m.Grace,
			}).Deadline(nil)
			if !plain.Equal(due) {
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
			for next.State == monitor.MonitorUp {
				tick.AsOf = tick.Instant
				next.ApplyTick(tick)
				if next.State == monitor.MonitorDown && !tick.Instant.Equal(e.DownAt) {
					t.Fatalf("down at %v, want %v", tick.Instant, e.DownAt)
				}
				tick.Instant = tick.Instant.Add(tick.Period)
			}
		} else if m.Enabled && m.State == monitor.MonitorUp && !m.WaitingSince.IsZero() {
			t.Fatal("a monitor that can go down has no DownAt")
		}
		if !e.DownAt.IsZero() && (!m.Enabled || m.State == monitor.MonitorDown || m.WaitingSince.IsZero()) {
			t.Fatalf("down at %v, although it is %s", e.DownAt, e.State)
		}
	})
}

func clockTime(t time.Time) string { return t.UTC().Format("15:04:05") }

// when is a time of the day of sentences.
func when(hour, minute int) time.Time {
	return time.Date(2026, 3, 14, hour, minute, 0, 0, time.UTC)
}

// upMonitor was pinged at 02:12, and is pinged every hour.
var upMonitor = monitor.Monitor{
	MonitorConfig: monitor.MonitorConfig{Enabled: true, Interval: time.Hour},
	MonitorStatus: monitor.MonitorStatus{State: monitor.MonitorUp, LastPingAt: when(2, 12), WaitingSince: when(2, 12)},
}

func upAfter(change func(*monitor.Monitor)) monitor.Monitor { m := upMonitor; change(&m); return m }

// sentences are what is said of a monitor at an instant.
var sentences = map[string]struct {
	m    monitor.Monitor
	now  time.Time
	gaps []schedule.ListeningGap
	want string
}{
	"disabled": {upAfter(func(m *monitor.Monitor) { m.Enabled = false }), when(2, 30), nil,
		"The monitor is paused until somebody resumes it. No ping is expected, and its ping URL answers 404."},
	"paused": {upAfter(func(m *monitor.Monitor) { m.Enabled, m.PausedUntil = false, when(5, 0) }), when(2, 30), nil,
		"The monitor is paused until 05:00:00. Until then no ping is expected, and its ping URL answers 404. " +
			"Then its next ping is due as if it had just pinged."},
	"waiting": {upAfter(func(m *monitor.Monitor) {
		m.LastPingAt, m.WaitingSince = time.Time{}, time.Time{}
	}), when(2, 30), nil,
		"The monitor waits for its first ping. Until then it cannot go down."},
	"up": {upMonitor, when(2, 30), nil,
		"The last ping came at 02:12:00. The next one is due within 1 hour, by 03:12:00. " +
			"It goes down at 03:15:00 if no ping comes before: then 3 checks in a row will have found it overdue."},
	"late": {upAfter(func(m *monitor.Monitor) {
		m.ConsecutiveFailures, m.TickedAt = 2, when(4, 0)
	}), when(4, 0).Add(time.Second),
		[]schedule.ListeningGap{{From: when(2, 50), To: when(2, 58)}},
		"The last ping came at 02:12:00. The next one was due within 1 hour, by 03:12:00. " +
			"Extended to 03:58:00, because Allswell could not receive pings from 02:50:00 until 02:58:00. " +
			"2 of 3 checks in a row have found it overdue. It goes down at 04:01:00 if no ping comes before."},
	"two gaps": {upMonitor, when(3, 50),
		[]schedule.ListeningGap{{From: when(2, 50), To: when(2, 58)}, {From: when(3, 30), To: when(3, 40)}},
		"The last ping came at 02:12:00. The next one was due within 1 hour, by 03:12:00. " +
			"Extended to 03:58:00, because Allswell could not receive pings from 02:50:00 until 02:58:00. " +
			// after 03:12:00: alone it extends nothing
			"Extended to 04:30:00, because Allswell could not receive pings from 03:30:00 until 03:40:00. " +
			"It goes down at 04:33:00 if no ping comes before: then 3 checks in a row will have found it overdue."},
	"down": {upAfter(func(m *monitor.Monitor) {
		m.State, m.ConsecutiveFailures, m.TickedAt = monitor.MonitorDown, 3, when(3, 15)
	}), when(4, 0), nil,
		"The last ping came at 02:12:00. The next one was due within 1 hour, by 03:12:00. " +
			"It has been down since 03:15:00, when 3 checks in a row had found it overdue. The next ping ends " +
			"the outage."},
	"enabled again, rejected, maintenance": {upAfter(func(m *monitor.Monitor) {
		m.LastPingAt, m.RejectedAt, m.SuppressedUntil, m.FailureThreshold = when(1, 0), when(3, 0), when(2, 30), 1
	}), when(2, 30), nil,
		"The last ping came at 01:00:00. The monitor was enabled or its interval changed at 02:12:00: a ping is " +
			"due within 1 hour, by 03:12:00. " +
			"Extended to 03:30:00, one interval after the end of the component's maintenance at 02:30:00. " +
			"Extended to 04:00:00, because a valid ping was rejected at 03:00:00: the job is alive. " +
			"It goes down at 04:01:00 if no ping comes before: then one check will have found it overdue."},
}

func TestExplanationSentences(t *testing.T) {
	for name, c := range sentences {
		e := c.m.Explain(monitor.Tick{AsOf: c.now, Period: time.Minute, Threshold: 3, Gaps: c.gaps})
		if got := strings.Join(e.Sentences(clockTime), " "); got != c.want {
			t.Errorf("Sentences of %s:\ngot  %s\nwant %s", name, got, c.want)
		}
		if !slices.Contains(monitor.DisplayStates, e.State) {
			t.Errorf("%s: state %q", name, e.State)
		}
	}
}

// downFor explains an outage since 12:10.
func downFor(reason monitor.OutageReason) func(*monitor.Explanation) {
	return func(e *monitor.Explanation) { e.Reason, e.DownSince = reason, domaintest.At(10*time.Minute) }
}

// Parts of jobSentences.
const (
	lastPing = "The last ping came at 12:00:00."
	goesDown = " It goes down at 13:01:00 if no ping comes before: then one check will have found it overdue."
	noOutage = lastPing + " The next one is due within 1 hour, by 13:00:00." + goesDown
	downRule = ": the monitor has been down since 12:10:00. The next success of a run that satisfies the " +
		"conditions, or the next ping without a run, ends the outage. " + lastPing
)

// jobSentences are what is said of a monitor whose job reports more than pings, or has a schedule or a grace.
var jobSentences = map[string]struct {
	monitor func(*monitor.Monitor)
	explain func(*monitor.Explanation)
	want    string
}{
	"silent": {nil, downFor(monitor.OutageSilent), noOutage},
	"failed": {nil, downFor(monitor.OutageFailed),
		"The job reported a failure at 12:10:00, so the monitor went down at once. The next success or ping ends " +
			"the outage. " + lastPing},
	"failed, taken over, with a warning": {nil, func(e *monitor.Explanation) {
		downFor(monitor.OutageFailed)(e)
		e.TakenOver, e.Warned = true, []monitor.Condition{monitor.ConditionNoOverlap, monitor.ConditionMinRuntime}
	}, "The job reported a failure at 12:10:00, so the monitor went down at once. The next success or ping ends " +
		"the outage. " + lastPing +
		" Its incident was taken over: the ping does not resolve it. Warning: A run began before another one had " +
		"ended. Warning: A run was too short."},
	"failed, never pinged": {nil, func(e *monitor.Explanation) {
		downFor(monitor.OutageFailed)(e)
		e.LastPingAt = time.Time{}
	}, "The job reported a failure at 12:10:00, so the monitor went down at once. The next success or ping ends " +
		"the outage."},
	"run overdue": {nil, downFor(monitor.OutageRunOverdue),
		"A run of the job did not end in time: the monitor has been down since 12:10:00. The next success or " +
			"ping ends the outage. " + lastPing},
	"run too short": {nil, downFor(monitor.OutageRunTooShort), "A run was too short" + downRule},
	"run too often": {nil, downFor(monitor.OutageRunTooOften), "The job runs too often" + downRule},
	"runs overlap":  {nil, downFor(monitor.OutageRunOverlap), "A run began before another one had ended" + downRule},
	"a run": {func(m *monitor.Monitor) { m.RunDueAt = domaintest.At(40 * time.Minute) }, nil,
		noOutage + " A run has begun. It counts as a failure if it has not ended by 12:40:00."},
	"a warning": {nil, func(e *monitor.Explanation) {
		e.Warned = []monitor.Condition{monitor.ConditionMaxPerInterval}
	}, noOutage + " Warning: The job runs too often."},
	"silent, taken over": {func(m *monitor.Monitor) {
		m.State, m.TickedAt = monitor.MonitorDown, domaintest.At(61*time.Minute)
	}, func(e *monitor.Explanation) { e.TakenOver = true },
		lastPing +
			" The next one is due within 1 hour, by 13:00:00. It has been down since 13:01:00, when one check " +
			"had found it overdue. The next ping ends the outage. " +
			"Its incident was taken over: the ping does not resolve it."},
	"with a grace, after maintenance": {func(m *monitor.Monitor) {
		m.Grace, m.SuppressedUntil = 10*time.Minute, domaintest.At(20*time.Minute)
	}, nil,
		lastPing + " The next one is due within 1 hour, by 13:00:00, and late from 13:10:00 (10 minutes of grace)." +
			" Extended to 13:30:00, one interval and the grace after the end of the component's maintenance at " +
			"12:20:00." +
			" It goes down at 13:31:00 if no ping comes before: then one check will have found it overdue."},
	"with a schedule, after maintenance": {func(m *monitor.Monitor) {
		m.Cron, m.SuppressedUntil = schedule.Cron{Expression: "30 * * * *", TimeZone: "Asia/Kolkata"},
			domaintest.At(45*time.Minute)
	}, nil,
		lastPing + " The next one is due at 13:00:00, which is 18:30 Asia/Kolkata, the next time of 30 * * * *." +
			goesDown},
	"with a schedule, maintenance until it was due": {func(m *monitor.Monitor) {
		m.Cron, m.SuppressedUntil = schedule.Cron{Expression: "*/20 * * * *", TimeZone: "UTC"},
			domaintest.At(25*time.Minute)
	}, nil, lastPing + " The next one is due at 12:20:00, which is 12:20 UTC, the next time of */20 * * * *." +
		" Extended to 12:40:00, the next due time after the end of the component's maintenance at 12:25:00." +
		" It goes down at 12:41:00 if no ping comes before: then one check will have found it overdue."},
	"a new schedule": {func(m *monitor.Monitor) {
		m.Cron, m.LastPingAt = schedule.Cron{Expression: "0 * * * *", TimeZone: "UTC"}, domaintest.At(-time.Hour)
	}, nil,
		"The last ping came at 11:00:00. The monitor was enabled or its schedule changed at 12:00:00: a ping is " +
			"due at 13:00:00, which is 13:00 UTC, the next time of 0 * * * *." + goesDown},
}

// TestExplanationSentencesOfJobs explains a monitor whose job reports more than pings, or has a schedule or a grace.
func TestExplanationSentencesOfJobs(t *testing.T) {
	base := monitor.Monitor{
		MonitorConfig: monitor.MonitorConfig{Enabled: true, Interval: time.Hour, FailureThreshold: 1},
		MonitorStatus: monitor.MonitorStatus{
			State: monitor.MonitorUp, LastPingAt: domaintest.At(0), WaitingSince: domaintest.At(0),
		},
	} // 12:00
	for name, c := range jobSentences {
		m := base
		if c.monitor != nil {
			c.monitor(&m)
		}
		e := m.Explain(monitor.Tick{AsOf: domaintest.At(15 * time.Minute), Period: time.Minute, Threshold: 3})
		if c.explain != nil {
			c.explain(&e)
		}
		if got := strings.Join(e.Sentences(clockTime), " "); got != c.want {
			t.Errorf("Sentences of %s:\ngot  %s\nwant %s", name, got, c.want)
		}
		if e.Period != time.Minute || e.Interval != m.Interval || e.Cron != m.Cron || e.Grace != m.Grace ||
			!e.RunDueAt.Equal(m.RunDueAt) {
			t.Errorf("Explain of %s: %+v", name, e)
		}
	}
}

func TestRhythmOfJobs(t *testing.T) {
	ofAJob := monitor.Explanation{
		Interval: time.Hour, PingGaps: slices.Repeat([]monitor.PingGap{{Length: 2 * time.Hour}}, 8),
	}
	if r, ok := ofAJob.Rhythm(); !ok || r.Every != 2*time.Hour {
		t.Errorf("rhythm %v, %v", r, ok)
	}
	ofAJob.Cron = schedule.Cron{Expression: "0 * * * *", TimeZone: "UTC"}
	if r, ok := ofAJob.Rhythm(); ok {
		t.Errorf("a monitor with a schedule has the rhythm %v", r)
	}
}

// TestMonitorDurations compares the durations with the history of a component that follows the monitor.
func TestMonitorDurations(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		gaps := domaintest.DrawGaps(t)
		changes := []statuspage.StatusChange{{At: domaintest.Epoch, Status: kernel.StatusOperational}}
		var outages []monitor.Outage
		now := domaintest.Epoch
		step := func() time.Time {
			now = now.Add(time.Duration(rapid.IntRange(1, 4000).Draw(t, "step s")) * time.Second)
			return now
		}
		for range rapid.IntRange(0, 5).Draw(t, "outages") {
			o := monitor.Outage{StartedAt: step()}
			changes = append(changes, statuspage.StatusChange{At: o.StartedAt, Status: kernel.StatusMajorOutage})
			if end := step(); rapid.IntRange(0, 5).Draw(t, "ongoing") > 0 {
				o.EndedAt = end
				changes = append(changes, statuspage.StatusChange{At: end, Status: kernel.StatusOperational})
			}
			outages = append(outages, o)
			if o.EndedAt.IsZero() {
				break
			}
		}
		step()
		want := statuspage.NewHistory(changes, gaps, now, time.UTC).Last(statuspage.HistoryDays)
		if got := monitor.MonitorDurations(outages, gaps, domaintest.Epoch, now); got != want {
			t.Fatalf("durations %v, want %v", got, want)
		}
		middle := domaintest.Epoch.Add(now.Sub(domaintest.Epoch) / 2)
		got := monitor.MonitorDurations(outages, gaps, domaintest.Epoch, middle)
		got.Add(monitor.MonitorDurations(outages, gaps, middle, now))
		if got != want {
			t.Fatalf("durations of both halves %v, want %v", got, want)
		}
	})
}
