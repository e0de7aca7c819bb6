package store

import (
	"encoding/json"
	"strconv"
	"strings"
	"time"

	"github.com/allswell/allswell/internal/domain/alert"
	"github.com/allswell/allswell/internal/domain/audience"
	"github.com/allswell/allswell/internal/domain/kernel"
	"github.com/allswell/allswell/internal/domain/monitor"
	"github.com/allswell/allswell/internal/domain/schedule"
	"github.com/allswell/allswell/internal/domain/statuspage"
	"github.com/allswell/allswell/internal/store/database"
)

// maxAlertDetail is the maximum length of the detail of an event, in characters.
const maxAlertDetail = 300

// lastLine returns the last line of an output that is not empty, for an alert.
func lastLine(output string) string {
	lines := strings.Split(strings.TrimSpace(output), "\n")
	return alert.Shorten(strings.TrimSpace(lines[len(lines)-1]), maxAlertDetail)
}

// emitAlertEvent writes an event for members other than the beginning and the end of an outage. key identifies what it
// is about.
func (t *tx) emitAlertEvent(
	event alert.Event, workspaceID, monitorID, key string, data monitor.MonitorEventData,
) error {
	data.Detail = alert.Shorten(data.Detail, maxAlertDetail)
	return t.emitMonitorEvents(monitor.MonitorEvent{
		ID: kernel.NewID(kernel.PrefixEvent, t.Now), WorkspaceID: workspaceID, MonitorID: monitorID, OutageID: key,
		Kind: statuspage.EventKind(event), Data: data, CreatedAt: t.Now,
	})
}

// emitSlow writes the event that a monitor has become slow, or is not any more.
func (t *tx) emitSlow(m monitor.Monitor, slow bool) error {
	event, data := alert.MonitorSlow, monitor.MonitorEventData{Name: m.Name}
	switch {
	case slow:
		data.Detail = "its checks take longer than " + m.Check.SlowAfter.String()
	case m.State == monitor.MonitorDown:
		event, data.Reason = alert.MonitorSlowEnded, endedByOutage
	case !m.Enabled:
		event, data.Reason = alert.MonitorSlowEnded, monitor.OutageEndedByDisable.String()
	default:
		event = alert.MonitorSlowEnded
	}
	return t.emitAlertEvent(event, m.WorkspaceID, m.ID, m.ID, data)
}

// endedByOutage is the reason that an alert ended because the monitor is down.
const endedByOutage = "down"

// emitGap writes an event for all workspaces with rules that Allswell could not receive pings, once for each gap that
// is long enough.
func (t *tx) emitGap(from time.Time) error {
	if t.Now.Sub(from) < schedule.LongGap {
		return nil
	}
	key := "listening:" + strconv.FormatInt(from.UnixMilli(), 10)
	known, err := t.ids(`SELECT id FROM monitor_events WHERE kind = $1 AND outage_id = $2 AND created_at >= $3 LIMIT 1`,
		string(alert.ServiceGap), key, millis(from))
	if err != nil || len(known) > 0 {
		return err
	}
	workspaces, err := t.ids(`SELECT DISTINCT workspace_id FROM alert_rules WHERE enabled ORDER BY workspace_id`)
	for _, id := range workspaces {
		if err == nil {
			err = t.emitAlertEvent(alert.ServiceGap, id, "", key, monitor.MonitorEventData{
				Name: "Receiving pings", Detail: "since " + from.UTC().Format(alertTime),
			})
		}
	}
	return err
}

// emitMaintenanceAlert writes the event for members that a maintenance has begun or ended.
func (t *tx) emitMaintenanceAlert(m statuspage.Maintenance, transition statuspage.MaintenanceTransition) error {
	event, ok := map[statuspage.MaintenanceTransition]alert.Event{
		statuspage.TransitionBegin: alert.MaintenanceBegun, statuspage.TransitionEnd: alert.MaintenanceEnded,
		statuspage.TransitionMissed: alert.MaintenanceEnded,
	}[transition]
	if !ok {
		return nil
	}
	workspace, err := t.workspaceOfPage(m.PageID)
	if err != nil {
		return err
	}
	return t.emitAlertEvent(event, workspace, "", m.ID, monitor.MonitorEventData{
		Name: "The maintenance " + m.Title, PageID: m.PageID,
	})
}

// emitSuspended writes the event for members that a subscriber is not notified any more.
func (t *tx) emitSuspended(s audience.Subscriber, reason string) error {
	workspace, err := t.workspaceOfPage(s.PageID)
	if err != nil {
		return err
	}
	return t.emitAlertEvent(alert.DeliveryFailed, workspace, "", s.ID, monitor.MonitorEventData{
		Name: "A subscriber (" + s.Channel.Name() + ", " + s.ID + ")", PageID: s.PageID, Detail: reason,
	})
}

func (c *session) workspaceOfPage(id string) (string, error) {
	return database.One(c.Session, database.ScanString, `SELECT workspace_id FROM pages WHERE id = $1`, id)
}

// alertTime is how alerts write instants.
const alertTime = "2006-01-02 15:04:05 UTC"

func scanMonitorEvent(row database.Row) (e monitor.MonitorEvent, err error) {
	var data string
	err = row.Scan(&e.ID, &e.WorkspaceID, &e.MonitorID, &e.OutageID, &e.Kind, &data, instant{&e.CreatedAt})
	if err != nil {
		return
	}
	return e, json.Unmarshal([]byte(data), &e.Data)
}

// alertEvents are the events that no rule has processed yet, with their subjects.
type alertEvents struct {
	events   []monitor.MonitorEvent
	monitors map[string]alert.Subject // by id, with what the monitor says
	pages    map[string]string        // slugs by id, of events that are not about a monitor
}

// newAlertEvents loads the oldest events that AdvanceAlerts has not looked at.
func (c *session) newAlertEvents(limit int) (a alertEvents, err error) {
	a.events, err = database.Query(c.Session, scanMonitorEvent,
		`SELECT id, workspace_id, monitor_id, outage_id, kind, data, created_at FROM monitor_events
		WHERE routed_at IS NULL ORDER BY created_at, kind, id LIMIT $1`, limit)
	if err != nil || len(a.events) == 0 {
		return a, err
	}
	var ids, pages []string
	for _, e := range a.events {
		ids, pages = append(ids, e.MonitorID), append(pages, e.Data.PageID)
	}
	a.monitors, err = c.monitorSubjects(ids)
	if err != nil {
		return a, err
	}
	a.pages = make(map[string]string)
	_, err = database.Query(c.Session, func(row database.Row) (none struct{}, err error) {
		var id, slug string
		if err = row.Scan(&id, &slug); err == nil {
			a.pages[id] = slug
		}
		return
	}, `SELECT id, slug FROM pages WHERE id IN EACH($1)`, list(pages))
	return a, err
}

// monitorSubjects returns the subjects of alerts about monitors, by the ids of the monitors.
func (c *session) monitorSubjects(ids []string) (map[string]alert.Subject, error) {
	monitors := make(map[string]alert.Subject)
	_, err := database.Query(c.Session, func(row database.Row) (none struct{}, err error) {
		var s alert.Subject
		var down kernel.Status
		err = row.Scan(&s.MonitorID, text{&s.MonitorSlug}, text{&s.PageID}, text{&s.PageSlug}, listOf[string]{&s.Tags},
			&down)
		if err == nil {
			s.Severity = down.Impact()
			monitors[s.MonitorID] = s
		}
		return
	}, `SELECT m.id, m.slug, m.page_id, p.slug, m.tags, m.down_status FROM monitors m
		LEFT JOIN pages p ON p.id = m.page_id WHERE m.id IN EACH($1)`, list(ids))
	return monitors, err
}

// isOrphaned reports whether an event begins an alert that nothing would end, because its monitor was deleted
// meanwhile. An outage ends before that.
func (a alertEvents) isOrphaned(e monitor.MonitorEvent) bool {
	_, found := a.monitors[e.MonitorID]
	event := alert.Event(e.Kind)
	return e.MonitorID != "" && !found && event.Lasts() && event != alert.MonitorDown
}

// subject returns the subject of an event. Of a monitor that was deleted only the name is known.
func (a alertEvents) subject(e monitor.MonitorEvent) alert.Subject {
	s := a.monitors[e.MonitorID]
	s.Event, s.MonitorID, s.Name, s.Reason = alert.Event(e.Kind), e.MonitorID, e.Data.Name, reasonOf(e.Data)
	s.Severity = s.Event.Severity(s.Severity)
	if e.MonitorID == "" {
		s.PageID, s.PageSlug = e.Data.PageID, a.pages[e.Data.PageID]
	}
	return s
}

// reasonOf says why an event happened, as far as that is known.
func reasonOf(d monitor.MonitorEventData) string {
	switch d.Cause {
	case monitor.OutageSilent:
		return "no ping since " + d.SilentSince.UTC().Format(alertTime)
	case monitor.OutageRunOverdue:
		return "a run did not end in time"
	case monitor.OutageRunTooShort:
		return "a run was too short"
	case monitor.OutageRunTooOften:
		return "too many runs"
	case monitor.OutageRunOverlap:
		return "two runs at the same time"
	case monitor.OutageFailed:
		if d.Detail == "" {
			return "the job reported a failure"
		}
	}
	return d.Detail
}

// endReasonOf returns why an alert ended although its cause may last; "": it is over.
func endReasonOf(d monitor.MonitorEventData) string {
	switch d.Reason {
	case monitor.OutageEndedByDisable.String():
		return "the monitor was disabled"
	case monitor.OutageEndedByDelete.String():
		return "the monitor was deleted"
	case endedByOutage:
		return "the monitor is down"
	}
	return ""
}

const alertColumns = `id, workspace_id, event_key, subject, opened_at, acknowledged_at, acknowledged_by, resolved_at,` +
	` end_reason`

func scanAlert(row database.Row) (a alert.Alert, err error) {
	var subject string
	err = row.Scan(&a.ID, &a.WorkspaceID, &a.Key, &subject, instant{&a.OpenedAt}, instant{&a.AcknowledgedAt},
		text{&a.AcknowledgedBy}, instant{&a.ResolvedAt}, text{&a.EndReason})
	if err != nil {
		return
	}
	return a, json.Unmarshal([]byte(subject), &a.Subject)
}

// openAlert saves a new alert of an event. notifyAt is when anybody may be notified of it.
func (t *tx) openAlert(e monitor.MonitorEvent, s alert.Subject) (a alert.Alert, notifyAt time.Time, err error) {
	a = alert.Alert{
		ID: kernel.NewID(alert.PrefixAlert, t.Now), WorkspaceID: e.WorkspaceID, Subject: s, Key: e.OutageID,
		OpenedAt: e.CreatedAt,
	}
	if !s.Event.Lasts() {
		a.ResolvedAt = e.CreatedAt
	}
	if notifyAt, err = t.notifyAlertAt(a); err != nil {
		return a, notifyAt, err
	}
	subject, err := json.Marshal(a.Subject)
	if err != nil {
		return a, notifyAt, err
	}
	_, err = t.Exec(`INSERT INTO alerts (id, workspace_id, event, event_key, monitor_id, page_id, subject, opened_at,
		notify_at, resolved_at)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)`, a.ID, a.WorkspaceID, string(a.Event), a.Key,
		nullIfEmpty(a.MonitorID), nullIfEmpty(a.PageID),
		string(subject), millis(a.OpenedAt), millis(notifyAt), millis(a.ResolvedAt))
	return a, notifyAt, err
}

// notifyAlertAt returns when anybody may be notified of an alert: immediately, or later if its monitor is flapping, or
// the late checks of its workspace are. A forecast that names no monitor expects no flapping, because alerts of
// different monitors are not flapping.
func (c *session) notifyAlertAt(a alert.Alert) (time.Time, error) {
	if !a.Event.Lasts() {
		return a.OpenedAt, nil
	}
	const enough = 100
	of, id := `monitor_id = $1`, a.MonitorID
	switch {
	case a.Event == alert.ChecksLate: // each workspace has one key
		of, id = `workspace_id = $1`, a.WorkspaceID
	case id == "":
		return a.OpenedAt, nil
	}
	earlier, err := database.Query(c.Session, func(row database.Row) (at time.Time, err error) {
		err = row.Scan(instant{&at})
		return
	}, `SELECT DISTINCT notify_at FROM (SELECT notify_at FROM alerts
			WHERE `+of+` AND event = $2 AND opened_at > $3 ORDER BY opened_at DESC LIMIT $4) AS last
		ORDER BY notify_at`, id, string(a.Event), millis(a.OpenedAt.Add(-2*audience.DeliveryLifetime)), enough)
	return audience.NotificationTime(earlier, a.OpenedAt), err
}
