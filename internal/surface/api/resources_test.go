package api

import (
	"crypto/tls"
	"encoding/json"
	"fmt"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/allswell/allswell/internal/domain/kernel"
	"github.com/allswell/allswell/internal/store"
	"github.com/google/go-cmp/cmp"
)

func TestPages(t *testing.T) {
	each(t, func(t *testing.T, c *client) {
		now := stamp(c.clock.Now())
		a := c.post("/api/v1/pages", `{"name":"Acme","slug":"acme-1","description":"How we do"}`).is(201)
		keys(t, a.data(), "id", "slug", "name", "description", "status", "url", "time_zone", "language", "domain",
			"domain_status", "accent", "footer_links",
			"logo", "logo_dark", "icon", "auto_incidents", "visibility", "home", "webhook_sign_ups", "response_times",
			"languages", "custom_css", "created_at", "updated_at")
		a.has(map[string]any{
			"slug": "acme-1", "name": "Acme", "description": "How we do", "status": "operational", "created_at": now,
			"updated_at": now,
		})
		c.post("/api/v1/pages", `{"name":"Other","slug":"acme-1"}`).complains("slug")
		c.post("/api/v1/pages", `{"name":"Other","slug":"other","description":null}`).is(201).has(map[string]any{
			"description": nil,
		})

		c.clock.Advance(time.Minute)
		c.patch("/api/v1/pages/acme-1", `{}`).is(200).has(map[string]any{"updated_at": now})
		c.patch("/api/v1/pages/acme-1", `{"name":null,"slug":null}`).is(200).has(map[string]any{
			"name": "Acme", "slug": "acme-1",
		})
		c.patch("/api/v1/pages/acme-1", `{"slug":"other"}`).complains("slug")
		c.patch("/api/v1/pages/acme-1", `{"description":null,"slug":"acme"}`).is(200).
			has(map[string]any{"description": nil, "slug": "acme", "id": a.id(), "updated_at": stamp(c.clock.Now())})
		c.get("/api/v1/pages/acme-1").is(404)
		c.get("/api/v1/pages/acme").is(200).has(map[string]any{"name": "Acme"})

		c.delete("/api/v1/pages/acme").is(204)
		c.delete("/api/v1/pages/acme").is(404)
		c.get("/api/v1/pages/acme").is(404)
	})
}

func TestPageStatusIsTheRollup(t *testing.T) {
	each(t, func(t *testing.T, c *client) {
		c.post("/api/v1/pages", `{"name":"Acme","slug":"acme"}`).is(201)
		var first string
		for _, step := range []struct{ add, want string }{
			{"unknown", "unknown"}, {"operational", "operational"}, {"maintenance", "maintenance"},
			{"degraded_performance", "degraded"},
			{"partial_outage", "partial_outage"}, {"major_outage", "major_outage"}, {"operational", "major_outage"},
		} {
			first = c.post("/api/v1/pages/acme/components", map[string]any{"name": "x", "status": step.add}).is(201).
				has(map[string]any{"status": step.add}).id()
			c.get("/api/v1/pages/acme").is(200).has(map[string]any{"status": step.want})
			if rows := c.get("/api/v1/pages").is(200).rows(); rows[0]["status"] != step.want {
				t.Errorf("the list says %v", rows[0]["status"])
			}
		}
		c.delete("/api/v1/pages/acme/components/" + first).is(204)
		c.get("/api/v1/pages/acme/components/" + first).is(404)
	})
}

func TestGroupsAndComponents(t *testing.T) {
	each(t, func(t *testing.T, c *client) {
		c.post("/api/v1/pages", `{"name":"Acme","slug":"acme"}`).is(201)
		group := c.post("/api/v1/pages/acme/groups", `{"name":"Europe"}`).is(201)
		keys(t, group.data(), "id", "slug", "name", "order", "created_at", "updated_at")
		group.has(map[string]any{"name": "Europe", "order": 0.0})
		c.post("/api/v1/pages/acme/groups", `{"name":"Asia","order":-5}`).is(201).has(map[string]any{"order": -5.0})
		c.patch("/api/v1/groups/"+group.id(), `{"name":"EU","order":null}`).is(200).has(map[string]any{
			"name": "EU", "order": 0.0,
		})
		var names []any
		for _, row := range c.get("/api/v1/pages/acme/groups").is(200).rows() {
			names = append(names, row["name"])
		}
		if diff := cmp.Diff([]any{"Asia", "EU"}, names); diff != "" {
			t.Errorf("groups (-want +got):\n%s", diff)
		}

		a := c.post("/api/v1/pages/acme/components", map[string]any{"name": "API", "group": group.id()}).is(201)
		keys(t, a.data(), componentKeys...)
		a.has(map[string]any{"name": "API", "description": nil, "status": "operational", "order": 0.0})
		if !strings.HasPrefix(a.id(), "comp_") {
			t.Errorf("the id is %s", a.id())
		}
		c.post("/api/v1/pages/acme/components", `{"name":"Web"}`).is(201).has(map[string]any{"order": 1.0})
		c.post("/api/v1/pages/acme/components", `{"name":"x","group":""}`).is(201)
		edit := "/api/v1/components/" + a.id()
		keys(t, c.patch(edit, `{"name":"Public API","description":"x","order":9}`).is(200).
			has(map[string]any{
				"name": "Public API", "description": "x", "order": 9.0, "status": "operational",
			}).data(), componentKeys...)
		c.patch(edit, `{"status":"major_outage"}`).complains("status")
		c.get("/api/v1/pages/acme/components/" + a.id()).is(200).has(map[string]any{
			"status": "operational", "description": "x",
		})
		c.patch(edit, `{"description":null,"group":""}`).is(200).has(map[string]any{"description": nil, "order": 9.0})
		var order []any
		for _, row := range c.get("/api/v1/pages/acme/components").is(200).rows() {
			keys(t, row, componentKeys...)
			order = append(order, row["name"])
		}
		if diff := cmp.Diff([]any{"Web", "x", "Public API"}, order); diff != "" {
			t.Errorf("components (-want +got):\n%s", diff)
		}
		c.delete("/api/v1/groups/" + group.id()).is(204)
		c.patch("/api/v1/groups/"+group.id(), `{"name":"x"}`).is(404)
		c.get("/api/v1/pages/acme/components/" + a.id()).is(200)
	})
}

func TestIncidentLists(t *testing.T) {
	each(t, func(t *testing.T, c *client) {
		c.post("/api/v1/pages", `{"name":"Acme","slug":"acme"}`).is(201)
		const target = "/api/v1/pages/acme/incidents"
		for i := range 5 {
			state := "investigating"
			if i%2 == 0 {
				state = "resolved"
			}
			c.post(target, map[string]any{"title": fmt.Sprint(i), "state": state, "message": "m"}).is(201)
			c.clock.Advance(time.Second)
		}
		titles := func(query string, total int) string {
			t.Helper()
			a := c.get(target + query).is(200)
			out := ""
			for _, row := range a.rows() {
				keys(t, row, incidentKeys...) // without updates
				out += row["title"].(string)
			}
			if got := a.object()["meta"].(map[string]any)["total"]; got != float64(total) {
				t.Errorf("%s: total is %v, want %d", query, got, total)
			}
			return out
		}
		for _, tt := range []struct {
			query, want string
			total       int
		}{
			{"", "43210", 5}, {"?resolved=true", "420", 3}, {"?resolved=false", "31", 2},
			{"?per_page=2", "43", 5}, {"?per_page=2&page=2", "21", 5}, {"?per_page=2&page=3", "0", 5},
			{"?per_page=2&page=4", "", 5},
			{"?resolved=true&per_page=2&page=2", "0", 3},
		} {
			if got := titles(tt.query, tt.total); got != tt.want {
				t.Errorf("%s lists %s, want %s", tt.query, got, tt.want)
			}
		}
		meta := c.get(target + "?per_page=2&page=3").object()["meta"]
		if diff := cmp.Diff(map[string]any{"page": 3.0, "per_page": 2.0, "total": 5.0}, meta); diff != "" {
			t.Errorf("meta (-want +got):\n%s", diff)
		}
		diff := cmp.Diff(map[string]any{"page": 1.0, "per_page": 50.0, "total": 5.0}, c.get(target).object()["meta"])
		if diff != "" {
			t.Errorf("meta without a query (-want +got):\n%s", diff)
		}
		// An empty list is [], not null.
		c.post("/api/v1/pages", `{"name":"Empty","slug":"empty"}`).is(201)
		if a := c.get("/api/v1/pages/empty/incidents").is(200); !strings.Contains(string(a.body), `"data":[]`) {
			t.Errorf("an empty list is %s", a.body)
		}
	})
}

// TestEditAndDeleteUpdates changes the text of an update, and deletes it, unless somebody else was faster.
func TestEditAndDeleteUpdates(t *testing.T) {
	each(t, func(t *testing.T, c *client) {
		w := c.build("acme")
		path := "/api/v1/incidents/" + w.incident + "/updates/" + w.update
		tag := c.get(path).is(200).header.Get("ETag")
		edited := c.do("PATCH", path, map[string]any{"message": "More or less."}, "If-Match", tag).is(200)
		if d := edited.data(); d["message"] != "More or less." || d["edited_at"] == nil || d["notified"] != true {
			t.Errorf("edited: %v", d)
		}
		c.do("PATCH", path, map[string]any{"message": "Mine."}, "If-Match", tag).is(412)
		c.do("DELETE", path, nil, "If-Match", tag).is(412)
		c.patch(path, map[string]any{"message": " "}).complains("message")
		c.do("DELETE", path, nil, "If-Match", edited.header.Get("ETag")).is(204)
		c.get(path).is(404)

		c.post("/api/v1/incidents/"+w.incident+"/updates", map[string]any{
			"message": "Quietly.", "notify": false,
		}).is(201)
		rows := c.get("/api/v1/incidents/" + w.incident + "/updates").is(200).rows()
		if last := rows[len(rows)-1]; last["message"] != "Quietly." || last["notified"] != false {
			t.Errorf("silent update: %v", last)
		}
		draft := c.post("/api/v1/pages/acme/incidents", map[string]any{
			"title": "Slow", "message": "x", "draft": true,
		}).is(201).id()
		c.post("/api/v1/incidents/"+draft+"/publish?notify=false", nil).is(200)
		c.post("/api/v1/incidents/"+draft+"/publish?notify=never", nil).complains("notify")
		if u := c.get("/api/v1/incidents/" + draft + "/updates").is(200).rows()[0]; u["notified"] != false {
			t.Errorf("a draft that was published silently: %v", u)
		}
	})
}

func TestPostmortem(t *testing.T) {
	each(t, func(t *testing.T, c *client) {
		incident := c.post("/api/v1/pages/acme/incidents", map[string]any{"title": "Slow"})
		if incident.status == 404 {
			c.build("acme")
			incident = c.post("/api/v1/pages/acme/incidents", map[string]any{"title": "Slow"})
		}
		path := "/api/v1/incidents/" + incident.is(201).id()
		c.get(path + "/postmortem").is(404)
		c.do("PUT", path+"/postmortem", map[string]any{"body": " ", "published": "maybe"}).complains("body",
			"published")
		c.do("PUT", path+"/postmortem", map[string]any{
			"body": "A full disk.", "published": true,
		}).complains("published")
		c.patch(path, map[string]any{"state": "resolved"}).is(200)
		c.do("PUT", path+"/postmortem", map[string]any{"body": "A full disk.", "published": true, "notify": false},
			"If-None-Match", "*").is(201)
		p := c.get(path + "/postmortem").has(map[string]any{
			"body": "A full disk.", "published": true, "notified": false, "edited_at": nil,
		})
		keys(t, p.data(), "incident_id", "body", "published", "published_at", "edited_at", "notified", "created_at",
			"updated_at")
		c.do("PUT", path+"/postmortem", map[string]any{"body": "Mine."}, "If-Match", `"x"`).is(412)
		c.do("PUT", path+"/postmortem", p.data(), "If-Match", p.header.Get("ETag")).is(200)
		c.do("DELETE", path+"/postmortem", nil, "If-Match", `"x"`).is(412)
		c.do("DELETE", path+"/postmortem", nil, "If-Match", p.header.Get("ETag")).is(204)
		c.do("DELETE", path+"/postmortem", nil).is(404)
	})
}

func TestUpdateListsAndIncidentDeletion(t *testing.T) {
	each(t, func(t *testing.T, c *client) {
		w := c.build("acme")
		incident := "/api/v1/incidents/" + w.incident
		rows := c.get(incident + "/updates").is(200).rows()
		if len(rows) != 2 {
			t.Fatalf("%d updates", len(rows))
		}
		for i, message := range []string{"We look into it.", "More."} {
			keys(t, rows[i], "id", "incident_id", "message", "created_at", "edited_at", "notified")
			if rows[i]["message"] != message || rows[i]["incident_id"] != w.incident {
				t.Errorf("update %d is %v", i, rows[i])
			}
		}
		full := c.get(incident).is(200)
		keys(t, full.data(), append([]string{"updates"}, incidentKeys...)...)
		for _, entry := range full.data()["updates"].([]any) {
			keys(t, entry.(map[string]any), "id", "message", "created_at")
		}
		c.delete(incident).is(204)
		c.delete(incident).is(404)
		c.get(incident).is(404)
		c.get(incident + "/updates").is(404)
	})
}

// backup creates a monitor on the page acme, and returns its path.
func (c *client) backup() string {
	c.t.Helper()
	component := c.acme()
	return "/api/v1/monitors/" + c.post("/api/v1/monitors", map[string]any{
		"name": "Nightly", "interval": 60, "page": "acme", "component_id": component,
	}).is(201).id()
}

func TestMonitors(t *testing.T) {
	eachWith(t, Config{BaseURL: "https://status.example.org/"}, func(t *testing.T, c *client) {
		w := c.build("acme")
		body := map[string]any{"name": "Nightly", "interval": 86400, "page": "acme", "component_id": w.component}
		a := c.post("/api/v1/monitors", body).is(201)
		keys(t, a.data(), "id", "slug", "name", "token", "ping_url", "interval", "schedule", "grace", "next_check_at",
			"consecutive_failures", "state",
			"enabled", "paused_until", "component_id", "page", "last_ping_at", "failure_threshold",
			"effective_failure_threshold", "incident_id", "down_status", "auto_incidents", "tags", "max_runtime",
			"publish_output",
			"min_runtime", "max_per_interval", "no_overlap", "max_runtime_action", "min_runtime_action",
			"max_per_interval_action", "no_overlap_action", "warnings", "created_at", "updated_at",
			"type", "condition", "parent_id", "timeout", "slow_after", "recovery_threshold", "confirm_from", "secrets")
		a.has(map[string]any{
			"name": "Nightly", "interval": 86400.0, "page": "acme", "component_id": w.component, "enabled": true,
			"state":                "up",
			"consecutive_failures": 0.0, "next_check_at": nil, "last_ping_at": nil, "failure_threshold": nil,
			"down_status":                 "partial_outage",
			"effective_failure_threshold": 3.0, "incident_id": nil, "tags": []any{},
		})
		token := a.data()["token"].(string)
		if !kernel.IsPingToken(token) || a.data()["ping_url"] != "https://status.example.org/api/v1/heartbeat/"+token {
			t.Errorf("token %s, ping_url %s", token, a.data()["ping_url"])
		}
		target := "/api/v1/monitors/" + a.id()
		_, err := c.store.RecordPings(t.Context(), []string{token}, store.LivenessRecord{Replica: "test", First: true},
			store.PingOrigins{})
		if err != nil {
			t.Fatal(err)
		}
		now := c.clock.Now()
		c.get(target).is(200).has(map[string]any{
			"last_ping_at": stamp(now), "next_check_at": stamp(now.Add(24 * time.Hour)),
		})
		c.patch(target,
			`{"interval":60,"failure_threshold":2,"down_status":"partial_outage","name":"Hourly","component_id":""}`).
			is(200).
			has(map[string]any{
				"interval": 60.0, "failure_threshold": 2.0, "effective_failure_threshold": 2.0,
				"down_status": "partial_outage", "name": "Hourly", "component_id": nil,
				"next_check_at": stamp(now.Add(time.Minute)),
			})
		// 2^55 + 60 seconds overflow 64 bits of nanoseconds, and would become 60 seconds.
		c.patch(target, `{"interval":36028797018964028}`).complains("interval")
		c.patch(target,
			`{"failure_threshold":0,"interval":null,"page":null,"component_id":null,"enabled":null,`+
				`"down_status":null}`).is(200).
			has(map[string]any{
				"failure_threshold": nil, "interval": 60.0, "down_status": "partial_outage", "enabled": true,
			})
	})
}

func TestTagsOfMonitors(t *testing.T) {
	each(t, func(t *testing.T, c *client) {
		target := c.backup()
		c.patch(target, `{"page":"","component_id":""}`).is(200).has(map[string]any{"page": nil})
		c.patch(target, `{"tags":["prod","db","prod"]}`).is(200).has(map[string]any{"tags": []any{"db", "prod"}})
		c.patch(target, `{"tags":null}`).is(200).has(map[string]any{"tags": []any{"db", "prod"}})
		c.patch(target, `{"tags":["Prod"]}`).complains("tags")
		for query, count := range map[string]int{
			"tag=db": 1, "tag=d": 0, "tag=%25": 0, "tag=prod&state=up": 1, "tag=prod&page_slug=acme": 0,
			"tag=db&state=down": 0,
		} {
			if rows := c.get("/api/v1/monitors?" + query).is(200).rows(); len(rows) != count {
				t.Errorf("%s: %d monitors, want %d", query, len(rows), count)
			}
		}
		c.patch(target, `{"tags":[]}`).is(200).has(map[string]any{"tags": []any{}})
	})
}

func TestConditionsOfMonitors(t *testing.T) {
	each(t, func(t *testing.T, c *client) {
		target := c.backup()
		c.patch(target,
			`{"min_runtime":60,"max_per_interval":2,"no_overlap":true,"max_runtime_action":"warn",`+
				`"min_runtime_action":"down","max_per_interval_action":"down","no_overlap_action":"down"}`).is(200).
			has(map[string]any{
				"min_runtime": 60.0, "max_per_interval": 2.0, "no_overlap": true, "max_runtime_action": "warn",
				"min_runtime_action": "down", "max_per_interval_action": "down", "no_overlap_action": "down",
			})
		c.patch(target,
			`{"min_runtime":null,"max_per_interval":null,"no_overlap":false,"max_runtime_action":null,`+
				`"min_runtime_action":null,"max_per_interval_action":"warn","no_overlap_action":"warn"}`).is(200).
			has(map[string]any{
				"min_runtime": nil, "max_per_interval": nil, "no_overlap": false, "max_runtime_action": "down",
				"min_runtime_action": "warn", "max_per_interval_action": "warn", "no_overlap_action": "warn",
			})
		for wrong, field := range map[string]string{
			`{"min_runtime":0}`: "min_runtime", `{"min_runtime":31536001}`: "min_runtime",
			`{"max_per_interval":0}`:   "max_per_interval",
			`{"max_per_interval":101}`: "max_per_interval", `{"no_overlap":"yes"}`: "no_overlap",
			`{"no_overlap_action":"page"}`:        "no_overlap_action",
			`{"min_runtime":61,"max_runtime":60}`: "min_runtime",
		} {
			c.patch(target, wrong).complains(field)
		}
		c.patch(target, `{"min_runtime":60}`).is(200)
		c.patch(target, `{"max_runtime":59}`).complains("min_runtime")
		c.patch(target, `{"max_runtime":60}`).is(200)
		c.patch(target, `{"max_runtime":null,"min_runtime":null}`).is(200)
		c.patch(target, `{"max_runtime":7200,"publish_output":true}`).is(200).has(map[string]any{
			"max_runtime": 7200.0, "publish_output": true,
		})
		for _, wrong := range []string{"0", "-1", "31536001", "36028797018964028"} {
			c.patch(target, `{"max_runtime":`+wrong+`}`).complains("max_runtime")
		}
		c.patch(target, `{"max_runtime":null,"publish_output":false}`).is(200).has(map[string]any{
			"max_runtime": nil, "publish_output": false,
		})
	})
}

func TestMonitorsArePaused(t *testing.T) {
	each(t, func(t *testing.T, c *client) {
		target := c.backup()
		c.patch(target, `{"paused_until":"2020-01-01T00:00:00Z","name":""}`).complains("name", "paused_until")
		until := stamp(c.clock.Now().Add(time.Hour))
		c.patch(target, `{"enabled":true,"paused_until":"`+until+`"}`).complains("paused_until")
		c.patch(target, `{"paused_until":"`+until+`"}`).is(200).has(map[string]any{
			"enabled": false, "paused_until": until, "next_check_at": nil,
		})
		c.get(target + "/explain").is(200).has(map[string]any{"state": "disabled", "paused_until": until})
		c.patch(target, `{"paused_until":null}`).is(200).has(map[string]any{"enabled": false, "paused_until": nil})
		c.patch(target, `{"enabled":true}`).is(200).has(map[string]any{"enabled": true})
		c.patch(target, `{"enabled":false}`).is(200).has(map[string]any{"enabled": false})
	})
}

func TestTokenOfMonitorIsRotated(t *testing.T) {
	each(t, func(t *testing.T, c *client) {
		target := c.backup()
		before := c.get(target).is(200)
		rotated := c.post(target+"/rotate", nil).is(200)
		if rotated.data()["token"] == before.data()["token"] || rotated.id() != before.id() {
			t.Errorf("rotation gave %s", rotated.body)
		}
		c.post(target+"/rotate", "no JSON at all").is(200)
	})
}

func TestMonitorsAreListedAndDeleted(t *testing.T) {
	each(t, func(t *testing.T, c *client) {
		target := c.backup()
		c.post("/api/v1/monitors", map[string]any{
			"name": "x", "interval": 31536000, "page": "acme", "enabled": false, "failure_threshold": 1000,
			"down_status": "degraded_performance",
		}).is(201).has(map[string]any{
			"enabled": false, "failure_threshold": 1000.0, "down_status": "degraded_performance", "component_id": nil,
		})
		if rows := c.get("/api/v1/monitors").is(200).rows(); len(rows) != 2 {
			t.Errorf("%d monitors, want 2", len(rows))
		}
		c.delete(target).is(204)
		c.delete(target).is(404)
		c.post(target+"/rotate", nil).is(404)
	})
}

func TestPingURLHasTheRequestedHost(t *testing.T) {
	each(t, func(t *testing.T, c *client) {
		c.build("acme")
		row := c.get("/api/v1/monitors").is(200).rows()[0]
		if want := "http://status.example.com/api/v1/heartbeat/" + row["token"].(string); row["ping_url"] != want {
			t.Errorf("ping_url is %s, want %s", row["ping_url"], want)
		}
		r := httptest.NewRequest("GET", "/", nil)
		r.Host, r.TLS = "[2001:db8::1]:8443", new(tls.ConnectionState)
		if got := new(api).base(r); got != "https://[2001:db8::1]:8443" {
			t.Errorf("over TLS it begins with %s", got)
		}
	})
}

func TestAuditLog(t *testing.T) {
	each(t, func(t *testing.T, c *client) {
		c.build("acme")
		page := c.get("/api/v1/pages/acme").is(200).id()
		c.clock.Advance(time.Second)
		c.patch("/api/v1/pages/acme", `{"name":"Acme Inc."}`).is(200)
		rows := c.get("/api/v1/audit?object=" + page + "&kind=page").is(200).rows()
		if len(rows) != 3 || rows[0]["action"] != "update" || rows[2]["action"] != "create" { // one of its ping key

			t.Fatalf("the audit log of the page is %v", rows)
		}
		keys(t, rows[0], "id", "at", "actor", "action", "object", "before", "after")
		actor, object := rows[0]["actor"].(map[string]any), rows[0]["object"].(map[string]any)
		if actor["kind"] != "token" || actor["id"] == nil || actor["address"] == nil || object["name"] != "Acme Inc." {
			t.Errorf("%v changed %v", actor, object)
		}
		if after := rows[0]["after"].(map[string]any); len(after) != 1 || after["name"] != "Acme Inc." {
			t.Errorf("after the change: %v", after)
		}
		first := c.get("/api/v1/audit?limit=1").is(200)
		cursor := first.object()["meta"].(map[string]any)["next_cursor"].(string)
		rest := c.get("/api/v1/audit?limit=1&cursor=" + cursor).is(200).rows()
		if len(rest) != 1 || rest[0]["id"] == first.rows()[0]["id"] {
			t.Errorf("after the cursor: %v", rest)
		}
		for _, query := range []string{
			"kind=x", "action=x", "since=yesterday", "limit=101", "limit=0", "object=%00", "cursor=zzz", "cursor=null",
			"cursor=aud_zzz", "cursor=" + page,
		} {
			c.get("/api/v1/audit?" + query).is(422)
		}
	})
}

// TestAuditEntriesHaveBothValues changes fields between a value and none: an entry has the field before and after the
// change, also a field of a type, and false is not null.
func TestAuditEntriesHaveBothValues(t *testing.T) {
	each(t, func(t *testing.T, c *client) {
		w := c.build("acme")
		c.put("/api/v1/monitors/job", `{"name":"Job","interval":60}`).is(201)
		c.put("/api/v1/monitors/site",
			`{"name":"Site","type":"http","url":"http://localhost/","headers":{"A":"1"},"secret_headers":{"B":"2"}}`).
			is(201)
		hook := c.post("/api/v1/pages/acme/subscribers",
			`{"channel":"webhook","target":"https://example.com/hook"}`).is(201).id()
		type change struct{ path, body, before, after string }
		for _, of := range []change{
			{"/api/v1/monitors/job", `{"no_overlap":true,"max_runtime_action":"warn"}`,
				`{"max_runtime_action":"down","no_overlap":false}`, `{"max_runtime_action":"warn","no_overlap":true}`},
			{"/api/v1/monitors/job", `{"no_overlap":false,"publish_output":true}`,
				`{"no_overlap":true,"publish_output":false}`, `{"no_overlap":false,"publish_output":true}`},
			{"/api/v1/monitors/job", `{"max_runtime":5}`, `{"max_runtime":null}`, `{"max_runtime":5}`},
			{"/api/v1/monitors/site", `{"headers":{}}`, `{"headers":{"A":"1"}}`, `{"headers":null}`},
			{"/api/v1/monitors/site", `{"headers":{"C":"1"},"body_contains":"x"}`,
				`{"body_contains":null,"headers":null}`, `{"body_contains":"x","headers":{"C":"1"}}`},
			{"/api/v1/monitors/site", `{"body_contains":null}`, `{"body_contains":"x"}`, `{"body_contains":null}`},
			{"/api/v1/pages/acme/subscribers/" + hook, `{"warnings":true}`, `{"warnings":false}`, `{"warnings":true}`},
			{"/api/v1/maintenances/" + w.maintenance, `{"components":[]}`, `{"components":["` + w.component + `"]}`,
				`{"components":[]}`},
		} {
			c.clock.Advance(time.Second)
			c.patch(of.path, of.body).is(200)
			entry := c.get("/api/v1/audit?limit=1").is(200).rows()[0]
			before, _ := json.Marshal(entry["before"])
			after, _ := json.Marshal(entry["after"])
			if string(before) != of.before || string(after) != of.after {
				t.Errorf("%s %s: before %s, after %s", of.path, of.body, before, after)
			}
		}
	})
}

func TestTokens(t *testing.T) {
	each(t, func(t *testing.T, c *client) {
		a := c.post("/api/v1/tokens", `{"name":"Pipeline","scope":"write"}`).is(201)
		keys(t, a.data(), "id", "name", "scope", "pages", "created_at", "expires_at", "last_used_at", "revoked_at",
			"token")
		a.has(map[string]any{"name": "Pipeline", "scope": "write", "last_used_at": nil, "revoked_at": nil})
		secret := a.data()["token"].(string)
		c.with(secret).get("/api/v1/pages").is(200)
		find := func() map[string]any {
			t.Helper()
			for _, row := range c.get("/api/v1/tokens").is(200).rows() {
				keys(t, row, "id", "name", "scope", "pages", "created_at", "expires_at", "last_used_at", "revoked_at")
				if row["id"] == a.id() {
					return row
				}
			}
			t.Fatal("the token is not listed")
			return nil
		}
		if row := find(); row["last_used_at"] == nil || row["revoked_at"] != nil {
			t.Errorf("after its use: %v", row)
		}
		if strings.Contains(string(c.get("/api/v1/tokens").body), secret) {
			t.Error("the list shows the secret")
		}
		c.delete("/api/v1/tokens/" + a.id()).is(204)
		c.with(secret).get("/api/v1/pages").is(401) // immediately
		revoked := find()["revoked_at"]
		c.clock.Advance(time.Minute)
		c.delete("/api/v1/tokens/" + a.id()).is(204) // again: as it was
		if row := find(); revoked == nil || row["revoked_at"] != revoked {
			t.Errorf("revoked at %v, then at %v", revoked, row["revoked_at"])
		}
		c.delete("/api/v1/tokens/tok_00000000000000000000").is(404)
	})
}

// TestDatabaseGone closes the store: the responses do not reveal the cause.
func TestDatabaseGone(t *testing.T) {
	each(t, func(t *testing.T, c *client) {
		c.get("/api/v1/pages").is(200)
		if err := c.store.Close(); err != nil {
			t.Fatal(err)
		}
		a := c.get("/api/v1/pages")
		switch a.status {
		case 500:
			id, _ := a.object()["id"].(string)
			if !strings.Contains(c.log.String(), id) {
				t.Errorf("the log does not have the id %q: %s", id, c.log)
			}
		case 503:
			if a.header.Get("Retry-After") == "" {
				t.Error("503 without Retry-After")
			}
		default:
			t.Fatalf("the answer is %d: %s", a.status, a.body)
		}
		if strings.Contains(string(a.body), "sql") || strings.Contains(string(a.body), "close") {
			t.Errorf("the cause is in the answer: %s", a.body)
		}
		if log := c.log.String(); log == "" || strings.Contains(log, c.token) {
			t.Errorf("the log: %q", log)
		}
	})
}

func TestPut(t *testing.T) {
	each(t, func(t *testing.T, c *client) {
		created := c.put("/api/v1/pages/shop", `{"name":"Shop"}`).is(201)
		tag := created.header.Get("ETag")
		if got := c.get("/api/v1/pages/shop").is(200).header.Get("ETag"); tag == "" || got != tag {
			t.Errorf("ETag %s, then %s", tag, got)
		}
		c.put("/api/v1/pages/shop/components/api", `{"name":"API"}`).is(201)
		m := c.put("/api/v1/monitors/nightly",
			`{"name":"Nightly","interval":3600,"page":"shop","component_id":"api"}`).is(201)
		again := c.put("/api/v1/monitors/nightly",
			`{"slug":"nightly","name":"Nightly","interval":7200,"page":"shop"}`).is(200)
		again.has(map[string]any{"id": m.id(), "token": m.data()["token"], "interval": 7200.0, "component_id": nil})

		c.unchanged(func() {
			c.put("/api/v1/pages/shop", `{"name":"Shop","slug":"other"}`).complains("slug")
			c.put("/api/v1/pages/Shop", `{"name":"Shop"}`).complains("slug")
			c.put("/api/v1/pages/shop", `{}`).complains("name")
			c.put("/api/v1/monitors/mon_00000000000000000000", `{"name":"x","interval":60,"page":"shop"}`).is(404)
			c.put("/api/v1/monitors/new", `{"name":"x","interval":60,"page":"nowhere"}`).complains("page")
			c.do("PUT", "/api/v1/pages/shop", `{"name":"Other"}`, "If-Match", `"0000000000000000"`).is(412)
			c.do("PUT", "/api/v1/pages/shop", `{"name":"Other"}`, "If-Match", "W/"+tag).is(412)
			c.do("PUT", "/api/v1/pages/shop", `{"name":"Other"}`, "If-None-Match", "*").is(412)
			c.do("PUT", "/api/v1/pages/new", `{"name":"New"}`, "If-Match", "*").is(412)
			c.do("PUT", "/api/v1/pages/shop", `{"name":"Other"}`, "If-None-Match", tag).complains("If-None-Match")
		})
		changed := c.do("PUT", "/api/v1/pages/shop", `{"name":"Other"}`, "If-Match",
			`"x", `+tag).is(200).header.Get("ETag")
		if changed == "" || changed == tag {
			t.Errorf("after a change the ETag is %s", changed)
		}
		c.do("PUT", "/api/v1/pages/shop", `{"name":"Other"}`, "If-Match", `"x"`, "If-Match", changed).is(200)
		c.unchanged(func() {
			c.do("PUT", "/api/v1/pages/shop", `{"name":"Another"}`, "If-Match", `"x"`, "If-Match", tag).is(412)
		})
		c.patch("/api/v1/pages/shop/components/"+c.get("/api/v1/pages/shop/components/api").is(200).id(),
			`{"status":"degraded"}`).is(200)
		if got := c.get("/api/v1/pages/shop").is(200).header.Get("ETag"); got != changed {
			t.Errorf("after a status has changed the ETag of the page is %s, before it was %s", got, changed)
		}
	})
}
