package ping

import (
	"testing"
	"time"

	"github.com/allswell/allswell/internal/domain/kernel"
	"github.com/allswell/allswell/internal/domain/monitor"
	"github.com/allswell/allswell/internal/store"
	"github.com/allswell/allswell/internal/store/storetest"
)

// count runs a query that returns one number, on a connection outside of the store.
func (w *testServer) count(query string) (n int64) {
	w.Helper()
	if err := w.beside().QueryRow(query).Scan(&n); err != nil {
		w.Fatal(err)
	}
	return n
}

// TestFirstLivenessRecord checks that the first liveness record is durable when Start
// returns, and ends the listening gap since the last process.
func TestFirstLivenessRecord(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, dsn string) {
		w := newTestServer(t, dsn, Config{})
		w.start()
		if n := w.count(`SELECT count(*) FROM liveness WHERE replica = 'a'`); n != 1 {
			w.Errorf("%d liveness records", n)
		}
		w.want(w.ping(w.monitor.Token), 200, okBody)
		w.stop()
		if n := w.count(`SELECT count(*) FROM listening_gaps`); n != 0 {
			w.Errorf("%d gaps while pings were received", n)
		}
		must(w.beside().Exec(`UPDATE liveness SET seen_at = seen_at - 10000`))(w)
		w.start()
		if n := w.count(`SELECT count(*) FROM listening_gaps`); n != 1 {
			w.Errorf("%d gaps, want the one between the two processes", n)
		}
	})
}

// TestLivenessRecords checks that liveness records are written without any pings, and
// again after a failure.
func TestLivenessRecords(t *testing.T) {
	t.Parallel()
	if b := newBatcher("a", nil); b.livenessInterval != 5*time.Second {
		t.Errorf("a liveness record every %s", b.livenessInterval)
	}
	storetest.Each(t, func(t *testing.T, dsn string) {
		w := newTestServer(t, dsn, Config{})
		w.batcher.livenessInterval = time.Millisecond
		w.start()
		awaitRecord := func() {
			t.Helper()
			at := w.count(`SELECT max(seen_at) FROM liveness`)
			w.until("another liveness record", func() bool { return w.count(`SELECT max(seen_at) FROM liveness`) > at })
		}
		awaitRecord()
		repair := w.breakDatabase()
		w.until("the failure is in the log", func() bool { return w.log.has("recording pings failed") })
		repair()
		awaitRecord()
		w.until("its end is in the log", func() bool { return w.log.has("recording pings again") })
	})
}

// TestRejectionIsSaved checks that a valid ping over the rate limit is saved as
// rejected with the next liveness record, and a ping with an unknown token is not.
func TestRejectionIsSaved(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, dsn string) {
		w := newTestServer(t, dsn, Config{RateLimit: 1})
		old := w.newMonitor()
		rotated := must(w.store.RotateMonitor(w.Context(), w.ws, old.ID))(w)
		if rotated.Token == old.Token {
			t.Fatal("the token was not rotated")
		}
		w.start()
		w.until("the tokens are loaded", w.tokensLoaded)
		made := w.newMonitor() // after the tokens were loaded
		w.want(w.ping(w.monitor.Token), 200, okBody)
		for _, token := range []string{w.monitor.Token, old.Token, made.Token, kernel.NewPingToken(), "nonsense"} {
			if got := w.ping(token); got.StatusCode != 429 {
				w.Errorf("status of a ping over the limit: %d, want 429", got.StatusCode)
			}
		}
		if got := w.send("PUT", Path+w.monitor.Token, nil); got.StatusCode != 429 {
			w.Errorf("status of PUT over the limit: %d, want 429", got.StatusCode)
		}
		if n := w.rejectedCount(); n != 3 {
			w.Errorf("%d rejected pings are kept, want those of the three valid tokens", n)
		}
		if w.Backlog() <= 0 {
			w.Error("an unsaved rejected ping is not part of the backlog")
		}
		w.stop() // writes the final liveness record
		for _, m := range []monitor.Monitor{w.monitor, old, made} {
			if now := w.now(m.ID); now.RejectedAt.IsZero() {
				w.Errorf("the rejected ping was not saved: %+v", now)
			}
		}
		if now := w.now(old.ID); !now.LastPingAt.IsZero() {
			w.Errorf("a rejected ping was recorded: %+v", now)
		}
	})
}

// TestRejectionIsSavedWithTheNextLivenessRecord checks that saving does not wait for Close.
func TestRejectionIsSavedWithTheNextLivenessRecord(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, dsn string) {
		w := newTestServer(t, dsn, Config{RateLimit: 1})
		w.batcher.livenessInterval = time.Millisecond
		w.start()
		w.want(w.ping(w.monitor.Token), 200, okBody)
		if got := w.ping(w.monitor.Token); got.StatusCode != 429 {
			w.Errorf("status of a second ping: %d, want 429", got.StatusCode)
		}
		w.until("the rejected ping is saved", func() bool { return !w.now(w.monitor.ID).RejectedAt.IsZero() })
	})
}

// TestAddsTokensOfRecordedPings checks that the token set learns tokens of other
// replicas from recorded pings. SQLite has only one replica.
func TestAddsTokensOfRecordedPings(t *testing.T) {
	t.Parallel()
	onEachEngine(t, Config{}, func(w *testServer) {
		if !w.store.Shared() {
			return
		}
		w.until("the tokens are loaded", w.tokensLoaded)
		foreign := kernel.NewPingToken()
		must(w.beside().Exec(`UPDATE monitors SET token = $1 WHERE id = $2`, foreign, w.monitor.ID))(w)
		w.batcher.reject(foreign, time.Now())
		if w.rejectedCount() != 0 {
			w.Fatal("the token is in the set before its first ping")
		}
		w.want(w.ping(foreign), 200, okBody)
		w.want(w.ping(kernel.NewPingToken()), 404, notFoundBody)
		w.until("the token is in the set", func() bool { return w.batcher.tokens.has(store.ShortTokenHash(foreign)) })
		if w.batcher.tokens.has(store.ShortTokenHash(kernel.NewPingToken())) {
			w.Error("an unknown token is in the set")
		}
	})
}

func TestBacklog(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	ago := func(s int) time.Time { return now.Add(-time.Duration(s) * time.Second) }
	committing, open := &batch{arrived: ago(9)}, &batch{arrived: ago(4)}
	for name, c := range map[string]struct {
		queue                []*batch
		pending, saving      time.Time
		all, othersThanBatch int // seconds
	}{
		"nothing":                 {all: 0, othersThanBatch: 0},
		"a batch being committed": {queue: []*batch{committing}, all: 9, othersThanBatch: 0},
		"and an open batch":       {queue: []*batch{committing, open}, all: 9, othersThanBatch: 4},
		"a rejected ping":         {pending: ago(7), all: 7, othersThanBatch: 7},
		"one being saved":         {saving: ago(7), all: 7, othersThanBatch: 0},
		"older ones being saved":  {saving: ago(7), pending: ago(2), all: 7, othersThanBatch: 2},
		"a younger rejected ping": {queue: []*batch{committing, open}, pending: ago(2), all: 9, othersThanBatch: 4},
	} {
		b := batcher{queue: c.queue}
		if !c.saving.IsZero() {
			b.rejected.add("saving", c.saving)
			b.rejected.take()
		}
		if !c.pending.IsZero() {
			b.rejected.add("pending", c.pending)
		}
		all, others := b.backlog(now, nil, true), b.backlog(now, committing, false)
		if all != time.Duration(c.all)*time.Second || others != time.Duration(c.othersThanBatch)*time.Second {
			t.Errorf("%s: %s and %s, want %d s and %d s", name, all, others, c.all, c.othersThanBatch)
		}
	}
}

func TestReady(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	b := batcher{accepting: true, committed: now}
	if !b.ready(now) || !b.ready(now.Add(15*time.Second-1)) || b.ready(now.Add(15*time.Second)) {
		t.Error("the server must be ready for 15 s after a commit")
	}
	if b.accepting = false; b.ready(now) {
		t.Error("ready although it rejects pings")
	}
}

// TestBacklogIncludesPingsBeingSaved checks that a tick that runs while rejected pings are being saved does not
// count their jobs as silent. Ticks call the exported method.
func TestBacklogIncludesPingsBeingSaved(t *testing.T) {
	s := &Server{batcher: new(batcher)}
	s.batcher.rejected.add("token", time.Now().Add(-time.Minute))
	s.batcher.rejected.take()
	if got := s.Backlog(); got < time.Minute {
		t.Errorf("backlog %s while a ping rejected a minute ago is being saved", got)
	}
}

// TestNotReadyWhileCommitsFail checks that a failed commit does not count for Ready.
func TestNotReadyWhileCommitsFail(t *testing.T) {
	t.Parallel()
	onEachEngine(t, Config{}, func(w *testServer) {
		w.want(w.ping(w.monitor.Token), 200, okBody)
		if !w.batcher.ready(time.Now()) {
			w.Fatal("not ready after a commit")
		}
		other := w.newMonitor()
		repair := w.breakDatabase()
		fail := func() {
			if got := w.ping(other.Token); got.StatusCode != 503 {
				w.Errorf("a ping that cannot be recorded: %d", got.StatusCode)
			}
		}
		fail()
		failing := time.Now() // after the last successful commit
		fail()
		if w.batcher.ready(failing.Add(readyFor)) {
			w.Error("ready 15 s after the last commit, because of one that failed")
		}
		repair()
		w.want(w.ping(other.Token), 200, okBody)
		if !w.batcher.ready(failing.Add(readyFor)) {
			w.Error("not ready after a commit")
		}
	})
}
