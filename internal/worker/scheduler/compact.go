package scheduler

import (
	"context"
	"log/slog"
	"time"

	"github.com/allswell/allswell/internal/store"
)

const (
	// compactInterval is the maximum time between two looks for something to merge or to sum up.
	compactInterval = 5 * time.Minute

	// minPause is the minimum pause between two steps, and pauseShare how many times as long as the step the
	// pause is, so that pings wait little for these transactions, and the processor has time for others.
	minPause   = 50 * time.Millisecond
	pauseShare = 5
)

// compact calls step until it reports that nothing is left to do, and again after due or compactInterval, until ctx ends.
func (s *Scheduler) compact(
	ctx context.Context, what string, step func(context.Context) (more bool, err error), due <-chan struct{},
) {
	for {
		began := time.Now()
		more, err := step(ctx)
		if err != nil && ctx.Err() == nil {
			s.Logger.Log(ctx, store.LogLevel(err, slog.LevelWarn), what+" failed", "error", err)
		}
		if more {
			if !sleep(ctx, max(minPause, pauseShare*time.Since(began))) {
				return
			}
			continue
		}
		select {
		case <-ctx.Done():
			return
		case <-due:
		case <-time.After(compactInterval):
		}
	}
}
