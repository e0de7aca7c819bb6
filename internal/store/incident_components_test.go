package store_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/allswell/allswell/internal/domain/kernel"
	"github.com/allswell/allswell/internal/domain/statuspage"
)

// about is an incident of components, each at its status.
func (w *world) about(title string, message string, affected ...statuspage.AffectedComponent) statuspage.Incident {
	w.Helper()
	return must(w.CreateIncident(w.ctx, w.ws, "acme", statuspage.Incident{Title: title, Affected: affected},
		statuspage.IncidentUpdate{Message: message}, nil))(w)
}

func (w *world) at(status kernel.Status, of ...statuspage.Component) statuspage.AffectedComponent {
	return statuspage.AffectedComponent{ComponentID: append(of, w.component)[0].ID, Status: status}
}

// concerns sets what an incident concerns.
func (w *world) concerns(
	i statuspage.Incident, affected ...statuspage.AffectedComponent,
) []statuspage.AffectedComponent {
	w.Helper()
	return must(w.SetIncidentComponents(w.ctx, w.ws, i.ID, affecting(affected...)))(w)
}

// affectedBy returns what each update says of the components.
func (w *world) affectedBy(id string) (lines []string) {
	w.Helper()
	for _, u := range must(w.Incident(w.ctx, w.ws, id))(w).Updates {
		line := u.Message + ":"
		for _, a := range u.Affected {
			line += fmt.Sprintf(" %s %s>%s", a.Name, a.Old, a.New)
		}
		lines = append(lines, line)
	}
	return lines
}

var affectedTests = map[string]func(w *world){
	"from creation to the end": func(w *world) {
		w.clock.move(time.Second)
		i := w.about("Slow", "We look.", w.at(kernel.StatusDegradedPerformance))
		w.shows(kernel.StatusDegradedPerformance)
		if len(i.Affected) != 1 || i.Affected[0].Name != "Backups" {
			w.Errorf("affected: %+v", i.Affected)
		}
		w.clock.move(time.Second)
		must(w.PostUpdate(w.ctx, w.ws, i.ID, statuspage.IncidentUpdate{Message: "Found it."}, nil))(w)
		w.change(i, func(i *statuspage.Incident) error { i.State = statuspage.IncidentResolved; return nil })
		w.shows(kernel.StatusOperational)
		must(w.PostUpdate(w.ctx, w.ws, i.ID, statuspage.IncidentUpdate{Message: "All is well."}, nil))(w)
		w.expect("what the updates say", w.affectedBy(i.ID), "We look.: Backups >degraded_performance",
			"Found it.: Backups degraded_performance>degraded_performance",
			"All is well.: Backups degraded_performance>operational")
		w.expectEvents("created: Slow, minor, investigating: We look.", "Backups: operational > degraded_performance",
			"updated: Slow, minor, investigating: Found it.", "Backups: degraded_performance > operational",
			"resolved: Slow, minor, resolved", "updated: Slow, minor, resolved: All is well.")
		w.history("operational", "degraded", "operational")
		for _, e := range must(w.Events(w.ctx))(w) {
			if e.IncidentID != "" && !slices.Equal(e.Components, []string{w.component.ID}) {
				w.Errorf("%s concerns %v", e.Kind, e.Components)
			}
			if e.Kind == statuspage.EventIncidentResolved && e.Data.Affected[0].New != kernel.StatusOperational {
				w.Errorf("the end says %+v", e.Data.Affected)
			}
		}
	},
	"created resolved": func(w *world) {
		must(w.CreateIncident(w.ctx, w.ws, "acme",
			statuspage.Incident{
				Title: "Was slow", State: statuspage.IncidentResolved,
				Affected: []statuspage.AffectedComponent{w.at(kernel.StatusMajorOutage)},
			},
			statuspage.IncidentUpdate{}, nil))(w)
		w.shows(kernel.StatusOperational)
		w.expectEvents("created: Was slow, critical, resolved")
	},
	"updates that change it": func(w *world) {
		w.clock.move(time.Second)
		i := w.about("Slow", "", w.at(kernel.StatusDegraded))
		w.clock.move(time.Second)
		affected := []statuspage.AffectedComponent{w.at(kernel.StatusMajorOutage)}
		u := must(w.PostUpdate(w.ctx, w.ws, i.ID, statuspage.IncidentUpdate{Message: "Worse."},
			func(i *statuspage.Incident) error {
				i.State = statuspage.IncidentIdentified
				i.SetImpact(kernel.ImpactCritical)
				i.Affected = affected
				return nil
			}))(w)
		if u.State != statuspage.IncidentIdentified {
			w.Errorf("the update has the state %s", u.State)
		}
		w.shows(kernel.StatusMajorOutage)
		w.clock.move(time.Second)
		must(w.PostUpdate(w.ctx, w.ws, i.ID, statuspage.IncidentUpdate{Message: "Fixed."},
			func(i *statuspage.Incident) error {
				i.State = statuspage.IncidentResolved
				return nil
			}))(w)
		w.shows(kernel.StatusOperational)
		w.clock.move(time.Second)
		reopened := w.change(i, func(i *statuspage.Incident) error {
			i.SetResolved(false)
			return nil
		}, statuspage.IncidentUpdate{Message: "Not yet."})
		w.shows(kernel.StatusMajorOutage)
		w.clock.move(time.Second)
		w.change(reopened, func(i *statuspage.Incident) error {
			i.State = statuspage.IncidentResolved
			i.SetResolved(true)
			return nil
		}, statuspage.IncidentUpdate{Message: "Now."})
		w.shows(kernel.StatusOperational)
		w.expect("what the updates say", w.affectedBy(i.ID), "Worse.: Backups >major_outage",
			"Fixed.: Backups major_outage>operational",
			"Not yet.: Backups operational>major_outage", "Now.: Backups major_outage>operational")
		w.expectEvents("created: Slow, minor, investigating", "Backups: operational > degraded",
			"Backups: degraded > major_outage", "updated: Slow, critical, identified: Worse.",
			"Backups: major_outage > operational", "resolved: Slow, critical, resolved: Fixed.",
			"Backups: operational > major_outage", "updated: Slow, critical, investigating: Not yet.",
			"Backups: major_outage > operational", "resolved: Slow, critical, resolved: Now.")
	},
	"reopened, and deleted": func(w *world) {
		i := w.about("Slow", "", w.at(kernel.StatusPartialOutage))
		w.clock.move(time.Second)
		w.change(i, func(i *statuspage.Incident) error { i.SetResolved(true); return nil })
		w.shows(kernel.StatusOperational)
		w.clock.move(time.Second)
		w.change(i, func(i *statuspage.Incident) error { i.SetResolved(true); return nil }) // again
		w.change(i, func(i *statuspage.Incident) error { i.SetResolved(false); return nil })
		w.shows(kernel.StatusPartialOutage)
		w.change(i, func(i *statuspage.Incident) error { i.Title = "Still slow"; i.SetResolved(false); return nil })
		w.shows(kernel.StatusPartialOutage)
		w.clock.move(time.Second)
		w.ok(w.DeleteIncident(w.ctx, w.ws, i.ID))
		w.shows(kernel.StatusOperational)
		w.history("partial_outage", "operational", "partial_outage", "operational")
	},
	"a status set by hand stands over it": func(w *world) {
		i := w.about("Slow", "", w.at(kernel.StatusPartialOutage))
		w.say(kernel.StatusOperational)
		w.concerns(i, w.at(kernel.StatusPartialOutage))
		w.shows(kernel.StatusOperational) // the same, and acknowledged
		w.concerns(i, w.at(kernel.StatusMajorOutage))
		w.shows(kernel.StatusMajorOutage) // another, which nobody has seen
		w.say(kernel.StatusDegraded)
		w.change(i, func(i *statuspage.Incident) error { i.SetResolved(true); return nil })
		w.shows(kernel.StatusDegraded)
	},
	"other components, and none": func(w *world) {
		b := w.anotherComponent("b")
		i := w.about("Slow", "One.", w.at(kernel.StatusMajorOutage))
		got := w.concerns(i, w.at(kernel.StatusDegraded, b), w.at(kernel.StatusPartialOutage))
		if len(got) != 2 || got[0].ComponentID != w.component.ID || got[1].Name != "b" { // in the page's order
			w.Errorf("affected: %+v", got)
		}
		w.shows(kernel.StatusPartialOutage)
		w.shows(kernel.StatusDegraded, b)
		must(w.PostUpdate(w.ctx, w.ws, i.ID, statuspage.IncidentUpdate{Message: "Two."}, nil))(w)
		w.clock.move(time.Second)
		w.concerns(i, w.at(kernel.StatusOperational, b))
		w.shows(kernel.StatusOperational)
		w.shows(kernel.StatusOperational, b)
		must(w.PostUpdate(w.ctx, w.ws, i.ID, statuspage.IncidentUpdate{Message: "Three."}, nil))(w)
		before := must(w.Incident(w.ctx, w.ws, i.ID))(w).UpdatedAt
		w.clock.move(time.Second)
		w.concerns(i, w.at(kernel.StatusOperational, b))
		if got := must(w.Incident(w.ctx, w.ws, i.ID))(w).UpdatedAt; !got.Equal(before) {
			w.Errorf("the same again moved updated_at from %v to %v", before, got)
		}
		if got := w.concerns(i); len(got) != 0 {
			w.Errorf("affected: %+v", got)
		}
		if got := must(w.Incident(w.ctx, w.ws, i.ID))(w).UpdatedAt; !got.Equal(w.clock.now()) {
			w.Errorf("updated at %v", got)
		}
		must(w.PostUpdate(w.ctx, w.ws, i.ID, statuspage.IncidentUpdate{Message: "Four."}, nil))(w)
		w.expect("what the updates say", w.affectedBy(i.ID), "One.: Backups >major_outage",
			"Two.: Backups major_outage>partial_outage b >degraded",
			"Three.: b degraded>operational Backups partial_outage>operational", "Four.:")
	},
	"set while it is resolved": func(w *world) {
		i := w.about("Slow", "")
		w.change(i, func(i *statuspage.Incident) error { i.SetResolved(true); return nil })
		w.concerns(i, w.at(kernel.StatusMajorOutage))
		w.shows(kernel.StatusOperational)
		w.change(i, func(i *statuspage.Incident) error { i.SetResolved(false); return nil })
		w.shows(kernel.StatusMajorOutage)
	},
	"two on one component": func(w *world) {
		a, b := w.about("A", "", w.at(kernel.StatusDegraded)), w.about("B", "", w.at(kernel.StatusMajorOutage))
		w.shows(kernel.StatusMajorOutage)
		w.change(b, func(i *statuspage.Incident) error { i.SetResolved(true); return nil })
		w.shows(kernel.StatusDegraded)
		w.change(a, func(i *statuspage.Incident) error { i.SetResolved(true); return nil })
		w.shows(kernel.StatusOperational)
	},
	"a component that is deleted": func(w *world) {
		b := w.anotherComponent("b")
		i := w.about("Slow", "One.", w.at(kernel.StatusMajorOutage), w.at(kernel.StatusDegraded, b))
		w.ok(w.Components().Delete(w.ctx, w.ws, "acme", b.ID, kernel.Precondition{}))
		must(w.PostUpdate(w.ctx, w.ws, i.ID, statuspage.IncidentUpdate{Message: "Two."}, nil))(w)
		w.change(i, func(i *statuspage.Incident) error { i.SetResolved(true); return nil })
		w.shows(kernel.StatusOperational)
		w.expect("what the updates say", w.affectedBy(i.ID), "One.: Backups >major_outage b >degraded",
			"Two.: Backups major_outage>major_outage b degraded>operational")
	},
	"an outage's": func(w *world) {
		job := w.quick("job", w.component, kernel.StatusPartialOutage)
		w.goDown(job)
		i := w.incident()
		got := must(w.IncidentComponents(w.ctx, w.ws, i.ID))(w)
		if len(got) != 1 ||
			got[0] != (statuspage.AffectedComponent{
				ComponentID: w.component.ID, Name: "Backups", Status: kernel.StatusPartialOutage,
			}) {
			w.Errorf("affected: %+v", got)
		}
		if got := w.value(`SELECT count(*) FROM causes`); got != "1" {
			w.Errorf("%s causes, want the outage's alone", got)
		}
		w.clock.move(time.Second)
		w.recordLiveness()
		w.pinged(job)
		w.shows(kernel.StatusOperational)
		said := w.affectedBy(i.ID)
		if len(said) != 2 || said[0][len(said[0])-len("Backups >partial_outage"):] != "Backups >partial_outage" ||
			said[1][len(said[1])-len("Backups partial_outage>operational"):] != "Backups partial_outage>operational" {
			w.Errorf("the updates say %q", said)
		}
	},
	"an outage's, extended by hand": func(w *world) {
		b := w.anotherComponent("b")
		job := w.quick("job", w.component, kernel.StatusPartialOutage)
		w.goDown(job)
		i := w.incident()
		w.concerns(i, w.at(kernel.StatusMajorOutage), w.at(kernel.StatusDegraded, b))
		w.shows(kernel.StatusMajorOutage)
		w.shows(kernel.StatusDegraded, b)
		w.change(i, func(i *statuspage.Incident) error { i.SetResolved(true); return nil }) // the outage lasts
		w.shows(kernel.StatusPartialOutage)
		w.shows(kernel.StatusOperational, b)
		w.change(i, func(i *statuspage.Incident) error { i.SetResolved(false); return nil })
		w.shows(kernel.StatusMajorOutage)
		w.clock.move(time.Second)
		w.recordLiveness()
		w.pinged(job)
		w.shows(kernel.StatusOperational)
		w.shows(kernel.StatusOperational, b)
		if got := w.incident(); !got.Resolved {
			w.Errorf("after the recovery: %+v", got)
		}
	},
	"refused": func(w *world) {
		i := w.about("Slow", "", w.at(kernel.StatusDegraded))
		before := w.dump()
		for field, affected := range map[string][]statuspage.AffectedComponent{
			"components.0.status": {w.at(kernel.StatusMaintenance)},
			"components.1.id": {w.at(kernel.StatusDegraded),
				{ComponentID: "comp_nothing", Status: kernel.StatusDegraded}},
			"components": {w.at(kernel.StatusDegraded), w.at(kernel.StatusMajorOutage)},
		} {
			_, errSet := w.SetIncidentComponents(w.ctx, w.ws, i.ID, affecting(affected...))
			_, errCreate := w.CreateIncident(w.ctx, w.ws, "acme", statuspage.Incident{Title: "x", Affected: affected},
				statuspage.IncidentUpdate{Message: "x"}, nil)
			for what, err := range map[string]error{"set": errSet, "create": errCreate} {
				if refused(err, field) != kernel.ErrNotFound {
					w.Errorf("%s: %v, want a complaint about %s", what, err, field)
				}
			}
		}
		if w.dump() != before {
			w.Error("a refused request changed something")
		}
	},
}

func TestAffectedComponents(t *testing.T) {
	t.Parallel()
	for name, f := range affectedTests {
		t.Run(name, func(t *testing.T) { inWorlds(t, f) })
	}
}

// TestRecipientsOfComponents checks that subscribers of a component are notified of events
// that affect it, and of the end of everything that they were notified of before;
// subscribers of the whole page are always notified.
func TestRecipientsOfComponents(t *testing.T) {
	inWorlds(t, func(w *world) {
		b := w.anotherComponent("b")
		w.subscribe("all@example.com")
		w.subscribe("a@example.com", w.component.ID)
		w.subscribe("b@example.com", b.ID)
		w.clock.move(time.Second)
		notifies := func(what string, want ...string) {
			w.Helper()
			var who []string
			w.fanOut()
			for _, line := range w.rows(
				`SELECT DISTINCT target FROM deliveries JOIN subscribers ON subscribers.id = subscriber_id
					WHERE deliveries.purpose = 'event'`,
			) {
				who = append(who, line[:len(line)-len("@example.com")])
			}
			w.run(`DELETE FROM deliveries`)
			w.clock.move(time.Second)
			slices.Sort(who)
			slices.Sort(want)
			if !slices.Equal(who, want) {
				w.Errorf("%s notifies %v, want %v", what, who, want)
			}
		}
		i := w.about("Slow", "We look.", w.at(kernel.StatusDegraded))
		notifies("an incident of a", "all", "a")
		w.concerns(i, w.at(kernel.StatusDegraded, b))
		must(w.PostUpdate(w.ctx, w.ws, i.ID, statuspage.IncidentUpdate{Message: "It is b."}, nil))(w)
		notifies("its update, of b", "all", "a", "b")
		w.concerns(i)
		w.change(i, func(i *statuspage.Incident) error { i.SetResolved(true); return nil })
		notifies("its end, of none", "all", "a", "b")
		i = w.about("Everything", "")
		notifies("an incident of the page", "all", "a", "b")
		w.concerns(i, w.at(kernel.StatusDegraded))
		must(w.PostUpdate(w.ctx, w.ws, i.ID, statuspage.IncidentUpdate{Message: "Only a."}, nil))(w)
		notifies("its update, of a", "all", "a", "b")

		m := w.plan("Disks", time.Hour, 2*time.Hour)
		notifies("a maintenance of a", "all", "a")
		w.alter(m, func(m *statuspage.Maintenance) error { m.Components = statuspage.ComponentRefs(b.ID); return nil })
		notifies("nothing")
		w.clock.move(time.Hour)
		w.advance()
		notifies("its beginning, of b", "all", "a", "b")
		w.alter(m, func(m *statuspage.Maintenance) error { m.State = statuspage.MaintenanceCompleted; return nil })
		notifies("its end", "all", "a", "b")
		m = w.plan("More disks", time.Hour, 2*time.Hour, b.ID)
		notifies("a maintenance of b", "all", "b")
		w.ok(w.DeleteMaintenance(w.ctx, w.ws, m.ID))
		notifies("that it is cancelled", "all", "b")
	})
}
