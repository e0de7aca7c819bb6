package store_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/allswell/allswell/internal/domain/audience"
	"github.com/allswell/allswell/internal/domain/kernel"
	"github.com/allswell/allswell/internal/domain/statuspage"
	"github.com/allswell/allswell/internal/resource"
	"github.com/allswell/allswell/internal/shared/fair"
	"github.com/allswell/allswell/internal/store"
)

// TestRecipients: everybody who subscribed to the page or to an affected
// component, from their confirmation on, each once.
func TestRecipients(t *testing.T) {
	inWorlds(t, func(w *world) {
		other := must(w.Components().Create(w.ctx, w.ws, "acme",
			resource.Component.From(statuspage.Component{Name: "Other"})))(w)
		early := must(w.CreateIncident(w.ctx, w.ws, "acme", statuspage.Incident{Title: "before"},
			statuspage.IncidentUpdate{Message: "before"}, nil))(w)
		w.clock.move(time.Second)
		w.subscribe("all@example.com")
		w.subscribe("mine@example.com", w.component.ID)
		w.subscribe("other@example.com", other.ID)
		w.subscribe("https://example.com/hook")
		must(w.CreateSubscriber(w.ctx, w.ws, "acme",
			audience.NewSubscriber{Channel: audience.ChannelEmail, Target: "waits@example.com"}, nil))(w)
		w.expect("before anything happens", w.deliver(taken), "waits@example.com: confirmation")
		w.clock.move(time.Second)
		must(w.PostUpdate(w.ctx, w.ws, early.ID, statuspage.IncidentUpdate{Message: "second"}, nil))(w)
		w.expect("an update", w.deliver(taken),
			"all@example.com: second", "mine@example.com: second", "other@example.com: second",
			"https://example.com/hook: second")
		job := w.quick("job", w.component, kernel.StatusMajorOutage)
		w.goDown(job)
		w.clock.move(audience.DigestWait)
		w.expect("a monitor goes down", w.deliver(taken),
			"all@example.com: incident.created", "mine@example.com: incident.created",
			"https://example.com/hook: major_outage", "https://example.com/hook: incident.created")
		auto := w.value(`SELECT id FROM incidents WHERE outage_id IS NOT NULL`)
		must(w.PostUpdate(w.ctx, w.ws, auto, statuspage.IncidentUpdate{Message: "looking"}, nil))(w)
		w.expect("a human speaks of it", w.deliver(taken),
			"all@example.com: looking", "mine@example.com: looking", "https://example.com/hook: looking")
		w.clock.move(time.Second)
		w.pinged(job)
		w.clock.move(audience.DigestWait)
		w.expect("it comes back", w.deliver(taken),
			"all@example.com: incident.resolved", "mine@example.com: incident.resolved",
			"https://example.com/hook: operational", "https://example.com/hook: incident.resolved")
		w.expect("nothing is left", w.deliver(taken))
		if got := w.states(); got["sent"] != 16 || len(got) != 1 {
			t.Errorf("states: %v", got)
		}
	})
}

// TestOldEventsAreNotDelivered: an event is not delivered if it is fanned out more than a day later.
func TestOldEventsAreNotDelivered(t *testing.T) {
	inWorlds(t, func(w *world) {
		w.subscribe("a@example.com")
		w.clock.move(time.Second)
		must(w.CreateIncident(w.ctx, w.ws, "acme", statuspage.Incident{Title: "i"},
			statuspage.IncidentUpdate{Message: "one"}, nil))(w)
		w.clock.move(audience.DeliveryLifetime)
		w.expect("a day late", w.deliver(taken))
		if got := w.value(`SELECT count(*) FROM events WHERE fanned_out_at IS NULL`); got != "0" {
			t.Errorf("%s events are open", got)
		}
	})
}

// TestFairness: a long queue of one event delays neither another page's nor
// another destination's.
func TestFairness(t *testing.T) {
	inWorlds(t, func(w *world) {
		for i := range 300 {
			w.subscribe(fmt.Sprintf("https://slow.example.com/%d", i))
		}
		w.clock.move(time.Second)
		must(w.CreateIncident(w.ctx, w.ws, "acme", statuspage.Incident{Title: "i"},
			statuspage.IncidentUpdate{Message: "long"}, nil))(w)
		w.fanOut()
		w.clock.move(time.Second)
		must(w.CreatePage(w.ctx, w.ws, resource.Page.From(statuspage.Page{Name: "Beta", Slug: "beta"})))(w)
		must(w.CreateSubscriber(w.ctx, w.ws, "beta",
			audience.NewSubscriber{Channel: audience.ChannelWebhook, Target: "https://fast.example.com/"}, nil))(w)
		w.clock.move(time.Second)
		must(w.CreateIncident(w.ctx, w.ws, "beta", statuspage.Incident{Title: "b"},
			statuspage.IncidentUpdate{Message: "short"}, nil))(w)
		w.fanOut()
		gate := fair.NewGate(fair.GateConfig{Places: 32, PerHost: 4})
		claims := store.ClaimOptions{
			Channel: audience.ChannelWebhook, Limit: 8, Plan: func() *fair.Plan { return gate.Plan(time.Now()) },
		}
		got, _, more, err := w.ClaimDeliveries(w.ctx, claims)
		w.ok(err)
		hosts := make(map[string]int)
		for _, c := range got {
			hosts[c.Host]++
			gate.Enter(fair.Target{Workspace: c.WorkspaceID, Host: c.Host})
		}
		if !more || hosts["slow.example.com"] != 4 || hosts["fast.example.com"] != 1 || len(hosts) != 2 {
			t.Errorf("claimed %v, more: %v", hosts, more)
		}
		if got, _, more, err = w.ClaimDeliveries(w.ctx, claims); err != nil || len(got) != 0 || more {
			t.Errorf("claimed %v of a busy host, more: %v, %v", got, more, err)
		}
	})
}

// TestFanOutInSteps: many subscribers, in several transactions, each once; a
// page with little to send does not wait for all of them.
func TestFanOutInSteps(t *testing.T) {
	inWorlds(t, func(w *world) {
		const many = 1200
		w.ok(store.FillSubscribers(w.ctx, w.Store, w.page.ID, many))
		must(w.CreatePage(w.ctx, w.ws, resource.Page.From(statuspage.Page{Name: "Beta", Slug: "beta"})))(w)
		must(w.CreateSubscriber(w.ctx, w.ws, "beta",
			audience.NewSubscriber{Channel: audience.ChannelWebhook, Target: "https://example.com/"}, nil))(w)
		w.clock.move(time.Second)
		must(w.CreateIncident(w.ctx, w.ws, "acme", statuspage.Incident{Title: "i"},
			statuspage.IncidentUpdate{Message: "a"}, nil))(w)
		must(w.FanOut(w.ctx))(w)
		must(w.CreateIncident(w.ctx, w.ws, "beta", statuspage.Incident{Title: "b"},
			statuspage.IncidentUpdate{Message: "b"}, nil))(w)
		must(w.FanOut(w.ctx))(w)
		beta := func() string {
			return w.value(`SELECT count(*) FROM deliveries WHERE page_id <> $1`, w.page.ID)
		}
		if got := beta(); got != "1" {
			t.Errorf("%s deliveries of the small page after two steps", got)
		}
		w.fanOut()
		got := w.value(`SELECT count(DISTINCT subscriber_id) FROM deliveries WHERE page_id = $1`, w.page.ID)
		if got != fmt.Sprint(many) {
			t.Errorf("%s of %d subscribers have a delivery", got, many)
		}
		if got := w.value(`SELECT count(*) FROM deliveries`); got != fmt.Sprint(many+1) {
			t.Errorf("%s deliveries", got)
		}
	})
}

// TestFanOutTakesTurns checks that a workspace with events of many pages does not put off the event of another.
func TestFanOutTakesTurns(t *testing.T) {
	inWorlds(t, func(w *world) {
		event := func(ws kernel.Actor, slug string) {
			must(w.CreatePage(w.ctx, ws, resource.Page.From(statuspage.Page{Name: slug, Slug: slug})))(w)
			must(w.CreateSubscriber(w.ctx, ws, slug,
				audience.NewSubscriber{
					Channel: audience.ChannelWebhook, Target: "https://example.com/", Confirmed: true,
				},
				nil))(w)
			w.clock.move(time.Second)
			must(w.CreateIncident(w.ctx, ws, slug, statuspage.Incident{Title: "i"},
				statuspage.IncidentUpdate{Message: "a"}, nil))(w)
		}
		for n := range 20 {
			event(w.ws, fmt.Sprint("many-", n))
		}
		event(w.otherWorkspace(), "one")
		for range 2 {
			must(w.FanOut(w.ctx))(w)
		}
		got := w.value(`SELECT count(*) FROM deliveries d JOIN pages p ON p.id = d.page_id WHERE p.slug = 'one'`)
		if got != "1" {
			t.Errorf("%s deliveries of the other workspace after two steps", got)
		}
	})
}
