package store

import (
	"context"

	"github.com/allswell/allswell/internal/domain/kernel"
	"github.com/allswell/allswell/internal/domain/statuspage"
	"github.com/allswell/allswell/internal/store/database"
)

// ListedMaintenance is a maintenance with its page.
type ListedMaintenance struct {
	statuspage.Maintenance
	PageSlug, PageName string
}

var listedMaintenanceColumns = maintenances.selected +
	`, (SELECT slug FROM pages WHERE pages.id = maintenances.page_id), (SELECT name FROM pages
		WHERE pages.id = maintenances.page_id)`

func scanListedMaintenance(row database.Row) (m ListedMaintenance, err error) {
	m.Maintenance, err = maintenances.scan(widerRow{row, []any{&m.PageSlug, &m.PageName}})
	return
}

// ListMaintenances lists the maintenances of the actor's workspace, without their updates: first the maintenances that
// are not completed, beginning with the next one, and then the others, newest first. page is the slug of a page; "":
// all.
func (s *Store) ListMaintenances(
	ctx context.Context, actor kernel.Actor, page string, r Pagination,
) ([]ListedMaintenance, int, error) {
	from, args := accessOf(actor).rows(`maintenances`, page)
	return listQuery[ListedMaintenance]{
		scan: scanListedMaintenance, columns: listedMaintenanceColumns,
		from: from, args: args,
		order: `ORDER BY state = 'completed', CASE WHEN state = 'completed' THEN -scheduled_for_at ELSE ` +
			`scheduled_for_at END, id`,
	}.load(ctx, s, r)
}

// MaintenanceWithPage returns a workspace's maintenance with its page, its components, and its updates, oldest first.
func (s *Store) MaintenanceWithPage(ctx context.Context, actor kernel.Actor, id string) (ListedMaintenance, error) {
	return read(ctx, s, func(c *session) (ListedMaintenance, error) {
		r := accessOf(actor)
		m, err := database.One(c.Session, scanListedMaintenance, `SELECT `+listedMaintenanceColumns+` FROM maintenances
			WHERE id = $1 AND `+r.on(`page_id`, 2), id, r.arg)
		if err == nil {
			m.Maintenance, err = c.withMaintenanceComponents(m.Maintenance, nil)
		}
		return m, err
	})
}
