package store

import (
	"github.com/allswell/allswell/internal/domain/audience"
	"github.com/allswell/allswell/internal/domain/kernel"
	"github.com/allswell/allswell/internal/domain/statuspage"
	"github.com/allswell/allswell/internal/store/database"
)

// addCause adds a cause to a component; it does nothing if componentID is empty.
func (t *tx) addCause(source, componentID string, status kernel.Status, from origin) error {
	if componentID == "" {
		return nil
	}
	return t.changeComponentCauses(componentID, from, func(c *statuspage.Component) error {
		return t.insertCause(c, source, status)
	})
}

// insertCause adds a cause to a component that changeComponentCauses has loaded.
func (t *tx) insertCause(c *statuspage.Component, source string, status kernel.Status) error {
	c.AddCause(statuspage.Cause{Source: source, Status: status, StartedAt: t.Now}, t.Now)
	_, err := t.Exec(`INSERT INTO causes (source, component_id, status, acknowledged, started_at)
		VALUES ($1, $2, $3, FALSE, $4)`, source, c.ID, string(status), millis(t.Now))
	return err
}

// removeCause removes a source's cause from one component.
func (t *tx) removeCause(source, componentID string, from origin) error {
	return t.changeComponentCauses(componentID, from, func(c *statuspage.Component) error {
		return t.deleteCause(c, source)
	})
}

// deleteCause removes a cause from a component that changeComponentCauses has loaded.
func (t *tx) deleteCause(c *statuspage.Component, source string) error {
	c.RemoveCause(source, t.Now)
	_, err := t.Exec(`DELETE FROM causes WHERE source = $1 AND component_id = $2`, source, c.ID)
	return err
}

// removeCauses removes all causes of a source.
func (t *tx) removeCauses(source string, from origin) error {
	ids, err := t.componentsWithCause(source)
	for _, id := range ids {
		if err == nil {
			err = t.removeCause(source, id, from)
		}
	}
	return err
}

// componentsWithCause returns the components that have a cause of the source, in the order
// in which components are locked.
func (t *tx) componentsWithCause(source string) ([]string, error) {
	return database.Query(t.Session, database.ScanString,
		`SELECT component_id FROM causes WHERE source = $1 ORDER BY component_id`, source)
}

// changeComponentCauses locks a component, runs change on it, and then saves and emits a
// change of its effective status.
func (t *tx) changeComponentCauses(componentID string, from origin, change func(*statuspage.Component) error) error {
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
	if _, err := t.Exec(`UPDATE components SET updated_at = $2 WHERE id = $1`, c.ID, millis(c.UpdatedAt)); err != nil {
		return err
	}
	return t.componentChanged(c, old, from)
}

// componentChanged makes a new version of the component's page. If the status changed, it
// saves the change in the history and emits an event.
func (t *tx) componentChanged(c statuspage.Component, old kernel.Status, from origin) error {
	if err := t.bumpVersion(c.PageID); err != nil {
		return err
	}
	if c.Status() == old {
		return nil
	}
	if err := t.saveStatusChange(c); err != nil || c.Hidden {
		return err // subscribers are not notified of hidden components
	}
	e := audience.NewStatusEvent(c, old)
	e.OutageID, e.MonitorID = from.outageID, from.monitorID
	return t.emit(e)
}

// saveStatusChange appends the current status to the component's history, with the time of
// the last entry if the clock has gone back.
func (t *tx) saveStatusChange(c statuspage.Component) error {
	_, err := t.Exec(`INSERT INTO status_changes (component_id, changed_at, status)
		SELECT $1, CASE WHEN max(changed_at) > CAST($2 AS BIGINT) THEN max(changed_at) ELSE CAST($2 AS BIGINT) END, $3
			FROM status_changes WHERE component_id = $1
		ON CONFLICT (component_id, changed_at) DO UPDATE SET status = excluded.status`,
		c.ID, millis(t.Now), string(c.Status().Canonical()))
	return err
}

// namedComponent has the fields of a component that other objects show.
type namedComponent struct {
	id, name string
	hidden   bool
}

// namedComponents returns components of a page by id. Ids that the page does
// not have make a *kernel.ValidationError; field returns the field of the i-th id.
func (c *session) namedComponents(
	pageID string, ids []string, field func(i int) string,
) (map[string]namedComponent, error) {
	rows, err := database.Query(c.Session, func(row database.Row) (n namedComponent, err error) {
		err = row.Scan(&n.id, &n.name, &n.hidden)
		return
	}, `SELECT id, name, hidden FROM components WHERE page_id = $1 AND id IN EACH($2)`, pageID, list(ids))
	if err != nil {
		return nil, err
	}
	found := make(map[string]namedComponent, len(rows))
	for _, r := range rows {
		found[r.id] = r
	}
	var bad kernel.ValidationError
	for i, id := range ids {
		if _, ok := found[id]; !ok {
			bad.Add(field(i), "The component does not exist on this page.")
		}
	}
	return found, bad.Err()
}
