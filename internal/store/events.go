package store

import (
	"encoding/json"

	"github.com/allswell/allswell/internal/domain/audience"
	"github.com/allswell/allswell/internal/domain/kernel"
	"github.com/allswell/allswell/internal/domain/monitor"
	"github.com/allswell/allswell/internal/domain/statuspage"
	"github.com/allswell/allswell/internal/store/database"
)

// emit writes an event in the transaction of the change. It makes a new version of the
// event's page, which gives the event its place in the commit order of the page.
func (t *tx) emit(e audience.Event) error {
	if err := t.bumpVersion(e.PageID); err != nil {
		return err
	}
	data, err := json.Marshal(e.Data)
	if err != nil {
		return err
	}
	var components any // none: the whole page
	if len(e.Components) > 0 {
		components = list(e.Components)
	}
	ordinal := t.ordinals[e.PageID]
	if t.ordinals == nil {
		t.ordinals = make(map[string]int)
	}
	t.ordinals[e.PageID]++
	t.signal(effectDeliveriesPending)
	_, err = t.Exec(`INSERT INTO events (id, page_id, page_version, ordinal, kind, incident_id, update_id, component_id,
		outage_id, monitor_id, digest_key, maintenance_id, components, data, created_at)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15)`,
		kernel.NewID(kernel.PrefixEvent, t.Now), e.PageID, t.versions[e.PageID], ordinal, string(e.Kind),
		nullIfEmpty(e.IncidentID), nullIfEmpty(e.UpdateID), nullIfEmpty(e.ComponentID), nullIfEmpty(e.OutageID),
		nullIfEmpty(e.MonitorID), nullIfEmpty(e.DigestKey), nullIfEmpty(e.MaintenanceID), components, string(data),
		millis(t.Now))
	return err
}

// emitIncident emits an event of an incident, unless nobody is notified: see statuspage.Incident.NotifiedKind. u is the
// update, or nil.
func (t *tx) emitIncident(
	kind statuspage.EventKind, i statuspage.Incident, u *statuspage.IncidentUpdate, from origin,
) error {
	kind, ok := i.NotifiedKind(kind)
	if !ok {
		return nil
	}
	if !i.Notified {
		if _, err := t.Exec(`UPDATE incidents SET notified = TRUE WHERE id = $1`, i.ID); err != nil {
			return err
		}
	}
	e := audience.NewIncidentEvent(kind, i, u)
	if from != (origin{}) {
		e = from.of(e)
	}
	return t.emit(e)
}

// emitMaintenance emits an event of a maintenance, which does not name hidden components. u is the update, or nil.
func (t *tx) emitMaintenance(
	kind statuspage.EventKind, m statuspage.Maintenance, u *statuspage.MaintenanceUpdate,
) error {
	e := audience.NewMaintenanceEvent(kind, m, u)
	hidden, err := t.hiddenComponents(m.PageID)
	if err != nil {
		return err
	}
	e.Data.Maintenance.Components = withoutHidden(e.Data.Maintenance.Components, hidden)
	return t.emit(e)
}

// emitMonitorEvents writes events for the members of a workspace in the transaction of the
// change. AdvanceAlerts takes it from there.
func (t *tx) emitMonitorEvents(events ...monitor.MonitorEvent) error {
	t.signal(effectAlertsPending)
	var rows [][]any
	for _, e := range events {
		data, err := json.Marshal(e.Data)
		if err != nil {
			return err
		}
		rows = append(rows, []any{
			e.ID, e.WorkspaceID, e.MonitorID, e.OutageID, string(e.Kind), string(data), millis(e.CreatedAt),
		})
	}
	return t.insertRows(`INSERT INTO monitor_events (id, workspace_id, monitor_id, outage_id, kind, data, created_at)`,
		rows)
}

const eventColumns = `id, page_id, page_version, ordinal, kind, incident_id, update_id, component_id, outage_id, ` +
	`monitor_id, digest_key, maintenance_id, warning_id, components, data, created_at`

func scanEvent(row database.Row) (e audience.Event, err error) {
	var data string
	err = row.Scan(&e.ID, &e.PageID, &e.PageVersion, &e.Ordinal, &e.Kind, text{&e.IncidentID}, text{&e.UpdateID},
		text{&e.ComponentID}, text{&e.OutageID}, text{&e.MonitorID}, text{&e.DigestKey}, text{&e.MaintenanceID},
		text{&e.WarningID}, listOf[string]{&e.Components}, &data, instant{&e.CreatedAt})
	if err != nil {
		return
	}
	err = json.Unmarshal([]byte(data), &e.Data)
	return
}
