package scheduler

import (
	"context"
	"log/slog"
	"time"

	"github.com/allswell/allswell/internal/store"
)

// keysPerClaim is how often planned maintenance is looked at, at least: another
// replica may have planned one.
const lookAhead = 5 * time.Second

// maintain begins, ends and reminds of planned maintenance when it is due, until
// ctx ends.
func (s *Scheduler) maintain(ctx context.Context) {
	for {
		wait := s.advance(ctx)
		select {
		case <-ctx.Done():
			return
		case <-s.planned:
		case <-time.After(wait):
		}
	}
}

// advance does what is due now, and returns how long nothing is. What it did is
// in the store's log. What failed is still due at the next look.
func (s *Scheduler) advance(ctx context.Context) (wait time.Duration) {
	next, err := s.Store.AdvanceMaintenances(ctx)
	if err == nil && !next.IsZero() {
		var now time.Time
		if now, err = s.Store.Clock(ctx); err == nil {
			return min(max(next.Sub(now), 0), lookAhead)
		}
	}
	if err != nil && ctx.Err() == nil {
		s.Logger.Log(ctx, store.LogLevel(err, slog.LevelWarn), "planned maintenance could not be looked after", "error", err)
	}
	return lookAhead
}
