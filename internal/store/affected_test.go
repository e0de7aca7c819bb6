package store_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/allswell/allswell"
)

// about is an incident of components, each at its status.
func (w *world) about(title string, message *string, affected ...allswell.Affected) allswell.Incident {
	w.Helper()
	return must(w.CreateIncident(w.ctx, w.ws, "acme", allswell.NewIncident{Title: title, Message: message, Affected: affected}))(w)
}

func (w *world) at(status allswell.Status, of ...allswell.Component) allswell.Affected {
	return allswell.Affected{ComponentID: append(of, w.component)[0].ID, Status: status}
}

// concerns sets what an incident concerns.
func (w *world) concerns(i allswell.Incident, affected ...allswell.Affected) []allswell.Affected {
	w.Helper()
	return must(w.SetIncidentComponents(w.ctx, w.ws, i.ID, affected))(w)
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
		i := w.about("Slow", ptr("We look."), w.at(allswell.DegradedPerformance))
		w.shows(allswell.DegradedPerformance)
		if len(i.Affected) != 1 || i.Affected[0].Name != "Backups" {
			w.Errorf("affected: %+v", i.Affected)
		}
		w.clock.move(time.Second)
		must(w.PostUpdate(w.ctx, w.ws, i.ID, "Found it."))(w)
		w.change(i, allswell.IncidentChange{State: ptr(allswell.Resolved)})
		w.shows(allswell.Operational)
		must(w.PostUpdate(w.ctx, w.ws, i.ID, "All is well."))(w)
		w.expect("what the updates say", w.affectedBy(i.ID), "We look.: Backups >degraded_performance",
			"Found it.: Backups degraded_performance>degraded_performance", "All is well.: Backups degraded_performance>operational")
		w.tells("created: Slow, none, investigating: We look.", "Backups: operational > degraded_performance",
			"updated: Slow, none, investigating: Found it.", "Backups: degraded_performance > operational",
			"resolved: Slow, none, resolved", "updated: Slow, none, resolved: All is well.")
		w.history("operational", "degraded", "operational")
		for _, e := range must(w.Events(w.ctx))(w) {
			if e.IncidentID != "" && !slices.Equal(e.Components, []string{w.component.ID}) {
				w.Errorf("%s concerns %v", e.Kind, e.Components)
			}
			if e.Kind == allswell.IncidentResolved && e.Data.Affected[0].New != allswell.Operational {
				w.Errorf("the end says %+v", e.Data.Affected)
			}
		}
	},
	"created resolved": func(w *world) {
		must(w.CreateIncident(w.ctx, w.ws, "acme", allswell.NewIncident{Title: "Was slow", State: allswell.Resolved, Affected: []allswell.Affected{w.at(allswell.MajorOutage)}}))(w)
		w.shows(allswell.Operational)
		w.tells("created: Was slow, none, resolved")
	},
	"reopened, and deleted": func(w *world) {
		i := w.about("Slow", nil, w.at(allswell.PartialOutage))
		w.clock.move(time.Second)
		w.change(i, allswell.IncidentChange{Resolved: ptr(true)})
		w.shows(allswell.Operational)
		w.clock.move(time.Second)
		w.change(i, allswell.IncidentChange{Resolved: ptr(true)}) // again
		w.change(i, allswell.IncidentChange{Resolved: ptr(false)})
		w.shows(allswell.PartialOutage)
		w.change(i, allswell.IncidentChange{Resolved: ptr(false), Title: ptr("Still slow")})
		w.shows(allswell.PartialOutage)
		w.clock.move(time.Second)
		w.ok(w.DeleteIncident(w.ctx, w.ws, i.ID))
		w.shows(allswell.Operational)
		w.history("partial_outage", "operational", "partial_outage", "operational")
	},
	"a human's word stands over it": func(w *world) {
		i := w.about("Slow", nil, w.at(allswell.PartialOutage))
		w.say(allswell.Operational)
		w.concerns(i, w.at(allswell.PartialOutage))
		w.shows(allswell.Operational) // the same, and acknowledged
		w.concerns(i, w.at(allswell.MajorOutage))
		w.shows(allswell.MajorOutage) // another, which nobody has seen
		w.say(allswell.Degraded)
		w.change(i, allswell.IncidentChange{Resolved: ptr(true)})
		w.shows(allswell.Degraded)
	},
	"other components, and none": func(w *world) {
		b := w.anotherComponent("b")
		i := w.about("Slow", ptr("One."), w.at(allswell.MajorOutage))
		got := w.concerns(i, w.at(allswell.Degraded, b), w.at(allswell.PartialOutage))
		if len(got) != 2 || got[0].ComponentID != w.component.ID || got[1].Name != "b" { // in the page's order
			w.Errorf("affected: %+v", got)
		}
		w.shows(allswell.PartialOutage)
		w.shows(allswell.Degraded, b)
		must(w.PostUpdate(w.ctx, w.ws, i.ID, "Two."))(w)
		w.clock.move(time.Second)
		w.concerns(i, w.at(allswell.Operational, b))
		w.shows(allswell.Operational)
		w.shows(allswell.Operational, b)
		must(w.PostUpdate(w.ctx, w.ws, i.ID, "Three."))(w)
		before := must(w.Incident(w.ctx, w.ws, i.ID))(w).UpdatedAt
		w.clock.move(time.Second)
		w.concerns(i, w.at(allswell.Operational, b))
		if got := must(w.Incident(w.ctx, w.ws, i.ID))(w).UpdatedAt; !got.Equal(before) {
			w.Errorf("the same again moved updated_at from %v to %v", before, got)
		}
		if got := w.concerns(i); len(got) != 0 {
			w.Errorf("affected: %+v", got)
		}
		if got := must(w.Incident(w.ctx, w.ws, i.ID))(w).UpdatedAt; !got.Equal(w.clock.now()) {
			w.Errorf("updated at %v", got)
		}
		must(w.PostUpdate(w.ctx, w.ws, i.ID, "Four."))(w)
		w.expect("what the updates say", w.affectedBy(i.ID), "One.: Backups >major_outage",
			"Two.: Backups major_outage>partial_outage b >degraded", "Three.: b degraded>operational Backups partial_outage>operational", "Four.:")
	},
	"set while it is resolved": func(w *world) {
		i := w.about("Slow", nil)
		w.change(i, allswell.IncidentChange{Resolved: ptr(true)})
		w.concerns(i, w.at(allswell.MajorOutage))
		w.shows(allswell.Operational)
		w.change(i, allswell.IncidentChange{Resolved: ptr(false)})
		w.shows(allswell.MajorOutage)
	},
	"two on one component": func(w *world) {
		a, b := w.about("A", nil, w.at(allswell.Degraded)), w.about("B", nil, w.at(allswell.MajorOutage))
		w.shows(allswell.MajorOutage)
		w.change(b, allswell.IncidentChange{Resolved: ptr(true)})
		w.shows(allswell.Degraded)
		w.change(a, allswell.IncidentChange{Resolved: ptr(true)})
		w.shows(allswell.Operational)
	},
	"a component that is deleted": func(w *world) {
		b := w.anotherComponent("b")
		i := w.about("Slow", ptr("One."), w.at(allswell.MajorOutage), w.at(allswell.Degraded, b))
		w.ok(w.DeleteComponent(w.ctx, w.ws, "acme", b.ID))
		must(w.PostUpdate(w.ctx, w.ws, i.ID, "Two."))(w)
		w.change(i, allswell.IncidentChange{Resolved: ptr(true)})
		w.shows(allswell.Operational)
		w.expect("what the updates say", w.affectedBy(i.ID), "One.: Backups >major_outage b >degraded", "Two.: Backups major_outage>major_outage b degraded>operational")
	},
	"an outage's": func(w *world) {
		job := w.quick("job", w.component, allswell.PartialOutage)
		w.goDown(job)
		i := w.incident()
		if got := must(w.IncidentComponents(w.ctx, w.ws, i.ID))(w); len(got) != 1 || got[0] != (allswell.Affected{ComponentID: w.component.ID, Name: "Backups", Status: allswell.PartialOutage}) {
			w.Errorf("affected: %+v", got)
		}
		if got := w.value(`SELECT count(*) FROM causes`); got != "1" {
			w.Errorf("%s causes, want the outage's alone", got)
		}
		w.clock.move(time.Second)
		w.beat()
		w.pinged(job)
		w.shows(allswell.Operational)
		said := w.affectedBy(i.ID)
		if len(said) != 2 || said[0][len(said[0])-len("Backups >partial_outage"):] != "Backups >partial_outage" ||
			said[1][len(said[1])-len("Backups partial_outage>operational"):] != "Backups partial_outage>operational" {
			w.Errorf("the updates say %q", said)
		}
	},
	"an outage's, extended by a human": func(w *world) {
		b := w.anotherComponent("b")
		job := w.quick("job", w.component, allswell.PartialOutage)
		w.goDown(job)
		i := w.incident()
		w.concerns(i, w.at(allswell.MajorOutage), w.at(allswell.Degraded, b))
		w.shows(allswell.MajorOutage)
		w.shows(allswell.Degraded, b)
		w.change(i, allswell.IncidentChange{Resolved: ptr(true)}) // the outage lasts
		w.shows(allswell.PartialOutage)
		w.shows(allswell.Operational, b)
		w.change(i, allswell.IncidentChange{Resolved: ptr(false)})
		w.shows(allswell.MajorOutage)
		w.clock.move(time.Second)
		w.beat()
		w.pinged(job)
		w.shows(allswell.Operational)
		w.shows(allswell.Operational, b)
		if got := w.incident(); !got.Resolved {
			w.Errorf("after the recovery: %+v", got)
		}
	},
	"refused": func(w *world) {
		i := w.about("Slow", nil, w.at(allswell.Degraded))
		before := w.dump()
		for field, affected := range map[string][]allswell.Affected{
			"components.0.status": {w.at(allswell.Maintenance)},
			"components.1.id":     {w.at(allswell.Degraded), {ComponentID: "comp_nothing", Status: allswell.Degraded}},
			"components":          {w.at(allswell.Degraded), w.at(allswell.MajorOutage)},
		} {
			_, errSet := w.SetIncidentComponents(w.ctx, w.ws, i.ID, affected)
			_, errCreate := w.CreateIncident(w.ctx, w.ws, "acme", allswell.NewIncident{Title: "x", Message: ptr("x"), Affected: affected})
			for what, err := range map[string]error{"set": errSet, "create": errCreate} {
				if refused(err, field) != allswell.ErrNotFound {
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
	for name, f := range affectedTests {
		t.Run(name, func(t *testing.T) { inWorlds(t, f) })
	}
}

// TestWhoIsToldOfComponents: those of a component are told of what concerns it,
// and of the end of all that they were told of; those of the whole page always.
func TestWhoIsToldOfComponents(t *testing.T) {
	inWorlds(t, func(w *world) {
		b := w.anotherComponent("b")
		w.subscribe("all@example.com")
		w.subscribe("a@example.com", w.component.ID)
		w.subscribe("b@example.com", b.ID)
		w.clock.move(time.Second)
		told := func(what string, want ...string) {
			w.Helper()
			var who []string
			w.fanOut()
			for _, line := range w.rows(`SELECT DISTINCT target FROM deliveries JOIN subscribers ON subscribers.id = subscriber_id WHERE deliveries.purpose = 'event'`) {
				who = append(who, line[:len(line)-len("@example.com")])
			}
			w.run(`DELETE FROM deliveries`)
			w.clock.move(time.Second)
			slices.Sort(who)
			slices.Sort(want)
			if !slices.Equal(who, want) {
				w.Errorf("%s is told to %v, want %v", what, who, want)
			}
		}
		i := w.about("Slow", ptr("We look."), w.at(allswell.Degraded))
		told("an incident of a", "all", "a")
		w.concerns(i, w.at(allswell.Degraded, b))
		must(w.PostUpdate(w.ctx, w.ws, i.ID, "It is b."))(w)
		told("its update, of b", "all", "a", "b")
		w.concerns(i)
		w.change(i, allswell.IncidentChange{Resolved: ptr(true)})
		told("its end, of none", "all", "a", "b")
		i = w.about("Everything", nil)
		told("an incident of the page", "all", "a", "b")
		w.concerns(i, w.at(allswell.Degraded))
		must(w.PostUpdate(w.ctx, w.ws, i.ID, "Only a."))(w)
		told("its update, of a", "all", "a", "b")

		m := w.plan("Disks", time.Hour, 2*time.Hour)
		told("a maintenance of a", "all", "a")
		w.alter(m, allswell.MaintenanceChange{Components: &[]string{b.ID}})
		told("nothing")
		w.clock.move(time.Hour)
		w.advance()
		told("its beginning, of b", "all", "a", "b")
		w.alter(m, allswell.MaintenanceChange{State: ptr(allswell.MaintenanceCompleted)})
		told("its end", "all", "a", "b")
		m = w.plan("More disks", time.Hour, 2*time.Hour, b.ID)
		told("a maintenance of b", "all", "b")
		w.ok(w.DeleteMaintenance(w.ctx, w.ws, m.ID))
		told("that it is cancelled", "all", "b")
	})
}
