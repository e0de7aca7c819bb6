package statuspage

// AutoIncidents decides what happens to the incident that an outage of a monitor opens. The
// component of the monitor changes in any case.
type AutoIncidents string

// The values of AutoIncidents.
const (
	AutoIncidentsPublish AutoIncidents = "publish" // the page shows the incident, and subscribers are notified
	AutoIncidentsDraft   AutoIncidents = "draft"   // the incident waits until a person publishes it
	AutoIncidentsOff     AutoIncidents = "off"     // no incident is opened
)

// AutoIncidentModes lists all valid values.
var AutoIncidentModes = []AutoIncidents{AutoIncidentsPublish, AutoIncidentsDraft, AutoIncidentsOff}

// EffectiveAutoIncidents returns the setting for an outage: the monitor's setting, or else the page's. For a hidden
// component, the page's AutoIncidentsPublish becomes AutoIncidentsDraft, because the title of the incident would name
// what visitors may not see.
func EffectiveAutoIncidents(monitor, page AutoIncidents, hidden bool) AutoIncidents {
	switch {
	case monitor != "":
		return monitor
	case hidden && page == AutoIncidentsPublish:
		return AutoIncidentsDraft
	default:
		return page
	}
}
