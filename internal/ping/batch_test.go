package ping

import (
	"context"
	"net/http"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/allswell/allswell"
	"github.com/allswell/allswell/internal/store"
	"github.com/allswell/allswell/internal/store/storetest"
)

// TestAnsweredAfterCommit: when the 200 is there, another connection to the
// database sees the ping.
func TestAnsweredAfterCommit(t *testing.T) {
	inWorlds(t, Config{}, func(w *world) {
		var monitors []allswell.Monitor
		for range 8 {
			monitors = append(monitors, w.newMonitor())
		}
		db := w.beside()
		var wg sync.WaitGroup
		for _, m := range monitors {
			wg.Go(func() {
				for range 5 {
					for _, text := range []string{`UPDATE monitors SET last_ping_at = NULL WHERE token = $1`, `UPDATE heard SET heard_at = NULL WHERE token = $1`} {
						if _, err := db.Exec(text, m.Token); err != nil {
							w.Error(err)
						}
					}
					if got := w.serve(request("POST", Path+m.Token, nil)); got.Code != http.StatusOK {
						w.Errorf("answered %d", got.Code)
					}
					var seen bool
					if err := db.QueryRow(`SELECT last_ping_at IS NOT NULL OR heard_at IS NOT NULL FROM monitors JOIN heard ON heard.token = monitors.token WHERE id = $1`, m.ID).Scan(&seen); err != nil || !seen {
						w.Errorf("answered 200, but another connection sees no ping (%v)", err)
					}
				}
			})
		}
		wg.Wait()
	})
}

// TestNotAnsweredBeforeCommit: while the transaction cannot commit, nobody is
// answered, and what came meanwhile shares one batch.
func TestNotAnsweredBeforeCommit(t *testing.T) {
	inWorlds(t, Config{}, func(w *world) {
		a, b, off := w.newMonitor().Token, w.newMonitor().Token, allswell.NewPingToken()
		release := w.stall()
		first := w.background(w.monitor.Token)
		w.until("the first batch is under way", w.committing)
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
		// The unknown token harms no other.
		if got, want := rest(), []int{200, 200, 200, 404, 200, 200}; !slices.Equal(got, want) {
			w.Errorf("the second batch: %v, want %v", got, want)
		}
		if w.waiting() != 0 || w.Backlog() != 0 {
			w.Errorf("%d still wait, backlog %s", w.waiting(), w.Backlog())
		}
	})
}

// committing reports whether a batch is under way.
func (w *world) committing() bool {
	w.batcher.mu.Lock()
	defer w.batcher.mu.Unlock()
	return len(w.batcher.queue) > 0 && w.batcher.queue[0].index == nil
}

// queue returns how many pings wait in each batch, and how many tokens each has.
func (w *world) queue() (pings, tokens []int) {
	w.batcher.mu.Lock()
	defer w.batcher.mu.Unlock()
	for _, b := range w.batcher.queue {
		pings, tokens = append(pings, b.pings), append(tokens, len(b.tokens))
	}
	return pings, tokens
}

// TestTooManyWaiting: above the cap the answer is 503 at once; the others are
// answered as usual.
func TestTooManyWaiting(t *testing.T) {
	if maxWaiting < 4096 {
		t.Errorf("only %d pings may wait", maxWaiting)
	}
	inWorlds(t, Config{}, func(w *world) {
		release := w.stall()
		first := w.background(w.monitor.Token)
		w.until("the first batch is under way", w.committing)
		rest := w.background(slices.Repeat([]string{w.monitor.Token}, maxWaiting-1)...)
		rec := w.serve(request("POST", Path+w.monitor.Token, nil))
		if rec.Code != 503 || rec.Header().Get("Retry-After") != "7" || rec.Body.String() != string(notNow.body) {
			w.Errorf("one too many: %d %s %v", rec.Code, rec.Body, rec.Header())
		}
		if _, any := w.batcher.refusals.oldest(true); !any {
			w.Error("the refusal of a valid ping was not remembered")
		}
		release()
		for _, got := range append(first(), rest()...) {
			if got != 200 {
				w.Fatalf("one of those that waited: %d", got)
			}
		}
		w.want(w.ping(w.monitor.Token), 200, okBody)
	})
}

// TestBatchesAreBounded: more tokens than a transaction takes go into the next.
func TestBatchesAreBounded(t *testing.T) {
	inWorlds(t, Config{}, func(w *world) {
		release := w.stall()
		first := w.background(w.monitor.Token)
		w.until("the first batch is under way", w.committing)
		tokens := make([]string, 2*maxBatch+1)
		for i := range tokens {
			tokens[i] = allswell.NewPingToken()
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

// TestGivesUpWaiting: the outcome is unknown, so 503; the ping stays.
func TestGivesUpWaiting(t *testing.T) {
	if patience != 8*time.Second {
		t.Errorf("patience is %s", patience)
	}
	storetest.Each(t, func(t *testing.T, dsn string) {
		w := newWorld(t, dsn, Config{})
		w.batcher.patience = time.Millisecond
		w.start()
		release := w.stall()
		w.want(w.ping(w.monitor.Token), 503, string(notNow.body))
		if w.waiting() != 1 || w.Backlog() <= 0 {
			w.Errorf("%d wait, backlog %s: the ping is gone", w.waiting(), w.Backlog())
		}
		release()
		w.until("recorded after all", func() bool { return w.waiting() == 0 })
		if w.now(w.monitor.ID).LastPingAt.IsZero() {
			w.Error("not recorded")
		}
	})
}

// TestNobodyJoinsLate: a ping gets half of the patience at least.
func TestNobodyJoinsLate(t *testing.T) {
	inWorlds(t, Config{}, func(w *world) {
		release := w.stall()
		first := w.background(w.monitor.Token)
		w.until("the first batch is under way", w.committing)
		now := time.Now()
		var places []place
		for _, at := range []time.Time{now, now.Add(patience/2 - 1), now.Add(patience / 2)} {
			p, ok := w.batcher.join(allswell.NewPingToken(), at)
			if !ok {
				w.Fatal("refused")
			}
			places = append(places, p)
		}
		if places[0].batch != places[1].batch || places[1].batch == places[2].batch {
			w.Error("joined too late, or left out too early")
		}
		release()
		first()
		for _, p := range places {
			if got := w.batcher.wait(p); got != store.PingUnknown {
				w.Errorf("%v", got)
			}
		}
	})
}

// TestClientThatLeaves does not take its ping along.
func TestClientThatLeaves(t *testing.T) {
	inWorlds(t, Config{}, func(w *world) {
		release := w.stall()
		ctx, leave := context.WithCancel(w.Context())
		gone := make(chan error)
		go func() {
			r := must(http.NewRequestWithContext(ctx, "POST", w.http.URL+Path+w.monitor.Token, nil))(w)
			_, err := w.http.Client().Do(r)
			gone <- err
		}()
		w.until("the ping waits", func() bool { return w.waiting() == 1 })
		leave()
		if err := <-gone; err == nil {
			w.Error("the client was answered")
		}
		release()
		w.until("recorded", func() bool { return !w.now(w.monitor.ID).LastPingAt.IsZero() })
	})
}

// TestFailedBatch: all of it is answered 503 and remembered; nothing of it is
// recorded; when the database works again, so do pings.
func TestFailedBatch(t *testing.T) {
	inWorlds(t, Config{}, func(w *world) {
		other := w.newMonitor()
		w.until("the tokens are known", w.loaded)
		mend := w.breakIt()
		for _, token := range []string{w.monitor.Token, other.Token} {
			got := w.ping(token)
			w.want(got, 503, string(notNow.body))
			if got.Header.Get("Retry-After") != "7" {
				w.Error(got.Header)
			}
		}
		w.want(w.ping(allswell.NewPingToken()), 503, string(notNow.body))
		if n := w.refused(); n != 2 {
			w.Errorf("%d refused tokens are remembered, want 2", n)
		}
		if w.Backlog() <= 0 {
			w.Error("what was refused and not saved is no backlog")
		}
		mend()
		w.want(w.ping(w.monitor.Token), 200, okBody)
		if m := w.now(other.ID); !m.LastPingAt.IsZero() {
			w.Errorf("a refused ping was recorded: %+v", m)
		}
		w.stop()
		if m := w.now(other.ID); m.RejectedAt.IsZero() {
			w.Error("the refusal was not saved")
		}
		if w.refused() != 0 || w.Backlog() != 0 {
			w.Errorf("%d are still remembered, backlog %s", w.refused(), w.Backlog())
		}
	})
}

func (w *world) loaded() bool {
	w.batcher.known.mu.RLock()
	defer w.batcher.known.mu.RUnlock()
	return w.batcher.known.loaded
}

// refused counts the refusals that are not saved.
func (w *world) refused() int {
	r := &w.batcher.refusals
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.pending) + len(r.saving)
}

// TestClose: the open batch is committed and answered, and the last beat
// written; after that the answer is 503.
func TestClose(t *testing.T) {
	inWorlds(t, Config{}, func(w *world) {
		if !w.Ready() {
			w.Error("not ready after the first beat")
		}
		release := w.stall()
		waiting := w.background(w.monitor.Token)
		w.until("the first batch is under way", w.committing)
		gathering := w.background(w.monitor.Token, allswell.NewPingToken())
		closed := make(chan error)
		go func() { closed <- w.Close(w.Context()) }()
		w.until("the door is closed", func() bool { return !w.Ready() })
		w.want(w.ping(w.monitor.Token), 503, string(notNow.body))
		release()
		if err := <-closed; err != nil {
			w.Error(err)
		}
		if got := append(waiting(), gathering()...); !slices.Equal(got, []int{200, 200, 404}) {
			w.Errorf("those that waited: %v", got)
		}
		if m := w.now(w.monitor.ID); m.LastPingAt.IsZero() || m.RejectedAt.IsZero() {
			w.Errorf("recorded %s, refusal saved %s", m.LastPingAt, m.RejectedAt)
		}
		w.want(w.ping(w.monitor.Token), 503, string(notNow.body))
		if err := w.Close(w.Context()); err != nil {
			w.Errorf("a second Close: %v", err)
		}
	})
}

// TestCloseInTime returns when its context ends, although the database stalls.
func TestCloseInTime(t *testing.T) {
	inWorlds(t, Config{}, func(w *world) {
		release := w.stall()
		ping := w.background(w.monitor.Token)
		ctx, cancel := context.WithCancel(w.Context())
		cancel()
		if err := w.Close(ctx); err == nil {
			w.Error("the last beat cannot have been committed")
		}
		release()
		if got := ping(); !slices.Equal(got, []int{200}) {
			w.Errorf("the one that waited: %v", got)
		}
	})
}

func TestBeforeStart(t *testing.T) {
	storetest.Each(t, func(t *testing.T, dsn string) {
		w := newWorld(t, dsn, Config{})
		if w.Ready() {
			w.Error("ready before the first beat")
		}
		w.want(w.ping(w.monitor.Token), 503, string(notNow.body))
		w.stop()
		mend := w.breakIt()
		if err := w.Start(w.Context(), w.store); err == nil || w.Ready() {
			w.Errorf("started without a beat: %v, ready %t", err, w.Ready())
		}
		w.want(w.ping(w.monitor.Token), 503, string(notNow.body))
		mend()
		w.start()
		w.want(w.ping(w.monitor.Token), 200, okBody)
	})
}
