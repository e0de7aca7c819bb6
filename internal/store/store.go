// Package store holds every SQL statement and every transaction of Allswell, on
// SQLite and on PostgreSQL.
//
// Its methods are the product's verbs. A verb that changes something is one
// transaction with one frozen now: load, decide (a pure function of the root
// package), save, tell (write the events). When it returns without an error,
// all of it is durable; when it returns one, nothing was changed, except that
// after allswell.ErrBusy the outcome of the commit may be unknown.
package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/allswell/allswell"
)

// verbTimeout bounds every verb, waiting for its turn included.
const verbTimeout = 10 * time.Second

// maxAttempts is how often a transaction is run when the database asks for a
// repetition (serialisation failure, deadlock).
const maxAttempts = 4

// Options are what a Store needs to know besides its database.
type Options struct {
	// Clock gives now. nil means the host's clock on SQLite, and the
	// database's on PostgreSQL, where hosts' clocks decide nothing.
	Clock func() time.Time

	// Logger gets what no caller is told. nil discards it.
	Logger *slog.Logger

	// FailureThreshold is for monitors that have none of their own; 0 means
	// allswell.DefaultFailureThreshold.
	FailureThreshold int

	// CheckInterval is the period of the ticks; 0 means a minute.
	CheckInterval time.Duration
}

// Store is an open database. It is safe for concurrent use.
type Store struct {
	d         *dialect
	writer    *sql.DB // SQLite: one connection; PostgreSQL: the same as reader
	reader    *sql.DB
	dsn       string
	lock      func() // gives the serving lock back
	clock     func() time.Time
	log       *slog.Logger
	threshold int
	period    time.Duration

	statements  sync.Map  // written text -> the engine's text
	recordPings *sql.Stmt // the dialect's, prepared once
	beaten      sync.Map  // replica -> the instant of its last beat that this store committed
	contact     atomic.Int64
	analyzed    atomic.Int64 // when the statistics of deliveries were last refreshed, in ms

	onPageChange []func(pageID string)
	onPingToken  []func(token string)
	onTold       []func()
	onPlanned    []func()

	// fault, set by tests only, is asked before and after each statement of a
	// writing transaction; an error it returns is the statement's.
	fault func(when, query string) error
}

// Open opens the database for serving and brings its schema up to date. dsn is
// "sqlite:PATH" or "postgres://…". A SQLite file that another process serves
// is refused, and so is a database of a newer version.
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
	return s.opened(ctx, err)
}

// OpenBeside opens the database for a short command beside a running service:
// without the serving lock. A database that has no schema yet, or an older
// one, is brought up to date if nobody serves it, and refused otherwise.
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

// opened is the end of opening: err is what became of it so far.
func (s *Store) opened(ctx context.Context, err error) (*Store, error) {
	if err == nil {
		s.recordPings, err = s.writer.PrepareContext(ctx, s.text(s.d.recordPings))
	}
	if err != nil {
		s.Close()
		return nil, err
	}
	return s, nil
}

// connect opens the pools; nothing is read or written yet.
func connect(dsn string, o Options) (*Store, error) {
	s := &Store{clock: o.Clock, log: o.Logger, threshold: o.FailureThreshold, period: o.CheckInterval}
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
	case strings.HasPrefix(dsn, "sqlite:"):
		s.d, s.dsn = &sqliteDialect, strings.TrimPrefix(dsn, "sqlite:")
		s.writer, s.reader, err = openSQLite(s.dsn)
	case strings.HasPrefix(dsn, "postgres://"), strings.HasPrefix(dsn, "postgresql://"):
		s.d, s.dsn = &postgresDialect, dsn
		s.writer, s.reader, err = openPostgres(s.dsn)
	default:
		err = errors.New("the database must be sqlite:PATH or postgres://…")
	}
	if err != nil {
		return nil, err
	}
	return s, nil
}

// Close gives the connections and the serving lock back.
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

// OnPageChange registers f, which is called after each commit of this store
// that changed what a page shows, before the verb returns. Register before
// serving.
func (s *Store) OnPageChange(f func(pageID string)) {
	s.onPageChange = append(s.onPageChange, f)
}

// OnNewPingToken registers f, which is called after each commit of this store
// that made a ping token, or enabled its monitor. Register before serving.
func (s *Store) OnNewPingToken(f func(token string)) {
	s.onPingToken = append(s.onPingToken, f)
}

// OnTold registers f, which is called after each commit of this store that left
// something to be delivered. Register before serving.
func (s *Store) OnTold(f func()) { s.onTold = append(s.onTold, f) }

// OnPlanned registers f, which is called after each commit of this store that
// may have changed when AdvanceMaintenances has something to do. Register before
// serving.
func (s *Store) OnPlanned(f func()) { s.onPlanned = append(s.onPlanned, f) }

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

// FailureThreshold returns the setting for monitors that have none of their own.
func (s *Store) FailureThreshold() int { return s.threshold }

// Range is one page of a list: Page from 1, PerPage rows each.
type Range struct{ Page, PerPage int }

func (r Range) offset() int { return (r.Page - 1) * r.PerPage }

// querier is what *sql.DB, *sql.Tx and *sql.Conn have in common.
type querier interface {
	ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error)
	QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
}

// session runs statements of one transaction, or of none.
type session struct {
	s     *Store
	ctx   context.Context
	q     querier
	hot   *sql.Stmt                      // the dialect's recordPings, prepared; nil outside a writing one
	now   time.Time                      // frozen; zero outside a transaction
	fault func(when, query string) error // nil but in tests
}

// exec runs a statement and returns how many rows it touched.
func (c *session) exec(query string, args ...any) (int64, error) {
	if c.fault != nil {
		if err := c.fault("before", query); err != nil {
			return 0, err
		}
	}
	var res sql.Result
	var err error
	if c.hot != nil && query == c.s.d.recordPings {
		res, err = c.hot.ExecContext(c.ctx, args...)
	} else {
		res, err = c.q.ExecContext(c.ctx, c.s.text(query), args...)
	}
	if err != nil {
		return 0, fmt.Errorf("%w in: %s", err, firstLine(query))
	}
	if c.fault != nil {
		if err := c.fault("after", query); err != nil {
			return 0, err
		}
	}
	return res.RowsAffected()
}

// query runs a statement and scans every row.
func query[T any](c *session, scan func(scanner) (T, error), text string, args ...any) (out []T, err error) {
	if c.fault != nil {
		if err := c.fault("before", text); err != nil {
			return nil, err
		}
		defer func() {
			if err == nil {
				err = c.fault("after", text)
			}
		}()
	}
	rows, err := c.q.QueryContext(c.ctx, c.s.text(text), args...)
	if err != nil {
		return nil, fmt.Errorf("%w in: %s", err, firstLine(text))
	}
	defer rows.Close()
	for rows.Next() {
		v, err := scan(rows)
		if err != nil {
			return nil, fmt.Errorf("%w in: %s", err, firstLine(text))
		}
		out = append(out, v)
	}
	return out, rows.Err()
}

// one is query for a statement that gives one row; none is ErrNotFound.
func one[T any](c *session, scan func(scanner) (T, error), text string, args ...any) (T, error) {
	rows, err := query(c, scan, text, args...)
	if err != nil || len(rows) == 0 {
		var none T
		if err == nil {
			err = allswell.ErrNotFound
		}
		return none, err
	}
	return rows[0], nil
}

// scanner is a row.
type scanner interface{ Scan(dest ...any) error }

func scanInt(row scanner) (n int64, err error)     { err = row.Scan(&n); return }
func scanString(row scanner) (v string, err error) { err = row.Scan(&v); return }

// text turns a statement as it is written in this package into the engine's.
func (s *Store) text(query string) string {
	if t, ok := s.statements.Load(query); ok {
		return t.(string)
	}
	t := s.d.text(query)
	s.statements.Store(query, t)
	return t
}

// firstLine names a statement in an error without its whole text.
func firstLine(query string) string {
	line, _, _ := strings.Cut(strings.TrimSpace(query), "\n")
	return line
}

// bare returns a session outside any transaction, for single statements that
// only read.
func (s *Store) bare(ctx context.Context) *session {
	return &session{s: s, ctx: ctx, q: s.reader}
}

// read runs f in one read-only transaction, so that all it loads is of one
// moment.
func read[T any](ctx context.Context, s *Store, f func(*session) (T, error)) (out T, err error) {
	ctx, cancel := context.WithTimeout(ctx, verbTimeout)
	defer cancel()
	t, err := s.reader.BeginTx(ctx, s.d.readOptions)
	if err != nil {
		return out, s.unavailable(err)
	}
	defer t.Rollback()
	c := &session{s: s, ctx: ctx, q: t}
	if c.now, err = s.now(c); err != nil {
		return out, s.unavailable(err)
	}
	if out, err = f(c); err != nil {
		return out, s.unavailable(err)
	}
	s.contact.Store(time.Now().UnixMilli())
	return out, nil
}

// tx is a writing transaction.
type tx struct {
	session
	versions map[string]int64 // touched pages and the versions this transaction makes
	ordinals map[string]int   // events told per page
	news     []news           // for the log
	asked    bool             // somebody is sent a question or a link
	planned  bool             // when a maintenance is due may have changed
	tokens   []string         // ping tokens that are new to those who keep them in memory
	beating  string           // the replica whose beat this transaction writes
}

// write runs f as one durable transaction, again if the database asks for it,
// and then says what changed. An answer that ctx asks for (WithAnswer) is
// saved in the same transaction.
func write[T any](ctx context.Context, s *Store, f func(*tx) (T, error)) (out T, err error) {
	ctx, cancel := context.WithTimeout(ctx, verbTimeout)
	defer cancel()
	for attempt := 1; ; attempt++ {
		out, err = writeOnce(ctx, s, f)
		if err == nil || attempt == maxAttempts || !s.d.repeatable(err) {
			break
		}
		s.log.Debug("transaction repeated", "attempt", attempt, "error", err)
	}
	if err != nil {
		var none T
		return none, s.unavailable(err)
	}
	return out, nil
}

func writeOnce[T any](ctx context.Context, s *Store, f func(*tx) (T, error)) (out T, err error) {
	t, err := s.writer.BeginTx(ctx, nil)
	if err != nil {
		return out, err
	}
	defer t.Rollback()
	w := &tx{session: session{s: s, ctx: ctx, q: t, hot: t.StmtContext(ctx, s.recordPings), fault: s.fault}, versions: map[string]int64{}, ordinals: map[string]int{}}
	if w.now, err = s.now(&w.session); err != nil {
		return out, err
	}
	if out, err = f(w); err != nil {
		return out, err
	}
	if err = w.saveAnswer(out); err != nil {
		return out, err
	}
	if err = s.d.announce(w); err != nil {
		return out, err
	}
	if s.fault != nil {
		if err = s.fault("before", "COMMIT"); err != nil {
			return out, err
		}
	}
	if err = t.Commit(); err != nil {
		return out, fmt.Errorf("%w: commit: %w", allswell.ErrBusy, err)
	}
	s.contact.Store(time.Now().UnixMilli())
	if w.beating != "" {
		s.beaten.Store(w.beating, w.now)
	}
	for pageID := range w.versions {
		s.pageChanged(pageID)
	}
	s.logNews(w.news)
	for _, token := range w.tokens {
		for _, f := range s.onPingToken {
			f(token)
		}
	}
	if len(w.ordinals) > 0 || w.asked {
		for _, f := range s.onTold {
			f()
		}
	}
	if w.planned {
		for _, f := range s.onPlanned {
			f()
		}
	}
	if s.fault != nil {
		err = s.fault("after", "COMMIT")
	}
	return out, err
}

// news is what became of a monitor or of a maintenance, for the log.
type news struct{ what, kind, id, name string }

// logNews writes one line for each of the first few, and one for all others.
func (s *Store) logNews(all []news) {
	const most = 20
	for _, n := range all[:min(len(all), most)] {
		s.log.Info(n.what, n.kind, n.id, "name", n.name)
	}
	if len(all) > most {
		s.log.Info("and more in the same transaction", "count", len(all)-most)
	}
}

func (s *Store) pageChanged(pageID string) {
	for _, f := range s.onPageChange {
		f(pageID)
	}
}

// now returns the instant that a transaction freezes, cut to the millisecond.
func (s *Store) now(c *session) (time.Time, error) {
	if s.clock != nil {
		return s.clock().UTC().Truncate(time.Millisecond), nil
	}
	return s.d.now(c)
}

// unavailable marks errors that say that the database cannot be used right now,
// so that callers answer 503 and not 500.
func (s *Store) unavailable(err error) error {
	if errors.Is(err, allswell.ErrBusy) || !s.d.unavailable(err) && !errors.Is(err, context.DeadlineExceeded) {
		return err
	}
	return fmt.Errorf("%w: %w", allswell.ErrBusy, err)
}

// touch makes a new version of the page, once per transaction, and thereby
// locks its row. By the lock order it comes after monitors and components and
// before incidents.
func (t *tx) touch(pageID string) error {
	if _, done := t.versions[pageID]; done {
		return nil
	}
	version, err := one(&t.session, scanInt,
		`UPDATE pages SET version = version + 1 WHERE id = $1 RETURNING version`, pageID)
	if err != nil {
		return err
	}
	t.versions[pageID] = version
	return nil
}
