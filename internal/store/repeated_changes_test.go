package store_test

import (
	"testing"
	"time"

	"github.com/allswell/allswell/internal/domain/kernel"
	"github.com/allswell/allswell/internal/domain/monitor"
	"github.com/allswell/allswell/internal/domain/statuspage"
	"github.com/allswell/allswell/internal/resource"
	"github.com/allswell/allswell/internal/store"
)

// TestDraftOfAPerson: nobody hears of a draft before it is published, but its components get their statuses
// immediately.
func TestDraftOfAPerson(t *testing.T) {
	inWorlds(t, func(w *world) {
		w.subscribe("ada@example.com")
		i := must(w.CreateIncident(w.ctx, w.ws, "acme",
			statuspage.Incident{
				Title: "Leak", Draft: true, Affected: []statuspage.AffectedComponent{w.at(kernel.StatusPartialOutage)},
			},
			statuspage.IncidentUpdate{Message: "We look."}, nil))(w)
		if got := w.draft(); got.ID != i.ID || got.Impact != kernel.ImpactMajor {
			w.Errorf("the draft is %+v", got)
		}
		if got := w.shownIncidents(); len(got) != 0 {
			w.Errorf("visitors see %q", got)
		}
		w.shows(kernel.StatusPartialOutage)
		must(w.PostUpdate(w.ctx, w.ws, i.ID, statuspage.IncidentUpdate{Message: "A pipe."}, nil))(w)
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
		change := func(change statuspage.IncidentChange, message string, messages ...string) {
			w.Helper()
			w.clock.move(time.Second)
			w.change(i, change, statuspage.IncidentUpdate{Message: message})
			var got []string
			for _, u := range must(w.Incident(w.ctx, w.ws, i.ID))(w).Updates {
				got = append(got, string(u.State)+" "+u.Message)
			}
			w.expect("updates", got, messages...)
		}
		to := func(state statuspage.IncidentState) statuspage.IncidentChange {
			return func(i *statuspage.Incident) error { i.State = state; return nil }
		}
		change(nil, "A", "investigating A")
		change(nil, "A", "investigating A")
		before := must(w.Incident(w.ctx, w.ws, i.ID))(w).UpdatedAt
		change(func(i *statuspage.Incident) error {
			i.Title = "Slow"
			i.SetImpact(kernel.ImpactNone)
			return nil
		}, "A", "investigating A")
		if after := must(w.Incident(w.ctx, w.ws, i.ID))(w).UpdatedAt; !after.Equal(before) {
			w.Errorf("updated_at moved from %s to %s", before, after)
		}
		w.expectEvents("updated: Slow, none, investigating: A")
		change(to(statuspage.IncidentIdentified), "A", "investigating A", "identified A")
		change(to(statuspage.IncidentMonitoring), "", "investigating A", "identified A")
		change(nil, "A", "investigating A", "identified A", "monitoring A") // the state changed in between
		w.expectEvents("updated: Slow, none, identified: A", "updated: Slow, none, monitoring: A")
		end := func(i *statuspage.Incident) error {
			i.State = statuspage.IncidentResolved
			i.SetResolved(true)
			return nil
		}
		change(end, "Done.", "investigating A", "identified A", "monitoring A", "resolved Done.")
		change(end, "Done.", "investigating A", "identified A", "monitoring A", "resolved Done.")
		w.expectEvents("resolved: Slow, none, resolved: Done.")
		must(w.PostUpdate(w.ctx, w.ws, i.ID, statuspage.IncidentUpdate{Message: "Done."}, nil))(w) // always adds one
		w.expectEvents("updated: Slow, none, resolved: Done.")
	})
}

// TestDerivedImpact: the impact follows the components until a person gives it, and is never lowered by them.
func TestDerivedImpact(t *testing.T) {
	inWorlds(t, func(w *world) {
		other := must(w.Components().Create(w.ctx, w.ws, "acme",
			resource.Component.From(statuspage.Component{Name: "Hidden", Hidden: true})))(w)
		i := w.about("Slow", "")
		is := func(want kernel.Impact) {
			w.Helper()
			if got := must(w.Incident(w.ctx, w.ws, i.ID))(w); got.Impact != want {
				w.Errorf("the impact is %s, want %s", got.Impact, want)
			}
		}
		is(kernel.ImpactNone)
		w.concerns(i, w.at(kernel.StatusMajorOutage, other))
		is(kernel.ImpactNone)
		w.concerns(i, w.at(kernel.StatusDegraded))
		is(kernel.ImpactMinor)
		must(w.PostUpdate(w.ctx, w.ws, i.ID, statuspage.IncidentUpdate{Message: "Worse."},
			func(i *statuspage.Incident) error {
				i.Affected = []statuspage.AffectedComponent{w.at(kernel.StatusPartialOutage)}
				return nil
			}))(w)
		is(kernel.ImpactMajor)
		w.concerns(i, w.at(kernel.StatusDegraded))
		is(kernel.ImpactMajor)
		w.change(i, func(i *statuspage.Incident) error { i.SetImpact(kernel.ImpactNone); return nil })
		w.concerns(i, w.at(kernel.StatusMajorOutage))
		is(kernel.ImpactNone)

		i = must(w.CreateIncident(w.ctx, w.ws, "acme", statuspage.Incident{Title: "Given", Impact: kernel.ImpactNone},
			statuspage.IncidentUpdate{}, nil))(w)
		w.concerns(i, w.at(kernel.StatusMajorOutage))
		is(kernel.ImpactNone)
	})
}

func TestIncidentsOfAComponent(t *testing.T) {
	inWorlds(t, func(w *world) {
		about := w.about("Slow", "", w.at(kernel.StatusDegraded))
		w.about("Other", "")
		found, total, err := w.Incidents(w.ctx, w.ws, "acme",
			store.IncidentFilter{Component: w.component.ID, Resolved: new(false)}, firstHundred)
		if err != nil || total != 1 || found[0].ID != about.ID {
			w.Errorf("%d incidents: %+v, %v", total, found, err)
		}
	})
}

func TestWaitingAndDisabledMonitors(t *testing.T) {
	inWorlds(t, func(w *world) {
		pinged, waiting, off := w.quick("pinged", w.component, ""), w.quick("waiting", w.component, ""),
			w.quick("off", w.component, "")
		w.pinged(pinged)
		w.ok(w.DeleteMonitor(w.ctx, w.ws, w.monitor.ID))
		must(w.ChangeMonitor(w.ctx, w.ws, off.ID, func(c *monitor.MonitorConfig) error {
			c.Enable(false)
			return nil
		}))(w)
		for state, want := range map[monitor.MonitorState][]string{
			monitor.MonitorWaiting: {waiting.Name}, monitor.MonitorDisabled: {off.Name},
			monitor.MonitorUp: {pinged.Name, waiting.Name, off.Name}, monitor.MonitorDown: nil,
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
