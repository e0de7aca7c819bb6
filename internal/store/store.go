// Package store holds every SQL statement and every transaction of Allswell, on SQLite and on PostgreSQL.
//
// A method that changes something is one transaction with one value of now: it loads, decides (by a pure function of
// the domain), saves, and emits events. When it returns nil, all of it is durable. When it returns an error, nothing
// was changed, except that after kernel.ErrUnknownOutcome the transaction may have been committed.
package store

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/allswell/allswell/internal/domain/alert"
	"github.com/allswell/allswell/internal/domain/kernel"
	"github.com/allswell/allswell/internal/domain/monitor"
	"github.com/allswell/allswell/internal/domain/statuspage"
	"github.com/allswell/allswell/internal/shared/fair"
	"github.com/allswell/allswell/internal/shared/secret"
	"github.com/allswell/allswell/internal/store/database"
)

// Options configure a Store.
type Options struct {
	// Clock returns the current time. nil means the host's clock on SQLite and
	// the database's clock on PostgreSQL, where hosts' clocks are not used.
	Clock func() time.Time

	// Logger logs problems that no method returns as an error. nil discards them.
	Logger *slog.Logger

	// Connections are used on PostgreSQL and stay open, in tests. nil: the store opens and closes its own.
	Connections *database.Connections

	// FailureThreshold applies to monitors that have none of their own; 0 means monitor.DefaultFailureThreshold.
	FailureThreshold int

	// CheckInterval is the period of the ticks; 0 means a minute.
	CheckInterval time.Duration

	// AuditRetention is how long audit entries are kept; 0 means kernel.DefaultAuditRetention.
	AuditRetention time.Duration

	// PingRetention is how long pings and signals are kept; 0 means monitor.SignalRetention. If it is
	// negative, there is no history of plain pings, and signals are kept for monitor.SignalRetention.
	PingRetention time.Duration

	// NoCommands says that there is no program for alert channels of the type command: none can be created, and the
	// health of others shows it.
	NoCommands bool

	// MaxMonitors and MaxChannels are how many monitors and alert channels a workspace can have; 0 means
	// monitor.DefaultMaxMonitors and alert.DefaultMaxChannels.
	MaxMonitors, MaxChannels int

	// Location is where this replica is, for checks that several locations confirm. It is written with liveness
	// records.
	Location string

	// SecretKeys seal the secrets of checks, alert channels and subscribers. nil: on SQLite the keys in a file beside
	// the database, which is made when first needed; on PostgreSQL no secrets can be stored.
	SecretKeys *secret.Keys

	// SMS are the settings of SMS to subscribers.
	SMS SMSOptions

	// Hosts are the host names of the installation itself. With the zero Hosts no page may have a domain.
	Hosts statuspage.Hosts
}

// Store is an open database. It is safe for concurrent use.
type Store struct {
	db        *database.DB
	replica   string // identifies this store among the stores of the same database
	pages     *knownPages
	log       *slog.Logger
	threshold int
	period    time.Duration
	hosts     statuspage.Hosts

	auditRetention time.Duration
	secretKeys     *secretKeys
	sms            SMSOptions
	location       string
	pingRetention  time.Duration // negative: there is no history of plain pings
	lastPingAt     atomic.Int64  // of the last ping in a block, in microseconds since 1970
	unmerged       atomic.Int64  // number of blocks that were added since the last merge

	recordPings  string // the engine's statement
	counts       runCounts
	lastLiveness sync.Map               // replica -> time of its last liveness record that this store committed
	fanOutTurn   atomic.Pointer[string] // the workspace whose events were fanned out last
	analyzed     atomic.Int64           // when the statistics of deliveries were last refreshed, in ms

	forecasts *fair.Pool // of alerts

	onPageChange        []func(pageID string)
	onPageHidden        []func(pageID string)
	beforeReturn        []func(ctx context.Context, pageIDs []string)
	onPingToken         []func(token string)
	onDeliveriesPending []func()
	onAlertsPending     []func()
	onMaintenanceChange []func()
	onDomainCheckDue    []func()
	onPingMergeDue      []func()

	noCommands bool // see Options.NoCommands

	maxMonitors, maxChannels int64 // of a workspace
}

// Open opens the database for serving and brings its schema up to date. dsn is "sqlite:PATH" or "postgres://…". It
// refuses a SQLite file that another process serves, and a database of a newer version. database.IsTemporary reports
// whether a later call may succeed.
func Open(ctx context.Context, dsn string, o Options) (*Store, error) {
	return open(ctx, dsn, o, database.Open)
}

// OpenBeside opens the database for a short command while the service may be running: without the serving lock. Opening
// changes nothing: it refuses a database without a schema and one of another version.
func OpenBeside(ctx context.Context, dsn string, o Options) (*Store, error) {
	return open(ctx, dsn, o, database.OpenBeside)
}

func open(ctx context.Context, dsn string, o Options,
	openDB func(context.Context, string, database.Schema, database.Options) (*database.DB, error)) (*Store, error) {
	s := &Store{
		replica:        rand.Text(),
		forecasts:      fair.NewPool(maxForecasts, waitingForecasts),
		pages:          newKnownPages(),
		log:            cmp.Or(o.Logger, slog.New(slog.DiscardHandler)),
		threshold:      cmp.Or(o.FailureThreshold, monitor.DefaultFailureThreshold),
		period:         cmp.Or(o.CheckInterval, time.Minute),
		hosts:          o.Hosts,
		location:       o.Location,
		secretKeys:     newSecretKeys(dsn, o.SecretKeys),
		sms:            o.SMS,
		noCommands:     o.NoCommands,
		maxMonitors:    int64(cmp.Or(o.MaxMonitors, monitor.DefaultMaxMonitors)),
		maxChannels:    int64(cmp.Or(o.MaxChannels, alert.DefaultMaxChannels)),
		counts:         newRunCounts(),
		auditRetention: cmp.Or(o.AuditRetention, kernel.DefaultAuditRetention),
		pingRetention:  cmp.Or(o.PingRetention, monitor.SignalRetention),
	}
	var err error
	s.db, err = openDB(ctx, dsn, schema, database.Options{Clock: o.Clock, Logger: s.log, Connections: o.Connections})
	if err != nil {
		return nil, err
	}
	s.recordPings = recordPingsOnSQLite
	if s.db.Shared() {
		s.recordPings = recordPingsOnPostgreSQL
		if err := s.readVersions(ctx, func(string) {}); err != nil { // before any page is loaded
			return nil, errors.Join(err, s.db.Close())
		}
	}
	return s, nil
}

// LogLevel returns the level at which to log that an operation of the store failed with err: debug if the database
// cannot be used, which the store itself logs once, and level otherwise.
func LogLevel(err error, level slog.Level) slog.Level {
	if errors.Is(err, context.Canceled) || IsPermanent(err) {
		return level
	}
	return slog.LevelDebug
}

// IsPermanent reports whether an operation that failed with err would fail in the same way again: the database can be
// used, and refused it.
func IsPermanent(err error) bool {
	for _, temporary := range []error{
		kernel.ErrBusy, kernel.ErrUnknownOutcome, context.DeadlineExceeded, context.Canceled,
	} {
		if errors.Is(err, temporary) {
			return false
		}
	}
	return true
}

// retryPause is the pause of RetryUntil between two calls.
const retryPause = time.Second

// RetryUntil calls f, which uses the store, and repeats this until deadline while the database cannot be used. It
// returns the error of the last call.
func RetryUntil(deadline time.Time, f func() error) error {
	err := f()
	for err != nil && !IsPermanent(err) && time.Now().Before(deadline) {
		time.Sleep(retryPause)
		err = f()
	}
	return err
}

// Close closes the connections and releases the serving lock.
func (s *Store) Close() error { return s.db.Close() }

// OnPageChange registers f, which is called after each commit of this store that changed
// the content of a page, before the method returns. Register before serving.
func (s *Store) OnPageChange(f func(pageID string)) {
	s.onPageChange = append(s.onPageChange, f)
}

// OnPageHidden registers f, which is called after each commit of this store that made a page
// private, before the functions of OnPageChange. Register before serving.
func (s *Store) OnPageHidden(f func(pageID string)) {
	s.onPageHidden = append(s.onPageHidden, f)
}

// BeforeReturn registers f, which is called after each commit of this store that changed the content of pages, after
// the functions of OnPageChange and before the method returns. It is not called for pings, ticks, transitions of
// maintenances and checks of domains. f delays the result and cannot change it; ctx is the method's context. Register
// before serving.
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

// OnAlertsPending registers f, which is called after each commit of this store that created work for AdvanceAlerts or
// ClaimMessages. Register before serving.
func (s *Store) OnAlertsPending(f func()) {
	s.onAlertsPending = append(s.onAlertsPending, f)
}

// OnMaintenanceChange registers f, which is called after each commit of this store that
// may have changed when AdvanceMaintenances is due. Register before serving.
func (s *Store) OnMaintenanceChange(f func()) {
	s.onMaintenanceChange = append(s.onMaintenanceChange, f)
}

// OnDomainCheckDue registers f, which is called after each commit of this store that made
// a check of a domain due. Register before serving.
func (s *Store) OnDomainCheckDue(f func()) { s.onDomainCheckDue = append(s.onDomainCheckDue, f) }

// OnPingMergeDue registers f, which is called after commits of this store that recorded many pings since the last call
// of MergePings. Register before serving.
func (s *Store) OnPingMergeDue(f func()) { s.onPingMergeDue = append(s.onPingMergeDue, f) }

// KeepsPings reports whether plain pings are in the history.
func (s *Store) KeepsPings() bool { return s.pingRetention > 0 }

// SignalRetention returns how long signals are kept.
func (s *Store) SignalRetention() time.Duration {
	if s.KeepsPings() {
		return s.pingRetention
	}
	return monitor.SignalRetention
}

// LastContact returns the instant, by the host's clock, at which the database last
// answered; the zero Time if it never did.
func (s *Store) LastContact() time.Time { return s.db.LastContact() }

// Shared reports whether other replicas may serve the same database.
func (s *Store) Shared() bool { return s.db.Shared() }

// FailureThreshold returns the failure threshold of monitors that have none of their own.
func (s *Store) FailureThreshold() int { return s.threshold }

// Pagination selects a part of a list: the Page-th, counted from 1, of parts of PerPage rows.
type Pagination struct{ Page, PerPage int }

func (r Pagination) offset() int { return (r.Page - 1) * r.PerPage }
