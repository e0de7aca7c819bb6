package store

import (
	"context"
	"slices"
	"time"

	"github.com/allswell/allswell"
)

// maxIncidents is the most incidents of one kind that a public page loads at
// once.
const maxIncidents = 1000

// maxPlanned is the most planned maintenances of one kind that a public page
// loads at once.
const maxPlanned = 200

// LoadPage loads all that a page shows, of one moment: groups, components with
// their causes and the changes of their statuses, the incidents that are not
// resolved and the maintenances that are not completed, and those of the last
// allswell.PastDays days, with their updates.
func (s *Store) LoadPage(ctx context.Context, slug string) (allswell.PageContents, error) {
	return read(ctx, s, func(c *session) (p allswell.PageContents, err error) {
		if p.Page, err = c.publicPage(slug); err != nil {
			return
		}
		err = c.fillPage(&p)
		return
	})
}

// Summary computes what visitors of a workspace's page are shown.
func (s *Store) Summary(ctx context.Context, workspaceID, slug string) (allswell.Summary, error) {
	return read(ctx, s, func(c *session) (sum allswell.Summary, err error) {
		var p allswell.PageContents
		if p.Page, err = c.pageBySlug(workspaceID, slug); err != nil {
			return
		}
		if err = c.fillPage(&p); err == nil {
			sum = p.Summarize(c.now)
		}
		return
	})
}

// fillPage loads all that goes with a page.
func (c *session) fillPage(p *allswell.PageContents) (err error) {
	if err = c.fillParts(p); err != nil {
		return
	}
	zone := p.Page.Location()
	past := millis(allswell.NextDay(allswell.Midnight(c.now, zone), 1-allswell.PastDays))
	for _, which := range []struct {
		where string
		since any
	}{{`NOT resolved AND created_at >= $2`, int64(0)}, {`resolved AND created_at >= $2`, past}} {
		found, err := c.incidents(`WHERE page_id = $1 AND `+which.where+` ORDER BY created_at DESC, id DESC LIMIT $3`, p.Page.ID, which.since, maxIncidents)
		if err != nil {
			return err
		}
		p.Incidents = append(p.Incidents, found...)
	}
	for _, which := range []struct {
		where string
		since any
	}{{`state <> 'completed' AND created_at >= $2`, int64(0)}, {`state = 'completed' AND begun_at >= $2`, past}} {
		found, err := c.maintenances(`WHERE page_id = $1 AND `+which.where+` ORDER BY scheduled_for_at DESC, id DESC LIMIT $3`, p.Page.ID, which.since, maxPlanned)
		if err != nil {
			return err
		}
		p.Maintenances = append(p.Maintenances, found...)
	}
	return c.fillHistory(p, allswell.HistoryStart(c.now, zone))
}

// fillParts loads a page's groups and components.
func (c *session) fillParts(p *allswell.PageContents) (err error) {
	p.AsOf = c.now
	if p.Groups, err = query(c, scanGroup, `SELECT `+groupColumns+` FROM component_groups WHERE page_id = $1`, p.Page.ID); err != nil {
		return
	}
	p.Components, err = c.components(`WHERE page_id = $1`, p.Page.ID)
	return
}

// fillHistory loads how the components' statuses changed since an instant, with
// what they were then, and when the service could not listen.
func (c *session) fillHistory(p *allswell.PageContents, since time.Time) error {
	type row struct {
		component string
		allswell.StatusChange
	}
	changes, err := query(c, func(sc scanner) (r row, err error) {
		err = sc.Scan(&r.component, instant{&r.At}, &r.Status)
		return
	}, `SELECT s.component_id, s.changed_at, s.status FROM components c CROSS JOIN status_changes s
		WHERE c.page_id = $1 AND s.component_id = c.id
			AND s.changed_at >= coalesce((SELECT max(o.changed_at) FROM status_changes o WHERE o.component_id = c.id AND o.changed_at <= $2), 0)`, p.Page.ID, millis(since)) // sorted below: they mostly are already
	if err != nil {
		return err
	}
	p.Changes = make(map[string][]allswell.StatusChange, len(p.Components))
	for _, r := range changes {
		p.Changes[r.component] = append(p.Changes[r.component], r.StatusChange)
	}
	for _, of := range p.Changes {
		slices.SortFunc(of, func(a, b allswell.StatusChange) int { return a.At.Compare(b.At) })
	}
	p.Deaf, err = c.holes(since)
	return err
}

// incidents loads incidents with all that belongs to them; where is the rest of
// the statement.
func (c *session) incidents(where string, args ...any) ([]allswell.Incident, error) {
	found, err := query(c, scanIncident, `SELECT `+incidentColumns+` FROM incidents `+where, args...)
	if err == nil {
		err = c.fillUpdates(found)
	}
	if err == nil {
		err = c.fillAffected(found)
	}
	return found, err
}

// maintenances is incidents for maintenances.
func (c *session) maintenances(where string, args ...any) ([]allswell.PlannedMaintenance, error) {
	found, err := query(c, scanMaintenance, `SELECT `+maintenanceColumns+` FROM maintenances `+where, args...)
	if err == nil {
		err = c.fillMaintenanceUpdates(found)
	}
	if err == nil {
		err = c.fillMaintained(found)
	}
	return found, err
}

// MaxNewest is the most incidents, and the most maintenances, that LoadNewest
// loads.
const MaxNewest = 50

// LoadNewest loads a page with its newest incidents and maintenances, whatever
// became of them, at most MaxNewest of each, and without its history.
// componentID picks those that concern it; "" is all.
func (s *Store) LoadNewest(ctx context.Context, slug, componentID string) (allswell.PageContents, error) {
	return read(ctx, s, func(c *session) (p allswell.PageContents, err error) {
		if p.Page, err = c.publicPage(slug); err != nil {
			return
		}
		if err = c.fillParts(&p); err != nil {
			return
		}
		concerns := func(table, column string) string {
			return `WHERE page_id = $1 AND ($2 = '' OR id IN (SELECT ` + column + ` FROM ` + table + ` WHERE component_id = $2))`
		}
		if p.Incidents, err = c.incidents(concerns("incident_components", "incident_id")+` ORDER BY created_at DESC, id DESC LIMIT $3`,
			p.Page.ID, componentID, MaxNewest); err != nil {
			return
		}
		p.Maintenances, err = c.maintenances(concerns("maintenance_components", "maintenance_id")+` ORDER BY scheduled_for_at DESC, id DESC LIMIT $3`,
			p.Page.ID, componentID, MaxNewest)
		return
	})
}

func (c *session) publicPage(slug string) (allswell.Page, error) {
	return one(c, scanPage, `SELECT `+pageColumns+` FROM pages WHERE slug = $1`, slug)
}

// fillUpdates loads the updates of all the incidents, oldest first.
func (c *session) fillUpdates(incidents []allswell.Incident) error {
	index := make(map[string]int, len(incidents))
	ids := make([]string, len(incidents))
	for i, inc := range incidents {
		index[inc.ID], ids[i] = i, inc.ID
	}
	updates, err := query(c, scanUpdate, `SELECT `+updateColumns+` FROM incident_updates WHERE incident_id IN EACH($1) ORDER BY incident_id, number`, list(ids))
	for _, u := range updates {
		inc := &incidents[index[u.IncidentID]]
		inc.Updates = append(inc.Updates, u)
	}
	return err
}

// PublicPages lists all pages, oldest first.
func (s *Store) PublicPages(ctx context.Context) ([]allswell.Page, error) {
	ctx, cancel := context.WithTimeout(ctx, verbTimeout)
	defer cancel()
	pages, err := query(s.bare(ctx), scanPage, `SELECT `+pageColumns+` FROM pages ORDER BY created_at, id`)
	if err != nil {
		return nil, s.unavailable(err)
	}
	s.contact.Store(time.Now().UnixMilli())
	return pages, nil
}

// LoadMonth loads the incidents of a page that began in a month, by the page's
// time zone, and the completed maintenances, with their updates.
func (s *Store) LoadMonth(ctx context.Context, slug string, year int, month time.Month) (allswell.PageContents, error) {
	return read(ctx, s, func(c *session) (p allswell.PageContents, err error) {
		if p.Page, err = c.publicPage(slug); err != nil {
			return
		}
		p.AsOf = c.now
		zone := p.Page.Location()
		from, to := millis(time.Date(year, month, 1, 0, 0, 0, 0, zone)), millis(time.Date(year, month+1, 1, 0, 0, 0, 0, zone))
		if p.Incidents, err = c.incidents(`WHERE page_id = $1 AND created_at >= $2 AND created_at < $3 ORDER BY created_at DESC, id DESC LIMIT $4`,
			p.Page.ID, from, to, maxIncidents); err != nil {
			return
		}
		p.Maintenances, err = c.maintenances(`WHERE page_id = $1 AND state = 'completed' AND begun_at >= $2 AND begun_at < $3
			ORDER BY begun_at DESC, id DESC LIMIT $4`, p.Page.ID, from, to, maxPlanned)
		return
	})
}

// LoadIncident loads one incident of a page with its updates, oldest first: the
// only one of the contents.
func (s *Store) LoadIncident(ctx context.Context, slug, id string) (allswell.PageContents, error) {
	return read(ctx, s, func(c *session) (p allswell.PageContents, err error) {
		if p.Page, err = c.publicPage(slug); err != nil {
			return
		}
		p.AsOf = c.now
		if p.Incidents, err = c.incidents(`WHERE id = $1 AND page_id = $2`, id, p.Page.ID); err == nil && len(p.Incidents) == 0 {
			err = allswell.ErrNotFound
		}
		return
	})
}

// LoadMaintenance is LoadIncident for a maintenance.
func (s *Store) LoadMaintenance(ctx context.Context, slug, id string) (allswell.PageContents, error) {
	return read(ctx, s, func(c *session) (p allswell.PageContents, err error) {
		if p.Page, err = c.publicPage(slug); err != nil {
			return
		}
		p.AsOf = c.now
		if p.Maintenances, err = c.maintenances(`WHERE id = $1 AND page_id = $2`, id, p.Page.ID); err == nil && len(p.Maintenances) == 0 {
			err = allswell.ErrNotFound
		}
		return
	})
}

// LoadPageImage loads a page's picture.
func (s *Store) LoadPageImage(ctx context.Context, slug string, kind allswell.ImageKind) (allswell.PageImage, error) {
	return read(ctx, s, func(c *session) (allswell.PageImage, error) {
		return one(c, func(row scanner) (i allswell.PageImage, err error) {
			err = row.Scan(&i.Kind, &i.Type, &i.Name, &i.Body)
			return
		}, `SELECT kind, type, page_images.name, body FROM page_images JOIN pages ON pages.id = page_id WHERE slug = $1 AND kind = $2`, slug, string(kind))
	})
}

// pollInterval is how often a replica looks for others' commits, in case an
// announcement was missed.
const pollInterval = 500 * time.Millisecond

// FollowPages calls changed for each page that another replica changed, made
// or deleted, until ctx ends. On SQLite there is no other, and it returns at
// once.
func (s *Store) FollowPages(ctx context.Context, changed func(pageID string)) {
	if s.d == &sqliteDialect {
		return
	}
	go func() {
		for ctx.Err() == nil {
			if err := s.listen(ctx, changed); err != nil && ctx.Err() == nil {
				s.log.Warn("listening for other replicas' changes was interrupted", "error", err)
			}
			select {
			case <-ctx.Done():
			case <-time.After(time.Second):
			}
		}
	}()
	known := make(map[string]int64)
	ticker := time.NewTicker(pollInterval)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
		pages, err := s.PublicPages(ctx)
		if err != nil {
			continue // the delay shows on the page by LastContact
		}
		now := make(map[string]int64, len(pages))
		for _, p := range pages {
			now[p.ID] = p.Version
			if known[p.ID] != p.Version {
				changed(p.ID)
			}
			delete(known, p.ID)
		}
		for id := range known {
			changed(id) // gone
		}
		known = now
	}
}
