package statuspage

import (
	"cmp"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/allswell/allswell/internal/domain/kernel"
)

// IncidentState is the progress of work on an incident.
type IncidentState string

// The states of an incident. Any change from one to another is allowed.
const (
	IncidentInvestigating IncidentState = "investigating"
	IncidentIdentified    IncidentState = "identified"
	IncidentMonitoring    IncidentState = "monitoring"
	IncidentResolved      IncidentState = "resolved"
)

// IncidentStates lists all valid states.
var IncidentStates = []IncidentState{IncidentInvestigating, IncidentIdentified, IncidentMonitoring, IncidentResolved}

// Valid reports whether s is one of the four states.
func (s IncidentState) Valid() bool {
	return s == IncidentInvestigating || s == IncidentIdentified || s == IncidentMonitoring || s == IncidentResolved
}

// Label returns the English name of the state.
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

// Incident is an unplanned disruption with a timeline of updates. Its Resolved flag, not its
// State, decides whether it is active or past.
type Incident struct {
	ID       string // a UUID
	PageID   string
	OutageID string // outage that opened it; "": opened by a person
	Title    string

	// DownMonitor is the monitor that Title names, if the outage gave the incident its title. It is
	// empty if a person wrote the title.
	DownMonitor string

	// Draft incidents wait for a person to publish them. Visitors and subscribers do not see them.
	Draft bool

	// Notified reports whether subscribers were notified of the incident: see NotifiedKind.
	Notified bool

	Impact kernel.Impact

	// ImpactDerived is set until a person gives the impact. Until then it follows the components: see DeriveImpact.
	ImpactDerived bool

	State      IncidentState
	Resolved   bool
	ResolvedAt time.Time // zero: not resolved
	CreatedAt  time.Time // when it began
	UpdatedAt  time.Time

	TakenOver  bool   // people have taken it over: the recovery of the monitor that opened it does not resolve it
	MergedInto string // id of the incident that goes on in its place; "": none

	// RecordedAt is when an incident was recorded that had begun earlier; zero: when it began. From CreatedAt to
	// UnnoticedUntil, the history of its components is corrected: see Worsen.
	RecordedAt, UnnoticedUntil time.Time

	Updates    []IncidentUpdate    // oldest first, if loaded
	Affected   []AffectedComponent // with names, if loaded
	Postmortem *Postmortem         // the published one, if loaded; nil: none
}

// AffectedComponent is a component affected by an incident, with the status that the incident
// gives it until it is resolved.
type AffectedComponent struct {
	ComponentID string
	Name        string // the component's name
	Status      kernel.Status
	Hidden      bool // the component is hidden
	// status given by the ongoing outage that opened the incident; "": none; loaded only for changes
	OutageStatus kernel.Status
}

// AffectedChange is the status of an affected component at an update and at the update before. It
// is stored with the update and kept when the component is deleted.
type AffectedChange struct {
	ComponentID string        `json:"component_id"`
	Name        string        `json:"name"`
	Old         kernel.Status `json:"old"` // "": not affected before
	New         kernel.Status `json:"new"`
}

// IncidentUpdate is an entry in the timeline of an incident.
type IncidentUpdate struct {
	ID         string
	IncidentID string
	Number     int // 1 for the first update of its incident
	Message    string
	State      IncidentState // the incident's state when it was written
	Affected   []AffectedChange
	System     SystemMessage // the form of Message if the service wrote it
	Truncated  bool          // Message is only the beginning and Affected is not loaded; see store.LoadPage
	Silent     bool          // no subscriber was notified of it
	CreatedAt  time.Time
	EditedAt   time.Time // of the last change of Message; zero: never
}

// DeriveImpact raises the impact to the impact of the worst status of Affected, unless a person has set it. It never
// lowers it: a component that recovers does not make the incident less severe.
func (i *Incident) DeriveImpact(now time.Time) {
	if derived := impactOfAffected(i.Affected); i.ImpactDerived && derived.Worse(i.Impact) {
		i.Impact, i.UpdatedAt = derived, kernel.Later(now, i.UpdatedAt)
	}
}

// Repeats reports whether a change that turned before into i only repeats an earlier one: it changed nothing, and its
// message is the text of the newest update. A client repeats a change if it did not receive the answer.
func (i Incident) Repeats(before Incident, message string, newest *IncidentUpdate) bool {
	return newest != nil && newest.Message == message && newest.State == i.State && newest.System.Kind == "" &&
		i.Title == before.Title && i.Impact == before.Impact && i.State == before.State &&
		i.Resolved == before.Resolved &&
		slices.Equal(i.Affected, before.Affected)
}

// Publish makes a draft visible. An incident that is published already does not change.
func (i *Incident) Publish(now time.Time) {
	if i.Draft {
		i.Draft, i.UpdatedAt = false, kernel.Later(now, i.UpdatedAt)
	}
}

// AddUpdate appends an update to the timeline, not before the last change of the incident. last is the update before
// it, or nil.
func (i *Incident) AddUpdate(id, message string, last *IncidentUpdate, now time.Time) IncidentUpdate {
	now = kernel.Later(now, i.UpdatedAt)
	u := IncidentUpdate{ID: id, IncidentID: i.ID, Number: 1, Message: message, State: i.State, CreatedAt: now}
	if last != nil {
		u.Number = last.Number + 1
	}
	u.Affected = i.affectedSince(last)
	i.Updates = append(i.Updates, u)
	i.UpdatedAt = now
	return u
}

// affectedSince returns the status of each affected component now and at the last update. It leaves out hidden
// components, because an update outlives its components. Components that are no longer affected are operational, and so
// are the components of a resolved incident without an ongoing outage.
func (i *Incident) affectedSince(last *IncidentUpdate) []AffectedChange {
	before := make(map[string]kernel.Status)
	var out []AffectedChange
	if last != nil {
		for _, a := range last.Affected {
			before[a.ComponentID] = a.New
		}
	}
	now := make(map[string]bool)
	for _, a := range i.Affected {
		now[a.ComponentID] = true
		if a.Hidden {
			continue
		}
		out = append(out, AffectedChange{a.ComponentID, a.Name, before[a.ComponentID], i.EffectiveStatus(a)})
	}
	if last != nil {
		for _, a := range last.Affected {
			if !now[a.ComponentID] && a.New != kernel.StatusOperational {
				out = append(out, AffectedChange{a.ComponentID, a.Name, a.New, kernel.StatusOperational})
			}
		}
	}
	return out
}

// EffectiveStatus returns the status that the incident gives to a component now. Resolving an
// incident does not end the outage that opened it.
func (i Incident) EffectiveStatus(a AffectedComponent) kernel.Status {
	if i.Resolved {
		return cmp.Or(a.OutageStatus, kernel.StatusOperational)
	}
	return a.Status
}

// impactOfAffected returns the impact of the worst status of an incident's components that are not hidden.
func impactOfAffected(affected []AffectedComponent) kernel.Impact {
	worst := kernel.StatusOperational
	for _, a := range affected {
		if !a.Hidden && a.Status.Worse(worst) {
			worst = a.Status
		}
	}
	return kernel.ImpactOf(worst)
}

// EffectiveState returns the state that people see: IncidentResolved if the incident is resolved, and State otherwise.
func (i Incident) EffectiveState() IncidentState {
	if i.Resolved {
		return IncidentResolved
	}
	return i.State
}

// Revision identifies a state of an incident. It changes with every field that people can change, and with every
// update. Affected and the newest update must be loaded.
func (i Incident) Revision() string {
	number := 0
	if n := len(i.Updates); n > 0 {
		number = i.Updates[n-1].Number
	}
	return strconv.Itoa(number) + "-" + strings.Trim(kernel.EntityTag(i), `"`)
}

// AuditObject returns the form of an incident in the audit log.
func (i Incident) AuditObject() kernel.AuditObject {
	var resolvedAt any
	if i.Resolved {
		resolvedAt = kernel.FormatTime(i.ResolvedAt)
	}
	fields := map[string]any{
		"title": i.Title, "draft": i.Draft, "impact": i.Impact, "state": i.State, "resolved": i.Resolved,
		"resolved_at": resolvedAt, "components": affectedStatuses(i.Affected),
	}
	if i.Automatic() {
		fields["taken_over"] = i.TakenOver
	}
	if i.MergedInto != "" {
		fields["merged_into"] = i.MergedInto
	}
	if !i.RecordedAt.IsZero() {
		fields["began_at"] = kernel.FormatTime(i.CreatedAt)
	}
	return kernel.AuditObject{Kind: kernel.ObjectIncident, ID: i.ID, Name: i.Title, Fields: fields}
}

// IncidentAction is an incident as an action leaves it, with what the audit log says of the action.
type IncidentAction struct {
	Incident
	Silent bool   // nobody is notified
	Merged string // the title of the incident that is merged into this one; "": none
}

// AuditObject returns the form of the incident in the audit log.
func (a IncidentAction) AuditObject() kernel.AuditObject {
	o := a.Incident.AuditObject()
	if a.Silent {
		o.Fields["notify"] = false
	}
	if a.Merged != "" {
		o.Fields["merged_incident"] = a.Merged
	}
	return o
}

// affectedStatuses returns the affected components, sorted by id.
func affectedStatuses(affected []AffectedComponent) []map[string]string {
	statuses := make(map[string]kernel.Status, len(affected))
	for _, a := range affected {
		statuses[a.ComponentID] = a.Status
	}
	out := []map[string]string{}
	for _, id := range slices.Sorted(maps.Keys(statuses)) {
		out = append(out, map[string]string{"id": id, "status": string(statuses[id])})
	}
	return out
}
