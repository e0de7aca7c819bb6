package scheduler

import (
	"context"
	"log/slog"
	"time"

	"github.com/allswell/allswell/internal/store"
)

const (
	// mergeInterval is the maximum time between two looks for pings to merge.
	mergeInterval = 5 * time.Minute

	// minMergePause is the minimum pause between two steps, and mergeShare how many times as long as the step the
	// pause is, so that pings wait little for merges, and the processor has time for others.
	minMergePause = 50 * time.Millisecond
	mergeShare    = 5
)

// mergePings merges the history of plain pings when there is something to merge, until ctx ends.
func (s *Scheduler) mergePings(ctx context.Context) {
	for {
		began := time.Now()
		more, err := s.Store.MergePings(ctx)
		if err != nil && ctx.Err() == nil {
			s.Logger.Log(ctx, store.LogLevel(err, slog.LevelWarn), "merging the history of pings failed", "error", err)
		}
		if more {
			if !sleep(ctx, max(minMergePause, mergeShare*time.Since(began))) {
				return
			}
			continue
		}
		select {
		case <-ctx.Done():
			return
		case <-s.pingMergeDue:
		case <-time.After(mergeInterval):
		}
	}
}
