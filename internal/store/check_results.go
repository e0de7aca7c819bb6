package store

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/allswell/allswell/internal/domain/kernel"
	"github.com/allswell/allswell/internal/domain/monitor"
	"github.com/allswell/allswell/internal/store/database"
)

// MaxCheckResults is how many results are recorded in one transaction at most, so that pings do not wait long for it.
const MaxCheckResults = 200

// RecordCheckResults records at most MaxCheckResults results with all their effects in one transaction. Results of
// monitors that were deleted, or whose check was changed since it was claimed, are omitted. If the database refuses a
// result, and would again, it is logged and dropped, and the others are recorded in transactions of their own. The
// error is kernel.ErrBusy if nothing was changed and the same call may succeed, kernel.ErrUnknownOutcome if all may be
// recorded, and otherwise a *ResultsError.
//
// Good results of healthy monitors are only added to the history; TestCheckResultsAreTheRule compares that with
// Monitor.ApplyCheckResult.
func (s *Store) RecordCheckResults(ctx context.Context, results []monitor.CheckResult) error {
	if len(results) > MaxCheckResults {
		return fmt.Errorf("%d results at once", len(results))
	}
	if len(results) == 0 {
		return nil
	}
	err := s.recordResults(ctx, results)
	if err == nil || errors.Is(err, kernel.ErrBusy) || errors.Is(err, kernel.ErrUnknownOutcome) {
		return err
	}
	part := &ResultsError{Err: err}
	for i, r := range results {
		if len(results) > 1 {
			err = s.recordResults(ctx, results[i:i+1])
		}
		switch {
		case errors.Is(err, kernel.ErrBusy):
			part.Err = err
			return part
		case errors.Is(err, kernel.ErrUnknownOutcome):
			part.Done, part.Dropped, part.Err = i+1, part.Dropped+1, err
			return part
		case err != nil:
			if part.Dropped++; part.Dropped == 1 { // the others are counted
				s.log.Error("recording a result failed", "monitor", r.MonitorID, "error", err)
			}
		}
		part.Done = i + 1
	}
	if part.Dropped == 0 {
		return nil
	}
	return part
}

// ResultsError says which results RecordCheckResults did not record.
type ResultsError struct {
	// results, from the first one, that must not be recorded again: they are recorded, may be, or are dropped
	Done    int
	Dropped int   // of these, that are not recorded, or may not be
	Err     error // kernel.ErrBusy if the others may be recorded by another call
}

// Error says how many results are dropped.
func (e *ResultsError) Error() string {
	return fmt.Sprintf("%d of %d results are dropped: %v", e.Dropped, e.Done, e.Err)
}

// Unwrap returns the error that ended the call early, or else the first error.
func (e *ResultsError) Unwrap() error { return e.Err }

func (s *Store) recordResults(ctx context.Context, results []monitor.CheckResult) error {
	return writeOnly(ctx, s, func(t *tx) error {
		t.skipBeforeReturn = true
		return t.recordCheckResults(results)
	})
}

func (t *tx) recordCheckResults(results []monitor.CheckResult) error {
	results, changing, err := t.sortResults(results)
	if err != nil {
		return err
	}
	if len(changing) > 0 {
		if err := t.applyResults(changing); err != nil {
			return err
		}
	}
	return t.insertResults(results)
}

// sortResults returns the results of current configurations, and which of them change something other than the history.
func (t *tx) sortResults(all []monitor.CheckResult) (current, changing []monitor.CheckResult, err error) {
	ids := make([]string, len(all))
	for i, r := range all {
		ids[i] = r.MonitorID
	}
	type state struct {
		id      string
		version int64
		healthy bool
	}
	states, err := database.Query(t.Session, func(row database.Row) (c state, err error) {
		err = row.Scan(&c.id, &c.version, &c.healthy)
		return
	}, `SELECT monitor_id, version, healthy FROM checks WHERE monitor_id IN EACH($1) AND due_at IS NOT NULL`, list(ids))
	if err != nil {
		return nil, nil, err
	}
	of := make(map[string]state, len(states))
	for _, c := range states {
		of[c.id] = c
	}
	for _, r := range all {
		c, ok := of[r.MonitorID]
		if !ok || c.version != r.Version {
			continue
		}
		current = append(current, r)
		if !c.healthy || r.Status != monitor.CheckOK || r.Warning {
			c.healthy = false // so that the results after it are applied, too
			of[r.MonitorID] = c
			changing = append(changing, r)
		}
	}
	return current, changing, nil
}

// applyResults applies results to their monitors. Parents come before the monitors below them, so that what fails
// together raises one alarm. The results of a monitor keep their order.
func (t *tx) applyResults(results []monitor.CheckResult) error {
	monitors, err := t.lockChecked(results)
	if err != nil {
		return err
	}
	view, err := t.checkView()
	if err != nil {
		return err
	}
	family, err := t.familyOf(monitors)
	if err != nil {
		return err
	}
	slices.SortStableFunc(results, func(a, b monitor.CheckResult) int {
		return cmp.Compare(len(family.ancestors[a.MonitorID]), len(family.ancestors[b.MonitorID]))
	})
	if err := t.lockForResults(results, monitors, family, view); err != nil {
		return err
	}
	for _, r := range results {
		if m, ok := monitors[r.MonitorID]; ok {
			m.ParentDown = family.parentDown(m.ID)
			if err := t.applyResult(m, r, view); err != nil {
				return err
			}
			family.down[m.ID] = m.State == monitor.MonitorDown
		}
	}
	return nil
}

// lockChecked locks the monitors of results with their checks, and returns them by their ids.
func (t *tx) lockChecked(results []monitor.CheckResult) (map[string]*monitor.Monitor, error) {
	versions := make(map[string]int64, len(results))
	var ids []string
	for _, r := range results {
		if _, ok := versions[r.MonitorID]; !ok {
			ids = append(ids, r.MonitorID)
		}
		versions[r.MonitorID] = r.Version
	}
	if err := t.lockTable("monitors", ids); err != nil {
		return nil, err
	}
	type lockedCheck struct {
		id      string
		version int64
	}
	locked, err := database.Query(t.Session, func(row database.Row) (c lockedCheck, err error) {
		err = row.Scan(&c.id, &c.version)
		return
	}, `SELECT monitor_id, version FROM checks WHERE monitor_id IN EACH($1) ORDER BY monitor_id FOR UPDATE`, list(ids))
	if err != nil {
		return nil, err
	}
	ids = ids[:0]
	for _, c := range locked {
		if c.version == versions[c.id] { // it may have been changed before the lock
			ids = append(ids, c.id)
		}
	}
	loaded, err := t.monitors(`WHERE id IN EACH($1)`, list(ids))
	monitors := make(map[string]*monitor.Monitor, len(loaded))
	for i, m := range loaded {
		monitors[m.ID] = &loaded[i]
	}
	return monitors, err
}

// checkView loads what results are applied with.
func (t *tx) checkView() (v monitor.CheckView, err error) {
	v = monitor.CheckView{Now: t.Now, Threshold: t.s.threshold, Replicas: make(map[string]string)}
	_, err = database.Query(t.Session, func(row database.Row) (none struct{}, err error) {
		var replica, location string
		if err = row.Scan(&replica, &location); err == nil {
			v.Replicas[replica] = location
		}
		return
	}, `SELECT replica, location FROM liveness WHERE seen_at > $1`, millis(t.Now.Add(-livenessTimeout)))
	return v, err
}

// applyResult applies a result to a locked monitor, and saves it with all effects.
func (t *tx) applyResult(m *monitor.Monitor, r monitor.CheckResult, v monitor.CheckView) error {
	before := *m
	e := m.ApplyCheckResult(r, v)
	if e.WentDown || e.Recovered {
		m.UpdatedAt = kernel.Later(t.Now, m.UpdatedAt)
	}
	changed := m.State != before.State || m.ConsecutiveFailures != before.ConsecutiveFailures ||
		m.FailuresSuppressed != before.FailuresSuppressed
	if changed && !e.WentDown { // beginOutages saves it otherwise
		if err := t.saveMonitorState(*m); err != nil {
			return err
		}
	}
	if err := t.saveCheckingGap(before, *m); err != nil {
		return err
	}
	if err := t.moveSlowCause(before, *m); err != nil {
		return err
	}
	if e.WentDown {
		if err := t.beginOutages(monitor.OutageCheckFailed, NewSignal{Excerpt: r.Reason}, *m); err != nil {
			return err
		}
	}
	if e.Recovered {
		if err := t.endOutage(*m, monitor.OutageEndedByCheck); err != nil {
			return err
		}
	}
	if m.FailuresSuppressed && !before.FailuresSuppressed {
		if err := t.noteSuppressed(*m); err != nil {
			return err
		}
	}
	if err := t.warn(m, e.Verdict); err != nil {
		return err
	}
	if err := t.saveCheckState(*m); err != nil {
		return err
	}
	if before.CheckState.Late || m.ForgetsResults() {
		if err := t.awaitResult(*m, r.StartedAt); err != nil {
			return err
		}
	}
	return t.saveNextCheck(m, e)
}

// saveNextCheck saves when a check is due earlier than regularly, and whether other replicas are asked.
func (t *tx) saveNextCheck(m *monitor.Monitor, e monitor.CheckEffect) error {
	var retryAt any // NULL: no retry
	if e.Retry {
		retryAt = millis(t.Now)
	}
	if !e.RecheckBy.IsZero() && e.RecheckBy.Before(m.NextCheckAt) {
		m.NextCheckAt = e.RecheckBy
	}
	_, err := t.Exec(`UPDATE checks SET due_at = $2, retry_at = $3, retry_without = $4 WHERE monitor_id = $1`,
		m.ID, millis(m.NextCheckAt), retryAt, retryWithout(m.CheckState.Round))
	return err
}

// insertResults adds results to the history.
func (t *tx) insertResults(results []monitor.CheckResult) error {
	rows := make([][]any, len(results))
	for i, r := range results {
		p := r.Phases
		rows[i] = []any{
			r.MonitorID, millis(r.StartedAt), millis(r.DueAt), string(r.Status), nullIfEmpty(r.Reason), r.Answered,
			r.Warning, p.DNS.Microseconds(), p.Connect.Microseconds(), p.TLS.Microseconds(), p.FirstByte.Microseconds(),
			p.Total.Microseconds(), nullIfEmpty(r.Location), millis(r.CertificateExpiresAt),
			nullIfEmpty(monitor.FailedBody(r.Body)),
		}
	}
	return t.insertRows(`INSERT INTO check_results (monitor_id, started_at, due_at, status, reason, answered, warning,
		dns_us, connect_us, tls_us, first_byte_us, total_us, location, certificate_expires_at, body)`, rows)
}

// microseconds scans a duration.
type microseconds struct{ to *time.Duration }

// Scan makes microseconds a destination of rows.Scan.
func (d microseconds) Scan(src any) error {
	n, ok := src.(int64)
	if !ok {
		return fmt.Errorf("a duration is a %T", src)
	}
	*d.to = time.Duration(n) * time.Microsecond
	return nil
}

const checkResultColumns = `monitor_id, started_at, due_at, status, reason, answered, warning, dns_us,
	connect_us, tls_us, first_byte_us, total_us, location, certificate_expires_at, body`

func scanCheckResult(row database.Row) (r monitor.CheckResult, err error) {
	p := &r.Phases
	err = row.Scan(&r.MonitorID, instant{&r.StartedAt}, instant{&r.DueAt}, &r.Status, text{&r.Reason}, &r.Answered,
		&r.Warning, microseconds{&p.DNS}, microseconds{&p.Connect}, microseconds{&p.TLS}, microseconds{&p.FirstByte},
		microseconds{&p.Total}, text{&r.Location}, instant{&r.CertificateExpiresAt},
		text{&r.Body})
	return
}

// CheckResults lists the results of a workspace's monitor, given its id or slug, of the last
// monitor.CheckResultRetention, newest first. They have no Version and no Replica.
func (s *Store) CheckResults(
	ctx context.Context, actor kernel.Actor, ref string, r Pagination,
) ([]monitor.CheckResult, int, error) {
	id, err := read(ctx, s, func(c *session) (string, error) {
		access := accessOf(actor)
		return database.One(c.Session, database.ScanString,
			`SELECT id FROM monitors WHERE `+refColumn(ref)+` = $1 AND `+access.objects(2), ref, access.arg)
	})
	if err != nil {
		return nil, 0, err
	}
	return listQuery[monitor.CheckResult]{
		scan: scanCheckResult, columns: checkResultColumns,
		from: `FROM check_results WHERE monitor_id = $1`, args: []any{id},
		order: `ORDER BY started_at DESC, due_at DESC`,
	}.load(ctx, s, r)
}

// pruneCheckResults deletes old results in short transactions.
func (s *Store) pruneCheckResults(ctx context.Context) error {
	for range maxSteps {
		done, err := write(ctx, s, func(t *tx) (bool, error) {
			until := t.Now.Add(-monitor.CheckResultRetention)
			step, err := database.Query(t.Session, database.ScanInt,
				`SELECT started_at FROM check_results WHERE started_at <= $1 ORDER BY started_at LIMIT 1 OFFSET $2`,
				millis(until), stepRows)
			if err != nil {
				return false, err
			}
			to := until.UnixMilli()
			if len(step) > 0 {
				to = step[0]
			}
			_, err = t.Exec(`DELETE FROM check_results WHERE started_at <= $1`, to)
			return len(step) == 0, err
		})
		if err != nil || done {
			return err
		}
	}
	return nil
}
