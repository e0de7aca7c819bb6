package allswell

import (
	"cmp"
	"fmt"
	"slices"
	"time"
)

// State is how far people have come with an incident.
type IncidentState string

// The states. No move from one to another is refused.
const (
	IncidentInvestigating IncidentState = "investigating"
	IncidentIdentified    IncidentState = "identified"
	IncidentMonitoring    IncidentState = "monitoring"
	IncidentResolved      IncidentState = "resolved"
)

// States lists all valid states.
var IncidentStates = []IncidentState{IncidentInvestigating, IncidentIdentified, IncidentMonitoring, IncidentResolved}

// Valid reports whether s is one of the four states.
func (s IncidentState) Valid() bool {
	return s == IncidentInvestigating || s == IncidentIdentified || s == IncidentMonitoring || s == IncidentResolved
}

// Label returns the word shown to people.
func (s IncidentState) Label() string {
	switch s {
	case IncidentInvestigating:
		return "Investigating"
	case IncidentIdentified:
		return "Identified"
	case IncidentMonitoring:
		return "Monitoring"
	default:
		return "Resolved"
	}
}

// Incident is something that went wrong, with its timeline. The Resolved flag,
// not the state, moves it to history.
type Incident struct {
	ID         string // a UUID
	PageID     string
	OutageID   string // the outage that opened it; "": opened by a human
	Title      string
	Impact     Impact
	State      IncidentState
	Resolved   bool
	ResolvedAt time.Time // zero while not resolved
	CreatedAt  time.Time
	UpdatedAt  time.Time
	Updates    []IncidentUpdate // oldest first, where they were asked for
	Affected   []AffectedComponent
}

// Affected is a component that an incident concerns, and the status that the
// incident gives it for as long as it is not resolved.
type AffectedComponent struct {
	ComponentID  string
	Name         string // the component's
	Status       Status
	OutageStatus Status // what the outage that opened the incident makes of it while it lasts; known where the incident is changed
}

// AffectedChange is what a component had come to when an update was written,
// and what it had been at the update before. It is kept with the update, and
// stays when the component is gone.
type AffectedChange struct {
	ComponentID string `json:"component_id"`
	Name        string `json:"name"`
	Old         Status `json:"old"` // "": it was not affected
	New         Status `json:"new"`
}

// Update is one entry of an incident's timeline.
type IncidentUpdate struct {
	ID         string
	IncidentID string
	Number     int // 1 for the first of its incident
	Message    string
	State      IncidentState // the incident's state when it was written
	Affected   []AffectedChange
	System     SystemMessage // zero: somebody has written it
	Truncated  bool          // Message is only the beginning, and Affected is not loaded: see store.LoadPage
	CreatedAt  time.Time
}

// NewIncident is what a caller gives to open an incident. Zero Impact and
// State mean the defaults; a nil Message means no first timeline entry.
type NewIncident struct {
	Title   string
	Impact  Impact
	State   IncidentState
	Message *string
	System  SystemMessage // what Message tells, if nobody has written it

	Affected []AffectedComponent // the components it concerns, without their names
}

// Validate names every bad field of n (contract section 4.1). That the
// components exist is for the store to say.
func (n NewIncident) Validate() error {
	var bad ValidationError
	CheckText(&bad, "title", n.Title, MaxTitleLength)
	checkImpact(&bad, n.Impact)
	checkState(&bad, n.State)
	if n.Message != nil {
		CheckText(&bad, "message", *n.Message, MaxMessageLength)
	}
	checkAffectedComponents(&bad, n.Affected)
	return bad.Err()
}

// CheckAffected refuses what cannot be the affected components of an incident.
// That they exist is for the store to say.
func CheckAffected(affected []AffectedComponent) error {
	var bad ValidationError
	checkAffectedComponents(&bad, affected)
	return bad.Err()
}

func checkAffectedComponents(bad *ValidationError, affected []AffectedComponent) {
	ids := make([]string, len(affected))
	for i, a := range affected {
		ids[i] = a.ComponentID
		if !slices.Contains(AffectedStatuses, a.Status) {
			bad.Add(fmt.Sprintf("components.%d.status", i), "The status must be one of: %s.", joinValues(AffectedStatuses))
		}
	}
	checkComponentIDs(bad, ids)
}

// Open makes the incident and its first update, if there is a message
// (contract section 3, rows "(new)"). id and updateID are the caller's.
func (n NewIncident) Open(pageID, id, updateID string, now time.Time) Incident {
	inc := Incident{
		ID: id, PageID: pageID, Title: n.Title, Impact: n.Impact, State: n.State,
		CreatedAt: now, UpdatedAt: now, Affected: n.Affected,
	}
	if inc.Impact == "" {
		inc.Impact = ImpactNone
	}
	if inc.State == "" {
		inc.State = IncidentInvestigating
	}
	if inc.State == IncidentResolved {
		inc.Resolved, inc.ResolvedAt = true, now
	}
	if n.Message != nil {
		inc.AddUpdate(updateID, *n.Message, nil, now)
		inc.Updates[0].System = n.System
	}
	return inc
}

// IncidentChange is what contract section 4.2 may change; nil fields stay.
type IncidentChange struct {
	Title    *string
	Impact   *Impact
	State    *IncidentState
	Resolved *bool
}

// Validate names every bad field of ch.
func (ch IncidentChange) Validate() error {
	var bad ValidationError
	if ch.Title != nil {
		CheckText(&bad, "title", *ch.Title, MaxTitleLength)
	}
	if ch.Impact != nil {
		checkImpact(&bad, invalidIfEmpty(*ch.Impact))
	}
	if ch.State != nil {
		checkState(&bad, invalidIfEmpty(*ch.State))
	}
	if ch.Resolved != nil && !*ch.Resolved && ch.State != nil && *ch.State == IncidentResolved {
		bad.Add("resolved", "The resolved field cannot be false while the state is resolved.")
	}
	return bad.Err()
}

// Apply changes i as contract section 3 and design section 4 say, and reports
// whether this call resolved an incident that was not resolved before.
// UpdatedAt moves only if a field changed.
func (i *Incident) Apply(ch IncidentChange, now time.Time) (resolvedNow bool) {
	before := *i
	if ch.Title != nil {
		i.Title = *ch.Title
	}
	if ch.Impact != nil {
		i.Impact = *ch.Impact
	}
	if ch.State != nil {
		i.State = *ch.State
	}
	switch {
	case ch.Resolved != nil && *ch.Resolved:
		i.Resolved, i.ResolvedAt = true, now // again, each time
	case ch.Resolved != nil && i.Resolved:
		i.Resolved, i.ResolvedAt = false, time.Time{}
		if i.State == IncidentResolved {
			i.State = IncidentInvestigating
		}
	case i.State == IncidentResolved && !i.Resolved:
		i.Resolved, i.ResolvedAt = true, now
	}
	if i.Title != before.Title || i.Impact != before.Impact || i.State != before.State ||
		i.Resolved != before.Resolved || !i.ResolvedAt.Equal(before.ResolvedAt) {
		i.UpdatedAt = now
	}
	return i.Resolved && !before.Resolved
}

// AddUpdate appends an entry to the timeline and moves UpdatedAt. last is the
// entry before it, or nil.
func (i *Incident) AddUpdate(id, message string, last *IncidentUpdate, now time.Time) IncidentUpdate {
	u := IncidentUpdate{ID: id, IncidentID: i.ID, Number: 1, Message: message, State: i.State, CreatedAt: now}
	if last != nil {
		u.Number = last.Number + 1
	}
	u.Affected = i.affectedSince(last)
	i.Updates = append(i.Updates, u)
	i.UpdatedAt = now
	return u
}

// affectedSince returns what the incident's components have come to, and what
// they were at the update before. One that is concerned no longer, and all of a
// resolved incident whose outage is over, are operational as far as it goes.
func (i *Incident) affectedSince(last *IncidentUpdate) []AffectedChange {
	before := make(map[string]Status)
	var out []AffectedChange
	if last != nil {
		for _, a := range last.Affected {
			before[a.ComponentID] = a.New
		}
	}
	now := make(map[string]bool)
	for _, a := range i.Affected {
		now[a.ComponentID] = true
		out = append(out, AffectedChange{a.ComponentID, a.Name, before[a.ComponentID], i.effectiveStatus(a)})
	}
	if last != nil {
		for _, a := range last.Affected {
			if !now[a.ComponentID] && a.New != StatusOperational {
				out = append(out, AffectedChange{a.ComponentID, a.Name, a.New, StatusOperational})
			}
		}
	}
	return out
}

// means returns what the incident means for one of its components now. Who
// resolves the incident of an outage that lasts makes nothing well by that.
func (i Incident) effectiveStatus(a AffectedComponent) Status {
	if i.Resolved {
		return cmp.Or(a.OutageStatus, StatusOperational)
	}
	return a.Status
}

// CheckMessage refuses an update's message that is blank or too long (contract
// section 4.3).
func CheckMessage(message string) error {
	var bad ValidationError
	CheckText(&bad, "message", message, MaxMessageLength)
	return bad.Err()
}

// checkImpact accepts a known impact, or "" for the default.
func checkImpact(bad *ValidationError, impact Impact) {
	if impact != "" && !impact.Valid() {
		bad.Add("impact", "The impact must be one of: %s.", joinValues(Impacts))
	}
}

// checkState accepts a known state, or "" for the default.
func checkState(bad *ValidationError, state IncidentState) {
	if state != "" && !state.Valid() {
		bad.Add("state", "The state must be one of: %s.", joinValues(IncidentStates))
	}
}

// invalidIfEmpty turns a given but empty value into one that no check takes for
// "not given".
func invalidIfEmpty[T ~string](v T) T {
	if v == "" {
		return "?"
	}
	return v
}

// EffectiveState returns the state as shown to people: IncidentResolved if the
// incident is resolved, whatever its State says.
func (i Incident) EffectiveState() IncidentState {
	if i.Resolved {
		return IncidentResolved
	}
	return i.State
}
