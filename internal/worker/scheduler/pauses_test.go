package scheduler

import (
	"errors"
	"log/slog"
	"sync/atomic"
	"testing"
	"time"

	"github.com/allswell/allswell/internal/domain/monitor"
	"github.com/allswell/allswell/internal/store"
	"github.com/allswell/allswell/internal/store/storetest"
)

// TestTickEndsPauses checks that a tick resumes the monitors whose pause is over, also while pings are being lost.
func TestTickEndsPauses(t *testing.T) {
	var now atomic.Int64
	storetest.RunWith(t, func(*testing.T) store.Options {
		now.Store(noon.UnixMilli())
		return store.Options{Clock: func() time.Time { return time.UnixMilli(now.Load()) }}
	}, func(t *testing.T, s *store.Store) {
		ctx := t.Context()
		ws, _ := storetest.Workspace(t, s, "default")
		m, errMonitor := s.CreateMonitor(ctx, ws, monitor.MonitorOf(monitor.MonitorConfig{
			Name: "job", Interval: time.Minute,
		}))
		_, errPause := s.ChangeMonitor(ctx, ws, m.ID, monitor.Pause(at(90)))
		if err := errors.Join(errMonitor, errPause); err != nil {
			t.Fatal(err)
		}
		w := New(Config{
			Store: s, Period: time.Minute, Replica: "a", Logger: slog.New(slog.DiscardHandler),
			Backlog:     func() time.Duration { return 0 },
			LosingPings: func() bool { return true },
		})
		for _, c := range []struct {
			second  float64
			enabled bool
		}{{60, false}, {120, true}} {
			now.Store(at(c.second).UnixMilli())
			w.Tick(ctx, at(c.second))
			if m, err := s.Monitor(ctx, ws, m.ID); err != nil || m.Enabled != c.enabled {
				t.Errorf("after %v s: %+v, %v", c.second, m, err)
			}
		}
	})
}
