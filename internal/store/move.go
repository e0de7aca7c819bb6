package store

import (
	"context"
	"slices"

	"github.com/allswell/allswell"
	"github.com/allswell/allswell/internal/database"
)

// MoveComponent moves a component, given its id or slug, by one place within its group: up if by is -1, down if it is 1.
// The first cannot move up and the last not down; they stay. Components of the group may get another order.
func (s *Store) MoveComponent(ctx context.Context, actor allswell.Actor, slug, ref string, by int) error {
	return writeOnlyAs(ctx, s, actor, func(t *tx) error {
		p, err := t.pageBySlug(actor, slug)
		if err == nil {
			err = t.lockRows(func() (s lockSet, err error) {
				s.pages = []string{p.ID}
				s.components, err = t.ids(`SELECT id FROM components WHERE page_id = $1`, p.ID)
				return s, err
			})
		}
		if err != nil {
			return err
		}
		moved, err := t.component(`WHERE `+refColumn(ref)+` = $1 AND page_id = $2`, ref, p.ID)
		if err != nil {
			return err
		}
		all, err := t.components(`WHERE page_id = $1 AND coalesce(group_id, '') = $2 ORDER BY position, created_at, id`, p.ID, moved.GroupID)
		if err != nil {
			return err
		}
		at := slices.IndexFunc(all, func(c allswell.Component) bool { return c.ID == moved.ID })
		orders := make([]int, len(all))
		for i, c := range all {
			orders[i] = c.Order
		}
		for i, order := range moveOrder(orders, at, by) {
			before := all[i]
			if order == before.Order {
				continue
			}
			after, err := t.edit(before, allswell.ComponentEdit{Order: &order})
			if err == nil {
				err = t.auditComponent(actor, before, after)
			}
			if err != nil {
				return err
			}
		}
		return nil
	})
}

// MoveGroup is MoveComponent for a group among the groups of its page.
func (s *Store) MoveGroup(ctx context.Context, actor allswell.Actor, slug, ref string, by int) error {
	return writeOnlyAs(ctx, s, actor, func(t *tx) error {
		moved, err := t.groupOf(actor, slug, ref)
		if moved, err = t.lockGroup(moved, err); err != nil {
			return err
		}
		all, err := database.Query(t.Session, scanGroup, `SELECT `+groupColumns+` FROM component_groups WHERE page_id = $1 ORDER BY position, created_at, id`, moved.PageID)
		if err != nil {
			return err
		}
		at := slices.IndexFunc(all, func(g allswell.Group) bool { return g.ID == moved.ID })
		orders := make([]int, len(all))
		for i, g := range all {
			orders[i] = g.Order
		}
		for i, order := range moveOrder(orders, at, by) {
			before, after := all[i], all[i]
			if order == before.Order {
				continue
			}
			after.Apply(allswell.GroupChange{Order: &order}, t.Now)
			_, err := t.Exec(`UPDATE component_groups SET position = $2, updated_at = $3 WHERE id = $1`, after.ID, after.Order, millis(after.UpdatedAt))
			if err == nil {
				err = t.audit(actor, allswell.AuditUpdate, before, after)
			}
			if err != nil {
				return err
			}
		}
		return nil
	})
}

// moveOrder returns the orders of objects of which the one at an index moves by one place. orders ascend, and are changed
// as little as possible.
func moveOrder(orders []int, at, by int) []int {
	to := at + by
	if to < 0 || to >= len(orders) {
		return orders
	}
	moved := slices.Clone(orders)
	for i := 1; i < len(moved); i++ {
		moved[i] = max(moved[i], moved[i-1]+1) // equal orders would leave the age to decide
	}
	if moved[len(moved)-1] > allswell.MaxOrder {
		for i := range moved {
			moved[i] = i
		}
	}
	moved[at], moved[to] = moved[to], moved[at]
	return moved
}
