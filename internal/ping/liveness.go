package ping

import (
	"context"
	"log/slog"
	"slices"
	"time"

	"github.com/allswell/allswell/internal/store"
)

const (
	// beatRetry is the pause after a beat that failed.
	beatRetry = time.Second

	// readyFor is how long a commit shows that pings can be recorded.
	readyFor = 15 * time.Second

	// loadRetry is the pause after the known tokens could not be loaded.
	loadRetry = 5 * time.Second
)

// start commits the first beat and opens the door. The known tokens are loaded
// beside: a million take longer than a start may.
func (b *batcher) start(ctx context.Context, to *store.Store) error {
	if b.store != to { // not a second try
		b.store = to
		to.OnNewPingToken(func(token string) { b.known.add(store.ShortTokenHash(token)) })
	}
	if err := b.beat(ctx, store.LivenessRecord{First: true}); err != nil {
		return err
	}
	loading, stopLoading := context.WithCancel(ctx)
	loaded := make(chan struct{})
	go func() {
		defer close(loaded)
		b.load(loading)
	}()
	b.mu.Lock()
	b.open, b.stopped = true, make(chan struct{})
	b.mu.Unlock()
	context.AfterFunc(ctx, b.shut)
	go func() {
		defer close(b.stopped)
		b.run(context.WithoutCancel(ctx))
		stopLoading()
		<-loaded
	}()
	return nil
}

// shut closes the door: pings are refused from now on.
func (b *batcher) shut() {
	b.mu.Lock()
	b.open = false
	b.mu.Unlock()
	b.rouse()
}

// close shuts the door and waits for the last beat.
func (b *batcher) close(ctx context.Context) error {
	b.shut()
	b.mu.Lock()
	stopped := b.stopped
	b.mu.Unlock()
	if stopped == nil {
		return nil // never started
	}
	select {
	case <-stopped:
		return b.lastBeat
	case <-ctx.Done():
		return ctx.Err()
	}
}

// giveUp answers the pings that wait with 503.
func (b *batcher) giveUp() {
	b.mu.Lock()
	waiting := slices.Clone(b.queue)
	b.mu.Unlock()
	for _, batch := range waiting {
		batch.settle(nil)
	}
}

// load reads the tokens that are valid now. Until it is done, every token is
// taken for valid.
func (b *batcher) load(ctx context.Context) {
	for {
		var shorts []uint64
		err := b.store.EachPingToken(ctx, func(short uint64) { shorts = append(shorts, short) })
		if err == nil {
			b.known.load(shorts)
			return
		}
		if ctx.Err() != nil {
			return
		}
		b.log.Log(ctx, store.LogLevel(err, slog.LevelWarn), "the ping tokens could not be loaded; trying again", "error", err)
		select {
		case <-ctx.Done():
			return
		case <-time.After(loadRetry):
		}
	}
}

// ready is Server.Ready.
func (b *batcher) ready(now time.Time) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.open && now.Sub(b.committed) < readyFor
}

// backlog returns the age of the oldest ping that is not committed. A batch
// that is given is left out, and with it the refusals that are being saved.
func (b *batcher) backlog(now time.Time, own *batch, saving bool) time.Duration {
	oldest := now
	if since, any := b.refusals.oldest(saving); any && since.Before(oldest) {
		oldest = since
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, waiting := range b.queue {
		if waiting != own && waiting.came.Before(oldest) {
			oldest = waiting.came
		}
	}
	return now.Sub(oldest)
}

// refuse remembers that a ping that came at a moment was refused, if its token
// is a valid one: its job lives.
func (b *batcher) refuse(token string, came time.Time) {
	if !b.known.has(store.ShortTokenHash(token)) {
		return
	}
	if !b.refusals.add(token, came) {
		b.lose(came) // there is no room to remember whose it was
	}
}

// beat writes a beat of its own, and saves refusals with it.
func (b *batcher) beat(ctx context.Context, beat store.LivenessRecord) error {
	return b.transact(beat, nil, true, func(beat store.LivenessRecord) error { return b.store.RecordLiveness(ctx, beat) })
}

// lastBeats writes beats until no refusal is left to be saved.
func (b *batcher) lastBeats(ctx context.Context) error {
	for {
		err := b.beat(ctx, store.LivenessRecord{})
		if _, any := b.refusals.oldest(true); err != nil || !any {
			return err
		}
	}
}

// transact runs one transaction that has a beat in it, and keeps the books.
// With save, refusals go along; if more of them are left than one transaction
// takes, the next is due at once. While pings are being lost no liveness is
// recorded; with save, the gap is stored instead.
func (b *batcher) transact(beat store.LivenessRecord, own *batch, save bool, record func(store.LivenessRecord) error) error {
	began := time.Now()
	beat.Replica = b.replica
	beat.Shedding = b.shedding(began)
	if save {
		beat.Rejected = b.refusals.take()
		beat.Shedding = b.losses.recent(began)
		if since := b.losses.unsaved(); !since.IsZero() {
			beat.Lost = max(began.Sub(since), time.Millisecond)
		}
	}
	beat.Backlog = b.backlog(began, own, false)
	err := record(beat)
	now := time.Now()
	b.refusals.settle(err == nil)
	if err != nil {
		b.failures.Failed(now, "error", err)
		b.nextBeat = now.Add(beatRetry)
		return err
	}
	b.failures.Worked(now)
	b.mu.Lock()
	b.committed = now
	b.mu.Unlock()
	if beat.Lost > 0 {
		b.losses.saved(began)
		b.gapSaved = now
	}
	if save {
		b.nextBeat = began.Add(b.beatEvery)
		if beat.Shedding {
			b.nextBeat = began.Add(min(b.beatEvery, beatRetry))
		}
		if len(beat.Rejected) == maxSaved {
			b.nextBeat = now
		}
	}
	return nil
}
