package audience

import (
	"time"

	"github.com/allswell/allswell/internal/domain/kernel"
	"github.com/allswell/allswell/internal/domain/monitor"
	"github.com/allswell/allswell/internal/domain/statuspage"
)

// Event is a change that subscribers can be notified of. It is written in the transaction that makes the change.
// Ordering a page's events by (PageVersion, Ordinal) gives their commit order. Events of warnings do not change the
// page: for them, it gives the order only among the events of one monitor.
type Event struct {
	ID          string
	PageID      string
	PageVersion int64 // the page version created by the transaction
	Ordinal     int   // position within the transaction
	Kind        statuspage.EventKind
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

// AwaitsUpdate reports whether the event resolves an incident without an update. On merged channels its message waits
// for DigestWait, because an explanation may follow.
func (e Event) AwaitsUpdate() bool {
	return e.Kind == statuspage.EventIncidentResolved && e.UpdateID == ""
}

// EventData describes the change as of its time. It is stored with the event, so that a late message is still accurate.
type EventData struct {
	Title    string                   `json:"title,omitempty"`
	Impact   kernel.Impact            `json:"impact,omitempty"`
	State    statuspage.IncidentState `json:"state,omitempty"`
	Resolved bool                     `json:"resolved,omitempty"`
	Message  string                   `json:"message,omitempty"`

	DownMonitor string                   `json:"down_monitor,omitempty"` // see Incident
	System      statuspage.SystemMessage `json:"system,omitzero"`        // the form of Message if the service wrote it

	Component string        `json:"component,omitempty"`
	OldStatus kernel.Status `json:"old_status,omitempty"`
	NewStatus kernel.Status `json:"new_status,omitempty"`

	Affected    []statuspage.AffectedChange `json:"affected,omitempty"` // incidents only
	Maintenance *MaintenanceData            `json:"maintenance,omitempty"`
	Warning     *WarningData                `json:"warning,omitempty"`

	// MessageOmitted reports that Message was not loaded, to limit memory. It is not stored.
	MessageOmitted bool `json:"-"`
}

// MaintenanceData describes a maintenance in an event.
type MaintenanceData struct {
	State          statuspage.MaintenanceState `json:"state"`
	ScheduledFor   time.Time                   `json:"scheduled_for"`
	ScheduledUntil time.Time                   `json:"scheduled_until"`
	Components     []statuspage.ComponentName  `json:"components,omitempty"`
}

// WarningData describes a warning and its monitor in an event.
type WarningData struct {
	MonitorName string            `json:"monitor_name"`
	MonitorSlug string            `json:"monitor_slug"`
	Condition   monitor.Condition `json:"condition"`
	Message     string            `json:"message"`
	RunID       string            `json:"run_id,omitempty"`
	WarnedAt    time.Time         `json:"warned_at"`
	EndedAt     time.Time         `json:"ended_at,omitzero"`
}

// NewWarningEvent returns the event of a new warning of a monitor with a page.
func NewWarningEvent(m monitor.Monitor, w monitor.Warning) Event {
	e := Event{
		Kind: statuspage.EventMonitorWarning, PageID: m.PageID, MonitorID: m.ID, WarningID: w.ID,
		Ordinal: int(2 * w.Number), CreatedAt: w.WarnedAt,
		Data: EventData{Warning: &WarningData{
			MonitorName: m.Name, MonitorSlug: m.Slug, Condition: w.Condition, Message: w.Message, RunID: w.RunID,
			WarnedAt: w.WarnedAt,
		}},
	}
	if m.ComponentID != "" {
		e.Components = []string{m.ComponentID}
	}
	return e
}

// Ended returns the event that the warning of e has ended. The same subscribers are notified of it, even if the monitor
// has moved to another component since.
func (e Event) Ended(at time.Time) Event {
	data := *e.Data.Warning
	data.EndedAt = at
	e.Kind, e.Ordinal, e.CreatedAt, e.Data.Warning = statuspage.EventMonitorWarningEnded, e.Ordinal+1, at, &data
	return e
}

// NewMaintenanceEvent returns an event of a maintenance. u is its timeline entry, or nil.
func NewMaintenanceEvent(kind statuspage.EventKind, m statuspage.Maintenance, u *statuspage.MaintenanceUpdate) Event {
	e := Event{
		Kind: kind, PageID: m.PageID, MaintenanceID: m.ID,
		Data: EventData{
			Title: m.Title, Maintenance: &MaintenanceData{m.State, m.ScheduledFor, m.ScheduledUntil, m.Components},
		},
	}
	for _, c := range m.Components {
		e.Components = append(e.Components, c.ID)
	}
	if u != nil {
		e.UpdateID, e.Data.Message, e.Data.System = u.ID, u.Message, u.System
	}
	return e
}

// NewIncidentEvent returns an event of an incident. u is its timeline entry, or nil. An EventIncidentCreated has the
// components that the incident affects now; other events have the components of u.
func NewIncidentEvent(kind statuspage.EventKind, inc statuspage.Incident, u *statuspage.IncidentUpdate) Event {
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
		e.Data.Affected = append(e.Data.Affected, statuspage.AffectedChange{
			ComponentID: a.ComponentID, Name: a.Name, New: inc.EffectiveStatus(a),
		})
	}
	if u != nil {
		e.UpdateID, e.Data.Message, e.Data.System = u.ID, u.Message, u.System
		if kind != statuspage.EventIncidentCreated { // the update may be older than the publication of a draft
			e.Data.Affected = u.Affected
		}
	}
	return e
}

// NewStatusEvent returns the event of a change of a component's effective status from old.
func NewStatusEvent(c statuspage.Component, old kernel.Status) Event {
	return Event{
		Kind: statuspage.EventComponentStatusChanged, PageID: c.PageID, ComponentID: c.ID, Components: []string{c.ID},
		Data: EventData{Component: c.Name, OldStatus: old, NewStatus: c.Status()},
	}
}

// EndsIncident reports whether the event left its incident resolved.
func (e Event) EndsIncident() bool {
	return e.IncidentID != "" && (e.Data.Resolved || e.Kind == statuspage.EventIncidentResolved)
}

// NewPostmortemEvent returns the event of the publication of the post-mortem of an incident.
func NewPostmortemEvent(i statuspage.Incident, p statuspage.Postmortem) Event {
	e := NewIncidentEvent(statuspage.EventIncidentPostmortem, i, nil)
	e.Data.Message = p.Body
	return e
}
