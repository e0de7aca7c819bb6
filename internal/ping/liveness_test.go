package ping

import (
	"testing"
	"time"

	"github.com/allswell/allswell"
	"github.com/allswell/allswell/internal/store"
	"github.com/allswell/allswell/internal/store/storetest"
)

// count runs a statement that gives one number, beside the store.
func (w *world) count(query string) (n int64) {
	w.Helper()
	if err := w.beside().QueryRow(query).Scan(&n); err != nil {
		w.Fatal(err)
	}
	return n
}

// TestFirstBeat is durable when Start returns, says that it is the first, and
// so ends the hole since the last process.
func TestFirstBeat(t *testing.T) {
	storetest.Each(t, func(t *testing.T, dsn string) {
		w := newWorld(t, dsn, Config{})
		w.start()
		if n := w.count(`SELECT count(*) FROM beats WHERE replica = 'a'`); n != 1 {
			w.Errorf("%d beats", n)
		}
		w.want(w.ping(w.monitor.Token), 200, okBody)
		w.stop()
		if n := w.count(`SELECT count(*) FROM holes`); n != 0 {
			w.Errorf("%d holes while we listened", n)
		}
		must(w.beside().Exec(`UPDATE beats SET beat_at = beat_at - 10000`))(w)
		w.start()
		if n := w.count(`SELECT count(*) FROM holes`); n != 1 {
			w.Errorf("%d holes, want the one between the two processes", n)
		}
	})
}

// TestBeats come by themselves, with nobody pinging, and after a failure, too.
func TestBeats(t *testing.T) {
	if b := newBatcher("a", nil); b.beatEvery != 5*time.Second {
		t.Errorf("a beat every %s", b.beatEvery)
	}
	storetest.Each(t, func(t *testing.T, dsn string) {
		w := newWorld(t, dsn, Config{})
		w.batcher.beatEvery = time.Millisecond
		w.start()
		beaten := func() {
			t.Helper()
			at := w.count(`SELECT max(beat_at) FROM beats`)
			w.until("another beat", func() bool { return w.count(`SELECT max(beat_at) FROM beats`) > at })
		}
		beaten()
		mend := w.breakIt()
		w.until("the failure is in the log", func() bool { return w.log.has("pings cannot be recorded") })
		mend()
		beaten()
		w.until("its end is in the log", func() bool { return w.log.has("pings are recorded again") })
	})
}

// TestRefusalIsSaved: a valid ping that is refused for its address proves life,
// within one beat; an unknown token's does not.
func TestRefusalIsSaved(t *testing.T) {
	storetest.Each(t, func(t *testing.T, dsn string) {
		w := newWorld(t, dsn, Config{RateLimit: 1})
		old := w.newMonitor()
		rotated := must(w.store.RotateMonitor(w.Context(), w.ws, old.ID))(w)
		if rotated.Token == old.Token {
			t.Fatal("not rotated")
		}
		w.start()
		w.until("the tokens are known", w.loaded)
		made := w.newMonitor() // after the tokens were loaded
		w.want(w.ping(w.monitor.Token), 200, okBody)
		for _, token := range []string{w.monitor.Token, old.Token, made.Token, allswell.NewPingToken(), "nonsense"} {
			if got := w.ping(token); got.StatusCode != 429 {
				w.Errorf("%d, want 429", got.StatusCode)
			}
		}
		if got := w.send("PUT", Path+w.monitor.Token, nil); got.StatusCode != 429 {
			w.Errorf("%d, want 429", got.StatusCode)
		}
		if n := w.refused(); n != 3 {
			w.Errorf("%d refusals are remembered, want those of the three valid tokens", n)
		}
		if w.Backlog() <= 0 {
			w.Error("no tick may judge past what is not saved")
		}
		w.stop() // the last beat
		for _, m := range []allswell.Monitor{w.monitor, old, made} {
			if now := w.now(m.ID); now.RejectedAt.IsZero() {
				w.Errorf("the refusal was not saved: %+v", now)
			}
		}
		if now := w.now(old.ID); !now.LastPingAt.IsZero() {
			w.Errorf("a refused ping was recorded: %+v", now)
		}
	})
}

// TestRefusalIsSavedWithTheNextBeat, not only with the last.
func TestRefusalIsSavedWithTheNextBeat(t *testing.T) {
	storetest.Each(t, func(t *testing.T, dsn string) {
		w := newWorld(t, dsn, Config{RateLimit: 1})
		w.batcher.beatEvery = time.Millisecond
		w.start()
		w.want(w.ping(w.monitor.Token), 200, okBody)
		if got := w.ping(w.monitor.Token); got.StatusCode != 429 {
			w.Errorf("%d, want 429", got.StatusCode)
		}
		w.until("the refusal is saved", func() bool { return !w.now(w.monitor.ID).RejectedAt.IsZero() })
	})
}

// TestLearnsFromRecordedPings: a token that another replica made is known once
// it was recorded here. On SQLite there is no other.
func TestLearnsFromRecordedPings(t *testing.T) {
	inWorlds(t, Config{}, func(w *world) {
		if !w.store.Shared() {
			return
		}
		w.until("the tokens are known", w.loaded)
		foreign := allswell.NewPingToken()
		must(w.beside().Exec(`UPDATE monitors SET token = $1 WHERE id = $2`, foreign, w.monitor.ID))(w)
		w.batcher.refuse(foreign, time.Now())
		if w.refused() != 0 {
			w.Fatal("known without ever having been seen")
		}
		w.want(w.ping(foreign), 200, okBody)
		w.want(w.ping(allswell.NewPingToken()), 404, notFoundBody)
		w.until("learned", func() bool { return w.batcher.known.has(store.ShortTokenHash(foreign)) })
		if w.batcher.known.has(store.ShortTokenHash(allswell.NewPingToken())) {
			w.Error("any token is known")
		}
	})
}

// TestBacklog is about instants alone.
func TestBacklog(t *testing.T) {
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	ago := func(s int) time.Time { return now.Add(-time.Duration(s) * time.Second) }
	underWay, gathering := &batch{came: ago(9)}, &batch{came: ago(4)}
	for name, c := range map[string]struct {
		queue                []*batch
		pending, saving      time.Time
		all, othersThanBatch int // seconds
	}{
		"nothing":                     {all: 0, othersThanBatch: 0},
		"a batch under way":           {queue: []*batch{underWay}, all: 9, othersThanBatch: 0},
		"and one that gathers":        {queue: []*batch{underWay, gathering}, all: 9, othersThanBatch: 4},
		"a refusal":                   {pending: ago(7), all: 7, othersThanBatch: 7},
		"a refusal in this beat":      {saving: ago(7), all: 7, othersThanBatch: 0},
		"older ones in this beat":     {saving: ago(7), pending: ago(2), all: 7, othersThanBatch: 2},
		"a refusal younger than that": {queue: []*batch{underWay, gathering}, pending: ago(2), all: 9, othersThanBatch: 4},
	} {
		b := batcher{queue: c.queue}
		if !c.saving.IsZero() {
			b.refusals.add("saving", c.saving)
			b.refusals.take()
		}
		if !c.pending.IsZero() {
			b.refusals.add("pending", c.pending)
		}
		all, others := b.backlog(now, nil, true), b.backlog(now, underWay, false)
		if all != time.Duration(c.all)*time.Second || others != time.Duration(c.othersThanBatch)*time.Second {
			t.Errorf("%s: %s and %s, want %d s and %d s", name, all, others, c.all, c.othersThanBatch)
		}
	}
}

func TestReady(t *testing.T) {
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	b := batcher{open: true, committed: now}
	if !b.ready(now) || !b.ready(now.Add(15*time.Second-1)) || b.ready(now.Add(15*time.Second)) {
		t.Error("a commit shows for 15 s that pings can be recorded")
	}
	if b.open = false; b.ready(now) {
		t.Error("ready with the door closed")
	}
}

// TestBacklogCountsWhatIsBeingSaved: a tick that runs while a beat saves
// refusals must not take their jobs for silent. The exported method is the one
// that ticks ask.
func TestBacklogCountsWhatIsBeingSaved(t *testing.T) {
	s := &Server{batcher: new(batcher)}
	s.batcher.refusals.add("token", time.Now().Add(-time.Minute))
	s.batcher.refusals.take()
	if got := s.Backlog(); got < time.Minute {
		t.Errorf("backlog %s while a refusal of a minute ago is being saved", got)
	}
}

// TestNotReadyWhileCommitsFail: a batch that failed is no sign of life.
func TestNotReadyWhileCommitsFail(t *testing.T) {
	inWorlds(t, Config{}, func(w *world) {
		w.want(w.ping(w.monitor.Token), 200, okBody)
		if !w.batcher.ready(time.Now()) {
			w.Fatal("not ready after a commit")
		}
		other := w.newMonitor()
		mend := w.breakIt()
		fail := func() {
			if got := w.ping(other.Token); got.StatusCode != 503 {
				w.Errorf("a ping that cannot be recorded: %d", got.StatusCode)
			}
		}
		fail()
		failing := time.Now() // the last commit returned before
		fail()
		if w.batcher.ready(failing.Add(readyFor)) {
			w.Error("ready 15 s after the last commit, because of one that failed")
		}
		mend()
		w.want(w.ping(other.Token), 200, okBody)
		if !w.batcher.ready(failing.Add(readyFor)) {
			w.Error("not ready after a commit")
		}
	})
}
