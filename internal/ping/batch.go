package ping

import (
	"context"
	"log/slog"
	"runtime"
	"sync"
	"time"

	"github.com/allswell/allswell/internal/failurelog"
	"github.com/allswell/allswell/internal/store"
)

const (
	// maxBatch is the most tokens of one transaction.
	maxBatch = 2048

	// maxWaiting is the most pings that wait for a commit; further ones are
	// refused at once.
	maxWaiting = 8192

	// patience is how long a batch's pings wait for its commit, from the first
	// one on. They stay in it and may be recorded later. The line that we print
	// ends an attempt after 10 s: it shall get the 503 and its Retry-After first.
	patience = 8 * time.Second
)

// yields is how often the batcher lets others run before it takes a batch: those
// that were just answered send their next ping meanwhile, and a transaction of
// more pings costs less for each. On an idle server it takes a microsecond.
const yields = 4

// batch is pings that share a transaction.
type batch struct {
	tokens  []string       // each one once
	index   map[string]int // places in tokens
	pings   int            // how many wait: more than tokens, if some came twice
	came    time.Time      // the oldest ping
	settled sync.Once
	done    chan struct{}      // closed when settled
	results []store.PingResult // nil if they are not known
	patient *time.Timer        // settles the batch when its pings have waited too long
}

// settle lets the batch's pings know what became of them; nil if nobody knows.
// The first word holds.
func (b *batch) settle(results []store.PingResult) {
	b.settled.Do(func() {
		b.results = results
		close(b.done)
	})
}

// place is a ping's place in a batch.
type place struct {
	*batch
	i int
}

// batcher makes transactions of pings and beats, one after the other. All pings
// that come while a transaction commits share the next one.
type batcher struct {
	store    *store.Store // nil before start
	replica  string
	log      *slog.Logger
	known    known
	refusals refusals
	losses   losses

	beatEvery, patience time.Duration // fields for tests
	maxWaiting          int

	mu      sync.Mutex
	queue   []*batch // oldest first; the first may be under way
	waiting int      // pings in queue
	open    bool
	wake    chan struct{} // holds a value if there may be work

	committed time.Time     // when the last commit returned
	stopped   chan struct{} // closed when lastBeat is final; nil before start

	// Of the goroutine that runs.
	nextBeat time.Time
	failures failurelog.Log
	gapSaved time.Time // when a gap was stored last
	lastBeat error     // what became of the last beat
}

func newBatcher(replica string, log *slog.Logger) *batcher {
	return &batcher{
		replica: replica, log: log,
		beatEvery: store.LivenessInterval, patience: patience, maxWaiting: maxWaiting,
		wake: make(chan struct{}, 1), failures: failurelog.Log{Logger: log, Failing: "pings cannot be recorded", Working: "pings are recorded again"},
	}
}

// join gives a ping that came at now a place in the batch that gathers; false
// if too many wait, or the door is closed.
func (b *batcher) join(token string, now time.Time) (place, bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if !b.open || b.waiting >= b.maxWaiting {
		return place{}, false
	}
	gathering := b.gathering(now)
	i, ok := gathering.index[token]
	if !ok {
		i = len(gathering.tokens)
		gathering.tokens = append(gathering.tokens, token)
		gathering.index[token] = i
	}
	if now.Before(gathering.came) {
		gathering.came = now
	}
	gathering.pings++
	b.waiting++
	return place{gathering, i}, true
}

// gathering returns the last batch of the queue if it may still grow, or else a
// new one. One that has used up half of its patience may not: whoever joined it
// would be given up too soon. b is locked.
func (b *batcher) gathering(now time.Time) *batch {
	size := 16
	if n := len(b.queue); n > 0 {
		last := b.queue[n-1]
		if last.index != nil && len(last.tokens) < maxBatch && now.Sub(last.came) < b.patience/2 {
			return last
		}
		size = len(last.tokens)
	}
	next := &batch{tokens: make([]string, 0, size), index: make(map[string]int, size), came: now, done: make(chan struct{})}
	next.patient = time.AfterFunc(b.patience, func() { next.settle(nil) })
	b.queue = append(b.queue, next)
	b.rouse()
	return next
}

// rouse makes the batcher look for work.
func (b *batcher) rouse() {
	select {
	case b.wake <- struct{}{}:
	default:
	}
}

// wait returns what became of a ping, PingFailed if that is not known in time.
func (b *batcher) wait(p place) store.PingResult {
	<-p.done
	if p.results == nil {
		return store.PingFailed
	}
	return p.results[p.i]
}

// take closes the oldest batch of the queue to further pings and returns it;
// nil if there is none.
func (b *batcher) take() (oldest *batch, open bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if len(b.queue) == 0 {
		return nil, b.open
	}
	b.queue[0].index = nil
	return b.queue[0], b.open
}

// answer takes the oldest batch out of the queue and lets its pings know.
func (b *batcher) answer(oldest *batch, results []store.PingResult) {
	b.mu.Lock()
	b.queue[0] = nil
	b.queue = b.queue[1:]
	b.waiting -= oldest.pings
	b.mu.Unlock()
	oldest.patient.Stop()
	oldest.settle(results)
}

// run records batches and beats until the door is closed and nobody waits, and
// then writes the last beat. Commits are not interrupted: the store bounds
// them.
func (b *batcher) run(ctx context.Context) {
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		for range yields {
			runtime.Gosched()
		}
		oldest, open := b.take()
		now := time.Now()
		due := !now.Before(b.nextBeat) || b.gapDue(now)
		switch {
		case oldest != nil:
			b.record(ctx, oldest, due)
			continue
		case !open:
			b.lastBeat = b.lastBeats(ctx)
			return
		case due:
			b.beat(ctx, store.LivenessRecord{})
			continue
		}
		timer.Reset(b.nextBeat.Sub(now))
		select {
		case <-b.wake:
		case <-timer.C:
		}
	}
}

// record makes a batch durable, with a beat, and answers it. The refusals go
// along when they are due.
func (b *batcher) record(ctx context.Context, oldest *batch, due bool) {
	var results []store.PingResult
	err := b.transact(store.LivenessRecord{}, oldest, due, func(beat store.LivenessRecord) (err error) {
		results, err = b.store.RecordPings(ctx, oldest.tokens, beat)
		return err
	})
	if err != nil {
		results = make([]store.PingResult, len(oldest.tokens)) // all failed
	}
	for i, result := range results {
		if result == store.PingFailed {
			b.refuse(oldest.tokens[i], oldest.came)
		}
	}
	b.answer(oldest, results)
	if b.store.Shared() {
		b.learn(oldest.tokens, results)
	}
}

// learn notes tokens that another replica made.
func (b *batcher) learn(tokens []string, results []store.PingResult) {
	for i, result := range results {
		if result == store.PingRecorded {
			b.known.add(store.ShortTokenHash(tokens[i]))
		}
	}
}
