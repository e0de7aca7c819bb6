package statuspage

// EventKind is the kind of an event.
type EventKind string

// The kinds of events. Of all subscribers, only webhooks are notified of EventComponentStatusChanged.
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

// The kinds of events of warnings. Only webhooks that an operator added and that ask for warnings are notified of them:
// see Subscriber.Warnings.
const (
	EventMonitorWarning      EventKind = "monitor.warning"
	EventMonitorWarningEnded EventKind = "monitor.warning_ended"
)

// SubscriberEvents lists all kinds of events that subscribers are notified of.
var SubscriberEvents = []EventKind{
	EventIncidentCreated, EventIncidentUpdated, EventIncidentResolved, EventIncidentPostmortem,
	EventComponentStatusChanged, EventMaintenanceScheduled, EventMaintenanceReminder, EventMaintenanceBegun,
	EventMaintenanceUpdated, EventMaintenanceEnded, EventMaintenanceCancelled, EventMonitorWarning,
	EventMonitorWarningEnded,
}

// AboutWarning reports whether events of the kind are about a warning.
func (k EventKind) AboutWarning() bool {
	return k == EventMonitorWarning || k == EventMonitorWarningEnded
}

// The kinds of events of monitors. Subscribers are not notified of them; see MonitorEvent.
const (
	EventMonitorDown EventKind = "monitor.down"
	EventMonitorUp   EventKind = "monitor.up" // the outage is over
)
