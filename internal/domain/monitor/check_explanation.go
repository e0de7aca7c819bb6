package monitor

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/allswell/allswell/internal/domain/schedule"
)

// checkSentences returns the sentences that explain the state of an enabled check: see Explanation.Sentences. clock
// formats times.
func (e Explanation) checkSentences(clock func(time.Time) string) (all []string) {
	say := func(format string, args ...any) { all = append(all, fmt.Sprintf(format, args...)) }
	s := e.Check
	switch e.State {
	case MonitorWaiting:
		say("Waiting for the first check. The monitor won't alert until then.")
	case MonitorDown:
		say("Down since %s because checks failed. %s the outage.", clock(e.DownSince), e.goodResults())
		if s.Good > 0 {
			say("The last %s succeeded.", checks(s.Good))
		}
		if e.TakenOver {
			say("%s", takenOver)
		}
	case MonitorSuppressed:
		say("The last %s failed while a parent monitor is down, so this monitor has no outage of its own. Failures "+
			"count from zero when the parent is up.", checks(e.Failures))
	case MonitorFailing:
		say("The last %s failed. The monitor goes down after %s.", checks(e.Failures), failures(e.Threshold))
	case MonitorSlow:
		say("Slow since %s. %s this.", clock(s.SlowSince), e.goodResults())
	case MonitorUp:
		if s.Status == CheckFailed {
			say("The last check failed, but did not count.")
		} else if s.Slow > 0 {
			say("Slow results: %d of %d that make the monitor slow.", s.Slow, e.Threshold)
		} else {
			say("The last check succeeded.")
		}
	}
	if s.Status == CheckFailed && s.Reason != "" {
		say("Last failure: %s.", s.Reason)
	}
	switch {
	case s.UnknownSince.IsZero():
	case s.Late:
		say("Not checked since %s, when a check was due: checks are late, and the state is unknown until the next "+
			"result.", clock(s.UnknownSince))
	default:
		reason := cmp.Or(e.UnknownReason,
			"the server's own network does not work, or it is not allowed to connect to the target")
		say("Unknown since %s: %s. These checks do not count.", clock(s.UnknownSince), reason)
	}
	if e.SuppressedUntil.After(e.AsOf) {
		say("Failures do not count until %s: the component is under maintenance.", clock(e.SuppressedUntil))
	}
	switch {
	case e.DueAt.After(e.AsOf):
		say("Next check %s.", clock(e.DueAt))
	case !e.DueAt.IsZero() && !s.Late: // otherwise, a sentence above says so
		say("Next check overdue since %s.", clock(e.DueAt))
	}
	return append(all, e.warningSentences()...)
}

// MaxShownGaps is the maximum number of checking gaps that LastCheckingGaps returns.
const MaxShownGaps = 10

// GapCause is why a monitor had no result that counts.
type GapCause string

// The causes of checking gaps.
const (
	GapUnknownResults GapCause = "unknown_results" // the results were unknown
	GapLateChecks     GapCause = "late_checks"     // its checks were late: see CheckWait.LateAt
)

// GapCauses lists all causes.
var GapCauses = []GapCause{GapUnknownResults, GapLateChecks}

// CheckingGap is a time during which a monitor had no result that counts: all its results were unknown, or its checks
// were late.
type CheckingGap struct {
	schedule.ListeningGap
	Open  bool     // it has not ended
	Cause GapCause // as of its end; "": a former version saved the gap without it
}

// Text describes the cause, such as "the checks were late". It is "" if the cause was not saved.
func (g CheckingGap) Text() string {
	switch g.Cause {
	case GapUnknownResults:
		return "the server's own network did not work, or it was not allowed to connect to the target"
	case GapLateChecks:
		return "the checks were late"
	default:
		return ""
	}
}

// LastCheckingGaps returns the last MaxShownGaps checking gaps, the newest first.
func (e Explanation) LastCheckingGaps() []CheckingGap {
	all := slices.Clone(e.CheckingGaps[max(0, len(e.CheckingGaps)-MaxShownGaps):])
	slices.Reverse(all)
	return all
}

// UncheckedTimes returns the times of the checking gaps.
func (e Explanation) UncheckedTimes() (all []schedule.ListeningGap) {
	for _, gap := range e.CheckingGaps {
		all = append(all, gap.ListeningGap)
	}
	return all
}

// goodResults returns how many results in a row end the outage or the degradation, as the beginning of a sentence.
func (e Explanation) goodResults() string {
	one, several := "The next good result ends", "%d consecutive good results end"
	if e.State == MonitorSlow {
		one, several = "The next fast result ends", "%d consecutive fast results end"
	}
	if e.RecoveryThreshold <= 1 {
		return one
	}
	return fmt.Sprintf(several, e.RecoveryThreshold)
}

func failures(n int) string {
	if n == 1 {
		return "1 failure"
	}
	return fmt.Sprintf("%d consecutive failures", n)
}

func checks(n int) string {
	if n == 1 {
		return "check"
	}
	return fmt.Sprintf("%d checks", n)
}
