package scheduler

import (
	"log/slog"
	"testing"
	"time"

	"github.com/allswell/allswell/internal/store"
	"github.com/allswell/allswell/internal/store/storetest"
)

// TestLosingPingsIsNoStall checks that ticks that are skipped while pings are being lost
// do not count as a stall.
func TestLosingPingsIsNoStall(t *testing.T) {
	s := storetest.Open(t, "sqlite:"+t.TempDir()+"/a.db", store.Options{})
	w := New(Config{
		Store: s, Period: time.Minute, Backlog: func() time.Duration { return 0 }, Replica: "a",
		Logger:      slog.New(slog.DiscardHandler),
		LosingPings: func() bool { return true },
	})
	long := time.Now().Add(-time.Hour)
	w.note(long)
	w.Tick(t.Context(), time.Now().Truncate(time.Minute))
	if w.Stalled() {
		t.Error("a tick that was skipped for lost pings counts as a stall")
	}
}
