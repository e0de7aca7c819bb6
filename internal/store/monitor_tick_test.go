package store_test

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/allswell/allswell/internal/domain/monitor"
	"github.com/allswell/allswell/internal/domain/schedule"
	"github.com/allswell/allswell/internal/domain/statuspage"
	"github.com/allswell/allswell/internal/resource"
	"github.com/allswell/allswell/internal/store"
	"github.com/allswell/allswell/internal/store/storetest"
	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

// TestTickIsMonitorCheck holds lookup, judgement and save to the pure function, over
// random rows, gaps and backlogs.
func TestTickIsMonitorCheck(t *testing.T) {
	inWorlds(t, func(w *world) {
		seed := rand.Uint64()
		random := rand.New(rand.NewPCG(seed, 0))
		w.Logf("seed %d", seed)
		w.scatter(random, w.fill(400, time.Minute))
		now := w.clock.now().UnixMilli()
		for from := now - 1_500_000; from < now-100_000; from += 100_000 + random.Int64N(300_000) {
			w.run(`INSERT INTO listening_gaps (from_at, to_at) VALUES ($1, $2)`, from, from+random.Int64N(60_000)+1)
		}
		verdicts := map[monitor.TickResult]int{}
		for round := range 6 {
			w.clock.move(time.Minute)
			w.recordLiveness()
			backlog := []time.Duration{0, 0, 700 * time.Millisecond, 90 * time.Second}[random.IntN(4)]
			tick := monitor.Tick{Instant: w.clock.now(), AsOf: w.clock.now().Add(-backlog), Period: time.Minute,
				Threshold: monitor.DefaultFailureThreshold, Gaps: must(w.Gaps(w.ctx))(w)}
			want := w.stored()
			var report store.TickReport
			for i := range want {
				v := want[i].ApplyTick(tick)
				verdicts[v]++
				switch v {
				case monitor.TickWentDown:
					report.Down++
					want[i].UpdatedAt = w.clock.now()
					fallthrough
				case monitor.TickOverdue:
					report.Overdue++
				}
			}
			got := must(w.Tick(w.ctx, tick.Instant, "a", backlog))(w)
			if diff := cmp.Diff(report, got, cmpopts.IgnoreFields(report, "Checked")); diff != "" {
				w.Fatalf("round %d: report (-want +got):\n%s", round, diff)
			}
			if diff := cmp.Diff(want, w.stored()); diff != "" {
				w.Fatalf("round %d, backlog %v: monitors (-Monitor.ApplyTick +stored):\n%s", round, backlog, diff)
			}
			w.consistent()
		}
		for v := monitor.TickSkipped; v <= monitor.TickWentDown; v++ {
			if verdicts[v] == 0 {
				w.Errorf("no monitor had result %d: the rows are not random enough", v)
			}
		}
	})
}

func TestInstantCountsOnce(t *testing.T) {
	inWorlds(t, func(w *world) {
		w.pinged()
		w.pass(6 * time.Minute)
		if m := w.now(); m.ConsecutiveFailures != 1 {
			w.Fatalf("after one overdue tick: %+v", m)
		}
		for range 3 {
			if r := w.tick(); r.Overdue != 0 || r.Skipped != "" {
				w.Errorf("the same instant again: %+v", r)
			}
		}
		if m := w.now(); m.ConsecutiveFailures != 1 {
			w.Errorf("after the same instant again: %+v", m)
		}
	})
}

func TestTicksNotRunAreNotMadeUp(t *testing.T) {
	inWorlds(t, func(w *world) {
		w.pinged()
		for w.clock.now().Before(began.Add(20 * time.Minute)) { // liveness records, no ticks
			w.clock.move(store.LivenessInterval)
			w.recordLiveness()
		}
		w.tick()
		if m := w.now(); m.ConsecutiveFailures != 1 {
			w.Errorf("after one tick in 20 minutes: %+v", m)
		}
	})
}

func TestTickIsSkipped(t *testing.T) {
	inWorlds(t, func(w *world) {
		w.pinged()
		w.clock.set(began.Add(6 * time.Minute))
		skipped := func(instant time.Time, want bool) {
			w.Helper()
			if r := must(w.Tick(w.ctx, instant, "a", 0))(w); (r.Skipped != "") != want || want && r.Checked > 0 {
				w.Errorf("tick of %v at %v: %+v, want it skipped: %t", instant, w.clock.now(), r, want)
			}
		}
		skipped(w.clock.now(), true) // the last liveness record is six minutes old
		w.ok(w.RecordLiveness(w.ctx, store.LivenessRecord{Replica: "b"}))
		skipped(w.clock.now(), false) // another replica's is as good
		w.clock.move(15 * time.Second)
		skipped(began.Add(6*time.Minute), false)
		w.clock.move(time.Millisecond)
		skipped(began.Add(6*time.Minute), true)
		w.recordLiveness()
		skipped(began.Add(5*time.Minute), true) // over
		skipped(began.Add(7*time.Minute), true) // not yet
		w.clock.set(began.Add(7*time.Minute - time.Millisecond))
		w.recordLiveness()
		skipped(began.Add(6*time.Minute), false)
	})
}

func TestTickIsSkippedWithoutLivenessRecord(t *testing.T) {
	inWorlds(t, func(w *world) {
		w.clock.move(time.Hour)
		if r := w.tick(); r.Skipped == "" {
			w.Errorf("a tick without a liveness record: %+v", r)
		}
	})
}

func TestBacklogShiftsTheCheckedInstant(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name    string
		own     time.Duration // this replica's
		other   time.Duration // another replica's, at its last liveness record
		age     time.Duration // of that record
		counted int
	}{
		{"nothing waits", 0, 0, 0, 1},
		{"a ping waits here", time.Second, 0, 0, 0},
		{"a ping waited there", 0, time.Second, 5 * time.Second, 0},
		{"the longest wait counts", time.Millisecond, time.Second, 0, 0},
		{"too short to matter", 999 * time.Millisecond, 999 * time.Millisecond, 0, 1},
		{"a replica that is gone", 0, time.Hour, 20 * time.Second, 1},
	} {
		t.Run(tt.name, func(t *testing.T) {
			inWorlds(t, func(w *world) {
				w.clock.set(began.Add(-time.Second))
				w.pinged() // due one second before the instant
				instant := began.Add(5 * time.Minute)
				w.clock.set(instant.Add(-tt.age))
				w.ok(w.RecordLiveness(w.ctx, store.LivenessRecord{Replica: "b", Backlog: tt.other}))
				w.clock.set(instant)
				// its own is given to Tick
				w.ok(w.RecordLiveness(w.ctx, store.LivenessRecord{Replica: "a", Backlog: time.Hour}))
				w.run(`DELETE FROM listening_gaps`)
				if r := must(w.Tick(w.ctx, instant, "a", tt.own))(w); r.Overdue != tt.counted {
					w.Errorf("tick: %+v, want %d counted", r, tt.counted)
				}
			})
		})
	}
}

// TestTickOverManyMonitors has more candidates than one lookup finds, with the
// same deadline, and more that go down than one transaction takes.
func TestTickOverManyMonitors(t *testing.T) {
	inWorldsAlone(t, func(w *world) {
		monitors := w.fill(1_100, 2*time.Minute)
		for chunk := range slices.Chunk(monitors, 100) {
			w.ping(tokensOf(chunk)...)
		}
		// Every eleventh goes down, so that some of each transaction do.
		w.run(`UPDATE monitors SET failure_threshold = 1 WHERE id IN (
			SELECT id FROM (SELECT id, row_number() OVER (ORDER BY id) AS n FROM monitors
			WHERE interval_ms = 120000) AS filled WHERE n % 11 = 0)`)
		w.clock.set(began.Add(3 * time.Minute))
		w.recordLiveness()
		w.run(`DELETE FROM listening_gaps`)
		if r := w.tick(); r != (store.TickReport{Checked: 1100, Overdue: 1100, Down: 100}) {
			w.Errorf("first tick: %+v", r)
		}
		if r := w.tick(); r.Overdue != 0 {
			w.Errorf("the same again: %+v", r)
		}
		for _, want := range [][2]string{
			{`SELECT count(*) FROM monitors WHERE consecutive_failures = 1`, "1100"},
			{`SELECT count(*) FROM monitors WHERE state = 'down'`, "100"},
			{`SELECT count(*) FROM outages WHERE ended_at IS NULL`, "100"},
			{`SELECT count(DISTINCT outage_id) FROM incidents WHERE NOT resolved`, "100"},
			{`SELECT count(*) FROM events`, "100"},
		} {
			if got := w.value(want[0]); got != want[1] {
				w.Errorf("%s: %s, want %s", want[0], got, want[1])
			}
		}
	})
}

// TestMonitorChangedBetweenLookupAndCheck changes a monitor when its tick
// has found it, but not yet locked it.
func TestMonitorChangedBetweenLookupAndCheck(t *testing.T) {
	changes := map[string]func(w *world, other *store.Store){
		"a ping": func(w *world, other *store.Store) {
			must(other.RecordPings(w.ctx, []string{w.monitor.Token}, store.LivenessRecord{Replica: "b"},
				store.PingOrigins{}))(w)
		},
		"disabled": func(w *world, other *store.Store) {
			must(other.ChangeMonitor(w.ctx, w.ws, w.monitor.ID, func(c *monitor.MonitorConfig) error {
				c.Enable(false)
				return nil
			}))(w)
		},
		"a new interval": func(w *world, other *store.Store) {
			must(other.ChangeMonitor(w.ctx, w.ws, w.monitor.ID, func(c *monitor.MonitorConfig) error {
				c.Reschedule(time.Hour, schedule.Cron{})
				return nil
			}))(w)
		},
		"deleted": func(w *world, other *store.Store) { w.ok(other.DeleteMonitor(w.ctx, w.ws, w.monitor.ID)) },
		"its page deleted": func(w *world, other *store.Store) {
			w.ok(other.DeletePage(w.ctx, w.ws, "acme"))
		},
	}
	for name, change := range changes {
		t.Run(name, func(t *testing.T) {
			onPostgres(t, "", func(w *world) {
				other := w.replica()
				w.pinged()
				w.pass(5 * time.Minute)
				w.clock.set(began.Add(6 * time.Minute))
				w.recordLiveness()
				w.run(`DELETE FROM listening_gaps`)
				done := false
				w.SetFault(func(when, query string) error {
					if when == "before" && !done {
						done = true
						change(w, other)
					}
					return nil
				})
				if r := w.tick(); !done || r.Overdue != 0 {
					w.Errorf("tick: %+v", r)
				}
				for _, m := range w.stored() {
					if m.ConsecutiveFailures != 0 {
						w.Errorf("counted: %+v", m)
					}
				}
			})
		})
	}
}

// TestPingBetweenCheckAndMarkDown pings a monitor that has been judged to go
// down, before that is saved: pings do not wait for the monitor's lock. It is
// spared. A ping a moment later waits, and brings it back.
func TestPingBetweenCheckAndMarkDown(t *testing.T) {
	for name, when := range map[string]string{"before the fall": "before", "behind it": "after"} {
		t.Run(name, func(t *testing.T) {
			onPostgres(t, "", func(w *world) {
				other := w.replica()
				w.pinged() // the first
				w.pass(time.Minute)
				w.pinged() // the ping that is recorded beside the monitor
				w.pass(7 * time.Minute)
				w.clock.move(time.Minute)
				w.recordLiveness()
				w.run(`DELETE FROM listening_gaps`)
				answered := make(chan store.PingResult, 1)
				ping := func() {
					answered <- must(other.RecordPings(w.ctx, []string{w.monitor.Token},
						store.LivenessRecord{Replica: "b"}, store.PingOrigins{}))(w)[0]
				}
				done := false
				w.SetFault(func(at, query string) error {
					if !done && at == when && strings.HasPrefix(query, `SELECT token, pinged_at FROM last_pings`) {
						if done = true; when == "before" {
							ping()
						} else {
							go ping()
						}
					}
					return nil
				})
				want := map[string]int{"before": 0, "after": 1}[when]
				if r := w.tick(); !done || r.Down != want {
					w.Errorf("tick: %+v, want %d down", r, want)
				}
				if r := <-answered; r != store.PingRecorded {
					w.Errorf("the ping: %v", r)
				}
				m := w.now()
				if m.State != monitor.MonitorUp || !m.LastPingAt.Equal(w.clock.now()) || m.ConsecutiveFailures != 0 {
					w.Errorf("answered, but %+v", m)
				}
				for _, i := range w.incidents() {
					if !i.Resolved {
						w.Errorf("still open: %+v", i)
					}
				}
				w.consistent()
			})
		})
	}
}

// TestCheckIntervalMayBeChanged ticks every minute, then every second, then
// every minute again.
func TestCheckIntervalMayBeChanged(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, dsn string) {
		c := newClock()
		open := func(period time.Duration) *store.Store {
			s, err := store.Open(t.Context(), dsn, store.Options{
				Clock: c.now, CheckInterval: period, FailureThreshold: 1000,
			})
			if err != nil {
				t.Fatal(err)
			}
			return s
		}
		s := open(time.Minute)
		ws, _ := storetest.Workspace(t, s, "default")
		must(s.CreatePage(t.Context(), ws, resource.Page.From(statuspage.Page{Name: "Acme", Slug: "acme"})))(t)
		m := must(s.CreateMonitor(t.Context(), ws, monitor.MonitorOf(monitor.MonitorConfig{
			Name: "job", Interval: time.Second, PageSlug: "acme",
		})))(t)
		must(s.RecordPings(t.Context(), []string{m.Token}, store.LivenessRecord{Replica: "a"}, store.PingOrigins{}))(t)
		count, want := 0, 0
		for _, part := range []struct {
			period time.Duration
			ticks  int
		}{{time.Minute, 2}, {time.Second, 5}, {time.Minute, 2}} {
			s.Close()
			s = open(part.period)
			for range part.ticks {
				next := c.now().Truncate(part.period).Add(part.period)
				for c.now().Before(next) {
					c.set(c.now().Add(min(store.LivenessInterval, next.Sub(c.now()))))
					if err := s.RecordLiveness(t.Context(), store.LivenessRecord{Replica: "a"}); err != nil {
						t.Fatal(err)
					}
				}
				must(s.Tick(t.Context(), next, "a", 0))(t)
				want++
				count = must(s.Monitor(t.Context(), ws, m.ID))(t).ConsecutiveFailures
				if count != want {
					t.Fatalf("count %d after the tick of %v, want %d", count, next, want)
				}
			}
		}
		s.Close()
	})
}
