package alert

import (
	"slices"
	"strings"
	"time"

	"github.com/allswell/allswell/internal/domain/kernel"
)

// Limits of rules.
const (
	MaxRules      = 200 // of a workspace
	MaxTargets    = 20  // channels or on-call schedules of one step
	MaxSteps      = 10  // of an escalation
	MaxDelay      = 24 * time.Hour
	MinRepeat     = time.Minute
	MaxRepeat     = 24 * time.Hour
	MaxRepeats    = 100 // of an alert by a rule
	MaxStepAfter  = 24 * time.Hour
	MinStepAfter  = time.Minute
	maxQuietHolds = 400 // how often a rule may hold an alert: more than the nights of a year
)

// Target is who is notified: channels, and the people who are then on call.
type Target struct {
	ChannelIDs []string
	OnCallIDs  []string
}

func (t Target) isEmpty() bool { return len(t.ChannelIDs)+len(t.OnCallIDs) == 0 }

// Step is a later part of an escalation.
type Step struct {
	After time.Duration // the step before
	Target
}

// Rule says which channels are notified of which alerts.
type Rule struct {
	ID          string
	WorkspaceID string
	Slug        string // unique in the workspace
	Name        string // unique in the workspace
	Enabled     bool
	Filter      // Events is not empty
	Target
	Delay      time.Duration // only alerts that last longer are sent
	Repeat     time.Duration // between repetitions until the alert is acknowledged; 0: none
	QuietHours *QuietHours   // nil: none
	Escalation []Step        // who is notified next unless the alert is acknowledged
	Summary    string        // what Summarize returns; only in what the store returns
	CreatedAt  time.Time
	UpdatedAt  time.Time
}

// DefaultEvents are the events of a rule for which none are given.
var DefaultEvents = []Event{MonitorDown}

// Check adds the problems of events, targets, quiet hours and escalation to bad. The store checks that the objects that
// the rule names exist.
func (r Rule) Check(bad *kernel.ValidationError) {
	if len(r.Events) == 0 {
		bad.Add("events", "must name at least one event")
	}
	if r.Target.isEmpty() {
		bad.Add("channel_ids", "A rule must have %s or %s.", kernel.Name("channel_ids"), kernel.Name("on_call_ids"))
	}
	if r.QuietHours != nil {
		r.QuietHours.check(bad)
		r.QuietHours.Target.check(bad, "quiet_hours")
	}
	for _, s := range r.Escalation {
		if s.After < MinStepAfter || s.After > MaxStepAfter || s.After%time.Second != 0 {
			bad.Add("escalation",
				"The after of each of the escalation's steps must be a whole number of seconds from %d to %d.",
				MinStepAfter/time.Second, MaxStepAfter/time.Second)
		}
		if s.Target.isEmpty() {
			bad.Add("escalation", "Each of the escalation's steps must have %s or %s.", kernel.Name("channel_ids"),
				kernel.Name("on_call_ids"))
		}
		s.Target.check(bad, "escalation")
	}
}

func (t Target) check(bad *kernel.ValidationError, field string) {
	if len(t.ChannelIDs) > MaxTargets || len(t.OnCallIDs) > MaxTargets {
		bad.Add(field, "may name at most %d channels, and as many on-call schedules", MaxTargets)
	}
}

// Targets returns all targets that the rule names.
func (r Rule) Targets() []Target {
	all := []Target{r.Target}
	if r.QuietHours != nil {
		all = append(all, r.QuietHours.Target)
	}
	for _, s := range r.Escalation {
		all = append(all, s.Target)
	}
	return all
}

// Reaches reports whether the rule can notify anyone: it names a channel that works, or an on-call schedule. working
// are the ids of the channels that are enabled and accept messages.
func (r Rule) Reaches(working []string) bool {
	return slices.ContainsFunc(r.Targets(), func(t Target) bool {
		return len(t.OnCallIDs) > 0 ||
			slices.ContainsFunc(t.ChannelIDs, func(id string) bool { return slices.Contains(working, id) })
	})
}

// Matches reports whether the rule is about alerts of a subject. If it is not, why is the field that differs: enabled,
// or the result of Filter.Differs.
func (r Rule) Matches(s Subject) (ok bool, why string) {
	if !r.Enabled {
		return false, "enabled"
	}
	why = r.Differs(s)
	return why == "", why
}

// Begin returns the progress of the rule on an alert that matches it. Before notifyAt, nobody may be notified of the
// alert; notifyAt is later than the beginning of the alert if its monitor is flapping.
func (r Rule) Begin(a Alert, notifyAt time.Time) Progress {
	due := a.OpenedAt.Add(r.Delay)
	return Progress{AlertID: a.ID, RuleID: r.ID, DueAt: kernel.Later(due, notifyAt), Flapping: notifyAt.After(due)}
}

// Progress is how far a rule is with an alert.
type Progress struct {
	AlertID string
	RuleID  string
	DueAt   time.Time // when Advance is to be called; zero: there is nothing left to do
	Step    int       // the next step: 0 is the rule's own Target, 1 the first of its Escalation
	Repeats int       // how often the alert was repeated
	Holds   int       // how often it was held
	// the first message waits because the monitor is flapping: it is sent even if the alert has ended meanwhile
	Flapping bool
}

// Waits returns why the rule does not notify when the alert begins, given the progress of Begin; "": it does.
func (p Progress) Waits(a Alert) HoldReason {
	switch {
	case p.Flapping:
		return HeldByFlapping
	case p.DueAt.After(a.OpenedAt):
		return HeldByDelay
	}
	return ""
}

// NoticeKind is the kind of a notice.
type NoticeKind string

// The kinds of notices.
const (
	NoticeOpened       NoticeKind = "opened"
	NoticeRepeated     NoticeKind = "repeated"
	NoticeEscalated    NoticeKind = "escalated"
	NoticeAcknowledged NoticeKind = "acknowledged"
	NoticeResolved     NoticeKind = "resolved"
)

// NoticeKinds lists all kinds.
var NoticeKinds = []NoticeKind{NoticeOpened, NoticeRepeated, NoticeEscalated, NoticeAcknowledged, NoticeResolved}

// HoldReason says why no one is notified of an alert yet.
type HoldReason string

// The reasons.
const (
	HeldByDelay      HoldReason = "delay"    // the rule is only about alerts that last longer
	HeldByFlapping   HoldReason = "flapping" // its monitor went down too often
	HeldBySilence    HoldReason = "silence"
	HeldByQuietHours HoldReason = "quiet_hours"
)

// Words says what has become of an alert that is held, such as "silenced".
func (r HoldReason) Words() string {
	switch r {
	case HeldByDelay:
		return "delayed"
	case HeldByFlapping:
		return "held (flapping)"
	case HeldBySilence:
		return "silenced"
	case HeldByQuietHours:
		return "in quiet hours"
	}
	return strings.ReplaceAll(string(r), "_", " ")
}

// HoldReasons lists all reasons.
var HoldReasons = []HoldReason{HeldByDelay, HeldByFlapping, HeldBySilence, HeldByQuietHours}

// Action is what a rule does when its progress is due.
type Action struct {
	Kind   NoticeKind // what Notify is notified of; "": nothing
	Notify []Target
	Held   HoldReason // why nothing is sent before the next DueAt; "": nothing is held
	Next   Progress   // how far the rule is then
}

// Advance returns what the rule does on an alert whose progress is due. silencedUntil is the end of the silences that
// match the alert; zero: there is none. The result depends only on the arguments, so that it is the same after a crash.
//
// If the alert ended before its first step was due, nobody is notified, unless p.Flapping is set. If it ended between
// that time and this call, the first step is still taken. Later steps are never taken after the end.
func (r Rule) Advance(p Progress, a Alert, silencedUntil, now time.Time) Action {
	over := a.State() == Resolved && a.Event.Lasts() && !p.Flapping && (p.Step > 0 || a.ResolvedAt.Before(p.DueAt))
	if over || !a.AcknowledgedAt.IsZero() || !r.Enabled {
		p.DueAt = time.Time{}
		return Action{Next: p}
	}
	if silencedUntil.After(now) {
		return r.hold(p, HeldBySilence, silencedUntil)
	}
	kind, notify := r.step(p)
	if r.QuietHours != nil {
		if end, quiet := r.QuietHours.EndAfter(now); quiet {
			if r.QuietHours.isEmpty() {
				return r.hold(p, HeldByQuietHours, end)
			}
			notify = []Target{r.QuietHours.Target}
		}
	}
	return Action{Kind: kind, Notify: notify, Next: r.after(p, a, now)}
}

// step returns the kind of the next notice, and its targets. Repetitions go to everybody who has been notified.
func (r Rule) step(p Progress) (NoticeKind, []Target) {
	notify := []Target{r.Target}
	for _, s := range r.Escalation {
		notify = append(notify, s.Target)
	}
	switch {
	case p.Step == 0:
		return NoticeOpened, notify[:1]
	case p.Step < len(notify):
		return NoticeEscalated, notify[p.Step : p.Step+1]
	}
	return NoticeRepeated, notify
}

// after returns the progress after a step was taken.
func (r Rule) after(p Progress, a Alert, now time.Time) Progress {
	switch {
	case a.State() == Resolved || !a.Event.Lasts():
		p.DueAt = time.Time{}
	case p.Step < len(r.Escalation):
		p.DueAt = now.Add(r.Escalation[p.Step].After)
		p.Step++
	case r.Repeat > 0 && p.Repeats < MaxRepeats:
		p.Step = len(r.Escalation) + 1
		p.DueAt = now.Add(r.Repeat)
		p.Repeats++
	default:
		p.DueAt = time.Time{}
	}
	p.Flapping = false
	return p
}

func (r Rule) hold(p Progress, why HoldReason, until time.Time) Action {
	p.DueAt = until
	if p.Holds++; p.Holds > maxQuietHolds {
		p.DueAt = time.Time{}
	}
	return Action{Held: why, Next: p}
}
