package store

import (
	"context"
	"database/sql"
	"errors"
	"slices"
	"time"

	"github.com/allswell/allswell"
	"github.com/allswell/allswell/internal/database"
)

// NewSignal is a signal to record.
type NewSignal struct {
	Token      string // or another ping address
	Kind       allswell.SignalKind
	ExitCode   *int   // nil: not given
	RunID      string // "": none
	Address    string // "": unknown
	UserAgent  string
	Output     []byte // as PackOutput returned it
	OutputSize int    // before it was packed
	OutputCut  bool   // the body was longer
	Excerpt    string // the end of the output as text, of a failure
}

// RecordSignals records signals in their order in one transaction, and returns a result for each. PingRecorded means that
// the signal and all its effects are durable. After an error no signal is known to be recorded.
func (s *Store) RecordSignals(ctx context.Context, signals []NewSignal) ([]PingResult, error) {
	return write(ctx, s, func(t *tx) ([]PingResult, error) {
		t.unattended = true
		return t.recordSignals(signals)
	})
}

func (t *tx) recordSignals(signals []NewSignal) ([]PingResult, error) {
	addresses := make([]string, len(signals))
	for i, n := range signals {
		addresses[i] = n.Token
	}
	tokens, err := t.resolveAddresses(addresses)
	if err != nil {
		return nil, err
	}
	monitors, err := t.lockSignalled(tokens)
	if err != nil {
		return nil, err
	}
	var changing []allswell.Monitor // whose outage may begin or end
	for i, n := range signals {
		m := monitors[tokens[i]]
		if m != nil && (n.Kind == allswell.SignalFail || n.Kind == allswell.SignalSuccess && m.State == allswell.MonitorDown) {
			changing = append(changing, *m)
		}
	}
	if len(changing) > 0 {
		if err := t.lockForOutage(changing...); err != nil {
			return nil, err
		}
	}
	results := make([]PingResult, len(signals))
	for i, n := range signals {
		m := monitors[tokens[i]]
		if m == nil {
			results[i] = PingUnknown
			continue
		}
		before := *m
		results[i], err = t.recordOne(m.ID, func() error { return t.applySignal(m, n) })
		if err != nil {
			return nil, err
		}
		if results[i] == PingFailed {
			*m = before
		}
	}
	return results, nil
}

// lockSignalled locks the monitors of signals, and returns them by the tokens that were given.
func (t *tx) lockSignalled(given []string) (map[string]*allswell.Monitor, error) {
	tokens := slices.DeleteFunc(slices.Clone(given), func(token string) bool { return !allswell.IsPingToken(token) })
	type match struct{ token, id string }
	scan := func(row database.Row) (m match, err error) {
		err = row.Scan(&m.token, &m.id)
		return
	}
	matches, err := database.Query(t.Session, scan, `SELECT token, id FROM monitors WHERE token IN EACH($1)`, list(tokens))
	if err != nil {
		return nil, err
	}
	old, err := database.Query(t.Session, scan, `SELECT old_token, id FROM monitors WHERE old_token IN EACH($1) AND old_token_until_at > $2`, list(tokens), millis(t.Now))
	if err != nil {
		return nil, err
	}
	matches = append(matches, old...)
	ids := make([]string, len(matches))
	for i, m := range matches {
		ids[i] = m.id
	}
	if err := t.lockTable("monitors", ids); err != nil {
		return nil, err
	}
	rows, err := t.monitorRows(`WHERE enabled AND id IN EACH($1)`, list(ids))
	if err != nil {
		return nil, err
	}
	byID := make(map[string]*allswell.Monitor, len(rows))
	tokenOf := make(map[string][2]string, len(rows))
	for _, r := range rows {
		m := r.current()
		byID[m.ID], tokenOf[m.ID] = &m, [2]string{r.Token, r.oldToken}
	}
	found := make(map[string]*allswell.Monitor, len(matches))
	for _, m := range matches {
		if given := tokenOf[m.id]; given[0] == m.token || given[1] == m.token { // it may have been rotated before the lock
			found[m.token] = byID[m.id]
		}
	}
	return found, nil
}

// applySignal records a signal of a locked monitor.
func (t *tx) applySignal(m *allswell.Monitor, n NewSignal) error {
	var runBegan, due time.Time
	var err error
	switch n.Kind {
	case allswell.SignalStart:
		_, err = t.endRun(m, n.RunID) // it was replaced
		due = t.Now.Add(m.RunLimit())
	case allswell.SignalSuccess:
		runBegan, err = t.applyPing(m, n.RunID)
	case allswell.SignalFail:
		runBegan, err = t.applyFailure(m, n)
	case allswell.SignalLog:
	}
	if err != nil {
		return err
	}
	var duration any
	if !runBegan.IsZero() {
		duration = max(t.Now.Sub(runBegan), 0).Milliseconds()
	}
	number, err := database.One(t.Session, database.ScanInt, `INSERT INTO signals
			(id, monitor_id, number, received_at, kind, exit_code, run_id, duration_ms, running, due_at, address, user_agent, output_size, output_cut, output)
		SELECT $1, $2, coalesce(max(number), 0) + 1, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14 FROM signals WHERE monitor_id = $2
		RETURNING number`,
		allswell.NewID(allswell.PrefixSignal, t.Now), m.ID, millis(t.Now), string(n.Kind), n.ExitCode, nullIfEmpty(n.RunID), duration,
		!due.IsZero(), millis(due), nullIfEmpty(n.Address), n.UserAgent, n.OutputSize, n.OutputCut, n.Output)
	if err != nil {
		return err
	}
	if number > allswell.MaxSignals {
		if _, err := t.Exec(`DELETE FROM signals WHERE monitor_id = $1 AND number <= $2`, m.ID, number-allswell.MaxSignals); err != nil {
			return err
		}
	}
	if n.Kind != allswell.SignalStart {
		return nil
	}
	return t.saveRunDue(m)
}

// applyFailure records a failure of a locked monitor. It ends the run, and returns when that began; zero: there is none.
func (t *tx) applyFailure(m *allswell.Monitor, n NewSignal) (runBegan time.Time, err error) {
	if runBegan, err = t.endRun(m, n.RunID); err != nil {
		return runBegan, err
	}
	if !m.RecordFailure(t.Now) {
		return runBegan, t.saveRunDue(m)
	}
	m.NextCheckAt, m.UpdatedAt = m.DueAt(nil), allswell.Later(t.Now, m.UpdatedAt)
	if err := errors.Join(t.saveMonitorState(*m), t.saveHealthy(*m)); err != nil {
		return runBegan, err
	}
	return runBegan, t.beginOutage(*m, allswell.OutageFailed, n)
}

// endRun ends the run with the id, and returns when it began; zero: there is none. The caller saves the monitor.
func (t *tx) endRun(m *allswell.Monitor, runID string) (began time.Time, err error) {
	began, err = database.One(t.Session, func(row database.Row) (at time.Time, err error) {
		err = row.Scan(instant{&at})
		return
	}, `UPDATE signals SET running = FALSE, due_at = NULL WHERE monitor_id = $1 AND running AND coalesce(run_id, '') = $2 RETURNING received_at`, m.ID, runID)
	if errors.Is(err, allswell.ErrNotFound) {
		return began, nil
	}
	if err != nil {
		return began, err
	}
	return began, t.loadRunDue(m)
}

// loadRunDue sets RunDueAt of a monitor from its runs.
func (t *tx) loadRunDue(m *allswell.Monitor) (err error) {
	m.RunDueAt, err = database.One(t.Session, func(row database.Row) (at time.Time, err error) {
		err = row.Scan(instant{&at})
		return
	}, `SELECT min(due_at) FROM signals WHERE monitor_id = $1 AND running`, m.ID)
	return err
}

// saveRunDue saves when the first run of a monitor must have ended.
func (t *tx) saveRunDue(m *allswell.Monitor) error {
	if err := t.loadRunDue(m); err != nil {
		return err
	}
	if _, err := t.Exec(`UPDATE monitors SET run_due_at = $2 WHERE id = $1`, m.ID, millis(m.RunDueAt)); err != nil {
		return err
	}
	return t.saveHealthy(*m)
}

// checkRuns applies a tick to the runs that must have ended, and returns how many monitors went down.
func (s *Store) checkRuns(ctx context.Context, tick allswell.Tick) (down int, err error) {
	from := candidate{}
	for {
		found, err := database.Lookup(ctx, s.db, func(c *database.Session) ([]candidate, error) {
			return database.Query(c, func(row database.Row) (c candidate, err error) {
				err = row.Scan(&c.due, &c.id)
				return
			}, `SELECT run_due_at, id FROM monitors WHERE run_due_at IS NOT NULL AND run_due_at < $1 AND (run_due_at, id) > ($2, $3)
				ORDER BY run_due_at, id LIMIT $4`, millis(tick.Instant), from.due, from.id, tickBatch)
		})
		if err != nil || len(found) == 0 {
			return down, err
		}
		n, err := write(ctx, s, func(t *tx) (int, error) {
			t.unattended = true
			return t.checkRunBatch(found, tick)
		})
		if down += n; err != nil || len(found) < tickBatch {
			return down, err
		}
		from = found[len(found)-1]
	}
}

// checkRunBatch checks the runs of monitors.
func (t *tx) checkRunBatch(batch []candidate, tick allswell.Tick) (int, error) {
	ids := make([]string, len(batch))
	for i, c := range batch {
		ids[i] = c.id
	}
	if err := t.lockTable("monitors", ids); err != nil {
		return 0, err
	}
	monitors, err := t.monitors(`WHERE id IN EACH($1)`, list(ids))
	if err != nil {
		return 0, err
	}
	type run struct {
		allswell.Run
		id, monitor string
	}
	runs, err := database.Query(t.Session, func(row database.Row) (r run, err error) {
		err = row.Scan(&r.id, &r.monitor, instant{&r.StartedAt}, instant{&r.DueAt})
		return
	}, `SELECT id, monitor_id, received_at, due_at FROM signals WHERE monitor_id IN EACH($1) AND running AND due_at IS NOT NULL ORDER BY received_at`, list(ids))
	if err != nil || len(runs) == 0 {
		return 0, err
	}
	if tick.Gaps, err = t.gaps(runs[0].StartedAt); err != nil {
		return 0, err
	}
	var down []allswell.Monitor
	for i := range monitors {
		m, overdue, judged := &monitors[i], false, []string{}
		for _, r := range runs {
			if r.monitor != m.ID {
				continue
			}
			switch m.CheckRun(r.Run, tick) {
			case allswell.RunOverdue:
				overdue, judged = true, append(judged, r.id)
			case allswell.RunUnknown:
				judged = append(judged, r.id)
			case allswell.RunOnTime:
			}
		}
		if len(judged) == 0 {
			continue
		}
		if _, err := t.Exec(`UPDATE signals SET due_at = NULL WHERE id IN EACH($1)`, list(judged)); err != nil {
			return 0, err
		}
		if err := t.saveRunDue(m); err != nil {
			return 0, err
		}
		if overdue && m.RecordFailure(t.Now) {
			m.NextCheckAt = m.DueAt(tick.Gaps)
			down = append(down, *m)
		}
	}
	return t.markDown(down, allswell.OutageRunOverdue)
}

const signalColumns = `id, monitor_id, number, received_at, kind, exit_code, run_id, duration_ms, address, user_agent, output_size, output_cut`

func scanSignal(row database.Row) (s allswell.Signal, err error) {
	var lasted sql.NullInt64
	err = row.Scan(&s.ID, &s.MonitorID, &s.Number, instant{&s.ReceivedAt}, &s.Kind, optionalInt{&s.ExitCode}, text{&s.RunID}, &lasted, text{&s.Address}, &s.UserAgent, &s.OutputSize, &s.OutputCut)
	if lasted.Valid {
		s.Duration = new(time.Duration(lasted.Int64) * time.Millisecond)
	}
	return s, err
}

func scanSignalWithOutput(row database.Row) (s allswell.Signal, err error) {
	var output []byte
	s, err = scanSignal(widerRow{row, []any{packedOutput{&output}}})
	s.Output = output
	return s, err
}

// Signal returns a signal of a workspace's monitor, given its id or slug, with its output.
func (s *Store) Signal(ctx context.Context, actor allswell.Actor, ref, id string) (allswell.Signal, error) {
	return read(ctx, s, func(c *session) (allswell.Signal, error) {
		m, err := c.monitorOf(actor, ref)
		if err != nil {
			return allswell.Signal{}, err
		}
		return database.One(c.Session, scanSignalWithOutput, `SELECT `+signalColumns+`, output FROM signals WHERE id = $1 AND monitor_id = $2`, id, m.ID)
	})
}

// addNote saves how the job failed whose incident it is.
func (t *tx) addNote(incidentID string, failed NewSignal) error {
	_, err := t.Exec(`INSERT INTO incident_notes (id, incident_id, exit_code, output, created_at) VALUES ($1, $2, $3, $4, $5)`,
		allswell.NewID(allswell.PrefixNote, t.Now), incidentID, failed.ExitCode, failed.Excerpt, millis(t.Now))
	return err
}

// IncidentNotes lists the notes of a workspace's incident, oldest first.
func (s *Store) IncidentNotes(ctx context.Context, actor allswell.Actor, incidentID string, r Pagination) ([]allswell.IncidentNote, int, error) {
	if _, err := read(ctx, s, func(c *session) (allswell.Incident, error) { return c.incidentOf(actor, incidentID) }); err != nil {
		return nil, 0, err
	}
	scan := func(row database.Row) (n allswell.IncidentNote, err error) {
		err = row.Scan(&n.ID, &n.IncidentID, optionalInt{&n.ExitCode}, &n.Output, instant{&n.CreatedAt})
		return
	}
	return listed(ctx, s, scan, `id, incident_id, exit_code, output, created_at`, `FROM incident_notes WHERE incident_id = $1`, `ORDER BY created_at, id`, r, incidentID)
}
