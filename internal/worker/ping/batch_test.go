package ping

import (
	"context"
	"net/http"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/allswell/allswell/internal/domain/kernel"
	"github.com/allswell/allswell/internal/domain/monitor"
	"github.com/allswell/allswell/internal/store"
	"github.com/allswell/allswell/internal/store/pinghistory"
	"github.com/allswell/allswell/internal/store/storetest"
)

// TestAnsweredAfterCommit checks that another database connection sees the ping as
// soon as the 200 has arrived.
func TestAnsweredAfterCommit(t *testing.T) {
	t.Parallel()
	onEachEngine(t, Config{}, func(w *testServer) {
		var monitors []monitor.Monitor
		for range 8 {
			monitors = append(monitors, w.newMonitor())
		}
		db := w.beside()
		var wg sync.WaitGroup
		for _, m := range monitors {
			wg.Go(func() {
				for range 5 {
					for _, text := range []string{
						`UPDATE monitors SET last_ping_at = NULL WHERE token = $1`,
						`UPDATE last_pings SET pinged_at = NULL WHERE token = $1`,
					} {
						if _, err := db.Exec(text, m.Token); err != nil {
							w.Error(err)
						}
					}
					if got := w.serve(request("POST", Path+m.Token, nil)); got.Code != http.StatusOK {
						w.Errorf("answered %d", got.Code)
					}
					var seen bool
					err := db.QueryRow(`SELECT last_ping_at IS NOT NULL OR pinged_at IS NOT NULL FROM monitors
							JOIN last_pings ON last_pings.token = monitors.token WHERE id = $1`, m.ID).Scan(&seen)
					if err != nil || !seen {
						w.Errorf("answered 200, but another connection sees no ping (%v)", err)
					}
				}
			})
		}
		wg.Wait()
	})
}

// TestNotAnsweredBeforeCommit checks that no ping is answered while the transaction cannot commit, and that
// the pings that arrive meanwhile share one batch.
func TestNotAnsweredBeforeCommit(t *testing.T) {
	t.Parallel()
	onEachEngine(t, Config{}, func(w *testServer) {
		a, b, off := w.newMonitor().Token, w.newMonitor().Token, kernel.NewPingToken()
		release := w.blockCommits()
		first := w.background(w.monitor.Token)
		w.until("the first batch is being committed", w.committing)
		rest := w.background(a, b, a, off, w.monitor.Token, a)
		if pings, tokens := w.queue(); len(pings) != 2 || tokens[1] != 4 || pings[1] != 6 {
			w.Errorf("the queue: %v pings, %v tokens", pings, tokens)
		}
		if w.now(w.monitor.ID).LastPingAt != (time.Time{}) {
			w.Error("recorded although the transaction cannot commit")
		}
		release()
		if got := first(); !slices.Equal(got, []int{200}) {
			w.Errorf("the first batch: %v", got)
		}
		// The unknown token does not affect the other pings.
		if got, want := rest(), []int{200, 200, 200, 404, 200, 200}; !slices.Equal(got, want) {
			w.Errorf("the second batch: %v, want %v", got, want)
		}
		if w.pending() != 0 || w.Backlog() != 0 {
			w.Errorf("%d still pending, backlog %s", w.pending(), w.Backlog())
		}
	})
}

// committing reports whether a batch is being committed.
func (w *testServer) committing() bool {
	w.batcher.mu.Lock()
	defer w.batcher.mu.Unlock()
	return len(w.batcher.queue) > 0 && w.batcher.queue[0].index == nil
}

// queue returns the number of pings and of tokens of each batch.
func (w *testServer) queue() (pings, tokens []int) {
	w.batcher.mu.Lock()
	defer w.batcher.mu.Unlock()
	for _, b := range w.batcher.queue {
		pings, tokens = append(pings, b.pending), append(tokens, len(b.tokens))
	}
	return pings, tokens
}

// TestTooManyPending checks that a ping over maxPending is answered 503 immediately, and the others as usual.
func TestTooManyPending(t *testing.T) {
	t.Parallel()
	if maxPending < 4096 {
		t.Errorf("only %d pings may be pending", maxPending)
	}
	onEachEngine(t, Config{}, func(w *testServer) {
		release := w.blockCommits()
		first := w.background(w.monitor.Token)
		w.until("the first batch is being committed", w.committing)
		rest := w.background(slices.Repeat([]string{w.monitor.Token}, maxPending-1)...)
		rec := w.serve(request("POST", Path+w.monitor.Token, nil))
		if rec.Code != 503 || rec.Header().Get("Retry-After") != "7" || rec.Body.String() != string(unavailable.body) {
			w.Errorf("one too many: %d %s %v", rec.Code, rec.Body, rec.Header())
		}
		if _, any := w.batcher.rejected.oldest(true); !any {
			w.Error("the rejected ping was not kept")
		}
		release()
		for _, got := range append(first(), rest()...) {
			if got != 200 {
				w.Fatalf("a pending ping: %d", got)
			}
		}
		w.want(w.ping(w.monitor.Token), 200, okBody)
	})
}

// TestBatchesAreBounded checks that tokens over maxBatch go into the next batch.
func TestBatchesAreBounded(t *testing.T) {
	t.Parallel()
	onEachEngine(t, Config{}, func(w *testServer) {
		release := w.blockCommits()
		first := w.background(w.monitor.Token)
		w.until("the first batch is being committed", w.committing)
		tokens := make([]string, 2*maxBatch+1)
		for i := range tokens {
			tokens[i] = kernel.NewPingToken()
		}
		tokens[0], tokens[maxBatch], tokens[2*maxBatch] = w.monitor.Token, w.monitor.Token, w.monitor.Token
		rest := w.background(tokens...)
		_, sizes := w.queue()
		for i, size := range sizes {
			if size > maxBatch {
				w.Errorf("batch %d has %d tokens", i, size)
			}
		}
		if n := len(sizes); n != 3 && n != 4 {
			w.Errorf("%d batches", n)
		}
		release()
		for i, got := range append(rest(), first()...) {
			want := 404
			if i%maxBatch == 0 || i == len(tokens) {
				want = 200
			}
			if got != want {
				w.Fatalf("ping %d: %d, want %d", i, got, want)
			}
		}
	})
}

// TestCommitTimeout checks that a ping is answered 503 after commitTimeout, and is
// still recorded later.
func TestCommitTimeout(t *testing.T) {
	t.Parallel()
	if commitTimeout != 8*time.Second {
		t.Errorf("commitTimeout is %s", commitTimeout)
	}
	storetest.Each(t, func(t *testing.T, dsn string) {
		w := newTestServer(t, dsn, Config{})
		w.batcher.commitTimeout = time.Millisecond
		w.start()
		release := w.blockCommits()
		w.want(w.ping(w.monitor.Token), 503, string(unavailable.body))
		if w.pending() != 1 || w.Backlog() <= 0 {
			w.Errorf("%d pending, backlog %s: the ping was dropped", w.pending(), w.Backlog())
		}
		release()
		w.until("recorded after all", func() bool { return w.pending() == 0 })
		if w.now(w.monitor.ID).LastPingAt.IsZero() {
			w.Error("the ping was not recorded")
		}
	})
}

// TestBatchClosesBeforeItsTimeout checks that each ping waits for at least half of
// commitTimeout.
func TestBatchClosesBeforeItsTimeout(t *testing.T) {
	t.Parallel()
	onEachEngine(t, Config{}, func(w *testServer) {
		release := w.blockCommits()
		first := w.background(w.monitor.Token)
		w.until("the first batch is being committed", w.committing)
		now := time.Now()
		var slots []slot
		for _, at := range []time.Time{now, now.Add(commitTimeout/2 - 1), now.Add(commitTimeout / 2)} {
			p, ok := w.batcher.join(kernel.NewPingToken(), pinghistory.Client{}, at)
			if !ok {
				w.Fatal("refused")
			}
			slots = append(slots, p)
		}
		if slots[0].outcome != slots[1].outcome || slots[1].outcome == slots[2].outcome {
			w.Error("the batch was closed too late or too early")
		}
		release()
		first()
		for _, p := range slots {
			if got := p.wait(t.Context()); got != store.PingUnknown {
				w.Errorf("ping of the batch: %v", got)
			}
		}
	})
}

// TestClientDisconnects checks that the ping of a client that disconnects is recorded.
func TestClientDisconnects(t *testing.T) {
	t.Parallel()
	onEachEngine(t, Config{}, func(w *testServer) {
		release := w.blockCommits()
		ctx, leave := context.WithCancel(w.Context())
		gone := make(chan error)
		go func() {
			r := must(http.NewRequestWithContext(ctx, "POST", w.http.URL+Path+w.monitor.Token, nil))(w)
			_, err := w.http.Client().Do(r)
			gone <- err
		}()
		w.until("the ping waits", func() bool { return w.pending() == 1 })
		leave()
		if err := <-gone; err == nil {
			w.Error("the client was answered")
		}
		release()
		w.until("recorded", func() bool { return !w.now(w.monitor.ID).LastPingAt.IsZero() })
	})
}

// TestFailedBatch checks that all pings of a failed batch are answered 503 and kept as
// rejected pings, and that pings work again when the database does.
func TestFailedBatch(t *testing.T) {
	t.Parallel()
	onEachEngine(t, Config{}, func(w *testServer) {
		other := w.newMonitor()
		w.until("the tokens are loaded", w.tokensLoaded)
		repair := w.breakDatabase()
		for _, token := range []string{w.monitor.Token, other.Token} {
			got := w.ping(token)
			w.want(got, 503, string(unavailable.body))
			if got.Header.Get("Retry-After") != "7" {
				w.Errorf("headers: %+v", got.Header)
			}
		}
		w.want(w.ping(kernel.NewPingToken()), 503, string(unavailable.body))
		if n := w.rejectedCount(); n != 2 {
			w.Errorf("%d rejected tokens are kept, want 2", n)
		}
		if w.Backlog() <= 0 {
			w.Error("the unsaved rejected pings are not part of the backlog")
		}
		repair()
		w.want(w.ping(w.monitor.Token), 200, okBody)
		if m := w.now(other.ID); !m.LastPingAt.IsZero() {
			w.Errorf("a rejected ping was recorded: %+v", m)
		}
		w.stop()
		if m := w.now(other.ID); m.RejectedAt.IsZero() {
			w.Error("the rejected ping was not saved")
		}
		if w.rejectedCount() != 0 || w.Backlog() != 0 {
			w.Errorf("%d are still kept, backlog %s", w.rejectedCount(), w.Backlog())
		}
	})
}

func (w *testServer) tokensLoaded() bool {
	w.batcher.tokens.mu.RLock()
	defer w.batcher.tokens.mu.RUnlock()
	return w.batcher.tokens.loaded
}

// rejectedCount returns the number of rejected pings that are not saved.
func (w *testServer) rejectedCount() int {
	r := &w.batcher.rejected
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.pending) + len(r.saving)
}

// TestClose checks that Close commits and answers the open batch and writes a final
// liveness record, and that later pings are answered 503.
func TestClose(t *testing.T) {
	t.Parallel()
	onEachEngine(t, Config{}, func(w *testServer) {
		if !w.Ready() {
			w.Error("not ready after the first liveness record")
		}
		release := w.blockCommits()
		waiting := w.background(w.monitor.Token)
		w.until("the first batch is being committed", w.committing)
		open := w.background(w.monitor.Token, kernel.NewPingToken())
		closed := make(chan error)
		go func() { closed <- w.Close(w.Context()) }()
		w.until("pings are rejected", func() bool { return !w.Ready() })
		w.want(w.ping(w.monitor.Token), 503, string(unavailable.body))
		release()
		if err := <-closed; err != nil {
			w.Error(err)
		}
		if got := append(waiting(), open()...); !slices.Equal(got, []int{200, 200, 404}) {
			w.Errorf("the pending pings: %v", got)
		}
		if m := w.now(w.monitor.ID); m.LastPingAt.IsZero() || m.RejectedAt.IsZero() {
			w.Errorf("recorded %s, rejected ping saved %s", m.LastPingAt, m.RejectedAt)
		}
		w.want(w.ping(w.monitor.Token), 503, string(unavailable.body))
		if err := w.Close(w.Context()); err != nil {
			w.Errorf("a second Close: %v", err)
		}
	})
}

// TestCloseTimeout checks that Close returns when its context ends, although the
// database blocks.
func TestCloseTimeout(t *testing.T) {
	t.Parallel()
	onEachEngine(t, Config{}, func(w *testServer) {
		release := w.blockCommits()
		ping := w.background(w.monitor.Token)
		ctx, cancel := context.WithCancel(w.Context())
		cancel()
		if err := w.Close(ctx); err == nil {
			w.Error("the final liveness record cannot have been committed")
		}
		release()
		if got := ping(); !slices.Equal(got, []int{200}) {
			w.Errorf("the pending ping: %v", got)
		}
	})
}

func TestBeforeStart(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, dsn string) {
		w := newTestServer(t, dsn, Config{})
		if w.Ready() {
			w.Error("ready before the first liveness record")
		}
		w.want(w.ping(w.monitor.Token), 503, string(unavailable.body))
		w.stop()
		repair := w.breakDatabase()
		if err := w.Start(w.Context(), w.store); err == nil || w.Ready() {
			w.Errorf("started without a liveness record: %v, ready %t", err, w.Ready())
		}
		w.want(w.ping(w.monitor.Token), 503, string(unavailable.body))
		repair()
		w.start()
		w.want(w.ping(w.monitor.Token), 200, okBody)
	})
}

// TestBusy checks that the time of transactions is counted.
func TestBusy(t *testing.T) {
	t.Parallel()
	onEachEngine(t, Config{}, func(w *testServer) {
		before := w.Busy()
		w.want(w.ping(w.monitor.Token), 200, okBody)
		if w.Busy() <= before {
			w.Error("a transaction took no time")
		}
	})
}

// TestWaitEndsWithItsContext: the wait for a commit is part of a first contact, and ends with its deadline.
func TestWaitEndsWithItsContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	never := slot{&outcome{done: make(chan struct{})}, 0}
	if got := never.wait(ctx); got != store.PingFailed {
		t.Errorf("result after the end of the context: %v, want failed", got)
	}
}
