package api

import (
	"fmt"
	"maps"
	"reflect"
	"strings"
	"testing"
	"time"
)

// TestPutsOfGroups creates, replaces and renames a group by its slug and by its id.
func TestPutsOfGroups(t *testing.T) {
	each(t, func(t *testing.T, c *client) {
		c.put("/api/v1/pages/acme", map[string]any{"name": "Acme"}).is(201)
		c.post("/api/v1/pages/acme/groups", `{"name":"First"}`).is(201)
		const target = "/api/v1/pages/acme/groups/eu"
		c.do("PUT", target, map[string]any{"name": "Europe"}, "If-Match", "*").is(412)
		made := c.put(target, map[string]any{"name": "Europe", "unique_name": true}).is(201).has(map[string]any{
			"slug": "eu", "order": 1.0,
		})
		tag := c.get("/api/v1/groups/eu?page_slug=acme").is(200).header.Get("ETag")
		c.put(target, map[string]any{"name": "EU", "order": nil}).is(200).has(map[string]any{
			"id": made.id(), "name": "EU", "order": 1.0,
		})
		c.do("PUT", target, map[string]any{"name": "x"}, "If-Match", tag).is(412)
		c.do("PUT", target, map[string]any{"name": "x"}, "If-None-Match", "*").is(412)
		c.put(target, map[string]any{"name": "x", "slug": "other"}).complains("slug")
		c.put(target, map[string]any{"order": 2}).complains("name")
		c.put("/api/v1/pages/acme/groups/grp_068vq2r4b1ccu5a0d3e1", map[string]any{"name": "x"}).is(404)
		c.put("/api/v1/pages/acme/groups/"+made.id(), map[string]any{"name": "EU", "slug": "first"}).complains("slug")
		renamed := c.put("/api/v1/pages/acme/groups/"+made.id(), map[string]any{
			"name": "EU", "slug": "europe",
		}).is(200).data()
		c.put("/api/v1/pages/acme/groups/europe", renamed).is(200).has(map[string]any{
			"slug": "europe", "updated_at": renamed["updated_at"],
		})
		c.get("/api/v1/groups/eu?page_slug=acme").is(404)
		c.stranger().put("/api/v1/pages/acme/groups/europe", map[string]any{"name": "x"}).is(404)
	})
}

// TestPutsOfTemplates creates and replaces a template by its slug, and finds it by its slug before its name.
func TestPutsOfTemplates(t *testing.T) {
	each(t, func(t *testing.T, c *client) {
		c.put("/api/v1/pages/acme", map[string]any{"name": "Acme"}).is(201)
		const all = "/api/v1/incident-templates/"
		first := c.put(all+"slow", map[string]any{
			"name": "Slow", "title": "t", "page": "acme", "impact": "minor", "message": "m",
		}).is(201).id()
		c.put(all+"slow", map[string]any{"name": "Slow", "title": "t"}).is(200).
			has(map[string]any{"id": first, "slug": "slow", "page": nil, "impact": nil, "message": nil})
		c.patch(all+"Slow", `{"impact":"minor","page":"acme"}`).is(200).has(map[string]any{
			"impact": "minor", "page": "acme",
		})
		c.patch(all+"slow", `{"impact":null,"page":null}`).is(200).has(map[string]any{"impact": nil, "page": nil})
		second := c.post("/api/v1/incident-templates",
			map[string]any{"name": "slow", "title": "t"}).is(201).has(map[string]any{"slug": "slow-2"})
		c.get(all + "slow").is(200).has(map[string]any{"id": first}) // its slug, and the name of the other one
		c.get(all + "Slow").is(200).has(map[string]any{"id": first})
		c.patch(all+second.id(), `{"name":"Slow"}`).complains("name")
		c.patch(all+second.id(), `{"slug":"slow"}`).complains("slug")
		c.put(all+"third", map[string]any{"name": "Slow", "title": "t"}).complains("name")
		c.patch(all+second.id(), `{"page":"nowhere","title":""}`).complains("page", "title")
	})
}

// TestSlugsOfMonitorsChange renames a monitor by a change and by a PUT of its id. What is known of it stays, and the
// old slug is free.
func TestSlugsOfMonitorsChange(t *testing.T) {
	each(t, func(t *testing.T, c *client) {
		const all = "/api/v1/monitors/"
		made := c.put(all+"job", map[string]any{"name": "Job", "interval": 60}).is(201)
		c.put(all+"other", map[string]any{"name": "Other", "interval": 60}).is(201)
		child := c.put(all+"child", map[string]any{"name": "Child", "interval": 60, "parent_id": "job"}).is(201)
		tag := c.get(all + "job").is(200).header.Get("ETag")
		c.patch(all+"job", `{"slug":"other"}`).complains("slug")
		c.patch(all+"job", `{"slug":""}`).complains("slug")
		c.patch(all+"job", `{"slug":"A","name":""}`).complains("slug", "name")
		c.put(all+"job", map[string]any{"name": "Job", "interval": 60, "slug": "task"}).complains("slug")
		c.put(all+made.id(), map[string]any{"name": "Job", "interval": 60, "slug": "other"}).complains("slug")
		c.do("PATCH", all+"job", map[string]any{"slug": "task"}, "If-Match", tag).is(200).has(map[string]any{
			"id": made.id(), "slug": "task", "token": made.data()["token"],
		})
		c.do("PATCH", all+"task", map[string]any{"name": "x"}, "If-Match", tag).is(412)
		c.get(all + "job").is(404)
		c.get(all + "child").is(200).has(map[string]any{"id": child.id(), "parent_id": made.id()})
		c.put(all+made.id(), map[string]any{"name": "Job", "interval": 60}).is(200).has(map[string]any{"slug": "task"})
		c.put(all+made.id(), map[string]any{"name": "Job", "interval": 60, "slug": "third"}).is(200).has(map[string]any{
			"slug": "third",
		})
		c.put(all+"job", map[string]any{"name": "Another", "interval": 60}).is(201)
		c.put(all+"mon_068vq2r4b1ccu5a0d3e1", map[string]any{"name": "Job", "interval": 60, "slug": "fourth"}).is(404)
	})
}

// TestPutIgnoresNames puts to a slug that is the name of another object, which does not change.
func TestPutIgnoresNames(t *testing.T) {
	each(t, func(t *testing.T, c *client) {
		w := c.build("acme")
		for path, body := range map[string]map[string]any{
			"channels":    {"type": "ntfy", "topic": "x"},
			"alert-rules": {"channel_ids": []string{w.channel}},
			"on-call": {
				"participants": []map[string]any{{"name": "Ann", "channel_ids": []string{w.channel}}},
			},
			"incident-templates": {"title": "t"},
		} {
			all := "/api/v1/" + path + "/"
			of := func(slug, name string) map[string]any {
				object := maps.Clone(body)
				object["slug"], object["name"] = slug, name
				return object
			}
			other := c.post("/api/v1/"+path, of("ops-night", "night")).is(201)
			shown := c.get(all + "ops-night").is(200).data()
			c.put(all+"night", of("night", "night")).complains("name") // the other one has it
			c.do("PUT", all+"night", of("night", "Night"), "If-Match", "*").is(412)
			made := c.put(all+"night", of("night", "Night")).is(201).has(map[string]any{
				"slug": "night", "name": "Night",
			})
			if made.id() == other.id() {
				t.Errorf("%s: the other object was replaced", path)
			}
			if got := c.get(all + "ops-night").is(200).data(); !reflect.DeepEqual(got, shown) {
				t.Errorf("%s: the other object is %v, want %v", path, got, shown)
			}
			c.get(all + "night").is(200).has(map[string]any{"id": made.id()})
			c.put(all+other.id(), of("days", "FullDays")).is(200).has(map[string]any{"id": other.id()})
			c.put(all+"FullDays", of("days", "Days")).complains("slug") // a name, and no slug
		}
	})
}

// TestPutsOfRules creates and replaces a rule by its slug, changes the slug, and finds it by its slug before its name.
func TestPutsOfRules(t *testing.T) {
	each(t, func(t *testing.T, c *client) {
		w := c.build("acme")
		const all = "/api/v1/alert-rules/"
		full := map[string]any{
			"name": "Nights", "enabled": false, "events": []string{"monitor.slow"}, "monitors": []string{w.monitor},
			"channel_ids": []string{w.channel}, "delay": 60,
			"quiet_hours": map[string]any{"zone": "UTC", "from": "22:00", "until": "07:00"},
			"escalation":  []map[string]any{{"after": 60, "channel_ids": []string{w.channel}}},
		}
		made := c.put(all+"nights", full).is(201).has(map[string]any{"slug": "nights", "enabled": false, "delay": 60.0})
		shown := c.get(all + "nights").is(200)
		tag := shown.header.Get("ETag")
		c.put(all+"nights", shown.data()).is(200).has(map[string]any{"updated_at": shown.data()["updated_at"]})
		c.put(all+"nights", map[string]any{
			"name": "Nights", "channel_ids": []string{w.channel},
		}).is(200).has(map[string]any{
			"id": made.id(), "slug": "nights", "enabled": true, "events": []any{"monitor.down"}, "monitors": []any{},
			"delay": 0.0, "quiet_hours": nil, "escalation": []any{},
		})
		c.do("PUT", all+"nights", full, "If-Match", tag).is(412)
	})
}

// TestRulesNameChannelsBySlug gives channels and on-call schedules by their ids or slugs.
func TestRulesNameChannelsBySlug(t *testing.T) {
	each(t, func(t *testing.T, c *client) {
		w := c.build("acme")
		const all = "/api/v1/alert-rules/"
		c.put(all+"nights", map[string]any{"name": "Nights", "channel_ids": []string{w.channel}}).is(201)
		phone := c.put("/api/v1/channels/phone", map[string]any{
			"type": "ntfy", "name": "Phone", "topic": "acme-ops",
		}).is(201).id()
		people := []map[string]any{{"name": "Ann", "channel_ids": []string{"phone"}}}
		ops := c.put("/api/v1/on-call/ops", map[string]any{"name": "Ops", "participants": people}).is(201)
		if got := fmt.Sprint(ops.data()["participants"]); !strings.Contains(got, phone) {
			t.Errorf("the participants are %s", got)
		}
		c.patch("/api/v1/channels/"+w.channel, `{"fallback_id":"phone"}`).is(200).has(map[string]any{
			"fallback_id": phone,
		})
		c.patch("/api/v1/channels/phone", `{"fallback_id":"phone"}`).complains("fallback_id")
		by := c.patch(all+"nights", map[string]any{
			"channel_ids": []string{w.channel, "phone"}, "on_call_ids": []string{"ops"},
			"escalation": []map[string]any{{"after": 60, "channel_ids": []string{"phone"}}},
			"quiet_hours": map[string]any{
				"zone": "UTC", "from": "22:00", "until": "07:00", "on_call_ids": []string{"ops"},
			},
		}).is(200).has(map[string]any{
			"channel_ids": []any{min(w.channel, phone), max(w.channel, phone)}, "on_call_ids": []any{ops.id()},
		})
		got := fmt.Sprint(by.data()["escalation"], by.data()["quiet_hours"])
		if !strings.Contains(got, phone) || !strings.Contains(got, ops.id()) {
			t.Errorf("later: %s", got)
		}
		c.patch(all+"nights",
			`{"channel_ids":["nowhere"],"on_call_ids":["phone"],"escalation":[{"after":60,`+
				`"channel_ids":["nowhere"]}]}`).
			complains("channel_ids", "on_call_ids", "escalation")
		c.stranger().post("/api/v1/alert-rules", map[string]any{
			"name": "x", "channel_ids": []string{"phone"},
		}).complains("channel_ids")
	})
}

func TestChangesOfRules(t *testing.T) {
	each(t, func(t *testing.T, c *client) {
		w := c.build("acme")
		const all = "/api/v1/alert-rules/"
		made := c.put(all+"nights", map[string]any{"name": "Nights", "channel_ids": []string{w.channel}}).is(201)
		c.put(all+"nights", map[string]any{"name": "", "tags": []string{"A"}}).complains("name", "tags", "channel_ids")
		c.put(all+"nights", map[string]any{
			"name": "Down " + w.slug, "channel_ids": []string{w.channel},
		}).complains("name")
		c.patch(all+"nights", `{"events":[]}`).complains("events")
		// Null removes the escalation, as its description says.
		c.patch(all+"nights", `{"escalation":null}`).is(200).has(map[string]any{"escalation": []any{}})
		c.patch(all+"nights", `{"tags":["db"]}`).is(200)
		c.patch(all+"nights", `{"tags":null,"channel_ids":null}`).is(200).has(map[string]any{
			"tags": []any{"db"}, "channel_ids": []any{w.channel},
		})
		c.patch(all+"nights",
			`{"escalation":[{"after":60}],"quiet_hours":{"zone":"Mars","from":"22:00"}}`).complains("escalation",
			"quiet_hours.until", "quiet_hours")
		second := c.post("/api/v1/alert-rules", map[string]any{
			"name": "nights", "channel_ids": []string{w.channel},
		}).is(201).has(map[string]any{"slug": "nights-2"})
		c.get(all + "nights").is(200).has(map[string]any{"id": made.id()}) // its slug, and the name of the other one
		c.patch(all+second.id(), `{"slug":"nights"}`).complains("slug")
		c.patch(all+second.id(), `{"slug":"days"}`).is(200)
		c.delete(all + "days").is(204)
		c.delete(all + "Nights").is(204)
	})
}

// TestDeletedIsNotRequired changes a rule and a silence about a monitor and a page that were deleted.
func TestDeletedIsNotRequired(t *testing.T) {
	each(t, func(t *testing.T, c *client) {
		w := c.build("acme")
		c.put("/api/v1/pages/old", map[string]any{"name": "Old"}).is(201)
		gone := c.post("/api/v1/monitors", map[string]any{"name": "Job", "interval": 60}).is(201).id()
		about := map[string]any{"pages": []string{"old", w.slug}, "monitors": []string{gone}}
		rule := maps.Clone(about)
		rule["name"], rule["channel_ids"] = "Night", []string{w.channel}
		c.put("/api/v1/alert-rules/night", rule).is(201)
		about["ends_at"] = stamp(c.clock.Now().Add(time.Hour))
		silence := c.post("/api/v1/silences", about).is(201).id()
		c.delete("/api/v1/monitors/" + gone).is(204)
		c.delete("/api/v1/pages/old").is(204)
		const night = "/api/v1/alert-rules/night"
		shown := c.get(night).is(200).data()
		c.put(night, shown).is(200).has(map[string]any{
			"monitors": []any{gone}, "pages": shown["pages"], "updated_at": shown["updated_at"],
		})
		for path, change := range map[string]map[string]any{
			night: {"enabled": false, "name": "Nights"}, "/api/v1/silences/" + silence: {"comment": "Work"},
		} {
			c.patch(path, change).is(200).has(change)
			c.patch(path, map[string]any{"monitors": []string{gone}}).is(200).has(map[string]any{
				"monitors": []any{gone},
			})
			c.patch(path, map[string]any{"monitors": []string{gone, w.monitor}}).is(200).has(map[string]any{
				"monitors": []any{min(gone, w.monitor), max(gone, w.monitor)},
			})
			c.patch(path, map[string]any{"monitors": []string{gone, "nope"}}).complains("monitors")
			c.patch(path, map[string]any{"monitors": []string{w.monitor}}).is(200)
			c.patch(path, map[string]any{"monitors": []string{gone}}).complains("monitors")
			c.patch(path, map[string]any{"monitors": shown["pages"]}).complains("monitors")
		}
	})
}
