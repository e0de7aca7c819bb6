package store_test

import (
	"testing"
	"time"

	"github.com/allswell/allswell"
	"github.com/allswell/allswell/internal/resource"
	"github.com/allswell/allswell/internal/store"
)

// TestDraftOfAPerson: nobody hears of a draft before it is published, but its components get their statuses at once.
func TestDraftOfAPerson(t *testing.T) {
	inWorlds(t, func(w *world) {
		w.subscribe("ada@example.com")
		i := must(w.CreateIncident(w.ctx, w.ws, "acme", allswell.Incident{Title: "Leak", Draft: true, Affected: []allswell.AffectedComponent{w.at(allswell.StatusPartialOutage)}}, allswell.IncidentUpdate{Message: "We look."}, nil))(w)
		if got := w.draft(); got.ID != i.ID || got.Impact != allswell.ImpactMajor {
			w.Errorf("the draft is %+v", got)
		}
		if got := w.shownIncidents(); len(got) != 0 {
			w.Errorf("visitors see %q", got)
		}
		w.shows(allswell.StatusPartialOutage)
		must(w.PostUpdate(w.ctx, w.ws, i.ID, allswell.IncidentUpdate{Message: "A pipe."}, nil))(w)
		w.expectEvents("Backups: operational > partial_outage")
		must(w.PublishIncident(w.ctx, w.ws, i.ID, false))(w)
		w.expectEvents("created: Leak, major, investigating: A pipe.")
		w.expect("visitors see", w.shownIncidents(), "Leak")
	})
}

// TestRepeatedChange: a client that did not receive the answer to a change with a message sends it again.
func TestRepeatedChange(t *testing.T) {
	inWorlds(t, func(w *world) {
		i := w.about("Slow", "")
		w.expectEvents("created: Slow, none, investigating")
		change := func(change allswell.IncidentChange, message string, messages ...string) {
			w.Helper()
			w.clock.move(time.Second)
			w.change(i, change, allswell.IncidentUpdate{Message: message})
			var got []string
			for _, u := range must(w.Incident(w.ctx, w.ws, i.ID))(w).Updates {
				got = append(got, string(u.State)+" "+u.Message)
			}
			w.expect("updates", got, messages...)
		}
		to := func(state allswell.IncidentState) allswell.IncidentChange {
			return func(i *allswell.Incident) error { i.State = state; return nil }
		}
		change(nil, "A", "investigating A")
		change(nil, "A", "investigating A")
		before := must(w.Incident(w.ctx, w.ws, i.ID))(w).UpdatedAt
		change(func(i *allswell.Incident) error { i.Title = "Slow"; i.SetImpact(allswell.ImpactNone); return nil }, "A", "investigating A")
		if after := must(w.Incident(w.ctx, w.ws, i.ID))(w).UpdatedAt; !after.Equal(before) {
			w.Errorf("updated_at moved from %s to %s", before, after)
		}
		w.expectEvents("updated: Slow, none, investigating: A")
		change(to(allswell.IncidentIdentified), "A", "investigating A", "identified A")
		change(to(allswell.IncidentMonitoring), "", "investigating A", "identified A")
		change(nil, "A", "investigating A", "identified A", "monitoring A") // the state changed in between
		w.expectEvents("updated: Slow, none, identified: A", "updated: Slow, none, monitoring: A")
		end := func(i *allswell.Incident) error { i.State = allswell.IncidentResolved; i.SetResolved(true); return nil }
		change(end, "Done.", "investigating A", "identified A", "monitoring A", "resolved Done.")
		change(end, "Done.", "investigating A", "identified A", "monitoring A", "resolved Done.")
		w.expectEvents("resolved: Slow, none, resolved: Done.")
		must(w.PostUpdate(w.ctx, w.ws, i.ID, allswell.IncidentUpdate{Message: "Done."}, nil))(w) // always adds one
		w.expectEvents("updated: Slow, none, resolved: Done.")
	})
}

// TestDerivedImpact: the impact follows the components until a person gives it, and is never lowered by them.
func TestDerivedImpact(t *testing.T) {
	inWorlds(t, func(w *world) {
		other := must(w.Components().Create(w.ctx, w.ws, "acme", resource.Component.From(allswell.Component{Name: "Hidden", Hidden: true})))(w)
		i := w.about("Slow", "")
		is := func(want allswell.Impact) {
			w.Helper()
			if got := must(w.Incident(w.ctx, w.ws, i.ID))(w); got.Impact != want {
				w.Errorf("the impact is %s, want %s", got.Impact, want)
			}
		}
		is(allswell.ImpactNone)
		w.concerns(i, w.at(allswell.StatusMajorOutage, other))
		is(allswell.ImpactNone)
		w.concerns(i, w.at(allswell.StatusDegraded))
		is(allswell.ImpactMinor)
		must(w.PostUpdate(w.ctx, w.ws, i.ID, allswell.IncidentUpdate{Message: "Worse."}, func(i *allswell.Incident) error {
			i.Affected = []allswell.AffectedComponent{w.at(allswell.StatusPartialOutage)}
			return nil
		}))(w)
		is(allswell.ImpactMajor)
		w.concerns(i, w.at(allswell.StatusDegraded))
		is(allswell.ImpactMajor)
		w.change(i, func(i *allswell.Incident) error { i.SetImpact(allswell.ImpactNone); return nil })
		w.concerns(i, w.at(allswell.StatusMajorOutage))
		is(allswell.ImpactNone)

		i = must(w.CreateIncident(w.ctx, w.ws, "acme", allswell.Incident{Title: "Given", Impact: allswell.ImpactNone}, allswell.IncidentUpdate{}, nil))(w)
		w.concerns(i, w.at(allswell.StatusMajorOutage))
		is(allswell.ImpactNone)
	})
}

func TestIncidentsOfAComponent(t *testing.T) {
	inWorlds(t, func(w *world) {
		about := w.about("Slow", "", w.at(allswell.StatusDegraded))
		w.about("Other", "")
		found, total, err := w.Incidents(w.ctx, w.ws, "acme", store.IncidentFilter{Component: w.component.ID, Resolved: ptr(false)}, firstHundred)
		if err != nil || total != 1 || found[0].ID != about.ID {
			w.Errorf("%d incidents: %+v, %v", total, found, err)
		}
	})
}

func TestWaitingAndDisabledMonitors(t *testing.T) {
	inWorlds(t, func(w *world) {
		pinged, waiting, off := w.quick("pinged", w.component, ""), w.quick("waiting", w.component, ""), w.quick("off", w.component, "")
		w.pinged(pinged)
		w.ok(w.DeleteMonitor(w.ctx, w.ws, w.monitor.ID))
		must(w.ChangeMonitor(w.ctx, w.ws, off.ID, func(c *allswell.MonitorConfig) error { c.Enable(false); return nil }))(w)
		for state, want := range map[allswell.MonitorState][]string{
			allswell.MonitorWaiting: {waiting.Name}, allswell.MonitorDisabled: {off.Name}, allswell.MonitorUp: {pinged.Name, waiting.Name, off.Name}, allswell.MonitorDown: nil,
		} {
			found, _, err := w.Monitors(w.ctx, w.ws, store.MonitorFilter{State: state}, firstHundred)
			w.ok(err)
			var names []string
			for _, m := range found {
				names = append(names, m.Name)
			}
			w.expect(string(state), names, want...)
		}
	})
}
