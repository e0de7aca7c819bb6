package allswell

import (
	"fmt"
	"strings"
	"time"
)

// Auto is what an update tells that nobody has written, so that pages can tell
// it in the visitor's language and by their own clock. The zero Auto is that of
// an update that somebody has written.
type SystemMessage struct {
	Kind     SystemMessageKind `json:"kind"`
	Since    time.Time         `json:"since,omitzero"`       // of SystemMessageSilent: when the silence began
	Interval time.Duration     `json:"interval_ns,omitzero"` // of SystemMessageSilent: how often a ping is expected
	Lasted   time.Duration     `json:"lasted_ns,omitzero"`   // of SystemMessagePingsResumed: how long the silence was
}

// SystemMessageKind is one thing that the service tells by itself.
type SystemMessageKind string

// The kinds. All but SystemMessageResolved are stored.
const (
	SystemMessageSilent           SystemMessageKind = "silent"
	SystemMessagePingsResumed     SystemMessageKind = "pings_again"
	SystemMessageMonitorDisabled  SystemMessageKind = "monitor_disabled"
	SystemMessageMonitorDeleted   SystemMessageKind = "monitor_deleted"
	SystemMessageMaintenanceBegun SystemMessageKind = "maintenance_begun"
	SystemMessageMaintenanceEnded SystemMessageKind = "maintenance_ended"
	SystemMessageResolved         SystemMessageKind = "resolved" // of an incident; see Incident.Timeline
)

// SystemMessageKinds lists all kinds.
var SystemMessageKinds = []SystemMessageKind{SystemMessageSilent, SystemMessagePingsResumed, SystemMessageMonitorDisabled, SystemMessageMonitorDeleted, SystemMessageMaintenanceBegun, SystemMessageMaintenanceEnded, SystemMessageResolved}

// Message returns the update's message: a in English and UTC. It is what is
// stored, and what API and mails tell. The zero Auto has "".
func (a SystemMessage) Text() string {
	switch a.Kind {
	case SystemMessageSilent:
		return fmt.Sprintf("No ping has arrived since %s UTC. One is expected every %s.",
			a.Since.UTC().Format("2 January 2006, 15:04:05"), FormatDuration(a.Interval))
	case SystemMessagePingsResumed:
		return fmt.Sprintf("Pings are arriving again, after %s of silence.", FormatDuration(a.Lasted))
	case SystemMessageMonitorDisabled:
		return "The monitor was disabled; this outage is no longer watched."
	case SystemMessageMonitorDeleted:
		return "The monitor was deleted; this outage is no longer watched."
	case SystemMessageMaintenanceBegun:
		return "The maintenance has begun."
	case SystemMessageMaintenanceEnded:
		return "The maintenance is complete."
	case SystemMessageResolved:
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
func (i Incident) DownMonitorName() (monitor string, ok bool) {
	if i.OutageID == "" {
		return "", false
	}
	return strings.CutSuffix(i.Title, downSuffix)
}

// Auto returns what the timeline tells of a turn that nobody has written about;
// the zero Auto for one that has nothing to tell.
func (t MaintenanceTransition) SystemMessage() SystemMessage {
	switch t {
	case TransitionBegin:
		return SystemMessage{Kind: SystemMessageMaintenanceBegun}
	case TransitionEnd, TransitionMissed:
		return SystemMessage{Kind: SystemMessageMaintenanceEnded}
	default:
		return SystemMessage{}
	}
}
