package api

import (
	"testing"
	"time"

	"github.com/allswell/allswell/internal/domain/kernel"
)

// TestPutOfAPausedMonitor checks that a PUT which disables a paused monitor keeps the end of its pause, so that what
// GET shows can be sent back; and that one which does not say whether it is enabled enables it.
func TestPutOfAPausedMonitor(t *testing.T) {
	each(t, func(t *testing.T, c *client) {
		const target = "/api/v1/monitors/nightly"
		monitor := map[string]any{"name": "Nightly", "interval": 3600}
		c.put(target, monitor).is(201)
		c.patch(target, map[string]any{"paused_until": stamp(time.Now().Add(time.Hour))}).is(200).has(map[string]any{
			"enabled": false,
		})
		paused := c.get(target).is(200)
		again := c.put(target, paused.data()).is(200).has(paused.data())
		if got, want := again.header.Get("ETag"), paused.header.Get("ETag"); got != want {
			t.Errorf("the entity tag is %s, want %s", got, want)
		}
		c.put(target, map[string]any{"name": "Daily", "interval": 3600, "enabled": false}).is(200).
			has(map[string]any{"enabled": false, "paused_until": paused.data()["paused_until"]})
		c.put(target, monitor).is(200).has(map[string]any{"enabled": true, "paused_until": nil})
		c.put(target, map[string]any{"name": "Nightly", "interval": 3600, "enabled": false}).is(200).has(map[string]any{
			"enabled": false, "paused_until": nil,
		})
		c.put(target, map[string]any{"name": "Nightly", "interval": 3600, "enabled": nil}).is(200).has(map[string]any{
			"enabled": true, "paused_until": nil,
		})
	})
}

// TestComponentIsEditedByGetAndPut: what GET shows is edited and sent back. The group,
// which it does not show, remains.
func TestComponentIsEditedByGetAndPut(t *testing.T) {
	each(t, func(t *testing.T, c *client) {
		c.put("/api/v1/pages/acme", map[string]any{"name": "Acme"}).is(201)
		group := c.post("/api/v1/pages/acme/groups", map[string]any{"name": "g"}).is(201).id()
		const target = "/api/v1/pages/acme/components/x"
		c.put(target, map[string]any{"name": "X", "group": group}).is(201)
		edited := c.get(target).is(200)
		body := edited.data()
		body["name"] = "Y"
		c.do("PUT", target, body, "If-Match", edited.header.Get("ETag")).is(200)
		inGroup := func(want any) {
			t.Helper()
			uptime := c.get("/api/v1/pages/acme/uptime?days=1").is(200).data()["components"].([]any)[0].(map[string]any)
			if uptime["group"] != want || uptime["name"] != "Y" {
				t.Errorf("%v in group %v, want %v", uptime["name"], uptime["group"], want)
			}
		}
		inGroup(group)
		body["group"] = nil
		c.put(target, body).is(200)
		inGroup(nil)
	})
}

// TestPutOfAComponentInAnOutage checks that a PUT with the status that is shown does not set it by hand, and that one
// with another status does.
func TestPutOfAComponentInAnOutage(t *testing.T) {
	each(t, func(t *testing.T, c *client) {
		c.put("/api/v1/pages/acme", map[string]any{"name": "Acme"}).is(201)
		const target = "/api/v1/pages/acme/components/api"
		c.put(target, map[string]any{"name": "API"}).is(201)
		begin := func() string {
			return c.post("/api/v1/pages/acme/incidents",
				`{"title":"t","message":"m","components":[{"id":"api","status":"partial_outage"}]}`).is(201).id()
		}
		end := func(incident string) { c.patch("/api/v1/incidents/"+incident, `{"state":"resolved"}`).is(200) }

		incident := begin()
		shown := c.get(target).is(200).has(map[string]any{"status": "partial_outage"})
		again := c.put(target, shown.data()).is(200).has(shown.data())
		if got, want := again.header.Get("ETag"), shown.header.Get("ETag"); got != want {
			t.Errorf("the entity tag is %s, want %s", got, want)
		}
		end(incident)
		c.get(target).is(200).has(map[string]any{"status": "operational"})

		incident = begin()
		c.put(target, map[string]any{"name": "API", "status": "degraded"}).is(200).has(map[string]any{
			"status": "degraded",
		})
		end(incident)
		c.get(target).is(200).has(map[string]any{"status": "degraded"})
	})
}

// TestUptimeListsHiddenComponents checks that the place of a hidden component, which no component shows, is listed on
// demand.
func TestUptimeListsHiddenComponents(t *testing.T) {
	each(t, func(t *testing.T, c *client) {
		c.put("/api/v1/pages/acme", map[string]any{"name": "Acme"}).is(201)
		group := c.put("/api/v1/pages/acme/groups/core", map[string]any{"name": "Core"}).is(201).data()["id"]
		c.put("/api/v1/pages/acme/components/shown", map[string]any{"name": "S"}).is(201)
		c.put("/api/v1/pages/acme/components/x", map[string]any{
			"name": "X", "hidden": true, "group": "core", "order": -5,
		}).is(201)
		for query, want := range map[string]int{"": 1, "?hidden=false": 1, "?hidden=true": 2} {
			listed := c.get("/api/v1/pages/acme/uptime" + query).is(200).data()["components"].([]any)
			if len(listed) != want {
				t.Errorf("%s: %d components, want %d", query, len(listed), want)
			}
			last := listed[len(listed)-1].(map[string]any)
			if want == 2 &&
				(last["slug"] != "x" || last["group"] != group || last["uptime"] != nil ||
					len(last["history"].([]any)) != 0) {
				t.Errorf("the hidden component: %v", last)
			}
		}
	})
}

// TestHiddenComponentIsEditedByGetAndPut: GET does not show hidden, so a PUT without it keeps it.
func TestHiddenComponentIsEditedByGetAndPut(t *testing.T) {
	each(t, func(t *testing.T, c *client) {
		c.put("/api/v1/pages/acme", map[string]any{"name": "Acme"}).is(201)
		const target = "/api/v1/pages/acme/components/x"
		c.put(target, map[string]any{"name": "X", "hidden": true}).is(201)
		body := c.get(target).is(200).data()
		body["name"] = "Y"
		for _, given := range []any{"absent", nil, false} { // null means absent
			if n := len(c.get("/api/v1/pages/acme/components?hidden=true").is(200).rows()); n != 1 {
				t.Errorf("%d hidden components, want 1", n)
			}
			if body["hidden"] = given; given == "absent" {
				delete(body, "hidden")
			}
			c.put(target, body).is(200)
		}
		if n := len(c.get("/api/v1/pages/acme/components?hidden=true").is(200).rows()); n != 0 {
			t.Errorf("%d hidden components, want none", n)
		}
	})
}

// TestGivenToken creates monitors with tokens of other services, on an installation with two workspaces.
func TestGivenToken(t *testing.T) {
	each(t, func(t *testing.T, c *client) {
		c.put("/api/v1/pages/acme", map[string]any{"name": "Acme"}).is(201)
		const uuid, short = "f618072a-7bde-4eee-af63-71a77c5723bc", "0123456789abcdeF"
		monitor := func(token any) map[string]any {
			return map[string]any{"name": "Job", "interval": 3600, "page": "acme", "token": token}
		}
		first := c.post("/api/v1/monitors", monitor(uuid)).is(201).has(map[string]any{"token": uuid})
		for _, wrong := range []string{
			"short", short[1:], short + short + short + short + "x", "0123456789abcdefghijkl", short + "_",
			short + "/start", short + "ß",
		} {
			c.post("/api/v1/monitors", monitor(wrong)).complains("token")
		}
		for _, absent := range []any{"", nil} {
			m := c.post("/api/v1/monitors", monitor(absent)).is(201)
			if len(m.data()["token"].(string)) != kernel.PingTokenLength {
				t.Errorf("%v gives the token %v", absent, m.data()["token"])
			}
		}
		const target = "/api/v1/monitors/other"
		c.put(target, monitor(uuid)).complains("token") // taken
		c.get(target).is(404)
		c.put(target, monitor(short)).is(201).has(map[string]any{"token": short})
		c.put(target, monitor(short)).is(200)
		c.put(target, monitor(nil)).is(200).has(map[string]any{"token": short})
		c.put(target, monitor("f618072a-7bde-4eee-af63-71a77c5723bd")).complains("token") // it has another one

		c.post("/api/v1/monitors/"+first.id()+"/rotate", nil).is(200)
		c.post("/api/v1/monitors", monitor(uuid)).complains("token") // the old one is still valid
		c.delete("/api/v1/monitors/" + first.id()).is(204)
		c.post("/api/v1/monitors", monitor(uuid)).is(201)
	})
}
