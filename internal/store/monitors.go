package store

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/allswell/allswell/internal/domain/kernel"
	"github.com/allswell/allswell/internal/domain/monitor"
	"github.com/allswell/allswell/internal/domain/statuspage"
	"github.com/allswell/allswell/internal/resource"
	"github.com/allswell/allswell/internal/store/database"
)

// noPing selects monitors that no ping has reached since their wait began.
const noPing = `NOT EXISTS (SELECT 1 FROM last_pings WHERE last_pings.token = monitors.token
	AND pinged_at > waiting_since_at)`

// lateMonitor selects the monitors whose DisplayState is monitor.MonitorLate: TestLateIsOneRule compares them.
const lateMonitor = `enabled AND state = 'up' AND CASE WHEN type = 'heartbeat' THEN consecutive_failures > 0 AND ` +
	`waiting_since_at IS NOT NULL AND ` + noPing + `
	ELSE EXISTS (SELECT 1 FROM checks WHERE checks.monitor_id = monitors.id AND checks.late) END`

// unknownMonitor selects the monitors whose DisplayState is monitor.MonitorUnknown: TestUnknownIsOneRule compares them.
const unknownMonitor = `enabled AND state = 'up' AND consecutive_failures = 0
	AND EXISTS (SELECT 1 FROM checks WHERE checks.monitor_id = monitors.id AND checks.unknown_since_at IS NOT NULL
	AND NOT checks.late)`

// parentDown reports whether the parent of a monitor, or its parent, and so on, is down.
const parentDown = `CASE WHEN parent_id IS NULL THEN FALSE ELSE EXISTS (WITH RECURSIVE above (id, parent_id, state) AS (
		SELECT p.id, p.parent_id, p.state FROM monitors p WHERE p.id = monitors.parent_id
		UNION SELECT p.id, p.parent_id, p.state FROM monitors p JOIN above ON p.id = above.parent_id)
	SELECT 1 FROM above WHERE state = 'down') END`

// monitorRow is a monitor as it is stored. If it is up, its last ping is stored separately (table last_pings); current
// applies it.
type monitorRow struct {
	monitor.Monitor
	oldToken string    // "": none
	pingedAt time.Time // from last_pings
}

// monitorTable has what all monitors have; checks have more in the table checks. saveMonitorState saves what a ping
// changes, and RotateMonitor a new token.
var monitorTable = tableOf("monitors", func(r monitorRow) string { return r.ID }, append([]column[monitorRow]{
	{name: "type", at: func(r *monitorRow) any { return &r.Type }, fixed: true},
	{name: "id", at: func(r *monitorRow) any { return &r.ID }, fixed: true},
	{name: "workspace_id", at: func(r *monitorRow) any { return &r.WorkspaceID }, fixed: true},
	{name: "token", at: func(r *monitorRow) any { return tokenColumn{&r.Monitor} }, fixed: true},
	{name: "old_token", at: func(r *monitorRow) any { return text{&r.oldToken} }, read: true},
	{name: "cron_expression", at: func(r *monitorRow) any { return &r.Cron.Expression }, null: true},
	{name: "cron_zone", at: func(r *monitorRow) any { return &r.Cron.TimeZone }, null: true},
	{name: "calendar", at: func(r *monitorRow) any { return &r.Cron.Calendar }},
	{name: "kubernetes", at: func(r *monitorRow) any { return &r.Cron.Kubernetes }},
	{name: "page_id", at: func(r *monitorRow) any { return &r.PageID }, null: true},
	{name: `(SELECT slug FROM pages WHERE pages.id = monitors.page_id)`, at: func(r *monitorRow) any {
		return text{&r.PageSlug}
	}, read: true},
	{name: "state", at: func(r *monitorRow) any { return &r.State }},
	{name: "consecutive_failures", at: func(r *monitorRow) any { return &r.ConsecutiveFailures }},
	{name: "failures_suppressed", at: func(r *monitorRow) any { return &r.FailuresSuppressed }},
	{name: "last_ping_at", at: func(r *monitorRow) any { return &r.LastPingAt }},
	{name: "waiting_since_at", at: func(r *monitorRow) any { return &r.WaitingSince }},
	{name: "next_check_at", at: func(r *monitorRow) any { return deadlineColumn{&r.Monitor} }},
	{name: "rejected_at", at: func(r *monitorRow) any { return &r.RejectedAt }},
	{name: "suppressed_until_at", at: func(r *monitorRow) any { return &r.SuppressedUntil }},
	{name: "ticked_at", at: func(r *monitorRow) any { return &r.TickedAt }},
	{name: "run_due_at", at: func(r *monitorRow) any { return &r.RunDueAt }},
	{name: "warned", at: func(r *monitorRow) any { return listOf[monitor.Condition]{&r.Warned} }},
	{name: "secret_versions", at: func(r *monitorRow) any { return versionsOf{&r.SecretVersions} }},
	{name: parentDown, at: func(r *monitorRow) any { return &r.ParentDown }, read: true},
	{name: `(SELECT pinged_at FROM last_pings WHERE last_pings.token = monitors.token)`, at: func(r *monitorRow) any {
		return &r.pingedAt
	}, read: true},
}, monitorColumns()...))

// monitorColumns returns the columns of the fields that people set, except fields that are stored in a form of their
// own.
func monitorColumns() (columns []column[monitorRow]) {
	for _, f := range resource.Monitor.Fields {
		if i := f.Info(); i.Column() != "" && !slices.Contains([]string{"id", "type", "token"}, i.Name) {
			columns = append(columns, describedColumn(i, func(r *monitorRow) any { return f.Pointer(&r.Monitor) }))
		}
	}
	return columns
}

// tokenColumn stores the ping token of a monitor. Because tokens are unique, a check has a text there that is no token.
type tokenColumn struct{ *monitor.Monitor }

// Scan makes tokenColumn a destination of rows.Scan. The type has been scanned before.
func (c tokenColumn) Scan(src any) error {
	err := text{&c.Token}.Scan(src)
	if c.IsCheck() {
		c.Token = ""
	}
	return err
}

func (c tokenColumn) parameter() any {
	if c.IsCheck() {
		return "check_" + c.ID
	}
	return c.Token
}

// deadlineColumn stores the deadline of the next ping, by which ticks find the monitor; checks have none. It is not
// loaded, because gaps move it: see fillNextChecks.
type deadlineColumn struct{ *monitor.Monitor }

// Scan makes deadlineColumn a destination of rows.Scan.
func (deadlineColumn) Scan(any) error { return nil }

func (c deadlineColumn) parameter() any {
	if c.IsCheck() {
		return nil
	}
	return millis(c.NextCheckAt)
}

// current returns the monitor after its last ping.
func (r monitorRow) current() monitor.Monitor {
	m := r.Monitor
	switch {
	case r.pingedAt.After(m.WaitingSince) && m.State == monitor.MonitorUp:
		m.RecordPing(r.pingedAt)
	case r.pingedAt.After(m.LastPingAt):
		m.LastPingAt = r.pingedAt
	}
	return m
}

// monitorRows loads monitors as they are stored. where is the statement from WHERE on.
func (c *session) monitorRows(where string, args ...any) ([]monitorRow, error) {
	rows, err := database.Query(c.Session, monitorTable.scan, `SELECT `+monitorTable.selected+` FROM monitors `+where,
		args...)
	if err == nil {
		err = c.fillChecks(rows)
	}
	return rows, err
}

// monitors loads monitors with their last pings applied.
func (c *session) monitors(where string, args ...any) ([]monitor.Monitor, error) {
	rows, err := c.monitorRows(where, args...)
	return currentMonitors(rows), err
}

// monitor loads one monitor; if there is none, the error is ErrNotFound.
func (c *session) monitor(where string, args ...any) (monitor.Monitor, error) {
	row, err := database.One(c.Session, monitorTable.scan, `SELECT `+monitorTable.selected+` FROM monitors `+where,
		args...)
	if err == nil && row.IsCheck() {
		rows := []monitorRow{row}
		err = c.fillChecks(rows)
		row = rows[0]
	}
	return row.current(), err
}

func currentMonitors(rows []monitorRow) []monitor.Monitor {
	monitors := make([]monitor.Monitor, len(rows))
	for i, r := range rows {
		monitors[i] = r.current()
	}
	return monitors
}

// MonitorFilter limits a list of monitors. Empty fields do not limit it.
type MonitorFilter struct {
	Filter
	Page       string               // the slug of their page
	Components []string             // ids or, if Page is given, slugs
	Tag        string               // one of their tags
	IncidentID string               // the open incident of their outage
	State      monitor.MonitorState // one of monitor.MonitorFilterStates
	Type       monitor.MonitorType
}

// Monitors lists a workspace's monitors that match the filter, oldest first.
func (s *Store) Monitors(
	ctx context.Context, actor kernel.Actor, f MonitorFilter, r Pagination,
) (monitors []monitor.Monitor, total int, err error) {
	type statement struct {
		from string
		args []any
	}
	selected, err := read(ctx, s, func(c *session) (q statement, err error) {
		q.from, q.args, err = c.monitorsFrom(actor, f)
		return
	})
	if err != nil {
		return nil, 0, err
	}
	fill := func(c *session, rows []monitorRow) error {
		if err := c.fillChecks(rows); err != nil {
			return err
		}
		monitors = currentMonitors(rows)
		return c.fillMonitors(monitors)
	}
	_, total, err = listQuery[monitorRow]{
		scan: monitorTable.scan, fill: fill, columns: monitorTable.selected,
		from: selected.from, args: selected.args, order: `ORDER BY created_at, id`,
	}.load(ctx, s, r)
	return monitors, total, err
}

// monitorsFrom returns a statement from FROM on that selects the monitors, and its
// arguments. If the page, the components or the incident select them, it has no condition
// on the workspace: SQLite could choose the index of that, and read all monitors.
func (c *session) monitorsFrom(actor kernel.Actor, f MonitorFilter) (from string, args []any, err error) {
	r := accessOf(actor)
	from = `FROM monitors WHERE TRUE`
	var page statuspage.Page
	if f.Page != "" {
		if page, err = c.pageBySlug(actor, f.Page); err != nil && !errors.Is(err, kernel.ErrNotFound) {
			return "", nil, err
		}
		from, args = withCondition(from, args, `page_id = $%d`, page.ID) // "": none
	}
	if len(f.Components) > 0 {
		refs, err := c.resolveComponents(page.ID, f.Components)
		if err != nil {
			return "", nil, err
		}
		ids, err := database.Query(c.Session, database.ScanString,
			`SELECT c.id FROM components c JOIN pages p ON p.id = c.page_id
			WHERE c.id IN EACH($1) AND `+r.on(`p.id`, 2), list(refs), r.arg)
		if err != nil {
			return "", nil, err
		}
		from, args = withCondition(from, args, `component_id IN EACH($%d)`, list(ids))
	}
	if f.IncidentID != "" {
		ids, err := database.Query(c.Session, database.ScanString,
			`SELECT o.monitor_id FROM incidents i JOIN pages p ON p.id = i.page_id JOIN outages o ON o.id = i.outage_id
			WHERE i.id = $1 AND `+r.on(`p.id`, 2)+` AND o.ended_at IS NULL`, f.IncidentID, r.arg)
		if err != nil {
			return "", nil, err
		}
		from, args = withCondition(from, args, `id IN EACH($%d)`, list(ids))
	}
	if len(args) == 0 {
		from, args = from+` AND `+r.objects(1), []any{r.arg}
	}
	if f.Tag != "" {
		if !monitor.ValidTag(f.Tag) { // no monitor has it
			return from + ` AND FALSE`, args, nil
		}
		from, args = withCondition(from, args, `tags LIKE $%d`, tagPattern(f.Tag))
	}
	switch f.State {
	case "":
	case monitor.MonitorWaiting:
		from += ` AND enabled AND last_ping_at IS NULL AND NOT EXISTS (SELECT 1 FROM last_pings
			WHERE last_pings.token = monitors.token AND pinged_at IS NOT NULL)
			AND NOT EXISTS (SELECT 1 FROM checks WHERE checks.monitor_id = monitors.id AND checks.status IS NOT NULL)`
	case monitor.MonitorDisabled:
		from += ` AND NOT enabled`
	case monitor.MonitorLate:
		from += ` AND ` + lateMonitor
	case monitor.MonitorUnknown:
		from += ` AND ` + unknownMonitor
	default:
		from, args = withCondition(from, args, `state = $%d`, string(f.State))
	}
	if f.Type != "" {
		from, args = withCondition(from, args, `type = $%d`, string(f.Type))
	}
	from, args = f.from(from, args...)
	return from, args, nil
}

// tagPattern returns the pattern of LIKE that lists with a valid tag have, as listText stores them.
func tagPattern(tag string) string { return `%"` + tag + `"%` }

// fillMonitors computes the fields that are not stored with the monitors: their deadlines,
// effective thresholds and open incidents.
func (c *session) fillMonitors(monitors []monitor.Monitor) error {
	var down []string
	index := make(map[string]int)
	for i := range monitors {
		m := &monitors[i]
		m.EffectiveFailureThreshold = m.Threshold(c.s.threshold)
		if m.State == monitor.MonitorDown {
			down, index[m.ID] = append(down, m.ID), i
		}
	}
	if err := c.fillNextChecks(monitors); err != nil || len(down) == 0 {
		return err
	}
	type row struct{ monitor, incident string }
	incidents, err := database.Query(c.Session, func(sc database.Row) (r row, err error) {
		err = sc.Scan(&r.monitor, &r.incident)
		return
	}, `SELECT o.monitor_id, i.id FROM outages o JOIN incidents i ON i.outage_id = o.id
		WHERE o.ended_at IS NULL AND o.monitor_id IN EACH($1)`, list(down))
	for _, r := range incidents {
		monitors[index[r.monitor]].IncidentID = r.incident
	}
	return err
}

// fillNextChecks computes the current deadline of each monitor.
func (c *session) fillNextChecks(monitors []monitor.Monitor) error {
	var since time.Time
	for _, m := range monitors {
		if !m.WaitingSince.IsZero() && (since.IsZero() || m.WaitingSince.Before(since)) {
			since = m.WaitingSince
		}
	}
	if since.IsZero() {
		return nil
	}
	gaps, err := c.gaps(since)
	for i := range monitors {
		if !monitors[i].IsCheck() {
			monitors[i].NextCheckAt = monitors[i].DueAt(gaps)
		}
	}
	return err
}

// filledMonitor is fillMonitors for one monitor that was loaded without error.
func (c *session) filledMonitor(m monitor.Monitor, err error) (monitor.Monitor, error) {
	if err != nil {
		return m, err
	}
	monitors := []monitor.Monitor{m}
	err = c.fillMonitors(monitors)
	return monitors[0], err
}

// Monitor returns a workspace's monitor by its id or slug.
func (s *Store) Monitor(ctx context.Context, actor kernel.Actor, ref string) (monitor.Monitor, error) {
	return read(ctx, s, func(c *session) (monitor.Monitor, error) {
		return c.filledMonitor(c.monitorOf(actor, ref))
	})
}

// monitorOf loads a monitor that the actor can reach, given its id or slug.
func (c *session) monitorOf(actor kernel.Actor, ref string) (monitor.Monitor, error) {
	r := accessOf(actor)
	return c.monitor(`WHERE `+refColumn(ref)+` = $1 AND `+r.objects(2), ref, r.arg)
}

// lockMonitor locks a workspace's monitor, given its id or slug, and then loads it in a second statement: see lockPage.
func (t *tx) lockMonitor(actor kernel.Actor, ref string) (monitor.Monitor, error) {
	r := accessOf(actor)
	id, err := database.One(t.Session, database.ScanString,
		`SELECT id FROM monitors WHERE `+refColumn(ref)+` = $1 AND `+r.objects(2)+` FOR UPDATE`, ref, r.arg)
	if err != nil {
		return monitor.Monitor{}, err
	}
	return t.monitor(`WHERE id = $1`, id)
}
