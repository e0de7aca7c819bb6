package store

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/allswell/allswell/internal/domain/kernel"
	"github.com/allswell/allswell/internal/domain/monitor"
	"github.com/allswell/allswell/internal/store/database"
)

// PingResult is the result of one ping.
type PingResult int

// The results of a ping.
const (
	PingFailed   PingResult = iota // not recorded; the same ping may succeed later
	PingRecorded                   // durable
	PingUnknown                    // no such token, or its monitor is disabled
)

// RecordPings records pings, at most one per ping address, and the replica's liveness in one transaction, and returns a
// result for each address in order. PingRecorded means that the ping is durable, and in the history. A string that does
// not have the form of an address is unknown. After an error no ping is known to be recorded.
//
// origins says who sent the pings, for the history. If it is zero, each monitor had one ping, of an unknown client.
func (s *Store) RecordPings(
	ctx context.Context, addresses []string, record LivenessRecord, origins PingOrigins,
) ([]PingResult, error) {
	return write(ctx, s, func(t *tx) ([]PingResult, error) {
		t.skipBeforeReturn = true
		if err := t.recordPingLiveness(record); err != nil {
			return nil, err
		}
		tokens, tokenOf, err := t.distinctTokens(addresses)
		if err != nil {
			return nil, err
		}
		batch, err := t.recordPings(tokens)
		if err != nil {
			return nil, err
		}
		if s.KeepsPings() {
			err = t.keepBlock(batch, origins.byToken(tokenOf))
		}
		return resultsByAddress(batch.results, tokenOf), err
	})
}

// pingBatch are the pings of a transaction, at most one per token.
type pingBatch struct {
	tokens  []string
	index   map[string]int // of a token that has the form of one
	results []PingResult   // of the tokens
	details map[string]pingDetail
}

// recordPings records with one statement the pings of healthy monitors, for which a ping changes nothing but its own
// time; monitorRow.current applies it later, as MonitorStatus.RecordPing would. It records the other pings one by one.
func (t *tx) recordPings(tokens []string) (pingBatch, error) {
	b := pingBatch{
		tokens, make(map[string]int, len(tokens)), make([]PingResult, len(tokens)), make(map[string]pingDetail),
	}
	possible := make([]string, 0, len(tokens))
	for i, token := range tokens {
		b.results[i] = PingUnknown
		if kernel.IsPingToken(token) {
			b.index[token] = i
			possible = append(possible, token)
		}
	}
	n, err := t.dbTx.Exec(t.s.recordPings, millis(t.Now), list(possible))
	if err != nil {
		return b, err
	}
	if n == int64(len(possible)) {
		for _, token := range possible {
			b.results[b.index[token]] = PingRecorded
		}
		return b, nil
	}
	// Pings that the statement skipped are recorded one by one.
	recorded, err := database.Query(t.Session, database.ScanString,
		`SELECT token FROM last_pings WHERE token IN EACH($1) AND healthy AND pinged_at = $2`, list(possible),
		millis(t.Now))
	if err != nil {
		return b, err
	}
	for _, token := range recorded {
		b.results[b.index[token]] = PingRecorded
	}
	rest := slices.DeleteFunc(possible, func(token string) bool { return b.results[b.index[token]] == PingRecorded })
	if err := t.recordEach(func(r monitorRow) string {
		return r.Token
	}, `token IN EACH($1)`, []any{list(rest)}, b); err != nil {
		return b, err
	}
	if err := t.recordEach(func(r monitorRow) string {
		return r.oldToken
	}, `old_token IN EACH($1) AND old_token_until_at > $2`, []any{list(rest), millis(t.Now)}, b); err != nil {
		return b, err
	}
	return b, nil
}

// recordEach records the pings of monitors that are down, were never pinged, were given by their old token, or whose
// last ping lies in the future. A ping that fails is rolled back alone.
func (t *tx) recordEach(
	given func(monitorRow) string, where string, args []any, b pingBatch,
) error {
	rows, err := t.monitorRows(`WHERE enabled AND `+where+` ORDER BY id FOR UPDATE`, args...)
	if err != nil || len(rows) == 0 {
		return err
	}
	var down []monitor.Monitor // or may go down
	for _, r := range rows {
		violates, err := t.endViolates(r.current(), "")
		if err != nil {
			return err
		}
		if r.State == monitor.MonitorDown || violates {
			down = append(down, r.current())
		}
	}
	if len(down) > 0 {
		if err := t.lockForOutage(down...); err != nil {
			return err
		}
	}
	for _, r := range rows {
		var ended monitor.Run
		result, err := t.recordOne(r.ID, func() (err error) {
			m := r.current()
			ended, err = t.applyPing(&m, "")
			return err
		})
		if err != nil {
			return err
		}
		b.results[b.index[given(r)]] = result
		b.details[given(r)] = newPingDetail(r.Token, t.Now, ended.StartedAt)
	}
	return nil
}

// recordOne records one ping or signal of a monitor under a savepoint. It returns an error if the whole
// transaction has to be repeated; any other error fails this ping alone.
func (t *tx) recordOne(monitorID string, record func() error) (PingResult, error) {
	versions, effects := maps.Clone(t.versions), len(t.effects)
	if _, err := t.Exec(`SAVEPOINT ping`); err != nil {
		return PingFailed, err
	}
	err := record()
	if err == nil {
		_, err = t.Exec(`RELEASE SAVEPOINT ping`)
		return PingRecorded, err
	}
	if t.s.db.IsFatal(err) || t.Context().Err() != nil {
		return PingFailed, err
	}
	if _, back := t.Exec(`ROLLBACK TO SAVEPOINT ping`); back != nil {
		return PingFailed, fmt.Errorf("%w after %w", back, err)
	}
	t.versions, t.effects = versions, t.effects[:effects] // the rest was rolled back
	t.s.log.Error("recording a ping failed", "monitor", monitorID, "error", err)
	return PingFailed, nil
}

// applyPing records a ping or a success of a locked monitor. It ends the run with the id, and returns it; its StartedAt
// is zero if there is none.
func (t *tx) applyPing(m *monitor.Monitor, runID string) (ended monitor.Run, err error) {
	if ended, err = t.endRun(m, runID); err != nil {
		return ended, err
	}
	verdict := m.EvaluateEnd(ended, t.Now, monitor.RunSucceeds)
	failed, violates := m.Down(verdict)
	if violates || m.State == monitor.MonitorDown && !ended.Recovers() {
		return ended, t.applyViolation(m, verdict, failed)
	}
	recovered := m.RecordPing(t.Now)
	m.NextCheckAt = m.DueAt(nil)
	if recovered {
		m.UpdatedAt = kernel.Later(t.Now, m.UpdatedAt)
	}
	err = errors.Join(t.saveMonitorState(*m), t.saveHealthy(*m), t.keepPings([]string{m.ID}))
	if err == nil && recovered {
		err = t.endOutage(*m, monitor.OutageEndedByPing)
	}
	if err != nil {
		return ended, err
	}
	return ended, t.warn(m, verdict)
}

// ShortTokenHash returns the hash that represents a token in memory, where there may be a million of them.
func ShortTokenHash(token string) uint64 {
	sum := sha256.Sum256([]byte(token)) // as account.HashTokenSecret, without an allocation
	return binary.BigEndian.Uint64(sum[:])
}

// EachPingToken calls f with the short hash of every valid ping token and ping key, including old ones.
func (s *Store) EachPingToken(ctx context.Context, f func(short uint64)) error {
	err := s.db.Each(ctx, func(row database.Row) error {
		key, err := database.ScanString(row)
		f(ShortTokenHash(key))
		return err
	}, `SELECT ping_key FROM ping_keys`)
	if err != nil {
		return err
	}
	return s.db.Each(ctx, func(row database.Row) error {
		var token, old string
		if err := row.Scan(&token, text{&old}); err != nil {
			return err
		}
		f(ShortTokenHash(token))
		if old != "" {
			f(ShortTokenHash(old))
		}
		return nil
	}, `SELECT token, old_token FROM monitors WHERE enabled AND type = 'heartbeat'`)
}
