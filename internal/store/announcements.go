package store

import (
	"github.com/allswell/allswell"
	"github.com/allswell/allswell/internal/database"
	"github.com/allswell/allswell/internal/resource"
)

var announcements = collection[allswell.Announcement]{
	table: newTable("announcements", resource.Announcement,
		column[allswell.Announcement]{name: "page_id", at: func(a *allswell.Announcement) any { return &a.PageID }, fixed: true}),
	prefix: allswell.PrefixAnnouncement, order: `ORDER BY shown_from_at DESC, id DESC`,
	place: onPages("announcements", false, func(a *allswell.Announcement) *string { return &a.PageID }),
	allow: (*tx).allowAnnouncement,
}

// Announcements returns the announcements, of which lists have the latest first. Nobody is notified of them.
func (s *Store) Announcements() Collection[allswell.Announcement] {
	return Collection[allswell.Announcement]{s: s, collection: announcements}
}

// notOver is a condition for announcements that are not over at $2.
const notOver = `(shown_until_at IS NULL OR shown_until_at > $2)`

// fillAnnouncements loads the announcements that are not over.
func (c *session) fillAnnouncements(p *allswell.PageContents) (err error) {
	p.Announcements, err = database.Query(c.Session, announcements.scan, `SELECT `+announcements.selected+` FROM announcements
		WHERE page_id = $1 AND `+notOver, p.Page.ID, millis(c.Now))
	return err
}

// allowAnnouncement limits how many announcements of a page are not over. One that was not over may be changed.
func (t *tx) allowAnnouncement(_ allswell.Actor, before, after *allswell.Announcement) error {
	if before != nil && (!before.Over(t.Now) || after.Over(t.Now)) {
		return nil
	}
	n, err := database.One(t.Session, database.ScanInt, `SELECT count(*) FROM announcements WHERE page_id = $1 AND `+notOver+` AND id <> $3`,
		after.PageID, millis(t.Now), after.ID)
	if err != nil {
		return err
	}
	return allswell.CheckLimit("title", "announcements that are not over", int(n), allswell.MaxAnnouncements)
}
