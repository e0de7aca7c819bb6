package api

import (
	"maps"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/allswell/allswell/internal/domain/kernel"
	"github.com/allswell/allswell/internal/domain/statuspage"
	"github.com/allswell/allswell/internal/shared/limit"
)

// The requests that scripts send: about incidents, their updates and the status of components. Package ping tests
// pings.

var (
	uuidForm      = regexp.MustCompile(`^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$`)
	timestampForm = regexp.MustCompile(`^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}\.\d{3}Z$`)
)

var (
	incidentKeys  = []string{"id", "title", "impact", "state", "resolved", "resolved_at", "created_at", "updated_at"}
	componentKeys = []string{"id", "name", "description", "status", "order", "created_at", "updated_at"}
)

// incidentsPath is the path of the incidents of the page acme.
const incidentsPath = "/api/v1/pages/acme/incidents"

func stamp(t time.Time) string { return kernel.FormatTime(t) }

func TestIncidentIsCreated(t *testing.T) {
	each(t, func(t *testing.T, c *client) {
		c.acme()
		t.Run("title alone: defaults, updates is empty", func(t *testing.T) {
			c := c.in(t)
			a := c.post(incidentsPath, `{"title":"Logins fail"}`).is(201)
			keys(t, a.data(), append([]string{"updates"}, incidentKeys...)...)
			now := stamp(c.clock.Now())
			a.has(map[string]any{
				"title": "Logins fail", "impact": "none", "state": "investigating", "resolved": false,
				"resolved_at": nil, "created_at": now, "updated_at": now, "updates": []any{},
			})
			if !uuidForm.MatchString(a.id()) {
				t.Errorf("the id %s is no UUID", a.id())
			}
			if !timestampForm.MatchString(a.data()["created_at"].(string)) {
				t.Errorf("created_at is %s", a.data()["created_at"])
			}
		})
		t.Run("message becomes the first timeline entry, without incident_id", func(t *testing.T) {
			c := c.in(t)
			a := c.post(incidentsPath, `{"title":"x","message":"We look into it."}`).is(201)
			updates := a.data()["updates"].([]any)
			if len(updates) != 1 {
				t.Fatalf("%d updates", len(updates))
			}
			entry := updates[0].(map[string]any)
			keys(t, entry, "id", "message", "created_at")
			if entry["message"] != "We look into it." || !strings.HasPrefix(entry["id"].(string), "upd_") {
				t.Errorf("the entry is %v", entry)
			}
		})
		for _, impact := range kernel.Impacts {
			t.Run("impact "+string(impact), func(t *testing.T) {
				c.in(t).post(incidentsPath, map[string]any{"title": "x", "impact": impact}).is(201).has(map[string]any{
					"impact": string(impact),
				})
			})
		}
		for _, state := range statuspage.IncidentStates {
			t.Run("state "+string(state), func(t *testing.T) {
				c := c.in(t)
				resolved, at := false, any(nil)
				if state == statuspage.IncidentResolved {
					resolved, at = true, stamp(c.clock.Now())
				}
				c.post(incidentsPath, map[string]any{"title": "x", "state": state}).is(201).
					has(map[string]any{"state": string(state), "resolved": resolved, "resolved_at": at})
			})
		}
		t.Run("null is not given", func(t *testing.T) {
			c.in(t).post(incidentsPath, `{"title":"x","impact":null,"state":null,"message":null}`).is(201).
				has(map[string]any{"impact": "none", "state": "investigating", "updates": []any{}})
		})
	})
}

func TestTextsOfIncidents(t *testing.T) {
	each(t, func(t *testing.T, c *client) {
		c.acme()
		t.Run("title of 255 characters", func(t *testing.T) {
			title := strings.Repeat("é", 255)
			c.in(t).post(incidentsPath, map[string]any{"title": title}).is(201).has(map[string]any{"title": title})
		})
		t.Run("message of 25,000 characters", func(t *testing.T) {
			c.in(t).post(incidentsPath, map[string]any{"title": "x", "message": strings.Repeat("€", 25_000)}).is(201)
		})
		t.Run("text comes back as it was sent", func(t *testing.T) {
			c := c.in(t)
			const title = `<b>&amp; "quotes" \ / é 𝄞 ` + "\u2028\u202e"
			c.post(incidentsPath, map[string]any{"title": title}).is(201).has(map[string]any{"title": title})
			c.post(incidentsPath, `{"title":"\ud834\udd1e \u00e9"}`).is(201).has(map[string]any{"title": "𝄞 é"})
		})
		t.Run("Content-Type is not checked", func(t *testing.T) {
			c.in(t).do("POST", incidentsPath, `{"title":"x"}`, "Content-Type", "text/plain").is(201)
		})
	})
}

func TestInvalidIncidentIsRefused(t *testing.T) {
	each(t, func(t *testing.T, c *client) {
		c.acme()
		t.Run("title of 256 characters is 422", func(t *testing.T) {
			c := c.in(t)
			c.unchanged(func() {
				c.post(incidentsPath, map[string]any{"title": strings.Repeat("é", 256)}).complains("title")
			})
		})
		t.Run("message of 25,001 characters is 422", func(t *testing.T) {
			c := c.in(t)
			c.unchanged(func() {
				c.post(incidentsPath, map[string]any{
					"title": "x", "message": strings.Repeat("€", 25_001),
				}).complains("message")
			})
		})
		t.Run("missing title is 422", func(t *testing.T) {
			c := c.in(t)
			c.unchanged(func() { c.post(incidentsPath, `{}`).complains("title") })
		})
		t.Run("every bad field at once", func(t *testing.T) {
			c := c.in(t)
			c.unchanged(func() {
				c.post(incidentsPath, `{"title":" ","impact":"huge","state":"open","message":5}`).
					complains("title", "impact", "state", "message").
					sentence("The impact must be one of: none, minor, major, critical. (And 3 more errors.)")
			})
		})
		t.Run("unknown page is 404", func(t *testing.T) {
			c := c.in(t)
			c.unchanged(func() {
				c.post("/api/v1/pages/nowhere/incidents", `{"title":"x"}`).is(404).says("Not found.")
			})
		})
		t.Run("without a token 401", func(t *testing.T) {
			c := c.in(t)
			c.unchanged(func() { c.with("").post(incidentsPath, `{"title":"x"}`).is(401).says("Unauthenticated.") })
		})
	})
}

// freshIncident creates an incident, waits a minute, and returns its path and the incident.
func (c *client) freshIncident(body string) (target string, before map[string]any) {
	c.t.Helper()
	a := c.post(incidentsPath, body).is(201)
	c.clock.Advance(time.Minute)
	return "/api/v1/incidents/" + a.id(), a.data()
}

// incidentChanges are changes of an incident. In want, "now" is the time of the change, and "made" the time when the
// incident was created.
var incidentChanges = []struct {
	name, made, sent string
	want             map[string]any
	moves            bool // updated_at
}{
	{"title alone", `{"title":"x","impact":"major","state":"identified"}`, `{"title":"y"}`,
		map[string]any{"title": "y", "impact": "major", "state": "identified", "resolved": false}, true},
	{"impact alone", `{"title":"x"}`, `{"impact":"critical"}`,
		map[string]any{"title": "x", "impact": "critical", "state": "investigating"}, true},
	{"state alone", `{"title":"x"}`, `{"state":"monitoring"}`,
		map[string]any{"title": "x", "state": "monitoring", "resolved": false, "resolved_at": nil}, true},
	{"state resolved and resolved true", `{"title":"x"}`, `{"state":"resolved","resolved":true}`,
		map[string]any{"state": "resolved", "resolved": true, "resolved_at": "now"}, true},
	{"resolved true alone: the state stays", `{"title":"x","state":"identified"}`, `{"resolved":true}`,
		map[string]any{"state": "identified", "resolved": true, "resolved_at": "now"}, true},
	{"state resolved alone sets the flag", `{"title":"x"}`, `{"state":"resolved"}`,
		map[string]any{"state": "resolved", "resolved": true, "resolved_at": "now"}, true},
	{"resolved true again: resolved_at is now", `{"title":"x","state":"resolved"}`, `{"resolved":true}`,
		map[string]any{"state": "resolved", "resolved": true, "resolved_at": "now"}, true},
	{"state resolved again changes nothing", `{"title":"x","state":"resolved"}`, `{"state":"resolved"}`,
		map[string]any{"state": "resolved", "resolved": true, "resolved_at": "made"}, false},
	{"resolved false reopens", `{"title":"x","state":"resolved"}`, `{"resolved":false}`,
		map[string]any{"state": "investigating", "resolved": false, "resolved_at": nil}, true},
	{"resolved false with a state", `{"title":"x","state":"resolved"}`,
		`{"resolved":false,"state":"monitoring"}`,
		map[string]any{"state": "monitoring", "resolved": false, "resolved_at": nil}, true},
	{"another state on a resolved one: flag and time stay", `{"title":"x","state":"resolved"}`,
		`{"state":"monitoring"}`,
		map[string]any{"state": "monitoring", "resolved": true, "resolved_at": "made"}, true},
	{"resolved false on an open one", `{"title":"x"}`, `{"resolved":false}`,
		map[string]any{"state": "investigating", "resolved": false, "resolved_at": nil}, false},
	{"empty object", `{"title":"x"}`, `{}`, map[string]any{"title": "x"}, false},
	{"the same again", `{"title":"x"}`, `{"title":"x","impact":"none","state":"investigating"}`,
		map[string]any{"title": "x"}, false},
	{"null is not given", `{"title":"x"}`, `{"title":null,"impact":null,"state":null,"resolved":null}`,
		map[string]any{"title": "x"}, false},
	{"unknown fields are ignored", `{"title":"x"}`, `{"id":"y","created_at":5,"body":"\u0000"}`,
		map[string]any{"title": "x"}, false},
}

var refusedIncidentChanges = []struct{ name, sent, field string }{
	{"title blank", `{"title":"  "}`, "title"},
	{"title too long", `{"title":"` + strings.Repeat("x", 256) + `"}`, "title"},
	{"title of another type", `{"title":5}`, "title"},
	{"impact unknown", `{"impact":"huge"}`, "impact"},
	{"impact empty", `{"impact":""}`, "impact"},
	{"impact in capitals", `{"impact":"Major"}`, "impact"},
	{"state unknown", `{"state":"open"}`, "state"},
	{"state empty", `{"state":""}`, "state"},
	{"resolved as text", `{"resolved":"true"}`, "resolved"},
	{"resolved as number", `{"resolved":1}`, "resolved"},
	{"state resolved with resolved false", `{"state":"resolved","resolved":false}`, "resolved"},
	{"one bad field spoils the good ones", `{"title":"y","impact":"huge"}`, "impact"},
}

func TestIncidentIsChanged(t *testing.T) {
	each(t, func(t *testing.T, c *client) {
		c.acme()
		for _, tt := range incidentChanges {
			t.Run(tt.name, func(t *testing.T) {
				c := c.in(t)
				target, before := c.freshIncident(tt.made)
				now := stamp(c.clock.Now())
				want := maps.Clone(tt.want)
				for name, value := range want {
					switch value {
					case "now":
						want[name] = now
					case "made":
						want[name] = before["created_at"]
					}
				}
				for _, name := range []string{"id", "created_at", "updated_at"} {
					want[name] = before[name]
				}
				if tt.moves {
					want["updated_at"] = now
				}
				a := c.patch(target, tt.sent).is(200).has(want)
				keys(t, a.data(), incidentKeys...) // without updates
				c.get(target).is(200).has(want)
			})
		}
	})
}

func TestInvalidChangeOfIncidentIsRefused(t *testing.T) {
	each(t, func(t *testing.T, c *client) {
		c.acme()
		for _, tt := range refusedIncidentChanges {
			t.Run(tt.name+" is 422", func(t *testing.T) {
				c := c.in(t)
				target, _ := c.freshIncident(`{"title":"x"}`)
				c.unchanged(func() { c.patch(target, tt.sent).complains(tt.field) })
			})
		}
		t.Run("unknown incident is 404", func(t *testing.T) {
			c := c.in(t)
			c.unchanged(func() {
				c.patch("/api/v1/incidents/019aa45c-2f3e-7b1c-9d5a-6c1f0e2d4b8a",
					`{"title":"y"}`).is(404).says("Not found.")
				c.patch("/api/v1/incidents/x", `{"title":"y"}`).is(404).says("Not found.")
			})
		})
	})
}

func TestUpdateIsAdded(t *testing.T) {
	each(t, func(t *testing.T, c *client) {
		w := c.build("acme")
		incident := "/api/v1/incidents/" + w.incident
		target := incident + "/updates"
		t.Run("201 with incident_id; the incident's updated_at moves", func(t *testing.T) {
			c := c.in(t)
			c.clock.Advance(time.Minute)
			a := c.post(target, `{"message":"We have found the cause."}`).is(201)
			keys(t, a.data(), "id", "incident_id", "message", "created_at")
			a.has(map[string]any{
				"incident_id": w.incident, "message": "We have found the cause.", "created_at": stamp(c.clock.Now()),
			})
			if !strings.HasPrefix(a.id(), "upd_") {
				t.Errorf("the id is %s", a.id())
			}
			full := c.get(incident).is(200).has(map[string]any{"updated_at": stamp(c.clock.Now())}).data()
			updates := full["updates"].([]any)
			last := updates[len(updates)-1].(map[string]any)
			keys(t, last, "id", "message", "created_at")
			if last["id"] != a.id() {
				t.Errorf("the last update is %v", last)
			}
		})
		t.Run("on a resolved incident", func(t *testing.T) {
			c := c.in(t)
			c.patch(incident, `{"resolved":true}`).is(200)
			c.post(target, `{"message":"A late word."}`).is(201)
		})
		for name, body := range map[string]string{
			"missing": `{}`, "null": `{"message":null}`, "blank": `{"message":" \n"}`, "a number": `{"message":5}`,
			"too long": `{"message":"` + strings.Repeat("x", 25_001) + `"}`, "with NUL": `{"message":"a\u0000"}`,
			"with half a surrogate": `{"message":"\ud834"}`,
		} {
			t.Run("message "+name+" is 422", func(t *testing.T) {
				c := c.in(t)
				c.unchanged(func() { c.post(target, body).complains("message") })
			})
		}
		t.Run("unknown incident is 404", func(t *testing.T) {
			c.in(t).post("/api/v1/incidents/nope/updates", `{"message":"x"}`).is(404).says("Not found.")
		})
	})
}

func TestStatusOfComponentIsChanged(t *testing.T) {
	each(t, func(t *testing.T, c *client) {
		w := c.build("acme")
		target := "/api/v1/pages/acme/components/" + w.component
		for _, status := range kernel.Statuses {
			t.Run("status "+string(status), func(t *testing.T) {
				c := c.in(t)
				c.clock.Advance(time.Minute)
				a := c.patch(target, map[string]any{"status": status}).is(200)
				keys(t, a.data(), componentKeys...)
				a.has(map[string]any{
					"id": w.component, "status": string(status), "name": "API", "description": "Public",
				})
				c.get(target).is(200).has(map[string]any{"status": string(status)})
				c.get("/api/v1/pages/acme").is(200).has(map[string]any{"status": string(status.Canonical())})
			})
		}
		t.Run("description is set, kept when absent, cleared by null", func(t *testing.T) {
			c := c.in(t)
			c.patch(target, `{"status":"operational","description":"Slow"}`).is(200).has(map[string]any{
				"description": "Slow",
			})
			c.clock.Advance(time.Minute)
			c.patch(target, `{"status":"operational"}`).is(200).has(map[string]any{"description": "Slow"})
			a := c.patch(target, `{"status":"operational","description":null}`).is(200)
			a.has(map[string]any{"description": nil, "updated_at": stamp(c.clock.Now())})
		})
		t.Run("nothing else can be changed here", func(t *testing.T) {
			c.in(t).patch(target, `{"status":"degraded","name":"Other","order":7}`).is(200).
				has(map[string]any{"status": "degraded", "name": "API", "order": 0.0})
		})
	})
}

func TestInvalidStatusOfComponentIsRefused(t *testing.T) {
	each(t, func(t *testing.T, c *client) {
		w := c.build("acme")
		target := "/api/v1/pages/acme/components/" + w.component
		for name, tt := range map[string]struct{ body, field string }{
			"status missing":       {`{"description":"x"}`, "status"},
			"status null":          {`{"status":null}`, "status"},
			"status unknown value": {`{"status":"fine"}`, "status"},
			"status empty":         {`{"status":""}`, "status"},
			"status in capitals":   {`{"status":"Operational"}`, "status"},
			"status a number":      {`{"status":1}`, "status"},
			"status an array":      {`{"status":["degraded"]}`, "status"},
			"description a number": {`{"status":"degraded","description":5}`, "description"},
			"description of 1,001": {`{"status":"degraded","description":"` + strings.Repeat("x", 1_001) + `"}`,
				"description"},
			"description with a NUL":  {`{"status":"degraded","description":"\u0000"}`, "description"},
			"description and no word": {`{"status":"degraded","description":{}}`, "description"},
		} {
			t.Run(name+" is 422", func(t *testing.T) {
				c := c.in(t)
				c.unchanged(func() { c.patch(target, tt.body).complains(tt.field) })
			})
		}
		t.Run("a missing status is called missing", func(t *testing.T) {
			c.in(t).patch(target, `{}`).complains("status").sentence("The status field is required.")
		})
		t.Run("unknown page or component is 404", func(t *testing.T) {
			c := c.in(t)
			other := c.build("other")
			for _, target := range []string{
				"/api/v1/pages/nowhere/components/" + w.component,
				"/api/v1/pages/acme/components/comp_00000000000000000000",
				"/api/v1/pages/acme/components/" + other.component, // of another page
			} {
				c.patch(target, `{"status":"degraded"}`).is(404).says("Not found.")
			}
		})
	})
}

func TestAuthentication(t *testing.T) {
	each(t, func(t *testing.T, c *client) {
		w := c.build("acme")
		component := "/api/v1/pages/acme/components/" + w.component
		revoked := c.issue(kernel.ScopeAdmin)
		for _, row := range c.get("/api/v1/tokens").is(200).rows() {
			if row["name"] == "made" {
				c.delete("/api/v1/tokens/" + row["id"].(string)).is(204)
			}
		}
		good := c.token
		tests := []struct {
			name    string
			headers []string
			status  int
		}{
			{"Bearer", []string{"Bearer " + good}, 200},
			{"the scheme in small letters", []string{"bearer " + good}, 200},
			{"the scheme in capitals", []string{"BEARER " + good}, 200},
			{"more spaces", []string{"Bearer   " + good}, 200},
			{"no header", nil, 401},
			{"an empty header", []string{""}, 401},
			{"the scheme alone", []string{"Bearer"}, 401},
			{"the scheme and a space", []string{"Bearer "}, 401},
			{"another scheme", []string{"Basic " + good}, 401},
			{"the token alone", []string{good}, 401},
			{"an unknown token", []string{"Bearer aw_" + strings.Repeat("0", 49)}, 401},
			{"a token and something", []string{"Bearer " + good + " x"}, 401},
			{"a token cut short", []string{"Bearer " + good[:len(good)-1]}, 401},
			{"a token in other letters", []string{"Bearer " + strings.ToUpper(good)}, 401},
			{"two headers", []string{"Bearer " + good, "Bearer " + good}, 401},
			{"a revoked token", []string{"Bearer " + revoked}, 401},
			{"letters beyond ASCII", []string{"Bearer \xff\xfe"}, 401},
			{"a very long token", []string{"Bearer " + strings.Repeat("x", 100_000)}, 401},
		}
		for _, tt := range tests {
			t.Run(tt.name, func(t *testing.T) {
				c := c.in(t).with("")
				var headers []string
				for _, value := range tt.headers {
					headers = append(headers, "Authorization", value)
				}
				a := c.do("PATCH", component, `{"status":"degraded"}`, headers...).is(tt.status)
				if tt.status == 401 {
					a.says("Unauthenticated.")
					if got := a.header.Values("WWW-Authenticate"); len(got) != 1 || got[0] != "Bearer" {
						t.Errorf("WWW-Authenticate is %q", got)
					}
				}
			})
		}
	})
}

func TestStatusCodes(t *testing.T) {
	eachWith(t, Config{Limits: limit.NewTokens(100)}, func(t *testing.T, c *client) {
		w := c.build("acme")
		incident, component := "/api/v1/incidents/"+w.incident, "/api/v1/pages/acme/components/"+w.component
		t.Run("200 incident or component updated", func(t *testing.T) {
			c.in(t).patch(incident, `{"impact":"minor"}`).is(200)
			c.in(t).patch(component, `{"status":"degraded"}`).is(200)
		})
		t.Run("201 incident or incident update created", func(t *testing.T) {
			c.in(t).post("/api/v1/pages/acme/incidents", `{"title":"x"}`).is(201)
			c.in(t).post(incident+"/updates", `{"message":"x"}`).is(201)
		})
		t.Run("401 missing or invalid token", func(t *testing.T) {
			c.in(t).with("").patch(incident, `{}`).is(401)
			c.in(t).with("wrong").patch(incident, `{}`).is(401)
		})
		t.Run("404 page, incident or component not found", func(t *testing.T) {
			c.in(t).post("/api/v1/pages/x/incidents", `{"title":"x"}`).is(404)
			c.in(t).patch("/api/v1/incidents/x", `{}`).is(404)
			c.in(t).patch("/api/v1/pages/acme/components/x", `{"status":"unknown"}`).is(404)
		})
		t.Run("422 missing title, invalid impact, invalid status", func(t *testing.T) {
			c.in(t).post("/api/v1/pages/acme/incidents", `{"impact":"minor"}`).complains("title")
			c.in(t).patch(incident, `{"impact":"x"}`).complains("impact")
			c.in(t).patch(component, `{"status":"x"}`).complains("status")
		})
		t.Run("429 rate limit exceeded", func(t *testing.T) {
			c := c.in(t)
			for c.get("/api/v1/pages").status == 200 {
			}
			c.patch(incident, `{"impact":"major"}`).is(429).says("Too many requests.")
			c.clock.Advance(time.Minute)
			c.get(incident).is(200).has(map[string]any{"impact": "minor"})
		})
	})
}
