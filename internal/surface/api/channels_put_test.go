package api

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

// TestPutsOfChannels creates and replaces a channel by its slug: what it does not have gets its default, but secrets
// stay, unless they would be sent elsewhere.
func TestPutsOfChannels(t *testing.T) {
	each(t, func(t *testing.T, c *client) {
		const all = "/api/v1/channels/"
		full := map[string]any{
			"type": "ntfy", "name": "Phone", "topic": "acme-ops", "access_token": "tk_1", "enabled": false,
			"max_per_minute": 5, "test_weekly": true, "title_template": "{{.Title}}",
		}
		made := c.put(all+"phone", full).is(201).has(map[string]any{
			"slug": "phone", "enabled": false, "max_per_minute": 5.0, "secrets": []any{"access_token", "topic"},
			"server_url": "https://ntfy.sh",
		})
		shown := c.get(all + "phone").is(200)
		tag := shown.header.Get("ETag")
		c.put(all+"phone", shown.data()).is(200).has(map[string]any{"updated_at": shown.data()["updated_at"]})
		c.put(all+"phone", map[string]any{"type": "ntfy", "name": "Phone"}).is(200).has(map[string]any{
			"id": made.id(), "enabled": true, "max_per_minute": 10.0, "test_weekly": false, "title_template": nil,
			"secrets": []any{"access_token", "topic"},
		})
		c.do("PUT", all+"phone", full, "If-Match", tag).is(412)
		c.do("PUT", all+"phone", full, "If-None-Match", "*").is(412)
		c.put(all+"phone", map[string]any{
			"type": "ntfy", "name": "Phone", "server_url": "https://ntfy.example.com",
		}).complains("access_token", "topic")
		c.put(all+"phone", map[string]any{
			"type": "ntfy", "name": "Phone", "access_token": nil,
		}).is(200).has(map[string]any{"secrets": []any{"topic"}})
		c.put(all+"phone", map[string]any{
			"type": "gotify", "name": "Phone", "server_url": "https://gotify.example.com", "app_token": "t",
		}).complains("type")
		c.put(all+"phone", map[string]any{
			"type": "ntfy", "name": "", "max_per_minute": 0, "url": "https://example.com",
		}).complains("name", "max_per_minute", "url")
		c.put(all+"phone", map[string]any{"name": "Phone"}).complains("type")
		body := string(c.put(all+"phone", map[string]any{"name": "Phone"}).body)
		if strings.Contains(body, "cannot be changed") {
			t.Errorf("without a type: %s", body)
		}
		c.put(all+"mail", map[string]any{"type": "ntfy", "name": "Mail"}).complains("topic")
		c.put(all+"mail", map[string]any{"type": "pigeon", "name": "Mail", "loft": 1}).complains("type", "loft")

		second := c.post("/api/v1/channels", map[string]any{
			"type": "ntfy", "name": "phone", "topic": "x",
		}).is(201).has(map[string]any{"slug": "phone-2"})
		c.get(all + "phone").is(200).has(map[string]any{"id": made.id()}) // its slug, and the name of the other one
		c.get(all + "Phone").is(200).has(map[string]any{"id": made.id()})
		c.patch(all+second.id(), `{"slug":"phone"}`).complains("slug")
		c.patch(all+second.id(), `{"slug":"pager"}`).is(200)
		c.delete(all + "pager").is(204)
		// the deleted one keeps neither
		c.put(all+"pager", map[string]any{"type": "ntfy", "name": "phone", "topic": "x"}).is(201)
	})
}

// TestPutsOfSchedules creates and replaces an on-call schedule by its slug: its first week and its overrides stay.
func TestPutsOfSchedules(t *testing.T) {
	each(t, func(t *testing.T, c *client) {
		w := c.build("acme")
		const all = "/api/v1/on-call/"
		people := []map[string]any{
			{"name": "Ann", "channel_ids": []string{w.channel}}, {"name": "Bob", "channel_ids": []string{w.channel}},
		}
		began := c.clock.Now().UTC().Truncate(time.Second)
		made := c.put(all+"operations", map[string]any{
			"name": "Operations", "zone": "Europe/Berlin", "hand_over_day": "fri", "hand_over_at": "08:00",
			"starts_on": "2026-11-20", "participants": people,
			"overrides": []map[string]any{
				{
					"participant": "Bob", "starts_at": began.Add(-time.Hour).Format(time.RFC3339),
					"ends_at": began.AddDate(0, 0, 1).Format(time.RFC3339),
				},
			},
		})
		made.is(201).has(map[string]any{"slug": "operations", "now": "Bob"})
		override := fmt.Sprint(made.data()["overrides"])
		shown := c.get(all + "operations").is(200)
		c.put(all+"operations", shown.data()).is(200).has(map[string]any{"updated_at": shown.data()["updated_at"]})
		replaced := c.put(all+"operations", map[string]any{
			"name": "Operations", "participants": people,
		}).is(200).has(map[string]any{
			"id": made.id(), "zone": "UTC", "hand_over_day": "mon", "hand_over_at": "09:00", "starts_on": "2026-11-20",
		})
		if got := fmt.Sprint(replaced.data()["overrides"]); got != override {
			t.Errorf("the overrides are %s, want %s", got, override)
		}
		c.put(all+"operations", map[string]any{"name": "Operations", "overrides": []any{}}).is(200).has(map[string]any{
			"overrides": []any{}, "participants": []any{}, "now": nil,
		})
		c.put(all+"operations", map[string]any{
			"zone": "Mars", "hand_over_at": "25:00", "starts_on": "today",
			"participants": []map[string]any{{"name": "Ann"}},
		}).
			complains("name", "zone", "hand_over_at", "starts_on", "participants", "participants.0.channel_ids")
		c.put(all+"operations", map[string]any{
			"name":         "Operations",
			"participants": []map[string]any{{"name": "Ann", "channel_ids": []string{"chn_068vq2r4b1ccu5a0d3e1"}}},
		}).complains("participants")
		c.patch(all+"Operations", `{"slug":"ops"}`).is(200)
		c.get(all + "operations").is(404)
		c.delete(all + "ops").is(204)
	})
}
