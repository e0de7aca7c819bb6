package store

import (
	"context"
	"time"

	"github.com/allswell/allswell"
	"github.com/allswell/allswell/internal/database"
)

// PageList is a consistent snapshot of the list of pages that visitors choose from.
type PageList struct {
	Pages []PageListEntry // the oldest pages, oldest first
	Total int             // the number of all public pages
	AsOf  time.Time
}

// PageListEntry is one page of a PageList.
type PageListEntry struct {
	Slug, Name string
	Status     allswell.Status // the rollup of its components
}

// PageList lists the oldest public pages, up to limit, in one query. Its cost depends on the
// number of components, not on other contents of the pages.
//
// The query returns the distinct statuses of each page: the baselines of its components that
// are not hidden, and their causes that are not acknowledged. allswell.Rollup computes the page's status
// from them; TestPageList compares the result with the rollup of the components.
func (s *Store) PageList(ctx context.Context, limit int) (PageList, error) {
	return read(ctx, s, func(c *session) (PageList, error) {
		index := PageList{AsOf: c.Now}
		type row struct {
			slug, name, status string // status "": the page has no components
			total              int
		}
		rows, err := database.Query(c.Session, func(sc database.Row) (r row, err error) {
			err = sc.Scan(&r.slug, &r.name, &r.total, text{&r.status})
			return
		}, `WITH few AS (SELECT id, slug, name, created_at FROM pages WHERE visibility = 'public' ORDER BY created_at, id LIMIT $1)
			SELECT few.slug, few.name, (SELECT count(*) FROM pages WHERE visibility = 'public'), s.status
			FROM few LEFT JOIN (
				SELECT page_id, baseline AS status FROM components WHERE NOT hidden AND page_id IN (SELECT id FROM few)
				UNION
				SELECT c.page_id, k.status FROM causes k JOIN components c ON c.id = k.component_id WHERE NOT k.acknowledged AND NOT c.hidden
			) AS s ON s.page_id = few.id
			ORDER BY few.created_at, few.id`, limit)
		if err != nil {
			return index, err
		}
		for i := 0; i < len(rows); {
			page := rows[i]
			var statuses []allswell.Component
			for ; i < len(rows) && rows[i].slug == page.slug; i++ {
				if rows[i].status != "" {
					statuses = append(statuses, allswell.Component{Baseline: allswell.Status(rows[i].status)})
				}
			}
			index.Pages = append(index.Pages, PageListEntry{page.slug, page.name, allswell.Rollup(statuses)})
			index.Total = page.total
		}
		return index, nil
	})
}
