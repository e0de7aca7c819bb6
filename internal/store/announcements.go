package store

import (
	"context"

	"github.com/allswell/allswell"
	"github.com/allswell/allswell/internal/database"
)

const announcementColumns = `id, page_id, title, message, level, shown_from_at, shown_until_at, created_at, updated_at`

func scanAnnouncement(row database.Row) (a allswell.Announcement, err error) {
	err = row.Scan(&a.ID, &a.PageID, &a.Title, &a.Message, &a.Level, instant{&a.ShownFrom}, instant{&a.ShownUntil}, instant{&a.CreatedAt}, instant{&a.UpdatedAt})
	return
}

// notOver is a condition for announcements that are not over at $2.
const notOver = `(shown_until_at IS NULL OR shown_until_at > $2)`

// fillAnnouncements loads the announcements that are not over.
func (c *session) fillAnnouncements(p *allswell.PageContents) (err error) {
	p.Announcements, err = database.Query(c.Session, scanAnnouncement, `SELECT `+announcementColumns+` FROM announcements
		WHERE page_id = $1 AND `+notOver, p.Page.ID, millis(c.Now))
	return err
}

// Announcements lists a page's announcements, the latest first.
func (s *Store) Announcements(
	ctx context.Context, actor allswell.Actor, slug string, r Pagination,
) ([]allswell.Announcement, int, error) {
	p, err := s.pageOf(ctx, actor, slug)
	if err != nil {
		return nil, 0, err
	}
	return listQuery[allswell.Announcement]{
		scan: scanAnnouncement, columns: announcementColumns,
		from: `FROM announcements WHERE page_id = $1`, args: []any{p.ID}, order: `ORDER BY shown_from_at DESC, id DESC`,
	}.load(ctx, s, r)
}

// announcementOf loads an announcement of a workspace.
func (c *session) announcementOf(actor allswell.Actor, id string) (allswell.Announcement, error) {
	where, args := objectOf(actor, "", id)
	return database.One(c.Session, scanAnnouncement, `SELECT `+announcementColumns+` FROM announcements `+where, args...)
}

// lockAnnouncement loads an announcement of a workspace under its page's lock.
func (t *tx) lockAnnouncement(actor allswell.Actor, id string) (allswell.Announcement, error) {
	a, err := t.announcementOf(actor, id)
	if err == nil {
		err = t.bumpVersion(a.PageID)
	}
	if err != nil {
		return a, err
	}
	return t.announcementOf(actor, id)
}

// Announcement returns a workspace's announcement.
func (s *Store) Announcement(ctx context.Context, actor allswell.Actor, id string) (allswell.Announcement, error) {
	return read(ctx, s, func(c *session) (allswell.Announcement, error) { return c.announcementOf(actor, id) })
}

// checkAnnouncements returns an *allswell.ValidationError if the page has too many announcements that are not over,
// beside the one with the given id.
func (t *tx) checkAnnouncements(pageID, besides string) error {
	n, err := database.One(t.Session, database.ScanInt, `SELECT count(*) FROM announcements WHERE page_id = $1 AND `+notOver+` AND id <> $3`,
		pageID, millis(t.Now), besides)
	if err != nil {
		return err
	}
	return allswell.CheckLimit("title", "announcements that are not over", int(n), allswell.MaxAnnouncements)
}

// CreateAnnouncement adds an announcement to a page. Nobody is notified.
func (s *Store) CreateAnnouncement(
	ctx context.Context, actor allswell.Actor, slug string, n allswell.NewAnnouncement,
	save ...SaveResponse[allswell.Announcement],
) (allswell.Announcement, error) {
	return writeAs(ctx, s, actor, func(t *tx) (a allswell.Announcement, err error) {
		if err := n.Validate(t.Now); err != nil {
			return a, err
		}
		p, err := t.pageBySlug(actor, slug)
		if err == nil {
			err = t.bumpVersion(p.ID)
		}
		if err == nil {
			err = t.checkAnnouncements(p.ID, "")
		}
		if err != nil {
			return a, err
		}
		a = n.Create(p.ID, allswell.NewID(allswell.PrefixAnnouncement, t.Now), t.Now)
		_, err = t.Exec(`INSERT INTO announcements (`+announcementColumns+`) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)`,
			a.ID, a.PageID, a.Title, a.Message, string(a.Level), millis(a.ShownFrom), millis(a.ShownUntil), millis(a.CreatedAt), millis(a.UpdatedAt))
		if err == nil {
			err = t.audit(actor, allswell.AuditCreate, nil, a)
		}
		return a, err
	}, save...)
}

// ChangeAnnouncement changes an announcement. If it does not meet all conditions, the error is
// allswell.ErrPreconditionFailed.
func (s *Store) ChangeAnnouncement(
	ctx context.Context, actor allswell.Actor, id string, ch allswell.AnnouncementChange,
	conds ...allswell.Precondition,
) (allswell.Announcement, error) {
	return writeAs(ctx, s, actor, func(t *tx) (allswell.Announcement, error) {
		a, err := t.lockAnnouncement(actor, id)
		if err == nil {
			err = check(conds, a)
		}
		if err != nil {
			return a, err
		}
		before := a
		if err := a.Apply(ch, t.Now); err != nil {
			return before, err
		}
		if before.Over(t.Now) && !a.Over(t.Now) {
			if err := t.checkAnnouncements(a.PageID, a.ID); err != nil {
				return before, err
			}
		}
		_, err = t.Exec(`UPDATE announcements SET title = $2, message = $3, level = $4, shown_from_at = $5, shown_until_at = $6, updated_at = $7 WHERE id = $1`,
			a.ID, a.Title, a.Message, string(a.Level), millis(a.ShownFrom), millis(a.ShownUntil), millis(a.UpdatedAt))
		if err == nil {
			err = t.audit(actor, allswell.AuditUpdate, before, a)
		}
		return a, err
	})
}

// DeleteAnnouncement deletes an announcement.
func (s *Store) DeleteAnnouncement(ctx context.Context, actor allswell.Actor, id string) error {
	return writeOnlyAs(ctx, s, actor, func(t *tx) error {
		a, err := t.lockAnnouncement(actor, id)
		if err != nil {
			return err
		}
		n, err := t.Exec(`DELETE FROM announcements WHERE id = $1`, a.ID)
		if err = requireRow(n, err); err == nil {
			err = t.audit(actor, allswell.AuditDelete, a, nil)
		}
		return err
	})
}
