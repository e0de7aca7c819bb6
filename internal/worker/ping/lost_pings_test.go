package ping

import (
	"slices"
	"testing"
	"time"

	"github.com/allswell/allswell/internal/domain/kernel"
	"github.com/allswell/allswell/internal/store"
	"pgregory.net/rapid"
)

// TestLostPingsStopLiveness checks that no liveness record is written while pings are
// being lost, although others are recorded, that the time is saved as one listening
// gap, and that liveness records continue afterwards.
func TestLostPingsStopLiveness(t *testing.T) {
	t.Parallel()
	onEachEngine(t, Config{}, func(w *testServer) {
		w.NoteLost()
		if !w.LosingPings() {
			t.Fatal("not losing pings after a loss")
		}
		w.until("the gap is saved", func() bool { return w.count(`SELECT count(*) FROM listening_gaps`) == 1 })
		last := w.count(`SELECT max(seen_at) FROM liveness`)
		first := w.count(`SELECT max(to_at) FROM listening_gaps`)
		w.until("the gap is extended", func() bool {
			w.NoteLost()
			w.want(w.ping(w.monitor.Token), 200, okBody)
			return w.count(`SELECT max(to_at) FROM listening_gaps`) > first
		})
		if w.count(`SELECT count(*) FROM listening_gaps`) != 1 {
			t.Error("continuous losses are more than one gap")
		}
		if now := w.count(`SELECT max(seen_at) FROM liveness`); now != last {
			t.Errorf("a liveness record %d ms after the loss", now-last)
		}
		w.until("it is over", func() bool {
			return !w.LosingPings() && w.count(`SELECT max(seen_at) FROM liveness`) > last
		})
	})
}

// TestLostPingsCountForAllReplicas checks that the gap of one replica is saved although
// another one has received pings all the time.
func TestLostPingsCountForAllReplicas(t *testing.T) {
	t.Parallel()
	onEachEngine(t, Config{}, func(w *testServer) {
		losingPings := store.LivenessRecord{Replica: "loses", Lost: time.Minute, LosingPings: true}
		if err := w.store.RecordLiveness(t.Context(), losingPings); err != nil {
			t.Fatal(err)
		}
		w.want(w.ping(w.monitor.Token), 200, okBody)
		if n := w.count(`SELECT max(to_at - from_at) FROM listening_gaps`); n < 60_000 {
			t.Errorf("a gap of %d ms, want a minute", n)
		}
		if n := w.count(`SELECT count(*) FROM liveness WHERE replica = 'loses'`); n != 0 {
			t.Error("the replica that loses pings has a liveness record")
		}
	})
}

// TestUnqueuedPingIsLost checks that a ping that finds no room in the queue stops the
// liveness records: its token may be known to another replica only.
func TestUnqueuedPingIsLost(t *testing.T) {
	t.Parallel()
	onEachEngine(t, Config{}, func(w *testServer) {
		w.batcher.mu.Lock()
		w.batcher.maxPending = 0
		w.batcher.mu.Unlock()
		if got := w.ping(w.monitor.Token); got.StatusCode != 503 {
			t.Errorf("status of a ping without room: %d, want 503", got.StatusCode)
		}
		if !w.LosingPings() {
			t.Error("not losing pings after a ping found no room")
		}
	})
}

// TestGiveUp checks that GiveUp answers pings whose commit blocks.
func TestGiveUp(t *testing.T) {
	t.Parallel()
	onEachEngine(t, Config{}, func(w *testServer) {
		release := w.blockCommits()
		defer release()
		statuses := w.background(w.monitor.Token, kernel.NewPingToken())
		w.until("they are pending", func() bool { return w.pending() == 2 })
		w.GiveUp()
		for _, status := range statuses() {
			if status != 503 {
				t.Errorf("status after GiveUp: %d, want 503", status)
			}
		}
		if got := w.ping(w.monitor.Token); got.StatusCode != 503 {
			t.Errorf("after it: %d, want 503", got.StatusCode)
		}
	})
}

// TestLossesAreInGaps checks that every loss is in a gap that is saved, whatever arrives while one is being saved.
func TestLossesAreInGaps(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var l lostPings
		var losses []time.Time
		var gaps [][2]time.Time // as they were saved
		now := time.Unix(1_800_000_000, 0)
		pass := func(label string) {
			now = now.Add(time.Duration(rapid.IntRange(1, 3000).Draw(t, label)) * time.Millisecond)
		}
		lose := func() {
			for range rapid.IntRange(0, 3).Draw(t, "losses") {
				pass("before a loss")
				l.note(now)
				losses = append(losses, now)
			}
		}
		save := func(meanwhile func()) {
			since, until := l.unsaved(), now
			meanwhile()
			if !since.IsZero() {
				gaps = append(gaps, [2]time.Time{since, until})
				l.saved(until)
			}
		}
		for range rapid.IntRange(1, 5).Draw(t, "saves") {
			lose()
			save(lose)
		}
		pass("before the end")
		save(func() {})
		for _, at := range losses {
			if !slices.ContainsFunc(gaps, func(g [2]time.Time) bool { return !at.Before(g[0]) && !at.After(g[1]) }) {
				t.Fatalf("the loss at %v is in none of the gaps %v", at, gaps)
			}
		}
	})
}
