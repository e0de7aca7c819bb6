package store_test

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/allswell/allswell/internal/domain/audience"
	"github.com/allswell/allswell/internal/domain/kernel"
	"github.com/allswell/allswell/internal/domain/statuspage"
	"github.com/allswell/allswell/internal/resource"
	"github.com/allswell/allswell/internal/store"
	"github.com/google/uuid"
)

// TestListOfIncidents: active ones first, of all pages or one, each with its page and its newest update.
func TestListOfIncidents(t *testing.T) {
	inWorlds(t, func(w *world) {
		must(w.CreatePage(w.ctx, w.ws, resource.Page.From(statuspage.Page{Name: "Second", Slug: "second"})))(w)
		open := func(page, title string, state statuspage.IncidentState, draft bool) statuspage.Incident {
			w.clock.move(time.Minute)
			return must(w.CreateIncident(w.ctx, w.ws, page,
				statuspage.Incident{Title: title, State: state, Draft: draft},
				statuspage.IncidentUpdate{Message: "first"}, nil))(w)
		}
		first := open("acme", "first", "", false)
		open("acme", "past", statuspage.IncidentResolved, false)
		open("second", "draft", "", true)
		must(w.PostUpdate(w.ctx, w.ws, first.ID, statuspage.IncidentUpdate{Message: "second"}, nil))(w)
		list := func(actor kernel.Actor, page string, r store.Pagination) (lines []string) {
			w.Helper()
			incidents, total, err := w.ListIncidents(w.ctx, actor, page, r)
			w.ok(err)
			for _, i := range incidents {
				lines = append(lines, fmt.Sprint(i.PageSlug, " ", i.Title, " ", i.Updates[0].Message, " of ", total))
			}
			return lines
		}
		all := store.Pagination{Page: 1, PerPage: 50}
		w.expect("all", list(w.ws, "", all), "second draft first of 3", "acme first second of 3",
			"acme past first of 3")
		w.expect("of a page", list(w.ws, "acme", all), "acme first second of 2", "acme past first of 2")
		w.expect("the second part", list(w.ws, "", store.Pagination{Page: 2, PerPage: 2}), "acme past first of 3")
		w.expect("of another workspace", list(kernel.Actor{WorkspaceID: "ws_other"}, "", all))
		overview := must(w.Overview(w.ctx, w.ws))(w)
		if len(overview.Incidents) != 2 || overview.Incidents[0].PageName != "Second" ||
			!overview.Incidents[0].ImpactDerived {
			w.Errorf("overview: %+v", overview.Incidents)
		}
		_, err := w.IncidentWithPage(w.ctx, kernel.Actor{WorkspaceID: "ws_other"}, first.ID)
		if !errors.Is(err, kernel.ErrNotFound) {
			w.Errorf("of another workspace: %v", err)
		}
	})
}

// TestAudience checks that Audience counts the subscribers who get a delivery.
func TestAudience(t *testing.T) {
	inWorlds(t, func(w *world) {
		other := w.anotherComponent("Other")
		w.subscribe("all@example.com")
		w.subscribe("mine@example.com", w.component.ID)
		w.subscribe("other@example.com", other.ID)
		w.subscribe("https://example.com/hook")
		w.subscribe("https://example.com/other", other.ID)
		must(w.CreateSubscriber(w.ctx, w.ws, "acme",
			audience.NewSubscriber{Channel: audience.ChannelEmail, Target: "waits@example.com"}, nil))(w)
		w.run(`UPDATE subscribers SET suspended_at = 1 WHERE target = 'https://example.com/other'`)
		w.run(`UPDATE subscribers SET added_by_operator = FALSE WHERE target = 'other@example.com'`)
		w.deliver(taken)
		for _, visibility := range []statuspage.Visibility{statuspage.VisibilityPublic, statuspage.VisibilityPrivate} {
			must(w.ChangePage(w.ctx, w.ws, "acme", func(p *statuspage.Page) error {
				p.Visibility = visibility
				return nil
			}))(w)
			for n, affected := range [][]statuspage.AffectedComponent{
				nil, degraded(w.component), degraded(other), degraded(w.component, other),
			} {
				what := fmt.Sprintf("%s, case %d: ", visibility, n)
				i := statuspage.Incident{Affected: affected}
				w.countsAudience(what+"created", i, func() {
					i = must(w.CreateIncident(w.ctx, w.ws, "acme", statuspage.Incident{Title: "i", Affected: affected},
						statuspage.IncidentUpdate{Message: "m"}, nil))(w)
				})
				i.Affected = degraded(other)
				w.countsAudience(what+"updated", i, func() {
					must(w.PostUpdate(w.ctx, w.ws, i.ID, statuspage.IncidentUpdate{Message: "n"},
						func(changed *statuspage.Incident) error {
							changed.Affected = i.Affected
							return nil
						}))(w)
				})
				w.ok(w.DeleteIncident(w.ctx, w.ws, i.ID))
			}
		}
	})
}

func degraded(components ...statuspage.Component) (affected []statuspage.AffectedComponent) {
	for _, c := range components {
		affected = append(affected, statuspage.AffectedComponent{
			ComponentID: c.ID, Status: kernel.StatusDegraded,
		})
	}
	return affected
}

// countsAudience compares the audience of an incident with the deliveries of a change.
func (w *world) countsAudience(what string, i statuspage.Incident, change func()) {
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
	got := map[audience.Channel]int{}
	deliveries := w.rows(`SELECT d.channel FROM deliveries d JOIN events e ON e.id = d.event_id
WHERE e.kind LIKE 'incident.%'`)
	for _, line := range deliveries {
		got[audience.Channel(line)]++
	}
	if !maps.Equal(counted, got) {
		w.Errorf("%s: counted %v, delivered %v", what, counted, got)
	}
}

// TestChangeOfWhatWasSeen: a change whose author has not seen the newest state changes nothing.
func TestChangeOfWhatWasSeen(t *testing.T) {
	inWorlds(t, func(w *world) {
		id := must(w.CreateIncident(w.ctx, w.ws, "acme", statuspage.Incident{Title: "Slow"},
			statuspage.IncidentUpdate{Message: "one"}, nil))(w).ID
		seen := func() string { return must(w.IncidentWithPage(w.ctx, w.ws, id))(w).Revision() }
		for what, change := range map[string]func(i *statuspage.Incident) string{
			"an update": func(*statuspage.Incident) string { return "two" },
			"a title":   func(i *statuspage.Incident) string { i.Title = "Slower"; return "" },
			"components": func(i *statuspage.Incident) string {
				i.Affected = []statuspage.AffectedComponent{w.at(kernel.StatusDegraded)}
				return ""
			},
		} {
			before := seen()
			message := change(new(statuspage.Incident))
			w.change(statuspage.Incident{ID: id}, func(i *statuspage.Incident) error {
				change(i)
				return nil
			}, statuspage.IncidentUpdate{Message: message})
			now := seen()
			_, err := w.ChangeIncident(w.ctx, w.ws, id, nil, statuspage.IncidentUpdate{Message: "late"}, before)
			if !errors.Is(err, kernel.ErrPreconditionFailed) || seen() != now {
				w.Errorf("after %s: %v", what, err)
			}
		}
		must(w.ChangeIncident(w.ctx, w.ws, id, nil, statuspage.IncidentUpdate{Message: "three"}, seen()))(w)
	})
}

// TestIncidentIsCreatedOnce: a form that is sent twice opens one incident.
func TestIncidentIsCreatedOnce(t *testing.T) {
	inWorlds(t, func(w *world) {
		n, message := statuspage.Incident{
			ID: uuid.NewString(), Title: "Slow",
		}, statuspage.IncidentUpdate{Message: "one"}
		first := must(w.CreateIncident(w.ctx, w.ws, "acme", n, message, nil))(w)
		again := must(w.CreateIncident(w.ctx, w.ws, "acme", n, message, nil))(w)
		if first.ID != n.ID || again.ID != n.ID || len(w.incidents()) != 1 {
			w.Errorf("incidents of one form: %s and %s, %d in all", first.ID, again.ID, len(w.incidents()))
		}
		entries, more, err := w.ObjectLog(w.ctx, w.ws, []string{first.ID, first.Updates[0].ID}, 1)
		w.ok(err)
		if !more || len(entries) != 1 ||
			!slices.Contains(
				[]kernel.ObjectKind{kernel.ObjectIncident, kernel.ObjectIncidentUpdate}, entries[0].Object.Kind,
			) {
			w.Errorf("audit entries: %+v, more: %v", entries, more)
		}
	})
}
