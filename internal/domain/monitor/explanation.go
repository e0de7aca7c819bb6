package monitor

import (
	"fmt"
	"time"

	"github.com/allswell/allswell/internal/domain/kernel"
	"github.com/allswell/allswell/internal/domain/schedule"
)

// ExtensionReason is a reason why a monitor's deadline is later than its last ping and its schedule say.
type ExtensionReason string

// The reasons. See PingWait.Deadline.
const (
	ExtendedByMaintenance  ExtensionReason = "maintenance"
	ExtendedByRejectedPing ExtensionReason = "rejected_ping"
	ExtendedByGap          ExtensionReason = "listening_gap"
)

// ExtensionReasons lists all reasons.
var ExtensionReasons = []ExtensionReason{ExtendedByMaintenance, ExtendedByRejectedPing, ExtendedByGap}

// Extension is something that moved a monitor's deadline.
type Extension struct {
	Reason ExtensionReason
	From   time.Time // the beginning of the gap, or the rejected ping; zero for a maintenance
	To     time.Time // the end of the gap or of the maintenance, or the rejected ping
	DueAt  time.Time // the deadline with this and all earlier extensions
}

// Explanation says why a monitor has its state.
type Explanation struct {
	State        MonitorState // one of DisplayStates
	PausedUntil  time.Time    // when a disabled monitor is enabled again; zero: not by itself
	AsOf         time.Time
	LastPingAt   time.Time // zero: never pinged
	WaitingSince time.Time // the last ping, or a later instant at which a person restarted the wait
	Interval     time.Duration
	Cron         schedule.Cron // zero: due within Interval
	Grace        time.Duration // included in DueAt
	ExpectedAt   time.Time     // when the ping is due without grace and extensions; zero: nothing is expected
	Extensions   []Extension   // what moved the deadline, each to a later time
	DueAt        time.Time     // the deadline, with all extensions; zero: nothing is expected
	Failures     int           // ticks in a row that found the monitor overdue
	TakenOver    bool          // the incident was taken over: the monitor's recovery does not resolve it
	Threshold    int           // failures at which the monitor is down
	Period       time.Duration // between two ticks
	CountedAt    time.Time     // the last tick that found it overdue; zero: none
	PingGaps     []PingGap     // the last ones, oldest first, if requested
	// the tick that marks the monitor down if nothing else happens; zero: it is down, or nothing is expected
	DownAt    time.Time
	Reason    OutageReason // why it is down, if requested; "": it is not
	DownSince time.Time    // when it went down, if requested
	Warned    []Condition  // see Monitor.Warned
	RunDueAt  time.Time    // when the first of the runs that have begun must have ended; zero: there is none

	Type              MonitorType
	Check             CheckState    // of a monitor that is checked; DueAt is then when it is checked next
	RecoveryThreshold int           // good results at which it is up again
	SuppressedUntil   time.Time     // end of the component's maintenance, past or planned; zero: none
	CheckingGaps      []CheckingGap // of the last 90 days, oldest first, if requested
	// of the last unknown result while State is MonitorUnknown, if requested; "": not kept
	UnknownReason string
	Views         []CheckResult // the last result from each location, in the order of their names, if requested
}

// Explain returns why the monitor has its state at t.AsOf, with the deadlines of PingWait.Deadline and the ticks of
// Monitor.ApplyTick. t.Instant is ignored. DownAt assumes that every tick takes place.
func (m Monitor) Explain(t Tick) Explanation {
	e := Explanation{
		State: m.DisplayState(), PausedUntil: m.PausedUntil, AsOf: t.AsOf, LastPingAt: m.LastPingAt,
		WaitingSince: m.WaitingSince, Interval: m.Interval, Cron: m.Cron, Grace: m.Grace,
		DueAt: m.DueAt(t.Gaps), Failures: m.ConsecutiveFailures, Threshold: m.Threshold(t.Threshold), Period: t.Period,
		CountedAt: m.TickedAt, DownAt: m.downAt(t), RunDueAt: m.RunDueAt, Warned: m.Warned,
		Type: m.Type, Check: m.CheckState, RecoveryThreshold: m.Check.RecoveryThreshold,
		SuppressedUntil: m.SuppressedUntil,
	}
	if m.IsCheck() {
		e.DueAt = m.NextCheckAt
		return e
	}
	if wait, ok := m.Wait(); ok {
		e.ExpectedAt, e.Extensions = wait.DueAt(), extensions(wait, t.Gaps)
	}
	return e
}

// extensions returns the extensions of the deadline, one after the other. Nothing shortens it.
func extensions(w schedule.PingWait, gaps []schedule.ListeningGap) (all []Extension) {
	part := schedule.PingWait{Since: w.Since, Interval: w.Interval, Cron: w.Cron, Grace: w.Grace}
	due := part.Deadline(nil)
	add := func(reason ExtensionReason, from, to time.Time, gaps []schedule.ListeningGap) {
		if later := part.Deadline(gaps); later.After(due) {
			due = later
			all = append(all, Extension{reason, from, to, due})
		}
	}
	part.SuppressedUntil = w.SuppressedUntil
	add(ExtendedByMaintenance, time.Time{}, w.SuppressedUntil, nil)
	part.RejectedAt = w.RejectedAt
	add(ExtendedByRejectedPing, w.RejectedAt, w.RejectedAt, nil)
	for i, gap := range gaps {
		add(ExtendedByGap, gap.From, gap.To, gaps[:i+1])
	}
	return all
}

// downAt returns the instant of the tick that marks the monitor down if no ping and no other change comes before.
func (m Monitor) downAt(t Tick) time.Time {
	due := m.DueAt(t.Gaps)
	if due.IsZero() || m.State == MonitorDown {
		return time.Time{}
	}
	// Ticks before the deadline find the monitor on time, as the first one here does.
	first := kernel.Later(t.AsOf, due).Truncate(t.Period)
	for i := range MaxFailureThreshold + 2 {
		t.Instant = first.Add(time.Duration(i) * t.Period)
		t.AsOf = t.Instant
		if m.ApplyTick(t) == TickWentDown {
			return t.Instant
		}
	}
	return time.Time{}
}

// Sentences returns the explanation in English. clock formats times, and ago the time of the last ping.
func (e Explanation) Sentences(clock, ago func(time.Time) string) (all []string) {
	say := func(format string, args ...any) { all = append(all, fmt.Sprintf(format, args...)) }
	switch {
	case e.Type.IsCheck() && e.State == MonitorDisabled:
		return []string{pausedCheckSentence(e.PausedUntil, clock)}
	case e.Type.IsCheck():
		return e.checkSentences(clock)
	}
	switch e.State {
	case MonitorDisabled:
		return []string{pauseSentence(e.PausedUntil, clock)}
	case MonitorWaiting:
		say("Waiting for the first ping. The monitor won't alert until then.")
		return all
	}
	if e.Reason != "" && e.Reason != OutageSilent {
		return append(e.failureSentences(clock, ago), e.warningSentences()...)
	}
	all = append(all, e.expectation(clock, ago)...)
	for _, x := range e.Extensions {
		switch x.Reason {
		case ExtendedByMaintenance:
			say("Extended to %s: %s after the component's maintenance (until %s).", clock(x.DueAt), e.rule(),
				clock(x.To))
		case ExtendedByRejectedPing:
			say("Extended to %s: a valid ping was rejected at %s, so the job is alive.", clock(x.DueAt),
				clock(x.From))
		default:
			say("Extended to %s: Allswell could not receive pings from %s to %s.", clock(x.DueAt),
				clock(x.From), clock(x.To))
		}
	}
	switch {
	case e.State == MonitorDown:
		say("Down since %s, after %s. The next ping ends the outage.", clock(e.CountedAt), missedChecks(e.Threshold))
		if e.TakenOver {
			say("%s", takenOver)
		}
	case e.Failures > 0:
		say("Overdue: %d of %s. If nothing arrives, it goes down at %s.", e.Failures, checksMissed(e.Threshold),
			clock(e.DownAt))
	case !e.DownAt.IsZero():
		say("If nothing arrives, it goes down at %s (%s).", clock(e.DownAt), missedChecks(e.Threshold))
	}
	if !e.RunDueAt.IsZero() {
		say("A run has started. It fails unless it ends by %s.", clock(e.RunDueAt))
	}
	return append(all, e.warningSentences()...)
}

// warningSentences returns sentences about the conditions that the last runs violated.
func (e Explanation) warningSentences() (all []string) {
	for _, c := range e.Warned {
		all = append(all, "Warning: "+c.Violated()+".")
	}
	return all
}

// takenOver is what is said of an outage whose incident was taken over.
const takenOver = "The incident was taken over, so the recovery does not resolve it."

// failureSentences returns sentences about why a monitor is down for a reason other than silence.
func (e Explanation) failureSentences(clock, ago func(time.Time) string) (all []string) {
	why := "The job reported a failure at %s. The next success or ping ends the outage."
	switch e.Reason {
	case OutageRunOverdue:
		why = "Down since %s because a run did not end in time. The next success or ping ends the outage."
	case OutageRunTooShort, OutageRunTooOften, OutageRunOverlap:
		why = e.Reason.condition().Violated() + ". Down since %s. A run that meets the conditions, or a ping without " +
			"a run, ends the outage."
	}
	all = append(all, fmt.Sprintf(why, clock(e.DownSince)))
	if !e.LastPingAt.IsZero() {
		all = append(all, e.lastPing(ago))
	}
	if e.TakenOver {
		all = append(all, takenOver)
	}
	return all
}

func (e Explanation) lastPing(ago func(time.Time) string) string {
	return fmt.Sprintf("Last ping %s.", ago(e.LastPingAt))
}

// rule names the time after a sign of life at which the next ping is due.
func (e Explanation) rule() string {
	switch {
	case !e.Cron.IsZero():
		return "the next scheduled time"
	case e.Grace > 0:
		return "one interval and the grace period"
	default:
		return "one interval"
	}
}

// expectation says when the last ping came and when the next one is due.
func (e Explanation) expectation(clock, ago func(time.Time) string) []string {
	expected := schedule.PingWait{Since: e.WaitingSince, Interval: e.Interval, Cron: e.Cron}.DueAt()
	late := expected.Add(e.Grace)
	next := "Next expected"
	if late.Before(e.AsOf) {
		next = "The next was expected"
	}
	due := fmt.Sprintf("%s by %s", next, clock(expected))
	if !e.Cron.IsZero() {
		due = fmt.Sprintf("%s at %s (%s %s, schedule %s)", next, clock(expected),
			expected.In(e.Cron.Zone()).Format("15:04"), e.Cron.TimeZone, e.Cron.Sentence())
	}
	if e.Grace > 0 {
		due += fmt.Sprintf(", late from %s (grace %s)", clock(late), kernel.CompactDuration(e.Grace))
	}
	due += "."
	if e.WaitingSince.Equal(e.LastPingAt) {
		return []string{e.lastPing(ago), due}
	}
	what := "interval"
	if !e.Cron.IsZero() {
		what = "schedule"
	}
	return []string{
		e.lastPing(ago), fmt.Sprintf("The monitor resumed or its %s changed at %s.", what, clock(e.WaitingSince)), due,
	}
}

// Rhythm returns how often the job pings. ok is false if that is unknown, or if the schedule is a Cron.
func (e Explanation) Rhythm() (r PingRhythm, ok bool) {
	if !e.Cron.IsZero() {
		return r, false // the schedule says how often
	}
	return Rhythm(e.PingGaps, e.Interval)
}

// missedChecks returns a number of ticks that found a ping overdue: "3 missed checks".
func missedChecks(n int) string {
	if n == 1 {
		return "1 missed check"
	}
	return fmt.Sprintf("%d missed checks", n)
}

// checksMissed is missedChecks after "2 of".
func checksMissed(n int) string {
	if n == 1 {
		return "1 check missed"
	}
	return fmt.Sprintf("%d checks missed", n)
}
