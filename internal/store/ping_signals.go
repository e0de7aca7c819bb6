package store

import (
	"context"
	"database/sql"
	"slices"
	"time"

	"github.com/allswell/allswell/internal/domain/kernel"
	"github.com/allswell/allswell/internal/domain/monitor"
	"github.com/allswell/allswell/internal/domain/statuspage"
	"github.com/allswell/allswell/internal/store/database"
)

// NewSignal is a signal to record.
type NewSignal struct {
	Token      string // or another ping address
	Kind       monitor.SignalKind
	ExitCode   *int   // nil: not given
	RunID      string // "": none
	Address    string // "": unknown
	UserAgent  string
	Output     []byte // as PackOutput returned it
	OutputSize int    // before it was packed
	OutputCut  bool   // the body was longer
	Excerpt    string // the end of the output as text, of a failure
	Repeated   bool   // an earlier attempt to send this start was not answered with 200
}

// RecordSignals records signals in their order in one transaction, and returns a result for each. PingRecorded means
// that the signal and all its effects are durable. After an error no signal is known to be recorded.
func (s *Store) RecordSignals(ctx context.Context, signals []NewSignal) ([]PingResult, error) {
	results, err := write(ctx, s, func(t *tx) ([]PingResult, error) {
		t.skipBeforeReturn = true
		return t.recordSignals(signals)
	})
	for i, result := range results {
		if err == nil && result == PingRecorded {
			s.counts.signals[signals[i].Kind].Add(1)
		}
	}
	return results, err
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
	var changing []monitor.Monitor // whose outage may begin or end
	for i, n := range signals {
		m := monitors[tokens[i]]
		if m == nil {
			continue
		}
		changes, err := t.mayChangeOutage(*m, n, len(signals) > 1)
		if err != nil {
			return nil, err
		}
		if changes {
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
func (t *tx) lockSignalled(given []string) (map[string]*monitor.Monitor, error) {
	tokens := slices.DeleteFunc(slices.Clone(given), func(token string) bool { return !kernel.IsPingToken(token) })
	type match struct{ token, id string }
	scan := func(row database.Row) (m match, err error) {
		err = row.Scan(&m.token, &m.id)
		return
	}
	matches, err := database.Query(t.Session, scan, `SELECT token, id FROM monitors WHERE token IN EACH($1)`,
		list(tokens))
	if err != nil {
		return nil, err
	}
	old, err := database.Query(t.Session, scan,
		`SELECT old_token, id FROM monitors WHERE old_token IN EACH($1) AND old_token_until_at > $2`, list(tokens),
		millis(t.Now))
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
	byID := make(map[string]*monitor.Monitor, len(rows))
	tokenOf := make(map[string][2]string, len(rows))
	for _, r := range rows {
		m := r.current()
		byID[m.ID], tokenOf[m.ID] = &m, [2]string{r.Token, r.oldToken}
	}
	found := make(map[string]*monitor.Monitor, len(matches))
	for _, m := range matches {
		// it may have been rotated before the lock
		if given := tokenOf[m.id]; given[0] == m.token || given[1] == m.token {
			found[m.token] = byID[m.id]
		}
	}
	return found, nil
}

// mayChangeOutage reports whether a signal of a locked monitor can begin or end an outage. others says that
// other signals are recorded before it.
func (t *tx) mayChangeOutage(m monitor.Monitor, n NewSignal, others bool) (bool, error) {
	switch {
	case n.Kind == monitor.SignalLog:
		return false, nil
	case n.Kind == monitor.SignalFail, n.Kind == monitor.SignalSuccess && m.State == monitor.MonitorDown:
		return true, nil
	case others:
		return n.Kind == monitor.SignalStart && (m.MaxPerInterval > 0 || m.NoOverlap) ||
			n.Kind == monitor.SignalSuccess && m.MinRuntime > 0, nil
	case n.Kind == monitor.SignalStart:
		start, err := t.startOf(m, n)
		_, violates := m.Down(m.EvaluateStart(start))
		return violates, err
	default:
		return t.endViolates(m, n.RunID)
	}
}

// applySignal records a signal of a locked monitor.
func (t *tx) applySignal(m *monitor.Monitor, n NewSignal) (err error) {
	var run, ended monitor.Run
	switch n.Kind {
	case monitor.SignalStart:
		run, err = t.applyStart(m, n)
	case monitor.SignalSuccess:
		ended, err = t.applyPing(m, n.RunID)
	case monitor.SignalFail:
		ended, err = t.applyFailure(m, n)
	case monitor.SignalLog:
	}
	if err != nil {
		return err
	}
	var duration any
	if !ended.StartedAt.IsZero() {
		duration = max(t.Now.Sub(ended.StartedAt), 0).Milliseconds()
	}
	number, err := database.One(t.Session, database.ScanInt, `INSERT INTO signals
			(id, monitor_id, number, received_at, kind, exit_code, run_id, duration_ms, running, due_at, address,
			user_agent, output_size, output_cut, output, doubtful, ambiguous, violated)
		SELECT $1, $2, coalesce(max(number), 0) + 1, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17
		FROM signals WHERE monitor_id = $2
		RETURNING number`,
		kernel.NewID(kernel.PrefixSignal, t.Now), m.ID, millis(t.Now), string(n.Kind), n.ExitCode, nullIfEmpty(n.RunID),
		duration, !run.DueAt.IsZero(), millis(run.DueAt), nullIfEmpty(n.Address), n.UserAgent, n.OutputSize,
		n.OutputCut, n.Output, run.Doubtful, run.Ambiguous,
		run.Violated)
	if err != nil {
		return err
	}
	if number > monitor.MaxSignals {
		// The last starts whose ends are expected are kept, too: a job that logs a lot may hang.
		_, err := t.Exec(`DELETE FROM signals WHERE monitor_id = $1 AND number <= $2 AND (due_at IS NULL OR number <=
			(SELECT number FROM signals WHERE monitor_id = $1 AND running AND due_at IS NOT NULL ORDER BY number DESC
			LIMIT 1 OFFSET $3))`, m.ID, number-monitor.MaxSignals, monitor.MaxSignals)
		if err != nil {
			return err
		}
	}
	if n.Kind != monitor.SignalStart {
		return nil
	}
	return t.saveRunDue(m)
}

const signalColumns = `id, monitor_id, number, received_at, kind, exit_code, run_id, duration_ms, address, ` +
	`user_agent, output_size, output_cut`

func scanSignal(row database.Row) (s monitor.Signal, err error) {
	var lasted sql.NullInt64
	err = row.Scan(&s.ID, &s.MonitorID, &s.Number, instant{&s.ReceivedAt}, &s.Kind, optionalInt{&s.ExitCode},
		text{&s.RunID}, &lasted, text{&s.Address}, &s.UserAgent, &s.OutputSize, &s.OutputCut)
	if lasted.Valid {
		s.Duration = new(time.Duration(lasted.Int64) * time.Millisecond)
	}
	return s, err
}

func scanSignalWithOutput(row database.Row) (s monitor.Signal, err error) {
	var output []byte
	s, err = scanSignal(widerRow{row, []any{packedOutput{&output}}})
	s.Output = output
	return s, err
}

// Signal returns a signal of a workspace's monitor, given its id or slug, with its output.
func (s *Store) Signal(ctx context.Context, actor kernel.Actor, ref, id string) (monitor.Signal, error) {
	return read(ctx, s, func(c *session) (monitor.Signal, error) {
		m, err := c.monitorOf(actor, ref)
		if err != nil {
			return monitor.Signal{}, err
		}
		return database.One(c.Session, scanSignalWithOutput,
			`SELECT `+signalColumns+`, output FROM signals WHERE id = $1 AND monitor_id = $2`, id, m.ID)
	})
}

// addNote saves in an incident how its job failed.
func (t *tx) addNote(incidentID string, failed NewSignal) error {
	_, err := t.Exec(`INSERT INTO incident_notes (id, incident_id, exit_code, output, created_at)
		VALUES ($1, $2, $3, $4, $5)`,
		kernel.NewID(kernel.PrefixNote, t.Now), incidentID, failed.ExitCode, failed.Excerpt, millis(t.Now))
	return err
}

// IncidentNotes lists the notes of a workspace's incident, oldest first.
func (s *Store) IncidentNotes(
	ctx context.Context, actor kernel.Actor, incidentID string, r Pagination,
) ([]monitor.IncidentNote, int, error) {
	if _, err := read(ctx, s, func(c *session) (statuspage.Incident, error) {
		return c.incidentOf(actor, incidentID)
	}); err != nil {
		return nil, 0, err
	}
	scan := func(row database.Row) (n monitor.IncidentNote, err error) {
		err = row.Scan(&n.ID, &n.IncidentID, optionalInt{&n.ExitCode}, &n.Output, instant{&n.CreatedAt})
		return
	}
	return listQuery[monitor.IncidentNote]{
		scan: scan, columns: `id, incident_id, exit_code, output, created_at`,
		from: `FROM incident_notes WHERE incident_id = $1`, args: []any{incidentID}, order: `ORDER BY created_at, id`,
	}.load(ctx, s, r)
}
