package database

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/allswell/allswell/internal/domain/kernel"
)

// maxAttempts is how often a transaction is run at most if the database asks for a repetition (serialization failure,
// deadlock).
const maxAttempts = 4

// Lookup runs f, which makes a single query, outside a transaction. It takes fewer round
// trips than Read, and Session.Now is not set.
func Lookup[T any](ctx context.Context, db *DB, f func(*Session) (T, error)) (out T, err error) {
	ctx, cancel := context.WithTimeout(ctx, Timeout)
	defer cancel()
	out, err = f(&Session{db: db, ctx: ctx, q: db.reader})
	if err == nil {
		db.contacted()
	}
	return out, db.unavailable(err)
}

// Read runs f in a read-only transaction, so that everything it loads is of the same moment.
func Read[T any](ctx context.Context, db *DB, f func(*Session) (T, error)) (out T, err error) {
	ctx, cancel := context.WithTimeout(ctx, Timeout)
	defer cancel()
	t, err := db.reader.BeginTx(ctx, db.dialect.readOptions)
	if err != nil {
		return out, db.unavailable(err)
	}
	defer t.Rollback()
	c := &Session{db: db, ctx: ctx, q: t}
	if c.Now, err = c.ReadClock(); err != nil {
		return out, db.unavailable(err)
	}
	if out, err = f(c); err != nil {
		return out, db.unavailable(err)
	}
	db.contacted()
	return out, nil
}

// Tx is a transaction that writes.
type Tx struct {
	Session
	sqlTx *sql.Tx
}

// Write runs f as one transaction and commits it. If the database asks for a repetition,
// it runs f again, so f must not have effects outside the transaction.
//
// When Write returns nil, the changes are durable, and replicated as the server is
// configured. After kernel.ErrUnknownOutcome they may be. After any other error nothing
// was changed; the error of f is returned when what it depends on is replicated.
func Write[T any](ctx context.Context, db *DB, f func(*Tx) (T, error)) (out T, err error) {
	ctx, cancel := context.WithTimeout(ctx, Timeout)
	defer cancel()
	for attempt := 1; ; attempt++ {
		out, err = writeOnce(ctx, db, f)
		if err == nil || attempt == maxAttempts || errors.Is(err, kernel.ErrUnknownOutcome) ||
			!db.dialect.repeatable(err) {
			break
		}
		db.log.Debug("transaction repeated", "attempt", attempt, "error", err)
		pauseBeforeRepeating(ctx, attempt)
	}
	if err != nil {
		var none T
		return none, db.Replicated(ctx, err)
	}
	return out, nil
}

// pauseBeforeRepeating waits for a random time, at most 10 ms before the second attempt and 40 ms before the fourth:
// transactions that ended each other in a deadlock would meet again if both were repeated immediately.
func pauseBeforeRepeating(ctx context.Context, attempt int) {
	select {
	case <-ctx.Done():
	case <-time.After(rand.N(5 * time.Millisecond << attempt)):
	}
}

func writeOnce[T any](ctx context.Context, db *DB, f func(*Tx) (T, error)) (out T, err error) {
	sqlTx, err := db.writer.BeginTx(ctx, nil)
	if err != nil {
		return out, err
	}
	defer sqlTx.Rollback()
	t := &Tx{Session: Session{db: db, ctx: ctx, q: sqlTx, fault: db.fault}, sqlTx: sqlTx}
	if t.Now, err = t.ReadClock(); err != nil {
		return out, err
	}
	if out, err = f(t); err != nil {
		return out, err
	}
	if !t.wrote && db.dialect.replicate != nil {
		// The result was read, possibly from a commit that is not replicated yet.
		if err = db.dialect.replicate(&t.Session); err != nil {
			return out, err
		}
	}
	if t.fault != nil {
		if err = t.fault("before", "COMMIT"); err != nil {
			return out, err
		}
	}
	if err = db.commit(sqlTx); err != nil {
		return out, err
	}
	db.contacted()
	if t.fault != nil {
		err = t.fault("after", "COMMIT")
	}
	return out, err
}

// commit commits t. The error is kernel.ErrBusy if nothing was committed, and
// kernel.ErrUnknownOutcome if the transaction may have been committed.
func (db *DB) commit(t *sql.Tx) error {
	err := t.Commit()
	if err == nil {
		return nil
	}
	outcome := kernel.ErrUnknownOutcome
	if neverSent(err) || db.dialect.undone(err) {
		outcome = kernel.ErrBusy
	}
	return fmt.Errorf("%w: commit: %w", outcome, err)
}

// neverSent reports whether database/sql rolled back instead of sending COMMIT, because the context had ended. It
// returns these errors bare; errors of a driver that was interrupted in the middle of a COMMIT are wrapped.
func neverSent(err error) bool {
	return err == sql.ErrTxDone || err == context.Canceled || err == context.DeadlineExceeded
}

// Replicated returns the error of a transaction or a query, or the reason why it cannot be returned yet. An error such
// as ErrNotFound, or a name that is taken, depends on what other transactions have committed. It is an answer as much
// as a success is, so it also waits until that is replicated. Errors of the database itself are returned immediately.
func (db *DB) Replicated(ctx context.Context, err error) error {
	if wrapped := db.unavailable(err); wrapped == nil || unusable(wrapped) || db.dialect.repeatable(err) {
		return wrapped
	}
	if failed := db.AwaitReplication(ctx); failed != nil {
		return failed
	}
	return err
}

// AwaitReplication returns when everything that was committed and visible before is
// durable and replicated as the server is configured.
func (db *DB) AwaitReplication(ctx context.Context) error {
	if db.dialect.replicate == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, Timeout)
	defer cancel()
	t, err := db.writer.BeginTx(ctx, nil)
	if err != nil {
		return db.unavailable(err)
	}
	defer t.Rollback()
	if err := db.dialect.replicate(&Session{db: db, ctx: ctx, q: t}); err != nil {
		return db.unavailable(err)
	}
	return db.unavailable(db.commit(t))
}

// IsDuplicate reports whether err is the violation of a unique index.
func (db *DB) IsDuplicate(err error) bool { return db.dialect.duplicate(err) }

// IsFatal reports whether err of a statement concerns its whole transaction: it has to be
// repeated, or the database cannot be used now.
func (db *DB) IsFatal(err error) bool {
	return db.dialect.repeatable(err) || db.dialect.unavailable(err)
}

// unusable reports whether err is an error that unavailable returns for a database that cannot be used.
func unusable(err error) bool {
	return errors.Is(err, kernel.ErrBusy) || errors.Is(err, kernel.ErrUnknownOutcome)
}

// unavailable wraps errors that mean that the database cannot be used now, or that the context ended before the commit,
// in kernel.ErrBusy. It leaves errors of commit as they are. It logs the first error of a series.
func (db *DB) unavailable(err error) error {
	marked := unusable(err)
	cancelled := errors.Is(err, context.Canceled) // by the caller, which is no failure of the database
	if err == nil ||
		!marked && !cancelled && !db.dialect.unavailable(err) && !errors.Is(err, context.DeadlineExceeded) {
		return err
	}
	if !cancelled {
		db.failures.Failed(time.Now(), "database", db.address, "error", db.openFailureReason(err))
	}
	if marked {
		return err
	}
	if len(connectErrors(err)) > 0 { // pgx's own text has a line for each attempt
		err = &openError{db.openFailureReason(err), err}
	}
	return fmt.Errorf("%w: %w", kernel.ErrBusy, err)
}
