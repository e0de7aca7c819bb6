package scheduler

import (
	"context"
	"log/slog"
	"time"

	"github.com/allswell/allswell/internal/store"
)

// maintenancePoll is the maximum time between two checks for maintenance transitions.
// Another replica may have scheduled or moved a maintenance.
const maintenancePoll = 5 * time.Second

// runMaintenances runs the transitions and reminders of planned maintenance when they are due, until ctx ends.
func (s *Scheduler) runMaintenances(ctx context.Context) {
	for {
		wait := s.advanceMaintenances(ctx)
		select {
		case <-ctx.Done():
			return
		case <-s.maintenanceDue:
		case <-time.After(wait):
		}
	}
}

// advanceMaintenances runs the transitions and reminders that are due, and returns the time until the next one, at most
// maintenancePoll. Errors are logged, and retried by the next call. The store logs the transitions.
func (s *Scheduler) advanceMaintenances(ctx context.Context) (wait time.Duration) {
	next, err := s.Store.AdvanceMaintenances(ctx)
	if err == nil && !next.IsZero() {
		var now time.Time
		if now, err = s.Store.Clock(ctx); err == nil {
			return min(max(next.Sub(now), 0), maintenancePoll)
		}
	}
	if err != nil && ctx.Err() == nil {
		s.Logger.Log(ctx, store.LogLevel(err, slog.LevelWarn), "advancing planned maintenance failed", "error", err)
	}
	return maintenancePoll
}
