package allswell

import (
	"fmt"
	"strings"
	"time"
)

// Auto is what an update tells that nobody has written, so that pages can tell
// it in the visitor's language and by their own clock. The zero Auto is that of
// an update that somebody has written.
type Auto struct {
	Kind     AutoKind      `json:"kind"`
	Since    time.Time     `json:"since,omitzero"`       // of AutoSilent: when the silence began
	Interval time.Duration `json:"interval_ns,omitzero"` // of AutoSilent: how often a ping is expected
	Lasted   time.Duration `json:"lasted_ns,omitzero"`   // of AutoPingsAgain: how long the silence was
}

// AutoKind is one thing that the service tells by itself.
type AutoKind string

// The kinds. All but AutoResolved are stored.
const (
	AutoSilent           AutoKind = "silent"
	AutoPingsAgain       AutoKind = "pings_again"
	AutoMonitorDisabled  AutoKind = "monitor_disabled"
	AutoMonitorDeleted   AutoKind = "monitor_deleted"
	AutoMaintenanceBegun AutoKind = "maintenance_begun"
	AutoMaintenanceEnded AutoKind = "maintenance_ended"
	AutoResolved         AutoKind = "resolved" // of an incident; see Incident.Timeline
)

// AutoKinds lists all kinds.
var AutoKinds = []AutoKind{AutoSilent, AutoPingsAgain, AutoMonitorDisabled, AutoMonitorDeleted, AutoMaintenanceBegun, AutoMaintenanceEnded, AutoResolved}

// Message returns the update's message: a in English and UTC. It is what is
// stored, and what API and mails tell. The zero Auto has "".
func (a Auto) Message() string {
	switch a.Kind {
	case AutoSilent:
		return fmt.Sprintf("No ping has arrived since %s UTC. One is expected every %s.",
			a.Since.UTC().Format("2 January 2006, 15:04:05"), SpeakDuration(a.Interval))
	case AutoPingsAgain:
		return fmt.Sprintf("Pings are arriving again, after %s of silence.", SpeakDuration(a.Lasted))
	case AutoMonitorDisabled:
		return "The monitor was disabled; this outage is no longer watched."
	case AutoMonitorDeleted:
		return "The monitor was deleted; this outage is no longer watched."
	case AutoMaintenanceBegun:
		return "The maintenance has begun."
	case AutoMaintenanceEnded:
		return "The maintenance is complete."
	case AutoResolved:
		return "This incident has been resolved."
	default:
		return ""
	}
}

// downSuffix is what follows the monitor's name in the title of its incident.
const downSuffix = " is down"

// Down returns the monitor's name in the title of an incident that its outage
// has opened, so that pages can give it one in the visitor's language. It is not
// ok where somebody has written the title.
func (i Incident) Down() (monitor string, ok bool) {
	if i.OutageID == "" {
		return "", false
	}
	return strings.CutSuffix(i.Title, downSuffix)
}

// Auto returns what the timeline tells of a turn that nobody has written about;
// the zero Auto for one that has nothing to tell.
func (t Turn) Auto() Auto {
	switch t {
	case TurnBegin:
		return Auto{Kind: AutoMaintenanceBegun}
	case TurnEnd, TurnMissed:
		return Auto{Kind: AutoMaintenanceEnded}
	default:
		return Auto{}
	}
}
