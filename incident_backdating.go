package allswell

import (
	"slices"
	"time"
)

// MaxBackdating is the maximum age of the beginning of an incident that is recorded later.
const MaxBackdating = 365 * 24 * time.Hour

// checkSpan checks that ResolvedAt has a BeganAt, is not before it, and fits State.
func (n NewIncident) checkSpan(bad *ValidationError) {
	switch {
	case n.ResolvedAt.IsZero():
		return
	case n.BeganAt.IsZero():
		bad.Add("resolved_at", "The time of the end requires that of the beginning.")
	case n.ResolvedAt.Before(n.BeganAt):
		bad.Add("resolved_at", "The time must not be before the beginning.")
	}
	if n.State != "" && n.State != IncidentResolved {
		bad.Add("state", "of an incident that is over is resolved")
	}
}

// CheckTimes returns a *ValidationError if the incident begins or ends after now, or began more than MaxBackdating ago.
func (n NewIncident) CheckTimes(now time.Time) error {
	var bad ValidationError
	switch {
	case n.BeganAt.IsZero():
	case n.BeganAt.After(now):
		bad.Add("began_at", "The time must not be in the future.")
	case n.BeganAt.Before(now.Add(-MaxBackdating)):
		bad.Add("began_at", "The time must be at most 365 days ago.")
	}
	if n.ResolvedAt.After(now) {
		bad.Add("resolved_at", "The time must not be in the future.")
	}
	return bad.Err()
}

// backdate sets the times of an incident that is recorded later.
func (i *Incident) backdate(n NewIncident, now time.Time) {
	if n.BeganAt.IsZero() || n.BeganAt.After(now) {
		return
	}
	i.CreatedAt, i.RecordedAt, i.UnnoticedUntil = n.BeganAt, now, now
	if !n.ResolvedAt.IsZero() {
		i.State, i.Resolved, i.ResolvedAt, i.UnnoticedUntil = IncidentResolved, true, n.ResolvedAt, n.ResolvedAt
	}
}

// addOpening adds the first update, at the beginning of the incident. An incident that was over when it was recorded
// was not resolved by it.
func (i *Incident) addOpening(id, message string, now time.Time) {
	then := *i
	if i.Resolved && i.CreatedAt.Before(i.ResolvedAt) {
		then.State, then.Resolved = IncidentInvestigating, false
	}
	i.Updates = append(i.Updates, IncidentUpdate{
		ID: id, IncidentID: i.ID, Number: 1, Message: message, State: then.State, CreatedAt: i.CreatedAt, Affected: then.affectedSince(nil),
	})
	i.UpdatedAt = now
}

// CheckAt returns a *ValidationError if an update cannot be added at the time of the change. newest is the newest
// update of the incident, or nil.
func (ch IncidentChange) CheckAt(i Incident, newest *IncidentUpdate, now time.Time) error {
	var bad ValidationError
	switch {
	case ch.At.IsZero():
	case ch.At.After(now):
		bad.Add("at", "The time must not be in the future.")
	case ch.At.Before(i.CreatedAt):
		bad.Add("at", "The time must not be before the beginning of the incident.")
	case newest != nil && ch.At.Before(newest.CreatedAt):
		bad.Add("at", "The time must not be before that of the newest update.")
	}
	return bad.Err()
}

// precedesEnd reports whether the change reports something from before the end of a resolved incident.
func (ch IncidentChange) precedesEnd(i Incident) bool {
	return !ch.At.IsZero() && i.Resolved && ch.At.Before(i.ResolvedAt)
}

// Retrospective returns the change and the state for its update; "": the incident's state. If the change reports something
// from before the end of a resolved incident, it keeps its update, but not its new state and components. newest is the
// newest update of the incident, or nil.
func (ch IncidentChange) Retrospective(i Incident, newest *IncidentUpdate) (IncidentChange, IncidentState) {
	if !ch.precedesEnd(i) {
		return ch, ""
	}
	state := IncidentInvestigating
	switch {
	case ch.State != nil && *ch.State != IncidentResolved:
		state = *ch.State
	case newest != nil && newest.State != IncidentResolved:
		state = newest.State
	}
	ch.State, ch.Resolved, ch.Affected = nil, nil, nil
	return ch, state
}

// Worsen returns the changes of a component's status, oldest first, corrected for a time in which the component had at
// least the status s, which nobody had noticed. Before the first change nothing is known.
func Worsen(changes []StatusChange, from, to time.Time, s Status) []StatusChange {
	var out []StatusChange
	add := func(at time.Time, status Status) {
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
