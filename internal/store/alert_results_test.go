package store_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/allswell/allswell/internal/domain/alert"
	"github.com/allswell/allswell/internal/domain/audience"
	"github.com/allswell/allswell/internal/domain/kernel"
	"github.com/allswell/allswell/internal/domain/monitor"
	"github.com/allswell/allswell/internal/domain/statuspage"
	"github.com/allswell/allswell/internal/resource"
	"github.com/allswell/allswell/internal/store"
)

// messageResults says what each result of an attempt makes of a message, and how often its channel has then failed.
var messageResults = map[string]struct {
	outcome  audience.SendOutcome
	after    time.Duration // since the message was composed
	want     string        // its state, attempts and reason
	failures int
}{
	"accepted":        {taken, 0, "sent 1 ", 0},
	"failed":          {failed, 0, "sending 1 " + failed.Reason, 3},
	"failed for long": {failed, alert.MessageLifetime - time.Millisecond, "sending 1 " + failed.Reason, 3},
	"failed too long": {failed, alert.MessageLifetime, "failed 1 " + failed.Reason, 3},
	"rejected": {audience.SendOutcome{Result: audience.SendRejected, Reason: "no"}, 0,
		"failed 1 no", 3},
	"undeliverable": {audience.SendOutcome{Result: audience.SendUndeliverable, Reason: "no"}, 0,
		"failed 1 no", 3},
	"gone": {audience.SendOutcome{Result: audience.SendGone}, 0,
		"failed 1 The channel did not accept the message.", 3},
	"not attempted": {audience.SendOutcome{Result: audience.SendNotAttempted}, 0, "sending 0 ", 2},
	"our server fails": {audience.SendOutcome{Result: audience.SendServerUnavailable, Reason: "no"}, 0,
		"sending 1 no", 3},
}

// TestResultsOfMessages checks what each result of an attempt does to a message and to its channel.
func TestResultsOfMessages(t *testing.T) {
	for name, c := range messageResults {
		t.Run(name, func(t *testing.T) {
			inInvalidWorlds(t, func(w *world) {
				phone := w.channel("phone")
				w.rule(to(phone))
				since := began.Add(-time.Hour)
				w.run(`UPDATE alert_channels SET attempted_at = $1, taken_at = $1, failing_since_at = $1, failures = 2,
					reason = 'old', template_error = 'old'`, since.UnixMilli())
				before := must(w.AlertChannels().Get(w.ctx, w.ws, "", phone.ID))(w).Health
				w.event(w.ws, alert.MonitorDown, "", "Shop", monitor.MonitorEventData{})
				w.advanceAlerts()
				w.clock.move(time.Minute)
				claimed := w.claimMessages()
				if len(claimed) != 1 || !claimed[0].Since.Equal(w.clock.now()) ||
					!claimed[0].LeaseUntil.Equal(w.clock.now().Add(alert.LeaseDuration)) {
					w.Fatalf("claimed messages: %+v", claimed)
				}
				w.clock.move(c.after)
				w.ok(w.SaveMessageResult(w.ctx, store.MessageResult{
					ClaimedMessage: claimed[0], Outcome: c.outcome, TemplateError: "new",
				}))
				m := must(w.ChannelMessages(w.ctx, w.ws, phone.ID, 10))(w)[0]
				state := w.value(`SELECT state FROM alert_messages`)
				got := fmt.Sprintf("%s %d %s", state, m.Attempts, m.Reason)
				if got != c.want ||
					m.Failed != (state == "failed") || m.FinishedAt.IsZero() != (state == "sending") ||
					m.Notices != 1 {
					w.Errorf("message after its result: %s, want %s: %+v", got, c.want, m)
				}
				now, want := w.clock.now(), before
				switch c.outcome.Result {
				case audience.SendNotAttempted:
				case audience.SendAccepted:
					want = alert.Health{AttemptedAt: now, AcceptedAt: now, TemplateError: "new"}
				default:
					want.AttemptedAt, want.Failures, want.Reason, want.TemplateError = now, c.failures, m.Reason, "new"
				}
				health := must(w.AlertChannels().Get(w.ctx, w.ws, "", phone.ID))(w).Health
				want.NextAt = health.NextAt
				if health != want || health.NextAt.IsZero() != (state != "sending") {
					w.Errorf("health %+v, want %+v", health, want)
				}
				w.expect("leases", w.rows(`SELECT id FROM alert_channels WHERE lease_until_at IS NOT NULL`))
				events := 0
				if state == "failed" || c.failures == 3 {
					events = 1
				}
				w.expect("events", w.rows(`SELECT kind FROM monitor_events WHERE kind = 'channel.failed'`),
					slices.Repeat([]string{"channel.failed"}, events)...)
			})
		})
	}
}

// TestTurnsOfChannels checks which channels are claimed and tested first if not all are.
func TestTurnsOfChannels(t *testing.T) {
	inInvalidWorlds(t, func(w *world) {
		other := w.otherWorkspace()
		for _, name := range []string{"a", "b", "c"} {
			w.channel(name, func(c *alert.Channel) { c.TestWeekly = true })
			w.clock.move(time.Second)
		}
		w.channel("disabled", func(c *alert.Channel) { c.TestWeekly, c.Enabled = true, false })
		w.channel("untested")
		must(w.AlertChannels().Create(w.ctx, other, "", resource.Channel.From(alert.Channel{
			Type: "discord", Name: "d", Enabled: true, Config: []byte(`{}`), MaxPerMinute: 1, TestWeekly: true,
		})))(w)
		tested := func() (names []string) {
			w.Helper()
			for _, c := range must(w.TakeChannelTests(w.ctx, 2))(w) {
				names = append(names, c.Name)
			}
			return names
		}
		w.expect("first", tested(), "a", "d")
		w.expect("then", tested(), "b", "c")
		w.expect("none", tested())
		w.clock.move(alert.TestInterval - time.Millisecond)
		w.expect("a bit early", tested())
		w.clock.move(time.Millisecond)
		w.expect("a week later", tested(), "a", "d")

		w.run(`UPDATE alert_channels SET due_at = $1, lease_until_at = $2 WHERE name = 'c'`, w.clock.now().UnixMilli(),
			w.clock.now().UnixMilli()+1)
		w.run(`UPDATE alert_channels SET due_at = $1 WHERE name IN ('a', 'b')`, w.clock.now().UnixMilli()-10)
		w.run(`UPDATE alert_channels SET due_at = $1 WHERE name = 'd'`, w.clock.now().UnixMilli())
		w.run(`UPDATE alert_channels SET due_at = $1 WHERE name = 'untested'`, w.clock.now().UnixMilli()+2)
		chosen := func() (ids []string) {
			w.Helper()
			before := strings.Join(w.rows(`SELECT name FROM alert_channels WHERE due_at IS NOT NULL ORDER BY name`),
				" ")
			_, _, err := w.ClaimMessages(w.ctx, store.MessageClaim{Limit: 2})
			w.ok(err)
			after := w.rows(`SELECT name FROM alert_channels WHERE due_at IS NOT NULL ORDER BY name`)
			return slices.DeleteFunc(strings.Fields(before), func(name string) bool {
				return slices.Contains(after, name)
			})
		}
		w.expect("one of each", chosen(), "a", "d") // nothing waits for them, so that they are due no more
		w.expect("those that are due and not claimed", chosen(), "b")
		w.expect("none", chosen())
		w.clock.move(time.Millisecond)
		w.expect("when the lease ends", chosen(), "c")
		w.clock.move(time.Millisecond)
		w.expect("when it is due", chosen(), "untested")
	})
}

// expectInOrder is expect for lists whose order matters.
func (w *world) expectInOrder(what string, got []string, want ...string) {
	w.Helper()
	if !slices.Equal(got, want) {
		w.Errorf("%s:\n got %q\nwant %q", what, got, want)
	}
}

// TestListOfSilences checks which silences are listed and in which order, and what ending one does in each state.
func TestListOfSilences(t *testing.T) {
	inInvalidWorlds(t, func(w *world) {
		other := w.otherWorkspace()
		silence := func(ws kernel.Actor, comment string, from, until int) alert.Silence {
			w.Helper()
			w.clock.move(time.Millisecond)
			return must(w.Silences().Create(w.ctx, ws, "", resource.Silence.From(alert.Silence{Comment: comment,
				StartsAt: began.Add(time.Duration(from) * time.Minute),
				EndsAt:   began.Add(time.Duration(until) * time.Minute)})))(w)
		}
		late, early, future := silence(w.ws, "late", 0, 30), silence(w.ws, "early", 0, 10),
			silence(w.ws, "future", 15, 20)
		silence(other, "other", 0, 5)
		listed := func(ended bool) (lines []string) {
			w.Helper()
			f := store.Filter{EndsAfter: w.clock.now()}
			if ended {
				f = store.Filter{}
			}
			all, total, err := w.Silences().List(w.ctx, w.ws, "", f, firstHundred)
			w.ok(err)
			for _, v := range all {
				lines = append(lines,
					fmt.Sprintf("%s %v-%v", v.Comment, v.StartsAt.Sub(began).Minutes(), v.EndsAt.Sub(began).Minutes()))
			}
			if total != len(lines) {
				w.Errorf("silences: %d are listed, of %d", len(lines), total)
			}
			return lines
		}
		w.clock.set(began.Add(10*time.Minute - time.Millisecond))
		w.expectInOrder("before its end", listed(false), "early 0-10", "future 15-20", "late 0-30")
		w.clock.move(time.Millisecond)
		w.expectInOrder("at its end", listed(false), "future 15-20", "late 0-30")
		w.expectInOrder("all", listed(true), "early 0-10", "future 15-20", "late 0-30")
		entries := len(w.audited())
		w.ok(w.Silences().Delete(w.ctx, w.ws, "", early.ID, kernel.Precondition{}))
		_, err := w.Silences().Change(w.ctx, w.ws, "", early.ID, func(v *alert.Silence) error {
			v.EndsAt = began.Add(time.Hour)
			return nil
		}, kernel.Precondition{})
		w.refused(err, "ends_at")
		if got := len(w.audited()); got != entries {
			w.Errorf("%d entries about a silence that has ended", got-entries)
		}
		if err := w.Silences().Delete(w.ctx, other, "", late.ID, kernel.Precondition{}); err == nil {
			w.Error("another workspace ends a silence")
		}
		w.clock.move(time.Second)
		w.ok(w.Silences().Delete(w.ctx, w.ws, "", future.ID, kernel.Precondition{}))
		w.ok(w.Silences().Delete(w.ctx, w.ws, "", late.ID, kernel.Precondition{}))
		w.expectInOrder("all have ended", listed(false))
		at := 10 + 1.0/60
		want := []string{fmt.Sprintf("future %v-%v", at, at), fmt.Sprintf("late 0-%v", at)}
		got := listed(true)
		w.expect("ended", got, append([]string{"early 0-10"}, want...)...) // two end together
	})
}

// subscribed is a world with subscribers that have names.
type subscribed struct {
	*world
	names  map[string]string   // by id
	active audience.Subscriber // of a mail address, confirmed
}

// TestFiltersOfSubscribers checks each filter of the list of subscribers, and its order.
func TestFiltersOfSubscribers(t *testing.T) {
	inInvalidWorlds(t, func(w *world) {
		names := newSubscribed(w).names
		for f, want := range map[store.SubscriberFilter]string{
			{}:                                      "hook both suspended waiting active",
			{State: audience.SubscriberActive}:      "hook active",
			{State: audience.SubscriberUnconfirmed}: "both waiting",
			{State: audience.SubscriberSuspended}:   "suspended",
			{Channel: audience.ChannelWebhook}:      "hook",
			{Channel: audience.ChannelEmail}:        "both suspended waiting active",
			{Target: "a@example.com"}:               "active",
			{Target: "@example.com"}:                "",
			{Contains: "@example.com"}:              "both suspended waiting active",
			{Channel: audience.ChannelEmail, State: audience.SubscriberActive, Contains: "A@"}: "active",
		} {
			found, total, err := w.Subscribers(w.ctx, w.ws, "acme", f, firstHundred)
			var got []string
			for _, sub := range found {
				got = append(got, names[sub.ID])
			}
			if err != nil || strings.Join(got, " ") != want || total != len(got) {
				w.Errorf("%+v: %q of %d, %v, want %s", f, got, total, err, want)
			}
		}
		for limit := 1; limit <= 6; limit++ {
			found, more, err := w.SubscribersBefore(w.ctx, w.ws, "acme", "", limit)
			if err != nil || len(found) != min(limit, 5) || more != (limit < 5) {
				w.Errorf("limit %d: %d subscribers, more %t, %v", limit, len(found), more, err)
			}
		}
	})
}

// TestFiltersOfDeliveries checks each filter of the list of deliveries.
func TestFiltersOfDeliveries(t *testing.T) {
	inInvalidWorlds(t, func(w *world) {
		s := newSubscribed(w)
		names, active := s.names, s.active
		w.run(`DELETE FROM deliveries`)
		for _, slug := range []string{"acme", "second"} {
			w.clock.move(time.Second)
			must(w.CreateIncident(w.ctx, w.ws, slug, statuspage.Incident{Title: slug},
				statuspage.IncidentUpdate{Message: "m"}, nil))(w)
		}
		w.fanOut()
		w.run(`UPDATE deliveries SET state = 'sent' WHERE subscriber_id = $1`, active.ID)
		for _, c := range []struct {
			filter store.DeliveryFilter
			want   string
		}{
			{store.DeliveryFilter{}, "active hook"},
			{store.DeliveryFilter{States: []audience.DeliveryState{audience.DeliverySent}}, "active"},
			{store.DeliveryFilter{States: []audience.DeliveryState{audience.DeliveryPending, audience.DeliveryDead}},
				"hook"},
			{store.DeliveryFilter{States: []audience.DeliveryState{audience.DeliverySent, audience.DeliveryPending}},
				"active hook"},
			{store.DeliveryFilter{Subscriber: active.ID}, "active"},
			{store.DeliveryFilter{Subscriber: active.ID, States: []audience.DeliveryState{audience.DeliveryPending}},
				""},
		} {
			found, total, err := w.Deliveries(w.ctx, w.ws, "acme", c.filter, firstHundred)
			var got []string
			for _, d := range found {
				got = append(got, names[d.SubscriberID])
				if d.Title != "acme" || d.Target == "" {
					w.Errorf("delivery: %+v", d)
				}
			}
			slices.Sort(got)
			if err != nil || strings.Join(got, " ") != c.want || total != len(got) {
				w.Errorf("%+v: %q of %d, %v, want %s", c.filter, got, total, err, c.want)
			}
		}
	})
}

func (s *subscribed) add(slug, name string, n audience.NewSubscriber) audience.Subscriber {
	s.Helper()
	s.clock.move(time.Second)
	sub := must(s.CreateSubscriber(s.ctx, s.ws, slug, n, nil))(s)
	s.names[sub.ID] = name
	return sub
}

func mailSubscriber(target string, confirmed bool) audience.NewSubscriber {
	return audience.NewSubscriber{Channel: audience.ChannelEmail, Target: target, Confirmed: confirmed}
}

// newSubscribed creates subscribers in every state on the page "acme", and one on the page "second".
func newSubscribed(w *world) *subscribed {
	w.Helper()
	s := &subscribed{world: w, names: make(map[string]string)}
	must(w.CreatePage(w.ctx, w.ws, resource.Page.From(statuspage.Page{Name: "Second", Slug: "second"})))(w)
	s.active = s.add("acme", "active", mailSubscriber("a@example.com", true))
	s.add("acme", "waiting", mailSubscriber("b@example.com", false))
	suspended, both := s.add("acme", "suspended", mailSubscriber("c@example.com", true)),
		s.add("acme", "both", mailSubscriber("d@example.com", false))
	s.add("acme", "hook", audience.NewSubscriber{
		Channel: audience.ChannelWebhook, Target: "https://example.com/hook",
	})
	s.add("second", "elsewhere", mailSubscriber("a@example.com", true))
	for _, sub := range []audience.Subscriber{suspended, both} {
		w.run(`UPDATE subscribers SET suspended_at = 1, suspension_reason = 'no' WHERE id = $1`, sub.ID)
	}
	return s
}
