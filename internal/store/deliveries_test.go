package store_test

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/allswell/allswell/internal/domain/audience"
	"github.com/allswell/allswell/internal/domain/kernel"
	"github.com/allswell/allswell/internal/domain/statuspage"
	"github.com/allswell/allswell/internal/store"
)

// fanOut gives everybody their deliveries.
func (w *world) fanOut() {
	w.Helper()
	for range 10_000 {
		more, err := w.FanOut(w.ctx)
		w.ok(err)
		if !more {
			return
		}
	}
	w.Fatal("the fan-out does not end")
}

// subscribe makes a confirmed subscriber; a target with a slash is a webhook.
func (w *world) subscribe(target string, components ...string) audience.Subscriber {
	w.Helper()
	n := audience.NewSubscriber{Channel: audience.ChannelEmail, Target: target, Components: components, Confirmed: true}
	if strings.Contains(target, "/") {
		n.Channel = audience.ChannelWebhook
	}
	return must(w.CreateSubscriber(w.ctx, w.ws, "acme", n, nil))(w)
}

// claim claims all that is due, mail first.
func (w *world) claim() (claimed []store.ClaimedDelivery) {
	w.Helper()
	for _, channel := range audience.Channels {
		got, _, _, err := w.ClaimDeliveries(w.ctx, store.ClaimOptions{Channel: channel, Limit: 100})
		w.ok(err)
		claimed = append(claimed, got...)
	}
	return claimed
}

// deliver sends all that is due until nothing is, with the same outcome, and
// returns what was said to whom: "target: what, what".
func (w *world) deliver(o audience.SendOutcome) (lines []string) {
	w.Helper()
	for range 100 {
		w.fanOut()
		claimed := w.claim()
		if len(claimed) == 0 {
			return lines
		}
		var results []store.DeliveryResult
		loaded := must(w.Notifications(w.ctx, claimed))(w)
		for _, c := range claimed {
			n := loaded[c.ID]
			var what []string
			for _, e := range n.Events {
				word := e.Data.Message
				if e.Kind == statuspage.EventComponentStatusChanged {
					word = string(e.Data.NewStatus)
				} else if e.MonitorID != "" {
					word = string(e.Kind)
				}
				what = append(what, word)
			}
			if n.Delivery.Purpose != audience.PurposeEvent {
				what = append(what, string(n.Delivery.Purpose))
			}
			lines = append(lines, n.Subscriber.Target+": "+strings.Join(what, ", "))
			results = append(results, store.DeliveryResult{ClaimedDelivery: c, Outcome: o, Jitter: 0.5})
		}
		w.ok(w.SaveDeliveryResults(w.ctx, results))
	}
	w.Fatal("there is no end of deliveries")
	return nil
}

func (w *world) nextAttempt() time.Time {
	w.Helper()
	ms, err := strconv.ParseInt(w.value(`SELECT min(next_attempt_at) FROM deliveries WHERE state = 'pending'`), 10, 64)
	w.ok(err)
	return time.UnixMilli(ms).UTC()
}

func (w *world) expect(what string, got []string, want ...string) {
	w.Helper()
	slices.Sort(got)
	slices.Sort(want)
	if !slices.Equal(got, want) {
		w.Errorf("%s:\n got %q\nwant %q", what, got, want)
	}
}

func (w *world) states() map[string]int {
	w.Helper()
	out := make(map[string]int)
	for _, row := range w.rows(`SELECT state FROM deliveries`) {
		out[row]++
	}
	return out
}

var (
	taken  = audience.SendOutcome{Result: audience.SendAccepted}
	failed = audience.SendOutcome{Result: audience.SendFailed, Reason: "It was not there."}
)

// TestNewerDeliveryMergesOlder: a mail has the newest event and all events not sent yet; a webhook gets each event, in
// order.
func TestNewerDeliveryMergesOlder(t *testing.T) {
	inWorlds(t, func(w *world) {
		w.subscribe("a@example.com")
		w.subscribe("https://example.com/hook")
		w.clock.move(time.Second)
		i := must(w.CreateIncident(w.ctx, w.ws, "acme", statuspage.Incident{Title: "i"},
			statuspage.IncidentUpdate{Message: "one"}, nil))(w)
		w.expect("the first attempt", w.deliver(failed), "a@example.com: one", "https://example.com/hook: one")
		w.clock.move(time.Second)
		must(w.PostUpdate(w.ctx, w.ws, i.ID, statuspage.IncidentUpdate{Message: "two"}, nil))(w)
		other := must(w.CreateIncident(w.ctx, w.ws, "acme", statuspage.Incident{Title: "o"},
			statuspage.IncidentUpdate{Message: "else"}, nil))(w)
		// The mailbox waits, and so does the webhook's incident; its other one does not.
		w.expect("news while one waits", w.deliver(failed), "https://example.com/hook: else")
		must(w.PostUpdate(w.ctx, w.ws, i.ID, statuspage.IncidentUpdate{Message: "three"}, nil))(w)
		must(w.PostUpdate(w.ctx, w.ws, other.ID, statuspage.IncidentUpdate{Message: "more"}, nil))(w)
		w.clock.move(time.Minute)
		got := w.deliver(taken)
		order := slices.DeleteFunc(slices.Clone(got), func(line string) bool {
			return !strings.HasPrefix(line, "https")
		})
		w.expect("all is well", got, "a@example.com: one, two, three", "a@example.com: else, more",
			"https://example.com/hook: one", "https://example.com/hook: two", "https://example.com/hook: three",
			"https://example.com/hook: else", "https://example.com/hook: more")
		at := func(word string) int { return slices.Index(order, "https://example.com/hook: "+word) }
		if !(at("one") < at("two") && at("two") < at("three") && at("else") < at("more")) {
			t.Errorf("the webhook's order: %q", order)
		}
		if got, want := w.states(), map[string]int{"sent": 7, "superseded": 3}; !maps.Equal(got, want) {
			t.Errorf("states: %v, want %v", got, want)
		}
	})
}

// TestDeliveriesMergedTwice checks that a mail includes what was merged into a mail that failed.
func TestDeliveriesMergedTwice(t *testing.T) {
	inWorlds(t, func(w *world) {
		w.subscribe("a@example.com")
		i := must(w.CreateIncident(w.ctx, w.ws, "acme", statuspage.Incident{Title: "i"},
			statuspage.IncidentUpdate{Message: "one"}, nil))(w)
		w.expect("the first attempt", w.deliver(failed), "a@example.com: one")
		must(w.PostUpdate(w.ctx, w.ws, i.ID, statuspage.IncidentUpdate{Message: "two"}, nil))(w)
		w.clock.move(time.Minute)
		w.expect("the second attempt", w.deliver(failed), "a@example.com: one, two")
		must(w.PostUpdate(w.ctx, w.ws, i.ID, statuspage.IncidentUpdate{Message: "three"}, nil))(w)
		w.clock.move(time.Hour)
		w.expect("the third attempt", w.deliver(taken), "a@example.com: one, two, three")
	})
}

// TestBackoffAndExpiry: when an outage of the receiver's lasts, attempts come
// as the schedule says, none is missing and none comes after a day.
func TestBackoffAndExpiry(t *testing.T) {
	inWorlds(t, func(w *world) {
		w.subscribe("https://example.com/hook")
		w.clock.move(time.Second)
		happened := w.clock.now()
		must(w.CreateIncident(w.ctx, w.ws, "acme", statuspage.Incident{Title: "i"},
			statuspage.IncidentUpdate{Message: "one"}, nil))(w)
		var waits []time.Duration
		last := happened
		for range 100 {
			w.fanOut()
			w.expect("an attempt", w.deliver(failed), "https://example.com/hook: one")
			next := w.nextAttempt()
			waits = append(waits, next.Sub(last).Round(time.Second))
			last = next
			w.clock.set(next.Add(-time.Millisecond))
			w.expect("too early", w.deliver(failed))
			w.clock.set(next)
			if !next.Before(happened.Add(audience.DeliveryLifetime)) {
				break
			}
		}
		want := []time.Duration{
			5 * time.Second, 20 * time.Second, time.Minute, 3 * time.Minute, 10 * time.Minute, 30 * time.Minute,
			time.Hour, time.Hour,
		}
		if len(waits) < 20 || !slices.Equal(waits[:len(want)], want) {
			t.Errorf("waits: %v", waits)
		}
		w.expect("after a day", w.deliver(taken))
		if got := w.states(); got["expired"] != 1 {
			t.Errorf("states: %v", got)
		}
		rows, _, err := w.Deliveries(w.ctx, w.ws, "acme",
			store.DeliveryFilter{States: []audience.DeliveryState{audience.DeliveryExpired}}, firstHundred)
		w.ok(err)
		if len(rows) != 1 || rows[0].Reason == "" || rows[0].Target != "https://example.com/hook" ||
			rows[0].Kind != statuspage.EventIncidentCreated {
			t.Fatalf("the log: %+v", rows)
		}
		must(w.RetryDelivery(w.ctx, w.ws, rows[0].ID))(w)
		w.expect("by hand", w.deliver(taken), "https://example.com/hook: one")
		if err := refused(func() error {
			_, err := w.RetryDelivery(w.ctx, w.ws, rows[0].ID)
			return err
		}(), "state"); err != kernel.ErrNotFound {
			t.Errorf("a sent one again: %v", err)
		}
	})
}

// TestEventsKeepTheBackOff: while a receiver fails, new incidents and updates cause no attempt
// and do not count as attempts. Then everything is sent.
func TestEventsKeepTheBackOff(t *testing.T) {
	t.Parallel()
	const every, total = 9, 100 // seconds
	want := []int{0, 5, 25, 85}
	for name, event := range map[string]func(*world, string){
		"incidents": func(w *world, _ string) {
			must(w.CreateIncident(w.ctx, w.ws, "acme", statuspage.Incident{Title: "i"},
				statuspage.IncidentUpdate{Message: "more"}, nil))(w)
		},
		"updates": func(w *world, incident string) {
			must(w.PostUpdate(w.ctx, w.ws, incident, statuspage.IncidentUpdate{Message: "more"}, nil))(w)
		},
	} {
		t.Run(name, func(t *testing.T) {
			inWorlds(t, func(w *world) {
				w.subscribe("a@example.com")
				w.subscribe("https://example.com/hook")
				w.clock.move(time.Second)
				first := must(w.CreateIncident(w.ctx, w.ws, "acme", statuspage.Incident{Title: "i"},
					statuspage.IncidentUpdate{Message: "first"}, nil))(w)
				attempts := make(map[string][]int)
				for second := range total {
					if second > 0 && second%every == 0 {
						event(w, first.ID)
					}
					for _, line := range w.deliver(failed) {
						if target, message, _ := strings.Cut(line, ": "); strings.HasPrefix(message, "first") {
							attempts[target] = append(attempts[target], second)
						} else if target == "a@example.com" {
							t.Errorf("after %d s: %s", second, line)
						}
					}
					w.clock.move(time.Second)
				}
				for _, target := range []string{"a@example.com", "https://example.com/hook"} {
					if !slices.Equal(attempts[target], want) {
						t.Errorf("attempts to %s after %v s, want %v", target, attempts[target], want)
					}
				}
				tried := w.value(`SELECT max(attempts) FROM deliveries WHERE channel = 'email' AND state = 'pending'`)
				if tried != fmt.Sprint(len(want)) {
					t.Errorf("the mail has %s attempts, want %d", tried, len(want))
				}
				w.clock.move(3 * time.Minute)
				w.deliver(taken)
				if got := w.states(); got["pending"] != 0 || got["sent"]+got["superseded"] != 2*(1+(total-1)/every) {
					t.Errorf("in the end: %v", got)
				}
			})
		})
	}
}

// TestServerFailuresAreNotAttempts: while the mail server cannot be used, deliveries are due
// again after a few seconds however long it lasts, and no attempt is counted.
func TestServerFailuresAreNotAttempts(t *testing.T) {
	inWorlds(t, func(w *world) {
		w.subscribe("a@example.com")
		w.clock.move(time.Second)
		unavailable := audience.SendOutcome{
			Result: audience.SendServerUnavailable, Reason: "Not now.", Unreachable: true,
		}
		const many = 15
		for range many {
			must(w.CreateIncident(w.ctx, w.ws, "acme", statuspage.Incident{Title: "i"},
				statuspage.IncidentUpdate{Message: "one"}, nil))(w)
			w.expect("an attempt", w.deliver(unavailable), "a@example.com: one")
			if next := w.nextAttempt().Sub(w.clock.now()); next != 5*time.Second {
				t.Fatalf("due again after %v", next)
			}
			w.clock.move(5 * time.Second)
		}
		if got := w.value(`SELECT sum(attempts) FROM deliveries`); got != "0" {
			t.Errorf("%s attempts", got)
		}
		if got := w.value(`SELECT count(*) FROM deliveries WHERE reason = 'Not now.'`); got != "1" {
			t.Errorf("%s deliveries have the reason", got)
		}
		w.deliver(taken)
		if got := w.states(); got["sent"] != many {
			t.Errorf("when it can be used again: %v", got)
		}
	})
}

// TestFencingTokens: who lost a claim cannot settle it.
func TestFencingTokens(t *testing.T) {
	inWorlds(t, func(w *world) {
		w.subscribe("a@example.com")
		w.clock.move(time.Second)
		must(w.CreateIncident(w.ctx, w.ws, "acme", statuspage.Incident{Title: "i"},
			statuspage.IncidentUpdate{Message: "one"}, nil))(w)
		w.fanOut()
		first := w.claim()
		if len(first) != 1 || len(w.claim()) != 0 {
			t.Fatalf("claimed %v, and again", first)
		}
		w.clock.move(audience.LeaseDuration - time.Millisecond)
		if got := w.claim(); len(got) != 0 {
			t.Fatalf("claimed under a lease: %v", got)
		}
		w.clock.move(time.Millisecond)
		second := w.claim()
		if len(second) != 1 || second[0].ID != first[0].ID || second[0].FencingToken == first[0].FencingToken {
			t.Fatalf("after the lease: %v, before %v", second, first)
		}
		if loaded := must(w.Notifications(w.ctx, first))(w); len(loaded) > 0 {
			t.Errorf("the old claim: %v", loaded)
		}
		w.ok(w.SaveDeliveryResults(w.ctx, []store.DeliveryResult{
			{ClaimedDelivery: first[0], Outcome: audience.SendOutcome{Result: audience.SendRejected, Reason: "no"}},
		}))
		w.ok(w.SaveDeliveryResults(w.ctx, []store.DeliveryResult{{ClaimedDelivery: second[0], Outcome: taken}}))
		w.ok(w.SaveDeliveryResults(w.ctx, []store.DeliveryResult{{ClaimedDelivery: second[0], Outcome: failed}}))
		if got := w.states(); got["sent"] != 1 {
			t.Errorf("states: %v", got)
		}
	})
}

// TestRetryBehindAnother: a delivery that is retried by hand and waits for another one says so. The other one is due
// immediately, and then this one is sent.
func TestRetryBehindAnother(t *testing.T) {
	inWorlds(t, func(w *world) {
		w.subscribe("a@example.com")
		w.clock.move(time.Second)
		first := must(w.CreateIncident(w.ctx, w.ws, "acme", statuspage.Incident{Title: "i"},
			statuspage.IncidentUpdate{Message: "one"}, nil))(w)
		for range 4 { // the next attempt is minutes away
			w.deliver(failed)
			w.clock.set(w.nextAttempt())
		}
		w.clock.move(-time.Second)
		must(w.PostUpdate(w.ctx, w.ws, first.ID, statuspage.IncidentUpdate{Message: "two"}, nil))(w)
		must(w.CreateIncident(w.ctx, w.ws, "acme", statuspage.Incident{Title: "i"},
			statuspage.IncidentUpdate{Message: "three"}, nil))(w)
		w.expect("before the next attempt", w.deliver(failed))
		rows, _, err := w.Deliveries(w.ctx, w.ws, "acme", store.DeliveryFilter{}, firstHundred)
		w.ok(err)
		byTime := map[string]audience.DeliveryLogEntry{}
		for _, d := range rows {
			byTime[w.value(`SELECT data FROM events WHERE id = $1`, d.EventID)] = d
		}
		find := func(message string) (out audience.DeliveryLogEntry) {
			for data, d := range byTime {
				if strings.Contains(data, `"`+message+`"`) {
					out = d
				}
			}
			return
		}
		one, two, three := find("one"), find("two"), find("three")
		if one.Title != "i" {
			t.Errorf("the title is %q", one.Title)
		}
		if len(rows) != 3 || one.WaitsFor != "" || two.WaitsFor != "" || three.WaitsFor != one.ID {
			t.Fatalf("one waits for %q, two, which includes it, for %q, and three for %q, want %q", one.WaitsFor,
				two.WaitsFor, three.WaitsFor, one.ID)
		}
		got := must(w.RetryDelivery(w.ctx, w.ws, three.ID))(w)
		if got.WaitsFor != one.ID || got.State != audience.DeliveryPending {
			t.Errorf("%s waits for %q, want %q", got.State, got.WaitsFor, one.ID)
		}
		w.expect("by hand", w.deliver(taken), "a@example.com: one, two", "a@example.com: three")
	})
}

// TestRetryOfAHeldDelivery: a delivery that waits because its monitor flaps is sent immediately on request.
func TestRetryOfAHeldDelivery(t *testing.T) {
	inWorlds(t, func(w *world) {
		w.subscribe("https://example.com/hook")
		w.clock.move(time.Second)
		must(w.CreateIncident(w.ctx, w.ws, "acme", statuspage.Incident{Title: "i"},
			statuspage.IncidentUpdate{Message: "one"}, nil))(w)
		w.fanOut()
		held := w.clock.now().Add(time.Hour).UnixMilli()
		w.run(`UPDATE deliveries SET held_until_at = $1, next_attempt_at = $1`, held)
		w.expect("while it is held", w.deliver(taken))
		must(w.RetryDelivery(w.ctx, w.ws, w.value(`SELECT id FROM deliveries`)))(w)
		w.expect("by hand", w.deliver(taken), "https://example.com/hook: one")
	})
}

// TestRetryWithoutSubscriber: a delivery whose subscription has ended stays over.
func TestRetryWithoutSubscriber(t *testing.T) {
	inWorlds(t, func(w *world) {
		a := w.subscribe("https://example.com/hook")
		w.clock.move(time.Second)
		must(w.CreateIncident(w.ctx, w.ws, "acme", statuspage.Incident{Title: "i"},
			statuspage.IncidentUpdate{Message: "one"}, nil))(w)
		w.deliver(audience.SendOutcome{Result: audience.SendUndeliverable, Reason: "no"})
		w.ok(w.DeleteSubscriber(w.ctx, w.ws, "acme", a.ID, kernel.Precondition{}))
		_, err := w.RetryDelivery(w.ctx, w.ws, w.value(`SELECT id FROM deliveries`))
		if refused(err, "state") != kernel.ErrNotFound {
			t.Errorf("again: %v", err)
		}
	})
}

// TestRetryBeginsTheBackOffAnew: after a retry by hand, pauses between attempts are as short as for a new delivery.
func TestRetryBeginsTheBackOffAnew(t *testing.T) {
	inWorlds(t, func(w *world) {
		w.subscribe("https://example.com/hook")
		w.clock.move(time.Second)
		must(w.CreateIncident(w.ctx, w.ws, "acme", statuspage.Incident{Title: "i"},
			statuspage.IncidentUpdate{Message: "one"}, nil))(w)
		var pauses []time.Duration
		for range 5 {
			w.expect("an attempt", w.deliver(failed), "https://example.com/hook: one")
			pauses = append(pauses, w.nextAttempt().Sub(w.clock.now()))
			w.clock.move(pauses[len(pauses)-1])
		}
		must(w.RetryDelivery(w.ctx, w.ws, w.value(`SELECT id FROM deliveries`)))(w)
		w.expect("by hand", w.deliver(failed), "https://example.com/hook: one")
		if next := w.nextAttempt().Sub(w.clock.now()); next != pauses[0] || next >= pauses[4] {
			t.Errorf("the pauses were %v, and after the retry by hand %v", pauses, next)
		}
	})
}

// TestDeliveryGivenBack: what was claimed and not tried is due immediately, and was no attempt.
func TestDeliveryGivenBack(t *testing.T) {
	inWorlds(t, func(w *world) {
		w.subscribe("https://example.com/hook")
		w.clock.move(time.Second)
		must(w.CreateIncident(w.ctx, w.ws, "acme", statuspage.Incident{Title: "i"},
			statuspage.IncidentUpdate{Message: "one"}, nil))(w)
		w.fanOut()
		for range 3 {
			claimed := w.claim()
			if len(claimed) != 1 {
				t.Fatalf("claimed %v", claimed)
			}
			w.ok(w.SaveDeliveryResults(w.ctx, []store.DeliveryResult{
				{ClaimedDelivery: claimed[0], Outcome: audience.SendOutcome{Result: audience.SendNotAttempted}},
			}))
		}
		if got := w.value(`SELECT attempts FROM deliveries`); got != "0" {
			t.Errorf("%s attempts", got)
		}
		w.expect("then", w.deliver(taken), "https://example.com/hook: one")
	})
}

// TestLargeDeletions: the log is pruned, and a page deleted, however much there
// is, and what is open or young stays.
func TestLargeDeletions(t *testing.T) {
	inWorlds(t, func(w *world) {
		const many = 2500
		w.ok(store.FillSubscribers(w.ctx, w.Store, w.page.ID, many))
		w.clock.move(time.Second)
		i := must(w.CreateIncident(w.ctx, w.ws, "acme", statuspage.Incident{Title: "i"},
			statuspage.IncidentUpdate{Message: "one"}, nil))(w)
		w.fanOut()
		w.run(`UPDATE deliveries SET state = 'sent' WHERE id <> (SELECT min(id) FROM deliveries)`)
		w.clock.move(31 * 24 * time.Hour)
		must(w.PostUpdate(w.ctx, w.ws, i.ID, statuspage.IncidentUpdate{Message: "two"}, nil))(w)
		w.fanOut()
		w.ok(w.Prune(w.ctx))
		if got := w.value(`SELECT count(*) FROM deliveries`); got != fmt.Sprint(many+1) {
			t.Errorf("%s deliveries are left", got)
		}
		w.ok(w.DeletePage(w.ctx, w.ws, "acme"))
		for _, table := range []string{"subscribers", "deliveries", "events", "pages"} {
			if got := w.value(`SELECT count(*) FROM ` + table); got != "0" {
				t.Errorf("%s %s are left", got, table)
			}
		}
	})
}

// TestNotificationIsBounded: a mail that carries many long updates has all of them,
// and the messages of the newest alone.
func TestNotificationIsBounded(t *testing.T) {
	inWorlds(t, func(w *world) {
		w.subscribe("a@example.com")
		w.clock.move(time.Second)
		i := must(w.CreateIncident(w.ctx, w.ws, "acme", statuspage.Incident{Title: "Long"}, statuspage.IncidentUpdate{},
			nil))(w)
		const updates, most = 60, 1 << 20
		for range updates {
			must(w.PostUpdate(w.ctx, w.ws, i.ID,
				statuspage.IncidentUpdate{Message: strings.Repeat("x", kernel.MaxMessageLength)}, nil))(w)
		}
		w.fanOut()
		claimed := w.claim()
		if len(claimed) != 1 {
			t.Fatalf("%d mails, want one that carries all", len(claimed))
		}
		n := must(w.Notifications(w.ctx, claimed))(w)[claimed[0].ID]
		size, abridged := 0, 0
		for _, e := range n.Events {
			size += len(e.Data.Message)
			if e.Data.MessageOmitted {
				abridged++
			}
		}
		if len(n.Events) != updates+1 || size > most || size < most-kernel.MaxMessageLength || abridged == 0 ||
			n.Events[updates].Data.MessageOmitted {
			t.Errorf("%d events with %d bytes of messages, %d abridged", len(n.Events), size, abridged)
		}
	})
}

// TestDeliveriesNameComponents checks that a delivery about the status of a component has its name.
func TestDeliveriesNameComponents(t *testing.T) {
	inWorlds(t, func(w *world) {
		w.subscribe("https://example.com/hook")
		must(w.Components().Change(w.ctx, w.ws, "acme", w.component.ID, setStatus(kernel.StatusDegraded),
			kernel.Precondition{}))(w)
		w.fanOut()
		rows, total, err := w.Deliveries(w.ctx, w.ws, "acme", store.DeliveryFilter{}, firstHundred)
		w.ok(err)
		if total != 1 || rows[0].ComponentID != w.component.ID || rows[0].Title != w.component.Name {
			t.Fatalf("%d deliveries: %+v", total, rows)
		}
	})
}
