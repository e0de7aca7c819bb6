package store

import (
	"context"
	"errors"
	"slices"

	"github.com/allswell/allswell"
	"github.com/allswell/allswell/internal/database"
)

const componentColumns = `id, page_id, group_id, slug, name, description, baseline, position, hidden, created_at, updated_at`

func scanComponent(row database.Row) (c allswell.Component, err error) {
	err = row.Scan(&c.ID, &c.PageID, text{&c.GroupID}, text{&c.Slug}, &c.Name, &c.Description, &c.Baseline, &c.Order, &c.Hidden, instant{&c.CreatedAt}, instant{&c.UpdatedAt})
	return
}

// components loads components with their causes. where is the rest of the statement.
func (c *session) components(where string, args ...any) ([]allswell.Component, error) {
	found, err := database.Query(c.Session, scanComponent, `SELECT `+componentColumns+` FROM components `+where, args...)
	if err != nil {
		return nil, err
	}
	return found, c.fillCauses(found)
}

func (c *session) fillCauses(components []allswell.Component) error {
	if len(components) == 0 {
		return nil
	}
	index := make(map[string]int, len(components))
	ids := make([]string, len(components))
	for i, comp := range components {
		index[comp.ID], ids[i] = i, comp.ID
	}
	type row struct {
		allswell.Cause
		component string
	}
	causes, err := database.Query(c.Session, func(sc database.Row) (r row, err error) {
		err = sc.Scan(&r.component, &r.Source, &r.Status, &r.Acknowledged, instant{&r.StartedAt})
		return
	}, `SELECT component_id, source, status, acknowledged, started_at FROM causes
		WHERE component_id IN EACH($1) ORDER BY started_at, source`, list(ids))
	for _, r := range causes {
		comp := &components[index[r.component]]
		comp.Causes = append(comp.Causes, r.Cause)
	}
	return err
}

// component loads the component that where selects, with its causes.
func (c *session) component(where string, args ...any) (allswell.Component, error) {
	found, err := c.components(where, args...)
	if err == nil && len(found) == 0 {
		err = allswell.ErrNotFound
	}
	if err != nil {
		return allswell.Component{}, err
	}
	return found[0], nil
}

// ComponentFilter limits a list of components.
type ComponentFilter struct {
	Filter
	Hidden *bool // nil: all
}

// Components lists a page's components that match the filter, in their order.
func (s *Store) Components(
	ctx context.Context, actor allswell.Actor, slug string, f ComponentFilter, r Pagination,
) ([]allswell.Component, int, error) {
	p, err := s.pageOf(ctx, actor, slug)
	if err != nil {
		return nil, 0, err
	}
	from, args := f.from(`FROM components WHERE page_id = $1`, p.ID)
	if f.Hidden != nil {
		from, args = withCondition(from, args, `hidden = $%d`, *f.Hidden)
	}
	return listQuery[allswell.Component]{
		scan: scanComponent, fill: (*session).fillCauses, columns: componentColumns,
		from: from, args: args, order: `ORDER BY position, created_at, id`,
	}.load(ctx, s, r)
}

// pageOf finds a workspace's page in a transaction of its own.
func (s *Store) pageOf(ctx context.Context, actor allswell.Actor, slug string) (allswell.Page, error) {
	return read(ctx, s, func(c *session) (allswell.Page, error) { return c.pageBySlug(actor, slug) })
}

// Component returns one component of a workspace's page by its id or slug.
func (s *Store) Component(ctx context.Context, actor allswell.Actor, slug, ref string) (allswell.Component, error) {
	return read(ctx, s, func(c *session) (allswell.Component, error) {
		p, err := c.pageBySlug(actor, slug)
		if err != nil {
			return allswell.Component{}, err
		}
		return c.component(`WHERE `+refColumn(ref)+` = $1 AND page_id = $2`, ref, p.ID)
	})
}

// CreateComponent adds a component to a page, after all others unless it is given an
// order.
func (s *Store) CreateComponent(
	ctx context.Context, actor allswell.Actor, slug string, n allswell.NewComponent,
	save ...SaveResponse[allswell.Component],
) (allswell.Component, error) {
	if err := n.Validate(); err != nil {
		return allswell.Component{}, err
	}
	c, err := writeAs(ctx, s, actor, func(t *tx) (allswell.Component, error) {
		p, err := t.pageBySlug(actor, slug)
		if err != nil {
			return allswell.Component{}, err
		}
		return t.createComponent(actor, p, n)
	}, save...)
	return c, s.slugTaken(err)
}

// createComponent adds a component to a page.
func (t *tx) createComponent(actor allswell.Actor, p allswell.Page, n allswell.NewComponent) (allswell.Component, error) {
	err := t.bumpVersion(p.ID)
	if err == nil {
		err = t.checkLimit("name", "components", allswell.MaxComponents, `SELECT count(*) FROM components WHERE page_id = $1`, p.ID)
	}
	if err == nil && n.UniqueName {
		err = t.checkUniqueName("component", n.Name, `FROM components WHERE page_id = $1`, p.ID)
	}
	groupID := ""
	if err == nil {
		groupID, err = t.groupID(p.ID, n.GroupID)
	}
	if err == nil && n.Slug == "" {
		n.Slug, err = t.freeSlug(allswell.SlugOf(n.Name, "component"), `FROM components WHERE page_id = $1`, p.ID)
	}
	if err != nil {
		return allswell.Component{}, err
	}
	c := allswell.Component{
		ID: allswell.NewID(allswell.PrefixComponent, t.Now), PageID: p.ID, GroupID: groupID, Slug: n.Slug, Name: n.Name,
		Description: n.Description, Baseline: n.Status, Hidden: n.Hidden != nil && *n.Hidden, CreatedAt: t.Now, UpdatedAt: t.Now,
	}
	if c.Baseline == "" {
		c.Baseline = allswell.StatusOperational
	}
	if c.Order, err = t.order(n.Order, `SELECT coalesce(max(position) + 1, 0) FROM components WHERE page_id = $1`, p.ID); err != nil {
		return c, err
	}
	_, err = t.Exec(`INSERT INTO components (id, page_id, group_id, slug, name, description, baseline, position, hidden, created_at, updated_at)
			VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11)`,
		c.ID, c.PageID, nullIfEmpty(c.GroupID), c.Slug, c.Name, c.Description, string(c.Baseline), c.Order, c.Hidden, millis(c.CreatedAt), millis(c.UpdatedAt))
	if err == nil {
		err = t.saveStatusChange(c)
	}
	if err == nil {
		err = t.audit(actor, allswell.AuditCreate, nil, c)
	}
	return c, err
}

// order returns the given order, or the next free one.
func (t *tx) order(given *int, next string, pageID string) (int, error) {
	if given != nil {
		return *given, nil
	}
	n, err := database.One(t.Session, database.ScanInt, next, pageID)
	return min(int(n), allswell.MaxOrder), err
}

// checkLimit returns an *allswell.ValidationError if a page already has the maximum
// number of something; count is the statement that counts them. Lock the page before: that
// keeps other transactions from adding more meanwhile.
func (t *tx) checkLimit(field, what string, limit int, count, pageID string) error {
	n, err := database.One(t.Session, database.ScanInt, count, pageID)
	if err != nil {
		return err
	}
	return allswell.CheckLimit(field, what, int(n), limit)
}

// groupID returns the id of a page's group, given its id or slug. It returns an
// *allswell.ValidationError if the page does not have the group.
func (t *tx) groupID(pageID, ref string) (string, error) {
	if ref == "" {
		return "", nil
	}
	id, err := database.One(t.Session, database.ScanString, `SELECT id FROM component_groups WHERE `+refColumn(ref)+` = $1 AND page_id = $2`, ref, pageID)
	if errors.Is(err, allswell.ErrNotFound) {
		var bad allswell.ValidationError
		bad.Add("group", "does not exist on this page")
		err = bad.Err()
	}
	return id, err
}

// ChangeComponent sets the status of a component by hand: it sets the baseline and
// acknowledges the current causes. See docs/design.md, The status of a component. If the
// component does not meet all conditions, the error is allswell.ErrPreconditionFailed.
func (s *Store) ChangeComponent(
	ctx context.Context, actor allswell.Actor, slug, id string, ch allswell.ComponentChange,
	conds ...allswell.Precondition,
) (allswell.Component, error) {
	if err := ch.Validate(); err != nil {
		return allswell.Component{}, err
	}
	return writeAs(ctx, s, actor, func(t *tx) (allswell.Component, error) {
		p, err := t.pageBySlug(actor, slug)
		if err != nil {
			return allswell.Component{}, err
		}
		c, err := t.component(`WHERE id = $1 AND page_id = $2 FOR UPDATE`, id, p.ID)
		if err == nil {
			err = check(conds, c)
		}
		if err != nil {
			return c, err
		}
		before := c
		if c, err = t.setStatus(c, ch); err != nil {
			return c, err
		}
		return c, t.auditComponent(actor, before, c)
	})
}

// auditComponent audits a change of a component by a person. If a monitor, an incident or a
// maintenance gave it the status that the person set, its status is the same before and
// after, and the entry has the statuses that people set.
func (t *tx) auditComponent(actor allswell.Actor, before, after allswell.Component) error {
	if before.Status() == after.Status() {
		before.Causes, after.Causes = nil, nil
	}
	return t.audit(actor, allswell.AuditUpdate, before, after)
}

// setStatus sets the status of a locked component by hand.
func (t *tx) setStatus(c allswell.Component, ch allswell.ComponentChange) (allswell.Component, error) {
	old := c.Status()
	c.Causes = slices.Clone(c.Causes) // the caller's remain as they were
	c.Apply(ch, t.Now)
	if _, err := t.Exec(`UPDATE causes SET acknowledged = TRUE WHERE component_id = $1 AND NOT acknowledged`, c.ID); err != nil {
		return c, err
	}
	if _, err := t.Exec(`UPDATE components SET baseline = $2, description = $3, updated_at = $4 WHERE id = $1`,
		c.ID, string(c.Baseline), c.Description, millis(c.UpdatedAt)); err != nil {
		return c, err
	}
	return c, t.componentChanged(c, old, origin{})
}

// EditComponent changes a component, except its status. The component is given by its
// id, or by its slug if the page's slug is not "". If it does not meet all conditions, the
// error is allswell.ErrPreconditionFailed.
func (s *Store) EditComponent(
	ctx context.Context, actor allswell.Actor, page, ref string, e allswell.ComponentEdit,
	conds ...allswell.Precondition,
) (allswell.Component, error) {
	if err := e.Validate(); err != nil {
		return allswell.Component{}, err
	}
	return writeAs(ctx, s, actor, func(t *tx) (allswell.Component, error) {
		where, args := objectOf(actor, page, ref)
		c, err := t.component(where+` FOR UPDATE`, args...)
		if err == nil {
			err = check(conds, c)
		}
		if err != nil {
			return c, err
		}
		before := c
		if c, err = t.edit(c, e); err != nil {
			return c, err
		}
		return c, t.auditComponent(actor, before, c)
	})
}

// edit changes a locked component, except its status.
func (t *tx) edit(c allswell.Component, e allswell.ComponentEdit) (allswell.Component, error) {
	err := t.bumpVersion(c.PageID)
	if err == nil && e.GroupID != nil {
		var id string
		id, err = t.groupID(c.PageID, *e.GroupID)
		e.GroupID = &id
	}
	if err != nil {
		return c, err
	}
	c.Edit(e, t.Now)
	_, err = t.Exec(`UPDATE components SET name = $2, description = $3, position = $4, group_id = $5, updated_at = $6, hidden = $7 WHERE id = $1`,
		c.ID, c.Name, c.Description, c.Order, nullIfEmpty(c.GroupID), millis(c.UpdatedAt), c.Hidden)
	return c, err
}

// DeleteComponent deletes a component, given its id or slug. Its monitors remain, without a component, and are no
// longer suppressed by its maintenance. If the component does not meet all conditions, the error is
// allswell.ErrPreconditionFailed.
func (s *Store) DeleteComponent(
	ctx context.Context, actor allswell.Actor, slug, ref string, conds ...allswell.Precondition,
) error {
	return writeOnlyAs(ctx, s, actor, func(t *tx) error {
		p, err := t.pageBySlug(actor, slug)
		if err != nil {
			return err
		}
		id, err := database.One(t.Session, database.ScanString, `SELECT id FROM components WHERE `+refColumn(ref)+` = $1 AND page_id = $2`, ref, p.ID)
		if err != nil {
			return err
		}
		if err := t.lockWithMonitors([]string{id}, p.ID); err != nil {
			return err
		}
		monitors, err := t.monitors(`WHERE component_id = $1 ORDER BY id`, id)
		if err != nil {
			return err
		}
		c, err := t.component(`WHERE id = $1 AND page_id = $2`, id, p.ID)
		if err == nil {
			err = check(conds, c)
		}
		if err == nil {
			_, err = t.Exec(`DELETE FROM components WHERE id = $1`, c.ID)
		}
		if err == nil && c.Hidden { // updates may name it
			_, err = t.Exec(`INSERT INTO deleted_hidden_components (id, page_id) VALUES ($1, $2)`, c.ID, c.PageID)
		}
		if err == nil {
			err = t.audit(actor, allswell.AuditDelete, c, nil)
		}
		if err != nil {
			return err
		}
		for i := range monitors {
			monitors[i].ComponentID = ""
		}
		return t.suppressMonitors(monitors)
	})
}
