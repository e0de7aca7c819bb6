package store

import (
	"context"
	"encoding/json"
	"maps"
	"slices"

	"github.com/allswell/allswell/internal/domain/kernel"
	"github.com/allswell/allswell/internal/domain/monitor"
	"github.com/allswell/allswell/internal/store/database"
)

// session runs statements, within a transaction or outside one.
type session struct {
	*database.Session
	s *Store
}

// widerRow is a row with more columns than a struct's scan function reads.
type widerRow struct {
	database.Row
	more []any
}

// Scan reads the columns of dest, and the others into more.
func (w widerRow) Scan(dest ...any) error { return w.Row.Scan(append(dest, w.more...)...) }

// exists reports whether a query returns a row. It runs outside a transaction.
func (s *Store) exists(ctx context.Context, text string, args ...any) (bool, error) {
	n, err := s.count(ctx, `SELECT count(*) FROM (`+text+` LIMIT 1) AS found`, args...)
	return n > 0, err
}

// count returns the number that a query returns. It runs outside a transaction.
func (s *Store) count(ctx context.Context, text string, args ...any) (int64, error) {
	return database.Lookup(ctx, s.db, func(c *database.Session) (int64, error) {
		return database.One(c, database.ScanInt, text, args...)
	})
}

// read runs f in a read-only transaction: all its statements read the same snapshot.
func read[T any](ctx context.Context, s *Store, f func(*session) (T, error)) (T, error) {
	return database.Read(ctx, s.db, func(c *database.Session) (T, error) { return f(&session{c, s}) })
}

// tx is a transaction that writes.
type tx struct {
	session
	dbTx               *database.Tx
	versions           map[string]int64    // new versions of the changed pages
	changeNumber       int64               // number of this change of pages; 0 on SQLite
	ordinals           map[string]int      // number of events emitted per page
	hiddenPages        []string            // pages that were made private
	logEntries         []logEntry          // to be logged after the commit
	warned             []monitor.Condition // of the warnings that were added
	mailQueued         bool                // a mail, a retry or a sign-up was queued
	alertsPending      bool                // AdvanceAlerts or ClaimMessages has work
	maintenanceChanged bool                // the time of the next transition may have changed
	domainCheckDue     bool                // a domain is due to be checked
	newPingTokens      []string            // new ping tokens, and those of monitors that were enabled
	liveReplica        string              // the replica whose liveness record this transaction writes

	pingDetails map[string]pingDetail // of the pings that were recorded one by one, by the token that was given

	addedBlock bool // of the history of pings

	unattended bool // the functions of BeforeReturn are not called
}

// write runs f as one durable transaction, repeats it after a conflict with another one,
// and then calls the functions that are registered for what changed.
// The responses in save are saved in the same transaction.
func write[T any](ctx context.Context, s *Store, f func(*tx) (T, error), save ...SaveResponse[T]) (T, error) {
	var t *tx // of the last attempt
	out, err := database.Write(ctx, s.db, func(dbTx *database.Tx) (T, error) {
		t = &tx{session: session{&dbTx.Session, s}, dbTx: dbTx}
		out, err := f(t)
		if err != nil {
			return out, err
		}
		for _, r := range save {
			if err := r.save(t, out); err != nil {
				return out, err
			}
		}
		return out, t.announce()
	})
	if err != nil {
		return out, err
	}
	t.committed()
	if len(t.versions) > 0 && !t.unattended {
		for _, f := range s.beforeReturn {
			f(ctx, slices.Sorted(maps.Keys(t.versions)))
		}
	}
	return out, nil
}

// writeAs is write for a change by an actor. It returns kernel.ErrUnauthenticated if the
// actor's token is revoked: see authorize.
func writeAs[T any](
	ctx context.Context, s *Store, actor kernel.Actor, f func(*tx) (T, error), save ...SaveResponse[T],
) (T, error) {
	return write(ctx, s, func(t *tx) (T, error) {
		if err := t.authorize(actor); err != nil {
			var none T
			return none, err
		}
		return f(t)
	}, save...)
}

// writeOnly is write for an f that returns nothing but its error.
func writeOnly(ctx context.Context, s *Store, f func(*tx) error) error {
	_, err := write(ctx, s, func(t *tx) (struct{}, error) { return struct{}{}, f(t) })
	return err
}

// writeOnlyAs is writeAs for an f that returns nothing but its error.
func writeOnlyAs(ctx context.Context, s *Store, actor kernel.Actor, f func(*tx) error) error {
	_, err := writeAs(ctx, s, actor, func(t *tx) (struct{}, error) { return struct{}{}, f(t) })
	return err
}

// announce notifies the other replicas of the pages that the transaction changed. It is
// the last statement, because all transactions that change pages lock the row that it
// updates.
func (t *tx) announce() error {
	if len(t.versions) == 0 || !t.s.db.Shared() {
		return nil
	}
	versions, err := json.Marshal(t.versions)
	if err != nil {
		return err
	}
	t.changeNumber, err = database.One(t.Session, func(row database.Row) (number int64, err error) {
		err = row.Scan(&number, new(string))
		return
	}, announcePages, t.s.replica, string(versions))
	return err
}

// committed calls the registered functions for what the transaction changed.
func (t *tx) committed() {
	s := t.s
	if t.liveReplica != "" {
		s.lastLiveness.Store(t.liveReplica, t.Now)
	}
	for _, pageID := range t.hiddenPages {
		for _, f := range s.onPageHidden {
			f(pageID)
		}
	}
	for pageID, version := range t.versions {
		if s.db.Shared() {
			s.pages.learn(pageChange{s.replica, t.changeNumber, pageID, version}, func(string) {})
		}
		s.pageChanged(pageID)
	}
	s.writeLogEntries(t.logEntries)
	for _, c := range t.warned {
		s.counts.warnings[c].Add(1)
	}
	for _, token := range t.newPingTokens {
		for _, f := range s.onPingToken {
			f(token)
		}
	}
	if len(t.ordinals) > 0 || t.mailQueued {
		callAll(s.onDeliveriesPending)
	}
	if t.alertsPending {
		callAll(s.onAlertsPending)
	}
	if t.maintenanceChanged {
		callAll(s.onMaintenanceChange)
	}
	if t.domainCheckDue {
		callAll(s.onDomainCheckDue)
	}
	if t.addedBlock {
		s.blockAdded()
	}
}

func callAll(registered []func()) {
	for _, f := range registered {
		f()
	}
}

func (s *Store) pageChanged(pageID string) {
	for _, f := range s.onPageChange {
		f(pageID)
	}
}

// logEntry is a message about a monitor or a maintenance, which is logged after the
// commit.
type logEntry struct{ message, kind, id, name string }

// writeLogEntries logs the first few entries and the number of the others.
func (s *Store) writeLogEntries(all []logEntry) {
	const limit = 20
	for _, n := range all[:min(len(all), limit)] {
		s.log.Info(n.message, n.kind, n.id, "name", n.name)
	}
	if len(all) > limit {
		s.log.Info("more changes in the same transaction", "count", len(all)-limit)
	}
}
