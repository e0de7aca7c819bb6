package store_test

import (
	"database/sql"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/allswell/allswell/internal/domain/kernel"
	"github.com/allswell/allswell/internal/domain/statuspage"
	"github.com/allswell/allswell/internal/store"
)

// tables lists the database's tables by what the schema says, migrations' own
// left out.
func tables(s *store.Store) ([]string, error) {
	_, db := s.Pools()
	text := `SELECT table_name FROM information_schema.tables WHERE table_schema = current_schema()
		AND table_name <> 'goose_db_version' ORDER BY table_name`
	if isSQLite(s) {
		text = `SELECT name FROM sqlite_schema WHERE type = 'table' AND name <> 'goose_db_version'
			AND name <> 'sqlite_sequence' ORDER BY name`
	}
	rows, err := db.Query(text)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var names []string
	for rows.Next() {
		var name string
		if err := rows.Scan(&name); err != nil {
			return nil, err
		}
		names = append(names, name)
	}
	return names, rows.Err()
}

func isSQLite(s *store.Store) bool { writer, reader := s.Pools(); return writer != reader }

// rows returns what a statement finds, each row as one line of text.
func (w *world) rows(text string, args ...any) []string {
	w.Helper()
	_, db := w.Pools()
	rows, err := db.QueryContext(w.ctx, text, args...)
	w.ok(err)
	defer rows.Close()
	columns, err := rows.Columns()
	w.ok(err)
	var out []string
	for rows.Next() {
		values := make([]sql.NullString, len(columns))
		into := make([]any, len(columns))
		for i := range values {
			into[i] = &values[i]
		}
		w.ok(rows.Scan(into...))
		line := make([]string, len(columns))
		for i, v := range values {
			line[i] = v.String
			if !v.Valid {
				line[i] = "NULL"
			}
		}
		out = append(out, strings.Join(line, "|"))
	}
	w.ok(rows.Err())
	return out
}

// value returns the only value that a statement finds.
func (w *world) value(text string, args ...any) string {
	w.Helper()
	rows := w.rows(text, args...)
	if len(rows) != 1 {
		w.Fatalf("%d rows of %s", len(rows), text)
	}
	return rows[0]
}

// run runs a statement behind the store's back.
func (w *world) run(text string, args ...any) {
	w.Helper()
	db, _ := w.Pools()
	if _, err := db.ExecContext(w.ctx, text, args...); err != nil {
		w.Fatalf("%v in %s", err, text)
	}
}

// dump returns everything that is stored.
func (w *world) dump() string {
	w.Helper()
	if w.tables == nil {
		w.tables = must(tables(w.Store))(w)
	}
	filled := w.filled(w.tables)
	var out strings.Builder
	for _, table := range w.tables {
		if !slices.Contains(filled, table) {
			fmt.Fprintf(&out, "%s\n\n", table)
			continue
		}
		rows := w.rows(`SELECT * FROM ` + table)
		slices.Sort(rows)
		fmt.Fprintf(&out, "%s\n%s\n", table, strings.Join(rows, "\n"))
	}
	return out.String()
}

// newEvents returns the events since the last call, one line for each.
func (w *world) newEvents() []string {
	w.Helper()
	events := must(w.Events(w.ctx))(w)
	var lines []string
	for _, e := range events[w.eventsSeen:] {
		by := ""
		if e.OutageID != "" {
			by = " (outage)"
		}
		if e.Kind == statuspage.EventComponentStatusChanged {
			lines = append(lines,
				fmt.Sprintf("%s: %s > %s%s", e.Data.Component, e.Data.OldStatus, e.Data.NewStatus, by))
			continue
		}
		kind := strings.TrimPrefix(string(e.Kind), "incident.")
		line := fmt.Sprintf("%s: %s, %s, %s%s", kind, e.Data.Title, e.Data.Impact, e.Data.State, by)
		if e.Data.Message != "" {
			line += ": " + e.Data.Message
		}
		if (e.UpdateID != "") != (e.Data.Message != "") && e.Kind != statuspage.EventIncidentPostmortem ||
			e.IncidentID == "" {
			w.Errorf("the event %+v does not name its incident, or not its update", e)
		}
		lines = append(lines, line)
	}
	w.eventsSeen = len(events)
	return lines
}

// expectEvents fails unless exactly these events were written since the last call.
func (w *world) expectEvents(want ...string) {
	w.Helper()
	if got := w.newEvents(); !slices.Equal(got, want) {
		w.Errorf("events:\n\t%s\nwant:\n\t%s", strings.Join(got, "\n\t"), strings.Join(want, "\n\t"))
	}
}

// contradictions are statements each of whose rows is something that must
// never be. Each selects one column.
var contradictions = map[string]string{
	"a monitor that is down without an open outage": `SELECT id FROM monitors WHERE state = 'down'
		AND id NOT IN (SELECT monitor_id FROM outages WHERE ended_at IS NULL)`,
	"an open outage of a monitor that is not down": `SELECT outages.id FROM outages
		JOIN monitors ON monitors.id = monitor_id
		WHERE ended_at IS NULL AND state <> 'down'`,
	"a disabled monitor that is down": `SELECT id FROM monitors WHERE NOT enabled AND state = 'down'`,
	"a cause whose source is over": `SELECT source FROM causes WHERE source NOT IN (SELECT id FROM outages
		WHERE ended_at IS NULL
		UNION SELECT id FROM incidents WHERE NOT resolved UNION SELECT id FROM maintenances
		WHERE state IN ('in_progress', 'verifying')
		UNION SELECT monitor_id FROM checks WHERE slow_since_at IS NOT NULL)`,
	"a slow monitor without its cause": `SELECT monitors.id FROM checks JOIN monitors ON monitors.id = monitor_id
		WHERE slow_since_at IS NOT NULL AND component_id IS NOT NULL
		AND NOT EXISTS (SELECT 1 FROM causes WHERE source = monitors.id AND causes.component_id = monitors.component_id
		AND causes.status = 'degraded')`,
	"a slow monitor that is down or disabled": `SELECT monitors.id FROM checks
		JOIN monitors ON monitors.id = monitor_id WHERE slow_since_at IS NOT NULL AND (NOT enabled OR state = 'down')`,
	"a check of a disabled monitor, or none of one that is enabled": `SELECT monitors.id FROM checks
		JOIN monitors ON monitors.id = monitor_id WHERE enabled <> (due_at IS NOT NULL)`,
	"a healthy check of a monitor in trouble": `SELECT monitors.id FROM checks JOIN monitors ON monitors.id = monitor_id
		WHERE healthy AND (NOT enabled OR state = 'down' OR consecutive_failures > 0 OR warned <> '[]'
		OR status <> 'ok')`,
	"a late check whose gap no result would end": `SELECT monitor_id FROM checks WHERE late
		AND (unknown_since_at IS NULL OR healthy OR due_at IS NULL)`,
	"a check that is never found late, or is looked at for nothing": `SELECT monitor_id FROM checks
		WHERE (late_at IS NOT NULL) <> (due_at IS NOT NULL AND NOT late)
		OR awaited_since_at IS NULL AND due_at IS NOT NULL`,
	"a check of a heartbeat, or none of another monitor": `SELECT id FROM monitors
		WHERE (type <> 'heartbeat') <> EXISTS (SELECT 1 FROM checks WHERE monitor_id = monitors.id)`,
	"an outage without its cause": `SELECT outages.id FROM outages JOIN monitors ON monitors.id = monitor_id
		WHERE ended_at IS NULL AND component_id IS NOT NULL
		AND NOT EXISTS (SELECT 1 FROM causes WHERE source = outages.id AND causes.component_id = monitors.component_id
		AND causes.status = monitors.down_status)`,
	"a cause of a monitor of another component": `SELECT source FROM causes JOIN outages ON outages.id = source
		JOIN monitors ON monitors.id = monitor_id
		WHERE monitors.component_id IS NULL OR monitors.component_id <> causes.component_id`,
	"a monitor of a component of another page": `SELECT monitors.id FROM monitors
		JOIN components ON components.id = component_id
		WHERE components.page_id <> monitors.page_id`,
	"a component in a group of another page": `SELECT components.id FROM components
		JOIN component_groups ON component_groups.id = group_id
		WHERE components.page_id <> component_groups.page_id`,
	"an incident resolved without a time, or the reverse": `SELECT id FROM incidents
		WHERE resolved <> (resolved_at IS NOT NULL)`,
	"an incident in state resolved that is not": `SELECT id FROM incidents WHERE state = 'resolved' AND NOT resolved`,
	"a gap in a timeline": `SELECT incident_id FROM incident_updates GROUP BY incident_id
		HAVING max(number) <> count(*) OR min(number) <> 1`,
	"an event of a version that is not yet": `SELECT events.id FROM events JOIN pages ON pages.id = page_id
		WHERE page_version > version`,
	"a tick that would look too late": `SELECT id FROM monitors WHERE enabled AND waiting_since_at IS NOT NULL
		AND next_check_at IS NULL
		OR waiting_since_at IS NULL AND next_check_at IS NOT NULL`,
	"a wait that begins before the last ping": `SELECT id FROM monitors WHERE waiting_since_at < last_ping_at`,
	"a cause of a component of another page than its source's": `SELECT source FROM causes
		JOIN components ON components.id = component_id
		WHERE page_id NOT IN (SELECT page_id FROM incidents WHERE id = source UNION SELECT page_id FROM maintenances
		WHERE id = source
			UNION SELECT page_id FROM monitors JOIN outages ON monitor_id = monitors.id WHERE outages.id = source
			UNION SELECT page_id FROM monitors WHERE id = source)`,
	"an incident of a component of another page": `SELECT incident_id FROM incident_components
		JOIN incidents ON incidents.id = incident_id
		JOIN components ON components.id = component_id WHERE components.page_id <> incidents.page_id`,
	"a maintenance of a component of another page": `SELECT maintenance_id FROM maintenance_components
		JOIN maintenances ON maintenances.id = maintenance_id
		JOIN components ON components.id = component_id WHERE components.page_id <> maintenances.page_id`,
	"a maintenance that runs without its cause": `SELECT maintenance_id FROM maintenance_components c
		JOIN maintenances m ON m.id = maintenance_id
		WHERE state IN ('in_progress', 'verifying') AND NOT EXISTS
			(SELECT 1 FROM causes WHERE source = m.id AND causes.component_id = c.component_id
			AND causes.status = 'maintenance')`,
	"a cause of a maintenance that is not of the component": `SELECT source FROM causes
		JOIN maintenances m ON m.id = source WHERE NOT EXISTS
			(SELECT 1 FROM maintenance_components c WHERE c.maintenance_id = m.id
			AND c.component_id = causes.component_id)`,
	"an incident's cause that the incident does not say": `SELECT source FROM causes JOIN incidents i ON i.id = source
		WHERE NOT EXISTS
			(SELECT 1 FROM incident_components c WHERE c.incident_id = i.id AND c.component_id = causes.component_id
			AND c.status = causes.status)`,
	"an incident by hand without its cause": `SELECT i.id FROM incidents i
		JOIN incident_components c ON c.incident_id = i.id
		WHERE outage_id IS NULL AND NOT resolved AND NOT EXISTS (SELECT 1 FROM causes WHERE source = i.id
		AND causes.component_id = c.component_id)`,
	"a monitor that is not suppressed during a maintenance": `SELECT monitors.id FROM monitors
		JOIN maintenance_components c ON c.component_id = monitors.component_id
		JOIN maintenances m ON m.id = maintenance_id
		WHERE m.state IN ('in_progress', 'verifying') AND (suppressed_until_at IS NULL
		OR suppressed_until_at < scheduled_until_at)`,
	"a maintenance that has begun, or ended, without a time, or the reverse": `SELECT id FROM maintenances
		WHERE (state = 'scheduled') <> (begun_at IS NULL) OR (state = 'completed') <> (ended_at IS NOT NULL)`,
	"a gap in a maintenance's timeline": `SELECT maintenance_id FROM maintenance_updates GROUP BY maintenance_id
		HAVING max(number) <> count(*) OR min(number) <> 1`,
	"a component without a history": `SELECT id FROM components WHERE id NOT IN (SELECT component_id
		FROM status_changes)`,
	"a history under an alias": `SELECT component_id FROM status_changes WHERE status = 'degraded_performance'`,
	"a run that is looked at too late, or for nothing": `SELECT id FROM monitors WHERE coalesce(run_due_at, 0) <>
		coalesce((SELECT min(due_at) FROM signals WHERE monitor_id = monitors.id AND running), 0)`,
	"a monitor with a run whose pings do not end it": `SELECT id FROM monitors
		JOIN last_pings ON last_pings.token = monitors.token WHERE run_due_at IS NOT NULL AND healthy`,
	"a run without an id that pings do not end": `SELECT signals.id FROM signals
		JOIN monitors ON monitors.id = signals.monitor_id JOIN last_pings ON last_pings.token = monitors.token
		WHERE running AND run_id IS NULL AND healthy`,
	"two runs with one id": `SELECT monitor_id FROM signals WHERE running GROUP BY monitor_id, run_id
		HAVING count(*) > 1`,
	"a gap that ends before it begins": `SELECT from_at FROM listening_gaps WHERE to_at <= from_at`,
}

// contradictionsIn returns one statement that finds all contradictions, because the tables are checked often: each row
// has the name of the contradiction and what has it. Queries that begin with an empty table are left out, because
// planning them would take most of the time.
func (w *world) contradictionsIn() string {
	w.Helper()
	firstTable := func(statement string) string {
		_, rest, _ := strings.Cut(statement, " FROM ")
		return strings.Fields(rest)[0]
	}
	var first []string
	for _, statement := range contradictions {
		first = append(first, firstTable(statement))
	}
	filled := w.filled(slices.Compact(slices.Sorted(slices.Values(first))))
	var parts []string
	for _, what := range slices.Sorted(maps.Keys(contradictions)) {
		if !slices.Contains(filled, firstTable(contradictions[what])) {
			continue
		}
		column, rest, _ := strings.Cut(strings.TrimPrefix(contradictions[what], "SELECT "), " FROM ")
		parts = append(parts,
			fmt.Sprintf("SELECT '%s', CAST(%s AS TEXT) FROM %s", strings.ReplaceAll(what, "'", "''"), column, rest))
	}
	return strings.Join(parts, " UNION ALL ")
}

// filled returns which of the tables have rows.
func (w *world) filled(tables []string) []string {
	w.Helper()
	var finds []string
	for _, table := range tables {
		finds = append(finds, `SELECT '`+table+`' WHERE EXISTS (SELECT 1 FROM `+table+`)`)
	}
	return w.rows(strings.Join(finds, ` UNION ALL `))
}

// consistent fails if the tables contradict each other, or the events what is
// shown: each component's events have to lead from one status to the next, and
// the last to the present one.
func (w *world) consistent() {
	w.Helper()
	if find := w.contradictionsIn(); find != "" {
		for _, row := range w.rows(find) {
			w.Errorf("contradiction: %s", row)
		}
	}
	var shown []statuspage.Component // of all pages
	for _, slug := range w.rows(`SELECT slug FROM pages`) {
		shown = append(shown, must(w.LoadPage(w.ctx, slug))(w).Components...)
	}
	w.historiesAgree(shown)
	w.edgesAgree()
	gaps := must(w.Gaps(w.ctx))(w)
	checks := make(map[string]string)
	for _, line := range w.rows(`SELECT id, next_check_at FROM monitors`) {
		id, at, _ := strings.Cut(line, "|")
		checks[id] = at
	}
	for _, m := range must(w.AllMonitors(w.ctx))(w) {
		due := m.DueAt(gaps)
		if !due.IsZero() && checks[m.ID] > fmt.Sprint(due.UnixMilli()) {
			w.Errorf("%s would be looked at after its deadline %v", m.Name, due)
		}
	}
	last := map[string]kernel.Status{}
	for _, e := range must(w.Events(w.ctx))(w) {
		if e.Kind != statuspage.EventComponentStatusChanged {
			continue
		}
		before, known := last[e.ComponentID]
		if e.Data.OldStatus == e.Data.NewStatus || known && before != e.Data.OldStatus {
			w.Errorf("event of %s: %s > %s, after %s", e.Data.Component, e.Data.OldStatus, e.Data.NewStatus, before)
		}
		last[e.ComponentID] = e.Data.NewStatus
	}
	for _, c := range shown {
		if reported, known := last[c.ID]; known && reported != c.Status() {
			w.Errorf("%s shows %s, but the last event says %s", c.Name, c.Status(), reported)
		}
	}
}

// historiesAgree fails unless the last change of each component shown is to the status that
// it has, and none lies ahead; nor may a monitor be quiet without a maintenance
// that runs.
func (w *world) historiesAgree(shown []statuspage.Component) {
	w.Helper()
	now := w.clock.now().UnixMilli()
	if rows := w.rows(`SELECT component_id, changed_at FROM status_changes WHERE changed_at > $1`, now); len(rows) > 0 {
		w.Errorf("changes that lie ahead: %v", rows)
	}
	rows := w.rows(
		`SELECT id FROM monitors WHERE suppressed_until_at > $1 AND NOT EXISTS (SELECT 1 FROM maintenance_components c
		JOIN maintenances m ON m.id = maintenance_id WHERE c.component_id = monitors.component_id
		AND state IN ('in_progress', 'verifying'))`, now,
	)
	if len(rows) > 0 {
		w.Errorf("monitors that are suppressed without a maintenance: %v", rows)
	}
	last := make(map[string]string)
	for _, line := range w.rows(`SELECT component_id, status FROM status_changes s WHERE changed_at =
		(SELECT max(changed_at) FROM status_changes o WHERE o.component_id = s.component_id)`) {
		id, status, _ := strings.Cut(line, "|")
		last[id] = status
	}
	for _, c := range shown {
		if got := last[c.ID]; got != string(c.Status().Canonical()) {
			w.Errorf("%s has the status %s, and the last change of its history is to %q", c.Name, c.Status(), got)
		}
	}
}

// edgesAgree fails unless each maintenance is looked at when its rules say.
func (w *world) edgesAgree() {
	w.Helper()
	for _, line := range w.rows(
		`SELECT m.id, p.workspace_id, m.next_transition_at FROM maintenances m JOIN pages p ON p.id = m.page_id`,
	) {
		part := strings.Split(line, "|")
		want := "NULL"
		edge := must(w.Maintenance(w.ctx, kernel.Actor{WorkspaceID: part[1]}, part[0]))(w).NextTransitionAt()
		if !edge.IsZero() {
			want = fmt.Sprint(edge.UnixMilli())
		}
		if part[2] != want {
			w.Errorf("maintenance %s is looked at at %s, want %s", part[0], part[2], want)
		}
	}
}
