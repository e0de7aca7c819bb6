package store

import (
	"github.com/allswell/allswell/internal/domain/kernel"
	"github.com/allswell/allswell/internal/domain/statuspage"
	"github.com/allswell/allswell/internal/resource"
)

var groups = collection[statuspage.Group]{
	table: newTable("component_groups", resource.Group,
		column[statuspage.Group]{name: "page_id", at: func(g *statuspage.Group) any { return &g.PageID }, fixed: true}),
	prefix: kernel.PrefixGroup, order: `ORDER BY position, created_at, id`,
	parent: pageParent("component_groups", func(g *statuspage.Group) *string { return &g.PageID }),
	begin:  (*tx).beginGroup, allow: (*tx).allowGroup, lockDeletion: (*tx).lockGroupDeletion,
	deletion: (*tx).groupDeletion,
}

// Groups returns the groups of components, in their order. The components of a group that is deleted are in none.
func (s *Store) Groups() Collection[statuspage.Group] {
	return Collection[statuspage.Group]{s: s, collection: groups}
}

// beginGroup puts a new group after all others of its page.
func (t *tx) beginGroup(_ kernel.Actor, g *statuspage.Group) (err error) {
	g.Order, err = t.order(`SELECT coalesce(max(position) + 1, 0) FROM component_groups WHERE page_id = $1`, g.PageID)
	return err
}

// allowGroup limits how many groups a page has.
func (t *tx) allowGroup(_ kernel.Actor, before, after *statuspage.Group) error {
	if before != nil {
		return nil
	}
	return t.checkLimit("name", "groups", kernel.MaxGroups, `SELECT count(*) FROM component_groups WHERE page_id = $1`,
		after.PageID)
}

// lockGroupDeletion locks the components of a group, because its deletion changes them.
func (t *tx) lockGroupDeletion(g statuspage.Group) error {
	return t.lockRows(func() (s lockSet, err error) {
		s.pages = []string{g.PageID}
		s.components, err = t.ids(`SELECT id FROM components WHERE group_id = $1`, g.ID)
		return s, err
	})
}

// groupDeletion returns what the audit log says of a deletion.
func (t *tx) groupDeletion(g statuspage.Group) (kernel.Auditable, error) {
	components, err := t.ids(`SELECT id FROM components WHERE group_id = $1 ORDER BY id`, g.ID)
	return deletedGroup{resource.Group.Audited(g), components}, err
}

// deletedGroup is a group with the components that were in it: they are in no group now.
type deletedGroup struct {
	kernel.Auditable
	components []string
}

// AuditObject returns the form of the deletion in the audit log.
func (g deletedGroup) AuditObject() kernel.AuditObject {
	o := g.Auditable.AuditObject()
	o.Fields["components"] = g.components
	return o
}
