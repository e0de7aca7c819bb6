package store_test

import (
	"strings"
	"testing"
	"time"

	"github.com/allswell/allswell/internal/domain/kernel"
	"github.com/allswell/allswell/internal/domain/monitor"
	"github.com/allswell/allswell/internal/domain/statuspage"
	"github.com/allswell/allswell/internal/resource"
	"github.com/allswell/allswell/internal/store"
)

// lockRank returns the place of a statement in the lock order, and 0 for one that locks
// nothing by itself.
func lockRank(statement string) int {
	for i, prefix := range []string{
		"SELECT id FROM maintenances WHERE id IN", "SELECT id FROM monitors WHERE id IN",
		"SELECT id FROM components WHERE id IN", "UPDATE pages SET version",
	} {
		if strings.HasPrefix(statement, prefix) {
			return i + 1
		}
	}
	return 0
}

// whileLocking runs act, and change of another replica before act's first lock. It fails
// if act then locks rows against the lock order.
func (w *world) whileLocking(act, change func()) {
	w.Helper()
	changed, rank, restarts := false, 0, 0
	w.SetFault(func(when, statement string) error {
		if when == "after" {
			return nil
		}
		if strings.HasPrefix(statement, "ROLLBACK TO SAVEPOINT") {
			rank, restarts = 0, restarts+1
		}
		next := lockRank(statement)
		if next > 0 && !changed {
			changed = true
			change()
		}
		if next > 0 && next < rank {
			w.Errorf("locked against the order: %s", statement)
		}
		rank = max(rank, next)
		return nil
	})
	act()
	w.SetFault(nil)
	if restarts != 1 {
		w.Errorf("began to lock again %d times, want once", restarts)
	}
}

// TestRowsToLockChange changes which rows a verb has to lock after it has read them and
// before it locks them.
func TestRowsToLockChange(t *testing.T) {
	onPostgres(t, "", func(w *world) {
		other := w.replica()
		first, second := w.anotherComponent("first"), w.anotherComponent("second")
		job := w.quick("job", second, "")
		w.pinged(job)

		m := w.plan("Move", time.Minute, time.Hour, first.ID)
		w.clock.move(time.Minute)
		w.whileLocking(
			func() { must(w.AdvanceMaintenances(w.ctx))(w) },
			func() {
				must(other.ChangeMaintenance(w.ctx, w.ws, m.ID, func(m *statuspage.Maintenance) error {
					m.Components = statuspage.ComponentRefs(second.ID)
					return nil
				}, ""))(w)
			})
		w.shows(kernel.StatusOperational, first)
		w.shows(kernel.StatusMaintenance, second)
		if got := w.monitorNow(job); !got.SuppressedUntil.Equal(m.ScheduledUntil) {
			w.Errorf("the monitor is suppressed until %v, want %v", got.SuppressedUntil, m.ScheduledUntil)
		}

		// A monitor moves to a component whose maintenance ends.
		late := w.quick("late", first, "")
		w.whileLocking(
			func() {
				must(w.PostMaintenanceUpdate(w.ctx, w.ws, m.ID,
					resource.MaintenanceUpdate.From(statuspage.MaintenanceUpdate{
						Message: "Done.", State: statuspage.MaintenanceCompleted,
					}),
					""))(w)
			},
			func() {
				must(other.ChangeMonitor(w.ctx, w.ws, late.ID, func(c *monitor.MonitorConfig) error {
					c.ComponentID = second.ID
					return nil
				}))(w)
			})
		w.shows(kernel.StatusOperational, second)
		if got := w.monitorNow(late); got.SuppressedUntil.After(w.clock.now()) {
			w.Errorf("the monitor that moved is suppressed until %v", got.SuppressedUntil)
		}
		w.incidentMovesWhileItEnds(other, first, second)
	})
}

// incidentMovesWhileItEnds moves an incident from the first to the second component while it is resolved.
func (w *world) incidentMovesWhileItEnds(other *store.Store, first, second statuspage.Component) {
	w.Helper()
	i := must(w.CreateIncident(w.ctx, w.ws, "acme",
		statuspage.Incident{
			Title:    "Slow",
			Affected: []statuspage.AffectedComponent{{ComponentID: first.ID, Status: kernel.StatusDegraded}},
		},
		statuspage.IncidentUpdate{}, nil))(w)
	w.whileLocking(
		func() { w.change(i, func(i *statuspage.Incident) error { i.SetResolved(true); return nil }) },
		func() {
			must(other.SetIncidentComponents(w.ctx, w.ws, i.ID, affecting(statuspage.AffectedComponent{
				ComponentID: second.ID, Status: kernel.StatusDegraded,
			})))(w)
		})
	w.shows(kernel.StatusOperational, first, second)
}
