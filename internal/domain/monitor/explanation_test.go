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
		"Paused until someone resumes it. No pings are expected, and the ping URL returns 404."},
	"paused": {upAfter(func(m *monitor.Monitor) { m.Enabled, m.PausedUntil = false, when(5, 0) }), when(2, 30), nil,
		"Paused until 05:00:00. No pings are expected until then, and the ping URL returns 404. After that, the " +
			"next ping is due as if the job had just pinged."},
	"waiting": {upAfter(func(m *monitor.Monitor) {
		m.LastPingAt, m.WaitingSince = time.Time{}, time.Time{}
	}), when(2, 30), nil,
		"Waiting for the first ping. The monitor won't alert until then."},
	"up": {upMonitor, when(2, 30), nil,
		"Last ping 02:12:00. Next expected by 03:12:00. " +
			"If nothing arrives, it goes down at 03:15:00 (3 missed checks)."},
	"late": {upAfter(func(m *monitor.Monitor) {
		m.ConsecutiveFailures, m.TickedAt = 2, when(4, 0)
	}), when(4, 0).Add(time.Second),
		[]schedule.ListeningGap{{From: when(2, 50), To: when(2, 58)}},
		"Last ping 02:12:00. The next was expected by 03:12:00. " +
			"Extended to 03:58:00: Allswell could not receive pings from 02:50:00 to 02:58:00. " +
			"Overdue: 2 of 3 checks missed. If nothing arrives, it goes down at 04:01:00."},
	"two gaps": {upMonitor, when(3, 50),
		[]schedule.ListeningGap{{From: when(2, 50), To: when(2, 58)}, {From: when(3, 30), To: when(3, 40)}},
		"Last ping 02:12:00. The next was expected by 03:12:00. " +
			"Extended to 03:58:00: Allswell could not receive pings from 02:50:00 to 02:58:00. " +
			// after 03:12:00: alone it extends nothing
			"Extended to 04:30:00: Allswell could not receive pings from 03:30:00 to 03:40:00. " +
			"If nothing arrives, it goes down at 04:33:00 (3 missed checks)."},
	"down": {upAfter(func(m *monitor.Monitor) {
		m.State, m.ConsecutiveFailures, m.TickedAt = monitor.MonitorDown, 3, when(3, 15)
	}), when(4, 0), nil,
		"Last ping 02:12:00. The next was expected by 03:12:00. " +
			"Down since 03:15:00, after 3 missed checks. The next ping ends the outage."},
	"enabled again, rejected, maintenance": {upAfter(func(m *monitor.Monitor) {
		m.LastPingAt, m.RejectedAt, m.SuppressedUntil, m.FailureThreshold = when(1, 0), when(3, 0), when(2, 30), 1
	}), when(2, 30), nil,
		"Last ping 01:00:00. The monitor resumed or its interval changed at 02:12:00. Next expected by 03:12:00. " +
			"Extended to 03:30:00: one interval after the component's maintenance (until 02:30:00). " +
			"Extended to 04:00:00: a valid ping was rejected at 03:00:00, so the job is alive. " +
			"If nothing arrives, it goes down at 04:01:00 (1 missed check)."},
}

func TestExplanationSentences(t *testing.T) {
	for name, c := range sentences {
		e := c.m.Explain(monitor.Tick{AsOf: c.now, Period: time.Minute, Threshold: 3, Gaps: c.gaps})
		if got := strings.Join(e.Sentences(clockTime, clockTime), " "); got != c.want {
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
	lastPing  = "Last ping 12:00:00."
	goesDown  = " If nothing arrives, it goes down at 13:01:00 (1 missed check)."
	noOutage  = lastPing + " Next expected by 13:00:00." + goesDown
	takenOver = " The incident was taken over, so the recovery does not resolve it."
	failed    = "The job reported a failure at 12:10:00. The next success or ping ends the outage."
	downRule  = ". Down since 12:10:00. A run that meets the conditions, or a ping without a run, ends the outage. " +
		lastPing
)

// jobSentences are what is said of a monitor whose job reports more than pings, or has a schedule or a grace.
var jobSentences = map[string]struct {
	monitor func(*monitor.Monitor)
	explain func(*monitor.Explanation)
	want    string
}{
	"silent": {nil, downFor(monitor.OutageSilent), noOutage},
	"failed": {nil, downFor(monitor.OutageFailed),
		failed + " " + lastPing},
	"failed, taken over, with a warning": {nil, func(e *monitor.Explanation) {
		downFor(monitor.OutageFailed)(e)
		e.TakenOver, e.Warned = true, []monitor.Condition{monitor.ConditionNoOverlap, monitor.ConditionMinRuntime}
	}, failed + " " + lastPing + takenOver + " Warning: A run began before another one had ended. Warning: A run was " +
		"too short."},
	"failed, never pinged": {nil, func(e *monitor.Explanation) {
		downFor(monitor.OutageFailed)(e)
		e.LastPingAt = time.Time{}
	}, failed},
	"run overdue": {nil, downFor(monitor.OutageRunOverdue),
		"Down since 12:10:00 because a run did not end in time. The next success or ping ends the outage. " +
			lastPing},
	"run too short": {nil, downFor(monitor.OutageRunTooShort), "A run was too short" + downRule},
	"run too often": {nil, downFor(monitor.OutageRunTooOften), "The job runs too often" + downRule},
	"runs overlap":  {nil, downFor(monitor.OutageRunOverlap), "A run began before another one had ended" + downRule},
	"a run": {func(m *monitor.Monitor) { m.RunDueAt = domaintest.At(40 * time.Minute) }, nil,
		noOutage + " A run has started. It fails unless it ends by 12:40:00."},
	"a warning": {nil, func(e *monitor.Explanation) {
		e.Warned = []monitor.Condition{monitor.ConditionMaxPerInterval}
	}, noOutage + " Warning: The job runs too often."},
	"silent, taken over": {func(m *monitor.Monitor) {
		m.State, m.TickedAt = monitor.MonitorDown, domaintest.At(61*time.Minute)
	}, func(e *monitor.Explanation) { e.TakenOver = true },
		lastPing + " Next expected by 13:00:00. Down since 13:01:00, after 1 missed check. The next ping ends the " +
			"outage." + takenOver},
	"with a grace, after maintenance": {func(m *monitor.Monitor) {
		m.Grace, m.SuppressedUntil = 10*time.Minute, domaintest.At(20*time.Minute)
	}, nil,
		lastPing + " Next expected by 13:00:00, late from 13:10:00 (grace 10 min)." +
			" Extended to 13:30:00: one interval and the grace period after the component's maintenance (until " +
			"12:20:00). If nothing arrives, it goes down at 13:31:00 (1 missed check)."},
	"with a schedule, after maintenance": {func(m *monitor.Monitor) {
		m.Cron, m.SuppressedUntil = schedule.Cron{Expression: "30 * * * *", TimeZone: "Asia/Kolkata"},
			domaintest.At(45*time.Minute)
	}, nil,
		lastPing + " Next expected at 13:00:00 (18:30 Asia/Kolkata, schedule 30 * * * *)." + goesDown},
	"with a schedule, maintenance until it was due": {func(m *monitor.Monitor) {
		m.Cron, m.SuppressedUntil = schedule.Cron{Expression: "*/20 * * * *", TimeZone: "UTC"},
			domaintest.At(25*time.Minute)
	}, nil, lastPing + " Next expected at 12:20:00 (12:20 UTC, schedule */20 * * * *)." +
		" Extended to 12:40:00: the next scheduled time after the component's maintenance (until 12:25:00)." +
		" If nothing arrives, it goes down at 12:41:00 (1 missed check)."},
	"a new schedule": {func(m *monitor.Monitor) {
		m.Cron, m.LastPingAt = schedule.Cron{Expression: "0 * * * *", TimeZone: "UTC"}, domaintest.At(-time.Hour)
	}, nil,
		"Last ping 11:00:00. The monitor resumed or its schedule changed at 12:00:00. Next expected at 13:00:00 " +
			"(13:00 UTC, schedule 0 * * * *)." + goesDown},
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
		if got := strings.Join(e.Sentences(clockTime, clockTime), " "); got != c.want {
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
