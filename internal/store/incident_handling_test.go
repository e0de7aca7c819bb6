package store_test

import (
	"testing"
	"time"

	"github.com/allswell/allswell/internal/domain/kernel"
	"github.com/allswell/allswell/internal/domain/statuspage"
	"github.com/allswell/allswell/internal/resource"
)

// TestTakeOver takes an incident over from its monitor, and gives another one back.
func TestTakeOver(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		handle []bool // taken over, given back
		want   bool   // resolved by the recovery
	}{
		"left alone": {nil, true}, "taken over": {[]bool{true}, false}, "given back": {[]bool{true, false}, true},
	} {
		t.Run(name, func(t *testing.T) {
			inWorlds(t, func(w *world) {
				m := w.quick("quick", w.component, kernel.StatusMajorOutage)
				w.goDown(m)
				i := w.incident()
				for _, taken := range c.handle {
					i = must(w.TakeOverIncident(w.ctx, w.ws, i.ID, taken))(w)
					if e := must(w.ExplainMonitor(w.ctx, w.ws, m.ID))(w); i.TakenOver != taken || e.TakenOver != taken {
						w.Errorf("taken over: %v, explained: %v, want %v", i.TakenOver, e.TakenOver, taken)
					}
				}
				updates := len(must(w.Incident(w.ctx, w.ws, i.ID))(w).Updates)
				w.pinged(m)
				after := must(w.Incident(w.ctx, w.ws, i.ID))(w)
				if after.Resolved != c.want || c.want != (len(after.Updates) > updates) {
					w.Errorf("after the recovery: %+v", after)
				}
				if c.want {
					w.shows(kernel.StatusOperational)
					return
				}
				if n := w.value(`SELECT count(*) FROM outages WHERE ended_at IS NULL`); n != "0" {
					w.Errorf("%s outages are left", n)
				}
				_, err := w.TakeOverIncident(w.ctx, w.ws, i.ID, false)
				w.refused(err, "incident")
				w.change(i, func(i *statuspage.Incident) error { i.State = statuspage.IncidentResolved; return nil })
				w.shows(kernel.StatusOperational)
				_, err = w.TakeOverIncident(w.ctx, w.ws, i.ID, true) // it is resolved
				w.refused(err, "incident")
			})
		})
	}
}

// TestMerge merges the incident of a monitor into one that a person opened.
func TestMerge(t *testing.T) {
	inWorlds(t, func(w *world) {
		m := w.quick("quick", w.component, kernel.StatusMajorOutage)
		w.goDown(m)
		i := w.incident()
		other := must(w.Components().Create(w.ctx, w.ws, "acme",
			resource.Component.From(statuspage.Component{Name: "Other"})))(w)
		n := statuspage.Incident{
			Title:    "Power failure",
			Affected: []statuspage.AffectedComponent{{ComponentID: other.ID, Status: kernel.StatusDegraded}},
		}
		target := must(w.CreateIncident(w.ctx, w.ws, "acme", n, statuspage.IncidentUpdate{}, nil))(w)
		must(w.CreatePage(w.ctx, w.ws, resource.Page.From(statuspage.Page{Name: "Elsewhere", Slug: "elsewhere"})))(w)
		elsewhere := must(w.CreateIncident(w.ctx, w.ws, "elsewhere", statuspage.Incident{Title: "x"},
			statuspage.IncidentUpdate{}, nil))(w)
		w.newEvents()
		for _, taken := range []bool{true, false} {
			_, err := w.TakeOverIncident(w.ctx, w.ws, target.ID, taken) // no monitor opened it
			w.refused(err, "incident")
		}
		for _, into := range []string{i.ID, elsewhere.ID, "nothing"} {
			_, err := w.MergeIncident(w.ctx, w.ws, i.ID, into)
			w.refused(err, "incident_id")
		}
		w.clock.move(time.Second)
		for range 2 {
			merged := must(w.MergeIncident(w.ctx, w.ws, i.ID, target.ID))(w)
			if !merged.Resolved || merged.MergedInto != target.ID {
				w.Errorf("merged: %+v", merged)
			}
		}
		if got := w.newEvents(); len(got) != 0 {
			w.Errorf("events: %q", got)
		}
		if affected := must(w.IncidentComponents(w.ctx, w.ws, target.ID))(w); len(affected) != 2 {
			w.Errorf("the target affects %+v", affected)
		}
		down := must(w.Components().Get(w.ctx, w.ws, "acme", w.component.ID))(w).Status()
		w.pinged(m)
		w.shows(down) // until the target is resolved
		w.change(target, func(i *statuspage.Incident) error { i.State = statuspage.IncidentResolved; return nil })
		w.shows(kernel.StatusOperational)
		_, err := w.MergeIncident(w.ctx, w.ws, elsewhere.ID, target.ID)
		w.refused(err, "incident_id")
	})
}

// TestMergedDraft: visitors of a published incident are not led to a draft.
func TestMergedDraft(t *testing.T) {
	inWorlds(t, func(w *world) {
		draft := func(title string) string {
			return must(w.CreateIncident(w.ctx, w.ws, "acme", statuspage.Incident{Title: title, Draft: true},
				statuspage.IncidentUpdate{Message: "It is slow."}, nil))(w).ID
		}
		from, into := draft("Slow"), draft("Slower")
		must(w.MergeIncident(w.ctx, w.ws, from, into))(w)
		for _, id := range []string{from, into} {
			must(w.PublishIncident(w.ctx, w.ws, id, true))(w)
			want := ""
			if id == into {
				want = into
			}
			if got := must(w.LoadIncident(w.ctx, "acme", from, 0))(w).Incidents[0].MergedInto; got != want {
				w.Errorf("after the publication of %s, visitors are led to %q, want %q", id, got, want)
			}
		}
	})
}
