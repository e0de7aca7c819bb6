package checker

import (
	"context"
	"errors"
	"time"

	"github.com/allswell/allswell"
	"github.com/allswell/allswell/internal/store"
)

// Limits of recording.
const (
	batchTime     = 500 * time.Millisecond // for which results are collected
	recordTimeout = 5 * time.Second        // of one attempt to save a batch
	recordRetry   = time.Second            // between attempts
	maxAttempts   = 30                     // after which a batch is dropped: its results are too old to decide anything
	maxResults    = 5_000                  // that wait; checks that end later wait for a place
)

// recorder saves results in batches, one at a time.
type recorder struct {
	checker *Checker
	results chan allswell.CheckResult
	batch   []allswell.CheckResult
}

func newRecorder(c *Checker) *recorder {
	return &recorder{checker: c, results: make(chan allswell.CheckResult, maxResults)}
}

// run saves results until the channel is closed. When ctx has ended, it tries to save each batch once.
func (r *recorder) run(ctx context.Context) {
	timer := time.NewTimer(batchTime)
	timer.Stop()
	defer timer.Stop()
	for {
		select {
		case result, ok := <-r.results:
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

func (r *recorder) observe(result allswell.CheckResult) {
	if observe := r.checker.Observe; observe != nil {
		observe(result.Status, max(result.StartedAt.Sub(result.DueAt), 0))
	}
}

// save saves the batch. While the database is not available it tries again; if a commit is not confirmed, the results may be
// there and are not saved again, because each failure counts once.
func (r *recorder) save(ctx context.Context) {
	if len(r.batch) == 0 {
		return
	}
	defer func() { r.batch = r.batch[:0] }()
	for attempt := 1; ; attempt++ {
		err := r.attempt(ctx)
		if err == nil {
			r.checker.records.Worked(time.Now())
			return
		}
		r.checker.records.Failed(time.Now(), "error", err)
		if errors.Is(err, allswell.ErrUnknownOutcome) || attempt == maxAttempts || ctx.Err() != nil {
			return
		}
		select {
		case <-time.After(recordRetry):
		case <-ctx.Done():
		}
	}
}

func (r *recorder) attempt(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), recordTimeout)
	defer cancel()
	return r.checker.Store.RecordCheckResults(ctx, r.batch)
}
