package store

import (
	"context"
	"slices"
	"time"

	"github.com/allswell/allswell/internal/domain/kernel"
	"github.com/allswell/allswell/internal/domain/statuspage"
	"github.com/allswell/allswell/internal/store/database"
)

// maxIncidents is the maximum number of incidents of one kind that a public page loads.
const maxIncidents = 1000

// maxEarlier is the maximum number of incidents that began before the month of a history.
const maxEarlier = 100

// maxPlanned is the maximum number of planned maintenances of one kind that a public page loads.
const maxPlanned = 200

// LoadPage loads a consistent snapshot of everything that a page shows: groups, components with their causes and status
// changes, unresolved incidents, maintenances that are not completed, and both of the last statuspage.PastDays days. Of
// current incidents and maintenances it loads the newest updates, within a limit of number and size; of past ones the
// newest update. Updates that do not fit are Truncated.
func (s *Store) LoadPage(ctx context.Context, slug string) (statuspage.PageContents, error) {
	return read(ctx, s, func(c *session) (p statuspage.PageContents, err error) {
		if p.Page, err = c.publicPage(slug); err != nil {
			return
		}
		if err = c.fillPage(&p); err == nil {
			err = c.fillSMS(&p.Page)
		}
		return
	})
}

// Summary returns the contents of a workspace's page as visitors see them.
func (s *Store) Summary(ctx context.Context, actor kernel.Actor, slug string) (statuspage.Summary, error) {
	return read(ctx, s, func(c *session) (sum statuspage.Summary, err error) {
		var p statuspage.PageContents
		if p.Page, err = c.pageBySlug(actor, slug); err != nil {
			return
		}
		if err = c.fillPage(&p); err == nil {
			sum = p.Summarize(c.Now)
		}
		return
	})
}

// fillPage loads the contents of a page.
func (c *session) fillPage(p *statuspage.PageContents) (err error) {
	if err = c.fillParts(p); err != nil {
		return
	}
	view, err := c.visitorView(p.Page.ID)
	if err != nil {
		return err
	}
	zone := p.Page.Location()
	past := millis(statuspage.AddDays(statuspage.Midnight(c.Now, zone), 1-statuspage.PastDays))
	shown, named := timelines{each: pageTimeline, bytes: timelineBytes}, timelines{each: 1, bytes: timelineBytes}
	for _, which := range []struct {
		timelines
		where string
		since any
	}{{shown, `NOT resolved AND created_at >= $2`, int64(0)}, {named, `resolved AND created_at >= $2`, past}} {
		found, err := view.publishedIncidents(which.timelines,
			`page_id = $1 AND `+which.where+` ORDER BY created_at DESC, id DESC LIMIT $3`, p.Page.ID, which.since,
			maxIncidents)
		if err != nil {
			return err
		}
		p.Incidents = append(p.Incidents, found...)
		p.Since = sinceOf(found)
	}
	if err := c.fillPostmortems(p.Incidents, 0); err != nil {
		return err
	}
	for _, which := range []struct {
		timelines
		where string
		since any
	}{
		{shown, `state <> 'completed' AND created_at >= $2`, int64(0)},
		{named, `state = 'completed' AND begun_at >= $2`, past},
	} {
		found, err := view.publicMaintenances(which.timelines,
			`page_id = $1 AND `+which.where+` ORDER BY scheduled_for_at DESC, id DESC LIMIT $3`, p.Page.ID, which.since,
			maxPlanned)
		if err != nil {
			return err
		}
		p.Maintenances = append(p.Maintenances, found...)
	}
	if err := c.fillAnnouncements(p); err != nil {
		return err
	}
	return c.fillHistory(p, statuspage.HistoryStart(c.Now, zone))
}

// sinceOf returns when the oldest of the incidents began, or the zero Time if there are no older ones.
func sinceOf(newestFirst []statuspage.Incident) time.Time {
	if len(newestFirst) < maxIncidents {
		return time.Time{}
	}
	return newestFirst[maxIncidents-1].CreatedAt
}

// fillParts loads a page's groups, and the components that are not hidden.
func (c *session) fillParts(p *statuspage.PageContents) (err error) {
	p.AsOf = c.Now
	p.Groups, err = database.Query(c.Session, groups.scan,
		`SELECT `+groups.selected+` FROM component_groups WHERE page_id = $1`, p.Page.ID)
	if err != nil {
		return
	}
	p.Components, err = c.components(`WHERE page_id = $1 AND NOT hidden`, p.Page.ID)
	return
}

// fillHistory loads the status changes of the components since an instant, the last one
// before it, and the listening gaps.
func (c *session) fillHistory(p *statuspage.PageContents, since time.Time) error {
	type row struct {
		component string
		statuspage.StatusChange
	}
	// They are sorted below: mostly they are already.
	changes, err := database.Query(c.Session, func(sc database.Row) (r row, err error) {
		err = sc.Scan(&r.component, instant{&r.At}, &r.Status)
		return
	}, `SELECT s.component_id, s.changed_at, s.status FROM components c CROSS JOIN status_changes s
		WHERE c.page_id = $1 AND NOT c.hidden AND s.component_id = c.id
			AND s.changed_at >= coalesce((SELECT max(o.changed_at) FROM status_changes o WHERE o.component_id = c.id
			AND o.changed_at <= $2), 0)`, p.Page.ID, millis(since))
	if err != nil {
		return err
	}
	p.Changes = make(map[string][]statuspage.StatusChange, len(p.Components))
	for _, r := range changes {
		p.Changes[r.component] = append(p.Changes[r.component], r.StatusChange)
	}
	for _, of := range p.Changes {
		slices.SortFunc(of, func(a, b statuspage.StatusChange) int { return a.At.Compare(b.At) })
	}
	if err := c.correctHistory(p, since); err != nil {
		return err
	}
	if p.Gaps, err = c.gaps(since); err != nil {
		return err
	}
	p.CheckingGaps, err = c.checkingGaps(`m.page_id = $3 AND m.component_id IS NOT NULL`, since, p.Page.ID)
	return err
}

// correctHistory corrects the status changes for incidents that were recorded after they had begun.
func (c *session) correctHistory(p *statuspage.PageContents, since time.Time) error {
	type row struct {
		component string
		from, to  time.Time
		status    kernel.Status
	}
	rows, err := database.Query(c.Session, func(sc database.Row) (r row, err error) {
		err = sc.Scan(&r.component, instant{&r.from}, instant{&r.to}, &r.status)
		return
	}, `SELECT a.component_id, i.created_at, i.unnoticed_until_at, a.status FROM incidents i
		JOIN incident_components a ON a.incident_id = i.id
		WHERE i.page_id = $1 AND NOT i.draft AND i.unnoticed_until_at > $2
		ORDER BY i.created_at DESC, i.id, a.component_id LIMIT $3`, p.Page.ID, millis(since), maxNamedAffected)
	for _, r := range rows {
		if changes, ok := p.Changes[r.component]; ok {
			p.Changes[r.component] = statuspage.Worsen(changes, r.from, r.to, r.status.Canonical())
		}
	}
	return err
}

// visitorView loads what visitors see of a page: no drafts, and no hidden components.
type visitorView struct {
	*session
	hidden map[string]bool // see hiddenComponents
}

func (c *session) visitorView(pageID string) (visitorView, error) {
	hidden, err := c.hiddenComponents(pageID)
	return visitorView{c, hidden}, err
}

// visitedPage loads a page without its contents, and what loads them for visitors.
func (c *session) visitedPage(slug string) (p statuspage.PageContents, v visitorView, err error) {
	p.AsOf = c.Now
	if p.Page, err = c.publicPage(slug); err == nil {
		v, err = c.visitorView(p.Page.ID)
	}
	return
}

// publishedIncidents loads incidents of the page that are not drafts. where is the statement after WHERE.
func (c visitorView) publishedIncidents(t timelines, where string, args ...any) ([]statuspage.Incident, error) {
	found, err := database.Query(c.Session, incidentTable.scan,
		`SELECT `+incidentTable.selected+` FROM incidents WHERE NOT draft AND `+where, args...)
	if err != nil || len(found) == 0 {
		return found, err
	}
	if err = c.fillUpdates(found, t); err == nil {
		err = c.fillAffected(found)
	}
	if err != nil {
		return nil, err
	}
	for i := range found {
		inc := &found[i]
		inc.Affected = slices.DeleteFunc(inc.Affected, func(a statuspage.AffectedComponent) bool { return a.Hidden })
		for k := range inc.Updates {
			u := &inc.Updates[k]
			u.Affected = withoutHiddenChanges(u.Affected, c.hidden)
		}
	}
	return found, nil
}

// hiddenComponents returns the ids of the hidden components of a page, including components that were hidden when they
// were deleted.
func (c *session) hiddenComponents(pageID string) (map[string]bool, error) {
	ids, err := database.Query(c.Session, database.ScanString, `SELECT id FROM components WHERE page_id = $1 AND hidden
		UNION ALL SELECT id FROM deleted_hidden_components WHERE page_id = $1`, pageID)
	hidden := make(map[string]bool, len(ids))
	for _, id := range ids {
		hidden[id] = true
	}
	return hidden, err
}

// withoutHidden returns the components that are not hidden.
func withoutHidden(components []statuspage.ComponentName, hidden map[string]bool) []statuspage.ComponentName {
	return slices.DeleteFunc(slices.Clone(components), func(c statuspage.ComponentName) bool { return hidden[c.ID] })
}

// withoutHiddenChanges removes the components that are hidden.
func withoutHiddenChanges(changes []statuspage.AffectedChange, hidden map[string]bool) []statuspage.AffectedChange {
	return slices.DeleteFunc(changes, func(a statuspage.AffectedChange) bool { return hidden[a.ComponentID] })
}

// publicMaintenances loads maintenances of the page. where is the statement after WHERE.
func (c visitorView) publicMaintenances(t timelines, where string, args ...any) ([]statuspage.Maintenance, error) {
	found, err := database.Query(c.Session, maintenances.scan,
		`SELECT `+maintenances.selected+` FROM maintenances WHERE `+where, args...)
	if err != nil || len(found) == 0 {
		return found, err
	}
	if err = c.fillMaintenanceUpdates(found, t); err == nil {
		err = c.fillMaintenanceComponents(found)
	}
	if err != nil {
		return nil, err
	}
	for i := range found {
		found[i].Components = withoutHidden(found[i].Components, c.hidden)
	}
	return found, nil
}

// MaxNewest is the maximum number of incidents, and of maintenances, that LoadNewest loads.
const MaxNewest = 50

// LoadNewest loads a page without its history, and with its newest incidents and maintenances in any state, at most
// MaxNewest of each. If componentID is not "", it loads only incidents and maintenances that affect the component.
func (s *Store) LoadNewest(ctx context.Context, slug, componentID string) (statuspage.PageContents, error) {
	return read(ctx, s, func(c *session) (statuspage.PageContents, error) {
		p, view, err := c.visitedPage(slug)
		if err != nil {
			return p, err
		}
		if err = c.fillParts(&p); err != nil {
			return p, err
		}
		concerns := func(table, column string) string {
			return `page_id = $1 AND ($2 = '' OR id IN (SELECT ` + column + ` FROM ` + table +
				` WHERE component_id = $2))`
		}
		t := timelines{each: feedTimeline, bytes: timelineBytes}
		p.Incidents, err = view.publishedIncidents(t,
			concerns("incident_components", "incident_id")+` ORDER BY created_at DESC, id DESC LIMIT $3`, p.Page.ID,
			componentID, MaxNewest)
		if err != nil {
			return p, err
		}
		if err := c.fillPostmortems(p.Incidents, postmortemBytes); err != nil {
			return p, err
		}
		p.Maintenances, err = view.publicMaintenances(t,
			concerns("maintenance_components", "maintenance_id")+` ORDER BY scheduled_for_at DESC, id DESC LIMIT $3`,
			p.Page.ID, componentID, MaxNewest)
		return p, err
	})
}

func (c *session) publicPage(slug string) (statuspage.Page, error) {
	return c.page(`WHERE slug = $1`, slug)
}

// PublicPages lists all pages, oldest first.
func (s *Store) PublicPages(ctx context.Context) ([]statuspage.Page, error) {
	pages, err := database.Lookup(ctx, s.db, func(c *database.Session) ([]statuspage.Page, error) {
		return (&session{c, s}).pages(`ORDER BY created_at, id`)
	})
	if err != nil {
		return nil, err
	}
	return pages, nil
}

// LoadMonth loads a page with the incidents and the completed maintenances of a month of the page's time zone, with
// their updates: all that began in the month, and all that began earlier and ended in the month or later.
func (s *Store) LoadMonth(
	ctx context.Context, slug string, year int, month time.Month,
) (statuspage.PageContents, error) {
	return read(ctx, s, func(c *session) (statuspage.PageContents, error) {
		p, view, err := c.visitedPage(slug)
		if err != nil {
			return p, err
		}
		zone := p.Page.Location()
		from, to := millis(time.Date(year, month, 1, 0, 0, 0, 0, zone)),
			millis(time.Date(year, month+1, 1, 0, 0, 0, 0, zone))
		t := timelines{each: pageTimeline, bytes: timelineBytes}
		p.Incidents, err = view.publishedIncidents(t,
			`page_id = $1 AND created_at >= $2 AND created_at < $3 ORDER BY created_at DESC, id DESC LIMIT $4`,
			p.Page.ID, from, to, maxIncidents)
		if err != nil {
			return p, err
		}
		p.Since = sinceOf(p.Incidents)
		earlier, err := view.publishedIncidents(t,
			`page_id = $1 AND created_at < $2 AND (NOT resolved OR resolved_at > $2) ORDER BY created_at DESC, id `+
				`DESC LIMIT $3`,
			p.Page.ID, from, maxEarlier)
		if err != nil {
			return p, err
		}
		p.Incidents = append(p.Incidents, earlier...)
		if err := c.fillPostmortems(p.Incidents, 0); err != nil {
			return p, err
		}
		p.Maintenances, err = view.publicMaintenances(t,
			`page_id = $1 AND state = 'completed' AND begun_at < $3 AND (begun_at >= $2 OR ended_at > $2)
			ORDER BY begun_at DESC, id DESC LIMIT $4`, p.Page.ID, from, to, maxPlanned)
		return p, err
	})
}

// LoadIncident loads a page with one incident and a part of its timeline: the newest TimelinePageSize updates, or, if
// before is not 0, the newest updates with numbers below before. It loads fewer if they are long, but at least one.
// Updates are sorted oldest first.
func (s *Store) LoadIncident(ctx context.Context, slug, id string, before int) (statuspage.PageContents, error) {
	return read(ctx, s, func(c *session) (statuspage.PageContents, error) {
		p, view, err := c.visitedPage(slug)
		if err != nil {
			return p, err
		}
		t := timelines{each: TimelinePageSize, before: before, bytes: timelineBytes}
		p.Incidents, err = view.publishedIncidents(t, `id = $1 AND page_id = $2`, id, p.Page.ID)
		if err == nil && len(p.Incidents) == 0 {
			err = kernel.ErrNotFound
		}
		if err == nil && before == 0 {
			err = c.fillPostmortems(p.Incidents, postmortemBytes)
		}
		if err == nil && p.Incidents[0].MergedInto != "" {
			err = c.hideDraftTarget(&p.Incidents[0])
		}
		return p, err
	})
}

// hideDraftTarget clears MergedInto of an incident while visitors cannot see the other incident.
func (c *session) hideDraftTarget(i *statuspage.Incident) error {
	drafts, err := database.One(c.Session, database.ScanInt, `SELECT count(*) FROM incidents WHERE id = $1 AND draft`,
		i.MergedInto)
	if drafts > 0 {
		i.MergedInto = ""
	}
	return err
}

// LoadMaintenance is LoadIncident for a maintenance.
func (s *Store) LoadMaintenance(ctx context.Context, slug, id string, before int) (statuspage.PageContents, error) {
	return read(ctx, s, func(c *session) (statuspage.PageContents, error) {
		p, view, err := c.visitedPage(slug)
		if err != nil {
			return p, err
		}
		t := timelines{each: TimelinePageSize, before: before, bytes: timelineBytes}
		p.Maintenances, err = view.publicMaintenances(t, `id = $1 AND page_id = $2`, id, p.Page.ID)
		if err == nil && len(p.Maintenances) == 0 {
			err = kernel.ErrNotFound
		}
		return p, err
	})
}

// LoadPageImage loads an image of a page.
func (s *Store) LoadPageImage(
	ctx context.Context, slug string, kind statuspage.ImageKind,
) (statuspage.PageImage, error) {
	return read(ctx, s, func(c *session) (statuspage.PageImage, error) {
		return database.One(c.Session, func(row database.Row) (i statuspage.PageImage, err error) {
			err = row.Scan(&i.Kind, &i.Type, &i.Name, &i.Body)
			return
		}, `SELECT kind, type, page_images.name, body FROM page_images JOIN pages ON pages.id = page_id WHERE slug = $1
			AND kind = $2`, slug, string(kind))
	})
}
