package store_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/allswell/allswell/internal/domain/kernel"
	"github.com/allswell/allswell/internal/domain/monitor"
	"github.com/allswell/allswell/internal/domain/statuspage"
	"github.com/allswell/allswell/internal/resource"
	"github.com/allswell/allswell/internal/resource/field"
	"github.com/allswell/allswell/internal/store"
)

// plan plans a maintenance of the world's component, or of others, without a
// reminder. Both times are from now.
func (w *world) plan(title string, from, until time.Duration, components ...string) statuspage.Maintenance {
	w.Helper()
	if len(components) == 0 {
		components = []string{w.component.ID}
	}
	now := w.clock.now()
	return must(w.CreateMaintenance(w.ctx, w.ws, "acme", func(m *statuspage.Maintenance) error {
		m.Title, m.ScheduledFor, m.ScheduledUntil, m.Components, m.RemindBefore = title, now.Add(from), now.Add(until),
			statuspage.ComponentRefs(components...), 0
		return nil
	}))(w)
}

// advance does what is due, and returns how long from now something is again;
// 0: never.
func (w *world) advance() time.Duration {
	w.Helper()
	next := must(w.AdvanceMaintenances(w.ctx))(w)
	if next.IsZero() {
		return 0
	}
	return next.Sub(w.clock.now())
}

// alter changes a maintenance.
func (w *world) alter(m statuspage.Maintenance, ch field.Change[statuspage.Maintenance]) statuspage.Maintenance {
	w.Helper()
	return must(w.ChangeMaintenance(w.ctx, w.ws, m.ID, ch, ""))(w)
}

// suppressedFor fails unless the monitor is suppressed until that long after now; a negative
// one has been over for that long.
func (w *world) suppressedFor(m monitor.Monitor, want time.Duration) {
	w.Helper()
	if got := w.monitorNow(m).SuppressedUntil; !got.Equal(w.clock.now().Add(want)) {
		w.Errorf("%s is suppressed until %v from now, want %v", m.Name, got.Sub(w.clock.now()), want)
	}
}

// anotherComponent creates another component of the page.
func (w *world) anotherComponent(name string) statuspage.Component {
	w.Helper()
	return must(w.Components().Create(w.ctx, w.ws, "acme",
		resource.Component.From(statuspage.Component{Name: name})))(w)
}

// maintenanceEvents returns the new events of maintenances, and what its updates
// say.
func (w *world) maintenanceEvents() (lines []string) {
	w.Helper()
	for _, e := range must(w.Events(w.ctx))(w) {
		if e.MaintenanceID == "" {
			continue
		}
		line := strings.TrimPrefix(string(e.Kind), "maintenance.") + " " + e.Data.Title + " " +
			string(e.Data.Maintenance.State)
		if e.Data.Message != "" {
			line += ": " + e.Data.Message
		}
		lines = append(lines, line)
	}
	return lines
}

var maintenanceTests = map[string]func(w *world){
	"a life by the clock": func(w *world) {
		now := w.clock.now()
		m := must(w.CreateMaintenance(w.ctx, w.ws, "acme", resource.Maintenance.From(statuspage.Maintenance{
			Title: "Disks", Updates: []statuspage.MaintenanceUpdate{{Message: "We replace disks."}},
			ScheduledFor: now.Add(48 * time.Hour), ScheduledUntil: now.Add(50 * time.Hour),
			Components: statuspage.ComponentRefs(w.component.ID),
		})))(w)
		if got := w.advance(); got != 24*time.Hour {
			w.Errorf("the first edge is in %v, want a day", got)
		}
		w.clock.move(24 * time.Hour)
		if got := w.advance(); got != 24*time.Hour {
			w.Errorf("after the reminder the next edge is in %v, want a day", got)
		}
		w.shows(kernel.StatusOperational)
		w.clock.move(24*time.Hour + 3*time.Second)
		if got := w.advance(); got != 2*time.Hour-3*time.Second {
			w.Errorf("after the beginning the next edge is in %v", got)
		}
		w.shows(kernel.StatusMaintenance)
		must(w.PostMaintenanceUpdate(w.ctx, w.ws, m.ID,
			resource.MaintenanceUpdate.From(statuspage.MaintenanceUpdate{Message: "Half of them."}), ""))(w)
		must(w.PostMaintenanceUpdate(w.ctx, w.ws, m.ID,
			resource.MaintenanceUpdate.From(statuspage.MaintenanceUpdate{
				Message: "All of them.", State: statuspage.MaintenanceVerifying,
			}),
			""))(w)
		w.shows(kernel.StatusMaintenance)
		w.clock.move(2 * time.Hour)
		if got := w.advance(); got != 0 {
			w.Errorf("after the end the next edge is in %v", got)
		}
		w.shows(kernel.StatusOperational)
		got := must(w.Maintenance(w.ctx, w.ws, m.ID))(w)
		var timeline []string
		for _, u := range got.Updates {
			timeline = append(timeline, fmt.Sprintf("%d %s: %s", u.Number, u.State, u.Message))
		}
		w.expect("the timeline", timeline, "1 scheduled: We replace disks.", "2 in_progress: The maintenance has "+
			"begun.",
			"3 in_progress: Half of them.", "4 verifying: All of them.", "5 completed: The maintenance is complete.")
		if !got.BegunAt.Equal(now.Add(48*time.Hour+3*time.Second)) || !got.EndedAt.Equal(w.clock.now()) ||
			!got.UpdatedAt.Equal(w.clock.now()) {
			w.Errorf("maintenance: %+v", got)
		}
		updates, total, err := w.MaintenanceUpdates(w.ctx, w.ws, m.ID, store.Pagination{Page: 2, PerPage: 2})
		if err != nil || total != 5 || len(updates) != 2 || updates[0].Number != 3 {
			w.Errorf("the second page of updates: %+v of %d, %v", updates, total, err)
		}
		w.expect("events", w.maintenanceEvents(), "scheduled Disks scheduled: We replace disks.",
			"reminder Disks scheduled",
			"begun Disks in_progress: The maintenance has begun.", "updated Disks in_progress: Half of them.",
			"updated Disks verifying: All of them.", "ended Disks completed: The maintenance is complete.")
		w.history("operational", "maintenance", "operational")
	},
	"planned for now": func(w *world) {
		m := w.plan("Disks", 0, time.Hour)
		w.shows(kernel.StatusMaintenance)
		if m.State != statuspage.MaintenanceInProgress || len(m.Components) != 1 || m.Components[0].Name != "Backups" {
			w.Errorf("maintenance: %+v", m)
		}
		w.expect("events", w.maintenanceEvents(), "scheduled Disks scheduled",
			"begun Disks in_progress: The maintenance has begun.")
	},
	"missed altogether": func(w *world) {
		w.pinged()
		m := w.plan("Disks", time.Hour, 2*time.Hour)
		w.absent(5 * time.Hour)
		w.advance()
		w.shows(kernel.StatusOperational)
		got := must(w.Maintenance(w.ctx, w.ws, m.ID))(w)
		if got.State != statuspage.MaintenanceCompleted || !got.BegunAt.Equal(m.ScheduledFor) ||
			!got.EndedAt.Equal(m.ScheduledUntil) {
			w.Errorf("maintenance: %+v", got)
		}
		w.expect("events", w.maintenanceEvents(), "scheduled Disks scheduled",
			"ended Disks completed: The maintenance is complete.")
		w.history("operational")
	},
	"moved, extended, cut short, ended": func(w *world) {
		m := w.plan("Disks", time.Hour, 2*time.Hour)
		now := w.clock.now()
		w.alter(m, func(m *statuspage.Maintenance) error {
			m.ScheduledFor, m.ScheduledUntil = now.Add(3*time.Hour), now.Add(4*time.Hour)
			return nil
		})
		if got := w.advance(); got != 3*time.Hour {
			w.Errorf("moved, it begins in %v", got)
		}
		w.alter(m, func(m *statuspage.Maintenance) error { m.Title = "Two disks"; return nil })
		w.clock.move(3 * time.Hour)
		w.advance()
		w.suppressedFor(w.monitor, time.Hour)
		w.alter(m, func(m *statuspage.Maintenance) error {
			m.ScheduledUntil = w.clock.now().Add(2 * time.Hour)
			return nil
		})
		w.suppressedFor(w.monitor, 2*time.Hour)
		w.alter(m, func(m *statuspage.Maintenance) error {
			m.ScheduledUntil, m.State = w.clock.now().Add(30*time.Minute), statuspage.MaintenanceVerifying
			return nil
		})
		w.suppressedFor(w.monitor, 30*time.Minute)
		if got := w.advance(); got != 30*time.Minute {
			w.Errorf("cut short, it ends in %v", got)
		}
		w.clock.move(10 * time.Minute)
		w.alter(m, func(m *statuspage.Maintenance) error { m.State = statuspage.MaintenanceCompleted; return nil })
		w.suppressedFor(w.monitor, 0)
		w.shows(kernel.StatusOperational)
		w.expect("events", w.maintenanceEvents(), "scheduled Disks scheduled", "updated Disks scheduled",
			"begun Two disks in_progress: The maintenance has begun.",
			"updated Two disks in_progress", "updated Two disks verifying",
			"ended Two disks completed: The maintenance is complete.")
		before := w.dump()
		for what, ch := range map[string]func(m *statuspage.Maintenance){
			"a state":       func(m *statuspage.Maintenance) { m.State = statuspage.MaintenanceInProgress },
			"no components": func(m *statuspage.Maintenance) { m.Components = nil },
			"an end":        func(m *statuspage.Maintenance) { m.ScheduledUntil = w.clock.now().Add(time.Hour) },
		} {
			if _, err := w.ChangeMaintenance(w.ctx, w.ws, m.ID, func(m *statuspage.Maintenance) error {
				ch(m)
				return nil
			}, ""); err == nil {
				w.Errorf("a completed maintenance took %s", what)
			}
		}
		if w.dump() != before {
			w.Error("a refused change changed something")
		}
	},
	"begun early, by hand": func(w *world) {
		m := w.plan("Disks", time.Hour, 2*time.Hour)
		w.alter(m, func(m *statuspage.Maintenance) error { m.State = statuspage.MaintenanceInProgress; return nil })
		w.shows(kernel.StatusMaintenance)
		w.suppressedFor(w.monitor, time.Hour) // as long as was planned, from now on
		w.clock.move(time.Hour - time.Second)
		w.advance()
		w.expect("events", w.maintenanceEvents(), "scheduled Disks scheduled",
			"begun Disks in_progress: The maintenance has begun.")
		w.clock.move(time.Second)
		w.advance()
		w.shows(kernel.StatusOperational)
	},
	"begun and ended with a message": func(w *world) {
		m := w.plan("Disks", time.Hour, 2*time.Hour)
		u := must(w.PostMaintenanceUpdate(w.ctx, w.ws, m.ID,
			resource.MaintenanceUpdate.From(statuspage.MaintenanceUpdate{
				Message: "Off we go.", State: statuspage.MaintenanceInProgress,
			}),
			""))(w)
		if u.State != statuspage.MaintenanceInProgress || u.Number != 1 || u.Message != "Off we go." {
			w.Errorf("update: %+v", u)
		}
		w.shows(kernel.StatusMaintenance)
		must(w.PostMaintenanceUpdate(w.ctx, w.ws, m.ID,
			resource.MaintenanceUpdate.From(statuspage.MaintenanceUpdate{
				Message: "Done.", State: statuspage.MaintenanceCompleted,
			}),
			""))(w)
		w.shows(kernel.StatusOperational)
		w.expect("events", w.maintenanceEvents(), "scheduled Disks scheduled", "begun Disks in_progress: Off we go.",
			"ended Disks completed: Done.")
	},
	"two that overlap": func(w *world) {
		first, second := w.plan("First", time.Hour, 3*time.Hour), w.plan("Second", 2*time.Hour, 4*time.Hour)
		w.clock.move(time.Hour)
		w.advance()
		w.suppressedFor(w.monitor, 2*time.Hour)
		w.clock.move(time.Hour)
		w.advance()
		w.suppressedFor(w.monitor, 2*time.Hour)
		w.alter(second, func(m *statuspage.Maintenance) error {
			m.ScheduledUntil = w.clock.now().Add(30 * time.Minute)
			return nil
		})
		w.suppressedFor(w.monitor, time.Hour) // of the first
		w.clock.move(30 * time.Minute)
		w.advance()
		w.shows(kernel.StatusMaintenance)
		w.suppressedFor(w.monitor, 30*time.Minute)
		w.ok(w.DeleteMaintenance(w.ctx, w.ws, first.ID))
		w.shows(kernel.StatusOperational)
		w.suppressedFor(w.monitor, 0)
		w.history("operational", "maintenance", "operational")
	},
	"other components while it runs": func(w *world) {
		b, c := w.anotherComponent("b"), w.anotherComponent("c")
		job := w.quick("job", b, "")
		m := w.plan("Disks", 0, time.Hour, w.component.ID, c.ID)
		m = w.alter(m, func(m *statuspage.Maintenance) error {
			m.Components = statuspage.ComponentRefs(b.ID, c.ID)
			return nil
		})
		if len(m.Components) != 2 || m.Components[0].Name != "b" {
			w.Errorf("components: %+v", m.Components)
		}
		w.shows(kernel.StatusOperational)
		w.shows(kernel.StatusMaintenance, b)
		w.shows(kernel.StatusMaintenance, c)
		w.suppressedFor(w.monitor, 0)
		w.suppressedFor(job, time.Hour)
		w.clock.move(time.Minute)
		w.alter(m, func(m *statuspage.Maintenance) error {
			m.Components, m.State = statuspage.ComponentRefs(c.ID), statuspage.MaintenanceCompleted
			return nil
		})
		w.suppressedFor(job, 0) // though it is of it no longer when it ends
		w.shows(kernel.StatusOperational, b)
		w.shows(kernel.StatusOperational, c)
	},
	"other components before it runs": func(w *world) {
		b := w.anotherComponent("b")
		m := w.plan("Disks", time.Hour, 2*time.Hour)
		w.alter(m, func(m *statuspage.Maintenance) error { m.Components = statuspage.ComponentRefs(b.ID); return nil })
		w.clock.move(time.Hour)
		w.advance()
		w.shows(kernel.StatusOperational)
		w.shows(kernel.StatusMaintenance, b)
	},
	"cancelled before it begins, and while it runs": func(w *world) {
		m := w.plan("Soon", time.Hour, 2*time.Hour)
		w.ok(w.DeleteMaintenance(w.ctx, w.ws, m.ID))
		m = w.plan("Now", 0, time.Hour)
		w.clock.move(time.Minute)
		w.ok(w.DeleteMaintenance(w.ctx, w.ws, m.ID))
		w.shows(kernel.StatusOperational)
		w.suppressedFor(w.monitor, 0)
		if err := w.DeleteMaintenance(w.ctx, w.ws, m.ID); !errors.Is(err, kernel.ErrNotFound) {
			w.Errorf("cancelled twice: %v", err)
		}
		m = w.plan("Over", 0, time.Hour)
		w.alter(m, func(m *statuspage.Maintenance) error { m.State = statuspage.MaintenanceCompleted; return nil })
		w.ok(w.DeleteMaintenance(w.ctx, w.ws, m.ID))
		w.expect("events", w.maintenanceEvents(), "scheduled Soon scheduled", "cancelled Soon scheduled",
			"scheduled Now scheduled", "begun Now in_progress: The maintenance has begun.", "cancelled Now in_progress",
			"scheduled Over scheduled", "begun Over in_progress: The maintenance has begun.",
			"ended Over completed: The maintenance is complete.")
	},
	"a status set by hand stands over it": func(w *world) {
		w.clock.move(time.Second)
		m := w.plan("Disks", 0, time.Hour)
		w.clock.move(time.Minute)
		w.say(kernel.StatusOperational)
		w.suppressedFor(w.monitor, 59*time.Minute) // it is suppressed all the same
		w.alter(m, func(m *statuspage.Maintenance) error {
			m.Title, m.Components = "x", statuspage.ComponentRefs(w.component.ID)
			return nil
		})
		w.shows(kernel.StatusOperational) // acknowledged, and the same
		w.clock.move(time.Minute)
		w.say(kernel.StatusPartialOutage)
		w.clock.move(58 * time.Minute)
		w.advance()
		w.shows(kernel.StatusPartialOutage)
		w.history("operational", "maintenance", "operational", "partial_outage")
	},
	"worse than maintenance": func(w *world) {
		job := w.quick("job", w.component, "")
		w.goDown(job)
		w.plan("Disks", 0, time.Hour)
		w.shows(kernel.StatusMajorOutage)
		w.clock.move(time.Minute)
		w.recordLiveness()
		w.pinged(job)
		w.shows(kernel.StatusMaintenance)
		w.clock.move(time.Hour)
		w.advance()
		w.shows(kernel.StatusOperational)
		w.history("operational", "major_outage", "maintenance", "operational")
	},
	"a component deleted while it runs": func(w *world) {
		m := w.plan("Disks", 0, time.Hour)
		w.clock.move(time.Minute)
		w.ok(w.Components().Delete(w.ctx, w.ws, "acme", w.component.ID, kernel.Precondition{}))
		w.suppressedFor(w.monitor, 0)
		w.clock.move(time.Hour)
		w.advance()
		got := must(w.Maintenance(w.ctx, w.ws, m.ID))(w)
		if got.State != statuspage.MaintenanceCompleted || len(got.Components) != 0 {
			w.Errorf("maintenance: %+v", got)
		}
	},
	"monitors that come and go while it runs": func(w *world) {
		b := w.anotherComponent("b")
		w.plan("Disks", 0, time.Hour)
		w.plan("Later", 0, 2*time.Hour, b.ID)
		made := w.quick("made", w.component, "")
		w.suppressedFor(made, time.Hour)
		linked := w.quick("linked", statuspage.Component{}, "")
		must(w.ChangeMonitor(w.ctx, w.ws, linked.ID, func(c *monitor.MonitorConfig) error {
			c.ComponentID = w.component.ID
			return nil
		}))(w)
		w.suppressedFor(linked, time.Hour)
		w.clock.move(time.Minute)
		must(w.ChangeMonitor(w.ctx, w.ws, made.ID, func(c *monitor.MonitorConfig) error {
			c.ComponentID = b.ID
			return nil
		}))(w)
		w.suppressedFor(made, 119*time.Minute)
		w.pinged(linked)
		must(w.ChangeMonitor(w.ctx, w.ws, linked.ID, func(c *monitor.MonitorConfig) error {
			c.ComponentID = ""
			return nil
		}))(w)
		w.suppressedFor(linked, 0)
		if got := w.monitorNow(linked).NextCheckAt; !got.Equal(w.clock.now().Add(time.Minute)) {
			w.Errorf("unlinked, it is due at %v", got)
		}
	},
	"a tick does not count, and one fresh interval follows": func(w *world) {
		w.pinged()
		w.pass(6*time.Minute + 30*time.Second) // one overdue check
		if got := w.now().ConsecutiveFailures; got != 1 {
			w.Fatalf("%d overdue checks before the beginning", got)
		}
		w.plan("Disks", 0, 30*time.Minute)
		end := w.clock.now().Add(30 * time.Minute)
		if got := w.now(); got.ConsecutiveFailures != 0 || !got.NextCheckAt.Equal(end.Add(5*time.Minute)) {
			w.Errorf("in maintenance: %+v", got)
		}
		w.pass(30 * time.Minute)
		w.advance()
		w.pass(5 * time.Minute)
		got := w.now()
		if got.ConsecutiveFailures != 0 || got.State != monitor.MonitorUp ||
			!got.NextCheckAt.Equal(end.Add(5*time.Minute)) {
			w.Errorf("within the fresh interval: %+v", got)
		}
		w.pass(2 * time.Minute)
		if got := w.now(); got.ConsecutiveFailures != 2 || got.State != monitor.MonitorUp {
			w.Errorf("behind it: %+v", got)
		}
		w.pass(time.Minute)
		if got := w.now(); got.State != monitor.MonitorDown {
			w.Errorf("silent for interval and threshold: %+v", got)
		}
		w.history("operational", "maintenance", "operational", "major_outage")
	},
	"a job that pauses is never down": func(w *world) {
		job := w.quick("job", w.component, "")
		for range 5 {
			w.pinged(job)
			w.pass(time.Minute)
		}
		w.pinged(job)
		w.plan("Disks", 30*time.Second, time.Hour)
		w.pass(35 * time.Second)
		w.advance()
		w.pass(59*time.Minute + 25*time.Second)
		w.advance()
		w.pass(55 * time.Second)
		w.pinged(job)
		w.pass(time.Minute)
		if n := len(w.incidents()); n != 0 || w.monitorNow(job).ConsecutiveFailures != 0 {
			w.Errorf("%d incidents, %+v", n, w.monitorNow(job))
		}
	},
	"a clock that goes back ends no suppression late": func(w *world) {
		m := w.plan("Disks", 0, 10*time.Minute)
		w.pass(10 * time.Minute)
		w.advance()
		w.pinged()
		w.say(kernel.StatusDegraded)
		w.clock.move(-time.Hour)
		w.recordLiveness()
		w.suppressedFor(w.monitor, 0)
		w.history("degraded")
		if got := must(w.Maintenance(w.ctx, w.ws, m.ID))(w).State; got != statuspage.MaintenanceCompleted {
			w.Errorf("state %s", got)
		}
		w.plan("Again", 0, 10*time.Minute)
		w.clock.move(-time.Hour)
		w.recordLiveness()
		w.suppressedFor(w.monitor, 70*time.Minute) // it runs until then, whatever the clock says now
	},
	"many at once": func(w *world) {
		for i := range 102 {
			w.plan(fmt.Sprint(i), time.Hour, 2*time.Hour)
		}
		w.clock.move(time.Hour)
		if got := w.advance(); got != 0 {
			w.Errorf("with more to do, the next edge is in %v", got)
		}
		w.advance()
		if got := w.value(`SELECT count(*) FROM maintenances WHERE state = 'in_progress'`); got != "102" {
			w.Errorf("%s have begun", got)
		}
		if got := w.advance(); got != time.Hour {
			w.Errorf("the next edge is in %v", got)
		}
	},
	"one that fails holds up no other": func(w *world) {
		bad := w.plan("Bad", 30*time.Minute, 2*time.Hour)
		w.plan("Good", time.Hour, 2*time.Hour)
		w.clock.move(time.Hour)
		failed := false
		w.SetFault(func(when, query string) error {
			if failed || when != "before" || !strings.HasPrefix(query, "UPDATE maintenances") {
				return nil
			}
			failed = true // the bad one is the first
			return errFault
		})
		_, err := w.AdvanceMaintenances(w.ctx)
		w.SetFault(nil)
		if !errors.Is(err, errFault) || !strings.Contains(err.Error(), bad.ID) {
			w.Errorf("error %v", err)
		}
		got := w.rows(`SELECT title FROM maintenances WHERE state = 'in_progress'`)
		if !slices.Equal(got, []string{"Good"}) {
			w.Errorf("begun: %v", got)
		}
		w.advance()
		if got := w.value(`SELECT count(*) FROM maintenances WHERE state = 'in_progress'`); got != "2" {
			w.Errorf("%s have begun at the next try", got)
		}
	},
}

func TestMaintenances(t *testing.T) {
	t.Parallel()
	for name, f := range maintenanceTests {
		t.Run(name, func(t *testing.T) {
			inWorlds(t, f)
		})
	}
}

// history fails unless these are the statuses that the component has had.
func (w *world) history(want ...string) {
	w.Helper()
	got := w.rows(`SELECT status FROM status_changes WHERE component_id = $1 ORDER BY changed_at`, w.component.ID)
	if !slices.Equal(got, want) {
		w.Errorf("the component's history is %v, want %v", got, want)
	}
}
