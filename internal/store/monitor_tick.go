package store

import (
	"context"
	"time"

	"github.com/allswell/allswell/internal/domain/kernel"
	"github.com/allswell/allswell/internal/domain/monitor"
	"github.com/allswell/allswell/internal/domain/schedule"
	"github.com/allswell/allswell/internal/store/database"
)

// tickLookup is how many candidates are looked up in one statement, and tickBatch how many are written in one
// transaction. Pings are recorded between the transactions.
const (
	tickLookup = 1000
	tickBatch  = 200
)

// livenessTimeout is how old the newest liveness record may be for a tick to check monitors. Without a recent record,
// silent jobs cannot be distinguished from pings that the service did not receive.
const livenessTimeout = 3 * LivenessInterval

// TickReport is the result of a tick.
type TickReport struct {
	Skipped string // why no monitor was checked; "": they were
	Checked int    // monitors whose deadline was computed
	Overdue int    // of these, overdue
	Down    int    // of these, marked down, and monitors with a run that did not end

	RunsOverdue int // runs that did not end in time
}

// Clock returns the current time of the authoritative clock: the database's on PostgreSQL, the host's on SQLite.
func (s *Store) Clock(ctx context.Context) (time.Time, error) {
	return read(ctx, s, func(c *session) (time.Time, error) { return c.Now, nil })
}

// Tick runs the tick of all monitors for the nominal instant (docs/deadlines.md). replica is this replica's name, and
// backlog the age of the oldest ping that it received and has not committed. Any number of replicas may run a tick,
// also repeatedly: each monitor is counted at most once per instant. An instant in the future, or at least a period
// old, is skipped.
func (s *Store) Tick(
	ctx context.Context, instant time.Time, replica string, backlog time.Duration,
) (TickReport, error) {
	var report TickReport
	t := monitor.Tick{Instant: instant, Period: s.period, Threshold: s.threshold}
	skip, err := read(ctx, s, func(c *session) (string, error) { return c.prepareTick(&t, replica, backlog) })
	if err != nil || skip != "" {
		report.Skipped = skip
		return report, err
	}
	runs, err := s.checkRuns(ctx, t)
	report.RunsOverdue, report.Down = runs.overdue, runs.down
	s.counts.runsOverdue.Add(int64(runs.overdue))
	if err != nil {
		return report, err
	}
	from := candidate{}
	for {
		found, err := s.candidates(ctx, t.Instant, from)
		if err != nil {
			return report, err
		}
		for start := 0; start < len(found); start += tickBatch {
			batch := found[start:min(start+tickBatch, len(found))]
			part, err := write(ctx, s, func(x *tx) (TickReport, error) {
				x.skipBeforeReturn = true
				return x.checkBatch(batch, t)
			})
			if err != nil {
				return report, err
			}
			report.Checked += part.Checked
			report.Overdue += part.Overdue
			report.Down += part.Down
		}
		if len(found) < tickLookup {
			return report, s.endLate(ctx)
		}
		from = found[len(found)-1]
	}
}

// prepareTick sets the instant as of which monitors are checked, or returns why none are.
func (c *session) prepareTick(t *monitor.Tick, replica string, backlog time.Duration) (skip string, err error) {
	if age := c.Now.Sub(t.Instant); age < 0 || age >= t.Period {
		return "the instant is not the current one", nil
	}
	newest, err := database.One(c.Session, func(row database.Row) (b struct {
		seenAt  time.Time
		backlog time.Duration
	}, err error) {
		err = row.Scan(instant{&b.seenAt}, duration{&b.backlog})
		return
	}, `SELECT max(seen_at), max(CASE WHEN replica <> $1 AND seen_at > $2 THEN backlog_ms ELSE 0 END) FROM liveness`,
		replica, millis(c.Now.Add(-livenessTimeout)))
	if err != nil {
		return "", err
	}
	if c.Now.Sub(newest.seenAt) > livenessTimeout {
		return "no liveness record is recent", nil
	}
	t.AsOf = t.Instant.Add(-max(backlog, newest.backlog))
	return "", nil
}

// candidate is a monitor that may be overdue, identified by the key of the partial index.
type candidate struct {
	due int64
	id  string
}

// candidates looks up monitors whose stored deadline has passed at the nominal instant, after from. The stored deadline
// is never later than the true one, which Monitor.ApplyTick computes, because time granted for gaps is added when the
// monitor is checked. The lookup uses the nominal instant because AsOf may be earlier than at the last tick: monitors
// that were counted then are found again, and their count is reset to 0. TestTickIsMonitorCheck compares the outcome
// with Monitor.ApplyTick over all monitors.
func (s *Store) candidates(ctx context.Context, nominal time.Time, from candidate) ([]candidate, error) {
	scan := func(row database.Row) (c candidate, err error) {
		err = row.Scan(&c.due, &c.id)
		return
	}
	return database.Lookup(ctx, s.db, func(c *database.Session) ([]candidate, error) {
		return database.Query(c, scan, `SELECT next_check_at, id FROM monitors
		WHERE enabled AND state = 'up' AND next_check_at IS NOT NULL AND next_check_at < $1
		AND (next_check_at, id) > ($2, $3)
		ORDER BY next_check_at, id LIMIT $4`, millis(nominal), from.due, from.id, tickLookup)
	})
}

// tickResults are the results for a batch of candidates: monitors that are updated
// together, by one statement, and monitors that are saved one by one.
type tickResults struct {
	pinged    []string // since the row was saved
	postponed []string // pinged since the row was saved; due an interval after that ping
	counted   []string // one more failure
	save      []monitor.Monitor
	down      []monitor.Monitor
	below     []monitor.Monitor // a parent that is down, since their last failure
	late      []monitor.Monitor // since this tick
	overdue   int
}

// add checks one candidate. due is the deadline by which it was looked up.
func (r *tickResults) add(row monitorRow, due int64, tick monitor.Tick) {
	now := row.current()
	m, pinged := &now, now.WaitingSince.After(row.WaitingSince) // since the row was saved
	result := m.ApplyTick(tick)
	if pinged {
		r.pinged = append(r.pinged, m.ID)
	}
	m.NextCheckAt = m.DueAt(tick.Gaps)
	switch result {
	case monitor.TickOnTime:
		switch {
		case pinged && m.Cron.IsZero() && m.NextCheckAt.Equal(m.WaitingSince.Add(m.Interval+m.Grace)):
			r.postponed = append(r.postponed, m.ID)
		case pinged || row.ConsecutiveFailures > 0 || m.NextCheckAt.UnixMilli() != due:
			r.save = append(r.save, *m)
		default:
			// It is due after tick.AsOf, which the backlog moves before the instant.
		}
	case monitor.TickOverdue:
		r.overdue++
		if !m.FailuresSuppressed && (row.ConsecutiveFailures == 0 || row.FailuresSuppressed) {
			r.late = append(r.late, *m)
		}
		if pinged || m.FailuresSuppressed != row.FailuresSuppressed {
			r.save = append(r.save, *m)
			if m.FailuresSuppressed && !row.FailuresSuppressed {
				r.below = append(r.below, *m)
			}
		} else {
			r.counted = append(r.counted, m.ID)
		}
	case monitor.TickWentDown:
		r.overdue++
		r.down = append(r.down, *m)
	case monitor.TickSkipped:
	}
}

// checkBatch locks a batch of candidates, loads and checks them, and saves the results.
func (t *tx) checkBatch(batch []candidate, tick monitor.Tick) (report TickReport, err error) {
	ids := make([]string, len(batch))
	due := make(map[string]int64, len(batch))
	for i, c := range batch {
		ids[i], due[c.id] = c.id, c.due
	}
	rows, err := t.monitorRows(`WHERE id IN EACH($1) ORDER BY id FOR UPDATE`, list(ids))
	if err != nil {
		return report, err
	}
	if tick.Gaps, err = t.gapsFor(rows); err != nil {
		return report, err
	}
	var results tickResults
	for _, row := range rows {
		results.add(row, due[row.ID], tick)
	}
	for _, m := range results.save {
		if err := t.saveMonitorState(m); err != nil {
			return report, err
		}
	}
	for _, m := range results.below {
		if err := t.noteSuppressed(m); err != nil {
			return report, err
		}
	}
	if len(results.counted) > 0 { // as Monitor.ApplyTick does: see TestTickIsMonitorCheck
		_, err := t.Exec(`UPDATE monitors SET consecutive_failures = consecutive_failures + 1, ticked_at = $1
			WHERE id IN EACH($2) AND state = 'up'`, millis(tick.Instant), list(results.counted))
		if err != nil {
			return report, err
		}
	}
	if len(results.postponed) > 0 {
		// The result of MonitorStatus.RecordPing and Monitor.ApplyTick for most monitors; see TestTickIsMonitorCheck.
		_, err := t.Exec(`UPDATE monitors SET last_ping_at = pinged_at, waiting_since_at = pinged_at,
				next_check_at = pinged_at + interval_ms + grace_ms, consecutive_failures = 0
			FROM last_pings WHERE last_pings.token = monitors.token AND monitors.id IN EACH($1)`,
			list(results.postponed))
		if err != nil {
			return report, err
		}
	}
	if err := t.keepPings(results.pinged); err != nil {
		return report, err
	}
	if err := t.beginLate(results.late); err != nil {
		return report, err
	}
	down, err := t.markDown(results.down, monitor.OutageSilent)
	pinged := len(results.down) - down
	return TickReport{Checked: len(rows), Overdue: results.overdue - pinged, Down: down}, err
}

func (t *tx) gapsFor(rows []monitorRow) ([]schedule.ListeningGap, error) {
	since := t.Now
	for _, row := range rows {
		m := row.current()
		if !m.WaitingSince.IsZero() && m.WaitingSince.Before(since) {
			since = m.WaitingSince
		}
	}
	return t.gaps(since)
}

// markDown saves the monitors that went down, begins their outages, and returns how many there are. It skips a monitor
// that was pinged since it was checked: pings do not wait for the monitor's lock, so the row of its last ping decides.
// Later pings find that row not healthy and wait for the lock.
func (t *tx) markDown(down []monitor.Monitor, reason monitor.OutageReason) (int, error) {
	fell, err := t.markUnhealthy(down)
	if err != nil || len(fell) == 0 {
		return 0, err
	}
	if err := t.lockForOutage(fell...); err != nil {
		return 0, err
	}
	if err := t.beginOutages(reason, NewSignal{}, fell...); err != nil {
		return 0, err
	}
	return len(fell), nil
}

// markUnhealthy returns the monitors that were not pinged since they were checked, whose next ping will be recorded
// with the monitor. It locks their rows in last_pings.
func (t *tx) markUnhealthy(down []monitor.Monitor) (fell []monitor.Monitor, err error) {
	tokens := make([]string, len(down))
	for i, m := range down {
		tokens[i] = m.Token
	}
	type row struct {
		token    string
		pingedAt time.Time
	}
	rows, err := database.Query(t.Session, func(sc database.Row) (r row, err error) {
		err = sc.Scan(&r.token, instant{&r.pingedAt})
		return
	}, `SELECT token, pinged_at FROM last_pings WHERE token IN EACH($1) ORDER BY token FOR UPDATE`, list(tokens))
	if err != nil {
		return nil, err
	}
	pingedAt := make(map[string]time.Time, len(rows))
	for _, r := range rows {
		pingedAt[r.token] = r.pingedAt
	}
	tokens = tokens[:0]
	for _, m := range down {
		if at, found := pingedAt[m.Token]; found && !at.After(m.LastPingAt) {
			m.UpdatedAt = kernel.Later(t.Now, m.UpdatedAt)
			fell, tokens = append(fell, m), append(tokens, m.Token)
		}
	}
	_, err = t.Exec(`UPDATE last_pings SET healthy = FALSE WHERE token IN EACH($1)`, list(tokens))
	return fell, err
}
