package store

import (
	"context"
	"slices"
	"time"

	"github.com/allswell/allswell"
)

// LivenessInterval is how often each replica notes that it can hear pings.
const LivenessInterval = 5 * time.Second

// livenessStep is how exactly a recorded ping counts as a beat.
const livenessStep = time.Second

// clockSlack is how far the clock may step back without anything being done
// about it.
const clockSlack = time.Second

// Beat is a replica noting that it can hear pings.
type LivenessRecord struct {
	Replica  string
	Backlog  time.Duration // age of the oldest ping received and not yet committed, this transaction's own left out
	First    bool          // the replica's first beat since it started
	Rejected []string      // tokens of valid pings that were refused since the last beat

	// Lost is for how long pings may have been lost of which nobody read the token:
	// a listening gap from then until now is stored. 0: none were.
	Lost time.Duration

	// Shedding means that pings may still be being lost: this is no liveness record.
	Shedding bool
}

// RecordLiveness writes a beat, unless it says that pings are being lost. When it
// returns without an error, the beat is durable, and so is the listening gap that
// it may have ended, or that it reports.
func (s *Store) RecordLiveness(ctx context.Context, b LivenessRecord) error {
	_, err := write(ctx, s, func(t *tx) (struct{}, error) { return struct{}{}, t.recordLiveness(b) })
	return err
}

// beat keeps the ledger of listening (design section 7, points 2 and 6): it
// notes this replica's beat and stores the hole before it, if there is one.
func (t *tx) recordLiveness(b LivenessRecord) error {
	if b.Lost > 0 {
		if err := t.saveGap(t.now.Add(-b.Lost)); err != nil {
			return err
		}
	}
	if b.Shedding {
		return t.saveRejected(b.Rejected)
	}
	last, err := one(&t.session, func(row scanner) (at time.Time, err error) {
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
	} else if hole, err := t.missedPings(b, last); err != nil {
		return err
	} else if hole {
		if _, err := t.exec(`INSERT INTO listening_gaps (from_at, to_at) VALUES ($1, $2) ON CONFLICT (from_at) DO NOTHING`,
			millis(last), millis(t.now)); err != nil {
			return err
		}
	}
	t.liveReplica = b.Replica
	if _, err := t.exec(`INSERT INTO liveness (replica, seen_at, backlog_ms) VALUES ($1, $2, $3)
		ON CONFLICT (replica) DO UPDATE SET seen_at = excluded.seen_at, backlog_ms = excluded.backlog_ms`,
		b.Replica, millis(t.now), b.Backlog.Milliseconds()); err != nil {
		return err
	}
	return t.saveRejected(b.Rejected)
}

// saveGap stores a listening gap from an instant until now, as one with those
// that it overlaps or that ended less than LivenessInterval before it. It is stored
// while it lasts, and not only when it is over, because other replicas may go on
// judging.
func (t *tx) saveGap(from time.Time) error {
	since := millis(from.Add(-LivenessInterval))
	earliest, err := one(&t.session, func(row scanner) (at time.Time, err error) {
		err = row.Scan(instant{&at})
		return
	}, `SELECT min(from_at) FROM listening_gaps WHERE to_at >= $1 AND from_at <= $2`, since, millis(t.now))
	if err != nil {
		return err
	}
	if !earliest.IsZero() && earliest.Before(from) {
		from = earliest
	}
	if _, err := t.exec(`DELETE FROM listening_gaps WHERE to_at >= $1 AND from_at <= $2`, since, millis(t.now)); err != nil {
		return err
	}
	_, err = t.exec(`INSERT INTO listening_gaps (from_at, to_at) VALUES ($1, $2) ON CONFLICT (from_at) DO NOTHING`, millis(from), millis(t.now))
	return err
}

// recordPingLiveness is beat for a transaction of pings. Under load there are hundreds a
// second; a beat younger than livenessStep says what theirs would say.
func (t *tx) recordPingLiveness(b LivenessRecord) error {
	if b.Shedding && b.Lost == 0 && len(b.Rejected) == 0 {
		return nil
	}
	if last, ok := t.s.lastLiveness.Load(b.Replica); ok && !b.First && len(b.Rejected) == 0 && b.Lost == 0 {
		if age := t.now.Sub(last.(time.Time)); age >= 0 && age < livenessStep {
			return nil
		}
	}
	return t.recordLiveness(b)
}

// wentBack reports whether the clock has gone back since the newest beat. A
// transaction that was held up since it read its now, while others wrote on,
// looks alike: so the clock is asked again.
func (t *tx) clockWentBack(last time.Time) (bool, error) {
	if last.Sub(t.now) <= clockSlack {
		return false, nil
	}
	now, err := t.s.now(&t.session)
	return last.Sub(now) > clockSlack, err
}

// missedPings reports whether the time since the last beat was a hole: a beat was
// missed, or this replica just started and no other was there to hear. After a
// start any gap counts, because nobody knows when in it the last process ended;
// PingWait.Deadline weighs the length.
func (t *tx) missedPings(b LivenessRecord, last time.Time) (bool, error) {
	gap := t.now.Sub(last)
	if last.IsZero() || gap <= 0 {
		return false, nil
	}
	if gap >= 2*LivenessInterval || !b.First || !t.s.d.shared {
		return gap >= 2*LivenessInterval || b.First, nil
	}
	others, err := one(&t.session, scanInt, `SELECT count(*) FROM liveness WHERE replica <> $1 AND seen_at > $2`,
		b.Replica, millis(t.now.Add(-LivenessInterval-clockSlack)))
	return others == 0, err
}

// refused notes that valid pings were refused: their jobs live.
func (t *tx) saveRejected(tokens []string) error {
	tokens = slices.DeleteFunc(slices.Clone(tokens), func(token string) bool { return !allswell.IsPingToken(token) })
	for chunk := range slices.Chunk(tokens, 1000) {
		for _, column := range []string{"token", "old_token"} {
			if _, err := t.exec(`UPDATE monitors SET rejected_at = $1 WHERE id IN
				(SELECT id FROM monitors WHERE `+column+` IN EACH($2) AND enabled ORDER BY id FOR UPDATE)`,
				millis(t.now), list(chunk)); err != nil {
				return err
			}
		}
	}
	return nil
}

// repairFutureTimes mends what a clock that went back would strand: whatever lies in
// the future is taken as of now.
func (t *tx) repairFutureTimes() error {
	for _, text := range []string{
		`UPDATE monitors SET last_ping_at = CASE WHEN last_ping_at > $1 THEN $1 ELSE last_ping_at END,
			waiting_since_at = $1, next_check_at = $1 + interval_ms WHERE waiting_since_at > $1`,
		`UPDATE last_pings SET pinged_at = $1 WHERE pinged_at > $1`,
		`UPDATE monitors SET rejected_at = $1 WHERE rejected_at > $1`,
		`UPDATE liveness SET seen_at = $1 WHERE seen_at > $1`,
		`DELETE FROM listening_gaps WHERE from_at >= $1`,
		`UPDATE listening_gaps SET to_at = $1 WHERE to_at > $1`,
		`UPDATE monitors SET suppressed_until_at = $1 WHERE suppressed_until_at > $1 AND NOT EXISTS (SELECT 1 FROM maintenance_components c
			JOIN maintenances m ON m.id = c.maintenance_id WHERE c.component_id = monitors.component_id AND m.state IN ('in_progress', 'verifying'))`,
		// Of each component only the present status is to stay.
		`DELETE FROM status_changes WHERE changed_at >= $1 AND EXISTS (SELECT 1 FROM status_changes o
			WHERE o.component_id = status_changes.component_id AND o.changed_at > status_changes.changed_at)`,
		`UPDATE status_changes SET changed_at = $1 WHERE changed_at > $1`,
		// Grants of what has just been taken back: a tick looks and grants anew.
		`UPDATE monitors SET next_check_at = waiting_since_at + interval_ms WHERE next_check_at > $1 AND next_check_at > waiting_since_at + interval_ms`,
	} {
		if _, err := t.exec(text, millis(t.now)); err != nil {
			return err
		}
	}
	return nil
}

// holes loads the holes that end after an instant, in order. Those that
// replicas stored while they resumed together are made one.
func (c *session) gaps(since time.Time) ([]allswell.ListeningGap, error) {
	rows, err := query(c, func(row scanner) (w allswell.ListeningGap, err error) {
		err = row.Scan(instant{&w.From}, instant{&w.To})
		return
	}, `SELECT from_at, to_at FROM listening_gaps WHERE to_at > $1 ORDER BY from_at`, millis(since))
	out := rows[:0]
	for _, w := range rows {
		if n := len(out); n > 0 && w.From.Before(out[n-1].To) {
			if w.To.After(out[n-1].To) {
				out[n-1].To = w.To
			}
			continue
		}
		out = append(out, w)
	}
	return out, err
}
