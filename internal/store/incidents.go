package store

import (
	"context"
	"fmt"

	"github.com/google/uuid"

	"github.com/allswell/allswell"
)

const incidentColumns = `id, page_id, outage_id, title, impact, state, resolved, resolved_at, created_at, updated_at`

func scanIncident(row scanner) (i allswell.Incident, err error) {
	err = row.Scan(&i.ID, &i.PageID, text{&i.OutageID}, &i.Title, &i.Impact, &i.State, &i.Resolved, instant{&i.ResolvedAt}, instant{&i.CreatedAt}, instant{&i.UpdatedAt})
	return
}

const updateColumns = `id, incident_id, number, message, state, created_at`

func scanUpdate(row scanner) (u allswell.Update, err error) {
	err = row.Scan(&u.ID, &u.IncidentID, &u.Number, &u.Message, &u.State, instant{&u.CreatedAt})
	return
}

// Incidents lists a page's incidents, newest first, without their updates.
// resolved picks by the flag; nil is all.
func (s *Store) Incidents(ctx context.Context, workspaceID, slug string, resolved *bool, r Range) ([]allswell.Incident, int, error) {
	p, err := s.pageOf(ctx, workspaceID, slug)
	if err != nil {
		return nil, 0, err
	}
	from, args := `FROM incidents WHERE page_id = $1`, []any{p.ID}
	if resolved != nil {
		from, args = from+` AND resolved = $2`, append(args, *resolved)
	}
	return listed(ctx, s, scanIncident, incidentColumns, from, `ORDER BY created_at DESC, id DESC`, r, args...)
}

// incidentOf loads a workspace's incident without its updates.
func (c *session) incidentOf(workspaceID, id string) (allswell.Incident, error) {
	return one(c, scanIncident, `SELECT `+incidentColumns+` FROM incidents
		WHERE id = $1 AND page_id IN (SELECT id FROM pages WHERE workspace_id = $2)`, id, workspaceID)
}

// lockIncident loads a workspace's incident with its page and itself locked.
func (t *tx) lockIncident(workspaceID, id string) (allswell.Incident, error) {
	i, err := t.incidentOf(workspaceID, id)
	if err != nil {
		return i, err
	}
	if err := t.touch(i.PageID); err != nil {
		return i, err
	}
	return one(&t.session, scanIncident, `SELECT `+incidentColumns+` FROM incidents WHERE id = $1 FOR UPDATE`, id)
}

// Incident returns a workspace's incident with its updates, oldest first.
func (s *Store) Incident(ctx context.Context, workspaceID, id string) (allswell.Incident, error) {
	return read(ctx, s, func(c *session) (allswell.Incident, error) {
		i, err := c.incidentOf(workspaceID, id)
		if err != nil {
			return i, err
		}
		i.Updates, err = query(c, scanUpdate, `SELECT `+updateColumns+` FROM incident_updates WHERE incident_id = $1 ORDER BY number`, id)
		return i, err
	})
}

// Updates lists an incident's updates, oldest first.
func (s *Store) Updates(ctx context.Context, workspaceID, incidentID string, r Range) ([]allswell.Update, int, error) {
	if _, err := read(ctx, s, func(c *session) (allswell.Incident, error) { return c.incidentOf(workspaceID, incidentID) }); err != nil {
		return nil, 0, err
	}
	return listed(ctx, s, scanUpdate, updateColumns, `FROM incident_updates WHERE incident_id = $1`, `ORDER BY number`, r, incidentID)
}

// CreateIncident opens an incident (contract section 4.1) and tells of it.
func (s *Store) CreateIncident(ctx context.Context, workspaceID, slug string, n allswell.NewIncident) (allswell.Incident, error) {
	if err := n.Validate(); err != nil {
		return allswell.Incident{}, err
	}
	return write(ctx, s, func(t *tx) (allswell.Incident, error) {
		p, err := t.pageBySlug(workspaceID, slug)
		if err != nil {
			return allswell.Incident{}, err
		}
		return t.openIncident(p.ID, origin{}, n)
	})
}

// origin is what the service itself tells an event from; zero for a human's.
type origin struct{ outageID, monitorID, componentID, bundle string }

// originOf is what a monitor's outage tells; bundle is what it is told with.
func originOf(m allswell.Monitor, outageID, bundle string) origin {
	return origin{outageID, m.ID, m.ComponentID, bundle}
}

func (o origin) of(e allswell.Event) allswell.Event {
	e.OutageID, e.MonitorID, e.ComponentID, e.Bundle = o.outageID, o.monitorID, o.componentID, o.bundle
	return e
}

// openIncident saves a new incident and tells of it.
func (t *tx) openIncident(pageID string, from origin, n allswell.NewIncident) (allswell.Incident, error) {
	id, err := uuid.NewV7()
	if err != nil {
		return allswell.Incident{}, fmt.Errorf("making an id: %w", err)
	}
	i := n.Open(pageID, id.String(), allswell.NewID(allswell.PrefixUpdate, t.now), t.now)
	i.OutageID = from.outageID
	if err := t.touch(pageID); err != nil {
		return i, err
	}
	if _, err := t.exec(`INSERT INTO incidents (id, page_id, outage_id, title, impact, state, resolved, resolved_at, created_at, updated_at)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)`,
		i.ID, i.PageID, maybe(i.OutageID), i.Title, string(i.Impact), string(i.State), i.Resolved,
		millis(i.ResolvedAt), millis(i.CreatedAt), millis(i.UpdatedAt)); err != nil {
		return i, err
	}
	var first *allswell.Update
	if len(i.Updates) > 0 {
		first = &i.Updates[0]
		if err := t.saveUpdate(*first); err != nil {
			return i, err
		}
	}
	return i, t.tell(from.of(allswell.EventOf(allswell.IncidentCreated, i, first)))
}

func (t *tx) saveUpdate(u allswell.Update) error {
	_, err := t.exec(`INSERT INTO incident_updates (id, incident_id, number, message, state, created_at) VALUES ($1, $2, $3, $4, $5, $6)`,
		u.ID, u.IncidentID, u.Number, u.Message, string(u.State), millis(u.CreatedAt))
	return err
}

// saveIncident saves the fields that a change may have changed.
func (t *tx) saveIncident(i allswell.Incident) error {
	_, err := t.exec(`UPDATE incidents SET title = $2, impact = $3, state = $4, resolved = $5, resolved_at = $6, updated_at = $7 WHERE id = $1`,
		i.ID, i.Title, string(i.Impact), string(i.State), i.Resolved, millis(i.ResolvedAt), millis(i.UpdatedAt))
	return err
}

// ChangeIncident changes an incident (contract section 4.2), and tells if that
// resolved it.
func (s *Store) ChangeIncident(ctx context.Context, workspaceID, id string, ch allswell.IncidentChange) (allswell.Incident, error) {
	if err := ch.Validate(); err != nil {
		return allswell.Incident{}, err
	}
	return write(ctx, s, func(t *tx) (allswell.Incident, error) {
		i, err := t.lockIncident(workspaceID, id)
		if err != nil {
			return i, err
		}
		resolvedNow := i.Apply(ch, t.now)
		if err := t.saveIncident(i); err != nil {
			return i, err
		}
		if resolvedNow {
			err = t.tell(allswell.EventOf(allswell.IncidentResolved, i, nil))
		}
		return i, err
	})
}

// PostUpdate adds an entry to an incident's timeline (contract section 4.3)
// and tells of it.
func (s *Store) PostUpdate(ctx context.Context, workspaceID, incidentID, message string) (allswell.Update, error) {
	if err := allswell.CheckMessage(message); err != nil {
		return allswell.Update{}, err
	}
	return write(ctx, s, func(t *tx) (allswell.Update, error) {
		i, err := t.lockIncident(workspaceID, incidentID)
		if err != nil {
			return allswell.Update{}, err
		}
		u, err := t.addUpdate(&i, message)
		if err != nil {
			return u, err
		}
		return u, t.tell(allswell.EventOf(allswell.IncidentUpdated, i, &u))
	})
}

// addUpdate appends to the timeline of a locked incident and saves both.
func (t *tx) addUpdate(i *allswell.Incident, message string) (allswell.Update, error) {
	last, err := one(&t.session, scanInt, `SELECT coalesce(max(number), 0) FROM incident_updates WHERE incident_id = $1`, i.ID)
	if err != nil {
		return allswell.Update{}, err
	}
	u := i.AddUpdate(allswell.NewID(allswell.PrefixUpdate, t.now), message, int(last)+1, t.now)
	if err := t.saveUpdate(u); err != nil {
		return u, err
	}
	return u, t.saveIncident(*i)
}

// DeleteIncident deletes an incident with its timeline. An outage that opened
// it opens no other.
func (s *Store) DeleteIncident(ctx context.Context, workspaceID, id string) error {
	_, err := write(ctx, s, func(t *tx) (struct{}, error) {
		i, err := t.lockIncident(workspaceID, id)
		if err != nil {
			return struct{}{}, err
		}
		n, err := t.exec(`DELETE FROM incidents WHERE id = $1`, i.ID)
		return struct{}{}, found(n, err)
	})
	return err
}
