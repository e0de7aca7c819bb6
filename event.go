package allswell

import "time"

// EventKind is what happened.
type EventKind string

// The kinds of events. Everybody who subscribed is told of incidents and of
// maintenance; only webhooks are told of component statuses.
const (
	EventIncidentCreated        EventKind = "incident.created"
	EventIncidentUpdated        EventKind = "incident.updated" // an update was added
	EventIncidentResolved       EventKind = "incident.resolved"
	EventComponentStatusChanged EventKind = "component.status_changed"

	EventMaintenanceScheduled EventKind = "maintenance.scheduled"
	EventMaintenanceReminder  EventKind = "maintenance.reminder"
	EventMaintenanceBegun     EventKind = "maintenance.begun"
	EventMaintenanceUpdated   EventKind = "maintenance.updated" // an update was added, or the time was changed
	EventMaintenanceEnded     EventKind = "maintenance.ended"
	EventMaintenanceCancelled EventKind = "maintenance.cancelled" // deleted before its end
)

// Event is something that subscribers may be told. It is written in the
// transaction of what happened, so there is one exactly if it happened. Events
// of one page are ordered by (PageVersion, Ordinal), which is commit order.
type Event struct {
	ID          string
	PageID      string
	PageVersion int64 // the page's version that the transaction made
	Ordinal     int   // the event's place among those of its transaction
	Kind        EventKind
	IncidentID  string // "": not about an incident
	UpdateID    string // "": no timeline entry goes with it
	ComponentID string // "": not about a component

	MaintenanceID string   // "": not about a maintenance
	Components    []string // the ids of those that it concerns; none: the whole page

	OutageID  string // "": not about an outage
	MonitorID string // "": a human did it, not the service by itself
	DigestKey string // "": told alone; see DownDigestKey
	Data      EventData
	CreatedAt time.Time
}

// AwaitsText reports whether the event says that an incident is resolved without
// a word on why. Mail of it waits for DigestWait, because that may follow at once,
// in an update.
func (e Event) AwaitsUpdate() bool { return e.Kind == EventIncidentResolved && e.UpdateID == "" }

// EventData is what was true when the event happened; it is kept with the
// event, so that a late message still tells it as it was.
type EventData struct {
	Title     string        `json:"title,omitempty"`
	Impact    Impact        `json:"impact,omitempty"`
	State     IncidentState `json:"state,omitempty"`
	Resolved  bool          `json:"resolved,omitempty"`
	Message   string        `json:"message,omitempty"`
	Component string        `json:"component,omitempty"`
	OldStatus Status        `json:"old_status,omitempty"`
	NewStatus Status        `json:"new_status,omitempty"`

	Affected    []AffectedChange `json:"affected,omitempty"` // of an incident
	Maintenance *MaintenanceData `json:"maintenance,omitempty"`

	// Abridged says that Message was left out when the event was loaded, because
	// too many others came with it. It is not stored.
	MessageOmitted bool `json:"-"`
}

// MaintenanceData is what an event keeps of a planned maintenance, beside its
// title and message.
type MaintenanceData struct {
	State          MaintenanceState `json:"state"`
	ScheduledFor   time.Time        `json:"scheduled_for"`
	ScheduledUntil time.Time        `json:"scheduled_until"`
	Components     []ComponentName  `json:"components,omitempty"`
}

// NewMaintenanceEvent tells what happened to a planned maintenance; u is the
// timeline entry that goes with it, or nil.
func NewMaintenanceEvent(kind EventKind, m Maintenance, u *MaintenanceUpdate) Event {
	e := Event{
		Kind: kind, PageID: m.PageID, MaintenanceID: m.ID,
		Data: EventData{Title: m.Title, Maintenance: &MaintenanceData{m.State, m.ScheduledFor, m.ScheduledUntil, m.Components}},
	}
	for _, c := range m.Components {
		e.Components = append(e.Components, c.ID)
	}
	if u != nil {
		e.UpdateID, e.Data.Message = u.ID, u.Message
	}
	return e
}

// NewIncidentEvent tells what happened to an incident; u is the timeline entry that
// goes with it, or nil.
func NewIncidentEvent(kind EventKind, inc Incident, u *IncidentUpdate) Event {
	e := Event{
		Kind: kind, PageID: inc.PageID, IncidentID: inc.ID, OutageID: inc.OutageID,
		Data: EventData{Title: inc.Title, Impact: inc.Impact, State: inc.State, Resolved: inc.Resolved},
	}
	for _, a := range inc.Affected {
		e.Components = append(e.Components, a.ComponentID)
		e.Data.Affected = append(e.Data.Affected, AffectedChange{ComponentID: a.ComponentID, Name: a.Name, New: inc.effectiveStatus(a)})
	}
	if u != nil {
		e.UpdateID, e.Data.Message = u.ID, u.Message
		e.Data.Affected = u.Affected
	}
	return e
}

// NewStatusEvent tells that a component's effective status changed from old.
func NewStatusEvent(c Component, old Status) Event {
	return Event{
		Kind: EventComponentStatusChanged, PageID: c.PageID, ComponentID: c.ID, Components: []string{c.ID},
		Data: EventData{Component: c.Name, OldStatus: old, NewStatus: c.Status()},
	}
}
