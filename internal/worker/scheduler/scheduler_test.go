package scheduler

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/allswell/allswell/internal/domain/monitor"
	"github.com/allswell/allswell/internal/domain/statuspage"
	"github.com/allswell/allswell/internal/resource"
	"github.com/allswell/allswell/internal/store"
	"github.com/allswell/allswell/internal/store/storetest"
)

var noon = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

func at(seconds float64) time.Time {
	return noon.Add(time.Duration(seconds * float64(time.Second)))
}

func TestTimetable(t *testing.T) {
	type step struct{ now, tick, wait float64 } // seconds after noon; tick -1: none
	for name, steps := range map[string][]step{
		"starts with the next instant":            {{10, -1, 50}, {60, 60, 0}, {60.1, -1, 59.9}, {120, 120, 0}},
		"starts at an instant":                    {{0, -1, 60}, {60, 60, 0}},
		"keeps waiting after an early timer":      {{10, -1, 50}, {59.999, -1, 0.001}, {60, 60, 0}},
		"a late tick has its nominal instant":     {{10, -1, 50}, {75, 60, 0}, {75, -1, 45}},
		"missed ticks are not made up for":        {{10, -1, 50}, {310, 300, 0}, {310.5, -1, 49.5}, {360, 360, 0}},
		"a tick longer than the period skips one": {{60, -1, 60}, {120, 120, 0}, {185, 180, 0}, {300, 300, 0}},
		"clock set back: instants are repeated": {{300, -1, 60}, {360, 360, 0}, {70, 60, 0}, {71, -1, 49},
			{120, 120, 0}},
		"clock set back a little: the same": {{300, -1, 60}, {360, 360, 0}, {359, 300, 0}, {360, 360, 0}},
	} {
		t.Run(name, func(t *testing.T) {
			p := timetable{period: time.Minute}
			for i, s := range steps {
				instant, wait := p.next(at(s.now))
				want := time.Time{}
				if s.tick >= 0 {
					want = at(s.tick)
				}
				if !instant.Equal(want) || wait != time.Duration(s.wait*float64(time.Second)) {
					t.Fatalf("step %d, at %v: tick %v, wait %v; want %v, %v", i, s.now, instant, wait, want, s.wait)
				}
			}
		})
	}
}

func TestStallDetector(t *testing.T) {
	type look struct {
		now, ticked float64 // seconds after noon
		answered    bool
		stalled     bool
	}
	// every returns calls every five seconds.
	every := func(from, to, ticked float64, answered bool) (looks []look) {
		for now := from; now <= to; now += 5 {
			looks = append(looks, look{now, ticked, answered, false})
		}
		return looks
	}
	for name, looks := range map[string][]look{
		"regular ticks": append(
			append(every(5, 60, 0, true), every(65, 120, 60, true)...), every(125, 180, 120, true)...,
		),
		"no tick while the database answers": append(every(5, 185, 0, true), look{190, 0, true, true}),
		"at the end of the timeout":          append(every(5, 180, 0, true), look{185, 0, true, false}),
		"the database does not answer":       every(5, 600, 0, false),
		"it recovers": append(
			append(every(5, 300, 0, false), every(305, 485, 0, true)...), look{490, 0, true, true},
		),
		"it fails once": append(
			append(every(5, 100, 0, true), look{105, 0, false, false}), every(110, 290, 0, true)...,
		),
		"the process was suspended": append(
			append(every(5, 60, 0, true), every(4000, 4180, 60, true)...), look{4185, 60, true, true},
		),
		"suspended, then a tick": append(
			append(every(5, 60, 0, true), every(4000, 4100, 60, true)...), every(4105, 4200, 4080, true)...,
		),
	} {
		t.Run(name, func(t *testing.T) {
			v := stallDetector{timeout: 180 * time.Second, interval: 5 * time.Second}
			for _, l := range looks {
				if got := v.stalled(at(l.now), at(l.ticked), l.answered); got != l.stalled {
					t.Fatalf("at %v s: stalled %t, want %t", l.now, got, l.stalled)
				}
			}
		})
	}
}

// TestRunTicksAtNominalInstants runs a few ticks with an overdue monitor.
func TestRunTicksAtNominalInstants(t *testing.T) {
	t.Parallel()
	const period = 100 * time.Millisecond
	var ahead atomic.Int64
	clock := func() time.Time { return time.Now().Add(time.Duration(ahead.Load())) }
	storetest.RunWith(t, func(*testing.T) store.Options {
		ahead.Store(0)
		return store.Options{Clock: clock, CheckInterval: period, FailureThreshold: 1000}
	}, func(t *testing.T, s *store.Store) {
		ws, _ := storetest.Workspace(t, s, "default")
		_, err := s.CreatePage(t.Context(), ws, resource.Page.From(statuspage.Page{Name: "Acme", Slug: "acme"}))
		m, errMonitor := s.CreateMonitor(t.Context(), ws, monitor.MonitorOf(monitor.MonitorConfig{
			Name: "job", Interval: time.Second, PageSlug: "acme",
		}))
		_, errPing := s.RecordPings(t.Context(), []string{m.Token}, store.LivenessRecord{Replica: "a"},
			store.PingOrigins{})
		if err := errors.Join(err, errMonitor, errPing); err != nil {
			t.Fatal(err)
		}
		ahead.Store(int64(2 * time.Second))
		ctx, cancel := context.WithCancel(t.Context())
		began := make(chan struct{}, 1000)
		w := New(Config{Store: s, Period: period, Replica: "a", Logger: slog.New(slog.DiscardHandler),
			Backlog: func() time.Duration { began <- struct{}{}; return 0 }})
		start := w.LastTick()
		ended := make(chan error)
		go func() { ended <- w.Run(ctx) }()
		var counts []int
		for len(counts) < 3 {
			<-began // a tick has started, so the earlier ones have ended
			now, err := s.Monitor(ctx, ws, m.ID)
			if err != nil {
				t.Fatal(err)
			}
			if n := now.ConsecutiveFailures; n > 0 && !slices.Contains(counts, n) {
				counts = append(counts, n)
				if !now.TickedAt.Truncate(period).Equal(now.TickedAt) {
					t.Errorf("ticked at %v, which is not a nominal instant", now.TickedAt)
				}
			}
		}
		cancel()
		if err := <-ended; err != nil {
			t.Errorf("Run returned %v at the end of its context", err)
		}
		if !w.LastTick().After(start) || w.Stalled() {
			t.Errorf("last tick %v, begun %v, stalled %t", w.LastTick(), start, w.Stalled())
		}
	})
}

// TestRunEndsWhenTicksStall checks that Run ends when every tick is skipped for lack of
// liveness records, while the database answers.
func TestRunEndsWhenTicksStall(t *testing.T) {
	t.Parallel()
	storetest.RunWith(t, func(*testing.T) store.Options {
		return store.Options{CheckInterval: 20 * time.Millisecond}
	}, func(t *testing.T, s *store.Store) {
		w := New(Config{Store: s, Period: 20 * time.Millisecond, Replica: "a", Logger: slog.New(slog.DiscardHandler),
			Backlog: func() time.Duration { return 0 }})
		if w.stallTimeout != minStallTimeout || w.Stalled() {
			t.Errorf("stall timeout %v, stalled %t at the start", w.stallTimeout, w.Stalled())
		}
		w.stallTimeout, w.watchdogInterval = 100*time.Millisecond, 50*time.Millisecond
		ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second) // Run ends without an error then
		defer cancel()
		if err := w.Run(ctx); !errors.Is(err, ErrStalled) {
			t.Errorf("Run returned %v, want ErrStalled", err)
		}
		if !w.Stalled() {
			t.Error("Stalled returned false")
		}
	})
}

// TestRunSurvivesDatabaseOutage checks that a database outage does not count as a stall.
func TestRunSurvivesDatabaseOutage(t *testing.T) {
	t.Parallel()
	storetest.Run(t, func(t *testing.T, s *store.Store) {
		w := New(Config{Store: s, Period: 10 * time.Millisecond, Replica: "a", Logger: slog.New(slog.DiscardHandler),
			Backlog: func() time.Duration { return 0 }})
		w.stallTimeout, w.watchdogInterval = 20*time.Millisecond, 5*time.Millisecond
		s.Close()
		ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
		defer cancel()
		if err := w.Run(ctx); err != nil {
			t.Errorf("Run returned %v", err)
		}
	})
}

func TestStallTimeout(t *testing.T) {
	for period, want := range map[time.Duration]time.Duration{time.Second: time.Minute, time.Minute: 3 * time.Minute} {
		if w := New(Config{Store: new(store.Store), Period: period}); w.stallTimeout != want {
			t.Errorf("stall timeout %v at a period of %v, want %v", w.stallTimeout, period, want)
		}
	}
}
