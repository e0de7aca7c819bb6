package scheduler

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/allswell/allswell/internal/domain/monitor"
	"github.com/allswell/allswell/internal/store"
	"github.com/allswell/allswell/internal/store/storetest"
)

// logLines is a log that sends its lines to a channel.
type logLines chan string

func (l logLines) Write(line []byte) (int, error) {
	select {
	case l <- string(line):
	default:
	}
	return len(line), nil
}

// TestRunFindsLateChecks runs a Scheduler on a store whose checks nobody has claimed for three intervals.
func TestRunFindsLateChecks(t *testing.T) {
	t.Parallel()
	var ahead atomic.Int64
	storetest.RunWith(t, func(*testing.T) store.Options {
		ahead.Store(0)
		return store.Options{Clock: func() time.Time { return time.Now().Add(time.Duration(ahead.Load())) }}
	}, func(t *testing.T, s *store.Store) {
		ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
		defer cancel()
		ws, _ := storetest.Workspace(t, s, "default")
		m, err := s.CreateMonitor(ctx, ws, monitor.MonitorOf(monitor.MonitorConfig{
			Name: "shop", Type: "tcp", Interval: 10 * time.Second,
			Check: monitor.CheckSpec{Timeout: time.Second, Config: json.RawMessage(`{"address":"shop.example:443"}`)},
		}))
		for range 8 { // the service runs meanwhile
			err = errors.Join(err, s.RecordLiveness(ctx, store.LivenessRecord{Replica: "a"}))
			ahead.Add(int64(5 * time.Second))
		}
		if err := errors.Join(err, s.RecordLiveness(ctx, store.LivenessRecord{Replica: "a"})); err != nil {
			t.Fatal(err)
		}
		lines, ended := make(logLines, 100), make(chan error)
		w := New(Config{
			Store: s, Period: 20 * time.Millisecond, Replica: "a", Logger: slog.New(slog.NewTextHandler(lines, nil)),
			Backlog: func() time.Duration { return 0 },
		})
		go func() { ended <- w.Run(ctx) }()
		for line := ""; !strings.Contains(line, "checks are late"); {
			select {
			case line = <-lines:
			case <-ctx.Done():
				t.Fatal("no check is late")
			}
		}
		if now, err := s.Monitor(t.Context(), ws, m.ID); err != nil || now.DisplayState() != monitor.MonitorLate {
			t.Errorf("late monitor: %+v, %v", now, err)
		}
		cancel()
		<-ended
	})
}
