package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"github.com/allswell/allswell"
)

// querier has the methods that *sql.DB, *sql.Tx and *sql.Conn have in common.
type querier interface {
	ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error)
	QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
}

// session runs statements, within a transaction or outside one.
type session struct {
	s     *Store
	ctx   context.Context
	q     querier
	now   time.Time                      // constant during the transaction; zero outside one
	wrote bool                           // some row was changed, so the commit waits for replication anyway
	fault func(when, query string) error // nil but in tests
}

// exec runs a statement that changes rows and returns how many it changed. Use query for
// statements that return rows.
func (c *session) exec(query string, args ...any) (int64, error) {
	return c.run(query, func() (sql.Result, error) { return c.q.ExecContext(c.ctx, c.s.text(query), args...) })
}

// prepared is a statement that is prepared once, when the store is opened.
type prepared struct {
	query string // as it is written in this package
	stmt  *sql.Stmt
}

// execPrepared is exec for a prepared statement.
func (t *tx) execPrepared(p *prepared, args ...any) (int64, error) {
	return t.run(p.query, func() (sql.Result, error) { return t.sqlTx.StmtContext(t.ctx, p.stmt).ExecContext(t.ctx, args...) })
}

func (c *session) run(query string, exec func() (sql.Result, error)) (int64, error) {
	if c.fault != nil {
		if err := c.fault("before", query); err != nil {
			return 0, err
		}
	}
	res, err := exec()
	if err != nil {
		return 0, fmt.Errorf("%w in: %s", err, firstLine(query))
	}
	if c.fault != nil {
		if err := c.fault("after", query); err != nil {
			return 0, err
		}
	}
	n, err := res.RowsAffected()
	c.wrote = c.wrote || n > 0
	return n, err
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

// one is query for a statement that returns at most one row. Without a row it returns
// allswell.ErrNotFound.
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

// widerRow is a row with more columns than a struct's scan function reads.
type widerRow struct {
	scanner
	more []any
}

// Scan reads the columns of dest, and the others into more.
func (w widerRow) Scan(dest ...any) error { return w.scanner.Scan(append(dest, w.more...)...) }

func scanInt(row scanner) (n int64, err error)     { err = row.Scan(&n); return }
func scanString(row scanner) (v string, err error) { err = row.Scan(&v); return }

// text translates a statement, as it is written in this package, to the engine's SQL.
func (s *Store) text(query string) string {
	if t, ok := s.statements.Load(query); ok {
		return t.(string)
	}
	t := s.d.text(query)
	s.statements.Store(query, t)
	return t
}

// firstLine returns the first line of a statement, which identifies it in errors.
func firstLine(query string) string {
	line, _, _ := strings.Cut(strings.TrimSpace(query), "\n")
	return line
}

// exists reports whether a query returns a row. It runs outside a transaction.
func (s *Store) exists(ctx context.Context, text string, args ...any) (bool, error) {
	ctx, cancel := context.WithTimeout(ctx, verbTimeout)
	defer cancel()
	n, err := one(s.bare(ctx), scanInt, `SELECT count(*) FROM (`+text+` LIMIT 1) AS found`, args...)
	return n > 0, s.unavailable(err)
}

// bare returns a session outside any transaction, for single statements that only read.
func (s *Store) bare(ctx context.Context) *session {
	return &session{s: s, ctx: ctx, q: s.reader}
}

// read runs f in a read-only transaction, so that everything it loads is of the same
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
	s.contacted()
	return out, nil
}

// tx is a transaction that writes.
type tx struct {
	session
	sqlTx              *sql.Tx
	versions           map[string]int64 // new versions of the touched pages
	changeNumber       int64            // number of this change of pages; 0 on SQLite
	ordinals           map[string]int   // number of events emitted per page
	logEntries         []logEntry       // to be logged after the commit
	mailQueued         bool             // a mail, a retry or a sign-up was queued
	maintenanceChanged bool             // the time of the next transition may have changed
	domainCheckDue     bool             // a domain is due to be checked
	newPingTokens      []string         // new ping tokens, and those of monitors that were enabled
	liveReplica        string           // the replica whose liveness record this transaction writes

	unattended bool // no client waits for the result, so BeforeReturn does not apply
}

// write runs f as one durable transaction, again if the database asks for a
// repetition, and then calls the functions that are registered for what changed.
// The responses in save are saved in the same transaction.
func write[T any](ctx context.Context, s *Store, f func(*tx) (T, error), save ...SaveResponse[T]) (out T, err error) {
	ctx, cancel := context.WithTimeout(ctx, verbTimeout)
	defer cancel()
	for attempt := 1; ; attempt++ {
		out, err = writeOnce(ctx, s, f, save)
		if err == nil || attempt == maxAttempts || errors.Is(err, allswell.ErrUnknownOutcome) || !s.d.repeatable(err) {
			break
		}
		s.log.Debug("transaction repeated", "attempt", attempt, "error", err)
		pauseBeforeRepeating(ctx, attempt)
	}
	if err != nil {
		var none T
		return none, s.unavailable(s.replicated(ctx, err))
	}
	return out, nil
}

// pauseBeforeRepeating waits for a random time, at most 10 ms before the second
// attempt and 40 ms before the fourth: transactions that ended each other in a
// deadlock would meet again if both were repeated at once.
func pauseBeforeRepeating(ctx context.Context, attempt int) {
	select {
	case <-ctx.Done():
	case <-time.After(rand.N(5 * time.Millisecond << attempt)):
	}
}

// replicated returns err, or the reason why it cannot be returned yet. An error such as
// ErrNotFound or a name that is taken depends on what other transactions have committed.
// It is an answer as much as a success is, so it also waits until that is replicated.
func (s *Store) replicated(ctx context.Context, err error) error {
	var bad *allswell.ValidationError
	if !errors.Is(err, allswell.ErrNotFound) && !errors.Is(err, allswell.ErrPreconditionFailed) && !errors.As(err, &bad) && !s.d.duplicate(err) {
		return err
	}
	if unable := s.awaitReplication(ctx); unable != nil {
		return unable
	}
	return err
}

// awaitReplication returns when everything that was committed and visible before is
// durable and replicated as the server is configured.
func (s *Store) awaitReplication(ctx context.Context) error {
	if s.d.replicate == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, verbTimeout)
	defer cancel()
	t, err := s.writer.BeginTx(ctx, nil)
	if err != nil {
		return s.unavailable(err)
	}
	defer t.Rollback()
	if err := s.d.replicate(&session{s: s, ctx: ctx, q: t}); err != nil {
		return s.unavailable(err)
	}
	return s.unavailable(s.commit(t))
}

// commit commits t. The error is allswell.ErrBusy if nothing was committed, and
// allswell.ErrUnknownOutcome if the transaction may have been committed.
func (s *Store) commit(t *sql.Tx) error {
	err := t.Commit()
	if err == nil {
		return nil
	}
	outcome := allswell.ErrUnknownOutcome
	if neverSent(err) || s.d.undone(err) {
		outcome = allswell.ErrBusy
	}
	return fmt.Errorf("%w: commit: %w", outcome, err)
}

// neverSent reports whether database/sql rolled back instead of sending COMMIT,
// because the context had ended. It returns these errors bare; those of a driver
// that was interrupted in the middle of a COMMIT are wrapped.
func neverSent(err error) bool {
	return err == sql.ErrTxDone || err == context.Canceled || err == context.DeadlineExceeded
}

func writeOnce[T any](ctx context.Context, s *Store, f func(*tx) (T, error), save []SaveResponse[T]) (out T, err error) {
	t, err := s.writer.BeginTx(ctx, nil)
	if err != nil {
		return out, err
	}
	defer t.Rollback()
	w := &tx{session: session{s: s, ctx: ctx, q: t, fault: s.fault}, sqlTx: t, versions: map[string]int64{}, ordinals: map[string]int{}}
	if w.now, err = s.now(&w.session); err != nil {
		return out, err
	}
	if out, err = f(w); err != nil {
		return out, err
	}
	for _, r := range save {
		if err = r.save(w, out); err != nil {
			return out, err
		}
	}
	if err = s.d.announce(w); err != nil {
		return out, err
	}
	if !w.wrote && s.d.replicate != nil {
		// The result was read, possibly from a commit that is not replicated yet.
		if err = s.d.replicate(&w.session); err != nil {
			return out, err
		}
	}
	if s.fault != nil {
		if err = s.fault("before", "COMMIT"); err != nil {
			return out, err
		}
	}
	if err = s.commit(t); err != nil {
		return out, err
	}
	s.contacted()
	w.committed()
	if s.fault != nil {
		err = s.fault("after", "COMMIT")
	}
	if len(w.versions) > 0 && !w.unattended {
		for _, f := range s.beforeReturn {
			f(ctx, slices.Sorted(maps.Keys(w.versions)))
		}
	}
	return out, err
}

// committed calls the registered functions for what the transaction changed.
func (t *tx) committed() {
	s := t.s
	if t.liveReplica != "" {
		s.lastLiveness.Store(t.liveReplica, t.now)
	}
	for pageID, version := range t.versions {
		if s.d.shared {
			s.pages.learn(pageChange{s.replica, t.changeNumber, pageID, version})
		}
		s.pageChanged(pageID)
	}
	s.writeLogEntries(t.logEntries)
	for _, token := range t.newPingTokens {
		for _, f := range s.onPingToken {
			f(token)
		}
	}
	if len(t.ordinals) > 0 || t.mailQueued {
		callAll(s.onDeliveriesPending)
	}
	if t.maintenanceChanged {
		callAll(s.onMaintenanceChange)
	}
	if t.domainCheckDue {
		callAll(s.onDomainCheckDue)
	}
}

func callAll(registered []func()) {
	for _, f := range registered {
		f()
	}
}

// logEntry is a message about a monitor or a maintenance, which is logged after the
// commit.
type logEntry struct{ what, kind, id, name string }

// writeLogEntries logs the first few entries and the number of the others.
func (s *Store) writeLogEntries(all []logEntry) {
	const most = 20
	for _, n := range all[:min(len(all), most)] {
		s.log.Info(n.what, n.kind, n.id, "name", n.name)
	}
	if len(all) > most {
		s.log.Info("more changes in the same transaction", "count", len(all)-most)
	}
}

func (s *Store) pageChanged(pageID string) {
	for _, f := range s.onPageChange {
		f(pageID)
	}
}

// now returns the current instant, truncated to the millisecond. A transaction calls it
// once.
func (s *Store) now(c *session) (time.Time, error) {
	if s.clock != nil {
		return s.clock().UTC().Truncate(time.Millisecond), nil
	}
	return s.d.now(c)
}

// unavailable wraps errors that mean that the database cannot be used now, or that
// the context ended before the commit, in allswell.ErrBusy. It leaves errors of
// commit as they are. It logs the first error of a series: see LogLevel.
func (s *Store) unavailable(err error) error {
	marked := errors.Is(err, allswell.ErrBusy) || errors.Is(err, allswell.ErrUnknownOutcome)
	cancelled := errors.Is(err, context.Canceled) // by the caller, which is no failure of the database
	if err == nil || !marked && !cancelled && !s.d.unavailable(err) && !errors.Is(err, context.DeadlineExceeded) {
		return err
	}
	if !cancelled {
		s.failures.Failed(time.Now(), "database", s.address, "error", s.openFailureReason(err))
	}
	if marked {
		return err
	}
	return fmt.Errorf("%w: %w", allswell.ErrBusy, err)
}

// touch increments the version of the page, once per transaction, and thereby locks its
// row. In the lock order the page comes after monitors and components and before
// incidents.
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
	t.wrote = true
	return nil
}
