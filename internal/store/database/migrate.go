package database

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/pressly/goose/v3"
	goosedb "github.com/pressly/goose/v3/database"
	"github.com/pressly/goose/v3/lock"
	sqlite3 "modernc.org/sqlite/lib"
)

// Schema describes the schema of a database. Migrations only go forward.
type Schema struct {
	// Files has the migrations in SQL, in the form of github.com/pressly/goose, in a
	// folder "migrations". Their names begin with their versions, as 0001_first.sql.
	Files fs.FS

	// Funcs are the migrations in Go, by their versions. Each runs in a transaction.
	Funcs map[int64]func(context.Context, *sql.Tx) error

	// Tables are names of tables by which Backup and Restore recognize a database.
	Tables []string
}

// Migrate brings the schema of a database up to date and returns the version before and after. It refuses a SQLite file
// that is being served, and a database of a newer version.
func Migrate(ctx context.Context, dsn string, schema Schema, progress Progress) (from, to int64, err error) {
	db, err := connect(dsn, schema, Options{})
	if err != nil {
		return 0, 0, err
	}
	defer db.Close()
	return db.lockAndMigrate(ctx, progress)
}

// lockAndMigrate acquires the serving lock and brings the schema up to date.
func (db *DB) lockAndMigrate(ctx context.Context, progress Progress) (from, to int64, err error) {
	if err = db.dialect.create(db.dsn); err == nil {
		db.unlock, err = db.dialect.lock(db.dsn)
	}
	if err != nil {
		return 0, 0, err
	}
	return db.migrate(ctx, progress)
}

// errMigrating means that another process kept the migration lock all the time.
var errMigrating = errors.New("another allswell is bringing the database up to date")

// migrationLock is goose's lock on PostgreSQL. It returns errMigrating if the lock was not free in time.
type migrationLock struct{ lock.SessionLocker }

func (l migrationLock) SessionLock(ctx context.Context, conn *sql.Conn) error {
	err := l.SessionLocker.SessionLock(ctx, conn)
	// the connection works: only the lock was missing
	if err != nil && ctx.Err() == nil && conn.PingContext(ctx) == nil {
		return fmt.Errorf("%w (%w)", errMigrating, err)
	}
	return err
}

// provider returns goose for this engine. On PostgreSQL it takes a session lock: if several replicas start together,
// one migrates and the others wait for it, for at most a minute.
func (db *DB) provider() (*goose.Provider, error) {
	files, err := fs.Sub(db.schema.Files, "migrations")
	if err != nil {
		return nil, err
	}
	var funcs []*goose.Migration
	for version, f := range db.schema.Funcs {
		funcs = append(funcs, goose.NewGoMigration(version, &goose.GoFunc{RunTx: f}, nil))
	}
	options := []goose.ProviderOption{goose.WithGoMigrations(funcs...)}
	if db.dialect == &sqliteDialect {
		return goose.NewProvider(goosedb.DialectSQLite3, db.writer, files, options...)
	}
	locker, err := lock.NewPostgresSessionLocker(lock.WithLockTimeout(1, 60))
	if err != nil {
		return nil, err
	}
	return goose.NewProvider(goosedb.DialectPostgres, db.writer, files,
		append(options, goose.WithSessionLocker(migrationLock{locker}))...)
}

// newest returns the newest version that this program knows.
func newest(p *goose.Provider) int64 {
	sources := p.ListSources()
	return sources[len(sources)-1].Version
}

// versions returns the database's version, 0 for an empty one, and the newest that this program knows. It changes
// nothing. The error for a database that lacks a migration older than its version says which.
func (db *DB) versions(ctx context.Context) (current, latest int64, err error) {
	p, err := db.provider()
	if err != nil {
		return 0, 0, err
	}
	sources, latest := p.ListSources(), newest(p)
	ctx, cancel := context.WithTimeout(ctx, Timeout)
	defer cancel()
	c := &Session{db: db, ctx: ctx, q: db.reader}
	known, err := One(c, ScanInt, db.dialect.hasVersions)
	if err == nil && known == 0 {
		err = c.isEmpty()
	}
	if err != nil || known == 0 {
		return 0, latest, err
	}
	applied, err := Query(c, ScanInt, `SELECT version_id FROM goose_db_version WHERE is_applied`)
	if err != nil || len(applied) == 0 {
		return 0, latest, err
	}
	current = slices.Max(applied)
	for _, source := range sources {
		if source.Version < current && !slices.Contains(applied, source.Version) {
			return 0, latest,
				fmt.Errorf("the database is of version %d, but lacks migration %d", current, source.Version)
		}
	}
	return current, latest, nil
}

// errOtherProgram means that a file belongs to another program, and must not be changed.
var errOtherProgram = errors.New("it is a database of another program")

// isEmpty returns an error for a SQLite file that has tables. A PostgreSQL database may
// contain tables of other programs.
func (c *Session) isEmpty() error {
	if c.db.dialect != &sqliteDialect {
		return nil
	}
	// Another process may just have migrated it.
	n, err := One(c, ScanInt, `SELECT count(*) FROM sqlite_schema
		WHERE NOT EXISTS (SELECT 1 FROM sqlite_schema WHERE name = 'goose_db_version')`)
	if err == nil && n > 0 {
		err = errOtherProgram
	}
	return err
}

// migrate applies the missing migrations in order.
func (db *DB) migrate(ctx context.Context, progress Progress) (from, to int64, err error) {
	current, latest, err := db.versions(ctx)
	if err != nil {
		return 0, 0, db.openFailed(err)
	}
	if current > latest {
		return 0, 0, newerVersion(current, latest)
	}
	if current == latest {
		return current, latest, nil
	}
	p, err := db.provider()
	if err != nil {
		return 0, 0, err
	}
	db.log.Info("migrating the database", "from", current, "to", latest)
	began := time.Now()
	progress.begin("Migrating the database", func() (done, total int64) {
		now, _, err := db.versions(ctx) // each migration is committed alone
		if err != nil {
			return 0, 0
		}
		return now - current, latest - current
	})
	if _, err := p.Up(ctx); err != nil {
		return 0, 0, fmt.Errorf("migrating the database: %w", err)
	}
	db.log.Info("the database is migrated", "from", current, "to", latest,
		"duration", time.Since(began).Round(time.Millisecond))
	return current, latest, nil
}

// checkVersion returns an error if the database does not have the schema of this program.
func (db *DB) checkVersion(ctx context.Context) error {
	current, latest, err := db.versions(ctx)
	switch {
	case err != nil:
		return db.openFailed(err)
	case current == 0:
		return errors.New("the database is empty: `allswell migrate` or the first start of `allswell serve` creates " +
			"the tables")
	case current < latest:
		return fmt.Errorf("the database is of version %d, but this allswell needs version %d: "+
			"stop the service and bring the database up to date with `allswell migrate`, or use the allswell that "+
			"serves it", current, latest)
	case current > latest:
		return newerVersion(current, latest)
	}
	return nil
}

func newerVersion(current, latest int64) error {
	return fmt.Errorf("the database is of version %d, but this allswell only knows versions up to %d: use a newer "+
		"allswell", current, latest)
}

// check returns the version of the SQLite file at path, and an error if the file is damaged or lacks a table of the
// schema.
func (s Schema) check(ctx context.Context, path string) (version int64, err error) {
	if _, err := os.Stat(path); err != nil {
		return 0, fmt.Errorf("%s cannot be read: %w", path, reason(err))
	}
	abs, err := filepath.Abs(path)
	if err != nil {
		return 0, err
	}
	db, err := sql.Open("sqlite", fileURI(abs, url.Values{"mode": {"ro"}, "_query_only": {"1"}}))
	if err != nil {
		return 0, err
	}
	defer db.Close()
	damaged := fmt.Errorf("%s is damaged: its integrity check failed", path)
	for _, table := range append([]string{"goose_db_version"}, s.Tables...) {
		var n int
		err := db.QueryRowContext(ctx, `SELECT count(*) FROM sqlite_schema WHERE name = $1`, table).Scan(&n)
		if sqliteCode(err)&0xff == sqlite3.SQLITE_CORRUPT {
			return 0, damaged
		}
		if err != nil || n != 1 {
			return 0, fmt.Errorf("%s is not an Allswell database", path)
		}
	}
	var verdict string
	if err := db.QueryRowContext(ctx, `PRAGMA integrity_check(1)`).Scan(&verdict); err != nil || verdict != "ok" {
		return 0, damaged
	}
	err = db.QueryRowContext(ctx,
		`SELECT coalesce(max(version_id), 0) FROM goose_db_version WHERE is_applied`).Scan(&version)
	return version, err
}
