package store

import (
	"context"
	"slices"

	"github.com/allswell/allswell/internal/domain/kernel"
	"github.com/allswell/allswell/internal/domain/statuspage"
	"github.com/allswell/allswell/internal/resource"
	"github.com/allswell/allswell/internal/store/database"
)

// PlaceComponent moves a component, given its id or slug, to a place on its page, in its group or another one. Other
// components may get another order to make room; one audit entry records all changes. It returns the new
// statuspage.OrderTag of the page, kernel.ErrPreconditionFailed if the order has changed since the place was chosen,
// and a *kernel.ValidationError if the group or the neighbour is not on the page.
func (s *Store) PlaceComponent(
	ctx context.Context, actor kernel.Actor, slug, ref string, to statuspage.Place,
) (string, error) {
	return writeAs(ctx, s, actor, func(t *tx) (string, error) {
		p, groups, components, err := t.lockOrder(actor, slug)
		if err != nil {
			return "", err
		}
		moved, err := findComponent(components, ref)
		if err != nil {
			return "", err
		}
		if to.Order != statuspage.OrderTag(groups, components) {
			return "", kernel.ErrPreconditionFailed
		}
		if to.GroupID, err = t.groupID(p.ID, to.GroupID); err != nil {
			return "", err
		}
		others := slices.DeleteFunc(inGroup(components, to.GroupID), func(c statuspage.Component) bool {
			return c.ID == moved.ID
		})
		if err := t.placeComponent(actor, moved, others, to); err != nil {
			return "", err
		}
		return t.orderTag(p.ID)
	})
}

// PlaceGroup is PlaceComponent for a group among the groups of its page.
func (s *Store) PlaceGroup(
	ctx context.Context, actor kernel.Actor, slug, ref string, to statuspage.Place,
) (string, error) {
	return writeAs(ctx, s, actor, func(t *tx) (string, error) {
		p, groups, components, err := t.lockOrder(actor, slug)
		if err != nil {
			return "", err
		}
		at, err := indexOfGroup(groups, ref)
		if err != nil {
			return "", err
		}
		if to.Order != statuspage.OrderTag(groups, components) {
			return "", kernel.ErrPreconditionFailed
		}
		moved := groups[at]
		err = placeAmong(t, actor, placedGroup(moved, slices.Delete(groups, at, at+1), to), t.reorderGroup)
		if err != nil {
			return "", err
		}
		return t.orderTag(p.ID)
	})
}

// placeComponent puts a component into a group, at a place among the others there.
func (t *tx) placeComponent(
	actor kernel.Actor, moved statuspage.Component, others []statuspage.Component, to statuspage.Place,
) error {
	return placeAmong(t, actor, placedComponent(moved, others, to),
		func(c statuspage.Component, order int) (statuspage.Component, error) {
			err := resource.Component.Apply(&c, func(c *statuspage.Component) error {
				if c.Order = order; c.ID == moved.ID {
					c.GroupID = to.GroupID
				}
				return nil
			}, t.Now)
			if err == nil {
				err = components.update(t, &c)
			}
			return c, err
		})
}

// findComponent returns the component with an id or slug, or kernel.ErrNotFound.
func findComponent(components []statuspage.Component, ref string) (statuspage.Component, error) {
	at := slices.IndexFunc(components, func(c statuspage.Component) bool { return c.ID == ref || c.Slug == ref })
	if at < 0 {
		return statuspage.Component{}, kernel.ErrNotFound
	}
	return components[at], nil
}

// indexOfGroup returns the index of the group with an id or slug, or kernel.ErrNotFound.
func indexOfGroup(groups []statuspage.Group, ref string) (int, error) {
	at := slices.IndexFunc(groups, func(g statuspage.Group) bool { return g.ID == ref || g.Slug == ref })
	if at < 0 {
		return 0, kernel.ErrNotFound
	}
	return at, nil
}

// inGroup returns the components in a group; "": in none.
func inGroup(components []statuspage.Component, groupID string) []statuspage.Component {
	return slices.DeleteFunc(slices.Clone(components), func(c statuspage.Component) bool {
		return c.GroupID != groupID
	})
}

// lockOrder locks a page with all its components, and loads its groups and components in their order.
func (t *tx) lockOrder(
	actor kernel.Actor, slug string,
) (p statuspage.Page, groups []statuspage.Group, components []statuspage.Component, err error) {
	if p, err = t.pageBySlug(actor, slug); err == nil {
		err = t.lockRows(func() (s lockSet, err error) {
			s.pages = []string{p.ID}
			s.components, err = t.ids(`SELECT id FROM components WHERE page_id = $1`, p.ID)
			return s, err
		})
	}
	if err == nil {
		groups, components, err = t.inOrder(p.ID)
	}
	return p, groups, components, err
}

// inOrder loads the groups and the components of a page in their order.
func (c *session) inOrder(pageID string) (ofPage []statuspage.Group, components []statuspage.Component, err error) {
	ofPage, err = database.Query(c.Session, groups.scan,
		`SELECT `+groups.selected+` FROM component_groups WHERE page_id = $1 `+groups.order, pageID)
	if err == nil {
		components, err = c.components(`WHERE page_id = $1 ORDER BY position, created_at, id`, pageID)
	}
	return ofPage, components, err
}

// orderTag returns the statuspage.OrderTag of a page.
func (c *session) orderTag(pageID string) (string, error) {
	groups, components, err := c.inOrder(pageID)
	return statuspage.OrderTag(groups, components), err
}

// reorderGroup changes the order of a group whose page is locked.
func (t *tx) reorderGroup(g statuspage.Group, order int) (statuspage.Group, error) {
	err := groups.resource.Apply(&g, func(g *statuspage.Group) error { g.Order = order; return nil }, t.Now)
	if err == nil {
		err = groups.update(t, &g)
	}
	return g, err
}

// placement is an object that is put at a place among others of its kind, which are in their order.
type placement[T any] struct {
	moved   T
	others  []T
	audited func(T) kernel.Auditable
	order   func(T) int // of an object
	to      statuspage.Place
}

// placedComponent is a component that is put at a place.
func placedComponent(
	moved statuspage.Component, others []statuspage.Component, to statuspage.Place,
) placement[statuspage.Component] {
	return placement[statuspage.Component]{
		moved, others, resource.Component.Audited, func(c statuspage.Component) int { return c.Order }, to,
	}
}

// placedGroup is a group that is put at a place.
func placedGroup(moved statuspage.Group, others []statuspage.Group, to statuspage.Place) placement[statuspage.Group] {
	return placement[statuspage.Group]{moved, others, groups.resource.Audited, func(g statuspage.Group) int {
		return g.Order
	}, to}
}

// placeAmong carries out a placement. save changes the order of one object.
func placeAmong[T any](t *tx, actor kernel.Actor, p placement[T], save func(T, int) (T, error)) error {
	all, moved := slices.Clone(p.others), p.moved
	ids, orders := make([]string, len(all)), make([]int, len(all))
	for i, o := range all {
		ids[i], orders[i] = p.audited(o).AuditObject().ID, p.order(o)
	}
	at, err := p.to.IndexIn(ids)
	if err != nil {
		return err
	}
	all, orders = slices.Insert(all, at, moved), slices.Insert(orders, at, p.order(moved))
	was, is := placedObject{p.audited(moved), map[string]int{}}, placedObject{p.audited(moved), map[string]int{}}
	for i, order := range makeRoom(orders, at) {
		if i != at && order == orders[i] {
			continue
		}
		after, err := save(all[i], order)
		if err != nil {
			return err
		}
		if i == at {
			is.Auditable = p.audited(after)
			continue
		}
		id := p.audited(after).AuditObject().ID
		was.others[id], is.others[id] = orders[i], order
	}
	return t.audit(actor, kernel.AuditUpdate, was, is)
}

// makeRoom returns the orders of objects with the one at an index between its neighbours. The others ascend, and are
// changed as little as possible.
func makeRoom(orders []int, at int) []int {
	placed := slices.Clone(orders)
	if at+1 < len(placed) {
		placed[at] = min(placed[at], placed[at+1]-1)
	}
	if at > 0 {
		placed[at] = max(placed[at], placed[at-1]+1)
	}
	for i := at + 1; i < len(placed) && placed[i] <= placed[i-1]; i++ {
		placed[i] = placed[i-1] + 1
	}
	if placed[at] < -statuspage.MaxOrder || placed[len(placed)-1] > statuspage.MaxOrder {
		for i := range placed {
			placed[i] = i
		}
	}
	return placed
}

// placedObject is an object that was moved, with the orders of the others that made room for it.
type placedObject struct {
	kernel.Auditable
	others map[string]int // by id
}

// AuditObject returns the form of the move in the audit log.
func (p placedObject) AuditObject() kernel.AuditObject {
	o := p.Auditable.AuditObject()
	if len(p.others) > 0 {
		o.Fields["other_orders"] = p.others
	}
	return o
}
