package monitor_test

import (
	"slices"
	"testing"
	"time"

	"github.com/allswell/allswell/internal/domain/domaintest"
	"github.com/allswell/allswell/internal/domain/monitor"
	"github.com/allswell/allswell/internal/domain/schedule"
)

// TestCheckRun checks a run that began at the epoch and must end within 300 s, 60 s later.
func TestCheckRun(t *testing.T) {
	type gaps = []schedule.ListeningGap
	m := monitor.Monitor{MonitorConfig: monitor.MonitorConfig{Enabled: true}}
	r := monitor.Run{StartedAt: domaintest.Epoch, DueAt: domaintest.At(300 * time.Second)}
	for _, c := range []struct {
		name string
		gaps gaps
		want monitor.RunResult
	}{
		{"no gap", nil, monitor.RunOverdue},
		{"a long gap", gaps{domaintest.Gap(100, 130)}, monitor.RunUnknown},
		{"a long gap before the start", gaps{domaintest.Gap(-40, 0)}, monitor.RunOverdue},
		{"a long gap after the end was due", gaps{domaintest.Gap(311, 341)}, monitor.RunOverdue},
		{"a short gap", gaps{domaintest.Gap(100, 129)}, monitor.RunOverdue},
		{"short gaps closer than the pause between retries count as one",
			gaps{domaintest.Gap(100, 113), domaintest.Gap(113.2, 141)}, monitor.RunUnknown},
		{"a short gap before the end, whose retries have passed", gaps{domaintest.Gap(290, 310)}, monitor.RunOverdue},
		{"a short gap before the end, whose retries follow", gaps{domaintest.Gap(299, 327)}, monitor.RunOnTime},
	} {
		now := domaintest.At(350 * time.Second)
		if got := m.CheckRun(r, monitor.Tick{Instant: now, AsOf: now, Gaps: c.gaps}); got != c.want {
			t.Errorf("%s: CheckRun = %d, want %d", c.name, got, c.want)
		}
	}
}

// TestRunWithoutIDThatReplacesAnotherIsNotTooShort checks runs that end immediately: a run is too short only if the end
// certainly belongs to it.
func TestRunWithoutIDThatReplacesAnotherIsNotTooShort(t *testing.T) {
	m := monitor.Monitor{
		MonitorConfig: monitor.MonitorConfig{
			Enabled: true, RunConditions: monitor.RunConditions{MinRuntime: time.Minute},
		},
	}
	earlier := monitor.Run{StartedAt: domaintest.At(-time.Hour)}
	named := monitor.Run{ID: "named", StartedAt: domaintest.At(-time.Hour)}
	for _, c := range []struct {
		name     string
		runID    string
		open     []monitor.Run
		tooShort bool
	}{
		{"alone", "", nil, true},
		{"beside one without an id", "", []monitor.Run{named, earlier}, false},
		{"beside one with an id", "", []monitor.Run{named}, true},
		{"with an id, beside one without", "other", []monitor.Run{earlier}, true},
	} {
		start := monitor.RunStart{At: domaintest.Epoch, RunID: c.runID, Open: c.open}
		r := monitor.Run{
			ID: c.runID, StartedAt: domaintest.Epoch, DueAt: domaintest.At(time.Hour), Doubtful: start.Doubtful(),
			Ambiguous: start.Ambiguous(),
		}
		if v := m.EvaluateEnd(r, domaintest.At(time.Second), monitor.RunSucceeds); (len(v.Violated) > 0) != c.tooShort {
			t.Errorf("%s: EvaluateEnd = %+v", c.name, v)
		}
	}
	if v := m.EvaluateEnd(monitor.Run{}, domaintest.Epoch, monitor.RunSucceeds); len(v.Satisfied)+len(v.Violated) > 0 {
		t.Errorf("an end without a start: %+v", v)
	}
}

// TestRunsOfAnEndedMaintenance checks that what began during a maintenance counts for no condition after its end, and
// that what began at its end or later does. The maintenance ends 60 s after the epoch.
func TestRunsOfAnEndedMaintenance(t *testing.T) {
	m := monitor.Monitor{
		MonitorConfig: monitor.MonitorConfig{
			Enabled: true, Interval: time.Hour,
			RunConditions: monitor.RunConditions{MinRuntime: time.Minute, MaxPerInterval: 1, NoOverlap: true},
		},
		MonitorStatus: monitor.MonitorStatus{SuppressedUntil: domaintest.At(time.Minute)},
	}
	violates := func(v monitor.Verdict, c monitor.Condition) bool {
		return slices.ContainsFunc(v.Violated, func(v monitor.Violation) bool { return v.Condition == c })
	}
	for began, counts := range map[time.Duration]bool{
		30 * time.Second: false, time.Minute: true, 65 * time.Second: true,
	} {
		r := monitor.Run{StartedAt: domaintest.At(began), DueAt: domaintest.At(began + 5*time.Minute)}
		later := domaintest.At(10 * time.Minute)
		for what, got := range map[string]bool{
			"it does not end in time": m.CheckRun(r, monitor.Tick{Instant: later, AsOf: later}) == monitor.RunOverdue,
			"it is too short": violates(
				m.EvaluateEnd(r, domaintest.At(70*time.Second), monitor.RunSucceeds), monitor.ConditionMinRuntime,
			),
			"another one overlaps it": violates(
				m.EvaluateStart(monitor.RunStart{At: domaintest.At(2 * time.Minute), Open: []monitor.Run{r}}),
				monitor.ConditionNoOverlap,
			),
			"another one is too early": violates(
				m.EvaluateStart(monitor.RunStart{At: domaintest.At(2 * time.Minute), Nth: r.StartedAt}),
				monitor.ConditionMaxPerInterval,
			),
		} {
			if got != counts {
				t.Errorf("a run that began %v after the epoch: %s: %t", began, what, got)
			}
		}
	}
}
