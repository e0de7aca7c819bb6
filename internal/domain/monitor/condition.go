package monitor

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/allswell/allswell/internal/domain/kernel"
	"github.com/allswell/allswell/internal/domain/schedule"
)

// Condition is a condition on the runs of a job. Plain pings have no runs: no condition applies to them.
type Condition string

// The conditions.
const (
	ConditionMaxRuntime Condition = "max_runtime" // a run ends within MonitorConfig.RunLimit
	ConditionMinRuntime Condition = "min_runtime" // a run that succeeds takes at least that long
	// no more runs begin within an interval, or between two times of a Cron
	ConditionMaxPerInterval Condition = "max_per_interval"
	ConditionNoOverlap      Condition = "no_overlap" // a run begins when no other one is in progress
)

// ConditionCertificateExpiry is a condition on the target of a check, which always warns: its certificate does not
// expire soon.
const ConditionCertificateExpiry Condition = "certificate_expiry"

// Conditions lists all conditions on runs.
var Conditions = []Condition{ConditionMaxRuntime, ConditionMinRuntime, ConditionMaxPerInterval, ConditionNoOverlap}

// WarningConditions lists all conditions that a Warning can have.
var WarningConditions = append(slices.Clone(Conditions), ConditionCertificateExpiry)

// ConditionAction is the reaction to a run that violates a condition.
type ConditionAction string

// The actions.
const (
	// members see a Warning, and webhooks that ask for them are notified; the page does not change
	ActionWarn ConditionAction = "warn"
	ActionDown ConditionAction = "down" // the monitor is down, as after a failure
)

// ConditionActions lists all actions.
var ConditionActions = []ConditionAction{ActionWarn, ActionDown}

// Limits of conditions and warnings.
const (
	MaxPerInterval   = 100                 // largest value of the condition
	MaxWarnings      = 100                 // kept of each monitor, the newest
	WarningRetention = 90 * 24 * time.Hour // for which they are kept
)

// RunConditions are the conditions of a monitor, except for MaxRuntime, and their actions. An action that is "" is the
// default: see Action.
type RunConditions struct {
	MinRuntime     time.Duration // 0: none
	MaxPerInterval int           // 0: none
	NoOverlap      bool

	MaxRuntimeAction, MinRuntimeAction, MaxPerIntervalAction, NoOverlapAction ConditionAction
}

// Action returns the reaction to a run that violates a condition. By default a run that does not end makes the monitor
// down, and the other conditions warn.
func (r RunConditions) Action(c Condition) ConditionAction {
	action := r.MaxRuntimeAction
	switch c {
	case ConditionCertificateExpiry:
		return ActionWarn
	case ConditionMinRuntime:
		action = r.MinRuntimeAction
	case ConditionMaxPerInterval:
		action = r.MaxPerIntervalAction
	case ConditionNoOverlap:
		action = r.NoOverlapAction
	case ConditionMaxRuntime:
	}
	return cmp.Or(action, c.defaultAction())
}

func (c Condition) defaultAction() ConditionAction {
	if c == ConditionMaxRuntime {
		return ActionDown
	}
	return ActionWarn
}

// WithDefaults returns r with all actions.
func (r RunConditions) WithDefaults() RunConditions {
	r.MaxRuntimeAction, r.MinRuntimeAction = r.Action(ConditionMaxRuntime), r.Action(ConditionMinRuntime)
	r.MaxPerIntervalAction, r.NoOverlapAction = r.Action(ConditionMaxPerInterval), r.Action(ConditionNoOverlap)
	return r
}

// Has reports whether a condition is set. ConditionMaxRuntime and ConditionCertificateExpiry always are.
func (r RunConditions) Has(c Condition) bool {
	switch c {
	case ConditionMinRuntime:
		return r.MinRuntime > 0
	case ConditionMaxPerInterval:
		return r.MaxPerInterval > 0
	case ConditionNoOverlap:
		return r.NoOverlap
	default:
		return true
	}
}

// Verdict holds the conditions that a start, an end or a check of a run satisfies and violates. A condition in neither
// list was not evaluated: it is not set, or signals may have been lost or late.
type Verdict struct {
	Satisfied []Condition
	Violated  []Violation
}

// Violation is a run that violates a condition.
type Violation struct {
	Condition Condition
	RunID     string // "": none was given
	Message   string // in English
}

func (v *Verdict) satisfy(c Condition) { v.Satisfied = append(v.Satisfied, c) }

func (v *Verdict) violate(c Condition, runID, format string, args ...any) {
	v.Violated = append(v.Violated, Violation{c, runID, fmt.Sprintf(format, args...)})
}

// Down returns the first violation that makes the monitor down. ok is false if there is none.
func (m Monitor) Down(v Verdict) (first Violation, ok bool) {
	for _, violation := range v.Violated {
		if m.Action(violation.Condition) == ActionDown {
			return violation, true
		}
	}
	return first, false
}

// Warn applies a verdict to Warned, and returns the violations to warn of: violations of conditions with ActionWarn
// that were satisfied before. The same condition warns again after it was satisfied.
func (m *Monitor) Warn(v Verdict) (warnings []Violation) {
	m.Warned = slices.DeleteFunc(slices.Clone(m.Warned), func(c Condition) bool {
		return slices.Contains(v.Satisfied, c)
	})
	for _, violation := range v.Violated {
		if m.Action(violation.Condition) == ActionWarn && !slices.Contains(m.Warned, violation.Condition) {
			m.Warned = append(m.Warned, violation.Condition)
			warnings = append(warnings, violation)
		}
	}
	return warnings
}

// dropWarned removes from Warned the conditions that can no longer be violated with a warning.
func (m *Monitor) dropWarned() {
	m.Warned = slices.DeleteFunc(slices.Clone(m.Warned), func(c Condition) bool {
		return !m.Enabled || !m.Has(c) || m.Action(c) != ActionWarn
	})
}

// RunStart is the start of a run.
type RunStart struct {
	At       time.Time
	RunID    string // "": none
	Repeated bool   // an earlier attempt to report it was rejected, or not acknowledged
	Open     []Run  // runs that have begun and not ended
	// start of the run that is MaxPerInterval starts before it, without doubtful starts; zero: there are fewer
	Nth  time.Time
	Gaps []schedule.ListeningGap // recorded listening gaps, in order and without overlap
}

// GapsBeforeStart is the time before a start in which listening gaps matter for RunStart.Doubtful.
const GapsBeforeStart = 5 * time.Minute

// Doubtful reports whether the run may have begun earlier than At, or whether its start may have been recorded before:
// a start that is repeated after a listening gap. Doubtful starts are neither evaluated nor counted.
func (s RunStart) Doubtful() bool {
	if s.Repeated || s.RunID != "" && slices.ContainsFunc(s.Open, func(r Run) bool { return r.ID == s.RunID }) {
		return true
	}
	for _, span := range schedule.JoinGaps(s.Gaps, time.Time{}) {
		if !span.From.After(s.At) && !s.At.After(lastRetry(span)) {
			return true
		}
	}
	return false
}

// Ambiguous reports whether the next end may belong to this run or to another one: neither has an id, and the other one
// has not ended, even if it is overdue. Whether this run was too short is then unknown.
func (s RunStart) Ambiguous() bool {
	return s.RunID == "" && slices.ContainsFunc(s.Open, func(r Run) bool { return r.ID == "" })
}

// lastRetry returns the instant until which a signal that was first sent in the gap may arrive.
func lastRetry(g schedule.ListeningGap) time.Time {
	return schedule.RetryDeadline(g).Add(schedule.PingDelay)
}

// EvaluateStart evaluates the conditions at the start of a run.
func (m Monitor) EvaluateStart(s RunStart) (v Verdict) {
	if m.SuppressedUntil.After(s.At) || s.Doubtful() {
		return v
	}
	if m.MaxPerInterval > 0 {
		if m.tooOften(s) {
			v.violate(ConditionMaxPerInterval, s.RunID, "More than %s.", m.perInterval())
		} else {
			v.satisfy(ConditionMaxPerInterval)
		}
	}
	if !m.NoOverlap {
		return v
	}
	doubt := false
	for _, r := range s.Open {
		switch m.overlap(r, s) {
		case overlaps:
			v.violate(ConditionNoOverlap, s.RunID, "A run began %s after another one, which had not ended.",
				kernel.FormatDuration(s.At.Sub(r.StartedAt)))
			return v
		case mayOverlap:
			doubt = true
		case overlapsNot:
		}
	}
	if !doubt {
		v.satisfy(ConditionNoOverlap)
	}
	return v
}

// overlap is whether two runs overlap.
type overlap int

const (
	overlapsNot overlap = iota // the end of the first one is no longer expected
	mayOverlap                 // it may have been lost, or is late
	overlaps
)

// overlap compares a start that is not doubtful with a run that has begun and not ended.
func (m Monitor) overlap(r Run, s RunStart) overlap {
	if r.DueAt.Before(s.At) {
		return overlapsNot // it is overdue, or was found to be
	}
	if r.Doubtful || m.SuppressedUntil.After(r.StartedAt) {
		return mayOverlap // its start was late, and so is its end
	}
	for _, gap := range schedule.JoinGaps(s.Gaps, r.StartedAt) {
		if gap.Len() >= schedule.LongGap {
			return mayOverlap // after a shorter one, s is doubtful while the end may be sent again
		}
	}
	return overlaps
}

// tooOften reports whether the run of s.Nth began within an interval before s, or after the same time of the Cron. It
// allows for starts that are some seconds early or late.
func (m Monitor) tooOften(s RunStart) bool {
	if s.Nth.IsZero() || m.SuppressedUntil.After(s.Nth) {
		return false
	}
	if !m.Cron.IsZero() {
		return m.Cron.Next(s.Nth.Add(schedule.PingDelay)).After(s.At.Add(schedule.PingDelay))
	}
	return s.At.Sub(s.Nth) < m.Interval-min(schedule.PingDelay, m.Interval/10)
}

// perInterval describes the limit of starts: "2 runs began within 1 hour".
func (m MonitorConfig) perInterval() string {
	runs := "1 run"
	if m.MaxPerInterval != 1 {
		runs = fmt.Sprintf("%d runs", m.MaxPerInterval)
	}
	if m.Cron.IsZero() {
		return runs + " began within " + kernel.FormatDuration(m.Interval)
	}
	return runs + " began between two times of " + m.Cron.String()
}

// RunEnd says how a run ends.
type RunEnd bool

// The ends of a run.
const (
	RunFails    RunEnd = false
	RunSucceeds RunEnd = true
)

// EvaluateEnd evaluates the conditions at the end of a run. A zero r is a success or a
// failure without a run, which says nothing about any condition.
func (m Monitor) EvaluateEnd(r Run, at time.Time, end RunEnd) (v Verdict) {
	if r.StartedAt.IsZero() {
		return v
	}
	if !r.DueAt.IsZero() && !at.After(r.DueAt) {
		v.satisfy(ConditionMaxRuntime)
	}
	if m.MinRuntime == 0 || end == RunFails || r.Doubtful || r.Ambiguous || at.Before(r.StartedAt) ||
		m.SuppressedUntil.After(r.StartedAt) {
		return v
	}
	if took := at.Sub(r.StartedAt); took < m.MinRuntime {
		v.violate(ConditionMinRuntime, r.ID, "A run succeeded after %s, in less than %s.", kernel.FormatDuration(took),
			kernel.FormatDuration(m.MinRuntime))
	} else {
		v.satisfy(ConditionMinRuntime)
	}
	return v
}

// EvaluateOverdue returns the verdict of CheckRun on a run that is overdue.
func (m Monitor) EvaluateOverdue(r Run) (v Verdict) {
	v.violate(ConditionMaxRuntime, r.ID, "A run did not end within %s.",
		kernel.FormatDuration(r.DueAt.Sub(r.StartedAt)))
	return v
}

// Recovers reports whether the success of a run ends an outage of its monitor. If the start of the run violated a
// condition with ActionDown, the success does not.
func (r Run) Recovers() bool { return !r.Violated }

// Reason returns the reason of the outage that a violation of the condition begins.
func (c Condition) Reason() OutageReason {
	switch c {
	case ConditionMinRuntime:
		return OutageRunTooShort
	case ConditionMaxPerInterval:
		return OutageRunTooOften
	case ConditionNoOverlap:
		return OutageRunOverlap
	default:
		return OutageRunOverdue
	}
}

// condition returns the Condition whose violation is the reason. It is the reverse of Condition.Reason.
func (r OutageReason) condition() Condition {
	for _, c := range Conditions {
		if c.Reason() == r {
			return c
		}
	}
	return ""
}

// Violated returns an English clause, without a full stop, about a run that violates the condition.
func (c Condition) Violated() string {
	switch c {
	case ConditionMinRuntime:
		return "A run was too short"
	case ConditionMaxPerInterval:
		return "The job runs too often"
	case ConditionNoOverlap:
		return "A run began before another one had ended"
	case ConditionCertificateExpiry:
		return "The certificate expires soon"
	default:
		return "A run did not end in time"
	}
}

// Warning is a run that violated a condition with ActionWarn. It is for people who have signed in and for API tokens.
type Warning struct {
	ID        string
	MonitorID string
	Number    int64 // of the monitor's warnings, from 1
	Violation
	WarnedAt time.Time
	EndedAt  time.Time // when a run satisfied the condition again, or it was changed; zero: not yet
}
