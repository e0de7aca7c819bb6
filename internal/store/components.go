package store

import (
	"context"
	"errors"
	"slices"

	"github.com/allswell/allswell/internal/domain/kernel"
	"github.com/allswell/allswell/internal/domain/statuspage"
	"github.com/allswell/allswell/internal/resource"
	"github.com/allswell/allswell/internal/store/database"
)

var components = collection[statuspage.Component]{
	table: newTable("components", resource.Component,
		column[statuspage.Component]{name: "page_id", at: func(c *statuspage.Component) any {
			return &c.PageID
		}, fixed: true},
		column[statuspage.Component]{name: "baseline", at: func(c *statuspage.Component) any { return &c.Baseline }}),
	prefix: kernel.PrefixComponent, order: `ORDER BY position, created_at, id`, parent: componentParent(),
	fill:  (*session).fillCauses,
	begin: (*tx).beginComponent, resolve: (*tx).resolveGroup, allow: (*tx).allowComponent, saved: (*tx).componentSaved,
	audited: statusByHand, lockDeletion: (*tx).lockComponentDeletion, remove: (*tx).removeComponent,
}

// Components returns the components of pages, in their order. Setting the status of a component sets it by hand: see
// docs/design.md, The status of a component. If a component is deleted, its monitors remain, without a component, and
// are no longer suppressed by its maintenance.
func (s *Store) Components() Collection[statuspage.Component] {
	return Collection[statuspage.Component]{s: s, collection: components}
}

// componentParent is the parent of components, which are locked before their pages.
func componentParent() parent[statuspage.Component] {
	p := pageParent("components", func(c *statuspage.Component) *string { return &c.PageID })
	p.lock = func(t *tx, _ kernel.Actor, c *statuspage.Component, id string) error {
		if err := t.lockComponents([]string{id}); err != nil {
			return err
		}
		return t.bumpVersion(c.PageID)
	}
	return p
}

// beginComponent puts a new component after all others of its page.
func (t *tx) beginComponent(_ kernel.Actor, c *statuspage.Component) (err error) {
	c.Order, err = t.order(`SELECT coalesce(max(position) + 1, 0) FROM components WHERE page_id = $1`, c.PageID)
	return err
}

// resolveGroup replaces the slug of the group of a component by its id.
func (t *tx) resolveGroup(_ kernel.Actor, _, c *statuspage.Component) error {
	id, err := t.groupID(c.PageID, c.GroupID)
	if err == nil {
		c.GroupID = id
	}
	return err
}

// groupID returns the id of a page's group, given its id or slug. It returns a *kernel.ValidationError if the page does
// not have the group.
func (t *tx) groupID(pageID, ref string) (string, error) {
	if ref == "" {
		return "", nil
	}
	id, err := database.One(t.Session, database.ScanString,
		`SELECT id FROM component_groups WHERE `+refColumn(ref)+` = $1 AND page_id = $2`, ref, pageID)
	if errors.Is(err, kernel.ErrNotFound) {
		var bad kernel.ValidationError
		bad.Add("group", "does not exist on this page")
		err = bad.Err()
	}
	return id, err
}

// allowComponent limits how many components a page has.
func (t *tx) allowComponent(_ kernel.Actor, before, after *statuspage.Component) error {
	if before != nil {
		return nil
	}
	return t.checkLimit("name", "components", kernel.MaxComponents,
		`SELECT count(*) FROM components WHERE page_id = $1`, after.PageID)
}

// componentSaved saves the status of a component that was created, or whose status was set by hand.
func (t *tx) componentSaved(before *statuspage.Component, c statuspage.Component) error {
	switch {
	case before == nil:
		return t.saveStatusChange(c)
	case c.Baseline == before.Baseline && slices.Equal(c.Causes, before.Causes):
		return nil
	}
	_, err := t.Exec(`UPDATE causes SET acknowledged = TRUE WHERE component_id = $1 AND NOT acknowledged`, c.ID)
	if err != nil {
		return err
	}
	return t.componentChanged(c, before.Status(), origin{})
}

// statusByHand returns what the audit log records about a change by a person. If a monitor, an incident or a
// maintenance gave the component the status that the person set, its status is the same before and after, and the entry
// has the statuses that people set.
func statusByHand(before, after statuspage.Component) (was, is statuspage.Component) {
	if before.Status() == after.Status() {
		before.Causes, after.Causes = nil, nil
	}
	return before, after
}

// lockComponentDeletion locks the monitors of a component, because its deletion changes them.
func (t *tx) lockComponentDeletion(c statuspage.Component) error {
	return t.lockWithMonitors([]string{c.ID}, c.PageID)
}

// removeComponent deletes a locked component.
func (t *tx) removeComponent(c statuspage.Component) error {
	monitors, err := t.monitors(`WHERE component_id = $1 ORDER BY id`, c.ID)
	if err == nil {
		_, err = t.Exec(`DELETE FROM components WHERE id = $1`, c.ID)
	}
	if err == nil && c.Hidden { // updates may name it
		_, err = t.Exec(`INSERT INTO deleted_hidden_components (id, page_id) VALUES ($1, $2)`, c.ID, c.PageID)
	}
	if err != nil {
		return err
	}
	for i := range monitors {
		monitors[i].ComponentID = ""
	}
	return t.suppressMonitors(monitors)
}

// components loads components with their causes. where is the rest of the statement.
func (c *session) components(where string, args ...any) ([]statuspage.Component, error) {
	found, err := database.Query(c.Session, components.scan, `SELECT `+components.selected+` FROM components `+where,
		args...)
	if err != nil {
		return nil, err
	}
	return found, c.fillCauses(found)
}

// fillCauses loads the causes of components.
func (c *session) fillCauses(components []statuspage.Component) error {
	if len(components) == 0 {
		return nil
	}
	index := make(map[string]int, len(components))
	ids := make([]string, len(components))
	for i, comp := range components {
		index[comp.ID], ids[i] = i, comp.ID
	}
	type row struct {
		statuspage.Cause
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
func (c *session) component(where string, args ...any) (statuspage.Component, error) {
	found, err := c.components(where, args...)
	if err == nil && len(found) == 0 {
		err = kernel.ErrNotFound
	}
	if err != nil {
		return statuspage.Component{}, err
	}
	return found[0], nil
}

// pageOf finds a workspace's page in a transaction of its own.
func (s *Store) pageOf(ctx context.Context, actor kernel.Actor, slug string) (statuspage.Page, error) {
	return read(ctx, s, func(c *session) (statuspage.Page, error) { return c.pageBySlug(actor, slug) })
}

// order returns the next free order.
func (t *tx) order(next string, pageID string) (int, error) {
	n, err := database.One(t.Session, database.ScanInt, next, pageID)
	return min(int(n), statuspage.MaxOrder), err
}

// checkLimit returns a *kernel.ValidationError if a page already has the maximum number of something; count is the
// statement that counts them. Lock the page before: that keeps other transactions from adding more meanwhile.
func (t *tx) checkLimit(field, what string, limit int, count, pageID string) error {
	n, err := database.One(t.Session, database.ScanInt, count, pageID)
	if err != nil {
		return err
	}
	return kernel.CheckLimit(field, what, int(n), limit)
}
