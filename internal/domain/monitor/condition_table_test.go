package monitor_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/allswell/allswell/internal/domain/domaintest"
	"github.com/allswell/allswell/internal/domain/kernel"
	"github.com/allswell/allswell/internal/domain/monitor"
	"github.com/allswell/allswell/internal/domain/schedule"
	"github.com/allswell/allswell/internal/resource"
)

// TestLimitsOfConditions checks both sides of each limit of a heartbeat's conditions.
func TestLimitsOfConditions(t *testing.T) {
	type conditions = monitor.RunConditions
	for _, c := range []struct {
		field   string
		longest time.Duration
		given   conditions
		ok      bool
	}{
		{"min_runtime", 0, conditions{MinRuntime: time.Second}, true},
		{"min_runtime", 0, conditions{MinRuntime: -time.Second}, false},
		{"min_runtime", 0, conditions{MinRuntime: 1500 * time.Millisecond}, false},
		{"min_runtime", 0, conditions{MinRuntime: monitor.MaxRuntime}, true},
		{"min_runtime", 0, conditions{MinRuntime: monitor.MaxRuntime + time.Second}, false},
		{"min_runtime", time.Minute, conditions{MinRuntime: time.Minute}, true},
		{"min_runtime", time.Minute, conditions{MinRuntime: time.Minute + time.Second}, false},
		{"max_per_interval", 0, conditions{MaxPerInterval: -1}, false},
		{"max_per_interval", 0, conditions{MaxPerInterval: 1}, true},
		{"max_per_interval", 0, conditions{MaxPerInterval: monitor.MaxPerInterval}, true},
		{"max_per_interval", 0, conditions{MaxPerInterval: monitor.MaxPerInterval + 1}, false},
		{"max_runtime_action", 0, conditions{MaxRuntimeAction: "page"}, false},
		{"min_runtime_action", 0, conditions{MinRuntimeAction: "page"}, false},
		{"max_per_interval_action", 0, conditions{MaxPerIntervalAction: "page"}, false},
		{"no_overlap_action", 0, conditions{NoOverlapAction: "page"}, false},
		{"no_overlap_action", 0, conditions{NoOverlap: true, NoOverlapAction: monitor.ActionDown}, true},
	} {
		err := domaintest.MonitorRefusal(monitor.MonitorOf(monitor.MonitorConfig{
			Name: "Backup", Interval: time.Hour, MaxRuntime: c.longest, RunConditions: c.given,
		}))
		var bad *kernel.ValidationError
		refused := errors.As(err, &bad)
		if refused == c.ok || refused && (len(bad.Messages()) != 1 || !bad.Has(c.field)) {
			t.Errorf("problems of the %s of %+v: %v", c.field, c.given, err)
		}
	}
}

// TestActions checks each condition with its default action and with every other action, and that it applies only if it
// is set.
func TestActions(t *testing.T) {
	set := map[monitor.Condition]func(*monitor.RunConditions, monitor.ConditionAction){
		monitor.ConditionMaxRuntime: func(r *monitor.RunConditions, a monitor.ConditionAction) {
			r.MaxRuntimeAction = a
		},
		monitor.ConditionMinRuntime: func(r *monitor.RunConditions, a monitor.ConditionAction) {
			r.MinRuntime, r.MinRuntimeAction = 1, a
		},
		monitor.ConditionMaxPerInterval: func(r *monitor.RunConditions, a monitor.ConditionAction) {
			r.MaxPerInterval, r.MaxPerIntervalAction = 1, a
		},
		monitor.ConditionNoOverlap: func(r *monitor.RunConditions, a monitor.ConditionAction) {
			r.NoOverlap, r.NoOverlapAction = true, a
		},
	}
	usual := map[monitor.Condition]monitor.ConditionAction{
		monitor.ConditionMaxRuntime: monitor.ActionDown, monitor.ConditionMinRuntime: monitor.ActionWarn,
		monitor.ConditionMaxPerInterval: monitor.ActionWarn, monitor.ConditionNoOverlap: monitor.ActionWarn,
	}
	for _, c := range monitor.Conditions {
		for _, action := range []monitor.ConditionAction{"", monitor.ActionWarn, monitor.ActionDown} {
			var r monitor.RunConditions
			set[c](&r, action)
			for _, other := range monitor.Conditions {
				want := usual[other]
				if other == c && action != "" {
					want = action
				}
				if got, whole := r.Action(other), r.WithDefaults().Action(other); got != want || whole != want {
					t.Errorf("%s of %q: the action of %s is %s, with defaults %s, want %s", c, action, other, got,
						whole, want)
				}
				if has := other == c || other == monitor.ConditionMaxRuntime; r.Has(other) != has {
					t.Errorf("conditions with %s: Has(%s) is %t", c, other, !has)
				}
			}
			w := r.WithDefaults()
			if slices.Contains(
				[]monitor.ConditionAction{
					w.MaxRuntimeAction, w.MinRuntimeAction, w.MaxPerIntervalAction, w.NoOverlapAction,
				},
				"",
			) {
				t.Errorf("without an action: %+v", w)
			}
			m := monitor.Monitor{MonitorConfig: monitor.MonitorConfig{RunConditions: r}}
			_, down := m.Down(monitor.Verdict{Violated: []monitor.Violation{{Condition: c}}})
			warned := m.Warn(monitor.Verdict{Violated: []monitor.Violation{{Condition: c}}})
			if isDown := r.Action(c) == monitor.ActionDown; down != isDown || (len(warned) == 0) != isDown {
				t.Errorf("%s of %q: down %t, warned %v", c, action, down, warned)
			}
		}
		if c.Reason() == "" || c.Violated() == "" {
			t.Errorf("%s has no words", c)
		}
	}
}

// TestWarnings checks when a condition warns: once until it is satisfied again, and no longer once it cannot be
// violated.
func TestWarnings(t *testing.T) {
	overlap := monitor.Violation{Condition: monitor.ConditionNoOverlap}
	m := monitor.Monitor{
		MonitorConfig: monitor.MonitorConfig{
			Enabled: true, Interval: time.Hour,
			RunConditions: monitor.RunConditions{
				NoOverlap: true, MinRuntime: time.Minute, MaxRuntimeAction: monitor.ActionWarn,
			},
		},
		MonitorStatus: monitor.MonitorStatus{State: monitor.MonitorUp},
	}
	for i, step := range []struct {
		verdict  monitor.Verdict
		warnings int
		warned   []monitor.Condition
	}{
		{monitor.Verdict{Violated: []monitor.Violation{overlap}}, 1, []monitor.Condition{"no_overlap"}},
		{monitor.Verdict{Violated: []monitor.Violation{overlap, {Condition: "min_runtime"}}}, 1,
			[]monitor.Condition{"no_overlap", "min_runtime"}},
		{monitor.Verdict{}, 0, []monitor.Condition{"no_overlap", "min_runtime"}},
		{monitor.Verdict{Satisfied: []monitor.Condition{"no_overlap", "max_runtime"}}, 0,
			[]monitor.Condition{"min_runtime"}},
		{monitor.Verdict{Violated: []monitor.Violation{overlap, {Condition: "max_runtime"}}}, 2,
			[]monitor.Condition{"min_runtime", "no_overlap", "max_runtime"}},
	} {
		if got := m.Warn(step.verdict); len(got) != step.warnings || !slices.Equal(m.Warned, step.warned) {
			t.Errorf("step %d: %d warnings, warned of %v", i, len(got), m.Warned)
		}
	}
	for name, c := range map[string]struct {
		change monitor.MonitorChange
		want   string
	}{
		"another name": {func(c *monitor.MonitorConfig) error {
			c.Name = "Backup"
			return nil
		}, "[min_runtime no_overlap max_runtime]"},
		"paused": {func(c *monitor.MonitorConfig) error { c.Enable(false); return nil }, "[]"},
		"without a condition": {func(c *monitor.MonitorConfig) error {
			c.NoOverlap = false
			return nil
		}, "[min_runtime max_runtime]"},
		"with another action": {func(c *monitor.MonitorConfig) error {
			c.MinRuntimeAction = monitor.ActionDown
			return nil
		}, "[no_overlap max_runtime]"},
		"the default of a run": {func(c *monitor.MonitorConfig) error {
			c.MaxRuntimeAction = monitor.ConditionAction("")
			return nil
		}, "[min_runtime no_overlap]"},
	} {
		got := m
		if resource.ChangeMonitor(&got, c.change, domaintest.Epoch); fmt.Sprint(got.Warned) != c.want {
			t.Errorf("%s: warned of %v, want %s", name, got.Warned, c.want)
		}
	}
}

// describeVerdict writes a verdict: conditions that are satisfied, and the messages of the others.
func describeVerdict(v monitor.Verdict) string {
	var words []string
	for _, c := range v.Satisfied {
		words = append(words, string(c))
	}
	for _, violation := range v.Violated {
		words = append(words, fmt.Sprintf("%s of %s: %s", violation.Condition, violation.RunID, violation.Message))
	}
	return strings.Join(words, "; ")
}

func fromNoon(d time.Duration) time.Time { return noon.Add(d) }

// openRun returns a run that has not ended, which began and is due at these times from noon.
func openRun(id string, began, due time.Duration) []monitor.Run {
	return []monitor.Run{{ID: id, StartedAt: fromNoon(began), DueAt: fromNoon(due)}}
}

func gapFromNoon(from, to time.Duration) []schedule.ListeningGap {
	return []schedule.ListeningGap{{From: fromNoon(from), To: fromNoon(to)}}
}

// Monitors by how often runs may begin.
var (
	twicePerHour  = limitedStarts(time.Hour, monitor.RunConditions{MaxPerInterval: 2, NoOverlap: true})
	oncePerHour   = limitedStarts(time.Hour, monitor.RunConditions{MaxPerInterval: 1})
	oncePerMinute = limitedStarts(time.Minute, monitor.RunConditions{MaxPerInterval: 1})
	onceAtTimes   = monitor.Monitor{MonitorConfig: monitor.MonitorConfig{
		Cron:          schedule.Cron{Expression: "0 * * * *", TimeZone: "UTC"},
		RunConditions: monitor.RunConditions{MaxPerInterval: 1},
	}}
)

func limitedStarts(interval time.Duration, c monitor.RunConditions) monitor.Monitor {
	return monitor.Monitor{MonitorConfig: monitor.MonitorConfig{Interval: interval, RunConditions: c}}
}

// suppressed returns the monitor twicePerHour, suppressed until a time from noon.
func suppressed(until time.Duration) monitor.Monitor {
	m := twicePerHour
	m.SuppressedUntil = fromNoon(until)
	return m
}

// Verdicts.
const (
	good     = "max_per_interval; no_overlap"
	tooOften = "max_per_interval of r: More than 2 runs began within 1 hour."
	overlap  = "no_overlap of r: A run began 10 minutes after another one, which had not ended."
)

// starts are starts at 12:00 of a job that runs every hour, or at every full hour, and the verdicts about them.
var starts = map[string]struct {
	monitor monitor.Monitor
	start   monitor.RunStart
	want    string
}{
	"alone": {twicePerHour, monitor.RunStart{}, good},
	"without conditions": {monitor.Monitor{MonitorConfig: monitor.MonitorConfig{Interval: time.Hour}},
		monitor.RunStart{Nth: fromNoon(-1), Open: openRun("o", -10*time.Minute, time.Hour)}, ""},
	"without overlaps": {oncePerHour, monitor.RunStart{Open: openRun("o", -10*time.Minute, time.Hour)},
		"max_per_interval"},
	"repeated": {twicePerHour, monitor.RunStart{Repeated: true, Nth: fromNoon(-time.Minute)}, ""},
	"of a run that is open": {twicePerHour,
		monitor.RunStart{Nth: fromNoon(-time.Minute), Open: openRun("r", -10*time.Minute, time.Hour)}, ""},
	"in a maintenance":            {suppressed(1), monitor.RunStart{Nth: fromNoon(-time.Minute)}, ""},
	"at the end of a maintenance": {suppressed(0), monitor.RunStart{}, good},

	"too often": {twicePerHour, monitor.RunStart{Nth: fromNoon(-50 * time.Minute)},
		"no_overlap; " + tooOften},
	"once too often": {oncePerHour, monitor.RunStart{Nth: fromNoon(-50 * time.Minute)},
		"max_per_interval of r: More than 1 run began within 1 hour."},
	"after the interval": {oncePerHour, monitor.RunStart{Nth: fromNoon(-time.Hour)}, "max_per_interval"},
	"as early as may be": {oncePerHour, monitor.RunStart{Nth: fromNoon(-time.Hour + 10*time.Second)},
		"max_per_interval"},
	"earlier than may be": {oncePerHour, monitor.RunStart{Nth: fromNoon(-time.Hour + 10*time.Second + 1)},
		"max_per_interval of r: More than 1 run began within 1 hour."},
	"as early as may be, shortly": {oncePerMinute, monitor.RunStart{Nth: fromNoon(-54 * time.Second)},
		"max_per_interval"},
	"earlier than may be, shortly": {oncePerMinute, monitor.RunStart{Nth: fromNoon(-53 * time.Second)},
		"max_per_interval of r: More than 1 run began within 1 minute."},
	"the earlier run was in a maintenance": {suppressed(-time.Minute),
		monitor.RunStart{Nth: fromNoon(-50 * time.Minute)},
		good},
	"at the next time":     {onceAtTimes, monitor.RunStart{Nth: fromNoon(-time.Hour)}, "max_per_interval"},
	"before the next time": {onceAtTimes, monitor.RunStart{Nth: fromNoon(-30 * time.Minute)}, "max_per_interval"},
	"twice at a time": {onceAtTimes, monitor.RunStart{Nth: fromNoon(-5 * time.Second)},
		"max_per_interval of r: More than 1 run began between two times of 0 * * * *."},

	"over another": {twicePerHour, monitor.RunStart{Open: openRun("o", -10*time.Minute, 0)},
		"max_per_interval; " + overlap},
	"after another was due": {twicePerHour, monitor.RunStart{Open: openRun("o", -10*time.Minute, -1)}, good},
	"over one with a doubtful start": {twicePerHour,
		monitor.RunStart{
			Open: []monitor.Run{
				{ID: "o", StartedAt: fromNoon(-time.Minute), DueAt: fromNoon(time.Hour), Doubtful: true},
			},
		},
		"max_per_interval"},
	"over one of a maintenance": {suppressed(-time.Minute),
		monitor.RunStart{Open: openRun("o", -10*time.Minute, time.Hour)}, "max_per_interval"},
	"over another with a long gap": {twicePerHour,
		monitor.RunStart{
			Open: openRun("o", -10*time.Minute, time.Hour),
			Gaps: gapFromNoon(-9*time.Minute, -9*time.Minute+schedule.LongGap),
		},
		"max_per_interval"},
	"over another with a shorter gap": {twicePerHour,
		monitor.RunStart{
			Open: openRun("o", -10*time.Minute, time.Hour),
			Gaps: gapFromNoon(-9*time.Minute, -9*time.Minute+schedule.LongGap-1),
		},
		"max_per_interval; " + overlap},
	"over another with a gap before it": {twicePerHour,
		monitor.RunStart{
			Open: openRun("o", -10*time.Minute, time.Hour), Gaps: gapFromNoon(-20*time.Minute, -11*time.Minute),
		},
		"max_per_interval; " + overlap},
	"just after a gap": {twicePerHour,
		monitor.RunStart{Nth: fromNoon(-time.Minute), Gaps: gapFromNoon(-time.Minute, -time.Second)}, ""},
	"in a gap": {twicePerHour, monitor.RunStart{Nth: fromNoon(-time.Minute), Gaps: gapFromNoon(0, time.Second)},
		""},
	"before a gap": {twicePerHour, monitor.RunStart{Gaps: gapFromNoon(1, time.Minute)}, good},
	"long after a gap": {twicePerHour,
		monitor.RunStart{Gaps: gapFromNoon(-monitor.GapsBeforeStart-time.Minute, -monitor.GapsBeforeStart)}, good},
	"over two, one of them doubtful": {twicePerHour,
		monitor.RunStart{
			Open: append(
				openRun("p", -10*time.Minute, time.Hour),
				monitor.Run{ID: "o", StartedAt: fromNoon(-time.Minute), DueAt: fromNoon(time.Hour), Doubtful: true},
			),
		},
		"max_per_interval; " + overlap},
}

// TestEveryStart evaluates starts.
func TestEveryStart(t *testing.T) {
	for name, c := range starts {
		c.start.At, c.start.RunID = noon, "r"
		if got := describeVerdict(c.monitor.EvaluateStart(c.start)); got != c.want {
			t.Errorf("%s: EvaluateStart = %q, want %q", name, got, c.want)
		}
	}
}

// TestEveryEnd evaluates ends at 12:00 of runs that take a minute or longer, and end within an hour.
func TestEveryEnd(t *testing.T) {
	run := func(took time.Duration, change ...func(*monitor.Run)) monitor.Run {
		r := monitor.Run{ID: "r", StartedAt: noon.Add(-took), DueAt: noon.Add(time.Hour - took)}
		for _, f := range change {
			f(&r)
		}
		return r
	}
	const short = "max_runtime; min_runtime of r: A run succeeded after 59 seconds, in less than 1 minute."
	for name, c := range map[string]struct {
		run     monitor.Run
		success bool
		change  func(*monitor.Monitor)
		want    string
	}{
		"in time":           {run(time.Minute), true, nil, "max_runtime; min_runtime"},
		"too short":         {run(59 * time.Second), true, nil, short},
		"too short, failed": {run(59 * time.Second), false, nil, "max_runtime"},
		"as long as may be": {run(time.Hour), true, nil, "max_runtime; min_runtime"},
		"too long":          {run(time.Hour + 1), true, nil, "min_runtime"},
		"without an end in time": {run(time.Minute, func(r *monitor.Run) {
			r.DueAt = time.Time{}
		}), true, nil, "min_runtime"},
		"a doubtful start": {run(time.Second, func(r *monitor.Run) {
			r.Doubtful = true
		}), true, nil, "max_runtime"},
		"an ambiguous end": {run(time.Second, func(r *monitor.Run) {
			r.Ambiguous = true
		}), true, nil, "max_runtime"},
		"before it began": {run(-time.Second), true, nil, "max_runtime"},
		"without a condition": {run(time.Second), true, func(m *monitor.Monitor) {
			m.MinRuntime = 0
		}, "max_runtime"},
		"begun in a maintenance": {run(59 * time.Second), true, func(m *monitor.Monitor) {
			m.SuppressedUntil = noon.Add(-58 * time.Second)
		}, "max_runtime"},
		"begun after its end": {run(59 * time.Second), true, func(m *monitor.Monitor) {
			m.SuppressedUntil = noon.Add(-59 * time.Second)
		}, short},
		"a success without a run": {monitor.Run{}, true, nil, ""},
	} {
		m := monitor.Monitor{
			MonitorConfig: monitor.MonitorConfig{RunConditions: monitor.RunConditions{MinRuntime: time.Minute}},
		}
		if c.change != nil {
			c.change(&m)
		}
		if got := describeVerdict(m.EvaluateEnd(c.run, noon, monitor.RunEnd(c.success))); got != c.want {
			t.Errorf("%s: EvaluateEnd = %q, want %q", name, got, c.want)
		}
	}
	got := describeVerdict(monitor.Monitor{}.EvaluateOverdue(run(time.Minute)))
	if got != "max_runtime of r: A run did not end within 1 hour." {
		t.Errorf("an overdue run: %q", got)
	}
}
