package allswell_test

import (
	"slices"
	"testing"
	"time"

	"github.com/allswell/allswell"
)

// TestCheckRun checks a run that began at the epoch and must end within 300 s, 60 s later.
func TestCheckRun(t *testing.T) {
	type gaps = []allswell.ListeningGap
	m := allswell.Monitor{MonitorConfig: allswell.MonitorConfig{Enabled: true}}
	r := allswell.Run{StartedAt: epoch, DueAt: at(300 * time.Second)}
	for _, c := range []struct {
		name string
		gaps gaps
		want allswell.RunResult
	}{
		{"no gap", nil, allswell.RunOverdue},
		{"a long gap", gaps{secs(100, 130)}, allswell.RunUnknown},
		{"a long gap before the start", gaps{secs(-40, 0)}, allswell.RunOverdue},
		{"a long gap after the end was due", gaps{secs(311, 341)}, allswell.RunOverdue},
		{"a short gap", gaps{secs(100, 129)}, allswell.RunOverdue},
		{"short gaps closer than the pause between retries count as one", gaps{secs(100, 113), secs(113.2, 141)}, allswell.RunUnknown},
		{"a short gap before the end, whose retries have passed", gaps{secs(290, 310)}, allswell.RunOverdue},
		{"a short gap before the end, whose retries follow", gaps{secs(299, 327)}, allswell.RunOnTime},
	} {
		now := at(350 * time.Second)
		if got := m.CheckRun(r, allswell.Tick{Instant: now, AsOf: now, Gaps: c.gaps}); got != c.want {
			t.Errorf("%s: result %d, want %d", c.name, got, c.want)
		}
	}
}

// TestRunWithoutIDThatReplacesAnotherIsNotTooShort checks runs that end at once: only those to which the end certainly
// belongs are too short.
func TestRunWithoutIDThatReplacesAnotherIsNotTooShort(t *testing.T) {
	m := allswell.Monitor{MonitorConfig: allswell.MonitorConfig{Enabled: true, RunConditions: allswell.RunConditions{MinRuntime: time.Minute}}}
	earlier := allswell.Run{StartedAt: at(-time.Hour)}
	named := allswell.Run{ID: "named", StartedAt: at(-time.Hour)}
	for _, c := range []struct {
		name     string
		runID    string
		open     []allswell.Run
		tooShort bool
	}{
		{"alone", "", nil, true},
		{"beside one without an id", "", []allswell.Run{named, earlier}, false},
		{"beside one with an id", "", []allswell.Run{named}, true},
		{"with an id, beside one without", "other", []allswell.Run{earlier}, true},
	} {
		start := allswell.RunStart{At: epoch, RunID: c.runID, Open: c.open}
		r := allswell.Run{ID: c.runID, StartedAt: epoch, DueAt: at(time.Hour), Doubtful: start.Doubtful(), Ambiguous: start.Ambiguous()}
		if v := m.EvaluateEnd(r, at(time.Second), true); (len(v.Violated) > 0) != c.tooShort {
			t.Errorf("%s: %+v", c.name, v)
		}
	}
	if v := m.EvaluateEnd(allswell.Run{}, epoch, true); len(v.Satisfied)+len(v.Violated) > 0 {
		t.Errorf("an end without a start: %+v", v)
	}
}

// TestRunsOfAnEndedMaintenance checks that what began during a maintenance counts for no condition after its end, and that
// what began at its end or later does. The maintenance ends 60 s after the epoch.
func TestRunsOfAnEndedMaintenance(t *testing.T) {
	m := allswell.Monitor{
		MonitorConfig: allswell.MonitorConfig{
			Enabled: true, Interval: time.Hour,
			RunConditions: allswell.RunConditions{MinRuntime: time.Minute, MaxPerInterval: 1, NoOverlap: true},
		},
		MonitorStatus: allswell.MonitorStatus{SuppressedUntil: at(time.Minute)},
	}
	violates := func(v allswell.Verdict, c allswell.Condition) bool {
		return slices.ContainsFunc(v.Violated, func(v allswell.Violation) bool { return v.Condition == c })
	}
	for began, counts := range map[time.Duration]bool{30 * time.Second: false, time.Minute: true, 65 * time.Second: true} {
		r := allswell.Run{StartedAt: at(began), DueAt: at(began + 5*time.Minute)}
		later := at(10 * time.Minute)
		for what, got := range map[string]bool{
			"it does not end in time":  m.CheckRun(r, allswell.Tick{Instant: later, AsOf: later}) == allswell.RunOverdue,
			"it is too short":          violates(m.EvaluateEnd(r, at(70*time.Second), true), allswell.ConditionMinRuntime),
			"another one overlaps it":  violates(m.EvaluateStart(allswell.RunStart{At: at(2 * time.Minute), Open: []allswell.Run{r}}), allswell.ConditionNoOverlap),
			"another one is too early": violates(m.EvaluateStart(allswell.RunStart{At: at(2 * time.Minute), Nth: r.StartedAt}), allswell.ConditionMaxPerInterval),
		} {
			if got != counts {
				t.Errorf("a run that began %v after the epoch: %s: %t", began, what, got)
			}
		}
	}
}
