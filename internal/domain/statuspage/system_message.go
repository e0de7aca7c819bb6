package statuspage

import (
	"fmt"
	"time"

	"github.com/allswell/allswell/internal/domain/kernel"
)

// SystemMessage is an update that the service wrote, in a form that pages can translate. The zero
// SystemMessage belongs to an update that a person wrote.
type SystemMessage struct {
	Kind SystemMessageKind `json:"kind"`
	// SystemMessageSilent and SystemMessagePingMissed: when the silence began
	Since time.Time `json:"since,omitzero"`
	Due   time.Time `json:"due,omitzero"` // SystemMessagePingMissed: when a ping was due
	// SystemMessageSilent: the expected time between two pings; SystemMessageRunOverdue: the time that a run may take;
	// SystemMessageRunTooShort: the time that a run must take
	Interval time.Duration `json:"interval_ns,omitzero"`
	// SystemMessagePingsResumed: how long the silence lasted; SystemMessageSucceeded and SystemMessageCheckPassed: the
	// outage
	Lasted time.Duration `json:"lasted_ns,omitzero"`
	// SystemMessageFailed: the end of the job's output, if it is published
	Output string `json:"output,omitempty"`
}

// SystemMessageKind is the subject of a SystemMessage.
type SystemMessageKind string

// The kinds of system messages. Messages about the state of an incident are not stored; see Incident.Timeline.
const (
	SystemMessageSilent SystemMessageKind = "silent"
	// of a monitor with a Cron, in place of SystemMessageSilent
	SystemMessagePingMissed       SystemMessageKind = "ping_missed"
	SystemMessagePingsResumed     SystemMessageKind = "pings_again"
	SystemMessageFailed           SystemMessageKind = "failed"
	SystemMessageRunOverdue       SystemMessageKind = "run_overdue"
	SystemMessageRunTooShort      SystemMessageKind = "run_too_short"
	SystemMessageRunTooOften      SystemMessageKind = "run_too_often"
	SystemMessageRunOverlap       SystemMessageKind = "run_overlap"
	SystemMessageSucceeded        SystemMessageKind = "succeeded"
	SystemMessageCheckFailed      SystemMessageKind = "check_failed"
	SystemMessageCheckPassed      SystemMessageKind = "check_passed"
	SystemMessageMonitorDisabled  SystemMessageKind = "monitor_disabled"
	SystemMessageMonitorDeleted   SystemMessageKind = "monitor_deleted"
	SystemMessageMaintenanceBegun SystemMessageKind = "maintenance_begun"
	SystemMessageMaintenanceEnded SystemMessageKind = "maintenance_ended"

	SystemMessageInvestigating SystemMessageKind = "investigating"
	SystemMessageIdentified    SystemMessageKind = "identified"
	SystemMessageMonitoring    SystemMessageKind = "monitoring"
	SystemMessageResolved      SystemMessageKind = "resolved"
)

// SystemMessageKinds lists all kinds.
var SystemMessageKinds = []SystemMessageKind{
	SystemMessageSilent, SystemMessagePingMissed, SystemMessagePingsResumed, SystemMessageFailed,
	SystemMessageRunOverdue, SystemMessageSucceeded, SystemMessageRunTooShort, SystemMessageRunTooOften,
	SystemMessageRunOverlap, SystemMessageCheckFailed, SystemMessageCheckPassed,
	SystemMessageMonitorDisabled, SystemMessageMonitorDeleted,
	SystemMessageMaintenanceBegun, SystemMessageMaintenanceEnded,
	SystemMessageInvestigating, SystemMessageIdentified, SystemMessageMonitoring, SystemMessageResolved,
}

// systemTimeLayout is the form of times in Text.
const systemTimeLayout = "2 January 2006, 15:04:05"

// Text returns the message in English, with times in UTC, in the form that is stored and that the API and webhooks
// show. The zero SystemMessage has no text.
func (m SystemMessage) Text() string {
	switch m.Kind {
	case SystemMessageSilent:
		return fmt.Sprintf("No ping has arrived since %s UTC. The expected interval is %s.",
			m.Since.UTC().Format(systemTimeLayout), kernel.FormatDuration(m.Interval))
	case SystemMessagePingMissed:
		return fmt.Sprintf("No ping has arrived since %s UTC. One was due at %s UTC.",
			m.Since.UTC().Format(systemTimeLayout), m.Due.UTC().Format(systemTimeLayout))
	case SystemMessagePingsResumed:
		return fmt.Sprintf("The job is reporting again after %s.", kernel.FormatDuration(m.Lasted))
	case SystemMessageFailed:
		text := "The job reported a failure."
		if m.Output != "" {
			text += "\n\n" + m.OutputBlock()
		}
		return text
	case SystemMessageRunOverdue:
		return fmt.Sprintf("A run of the job did not end within %s.", kernel.FormatDuration(m.Interval))
	case SystemMessageRunTooShort:
		return fmt.Sprintf("A run of the job ended too early, in less than %s.", kernel.FormatDuration(m.Interval))
	case SystemMessageRunTooOften:
		return "The job runs more often than expected."
	case SystemMessageRunOverlap:
		return "A run of the job began before the previous one had ended."
	case SystemMessageSucceeded:
		return fmt.Sprintf("The job is succeeding again after %s.", kernel.FormatDuration(m.Lasted))
	case SystemMessageCheckFailed:
		return "Automated checks are failing."
	case SystemMessageCheckPassed:
		return fmt.Sprintf("Automated checks are passing again after %s.", kernel.FormatDuration(m.Lasted))
	case SystemMessageMonitorDisabled:
		return "The monitor was disabled; this outage is no longer watched."
	case SystemMessageMonitorDeleted:
		return "The monitor was deleted; this outage is no longer watched."
	case SystemMessageMaintenanceBegun:
		return "The maintenance has begun."
	case SystemMessageMaintenanceEnded:
		return "The maintenance is complete."
	case SystemMessageInvestigating:
		return "We are investigating this incident."
	case SystemMessageIdentified:
		return "The cause of this incident has been identified. We are working on a fix."
	case SystemMessageMonitoring:
		return "A fix is in place. We are watching the result."
	case SystemMessageResolved:
		return "This incident has been resolved."
	default:
		return ""
	}
}

// OutputBlock returns Output as a code block in Markdown, or "" if there is none.
func (m SystemMessage) OutputBlock() string {
	if m.Output == "" {
		return ""
	}
	return kernel.CodeBlock(m.Output)
}

// SystemMessage returns the timeline entry that the service writes for a transition. It is zero
// for transitions without an entry.
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
