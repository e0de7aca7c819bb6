package store_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/allswell/allswell/internal/domain/audience"
	"github.com/allswell/allswell/internal/domain/kernel"
	"github.com/allswell/allswell/internal/domain/statuspage"
	"github.com/allswell/allswell/internal/resource"
	"github.com/allswell/allswell/internal/store"
	"github.com/allswell/allswell/internal/store/storetest"
)

// TestSignUpsCostTheSame: the request runs the same statements and writes the same rows, whatever is known of the
// address, and even if the sign-up is discarded.
func TestSignUpsCostTheSame(t *testing.T) {
	inWorlds(t, func(w *world) {
		var statements []string
		w.SetFault(func(when, query string) error {
			if when == "before" {
				statements = append(statements, query)
			}
			return nil
		})
		components := []string{w.component.ID}
		request := func(target string, discard bool) (ran, written string) {
			t.Helper()
			before := w.dump()
			statements = nil
			w.ok(w.RequestSignUp(w.ctx, store.SignUp{Slug: "acme", Discard: discard,
				Subscriber: audience.NewSubscriber{
					Channel: audience.ChannelEmail, Target: target, Components: components,
				}}))
			ran = strings.Join(statements, "\n")
			for line := range strings.Lines(w.dump()) {
				if !strings.Contains(before, line) {
					written += fmt.Sprintln(strings.Count(line, "|"), len(line)-len(target))
				}
			}
			return
		}
		confirmed, suspended := w.subscribe("confirmed@example.com"), w.subscribe("suspended@example.com")
		w.run(`UPDATE subscribers SET suspended_at = 1, suspension_reason = 'x' WHERE id = $1`, suspended.ID)
		w.ok(w.signUp("acme", audience.NewSubscriber{Channel: audience.ChannelEmail, Target: "pending@example.com"}))
		ran, written := request("unknown@example.com", false)
		if strings.Count(written, "\n") != 1 ||
			strings.Count(ran, "INSERT")+strings.Count(ran, "UPDATE")+strings.Count(ran, "DELETE") != 1 {
			t.Errorf("an unknown address writes %q by\n%s", written, ran)
		}
		for _, target := range []string{
			confirmed.Target, suspended.Target, "pending@example.com", "unknown@example.com",
		} {
			for _, discard := range []bool{false, true} {
				w.run(`DELETE FROM sign_ups`)
				also, alsoWritten := request(target, discard)
				if also != ran {
					t.Errorf("%s (discard: %v) runs\n%s\nwant\n%s", target, discard, also, ran)
				}
				if rows := strings.Count(alsoWritten, "\n"); rows != 1 {
					t.Errorf("%s (discard: %v) writes %d rows", target, discard, rows)
				}
			}
		}
		w.SetFault(nil)
	})
}

// TestDiscardedSignUp: it is accepted, and nothing comes of it.
func TestDiscardedSignUp(t *testing.T) {
	inWorlds(t, func(w *world) {
		w.ok(w.RequestSignUp(w.ctx, store.SignUp{Slug: "acme", Discard: true,
			Subscriber: audience.NewSubscriber{Channel: audience.ChannelEmail, Target: "ann@example.com"}}))
		for must(w.ProcessSignUps(w.ctx))(w) {
		}
		w.expect("discarded", w.deliver(taken))
		if got := w.value(`SELECT (SELECT count(*) FROM subscribers) + (SELECT count(*) FROM sign_ups)`); got != "0" {
			t.Errorf("%s rows are left", got)
		}
	})
}

// TestWhoAddedAnAddress: the confirmation mail of a subscriber knows whether an operator added
// the address or the form of the page, also if the form asks for it again.
func TestWhoAddedAnAddress(t *testing.T) {
	inWorlds(t, func(w *world) {
		confirmation := func(byOperator bool) {
			t.Helper()
			claimed := w.claim()
			if len(claimed) != 1 {
				t.Fatalf("claimed %d deliveries", len(claimed))
			}
			n := must(w.Notifications(w.ctx, claimed))(w)[claimed[0].ID]
			if n.Delivery.Purpose != audience.PurposeConfirmation || n.Subscriber.Invited() != byOperator {
				t.Errorf("%s of %s: invited by an operator: %t", n.Delivery.Purpose, n.Subscriber.Target,
					n.Subscriber.Invited())
			}
			w.ok(w.SaveDeliveryResults(w.ctx, []store.DeliveryResult{{ClaimedDelivery: claimed[0], Outcome: taken}}))
		}
		asked := audience.NewSubscriber{Channel: audience.ChannelEmail, Target: "ann@example.com"}
		must(w.CreateSubscriber(w.ctx, w.ws, "acme", asked, nil))(w)
		confirmation(true)
		w.clock.move(audience.RepeatMailInterval)
		w.ok(w.signUp("acme", asked))
		confirmation(false)
		asked.Target = "bob@example.com"
		w.ok(w.signUp("acme", asked))
		confirmation(false)
	})
}

// TestSignUpsAreKept: what was accepted is done after a failure, once, by
// whichever replica, and in steps.
func TestSignUpsAreKept(t *testing.T) {
	inWorlds(t, func(w *world) {
		const count = 230 // three steps
		for i := range count {
			w.ok(w.RequestSignUp(w.ctx, store.SignUp{Slug: "acme",
				Subscriber: audience.NewSubscriber{
					Channel: audience.ChannelEmail, Target: fmt.Sprintf("s%d@example.com", i%(count-1)),
				}}))
			w.clock.move(time.Millisecond)
		}
		broken := errors.New("broken")
		w.SetFault(func(when, query string) error {
			if when == "after" && strings.Contains(query, "INSERT INTO deliveries") {
				return broken
			}
			return nil
		})
		if _, err := w.ProcessSignUps(w.ctx); !errors.Is(err, broken) {
			t.Fatalf("sign-ups while no delivery can be saved: %v", err)
		}
		w.SetFault(nil)
		stores := []*store.Store{w.Store}
		if w.Shared() {
			stores = append(stores, storetest.Open(t, w.dsn, store.Options{Clock: w.clock.now}))
		}
		var replicas sync.WaitGroup
		for _, s := range stores {
			replicas.Go(func() {
				for more := true; more; {
					var err error
					if more, err = s.ProcessSignUps(w.ctx); err != nil {
						t.Error(err)
					}
				}
			})
		}
		replicas.Wait()
		for must(w.ProcessSignUps(w.ctx))(w) {
		}
		got, want :=
			w.rows(`SELECT (SELECT count(*) FROM subscribers), (SELECT count(*) FROM deliveries), (SELECT count(*)
				FROM sign_ups)`),
			[]string{fmt.Sprintf("%d|%d|0", count-1, count-1)}
		if !slices.Equal(got, want) {
			t.Errorf("subscribers, deliveries and sign-ups: %q, want %q", got, want)
		}
	})
}

// TestSignUpAfterDeletion: components that were deleted in the meantime are left
// out, and without any there is no subscription to more than was asked for.
func TestSignUpAfterDeletion(t *testing.T) {
	inWorlds(t, func(w *world) {
		other := must(w.Components().Create(w.ctx, w.ws, "acme",
			resource.Component.From(statuspage.Component{Name: "Other"})))(w)
		for target, chosen := range map[string][]string{
			"one@example.com": {other.ID}, "both@example.com": {other.ID, w.component.ID},
		} {
			w.ok(w.RequestSignUp(w.ctx, store.SignUp{Slug: "acme",
				Subscriber: audience.NewSubscriber{
					Channel: audience.ChannelEmail, Target: target, Components: chosen,
				}}))
		}
		w.ok(w.Components().Delete(w.ctx, w.ws, "acme", other.ID, kernel.Precondition{}))
		for must(w.ProcessSignUps(w.ctx))(w) {
		}
		got := w.rows(`SELECT target, component_id FROM subscribers JOIN subscriber_components ON subscriber_id = id`)
		if !slices.Equal(got, []string{"both@example.com|" + w.component.ID}) {
			t.Errorf("subscribers and their components: %q", got)
		}
		if got := w.rows(`SELECT target FROM subscribers`); !slices.Equal(got, []string{"both@example.com"}) {
			t.Errorf("subscribers: %q", got)
		}
	})
}

// TestVisitorsWebhook checks what a webhook that a visitor adds is sent: one request for confirmation an hour, nothing
// before it is confirmed, and nothing of a private page. A webhook of an operator is sent nothing by sign-ups.
func TestVisitorsWebhook(t *testing.T) {
	inWorlds(t, func(w *world) {
		hook := func(target string) audience.NewSubscriber {
			return audience.NewSubscriber{Channel: audience.ChannelWebhook, Target: target}
		}
		operators := must(w.CreateSubscriber(w.ctx, w.ws, "acme", hook("https://operator.example.com/"), nil))(w)
		if operators.ConfirmedAt.IsZero() || operators.AddedBy() != "operator" {
			w.Errorf("webhook that an operator added: %+v", operators)
		}
		const target = "https://visitor.example.com/"
		for range 2 {
			w.ok(w.signUp("acme", hook(operators.Target)))
			w.ok(w.signUp("acme", hook(target)))
		}
		w.about("before", "before")
		got := w.deliver(taken)
		slices.Sort(got)
		w.expect("an unconfirmed webhook", got, "https://operator.example.com/: before",
			"https://visitor.example.com/: confirmation")
		w.clock.move(audience.RepeatMailInterval)
		w.ok(w.signUp("acme", hook(target)))
		w.expect("an hour later", w.deliver(taken), "https://visitor.example.com/: confirmation")
		list, _, err := w.Subscribers(w.ctx, w.ws, "acme", store.SubscriberFilter{Target: target},
			store.Pagination{Page: 1, PerPage: 10})
		w.ok(err)
		if len(list) != 1 || list[0].AddedBy() != "visitor" || list[0].Secret == "" {
			w.Fatalf("webhook that a visitor added: %+v", list)
		}
		must(w.ConfirmSubscription(w.ctx, "acme", list[0].Key))(w)
		w.clock.move(audience.RepeatMailInterval)
		w.ok(w.signUp("acme", hook(target)))
		w.expect("a confirmed webhook", w.deliver(taken))
		w.setPage(func(p *statuspage.Page) { p.Visibility = statuspage.VisibilityPrivate })
		w.about("private", "private")
		w.expect("a private page", w.deliver(taken), "https://operator.example.com/: private")
		w.setPage(func(p *statuspage.Page) { p.Visibility = statuspage.VisibilityPublic; p.WebhookSignUps = false })
		var invalid *kernel.ValidationError
		if err := w.signUp("acme", hook("https://other.example.com/")); !errors.As(err, &invalid) {
			w.Errorf("switched off: %v", err)
		}
		w.clock.move(time.Second)
		w.about("public", "public")
		got = w.deliver(taken)
		slices.Sort(got)
		w.expect("a public page", got, "https://operator.example.com/: public", "https://visitor.example.com/: public")
	})
}
