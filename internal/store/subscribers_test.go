package store_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/allswell/allswell/internal/domain/audience"
	"github.com/allswell/allswell/internal/domain/kernel"
	"github.com/allswell/allswell/internal/domain/monitor"
	"github.com/allswell/allswell/internal/domain/statuspage"
	"github.com/allswell/allswell/internal/resource"
	"github.com/allswell/allswell/internal/store"
)

// TestNothingAfterTheEnd: an unsubscribe holds from its commit on, for what is
// waiting, for what is claimed, and for what is fanned out later.
func TestNothingAfterTheEnd(t *testing.T) {
	inWorlds(t, func(w *world) {
		a, b := w.subscribe("a@example.com"), w.subscribe("b@example.com")
		w.clock.move(time.Second)
		i := must(w.CreateIncident(w.ctx, w.ws, "acme", statuspage.Incident{Title: "i"},
			statuspage.IncidentUpdate{Message: "one"}, nil))(w)
		w.fanOut()
		claimed := w.claim()
		w.ok(w.Unsubscribe(w.ctx, "acme", a.Key))
		loaded := must(w.Notifications(w.ctx, claimed))(w)
		for _, c := range claimed {
			if loaded[c.ID].Subscriber.ID == a.ID {
				t.Error("the claim holds after the end")
			}
			w.ok(w.SaveDeliveryResults(w.ctx, []store.DeliveryResult{{ClaimedDelivery: c, Outcome: failed}}))
		}
		must(w.PostUpdate(w.ctx, w.ws, i.ID, statuspage.IncidentUpdate{Message: "two"}, nil))(w)
		w.fanOut()
		w.ok(w.DeleteSubscriber(w.ctx, w.ws, "acme", b.ID, kernel.Precondition{}))
		w.clock.move(time.Hour)
		w.expect("after both have gone", w.deliver(taken))
		if got := w.states(); got["cancelled"] != 3 || len(got) != 1 {
			t.Errorf("states: %v", got)
		}
		if _, err := w.Subscription(w.ctx, "acme", a.Key); err != kernel.ErrNotFound {
			t.Errorf("the subscription: %v", err)
		}
	})
}

// TestRejectionsSuspend: some in a row, visibly; a message that is taken starts
// over; the holder can go on.
func TestRejectionsSuspend(t *testing.T) {
	inWorlds(t, func(w *world) {
		a := w.subscribe("a@example.com")
		w.clock.move(time.Second)
		no := audience.SendOutcome{Result: audience.SendRejected, Reason: "There is no such mailbox."}
		i := must(w.CreateIncident(w.ctx, w.ws, "acme", statuspage.Incident{Title: "i"},
			statuspage.IncidentUpdate{Message: "0"}, nil))(w)
		for n, o := range []audience.SendOutcome{no, no, taken, no, no, no} {
			must(w.PostUpdate(w.ctx, w.ws, i.ID, statuspage.IncidentUpdate{Message: fmt.Sprint(n)}, nil))(w)
			if got := w.deliver(o); len(got) != 1 {
				t.Fatalf("update %d: %q", n, got)
			}
		}
		got := must(w.Subscriber(w.ctx, w.ws, "acme", a.ID))(w)
		if got.SuspendedAt.IsZero() || got.SuspendedFor != no.Reason || got.Active() {
			t.Errorf("after three refusals: %+v", got)
		}
		must(w.PostUpdate(w.ctx, w.ws, i.ID, statuspage.IncidentUpdate{Message: "unheard"}, nil))(w)
		w.expect("suspended", w.deliver(taken))
		got = must(w.ChangeSubscription(w.ctx, "acme", a.Key, nil))(w)
		w.clock.move(time.Second)
		must(w.PostUpdate(w.ctx, w.ws, i.ID, statuspage.IncidentUpdate{Message: "again"}, nil))(w)
		w.expect("resumed", w.deliver(taken), "a@example.com: again")
		if !got.Active() {
			t.Errorf("resumed: %+v", got)
		}
	})
}

// TestHiddenComponentIsNotChosen: neither visitors nor operators can choose a component that is hidden, or on another
// page.
func TestHiddenComponentIsNotChosen(t *testing.T) {
	inWorlds(t, func(w *world) {
		hidden := must(w.Components().Create(w.ctx, w.ws, "acme", resource.Component.From(statuspage.Component{
			Name: "Backstage", Hidden: true,
		})))(w)
		must(w.CreatePage(w.ctx, w.ws, resource.Page.From(statuspage.Page{Name: "Other", Slug: "other"})))(w)
		elsewhere := must(w.Components().Create(w.ctx, w.ws, "other",
			resource.Component.From(statuspage.Component{Name: "Elsewhere"})))(w)
		a := w.subscribe("a@example.com", w.component.ID)
		for _, c := range []statuspage.Component{hidden, elsewhere} {
			_, err := w.ChangeSubscription(w.ctx, "acme", a.Key, []string{w.component.ID, c.ID})
			if !errors.As(err, new(*kernel.ValidationError)) {
				w.Errorf("%s is chosen: %v", c.Name, err)
			}
			n := audience.NewSubscriber{
				Channel: audience.ChannelEmail, Target: "b@example.com", Components: []string{c.ID},
			}
			_, err = w.CreateSubscriber(w.ctx, w.ws, "acme", n, nil)
			if !errors.As(err, new(*kernel.ValidationError)) {
				w.Errorf("an operator chooses %s: %v", c.Name, err)
			}
		}
		got := must(w.Subscriber(w.ctx, w.ws, "acme", a.ID))(w)
		if !slices.Equal(got.Components, []string{w.component.ID}) {
			w.Errorf("components after the refusals: %q", got.Components)
		}
	})
}

// TestOperatorChangesComponents: a subscriber is notified of the components that an operator has chosen from then on. A
// suspension does not end, and what is not chosen anew is not saved.
func TestOperatorChangesComponents(t *testing.T) {
	inWorlds(t, func(w *world) {
		hidden := must(w.Components().Create(w.ctx, w.ws, "acme", resource.Component.From(statuspage.Component{
			Name: "Backstage", Hidden: true,
		})))(w)
		other := must(w.Components().Create(w.ctx, w.ws, "acme",
			resource.Component.From(statuspage.Component{Name: "Other"})))(w)
		a := w.subscribe("a@example.com")
		change := func(components ...string) (audience.Subscriber, error) {
			return w.ChangeSubscriber(w.ctx, w.ws, "acme", a.ID, kernel.Precondition{}, choose(components...))
		}
		w.clock.move(time.Second)
		got := must(change(other.Slug))(w)
		if got.WholePage || !slices.Equal(got.Components, []string{other.ID}) || !got.UpdatedAt.Equal(w.clock.now()) {
			w.Errorf("subscriber with another component: %+v", got)
		}
		open := func(title string, component string) {
			must(w.CreateIncident(w.ctx, w.ws, "acme",
				statuspage.Incident{
					Title:    title,
					Affected: []statuspage.AffectedComponent{{ComponentID: component, Status: kernel.StatusDegraded}},
				},
				statuspage.IncidentUpdate{Message: title}, nil))(w)
		}
		open("not chosen", w.component.ID)
		open("chosen", other.ID)
		w.expect("one component", w.deliver(taken), "a@example.com: chosen")
		w.clock.move(time.Second)
		must(change(other.ID))(w)
		if got := must(w.Subscriber(w.ctx, w.ws, "acme", a.ID))(w); got.UpdatedAt.Equal(w.clock.now()) {
			w.Error("the same components again change the subscriber")
		}
		_, err := change(other.ID, hidden.ID)
		w.refused(err, "components")
		w.run(`UPDATE subscribers SET suspended_at = $2, suspension_reason = 'x' WHERE id = $1`, a.ID,
			w.clock.now().UnixMilli())
		if got := must(change())(w); !got.WholePage || len(got.Components) > 0 || got.SuspendedAt.IsZero() {
			w.Errorf("suspended subscriber of the whole page: %+v", got)
		}
		audited := w.rows(`SELECT old_fields, new_fields FROM audit_entries WHERE object_kind = 'subscriber'
			AND action = 'update' ORDER BY id`)
		want := []string{
			`{"components":[],"whole_page":true}|{"components":["` + other.ID + `"],"whole_page":false}`,
			`{"components":["` + other.ID + `"],"whole_page":false}|{"components":[],"whole_page":true}`,
		}
		if fmt.Sprint(audited) != fmt.Sprint(want) {
			w.Errorf("audited %q, want %q", audited, want)
		}
	})
}

// TestChosenComponentIsHidden: a subscriber can keep a component that was hidden after it was chosen, and cannot choose
// it again.
func TestChosenComponentIsHidden(t *testing.T) {
	inWorlds(t, func(w *world) {
		a := w.subscribe("a@example.com")
		other := must(w.Components().Create(w.ctx, w.ws, "acme",
			resource.Component.From(statuspage.Component{Name: "Other"})))(w)
		both := slices.Sorted(slices.Values([]string{other.ID, w.component.ID}))
		for name, change := range map[string]func(components ...string) error{
			"operator": func(components ...string) error {
				_, err := w.ChangeSubscriber(w.ctx, w.ws, "acme", a.ID, kernel.Precondition{}, choose(components...))
				return err
			},
			"subscriber": func(components ...string) error {
				_, err := w.ChangeSubscription(w.ctx, "acme", a.Key, components)
				return err
			},
		} {
			hide := func(hidden bool) {
				must(w.Components().Change(w.ctx, w.ws, "acme", other.ID, func(c *statuspage.Component) error {
					c.Hidden = hidden
					return nil
				}, kernel.Precondition{}))(w)
			}
			w.ok(change(other.ID))
			hide(true)
			w.ok(change(both...))
			got := must(w.Subscriber(w.ctx, w.ws, "acme", a.ID))(w)
			if !slices.Equal(slices.Sorted(slices.Values(got.Components)), both) {
				w.Errorf("%s: saved %q, want %q", name, got.Components, both)
			}
			w.ok(change(w.component.ID))
			w.refused(change(both...), "components")
			hide(false)
		}
	})
}

// TestSuspensionCancelsOpenDeliveries: what was fanned out before the suspension, of
// other incidents too, is not sent when the subscription goes on later.
func TestSuspensionCancelsOpenDeliveries(t *testing.T) {
	inWorlds(t, func(w *world) {
		a, b := w.subscribe("a@example.com"), w.subscribe("b@example.com")
		w.run(`UPDATE subscribers SET rejections = 2 WHERE id = $1`, a.ID)
		w.clock.move(time.Second)
		for _, title := range []string{"one", "two", "three"} {
			must(w.CreateIncident(w.ctx, w.ws, "acme", statuspage.Incident{Title: title},
				statuspage.IncidentUpdate{Message: title}, nil))(w)
		}
		w.fanOut()
		refused := store.DeliveryResult{
			Outcome: audience.SendOutcome{Result: audience.SendRejected, Reason: "There is no such mailbox."},
		}
		for _, refused.ClaimedDelivery = range w.claim() {
			if w.value(`SELECT subscriber_id FROM deliveries WHERE id = $1`, refused.ID) == a.ID {
				w.ok(w.SaveDeliveryResults(w.ctx, []store.DeliveryResult{refused}))
				break
			}
		}
		waits := func(id string) string {
			return w.value(`SELECT count(*) FROM deliveries WHERE subscriber_id = $1
				AND state IN ('pending', 'sending')`, id)
		}
		if of, others := waits(a.ID), waits(b.ID); of != "0" || others != "3" {
			t.Errorf("after the suspension %s wait for its holder and %s for another, want 0 and 3", of, others)
		}
		if _, err := w.RetryDelivery(w.ctx, w.ws, refused.ID); !errors.As(err, new(*kernel.ValidationError)) {
			t.Errorf("a delivery of a suspended subscription is tried again: %v", err)
		}
		must(w.ChangeSubscription(w.ctx, "acme", a.Key, nil))(w)
		w.clock.move(time.Hour)
		for _, line := range w.deliver(taken) {
			if strings.HasPrefix(line, a.Target) {
				t.Errorf("sent after the suspension: %s", line)
			}
		}
	})
}

// TestGoneEndsTheSubscription: what a webhook's 410 does.
func TestGoneEndsTheSubscription(t *testing.T) {
	inWorlds(t, func(w *world) {
		a := w.subscribe("https://example.com/hook")
		w.clock.move(time.Second)
		for _, title := range []string{"i", "j"} {
			must(w.CreateIncident(w.ctx, w.ws, "acme", statuspage.Incident{Title: title},
				statuspage.IncidentUpdate{Message: title}, nil))(w)
		}
		w.fanOut()
		claimed := w.claim()
		w.ok(w.SaveDeliveryResults(w.ctx, []store.DeliveryResult{
			{ClaimedDelivery: claimed[0], Outcome: audience.SendOutcome{Result: audience.SendGone, Reason: "gone"}},
		}))
		if _, err := w.Subscriber(w.ctx, w.ws, "acme", a.ID); err != kernel.ErrNotFound {
			t.Errorf("the subscriber: %v", err)
		}
		if got := w.states(); got["cancelled"] != 2 {
			t.Errorf("states: %v", got)
		}
	})
}

// signUp requests a sign-up, and lets it be done.
func (w *world) signUp(slug string, n audience.NewSubscriber) error {
	w.Helper()
	if err := w.RequestSignUp(w.ctx, store.SignUp{Slug: slug, Subscriber: n}); err != nil {
		return err
	}
	for must(w.ProcessSignUps(w.ctx))(w) {
	}
	return nil
}

// TestSignUp: unknown, known and confirmed addresses look alike, and nobody is
// sent more than one mail an hour for it.
func TestSignUp(t *testing.T) {
	inWorlds(t, func(w *world) {
		n := audience.NewSubscriber{
			Channel: audience.ChannelEmail, Target: " Ann@Example.com", Components: []string{w.component.ID},
			Confirmed: true,
		}
		w.ok(w.signUp("acme", n))
		w.ok(w.signUp("acme", n))
		w.expect("signed up twice", w.deliver(taken), "ann@example.com: confirmation")
		w.clock.move(audience.RepeatMailInterval)
		w.ok(w.signUp("acme", n))
		w.expect("an hour later", w.deliver(taken), "ann@example.com: confirmation")
		key := w.value(`SELECT key FROM subscribers`)
		w.clock.move(time.Minute)
		// the questions were refused
		w.run(`UPDATE subscribers SET suspended_at = 1, suspension_reason = 'x', rejections = 3`)
		sub := must(w.ConfirmSubscription(w.ctx, "acme", key))(w)
		again := must(w.ConfirmSubscription(w.ctx, "acme", key))(w)
		if !sub.Active() || !again.ConfirmedAt.Equal(sub.ConfirmedAt) || !slices.Equal(sub.Components, n.Components) {
			t.Errorf("confirmed: %+v, %+v", sub, again)
		}
		w.clock.move(audience.RepeatMailInterval)
		w.ok(w.signUp("acme", n))
		w.expect("confirmed already", w.deliver(taken), "ann@example.com: link")
		for field, bad := range map[string]audience.NewSubscriber{
			"target":     {Channel: audience.ChannelEmail, Target: "no address"},
			"components": {Channel: audience.ChannelEmail, Target: "ann@example.com", Components: []string{"comp_x"}},
			"channel":    {Channel: "pigeon", Target: "https://example.com/"},
		} {
			if err := refused(w.signUp("acme", bad), field); err != kernel.ErrNotFound {
				t.Errorf("bad %s: %v", field, err)
			}
		}
		if err := w.signUp("nope", n); err != kernel.ErrNotFound {
			t.Errorf("no such page: %v", err)
		}
		if _, err := w.ConfirmSubscription(w.ctx, "beta", key); err != kernel.ErrNotFound {
			t.Errorf("another page's: %v", err)
		}
		// A name of nobody's is forgotten in time.
		w.ok(w.signUp("acme", audience.NewSubscriber{Channel: audience.ChannelEmail, Target: "bob@example.com"}))
		w.clock.move(audience.UnconfirmedLifetime)
		w.ok(w.Prune(w.ctx))
		if got := w.rows(`SELECT target FROM subscribers`); !slices.Equal(got, []string{"ann@example.com"}) {
			t.Errorf("after a week: %q", got)
		}
	})
}

// TestRotateSecret: the old one signs for another day.
func TestRotateSecret(t *testing.T) {
	inWorlds(t, func(w *world) {
		a := w.subscribe("https://example.com/hook")
		b := must(w.RotateSubscriber(w.ctx, w.ws, "acme", a.ID))(w)
		got := must(w.Subscription(w.ctx, "acme", a.Key))(w)
		want := []string{b.Secret, a.Secret}
		if b.Secret == a.Secret || !slices.Equal(got.Secrets(w.clock.now()), want) {
			t.Errorf("secrets %q, want %q", got.Secrets(w.clock.now()), want)
		}
		if got := got.Secrets(w.clock.now().Add(audience.SecretOverlap)); !slices.Equal(got, []string{b.Secret}) {
			t.Errorf("a day later: %q", got)
		}
		mail := w.subscribe("a@example.com")
		if err := refused(func() error {
			_, err := w.RotateSubscriber(w.ctx, w.ws, "acme", mail.ID)
			return err
		}(), "channel"); err != kernel.ErrNotFound {
			t.Errorf("of a mailbox: %v", err)
		}
	})
}

// TestRecipientsFollowTheRule holds the statement that picks subscribers to the rule
// of the domain.
func TestRecipientsFollowTheRule(t *testing.T) {
	inWorlds(t, func(w *world) {
		components := w.subscribeToEveryChoice()
		// Nobody is left with the whole page because what they chose is gone.
		w.ok(w.Components().Delete(w.ctx, w.ws, "acme", components[2], kernel.Precondition{}))
		w.clock.move(time.Second)
		must(w.CreateIncident(w.ctx, w.ws, "acme", statuspage.Incident{Title: "page"},
			statuspage.IncidentUpdate{Message: "page"}, nil))(w)
		must(w.Components().Change(w.ctx, w.ws, "acme", components[0], setStatus(kernel.StatusDegraded),
			kernel.Precondition{}))(w)
		job := w.quick("job", statuspage.Component{ID: components[1]}, kernel.StatusMajorOutage)
		must(w.ChangeMonitor(w.ctx, w.ws, job.ID, func(c *monitor.MonitorConfig) error {
			c.MinRuntime = time.Second
			return nil
		}))(w)
		for _, kind := range []monitor.SignalKind{monitor.SignalStart, monitor.SignalSuccess} {
			w.send(store.NewSignal{Token: job.Token, Kind: kind})
		}
		w.goDown(job)
		w.fanOut()
		about := map[statuspage.EventKind]int{}
		for _, e := range must(w.Events(w.ctx))(w) {
			var concerns []string
			if e.ComponentID != "" {
				concerns = []string{e.ComponentID}
			} else if e.WarningID != "" {
				concerns = e.Components
			}
			subscribers, _, err := w.Subscribers(w.ctx, w.ws, "acme", store.SubscriberFilter{}, firstHundred)
			w.ok(err)
			var want []string
			for _, s := range subscribers {
				if s.Wants(e.Kind, concerns) {
					want = append(want, s.ID)
				}
			}
			w.expect(fmt.Sprintf("%s about %q", e.Kind, concerns),
				w.rows(`SELECT subscriber_id FROM deliveries WHERE event_id = $1`, e.ID), want...)
			about[e.Kind]++
		}
		if about[statuspage.EventIncidentCreated] != 2 || about[statuspage.EventComponentStatusChanged] != 2 ||
			about[statuspage.EventMonitorWarning] != 1 {
			t.Errorf("events: %v", about)
		}
	})
}

// subscribeToEveryChoice creates three components, and three subscribers for each set of them.
func (w *world) subscribeToEveryChoice() (components []string) {
	w.Helper()
	for i := range 3 {
		components = append(components,
			must(w.Components().Create(w.ctx, w.ws, "acme",
				resource.Component.From(statuspage.Component{Name: fmt.Sprint(i)})))(w).ID)
	}
	for choice := range 8 {
		var chosen []string
		for i, id := range components {
			if choice>>i&1 == 1 {
				chosen = append(chosen, id)
			}
		}
		w.subscribe(fmt.Sprintf("%d@example.com", choice), chosen...)
		w.subscribe(fmt.Sprintf("https://example.com/%d", choice), chosen...)
		w.alerted(fmt.Sprintf("https://example.com/warnings/%d", choice), chosen...)
	}
	return components
}

// TestTestMessages sends test messages to subscribers of each channel, which are delivered like any other, and resumes
// a suspended one.
func TestTestMessages(t *testing.T) {
	inWorlds(t, func(w *world) {
		mail, hook := w.subscribe("ada@example.com"), w.subscribe("https://hooks.example.com/")
		w.clock.move(time.Second)
		w.about("Slow", "one")
		w.deliver(taken) // which is no test
		for channel, sub := range map[audience.Channel]audience.Subscriber{
			audience.ChannelEmail: mail, audience.ChannelWebhook: hook,
		} {
			sent := must(w.SendTestMessage(w.ctx, w.ws, "acme", sub.ID))(w)
			if sent.Purpose != audience.PurposeTest || sent.State != audience.DeliveryPending ||
				sent.Target != sub.Target {
				w.Errorf("%s: %+v", channel, sent)
			}
			claimed, _, _, err := w.ClaimDeliveries(w.ctx, store.ClaimOptions{Channel: channel, Limit: 10})
			if w.ok(err); len(claimed) != 1 || claimed[0].ID != sent.ID {
				w.Errorf("%s: claimed %+v, want %s", channel, claimed, sent.ID)
			}
			if _, err := w.SendTestMessage(w.ctx, w.ws, "acme", sub.ID); !errors.As(err, new(*kernel.ValidationError)) {
				w.Errorf("%s: a second test message within a minute: %v", channel, err)
			}
		}
		w.clock.move(audience.TestMessageInterval)
		w.run(`UPDATE subscribers SET suspended_at = 1, suspension_reason = 'no', rejections = 3 WHERE id = $1`,
			mail.ID)
		if _, err := w.SendTestMessage(w.ctx, w.ws, "acme", mail.ID); !errors.As(err, new(*kernel.ValidationError)) {
			w.Errorf("a test message to a suspended subscriber: %v", err)
		}
		for range 2 { // repeating it changes nothing
			resumed := must(w.ResumeSubscriber(w.ctx, w.ws, "acme", mail.ID))(w)
			if resumed.State() != audience.SubscriberActive || resumed.Rejections != 0 {
				w.Errorf("resumed: %+v", resumed)
			}
		}
		must(w.SendTestMessage(w.ctx, w.ws, "acme", mail.ID))(w)
		of := store.DeliveryFilter{Subscriber: mail.ID}
		found, total, err := w.Deliveries(w.ctx, w.ws, "acme", of, firstHundred)
		if err != nil || total != 3 || found[0].SubscriberID != mail.ID {
			w.Errorf("the deliveries of a subscriber: %+v, %d, %v", found, total, err)
		}
	})
}

// TestSubscribersAreSearched checks that the list is limited by a part of an address in any case, in which no character
// is a wildcard.
func TestSubscribersAreSearched(t *testing.T) {
	inWorlds(t, func(w *world) {
		w.subscribe("ada.b@example.com")
		w.subscribe("https://Hooks.example.com/Ada")
		w.subscribe("bob@example.net")
		for part, want := range map[string]int{
			"ADA": 2, "ada": 2, "Example.COM": 2, "example": 3, "/ada": 1, "a_a": 0, "%": 0, "ada.b@": 1,
		} {
			found, total, err := w.Subscribers(w.ctx, w.ws, "acme", store.SubscriberFilter{Contains: part},
				firstHundred)
			if err != nil || len(found) != want || total != want {
				w.Errorf("%q: %d of %d subscribers, want %d, %v", part, len(found), total, want, err)
			}
		}
	})
}

// TestSubscribersBefore reads the list in parts while subscriptions begin and end.
func TestSubscribersBefore(t *testing.T) {
	inWorlds(t, func(w *world) {
		var all []audience.Subscriber
		for n := range 6 {
			w.clock.move(time.Second)
			all = append(all, w.subscribe(fmt.Sprintf("%d@example.com", n)))
		}
		var got []string
		for before := ""; ; {
			part, more, err := w.SubscribersBefore(w.ctx, w.ws, "acme", before, 2)
			w.ok(err)
			for _, s := range part {
				got, before = append(got, s.Target), s.ID
			}
			if !more {
				break
			}
			if len(got) == 2 { // one that was read ends, and another one begins
				w.ok(w.Unsubscribe(w.ctx, "acme", all[5].Key))
				w.clock.move(time.Second)
				w.subscribe("new@example.com")
			}
		}
		if fmt.Sprint(got) != "[5@example.com 4@example.com 3@example.com 2@example.com 1@example.com 0@example.com]" {
			w.Errorf("read %q", got)
		}
	})
}

// choose returns the change by which a subscriber chooses components.
func choose(components ...string) func(*audience.Subscriber) error {
	return func(s *audience.Subscriber) error { return s.Choose(components) }
}

// askForWarnings returns the change by which a subscriber asks for warnings, or no longer does.
func askForWarnings(on bool) func(*audience.Subscriber) error {
	return func(s *audience.Subscriber) error { s.Warnings = on; return nil }
}
