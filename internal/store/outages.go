package store

import (
	"errors"

	"github.com/allswell/allswell"
	"github.com/allswell/allswell/internal/database"
)

// beginOutage saves the outage of a monitor that goes down, the cause of its component,
// and the incident with its first update, and emits the events, in the transaction that
// marks the monitor down.
func (t *tx) beginOutage(m allswell.Monitor) error {
	o := allswell.Outage{
		ID: allswell.NewID(allswell.PrefixOutage, t.Now), MonitorID: m.ID,
		SilentSince: m.WaitingSince, StartedAt: t.Now,
	}
	if _, err := t.Exec(`INSERT INTO outages (id, monitor_id, silent_since_at, started_at) VALUES ($1, $2, $3, $4)`,
		o.ID, o.MonitorID, millis(o.SilentSince), millis(o.StartedAt)); err != nil {
		return err
	}
	t.logEntries = append(t.logEntries, logEntry{"monitor is down", "monitor", m.ID, m.Name})
	if err := t.addCause(o.ID, m.ComponentID, m.DownStatus, originOf(m, o.ID, "")); err != nil {
		return err
	}
	n := m.DownIncident(o.SilentSince)
	if m.ComponentID != "" {
		n.Affected = []allswell.AffectedComponent{{ComponentID: m.ComponentID, Status: m.DownStatus}}
	}
	_, err := t.openIncident(m.PageID, originOf(m, o.ID, allswell.DownDigestKey(m.TickedAt)), n)
	return err
}

// endOutage reverses beginOutage: it ends the outage, removes its cause, and resolves its
// incident unless a person has resolved or deleted it.
func (t *tx) endOutage(m allswell.Monitor, why allswell.OutageEndReason) error {
	o, err := t.openOutage(m.ID)
	if errors.Is(err, allswell.ErrNotFound) {
		return nil
	}
	if err != nil {
		return err
	}
	if _, err := t.Exec(`UPDATE outages SET ended_at = $2 WHERE id = $1`, o.ID, millis(t.Now)); err != nil {
		return err
	}
	t.logEntries = append(t.logEntries, logEntry{"monitor's outage is over", "monitor", m.ID, m.Name})
	if err := t.removeCauses(o.ID, originOf(m, o.ID, "")); err != nil {
		return err
	}
	i, err := database.One(t.Session, scanIncident, `SELECT `+incidentColumns+` FROM incidents WHERE outage_id = $1`, o.ID)
	if errors.Is(err, allswell.ErrNotFound) {
		return nil
	}
	if err == nil {
		err = t.bumpVersion(i.PageID)
	}
	if err != nil {
		return err
	}
	i, err = t.lockIncidentRow(i.ID)
	if errors.Is(err, allswell.ErrNotFound) || err == nil && i.Resolved {
		return nil
	}
	if err != nil {
		return err
	}
	state, resolved := allswell.IncidentResolved, true
	i.Apply(allswell.IncidentChange{State: &state, Resolved: &resolved}, t.Now)
	if err := t.removeCauses(i.ID, originOf(m, o.ID, "")); err != nil {
		return err
	}
	auto := why.SystemMessage(t.Now.Sub(o.SilentSince))
	u, err := t.addUpdate(&i, auto.Text(), auto)
	if err != nil {
		return err
	}
	return t.emit(originOf(m, o.ID, allswell.RecoveryDigestKey(t.Now)).of(allswell.NewIncidentEvent(allswell.EventIncidentResolved, i, &u)))
}

// openOutage loads the outage of a monitor that is down.
func (t *tx) openOutage(monitorID string) (allswell.Outage, error) {
	return database.One(t.Session, func(row database.Row) (o allswell.Outage, err error) {
		err = row.Scan(&o.ID, &o.MonitorID, instant{&o.SilentSince}, instant{&o.StartedAt})
		return
	}, `SELECT id, monitor_id, silent_since_at, started_at FROM outages WHERE monitor_id = $1 AND ended_at IS NULL`, monitorID)
}

// moveOutageCause moves the cause of a down monitor to the component and status that the
// monitor has now. On another component it is a new cause, not acknowledged yet; on the
// same one only its status changes.
func (t *tx) moveOutageCause(m allswell.Monitor) error {
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
	return t.changeComponentCauses(m.ComponentID, from, func(c *allswell.Component) error {
		c.ChangeCause(o.ID, m.DownStatus, t.Now)
		_, err := t.Exec(`UPDATE causes SET status = $2 WHERE source = $1`, o.ID, string(m.DownStatus))
		return err
	})
}
