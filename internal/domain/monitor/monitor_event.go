package monitor

import (
	"time"

	"github.com/allswell/allswell/internal/domain/kernel"
	"github.com/allswell/allswell/internal/domain/statuspage"
)

// MonitorEvent is an event that only members of the workspace are notified of, by the rules of package alert, such as
// the beginning and the end of an outage. Every outage has both, whether or not its monitor has a page or opens
// incidents. An event is written in the transaction of the change.
type MonitorEvent struct {
	ID          string
	WorkspaceID string
	MonitorID   string // "": the event is not about a monitor
	OutageID    string // id of the outage, the warning or the other object that the event is about
	Kind        statuspage.EventKind
	Data        MonitorEventData
	CreatedAt   time.Time
}

// MonitorEventData describes the change as of its time.
type MonitorEventData struct {
	Name        string       `json:"name"`                  // of the monitor or the other object of the event
	SilentSince time.Time    `json:"silent_since,omitzero"` // the last ping before the outage
	Reason      string       `json:"reason,omitempty"`      // why the outage ended: see OutageEndReason.String
	Cause       OutageReason `json:"cause,omitempty"`       // why it began
	Detail      string       `json:"detail,omitempty"`      // what failed, in one line; members only
	PageID      string       `json:"page_id,omitempty"`     // of an event that is not about a monitor; "": none
}

// NewMonitorEvent returns an event of an outage. reason is "" if the outage begins.
func NewMonitorEvent(kind statuspage.EventKind, m Monitor, o Outage, reason string, now time.Time) MonitorEvent {
	return MonitorEvent{
		ID: kernel.NewID(kernel.PrefixEvent, now), WorkspaceID: m.WorkspaceID, MonitorID: m.ID, OutageID: o.ID,
		Kind: kind, Data: MonitorEventData{Name: m.Name, SilentSince: o.SilentSince, Reason: reason}, CreatedAt: now,
	}
}
