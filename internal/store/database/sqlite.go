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
	"strings"
	"time"

	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"
)

var sqliteDialect = dialect{
	each: `(SELECT value FROM json_each($1))`,
	locks: strings.NewReplacer(" FOR UPDATE SKIP LOCKED", "", " FOR UPDATE", "", " FOR KEY SHARE", "",
		" FOR EXCLUSIVE UPDATE", ""),
	hasVersions: `SELECT count(*) FROM sqlite_schema WHERE type = 'table' AND name = 'goose_db_version'`,
	now: func(*Session) (time.Time, error) {
		return time.Now().UTC().Truncate(time.Millisecond), nil
	},
	address: func(path string) string { return path },
	create: func(path string) error {
		f, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
		if errors.Is(err, os.ErrExist) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("the database %s cannot be created: %w", path, err)
		}
		return f.Close()
	},
	lock: lockSQLite,
	repeatable: func(error) bool {
		return false // one writer: nothing to repeat
	},
	// After any other error, such as a failed fsync, the next start may find the changes.
	undone: func(err error) bool { return sqliteCode(err)&0xff == sqlite3.SQLITE_BUSY },
	unavailable: func(err error) bool {
		switch sqliteCode(err) & 0xff {
		case sqlite3.SQLITE_BUSY, sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR, sqlite3.SQLITE_CANTOPEN,
			sqlite3.SQLITE_READONLY, sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB:
			return true
		}
		return errors.Is(err, sql.ErrConnDone)
	},
	duplicate: func(err error) bool {
		code := sqliteCode(err)
		return code == sqlite3.SQLITE_CONSTRAINT_UNIQUE || code == sqlite3.SQLITE_CONSTRAINT_PRIMARYKEY
	},
}

func init() {
	// Only one pragma for each parameter of the address, not several statements.
	sqlite.StrictPragmas(true)
}

func sqliteCode(err error) int {
	var e *sqlite.Error
	if errors.As(err, &e) {
		return e.Code()
	}
	return 0
}

// sqliteReaders is the number of connections that only read.
const sqliteReaders = 4

// openSQLite opens the pools of a file: one connection that writes, and a few that only
// read. A commit is on disk when it returns (synchronous=FULL).
func openSQLite(path string) (writer, reader *sql.DB, err error) {
	if path == "" {
		return nil, nil, errors.New("the database sqlite: needs a path, such as sqlite:allswell.db")
	}
	path, err = filepath.Abs(path)
	if err != nil {
		return nil, nil, err
	}
	// secure_delete(ON) overwrites deleted text also in pages that become free: FAST would leave it there.
	common := url.Values{
		"_busy_timeout": {"5000"},
		"_pragma": {"journal_mode(WAL)", "synchronous(FULL)", "foreign_keys(ON)", "temp_store(MEMORY)",
			"wal_autocheckpoint(8000)", "journal_size_limit(67108864)", "secure_delete(ON)"},
	}
	open := func(key, value string, most int) (*sql.DB, error) {
		q := url.Values{key: {value}}
		for k, v := range common {
			q[k] = v
		}
		connector, err := sqlite.NewConnector(fileURI(path, q))
		if err != nil {
			return nil, err
		}
		db := sql.OpenDB(preparingConnector{connector})
		db.SetMaxOpenConns(most)
		db.SetMaxIdleConns(most)
		return db, nil
	}
	if writer, err = open("_txlock", "immediate", 1); err != nil {
		return nil, nil, err
	}
	if reader, err = open("_query_only", "1", sqliteReaders); err != nil {
		writer.Close()
		return nil, nil, err
	}
	return writer, reader, nil
}

// fileURI returns the name by which SQLite opens a file, given its absolute path. On Windows, C:\allswell.db is
// file:///C:/allswell.db.
func fileURI(path string, options url.Values) string {
	path = filepath.ToSlash(path)
	if !strings.HasPrefix(path, "/") {
		path = "/" + path
	}
	return (&url.URL{Scheme: "file", Path: path, RawQuery: options.Encode()}).String()
}

// lockSQLite acquires the serving lock of a file: an exclusive transaction on an empty
// database in the same folder. Every platform releases it when the process ends, even if
// it is killed. A second serve, migrate or restore is refused.
func lockSQLite(path string) (func(), error) {
	name := path + ".lock"
	// Only the owner may read the file, because a reader could lock it and prevent the service from starting. An
	// existing file is not opened here: closing it would release all locks that this process has on it.
	if err := createPrivate(name); errors.Is(err, fs.ErrExist) {
		if err := os.Chmod(name, 0o600); err != nil && !errors.Is(err, fs.ErrPermission) {
			return nil, fmt.Errorf("the lock file %s cannot be locked: %w", name, reason(err))
		}
	} else if err != nil {
		return nil, fmt.Errorf("the lock file %s cannot be locked: %w", name, reason(err))
	}
	q := url.Values{"_busy_timeout": {"0"}, "_pragma": {"journal_mode(DELETE)"}}
	abs, err := filepath.Abs(name)
	if err != nil {
		return nil, err
	}
	db, err := sql.Open("sqlite", fileURI(abs, q))
	if err != nil {
		return nil, err
	}
	db.SetMaxOpenConns(1)
	conn, err := db.Conn(context.Background())
	if err == nil {
		_, err = conn.ExecContext(context.Background(), `BEGIN EXCLUSIVE`)
	}
	if err != nil {
		db.Close()
		if sqliteCode(err)&0xff == sqlite3.SQLITE_BUSY {
			return nil, fmt.Errorf("the database %s is in use by another allswell: stop that one first", path)
		}
		return nil, fmt.Errorf("the lock file %s cannot be locked: %w", name, err)
	}
	return func() {
		conn.Close()
		db.Close()
	}, nil
}
