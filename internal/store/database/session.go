package database

import (
	"context"
	"database/sql"
	"fmt"
	"strings"
	"time"

	"github.com/allswell/allswell/internal/domain/kernel"
)

// Session runs statements, within a transaction or outside one. Statements are written once for both engines, with
// PostgreSQL's $1 parameters and phrases that are translated:
//
//	EACH($n)              the strings of the JSON array in parameter n, as a subquery
//	FOR UPDATE            locks rows; like an UPDATE, it does not wait for FOR KEY SHARE
//	FOR KEY SHARE         locks rows, which any number of transactions may do together
//	FOR EXCLUSIVE UPDATE  locks rows and waits for all other locks
//
// SQLite has a single writer and needs no row locks.
type Session struct {
	Now time.Time // constant during the transaction, in whole milliseconds; zero outside one

	db    *DB
	ctx   context.Context
	q     querier
	wrote bool                               // some row was changed, so the commit waits for replication anyway
	fault func(when, statement string) error // nil but in tests
}

// querier has the methods that *sql.DB and *sql.Tx have in common.
type querier interface {
	ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error)
	QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
}

// Context returns the context of the session's transaction.
func (c *Session) Context() context.Context { return c.ctx }

// ReadClock reads the clock again. Now is older if the transaction has waited for locks.
func (c *Session) ReadClock() (time.Time, error) {
	if c.db.clock != nil {
		return c.db.clock().UTC().Truncate(time.Millisecond), nil
	}
	return c.db.dialect.now(c)
}

// Exec runs a statement that changes rows and returns how many it changed. Use Query for statements that return rows.
func (c *Session) Exec(statement string, args ...any) (int64, error) {
	return c.run(statement, func() (sql.Result, error) { return c.q.ExecContext(c.ctx, c.db.text(statement), args...) })
}

// MarkChanged records that a statement run by Query has changed rows, so that the commit
// is replicated without a message of its own.
func (c *Session) MarkChanged() { c.wrote = true }

func (c *Session) run(statement string, exec func() (sql.Result, error)) (int64, error) {
	if c.fault != nil {
		if err := c.fault("before", statement); err != nil {
			return 0, err
		}
	}
	res, err := exec()
	if err != nil {
		return 0, fmt.Errorf("%w in: %s", err, firstLine(statement))
	}
	if c.fault != nil {
		if err := c.fault("after", statement); err != nil {
			return 0, err
		}
	}
	n, err := res.RowsAffected()
	c.wrote = c.wrote || n > 0
	return n, err
}

// Row is a row of a result.
type Row interface{ Scan(dest ...any) error }

// ScanInt scans a row of one number.
func ScanInt(row Row) (n int64, err error) { err = row.Scan(&n); return }

// ScanString scans a row of one text.
func ScanString(row Row) (v string, err error) { err = row.Scan(&v); return }

// Query runs a statement and scans every row.
func Query[T any](c *Session, scan func(Row) (T, error), statement string, args ...any) (out []T, err error) {
	if c.fault != nil {
		if err := c.fault("before", statement); err != nil {
			return nil, err
		}
		defer func() {
			if err == nil {
				err = c.fault("after", statement)
			}
		}()
	}
	rows, err := c.q.QueryContext(c.ctx, c.db.text(statement), args...)
	if err != nil {
		return nil, fmt.Errorf("%w in: %s", err, firstLine(statement))
	}
	defer rows.Close()
	for rows.Next() {
		v, err := scan(rows)
		if err != nil {
			return nil, fmt.Errorf("%w in: %s", err, firstLine(statement))
		}
		out = append(out, v)
	}
	return out, rows.Err()
}

// One is Query for a statement that returns at most one row. Without a row it returns kernel.ErrNotFound.
func One[T any](c *Session, scan func(Row) (T, error), statement string, args ...any) (T, error) {
	rows, err := Query(c, scan, statement, args...)
	if err != nil || len(rows) == 0 {
		var none T
		if err == nil {
			err = kernel.ErrNotFound
		}
		return none, err
	}
	return rows[0], nil
}

// Each runs a query outside a transaction and calls f for each row as it arrives, without
// keeping the rows. It is not bounded by Timeout.
func (db *DB) Each(ctx context.Context, f func(Row) error, query string, args ...any) error {
	rows, err := db.reader.QueryContext(ctx, db.text(query), args...)
	if err != nil {
		return db.unavailable(err)
	}
	defer rows.Close()
	for rows.Next() {
		if err := f(rows); err != nil {
			return err
		}
	}
	return rows.Err()
}

// text translates a statement to the engine's SQL.
func (db *DB) text(statement string) string {
	if t, ok := db.texts.Load(statement); ok {
		return t.(string)
	}
	t := db.dialect.text(statement)
	db.texts.Store(statement, t)
	return t
}

// firstLine returns the first line of a statement, which identifies it in errors.
func firstLine(statement string) string {
	line, _, _ := strings.Cut(strings.TrimSpace(statement), "\n")
	return line
}
