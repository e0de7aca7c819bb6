package store

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/allswell/allswell"
)

const maintenanceColumns = `id, page_id, title, state, scheduled_for_at, scheduled_until_at, begun_at, ended_at, remind_before_ms, reminded_at, created_at, updated_at`

func scanMaintenance(row scanner) (m allswell.PlannedMaintenance, err error) {
	err = row.Scan(&m.ID, &m.PageID, &m.Title, &m.State, instant{&m.ScheduledFor}, instant{&m.ScheduledUntil}, instant{&m.BegunAt},
		instant{&m.EndedAt}, duration{&m.RemindBefore}, instant{&m.RemindedAt}, instant{&m.CreatedAt}, instant{&m.UpdatedAt})
	return
}

const maintenanceUpdateColumns = `id, maintenance_id, number, message, state, created_at`

func scanMaintenanceUpdate(row scanner) (u allswell.MaintenanceUpdate, err error) {
	err = row.Scan(&u.ID, &u.MaintenanceID, &u.Number, &u.Message, &u.State, instant{&u.CreatedAt})
	return
}

// Maintenances lists a page's planned maintenances, the latest first, without
// their updates. state picks by it; "" is all.
func (s *Store) Maintenances(ctx context.Context, workspaceID, slug string, state allswell.MaintenanceState, r Range) ([]allswell.PlannedMaintenance, int, error) {
	p, err := s.pageOf(ctx, workspaceID, slug)
	if err != nil {
		return nil, 0, err
	}
	from, args := `FROM maintenances WHERE page_id = $1`, []any{p.ID}
	if state != "" {
		from, args = from+` AND state = $2`, append(args, string(state))
	}
	return listedWith(ctx, s, (*session).fillMaintained, scanMaintenance, maintenanceColumns, from, `ORDER BY scheduled_for_at DESC, id DESC`, r, args...)
}

// fillMaintained loads the components of the maintenances, in their order.
func (c *session) fillMaintained(maintenances []allswell.PlannedMaintenance) error {
	index := make(map[string]int, len(maintenances))
	for i, m := range maintenances {
		index[m.ID] = i
	}
	type row struct {
		allswell.NamedComponent
		maintenance string
	}
	rows, err := query(c, func(sc scanner) (r row, err error) {
		err = sc.Scan(&r.maintenance, &r.ID, &r.Name)
		return
	}, `SELECT m.maintenance_id, m.component_id, c.name FROM maintenance_components m JOIN components c ON c.id = m.component_id
		WHERE m.maintenance_id IN EACH($1) ORDER BY c.position, c.created_at, c.id`, list(slices.Collect(maps.Keys(index))))
	for _, r := range rows {
		m := &maintenances[index[r.maintenance]]
		m.Components = append(m.Components, r.NamedComponent)
	}
	return err
}

// fillMaintenanceUpdates loads the updates of the maintenances, oldest first.
func (c *session) fillMaintenanceUpdates(maintenances []allswell.PlannedMaintenance) error {
	index := make(map[string]int, len(maintenances))
	for i, m := range maintenances {
		index[m.ID] = i
	}
	updates, err := query(c, scanMaintenanceUpdate, `SELECT `+maintenanceUpdateColumns+` FROM maintenance_updates
		WHERE maintenance_id IN EACH($1) ORDER BY maintenance_id, number`, list(slices.Collect(maps.Keys(index))))
	for _, u := range updates {
		m := &maintenances[index[u.MaintenanceID]]
		m.Updates = append(m.Updates, u)
	}
	return err
}

// filled loads what belongs to one maintenance.
func (c *session) filled(m allswell.PlannedMaintenance, err error) (allswell.PlannedMaintenance, error) {
	if err != nil {
		return m, err
	}
	all := []allswell.PlannedMaintenance{m}
	if err := c.fillMaintained(all); err != nil {
		return m, err
	}
	err = c.fillMaintenanceUpdates(all)
	return all[0], err
}

// maintenanceOf loads a workspace's maintenance alone.
func (c *session) maintenanceOf(workspaceID, id string) (allswell.PlannedMaintenance, error) {
	return one(c, scanMaintenance, `SELECT `+maintenanceColumns+` FROM maintenances
		WHERE id = $1 AND page_id IN (SELECT id FROM pages WHERE workspace_id = $2)`, id, workspaceID)
}

// Maintenance returns a workspace's maintenance with its updates, oldest first.
func (s *Store) Maintenance(ctx context.Context, workspaceID, id string) (allswell.PlannedMaintenance, error) {
	return read(ctx, s, func(c *session) (allswell.PlannedMaintenance, error) {
		return c.filled(c.maintenanceOf(workspaceID, id))
	})
}

// MaintenanceUpdates lists a maintenance's updates, oldest first.
func (s *Store) MaintenanceUpdates(ctx context.Context, workspaceID, id string, r Range) ([]allswell.MaintenanceUpdate, int, error) {
	if _, err := read(ctx, s, func(c *session) (allswell.PlannedMaintenance, error) { return c.maintenanceOf(workspaceID, id) }); err != nil {
		return nil, 0, err
	}
	return listed(ctx, s, scanMaintenanceUpdate, maintenanceUpdateColumns, `FROM maintenance_updates WHERE maintenance_id = $1`, `ORDER BY number`, r, id)
}

// CreateMaintenance plans a maintenance and tells of it. One whose time has come
// begins at once, in the same transaction.
func (s *Store) CreateMaintenance(ctx context.Context, workspaceID, slug string, n allswell.NewMaintenance) (allswell.PlannedMaintenance, error) {
	return write(ctx, s, func(t *tx) (m allswell.PlannedMaintenance, err error) {
		if err := n.Validate(t.now); err != nil {
			return m, err
		}
		p, err := t.pageBySlug(workspaceID, slug)
		if err != nil {
			return m, err
		}
		if err := t.lockMaintained(n.Components, p.ID); err != nil {
			return m, err
		}
		m = n.Plan(p.ID, allswell.NewID(allswell.PrefixMaintenance, t.now), allswell.NewID(allswell.PrefixUpdate, t.now), t.now)
		if m.Components, err = t.namedComponents(p.ID, n.Components); err != nil {
			return m, err
		}
		if _, err := t.exec(`INSERT INTO maintenances (id, page_id, title, state, scheduled_for_at, scheduled_until_at, remind_before_ms, reminded_at, next_edge_at, created_at, updated_at)
			VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $10)`,
			m.ID, m.PageID, m.Title, string(m.State), millis(m.ScheduledFor), millis(m.ScheduledUntil),
			m.RemindBefore.Milliseconds(), millis(m.RemindedAt), millis(m.NextEdge()), millis(t.now)); err != nil {
			return m, err
		}
		t.planned = true
		if err := t.saveMaintained(m); err != nil {
			return m, err
		}
		var first *allswell.MaintenanceUpdate
		if len(m.Updates) > 0 {
			first = &m.Updates[0]
			if err := t.saveMaintenanceUpdate(*first); err != nil {
				return m, err
			}
		}
		if err := t.tell(allswell.MaintenanceEventOf(allswell.MaintenancePlanned, m, first)); err != nil {
			return m, err
		}
		return m, t.advance(&m)
	})
}

// namedComponents returns the components by their ids, and refuses ids that the
// page does not have.
func (t *tx) namedComponents(pageID string, ids []string) ([]allswell.NamedComponent, error) {
	if len(ids) == 0 {
		return nil, nil
	}
	names, err := t.componentNames(pageID, ids, func(i int) string { return fmt.Sprintf("components.%d", i) })
	out := make([]allswell.NamedComponent, len(ids))
	for i, id := range ids {
		out[i] = allswell.NamedComponent{ID: id, Name: names[id]}
	}
	return out, err
}

func (t *tx) saveMaintained(m allswell.PlannedMaintenance) error {
	for _, c := range m.Components {
		if _, err := t.exec(`INSERT INTO maintenance_components (maintenance_id, component_id) VALUES ($1, $2)`, m.ID, c.ID); err != nil {
			return err
		}
	}
	return nil
}

func (t *tx) saveMaintenanceUpdate(u allswell.MaintenanceUpdate) error {
	_, err := t.exec(`INSERT INTO maintenance_updates (id, maintenance_id, number, message, state, created_at) VALUES ($1, $2, $3, $4, $5, $6)`,
		u.ID, u.MaintenanceID, u.Number, u.Message, string(u.State), millis(u.CreatedAt))
	return err
}

// saveMaintenance saves all that a change may have changed but the components.
func (t *tx) saveMaintenance(m allswell.PlannedMaintenance) error {
	t.planned = true
	_, err := t.exec(`UPDATE maintenances SET title = $2, state = $3, scheduled_for_at = $4, scheduled_until_at = $5, begun_at = $6,
			ended_at = $7, remind_before_ms = $8, reminded_at = $9, next_edge_at = $10, updated_at = $11 WHERE id = $1`,
		m.ID, m.Title, string(m.State), millis(m.ScheduledFor), millis(m.ScheduledUntil), millis(m.BegunAt),
		millis(m.EndedAt), m.RemindBefore.Milliseconds(), millis(m.RemindedAt), millis(m.NextEdge()), millis(m.UpdatedAt))
	return err
}

// lockMaintained locks, in the one order, what a maintenance of the components
// may change: their monitors, themselves, and the page.
func (t *tx) lockMaintained(components []string, pageID string) error {
	if _, err := query(&t.session, scanString, `SELECT id FROM monitors WHERE component_id IN EACH($1) ORDER BY id FOR UPDATE`, list(components)); err != nil {
		return err
	}
	if err := t.lockComponents(components); err != nil {
		return err
	}
	return t.touch(pageID)
}

// lockMaintenance loads a maintenance with all locked that a change of it, or
// its having other components, may change.
func (t *tx) lockMaintenance(m allswell.PlannedMaintenance, others []string) (allswell.PlannedMaintenance, error) {
	components, err := query(&t.session, scanString, `SELECT component_id FROM maintenance_components WHERE maintenance_id = $1`, m.ID)
	if err != nil {
		return m, err
	}
	if err := t.lockMaintained(append(components, others...), m.PageID); err != nil {
		return m, err
	}
	if m, err = t.filled(one(&t.session, scanMaintenance, `SELECT `+maintenanceColumns+` FROM maintenances WHERE id = $1 FOR UPDATE`, m.ID)); err != nil {
		return m, err
	}
	for _, c := range m.Components {
		if !slices.Contains(components, c.ID) { // it was given others before the page was locked
			return m, t.lockMaintained(idsOf(m.Components), m.PageID)
		}
	}
	return m, nil
}

// ChangeMaintenance changes a planned maintenance: a human may move it, begin it
// and end it. Subscribers are told of another time, of the beginning and of the
// end.
func (s *Store) ChangeMaintenance(ctx context.Context, workspaceID, id string, ch allswell.MaintenanceChange) (allswell.PlannedMaintenance, error) {
	return write(ctx, s, func(t *tx) (allswell.PlannedMaintenance, error) {
		var others []string
		if ch.Components != nil {
			others = *ch.Components
		}
		m, err := t.maintenanceOf(workspaceID, id)
		if err == nil {
			m, err = t.lockMaintenance(m, others)
		}
		if err == nil {
			err = ch.Validate(m, t.now)
		}
		if err != nil {
			return m, err
		}
		before := m
		turn := m.Apply(ch, t.now)
		if ch.Components != nil {
			if err := t.changeMaintained(&m, before, others); err != nil {
				return m, err
			}
		}
		if err := t.take(&m, turn, turn.Message()); err != nil {
			return m, err
		}
		moved := !m.ScheduledFor.Equal(before.ScheduledFor) || !m.ScheduledUntil.Equal(before.ScheduledUntil)
		if moved && turn == allswell.NoTurn {
			if err := t.hush(m.Components); err != nil {
				return m, err
			}
			if err := t.tell(allswell.MaintenanceEventOf(allswell.MaintenanceUpdated, m, nil)); err != nil {
				return m, err
			}
		}
		return m, t.advance(&m)
	})
}

// changeMaintained gives a maintenance other components. While it runs, those
// that it leaves return, and those that it takes change.
func (t *tx) changeMaintained(m *allswell.PlannedMaintenance, before allswell.PlannedMaintenance, ids []string) (err error) {
	if m.Components, err = t.namedComponents(m.PageID, ids); err != nil {
		return err
	}
	if !slices.Equal(m.Components, before.Components) {
		m.UpdatedAt = t.now
	}
	if _, err := t.exec(`DELETE FROM maintenance_components WHERE maintenance_id = $1`, m.ID); err != nil {
		return err
	}
	if err := t.saveMaintained(*m); err != nil {
		return err
	}
	if !before.Running() {
		return nil
	}
	statuses := func(all []allswell.NamedComponent) (out []allswell.Affected) {
		for _, c := range all {
			out = append(out, allswell.Affected{ComponentID: c.ID, Status: allswell.Maintenance})
		}
		return out
	}
	if m.Running() { // else the turn that ends it takes them all
		if err := t.moveCauses(m.ID, statuses(before.Components), statuses(m.Components)); err != nil {
			return err
		}
	}
	return t.hush(append(slices.Clone(before.Components), m.Components...))
}

// PostMaintenanceUpdate adds an entry to a maintenance's timeline and tells of
// it. With a state it also does what ChangeMaintenance would; "" is none.
func (s *Store) PostMaintenanceUpdate(ctx context.Context, workspaceID, id, message string, state allswell.MaintenanceState) (allswell.MaintenanceUpdate, error) {
	return write(ctx, s, func(t *tx) (u allswell.MaintenanceUpdate, err error) {
		if err := allswell.CheckMessage(message); err != nil {
			return u, err
		}
		m, err := t.maintenanceOf(workspaceID, id)
		if err == nil {
			m, err = t.lockMaintenance(m, nil)
		}
		if err != nil {
			return u, err
		}
		var ch allswell.MaintenanceChange
		if state != "" {
			ch.State = &state
		}
		if err := ch.Validate(m, t.now); err != nil {
			return u, err
		}
		err = t.take(&m, m.Apply(ch, t.now), message)
		return m.Updates[len(m.Updates)-1], err
	})
}

// DeleteMaintenance deletes a maintenance. One that has not ended is cancelled:
// its components return, and subscribers are told.
func (s *Store) DeleteMaintenance(ctx context.Context, workspaceID, id string) error {
	_, err := write(ctx, s, func(t *tx) (struct{}, error) {
		m, err := t.maintenanceOf(workspaceID, id)
		if err == nil {
			m, err = t.lockMaintenance(m, nil)
		}
		if err != nil {
			return struct{}{}, err
		}
		if err := t.dropCauses(m.ID, origin{}); err != nil {
			return struct{}{}, err
		}
		if m.State != allswell.MaintenanceCompleted {
			if err := t.tell(allswell.MaintenanceEventOf(allswell.MaintenanceCancelled, m, nil)); err != nil {
				return struct{}{}, err
			}
		}
		if n, err := t.exec(`DELETE FROM maintenances WHERE id = $1`, m.ID); err != nil || n == 0 {
			return struct{}{}, found(n, err)
		}
		return struct{}{}, t.hush(m.Components)
	})
	return err
}

// maxDue is how many maintenances one call advances at most.
const maxDue = 100

// AdvanceMaintenances does what is due by the clock: it reminds of, begins and
// ends maintenances, each in a transaction of its own. It returns when something
// is due next, by Clock; the zero Time is never. One that fails holds up no
// other; it stays due. Any number of replicas may run it.
func (s *Store) AdvanceMaintenances(ctx context.Context) (next time.Time, err error) {
	type due struct {
		id string
		at time.Time
	}
	edges, err := read(ctx, s, func(c *session) (out []due, err error) {
		out, err = query(c, func(row scanner) (d due, err error) {
			err = row.Scan(&d.id, instant{&d.at})
			return
		}, `SELECT id, next_edge_at FROM maintenances WHERE next_edge_at IS NOT NULL ORDER BY next_edge_at, id LIMIT $1`, maxDue)
		for i, d := range out {
			if d.at.After(c.now) {
				next, out = d.at, out[:i]
				break
			}
		}
		if len(out) == maxDue {
			next = c.now // there may be more
		}
		return
	})
	if err != nil {
		return time.Time{}, err
	}
	var failed []error
	for _, d := range edges {
		at, err := write(ctx, s, func(t *tx) (time.Time, error) { return t.advanceOne(d.id) })
		if errors.Is(err, allswell.ErrBusy) {
			return time.Time{}, err // and so would be the others
		}
		if err != nil {
			failed = append(failed, fmt.Errorf("maintenance %s: %w", d.id, err))
			continue
		}
		if next.IsZero() || !at.IsZero() && at.Before(next) {
			next = at
		}
	}
	return next, errors.Join(failed...)
}

// advanceOne does what is due to a maintenance that may have been changed or
// deleted meanwhile, and returns when something is due to it next.
func (t *tx) advanceOne(id string) (time.Time, error) {
	m, err := one(&t.session, scanMaintenance, `SELECT `+maintenanceColumns+` FROM maintenances WHERE id = $1`, id)
	if err == nil {
		m, err = t.lockMaintenance(m, nil)
	}
	if errors.Is(err, allswell.ErrNotFound) {
		return time.Time{}, nil
	}
	if err == nil {
		err = t.advance(&m)
	}
	return m.NextEdge(), err
}

// advance takes the turns of a locked maintenance that are due.
func (t *tx) advance(m *allswell.PlannedMaintenance) error {
	for {
		turn := m.Advance(t.now)
		if turn == allswell.NoTurn {
			return nil
		}
		if err := t.take(m, turn, turn.Message()); err != nil {
			return err
		}
	}
}

// take saves a maintenance after a turn, or none, and does all that follows:
// the entry in the timeline, if there is a message, the components' causes, the
// monitors' quiet, the event.
func (t *tx) take(m *allswell.PlannedMaintenance, turn allswell.Turn, message string) error {
	kind, told := map[allswell.Turn]allswell.EventKind{
		allswell.TurnRemind: allswell.MaintenanceReminded, allswell.TurnBegin: allswell.MaintenanceBegun,
		allswell.TurnEnd: allswell.MaintenanceEnded, allswell.TurnMissed: allswell.MaintenanceEnded,
	}[turn]
	var u *allswell.MaintenanceUpdate
	if message != "" {
		number := 1
		if n := len(m.Updates); n > 0 {
			number = m.Updates[n-1].Number + 1
		}
		added := m.AddUpdate(allswell.NewID(allswell.PrefixUpdate, t.now), message, number, t.now)
		if err := t.saveMaintenanceUpdate(added); err != nil {
			return err
		}
		u = &added
		if !told {
			kind, told = allswell.MaintenanceUpdated, true
		}
	}
	if err := t.saveMaintenance(*m); err != nil {
		return err
	}
	if err := t.applyTurn(*m, turn); err != nil || !told {
		return err
	}
	return t.tell(allswell.MaintenanceEventOf(kind, *m, u))
}

// applyTurn is what a turn does to the components and their monitors.
func (t *tx) applyTurn(m allswell.PlannedMaintenance, turn allswell.Turn) error {
	if what := turnNews[turn]; what != "" {
		t.news = append(t.news, news{what, "maintenance", m.ID, m.Title})
	}
	switch turn {
	case allswell.TurnBegin:
		for _, c := range m.Components {
			if err := t.putCause(m.ID, c.ID, allswell.Maintenance, origin{}); err != nil {
				return err
			}
		}
	case allswell.TurnEnd:
		if err := t.dropCauses(m.ID, origin{}); err != nil {
			return err
		}
	case allswell.TurnMissed:
	default:
		return nil
	}
	return t.hush(m.Components)
}

// turnNews is what the log says of a turn.
var turnNews = map[allswell.Turn]string{
	allswell.TurnRemind: "maintenance was reminded of", allswell.TurnBegin: "maintenance has begun",
	allswell.TurnEnd: "maintenance has ended", allswell.TurnMissed: "maintenance has ended unseen",
}

// hush brings the monitors of the components up to date with what maintenance
// runs: until its end nothing is expected of them; if none does any more, they
// get a fresh interval from now. All is locked.
func (t *tx) hush(components []allswell.NamedComponent) error {
	monitors, err := query(&t.session, scanMonitor, `SELECT `+monitorColumns+` FROM monitors WHERE component_id IN EACH($1) ORDER BY id FOR UPDATE`, list(idsOf(components)))
	if err != nil {
		return err
	}
	return t.hushMonitors(monitors)
}

// hushMonitors is hush for locked monitors, by the components that they have.
func (t *tx) hushMonitors(monitors []allswell.Monitor) error {
	components := make([]string, len(monitors))
	for i, m := range monitors {
		components[i] = m.ComponentID
	}
	quiet, err := t.quietUntil(components)
	if err != nil {
		return err
	}
	var changed []allswell.Monitor
	for _, m := range monitors {
		if m.Hush(quiet[m.ComponentID], t.now) {
			changed = append(changed, m)
		}
	}
	if err := t.fillDue(changed); err != nil {
		return err
	}
	for _, m := range changed {
		if err := t.saveWait(m); err != nil {
			return err
		}
	}
	return nil
}

func idsOf(components []allswell.NamedComponent) []string {
	ids := make([]string, len(components))
	for i, c := range components {
		ids[i] = c.ID
	}
	return ids
}

// quietUntil returns when the maintenance that runs on each component ends.
func (t *tx) quietUntil(components []string) (map[string]time.Time, error) {
	type row struct {
		component string
		until     time.Time
	}
	rows, err := query(&t.session, func(sc scanner) (r row, err error) {
		err = sc.Scan(&r.component, instant{&r.until})
		return
	}, `SELECT c.component_id, max(m.scheduled_until_at) FROM maintenance_components c JOIN maintenances m ON m.id = c.maintenance_id
		WHERE c.component_id IN EACH($1) AND m.state IN ('in_progress', 'verifying') GROUP BY c.component_id`, list(components))
	quiet := make(map[string]time.Time, len(rows))
	for _, r := range rows {
		quiet[r.component] = r.until
	}
	return quiet, err
}
