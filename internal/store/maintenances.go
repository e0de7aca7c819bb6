package store

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/allswell/allswell"
	"github.com/allswell/allswell/internal/database"
)

const maintenanceColumns = `id, page_id, title, state, scheduled_for_at, scheduled_until_at, begun_at, ended_at, remind_before_ms, reminded_at, created_at, updated_at`

func scanMaintenance(row database.Row) (m allswell.Maintenance, err error) {
	err = row.Scan(&m.ID, &m.PageID, &m.Title, &m.State, instant{&m.ScheduledFor}, instant{&m.ScheduledUntil}, instant{&m.BegunAt},
		instant{&m.EndedAt}, duration{&m.RemindBefore}, instant{&m.RemindedAt}, instant{&m.CreatedAt}, instant{&m.UpdatedAt})
	return
}

const maintenanceUpdateColumns = `id, maintenance_id, number, message, state, system_message, created_at`

// truncatedMaintenanceUpdateColumns are maintenanceUpdateColumns of an update that takes
// little memory.
var truncatedMaintenanceUpdateColumns = fmt.Sprintf(`id, maintenance_id, number, substr(message, 1, %d), state, system_message, created_at`, truncatedLength)

func scanMaintenanceUpdate(row database.Row) (u allswell.MaintenanceUpdate, err error) {
	err = row.Scan(&u.ID, &u.MaintenanceID, &u.Number, &u.Message, &u.State, systemMessage{&u.System}, instant{&u.CreatedAt})
	return
}

// Maintenances lists a page's planned maintenances, the latest first, without
// their updates. It lists those in the given state, or all if state is "".
func (s *Store) Maintenances(
	ctx context.Context, actor allswell.Actor, slug string, state allswell.MaintenanceState, r Pagination,
) ([]allswell.Maintenance, int, error) {
	p, err := s.pageOf(ctx, actor, slug)
	if err != nil {
		return nil, 0, err
	}
	from, args := `FROM maintenances WHERE page_id = $1`, []any{p.ID}
	if state != "" {
		from, args = from+` AND state = $2`, append(args, string(state))
	}
	return listQuery[allswell.Maintenance]{
		scan: scanMaintenance, fill: (*session).fillMaintenanceComponents, columns: maintenanceColumns,
		from: from, args: args, order: `ORDER BY scheduled_for_at DESC, id DESC`,
	}.load(ctx, s, r)
}

// fillMaintenanceComponents loads the components of maintenances, in their order on the
// page.
func (c *session) fillMaintenanceComponents(maintenances []allswell.Maintenance) error {
	index := make(map[string]int, len(maintenances))
	for i, m := range maintenances {
		index[m.ID] = i
	}
	type row struct {
		allswell.ComponentName
		maintenance string
	}
	rows, err := database.Query(c.Session, func(sc database.Row) (r row, err error) {
		err = sc.Scan(&r.maintenance, &r.ID, &r.Name)
		return
	}, `SELECT m.maintenance_id, m.component_id, c.name FROM maintenance_components m JOIN components c ON c.id = m.component_id
		WHERE m.maintenance_id IN EACH($1) ORDER BY m.maintenance_id DESC, c.position, c.created_at, c.id LIMIT $2`,
		list(slices.Collect(maps.Keys(index))), maxNamedAffected)
	for _, r := range rows {
		m := &maintenances[index[r.maintenance]]
		m.Components = append(m.Components, r.ComponentName)
	}
	return err
}

// withMaintenanceComponents returns a maintenance with its components; it passes err
// through.
func (c *session) withMaintenanceComponents(m allswell.Maintenance, err error) (allswell.Maintenance, error) {
	if err != nil {
		return m, err
	}
	all := []allswell.Maintenance{m}
	if err := c.fillMaintenanceComponents(all); err != nil {
		return m, err
	}
	all[0].Updates, err = database.Query(c.Session, scanMaintenanceUpdate, `SELECT `+maintenanceUpdateColumns+` FROM maintenance_updates
		WHERE maintenance_id = $1 ORDER BY number`, m.ID)
	return all[0], err
}

// maintenanceOf loads a workspace's maintenance alone.
func (c *session) maintenanceOf(actor allswell.Actor, id string) (allswell.Maintenance, error) {
	r := reachOf(actor)
	return database.One(c.Session, scanMaintenance, `SELECT `+maintenanceColumns+` FROM maintenances
		WHERE id = $1 AND `+r.on(`page_id`, 2), id, r.arg)
}

// Maintenance returns a workspace's maintenance with its updates, oldest first.
func (s *Store) Maintenance(ctx context.Context, actor allswell.Actor, id string) (allswell.Maintenance, error) {
	return read(ctx, s, func(c *session) (allswell.Maintenance, error) {
		return c.withMaintenanceComponents(c.maintenanceOf(actor, id))
	})
}

// MaintenanceUpdates lists a maintenance's updates, oldest first.
func (s *Store) MaintenanceUpdates(
	ctx context.Context, actor allswell.Actor, id string, r Pagination,
) ([]allswell.MaintenanceUpdate, int, error) {
	if _, err := read(ctx, s, func(c *session) (allswell.Maintenance, error) { return c.maintenanceOf(actor, id) }); err != nil {
		return nil, 0, err
	}
	return listQuery[allswell.MaintenanceUpdate]{
		scan: scanMaintenanceUpdate, columns: maintenanceUpdateColumns,
		from: `FROM maintenance_updates WHERE maintenance_id = $1`, args: []any{id}, order: `ORDER BY number`,
	}.load(ctx, s, r)
}

// CreateMaintenance plans a maintenance and emits its event. If its time has come, it
// begins in the same transaction. If the workspace has a maintenance with the ID that the
// client has chosen, it returns that one.
func (s *Store) CreateMaintenance(
	ctx context.Context, actor allswell.Actor, slug string, n allswell.NewMaintenance,
	save ...SaveResponse[allswell.Maintenance],
) (allswell.Maintenance, error) {
	m, err := writeAs(ctx, s, actor, func(t *tx) (m allswell.Maintenance, err error) {
		if err := n.Validate(t.Now); err != nil {
			return m, err
		}
		p, err := t.pageBySlug(actor, slug)
		if err != nil {
			return m, err
		}
		if n.Components, err = t.resolveDistinctComponents(p.ID, n.Components); err != nil {
			return m, err
		}
		if err := t.lockWithMonitors(n.Components, p.ID); err != nil {
			return m, err
		}
		if err := t.checkLimit("title", "planned maintenances", allswell.MaxOpenMaintenances,
			`SELECT count(*) FROM maintenances WHERE page_id = $1 AND state <> 'completed'`, p.ID); err != nil {
			return m, err
		}
		m = n.Plan(p.ID, cmp.Or(n.ID, allswell.NewID(allswell.PrefixMaintenance, t.Now)), allswell.NewID(allswell.PrefixUpdate, t.Now), t.Now)
		if m.Components, err = t.componentsByID(p.ID, n.Components); err != nil {
			return m, err
		}
		if _, err := t.Exec(`INSERT INTO maintenances (id, page_id, title, state, scheduled_for_at, scheduled_until_at, remind_before_ms, reminded_at, next_transition_at, created_at, updated_at)
			VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $10)`,
			m.ID, m.PageID, m.Title, string(m.State), millis(m.ScheduledFor), millis(m.ScheduledUntil),
			m.RemindBefore.Milliseconds(), millis(m.RemindedAt), millis(m.NextTransitionAt()), millis(t.Now)); err != nil {
			return m, err
		}
		t.maintenanceChanged = true
		if err := t.saveMaintenanceComponents(m); err != nil {
			return m, err
		}
		var first *allswell.MaintenanceUpdate
		if len(m.Updates) > 0 {
			first = &m.Updates[0]
			if err := t.saveMaintenanceUpdate(*first); err != nil {
				return m, err
			}
		}
		if err := t.emitMaintenance(allswell.EventMaintenanceScheduled, m, first); err != nil {
			return m, err
		}
		if err := t.audit(actor, allswell.AuditCreate, nil, m); err != nil {
			return m, err
		}
		if first != nil {
			if err := t.audit(actor, allswell.AuditCreate, nil, *first); err != nil {
				return m, err
			}
		}
		return m, t.advance(&m)
	}, save...)
	if err != nil && n.ID != "" && s.db.IsDuplicate(err) {
		return s.Maintenance(ctx, actor, n.ID)
	}
	return m, err
}

// componentsByID returns the components with the given ids, with their names. Ids that
// the page does not have make an *allswell.ValidationError.
func (t *tx) componentsByID(pageID string, ids []string) ([]allswell.ComponentName, error) {
	if len(ids) == 0 {
		return nil, nil
	}
	names, err := t.namedComponents(pageID, ids, func(i int) string { return fmt.Sprintf("components.%d", i) })
	out := make([]allswell.ComponentName, len(ids))
	for i, id := range ids {
		out[i] = allswell.ComponentName{ID: id, Name: names[id].name}
	}
	return out, err
}

func (t *tx) saveMaintenanceComponents(m allswell.Maintenance) error {
	for _, c := range m.Components {
		if _, err := t.Exec(`INSERT INTO maintenance_components (maintenance_id, component_id) VALUES ($1, $2)`, m.ID, c.ID); err != nil {
			return err
		}
	}
	return nil
}

func (t *tx) saveMaintenanceUpdate(u allswell.MaintenanceUpdate) error {
	_, err := t.Exec(`INSERT INTO maintenance_updates (id, maintenance_id, number, message, state, system_message, created_at) VALUES ($1, $2, $3, $4, $5, $6, $7)`,
		u.ID, u.MaintenanceID, u.Number, u.Message, string(u.State), systemMessageText(u.System), millis(u.CreatedAt))
	return err
}

// saveMaintenance saves the fields that can change, without the components.
func (t *tx) saveMaintenance(m allswell.Maintenance) error {
	t.maintenanceChanged = true
	_, err := t.Exec(`UPDATE maintenances SET title = $2, state = $3, scheduled_for_at = $4, scheduled_until_at = $5, begun_at = $6,
			ended_at = $7, remind_before_ms = $8, reminded_at = $9, next_transition_at = $10, updated_at = $11 WHERE id = $1`,
		m.ID, m.Title, string(m.State), millis(m.ScheduledFor), millis(m.ScheduledUntil), millis(m.BegunAt),
		millis(m.EndedAt), m.RemindBefore.Milliseconds(), millis(m.RemindedAt), millis(m.NextTransitionAt()), millis(m.UpdatedAt))
	return err
}

// ChangeMaintenance changes, begins or ends a maintenance by hand. It emits an event for
// a new time, for the beginning and for the end.
func (s *Store) ChangeMaintenance(
	ctx context.Context, actor allswell.Actor, id string, ch allswell.MaintenanceChange,
) (allswell.Maintenance, error) {
	return writeAs(ctx, s, actor, func(t *tx) (allswell.Maintenance, error) {
		m, err := t.maintenanceOf(actor, id)
		var others []string
		if err == nil && ch.Components != nil {
			others, err = t.resolveDistinctComponents(m.PageID, *ch.Components)
		}
		if err == nil {
			m, err = t.lockMaintenance(m, others)
		}
		if err == nil && ch.Seen != "" && ch.Seen != m.Revision() {
			err = allswell.ErrPreconditionFailed
		}
		if err == nil {
			err = ch.Validate(m, t.Now)
		}
		if err != nil {
			return m, err
		}
		before := m
		transition := m.Apply(ch, t.Now)
		if ch.Components != nil {
			if err := t.changeMaintenanceComponents(&m, before, others); err != nil {
				return m, err
			}
		}
		if err := t.applyTransition(&m, transition, transition.Message(), transition.SystemMessage()); err != nil {
			return m, err
		}
		if err := t.audit(actor, allswell.AuditUpdate, before, m); err != nil {
			return m, err
		}
		moved := !m.ScheduledFor.Equal(before.ScheduledFor) || !m.ScheduledUntil.Equal(before.ScheduledUntil)
		if moved && transition == allswell.TransitionNone {
			if err := t.suppress(m.Components); err != nil {
				return m, err
			}
			if err := t.emitMaintenance(allswell.EventMaintenanceUpdated, m, nil); err != nil {
				return m, err
			}
		}
		return m, t.advance(&m)
	})
}

// changeMaintenanceComponents changes the components of a maintenance. While it runs, the
// removed components lose its status and the added ones get it.
func (t *tx) changeMaintenanceComponents(m *allswell.Maintenance, before allswell.Maintenance, ids []string) (err error) {
	if m.Components, err = t.componentsByID(m.PageID, ids); err != nil {
		return err
	}
	if !slices.Equal(m.Components, before.Components) {
		m.UpdatedAt = allswell.Later(t.Now, m.UpdatedAt)
	}
	if _, err := t.Exec(`DELETE FROM maintenance_components WHERE maintenance_id = $1`, m.ID); err != nil {
		return err
	}
	if err := t.saveMaintenanceComponents(*m); err != nil {
		return err
	}
	if !before.Running() {
		return nil
	}
	statuses := func(all []allswell.ComponentName) (out []allswell.AffectedComponent) {
		for _, c := range all {
			out = append(out, allswell.AffectedComponent{ComponentID: c.ID, Status: allswell.StatusMaintenance})
		}
		return out
	}
	if m.Running() { // otherwise the transition that ends it removes them all
		if err := t.replaceCauses(m.ID, statuses(before.Components), statuses(m.Components)); err != nil {
			return err
		}
	}
	return t.suppress(append(slices.Clone(before.Components), m.Components...))
}

// PostMaintenanceUpdate adds an update to a maintenance's timeline and emits its event. A
// state that is not "" is also set, as by ChangeMaintenance.
func (s *Store) PostMaintenanceUpdate(
	ctx context.Context, actor allswell.Actor, id string, n allswell.NewMaintenanceUpdate,
	save ...SaveResponse[allswell.MaintenanceUpdate],
) (allswell.MaintenanceUpdate, error) {
	return writeAs(ctx, s, actor, func(t *tx) (u allswell.MaintenanceUpdate, err error) {
		if err := allswell.CheckMessage(n.Message); err != nil {
			return u, err
		}
		m, err := t.maintenanceOf(actor, id)
		if err == nil {
			m, err = t.lockMaintenance(m, nil)
		}
		if err != nil {
			return u, err
		}
		if n.Seen != "" && n.Seen != m.Revision() {
			return u, allswell.ErrPreconditionFailed
		}
		var ch allswell.MaintenanceChange
		if n.State != "" {
			ch.State = &n.State
		}
		if err := ch.Validate(m, t.Now); err != nil {
			return u, err
		}
		if n := len(m.Updates); n > 0 {
			if err := allswell.CheckUpdates(m.Updates[n-1].Number); err != nil {
				return u, err
			}
		}
		before := m
		if err := t.applyTransition(&m, m.Apply(ch, t.Now), n.Message, allswell.SystemMessage{}); err != nil {
			return u, err
		}
		u = m.Updates[len(m.Updates)-1]
		if err := t.audit(actor, allswell.AuditCreate, nil, u); err != nil {
			return u, err
		}
		return u, t.audit(actor, allswell.AuditUpdate, before, m)
	}, save...)
}

// DeleteMaintenance deletes a maintenance. If it has not ended, it is cancelled: its
// components return to their other status, and an event is emitted.
func (s *Store) DeleteMaintenance(ctx context.Context, actor allswell.Actor, id string) error {
	return writeOnlyAs(ctx, s, actor, func(t *tx) error {
		m, err := t.maintenanceOf(actor, id)
		if err == nil {
			m, err = t.lockMaintenance(m, nil)
		}
		if err != nil {
			return err
		}
		if err := t.removeCauses(m.ID, origin{}); err != nil {
			return err
		}
		if m.State != allswell.MaintenanceCompleted {
			if err := t.emitMaintenance(allswell.EventMaintenanceCancelled, m, nil); err != nil {
				return err
			}
		}
		if n, err := t.Exec(`DELETE FROM maintenances WHERE id = $1`, m.ID); err != nil || n == 0 {
			return requireRow(n, err)
		}
		if err := t.audit(actor, allswell.AuditDelete, m, nil); err != nil {
			return err
		}
		return t.suppress(m.Components)
	})
}
