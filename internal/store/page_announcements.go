package store

import (
	"github.com/allswell/allswell/internal/domain/kernel"
	"github.com/allswell/allswell/internal/domain/statuspage"
	"github.com/allswell/allswell/internal/resource"
	"github.com/allswell/allswell/internal/store/database"
)

var announcements = collection[statuspage.Announcement]{
	table: newTable("announcements", resource.Announcement,
		column[statuspage.Announcement]{name: "page_id", at: func(a *statuspage.Announcement) any {
			return &a.PageID
		}, fixed: true}),
	prefix: kernel.PrefixAnnouncement, order: `ORDER BY shown_from_at DESC, id DESC`,
	parent: withoutSlugs(pageParent("announcements", func(a *statuspage.Announcement) *string { return &a.PageID })),
	allow:  (*tx).allowAnnouncement,
}

// Announcements returns the announcements. Lists begin with the latest. Nobody is notified of them.
func (s *Store) Announcements() Collection[statuspage.Announcement] {
	return Collection[statuspage.Announcement]{s: s, collection: announcements}
}

// notOver is a condition for announcements that are not over at $2.
const notOver = `(shown_until_at IS NULL OR shown_until_at > $2)`

// fillAnnouncements loads the announcements that are not over.
func (c *session) fillAnnouncements(p *statuspage.PageContents) (err error) {
	p.Announcements, err = database.Query(c.Session, announcements.scan,
		`SELECT `+announcements.selected+` FROM announcements
		WHERE page_id = $1 AND `+notOver, p.Page.ID, millis(c.Now))
	return err
}

// allowAnnouncement limits how many announcements of a page are not over. One that was not over may be changed.
func (t *tx) allowAnnouncement(_ kernel.Actor, before, after *statuspage.Announcement) error {
	if before != nil && (!before.Over(t.Now) || after.Over(t.Now)) {
		return nil
	}
	n, err := database.One(t.Session, database.ScanInt,
		`SELECT count(*) FROM announcements WHERE page_id = $1 AND `+notOver+` AND id <> $3`,
		after.PageID, millis(t.Now), after.ID)
	if err != nil {
		return err
	}
	return kernel.CheckLimit("title", "announcements that are not over", int(n), statuspage.MaxAnnouncements)
}
