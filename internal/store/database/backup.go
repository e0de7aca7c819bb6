package database

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
	"runtime"
	"strconv"
	"time"
)

// errRestoreSQLite is the error of Restore on PostgreSQL.
var errRestoreSQLite = errors.New(
	"this database is PostgreSQL, and a backup of SQLite cannot be moved to it: to restore a dump of pg_dump, use " +
		"pg_restore")

// errUsePgDump is the error of Backup on PostgreSQL, which has tools of its own.
var errUsePgDump = errors.New("this database is PostgreSQL: use pg_dump and pg_restore")

// Backup writes a consistent copy of a SQLite database to path, also while it is being
// served. It does not overwrite an existing file.
func Backup(ctx context.Context, dsn, path string, schema Schema, progress Progress) error {
	db, err := connect(dsn, schema, Options{})
	if err != nil {
		return err
	}
	defer db.Close()
	if db.dialect != &sqliteDialect {
		return errUsePgDump
	}
	progress.begin("Checking the database", nil)
	if _, err := schema.check(ctx, db.dsn); err != nil {
		return err
	}
	if _, err := os.Stat(path); err == nil {
		return fmt.Errorf("%s exists already", path)
	}
	// The copy gets its name when it is complete and on disk.
	part := path + ".part"
	os.Remove(part)
	if err := createPrivate(part); err != nil { // it contains ping tokens
		return fmt.Errorf("the backup %s cannot be written: %w", path, reason(err))
	}
	// Without free space and the write-ahead log, the copy may become smaller or larger.
	size := fileSize(db.dsn)
	progress.begin("Copying the database", func() (done, total int64) { return fileSize(part), size })
	if _, err := db.writer.ExecContext(ctx, `VACUUM INTO $1`, part); err != nil {
		os.Remove(part)
		return fmt.Errorf("the backup failed: %w", err)
	}
	if err := publish(part, path); err != nil {
		os.Remove(part)
		return err
	}
	return nil
}

// OpenBackup makes a backup of the served SQLite database and returns it, opened. It runs statements in the copy, which
// delete what must not leave the server. The file is beside the database, where there is room for it, until remove
// closes and deletes it. Only one such backup may exist at a time; Open removes one that a crash left.
func (db *DB) OpenBackup(ctx context.Context, statements ...string) (f *os.File, remove func(), err error) {
	if db.dialect != &sqliteDialect {
		return nil, nil, errUsePgDump
	}
	path := downloadPath(db.dsn)
	if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, nil, err
	}
	if err := Backup(ctx, sqlitePrefix+db.dsn, path, db.schema, nil); err != nil {
		return nil, nil, err
	}
	if err := changeCopy(ctx, path, statements); err != nil {
		return nil, nil, errors.Join(fmt.Errorf("changing the copy: %w", err), os.Remove(path))
	}
	if f, err = os.Open(path); err != nil {
		return nil, nil, errors.Join(err, os.Remove(path))
	}
	return f, func() {
		f.Close()
		os.Remove(path)
	}, nil
}

// downloadPath returns the name of the copy of a SQLite file that OpenBackup makes.
func downloadPath(path string) string { return path + ".download" }

// removeDownloads removes the copies that OpenBackup left when the process crashed.
func removeDownloads(path string) error {
	for _, name := range []string{
		downloadPath(path), downloadPath(path) + ".part", downloadPath(path) + "-journal",
		downloadPath(path) + ".part-journal",
	} {
		if err := os.Remove(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("removing an incomplete backup: %w", err)
		}
	}
	return nil
}

// changeCopy runs statements in a copy of a SQLite file. What they delete is overwritten.
func changeCopy(ctx context.Context, path string, statements []string) error {
	path, err := filepath.Abs(path)
	if err != nil {
		return err
	}
	db, err := sql.Open("sqlite", fileURI(path, url.Values{"_pragma": {"journal_mode(MEMORY)", "secure_delete(ON)"}}))
	if err != nil {
		return err
	}
	for _, statement := range statements {
		if _, err := db.ExecContext(ctx, statement); err != nil {
			return errors.Join(err, db.Close())
		}
	}
	return db.Close()
}

// Restore replaces a SQLite database with a copy of the backup at path. It refuses while the database is being served,
// and refuses a file that is damaged or not an Allswell database. The replaced database is kept in the same folder,
// under the name that Restore returns; "" if there was none.
func Restore(ctx context.Context, dsn, path string, schema Schema, progress Progress) (kept string, err error) {
	db, err := connect(dsn, schema, Options{})
	if err != nil {
		return "", err
	}
	defer db.Close()
	if db.dialect != &sqliteDialect {
		return "", errRestoreSQLite
	}
	progress.begin("Checking the backup", nil)
	version, err := schema.check(ctx, path)
	if err != nil {
		return "", err
	}
	p, err := db.provider()
	if err != nil {
		return "", err
	}
	if latest := newest(p); version > latest {
		return "", fmt.Errorf("%s cannot be restored: %w", path, newerVersion(version, latest))
	}
	if db.unlock, err = db.dialect.lock(db.dsn); err != nil {
		return "", err
	}
	part := db.dsn + ".part"
	size := fileSize(path)
	progress.begin("Copying the backup", func() (done, total int64) { return fileSize(part), size })
	if err := copyFile(path, part); err != nil {
		return "", err
	}
	defer os.Remove(part)
	if _, err := os.Stat(db.dsn); err == nil {
		// A rename would lose what is only in the write-ahead log.
		if _, err := db.writer.ExecContext(ctx, `PRAGMA wal_checkpoint(TRUNCATE)`); err != nil {
			return "", fmt.Errorf("keeping the present database: %w", err)
		}
		if err := errors.Join(db.reader.Close(), db.writer.Close()); err != nil {
			return "", err
		}
		if kept, err = keep(db.dsn, time.Now()); err != nil {
			return "", fmt.Errorf("keeping the present database: %w", err)
		}
	}
	for _, suffix := range []string{"-wal", "-shm"} {
		os.Remove(db.dsn + suffix)
	}
	return kept, publish(part, db.dsn)
}

// maxKept is how many databases are kept that were replaced within the same second.
const maxKept = 100

// keep renames a database to a new name, which it returns. It reserves the name with an empty file.
func keep(path string, now time.Time) (kept string, err error) {
	base := path + ".before-restore-" + now.UTC().Format("20060102T150405")
	for n := 1; n <= maxKept; n++ {
		kept = base
		if n > 1 {
			kept += "-" + strconv.Itoa(n)
		}
		if err = createPrivate(kept); !errors.Is(err, fs.ErrExist) {
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

// createPrivate creates an empty file that only its owner can read. The error is fs.ErrExist if the file exists.
func createPrivate(path string) error {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	return f.Close()
}

// reason returns the cause of a file's error, without the path.
func reason(err error) error {
	if of := (*fs.PathError)(nil); errors.As(err, &of) {
		return of.Err
	}
	return err
}

// publish renames a complete file to path, durably.
func publish(part, path string) error {
	f, err := os.OpenFile(part, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	if err := errors.Join(f.Chmod(0o600), f.Sync(), f.Close()); err != nil {
		return err
	}
	if err := os.Rename(part, path); err != nil {
		return err
	}
	if runtime.GOOS == "windows" { // folders cannot be synced there
		return nil
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

// Progress is called when a step of long work begins. measure returns how much of the step is done, and of how much, in
// any unit; it may be called by another goroutine until the work is done. It is nil if nothing can be measured.
type Progress func(step string, measure func() (done, total int64))

// begin calls p, which may be nil.
func (p Progress) begin(step string, measure func() (done, total int64)) {
	if p != nil {
		p(step, measure)
	}
}

// fileSize returns the size of a file, or 0 if it does not exist.
func fileSize(path string) int64 {
	info, err := os.Stat(path)
	if err != nil {
		return 0
	}
	return info.Size()
}
