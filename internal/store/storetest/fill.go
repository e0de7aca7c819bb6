package storetest

import (
	"context"
	"database/sql"
	"fmt"
	"strings"
	"time"

	"github.com/allswell/allswell/internal/domain/audience"
	"github.com/allswell/allswell/internal/domain/kernel"
)

// Fill describes monitors for benchmarks, hundreds of thousands. They are written directly
// into a SQLite database, because one call of the store for each would take hours.
type Fill struct {
	Path     string // of the database file
	Count    int
	Interval time.Duration
	Overdue  int       // number of monitors that are long overdue; the others were pinged at Now
	Now      time.Time // time of the last pings
	Counted  int       // consecutive failures of the overdue ones
}

// Monitors creates a workspace, a page with the slug "bench" and the monitors, and returns their ping tokens.
func (f Fill) Monitors(ctx context.Context) ([]string, error) {
	db, err := sql.Open("sqlite", "file:"+f.Path+"?_busy_timeout=10000&_txlock=immediate")
	if err != nil {
		return nil, err
	}
	defer db.Close()
	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		return nil, err
	}
	defer tx.Rollback()
	ms := f.Now.UnixMilli()
	ws, page := kernel.NewID(kernel.PrefixWorkspace, f.Now), kernel.NewID(kernel.PrefixPage, f.Now)
	_, err = tx.ExecContext(ctx, `INSERT INTO workspaces (id, name, created_at) VALUES ($1, 'bench', $2)`, ws, ms)
	if err != nil {
		return nil, err
	}
	_, err = tx.ExecContext(ctx, `INSERT INTO pages (id, workspace_id, slug, name, created_at, updated_at)
			VALUES ($1, $2, 'bench', 'Bench', $3, $3)`, page, ws, ms)
	if err != nil {
		return nil, err
	}
	insert, err := tx.PrepareContext(ctx,
		`INSERT INTO monitors (id, workspace_id, page_id, name, token, interval_ms, enabled,
			failure_threshold, down_status, state, consecutive_failures, last_ping_at, waiting_since_at, next_check_at,
			created_at, updated_at)
		VALUES ($1, $2, $3, $4, $5, $6, TRUE, 0, 'major_outage', 'up', $7, $8, $8, $8 + $6, $9, $9)`)
	if err != nil {
		return nil, err
	}
	beside, err := tx.PrepareContext(ctx, `INSERT INTO last_pings (token, pinged_at, healthy) VALUES ($1, $2, TRUE)`)
	if err != nil {
		return nil, err
	}
	tokens := make([]string, f.Count)
	for i := range tokens {
		tokens[i] = kernel.NewPingToken()
		heard, counted := ms, 0
		if i < f.Overdue {
			heard, counted = ms-2*f.Interval.Milliseconds(), f.Counted
		}
		_, err := insert.ExecContext(ctx, kernel.NewID(kernel.PrefixMonitor, f.Now), ws, page, fmt.Sprint("job ", i),
			tokens[i], f.Interval.Milliseconds(), counted, heard, ms)
		if err != nil {
			return nil, err
		}
		if _, err := beside.ExecContext(ctx, tokens[i], heard); err != nil {
			return nil, err
		}
	}
	return tokens, tx.Commit()
}

// Path returns the file of a "sqlite:" address.
func Path(dsn string) string { return strings.TrimPrefix(dsn, "sqlite:") }

// FillSubscribers creates count confirmed email subscribers of a page, directly in the database file.
func FillSubscribers(ctx context.Context, path, slug string, count int) error {
	db, err := sql.Open("sqlite", "file:"+path+"?_busy_timeout=10000&_txlock=immediate")
	if err != nil {
		return err
	}
	defer db.Close()
	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer tx.Rollback()
	insert, err := tx.PrepareContext(ctx,
		`INSERT INTO subscribers (id, page_id, channel, target, host, key, whole_page, confirmed_at, rejections,
			created_at, updated_at)
		SELECT $1, id, 'email', $2, 'mail', $3, TRUE, $4, 0, $4, $4 FROM pages WHERE slug = $5`)
	if err != nil {
		return err
	}
	now := time.Now()
	for i := range count {
		_, err := insert.ExecContext(ctx, kernel.NewID(kernel.PrefixSubscriber, now),
			fmt.Sprintf("reader%d@example.com", i), audience.NewSubscriberKey(), now.UnixMilli(), slug)
		if err != nil {
			return err
		}
	}
	return tx.Commit()
}
