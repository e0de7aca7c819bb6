package store

import (
	"context"
	"time"

	"github.com/allswell/allswell"
)

// maxIncidents is the most incidents of one kind that a public page loads at
// once.
const maxIncidents = 1000

// LoadPage loads all that a page shows, of one moment: groups, components with
// their causes, the incidents that are not resolved and those of the last
// allswell.PastDays days, with their updates.
func (s *Store) LoadPage(ctx context.Context, slug string) (allswell.PageContents, error) {
	return read(ctx, s, func(c *session) (p allswell.PageContents, err error) {
		p.AsOf = c.now
		if p.Page, err = c.publicPage(slug); err != nil {
			return
		}
		id := p.Page.ID
		if p.Groups, err = query(c, scanGroup, `SELECT `+groupColumns+` FROM component_groups WHERE page_id = $1`, id); err != nil {
			return
		}
		if p.Components, err = c.components(`WHERE page_id = $1`, id); err != nil {
			return
		}
		active, err := query(c, scanIncident, `SELECT `+incidentColumns+` FROM incidents
			WHERE page_id = $1 AND NOT resolved ORDER BY created_at DESC, id DESC LIMIT $2`, id, maxIncidents)
		if err != nil {
			return p, err
		}
		past, err := query(c, scanIncident, `SELECT `+incidentColumns+` FROM incidents
			WHERE page_id = $1 AND resolved AND created_at >= $2 ORDER BY created_at DESC, id DESC LIMIT $3`,
			id, millis(allswell.Midnight(c.now).AddDate(0, 0, 1-allswell.PastDays)), maxIncidents)
		if err != nil {
			return p, err
		}
		p.Incidents = append(active, past...)
		return p, c.fillUpdates(p.Incidents)
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

// LoadMonth loads the incidents of a page that began in the UTC month, with
// their updates.
func (s *Store) LoadMonth(ctx context.Context, slug string, month time.Time) ([]allswell.Incident, error) {
	first := time.Date(month.Year(), month.Month(), 1, 0, 0, 0, 0, time.UTC)
	return read(ctx, s, func(c *session) ([]allswell.Incident, error) {
		p, err := c.publicPage(slug)
		if err != nil {
			return nil, err
		}
		incidents, err := query(c, scanIncident, `SELECT `+incidentColumns+` FROM incidents
			WHERE page_id = $1 AND created_at >= $2 AND created_at < $3 ORDER BY created_at DESC, id DESC LIMIT $4`,
			p.ID, millis(first), millis(first.AddDate(0, 1, 0)), maxIncidents)
		if err != nil {
			return nil, err
		}
		return incidents, c.fillUpdates(incidents)
	})
}

// LoadIncident loads one incident of a page with its updates, oldest first.
func (s *Store) LoadIncident(ctx context.Context, slug, id string) (allswell.Page, allswell.Incident, error) {
	type both struct {
		page     allswell.Page
		incident allswell.Incident
	}
	out, err := read(ctx, s, func(c *session) (b both, err error) {
		if b.page, err = c.publicPage(slug); err != nil {
			return
		}
		b.incident, err = one(c, scanIncident, `SELECT `+incidentColumns+` FROM incidents WHERE id = $1 AND page_id = $2`, id, b.page.ID)
		if err != nil {
			return
		}
		one := []allswell.Incident{b.incident}
		err = c.fillUpdates(one)
		b.incident = one[0]
		return
	})
	return out.page, out.incident, err
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
