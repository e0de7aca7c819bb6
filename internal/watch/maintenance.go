package watch

import (
	"context"
	"log/slog"
	"time"

	"github.com/allswell/allswell/internal/store"
)

// lookAhead is how often planned maintenance is looked at, at least: another
// replica may have planned one.
const lookAhead = 5 * time.Second

// maintain begins, ends and reminds of planned maintenance when it is due, until
// ctx ends.
func (w *Watch) maintain(ctx context.Context) {
	for {
		wait := w.advance(ctx)
		select {
		case <-ctx.Done():
			return
		case <-w.planned:
		case <-time.After(wait):
		}
	}
}

// advance does what is due now, and returns how long nothing is. What it did is
// in the store's log. What failed is still due at the next look.
func (w *Watch) advance(ctx context.Context) (wait time.Duration) {
	next, err := w.Store.AdvanceMaintenances(ctx)
	if err == nil && !next.IsZero() {
		var now time.Time
		if now, err = w.Store.Clock(ctx); err == nil {
			return min(max(next.Sub(now), 0), lookAhead)
		}
	}
	if err != nil && ctx.Err() == nil {
		w.Logger.Log(ctx, store.LogLevel(err, slog.LevelWarn), "planned maintenance could not be looked after", "error", err)
	}
	return lookAhead
}
