package store

import (
	"context"
	"encoding/json"
	"slices"

	"github.com/allswell/allswell/internal/domain/alert"
	"github.com/allswell/allswell/internal/domain/monitor"
	"github.com/allswell/allswell/internal/store/database"
)

// beginLate writes the events that monitors have become late, in workspaces with a rule about that. Elsewhere nobody
// reads them, and an outage of a network can make thousands of monitors late in one go.
func (t *tx) beginLate(late []monitor.Monitor) error {
	asked := make(map[string]bool)
	for _, m := range late {
		if _, known := asked[m.WorkspaceID]; !known {
			rules, err := t.enabledRules(m.WorkspaceID)
			if err != nil {
				return err
			}
			asked[m.WorkspaceID] = slices.ContainsFunc(rules, func(r alert.Rule) bool {
				return slices.Contains(r.Events, alert.MonitorLate)
			})
		}
		if !asked[m.WorkspaceID] {
			continue
		}
		data := monitor.MonitorEventData{Name: m.Name, Cause: monitor.OutageSilent, SilentSince: m.WaitingSince}
		if err := t.emitAlertEvent(alert.MonitorLate, m.WorkspaceID, m.ID, m.ID, data); err != nil {
			return err
		}
	}
	return nil
}

// lateBatch is how many alerts of late monitors one transaction ends.
const lateBatch = 500

// lateOver selects the open alerts of monitors that are not late any more, for whatever reason: a ping, an outage, or a
// change.
const lateOver = `FROM alerts a LEFT JOIN monitors m ON m.id = a.monitor_id WHERE a.event = 'monitor.late'
	AND a.resolved_at IS NULL
	AND NOT coalesce(m.enabled AND m.state = 'up' AND m.consecutive_failures > 0, FALSE)
	AND NOT EXISTS (SELECT 1 FROM monitor_events e WHERE e.routed_at IS NULL AND e.kind = 'monitor.late_ended'
	AND e.outage_id = a.event_key)`

// endLate writes the events that monitors are not late any more. A ping of a late monitor costs no more than another
// one, because only the next tick looks at it.
func (s *Store) endLate(ctx context.Context) error {
	for {
		if found, err := s.exists(ctx, `SELECT 1 `+lateOver); err != nil || !found {
			return err
		}
		ended, err := write(ctx, s, func(t *tx) (int, error) {
			t.skipBeforeReturn = true
			events, err := database.Query(t.Session, scanLateOver,
				`SELECT a.workspace_id, a.monitor_id, a.subject, m.id, m.enabled, m.state `+lateOver+
					` ORDER BY a.event_key LIMIT $1`,
				lateBatch)
			for _, e := range events {
				if err == nil {
					err = t.emitAlertEvent(alert.MonitorLateEnded, e.WorkspaceID, e.MonitorID, e.MonitorID, e.Data)
				}
			}
			return len(events), err
		})
		if err != nil || ended < lateBatch {
			return err
		}
	}
}

func scanLateOver(row database.Row) (e monitor.MonitorEvent, err error) {
	var subject, id, state string
	var enabled *bool
	if err = row.Scan(&e.WorkspaceID, &e.MonitorID, &subject, text{&id}, &enabled, text{&state}); err != nil {
		return
	}
	switch {
	case id == "":
		e.Data.Reason = monitor.OutageEndedByDelete.String()
	case !*enabled:
		e.Data.Reason = monitor.OutageEndedByDisable.String()
	case monitor.MonitorState(state) == monitor.MonitorDown:
		e.Data.Reason = endedByOutage
	}
	var about alert.Subject
	err = json.Unmarshal([]byte(subject), &about)
	e.Data.Name = about.Name
	return
}
