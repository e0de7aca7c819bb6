package store

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/allswell/allswell/internal/domain/kernel"
	"github.com/allswell/allswell/internal/domain/statuspage"
	"github.com/allswell/allswell/internal/store/database"
)

// PageList is a consistent snapshot of the list of pages that visitors choose from.
type PageList struct {
	Pages []PageListEntry // the oldest pages, oldest first
	Total int             // the number of all public pages
	Home  string          // the slug of the page at "/"; "": none
	AsOf  time.Time
}

// PageListEntry is one page of a PageList.
type PageListEntry struct {
	ID, Slug, Name string
	Status         kernel.Status // the rollup of its components
	// see Summary.LeadIncident; without components and updates, and zero if there is none
	Lead statuspage.Incident
}

// PageList lists the oldest public pages, up to limit. Its cost depends on the numbers of
// components and active incidents, not on other contents of the pages.
//
// The first query returns the distinct statuses of each page: the baselines of its components that
// are not hidden, and their causes that are not acknowledged. statuspage.Rollup computes the page's status
// from them; TestPageList compares the result with the rollup of the components.
func (s *Store) PageList(ctx context.Context, limit int) (PageList, error) {
	return read(ctx, s, func(c *session) (PageList, error) {
		index := PageList{AsOf: c.Now}
		var err error
		if index.Home, err = c.homePage(); err != nil {
			return index, err
		}
		type row struct {
			id, slug, name, status string // status "": the page has no components
			total                  int
		}
		rows, err := database.Query(c.Session, func(sc database.Row) (r row, err error) {
			err = sc.Scan(&r.id, &r.slug, &r.name, &r.total, text{&r.status})
			return
		}, `WITH few AS (SELECT id, slug, name, created_at FROM pages WHERE visibility = 'public'
			ORDER BY created_at, id LIMIT $1)
			SELECT few.id, few.slug, few.name, (SELECT count(*) FROM pages WHERE visibility = 'public'), s.status
			FROM `+fewWithStatuses, limit)
		if err != nil {
			return index, err
		}
		ids := make([]string, len(rows))
		for i, r := range rows {
			ids[i] = r.id
		}
		leads, err := c.leadIncidents(slices.Compact(ids))
		if err != nil {
			return index, err
		}
		for i := 0; i < len(rows); {
			page := rows[i]
			status, n := firstRollup(rows[i:], func(r row) (page, status string) { return r.slug, r.status })
			i += n
			index.Pages = append(index.Pages, PageListEntry{page.id, page.slug, page.name, status, leads[page.id]})
			index.Total = page.total
		}
		return index, nil
	})
}

// leadIncidents returns the incident that each page leads with, without components and updates. Of
// each page it loads only the newest active incident of each impact.
func (c *session) leadIncidents(pages []string) (map[string]statuspage.Incident, error) {
	newest, err := database.Query(c.Session, incidentTable.scan,
		`SELECT `+incidentTable.selected+` FROM incidents WHERE id IN (
		SELECT id FROM (SELECT id, row_number() OVER (PARTITION BY page_id, impact
		ORDER BY created_at DESC, id DESC) AS place
			FROM incidents WHERE NOT draft AND NOT resolved AND page_id IN EACH($1)) AS active
			WHERE place = 1)`, list(pages))
	byPage := make(map[string]statuspage.Summary)
	for _, inc := range newest {
		sum := byPage[inc.PageID]
		sum.Active = append(sum.Active, inc)
		byPage[inc.PageID] = sum
	}
	leads := make(map[string]statuspage.Incident)
	for id, sum := range byPage {
		if lead, ok := sum.LeadIncident(); ok {
			leads[id] = lead
		}
	}
	return leads, err
}

// fewWithStatuses joins the pages of the table expression few with their distinct statuses, NULL for a page without
// components: the baselines of its components that are not hidden, and their causes that are not acknowledged.
const fewWithStatuses = `few LEFT JOIN (
		SELECT page_id, baseline AS status FROM components WHERE NOT hidden AND page_id IN (SELECT id FROM few)
		UNION
		SELECT c.page_id, k.status FROM causes k JOIN components c ON c.id = k.component_id
		WHERE NOT k.acknowledged AND NOT c.hidden AND c.page_id IN (SELECT id FROM few)
	) AS s ON s.page_id = few.id
	ORDER BY few.created_at, few.id`

// firstRollup returns the rollup of the first page in the rows of fewWithStatuses, and the number of its rows. of
// returns the slug and the status of a row, "" for a page without components.
func firstRollup[R any](rows []R, of func(R) (page, status string)) (rollup kernel.Status, n int) {
	first, _ := of(rows[0])
	var statuses []statuspage.Component
	for _, r := range rows {
		page, status := of(r)
		if page != first {
			break
		}
		if n++; status != "" {
			statuses = append(statuses, statuspage.Component{Baseline: kernel.Status(status)})
		}
	}
	return statuspage.Rollup(statuses), n
}

// homePage returns the slug of the page at "/", or "" if there is none: a page that is set as the
// home page of its workspace, or else the first public page. If there are several, the oldest workspace
// decides. A private page is never at "/".
func (c *session) homePage() (string, error) {
	slug, err := database.One(c.Session, database.ScanString,
		`SELECT p.slug FROM pages p JOIN workspaces w ON w.id = p.workspace_id
		WHERE p.visibility = 'public' OR p.home AND p.visibility = 'unlisted'
		ORDER BY CASE WHEN p.home THEN 0 ELSE 1 END, w.created_at, w.id, p.created_at, p.id LIMIT 1`)
	if errors.Is(err, kernel.ErrNotFound) {
		return "", nil
	}
	return slug, err
}
