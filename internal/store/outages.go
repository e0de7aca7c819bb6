package store

import (
	"errors"
	"slices"

	"github.com/allswell/allswell"
)

// lockLinked locks the components of the monitors, and then their pages and
// those that their open incidents are on, each in one order. What an outage
// does beyond the monitor's own row needs it: taken one after another, the
// locks could be crossed.
func (t *tx) lockLinked(monitors ...allswell.Monitor) error {
	var ids, components []string
	for _, m := range monitors {
		ids = append(ids, m.ID)
		if m.ComponentID != "" {
			components = append(components, m.ComponentID)
		}
	}
	pages, err := query(&t.session, scanString, `SELECT page_id FROM incidents WHERE NOT resolved AND outage_id IN
		(SELECT id FROM outages WHERE ended_at IS NULL AND monitor_id IN EACH($1))`, list(ids))
	if err != nil {
		return err
	}
	for _, m := range monitors {
		pages = append(pages, m.PageID)
	}
	if _, err := query(&t.session, scanString, `SELECT id FROM components WHERE id IN EACH($1) ORDER BY id FOR UPDATE`, list(components)); err != nil {
		return err
	}
	slices.Sort(pages)
	for _, id := range slices.Compact(pages) {
		if err := t.touch(id); err != nil {
			return err
		}
	}
	return nil
}

// beginOutage is what going down means beyond the monitor's own row: the
// outage, the component's cause, the incident with its first update, and the
// events, in the transaction that marks the monitor down.
func (t *tx) beginOutage(m allswell.Monitor) error {
	o := allswell.Outage{
		ID: allswell.NewID(allswell.PrefixOutage, t.now), MonitorID: m.ID,
		SilentSince: m.WaitingSince, StartedAt: t.now,
	}
	if _, err := t.exec(`INSERT INTO outages (id, monitor_id, silent_since_at, started_at) VALUES ($1, $2, $3, $4)`,
		o.ID, o.MonitorID, millis(o.SilentSince), millis(o.StartedAt)); err != nil {
		return err
	}
	t.news = append(t.news, news{"monitor is down", m})
	if err := t.addCause(m, o.ID); err != nil {
		return err
	}
	_, err := t.openIncident(m.PageID, originOf(m, o.ID, allswell.DownBundle(m.TickedAt)), m.DownIncident(o.SilentSince))
	return err
}

// endOutage reverses beginOutage, and only that: the outage ends, its cause
// goes, its incident is resolved unless a human has closed or deleted it.
func (t *tx) endOutage(m allswell.Monitor, why allswell.EndReason) error {
	o, err := t.openOutage(m.ID)
	if errors.Is(err, allswell.ErrNotFound) {
		return nil
	}
	if err != nil {
		return err
	}
	if _, err := t.exec(`UPDATE outages SET ended_at = $2 WHERE id = $1`, o.ID, millis(t.now)); err != nil {
		return err
	}
	t.news = append(t.news, news{"monitor's outage is over", m})
	if err := t.removeCause(m, o.ID); err != nil {
		return err
	}
	i, err := one(&t.session, scanIncident, `SELECT `+incidentColumns+` FROM incidents WHERE outage_id = $1`, o.ID)
	if errors.Is(err, allswell.ErrNotFound) {
		return nil
	}
	if err == nil {
		err = t.touch(i.PageID)
	}
	if err != nil {
		return err
	}
	i, err = one(&t.session, scanIncident, `SELECT `+incidentColumns+` FROM incidents WHERE id = $1 FOR UPDATE`, i.ID)
	if errors.Is(err, allswell.ErrNotFound) || err == nil && i.Resolved {
		return nil
	}
	if err != nil {
		return err
	}
	state, resolved := allswell.Resolved, true
	i.Apply(allswell.IncidentChange{State: &state, Resolved: &resolved}, t.now)
	u, err := t.addUpdate(&i, why.Message(t.now.Sub(o.SilentSince)))
	if err != nil {
		return err
	}
	return t.tell(originOf(m, o.ID, allswell.UpBundle(t.now)).of(allswell.EventOf(allswell.IncidentResolved, i, &u)))
}

// openOutage loads the outage of a monitor that is down.
func (t *tx) openOutage(monitorID string) (allswell.Outage, error) {
	return one(&t.session, func(row scanner) (o allswell.Outage, err error) {
		err = row.Scan(&o.ID, &o.MonitorID, instant{&o.SilentSince}, instant{&o.StartedAt})
		return
	}, `SELECT id, monitor_id, silent_since_at, started_at FROM outages WHERE monitor_id = $1 AND ended_at IS NULL`, monitorID)
}

// moveCause takes the cause of a down monitor to the component and status that
// the monitor has now. On another component it is a new cause, which no human
// has seen; on the same one it is the old cause with another status.
func (t *tx) moveCause(m allswell.Monitor) error {
	o, err := t.openOutage(m.ID)
	if err != nil {
		return err
	}
	old, err := t.causeComponent(o.ID)
	if err != nil {
		return err
	}
	if old == "" || old != m.ComponentID {
		if err := t.removeCause(m, o.ID); err != nil {
			return err
		}
		return t.addCause(m, o.ID)
	}
	return t.changeCauses(old, originOf(m, o.ID, ""), func(c *allswell.Component) error {
		c.ChangeCause(o.ID, m.DownStatus, t.now)
		_, err := t.exec(`UPDATE causes SET status = $2 WHERE outage_id = $1`, o.ID, string(m.DownStatus))
		return err
	})
}

// addCause adds an outage's cause to the monitor's component, if it has one.
func (t *tx) addCause(m allswell.Monitor, outageID string) error {
	if m.ComponentID == "" {
		return nil
	}
	cause := allswell.Cause{OutageID: outageID, Status: m.DownStatus, StartedAt: t.now}
	return t.changeCauses(m.ComponentID, originOf(m, outageID, ""), func(c *allswell.Component) error {
		c.AddCause(cause, t.now)
		_, err := t.exec(`INSERT INTO causes (outage_id, component_id, status, acknowledged, started_at) VALUES ($1, $2, $3, FALSE, $4)`,
			cause.OutageID, m.ComponentID, string(cause.Status), millis(cause.StartedAt))
		return err
	})
}

// removeCause removes the cause of a monitor's outage, if it has one.
func (t *tx) removeCause(m allswell.Monitor, outageID string) error {
	componentID, err := t.causeComponent(outageID)
	if err != nil || componentID == "" {
		return err
	}
	return t.changeCauses(componentID, originOf(m, outageID, ""), func(c *allswell.Component) error {
		c.RemoveCause(outageID, t.now)
		_, err := t.exec(`DELETE FROM causes WHERE outage_id = $1`, outageID)
		return err
	})
}

// causeComponent returns the component that an outage's cause is of; "" if
// there is none, because the monitor has no component or it was deleted.
func (t *tx) causeComponent(outageID string) (string, error) {
	id, err := one(&t.session, scanString, `SELECT component_id FROM causes WHERE outage_id = $1`, outageID)
	if errors.Is(err, allswell.ErrNotFound) {
		err = nil
	}
	return id, err
}

// changeCauses runs change on a locked component and then makes known what the
// outage thereby did to the effective status.
func (t *tx) changeCauses(componentID string, from origin, change func(*allswell.Component) error) error {
	c, err := t.component(`WHERE id = $1 FOR UPDATE`, componentID)
	if err != nil {
		return err
	}
	old := c.Status()
	if err := change(&c); err != nil {
		return err
	}
	if c.Status() == old {
		return nil
	}
	if _, err := t.exec(`UPDATE components SET updated_at = $2 WHERE id = $1`, c.ID, millis(c.UpdatedAt)); err != nil {
		return err
	}
	return t.componentChanged(c, old, from)
}
