package store_test

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/allswell/allswell"
	"github.com/allswell/allswell/internal/resource"
	"github.com/allswell/allswell/internal/store"
)

// TestListOfIncidents: active ones first, of all pages or one, each with its page and its newest update.
func TestListOfIncidents(t *testing.T) {
	inWorlds(t, func(w *world) {
		must(w.CreatePage(w.ctx, w.ws, resource.Page.From(allswell.Page{Name: "Second", Slug: "second"})))(w)
		open := func(page, title string, state allswell.IncidentState, draft bool) allswell.Incident {
			w.clock.move(time.Minute)
			return must(w.CreateIncident(w.ctx, w.ws, page, allswell.Incident{Title: title, State: state, Draft: draft}, allswell.IncidentUpdate{Message: "first"}, nil))(w)
		}
		first := open("acme", "first", "", false)
		open("acme", "past", allswell.IncidentResolved, false)
		open("second", "draft", "", true)
		must(w.PostUpdate(w.ctx, w.ws, first.ID, allswell.IncidentUpdate{Message: "second"}, nil))(w)
		list := func(actor allswell.Actor, page string, r store.Pagination) (lines []string) {
			w.Helper()
			incidents, total, err := w.ListIncidents(w.ctx, actor, page, r)
			w.ok(err)
			for _, i := range incidents {
				lines = append(lines, fmt.Sprint(i.PageSlug, " ", i.Title, " ", i.Updates[0].Message, " of ", total))
			}
			return lines
		}
		all := store.Pagination{Page: 1, PerPage: 50}
		w.expect("all", list(w.ws, "", all), "second draft first of 3", "acme first second of 3", "acme past first of 3")
		w.expect("of a page", list(w.ws, "acme", all), "acme first second of 2", "acme past first of 2")
		w.expect("the second part", list(w.ws, "", store.Pagination{Page: 2, PerPage: 2}), "acme past first of 3")
		w.expect("of another workspace", list(allswell.Actor{WorkspaceID: "ws_other"}, "", all))
		overview := must(w.Overview(w.ctx, w.ws))(w)
		if len(overview.Incidents) != 2 || overview.Incidents[0].PageName != "Second" || !overview.Incidents[0].ImpactDerived {
			w.Errorf("overview: %+v", overview.Incidents)
		}
		if _, err := w.IncidentWithPage(w.ctx, allswell.Actor{WorkspaceID: "ws_other"}, first.ID); !errors.Is(err, allswell.ErrNotFound) {
			w.Errorf("of another workspace: %v", err)
		}
	})
}

// TestAudience checks that those whom Audience counts are those who get a delivery.
func TestAudience(t *testing.T) {
	inWorlds(t, func(w *world) {
		other := w.anotherComponent("Other")
		w.subscribe("all@example.com")
		w.subscribe("mine@example.com", w.component.ID)
		w.subscribe("other@example.com", other.ID)
		w.subscribe("https://example.com/hook")
		w.subscribe("https://example.com/other", other.ID)
		must(w.CreateSubscriber(w.ctx, w.ws, "acme", allswell.NewSubscriber{Channel: allswell.ChannelEmail, Target: "waits@example.com"}, nil))(w)
		w.run(`UPDATE subscribers SET suspended_at = 1 WHERE target = 'https://example.com/other'`)
		w.run(`UPDATE subscribers SET added_by_operator = FALSE WHERE target = 'other@example.com'`)
		w.deliver(taken)
		at := func(c ...allswell.Component) (affected []allswell.AffectedComponent) {
			for _, c := range c {
				affected = append(affected, allswell.AffectedComponent{ComponentID: c.ID, Status: allswell.StatusDegraded})
			}
			return affected
		}
		for _, visibility := range []allswell.Visibility{allswell.VisibilityPublic, allswell.VisibilityPrivate} {
			must(w.ChangePage(w.ctx, w.ws, "acme", func(p *allswell.Page) error { p.Visibility = visibility; return nil }))(w)
			for n, affected := range [][]allswell.AffectedComponent{nil, at(w.component), at(other), at(w.component, other)} {
				check := func(what string, i allswell.Incident, change func()) {
					w.Helper()
					var components []string
					for _, a := range i.Affected {
						components = append(components, a.ComponentID)
					}
					counted := must(w.Audience(w.ctx, w.ws, "acme", i.ID, components))(w)
					w.run(`DELETE FROM deliveries`)
					w.clock.move(time.Second)
					change()
					w.fanOut()
					got := map[allswell.Channel]int{}
					for _, line := range w.rows(`SELECT d.channel FROM deliveries d JOIN events e ON e.id = d.event_id WHERE e.kind LIKE 'incident.%'`) {
						got[allswell.Channel(line)]++
					}
					if !maps.Equal(counted, got) {
						w.Errorf("%s, %s, case %d: counted %v, delivered %v", visibility, what, n, counted, got)
					}
				}
				i := allswell.Incident{Affected: affected}
				check("created", i, func() {
					i = must(w.CreateIncident(w.ctx, w.ws, "acme", allswell.Incident{Title: "i", Affected: affected}, allswell.IncidentUpdate{Message: "m"}, nil))(w)
				})
				i.Affected = at(other)
				check("updated", i, func() {
					must(w.PostUpdate(w.ctx, w.ws, i.ID, allswell.IncidentUpdate{Message: "n"}, func(changed *allswell.Incident) error { changed.Affected = i.Affected; return nil }))(w)
				})
				w.ok(w.DeleteIncident(w.ctx, w.ws, i.ID))
			}
		}
	})
}

// TestChangeOfWhatWasSeen: a change whose author has not seen the newest state changes nothing.
func TestChangeOfWhatWasSeen(t *testing.T) {
	inWorlds(t, func(w *world) {
		id := must(w.CreateIncident(w.ctx, w.ws, "acme", allswell.Incident{Title: "Slow"}, allswell.IncidentUpdate{Message: "one"}, nil))(w).ID
		seen := func() string { return must(w.IncidentWithPage(w.ctx, w.ws, id))(w).Revision() }
		for what, change := range map[string]func(i *allswell.Incident) string{
			"an update": func(*allswell.Incident) string { return "two" },
			"a title":   func(i *allswell.Incident) string { i.Title = "Slower"; return "" },
			"components": func(i *allswell.Incident) string {
				i.Affected = []allswell.AffectedComponent{w.at(allswell.StatusDegraded)}
				return ""
			},
		} {
			before := seen()
			message := change(new(allswell.Incident))
			w.change(allswell.Incident{ID: id}, func(i *allswell.Incident) error { change(i); return nil }, allswell.IncidentUpdate{Message: message})
			now := seen()
			_, err := w.ChangeIncident(w.ctx, w.ws, id, nil, allswell.IncidentUpdate{Message: "late"}, before)
			if !errors.Is(err, allswell.ErrPreconditionFailed) || seen() != now {
				w.Errorf("after %s: %v", what, err)
			}
		}
		must(w.ChangeIncident(w.ctx, w.ws, id, nil, allswell.IncidentUpdate{Message: "three"}, seen()))(w)
	})
}

// TestIncidentIsCreatedOnce: a form that is sent twice opens one incident.
func TestIncidentIsCreatedOnce(t *testing.T) {
	inWorlds(t, func(w *world) {
		n, message := allswell.Incident{ID: uuid.NewString(), Title: "Slow"}, allswell.IncidentUpdate{Message: "one"}
		first := must(w.CreateIncident(w.ctx, w.ws, "acme", n, message, nil))(w)
		again := must(w.CreateIncident(w.ctx, w.ws, "acme", n, message, nil))(w)
		if first.ID != n.ID || again.ID != n.ID || len(w.incidents()) != 1 {
			w.Errorf("%s, %s, %d incidents", first.ID, again.ID, len(w.incidents()))
		}
		entries, more, err := w.ObjectLog(w.ctx, w.ws, []string{first.ID, first.Updates[0].ID}, 1)
		w.ok(err)
		if !more || len(entries) != 1 || !slices.Contains([]allswell.ObjectKind{allswell.ObjectIncident, allswell.ObjectIncidentUpdate}, entries[0].Object.Kind) {
			w.Errorf("audit entries: %+v, more: %v", entries, more)
		}
	})
}
