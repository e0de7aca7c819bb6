package database

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"syscall"
	"testing"
	"testing/fstest"

	"github.com/allswell/allswell/internal/domain/kernel"
	"github.com/jackc/pgx/v5/pgconn"
)

// TestTemporary checks which errors may go away without anybody's doing.
func TestTemporary(t *testing.T) {
	for code, want := range map[string]bool{
		"57P03": true,  // starting, or in recovery
		"57P01": true,  // being shut down
		"53300": true,  // too many connections
		"25006": true,  // read-only
		"08006": true,  // connection failure
		"58030": true,  // I/O error
		"28P01": false, // wrong password
		"28000": false, // unknown role, no entry in pg_hba.conf
		"3D000": false, // unknown database
		"42501": false, // missing privilege
		"42601": false, // a migration that is wrong
	} {
		err := fmt.Errorf("opening: %w", &pgconn.PgError{Code: code})
		if got := IsTemporary("postgres://db/x", err); got != want {
			t.Errorf("%s: %t, want %t", code, got, want)
		}
	}
	for name, c := range map[string]struct {
		err  error
		want bool
	}{
		"unknown outcome": {fmt.Errorf("%w: commit", kernel.ErrUnknownOutcome), true},
		"no error":        {nil, false},
		"busy":            {fmt.Errorf("%w: commit", kernel.ErrBusy), true},
		"too late":        {context.DeadlineExceeded, true},
		"unknown host":    {&net.DNSError{Name: "db.example", IsNotFound: true}, true},
		"migrating":       {fmt.Errorf("%w (%w)", errMigrating, io.EOF), true},
		"newer":           {newerVersion(9, 8), false},
		"another error":   {errors.New("a fault"), false},
	} {
		if got := IsTemporary("postgres://db/x", c.err); got != c.want {
			t.Errorf("%s: %t, want %t", name, got, c.want)
		}
	}
}

// anySchema is for databases that cannot be opened.
var anySchema = Schema{Files: fstest.MapFS{"migrations/0001_any.sql": {Data: []byte("-- +goose Up\nSELECT 1;\n")}}}

// TestOpenSaysWhy checks that the error of a database that cannot be reached names the
// host and the cause, and never the password.
func TestOpenSaysWhy(t *testing.T) {
	hangsUp, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer hangsUp.Close()
	go func() {
		for {
			conn, err := hangsUp.Accept()
			if err != nil {
				return
			}
			io.ReadAtLeast(conn, make([]byte, 8), 8) // so that closing is not a reset
			conn.Close()
		}
	}()
	refuses, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	refuses.Close()
	up, down := hangsUp.Addr().String(), refuses.Addr().String()
	for dsn, want := range map[string]string{
		"postgres://me:hunter2@" + up + "/x?sslmode=require": "the database cannot be opened: " + up +
			": closed the connection during the handshake (a proxy without a healthy server does this)",
		"postgres://me:hunter2@" + up + "/x?sslmode=disable": "the database cannot be opened: " + up +
			": closed the connection during the handshake (a proxy without a healthy server does this)",
		"postgres://me:hunter2@" + down + "/x": "the database cannot be opened: " + down + ": " +
			syscall.ECONNREFUSED.Error(),
		"postgres://me:hunter2@" + down + "," + up + "/x?sslmode=disable": "the database cannot be opened: " + down +
			": " + syscall.ECONNREFUSED.Error() + "; " + up +
			": closed the connection during the handshake (a proxy without a healthy server does this)",
	} {
		_, err := Open(t.Context(), dsn, anySchema, Options{})
		if err == nil || err.Error() != want || !IsTemporary("postgres://db/x", err) ||
			strings.Contains(err.Error(), "hunter2") {
			t.Errorf("error %q (temporary: %t), want %q", err, IsTemporary("postgres://db/x", err), want)
		}
		db, err := connect(dsn, anySchema, Options{})
		if err != nil {
			t.Fatal(err)
		}
		reason := strings.TrimPrefix(want, "the database cannot be opened: ")
		if _, err := Write(t.Context(), db, func(*Tx) (int, error) {
			return 0, nil
		}); !errors.Is(err, kernel.ErrBusy) || !strings.HasSuffix(err.Error(), ": "+reason) ||
			strings.Contains(err.Error(), "\n") {
			t.Errorf("the error of a transaction is %q, want the reason %q", err, reason)
		}
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	}
}

// TestFilesAreNotTemporary checks that no error of a SQLite file is temporary.
func TestFilesAreNotTemporary(t *testing.T) {
	dir := t.TempDir()
	for _, dsn := range []string{"sqlite:" + dir, "sqlite:" + dir + "/nowhere/a.db"} {
		if _, err := Open(t.Context(), dsn, anySchema, Options{}); err == nil || IsTemporary(dsn, err) {
			t.Errorf("%s: %v is temporary", dsn, err)
		}
	}
}
