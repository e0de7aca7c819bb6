package store

import (
	"context"
	"database/sql"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/allswell/allswell"
)

// FillMonitors makes n enabled monitors without a component, quickly, for
// tests and benchmarks, and returns their ping tokens.
func FillMonitors(ctx context.Context, s *Store, workspaceID, slug string, n int, interval time.Duration) ([]string, error) {
	p, err := s.pageOf(ctx, workspaceID, slug)
	if err != nil {
		return nil, err
	}
	var tokens []string
	for len(tokens) < n {
		made, err := write(ctx, s, func(t *tx) ([]string, error) {
			var made []string
			for range min(1000, n-len(tokens)) {
				token := allswell.NewPingToken()
				_, err := t.exec(`INSERT INTO monitors (id, workspace_id, page_id, name, token, interval_ms, enabled,
						failure_threshold, down_status, state, consecutive_failures, created_at, updated_at)
					VALUES ($1, $2, $3, $4, $5, $6, TRUE, 0, 'major_outage', 'up', 0, $7, $7)`,
					allswell.NewID(allswell.PrefixMonitor, t.now), workspaceID, p.ID, fmt.Sprintf("job %d", len(tokens)+len(made)),
					token, interval.Milliseconds(), millis(t.now))
				if err == nil {
					_, err = t.exec(`INSERT INTO last_pings (token, healthy) VALUES ($1, FALSE)`, token)
				}
				if err != nil {
					return nil, err
				}
				made = append(made, token)
			}
			return made, nil
		})
		if err != nil {
			return nil, err
		}
		tokens = append(tokens, made...)
	}
	return tokens, nil
}

// FillSubscribers makes n confirmed e-mail subscribers of a page, quickly.
func FillSubscribers(ctx context.Context, s *Store, pageID string, n int) error {
	_, err := write(ctx, s, func(t *tx) (struct{}, error) {
		for i := range n {
			if _, err := t.exec(`INSERT INTO subscribers (id, page_id, channel, target, host, key, confirmed_at, rejections, created_at, updated_at, whole_page)
				VALUES ($1, $2, 'email', $3, $4, $5, $6, 0, $6, $6, TRUE)`, allswell.NewID(allswell.PrefixSubscriber, t.now), pageID,
				fmt.Sprintf("user%d@example.com", i), "mail", allswell.NewSubscriberKey(), millis(t.now)); err != nil {
				return struct{}{}, err
			}
		}
		return struct{}{}, nil
	})
	return err
}

// SetFault makes fault be asked before and after each statement of a writing
// transaction, and around its commit; nil ends it.
func (s *Store) SetFault(fault func(when, query string) error) { s.fault = fault }

// Pools returns the connections that write and those that read, for tests that
// look at the tables themselves.
func (s *Store) Pools() (writer, reader *sql.DB) { return s.writer, s.reader }

// Events returns all events, page by page in commit order.
func (s *Store) Events(ctx context.Context) ([]allswell.Event, error) {
	return query(s.bare(ctx), scanEvent, `SELECT `+eventColumns+` FROM events ORDER BY page_id, page_version, ordinal`)
}

// Gaps returns the stored listening gaps as the deadline sees them.
func (s *Store) Gaps(ctx context.Context) ([]allswell.ListeningGap, error) {
	return s.bare(ctx).gaps(time.UnixMilli(0))
}

// AllMonitors returns every monitor as it is stored, by id.
func (s *Store) AllMonitors(ctx context.Context) ([]allswell.Monitor, error) {
	return s.bare(ctx).monitors(`ORDER BY id`)
}

// MigrateTo makes a database of an older version.
func MigrateTo(ctx context.Context, dsn string, version int64) error {
	s, err := connect(dsn, Options{})
	if err != nil {
		return err
	}
	defer s.Close()
	if err := s.d.create(s.dsn); err != nil {
		return err
	}
	p, err := s.provider()
	if err != nil {
		return err
	}
	if _, err := p.UpTo(ctx, version); err != nil {
		return err
	}
	if current, _, err := s.versions(ctx); err != nil || current != version {
		return fmt.Errorf("the database is of version %d, not %d (storetest.EachEmpty gives one without a schema): %w", current, version, err)
	}
	return nil
}

// BreakListen makes s receive no announcements of other replicas: it listens on a
// server that does not exist. Its pool is not affected.
func BreakListen(s *Store) (err error) {
	s.primary, err = newPrimary("postgres://127.0.0.1:1/nowhere?connect_timeout=1", s.log)
	return err
}

// TraceStatements calls started for each statement that s begins on connections
// that it opens from now on, with the transactions' own (BEGIN, COMMIT).
func TraceStatements(s *Store, started func(statement string)) {
	for _, host := range s.primary.hosts {
		host.Tracer = tracer(started)
	}
	s.writer.SetMaxIdleConns(0) // closes those that are open
	s.writer.SetMaxIdleConns(postgresConnections)
}

type tracer func(statement string)

// TraceQueryStart is part of pgx.QueryTracer.
func (t tracer) TraceQueryStart(ctx context.Context, _ *pgx.Conn, data pgx.TraceQueryStartData) context.Context {
	t(data.SQL)
	return ctx
}

// TraceQueryEnd is part of pgx.QueryTracer.
func (tracer) TraceQueryEnd(context.Context, *pgx.Conn, pgx.TraceQueryEndData) {}
