package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/allswell/allswell"
)

// errUsePgDump is what backup and restore say on PostgreSQL, which has its own.
var errUsePgDump = errors.New("this database is PostgreSQL: use pg_dump and pg_restore")

// Backup writes a consistent copy of a SQLite database to path, also while it
// is being served. A file that exists is not overwritten.
func Backup(ctx context.Context, dsn, path string) error {
	s, err := connect(dsn, Options{})
	if err != nil {
		return err
	}
	defer s.Close()
	if s.d != &sqliteDialect {
		return errUsePgDump
	}
	if err := isAllswellDatabase(ctx, s.dsn); err != nil {
		return err
	}
	if _, err := os.Stat(path); err == nil {
		return fmt.Errorf("%s exists already", path)
	}
	// Written under another name and renamed when it is whole and on disk.
	part := path + ".part"
	os.Remove(part)
	if err := writeNew(part); err != nil { // ping tokens are in it from its first byte on
		return fmt.Errorf("the backup %s cannot be written: %w", path, reason(err))
	}
	if _, err := s.writer.ExecContext(ctx, `VACUUM INTO $1`, part); err != nil {
		os.Remove(part)
		return fmt.Errorf("the backup failed: %w", err)
	}
	if err := publish(part, path); err != nil {
		os.Remove(part)
		return err
	}
	return nil
}

// Restore replaces a SQLite database by a copy of the backup at path. It
// refuses while the database is being served, and refuses a file that is not
// an Allswell database or is damaged. The replaced database is kept beside it,
// under the name that is returned; "" if there was none.
func Restore(ctx context.Context, dsn, path string) (kept string, err error) {
	s, err := connect(dsn, Options{})
	if err != nil {
		return "", err
	}
	defer s.Close()
	if s.d != &sqliteDialect {
		return "", errUsePgDump
	}
	if err := isAllswellDatabase(ctx, path); err != nil {
		return "", err
	}
	if s.lock, err = s.d.lock(s.dsn); err != nil {
		return "", err
	}
	part := s.dsn + ".part"
	if err := copyFile(path, part); err != nil {
		return "", err
	}
	defer os.Remove(part)
	if _, err := os.Stat(s.dsn); err == nil {
		// With all that its write-ahead log holds, which a rename would lose.
		if _, err := s.writer.ExecContext(ctx, `PRAGMA wal_checkpoint(TRUNCATE)`); err != nil {
			return "", fmt.Errorf("the present database could not be kept: %w", err)
		}
		if err := errors.Join(s.reader.Close(), s.writer.Close()); err != nil {
			return "", err
		}
		if kept, err = keep(s.dsn, time.Now()); err != nil {
			return "", fmt.Errorf("the present database could not be kept: %w", err)
		}
	}
	for _, suffix := range []string{"-wal", "-shm"} {
		os.Remove(s.dsn + suffix)
	}
	return kept, publish(part, s.dsn)
}

// maxKept is how many databases that were replaced within one second are kept.
const maxKept = 100

// keep renames a database to a name that nothing has, and returns that name.
// An empty file holds the name until then, so that nobody else takes it.
func keep(path string, now time.Time) (kept string, err error) {
	base := path + ".before-restore-" + now.UTC().Format("20060102T150405")
	for n := 1; n <= maxKept; n++ {
		kept = base
		if n > 1 {
			kept += "-" + strconv.Itoa(n)
		}
		if err = writeNew(kept); !errors.Is(err, fs.ErrExist) {
			break
		}
	}
	if err != nil {
		return "", err
	}
	if err := os.Rename(path, kept); err != nil {
		return "", errors.Join(err, os.Remove(kept))
	}
	return kept, nil
}

// writeNew makes an empty file for its owner's eyes alone. One that exists is
// an error.
func writeNew(path string) error {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	return f.Close()
}

// reason takes off a file's error what repeats the path.
func reason(err error) error {
	if of := (*fs.PathError)(nil); errors.As(err, &of) {
		return of.Err
	}
	return err
}

// isAllswellDatabase refuses a file that is not a whole Allswell database.
func isAllswellDatabase(ctx context.Context, path string) error {
	if _, err := os.Stat(path); err != nil {
		return fmt.Errorf("%s cannot be read: %w", path, reason(err))
	}
	abs, err := filepath.Abs(path)
	if err != nil {
		return err
	}
	db, err := sql.Open("sqlite", (&url.URL{Scheme: "file", Path: abs, RawQuery: "mode=ro&_query_only=1"}).String())
	if err != nil {
		return err
	}
	defer db.Close()
	var verdict string
	var ours int
	if err := db.QueryRowContext(ctx, `SELECT count(*) FROM sqlite_schema WHERE name IN ('goose_db_version', 'monitors', 'outages')`).Scan(&ours); err != nil || ours != 3 {
		return fmt.Errorf("%s is not an Allswell database", path)
	}
	if err := db.QueryRowContext(ctx, `PRAGMA integrity_check(1)`).Scan(&verdict); err != nil || verdict != "ok" {
		return fmt.Errorf("%s is damaged: its integrity check failed", path)
	}
	return nil
}

// publish gives a whole file its name, durably.
func publish(part, path string) error {
	f, err := os.OpenFile(part, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	// For its owner's eyes alone, whatever wrote it.
	if err := errors.Join(f.Chmod(0o600), f.Sync(), f.Close()); err != nil {
		return err
	}
	if err := os.Rename(part, path); err != nil {
		return err
	}
	dir, err := os.Open(filepath.Dir(path))
	if err != nil {
		return err
	}
	return errors.Join(dir.Sync(), dir.Close())
}

func copyFile(from, to string) (err error) {
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer in.Close()
	out, err := os.OpenFile(to, os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, out.Close()) }()
	_, err = io.Copy(out, in)
	return err
}

// Retention times. A listening gap matters as long as a monitor may be waiting since
// before it. A short one matters only for a job's retries, or together with others
// (docs/decisions/0018-what-a-hole-may-have-swallowed.md), for which a month is enough in all but the rarest cases.
const (
	gapRetention          = 2 * allswell.MaxInterval
	shortGapRetention     = 31 * 24 * time.Hour
	statusChangeRetention = 2 * allswell.HistoryDays * 24 * time.Hour
	livenessRetention     = 24 * time.Hour
	deliveryLogRetention  = 30 * 24 * time.Hour
)

// Prune deletes old data: responses to idempotent requests, liveness records of replicas
// that are gone, old listening gaps, addresses that were never confirmed, and the log of
// finished deliveries. It always keeps at least one liveness record.
func (s *Store) Prune(ctx context.Context) error {
	err := s.deleteInSteps(ctx, `FROM deliveries WHERE created_at <= $1 AND page_id IN (SELECT id FROM pages) AND state NOT IN ('pending', 'sending')`,
		func(t *tx) any { return millis(t.now.Add(-deliveryLogRetention)) })
	if err != nil {
		return err
	}
	if err := s.pruneAuditLog(ctx); err != nil {
		return err
	}
	_, err = write(ctx, s, func(t *tx) (struct{}, error) {
		for _, p := range []struct {
			text string
			age  time.Duration
		}{
			{`DELETE FROM idempotency_keys WHERE created_at <= $1`, IdempotencyLifetime},
			{`DELETE FROM status_changes WHERE changed_at <= $1 AND changed_at < (SELECT max(o.changed_at) FROM status_changes o
				WHERE o.component_id = status_changes.component_id AND o.changed_at <= $1)`, statusChangeRetention},
			{`DELETE FROM listening_gaps WHERE to_at <= $1`, gapRetention},
			{`DELETE FROM listening_gaps WHERE to_at <= $1 AND to_at - from_at < 30000`, shortGapRetention},
			{`DELETE FROM liveness WHERE seen_at <= $1 AND seen_at < (SELECT max(seen_at) FROM liveness)`, livenessRetention},
			{`DELETE FROM subscribers WHERE created_at <= $1 AND confirmed_at IS NULL`, allswell.UnconfirmedLifetime},
			{`UPDATE monitors SET old_token = NULL, old_token_until_at = NULL WHERE old_token IS NOT NULL AND old_token_until_at <= $1`, 0},
		} {
			if _, err := t.exec(p.text, millis(t.now.Add(-p.age))); err != nil {
				return struct{}{}, err
			}
		}
		return struct{}{}, nil
	})
	return err
}

// How many rows one transaction of a large deletion takes, and how many such
// there are at most.
const (
	stepRows = 1000
	maxSteps = 10_000
)

// deleteInSteps deletes rows that have an id, a few at a time, so that nobody
// waits long in between. from is everything from FROM on, with one parameter.
func (s *Store) deleteInSteps(ctx context.Context, from string, arg func(*tx) any) error {
	table, _, _ := strings.Cut(strings.TrimPrefix(from, "FROM "), " ")
	for range maxSteps {
		n, err := write(ctx, s, func(t *tx) (int64, error) {
			return t.exec(`DELETE FROM `+table+` WHERE id IN (SELECT id `+from+` LIMIT $2)`, arg(t), stepRows)
		})
		if err != nil || n < stepRows {
			return err
		}
	}
	return nil
}
