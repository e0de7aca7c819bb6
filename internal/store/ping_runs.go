package store

import (
	"context"
	"errors"
	"time"

	"github.com/allswell/allswell/internal/domain/kernel"
	"github.com/allswell/allswell/internal/domain/monitor"
	"github.com/allswell/allswell/internal/store/database"
)

const runColumns = `coalesce(run_id, ''), received_at, due_at, doubtful, ambiguous, violated`

func scanRun(row database.Row) (r monitor.Run, err error) {
	err = row.Scan(&r.ID, instant{&r.StartedAt}, instant{&r.DueAt}, &r.Doubtful, &r.Ambiguous, &r.Violated)
	return
}

// run loads the run of a monitor with the id that has not ended. Its StartedAt is zero if there is none.
func (c *session) run(monitorID, runID string) (monitor.Run, error) {
	r, err := database.One(c.Session, scanRun,
		`SELECT `+runColumns+` FROM signals WHERE monitor_id = $1 AND running AND coalesce(run_id, '') = $2`, monitorID,
		runID)
	if errors.Is(err, kernel.ErrNotFound) {
		return monitor.Run{}, nil
	}
	return r, err
}

// endViolates reports whether the success of a run of a locked monitor violates a condition that makes it down. It
// loads the run, which applyPing loads again, only if there is such a condition: other locks come before the locks of
// an outage.
func (t *tx) endViolates(m monitor.Monitor, runID string) (bool, error) {
	if m.MinRuntime == 0 || m.Action(monitor.ConditionMinRuntime) != monitor.ActionDown {
		return false, nil
	}
	r, err := t.run(m.ID, runID)
	_, violates := m.Down(m.EvaluateEnd(r, t.Now, monitor.RunSucceeds))
	return violates, err
}

// startOf loads what the start of a run of a locked monitor is evaluated with.
func (t *tx) startOf(m monitor.Monitor, n NewSignal) (s monitor.RunStart, err error) {
	s = monitor.RunStart{At: t.Now, RunID: n.RunID, Repeated: n.Repeated}
	s.Open, err = database.Query(t.Session, scanRun,
		`SELECT `+runColumns+` FROM signals WHERE monitor_id = $1 AND running ORDER BY number`, m.ID)
	if err != nil {
		return s, err
	}
	since := t.Now.Add(-monitor.GapsBeforeStart)
	for _, r := range s.Open {
		if m.NoOverlap && r.StartedAt.Before(since) {
			since = r.StartedAt
		}
	}
	if s.Gaps, err = t.gaps(since); err != nil || m.MaxPerInterval == 0 {
		return s, err
	}
	s.Nth, err = database.One(t.Session, func(row database.Row) (at time.Time, err error) {
		err = row.Scan(instant{&at})
		return
	}, `SELECT received_at FROM signals WHERE monitor_id = $1 AND kind = 'start' AND NOT doubtful ORDER BY number DESC
		LIMIT 1 OFFSET $2`, m.ID, m.MaxPerInterval-1)
	if errors.Is(err, kernel.ErrNotFound) {
		err = nil
	}
	return s, err
}

// applyStart evaluates the start of a run of a locked monitor, and returns the run. The caller saves it. A run with the
// same id that has not ended is replaced.
func (t *tx) applyStart(m *monitor.Monitor, n NewSignal) (r monitor.Run, err error) {
	start, err := t.startOf(*m, n)
	if err != nil {
		return r, err
	}
	verdict := m.EvaluateStart(start)
	failed, violates := m.Down(verdict)
	replaced, err := t.endRun(m, n.RunID)
	if err != nil {
		return r, err
	}
	r = monitor.Run{
		ID: n.RunID, StartedAt: t.Now, DueAt: t.Now.Add(m.RunLimit()), Doubtful: start.Doubtful(),
		Ambiguous: start.Ambiguous(), Violated: violates || start.Doubtful() && replaced.Violated,
	}
	if violates && failed.Condition == monitor.ConditionNoOverlap {
		// Neither of two runs that overlap brings the monitor up.
		if _, err := t.Exec(`UPDATE signals SET violated = TRUE WHERE monitor_id = $1 AND running`, m.ID); err != nil {
			return r, err
		}
	}
	return r, t.applyViolation(m, verdict, failed)
}

// applyViolation records a verdict on a run of a locked monitor, which is down if failed is the violation of a
// condition. It saves the monitor.
func (t *tx) applyViolation(m *monitor.Monitor, v monitor.Verdict, failed monitor.Violation) error {
	wentDown := failed.Condition != "" && m.RecordFailure(t.Now)
	if !wentDown {
		return errors.Join(t.saveRunDue(m), t.warn(m, v))
	}
	m.NextCheckAt, m.UpdatedAt = m.DueAt(nil), kernel.Later(t.Now, m.UpdatedAt)
	if err := t.saveHealthy(*m); err != nil {
		return err
	}
	if err := t.beginOutages(failed.Condition.Reason(), NewSignal{Excerpt: failed.Message}, *m); err != nil {
		return err
	}
	return t.warn(m, v)
}

// applyFailure records a failure of a locked monitor. It ends the run with the id of the signal, and returns it.
func (t *tx) applyFailure(m *monitor.Monitor, n NewSignal) (ended monitor.Run, err error) {
	if ended, err = t.endRun(m, n.RunID); err != nil {
		return ended, err
	}
	if err := t.warn(m, m.EvaluateEnd(ended, t.Now, monitor.RunFails)); err != nil {
		return ended, err
	}
	if !m.RecordFailure(t.Now) {
		return ended, t.saveRunDue(m)
	}
	m.NextCheckAt, m.UpdatedAt = m.DueAt(nil), kernel.Later(t.Now, m.UpdatedAt)
	if err := t.saveHealthy(*m); err != nil {
		return ended, err
	}
	return ended, t.beginOutages(monitor.OutageFailed, n, *m)
}

// endRun ends the run of a locked monitor with the id, and returns it; its StartedAt is zero if there is none. The
// caller saves the monitor.
func (t *tx) endRun(m *monitor.Monitor, runID string) (monitor.Run, error) {
	r, err := t.run(m.ID, runID)
	if err != nil || r.StartedAt.IsZero() {
		return r, err
	}
	_, err = t.Exec(`UPDATE signals SET running = FALSE, due_at = NULL WHERE monitor_id = $1 AND running
			AND coalesce(run_id, '') = $2`, m.ID, runID)
	if err != nil {
		return r, err
	}
	return r, t.loadRunDue(m)
}

// dropRuns stops expecting the ends of the runs of a locked monitor: while it is disabled, its ping URL answers 404.
// The caller saves the monitor.
func (t *tx) dropRuns(m *monitor.Monitor) error {
	if m.RunDueAt.IsZero() {
		return nil
	}
	m.RunDueAt = time.Time{}
	_, err := t.Exec(`UPDATE signals SET due_at = NULL WHERE monitor_id = $1 AND running`, m.ID)
	return err
}

// loadRunDue sets RunDueAt of a monitor from its runs.
func (t *tx) loadRunDue(m *monitor.Monitor) (err error) {
	m.RunDueAt, err = database.One(t.Session, func(row database.Row) (at time.Time, err error) {
		err = row.Scan(instant{&at})
		return
	}, `SELECT min(due_at) FROM signals WHERE monitor_id = $1 AND running`, m.ID)
	return err
}

// saveRunDue saves when the first run of a monitor must have ended.
func (t *tx) saveRunDue(m *monitor.Monitor) error {
	if err := t.loadRunDue(m); err != nil {
		return err
	}
	if _, err := t.Exec(`UPDATE monitors SET run_due_at = $2 WHERE id = $1`, m.ID, millis(m.RunDueAt)); err != nil {
		return err
	}
	return t.saveHealthy(*m)
}

// checkRuns applies a tick to the runs that must have ended, and returns how many of them are overdue and how many
// monitors went down.
func (s *Store) checkRuns(ctx context.Context, tick monitor.Tick) (checked runCheckResult, err error) {
	from := candidate{}
	for {
		found, err := database.Lookup(ctx, s.db, func(c *database.Session) ([]candidate, error) {
			return database.Query(c, func(row database.Row) (c candidate, err error) {
				err = row.Scan(&c.due, &c.id)
				return
			}, `SELECT run_due_at, id FROM monitors WHERE run_due_at IS NOT NULL AND run_due_at < $1
				AND (run_due_at, id) > ($2, $3)
				ORDER BY run_due_at, id LIMIT $4`, millis(tick.Instant), from.due, from.id, tickBatch)
		})
		if err != nil || len(found) == 0 {
			return checked, err
		}
		n, err := write(ctx, s, func(t *tx) (runCheckResult, error) {
			t.skipBeforeReturn = true
			return t.checkRunBatch(found, tick)
		})
		checked.overdue, checked.down = checked.overdue+n.overdue, checked.down+n.down
		if err != nil || len(found) < tickBatch {
			return checked, err
		}
		from = found[len(found)-1]
	}
}

// runCheckResult is the result of checking runs.
type runCheckResult struct {
	overdue int // runs
	down    int // monitors that went down
}

// dueRun is a run with the ids of its start and its monitor.
type dueRun struct {
	monitor.Run
	id, monitor string
}

// checkRunBatch checks the runs of monitors.
func (t *tx) checkRunBatch(batch []candidate, tick monitor.Tick) (checked runCheckResult, err error) {
	ids := make([]string, len(batch))
	for i, c := range batch {
		ids[i] = c.id
	}
	if err := t.lockTable("monitors", ids); err != nil {
		return checked, err
	}
	monitors, err := t.monitors(`WHERE id IN EACH($1)`, list(ids))
	if err != nil {
		return checked, err
	}
	runs, err := database.Query(t.Session, func(row database.Row) (r dueRun, err error) {
		r.Run, err = scanRun(widerRow{row, []any{&r.id, &r.monitor}})
		return
	}, `SELECT `+runColumns+
		`, id, monitor_id FROM signals WHERE monitor_id IN EACH($1) AND running AND due_at IS NOT NULL
			ORDER BY received_at`, list(ids))
	if err != nil || len(runs) == 0 {
		return checked, err
	}
	if tick.Gaps, err = t.gaps(runs[0].StartedAt); err != nil {
		return checked, err
	}
	var down []monitor.Monitor
	for i := range monitors {
		m := &monitors[i]
		verdict, err := t.evaluateRuns(m, runs, tick)
		if err != nil {
			return checked, err
		}
		checked.overdue += len(verdict.Violated)
		if _, goesDown := m.Down(verdict); goesDown {
			if m.RecordFailure(t.Now) {
				m.NextCheckAt = m.DueAt(tick.Gaps)
				down = append(down, *m)
			}
		} else if err := t.warn(m, verdict); err != nil {
			return checked, err
		}
	}
	checked.down, err = t.markDown(down, monitor.OutageRunOverdue)
	return checked, err
}

// evaluateRuns checks the runs of one monitor, and stops expecting the end of runs that are overdue or not evaluated.
func (t *tx) evaluateRuns(m *monitor.Monitor, runs []dueRun, tick monitor.Tick) (v monitor.Verdict, err error) {
	var evaluated []string
	for _, r := range runs {
		if r.monitor != m.ID {
			continue
		}
		switch m.CheckRun(r.Run, tick) {
		case monitor.RunOverdue:
			v.Violated = append(v.Violated, m.EvaluateOverdue(r.Run).Violated...)
			evaluated = append(evaluated, r.id)
		case monitor.RunUnknown:
			evaluated = append(evaluated, r.id)
		case monitor.RunOnTime:
		}
	}
	if len(evaluated) == 0 {
		return v, nil
	}
	if _, err := t.Exec(`UPDATE signals SET due_at = NULL WHERE id IN EACH($1)`, list(evaluated)); err != nil {
		return v, err
	}
	return v, t.saveRunDue(m)
}
