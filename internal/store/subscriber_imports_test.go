package store_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/allswell/allswell/internal/domain/audience"
	"github.com/allswell/allswell/internal/domain/kernel"
	"github.com/allswell/allswell/internal/domain/statuspage"
	"github.com/allswell/allswell/internal/resource"
	"github.com/allswell/allswell/internal/store"
)

// TestImportSubscribers imports a list, after a dry run, and once more.
func TestImportSubscribers(t *testing.T) {
	inWorlds(t, func(w *world) {
		add := func(target string) audience.Subscriber {
			return must(w.CreateSubscriber(w.ctx, w.ws, "acme",
				audience.NewSubscriber{Channel: audience.ChannelEmail, Target: target, Confirmed: true}, nil))(w)
		}
		add("known@example.com")
		w.ok(w.Unsubscribe(w.ctx, "acme", add("gone@example.com").Key))
		component := must(w.Components().Create(w.ctx, w.ws, "acme",
			resource.Component.From(statuspage.Component{Name: "Imports"})))(w)
		hidden := must(w.Components().Create(w.ctx, w.ws, "acme",
			resource.Component.From(statuspage.Component{Name: "Secret", Hidden: true})))(w)
		must(w.CreatePage(w.ctx, w.ws, resource.Page.From(statuspage.Page{Name: "Other", Slug: "other"})))(w)
		other := must(w.Components().Create(w.ctx, w.ws, "other",
			resource.Component.From(statuspage.Component{Name: "Elsewhere"})))(w)
		n := audience.SubscriberImport{Consent: "newsletter form", DryRun: true, CSV: strings.Join([]string{
			"target,components", "new@example.com," + component.ID, "KNOWN@example.com", "gone@example.com", "nobody",
			"x@example.com,comp_x",
			"y@example.com," + hidden.ID, "z@example.com," + other.ID,
		}, "\n")}
		want := []string{
			"2 added", "3 subscribed", "4 unsubscribed", "5 invalid", "6 invalid", "7 invalid", "8 invalid",
		}
		before := w.dump()
		for _, dry := range []bool{true, false} {
			n.DryRun = dry
			r := must(w.ImportSubscribers(w.ctx, w.ws, "acme", n))(w)
			var got []string
			for _, l := range r.Lines {
				got = append(got, fmt.Sprint(l.Line, " ", l.Result))
			}
			if !slices.Equal(got, want) {
				w.Errorf("dry run %v: %v, want %v", dry, got, want)
			}
			if dry && w.dump() != before {
				w.Error("a dry run changed something")
			}
		}
		w.importedUnconfirmed(n, component.ID)
		before = w.dump()
		again := must(w.ImportSubscribers(w.ctx, w.ws, "acme", n))(w)
		if again.Count(audience.ImportAdded) != 0 || w.dump() != before {
			w.Errorf("the second time: %+v", again.Lines)
		}
		// Its owner subscribes again, and so it can be imported after an operator removes it.
		w.ok(w.DeleteSubscriber(w.ctx, w.ws, "acme", add("gone@example.com").ID, kernel.Precondition{}))
		n = audience.SubscriberImport{CSV: "gone@example.com", Consent: "a contract", Confirmed: true}
		if r := must(w.ImportSubscribers(w.ctx, w.ws, "acme", n))(w); r.Count(audience.ImportAdded) != 1 {
			w.Errorf("after the confirmation: %+v", r.Lines)
		}
	})
}

// importedUnconfirmed checks the subscriber of an import, the request for confirmation, and the audit entry.
func (w *world) importedUnconfirmed(n audience.SubscriberImport, component string) {
	w.Helper()
	found, total, err := w.Subscribers(w.ctx, w.ws, "acme", store.SubscriberFilter{Target: "new@example.com"},
		firstHundred)
	if err != nil || total != 1 || found[0].State() != audience.SubscriberUnconfirmed ||
		found[0].Consent != n.Consent || found[0].ConsentBy == "" ||
		!slices.Equal(found[0].Components, []string{component}) {
		w.Fatalf("imported %+v, %v", found, err)
	}
	if got := w.value(`SELECT count(*) FROM deliveries WHERE purpose = 'confirmation'`); got != "1" {
		w.Errorf("%s requests for confirmation", got)
	}
	log, _, err := w.AuditLog(w.ctx, w.ws, kernel.AuditFilter{Action: kernel.AuditImport}, "", 10)
	if err != nil || len(log) != 1 || strings.Contains(string(log[0].After), "@") ||
		!strings.Contains(string(log[0].After), n.Consent) {
		w.Errorf("audited %+v, %v", log, err)
	}
}

// TestImportAfterConfirmation checks that an address whose owner has unsubscribed can be imported again after the owner
// has confirmed another subscription, and only then.
func TestImportAfterConfirmation(t *testing.T) {
	inWorlds(t, func(w *world) {
		n := audience.NewSubscriber{Channel: audience.ChannelEmail, Target: "ann@example.com"}
		confirmed := n
		confirmed.Confirmed = true
		w.ok(w.Unsubscribe(w.ctx, "acme", must(w.CreateSubscriber(w.ctx, w.ws, "acme", confirmed, nil))(w).Key))
		imported := func() audience.ImportResult {
			list := audience.SubscriberImport{CSV: n.Target, Consent: "a form", DryRun: true}
			return must(w.ImportSubscribers(w.ctx, w.ws, "acme", list))(w).Lines[0].Result
		}
		for _, want := range []audience.ImportResult{audience.ImportUnsubscribed, audience.ImportAdded} {
			w.ok(w.signUp("acme", n))
			found, _, err := w.Subscribers(w.ctx, w.ws, "acme", store.SubscriberFilter{Target: n.Target}, firstHundred)
			w.ok(err)
			if want == audience.ImportAdded {
				must(w.ConfirmSubscription(w.ctx, "acme", found[0].Key))(w)
			}
			w.ok(w.DeleteSubscriber(w.ctx, w.ws, "acme", found[0].ID, kernel.Precondition{}))
			if got := imported(); got != want {
				t.Errorf("it is %s, want %s", got, want)
			}
		}
	})
}

// TestLargestImport imports as many addresses as a list may have, twice. The second time, no statistics know them yet.
func TestLargestImport(t *testing.T) {
	inWorldsAlone(t, func(w *world) {
		var list strings.Builder
		for i := range audience.MaxImportLines {
			fmt.Fprintf(&list, "reader%d@example.com\n", i)
		}
		n := audience.SubscriberImport{CSV: list.String(), Consent: "newsletter form"}
		for _, want := range []audience.ImportResult{audience.ImportAdded, audience.ImportSubscribed} {
			r := must(w.ImportSubscribers(w.ctx, w.ws, "acme", n))(w)
			if r.Count(want) != audience.MaxImportLines {
				w.Errorf("%d lines are %s, want all", r.Count(want), want)
			}
		}
		got := w.value(`SELECT count(*) FROM deliveries WHERE purpose = 'confirmation'`)
		if got != fmt.Sprint(audience.MaxImportLines) {
			w.Errorf("%s requests for confirmation", got)
		}
	})
}
