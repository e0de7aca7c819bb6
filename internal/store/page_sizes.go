package store

import (
	"context"

	"github.com/allswell/allswell/internal/domain/kernel"
	"github.com/allswell/allswell/internal/store/database"
)

// PageSize is the number of objects of a page, by kind.
type PageSize struct{ Components, Incidents, Maintenances, Monitors, Subscribers int }

// PageSizes returns the sizes of pages of the actor's workspace, by their ids.
func (s *Store) PageSizes(ctx context.Context, actor kernel.Actor, ids []string) (map[string]PageSize, error) {
	return read(ctx, s, func(c *session) (map[string]PageSize, error) {
		r := accessOf(actor)
		sizes := make(map[string]PageSize, len(ids))
		_, err := database.Query(c.Session, func(row database.Row) (none struct{}, err error) {
			var id string
			var size PageSize
			err = row.Scan(&id, &size.Components, &size.Incidents, &size.Maintenances, &size.Monitors,
				&size.Subscribers)
			sizes[id] = size
			return
		}, `SELECT id,
				(SELECT count(*) FROM components WHERE page_id = pages.id),
				(SELECT count(*) FROM incidents WHERE page_id = pages.id),
				(SELECT count(*) FROM maintenances WHERE page_id = pages.id),
				(SELECT count(*) FROM monitors WHERE page_id = pages.id),
				(SELECT count(*) FROM subscribers WHERE page_id = pages.id)
			FROM pages WHERE `+r.pages(1)+` AND id IN EACH($2)`, r.arg, list(ids))
		return sizes, err
	})
}
