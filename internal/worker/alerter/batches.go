package alerter

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"github.com/allswell/allswell/internal/store"
)

// batches sends what is due besides alerts, a batch at a time.
type batches[T any] struct {
	size     int
	interval time.Duration
	take     func(ctx context.Context, limit int) ([]T, error)
	what     string // what take does, for the log
	send     func(T)
}

// run sends what is due now and then after each interval, until ctx ends.
func (b batches[T]) run(ctx context.Context, log *slog.Logger) {
	ticker := time.NewTicker(b.interval)
	defer ticker.Stop()
	for {
		for b.sendDue(ctx, log) == b.size { // there may be more
		}
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
	}
}

// sendDue sends a batch, and returns its size.
func (b batches[T]) sendDue(ctx context.Context, log *slog.Logger) int {
	if ctx.Err() != nil {
		return 0
	}
	due, err := b.take(ctx, b.size)
	if err != nil && ctx.Err() == nil {
		log.Log(ctx, store.LogLevel(err, slog.LevelWarn), b.what+" failed; retrying", "error", err)
	}
	var running sync.WaitGroup
	for _, d := range due {
		running.Go(func() { b.send(d) })
	}
	running.Wait()
	return len(due)
}
