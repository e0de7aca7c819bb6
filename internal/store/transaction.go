package store

import (
	"context"
	"encoding/json"
	"maps"
	"slices"

	"github.com/allswell/allswell/internal/domain/kernel"
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
	dbTx         *database.Tx
	versions     map[string]int64 // new versions of the changed pages
	changeNumber int64            // number of this change of pages; 0 on SQLite
	ordinals     map[string]int   // number of events emitted per page
	effects      []effect         // what happens after the commit

	skipBeforeReturn bool // the functions of BeforeReturn are not called
}

// write runs f as one durable transaction, repeats it after a conflict with another one, makes its effects happen, and
// calls the functions of BeforeReturn. The responses in save are saved in the same transaction.
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
	if len(t.versions) > 0 && !t.skipBeforeReturn {
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

// announce notifies the other replicas of the pages that the transaction changed. It is the last statement, because all
// transactions that change pages lock the row that it updates.
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
