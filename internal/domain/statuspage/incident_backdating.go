package statuspage

import (
	"slices"
	"time"

	"github.com/allswell/allswell/internal/domain/kernel"
)

// MaxBackdating is the maximum age of the beginning of an incident that is recorded later.
const MaxBackdating = 365 * 24 * time.Hour

// checkSpan checks the beginning and the end of a new incident: an end needs a beginning that is not after it, and the
// state IncidentResolved or none.
func (i Incident) checkSpan(bad *kernel.ValidationError) {
	switch {
	case i.ResolvedAt.IsZero():
		return
	case i.CreatedAt.IsZero():
		bad.Add("resolved_at", "The time of the end requires the time of the beginning.")
	case i.ResolvedAt.Before(i.CreatedAt):
		bad.Add("resolved_at", "The time must not be before the beginning.")
	}
	if i.State != "" && i.State != IncidentResolved {
		bad.Add("state", "of an incident that is over is resolved")
	}
}

// CheckTimes returns a *ValidationError if a new incident begins or ends after now, or began more than MaxBackdating
// ago.
func (i Incident) CheckTimes(now time.Time) error {
	var bad kernel.ValidationError
	switch {
	case i.CreatedAt.IsZero():
	case i.CreatedAt.After(now):
		bad.Add("began_at", "The time must not be in the future.")
	case i.CreatedAt.Before(now.Add(-MaxBackdating)):
		bad.Add("began_at", "The time must be at most 365 days ago.")
	}
	if i.ResolvedAt.After(now) {
		bad.Add("resolved_at", "The time must not be in the future.")
	}
	return bad.Err()
}

// backdate sets the times of an incident that began before it was recorded. A zero began means that it did not; a zero
// end means that it is not over.
func (i *Incident) backdate(began, end, now time.Time) {
	if began.IsZero() || began.After(now) {
		return
	}
	i.CreatedAt, i.RecordedAt, i.UnnoticedUntil = began, now, now
	if !end.IsZero() {
		i.State, i.Resolved, i.ResolvedAt, i.UnnoticedUntil = IncidentResolved, true, end, end
	}
}

// addOpening adds the first update, at the beginning of the incident. If the incident was already over when it was
// recorded, the update still shows it as unresolved.
func (i *Incident) addOpening(first IncidentUpdate, now time.Time) {
	then := *i
	if i.Resolved && i.CreatedAt.Before(i.ResolvedAt) {
		then.State, then.Resolved = IncidentInvestigating, false
	}
	first.IncidentID, first.Number, first.State, first.CreatedAt, first.Silent = i.ID, 1, then.State, i.CreatedAt,
		!i.Notified
	first.Affected = then.affectedSince(nil)
	i.Updates, i.UpdatedAt = append(i.Updates, first), now
}

// checkAt adds an error to bad if an update cannot be added at a time; a zero at means now. newest is the newest update
// of the incident, or nil.
func (i Incident) checkAt(at time.Time, newest *IncidentUpdate, now time.Time, bad *kernel.ValidationError) {
	switch {
	case at.IsZero():
	case at.After(now):
		bad.Add("at", "The time must not be in the future.")
	case at.Before(i.CreatedAt):
		bad.Add("at", "The time must not be before the beginning of the incident.")
	case newest != nil && at.Before(newest.CreatedAt):
		bad.Add("at", "The time must not be before the time of the newest update.")
	}
}

// stateBeforeEnd returns the state for an update that reports something from before the end of a resolved incident: the
// state that the change sets, or else the newest update's, unless these are IncidentResolved.
func (i Incident) stateBeforeEnd(change IncidentChange, newest *IncidentUpdate) IncidentState {
	i.State = "" // to see whether the change sets it, be it to what it is
	_ = change.apply(&i)
	switch {
	case i.State != "" && i.State != IncidentResolved:
		return i.State
	case newest != nil && newest.State != IncidentResolved:
		return newest.State
	}
	return IncidentInvestigating
}

// Worsen returns the changes of a component's status, oldest first, corrected for a period that nobody had noticed:
// from from to to, the component had at least the status s. Before the first change nothing is known.
func Worsen(changes []StatusChange, from, to time.Time, s kernel.Status) []StatusChange {
	var out []StatusChange
	add := func(at time.Time, status kernel.Status) {
		if n := len(out); n == 0 || out[n-1].Status != status {
			out = append(out, StatusChange{at, status})
		}
	}
	for i, c := range changes {
		during := c.Status
		if s.Worse(c.Status) {
			during = s
		}
		inside := func(at time.Time) bool {
			return at.After(c.At) && (i == len(changes)-1 || at.Before(changes[i+1].At))
		}
		if c.At.Before(from) || !c.At.Before(to) {
			add(c.At, c.Status)
		} else {
			add(c.At, during)
		}
		if inside(from) && from.Before(to) {
			add(from, during)
		}
		if inside(to) && from.Before(to) {
			add(to, c.Status)
		}
	}
	return slices.Clip(out)
}
