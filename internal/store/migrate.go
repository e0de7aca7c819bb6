package store

import (
	"context"
	"database/sql"
	"embed"
	"errors"
	"fmt"
	"io/fs"

	"github.com/pressly/goose/v3"
	"github.com/pressly/goose/v3/database"
	"github.com/pressly/goose/v3/lock"
)

//go:embed migrations/*.sql
var migrations embed.FS

// Migrate brings the schema of a database up to date and returns the version
// before and after. It refuses a SQLite file that is being served, and a
// database of a newer version.
func Migrate(ctx context.Context, dsn string) (from, to int64, err error) {
	s, err := connect(dsn, Options{})
	if err != nil {
		return 0, 0, err
	}
	defer s.Close()
	if err = s.d.create(s.dsn); err == nil {
		s.lock, err = s.d.lock(s.dsn)
	}
	if err != nil {
		return 0, 0, err
	}
	return s.migrate(ctx)
}

// errMigrating means that another process kept the migration lock all the time.
var errMigrating = errors.New("another allswell is bringing the database up to date")

// migrationLock is goose's lock on PostgreSQL. It returns errMigrating if the lock was
// not free in time.
type migrationLock struct{ lock.SessionLocker }

func (l migrationLock) SessionLock(ctx context.Context, conn *sql.Conn) error {
	err := l.SessionLocker.SessionLock(ctx, conn)
	if err != nil && ctx.Err() == nil && conn.PingContext(ctx) == nil { // the connection is well: only the lock was missing
		return fmt.Errorf("%w (%w)", errMigrating, err)
	}
	return err
}

// provider returns goose for this engine. On PostgreSQL a session lock lets
// one of several replicas that start at once migrate, and the others wait at
// most a minute for it.
func (s *Store) provider() (*goose.Provider, error) {
	sub, err := fs.Sub(migrations, "migrations")
	if err != nil {
		return nil, err
	}
	if s.d == &sqliteDialect {
		return goose.NewProvider(database.DialectSQLite3, s.writer, sub, goose.WithGoMigrations(addSlugs))
	}
	locker, err := lock.NewPostgresSessionLocker(lock.WithLockTimeout(1, 60))
	if err != nil {
		return nil, err
	}
	return goose.NewProvider(database.DialectPostgres, s.writer, sub, goose.WithSessionLocker(migrationLock{locker}), goose.WithGoMigrations(addSlugs))
}

// versions returns the database's version, 0 for an empty one, and the newest
// that this program knows. It changes nothing.
func (s *Store) versions(ctx context.Context) (current, latest int64, err error) {
	ctx, cancel := context.WithTimeout(ctx, verbTimeout)
	defer cancel()
	p, err := s.provider()
	if err != nil {
		return 0, 0, err
	}
	sources := p.ListSources()
	latest = sources[len(sources)-1].Version
	known, err := one(s.bare(ctx), scanInt, s.d.hasVersions)
	if err == nil && known == 0 {
		err = s.isEmpty(ctx)
	}
	if err != nil || known == 0 {
		return 0, latest, err
	}
	current, err = one(s.bare(ctx), scanInt, `SELECT coalesce(max(version_id), 0) FROM goose_db_version WHERE is_applied`)
	return current, latest, err
}

// errOtherProgram is a file of another program, in which nothing must be made.
var errOtherProgram = errors.New("it is a database of another program")

// isEmpty refuses a SQLite file that holds something. In PostgreSQL others may
// have tables beside ours.
func (s *Store) isEmpty(ctx context.Context) error {
	if s.d != &sqliteDialect {
		return nil
	}
	n, err := one(s.bare(ctx), scanInt, `SELECT count(*) FROM sqlite_schema
		WHERE NOT EXISTS (SELECT 1 FROM sqlite_schema WHERE name = 'goose_db_version')`) // made by another allswell just now
	if err == nil && n > 0 {
		err = errOtherProgram
	}
	return err
}

// migrate applies what is missing, in order; there is no way back.
func (s *Store) migrate(ctx context.Context) (from, to int64, err error) {
	current, latest, err := s.versions(ctx)
	if err != nil {
		return 0, 0, s.openFailed(err)
	}
	if current > latest {
		return 0, 0, newerVersion(current, latest)
	}
	if current == latest {
		return current, latest, nil
	}
	p, err := s.provider()
	if err != nil {
		return 0, 0, err
	}
	if _, err := p.Up(ctx); err != nil {
		return 0, 0, fmt.Errorf("the database could not be brought up to date: %w", err)
	}
	return current, latest, nil
}

// migrateBeside is migrate for a command that does not serve: if there is
// something to do, it does it under the serving lock and gives that back.
func (s *Store) migrateBeside(ctx context.Context) error {
	current, latest, err := s.versions(ctx)
	if err != nil {
		return s.openFailed(err)
	}
	if current > latest {
		return newerVersion(current, latest)
	}
	if current == latest {
		return nil
	}
	unlock, err := s.d.lock(s.dsn)
	if err != nil {
		return err
	}
	defer unlock()
	_, _, err = s.migrate(ctx)
	return err
}

func newerVersion(current, latest int64) error {
	return fmt.Errorf("the database is of version %d, but this allswell only knows versions up to %d: use a newer allswell", current, latest)
}
