package allswell_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/allswell/allswell"
	"github.com/allswell/allswell/internal/resource"
)

// TestLimitsOfConditions checks both sides of each limit of a heartbeat's conditions.
func TestLimitsOfConditions(t *testing.T) {
	type conditions = allswell.RunConditions
	for _, c := range []struct {
		field   string
		longest time.Duration
		given   conditions
		ok      bool
	}{
		{"min_runtime", 0, conditions{MinRuntime: time.Second}, true},
		{"min_runtime", 0, conditions{MinRuntime: -time.Second}, false},
		{"min_runtime", 0, conditions{MinRuntime: 1500 * time.Millisecond}, false},
		{"min_runtime", 0, conditions{MinRuntime: allswell.MaxRuntime}, true},
		{"min_runtime", 0, conditions{MinRuntime: allswell.MaxRuntime + time.Second}, false},
		{"min_runtime", time.Minute, conditions{MinRuntime: time.Minute}, true},
		{"min_runtime", time.Minute, conditions{MinRuntime: time.Minute + time.Second}, false},
		{"max_per_interval", 0, conditions{MaxPerInterval: -1}, false},
		{"max_per_interval", 0, conditions{MaxPerInterval: 1}, true},
		{"max_per_interval", 0, conditions{MaxPerInterval: allswell.MaxPerInterval}, true},
		{"max_per_interval", 0, conditions{MaxPerInterval: allswell.MaxPerInterval + 1}, false},
		{"max_runtime_action", 0, conditions{MaxRuntimeAction: "page"}, false},
		{"min_runtime_action", 0, conditions{MinRuntimeAction: "page"}, false},
		{"max_per_interval_action", 0, conditions{MaxPerIntervalAction: "page"}, false},
		{"no_overlap_action", 0, conditions{NoOverlapAction: "page"}, false},
		{"no_overlap_action", 0, conditions{NoOverlap: true, NoOverlapAction: allswell.ActionDown}, true},
	} {
		err := newRefusal(allswell.MonitorOf(allswell.MonitorConfig{Name: "Backup", Interval: time.Hour, MaxRuntime: c.longest, RunConditions: c.given}))
		var bad *allswell.ValidationError
		if refused := errors.As(err, &bad); refused == c.ok || refused && (len(bad.Messages()) != 1 || !bad.Has(c.field)) {
			t.Errorf("%s of %+v: %v", c.field, c.given, err)
		}
	}
}

// TestActions checks what each condition does by default and as it is set, and that it applies only if it is set.
func TestActions(t *testing.T) {
	set := map[allswell.Condition]func(*allswell.RunConditions, allswell.ConditionAction){
		allswell.ConditionMaxRuntime: func(r *allswell.RunConditions, a allswell.ConditionAction) { r.MaxRuntimeAction = a },
		allswell.ConditionMinRuntime: func(r *allswell.RunConditions, a allswell.ConditionAction) { r.MinRuntime, r.MinRuntimeAction = 1, a },
		allswell.ConditionMaxPerInterval: func(r *allswell.RunConditions, a allswell.ConditionAction) {
			r.MaxPerInterval, r.MaxPerIntervalAction = 1, a
		},
		allswell.ConditionNoOverlap: func(r *allswell.RunConditions, a allswell.ConditionAction) { r.NoOverlap, r.NoOverlapAction = true, a },
	}
	usual := map[allswell.Condition]allswell.ConditionAction{
		allswell.ConditionMaxRuntime: allswell.ActionDown, allswell.ConditionMinRuntime: allswell.ActionWarn,
		allswell.ConditionMaxPerInterval: allswell.ActionWarn, allswell.ConditionNoOverlap: allswell.ActionWarn,
	}
	for _, c := range allswell.Conditions {
		for _, action := range []allswell.ConditionAction{"", allswell.ActionWarn, allswell.ActionDown} {
			var r allswell.RunConditions
			set[c](&r, action)
			for _, other := range allswell.Conditions {
				want := usual[other]
				if other == c && action != "" {
					want = action
				}
				if got, whole := r.Action(other), r.WithDefaults().Action(other); got != want || whole != want {
					t.Errorf("%s of %q: the action of %s is %s, with defaults %s, want %s", c, action, other, got, whole, want)
				}
				if has := other == c || other == allswell.ConditionMaxRuntime; r.Has(other) != has {
					t.Errorf("with %s, Has(%s) is %t", c, other, !has)
				}
			}
			w := r.WithDefaults()
			if slices.Contains([]allswell.ConditionAction{w.MaxRuntimeAction, w.MinRuntimeAction, w.MaxPerIntervalAction, w.NoOverlapAction}, "") {
				t.Errorf("without an action: %+v", w)
			}
			m := allswell.Monitor{MonitorConfig: allswell.MonitorConfig{RunConditions: r}}
			_, down := m.Down(allswell.Verdict{Violated: []allswell.Violation{{Condition: c}}})
			warned := m.Warn(allswell.Verdict{Violated: []allswell.Violation{{Condition: c}}})
			if isDown := r.Action(c) == allswell.ActionDown; down != isDown || (len(warned) == 0) != isDown {
				t.Errorf("%s of %q: down %t, warned %v", c, action, down, warned)
			}
		}
		if c.Reason() == "" || c.Violated() == "" {
			t.Errorf("%s has no words", c)
		}
	}
}

// TestWarnings checks when a condition warns: once until it is satisfied again, and no longer once it cannot be violated.
func TestWarnings(t *testing.T) {
	overlap := allswell.Violation{Condition: allswell.ConditionNoOverlap}
	m := allswell.Monitor{
		MonitorConfig: allswell.MonitorConfig{
			Enabled: true, Interval: time.Hour,
			RunConditions: allswell.RunConditions{NoOverlap: true, MinRuntime: time.Minute, MaxRuntimeAction: allswell.ActionWarn},
		},
		MonitorStatus: allswell.MonitorStatus{State: allswell.MonitorUp},
	}
	for i, step := range []struct {
		verdict  allswell.Verdict
		warnings int
		warned   []allswell.Condition
	}{
		{allswell.Verdict{Violated: []allswell.Violation{overlap}}, 1, []allswell.Condition{"no_overlap"}},
		{allswell.Verdict{Violated: []allswell.Violation{overlap, {Condition: "min_runtime"}}}, 1, []allswell.Condition{"no_overlap", "min_runtime"}},
		{allswell.Verdict{}, 0, []allswell.Condition{"no_overlap", "min_runtime"}},
		{allswell.Verdict{Satisfied: []allswell.Condition{"no_overlap", "max_runtime"}}, 0, []allswell.Condition{"min_runtime"}},
		{allswell.Verdict{Violated: []allswell.Violation{overlap, {Condition: "max_runtime"}}}, 2, []allswell.Condition{"min_runtime", "no_overlap", "max_runtime"}},
	} {
		if got := m.Warn(step.verdict); len(got) != step.warnings || !slices.Equal(m.Warned, step.warned) {
			t.Errorf("step %d: %d warnings, warned of %v", i, len(got), m.Warned)
		}
	}
	for name, c := range map[string]struct {
		change allswell.MonitorChange
		want   string
	}{
		"another name":         {func(c *allswell.MonitorConfig) error { c.Name = "Backup"; return nil }, "[min_runtime no_overlap max_runtime]"},
		"paused":               {func(c *allswell.MonitorConfig) error { c.Enable(false); return nil }, "[]"},
		"without a condition":  {func(c *allswell.MonitorConfig) error { c.NoOverlap = false; return nil }, "[min_runtime max_runtime]"},
		"with another action":  {func(c *allswell.MonitorConfig) error { c.MinRuntimeAction = allswell.ActionDown; return nil }, "[no_overlap max_runtime]"},
		"the default of a run": {func(c *allswell.MonitorConfig) error { c.MaxRuntimeAction = allswell.ConditionAction(""); return nil }, "[min_runtime no_overlap]"},
	} {
		got := m
		if resource.ChangeMonitor(&got, c.change, epoch); fmt.Sprint(got.Warned) != c.want {
			t.Errorf("%s: warned of %v, want %s", name, got.Warned, c.want)
		}
	}
}

// describeVerdict writes a verdict: conditions that are satisfied, and the messages of the others.
func describeVerdict(v allswell.Verdict) string {
	var words []string
	for _, c := range v.Satisfied {
		words = append(words, string(c))
	}
	for _, violation := range v.Violated {
		words = append(words, fmt.Sprintf("%s of %s: %s", violation.Condition, violation.RunID, violation.Message))
	}
	return strings.Join(words, "; ")
}

// TestEveryStart evaluates starts at 12:00 of a job that runs every hour, or at every full hour.
func TestEveryStart(t *testing.T) {
	at := func(d time.Duration) time.Time { return noon.Add(d) }
	hourly := allswell.Cron{Expression: "0 * * * *", TimeZone: "UTC"}
	open := func(id string, began, due time.Duration) []allswell.Run {
		return []allswell.Run{{ID: id, StartedAt: at(began), DueAt: at(due)}}
	}
	gap := func(from, to time.Duration) []allswell.ListeningGap {
		return []allswell.ListeningGap{{From: at(from), To: at(to)}}
	}
	both := allswell.Monitor{MonitorConfig: allswell.MonitorConfig{Interval: time.Hour, RunConditions: allswell.RunConditions{MaxPerInterval: 2, NoOverlap: true}}}
	once := allswell.Monitor{MonitorConfig: allswell.MonitorConfig{Interval: time.Hour, RunConditions: allswell.RunConditions{MaxPerInterval: 1}}}
	short := allswell.Monitor{MonitorConfig: allswell.MonitorConfig{Interval: time.Minute, RunConditions: allswell.RunConditions{MaxPerInterval: 1}}}
	atTimes := allswell.Monitor{MonitorConfig: allswell.MonitorConfig{Cron: hourly, RunConditions: allswell.RunConditions{MaxPerInterval: 1}}}
	suppressed := func(until time.Duration) allswell.Monitor {
		m := both
		m.SuppressedUntil = at(until)
		return m
	}
	const good, tooOften = "max_per_interval; no_overlap", "max_per_interval of r: More than 2 runs began within 1 hour."
	const overlap = "no_overlap of r: A run began 10 minutes after another one, which had not ended."
	for name, c := range map[string]struct {
		monitor allswell.Monitor
		start   allswell.RunStart
		want    string
	}{
		"alone":                       {both, allswell.RunStart{}, good},
		"without conditions":          {allswell.Monitor{MonitorConfig: allswell.MonitorConfig{Interval: time.Hour}}, allswell.RunStart{Nth: at(-1), Open: open("o", -10*time.Minute, time.Hour)}, ""},
		"without overlaps":            {once, allswell.RunStart{Open: open("o", -10*time.Minute, time.Hour)}, "max_per_interval"},
		"repeated":                    {both, allswell.RunStart{Repeated: true, Nth: at(-time.Minute)}, ""},
		"of a run that is open":       {both, allswell.RunStart{Nth: at(-time.Minute), Open: open("r", -10*time.Minute, time.Hour)}, ""},
		"in a maintenance":            {suppressed(1), allswell.RunStart{Nth: at(-time.Minute)}, ""},
		"at the end of a maintenance": {suppressed(0), allswell.RunStart{}, good},

		"too often":                            {both, allswell.RunStart{Nth: at(-50 * time.Minute)}, "no_overlap; " + tooOften},
		"once too often":                       {once, allswell.RunStart{Nth: at(-50 * time.Minute)}, "max_per_interval of r: More than 1 run began within 1 hour."},
		"after the interval":                   {once, allswell.RunStart{Nth: at(-time.Hour)}, "max_per_interval"},
		"as early as may be":                   {once, allswell.RunStart{Nth: at(-time.Hour + 10*time.Second)}, "max_per_interval"},
		"earlier than may be":                  {once, allswell.RunStart{Nth: at(-time.Hour + 10*time.Second + 1)}, "max_per_interval of r: More than 1 run began within 1 hour."},
		"as early as may be, shortly":          {short, allswell.RunStart{Nth: at(-54 * time.Second)}, "max_per_interval"},
		"earlier than may be, shortly":         {short, allswell.RunStart{Nth: at(-53 * time.Second)}, "max_per_interval of r: More than 1 run began within 1 minute."},
		"the earlier run was in a maintenance": {suppressed(-time.Minute), allswell.RunStart{Nth: at(-50 * time.Minute)}, good},
		"at the next time":                     {atTimes, allswell.RunStart{Nth: at(-time.Hour)}, "max_per_interval"},
		"before the next time":                 {atTimes, allswell.RunStart{Nth: at(-30 * time.Minute)}, "max_per_interval"},
		"twice at a time":                      {atTimes, allswell.RunStart{Nth: at(-5 * time.Second)}, "max_per_interval of r: More than 1 run began between two times of 0 * * * *."},

		"over another":                       {both, allswell.RunStart{Open: open("o", -10*time.Minute, 0)}, "max_per_interval; " + overlap},
		"after another was due":              {both, allswell.RunStart{Open: open("o", -10*time.Minute, -1)}, good},
		"over one with a doubtful start":     {both, allswell.RunStart{Open: []allswell.Run{{ID: "o", StartedAt: at(-time.Minute), DueAt: at(time.Hour), Doubtful: true}}}, "max_per_interval"},
		"over one of a maintenance":          {suppressed(-time.Minute), allswell.RunStart{Open: open("o", -10*time.Minute, time.Hour)}, "max_per_interval"},
		"over another with a long gap":       {both, allswell.RunStart{Open: open("o", -10*time.Minute, time.Hour), Gaps: gap(-9*time.Minute, -9*time.Minute+allswell.LongGap)}, "max_per_interval"},
		"over another with a shorter gap":    {both, allswell.RunStart{Open: open("o", -10*time.Minute, time.Hour), Gaps: gap(-9*time.Minute, -9*time.Minute+allswell.LongGap-1)}, "max_per_interval; " + overlap},
		"over another with a gap before it":  {both, allswell.RunStart{Open: open("o", -10*time.Minute, time.Hour), Gaps: gap(-20*time.Minute, -11*time.Minute)}, "max_per_interval; " + overlap},
		"just after a gap":                   {both, allswell.RunStart{Nth: at(-time.Minute), Gaps: gap(-time.Minute, -time.Second)}, ""},
		"in a gap":                           {both, allswell.RunStart{Nth: at(-time.Minute), Gaps: gap(0, time.Second)}, ""},
		"before a gap":                       {both, allswell.RunStart{Gaps: gap(1, time.Minute)}, good},
		"long after a gap":                   {both, allswell.RunStart{Gaps: gap(-allswell.GapsBeforeStart-time.Minute, -allswell.GapsBeforeStart)}, good},
		"over two, of which one is doubtful": {both, allswell.RunStart{Open: append(open("p", -10*time.Minute, time.Hour), allswell.Run{ID: "o", StartedAt: at(-time.Minute), DueAt: at(time.Hour), Doubtful: true})}, "max_per_interval; " + overlap},
	} {
		c.start.At, c.start.RunID = noon, "r"
		if got := describeVerdict(c.monitor.EvaluateStart(c.start)); got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}

// TestEveryEnd evaluates ends at 12:00 of runs that take a minute or longer, and end within an hour.
func TestEveryEnd(t *testing.T) {
	run := func(took time.Duration, change ...func(*allswell.Run)) allswell.Run {
		r := allswell.Run{ID: "r", StartedAt: noon.Add(-took), DueAt: noon.Add(time.Hour - took)}
		for _, f := range change {
			f(&r)
		}
		return r
	}
	const short = "max_runtime; min_runtime of r: A run succeeded after 59 seconds, in less than 1 minute."
	for name, c := range map[string]struct {
		run     allswell.Run
		success bool
		change  func(*allswell.Monitor)
		want    string
	}{
		"in time":                 {run(time.Minute), true, nil, "max_runtime; min_runtime"},
		"too short":               {run(59 * time.Second), true, nil, short},
		"too short, failed":       {run(59 * time.Second), false, nil, "max_runtime"},
		"as long as may be":       {run(time.Hour), true, nil, "max_runtime; min_runtime"},
		"too long":                {run(time.Hour + 1), true, nil, "min_runtime"},
		"without an end in time":  {run(time.Minute, func(r *allswell.Run) { r.DueAt = time.Time{} }), true, nil, "min_runtime"},
		"a doubtful start":        {run(time.Second, func(r *allswell.Run) { r.Doubtful = true }), true, nil, "max_runtime"},
		"an ambiguous end":        {run(time.Second, func(r *allswell.Run) { r.Ambiguous = true }), true, nil, "max_runtime"},
		"before it began":         {run(-time.Second), true, nil, "max_runtime"},
		"without a condition":     {run(time.Second), true, func(m *allswell.Monitor) { m.MinRuntime = 0 }, "max_runtime"},
		"begun in a maintenance":  {run(59 * time.Second), true, func(m *allswell.Monitor) { m.SuppressedUntil = noon.Add(-58 * time.Second) }, "max_runtime"},
		"begun after its end":     {run(59 * time.Second), true, func(m *allswell.Monitor) { m.SuppressedUntil = noon.Add(-59 * time.Second) }, short},
		"a success without a run": {allswell.Run{}, true, nil, ""},
	} {
		m := allswell.Monitor{MonitorConfig: allswell.MonitorConfig{RunConditions: allswell.RunConditions{MinRuntime: time.Minute}}}
		if c.change != nil {
			c.change(&m)
		}
		if got := describeVerdict(m.EvaluateEnd(c.run, noon, c.success)); got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
	if got := describeVerdict(allswell.Monitor{}.EvaluateOverdue(run(time.Minute))); got != "max_runtime of r: A run did not end within 1 hour." {
		t.Errorf("an overdue run: %q", got)
	}
}
