package api

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/allswell/allswell/internal/domain/audience"
	"github.com/allswell/allswell/internal/domain/kernel"
	"github.com/allswell/allswell/internal/store"
	"github.com/google/go-cmp/cmp"
)

var deliveryKeys = []string{
	"id", "purpose", "channel", "target", "event", "incident_id", "maintenance_id", "monitor_id", "state", "attempts",
	"reason",
	"next_attempt_at", "created_at", "updated_at", "subscriber_id", "carried_by", "waits_for",
}

// fanOut creates the deliveries of all events.
func (c *client) fanOut() {
	c.t.Helper()
	for range 100 {
		more, err := c.store.FanOut(context.Background())
		if err != nil {
			c.t.Fatal(err)
		}
		if !more {
			return
		}
	}
	c.t.Fatal("the fan-out does not end")
}

// claim claims the due deliveries and returns them by id.
func (c *client) claim(channel audience.Channel) map[string]store.ClaimedDelivery {
	c.t.Helper()
	claimed, _, _, err := c.store.ClaimDeliveries(context.Background(),
		store.ClaimOptions{Channel: channel, Limit: 100})
	if err != nil {
		c.t.Fatal(err)
	}
	out := make(map[string]store.ClaimedDelivery)
	for _, v := range claimed {
		out[v.ID] = v
	}
	return out
}

// settle saves the result of an attempt.
func (c *client) settle(v store.ClaimedDelivery, result audience.SendResult, reason string) {
	c.t.Helper()
	settled := store.DeliveryResult{
		ClaimedDelivery: v, Outcome: audience.SendOutcome{Result: result, Reason: reason}, Jitter: 0.5,
	}
	if err := c.store.SaveDeliveryResults(context.Background(), []store.DeliveryResult{settled}); err != nil {
		c.t.Fatal(err)
	}
}

// deliveriesOf lists the deliveries of a subscriber, newest first.
func (c *client) deliveriesOf(subscriber string) (out []map[string]any) {
	c.t.Helper()
	for _, row := range c.get("/api/v1/pages/acme/deliveries?per_page=100").is(200).rows() {
		if row["subscriber_id"] == subscriber {
			out = append(out, row)
		}
	}
	return out
}

// only returns the single delivery of a subscriber and compares some of its fields.
func (c *client) only(subscriber string, want map[string]any) string {
	c.t.Helper()
	rows := c.deliveriesOf(subscriber)
	if len(rows) != 1 {
		c.t.Fatalf("%d deliveries: %v", len(rows), rows)
	}
	got := make(map[string]any)
	for name := range want {
		got[name] = rows[0][name]
	}
	if diff := cmp.Diff(want, got); diff != "" {
		c.t.Fatalf("the delivery (-want +got):\n%s", diff)
	}
	return rows[0]["id"].(string)
}

func retryPath(id string) string { return "/api/v1/deliveries/" + id + "/retry" }

// TestDeliveriesOfMaintenance checks that deliveries name their maintenance.
func TestDeliveriesOfMaintenance(t *testing.T) {
	each(t, func(t *testing.T, c *client) {
		c.acme()
		mail := c.subscribe("email", "ada@example.com", "confirmed", true)
		planned := c.post("/api/v1/pages/acme/maintenances", map[string]any{
			"title": "Disks", "scheduled_for": stamp(c.clock.Now().Add(time.Hour)),
			"scheduled_until": stamp(c.clock.Now().Add(2 * time.Hour)),
		}).is(201).id()
		c.clock.Advance(time.Second)
		c.fanOut()
		c.only(mail, map[string]any{"event": "maintenance.scheduled", "maintenance_id": planned, "incident_id": nil})
	})
}

// incidentForSubscribers opens an incident on a page with a webhook, a mail address and an unconfirmed mail address. It
// creates the deliveries.
func (c *client) incidentForSubscribers() (hook, mail, unconfirmed, incident string) {
	c.t.Helper()
	c.acme()
	hook = c.subscribe("webhook", "https://example.com/")
	mail = c.subscribe("email", "ada@example.com", "confirmed", true)
	unconfirmed = c.subscribe("email", "new@example.com")
	incident = c.post("/api/v1/pages/acme/incidents", `{"title":"Logins fail"}`).is(201).id()
	c.clock.Advance(time.Second)
	c.fanOut()
	return hook, mail, unconfirmed, incident
}

func TestDeliveries(t *testing.T) {
	each(t, func(t *testing.T, c *client) {
		hook, mail, unconfirmed, incident := c.incidentForSubscribers()
		now := stamp(c.clock.Now())
		want := map[string]any{
			"purpose": "event", "channel": "webhook", "target": "https://example.com/", "event": "incident.created",
			"incident_id": incident, "maintenance_id": nil,
			"state": "pending", "attempts": 0.0, "reason": nil, "next_attempt_at": now, "created_at": now,
			"updated_at": now, "carried_by": nil,
		}
		c.only(hook, want)
		keys(t, c.deliveriesOf(hook)[0], deliveryKeys...)
		want["channel"], want["target"] = "email", "ada@example.com"
		c.only(mail, want)
		c.only(unconfirmed, map[string]any{
			"purpose": "confirmation", "channel": "email", "event": nil, "incident_id": nil, "state": "pending",
		})
	})
}

// TestDeliveryIsRetried follows a delivery that fails, is rejected, and is sent in the end.
func TestDeliveryIsRetried(t *testing.T) {
	each(t, func(t *testing.T, c *client) {
		hook, _, _, _ := c.incidentForSubscribers()
		id := c.only(hook, map[string]any{})
		v := c.claim(audience.ChannelWebhook)[id]
		c.only(hook, map[string]any{"state": "sending", "attempts": 1.0, "next_attempt_at": nil})
		c.unchanged(func() { c.post(retryPath(id), nil).complains("state") })
		c.settle(v, audience.SendFailed, "The other side answered 500.")
		next := stamp(c.clock.Now().Add(5 * time.Second))
		c.only(hook, map[string]any{
			"state": "pending", "reason": "The other side answered 500.", "next_attempt_at": next,
		})

		// A manual retry is immediate.
		c.clock.Advance(time.Second)
		now := stamp(c.clock.Now())
		a := c.post(retryPath(id), "no JSON at all").is(200)
		keys(t, a.data(), deliveryKeys...)
		a.has(map[string]any{
			"id": id, "state": "pending", "next_attempt_at": now, "subscriber_id": hook,
			"target": "https://example.com/",
		})
		v, ok := c.claim(audience.ChannelWebhook)[id]
		if !ok {
			t.Fatalf("the retried delivery %s is not due", id)
		}
		c.settle(v, audience.SendRejected, "The other side answered 404.")
		c.only(hook, map[string]any{
			"state": "dead", "reason": "The other side answered 404.", "next_attempt_at": nil, "updated_at": now,
		})
		c.get(subscribersPath + "/" + hook).is(200).has(map[string]any{"refusals": 1.0, "suspended_at": nil})

		c.post(retryPath(id), nil).is(200).has(map[string]any{"state": "pending", "next_attempt_at": now})
		c.settle(c.claim(audience.ChannelWebhook)[id], audience.SendAccepted, "")
		c.only(hook, map[string]any{"state": "sent", "reason": nil, "next_attempt_at": nil})
		c.unchanged(func() { c.post(retryPath(id), nil).complains("state") })
		c.get(subscribersPath + "/" + hook).is(200).has(map[string]any{"refusals": 0.0})
	})
}

func TestNewerMailSupersedesOlder(t *testing.T) {
	each(t, func(t *testing.T, c *client) {
		_, mail, _, incident := c.incidentForSubscribers()
		c.post("/api/v1/incidents/"+incident+"/updates", `{"message":"We know why."}`).is(201)
		c.fanOut()
		c.claim(audience.ChannelEmail)
		rows := c.deliveriesOf(mail)
		if len(rows) != 2 || rows[0]["event"] != "incident.updated" || rows[0]["state"] != "sending" ||
			rows[0]["carried_by"] != nil ||
			rows[1]["state"] != "superseded" || rows[1]["carried_by"] != rows[0]["id"] ||
			rows[1]["next_attempt_at"] != nil {
			t.Fatalf("the mails: %v", rows)
		}
		old, reader := rows[1]["id"].(string), c.with(c.issue(kernel.ScopeRead))
		c.unchanged(func() {
			c.post(retryPath(old), nil).complains("state")
			c.post(retryPath("dlv_00000000000000000000"), nil).is(404)
			c.stranger().post(retryPath(old), nil).is(404)
			reader.post(retryPath(old), nil).is(403)
			reader.get("/api/v1/pages/acme/deliveries").is(403)
			reader.get(subscribersPath).is(403)
		})
	})
}

func TestDeliveriesOfDeletedSubscriberRemain(t *testing.T) {
	each(t, func(t *testing.T, c *client) {
		_, _, unconfirmed, _ := c.incidentForSubscribers()
		c.delete(subscribersPath + "/" + unconfirmed).is(204)
		id := c.only(unconfirmed, map[string]any{
			"state": "cancelled", "target": nil, "reason": "The subscription has ended.", "next_attempt_at": nil,
		})
		c.unchanged(func() { c.post(retryPath(id), nil).complains("state") })
	})
}

// deliveryQueries are queries of a list of six deliveries, whose subscribers have the numbers 0 to 5.
var deliveryQueries = []struct {
	query, want string
	total       float64
}{
	{"", "543210", 6}, {"?state=expired", "10", 2}, {"?state=cancelled", "2", 1}, {"?state=sent", "3", 1},
	{"?state=dead", "4", 1},
	{"?state=sending", "5", 1}, {"?state=pending", "", 0}, {"?state=superseded", "", 0},
	{"?state=dead,expired", "410", 3},
	{"?state=expired%2Cdead,expired", "410", 3},
	{"?state=pending,sending,sent,superseded,cancelled,expired,dead", "543210", 6},
	{"?per_page=4", "5432", 6}, {"?per_page=4&page=2", "10", 6},
	{"?state=dead,expired&per_page=2&page=2", "0", 3}, {"?page=2", "", 6},
}

func TestDeliveryLists(t *testing.T) {
	each(t, func(t *testing.T, c *client) {
		c.acme()
		const target = "/api/v1/pages/acme/deliveries"
		if a := c.get(target); !strings.Contains(string(a.body), `"data":[]`) {
			t.Errorf("an empty list is %s", a.body)
		}
		gone := c.subscribe("email", "0@example.com")
		c.clock.Advance(time.Second)
		c.subscribe("email", "1@example.com") // expires
		c.clock.Advance(audience.DeliveryLifetime)
		c.claim(audience.ChannelEmail)
		for i := 2; i < 6; i++ {
			c.subscribe("email", fmt.Sprintf("%d@example.com", i))
			c.clock.Advance(time.Second)
		}
		subscribers := make(map[string]string) // by target
		for _, row := range c.get(subscribersPath).is(200).rows() {
			subscribers[row["target"].(string)] = row["id"].(string)
		}
		c.delete(subscribersPath + "/" + subscribers["2@example.com"]).is(204)
		claimed := c.claim(audience.ChannelEmail)
		for at, result := range map[string]audience.SendResult{
			"3@example.com": audience.SendAccepted, "4@example.com": audience.SendUndeliverable,
		} {
			id := c.deliveriesOf(subscribers[at])[0]["id"].(string)
			c.settle(claimed[id], result, "")
		}
		c.only(gone, map[string]any{"state": "expired", "next_attempt_at": nil})

		number := map[string]string{subscribers["2@example.com"]: "2"}
		for at, id := range subscribers {
			number[id] = at[:1]
		}
		for _, tt := range deliveryQueries {
			a := c.get(target + tt.query).is(200)
			got := ""
			for _, row := range a.rows() {
				keys(t, row, deliveryKeys...)
				got += number[row["subscriber_id"].(string)]
			}
			if total := a.object()["meta"].(map[string]any)["total"]; got != tt.want || total != tt.total {
				t.Errorf("%s lists %s of %v, want %s of %v", tt.query, got, total, tt.want, tt.total)
			}
		}
		c.get(target + "?state=done").complains("state").
			sentence("The state must be one or several of: pending, sending, sent, superseded, cancelled, expired, " +
				"dead.")
		c.get("/api/v1/pages/nowhere/deliveries").is(404)
		c.stranger().get(target).is(404)

		// An expired delivery can be retried for another day.
		id, now := c.only(gone, map[string]any{"attempts": 0.0}), stamp(c.clock.Now())
		c.post(retryPath(id), nil).is(200).has(map[string]any{"state": "pending", "next_attempt_at": now})
		if _, ok := c.claim(audience.ChannelEmail)[id]; !ok {
			t.Errorf("the retried delivery %s is not due", id)
		}
	})
}

// TestSuspendedSubscribers rejects messages until the subscription is suspended.
func TestSuspendedSubscribers(t *testing.T) {
	each(t, func(t *testing.T, c *client) {
		c.acme()
		hook := c.subscribe("webhook", "https://example.com/")
		for n := range audience.MaxRejections {
			c.get(subscribersPath + "/" + hook).is(200).
				has(map[string]any{"refusals": float64(n), "suspended_at": nil, "suspended_for": nil})
			c.post("/api/v1/pages/acme/incidents", `{"title":"x"}`).is(201)
			c.fanOut()
			for _, v := range c.claim(audience.ChannelWebhook) {
				c.settle(v, audience.SendRejected, "The other side answered 404.")
			}
		}
		c.get(subscribersPath + "/" + hook).is(200).has(map[string]any{
			"refusals": float64(audience.MaxRejections), "suspended_at": stamp(c.clock.Now()),
			"suspended_for": "The other side answered 404.",
		})
	})
}

// TestNextAttemptOfHeldDelivery checks that the next attempt of a held delivery is not
// before the end of the hold.
func TestNextAttemptOfHeldDelivery(t *testing.T) {
	due := time.Date(2026, 11, 21, 4, 0, 0, 0, time.UTC)
	for _, tt := range []struct {
		state audience.DeliveryState
		held  time.Time
		next  *string
	}{
		{state: audience.DeliveryPending, next: timePtr(due)},
		{state: audience.DeliveryPending, held: due.Add(-time.Minute), next: timePtr(due)},
		{state: audience.DeliveryPending, held: due.Add(time.Minute), next: timePtr(due.Add(time.Minute))},
		{state: audience.DeliveryExpired, held: due.Add(time.Minute)},
	} {
		got := newDeliveryJSON(audience.DeliveryLogEntry{
			Delivery: audience.Delivery{State: tt.state, NextAttemptAt: due, HeldUntil: tt.held},
		})
		if diff := cmp.Diff(tt.next, got.NextAttemptAt); diff != "" {
			t.Errorf("%s, held until %v (-want +got):\n%s", tt.state, tt.held, diff)
		}
	}
}
