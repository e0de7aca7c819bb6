package database

import (
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"os"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"github.com/allswell/allswell/internal/domain/kernel"
	"github.com/jackc/pgx/v5/pgconn"
	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"
)

// IsTemporary reports whether err, of Open or of a transaction, means that the PostgreSQL database at dsn cannot be
// used now but may be later: it does not answer, is starting, is read-only, has no free connection, or is being
// migrated by another process. Wrong credentials, an unknown database, a wrong certificate and all errors of a SQLite
// file are not temporary: a person has to correct them.
func IsTemporary(dsn string, err error) bool {
	var certificate *tls.CertificateVerificationError
	switch {
	case strings.HasPrefix(dsn, sqlitePrefix), errors.As(err, &certificate):
		return false
	case errors.Is(err, errMigrating):
		return true
	}
	switch code := postgresCode(err); {
	case strings.HasPrefix(code, "28"), strings.HasPrefix(code, "3D"), strings.HasPrefix(code, "42"):
		return false // credentials, unknown database, missing privileges
	}
	return errors.Is(err, kernel.ErrBusy) || errors.Is(err, kernel.ErrUnknownOutcome) ||
		errors.Is(err, context.DeadlineExceeded) || postgresDialect.unavailable(err)
}

// openError means that a database cannot be opened. Its text is one sentence for the
// operator; the wrapped error has the details.
type openError struct {
	sentence string
	err      error
}

func (e *openError) Error() string { return e.sentence }
func (e *openError) Unwrap() error { return e.err }

func (db *DB) openFailed(err error) error {
	name := "the database"
	if db.dialect == &sqliteDialect { // the address of the other may contain a password
		name += " " + db.dsn
	}
	return &openError{name + " cannot be opened: " + db.openFailureReason(err), err}
}

// openFailureReason returns in plain words, without SQL, why the database cannot be used.
// For PostgreSQL it includes the host if the error is about one.
func (db *DB) openFailureReason(err error) string {
	switch sqliteCode(err) & 0xff {
	case sqlite3.SQLITE_NOTADB:
		return "the file is not a SQLite database"
	case sqlite3.SQLITE_CANTOPEN:
		if info, err := os.Stat(db.dsn); err == nil && info.IsDir() {
			return "it is a folder"
		}
		return "the file or its folder does not allow it"
	}
	hosts := connectErrors(err)
	if len(hosts) == 0 {
		return failureReason(err)
	}
	var why []string // the distinct reasons of the attempts
	for _, e := range hosts {
		host := net.JoinHostPort(e.Config.Host, strconv.Itoa(int(e.Config.Port))) + ": "
		attempts := []error{e.Unwrap()}
		if several, ok := attempts[0].(interface{ Unwrap() []error }); ok {
			attempts = several.Unwrap()
		}
		if answered := slices.IndexFunc(attempts, isRefusal); answered >= 0 {
			attempts = attempts[answered : answered+1] // the others only tried TLS, without which this one was answered
		}
		for _, attempt := range attempts {
			if reason := connectFailureReason(attempt, host); !slices.Contains(why, reason) {
				why = append(why, reason)
			}
		}
	}
	return strings.Join(why, "; ")
}

// isRefusal reports whether PostgreSQL itself answered with an error.
func isRefusal(err error) bool { return errors.As(err, new(*pgconn.PgError)) }

// connectErrors returns the errors of all hosts that were tried, in that order. Each is about one host: primary.Connect
// tries them one by one.
func connectErrors(err error) (all []*pgconn.ConnectError) {
	if e, ok := err.(*pgconn.ConnectError); ok {
		return []*pgconn.ConnectError{e}
	}
	switch e := err.(type) {
	case interface{ Unwrap() []error }:
		for _, part := range e.Unwrap() {
			all = append(all, connectErrors(part)...)
		}
	case interface{ Unwrap() error }:
		all = connectErrors(e.Unwrap())
	}
	return all
}

// connectFailureReason says why one attempt to connect failed. host begins a reason that does not name the host itself.
func connectFailureReason(err error, host string) string {
	var lookup *net.DNSError
	switch reason := failureReason(err); {
	case isRefusal(err), errors.As(err, &lookup):
		return reason
	case connectionClosed(err):
		return host + "closed the connection during the handshake (a proxy without a healthy server does this)"
	case timedOut(err):
		return host + reason
	case errors.As(err, new(*net.OpError)):
		return reason
	default:
		return host + strings.Join(strings.Fields(reason), " ")
	}
}

// failureReason says why a statement or an attempt to connect failed.
func failureReason(err error) string {
	var (
		refusal *pgconn.PgError
		lookup  *net.DNSError
		network *net.OpError
		system  *os.SyscallError
		file    *sqlite.Error
	)
	switch {
	case errors.As(err, &refusal):
		return refusal.Message
	case errors.As(err, &lookup):
		return "the host " + lookup.Name + " is not found: " + lookup.Err
	case timedOut(err):
		return "no answer in time"
	case errors.As(err, &network) && network.Addr != nil && errors.As(network.Err, &system):
		return network.Addr.String() + ": " + system.Err.Error()
	case connectionClosed(err):
		return "the connection was lost"
	case errors.As(err, &file):
		return file.Error()
	}
	return err.Error()
}

// connectionClosed reports whether the other side closed the connection.
func connectionClosed(err error) bool {
	return errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, syscall.ECONNRESET) ||
		errors.Is(err, syscall.EPIPE)
}

func timedOut(err error) bool {
	var network net.Error
	return errors.Is(err, context.DeadlineExceeded) || pgconn.Timeout(err) ||
		errors.As(err, &network) && network.Timeout()
}
