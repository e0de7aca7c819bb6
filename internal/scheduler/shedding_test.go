package scheduler

import (
	"log/slog"
	"testing"
	"time"

	"github.com/allswell/allswell/internal/store"
	"github.com/allswell/allswell/internal/store/storetest"
)

// TestSheddingIsNoStall: while pings are being lost nothing is judged, and the
// process is not ended for it.
func TestSheddingIsNoStall(t *testing.T) {
	s := storetest.Open(t, "sqlite:"+t.TempDir()+"/a.db", store.Options{})
	w := New(Config{Store: s, Period: time.Minute, Backlog: func() time.Duration { return 0 }, Replica: "a", Logger: slog.New(slog.DiscardHandler),
		Shedding: func() bool { return true }})
	long := time.Now().Add(-time.Hour)
	w.note(long)
	w.Tick(t.Context(), time.Now().Truncate(time.Minute))
	if w.Stalled() {
		t.Error("a tick that is left out for lost pings looks like a stall")
	}
}
