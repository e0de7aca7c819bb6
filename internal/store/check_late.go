package store

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/allswell/allswell/internal/domain/alert"
	"github.com/allswell/allswell/internal/domain/kernel"
	"github.com/allswell/allswell/internal/domain/monitor"
	"github.com/allswell/allswell/internal/domain/schedule"
	"github.com/allswell/allswell/internal/store/database"
)

// lateChecksBatch is how many checks one transaction looks at. Results and pings are recorded between them.
const lateChecksBatch = 500

// overdueChecks selects checks that may be late: $1 is now. It does not look at their results, so after a time without
// claims most of the checks that it finds are not late.
const overdueChecks = `SELECT monitor_id FROM checks WHERE late_at < $1 ORDER BY late_at, monitor_id LIMIT $2`

// lateWorkspaces selects the workspaces that have late checks, one by one by the index, because there can be many
// checks.
const lateWorkspaces = `WITH RECURSIVE found (id) AS (SELECT min(workspace_id) FROM checks WHERE late
	UNION ALL SELECT (SELECT min(workspace_id) FROM checks WHERE late AND workspace_id > found.id) FROM found
	WHERE found.id IS NOT NULL)
	SELECT id FROM found WHERE id IS NOT NULL`

// lateChecksBegun and lateChecksOver select workspaces whose members are to be notified that they have late checks, or
// none any more.
const (
	lateChecksBegun = lateWorkspaces + ` AND id NOT IN (SELECT workspace_id FROM late_workspaces)`
	lateChecksOver  = `SELECT workspace_id FROM late_workspaces l WHERE since_at < $1
		AND NOT EXISTS (SELECT 1 FROM checks c WHERE c.late AND c.workspace_id = l.workspace_id)`
)

// lastResultAt returns the expression for when the check of a monitor's last result began.
func lastResultAt(monitorID string) string {
	return `(SELECT max(r.started_at) FROM check_results r WHERE r.monitor_id = ` + monitorID + `)`
}

// lateFrom returns when a check without a result is looked at, for createCheck and changeCheck. The zero time means
// never: the check is disabled, or late already.
func lateFrom(m monitor.Monitor, since time.Time) time.Time {
	if since.IsZero() || m.CheckState.Late {
		return time.Time{}
	}
	return schedule.CheckWait{Since: since, Interval: m.Interval}.LateAt(nil)
}

// awaitResult saves that a check that was late has a result, whose check began at since.
func (t *tx) awaitResult(m monitor.Monitor, since time.Time) error {
	_, err := t.Exec(`UPDATE checks SET awaited_since_at = $2, late_at = $3 WHERE monitor_id = $1`, m.ID, millis(since),
		millis(lateFrom(m, since)))
	return err
}

// TickChecks marks the checks that are late by CheckWait.LateAt: from when their result was due until the next one, it
// is unknown whether their targets work. Members of a workspace get one event when its first check is late, and one
// when none is any more. Nothing is marked while no replica writes liveness records: that is a listening gap. Any
// number of replicas may call it at the same time. It returns how many checks it marked.
func (s *Store) TickChecks(ctx context.Context) (marked int, err error) {
	for range maxSteps {
		found, err := read(ctx, s, func(c *session) ([]string, error) {
			if listening, err := c.isListening(); err != nil || !listening {
				return nil, err
			}
			return c.ids(overdueChecks, millis(c.Now), lateChecksBatch)
		})
		if err != nil {
			return marked, err
		}
		if len(found) == 0 {
			break
		}
		n, err := write(ctx, s, func(t *tx) (int, error) {
			t.skipBeforeReturn = true
			return t.markLate(found)
		})
		if marked += n; err != nil {
			return marked, err
		}
		if len(found) < lateChecksBatch {
			break
		}
	}
	return marked, s.announceLate(ctx)
}

// isListening reports whether a liveness record is recent, so that the listening gap before it is stored.
func (c *session) isListening() (bool, error) {
	n, err := database.One(c.Session, database.ScanInt, `SELECT count(*) FROM liveness WHERE seen_at >= $1`,
		millis(c.Now.Add(-livenessTimeout)))
	return n > 0, err
}

// overdueCheck is a check that may be late.
type overdueCheck struct {
	monitorID, pageID string
	schedule.CheckWait
	state monitor.CheckState // only UnknownSince
}

// overdue locks and loads the checks among ids that are still overdue, with their last results.
func (t *tx) overdue(ids []string) ([]overdueCheck, error) {
	if err := t.lockTable("monitors", ids); err != nil { // as results do
		return nil, err
	}
	// A claim that has locked one has noted its last result, so the next statement does not find it.
	_, err := t.ids(
		`SELECT monitor_id FROM checks WHERE monitor_id IN EACH($1) AND late_at < $2 ORDER BY monitor_id FOR UPDATE`,
		list(ids), millis(t.Now),
	)
	if err != nil {
		return nil, err
	}
	return database.Query(t.Session, func(row database.Row) (o overdueCheck, err error) {
		var last time.Time
		err = row.Scan(&o.monitorID, text{&o.pageID}, duration{&o.Interval}, instant{&o.Since},
			instant{&o.state.UnknownSince}, instant{&last})
		o.Since = kernel.Later(o.Since, last)
		return
	}, `SELECT c.monitor_id, m.page_id, m.interval_ms, c.awaited_since_at, c.unknown_since_at, `+
		lastResultAt("c.monitor_id")+`
		FROM checks c JOIN monitors m ON m.id = c.monitor_id WHERE c.monitor_id IN EACH($1) AND c.late_at < $2
		ORDER BY c.monitor_id`, list(ids), millis(t.Now))
}

// markLate marks the checks among ids that are late, and saves when to look at the others again.
func (t *tx) markLate(ids []string) (marked int, err error) {
	checks, err := t.overdue(ids)
	if err != nil || len(checks) == 0 {
		return 0, err
	}
	since := t.Now
	for _, o := range checks {
		if o.Since.Before(since) {
			since = o.Since
		}
	}
	gaps, err := t.gaps(since)
	if err != nil {
		return 0, err
	}
	var pages []string
	for some := range slices.Chunk(checks, rowsPerInsert) {
		var values []string
		var args []any
		for _, o := range some {
			lateAt := o.LateAt(gaps)
			if lateAt.Before(t.Now) {
				o.state.MarkLate(o.DueAt())
				lateAt = time.Time{}
				marked++
				if o.pageID != "" {
					pages = append(pages, o.pageID)
				}
			}
			n := len(args)
			args = append(args, o.monitorID, millis(o.Since), millis(lateAt), o.state.Late,
				millis(o.state.UnknownSince))
			values = append(values,
				fmt.Sprintf(`($%d, CAST($%d AS BIGINT), CAST($%d AS BIGINT), CAST($%d AS BOOLEAN), CAST($%d AS `+
					`BIGINT))`, n+1, n+2, n+3, n+4, n+5))
		}
		// The next good result is applied, so that it ends the gap: the check is not healthy.
		_, err := t.Exec(`WITH given (id, since, at, late, unknown) AS (VALUES `+strings.Join(values, ", ")+`)
			UPDATE checks SET awaited_since_at = given.since, late_at = given.at, late = given.late,
			unknown_since_at = given.unknown,
				healthy = healthy AND NOT given.late FROM given WHERE monitor_id = given.id`, args...)
		if err != nil {
			return 0, err
		}
	}
	slices.Sort(pages)
	for _, id := range slices.Compact(pages) { // their histories change
		if err := t.bumpVersion(id); err != nil {
			return 0, err
		}
	}
	return marked, nil
}

// announceLate writes one event for each workspace whose first check has become late, however many follow, and one when
// none is late any more.
func (s *Store) announceLate(ctx context.Context) error {
	due, err := read(ctx, s, func(c *session) (bool, error) {
		begun, err := c.ids(lateChecksBegun + ` LIMIT 1`)
		if err != nil || len(begun) > 0 {
			return len(begun) > 0, err
		}
		over, err := c.ids(lateChecksOver+` LIMIT 1`, millis(c.Now))
		return len(over) > 0, err
	})
	if err != nil || !due {
		return err
	}
	return writeOnly(ctx, s, func(t *tx) error {
		t.skipBeforeReturn = true
		if err := t.endLateChecks(); err != nil {
			return err
		}
		return t.beginLateChecks()
	})
}

// lateKey is the key of the alert of a workspace. It is always the same, so that late checks that come and go are
// flapping.
func lateKey(workspaceID string) string { return "checks:" + workspaceID }

// lateName is the name of what is late, in messages.
const lateName = "Checks"

func (t *tx) beginLateChecks() error {
	begun, err := t.ids(lateChecksBegun + ` ORDER BY id`)
	for _, id := range begun {
		if err != nil {
			break
		}
		var n int64
		// Another replica may have done so meanwhile.
		n, err = t.Exec(`INSERT INTO late_workspaces (workspace_id, since_at) VALUES ($1, $2) ON CONFLICT DO NOTHING`,
			id, millis(t.Now))
		if err != nil || n == 0 {
			continue
		}
		err = t.emitLate(id)
	}
	return err
}

// emitLate writes the event that a workspace has late checks. It does not name them: members can be limited to pages.
func (t *tx) emitLate(workspaceID string) error {
	type lateChecks struct {
		count int64
		since time.Time
	}
	late, err := database.One(t.Session, func(row database.Row) (l lateChecks, err error) {
		err = row.Scan(&l.count, instant{&l.since})
		return
	}, `SELECT count(*), min(unknown_since_at) FROM checks WHERE late AND workspace_id = $1`, workspaceID)
	if err != nil {
		return err
	}
	detail := fmt.Sprintf("%d checks have no result, the first since %s: whether their targets work is unknown",
		late.count, late.since.UTC().Format(alertTime))
	if late.count == 1 {
		detail = fmt.Sprintf("one check has no result since %s: whether its target works is unknown",
			late.since.UTC().Format(alertTime))
	}
	return t.emitAlertEvent(alert.ChecksLate, workspaceID, "", lateKey(workspaceID), monitor.MonitorEventData{
		Name: lateName, Detail: detail,
	})
}

// endLateChecks writes its events after the events of the beginning, which are older.
func (t *tx) endLateChecks() error {
	over, err := t.ids(`DELETE FROM late_workspaces WHERE workspace_id IN (`+lateChecksOver+`) RETURNING workspace_id`,
		millis(t.Now))
	slices.Sort(over)
	for _, id := range over {
		if err == nil {
			err = t.emitAlertEvent(alert.ChecksLateEnded, id, "", lateKey(id), monitor.MonitorEventData{Name: lateName})
		}
	}
	return err
}
