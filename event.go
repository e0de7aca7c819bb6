package allswell

import "time"

// EventKind is the kind of an event.
type EventKind string

// The kinds of events. E-mail subscribers are not notified of EventComponentStatusChanged.
const (
	EventIncidentCreated        EventKind = "incident.created"
	EventIncidentUpdated        EventKind = "incident.updated" // an update was added
	EventIncidentResolved       EventKind = "incident.resolved"
	EventIncidentPostmortem     EventKind = "incident.postmortem" // its post-mortem was published for the first time
	EventComponentStatusChanged EventKind = "component.status_changed"

	EventMaintenanceScheduled EventKind = "maintenance.scheduled"
	EventMaintenanceReminder  EventKind = "maintenance.reminder"
	EventMaintenanceBegun     EventKind = "maintenance.begun"
	EventMaintenanceUpdated   EventKind = "maintenance.updated" // an update was added, or the schedule changed
	EventMaintenanceEnded     EventKind = "maintenance.ended"
	EventMaintenanceCancelled EventKind = "maintenance.cancelled" // deleted before its end
)

// The kinds of events of warnings. Only webhooks are notified of them that an operator added and that ask for
// warnings: see Subscriber.Warnings.
const (
	EventMonitorWarning      EventKind = "monitor.warning"
	EventMonitorWarningEnded EventKind = "monitor.warning_ended"
)

// SubscriberEvents lists all kinds of events of which subscribers are notified.
var SubscriberEvents = []EventKind{
	EventIncidentCreated, EventIncidentUpdated, EventIncidentResolved, EventIncidentPostmortem, EventComponentStatusChanged,
	EventMaintenanceScheduled, EventMaintenanceReminder, EventMaintenanceBegun, EventMaintenanceUpdated,
	EventMaintenanceEnded, EventMaintenanceCancelled, EventMonitorWarning, EventMonitorWarningEnded,
}

// AboutWarning reports whether the kind is one of those of warnings.
func (k EventKind) AboutWarning() bool {
	return k == EventMonitorWarning || k == EventMonitorWarningEnded
}

// The kinds of events of monitors. Subscribers are not notified of them; see MonitorEvent.
const (
	EventMonitorDown EventKind = "monitor.down"
	EventMonitorUp   EventKind = "monitor.up" // the outage is over
)

// MonitorEvent is an event of which only members of the workspace are notified, by the rules of the package alert: such
// as the beginning and the end of an outage. Every outage has both, whether or not its monitor has a page or opens
// incidents. An event is written in the transaction of the change.
type MonitorEvent struct {
	ID          string
	WorkspaceID string
	MonitorID   string // "": the event is not about a monitor
	OutageID    string // of an outage; else the id of the warning or of what the event is about
	Kind        EventKind
	Data        MonitorEventData
	CreatedAt   time.Time
}

// MonitorEventData describes the change as of its time.
type MonitorEventData struct {
	Name        string       `json:"name"`                  // of the monitor, or of what the event is about
	SilentSince time.Time    `json:"silent_since,omitzero"` // the last ping before the outage
	Reason      string       `json:"reason,omitempty"`      // why the outage ended: see OutageEndReason.String
	Cause       OutageReason `json:"cause,omitempty"`       // why it began
	Detail      string       `json:"detail,omitempty"`      // what failed, in one line; members only
	PageID      string       `json:"page_id,omitempty"`     // of an event that is not about a monitor; "": none
}

// NewMonitorEvent returns an event of an outage. reason is "" if the outage begins.
func NewMonitorEvent(kind EventKind, m Monitor, o Outage, reason string, now time.Time) MonitorEvent {
	return MonitorEvent{
		ID: NewID(PrefixEvent, now), WorkspaceID: m.WorkspaceID, MonitorID: m.ID, OutageID: o.ID, Kind: kind,
		Data: MonitorEventData{Name: m.Name, SilentSince: o.SilentSince, Reason: reason}, CreatedAt: now,
	}
}

// Event is a change that subscribers can be notified of. It is written in the transaction that
// makes the change. Ordering a page's events by (PageVersion, Ordinal) gives their commit order,
// except for those of warnings, which do not change the page: it orders those of one monitor.
type Event struct {
	ID          string
	PageID      string
	PageVersion int64 // the page version created by the transaction
	Ordinal     int   // position within the transaction
	Kind        EventKind
	IncidentID  string // "": none
	UpdateID    string // "": no timeline entry
	ComponentID string // "": none

	MaintenanceID string   // "": none
	Components    []string // ids of the components concerned; empty: the whole page

	OutageID  string // "": none
	MonitorID string // "": the change was not made by a monitor
	WarningID string // "": none
	DigestKey string // see DownDigestKey; "": none
	Data      EventData
	CreatedAt time.Time
}

// AwaitsUpdate reports whether the event resolves an incident without an update. Its mail waits
// for DigestWait, because an explanation may follow.
func (e Event) AwaitsUpdate() bool { return e.Kind == EventIncidentResolved && e.UpdateID == "" }

// EventData describes the change as of its time. It is stored with the event, so that a late
// message is still accurate.
type EventData struct {
	Title    string        `json:"title,omitempty"`
	Impact   Impact        `json:"impact,omitempty"`
	State    IncidentState `json:"state,omitempty"`
	Resolved bool          `json:"resolved,omitempty"`
	Message  string        `json:"message,omitempty"`

	DownMonitor string        `json:"down_monitor,omitempty"` // see Incident
	System      SystemMessage `json:"system,omitzero"`        // the form of Message if the service wrote it

	Component string `json:"component,omitempty"`
	OldStatus Status `json:"old_status,omitempty"`
	NewStatus Status `json:"new_status,omitempty"`

	Affected    []AffectedChange `json:"affected,omitempty"` // incidents only
	Maintenance *MaintenanceData `json:"maintenance,omitempty"`
	Warning     *WarningData     `json:"warning,omitempty"`

	// MessageOmitted reports that Message was not loaded, to limit memory. It is not stored.
	MessageOmitted bool `json:"-"`
}

// MaintenanceData describes a maintenance in an event.
type MaintenanceData struct {
	State          MaintenanceState `json:"state"`
	ScheduledFor   time.Time        `json:"scheduled_for"`
	ScheduledUntil time.Time        `json:"scheduled_until"`
	Components     []ComponentName  `json:"components,omitempty"`
}

// WarningData describes a warning and its monitor in an event.
type WarningData struct {
	MonitorName string    `json:"monitor_name"`
	MonitorSlug string    `json:"monitor_slug"`
	Condition   Condition `json:"condition"`
	Message     string    `json:"message"`
	RunID       string    `json:"run_id,omitempty"`
	WarnedAt    time.Time `json:"warned_at"`
	EndedAt     time.Time `json:"ended_at,omitzero"`
}

// NewWarningEvent returns the event of a new warning of a monitor with a page.
func NewWarningEvent(m Monitor, w Warning) Event {
	e := Event{
		Kind: EventMonitorWarning, PageID: m.PageID, MonitorID: m.ID, WarningID: w.ID, Ordinal: int(2 * w.Number), CreatedAt: w.WarnedAt,
		Data: EventData{Warning: &WarningData{
			MonitorName: m.Name, MonitorSlug: m.Slug, Condition: w.Condition, Message: w.Message, RunID: w.RunID, WarnedAt: w.WarnedAt,
		}},
	}
	if m.ComponentID != "" {
		e.Components = []string{m.ComponentID}
	}
	return e
}

// Ended returns the event that the warning of e has ended. The same subscribers are notified of it, even if the monitor has
// moved to another component since.
func (e Event) Ended(at time.Time) Event {
	data := *e.Data.Warning
	data.EndedAt = at
	e.Kind, e.Ordinal, e.CreatedAt, e.Data.Warning = EventMonitorWarningEnded, e.Ordinal+1, at, &data
	return e
}

// NewMaintenanceEvent returns an event of a maintenance. u is its timeline entry, or nil.
func NewMaintenanceEvent(kind EventKind, m Maintenance, u *MaintenanceUpdate) Event {
	e := Event{
		Kind: kind, PageID: m.PageID, MaintenanceID: m.ID,
		Data: EventData{Title: m.Title, Maintenance: &MaintenanceData{m.State, m.ScheduledFor, m.ScheduledUntil, m.Components}},
	}
	for _, c := range m.Components {
		e.Components = append(e.Components, c.ID)
	}
	if u != nil {
		e.UpdateID, e.Data.Message, e.Data.System = u.ID, u.Message, u.System
	}
	return e
}

// NewIncidentEvent returns an event of an incident. u is its timeline entry, or nil. An
// EventIncidentCreated has the components that the incident affects now; other events have those of u.
func NewIncidentEvent(kind EventKind, inc Incident, u *IncidentUpdate) Event {
	e := Event{
		Kind: kind, PageID: inc.PageID, IncidentID: inc.ID, OutageID: inc.OutageID,
		Data: EventData{
			Title: inc.Title, DownMonitor: inc.DownMonitor, Impact: inc.Impact, State: inc.State,
			Resolved: inc.Resolved,
		},
	}
	for _, a := range inc.Affected {
		e.Components = append(e.Components, a.ComponentID)
		if a.Hidden {
			continue
		}
		e.Data.Affected = append(e.Data.Affected, AffectedChange{
			ComponentID: a.ComponentID, Name: a.Name, New: inc.effectiveStatus(a),
		})
	}
	if u != nil {
		e.UpdateID, e.Data.Message, e.Data.System = u.ID, u.Message, u.System
		if kind != EventIncidentCreated { // the update may be older than the publication of a draft
			e.Data.Affected = u.Affected
		}
	}
	return e
}

// NewStatusEvent returns the event of a change of a component's effective status from old.
func NewStatusEvent(c Component, old Status) Event {
	return Event{
		Kind: EventComponentStatusChanged, PageID: c.PageID, ComponentID: c.ID, Components: []string{c.ID},
		Data: EventData{Component: c.Name, OldStatus: old, NewStatus: c.Status()},
	}
}

// EndsIncident reports whether the event left its incident resolved.
func (e Event) EndsIncident() bool {
	return e.IncidentID != "" && (e.Data.Resolved || e.Kind == EventIncidentResolved)
}
