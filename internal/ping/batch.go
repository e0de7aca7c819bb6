package ping

import (
	"context"
	"log/slog"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"github.com/allswell/allswell/internal/failurelog"
	"github.com/allswell/allswell/internal/store"
)

const (
	// maxBatch is the maximum number of tokens in one transaction.
	maxBatch = 2048

	// maxPending is the maximum number of pings waiting for a commit. Further pings
	// are rejected at once.
	maxPending = 8192

	// commitTimeout is how long the pings of a batch wait for its commit, counted
	// from the arrival of the first one. After that they are answered 503, although
	// the batch may still be committed. The curl command that the program
	// prints gives up after 10 s, and has to receive the 503 and its Retry-After before.
	commitTimeout = 8 * time.Second

	// yields is how often the batcher yields before it takes a batch, so that
	// clients that were just answered can send their next ping. Larger transactions
	// cost less per ping. On an idle server, yielding takes a microsecond.
	yields = 4
)

// batch is the pings that share a transaction.
type batch struct {
	tokens   []string       // without duplicates
	index    map[string]int // token to index in tokens; nil once the batch is closed to further pings
	pings    int            // number of pings; more than tokens if some tokens came twice
	arrived  time.Time      // arrival of the first ping
	resolved sync.Once
	done     chan struct{}      // closed by resolve
	results  []store.PingResult // valid after done; nil if the outcome is unknown
	timeout  *time.Timer        // resolves the batch after commitTimeout
}

// resolve sets the results and wakes the waiting pings. results is nil if the
// outcome is unknown. Only the first call has an effect.
func (b *batch) resolve(results []store.PingResult) {
	b.resolved.Do(func() {
		b.results = results
		close(b.done)
	})
}

// slot is the position of a ping in its batch.
type slot struct {
	*batch
	i int
}

// wait waits until the batch is resolved and returns the result of the ping:
// PingFailed if the outcome is unknown.
func (s slot) wait() store.PingResult {
	<-s.done
	if s.results == nil {
		return store.PingFailed
	}
	return s.results[s.i]
}

// batcher writes pings and liveness records, one transaction after the other. All
// pings that arrive during a commit share the next transaction.
type batcher struct {
	store    *store.Store // nil before start
	replica  string
	log      *slog.Logger
	tokens   tokenSet
	rejected rejectedPings
	lost     lostPings

	livenessInterval, commitTimeout time.Duration // fields for tests
	maxPending                      int

	mu        sync.Mutex
	queue     []*batch // oldest first; the transaction of the first may be in progress
	pending   int      // number of pings in queue
	accepting bool
	signal    chan struct{} // holds a value if there may be work

	busy atomic.Int64 // nanoseconds that transactions took

	committed time.Time     // when the last commit returned
	stopped   chan struct{} // closed when finalErr is valid; nil before start

	// The following fields are used by the goroutine of run only.
	nextLiveness time.Time // when the next liveness record is due
	failures     failurelog.Log
	gapSavedAt   time.Time // when a listening gap was last saved
	finalErr     error     // error of the final liveness record
}

func newBatcher(replica string, log *slog.Logger) *batcher {
	return &batcher{
		replica: replica, log: log,
		livenessInterval: store.LivenessInterval, commitTimeout: commitTimeout, maxPending: maxPending,
		signal: make(chan struct{}, 1), failures: failurelog.Log{Logger: log, Failing: "recording pings failed", Working: "recording pings again"},
	}
}

// join adds a ping that arrived at now to the open batch. It returns false if too
// many pings are pending, or the batcher does not accept pings.
func (b *batcher) join(token string, now time.Time) (slot, bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if !b.accepting || b.pending >= b.maxPending {
		return slot{}, false
	}
	open := b.openBatch(now)
	i, ok := open.index[token]
	if !ok {
		i = len(open.tokens)
		open.tokens = append(open.tokens, token)
		open.index[token] = i
	}
	if now.Before(open.arrived) {
		open.arrived = now
	}
	open.pings++
	b.pending++
	return slot{open, i}, true
}

// openBatch returns the last batch of the queue if it can take another ping, and a
// new batch otherwise. A batch that has used up half of commitTimeout takes no
// more: its new pings would time out too soon. The caller holds b.mu.
func (b *batcher) openBatch(now time.Time) *batch {
	size := 16
	if n := len(b.queue); n > 0 {
		last := b.queue[n-1]
		if last.index != nil && len(last.tokens) < maxBatch && now.Sub(last.arrived) < b.commitTimeout/2 {
			return last
		}
		size = len(last.tokens)
	}
	next := &batch{tokens: make([]string, 0, size), index: make(map[string]int, size), arrived: now, done: make(chan struct{})}
	next.timeout = time.AfterFunc(b.commitTimeout, func() { next.resolve(nil) })
	b.queue = append(b.queue, next)
	b.notify()
	return next
}

// notify signals run that there may be work.
func (b *batcher) notify() {
	select {
	case b.signal <- struct{}{}:
	default:
	}
}

// take closes the oldest batch of the queue to further pings and returns it. It
// returns nil if the queue is empty.
func (b *batcher) take() (oldest *batch, accepting bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if len(b.queue) == 0 {
		return nil, b.accepting
	}
	b.queue[0].index = nil
	return b.queue[0], b.accepting
}

// finish removes the oldest batch from the queue and resolves it.
func (b *batcher) finish(oldest *batch, results []store.PingResult) {
	b.mu.Lock()
	b.queue[0] = nil
	b.queue = b.queue[1:]
	b.pending -= oldest.pings
	b.mu.Unlock()
	oldest.timeout.Stop()
	oldest.resolve(results)
}

// run writes batches and liveness records until pings are no longer accepted and
// the queue is empty. Then it writes the final liveness record. It does not cancel
// commits; the store has its own timeout for them.
func (b *batcher) run(ctx context.Context) {
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		for range yields {
			runtime.Gosched()
		}
		oldest, accepting := b.take()
		now := time.Now()
		due := !now.Before(b.nextLiveness) || b.gapDue(now)
		switch {
		case oldest != nil:
			b.record(ctx, oldest, due)
			continue
		case !accepting:
			b.finalErr = b.recordFinalLiveness(ctx)
			return
		case due:
			b.recordLiveness(ctx, store.LivenessRecord{})
			continue
		}
		timer.Reset(b.nextLiveness.Sub(now))
		select {
		case <-b.signal:
		case <-timer.C:
		}
	}
}

// record commits a batch together with a liveness record, and resolves it. If due
// is set, it saves rejected pings in the same transaction.
func (b *batcher) record(ctx context.Context, oldest *batch, due bool) {
	var results []store.PingResult
	err := b.transact(store.LivenessRecord{}, oldest, due, func(l store.LivenessRecord) (err error) {
		results, err = b.store.RecordPings(ctx, oldest.tokens, l)
		return err
	})
	if err != nil {
		results = make([]store.PingResult, len(oldest.tokens)) // PingFailed for all
	}
	for i, result := range results {
		if result == store.PingFailed {
			b.reject(oldest.tokens[i], oldest.arrived)
		}
	}
	b.finish(oldest, results)
	if b.store.Shared() {
		b.addTokens(oldest.tokens, results)
	}
}

// addTokens adds the tokens of recorded pings to the token set, which may lack
// tokens that another replica has created.
func (b *batcher) addTokens(tokens []string, results []store.PingResult) {
	for i, result := range results {
		if result == store.PingRecorded {
			b.tokens.add(store.ShortTokenHash(tokens[i]))
		}
	}
}
