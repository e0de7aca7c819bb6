package ping

import (
	"context"
	"log/slog"
	"slices"
	"time"

	"github.com/allswell/allswell/internal/store"
)

const (
	// livenessRetry is the pause after a liveness record could not be written.
	livenessRetry = time.Second

	// readyFor is how long a commit proves that pings can be recorded.
	readyFor = 15 * time.Second

	// loadRetry is the pause after the ping tokens could not be loaded.
	loadRetry = 5 * time.Second
)

// start writes the first liveness record and then accepts pings. It loads the token
// set in the background: a million tokens take longer than a start should.
func (b *batcher) start(ctx context.Context, to *store.Store) error {
	if b.store != to { // not a retry
		b.store = to
		to.OnNewPingToken(func(token string) { b.tokens.add(store.ShortTokenHash(token)) })
	}
	if err := b.recordLiveness(ctx, store.LivenessRecord{First: true}); err != nil {
		return err
	}
	loading, stopLoading := context.WithCancel(ctx)
	loaded := make(chan struct{})
	go func() {
		defer close(loaded)
		b.loadTokens(loading)
	}()
	b.mu.Lock()
	b.accepting, b.stopped = true, make(chan struct{})
	b.mu.Unlock()
	context.AfterFunc(ctx, b.stopAccepting)
	go func() {
		defer close(b.stopped)
		b.run(context.WithoutCancel(ctx))
		stopLoading()
		<-loaded
	}()
	return nil
}

// stopAccepting makes join reject all further pings.
func (b *batcher) stopAccepting() {
	b.mu.Lock()
	b.accepting = false
	b.mu.Unlock()
	b.due.Fire()
}

// close rejects further pings and waits for the final liveness record.
func (b *batcher) close(ctx context.Context) error {
	b.stopAccepting()
	b.mu.Lock()
	stopped := b.stopped
	b.mu.Unlock()
	if stopped == nil {
		return nil // never started
	}
	select {
	case <-stopped:
		return b.finalErr
	case <-ctx.Done():
		return ctx.Err()
	}
}

// abandon resolves all pending pings with an unknown outcome.
func (b *batcher) abandon() {
	b.mu.Lock()
	pending := slices.Clone(b.queue)
	b.mu.Unlock()
	for _, batch := range pending {
		batch.giveUp()
	}
}

// loadTokens loads the token set, with retries. Until it has succeeded, every token counts as valid.
func (b *batcher) loadTokens(ctx context.Context) {
	for {
		var hashes []uint64
		err := b.store.EachPingToken(ctx, func(hash uint64) { hashes = append(hashes, hash) })
		if err == nil {
			b.tokens.load(hashes)
			return
		}
		if ctx.Err() != nil {
			return
		}
		b.log.Log(ctx, store.LogLevel(err, slog.LevelWarn), "loading ping tokens failed; retrying", "error", err)
		select {
		case <-ctx.Done():
			return
		case <-time.After(loadRetry):
		}
	}
}

// ready implements Server.Ready.
func (b *batcher) ready(now time.Time) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.accepting && now.Sub(b.committed) < readyFor
}

// backlog returns the age of the oldest ping that is not committed, except for the pings of the batch except. It
// includes the rejected pings that are being saved if includeSaving is set.
func (b *batcher) backlog(now time.Time, except *batch, includeSaving bool) time.Duration {
	oldest := now
	if since, any := b.rejected.oldest(includeSaving); any && since.Before(oldest) {
		oldest = since
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, pending := range b.queue {
		if pending != except && pending.arrived.Before(oldest) {
			oldest = pending.arrived
		}
	}
	return now.Sub(oldest)
}

// reject keeps the token of a rejected ping if it may be valid, so that the next
// liveness record can save that its job is alive.
func (b *batcher) reject(token string, arrived time.Time) {
	if !b.tokens.has(hashOf(token)) {
		return
	}
	if !b.rejected.add(token, arrived) {
		b.noteLost(arrived) // no room to keep the token
	}
}

// recordLiveness writes a liveness record in a transaction without pings, and saves rejected pings with it.
func (b *batcher) recordLiveness(ctx context.Context, l store.LivenessRecord) error {
	return b.transact(l, nil, true, func(l store.LivenessRecord) error { return b.store.RecordLiveness(ctx, l) })
}

// recordFinalLiveness writes liveness records until all rejected pings are saved.
func (b *batcher) recordFinalLiveness(ctx context.Context) error {
	for {
		err := b.recordLiveness(ctx, store.LivenessRecord{})
		if _, any := b.rejected.oldest(true); err != nil || !any {
			return err
		}
	}
}

// transact calls record, which commits one transaction with a liveness record, and schedules the next one. own is the
// batch in the transaction, or nil.
//
// If save is set, the transaction saves rejected pings, and the next one is due immediately if there are more than one
// transaction takes. While pings are being lost, no liveness is recorded; if save is set, the listening gap is saved
// instead.
func (b *batcher) transact(
	l store.LivenessRecord, own *batch, save bool, record func(store.LivenessRecord) error,
) error {
	began := time.Now()
	l.Replica = b.replica
	l.LosingPings = b.losingPings(began)
	if save {
		l.Rejected = b.rejected.take()
		l.LosingPings = b.lost.recent(began)
		if since := b.lost.unsaved(); !since.IsZero() {
			l.Lost = max(began.Sub(since), time.Millisecond)
		}
	}
	l.Backlog = b.backlog(began, own, false)
	err := record(l)
	now := time.Now()
	b.busy.Add(int64(now.Sub(began)))
	b.rejected.settle(err == nil)
	if err != nil {
		b.failures.Failed(now, "error", err)
		b.nextLiveness = now.Add(livenessRetry)
		return err
	}
	b.failures.Worked(now)
	b.mu.Lock()
	b.committed = now
	b.mu.Unlock()
	if l.Lost > 0 {
		b.lost.saved(began)
		b.gapSavedAt = now
	}
	if save {
		b.nextLiveness = began.Add(b.livenessInterval)
		if l.LosingPings {
			b.nextLiveness = began.Add(min(b.livenessInterval, livenessRetry))
		}
		if len(l.Rejected) == maxSaved {
			b.nextLiveness = now
		}
	}
	return nil
}
