package statuspage

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/allswell/allswell/internal/domain/kernel"
)

// CheckNew returns a *ValidationError with every invalid field of a new incident and of its first update. The store
// checks that the components exist, and CheckTimes the times.
func (i Incident) CheckNew(first IncidentUpdate) error {
	var bad kernel.ValidationError
	kernel.CheckText(&bad, "title", i.Title, kernel.MaxTitleLength)
	i.check(Incident{Title: i.Title}, &bad)
	first.check(&bad)
	i.checkSpan(&bad)
	return bad.Err()
}

// Open completes a new incident. A missing impact becomes the impact of the worst status of its components, and a
// missing state becomes IncidentInvestigating. In the state IncidentResolved, the incident is resolved. CreatedAt and
// ResolvedAt are zero unless the incident began, or was over, earlier than now. If first has no message, the incident
// has no first update. If first is silent, nobody is notified.
func (i *Incident) Open(first IncidentUpdate, now time.Time) {
	began, end := i.CreatedAt, i.ResolvedAt
	i.CreatedAt, i.UpdatedAt, i.ResolvedAt = now, now, time.Time{}
	i.Notified = !i.Draft && !first.Silent
	if i.Impact == "" {
		i.Impact, i.ImpactDerived = impactOfAffected(i.Affected), true
	}
	i.State = cmp.Or(i.State, IncidentInvestigating)
	if i.State == IncidentResolved {
		i.Resolved, i.ResolvedAt = true, now
	}
	i.backdate(began, end, now)
	if first.Message != "" {
		i.addOpening(first, now)
	}
}

// IncidentChange changes an incident: nil changes nothing. The error is a *ValidationError with the fields that could
// not be read; the change sets all others. It is applied within the transaction to the stored incident, and may run
// more than once.
type IncidentChange func(*Incident) error

// apply applies the change.
func (change IncidentChange) apply(i *Incident) error {
	if change == nil {
		return nil
	}
	return change(i)
}

// SetImpact sets the impact, which no longer follows the components.
func (i *Incident) SetImpact(impact kernel.Impact) { i.Impact, i.ImpactDerived = impact, false }

// SetResolved resolves the incident at the time of the change, also if it was resolved before, and keeps its state. Or
// it reopens the incident, as IncidentInvestigating if its state was IncidentResolved.
func (i *Incident) SetResolved(resolved bool) {
	if i.Resolved && !resolved {
		i.MergedInto = ""
		if i.State == IncidentResolved {
			i.State = IncidentInvestigating
		}
	}
	i.Resolved, i.ResolvedAt = resolved, time.Time{}
}

// Resolve resolves the incident, with its state, at the given time.
func (i *Incident) Resolve(now time.Time) {
	before := *i
	i.State = IncidentResolved
	i.SetResolved(true)
	i.follow(before, time.Time{}, now)
}

// Change applies a change by people, and what follows from it, except for the timeline and what follows from other
// components. u is the update with which they report it: its message, which may be empty, and when that happened; zero:
// now. newest is the newest update, or nil.
//
// The state IncidentResolved resolves the incident. If u reports something from before the end of a resolved incident,
// neither state nor components change, and stateThen is the state for the update. Otherwise stateThen is "": the update
// has the incident's state. The error is a *ValidationError; the incident must not be used then. See docs/api.md.
func (i *Incident) Change(
	change IncidentChange, u IncidentUpdate, newest *IncidentUpdate, now time.Time,
) (stateThen IncidentState, err error) {
	before := *i
	err = change.apply(i)
	var bad kernel.ValidationError
	i.check(before, &bad)
	u.check(&bad)
	before.checkAt(u.CreatedAt, newest, now, &bad)
	if err = kernel.JoinUnread(err, bad.Err()); err != nil {
		return "", err
	}
	if at := u.CreatedAt; !at.IsZero() && before.Resolved && at.Before(before.ResolvedAt) {
		stateThen = before.stateBeforeEnd(change, newest)
		i.State, i.Resolved, i.ResolvedAt = before.State, before.Resolved, before.ResolvedAt
		i.MergedInto, i.Affected = before.MergedInto, before.Affected
	}
	i.follow(before, u.CreatedAt, now)
	return stateThen, nil
}

// follow sets what follows from a change of title, impact, state and resolution at a time; zero: now.
func (i *Incident) follow(before Incident, at, now time.Time) {
	now = kernel.Later(now, before.UpdatedAt)
	if i.Title != before.Title {
		i.DownMonitor = ""
	}
	i.Resolved = i.Resolved || i.State == IncidentResolved
	if i.Resolved && i.ResolvedAt.IsZero() {
		i.ResolvedAt = now
	}
	if i.Title != before.Title || i.Impact != before.Impact || i.State != before.State ||
		i.Resolved != before.Resolved || !i.ResolvedAt.Equal(before.ResolvedAt) {
		i.UpdatedAt = now
	}
	if i.Resolved && !before.Resolved && !at.IsZero() {
		i.ResolvedAt = kernel.Later(at, i.CreatedAt)
		if i.UnnoticedUntil.After(i.ResolvedAt) {
			i.UnnoticedUntil = i.ResolvedAt
		}
	}
}

// check adds the problems of the fields that were changed. The store checks that components exist.
func (i Incident) check(before Incident, bad *kernel.ValidationError) {
	if i.Title != before.Title {
		kernel.CheckText(bad, "title", i.Title, kernel.MaxTitleLength)
	}
	if i.Impact != before.Impact && !i.Impact.Valid() {
		bad.Add("impact", "must be one of: %s", kernel.JoinValues(kernel.Impacts))
	}
	if i.State != before.State && !i.State.Valid() {
		bad.Add("state", "must be one of: %s", kernel.JoinValues(IncidentStates))
	}
	if slices.Equal(i.Affected, before.Affected) {
		return
	}
	ids := make([]string, len(i.Affected))
	for n, a := range i.Affected {
		ids[n] = a.ComponentID
		if !slices.Contains(kernel.AffectedStatuses, a.Status) {
			bad.Add(fmt.Sprintf("components.%d.status", n), "must be one of: %s",
				kernel.JoinValues(kernel.AffectedStatuses))
		}
	}
	CheckComponentIDs(bad, ids)
}
