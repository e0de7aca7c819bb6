package store

import (
	"context"
	"encoding/json"
	"errors"
	"slices"

	"github.com/allswell/allswell/internal/domain/audience"
	"github.com/allswell/allswell/internal/domain/kernel"
	"github.com/allswell/allswell/internal/domain/monitor"
	"github.com/allswell/allswell/internal/domain/statuspage"
	"github.com/allswell/allswell/internal/store/database"
)

// fallen is a monitor that goes down.
type fallen struct {
	monitor.Monitor
	outage monitor.Outage
	auto   statuspage.AutoIncidents // that apply to it
}

// beginOutages saves the state of monitors that go down for the same reason, their outages, the causes of their
// components, and, unless statuspage.AutoIncidentsOff applies, the incidents with their first updates, and emits the
// events. failed is the signal of the failure, or has the violation of a condition as its Excerpt, if that is the
// reason.
func (t *tx) beginOutages(reason monitor.OutageReason, failed NewSignal, down ...monitor.Monitor) error {
	var outages [][]any
	var events []monitor.MonitorEvent
	all := make([]fallen, len(down))
	for i, m := range down {
		o := monitor.Outage{
			ID: kernel.NewID(kernel.PrefixOutage, t.Now), MonitorID: m.ID, Reason: reason,
			SilentSince: m.WaitingSince, StartedAt: t.Now,
		}
		if o.SilentSince.IsZero() { // never pinged
			o.SilentSince = t.Now
		}
		all[i] = fallen{Monitor: m, outage: o}
		outages = append(outages, []any{
			o.ID, o.MonitorID, millis(o.SilentSince), millis(o.StartedAt), string(o.Reason),
		})
		e := monitor.NewMonitorEvent(statuspage.EventMonitorDown, m, o, "", t.Now)
		e.Data.Cause, e.Data.Detail = reason, lastLine(failed.Excerpt)
		events = append(events, e)
		t.logAfter("monitor is down", "monitor", m.ID, m.Name)
	}
	err := t.insertRows(`INSERT INTO outages (id, monitor_id, silent_since_at, started_at, reason)`, outages)
	if err != nil {
		return err
	}
	if err := t.emitMonitorEvents(events...); err != nil {
		return err
	}
	if err := t.loadAutoIncidents(all); err != nil {
		return err
	}
	for _, f := range all {
		// one after the other: the cause depends on which are down
		if err := t.saveMonitorState(f.Monitor); err != nil {
			return err
		}
		err := t.addCause(f.outage.ID, f.ComponentID, f.DownStatus, originOf(f.Monitor, f.outage.ID, ""))
		if err != nil {
			return err
		}
		if f.auto == statuspage.AutoIncidentsOff {
			continue
		}
		if err := t.openOutageIncident(f, failed); err != nil {
			return err
		}
	}
	return nil
}

// openOutageIncident opens the incident of an outage.
func (t *tx) openOutageIncident(f fallen, failed NewSignal) error {
	reason := f.outage.Reason
	digest := audience.DownDigestKey(f.TickedAt)
	i, first := f.DownIncident(f.outage.SilentSince)
	if reason != monitor.OutageSilent {
		digest = audience.DownDigestKey(t.Now.Truncate(t.s.period))
		output := ""
		if f.PublishOutput {
			output = failed.Excerpt
		}
		i, first = f.FailureIncident(reason, output)
	}
	i.PageID, i.Draft = f.PageID, f.auto == statuspage.AutoIncidentsDraft
	var err error
	if f.ComponentID != "" {
		i.Affected, err = t.lockAffected(f.PageID, []statuspage.AffectedComponent{
			{ComponentID: f.ComponentID, Status: f.DownStatus},
		})
	}
	if err != nil {
		return err
	}
	err = t.openIncident(&i, first, originOf(f.Monitor, f.outage.ID, digest))
	if err != nil || reason == monitor.OutageSilent || reason == monitor.OutageRunOverdue {
		return err
	}
	return t.addNote(i.ID, failed)
}

// loadAutoIncidents sets which setting applies to the incident of each monitor's outage. A monitor without a page opens
// none.
func (t *tx) loadAutoIncidents(all []fallen) error {
	var pages, components []string
	for _, f := range all {
		pages, components = append(pages, f.PageID), append(components, f.ComponentID)
	}
	type row struct{ id, auto string }
	settings, err := database.Query(t.Session, func(sc database.Row) (r row, err error) {
		err = sc.Scan(&r.id, &r.auto)
		return
	}, `SELECT id, auto_incidents FROM pages WHERE id IN EACH($1)`, list(pages))
	if err != nil {
		return err
	}
	hidden, err := t.ids(`SELECT id FROM components WHERE hidden AND id IN EACH($1)`, list(components))
	if err != nil {
		return err
	}
	ofPage := make(map[string]statuspage.AutoIncidents)
	for _, r := range settings {
		ofPage[r.id] = statuspage.AutoIncidents(r.auto)
	}
	for i, f := range all {
		all[i].auto = statuspage.AutoIncidentsOff
		if f.PageID != "" {
			all[i].auto = statuspage.EffectiveAutoIncidents(f.AutoIncidents, ofPage[f.PageID],
				slices.Contains(hidden, f.ComponentID))
		}
	}
	return nil
}

// endOutage reverses beginOutages: it ends the outage, removes its cause, and resolves its
// incident unless a person has resolved, deleted or taken it over. A draft stays a draft.
func (t *tx) endOutage(m monitor.Monitor, why monitor.OutageEndReason) error {
	o, err := t.openOutage(m.ID)
	if errors.Is(err, kernel.ErrNotFound) {
		return nil
	}
	if err != nil {
		return err
	}
	if _, err := t.Exec(`UPDATE outages SET ended_at = $2 WHERE id = $1`, o.ID, millis(t.Now)); err != nil {
		return err
	}
	t.logAfter("monitor is up", "monitor", m.ID, m.Name)
	err = t.emitMonitorEvents(monitor.NewMonitorEvent(statuspage.EventMonitorUp, m, o, why.String(), t.Now))
	if err != nil {
		return err
	}
	if err := t.removeCauses(o.ID, originOf(m, o.ID, "")); err != nil {
		return err
	}
	i, err := database.One(t.Session, incidentTable.scan,
		`SELECT `+incidentTable.selected+` FROM incidents WHERE outage_id = $1`, o.ID)
	if errors.Is(err, kernel.ErrNotFound) {
		return nil
	}
	if err == nil {
		err = t.bumpVersion(i.PageID)
	}
	if err != nil {
		return err
	}
	i, err = t.lockIncidentRow(i.ID)
	if errors.Is(err, kernel.ErrNotFound) || err == nil && (i.Resolved || i.TakenOver) {
		return nil
	}
	if err != nil {
		return err
	}
	i.Resolve(t.Now)
	if err := t.removeCauses(i.ID, originOf(m, o.ID, "")); err != nil {
		return err
	}
	auto := o.EndMessage(why, t.Now)
	_, notified := i.NotifiedKind(statuspage.EventIncidentResolved)
	u, err := t.addUpdate(&i, newUpdate{message: auto.Text(), system: auto, silent: !notified})
	if err != nil {
		return err
	}
	return t.emitIncident(statuspage.EventIncidentResolved, i, &u, originOf(m, o.ID, audience.RecoveryDigestKey(t.Now)))
}

// Outages lists the outages of a workspace's monitor, given its id or slug, newest first, with
// their incidents and why they ended.
func (s *Store) Outages(
	ctx context.Context, actor kernel.Actor, ref string, r Pagination,
) ([]monitor.Outage, int, error) {
	id, err := read(ctx, s, func(c *session) (string, error) {
		r := accessOf(actor)
		return database.One(c.Session, database.ScanString,
			`SELECT id FROM monitors WHERE `+refColumn(ref)+` = $1 AND `+r.objects(2), ref, r.arg)
	})
	if err != nil {
		return nil, 0, err
	}
	fill := func(c *session, outages []monitor.Outage) error {
		index := make(map[string]int, len(outages))
		ids := make([]string, len(outages))
		for i, o := range outages {
			index[o.ID], ids[i] = i, o.ID
		}
		type row struct {
			outage, incident string
			draft            bool
		}
		incidents, err := database.Query(c.Session, func(sc database.Row) (r row, err error) {
			err = sc.Scan(&r.outage, &r.incident, &r.draft)
			return
		}, `SELECT outage_id, id, draft FROM incidents WHERE outage_id IN EACH($1)`, list(ids))
		for _, r := range incidents {
			o := &outages[index[r.outage]]
			o.IncidentID, o.Draft = r.incident, r.draft
		}
		if err != nil {
			return err
		}
		events, err := database.Query(c.Session, func(sc database.Row) (e monitor.MonitorEvent, err error) {
			var data string
			if err = sc.Scan(&e.OutageID, &data); err == nil {
				err = json.Unmarshal([]byte(data), &e.Data)
			}
			return
		}, `SELECT outage_id, data FROM monitor_events WHERE monitor_id = $1 AND kind = $2 AND outage_id IN EACH($3)`,
			id, string(statuspage.EventMonitorUp), list(ids))
		for _, e := range events {
			outages[index[e.OutageID]].EndReason = e.Data.Reason
		}
		return err
	}
	return listQuery[monitor.Outage]{
		scan: scanOutage, fill: fill, columns: outageColumns,
		from: `FROM outages WHERE monitor_id = $1`, args: []any{id}, order: `ORDER BY started_at DESC, id DESC`,
	}.load(ctx, s, r)
}

const outageColumns = `id, monitor_id, silent_since_at, started_at, ended_at, reason`

func scanOutage(row database.Row) (o monitor.Outage, err error) {
	err = row.Scan(&o.ID, &o.MonitorID, instant{&o.SilentSince}, instant{&o.StartedAt}, instant{&o.EndedAt}, &o.Reason)
	return
}

// openOutage loads the outage of a monitor that is down.
func (c *session) openOutage(monitorID string) (monitor.Outage, error) {
	return database.One(c.Session, scanOutage,
		`SELECT `+outageColumns+` FROM outages WHERE monitor_id = $1 AND ended_at IS NULL`, monitorID)
}

// moveOutageCause moves the cause of a down monitor to the component and status that the monitor has now. On another
// component it is a new cause, not acknowledged yet; on the same one only its status changes.
func (t *tx) moveOutageCause(m monitor.Monitor) error {
	o, err := t.openOutage(m.ID)
	if err != nil {
		return err
	}
	old, err := t.componentsWithCause(o.ID)
	if err != nil {
		return err
	}
	from := originOf(m, o.ID, "")
	if len(old) == 0 || old[0] != m.ComponentID {
		if err := t.removeCauses(o.ID, from); err != nil {
			return err
		}
		return t.addCause(o.ID, m.ComponentID, m.DownStatus, from)
	}
	return t.changeComponentCauses(m.ComponentID, from, func(c *statuspage.Component) error {
		c.ChangeCause(o.ID, m.DownStatus, t.Now)
		_, err := t.Exec(`UPDATE causes SET status = $2 WHERE source = $1`, o.ID, string(m.DownStatus))
		return err
	})
}
