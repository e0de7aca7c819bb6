package store

import (
	"github.com/allswell/allswell"
	"github.com/allswell/allswell/internal/resource"
)

var groups = collection[allswell.Group]{
	table: newTable("component_groups", resource.Group,
		column[allswell.Group]{name: "page_id", at: func(g *allswell.Group) any { return &g.PageID }, fixed: true}),
	prefix: allswell.PrefixGroup, order: `ORDER BY position, created_at, id`,
	place: onPages("component_groups", true, func(g *allswell.Group) *string { return &g.PageID }),
	begin: (*tx).beginGroup, allow: (*tx).allowGroup, lockDeletion: (*tx).lockGroupDeletion, deletion: (*tx).groupDeletion,
}

// Groups returns the groups of components, in their order. The components of a group that is deleted are in none.
func (s *Store) Groups() Collection[allswell.Group] {
	return Collection[allswell.Group]{s: s, collection: groups}
}

// beginGroup puts a new group after all others of its page.
func (t *tx) beginGroup(_ allswell.Actor, g *allswell.Group) (err error) {
	g.Order, err = t.order(`SELECT coalesce(max(position) + 1, 0) FROM component_groups WHERE page_id = $1`, g.PageID)
	return err
}

// allowGroup limits how many groups a page has.
func (t *tx) allowGroup(_ allswell.Actor, before, after *allswell.Group) error {
	if before != nil {
		return nil
	}
	return t.checkLimit("name", "groups", allswell.MaxGroups, `SELECT count(*) FROM component_groups WHERE page_id = $1`, after.PageID)
}

// lockGroupDeletion locks the components of a group, because its deletion changes them.
func (t *tx) lockGroupDeletion(g allswell.Group) error {
	return t.lockRows(func() (s lockSet, err error) {
		s.pages = []string{g.PageID}
		s.components, err = t.ids(`SELECT id FROM components WHERE group_id = $1`, g.ID)
		return s, err
	})
}

// groupDeletion returns what the audit log says of a deletion.
func (t *tx) groupDeletion(g allswell.Group) (allswell.Auditable, error) {
	components, err := t.ids(`SELECT id FROM components WHERE group_id = $1 ORDER BY id`, g.ID)
	return deletedGroup{resource.Group.Audited(g), components}, err
}

// deletedGroup is a group with the components that were in it: they are in no group now.
type deletedGroup struct {
	allswell.Auditable
	components []string
}

// AuditObject returns the form of the deletion in the audit log.
func (g deletedGroup) AuditObject() allswell.AuditObject {
	o := g.Auditable.AuditObject()
	o.Fields["components"] = g.components
	return o
}
