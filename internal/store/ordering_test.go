package store_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/allswell/allswell/internal/domain/audience"
	"github.com/allswell/allswell/internal/domain/statuspage"
	"github.com/allswell/allswell/internal/store"
)

// TestClaimFillsItsLimit: however much waits for each mailbox, a claim finds as
// many mailboxes as there is room for, and so does the next.
func TestClaimFillsItsLimit(t *testing.T) {
	inWorlds(t, func(w *world) {
		const mailboxes, most = 40, 16
		for n := range mailboxes {
			w.subscribe(fmt.Sprintf("reader-%d@example.com", n))
		}
		w.clock.move(time.Second)
		for n := range 30 {
			must(w.CreateIncident(w.ctx, w.ws, "acme", statuspage.Incident{Title: fmt.Sprint(n)},
				statuspage.IncidentUpdate{}, nil))(w)
			w.clock.move(time.Millisecond)
		}
		w.fanOut()
		for n := range 6 {
			claimed, _, _, err := w.ClaimDeliveries(w.ctx, store.ClaimOptions{
				Channel: audience.ChannelEmail, Limit: most,
			})
			w.ok(err)
			if len(claimed) != most {
				t.Errorf("claim %d found %d of %d mailboxes, for each of which much waits", n, len(claimed), most)
			}
			var results []store.DeliveryResult
			for _, c := range claimed {
				results = append(results, store.DeliveryResult{ClaimedDelivery: c, Outcome: taken})
			}
			w.ok(w.SaveDeliveryResults(w.ctx, results))
		}
	})
}

// TestMailboxBacksOff: what waits behind a mail that fails does not have it tried
// sooner.
func TestMailboxBacksOff(t *testing.T) {
	inWorlds(t, func(w *world) {
		w.subscribe("a@example.com")
		w.clock.move(time.Second)
		for n := range 5 {
			must(w.CreateIncident(w.ctx, w.ws, "acme", statuspage.Incident{Title: fmt.Sprint(n)},
				statuspage.IncidentUpdate{}, nil))(w)
		}
		w.fanOut()
		var waits []time.Duration
		last := w.clock.now()
		for deadline := last.Add(4 * time.Hour); w.clock.now().Before(deadline); w.clock.move(time.Second) {
			if len(w.deliver(failed)) > 0 {
				waits = append(waits, w.clock.now().Sub(last).Round(time.Second))
				last = w.clock.now()
			}
			if next := w.nextAttempt(); next.After(w.clock.now()) {
				w.clock.set(next.Add(-time.Second)) // deliver is called before and after
			}
		}
		want := []time.Duration{
			0, 5 * time.Second, 20 * time.Second, time.Minute, 3 * time.Minute, 10 * time.Minute, 30 * time.Minute,
			time.Hour,
		}
		if len(waits) < len(want) || !slices.Equal(waits[:len(want)], want) {
			t.Errorf("waits: %v, want %v", waits, want)
		}
	})
}

// TestClaimDuringSavingResults: a claim that finds something on its way lets what
// waits behind it wait; the settlement that ends that does not pass it by.
func TestClaimDuringSavingResults(t *testing.T) {
	onPostgres(t, "", func(w *world) {
		w.subscribe("https://example.com/hook")
		w.clock.move(time.Second)
		i := must(w.CreateIncident(w.ctx, w.ws, "acme", statuspage.Incident{Title: "i"}, statuspage.IncidentUpdate{},
			nil))(w)
		w.fanOut()
		first := w.claim()
		must(w.PostUpdate(w.ctx, w.ws, i.ID, statuspage.IncidentUpdate{Message: "two"}, nil))(w)
		w.fanOut()
		other := w.replica()
		results := make(chan error, 1)
		w.SetFault(func(when, query string) error {
			if when == "before" && strings.HasPrefix(query, "UPDATE deliveries SET next_attempt_at") {
				done := make(chan struct{})
				go func() {
					defer close(done)
					results <- other.SaveDeliveryResults(w.ctx, []store.DeliveryResult{
						{ClaimedDelivery: first[0], Outcome: taken},
					})
				}()
				select {
				case <-done:
				case <-time.After(200 * time.Millisecond): // it waits for the claim
				}
			}
			return nil
		})
		if got := w.claim(); len(got) != 0 {
			t.Fatalf("claimed beside one that is on its way: %v", got)
		}
		w.SetFault(nil)
		w.ok(<-results)
		if got := w.claim(); len(got) != 1 {
			t.Errorf("waiting behind a delivery whose result was saved: claimed %v", got)
		}
	})
}
