package store_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/allswell/allswell/internal/domain/kernel"
	"github.com/allswell/allswell/internal/domain/monitor"
	"github.com/allswell/allswell/internal/domain/statuspage"
	"github.com/allswell/allswell/internal/resource"
	"github.com/allswell/allswell/internal/store"
)

// TestMaintenanceChangeIsSignalled checks that OnMaintenanceChange is called when the next
// transition may have changed, and only then.
func TestMaintenanceChangeIsSignalled(t *testing.T) {
	inWorlds(t, func(w *world) {
		woken := 0
		w.OnMaintenanceChange(func() { woken++ })
		step := func(what string, want bool) {
			w.Helper()
			if (woken > 0) != want {
				w.Errorf("%s: woken %d times", what, woken)
			}
			woken = 0
		}
		m := w.plan("Disks", time.Hour, 2*time.Hour)
		step("planned", true)
		w.alter(m, func(m *statuspage.Maintenance) error { m.RemindBefore = 30 * time.Minute; return nil })
		step("another reminder", true)
		w.say(kernel.StatusDegraded)
		w.pinged()
		w.pass(time.Minute)
		step("anything else", false)
		_, err := w.CreateMaintenance(w.ctx, w.ws, "acme", resource.Maintenance.From(statuspage.Maintenance{}))
		if err == nil {
			w.Error("an empty maintenance was planned")
		}
		w.advance()
		step("refused, and nothing due", false)
	})
}

// TestListsOfMaintenances: the latest first, by state, with what they concern.
func TestListsOfMaintenances(t *testing.T) {
	inWorlds(t, func(w *world) {
		w.plan("Third", 3*time.Hour, 4*time.Hour)
		w.plan("Now", 0, time.Hour)
		w.plan("Second", 2*time.Hour, 4*time.Hour)
		list := func(state statuspage.MaintenanceState, r store.Pagination) (titles []string, total int) {
			w.Helper()
			all, total, err := w.Maintenances(w.ctx, w.ws, "acme", state, r)
			w.ok(err)
			for _, m := range all {
				titles = append(titles, m.Title)
				if len(m.Components) != 1 || m.Components[0].ID != w.component.ID {
					w.Errorf("%s: components %v", m.Title, m.Components)
				}
			}
			return titles, total
		}
		all := store.Pagination{Page: 1, PerPage: 100}
		for _, c := range []struct {
			state statuspage.MaintenanceState
			r     store.Pagination
			want  []string
			total int
		}{
			{"", all, []string{"Third", "Second", "Now"}, 3},
			{"scheduled", all, []string{"Third", "Second"}, 2},
			{"in_progress", all, []string{"Now"}, 1},
			{"completed", all, nil, 0},
			{"", store.Pagination{Page: 2, PerPage: 2}, []string{"Now"}, 3},
		} {
			if got, total := list(c.state, c.r); !slices.Equal(got, c.want) || total != c.total {
				w.Errorf("%q, page %d: %v of %d, want %v of %d", c.state, c.r.Page, got, total, c.want, c.total)
			}
		}
	})
}

// TestTwoReplicasAdvanceAtOnce checks that each transition happens once, on one of the replicas.
func TestTwoReplicasAdvanceAtOnce(t *testing.T) {
	onPostgres(t, "&deadlock_timeout=20", func(w *world) {
		other := w.replica()
		const count = 12
		var components []string
		for i := range 3 {
			components = append(components, w.anotherComponent(fmt.Sprint(i)).ID)
			w.quick(fmt.Sprint("job ", i), statuspage.Component{ID: components[i]}, "")
		}
		for i := range count {
			w.plan(fmt.Sprint(i), time.Hour, 2*time.Hour, components[i%3], components[(i+1)%3])
		}
		for range 2 { // they begin, they end
			w.clock.move(time.Hour)
			advance := func(s *store.Store) func() {
				return func() {
					if _, err := s.AdvanceMaintenances(w.ctx); err != nil {
						w.Error(err)
					}
				}
			}
			together(advance(w.Store), advance(other), advance(w.Store), advance(other))
			w.consistent()
		}
		w.expect("maintenances by state", w.rows(`SELECT state, count(*) FROM maintenances GROUP BY state`),
			fmt.Sprint("completed|", count))
		w.expect("events",
			w.rows(`SELECT kind, count(*) FROM events WHERE maintenance_id IS NOT NULL GROUP BY kind ORDER BY kind`),
			fmt.Sprint("maintenance.begun|", count), fmt.Sprint("maintenance.ended|", count),
			fmt.Sprint("maintenance.scheduled|", count))
		w.expect("updates",
			w.rows(`SELECT count(*) FROM maintenance_updates GROUP BY maintenance_id HAVING count(*) <> 2`))
		w.expect("causes", w.rows(`SELECT source FROM causes`))
		w.expect("quiet",
			w.rows(`SELECT DISTINCT suppressed_until_at FROM monitors WHERE suppressed_until_at IS NOT NULL`),
			fmt.Sprint(w.clock.now().UnixMilli()))
	})
}

type maintenanceRace struct {
	*world
	components []string // ids
	monitors   []monitor.Monitor
	planned    []string // ids of maintenances
}

// TestMaintenanceAgainstEverything plans, changes, cancels and advances maintenances on replicas, while others link
// monitors, ping and tick.
func TestMaintenanceAgainstEverything(t *testing.T) {
	onPostgres(t, "&deadlock_timeout=20", func(w *world) {
		replicas := []*store.Store{w.Store, w.replica()}
		r := &maintenanceRace{world: w}
		for i := range 3 {
			c := w.anotherComponent(fmt.Sprint(i))
			r.components = append(r.components, c.ID)
			r.monitors = append(r.monitors, w.quick(fmt.Sprint("job ", i), c, ""),
				w.quick(fmt.Sprint("second ", i), c, ""))
		}
		w.pinged(r.monitors...)
		for range 6 {
			r.planned = append(r.planned, w.plan("m", time.Minute, 5*time.Minute, pick(r.components)).ID)
		}
		for minute := range 8 {
			w.clock.move(time.Minute)
			w.recordLiveness()
			w.run(`DELETE FROM listening_gaps`)
			var work []func()
			for i, s := range replicas {
				work = append(work, r.work(s, string(rune('a'+i)), minute)...)
			}
			together(work...)
			w.consistent()
			if w.Failed() {
				return
			}
		}
	})
}

// work is what a replica does during a minute.
func (r *maintenanceRace) work(s *store.Store, name string, minute int) []func() {
	return []func(){
		func() { _, err := s.AdvanceMaintenances(r.ctx); r.allowsGone("advance", err) },
		func() { _, err := s.Tick(r.ctx, r.clock.now(), name, 0); r.allowsGone("tick", err) },
		func() {
			_, err := s.RecordPings(r.ctx, shuffled(tokensOf(r.monitors))[:3],
				store.LivenessRecord{Replica: name}, store.PingOrigins{})
			r.allowsGone("ping", err)
		},
		func() {
			for range 3 {
				_, err := s.ChangeMonitor(r.ctx, r.ws, pick(r.monitors).ID,
					func(c *monitor.MonitorConfig) error {
						c.ComponentID = pick(r.components)
						return nil
					})
				r.allowsGone("link", err)
			}
		},
		func() {
			for range 3 {
				ch := statuspage.Maintenance{Components: statuspage.ComponentRefs(pick(r.components))}
				if pick([]bool{true, false}) {
					ch = statuspage.Maintenance{
						ScheduledUntil: r.clock.now().Add(time.Duration(1+minute%3) * time.Minute),
					}
				}
				_, err := s.ChangeMaintenance(r.ctx, r.ws, pick(r.planned), resource.Maintenance.From(ch), "")
				r.allowsGone("change", err)
			}
		},
		func() {
			_, err := s.PostMaintenanceUpdate(r.ctx, r.ws, pick(r.planned),
				resource.MaintenanceUpdate.From(statuspage.MaintenanceUpdate{
					Message: "more",
					State: pick([]statuspage.MaintenanceState{
						"", "in_progress", "verifying", "completed",
					}),
				}),
				"")
			r.allowsGone("update", err)
		},
		func() {
			if minute == 6 {
				r.allowsGone("cancel", s.DeleteMaintenance(r.ctx, r.ws, pick(r.planned)))
			}
		},
	}
}
