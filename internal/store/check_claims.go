package store

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/allswell/allswell/internal/domain/monitor"
	"github.com/allswell/allswell/internal/domain/schedule"
	"github.com/allswell/allswell/internal/shared/fair"
	"github.com/allswell/allswell/internal/shared/secret"
	"github.com/allswell/allswell/internal/store/database"
)

// CheckClaim says which checks a replica can run.
type CheckClaim struct {
	Replica  string // as in its liveness records
	Location string // as in Options
	Limit    int    // checks

	// Place returns the shares in which a check of a workspace and a host needs a place, and its keys there. The host
	// is "" if it is not known. The claim takes places of the shares. nil: only Limit counts.
	Place func(workspaceID, host string) (*fair.Shares, []fair.Key)

	// Full reports whether no check of a workspace has a place, whatever its host.
	Full func(workspaceID string) bool
}

// ClaimedCheck is a check that a replica runs now. No other one runs it for the same due time.
type ClaimedCheck struct {
	MonitorID, WorkspaceID string
	Host                   string // as saved by the replica that ran the check last
	Type                   monitor.MonitorType
	Interval               time.Duration
	Spec                   monitor.CheckSpec // with its secrets
	DueAt                  time.Time
	Retry                  bool  // another replica could not decide
	Version                int64 // of the configuration: see CheckResult
	SecretsMissing         bool  // the secrets cannot be opened, so the result is unknown
}

// checkRetryable is the condition of retries that a replica may run before the next regular check: $1 is now, $2 the
// location and $3 the replica as retry_without has them.
const checkRetryable = `retry_at <= $1 AND due_at > $1 AND replace(retry_without, $2, '') = retry_without AND ` +
	`replace(retry_without, $3, '') = retry_without`

// withoutLocation and withoutReplica return entries of retry_without.
func withoutLocation(location string) string { return "|location:" + location + "|" }
func withoutReplica(replica string) string   { return "|replica:" + replica + "|" }

// retryWithout returns the locations and replicas that do not check again in a round.
func retryWithout(r monitor.CheckRound) string {
	var all strings.Builder
	for _, location := range r.Failed {
		all.WriteString(withoutLocation(location))
	}
	for _, replica := range r.Unknown {
		all.WriteString(withoutReplica(replica))
	}
	return all.String()
}

// ClaimChecks claims due checks for a replica: it moves their due times to the next regular ones and returns once that
// is durable. So each due time is claimed once, a replica that stops loses only what it had claimed, and checks that
// are late are not made up. Checks for which the replica has no place stay due, and do not delay the checks behind
// them. next is when the next check is due, by Clock; zero: none is planned.
func (s *Store) ClaimChecks(ctx context.Context, c CheckClaim) (claimed []ClaimedCheck, next time.Time, err error) {
	var chosen chosenChecks
	due, err := read(ctx, s, func(x *session) (bool, error) {
		if next, err = x.nextCheck(c); err != nil || next.IsZero() || next.After(x.Now) {
			return false, err
		}
		chosen, err = x.chooseChecks(c)
		return len(chosen.retries)+len(chosen.due) > 0, err
	})
	if err != nil || !due {
		return nil, next, err
	}
	claimed, err = write(ctx, s, func(t *tx) ([]ClaimedCheck, error) {
		t.skipBeforeReturn = true
		claimed, err := t.claimChecks(chosen)
		if err == nil {
			next, err = t.nextCheck(c)
		}
		return claimed, err
	})
	return claimed, next, err
}

// nextCheck returns when the next check is due that the replica may run.
func (c *session) nextCheck(claim CheckClaim) (next time.Time, err error) {
	scan := func(row database.Row) (at time.Time, err error) {
		err = row.Scan(instant{&at})
		return
	}
	// SQLite needs the condition to use the index
	next, err = database.One(c.Session, scan, `SELECT min(due_at) FROM checks WHERE due_at IS NOT NULL`)
	if err != nil {
		return next, err
	}
	retry, err := database.One(c.Session, scan, `SELECT min(retry_at) FROM checks WHERE `+checkRetryable, millis(c.Now),
		withoutLocation(claim.Location), withoutReplica(claim.Replica))
	if !retry.IsZero() && (next.IsZero() || retry.Before(next)) {
		next = retry
	}
	return next, err
}

// dueCheck is a check that is due.
type dueCheck struct {
	ClaimedCheck
	sealed       []byte
	lastResultAt time.Time // when the check of its last result began; zero: it has none
}

// claimChecks claims chosen checks that are still due.
func (t *tx) claimChecks(chosen chosenChecks) ([]ClaimedCheck, error) {
	retries, err := t.dueChecks("retry_at", chosen.retries)
	if err != nil {
		return nil, err
	}
	if len(retries) > 0 {
		ids := make([]string, len(retries))
		for i, d := range retries {
			ids[i], retries[i].Retry = d.MonitorID, true
		}
		if _, err := t.Exec(`UPDATE checks SET retry_at = NULL WHERE monitor_id IN EACH($1)`, list(ids)); err != nil {
			return nil, err
		}
	}
	due, err := t.dueChecks("due_at", chosen.due)
	if err != nil {
		return nil, err
	}
	if err := t.postponeChecks(due); err != nil {
		return nil, err
	}
	var claimed []ClaimedCheck
	for _, d := range append(retries, due...) {
		d.Spec.Secrets, err = t.s.openSecrets(d.MonitorID, d.sealed)
		if errors.Is(err, secret.ErrNoKey) {
			d.SecretsMissing = true
		} else if err != nil {
			t.s.log.Error("the secrets of a check cannot be decrypted", "monitor", d.MonitorID, "error", err)
			d.SecretsMissing = true
		}
		claimed = append(claimed, d.ClaimedCheck)
	}
	return claimed, nil
}

// dueChecks locks and loads checks whose column due_at or retry_at has passed. Checks that another transaction holds
// are left to the next claim.
func (t *tx) dueChecks(column string, chosen []string) ([]dueCheck, error) {
	if len(chosen) == 0 {
		return nil, nil
	}
	ids, err := t.ids(`SELECT monitor_id FROM checks WHERE monitor_id IN EACH($1) AND `+column+
		` <= $2 FOR UPDATE SKIP LOCKED`, list(chosen), millis(t.Now))
	if err != nil || len(ids) == 0 {
		return nil, err
	}
	return database.Query(t.Session, func(row database.Row) (d dueCheck, err error) {
		c, err := scanCheck(widerRow{
			row,
			[]any{
				instant{&d.DueAt}, &d.Host, &d.Version, &d.sealed, &d.WorkspaceID, &d.Type, duration{&d.Interval},
				instant{&d.lastResultAt},
			},
		})
		d.MonitorID, d.Spec = c.monitorID, c.CheckSpec
		return d, err
	}, `SELECT `+checkColumns+`, `+column+`, host, version, secrets, m.workspace_id, type, interval_ms, `+
		lastResultAt("due.monitor_id")+` FROM (SELECT * FROM checks WHERE monitor_id IN EACH($1)) AS due
		JOIN (SELECT id, workspace_id, type, interval_ms FROM monitors) AS m ON m.id = due.monitor_id ORDER BY `+column+
		`, monitor_id`, list(ids))
}

// postponeChecks moves checks to their next regular times, and begins a round of each. It also notes their last
// results, so that TickChecks need not look at checks that have some.
func (t *tx) postponeChecks(due []dueCheck) error {
	for len(due) > 0 {
		some := due[:min(len(due), rowsPerInsert)]
		due = due[len(some):]
		var values []string
		var args []any
		for _, d := range some {
			var lateAt time.Time
			if !d.lastResultAt.IsZero() {
				lateAt = schedule.CheckWait{Since: d.lastResultAt, Interval: d.Interval}.LateAt(nil)
			}
			n := len(args)
			args = append(args, d.MonitorID, millis(monitor.NextCheck(d.MonitorID, d.Interval, t.Now)),
				millis(d.lastResultAt), millis(lateAt))
			values = append(values,
				fmt.Sprintf(`($%d, CAST($%d AS BIGINT), CAST($%d AS BIGINT), CAST($%d AS BIGINT))`, n+1, n+2, n+3, n+4))
		}
		_, err := t.Exec(`WITH given (id, at, heard, late) AS (VALUES `+strings.Join(values, ", ")+`)
			UPDATE checks SET due_at = given.at, retry_at = NULL, failed_from = '[]', unknown_from = '[]',
			counted = FALSE,
				late_at = CASE WHEN NOT checks.late AND given.heard > awaited_since_at THEN given.late ELSE late_at END,
				awaited_since_at = CASE WHEN given.heard > awaited_since_at THEN given.heard ELSE awaited_since_at END
			FROM given WHERE monitor_id = given.id`, args...)
		if err != nil {
			return err
		}
	}
	return nil
}
