// Package database opens the databases of Allswell and runs transactions on them, on SQLite and on PostgreSQL.
//
// It decides what does not depend on the statements: how a connection is made and kept, that a commit is durable when
// it returns, which transactions are repeated, what is known about a transaction whose commit failed, who may serve a
// database, and how its schema is brought up to date. The only table that it knows is the list of migrations.
//
// Statements are written once for both engines: see Session. Errors are values of package kernel: ErrBusy means that
// nothing was changed and that the same call may succeed later, ErrUnknownOutcome that the transaction may have been
// committed, and ErrNotFound that One found no row.
package database

import (
	"context"
	"database/sql"
	"errors"
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/allswell/allswell/internal/shared/failurelog"
)

// Timeout bounds every transaction, including waiting for a connection and for locks.
const Timeout = 10 * time.Second

// Options configure a DB.
type Options struct {
	// Clock returns the current time. nil means the host's clock on SQLite and
	// the database's clock on PostgreSQL, where hosts' clocks are not used.
	Clock func() time.Time

	// Logger gets the messages that no error carries. nil discards them.
	Logger *slog.Logger

	// Connections are used on PostgreSQL and stay open, in tests. nil: the DB opens and closes its own.
	Connections *Connections
}

// DB is an open database. It is safe for concurrent use.
type DB struct {
	dialect *dialect
	writer  *sql.DB // SQLite: one connection; PostgreSQL: the same as reader
	reader  *sql.DB
	primary *primary     // PostgreSQL only
	kept    *Connections // see Options.Connections
	dsn     string
	schema  Schema
	unlock  func() // releases the serving lock; nil if it is not held
	clock   func() time.Time
	log     *slog.Logger

	texts    sync.Map // text of a statement -> the engine's text
	contact  atomic.Int64
	failures failurelog.Log
	address  string // of the database, for logs

	fault func(when, statement string) error // see SetFault
}

// Open opens the database for serving and brings its schema up to date. dsn is "sqlite:PATH" or "postgres://…". It
// refuses a SQLite file that another process serves, and a database of a newer version. IsTemporary reports whether a
// later call may succeed.
func Open(ctx context.Context, dsn string, schema Schema, o Options) (*DB, error) {
	db, err := connect(dsn, schema, o)
	if err != nil {
		return nil, err
	}
	_, _, err = db.lockAndMigrate(ctx, nil)
	if err == nil && db.dialect == &sqliteDialect {
		err = removeDownloads(db.dsn)
	}
	if err != nil {
		return nil, errors.Join(err, db.Close())
	}
	return db, nil
}

// OpenBeside opens the database for a short command while the service may be running: without the serving lock. Opening
// changes nothing: it refuses a database without a schema and one of another version.
func OpenBeside(ctx context.Context, dsn string, schema Schema, o Options) (*DB, error) {
	db, err := connect(dsn, schema, o)
	if err != nil {
		return nil, err
	}
	if err := db.checkVersion(ctx); err != nil {
		return nil, errors.Join(err, db.Close())
	}
	return db, nil
}

// sqlitePrefix begins the address of a SQLite file.
const sqlitePrefix = "sqlite:"

// connect creates the connection pools. It does not read or write anything yet.
func connect(dsn string, schema Schema, o Options) (*DB, error) {
	db := &DB{schema: schema, clock: o.Clock, log: o.Logger}
	if db.log == nil {
		db.log = slog.New(slog.DiscardHandler)
	}
	var err error
	switch {
	case strings.HasPrefix(dsn, sqlitePrefix):
		db.dialect, db.dsn = &sqliteDialect, strings.TrimPrefix(dsn, sqlitePrefix)
		db.writer, db.reader, err = openSQLite(db.dsn)
	case strings.HasPrefix(dsn, "postgres://"), strings.HasPrefix(dsn, "postgresql://"):
		db.dialect, db.dsn = &postgresDialect, dsn
		err = db.openPostgres(o.Connections)
	default:
		err = errors.New("the database must be sqlite:PATH or postgres://…")
	}
	if err != nil {
		return nil, err
	}
	db.address = db.dialect.address(db.dsn)
	db.failures = failurelog.Log{
		Logger: db.log, Failing: "the database cannot be used", Working: "the database can be used again",
		Settle: Timeout,
	}
	return db, nil
}

// Close closes the connections and releases the serving lock.
func (db *DB) Close() error {
	err := db.reader.Close()
	if db.writer != db.reader {
		err = errors.Join(db.writer.Close(), err)
	}
	if db.unlock != nil {
		db.unlock()
		db.unlock = nil
	}
	return err
}

// Shared reports whether other processes may serve the same database: on PostgreSQL.
func (db *DB) Shared() bool { return db.dialect.shared }

// Pools returns the connections that write and the connections that only read. On PostgreSQL they are the same. They
// are for statements that cannot run in a transaction, and for tests.
func (db *DB) Pools() (writer, reader *sql.DB) { return db.writer, db.reader }

// LastContact returns the instant, by the host's clock, at which the database last
// answered; the zero Time if it never did.
func (db *DB) LastContact() time.Time {
	if n := db.contact.Load(); n != 0 {
		return time.UnixMilli(n)
	}
	return time.Time{}
}

// contacted records that the database has just answered.
func (db *DB) contacted() {
	now := time.Now()
	db.contact.Store(now.UnixMilli())
	db.failures.Worked(now)
}
