package api

import (
	"fmt"
	"maps"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/allswell/allswell/internal/domain/statuspage"
	"github.com/allswell/allswell/internal/store"
	"github.com/google/go-cmp/cmp"
)

const acmePath = "/api/v1/pages/acme"

// webAndDatabase creates the page acme with two components. The database comes first.
func (c *client) webAndDatabase() (web, db string) {
	c.t.Helper()
	c.post("/api/v1/pages", `{"name":"Acme","slug":"acme"}`).is(201)
	web = c.post(acmePath+"/components", `{"name":"Web","order":2}`).is(201).id()
	db = c.post(acmePath+"/components", `{"name":"Database","order":1}`).is(201).id()
	return web, db
}

// maintenance plans a maintenance of the database for the next day, and returns its path.
func (c *client) maintenance(db string) string {
	c.t.Helper()
	start := c.clock.Now()
	return "/api/v1/maintenances/" + c.post(acmePath+"/maintenances", map[string]any{
		"title": "Upgrade", "message": "It will be *slow*.", "components": []string{db},
		"scheduled_for": start.Add(25 * time.Hour), "scheduled_until": start.Add(26 * time.Hour),
	}).is(201).id()
}

func TestMaintenances(t *testing.T) {
	each(t, func(t *testing.T, c *client) {
		web, db := c.webAndDatabase()
		start := c.clock.Now()
		offset := time.FixedZone("", 5*3600+1800)
		a := c.post(acmePath+"/maintenances", map[string]any{
			"title": "Upgrade", "message": "It will be *slow*.", "components": []string{web, db},
			"scheduled_for":   start.Add(25*time.Hour + 123*time.Millisecond).In(offset).Format(time.RFC3339Nano),
			"scheduled_until": start.Add(26 * time.Hour).In(offset).Format(time.RFC3339Nano),
		}).is(201)
		named := func(id, name string) any { return map[string]any{"id": id, "name": name} }
		a.has(map[string]any{
			"title": "Upgrade", "state": "scheduled",
			"scheduled_for":   stamp(start.Add(25*time.Hour + 123*time.Millisecond)),
			"scheduled_until": stamp(start.Add(26 * time.Hour)), "begun_at": nil, "ended_at": nil,
			"remind_before": 86400.0,
			"created_at":    stamp(start), "updated_at": stamp(start),
		})
		update := a.data()["updates"].([]any)[0].(map[string]any)
		if update["message"] != "It will be *slow*." || update["state"] != "scheduled" ||
			!strings.HasPrefix(update["id"].(string), "upd_") {
			t.Errorf("the update is %v", update)
		}
		target := "/api/v1/maintenances/" + a.id()
		// in their order
		c.get(target).is(200).has(map[string]any{"components": []any{named(db, "Database"), named(web, "Web")}})
		if len(c.get(target).data()["updates"].([]any)) != 1 {
			t.Error("one is read without its updates")
		}
	})
}

func TestMaintenanceIsChanged(t *testing.T) {
	each(t, func(t *testing.T, c *client) {
		_, db := c.webAndDatabase()
		start := c.clock.Now()
		target := c.maintenance(db)
		c.clock.Advance(time.Minute)
		c.patch(target, `{}`).is(200).has(map[string]any{"updated_at": stamp(start)})
		c.patch(target,
			`{"title":null,"scheduled_for":null,"scheduled_until":null,"components":null,"remind_before":null,`+
				`"state":null}`).is(200).
			has(map[string]any{"updated_at": stamp(start), "remind_before": 86400.0})
		moved := c.patch(target, map[string]any{
			"title": "Bigger upgrade", "components": []string{db}, "remind_before": 0,
			"scheduled_until": start.Add(27 * time.Hour),
		}).is(200)
		moved.has(map[string]any{
			"title": "Bigger upgrade", "components": []any{map[string]any{"id": db, "name": "Database"}},
			"remind_before":   0.0,
			"scheduled_until": stamp(start.Add(27 * time.Hour)), "updated_at": stamp(c.clock.Now()),
		})
		c.unchanged(func() { c.patch(target, `{"state":"completed"}`).complains("state") })
	})
}

// TestMaintenanceIsHeld begins and ends maintenance manually: the status of its component changes and changes back.
func TestMaintenanceIsHeld(t *testing.T) {
	each(t, func(t *testing.T, c *client) {
		_, db := c.webAndDatabase()
		start, target := c.clock.Now(), c.maintenance(db)
		c.clock.Advance(time.Minute)
		status := func(want string) {
			t.Helper()
			c.get(acmePath + "/components/" + db).is(200).has(map[string]any{"status": want})
		}
		c.patch(target, `{"state":"in_progress"}`).is(200).has(map[string]any{
			"state": "in_progress", "begun_at": stamp(c.clock.Now()), "ended_at": nil,
		})
		status("maintenance")
		c.unchanged(func() {
			c.patch(target, map[string]any{
				"state": "scheduled", "scheduled_for": start.Add(time.Hour), "title": " ",
			}).complains("state", "scheduled_for", "title")
			c.post(target+"/updates", `{"message":"x","state":"scheduled"}`).complains("state")
			c.post(target+"/updates", `{"message":" ","state":"done"}`).complains("message", "state")
		})
		posted := c.post(target+"/updates", `{"message":"We look at the figures.","state":"verifying"}`).is(201)
		posted.has(map[string]any{
			"message": "We look at the figures.", "state": "verifying", "created_at": stamp(c.clock.Now()),
		})
		c.post(target+"/updates", `{"message":"All is well.","state":"completed"}`).is(201)
		status("operational")
		c.get(target).is(200).has(map[string]any{"state": "completed", "ended_at": stamp(c.clock.Now())})
		var states []any
		for _, row := range c.get(target + "/updates").is(200).rows() {
			states = append(states, row["state"])
		}
		if diff := cmp.Diff([]any{"scheduled", "in_progress", "verifying", "completed"}, states); diff != "" {
			t.Errorf("updates (-want +got):\n%s", diff)
		}
	})
}

func TestMaintenanceIsDeleted(t *testing.T) {
	each(t, func(t *testing.T, c *client) {
		_, db := c.webAndDatabase()
		target := c.maintenance(db)
		c.delete(target).is(204)
		c.delete(target).is(404)
		c.get(target + "/updates").is(404)
		c.post(target+"/updates", `{"message":"x"}`).is(404)
	})
}

func TestMaintenanceTimes(t *testing.T) {
	each(t, func(t *testing.T, c *client) {
		c.post("/api/v1/pages", `{"name":"Acme","slug":"acme"}`).is(201)
		const target = "/api/v1/pages/acme/maintenances"
		now := c.clock.Now()
		plan := func(from, until time.Duration) answer {
			t.Helper()
			return c.post(target, map[string]any{
				"title": "x", "scheduled_for": now.Add(from), "scheduled_until": now.Add(until),
			})
		}
		c.unchanged(func() {
			plan(time.Hour, time.Hour).complains("scheduled_until")
			plan(time.Hour, time.Hour+59*time.Second).complains("scheduled_until")
			plan(time.Hour, 745*time.Hour+time.Millisecond).complains("scheduled_until")
			plan(-time.Hour, 0).complains("scheduled_until")
			plan(733*24*time.Hour, 734*24*time.Hour).complains("scheduled_for")
			c.post(target,
				`{"title":5,"message":" ","scheduled_for":"soon","remind_before":1209601,"components":["x","x"]}`).
				complains("title", "message", "scheduled_for", "scheduled_until", "remind_before", "components")
			c.post(target, map[string]any{
				"title": "x", "scheduled_for": now, "scheduled_until": now.Add(time.Hour),
				"components": []string{"", "comp_x"},
			}).complains("components.0", "components.1")
		})
		plan(time.Hour, 745*time.Hour).is(201)
		// Maintenance that is due begins immediately.
		a := plan(-time.Hour, time.Hour).is(201).has(map[string]any{"state": "in_progress", "begun_at": stamp(now)})
		if updates := a.data()["updates"].([]any); len(updates) != 1 {
			t.Errorf("%d updates", len(updates))
		}
		many := make([]string, 501)
		for i := range many {
			many[i] = fmt.Sprint("comp_", i)
		}
		c.patch("/api/v1/maintenances/"+a.id(), map[string]any{"components": many}).complains("components")

		titles := func(query string) (out []string) {
			t.Helper()
			for _, row := range c.get(target + query).is(200).rows() {
				out = append(out, row["state"].(string))
			}
			return out
		}
		for query, want := range map[string][]string{
			"": {"scheduled", "in_progress"}, "?state=in_progress": {"in_progress"}, "?state=completed": nil,
			"?per_page=1&page=2": {"in_progress"},
		} {
			if diff := cmp.Diff(want, titles(query)); diff != "" {
				t.Errorf("%s (-want +got):\n%s", query, diff)
			}
		}
	})
}

// TestMaintenanceIsRepeatable repeats a request that creates maintenance that begins immediately.
func TestMaintenanceIsRepeatable(t *testing.T) {
	each(t, func(t *testing.T, c *client) {
		c.post("/api/v1/pages", `{"name":"Acme","slug":"acme"}`).is(201)
		body := map[string]any{
			"title": "x", "scheduled_for": c.clock.Now(), "scheduled_until": c.clock.Now().Add(time.Hour),
		}
		post := func() answer {
			return c.do("POST", "/api/v1/pages/acme/maintenances", body, idempotencyKeyHeader, "k").is(201)
		}
		first := post()
		c.clock.Advance(2 * time.Hour) // it would be refused now
		if second := post(); string(first.body) != string(second.body) {
			t.Errorf("the answers are\n%s%s", first.body, second.body)
		}
	})
}

func affects(id, status string) any { return map[string]any{"id": id, "status": status} }

func TestIncidentComponents(t *testing.T) {
	each(t, func(t *testing.T, c *client) {
		web, db := c.webAndDatabase()
		shown := func(id, name, status string) map[string]any {
			return map[string]any{"id": id, "name": name, "status": status}
		}
		same := func(a answer, want ...map[string]any) {
			t.Helper()
			keys(t, a.is(200).object(), "data")
			if diff := cmp.Diff(append([]map[string]any{}, want...), a.rows()); diff != "" {
				t.Errorf("%s (-want +got):\n%s", a.asked, diff)
			}
		}
		statuses := func(wantWeb, wantDB string) {
			t.Helper()
			c.get(acmePath + "/components/" + web).is(200).has(map[string]any{"status": wantWeb})
			c.get(acmePath + "/components/" + db).is(200).has(map[string]any{"status": wantDB})
		}
		a := c.post(acmePath+"/incidents", map[string]any{
			"title": "x", "message": "m",
			"components": []any{affects(web, "major_outage"), affects(db, "degraded_performance")},
		}).is(201)
		keys(t, a.data(), append([]string{"updates"}, incidentKeys...)...) // the contract's keys alone
		statuses("major_outage", "degraded_performance")
		target := "/api/v1/incidents/" + a.id()
		keys(t, c.get(target).is(200).data(), append([]string{"updates"}, incidentKeys...)...)
		same(c.get(target+"/components"), shown(db, "Database", "degraded_performance"),
			shown(web, "Web", "major_outage"))
		same(c.put(target+"/components", map[string]any{"components": []any{affects(web, "operational")}}),
			shown(web, "Web", "operational"))
		statuses("operational", "operational")
		same(c.put(target+"/components", map[string]any{"components": []any{affects(db, "partial_outage")}}),
			shown(db, "Database", "partial_outage"))
		statuses("operational", "partial_outage")
		same(c.put(target+"/components", `{"components":[]}`))
		same(c.get(target + "/components"))
		statuses("operational", "operational")
		c.post(acmePath+"/incidents", `{"title":"x","components":null}`).is(201)
	})
}

func TestInvalidComponentsOfIncidentAreRefused(t *testing.T) {
	each(t, func(t *testing.T, c *client) {
		web, db := c.webAndDatabase()
		target := "/api/v1/incidents/" + c.post(acmePath+"/incidents", `{"title":"x"}`).is(201).id()
		c.unchanged(func() {
			for _, to := range []struct{ method, path string }{
				{"PUT", target + "/components"}, {"POST", acmePath + "/incidents"},
			} {
				send := func(components ...any) answer {
					t.Helper()
					body := map[string]any{"components": components}
					if to.method == "POST" {
						body["title"] = "x"
					}
					return c.do(to.method, to.path, body)
				}
				send(affects(db, "degraded"), affects(db, "major_outage")).complains("components")
				send(affects("comp_x", "degraded"), affects(db, "degraded"),
					affects("", "degraded")).complains("components.0.id", "components.2.id")
				send(affects(db, "maintenance")).complains("components.0.status")
				send(affects(db, "unknown"), affects(web, "down"), map[string]any{"id": 5, "status": []any{}}, nil, "x",
					map[string]any{}).
					complains("components.0.status", "components.1.status", "components.2.id", "components.2.status",
						"components.3",
						"components.4", "components.5.id", "components.5.status")
				send(make([]any, 501)...).complains("components")
			}
			c.post(acmePath+"/incidents", map[string]any{"components": []any{affects(web, "down")}}).complains("title",
				"components.0.status")
			c.put(target+"/components", `{}`).complains("components")
			c.post(acmePath+"/incidents", `{"title":"x","message":""}`).complains("message")
			c.post(target+"/updates", map[string]any{
				"impact": "huge", "components": []any{affects("comp_x", "degraded")}, "at": "2126-11-21T04:00:00Z",
			}).
				complains("message", "impact", "at", "components.0.id")
			c.patch("/api/v1/incidents/019aa45c-2f3e-7b1c-9d5a-6c1f0e2d4b8a", `{"impact":"huge"}`).is(404)
			c.put("/api/v1/incidents/019aa45c-2f3e-7b1c-9d5a-6c1f0e2d4b8a/components", `{"components":[]}`).is(404)
		})
	})
}

// statusSeconds returns the seconds of a day in all statuses; in those that are not given it has none.
func statusSeconds(seconds map[string]any) any {
	all := map[string]any{
		"operational": 0.0, "maintenance": 0.0, "degraded": 0.0, "partial_outage": 0.0, "major_outage": 0.0,
		"unknown": 0.0,
	}
	maps.Copy(all, seconds)
	return all
}

// TestUptime has an hour in which a component is down, and a listening gap of an hour.
func TestUptime(t *testing.T) {
	each(t, func(t *testing.T, c *client) {
		c.post("/api/v1/pages", `{"name":"Acme","slug":"acme","time_zone":"Asia/Tokyo"}`).is(201)
		const page = "/api/v1/pages/acme"
		c.get(page + "/uptime").is(200).has(map[string]any{
			"days": 90.0, "time_zone": "Asia/Tokyo", "uptime": nil, "components": []any{}, "groups": []any{},
		})

		tokyo, err := time.LoadLocation("Asia/Tokyo")
		if err != nil {
			t.Fatal(err)
		}
		midnight := statuspage.AddDays(statuspage.Midnight(c.clock.Now(), tokyo), 1)
		until := func(at time.Time) { c.clock.Advance(at.Sub(c.clock.Now())) }
		until(midnight)
		group, a, b := c.outage(midnight, until)
		got := c.get(page + "/uptime?days=2").is(200)

		first := statusSeconds(map[string]any{
			"operational": 36000.0, "partial_outage": 3598.5, "major_outage": 3601.5, "unknown": 43200.0,
		})
		second := statusSeconds(map[string]any{"unknown": 43200.0})
		works := func(seconds float64) any { return statusSeconds(map[string]any{"maintenance": seconds}) }
		day := func(n int, status any, uptime any, seconds any) any {
			return map[string]any{
				"date": midnight.AddDate(0, 0, n).Format(time.DateOnly), "status": status, "uptime": uptime,
				"seconds": seconds,
			}
		}
		// 1 - (3601.5 + 0.3 * 3598.5) / 43200; for both together, divided by 172800.
		got.has(map[string]any{
			"days": 2.0, "uptime": 97.291,
			"groups": []any{map[string]any{"id": group, "name": "Europe", "uptime": 89.164}},
			"components": []any{
				map[string]any{
					"id": b, "name": "Web", "slug": "web", "group": nil, "status": "maintenance", "uptime": 100.0,
					"history": []any{
						day(0, "maintenance", 100.0, works(86400)), day(1, "maintenance", 100.0, works(43200)),
					},
				},
				map[string]any{
					"id": a, "name": "API", "slug": "api", "group": group, "status": "unknown", "uptime": 89.164,
					"history": []any{day(0, "major_outage", 89.164, first), day(1, "unknown", nil, second)},
				},
			},
		})
		all := c.get(page + "/uptime").is(200).data()["components"].([]any)[0].(map[string]any)["history"].([]any)
		nothing := day(-88, nil, nil, statusSeconds(nil))
		if diff := cmp.Diff(nothing, all[0]); len(all) != 90 || diff != "" {
			t.Errorf("%d days, the first (-want +got):\n%s", len(all), diff)
		}
		c.get("/api/v1/pages/nowhere/uptime").is(404)
	})
}

// outage creates the group Europe with the component API, and the component Web, which is in maintenance. The API has
// an outage at ten, and an unknown status from noon on. It ends at the noon of the next day.
func (c *client) outage(midnight time.Time, until func(time.Time)) (group, a, b string) {
	c.t.Helper()
	const page = "/api/v1/pages/acme"

	group = c.post(page+"/groups", `{"name":"Europe"}`).is(201).id()
	a = c.post(page+"/components", map[string]any{"name": "API", "group": group}).is(201).id()
	b = c.post(page+"/components", `{"name":"Web","status":"maintenance"}`).is(201).id()
	until(midnight.Add(10 * time.Hour))
	c.patch(page+"/components/"+a, `{"status":"major_outage"}`).is(200)
	until(midnight.Add(11*time.Hour + 1500*time.Millisecond))
	c.patch(page+"/components/"+a, `{"status":"partial_outage"}`).is(200)
	until(midnight.Add(12 * time.Hour))
	c.patch(page+"/components/"+a, `{"status":"unknown"}`).is(200)
	until(midnight.Add(36 * time.Hour))
	return group, a, b
}

// TestListeningGapIsUnknown has a gap between two liveness records.
func TestListeningGapIsUnknown(t *testing.T) {
	each(t, func(t *testing.T, c *client) {
		c.post("/api/v1/pages", `{"name":"Acme","slug":"acme"}`).is(201)
		c.clock.Advance(statuspage.AddDays(statuspage.Midnight(c.clock.Now(), time.UTC), 1).Sub(c.clock.Now()))
		c.post("/api/v1/pages/acme/components", `{"name":"API"}`).is(201)
		for range 2 {
			_, err := c.store.RecordPings(t.Context(), nil, store.LivenessRecord{Replica: "test", First: true},
				store.PingOrigins{})
			if err != nil {
				t.Fatal(err)
			}
			c.clock.Advance(time.Hour)
		}
		uptime := c.get("/api/v1/pages/acme/uptime?days=1").is(http.StatusOK).
			has(map[string]any{"uptime": 100.0}).data()
		history := uptime["components"].([]any)[0].(map[string]any)["history"].([]any)
		seconds := history[0].(map[string]any)["seconds"].(map[string]any)
		if seconds["unknown"].(float64) < 3600 ||
			seconds["operational"].(float64)+seconds["unknown"].(float64) != 7200 {
			t.Errorf("the day is %v", seconds)
		}
	})
}
