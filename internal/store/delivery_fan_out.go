package store

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"time"

	"github.com/allswell/allswell/internal/domain/audience"
	"github.com/allswell/allswell/internal/domain/kernel"
	"github.com/allswell/allswell/internal/domain/statuspage"
	"github.com/allswell/allswell/internal/store/database"
)

// Limits of one transaction of the fan-out, which keep its locks short.
const (
	fanOutRows   = 500 // subscribers
	fanOutEvents = 200
)

// openEvent is an event whose deliveries have not all been created.
type openEvent struct {
	audience.Event
	cursor   string // the last subscriber looked at
	notifyAt time.Time
}

func scanOpenEvent(row database.Row) (e openEvent, err error) {
	e.Event, err = scanEvent(widerRow{row, []any{text{&e.cursor}, instant{&e.notifyAt}}})
	return
}

const openEventColumns = eventColumns + `, fan_out_cursor, notify_at`

// FanOut creates deliveries of new events, for at most 500 subscribers in one transaction, and reports whether there
// may be more to do. The events of a page are taken in commit order. Workspaces take turns, and among the pages of a
// workspace, the page that has waited longest comes first.
func (s *Store) FanOut(ctx context.Context) (more bool, err error) {
	if found, err := s.exists(ctx, `SELECT 1 FROM events WHERE fanned_out_at IS NULL`); err != nil || !found {
		return false, err
	}
	large, turn := false, "" // turn: the workspace
	last := ""
	if l := s.fanOutTurn.Load(); l != nil {
		last = *l
	}
	more, err = write(ctx, s, func(t *tx) (bool, error) {
		if err := t.lockMutex(mutexFanOut); err != nil {
			return false, err
		}
		// The workspaces after the last one come first.
		e, err := database.One(t.Session, scanOpenEvent, `SELECT `+openEventColumns+` FROM events e
			WHERE fanned_out_at IS NULL AND NOT EXISTS (SELECT 1 FROM events o WHERE o.page_id = e.page_id
			AND o.fanned_out_at IS NULL
				AND (o.page_version < e.page_version OR o.page_version = e.page_version AND o.ordinal < e.ordinal))
			ORDER BY (SELECT CASE WHEN p.workspace_id > $1 THEN 0 ELSE 1 END FROM pages p WHERE p.id = e.page_id),
				(SELECT p.workspace_id FROM pages p WHERE p.id = e.page_id), fan_out_progress_at, created_at, id
				LIMIT 1`, last)
		if err == nil {
			turn, err = t.workspaceOfPage(e.PageID)
		}
		rows := fanOutRows
		for n := 0; err == nil && n < fanOutEvents; n++ {
			var done bool
			large = e.cursor != "" // it took several steps
			if rows, done, err = t.fanOut(e, rows); err != nil || !done || rows <= 0 {
				return true, err
			}
			e, err = database.One(t.Session, scanOpenEvent, `SELECT `+openEventColumns+` FROM events
				WHERE page_id = $1 AND fanned_out_at IS NULL ORDER BY page_version, ordinal LIMIT 1`, e.PageID)
		}
		if errors.Is(err, kernel.ErrNotFound) {
			err = nil // this page has no more; another one may have
		}
		return true, err
	})
	if err == nil {
		s.fanOutTurn.Store(&turn)
	}
	if err == nil && large {
		s.refreshStatistics(ctx)
	}
	return more, err
}

// statisticsAge is the minimum time between two refreshes of the planner's statistics of deliveries.
const statisticsAge = 10 * time.Second

// refreshStatistics refreshes PostgreSQL's statistics after many deliveries were created.
// With old statistics, the planner would assume that hardly any are open.
func (s *Store) refreshStatistics(ctx context.Context) {
	last := s.analyzed.Load()
	now := time.Now().UnixMilli()
	if !s.db.Shared() || now-last < statisticsAge.Milliseconds() || !s.analyzed.CompareAndSwap(last, now) {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, database.Timeout)
	defer cancel()
	writer, _ := s.db.Pools()
	if _, err := writer.ExecContext(ctx, `ANALYZE deliveries`); err != nil {
		s.log.Debug("refreshing the statistics of deliveries failed", "error", err)
	}
}

// fanOut creates the deliveries of one event for the next subscribers, up to limit. It
// returns what is left of the limit, and whether the event is done.
func (t *tx) fanOut(e openEvent, limit int) (left int, done bool, err error) {
	if e.cursor == "" {
		if e.notifyAt, err = t.notificationTime(e.Event); err != nil {
			return 0, false, err
		}
	}
	type chunk struct {
		end   string
		count int64
	}
	next, err := database.One(t.Session, func(row database.Row) (c chunk, err error) {
		err = row.Scan(text{&c.end}, &c.count)
		return
	}, `SELECT max(id), count(*) FROM (SELECT id FROM subscribers WHERE page_id = $1 AND id > $2 ORDER BY id
		LIMIT $3) AS chunk`,
		e.PageID, e.cursor, limit)
	if err != nil {
		return 0, false, err
	}
	done = int(next.count) < limit
	if next.count > 0 && t.Now.Before(e.CreatedAt.Add(audience.DeliveryLifetime)) {
		if err := t.createDeliveries(e, next.end); err != nil {
			return 0, false, err
		}
	}
	end, fanned := next.end, any(nil)
	if done {
		fanned = millis(t.Now)
	}
	if end == "" {
		end = e.cursor
	}
	_, err = t.Exec(`UPDATE events SET fan_out_cursor = $2, notify_at = $3, fan_out_progress_at = $4,
		fanned_out_at = $5 WHERE id = $1`, e.ID, nullIfEmpty(end), millis(e.notifyAt), millis(t.Now), fanned)
	return limit - int(next.count), done, err
}

// notificationTime returns when messages about an event are due on the channels in audience.MergedChannels:
// immediately, or later if its monitor is flapping.
func (t *tx) notificationTime(e audience.Event) (time.Time, error) {
	if e.MonitorID == "" || e.WarningID != "" || e.Kind == statuspage.EventComponentStatusChanged {
		return e.CreatedAt, nil
	}
	const enough = 100
	earlier, err := database.Query(t.Session, func(row database.Row) (at time.Time, err error) {
		err = row.Scan(instant{&at})
		return
	}, `SELECT DISTINCT notify_at FROM events WHERE monitor_id = $1 AND notify_at IS NOT NULL AND notify_at > $2
		AND kind <> $4 AND warning_id IS NULL ORDER BY notify_at DESC LIMIT $3`,
		e.MonitorID, millis(e.CreatedAt.Add(-2*audience.DeliveryLifetime)), enough,
		string(statuspage.EventComponentStatusChanged))
	slices.Reverse(earlier)
	return audience.NotificationTime(earlier, e.CreatedAt), err
}

// createDeliveries creates the deliveries of an event for the subscribers after its cursor, up to and including end.
// Subscribers who confirmed after the event get none. While a page is private, only subscribers get deliveries whom an
// operator added, or who signed up on the private page. Warnings go only to subscribers that an operator added and that
// ask for warnings. A browser that waits for the end of an incident gets only the delivery about that end.
func (t *tx) createDeliveries(e openEvent, end string) error {
	collapseKey, components, err := t.findCollapseKey(e.Event)
	if err != nil {
		return err
	}
	componentChange := e.Kind == statuspage.EventComponentStatusChanged
	position := e.PageVersion<<20 | int64(min(e.Ordinal, 1<<20-1))
	about := cmp.Or(e.IncidentID, e.MaintenanceID, e.ComponentID, e.MonitorID)
	warning := e.Kind.AboutWarning()
	held, next := time.Time{}, t.Now // of audience.MergedChannels
	notifyAt := e.notifyAt
	digestAt := e.CreatedAt.Add(audience.DigestWait)
	if (e.DigestKey != "" || e.AwaitsUpdate()) && digestAt.After(notifyAt) {
		notifyAt = digestAt
	}
	if notifyAt.After(t.Now) {
		held, next = notifyAt, notifyAt
	}
	_, err = t.Exec(`INSERT INTO deliveries (id, page_id, workspace_id, subscriber_id, event_id, purpose, channel, host,
		ordering_key, position, collapse_key, digest_key,
			state, happened_at, held_until_at, next_attempt_at, attempts, fencing_token, created_at, updated_at)
		SELECT $1 || substr(s.id, 5), s.page_id, (SELECT p.workspace_id FROM pages p
		WHERE p.id = s.page_id), s.id, $2, 'event', s.channel, s.host,
			CASE WHEN s.channel IN EACH($17) THEN s.id ELSE s.id || '/' || $3 END, $4,
			CASE WHEN s.channel IN EACH($17) THEN $5 ELSE $3 END, $6, 'pending', $7,
			CASE WHEN s.channel IN EACH($17) THEN CAST($8 AS BIGINT) END,
			CASE WHEN s.channel IN EACH($17) THEN CAST($9 AS BIGINT) ELSE $16 END, 0, 0, $16, $16
		FROM subscribers s
		WHERE s.page_id = $10 AND s.id > $11 AND s.id <= $12 AND s.confirmed_at <= $7 AND s.suspended_at IS NULL
			AND (NOT $13 OR s.channel IN EACH($18))
			AND (NOT $19 OR s.warnings AND s.added_by_operator)
			AND (s.incident_id IS NULL OR $20 AND s.incident_id = $21)
			AND (s.added_by_operator OR s.admitted OR (SELECT p.visibility FROM pages p WHERE p.id = $10) <> 'private')
			AND ($14 OR s.whole_page OR EXISTS (SELECT 1 FROM subscriber_components c WHERE c.subscriber_id = s.id
			AND c.component_id IN EACH($15)))`,
		kernel.PrefixDelivery+e.ID[len(kernel.PrefixEvent):], e.ID, about, position, collapseKey,
		nullIfEmpty(e.DigestKey), millis(e.CreatedAt), millis(held), millis(next),
		e.PageID, e.cursor, end, componentChange, len(components) == 0 && !warning, list(components), millis(t.Now),
		list(audience.MergedChannels), list(audience.ComponentChangeChannels), warning, e.EndsIncident(), e.IncidentID)
	return err
}

// findCollapseKey returns the collapse key of an event, and the components that it concerns; none means the whole page.
// All events of an incident that an outage opened have the monitor's key. A later event also concerns the components of
// earlier ones, so that subscribers who were notified of the beginning are notified of the end.
func (t *tx) findCollapseKey(e audience.Event) (key string, components []string, err error) {
	column, id := "incident_id", e.IncidentID
	switch {
	case e.MaintenanceID != "":
		column, id = "maintenance_id", e.MaintenanceID
	case e.WarningID != "":
		return e.MonitorID, e.Components, nil
	case e.IncidentID == "":
		return e.ComponentID, e.Components, nil
	}
	type part struct {
		monitor    string
		components []string
	}
	parts, err := database.Query(t.Session, func(row database.Row) (p part, err error) {
		err = row.Scan(text{&p.monitor}, listOf[string]{&p.components})
		return
	}, `SELECT DISTINCT monitor_id, components FROM events WHERE `+column+` = $1
		AND (page_version < $2 OR page_version = $2 AND ordinal <= $3)`, id, e.PageVersion, e.Ordinal)
	key = id
	whole := false
	for _, p := range parts {
		if p.monitor != "" {
			key = audience.MonitorCollapseKey(p.monitor)
		}
		whole = whole || len(p.components) == 0
		components = append(components, p.components...)
	}
	if whole {
		components = nil
	}
	return key, components, err
}
