package store_test

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"testing"
	"time"

	"github.com/allswell/allswell/internal/check/checkstats"
	"github.com/allswell/allswell/internal/domain/kernel"
	"github.com/allswell/allswell/internal/domain/monitor"
	"github.com/allswell/allswell/internal/store"
)

// record records results of a check that began at the given distances from now, with the same status.
func (w *world) record(m monitor.Monitor, status monitor.CheckStatus, total time.Duration, at ...time.Duration) {
	w.Helper()
	var results []monitor.CheckResult
	for _, d := range at {
		started := w.clock.now().Add(d)
		results = append(results, monitor.CheckResult{
			MonitorID: m.ID, Version: 1, Replica: "a", DueAt: started, StartedAt: started, Status: status,
			Phases: monitor.CheckPhases{Total: total},
		})
	}
	w.ok(w.RecordCheckResults(w.ctx, results))
}

// fold sums up all results that are due.
func (w *world) fold() (steps int) {
	w.Helper()
	for {
		more, err := w.FoldCheckResults(w.ctx)
		w.ok(err)
		if !more {
			return steps
		}
		steps++
	}
}

// summaries compares statistics.
func summaries(t testing.TB, got, want []checkstats.Period) {
	t.Helper()
	same := func(a, b checkstats.Period) bool {
		return a.StartsAt.Equal(b.StartsAt) && a.Count == b.Count && a.Failures == b.Failures && a.Slow == b.Slow &&
			a.Unknown == b.Unknown &&
			a.Min == b.Min && a.Max == b.Max && a.Mean() == b.Mean() && a.P50() == b.P50() && a.P99() == b.P99()
	}
	if !slices.EqualFunc(got, want, same) {
		t.Errorf("statistics: %+v\nwant: %+v", got, want)
	}
}

// statisticsWorld is a world with two hours of results.
type statisticsWorld struct {
	*world
	m        monitor.Monitor
	from, to time.Time
}

// TestCheckStatistics compares the statistics before and after the results are summed up, and after they are deleted.
func TestCheckStatistics(t *testing.T) {
	inWorlds(t, func(w *world) {
		s := newStatisticsWorld(w)
		short, long := s.statistics(5*time.Minute), s.statistics(time.Hour)
		if len(short) != 24 || len(long) != 2 || short[0].Count != 3 || short[0].Failures != 1 ||
			short[0].Unknown != 1 || short[1].Count != 2 ||
			long[0].Count != 26 || long[0].Failures != 2 || long[0].Max != 111*time.Millisecond ||
			long[1].Min != 112*time.Millisecond {
			t.Fatalf("statistics in steps of 5 minutes and of an hour: %+v\n%+v", short, long)
		}
		if p50 := long[0].P50(); math.Abs(float64(p50-105*time.Millisecond)) > float64(3*time.Millisecond) {
			t.Errorf("the median is %v", p50)
		}
		if got := w.fold(); got == 0 {
			t.Error("nothing is summed up")
		}
		summaries(t, s.statistics(5*time.Minute), short)
		summaries(t, s.statistics(time.Hour), long)
		w.pass(10 * time.Minute)
		w.fold()
		if got := w.fold(); got != 0 {
			t.Errorf("summed up again in %d steps", got)
		}
		w.clock.move(25 * time.Hour)
		w.recordLiveness()
		w.fold()
		w.ok(w.Prune(w.ctx))
		results, total, err := w.CheckResults(w.ctx, w.ws, s.m.ID, store.Pagination{Page: 1, PerPage: 50})
		if err != nil || total != 0 {
			t.Errorf("results after a day: %v, %d, %v", results, total, err)
		}
		summaries(t, s.statistics(5*time.Minute), short)
		summaries(t, s.statistics(time.Hour), long)
		quarter := s.statistics(15 * time.Minute)
		if len(quarter) != 8 || quarter[0].Count != 7 {
			t.Errorf("in steps of 15 minutes: %+v", quarter)
		}
		both, checked, err := w.ComponentStatistics(w.ctx, w.component.ID, store.StatisticsRange{
			From: s.from, To: s.to, Step: time.Hour,
		})
		if err != nil || !checked || len(both) != 2 || both[0].Count != long[0].Count+12 || both[0].Max != time.Second {
			t.Errorf("of the component: %+v, %v, %v", both, checked, err)
		}
		w.pruneAt(s.from.Add(90*24*time.Hour - time.Minute))
		summaries(t, s.statistics(5*time.Minute), short) // they are kept for 90 days
		w.pruneAt(s.from.Add(94 * 24 * time.Hour))
		if got := s.statistics(5 * time.Minute); len(got) != 0 {
			t.Errorf("in steps of 5 minutes after 94 days: %+v", got)
		}
		summaries(t, s.statistics(time.Hour), long)
		w.pruneAt(s.from.Add(2*365*24*time.Hour - time.Minute))
		summaries(t, s.statistics(time.Hour), long) // summaries of hours are kept for two years
		w.pruneAt(s.from.Add((2*365 + 15) * 24 * time.Hour))
		if got := s.statistics(time.Hour); len(got) != 0 {
			t.Errorf("in steps of an hour after more than two years: %+v", got)
		}
	})
}

func (s *statisticsWorld) statistics(step time.Duration) []checkstats.Period {
	s.Helper()
	periods, err := s.CheckStatistics(s.ctx, s.ws, s.m.ID, store.StatisticsRange{From: s.from, To: s.to, Step: step})
	s.ok(err)
	return periods
}

// newStatisticsWorld records the results of two hours, of the monitor and of another one of the same component.
func newStatisticsWorld(w *world) *statisticsWorld {
	w.Helper()
	w.clock.set(w.clock.now().Truncate(24 * time.Hour).Add(30*24*time.Hour + 12*time.Hour))
	w.recordLiveness()
	other := w.newCheck("other")
	s := &statisticsWorld{world: w, m: w.newCheck("shop"), from: w.clock.now()}
	for i := range 24 { // two hours
		w.record(s.m, monitor.CheckOK, time.Duration(100+i)*time.Millisecond, 0, time.Second)
		w.record(other, monitor.CheckOK, time.Second, 0)
		if i%6 == 0 {
			w.record(s.m, monitor.CheckFailed, 10*time.Second, 2*time.Second)
			w.record(s.m, monitor.CheckUnknown, 0, 3*time.Second)
		}
		w.pass(5 * time.Minute)
	}
	s.to = w.clock.now()
	return s
}

// pruneAt moves the clock, and deletes what is not kept until then.
func (w *world) pruneAt(at time.Time) {
	w.Helper()
	w.clock.set(at)
	w.recordLiveness()
	w.ok(w.Prune(w.ctx))
}

// TestLateFolding sums up after nobody did for hours, and in the middle of a change of the day.
func TestLateFolding(t *testing.T) {
	inWorlds(t, func(w *world) {
		w.clock.set(w.clock.now().Truncate(24 * time.Hour).Add(24*time.Hour - 30*time.Minute))
		w.recordLiveness()
		m := w.newCheck("shop")
		w.fold()
		from := w.clock.now()
		for range 6 {
			w.record(m, monitor.CheckSlow, 5*time.Second, 0)
			w.pass(30 * time.Minute)
		}
		w.fold()
		periods, err := w.CheckStatistics(w.ctx, w.ws, m.Slug, store.StatisticsRange{
			From: from, To: w.clock.now(), Step: 30 * time.Minute,
		})
		if err != nil || len(periods) != 6 {
			t.Fatalf("statistics: %+v, %v", periods, err)
		}
		for i, p := range periods {
			if !p.StartsAt.Equal(from.Add(time.Duration(i)*30*time.Minute)) || p.Count != 1 || p.Slow != 1 ||
				p.Max != 5*time.Second {
				t.Errorf("period %d: %+v", i, p)
			}
		}
		w.ok(w.DeleteMonitor(w.ctx, w.ws, m.ID, kernel.Precondition{}))
		w.pass(2 * time.Hour)
		w.fold()
	})
}

func TestInvalidCheckStatistics(t *testing.T) {
	inWorlds(t, func(w *world) {
		m := w.newCheck("shop")
		now := w.clock.now()
		for _, c := range []struct {
			field    string
			from, to time.Time
			step     time.Duration
		}{
			{"step", now.Add(-time.Hour), now, time.Minute},
			{"step", now.Add(-time.Hour), now, 25 * time.Minute},
			{"step", now.Add(-time.Hour), now, 90 * time.Minute},
			{"step", now.Add(-time.Hour), now, 0},
			{"step", now.Add(-5000 * time.Minute), now, 5 * time.Minute}, // parts of 1001 periods
			{"to", now, now, 5 * time.Minute},
		} {
			var bad *kernel.ValidationError
			_, err := w.CheckStatistics(w.ctx, w.ws, m.ID, store.StatisticsRange{From: c.from, To: c.to, Step: c.step})
			if !errors.As(err, &bad) || !bad.Has(c.field) {
				t.Errorf("statistics with %+v: %v", c, err)
			}
		}
		_, err := w.CheckStatistics(w.ctx, w.ws, m.ID,
			store.StatisticsRange{From: now.Add(-4999 * time.Minute), To: now, Step: 5 * time.Minute})
		if err != nil {
			t.Errorf("1000 periods: %v", err)
		}
		_, err = w.CheckStatistics(w.ctx, w.ws, "mon_00000000000000000000",
			store.StatisticsRange{From: now.Add(-time.Hour), To: now, Step: time.Hour})
		if !errors.Is(err, kernel.ErrNotFound) {
			t.Errorf("of none: %v", err)
		}
	})
}

// TestFoldingInPages sums up more monitors than one step does, before results of the hour can still come and after.
func TestFoldingInPages(t *testing.T) {
	inWorlds(t, func(w *world) {
		w.clock.set(w.clock.now().Truncate(24 * time.Hour).Add(24 * time.Hour))
		w.recordLiveness()
		from := w.clock.now()
		w.clock.set(from.Add(4 * time.Minute))
		w.fold()
		var monitors []monitor.Monitor
		for i := range 101 {
			monitors = append(monitors, w.newCheck("target", func(n *monitor.MonitorConfig) {
				n.Slug = fmt.Sprintf("target-%d", i)
			}))
		}
		w.clock.set(from.Add(time.Hour))
		if got := w.fold(); got != 0 {
			t.Errorf("summed up in %d steps while results of the hour can still come", got)
		}
		for _, m := range monitors {
			w.record(m, monitor.CheckOK, time.Second, -time.Second)
		}
		once := func(when string) {
			t.Helper()
			for _, m := range monitors {
				periods, err := w.CheckStatistics(w.ctx, w.ws, m.ID, store.StatisticsRange{
					From: from, To: from.Add(time.Hour), Step: time.Hour,
				})
				if err != nil || len(periods) != 1 || periods[0].Count != 1 {
					t.Fatalf("%s: %s: %+v, %v", when, m.Slug, periods, err)
				}
			}
		}
		w.clock.set(from.Add(time.Hour + 4*time.Minute))
		if more, err := w.FoldCheckResults(w.ctx); err != nil || !more {
			t.Fatalf("the first step: %t, %v", more, err)
		}
		once("when some are summed up")
		if got := w.fold(); got != 2 {
			t.Errorf("%d more steps, want 2", got)
		}
		w.clock.set(from.Add(27 * time.Hour))
		w.recordLiveness()
		w.ok(w.Prune(w.ctx))
		once("when their results are deleted")
	})
}

// TestFoldingAfterADay stops after the first step of an hour, and goes on a day later, when that hour is beyond what
// can be summed up: all monitors have the next one.
func TestFoldingAfterADay(t *testing.T) {
	inWorlds(t, func(w *world) {
		w.clock.set(w.clock.now().Truncate(24 * time.Hour).Add(24 * time.Hour))
		w.recordLiveness()
		w.fold()
		var monitors []monitor.Monitor
		for i := range 51 {
			monitors = append(monitors, w.newCheck("target", func(n *monitor.MonitorConfig) {
				n.Slug = fmt.Sprintf("target-%d", i)
			}))
		}
		w.clock.move(2 * time.Hour)
		if more, err := w.FoldCheckResults(w.ctx); err != nil || !more {
			t.Fatalf("the first step: %t, %v", more, err)
		}
		w.clock.move(30 * time.Hour)
		w.recordLiveness()
		oldest := w.clock.now().Add(-24 * time.Hour)
		for _, m := range monitors {
			w.record(m, monitor.CheckOK, time.Second, -24*time.Hour+time.Minute)
		}
		w.fold()
		for _, m := range monitors {
			periods, err := w.CheckStatistics(w.ctx, w.ws, m.ID, store.StatisticsRange{
				From: oldest, To: oldest.Add(time.Hour), Step: time.Hour,
			})
			if err != nil || len(periods) != 1 || periods[0].Count != 1 {
				t.Errorf("%s: %+v, %v", m.Slug, periods, err)
			}
		}
	})
}
