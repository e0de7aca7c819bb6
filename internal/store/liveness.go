package store

import (
	"context"
	"slices"
	"time"

	"github.com/allswell/allswell/internal/domain/kernel"
	"github.com/allswell/allswell/internal/domain/schedule"
	"github.com/allswell/allswell/internal/store/database"
)

// LivenessInterval is how often each replica writes a liveness record. See
// docs/deadlines.md for what the records are for.
const LivenessInterval = 5 * time.Second

// livenessStep is the age up to which a replica's last liveness record also counts for a transaction of pings.
const livenessStep = time.Second

// clockSlack is how far the clock may go back without consequences.
const clockSlack = time.Second

// LivenessRecord states that a replica can receive pings.
type LivenessRecord struct {
	Replica  string
	Backlog  time.Duration // age of the oldest ping received and not committed, except for pings of this transaction
	First    bool          // the replica's first record since it started
	Rejected []string      // tokens of valid pings that were rejected since the last record

	// Lost is the time since pings may have been lost before their token was read. It is
	// stored as a listening gap that ends now. 0 means that none were lost.
	Lost time.Duration

	// LosingPings means that pings may still be lost. No liveness record is written then.
	LosingPings bool
}

// RecordLiveness writes a liveness record, unless record.LosingPings is set. When it returns nil, the record is
// durable, and so are the listening gap that the record ends and the listening gap that it reports.
func (s *Store) RecordLiveness(ctx context.Context, record LivenessRecord) error {
	return writeOnly(ctx, s, func(t *tx) error { return t.recordLiveness(record) })
}

// recordLiveness writes the liveness record and stores the listening gap before it, if
// there is one (docs/deadlines.md).
func (t *tx) recordLiveness(record LivenessRecord) error {
	if record.Lost > 0 {
		if err := t.saveGap(t.Now.Add(-record.Lost)); err != nil {
			return err
		}
	}
	if record.LosingPings {
		return t.saveRejected(record.Rejected)
	}
	last, err := database.One(t.Session, func(row database.Row) (at time.Time, err error) {
		err = row.Scan(instant{&at})
		return
	}, `SELECT max(seen_at) FROM liveness`)
	if err != nil {
		return err
	}
	back, err := t.clockWentBack(last)
	if err != nil {
		return err
	}
	if back {
		if err := t.repairFutureTimes(); err != nil {
			return err
		}
	} else if missed, err := t.missedPings(record, last); err != nil {
		return err
	} else if missed {
		_, err := t.Exec(`INSERT INTO listening_gaps (from_at, to_at) VALUES ($1, $2) ON CONFLICT (from_at) DO NOTHING`,
			millis(last), millis(t.Now))
		if err != nil {
			return err
		}
		if err := t.emitGap(last); err != nil {
			return err
		}
	}
	t.addEffect(effectLiveness, record.Replica)
	_, err = t.Exec(`INSERT INTO liveness (replica, seen_at, backlog_ms, location) VALUES ($1, $2, $3, $4)
		ON CONFLICT (replica) DO UPDATE SET seen_at = excluded.seen_at, backlog_ms = excluded.backlog_ms,
		location = excluded.location`, record.Replica, millis(t.Now), record.Backlog.Milliseconds(), t.s.location)
	if err != nil {
		return err
	}
	return t.saveRejected(record.Rejected)
}

// saveGap stores a listening gap from an instant until now. It replaces the gaps that it overlaps and the gaps that
// ended less than LivenessInterval before it. A gap is stored while it lasts, because other replicas may run ticks
// meanwhile.
func (t *tx) saveGap(from time.Time) error {
	since := millis(from.Add(-LivenessInterval))
	earliest, err := database.One(t.Session, func(row database.Row) (at time.Time, err error) {
		err = row.Scan(instant{&at})
		return
	}, `SELECT min(from_at) FROM listening_gaps WHERE to_at >= $1 AND from_at <= $2`, since, millis(t.Now))
	if err != nil {
		return err
	}
	if !earliest.IsZero() && earliest.Before(from) {
		from = earliest
	}
	_, err = t.Exec(`DELETE FROM listening_gaps WHERE to_at >= $1 AND from_at <= $2`, since, millis(t.Now))
	if err != nil {
		return err
	}
	_, err = t.Exec(`INSERT INTO listening_gaps (from_at, to_at) VALUES ($1, $2) ON CONFLICT (from_at) DO NOTHING`,
		millis(from), millis(t.Now))
	if err != nil {
		return err
	}
	return t.emitGap(from)
}

// recordPingLiveness is recordLiveness for a transaction of pings. Under load there are hundreds a second, so it writes
// nothing if this replica's last record is younger than livenessStep.
func (t *tx) recordPingLiveness(record LivenessRecord) error {
	if record.LosingPings && record.Lost == 0 && len(record.Rejected) == 0 {
		return nil
	}
	last, ok := t.s.lastLiveness.Load(record.Replica)
	if ok && !record.First && len(record.Rejected) == 0 && record.Lost == 0 {
		if age := t.Now.Sub(last.(time.Time)); age >= 0 && age < livenessStep {
			return nil
		}
	}
	return t.recordLiveness(record)
}

// clockWentBack reports whether the clock has gone back since the newest liveness record. It reads the clock again,
// because t.Now may be old: the transaction may have waited for others since it began.
func (t *tx) clockWentBack(last time.Time) (bool, error) {
	if last.Sub(t.Now) <= clockSlack {
		return false, nil
	}
	now, err := t.ReadClock()
	return last.Sub(now) > clockSlack, err
}

// missedPings reports whether pings may have been missed since the last liveness record: a record is overdue, or this
// replica has just started and no other was running. After a start any gap counts, because the previous process may
// have ended at any time in it. PingWait.Deadline takes its length into account.
func (t *tx) missedPings(record LivenessRecord, last time.Time) (bool, error) {
	gap := t.Now.Sub(last)
	if last.IsZero() || gap <= 0 {
		return false, nil
	}
	if gap >= 2*LivenessInterval || !record.First || !t.s.db.Shared() {
		return gap >= 2*LivenessInterval || record.First, nil
	}
	others, err := database.One(t.Session, database.ScanInt,
		`SELECT count(*) FROM liveness WHERE replica <> $1 AND seen_at > $2`,
		record.Replica, millis(t.Now.Add(-LivenessInterval-clockSlack)))
	return others == 0, err
}

// saveRejected records that valid pings were rejected: their jobs are alive.
func (t *tx) saveRejected(addresses []string) error {
	tokens, err := t.resolveAddresses(addresses)
	if err != nil {
		return err
	}
	tokens = slices.DeleteFunc(slices.Clone(tokens), func(token string) bool { return !kernel.IsPingToken(token) })
	for chunk := range slices.Chunk(tokens, 1000) {
		for _, column := range []string{"token", "old_token"} {
			_, err := t.Exec(`UPDATE monitors SET rejected_at = $1 WHERE id IN
				(SELECT id FROM monitors WHERE `+column+` IN EACH($2) AND enabled ORDER BY id FOR UPDATE)`,
				millis(t.Now), list(chunk))
			if err != nil {
				return err
			}
		}
	}
	return nil
}

// repairFutureTimes sets stored times that lie in the future, after the clock went back, to now.
func (t *tx) repairFutureTimes() error {
	for _, text := range []string{
		`UPDATE monitors SET last_ping_at = CASE WHEN last_ping_at > $1 THEN $1 ELSE last_ping_at END,
			waiting_since_at = $1, next_check_at = $1 + interval_ms + grace_ms WHERE waiting_since_at > $1`,
		`UPDATE last_pings SET pinged_at = $1 WHERE pinged_at > $1`,
		`UPDATE monitors SET rejected_at = $1 WHERE rejected_at > $1`,
		// The end of a run that began in the future is not expected.
		`UPDATE signals SET received_at = $1, due_at = NULL WHERE received_at > $1`,
		`UPDATE monitors SET run_due_at = (SELECT min(due_at) FROM signals WHERE monitor_id = monitors.id AND running)
			WHERE run_due_at > $1`,
		`UPDATE liveness SET seen_at = $1 WHERE seen_at > $1`,
		`DELETE FROM listening_gaps WHERE from_at >= $1`,
		`UPDATE listening_gaps SET to_at = $1 WHERE to_at > $1`,
		`UPDATE monitors SET suppressed_until_at = $1 WHERE suppressed_until_at > $1 AND NOT EXISTS (SELECT 1
			FROM maintenance_components c
			JOIN maintenances m ON m.id = c.maintenance_id WHERE c.component_id = monitors.component_id
			AND m.state IN ('in_progress', 'verifying'))`,
		// Only the current status of each component stays.
		`DELETE FROM status_changes WHERE changed_at >= $1 AND EXISTS (SELECT 1 FROM status_changes o
			WHERE o.component_id = status_changes.component_id AND o.changed_at > status_changes.changed_at)`,
		`UPDATE status_changes SET changed_at = $1 WHERE changed_at > $1`,
		// Time that was granted for deleted gaps is taken back. Jobs with a Cron are looked at now. The next tick
		// computes both again.
		`UPDATE monitors SET next_check_at = waiting_since_at + interval_ms + grace_ms
			WHERE next_check_at > $1 AND next_check_at > waiting_since_at + interval_ms + grace_ms`,
		`UPDATE monitors SET next_check_at = $1 WHERE cron_expression IS NOT NULL AND next_check_at > $1`,
		// Each of the checks that are due later than an interval from now is due now.
		`UPDATE checks SET due_at = $1 WHERE due_at > $1 + (SELECT interval_ms FROM monitors
			WHERE monitors.id = checks.monitor_id)`,
		`UPDATE checks SET retry_at = $1 WHERE retry_at > $1`,
		`UPDATE checks SET slow_since_at = $1 WHERE slow_since_at > $1`,
		`UPDATE checks SET unknown_since_at = $1 WHERE unknown_since_at > $1`,
		`UPDATE checks SET awaited_since_at = $1 WHERE awaited_since_at > $1`,
		// TickChecks computes the time granted for gaps again.
		`UPDATE checks SET late_at = awaited_since_at + 3 * (SELECT interval_ms FROM monitors
			WHERE monitors.id = checks.monitor_id)
			WHERE late_at > $1`,
		`UPDATE check_results SET started_at = $1 WHERE started_at > $1`,
		`UPDATE check_fold SET hour_at = $1 - $1 % 3600000, after_id = '' WHERE hour_at > $1`,
		`DELETE FROM checking_gaps WHERE from_at >= $1`,
		`UPDATE checking_gaps SET to_at = $1 WHERE to_at > $1`,
	} {
		if _, err := t.Exec(text, millis(t.Now)); err != nil {
			return err
		}
	}
	return nil
}

// gaps loads the listening gaps that end after an instant, in order. Overlapping gaps,
// which replicas may store when they resume at the same time, are merged.
func (c *session) gaps(since time.Time) ([]schedule.ListeningGap, error) {
	rows, err := database.Query(c.Session, func(row database.Row) (gap schedule.ListeningGap, err error) {
		err = row.Scan(instant{&gap.From}, instant{&gap.To})
		return
	}, `SELECT from_at, to_at FROM listening_gaps WHERE to_at > $1 ORDER BY from_at`, millis(since))
	out := rows[:0]
	for _, gap := range rows {
		if n := len(out); n > 0 && gap.From.Before(out[n-1].To) {
			if gap.To.After(out[n-1].To) {
				out[n-1].To = gap.To
			}
			continue
		}
		out = append(out, gap)
	}
	return out, err
}
