package store

import (
	"context"
	"time"

	"github.com/allswell/allswell/internal/domain/audience"
	"github.com/allswell/allswell/internal/domain/kernel"
	"github.com/allswell/allswell/internal/domain/monitor"
	"github.com/allswell/allswell/internal/domain/schedule"
	"github.com/allswell/allswell/internal/domain/statuspage"
	"github.com/allswell/allswell/internal/store/database"
)

// The number of objects that an overview names. It counts them all.
const (
	maxOverviewObjects = 20
	maxOverviewPages   = 100
)

// The period whose events an overview shows.
const overviewPeriod = 24 * time.Hour

// Overview has the current problems of a workspace, and the state of its pages.
type Overview struct {
	AsOf      time.Time
	Incidents []ListedIncident // the newest active ones, drafts included, newest first
	// the first monitors that are down or failing, or miss a ping, longest first, without the monitors that
	// monitor.MonitorSuppressed describes
	Troubled     []monitor.Monitor
	Maintenances []OverviewMaintenance
	Pages        []OverviewPage
	Gaps         []schedule.ListeningGap // of the last day

	Monitors, Down   int
	AllIncidents     int       // includes incidents that are not in Incidents
	AllTroubled      int       // includes monitors that are not in Troubled
	AllMaintenances  int       // includes maintenances that are not in Maintenances
	AllFailedPages   int       // includes pages that are not in FailedDeliveries
	LateChecks       int       // checks whose display state is monitor.MonitorLate
	LateSince        time.Time // since when the first of them has been unknown; zero: there is none
	UnknownChecks    int       // monitors whose display state is monitor.MonitorUnknown
	UnknownSince     time.Time // since when the first of them has been; zero: there is none
	Alerts           AlertCounts
	FailedDeliveries []FailedDeliveries // by page, most first
	FailingChannels  int                // enabled channels of alerts that did not accept the last message
	Recent           []RecentEvent      // of the last hour, newest first
}

// FailedDeliveries says how many deliveries of a page, at most a day old, were given up.
type FailedDeliveries struct {
	PageSlug, PageName string
	Count              int
}

// OverviewMaintenance is a maintenance under way and its page.
type OverviewMaintenance struct {
	ID, Title          string
	StartsAt, EndsAt   time.Time
	PageSlug, PageName string
}

// OverviewPage is a page, and the rollup of its components.
type OverviewPage struct {
	Slug, Name string
	Visibility statuspage.Visibility
	Status     kernel.Status
}

// Overview returns the overview of the actor's workspace.
func (s *Store) Overview(ctx context.Context, actor kernel.Actor) (Overview, error) {
	return read(ctx, s, func(c *session) (o Overview, err error) {
		o.AsOf = c.Now
		for _, load := range []func(access, *Overview) error{
			c.overviewIncidents, c.overviewMonitors, c.overviewMaintenances, c.overviewPages, c.overviewGaps,
			c.overviewDeliveries, c.overviewChannels, c.overviewRecent,
		} {
			if err := load(accessOf(actor), &o); err != nil {
				return o, err
			}
		}
		o.Alerts, err = c.alertCounts(actor)
		return o, err
	})
}

func (c *session) overviewIncidents(r access, o *Overview) (err error) {
	o.Incidents, err = database.Query(c.Session, scanListedIncident, `SELECT `+listedIncidentColumns+` FROM incidents
		WHERE `+r.on(`page_id`, 1)+` AND NOT resolved ORDER BY created_at DESC, id DESC LIMIT $2`, r.arg,
		maxOverviewObjects)
	if o.AllIncidents = len(o.Incidents); err != nil || o.AllIncidents < maxOverviewObjects {
		return err
	}
	n, err := database.One(c.Session, database.ScanInt,
		`SELECT count(*) FROM incidents WHERE `+r.on(`page_id`, 1)+` AND NOT resolved`, r.arg)
	o.AllIncidents = int(n)
	return err
}

// troubled is the condition of the index monitors_troubled: monitors that are down, or were late at the last check.
const troubled = `enabled AND (state = 'down' OR consecutive_failures > 0)`

func (c *session) overviewMonitors(r access, o *Overview) (err error) {
	_, err = database.One(c.Session, func(row database.Row) (none struct{}, err error) {
		err = row.Scan(&o.Monitors, &o.Down)
		return
	}, `SELECT (SELECT count(*) FROM monitors WHERE `+r.objects(1)+`), (SELECT count(*) FROM monitors WHERE `+
		r.objects(1)+` AND `+troubled+` AND state = 'down')`, r.arg)
	where := `WHERE ` + r.objects(1) + ` AND ` + troubled + ` AND (state = 'down' OR ` + noPing +
		` AND NOT (failures_suppressed AND ` + parentDown + `))`
	if err == nil {
		o.Troubled, err = c.monitors(where+` ORDER BY state = 'down' DESC, last_ping_at, id LIMIT $2`, r.arg,
			maxOverviewObjects)
	}
	if o.AllTroubled = len(o.Troubled); err == nil && o.AllTroubled == maxOverviewObjects {
		var n int64
		n, err = database.One(c.Session, database.ScanInt, `SELECT count(*) FROM monitors `+where, r.arg)
		o.AllTroubled = int(n)
	}
	if err == nil {
		err = c.fillMonitors(o.Troubled)
	}
	if err != nil {
		return err
	}
	_, err = database.One(c.Session, func(row database.Row) (none struct{}, err error) {
		err = row.Scan(&o.LateChecks, instant{&o.LateSince}, &o.UnknownChecks, instant{&o.UnknownSince})
		return
	}, uncheckedCounts(r.objects(1)), r.arg)
	return err
}

// uncheckedCounts counts the monitors that are monitor.MonitorLate or monitor.MonitorUnknown by their checks, with the
// first instant of each.
func uncheckedCounts(objects string) string {
	return `SELECT count(CASE WHEN late THEN 1 END), min(CASE WHEN late THEN since END), count(CASE WHEN NOT late
		AND failures = 0 THEN 1 END), min(CASE WHEN NOT late AND failures = 0 THEN since END)
		FROM (SELECT c.late, c.unknown_since_at AS since, m.failures FROM checks c CROSS JOIN
				(SELECT id, consecutive_failures AS failures FROM monitors WHERE ` + objects +
		` AND enabled AND state = 'up') m
			WHERE c.unknown_since_at IS NOT NULL AND m.id = c.monitor_id) unchecked`
}

func (c *session) overviewMaintenances(r access, o *Overview) (err error) {
	o.Maintenances, err = database.Query(c.Session, func(row database.Row) (m OverviewMaintenance, err error) {
		err = row.Scan(&m.ID, &m.Title, instant{&m.StartsAt}, instant{&m.EndsAt}, &m.PageSlug, &m.PageName,
			&o.AllMaintenances)
		return
	}, `SELECT m.id, m.title, m.scheduled_for_at, m.scheduled_until_at, pages.slug, pages.name, count(*) OVER ()
		FROM maintenances m JOIN pages ON pages.id = m.page_id
		WHERE `+r.on(`m.page_id`, 1)+` AND m.state IN ($2, $3) ORDER BY m.scheduled_until_at, m.id LIMIT $4`,
		r.arg, string(statuspage.MaintenanceInProgress), string(statuspage.MaintenanceVerifying), maxOverviewObjects)
	return err
}

// overviewPages loads the pages with their rollups, like PageList.
func (c *session) overviewPages(r access, o *Overview) error {
	type row struct {
		OverviewPage
		status string // "": no components
	}
	rows, err := database.Query(c.Session, func(sc database.Row) (p row, err error) {
		err = sc.Scan(&p.Slug, &p.Name, &p.Visibility, text{&p.status})
		return
	}, `WITH few AS (SELECT id, slug, name, visibility, created_at FROM pages WHERE `+r.pages(1)+
		` ORDER BY created_at, id LIMIT $2)
		SELECT few.slug, few.name, few.visibility, s.status FROM `+fewWithStatuses, r.arg, maxOverviewPages)
	for i := 0; i < len(rows); {
		page := rows[i].OverviewPage
		status, n := firstRollup(rows[i:], func(r row) (page, status string) { return r.Slug, r.status })
		i += n
		page.Status = status
		o.Pages = append(o.Pages, page)
	}
	return err
}

func (c *session) overviewGaps(_ access, o *Overview) (err error) {
	o.Gaps, err = c.gaps(c.Now.Add(-overviewPeriod))
	return err
}

// overviewChannels counts the channels that fail. An actor who is limited to pages sees none.
func (c *session) overviewChannels(r access, o *Overview) (err error) {
	if r.limited {
		return nil
	}
	n, err := database.One(c.Session, database.ScanInt, `SELECT count(*) FROM alert_channels
		WHERE workspace_id = $1 AND deleted_at IS NULL AND enabled AND failing_since_at IS NOT NULL`, r.arg)
	o.FailingChannels = int(n)
	return err
}

func (c *session) overviewDeliveries(r access, o *Overview) (err error) {
	o.FailedDeliveries, err = database.Query(c.Session, func(row database.Row) (f FailedDeliveries, err error) {
		err = row.Scan(&f.PageSlug, &f.PageName, &f.Count, &o.AllFailedPages)
		return
	}, `SELECT pages.slug, pages.name, count(*), count(*) OVER () FROM (SELECT page_id FROM deliveries
			WHERE `+r.on(`page_id`, 1)+` AND state IN ($2, $3) AND created_at > $4 LIMIT 1000) AS failed
		JOIN pages ON pages.id = failed.page_id GROUP BY pages.id, pages.slug, pages.name
		ORDER BY count(*) DESC, pages.id LIMIT $5`,
		r.arg, string(audience.DeliveryDead), string(audience.DeliveryExpired), millis(c.Now.Add(-overviewPeriod)),
		maxOverviewObjects)
	return err
}
