package ping

import (
	"testing"
	"time"

	"github.com/allswell/allswell"
	"github.com/allswell/allswell/internal/store"
)

// TestLostPingsStopLiveness: while pings are being lost, none is a liveness
// record, those that are recorded included, and the time is a stored gap while it
// lasts; afterwards there are liveness records again.
func TestLostPingsStopLiveness(t *testing.T) {
	inWorlds(t, Config{}, func(w *world) {
		w.Lost()
		if !w.Shedding() {
			t.Fatal("a loss is not noticed")
		}
		w.until("the gap is stored", func() bool { return w.count(`SELECT count(*) FROM holes`) == 1 })
		beat := w.count(`SELECT max(beat_at) FROM beats`)
		first := w.count(`SELECT max(to_at) FROM holes`)
		w.until("the gap lasts", func() bool {
			w.Lost()
			w.want(w.ping(w.monitor.Token), 200, okBody)
			return w.count(`SELECT max(to_at) FROM holes`) > first
		})
		if w.count(`SELECT count(*) FROM holes`) != 1 {
			t.Error("one loss after the other is more than one gap")
		}
		if now := w.count(`SELECT max(beat_at) FROM beats`); now != beat {
			t.Errorf("a liveness record %d ms after the loss", now-beat)
		}
		w.until("it is over", func() bool { return !w.Shedding() && w.count(`SELECT max(beat_at) FROM beats`) > beat })
	})
}

// TestLostPingsCountForAllReplicas: the gap of one replica is in the ledger that
// all judge by, though another has heard well all the time.
func TestLostPingsCountForAllReplicas(t *testing.T) {
	inWorlds(t, Config{}, func(w *world) {
		shedding := store.LivenessRecord{Replica: "shedding", Lost: time.Minute, Shedding: true}
		if err := w.store.RecordLiveness(t.Context(), shedding); err != nil {
			t.Fatal(err)
		}
		w.want(w.ping(w.monitor.Token), 200, okBody)
		if n := w.count(`SELECT max(to_at - from_at) FROM holes`); n < 60_000 {
			t.Errorf("a gap of %d ms, want a minute", n)
		}
		if n := w.count(`SELECT count(*) FROM beats WHERE replica = 'shedding'`); n != 0 {
			t.Error("who loses pings has recorded its liveness")
		}
	})
}

// TestTurnedAwayIsLost: pings that are refused for want of room are remembered,
// and stop the liveness records, because another replica may know their tokens.
func TestTurnedAwayIsLost(t *testing.T) {
	inWorlds(t, Config{}, func(w *world) {
		w.batcher.mu.Lock()
		w.batcher.maxWaiting = 0
		w.batcher.mu.Unlock()
		if got := w.ping(w.monitor.Token); got.StatusCode != 503 {
			t.Errorf("%d, want 503", got.StatusCode)
		}
		if !w.Shedding() {
			t.Error("nobody knows that a ping was turned away")
		}
	})
}

// TestGiveUp: a stop that cannot wait for a commit answers the pings that do.
func TestGiveUp(t *testing.T) {
	inWorlds(t, Config{}, func(w *world) {
		release := w.stall()
		defer release()
		statuses := w.background(w.monitor.Token, allswell.NewPingToken())
		w.until("they wait", func() bool { return w.waiting() == 2 })
		w.GiveUp()
		for _, status := range statuses() {
			if status != 503 {
				t.Errorf("%d, want 503", status)
			}
		}
		if got := w.ping(w.monitor.Token); got.StatusCode != 503 {
			t.Errorf("after it: %d, want 503", got.StatusCode)
		}
	})
}
