package scheduler

import (
	"context"
	"log/slog"
	"time"

	"github.com/allswell/allswell/internal/store"
)

const (
	// stepInterval is the maximum time between two looks for something to merge or to sum up.
	stepInterval = 5 * time.Minute

	// minStepPause is the minimum pause between two steps, and stepPauseShare how many times as long as the step the
	// pause is, so that pings wait little for these transactions, and the processor has time for others.
	minStepPause   = 50 * time.Millisecond
	stepPauseShare = 5
)

// runSteps calls step until it reports that nothing is left to do, and again after due or stepInterval, until ctx ends.
func (s *Scheduler) runSteps(
	ctx context.Context, what string, step func(context.Context) (more bool, err error), due <-chan struct{},
) {
	for {
		began := time.Now()
		more, err := step(ctx)
		if err != nil && ctx.Err() == nil {
			s.Logger.Log(ctx, store.LogLevel(err, slog.LevelWarn), what+" failed", "error", err)
		}
		if more {
			if !sleep(ctx, max(minStepPause, stepPauseShare*time.Since(began))) {
				return
			}
			continue
		}
		select {
		case <-ctx.Done():
			return
		case <-due:
		case <-time.After(stepInterval):
		}
	}
}
