package store

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/allswell/allswell/internal/domain/kernel"
	"github.com/allswell/allswell/internal/domain/statuspage"
	"github.com/allswell/allswell/internal/resource"
	"github.com/allswell/allswell/internal/resource/field"
	"github.com/allswell/allswell/internal/store/database"
)

var maintenances = newTable("maintenances", resource.Maintenance,
	column[statuspage.Maintenance]{name: "page_id", at: func(m *statuspage.Maintenance) any {
		return &m.PageID
	}, fixed: true},
	column[statuspage.Maintenance]{name: "reminded_at", at: func(m *statuspage.Maintenance) any {
		return &m.RemindedAt
	}},
	column[statuspage.Maintenance]{name: "next_transition_at", at: func(m *statuspage.Maintenance) any {
		return new(m.NextTransitionAt())
	}},
)

var maintenanceUpdates = newTable("maintenance_updates", resource.MaintenanceUpdate,
	column[statuspage.MaintenanceUpdate]{name: "maintenance_id", at: func(u *statuspage.MaintenanceUpdate) any {
		return &u.MaintenanceID
	}},
	column[statuspage.MaintenanceUpdate]{name: "number", at: func(u *statuspage.MaintenanceUpdate) any {
		return &u.Number
	}},
	column[statuspage.MaintenanceUpdate]{name: "system_message", at: func(u *statuspage.MaintenanceUpdate) any {
		return systemMessage{&u.System}
	}},
)

// truncatedMaintenanceUpdateColumns are the columns of an update that takes little memory.
var truncatedMaintenanceUpdateColumns = strings.Replace(maintenanceUpdates.selected, ", message,",
	fmt.Sprintf(", substr(message, 1, %d),", truncatedLength), 1)

// Maintenances lists a page's planned maintenances, the latest first, without their updates. It lists maintenances in
// the given state, or all if state is "".
func (s *Store) Maintenances(
	ctx context.Context, actor kernel.Actor, slug string, state statuspage.MaintenanceState, r Pagination,
) ([]statuspage.Maintenance, int, error) {
	p, err := s.pageOf(ctx, actor, slug)
	if err != nil {
		return nil, 0, err
	}
	from, args := `FROM maintenances WHERE page_id = $1`, []any{p.ID}
	if state != "" {
		from, args = from+` AND state = $2`, append(args, string(state))
	}
	return listQuery[statuspage.Maintenance]{
		scan: maintenances.scan, fill: (*session).fillMaintenanceComponents, columns: maintenances.selected,
		from: from, args: args, order: `ORDER BY scheduled_for_at DESC, id DESC`,
	}.load(ctx, s, r)
}

// fillMaintenanceComponents loads the components of maintenances, in their order on the page.
func (c *session) fillMaintenanceComponents(maintenances []statuspage.Maintenance) error {
	index := make(map[string]int, len(maintenances))
	for i, m := range maintenances {
		index[m.ID] = i
	}
	type row struct {
		statuspage.ComponentName
		maintenance string
	}
	rows, err := database.Query(c.Session, func(sc database.Row) (r row, err error) {
		err = sc.Scan(&r.maintenance, &r.ID, &r.Name)
		return
	}, `SELECT m.maintenance_id, m.component_id, c.name FROM maintenance_components m
		JOIN components c ON c.id = m.component_id
		WHERE m.maintenance_id IN EACH($1) ORDER BY m.maintenance_id DESC, c.position, c.created_at, c.id LIMIT $2`,
		list(slices.Collect(maps.Keys(index))), maxNamedAffected)
	for _, r := range rows {
		m := &maintenances[index[r.maintenance]]
		m.Components = append(m.Components, r.ComponentName)
	}
	return err
}

// withMaintenanceComponents returns a maintenance with its components and its updates, oldest first; it passes err
// through.
func (c *session) withMaintenanceComponents(m statuspage.Maintenance, err error) (statuspage.Maintenance, error) {
	if err != nil {
		return m, err
	}
	all := []statuspage.Maintenance{m}
	if err := c.fillMaintenanceComponents(all); err != nil {
		return m, err
	}
	all[0].Updates, err = database.Query(c.Session, maintenanceUpdates.scan,
		`SELECT `+maintenanceUpdates.selected+` FROM maintenance_updates
		WHERE maintenance_id = $1 ORDER BY number`, m.ID)
	return all[0], err
}

// maintenanceOf loads a workspace's maintenance alone.
func (c *session) maintenanceOf(actor kernel.Actor, id string) (statuspage.Maintenance, error) {
	r := accessOf(actor)
	return database.One(c.Session, maintenances.scan, `SELECT `+maintenances.selected+` FROM maintenances
		WHERE id = $1 AND `+r.on(`page_id`, 2), id, r.arg)
}

// Maintenance returns a workspace's maintenance with its updates, oldest first.
func (s *Store) Maintenance(ctx context.Context, actor kernel.Actor, id string) (statuspage.Maintenance, error) {
	return read(ctx, s, func(c *session) (statuspage.Maintenance, error) {
		return c.withMaintenanceComponents(c.maintenanceOf(actor, id))
	})
}

// MaintenanceUpdates lists a maintenance's updates, oldest first.
func (s *Store) MaintenanceUpdates(
	ctx context.Context, actor kernel.Actor, id string, r Pagination,
) ([]statuspage.MaintenanceUpdate, int, error) {
	if _, err := read(ctx, s, func(c *session) (statuspage.Maintenance, error) {
		return c.maintenanceOf(actor, id)
	}); err != nil {
		return nil, 0, err
	}
	return listQuery[statuspage.MaintenanceUpdate]{
		scan: maintenanceUpdates.scan, columns: maintenanceUpdates.selected,
		from: `FROM maintenance_updates WHERE maintenance_id = $1`, args: []any{id}, order: `ORDER BY number`,
	}.load(ctx, s, r)
}

// CreateMaintenance plans a maintenance and emits its event. If its time has come, it begins in the same transaction. A
// client may choose the id, so that a repetition plans no second maintenance: then it returns the first one.
func (s *Store) CreateMaintenance(
	ctx context.Context, actor kernel.Actor, slug string, change field.Change[statuspage.Maintenance],
	save ...SaveResponse[statuspage.Maintenance],
) (statuspage.Maintenance, error) {
	var id string
	m, err := writeAs(ctx, s, actor, func(t *tx) (m statuspage.Maintenance, err error) {
		p, err := t.pageBySlug(actor, slug)
		if err != nil {
			return m, err
		}
		m.PageID = p.ID
		components, err := t.componentsAfter(m, change)
		if err == nil {
			err = t.lockWithMonitors(components, p.ID)
		}
		if err == nil {
			err = resource.PlanMaintenance(&m, t.named(change), t.Now)
		}
		if err == nil {
			id = m.ID
			err = t.checkLimit("title", "scheduled maintenance windows", kernel.MaxOpenMaintenances,
				`SELECT count(*) FROM maintenances WHERE page_id = $1 AND state <> 'completed'`, p.ID)
		}
		if err != nil {
			return m, err
		}
		return m, t.insertMaintenance(actor, &m)
	}, save...)
	if err != nil && id != "" && s.db.IsDuplicate(err) {
		return s.Maintenance(ctx, actor, id)
	}
	return m, err
}

// insertMaintenance saves a new maintenance with its components and its first update, emits its event, and begins it if
// its time has come.
func (t *tx) insertMaintenance(actor kernel.Actor, m *statuspage.Maintenance) error {
	t.signal(effectMaintenanceChange)
	if err := maintenances.insert(t, m); err != nil {
		return err
	}
	if err := t.saveMaintenanceComponents(*m); err != nil {
		return err
	}
	var first *statuspage.MaintenanceUpdate
	if len(m.Updates) > 0 {
		first = &m.Updates[0]
		if err := maintenanceUpdates.insert(t, first); err != nil {
			return err
		}
	}
	if err := t.emitMaintenance(statuspage.EventMaintenanceScheduled, *m, first); err != nil {
		return err
	}
	if err := t.audit(actor, kernel.AuditCreate, nil, resource.Maintenance.Audited(*m)); err != nil {
		return err
	}
	if first != nil {
		if err := t.audit(actor, kernel.AuditCreate, nil, *first); err != nil {
			return err
		}
	}
	return t.advance(m)
}

// componentsAfter returns the ids of the components that a maintenance will have after a change, if they are valid.
func (t *tx) componentsAfter(m statuspage.Maintenance, change field.Change[statuspage.Maintenance]) ([]string, error) {
	_ = change(&m) // named returns the same error
	ids, err := t.resolveDistinctComponents(m.PageID, statuspage.ComponentIDs(m.Components))
	if errors.As(err, new(*kernel.ValidationError)) {
		return nil, nil
	}
	return ids, err
}

// named returns a change that also replaces the slugs of components by their ids, and adds their names. Components that
// the page does not have make a *kernel.ValidationError.
func (t *tx) named(change field.Change[statuspage.Maintenance]) field.Change[statuspage.Maintenance] {
	return func(m *statuspage.Maintenance) error {
		before := m.Components
		bad := change(m)
		if slices.Equal(m.Components, before) {
			return bad
		}
		ids, err := t.resolveDistinctComponents(m.PageID, statuspage.ComponentIDs(m.Components))
		if err != nil {
			return kernel.JoinInvalid(bad, err)
		}
		found, err := t.namedComponents(m.PageID, ids, func(i int) string { return fmt.Sprintf("components.%d", i) })
		m.Components = make([]statuspage.ComponentName, len(ids))
		for i, id := range ids {
			m.Components[i] = statuspage.ComponentName{ID: id, Name: found[id].name}
		}
		return kernel.JoinInvalid(bad, err)
	}
}

func (t *tx) saveMaintenanceComponents(m statuspage.Maintenance) error {
	for _, c := range m.Components {
		_, err := t.Exec(`INSERT INTO maintenance_components (maintenance_id, component_id) VALUES ($1, $2)`,
			m.ID, c.ID)
		if err != nil {
			return err
		}
	}
	return nil
}

// lockedMaintenance returns a workspace's maintenance after locking it with its components and the components that a
// change adds. seen is the revision that the author of the change has seen; "": any. If the maintenance has another
// one, the error is kernel.ErrPreconditionFailed.
func (t *tx) lockedMaintenance(
	actor kernel.Actor, id, seen string, change field.Change[statuspage.Maintenance],
) (m statuspage.Maintenance, err error) {
	var others []string
	if m, err = t.maintenanceOf(actor, id); err == nil {
		others, err = t.componentsAfter(m, change)
	}
	if err == nil {
		m, err = t.lockMaintenance(m, others)
	}
	if err == nil && seen != "" && seen != resource.MaintenanceRevision(m) {
		err = kernel.ErrPreconditionFailed
	}
	return m, err
}

// ChangeMaintenance changes, begins or ends a maintenance by hand. It emits an event for a new time, for the beginning
// and for the end. seen is the revision that the author of the change has seen; "": any. If the maintenance has another
// one, the error is kernel.ErrPreconditionFailed.
func (s *Store) ChangeMaintenance(
	ctx context.Context, actor kernel.Actor, id string, change field.Change[statuspage.Maintenance], seen string,
) (statuspage.Maintenance, error) {
	return writeAs(ctx, s, actor, func(t *tx) (statuspage.Maintenance, error) {
		m, err := t.lockedMaintenance(actor, id, seen, change)
		if err != nil {
			return m, err
		}
		before := m
		if err := resource.ChangeMaintenance(&m, t.named(change), t.Now); err != nil {
			return m, err
		}
		if err := t.changeMaintenanceComponents(m, before); err != nil {
			return m, err
		}
		transition := m.TransitionFrom(before)
		if err := t.applyTransition(&m, transition, transition.Message(), transition.SystemMessage()); err != nil {
			return m, err
		}
		err = t.audit(actor, kernel.AuditUpdate, resource.Maintenance.Audited(before), resource.Maintenance.Audited(m))
		if err != nil {
			return m, err
		}
		moved := !m.ScheduledFor.Equal(before.ScheduledFor) || !m.ScheduledUntil.Equal(before.ScheduledUntil)
		if moved && transition == statuspage.TransitionNone {
			if err := t.suppress(m.Components); err != nil {
				return m, err
			}
			if err := t.emitMaintenance(statuspage.EventMaintenanceUpdated, m, nil); err != nil {
				return m, err
			}
		}
		return m, t.advance(&m)
	})
}

// changeMaintenanceComponents saves other components of a maintenance. While it runs, the removed components lose its
// status and the added ones get it.
func (t *tx) changeMaintenanceComponents(m, before statuspage.Maintenance) error {
	if slices.Equal(m.Components, before.Components) {
		return nil
	}
	if _, err := t.Exec(`DELETE FROM maintenance_components WHERE maintenance_id = $1`, m.ID); err != nil {
		return err
	}
	if err := t.saveMaintenanceComponents(m); err != nil {
		return err
	}
	if !before.Running() {
		return nil
	}
	statuses := func(all []statuspage.ComponentName) (out []statuspage.AffectedComponent) {
		for _, c := range all {
			out = append(out, statuspage.AffectedComponent{ComponentID: c.ID, Status: kernel.StatusMaintenance})
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

// PostMaintenanceUpdate adds an update to a maintenance's timeline and emits its event. If the update sets a state, the
// maintenance's state changes as by ChangeMaintenance; otherwise the update has the maintenance's state.
func (s *Store) PostMaintenanceUpdate(
	ctx context.Context, actor kernel.Actor, id string, write field.Change[statuspage.MaintenanceUpdate], seen string,
	save ...SaveResponse[statuspage.MaintenanceUpdate],
) (statuspage.MaintenanceUpdate, error) {
	return writeAs(ctx, s, actor, func(t *tx) (u statuspage.MaintenanceUpdate, err error) {
		m, err := t.lockedMaintenance(actor, id, seen, func(*statuspage.Maintenance) error { return nil })
		if err != nil {
			return u, err
		}
		before := m
		u.State = m.State
		if err := resource.MaintenanceUpdate.Create(&u, write, t.Now); err != nil {
			return u, err
		}
		if err := resource.ChangeMaintenance(&m, func(m *statuspage.Maintenance) error {
			m.State = u.State
			return nil
		}, t.Now); err != nil {
			return u, err
		}
		if n := len(m.Updates); n > 0 {
			if err := kernel.CheckUpdates(m.Updates[n-1].Number); err != nil {
				return u, err
			}
		}
		if err := t.applyTransition(&m, m.TransitionFrom(before), u.Message, statuspage.SystemMessage{}); err != nil {
			return u, err
		}
		u = m.Updates[len(m.Updates)-1]
		if err := t.audit(actor, kernel.AuditCreate, nil, u); err != nil {
			return u, err
		}
		return u,
			t.audit(actor, kernel.AuditUpdate, resource.Maintenance.Audited(before), resource.Maintenance.Audited(m))
	}, save...)
}

// DeleteMaintenance deletes a maintenance. If it has not ended, it is cancelled: its components return to their other
// status, and an event is emitted.
func (s *Store) DeleteMaintenance(ctx context.Context, actor kernel.Actor, id string) error {
	return writeOnlyAs(ctx, s, actor, func(t *tx) error {
		m, err := t.maintenanceOf(actor, id)
		if err == nil {
			m, err = t.lockMaintenance(m, nil)
		}
		if err == nil {
			err = t.removeCauses(m.ID, origin{})
		}
		if err == nil && m.State != statuspage.MaintenanceCompleted {
			err = t.emitMaintenance(statuspage.EventMaintenanceCancelled, m, nil)
		}
		if err == nil {
			err = maintenances.delete(t, m)
		}
		if err == nil {
			err = t.audit(actor, kernel.AuditDelete, resource.Maintenance.Audited(m), nil)
		}
		if err == nil {
			err = t.suppress(m.Components)
		}
		return err
	})
}
