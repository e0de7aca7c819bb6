package monitor

import (
	"fmt"
	"slices"
	"time"

	"github.com/allswell/allswell/internal/domain/schedule"
)

// Display states of checks that are not down; see Monitor.DisplayState.
const (
	MonitorFailing    MonitorState = "failing"    // the last results failed, fewer than the threshold
	MonitorSlow       MonitorState = "slow"       // it is up, and its component degraded
	MonitorSuppressed MonitorState = "suppressed" // the last results failed while a parent was down
	MonitorUnknown    MonitorState = "unknown"    // the last results were unknown: see CheckState.UnknownSince
)

// CheckState is the state of a check that its results determine, besides the monitor's State and ConsecutiveFailures.
type CheckState struct {
	Status    CheckStatus // of the last result that changed it; "": there was none
	Reason    string      // of that result
	Good      int         // consecutive results toward the end of an outage or of SlowSince
	Slow      int         // consecutive slow results
	SlowSince time.Time   // since when the component is degraded; zero: it is not
	// since when the results are unknown, or the check is Late; zero: the last result is known
	UnknownSince time.Time
	Late         bool // the next result is overdue: see CheckWait.LateAt
	Round        CheckRound
}

// CheckRound holds the results of several replicas since the last regular check.
type CheckRound struct {
	Failed  []string // locations that found the target failing
	Unknown []string // replicas whose results were unknown
	Counted bool     // the round has counted as a failure
}

// Healthy reports whether a good result without a warning changes nothing. It is false for a check that ForgetsResults,
// because its results have to be recorded.
func (m Monitor) Healthy() bool {
	s := m.CheckState
	if m.ForgetsResults() {
		return false
	}
	return m.Enabled && m.State == MonitorUp && m.ConsecutiveFailures == 0 && s.Status == CheckOK && s.Slow == 0 &&
		s.SlowSince.IsZero() &&
		s.UnknownSince.IsZero() && s.Round.isZero() && len(m.Warned) == 0
}

// ForgetsResults reports whether the interval is so long that the last result may be deleted before the check is late.
func (m MonitorConfig) ForgetsResults() bool {
	return (1+schedule.LateCheckIntervals)*m.Interval >= CheckResultRetention
}

func (r CheckRound) isZero() bool { return len(r.Failed) == 0 && len(r.Unknown) == 0 && !r.Counted }

// checkDisplayState returns the DisplayState of a check that is enabled and not down.
func (m Monitor) checkDisplayState() MonitorState {
	switch {
	case m.CheckState.Late:
		return MonitorLate
	case m.ConsecutiveFailures > 0 && m.FailuresSuppressed && m.ParentDown:
		return MonitorSuppressed
	case m.ConsecutiveFailures > 0:
		return MonitorFailing
	case !m.CheckState.UnknownSince.IsZero():
		return MonitorUnknown
	case !m.CheckState.SlowSince.IsZero():
		return MonitorSlow
	case m.CheckState.Status == "":
		return MonitorWaiting
	default:
		return MonitorUp
	}
}

// CheckView is the context in which a result is applied.
type CheckView struct {
	Now       time.Time
	Threshold int               // of monitors without their own
	Replicas  map[string]string // running replicas, with their locations
}

// CheckEffect is the effect of a result, besides the changes to the monitor.
type CheckEffect struct {
	WentDown  bool      // an outage begins
	Recovered bool      // it ends
	Retry     bool      // the check is due immediately for replicas that have not taken part in this round
	RecheckBy time.Time // the next check is not later; zero: no change
	Verdict   Verdict   // on the warning
}

// ApplyCheckResult applies a result of the monitor's current configuration.
//
// A failure counts once Check.ConfirmFrom locations found one in the same round, or all running locations if there are
// fewer; locations whose results are unknown do not take part. At the failure threshold the monitor is down, and after
// Check.RecoveryThreshold good results, which may be slow, it is up. As many slow results as the failure threshold make
// its component degraded, which ends with RecoveryThreshold results that are not slow, or with an outage. During a
// maintenance of the component, failures and slow results do not count. While a parent is down, failures count but have
// no effect: afterwards they are counted from zero. An unknown result does not count itself. With every result, the
// check is no longer late.
func (m *Monitor) ApplyCheckResult(r CheckResult, v CheckView) (e CheckEffect) {
	s := &m.CheckState
	switch {
	case !m.Enabled:
		return e
	case r.Status == CheckUnknown:
		if s.UnknownSince.IsZero() || s.Late { // what began because it was late ends, and has its own event
			s.UnknownSince, s.Late = r.StartedAt, false
		}
		s.Round.Unknown = addTo(s.Round.Unknown, r.Replica)
		if m.SuppressedUntil.After(v.Now) || !m.confirmed(v) {
			e.Retry = s.Round.open(v)
			return e
		}
		return m.countCheckFailure(v)
	}
	s.Status, s.Reason = r.Status, r.Reason
	s.UnknownSince, s.Late = time.Time{}, false
	if r.Status != CheckFailed {
		return m.applyGoodResult(r, v)
	}
	s.Good, s.Slow = 0, 0
	if m.SuppressedUntil.After(v.Now) {
		return e
	}
	s.Round.Failed = addTo(s.Round.Failed, r.Location)
	if !m.confirmed(v) {
		e.Retry = m.State == MonitorUp && !s.Round.Counted && s.Round.open(v)
		return e
	}
	return m.countCheckFailure(v)
}

// confirmed reports whether enough locations found a failure in the round, which has not counted yet.
func (m *Monitor) confirmed(v CheckView) bool {
	round := m.CheckState.Round
	if round.Counted || len(round.Failed) == 0 {
		return false
	}
	able := make(map[string]bool)
	for replica, location := range v.Replicas {
		if slices.Contains(round.Failed, location) || !slices.Contains(round.Unknown, replica) {
			able[location] = true
		}
	}
	return len(round.Failed) >= min(m.Check.ConfirmFrom, max(len(able), 1))
}

// open reports whether a running replica has not checked in the round, at a location that has not found the target
// failing.
func (r CheckRound) open(v CheckView) bool {
	for replica, location := range v.Replicas {
		if !slices.Contains(r.Failed, location) && !slices.Contains(r.Unknown, replica) {
			return true
		}
	}
	return false
}

// countCheckFailure counts the round as a failure.
func (m *Monitor) countCheckFailure(v CheckView) (e CheckEffect) {
	s := &m.CheckState
	s.Round.Counted = true
	if m.State == MonitorDown {
		return e
	}
	m.countFailure()
	if !m.ParentDown {
		e.RecheckBy = v.Now.Add(maxRecheckDelay(m.Interval))
	}
	if m.ConsecutiveFailures < m.Threshold(v.Threshold) || m.ParentDown {
		return e
	}
	m.State = MonitorDown
	s.SlowSince, e.RecheckBy, e.WentDown = time.Time{}, time.Time{}, true
	return e
}

// applyGoodResult applies a result that is ok or slow.
func (m *Monitor) applyGoodResult(r CheckResult, v CheckView) (e CheckEffect) {
	s := &m.CheckState
	s.Round = CheckRound{}
	if r.Warning {
		e.Verdict.violate(ConditionCertificateExpiry, "", "%s", r.Reason)
	} else {
		e.Verdict.satisfy(ConditionCertificateExpiry)
	}
	slow := r.Status == CheckSlow
	switch {
	case slow && m.SuppressedUntil.After(v.Now):
		s.Slow = 0
	case slow:
		s.Slow++
	default:
		s.Slow = 0
	}
	if m.State == MonitorDown {
		if s.Good++; s.Good < m.Check.RecoveryThreshold {
			e.RecheckBy = v.Now.Add(maxRecheckDelay(m.Interval))
			return e
		}
		m.State, e.Recovered = MonitorUp, true
		s.Good = 0
	}
	m.ConsecutiveFailures, m.FailuresSuppressed = 0, false
	switch {
	case s.SlowSince.IsZero() && s.Slow >= m.Threshold(v.Threshold) && !m.ParentDown:
		s.SlowSince, s.Good = v.Now, 0
	case s.SlowSince.IsZero():
	case slow:
		s.Good = 0
	default:
		if s.Good++; s.Good >= m.Check.RecoveryThreshold {
			s.SlowSince, s.Good = time.Time{}, 0
		} else {
			e.RecheckBy = v.Now.Add(maxRecheckDelay(m.Interval))
		}
	}
	return e
}

// maxRecheckDelay returns how long after a failure of a check with the interval its target is checked again at the
// latest.
func maxRecheckDelay(interval time.Duration) time.Duration { return max(interval/4, 5*time.Second) }

func addTo(list []string, value string) []string {
	if slices.Contains(list, value) {
		return list
	}
	return append(slices.Clip(list), value)
}

// MarkLate records that the check has been late since an instant. It has no other effect: a monitor that is down stays
// down.
func (s *CheckState) MarkLate(since time.Time) {
	s.Late = true
	if s.UnknownSince.IsZero() {
		s.UnknownSince = since
	}
}

// countFailure counts a failure. Failures that were counted while a parent was down are dropped once the parent has
// recovered. It does not touch an outage that began before the parent's: visitors would otherwise read of a recovery
// that did not happen.
func (m *Monitor) countFailure() {
	if m.FailuresSuppressed && !m.ParentDown {
		m.ConsecutiveFailures = 0
	}
	m.FailuresSuppressed = m.ParentDown
	m.ConsecutiveFailures++
}

// restartCheck resets the state of a check, except for an outage.
func (m *MonitorStatus) restartCheck() {
	m.ConsecutiveFailures, m.FailuresSuppressed = 0, false
	m.CheckState = CheckState{}
}

// SuppressedNote returns the internal note that is added to the incident of a parent while the monitor fails too.
// pageID is the page of the incident. If the monitor is on another page, the note does not name it, because members and
// tokens may be limited to pages.
func (m MonitorConfig) SuppressedNote(pageID string) string {
	name := m.Name
	if m.PageID != pageID {
		name = "A monitor that does not belong to this page"
	}
	return fmt.Sprintf("%s fails, too. Its alerts are suppressed while this monitor is down.", name)
}
