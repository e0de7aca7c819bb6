package api

import (
	"testing"
	"time"

	"github.com/allswell/allswell/internal/domain/monitor"
	"github.com/allswell/allswell/internal/store"
)

// run records a run of a job that succeeds.
func (c *client) run(monitorID string, took time.Duration) {
	c.t.Helper()
	const id = "0191a1b2-0000-7000-8000-000000000001"
	c.signal(monitorID, store.NewSignal{Kind: monitor.SignalStart, RunID: id})
	c.clock.Advance(took)
	c.signal(monitorID, store.NewSignal{Kind: monitor.SignalSuccess, RunID: id})
}

// TestWarnings lists what the runs of a job caused, and the deliveries of that to a webhook that asks for it.
func TestWarnings(t *testing.T) {
	each(t, func(t *testing.T, c *client) {
		w := c.build("acme")
		m := "/api/v1/monitors/" + w.monitor
		c.patch(m, `{"max_runtime": 7200, "min_runtime": 60, "no_overlap": true}`).is(200)
		c.clock.Advance(time.Hour) // the run of the world is over
		on := c.subscribe("webhook", "https://example.com/on-call", "warnings", true)
		off := c.subscribe("webhook", "https://example.com/others")
		c.clock.Advance(time.Second)
		c.signal(w.monitor, store.NewSignal{Kind: monitor.SignalSuccess})
		run := func(took time.Duration) { c.run(w.monitor, took) }
		run(10 * time.Second)
		warned := stamp(c.clock.Now())
		first := c.get(m + "/warnings").is(200).rows()
		if len(first) != 1 {
			t.Fatalf("%d warnings, want 1: %v", len(first), first)
		}
		keys(t, first[0], "id", "condition", "message", "run_id", "warned_at", "ended_at")
		r := first[0]
		if r["condition"] != "min_runtime" ||
			r["message"] != "A run succeeded after 10 seconds, in less than 1 minute." ||
			r["run_id"] != "0191a1b2-0000-7000-8000-000000000001" || r["warned_at"] != warned || r["ended_at"] != nil {
			t.Errorf("the warning is %v", r)
		}
		run(time.Minute)
		ended := stamp(c.clock.Now())
		run(20 * time.Second)
		page := c.get(m + "/warnings?limit=1").is(200)
		if rows := page.rows(); len(rows) != 1 || rows[0]["id"] == first[0]["id"] || rows[0]["ended_at"] != nil {
			t.Errorf("the newest: %v", rows)
		}
		next := page.object()["meta"].(map[string]any)["next_cursor"].(string)
		rows := c.get(m + "/warnings?limit=1&cursor=" + next).is(200).rows()
		if len(rows) != 1 || rows[0]["id"] != first[0]["id"] || rows[0]["ended_at"] != ended {
			t.Errorf("the oldest: %v", rows)
		}
		if rows := c.get(m + "/warnings?condition=no_overlap").is(200).rows(); len(rows) != 0 {
			t.Errorf("of another condition: %v", rows)
		}
		c.get(m+"/warnings?condition=odd&limit=0&cursor=x").complains("condition", "limit", "cursor")

		c.fanOut()
		var events []any
		for _, d := range c.deliveriesOf(on) {
			if d["monitor_id"] != w.monitor || d["incident_id"] != nil || d["state"] != "pending" {
				t.Errorf("the delivery is %v", d)
			}
			events = append(events, d["event"])
		}
		if len(events) != 3 || events[0] != "monitor.warning" || events[1] != "monitor.warning_ended" ||
			events[2] != "monitor.warning" {
			t.Errorf("the events are %v", events)
		}
		if got := c.deliveriesOf(off); len(got) != 0 {
			t.Errorf("to a webhook that does not ask: %v", got)
		}
	})
}

// TestSubscribersOfWarnings changes which subscribers are notified of warnings.
func TestSubscribersOfWarnings(t *testing.T) {
	each(t, func(t *testing.T, c *client) {
		c.acme()
		hook, mail := c.subscribe("webhook", "https://example.com/"),
			c.subscribe("email", "ada@example.com", "confirmed", true)
		c.get(subscribersPath + "/" + hook).is(200).has(map[string]any{"warnings": false})
		for _, on := range []bool{true, true, false} {
			a := c.patch(subscribersPath+"/"+hook, map[string]any{"warnings": on}).is(200).has(map[string]any{
				"warnings": on,
			})
			keys(t, a.data(), subscriberKeys...)
			c.get(subscribersPath + "/" + hook).is(200).has(map[string]any{"warnings": on})
		}
		c.patch(subscribersPath+"/"+hook, `{}`).is(200).has(map[string]any{"warnings": false})
		c.unchanged(func() {
			c.patch(subscribersPath+"/"+mail, `{"warnings":true}`).complains("warnings")
			c.patch(subscribersPath+"/"+hook, `{"warnings":1}`).complains("warnings")
			c.post(subscribersPath,
				`{"channel":"email","target":"bob@example.com","warnings":true}`).complains("warnings")
			c.patch(subscribersPath+"/sub_0000000000000000000a", `{"warnings":true}`).is(404)
		})
		c.patch(subscribersPath+"/"+mail, `{"warnings":false}`).is(200)
		c.post(subscribersPath,
			`{"channel":"webhook","target":"https://example.com/2","warnings":true}`).is(201).has(map[string]any{
			"warnings": true,
		})
	})
}
