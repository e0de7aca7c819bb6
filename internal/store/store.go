// Package store holds every SQL statement and every transaction of Allswell, on
// SQLite and on PostgreSQL.
//
// Its methods are the verbs of the product. A verb that changes something is one
// transaction with one value of now: it loads, decides (by a pure function of the
// root package), saves, and emits events. When it returns nil, all of it is
// durable. When it returns an error, nothing was changed, except that after
// allswell.ErrUnknownOutcome the transaction may have been committed.
package store

import (
	"cmp"
	"context"
	"crypto/rand"
	"database/sql"
	"errors"
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/allswell/allswell"
	"github.com/allswell/allswell/internal/failurelog"
)

// verbTimeout bounds every verb, including waiting for a connection and for locks.
const verbTimeout = 10 * time.Second

// maxAttempts is how often a transaction is run at most if the database asks for a
// repetition (serialisation failure, deadlock).
const maxAttempts = 4

// Options configure a Store.
type Options struct {
	// Clock returns the current time. nil means the host's clock on SQLite and
	// the database's clock on PostgreSQL, where hosts' clocks are not used.
	Clock func() time.Time

	// Logger gets the messages that no error carries. nil discards them.
	Logger *slog.Logger

	// FailureThreshold applies to monitors that have none of their own; 0 means
	// allswell.DefaultFailureThreshold.
	FailureThreshold int

	// CheckInterval is the period of the ticks; 0 means a minute.
	CheckInterval time.Duration

	// AuditRetention is how long audit entries are kept; 0 means
	// allswell.DefaultAuditRetention.
	AuditRetention time.Duration

	// Hosts are the host names of the installation itself. With the zero Hosts
	// no page may have a domain.
	Hosts allswell.Hosts
}

// Store is an open database. It is safe for concurrent use.
type Store struct {
	d         *dialect
	writer    *sql.DB // SQLite: one connection; PostgreSQL: the same as reader
	reader    *sql.DB
	primary   *primary // PostgreSQL only
	replica   string   // identifies this store among those of the same database
	pages     *knownPages
	dsn       string
	lock      func() // releases the serving lock
	clock     func() time.Time
	log       *slog.Logger
	threshold int
	period    time.Duration
	hosts     allswell.Hosts

	auditRetention time.Duration

	statements   sync.Map  // written text -> the engine's text
	recordPings  *prepared // the dialect's
	lastLiveness sync.Map  // replica -> time of its last liveness record that this store committed
	contact      atomic.Int64
	failures     failurelog.Log // of the database
	address      string         // of the database, for logs
	analyzed     atomic.Int64   // when the statistics of deliveries were last refreshed, in ms

	onPageChange        []func(pageID string)
	beforeReturn        []func(ctx context.Context, pageIDs []string)
	onPingToken         []func(token string)
	onDeliveriesPending []func()
	onMaintenanceChange []func()
	onDomainCheckDue    []func()

	// fault is set by tests only. It is called before and after each statement of a
	// writing transaction, and the statement fails with the error that it returns.
	fault func(when, query string) error
}

// Open opens the database for serving and brings its schema up to date. dsn is
// "sqlite:PATH" or "postgres://…". It refuses a SQLite file that another process serves,
// and a database of a newer version. IsTemporary reports whether a later call may
// succeed.
func Open(ctx context.Context, dsn string, o Options) (*Store, error) {
	s, err := connect(dsn, o)
	if err != nil {
		return nil, err
	}
	if err = s.d.create(s.dsn); err == nil {
		s.lock, err = s.d.lock(s.dsn)
	}
	if err == nil {
		_, _, err = s.migrate(ctx)
	}
	if err == nil && s.d.shared { // before any page is loaded
		if _, err = s.readVersions(ctx); err != nil {
			err = s.openFailed(err)
		}
	}
	return s.opened(ctx, err)
}

// OpenBeside opens the database for a short command while the service may be running:
// without the serving lock. It migrates a new or older database if no process serves it,
// and refuses it otherwise.
func OpenBeside(ctx context.Context, dsn string, o Options) (*Store, error) {
	s, err := connect(dsn, o)
	if err != nil {
		return nil, err
	}
	if err = s.d.create(s.dsn); err == nil {
		err = s.migrateBeside(ctx)
	}
	return s.opened(ctx, err)
}

// opened completes Open and OpenBeside. err is the result so far.
func (s *Store) opened(ctx context.Context, err error) (*Store, error) {
	if err == nil {
		ctx, cancel := context.WithTimeout(ctx, verbTimeout)
		defer cancel()
		stmt, failed := s.writer.PrepareContext(ctx, s.text(s.d.recordPings))
		if s.recordPings = (&prepared{s.d.recordPings, stmt}); failed != nil {
			err = s.openFailed(failed)
		}
	}
	if err != nil {
		s.Close()
		return nil, err
	}
	return s, nil
}

// sqlitePrefix begins the address of a SQLite file.
const sqlitePrefix = "sqlite:"

// connect creates the connection pools. It does not read or write anything yet.
func connect(dsn string, o Options) (*Store, error) {
	s := &Store{replica: rand.Text(), pages: newKnownPages(), clock: o.Clock, log: o.Logger, threshold: o.FailureThreshold, period: o.CheckInterval, hosts: o.Hosts,
		auditRetention: cmp.Or(o.AuditRetention, allswell.DefaultAuditRetention)}
	if s.log == nil {
		s.log = slog.New(slog.DiscardHandler)
	}
	if s.threshold == 0 {
		s.threshold = allswell.DefaultFailureThreshold
	}
	if s.period == 0 {
		s.period = time.Minute
	}
	var err error
	switch {
	case strings.HasPrefix(dsn, sqlitePrefix):
		s.d, s.dsn = &sqliteDialect, strings.TrimPrefix(dsn, sqlitePrefix)
		s.writer, s.reader, err = openSQLite(s.dsn)
	case strings.HasPrefix(dsn, "postgres://"), strings.HasPrefix(dsn, "postgresql://"):
		s.d, s.dsn = &postgresDialect, dsn
		if s.primary, err = newPrimary(s.dsn, s.log); err == nil {
			s.writer = openPostgres(s.primary)
			s.reader = s.writer
		}
	default:
		err = errors.New("the database must be sqlite:PATH or postgres://…")
	}
	if err != nil {
		return nil, err
	}
	s.address = s.d.address(s.dsn)
	s.failures = failurelog.Log{Logger: s.log, Failing: "the database cannot be used", Working: "the database can be used again", Settle: verbTimeout}
	return s, nil
}

// contacted records that the database has just answered.
func (s *Store) contacted() {
	now := time.Now()
	s.contact.Store(now.UnixMilli())
	s.failures.Worked(now)
}

// LogLevel returns the level at which to log that an operation of the store failed with
// err: debug if the database cannot be used, which the store itself logs once, and level
// otherwise.
func LogLevel(err error, level slog.Level) slog.Level {
	if errors.Is(err, allswell.ErrBusy) || errors.Is(err, allswell.ErrUnknownOutcome) || errors.Is(err, context.DeadlineExceeded) {
		return slog.LevelDebug
	}
	return level
}

// Close closes the connections and releases the serving lock.
func (s *Store) Close() error {
	err := s.reader.Close()
	if s.writer != s.reader {
		err = errors.Join(s.writer.Close(), err)
	}
	if s.lock != nil {
		s.lock()
		s.lock = nil
	}
	return err
}

// OnPageChange registers f, which is called after each commit of this store that changed
// the content of a page, before the verb returns. Register before serving.
func (s *Store) OnPageChange(f func(pageID string)) {
	s.onPageChange = append(s.onPageChange, f)
}

// BeforeReturn registers f, which is called after each commit of this store that changed
// the content of pages, after the functions of OnPageChange and before the verb returns.
// Verbs without a waiting client (pings, periodic checks, transitions of maintenances,
// checks of domains) do not call it. f delays the result and cannot change it; ctx is the
// verb's. Register before serving.
func (s *Store) BeforeReturn(f func(ctx context.Context, pageIDs []string)) {
	s.beforeReturn = append(s.beforeReturn, f)
}

// OnNewPingToken registers f, which is called after each commit of this store that
// created a ping token or enabled its monitor. Register before serving.
func (s *Store) OnNewPingToken(f func(token string)) {
	s.onPingToken = append(s.onPingToken, f)
}

// OnDeliveriesPending registers f, which is called after each commit of this store that
// created work for FanOut, ProcessSignUps or ClaimDeliveries. Register before serving.
func (s *Store) OnDeliveriesPending(f func()) {
	s.onDeliveriesPending = append(s.onDeliveriesPending, f)
}

// OnMaintenanceChange registers f, which is called after each commit of this store that
// may have changed when AdvanceMaintenances is due. Register before serving.
func (s *Store) OnMaintenanceChange(f func()) {
	s.onMaintenanceChange = append(s.onMaintenanceChange, f)
}

// OnDomainCheckDue registers f, which is called after each commit of this store after
// which BeginDomainChecks has work. Register before serving.
func (s *Store) OnDomainCheckDue(f func()) { s.onDomainCheckDue = append(s.onDomainCheckDue, f) }

// LastContact returns the instant, by the host's clock, of the last successful
// transaction with the database; the zero Time if there was none.
func (s *Store) LastContact() time.Time {
	if n := s.contact.Load(); n != 0 {
		return time.UnixMilli(n)
	}
	return time.Time{}
}

// Shared reports whether other replicas may serve the same database.
func (s *Store) Shared() bool { return s.d.shared }

// FailureThreshold returns the failure threshold of monitors that have none of their own.
func (s *Store) FailureThreshold() int { return s.threshold }

// Pagination selects one page of a list. Page counts from 1; each page has PerPage rows.
type Pagination struct{ Page, PerPage int }

func (r Pagination) offset() int { return (r.Page - 1) * r.PerPage }
