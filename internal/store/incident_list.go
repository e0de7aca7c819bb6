package store

import (
	"context"
	"slices"

	"github.com/allswell/allswell/internal/domain/audience"
	"github.com/allswell/allswell/internal/domain/kernel"
	"github.com/allswell/allswell/internal/domain/statuspage"
	"github.com/allswell/allswell/internal/store/database"
)

// ListedIncident is an incident with its page.
type ListedIncident struct {
	statuspage.Incident
	PageSlug, PageName string

	PostmortemAnnounced bool // a post-mortem has been published once; nobody is notified of another
}

var listedIncidentColumns = incidentTable.selected +
	`, (SELECT slug FROM pages WHERE pages.id = incidents.page_id), (SELECT name FROM pages
		WHERE pages.id = incidents.page_id), postmortem_announced`

func scanListedIncident(row database.Row) (i ListedIncident, err error) {
	i.Incident, err = incidentTable.scan(widerRow{row, []any{&i.PageSlug, &i.PageName, &i.PostmortemAnnounced}})
	return
}

// ListIncidents lists the incidents of the actor's workspace, drafts included: the active ones first, each part newest
// first. Updates has the newest update at most, with the beginning of its message. page is the slug of a page; "": all.
func (s *Store) ListIncidents(
	ctx context.Context, actor kernel.Actor, page string, r Pagination,
) ([]ListedIncident, int, error) {
	from, args := accessOf(actor).rows(`incidents`, page)
	return listQuery[ListedIncident]{
		scan: scanListedIncident, fill: (*session).fillNewestUpdates, columns: listedIncidentColumns,
		from: from, args: args, order: `ORDER BY resolved, created_at DESC, id DESC`,
	}.load(ctx, s, r)
}

// fillNewestUpdates loads the newest update of each incident.
func (c *session) fillNewestUpdates(incidents []ListedIncident) error {
	ids, at := make([]string, len(incidents)), make(map[string]int, len(incidents))
	for n, i := range incidents {
		ids[n], at[i.ID] = i.ID, n
	}
	updates, err := database.Query(c.Session, incidentUpdates.scan,
		`SELECT `+truncatedUpdateColumns+` FROM incident_updates
		WHERE incident_id IN EACH($1) AND number = (SELECT max(newest.number) FROM incident_updates newest
		WHERE newest.incident_id = incident_updates.incident_id)`, list(ids))
	for _, u := range updates {
		incidents[at[u.IncidentID]].Updates = []statuspage.IncidentUpdate{u}
	}
	return err
}

// IncidentWithPage returns a workspace's incident with its page, its updates, oldest first, and its affected
// components.
func (s *Store) IncidentWithPage(ctx context.Context, actor kernel.Actor, id string) (ListedIncident, error) {
	return read(ctx, s, func(c *session) (ListedIncident, error) {
		r := accessOf(actor)
		i, err := database.One(c.Session, scanListedIncident, `SELECT `+listedIncidentColumns+` FROM incidents
			WHERE id = $1 AND `+r.on(`page_id`, 2), id, r.arg)
		if err != nil {
			return i, err
		}
		one := []statuspage.Incident{i.Incident}
		if err := c.fillAffected(one); err != nil {
			return i, err
		}
		i.Affected = one[0].Affected
		i.Updates, err = c.updatesOf(id)
		return i, err
	})
}

// Audience counts by channel the subscribers of a page who are notified when an incident or a maintenance is published
// or updated now: the recipients of an event about the components, and of its earlier events. No components mean the
// whole page; id is "" for a new object. TestAudience compares it with createDeliveries.
func (s *Store) Audience(
	ctx context.Context, actor kernel.Actor, page, id string, components []string,
) (map[audience.Channel]int, error) {
	return read(ctx, s, func(c *session) (map[audience.Channel]int, error) {
		p, err := c.pageBySlug(actor, page)
		if err != nil {
			return nil, err
		}
		earlier, err := database.Query(c.Session, func(row database.Row) (components []string, err error) {
			err = row.Scan(listOf[string]{&components})
			return
		}, `SELECT DISTINCT components FROM events WHERE page_id = $2 AND (incident_id = $1 OR maintenance_id = $1)`,
			id, p.ID)
		if err != nil {
			return nil, err
		}
		whole, concerned := len(components) == 0, slices.Clone(components)
		for _, components := range earlier {
			whole = whole || len(components) == 0
			concerned = append(concerned, components...)
		}
		return c.audience(p, whole, concerned)
	})
}

// audience counts by channel the subscribers of a page who are notified of an event about components, or the whole
// page.
func (c *session) audience(p statuspage.Page, whole bool, components []string) (map[audience.Channel]int, error) {
	type row struct {
		channel audience.Channel
		count   int
	}
	rows, err := database.Query(c.Session, func(sc database.Row) (r row, err error) {
		err = sc.Scan(&r.channel, &r.count)
		return
	}, `SELECT s.channel, count(*) FROM subscribers s WHERE s.page_id = $1 AND s.confirmed_at IS NOT NULL
		AND s.suspended_at IS NULL AND s.incident_id IS NULL
			AND (s.added_by_operator OR s.admitted OR $2)
			AND ($3 OR s.whole_page OR EXISTS (SELECT 1 FROM subscriber_components k WHERE k.subscriber_id = s.id
			AND k.component_id IN EACH($4)))
		GROUP BY s.channel`, p.ID, p.Visibility != statuspage.VisibilityPrivate, whole, list(components))
	counts := make(map[audience.Channel]int, len(rows))
	for _, r := range rows {
		counts[r.channel] = r.count
	}
	return counts, err
}

// ObjectLog returns the newest audit entries of objects that the caller has loaded for the actor, newest first, and
// whether there are more than limit. ids has at least one. If the first one is an incident's, the deletions of its
// updates are included.
func (s *Store) ObjectLog(
	ctx context.Context, actor kernel.Actor, ids []string, limit int,
) (entries []kernel.AuditEntry, more bool, err error) {
	deleted := `{"incident_id":"` + ids[0] + `"` // how the fields of a deleted update begin
	entries, err = read(ctx, s, func(c *session) ([]kernel.AuditEntry, error) {
		return database.Query(c.Session, scanAuditEntry, `SELECT `+auditEntryColumns+` FROM audit_entries
			WHERE workspace_id = $1 AND object_id IN EACH($2)
			UNION ALL SELECT `+auditEntryColumns+` FROM audit_entries
			WHERE workspace_id = $1 AND object_kind = 'incident_update' AND action = 'delete'
			AND substr(old_fields, 1, $5) = $4
			ORDER BY id DESC LIMIT $3`, actor.WorkspaceID, list(ids), limit+1, deleted, len(deleted))
	})
	if len(entries) > limit {
		return entries[:limit], true, err
	}
	return entries, false, err
}
