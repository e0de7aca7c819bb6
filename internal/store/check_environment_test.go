package store_test

import (
	"testing"
	"time"

	"github.com/allswell/allswell/internal/store"
)

// TestCheckEnvironment: a replica learns whether it, and its workspace, are the only ones.
func TestCheckEnvironment(t *testing.T) {
	inWorlds(t, func(w *world) {
		w.recordLiveness()
		expect := func(when string, isOnlyWorkspace, isOnlyReplica bool) {
			w.Helper()
			want := store.CheckEnvironment{
				Clock: w.clock.now(), FirstWorkspace: w.ws.WorkspaceID, SingleWorkspace: isOnlyWorkspace,
				SingleReplica: isOnlyReplica,
			}
			if got := must(w.CheckEnvironment(w.ctx))(w); got != want {
				w.Errorf("%s: %+v, want %+v", when, got, want)
			}
		}
		expect("at first", true, true)
		w.ok(w.RecordLiveness(w.ctx, store.LivenessRecord{Replica: "b"}))
		expect("with a second replica", true, false)
		w.clock.move(time.Second)
		w.otherWorkspace()
		expect("with a second workspace", false, false)
		w.runs(time.Hour)
		w.recordLiveness()
		w.run(`UPDATE liveness SET seen_at = 1 WHERE replica = 'b'`)
		expect("when the second replica has stopped", false, true)
	})
}
