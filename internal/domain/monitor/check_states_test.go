package monitor_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/allswell/allswell/internal/domain/monitor"
)

// describeCheck writes everything that a result may change in a monitor, and its effect.
func describeCheck(m monitor.Monitor, e monitor.CheckEffect) string {
	var words []string
	say := func(given bool, format string, args ...any) {
		if given {
			words = append(words, fmt.Sprintf(format, args...))
		}
	}
	s, since := m.CheckState, func(t time.Time) string { return t.UTC().Format("15:04:05") }
	say(true, "%s", m.DisplayState())
	say(m.State == monitor.MonitorDown && m.DisplayState() != monitor.MonitorDown, "in an outage")
	say(m.ConsecutiveFailures > 0, "%d failed", m.ConsecutiveFailures)
	say(m.FailuresSuppressed, "below a parent")
	say(s.Good > 0, "%d good", s.Good)
	say(s.Slow > 0, "%d slow", s.Slow)
	say(!s.SlowSince.IsZero(), "slow since %s", since(s.SlowSince))
	say(!s.UnknownSince.IsZero(), "unknown since %s", since(s.UnknownSince))
	say(len(s.Round.Failed) > 0, "failed %s", s.Round.Failed)
	say(len(s.Round.Unknown) > 0, "unknown %s", s.Round.Unknown)
	say(s.Round.Counted, "counted")
	say(s.Reason != "", "because %q", s.Reason)
	say(e.WentDown, "-> down")
	say(e.Recovered, "-> recovered")
	say(e.Retry, "-> retry")
	say(!e.RecheckBy.IsZero(), "-> recheck %s", since(e.RecheckBy))
	say(len(e.Verdict.Satisfied) > 0, "-> satisfied")
	for _, v := range e.Verdict.Violated {
		say(true, "-> violated: %s", v.Message)
	}
	return strings.Join(words, ", ")
}

// The times of TestEveryResultInEveryState.
var (
	noon    = time.Date(2026, 3, 14, 12, 0, 0, 0, time.UTC)
	earlier = noon.Add(-time.Hour)
)

// checkStates are states of a check, and what it is after each result of TestEveryResultInEveryState.
var checkStates = []struct {
	name   string
	change func(*monitor.Monitor)
	want   [5]string // after each result
}{
	{"new", func(*monitor.Monitor) {}, [5]string{
		`up, -> satisfied`,
		`up, because "soon", -> violated: soon`,
		`up, 1 slow, because "slow", -> satisfied`,
		`failing, 1 failed, failed [here], counted, because "bad", -> recheck 12:00:15`,
		`unknown, unknown since 11:58:00, unknown [a], -> retry`,
	}},
	{"failing", func(m *monitor.Monitor) { m.ConsecutiveFailures = 1 }, [5]string{
		`up, -> satisfied`,
		`up, because "soon", -> violated: soon`,
		`up, 1 slow, because "slow", -> satisfied`,
		`down, 2 failed, failed [here], counted, because "bad", -> down`,
		`failing, 1 failed, unknown since 11:58:00, unknown [a], -> retry`,
	}},
	{"counted", func(m *monitor.Monitor) { m.ConsecutiveFailures, m.CheckState.Round.Counted = 1, true }, [5]string{
		`up, -> satisfied`,
		`up, because "soon", -> violated: soon`,
		`up, 1 slow, because "slow", -> satisfied`,
		`failing, 1 failed, failed [here], counted, because "bad"`,
		`failing, 1 failed, unknown since 11:58:00, unknown [a], counted, -> retry`,
	}},
	{"down", func(m *monitor.Monitor) { m.State, m.ConsecutiveFailures = monitor.MonitorDown, 2 }, [5]string{
		`down, 2 failed, 1 good, -> recheck 12:00:15, -> satisfied`,
		`down, 2 failed, 1 good, because "soon", -> recheck 12:00:15, -> violated: soon`,
		`down, 2 failed, 1 good, 1 slow, because "slow", -> recheck 12:00:15, -> satisfied`,
		`down, 2 failed, failed [here], counted, because "bad"`,
		`down, 2 failed, unknown since 11:58:00, unknown [a], -> retry`,
	}},
	{"recovering", func(m *monitor.Monitor) {
		m.State, m.ConsecutiveFailures, m.CheckState.Good = monitor.MonitorDown, 2, 1
	}, [5]string{
		`up, -> recovered, -> satisfied`,
		`up, because "soon", -> recovered, -> violated: soon`,
		`up, 1 slow, because "slow", -> recovered, -> satisfied`,
		`down, 2 failed, failed [here], counted, because "bad"`,
		`down, 2 failed, 1 good, unknown since 11:58:00, unknown [a], -> retry`,
	}},
	{"slowing", func(m *monitor.Monitor) { m.CheckState.Slow = 1 }, [5]string{
		`up, -> satisfied`,
		`up, because "soon", -> violated: soon`,
		`slow, 2 slow, slow since 12:00:00, because "slow", -> satisfied`,
		`failing, 1 failed, failed [here], counted, because "bad", -> recheck 12:00:15`,
		`unknown, 1 slow, unknown since 11:58:00, unknown [a], -> retry`,
	}},
	{"slow", func(m *monitor.Monitor) { m.CheckState.Slow, m.CheckState.SlowSince = 2, earlier }, [5]string{
		`slow, 1 good, slow since 11:00:00, -> recheck 12:00:15, -> satisfied`,
		`slow, 1 good, slow since 11:00:00, because "soon", -> recheck 12:00:15, -> violated: soon`,
		`slow, 3 slow, slow since 11:00:00, because "slow", -> satisfied`,
		`failing, 1 failed, slow since 11:00:00, failed [here], counted, because "bad", -> recheck 12:00:15`,
		`unknown, 2 slow, slow since 11:00:00, unknown since 11:58:00, unknown [a], -> retry`,
	}},
	{"less slow", func(m *monitor.Monitor) { m.CheckState.Good, m.CheckState.SlowSince = 1, earlier }, [5]string{
		`up, -> satisfied`,
		`up, because "soon", -> violated: soon`,
		`slow, 1 slow, slow since 11:00:00, because "slow", -> satisfied`,
		`failing, 1 failed, slow since 11:00:00, failed [here], counted, because "bad", -> recheck 12:00:15`,
		`unknown, 1 good, slow since 11:00:00, unknown since 11:58:00, unknown [a], -> retry`,
	}},
	{"slow, failing", func(m *monitor.Monitor) {
		m.ConsecutiveFailures, m.CheckState.Good, m.CheckState.SlowSince = 1, 1, earlier
	}, [5]string{
		`up, -> satisfied`,
		`up, because "soon", -> violated: soon`,
		`slow, 1 slow, slow since 11:00:00, because "slow", -> satisfied`,
		`down, 2 failed, failed [here], counted, because "bad", -> down`,
		`failing, 1 failed, 1 good, slow since 11:00:00, unknown since 11:58:00, unknown [a], -> retry`,
	}},
	{"unknown", func(m *monitor.Monitor) { m.CheckState.UnknownSince = earlier }, [5]string{
		`up, -> satisfied`,
		`up, because "soon", -> violated: soon`,
		`up, 1 slow, because "slow", -> satisfied`,
		`failing, 1 failed, failed [here], counted, because "bad", -> recheck 12:00:15`,
		`unknown, unknown since 11:00:00, unknown [a], -> retry`,
	}},
	{"late", func(m *monitor.Monitor) { m.CheckState.MarkLate(earlier) }, [5]string{
		`up, -> satisfied`,
		`up, because "soon", -> violated: soon`,
		`up, 1 slow, because "slow", -> satisfied`,
		`failing, 1 failed, failed [here], counted, because "bad", -> recheck 12:00:15`,
		`unknown, unknown since 11:58:00, unknown [a], -> retry`,
	}},
	{"in maintenance", func(m *monitor.Monitor) {
		m.SuppressedUntil, m.CheckState.Slow, m.CheckState.Round.Failed = noon.Add(1), 1, []string{"there"}
	}, [5]string{
		`up, -> satisfied`,
		`up, because "soon", -> violated: soon`,
		`up, because "slow", -> satisfied`,
		`up, failed [there], because "bad"`,
		`unknown, 1 slow, unknown since 11:58:00, failed [there], unknown [a]`,
	}},
	{"after maintenance", func(m *monitor.Monitor) { m.SuppressedUntil, m.CheckState.Slow = noon, 1 }, [5]string{
		`up, -> satisfied`,
		`up, because "soon", -> violated: soon`,
		`slow, 2 slow, slow since 12:00:00, because "slow", -> satisfied`,
		`failing, 1 failed, failed [here], counted, because "bad", -> recheck 12:00:15`,
		`unknown, 1 slow, unknown since 11:58:00, unknown [a], -> retry`,
	}},
	{"parent down", func(m *monitor.Monitor) {
		m.ParentDown, m.ConsecutiveFailures, m.FailuresSuppressed, m.CheckState.Slow = true, 1, true, 1
	}, [5]string{
		`up, -> satisfied`,
		`up, because "soon", -> violated: soon`,
		`up, 2 slow, because "slow", -> satisfied`,
		`suppressed, 2 failed, below a parent, failed [here], counted, because "bad"`,
		`suppressed, 1 failed, below a parent, 1 slow, unknown since 11:58:00, unknown [a], -> retry`,
	}},
	{"parent up", func(m *monitor.Monitor) { m.ConsecutiveFailures, m.FailuresSuppressed = 5, true }, [5]string{
		`up, -> satisfied`,
		`up, because "soon", -> violated: soon`,
		`up, 1 slow, because "slow", -> satisfied`,
		`failing, 1 failed, failed [here], counted, because "bad", -> recheck 12:00:15`,
		`failing, 5 failed, below a parent, unknown since 11:58:00, unknown [a], -> retry`,
	}},
	{"to confirm", func(m *monitor.Monitor) { m.Check.ConfirmFrom = 2 }, [5]string{
		`up, -> satisfied`,
		`up, because "soon", -> violated: soon`,
		`up, 1 slow, because "slow", -> satisfied`,
		`up, failed [here], because "bad", -> retry`,
		`unknown, unknown since 11:58:00, unknown [a], -> retry`,
	}},
	{"confirmed", func(m *monitor.Monitor) {
		m.Check.ConfirmFrom, m.CheckState.Round.Failed = 2, []string{"there"}
	}, [5]string{
		`up, -> satisfied`,
		`up, because "soon", -> violated: soon`,
		`up, 1 slow, because "slow", -> satisfied`,
		`failing, 1 failed, failed [there here], counted, because "bad", -> recheck 12:00:15`,
		`failing, 1 failed, unknown since 11:58:00, failed [there], unknown [a], counted, -> recheck 12:00:15`,
	}},
	{"b cannot", func(m *monitor.Monitor) {
		m.Check.ConfirmFrom, m.CheckState.Round.Unknown = 2, []string{"b"}
	}, [5]string{
		`up, -> satisfied`,
		`up, because "soon", -> violated: soon`,
		`up, 1 slow, because "slow", -> satisfied`,
		`failing, 1 failed, failed [here], unknown [b], counted, because "bad", -> recheck 12:00:15`,
		`unknown, unknown since 11:58:00, unknown [b a]`,
	}},
	{"down, confirm", func(m *monitor.Monitor) { m.State, m.Check.ConfirmFrom = monitor.MonitorDown, 2 }, [5]string{
		`down, 1 good, -> recheck 12:00:15, -> satisfied`,
		`down, 1 good, because "soon", -> recheck 12:00:15, -> violated: soon`,
		`down, 1 good, 1 slow, because "slow", -> recheck 12:00:15, -> satisfied`,
		`down, failed [here], because "bad"`,
		`down, unknown since 11:58:00, unknown [a], -> retry`,
	}},
	{"disabled", func(m *monitor.Monitor) {
		m.Enabled, m.CheckState.Slow, m.CheckState.UnknownSince = false, 1, earlier
	}, [5]string{
		`disabled, 1 slow, unknown since 11:00:00`,
		`disabled, 1 slow, unknown since 11:00:00`,
		`disabled, 1 slow, unknown since 11:00:00`,
		`disabled, 1 slow, unknown since 11:00:00`,
		`disabled, 1 slow, unknown since 11:00:00`,
	}},
}

// TestEveryResultInEveryState applies a result of each kind at 12:00 to a monitor in each state. Its failure threshold
// and its recovery threshold are 2, replica a is here and b is there, and a checks.
func TestEveryResultInEveryState(t *testing.T) {
	results := []monitor.CheckResult{
		{Status: monitor.CheckOK}, {Status: monitor.CheckOK, Warning: true, Reason: "soon"},
		{Status: monitor.CheckSlow, Reason: "slow"},
		{Status: monitor.CheckFailed, Reason: "bad"}, {Status: monitor.CheckUnknown, Reason: "cut"},
	}
	for _, state := range checkStates {
		for i, r := range results {
			m := checkedMonitor(func(m *monitor.Monitor) { m.CheckState.Status = monitor.CheckOK }, state.change)
			r.Replica, r.Location, r.StartedAt = "a", "here", noon.Add(-2*time.Minute)
			e := m.ApplyCheckResult(r, monitor.CheckView{
				Now: noon, Threshold: 3, Replicas: map[string]string{"a": "here", "b": "there"},
			})
			if got := describeCheck(m, e); got != state.want[i] {
				t.Errorf("%s: after the result %s %s: %s, want %s", state.name, r.Status, r.Reason, got, state.want[i])
			}
			status := r.Status
			if !m.Enabled || status == monitor.CheckUnknown {
				status = monitor.CheckOK
			}
			if m.CheckState.Status != status || m.CheckState.Late {
				t.Errorf("%s: %s: the last result is %q, late %t", state.name, r.Status, m.CheckState.Status,
					m.CheckState.Late)
			}
		}
	}
}
