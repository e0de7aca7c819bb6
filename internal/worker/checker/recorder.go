package checker

import (
	"context"
	"errors"
	"time"

	"github.com/allswell/allswell/internal/domain/kernel"
	"github.com/allswell/allswell/internal/domain/monitor"
	"github.com/allswell/allswell/internal/store"
)

// Limits of recording.
const (
	batchTime     = 500 * time.Millisecond // for which results are collected
	recordTimeout = 5 * time.Second        // of one attempt to save a batch
	recordRetry   = time.Second            // between attempts
	maxAttempts   = 30                     // after which a batch is dropped: its results are too old to decide anything
	maxResults    = 5_000                  // results that wait to be saved; with more, no checks are claimed
)

// recorder saves results in batches, one at a time.
type recorder struct {
	checker *Checker
	batch   []monitor.CheckResult
}

// run saves results until the channel is closed. When ctx has ended, it tries to save each batch once.
func (r *recorder) run(ctx context.Context) {
	timer := time.NewTimer(batchTime)
	timer.Stop()
	defer timer.Stop()
	for {
		select {
		case result, ok := <-r.checker.results:
			if !ok {
				r.save(ctx)
				return
			}
			r.observe(result)
			if len(r.batch) == 0 {
				timer.Reset(batchTime)
			}
			if r.batch = append(r.batch, result); len(r.batch) == store.MaxCheckResults {
				r.save(ctx)
			}
		case <-timer.C:
			r.save(ctx)
		}
	}
}

func (r *recorder) observe(result monitor.CheckResult) {
	if observe := r.checker.Observe; observe != nil {
		observe(result.Status, max(result.StartedAt.Sub(result.DueAt), 0))
	}
}

// save saves the batch. It retries while the database is not available, up to maxAttempts times. Results that may have
// been saved, because a commit was not confirmed, are not saved again: each failure counts once. Results that the
// database refuses are dropped.
func (r *recorder) save(ctx context.Context) {
	rest := r.batch
	defer func() { r.batch = r.batch[:0] }()
	for attempt := 1; len(rest) > 0; attempt++ {
		err := r.attempt(ctx, rest)
		if err == nil {
			r.checker.records.Worked(time.Now())
			return
		}
		done, dropped := whatWasDone(err, len(rest))
		r.drop(dropped)
		if rest = rest[done:]; isOutage(err) {
			r.checker.records.Failed(time.Now(), "error", err)
		}
		if len(rest) > 0 && isLast(ctx, attempt) {
			r.drop(len(rest))
			return
		}
		if len(rest) > 0 {
			select {
			case <-time.After(recordRetry):
			case <-ctx.Done():
			}
		}
	}
}

// isLast reports whether no attempt follows one: after a stop each batch has only one.
func isLast(ctx context.Context, attempt int) bool { return attempt >= maxAttempts || ctx.Err() != nil }

// isOutage reports whether an error means that the database was not available.
func isOutage(err error) bool {
	return errors.Is(err, kernel.ErrBusy) || errors.Is(err, kernel.ErrUnknownOutcome)
}

// whatWasDone returns how many of n results, from the first one, must not be saved again after an error, and how many
// of these may be lost.
func whatWasDone(err error, n int) (done, dropped int) {
	var part *store.ResultsError
	switch {
	case errors.As(err, &part):
		return part.Done, part.Dropped
	case errors.Is(err, kernel.ErrBusy):
		return 0, 0
	}
	return n, n
}

func (r *recorder) drop(results int) {
	if results > 0 && r.checker.ObserveDropped != nil {
		r.checker.ObserveDropped(results)
	}
}

func (r *recorder) attempt(ctx context.Context, results []monitor.CheckResult) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), recordTimeout)
	defer cancel()
	return r.checker.Store.RecordCheckResults(ctx, results)
}
