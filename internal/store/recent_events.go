package store

import (
	"time"

	"github.com/allswell/allswell/internal/domain/statuspage"
	"github.com/allswell/allswell/internal/store/database"
)

const (
	// recentPeriod is the period whose events an overview lists.
	recentPeriod = time.Hour
	// maxRecentEvents is how many events of it an overview lists.
	maxRecentEvents = 20
)

// RecentKind is the kind of a RecentEvent.
type RecentKind string

// The kinds.
const (
	RecentMonitorDown           RecentKind = RecentKind(statuspage.EventMonitorDown)
	RecentMonitorUp             RecentKind = RecentKind(statuspage.EventMonitorUp)
	RecentIncidentOpened        RecentKind = RecentKind(statuspage.EventIncidentCreated)
	RecentIncidentResolved      RecentKind = RecentKind(statuspage.EventIncidentResolved)
	RecentMaintenanceBegun      RecentKind = "maintenance.begun"
	RecentSubscriptionSuspended RecentKind = "subscription.suspended"
)

// RecentEvent is something that happened in a workspace.
type RecentEvent struct {
	Kind     RecentKind
	At       time.Time
	ID, Name string // of the object: the slug and the name of the page, for subscriptions
}

// overviewRecent loads the events of the last hour, newest first.
func (c *session) overviewRecent(r access, o *Overview) (err error) {
	pages, ofMonitors := r.on(`page_id`, 1), `e.workspace_id = $1`
	if r.limited {
		ofMonitors = r.on(`m.page_id`, 1)
	}
	o.Recent, err = database.Query(c.Session, func(row database.Row) (e RecentEvent, err error) {
		err = row.Scan(&e.Kind, instant{&e.At}, &e.ID, &e.Name)
		return
	}, `SELECT kind, happened_at, id, name FROM (
			SELECT e.kind AS kind, e.created_at AS happened_at, m.id AS id, m.name AS name FROM monitor_events e
			JOIN monitors m ON m.id = e.monitor_id
				WHERE `+ofMonitors+` AND e.created_at > $2 AND e.kind IN ('monitor.down', 'monitor.up')
			UNION ALL SELECT CAST($4 AS TEXT), created_at, id, title FROM incidents WHERE `+pages+` AND created_at > $2
			UNION ALL SELECT CAST($5 AS TEXT), resolved_at, id, title FROM incidents WHERE `+pages+
		` AND resolved_at > $2
			UNION ALL SELECT CAST($6 AS TEXT), begun_at, id, title FROM maintenances WHERE `+pages+` AND begun_at > $2
			UNION ALL SELECT CAST($7 AS TEXT), max(suspended_at), pages.slug, pages.name FROM subscribers
			JOIN pages ON pages.id = page_id
				WHERE `+pages+` AND suspended_at > $2 GROUP BY pages.id, pages.slug, pages.name
		) AS recent ORDER BY happened_at DESC, kind, id LIMIT $3`,
		r.arg, millis(c.Now.Add(-recentPeriod)), maxRecentEvents,
		string(RecentIncidentOpened), string(RecentIncidentResolved), string(RecentMaintenanceBegun),
		string(RecentSubscriptionSuspended))
	return err
}
