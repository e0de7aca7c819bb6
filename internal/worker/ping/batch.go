package ping

import (
	"context"
	"log/slog"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/allswell/allswell/internal/domain/monitor"
	"github.com/allswell/allswell/internal/shared/failurelog"
	"github.com/allswell/allswell/internal/shared/trigger"
	"github.com/allswell/allswell/internal/store"
	"github.com/allswell/allswell/internal/store/pinghistory"
)

const (
	// maxBatch is the maximum number of tokens in one transaction.
	maxBatch = 2048

	// maxSignals is the maximum number of signals in one batch. A failure costs some twenty statements.
	maxSignals = 64

	// maxPending is the maximum number of pings waiting for a commit. Further pings are rejected immediately.
	maxPending = 8192

	// commitTimeout is how long the pings of a batch wait for its commit, counted from the arrival of the first one.
	// After that they are answered 503, although the batch may still be committed. The curl command that the program
	// prints gives up after 10 s, and has to receive the 503 and its Retry-After before.
	commitTimeout = 8 * time.Second

	// yields is how often the batcher yields before it takes a batch, so that clients that were just answered can send
	// their next ping. Larger transactions cost less per ping. On an idle server, yielding takes a microsecond.
	yields = 4
)

// batch is the pings and signals that are recorded together: the pings in one transaction, and then the signals in
// another one. A ping that follows a signal with the same token is in a later batch.
type batch struct {
	tokens    []string                     // of pings, without duplicates
	index     map[string]int               // token to index in tokens; nil once the batch is closed to further pings
	origins   store.PingOrigins            // of all pings, for the history
	clients   map[pinghistory.Client]int32 // to the index in origins
	signals   []store.NewSignal            // in the order of their arrival
	signalled map[string]struct{}          // tokens of signals
	// number of pings and signals; more than tokens and signals if some pings came twice
	pending   int
	arrived   time.Time // arrival of the first one
	ofPings   outcome
	ofSignals outcome
	timeout   *time.Timer // resolves the outcomes after commitTimeout
}

// outcome has the results of the pings or the signals of a batch.
type outcome struct {
	resolved sync.Once
	done     chan struct{}      // closed by resolve
	results  []store.PingResult // valid after done; nil if the outcome is unknown
}

// resolve sets the results and wakes the goroutines that wait for them. results is nil if the outcome is unknown. Only
// the first call has an effect.
func (o *outcome) resolve(results []store.PingResult) {
	o.resolved.Do(func() {
		o.results = results
		close(o.done)
	})
}

// giveUp resolves what is not resolved yet, with an unknown outcome.
func (b *batch) giveUp() {
	b.ofPings.resolve(nil)
	b.ofSignals.resolve(nil)
}

// slot is the position of a ping or signal in its batch.
type slot struct {
	*outcome
	i int
}

// wait waits until the outcome is known or ctx ends, and returns the result: PingFailed if it is unknown.
func (s slot) wait(ctx context.Context) store.PingResult {
	select {
	case <-s.done:
	case <-ctx.Done():
		return store.PingFailed
	}
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
	pending   int      // number of pings and signals in queue
	accepting bool
	due       trigger.Trigger // holds a value if there may be work

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
		due: trigger.New(), failures: failurelog.Log{
			Logger: log, Failing: "recording pings failed", Working: "recording pings again",
		},
	}
}

// join adds a ping that arrived at now from a client to the open batch. It returns false if too
// many pings are pending, or the batcher does not accept pings.
func (b *batcher) join(token string, client pinghistory.Client, now time.Time) (slot, bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if !b.accepting || b.pending >= b.maxPending {
		return slot{}, false
	}
	open := b.openBatch(now, token)
	i, ok := open.index[token]
	if !ok {
		i = len(open.tokens)
		open.tokens = append(open.tokens, token)
		open.index[token] = i
	}
	if b.store.KeepsPings() {
		open.addOrigin(i, client)
	}
	b.count(open, now)
	return slot{&open.ofPings, i}, true
}

// addOrigin adds who sent a ping. Clients are the same for many pings, so that a ping takes eight bytes.
func (b *batch) addOrigin(token int, client pinghistory.Client) {
	i, ok := b.clients[client]
	if !ok {
		if b.clients == nil {
			b.clients = make(map[pinghistory.Client]int32)
		}
		i = int32(len(b.origins.Clients))
		b.clients[client] = i
		client.UserAgent = userAgent(client.UserAgent)
		b.origins.Clients = append(b.origins.Clients, client)
	}
	b.origins.Pings = append(b.origins.Pings, store.PingOrigin{Token: int32(token), Client: i})
}

// joinSignal is join for a signal.
func (b *batcher) joinSignal(n store.NewSignal, now time.Time) (slot, bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if !b.accepting || b.pending >= b.maxPending {
		return slot{}, false
	}
	open := b.openBatch(now, "")
	if open.signalled == nil {
		open.signalled = make(map[string]struct{})
	}
	open.signalled[n.Token] = struct{}{}
	open.signals = append(open.signals, n)
	b.count(open, now)
	return slot{&open.ofSignals, len(open.signals) - 1}, true
}

// count counts a ping or signal that arrived at now and joined a batch. The caller holds b.mu.
func (b *batcher) count(open *batch, now time.Time) {
	if now.Before(open.arrived) {
		open.arrived = now
	}
	open.pending++
	b.pending++
}

// openBatch returns the last batch of the queue if it can take a ping with a token, or a signal
// if that is "", and a new batch otherwise. A batch that has used up half of commitTimeout takes no
// more: its new pings would time out too soon. The caller holds b.mu.
func (b *batcher) openBatch(now time.Time, token string) *batch {
	size := 16
	if n := len(b.queue); n > 0 {
		last := b.queue[n-1]
		if last.index != nil && len(last.tokens) < maxBatch && len(last.signals) < maxSignals &&
			now.Sub(last.arrived) < b.commitTimeout/2 {
			if _, before := last.signalled[token]; !before {
				return last
			}
		}
		size = len(last.tokens)
	}
	next := &batch{tokens: make([]string, 0, size), index: make(map[string]int, size), arrived: now}
	next.ofPings.done, next.ofSignals.done = make(chan struct{}), make(chan struct{})
	next.timeout = time.AfterFunc(b.commitTimeout, next.giveUp)
	b.queue = append(b.queue, next)
	b.due.Fire()
	return next
}

// take closes the oldest batch of the queue to further pings and returns it. It returns nil if the queue is empty.
func (b *batcher) take() (oldest *batch, accepting bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if len(b.queue) == 0 {
		return nil, b.accepting
	}
	b.queue[0].index = nil
	return b.queue[0], b.accepting
}

// finish removes the oldest batch from the queue.
func (b *batcher) finish(oldest *batch) {
	b.mu.Lock()
	b.queue[0] = nil
	b.queue = b.queue[1:]
	b.pending -= oldest.pending
	b.mu.Unlock()
	oldest.timeout.Stop()
}

// run writes batches and liveness records until pings are no longer accepted and the queue is empty. Then it writes the
// final liveness record. It does not cancel commits; the store has its own timeout for them.
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
		case <-b.due:
		case <-timer.C:
		}
	}
}

// record commits the pings of a batch together with a liveness record, and then its signals. If due
// is set, it saves rejected pings with the pings.
func (b *batcher) record(ctx context.Context, oldest *batch, due bool) {
	var results []store.PingResult
	err := b.transact(store.LivenessRecord{}, oldest, due, func(l store.LivenessRecord) (err error) {
		results, err = b.store.RecordPings(ctx, oldest.tokens, l, oldest.origins)
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
	if len(oldest.signals) > 0 {
		oldest.ofPings.resolve(results) // they need not wait for the signals
		b.recordSignals(ctx, oldest, err == nil)
	}
	b.finish(oldest)
	oldest.ofPings.resolve(results)
	if b.store.Shared() {
		b.addTokens(oldest.tokens, results)
	}
}

// recordSignals commits the signals of a batch and resolves them. They fail if the database could not record the pings
// before them. A success signal that is not recorded shows that the job is alive, as a ping does.
func (b *batcher) recordSignals(ctx context.Context, oldest *batch, working bool) {
	results := make([]store.PingResult, len(oldest.signals)) // PingFailed for all
	if working {
		began := time.Now()
		recorded, err := b.store.RecordSignals(ctx, oldest.signals)
		b.busy.Add(int64(time.Since(began)))
		if err != nil {
			b.failures.Failed(time.Now(), "error", err)
		} else {
			results = recorded
		}
	}
	for i, result := range results {
		switch n := oldest.signals[i]; {
		case result == store.PingFailed && n.Kind == monitor.SignalSuccess:
			b.reject(n.Token, oldest.arrived)
		case result == store.PingRecorded && b.store.Shared():
			b.tokens.add(hashOf(n.Token))
		}
	}
	oldest.ofSignals.resolve(results)
}

// hashOf returns the hash by which the token set knows a ping address: the hash of its token or of its ping key.
func hashOf(address string) uint64 {
	secret, _, _ := strings.Cut(address, "/")
	return store.ShortTokenHash(secret)
}

// addTokens adds the tokens of recorded pings to the token set, which may lack tokens that another replica has created.
func (b *batcher) addTokens(tokens []string, results []store.PingResult) {
	for i, result := range results {
		if result == store.PingRecorded {
			b.tokens.add(hashOf(tokens[i]))
		}
	}
}
