package api

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
)

var lenientRoutes = []string{
	"POST /api/v1/pages/{pageSlug}/incidents", "PATCH /api/v1/incidents/{incidentId}",
	"POST /api/v1/incidents/{incidentId}/updates",
	"PATCH /api/v1/pages/{pageSlug}/components/{componentId}",
}

// TestUnknownFields sends each route a field that it does not know, with the last letter of a known one missing: our
// own routes refuse it, and the routes of the contract name it in a header.
func TestUnknownFields(t *testing.T) {
	each(t, func(t *testing.T, c *client) {
		w := c.build("acme")
		for _, rt := range routes() {
			if !reads(rt) {
				continue
			}
			name := fieldsOf(t, rt)[0].name
			wrong := name[:len(name)-1]
			valid := func() map[string]any {
				encoded, err := json.Marshal(validBody(t, rt, w))
				if err != nil {
					t.Fatal(err)
				}
				body := make(map[string]any)
				if err := json.Unmarshal(encoded, &body); err != nil {
					t.Fatal(err)
				}
				return body
			}
			body := valid()
			body[wrong] = "x"
			if !slices.Contains(lenientRoutes, rt.method+" "+rt.path) {
				body["config"] = "x" // a field of some descriptions, and of no request
				c.unchanged(func() { c.do(rt.method, w.path(rt), body).complains(wrong, "config") })
				delete(body, "config")
				delete(body, name)
				a := c.do(rt.method, w.path(rt), body).is(422)
				problems := a.object()["errors"].(map[string]any)[wrong]
				if problems == nil || problems.([]any)[0] != "Unknown field, did you mean "+name+"?" {
					t.Errorf("%s: %s", a.asked, a.body)
				}
				continue
			}
			body["é\r\n"] = map[string]any{"x": 1}
			ignored := `"%C3%A9%0D%0A", "` + wrong + `"`
			a := c.do(rt.method, w.path(rt), body)
			if a.status/100 != 2 || a.header.Get("Allswell-Ignored") != ignored {
				t.Errorf("%s = %d, ignored %q", a.asked, a.status, a.header.Get("Allswell-Ignored"))
			}
			delete(body, name)
			if a := c.do(rt.method, w.path(rt), body); a.header.Get("Allswell-Ignored") != ignored {
				t.Errorf("%s without %s = %d, ignored %q", a.asked, name, a.status, a.header.Get("Allswell-Ignored"))
			}
			a = c.do(rt.method, w.path(rt), valid())
			if a.status/100 != 2 || a.header.Values("Allswell-Ignored") != nil {
				t.Errorf("%s = %d, ignored %q", a.asked, a.status, a.header.Values("Allswell-Ignored"))
			}
		}
	})
}

// TestNestedUnknownFields checks the paths of unknown fields in lists of objects.
func TestNestedUnknownFields(t *testing.T) {
	each(t, func(t *testing.T, c *client) {
		w := c.build("acme")
		page := "/api/v1/pages/acme"
		component := c.post(page+"/components", map[string]any{"name": "Nested"}).is(201).id()
		affected := []any{map[string]any{"id": component, "status": "degraded", "sttus": "x"}}
		incident := c.post(page+"/incidents", map[string]any{"title": "x", "components": affected}).is(201)
		if got := incident.header.Get("Allswell-Ignored"); got != `"components.0.sttus"` {
			t.Errorf("ignored %q", got)
		}
		c.put("/api/v1/incidents/"+incident.id()+"/components",
			map[string]any{"components": affected}).complains("components.0.sttus")
		c.patch(page, map[string]any{
			"footer_links": []any{map[string]any{"label": "x", "url": "https://example.com/", "rel": "x"}},
		}).complains("footer_links.0.rel")
		_ = w
	})
}

// TestUpdateChangesTheIncident checks the optional fields of an update, and the message of a change.
func TestUpdateChangesTheIncident(t *testing.T) {
	each(t, func(t *testing.T, c *client) {
		c.put("/api/v1/pages/acme", map[string]any{"name": "Acme"}).is(201)
		components := "/api/v1/pages/acme/components"
		db := c.post(components, map[string]any{"name": "Database"}).is(201).id()
		shop := c.post(components, map[string]any{"name": "Shop"}).is(201).id()
		status := func(id, want string) {
			t.Helper()
			c.get(components + "/" + id).is(200).has(map[string]any{"status": want})
		}

		// The impact is derived from the components if it is not given.
		created := c.post("/api/v1/pages/acme/incidents", map[string]any{
			"title": "x", "components": []any{affects(db, "partial_outage"), affects(shop, "degraded")},
		}).is(201)
		created.has(map[string]any{"impact": "major"})
		c.post("/api/v1/pages/acme/incidents", map[string]any{
			"title": "x", "impact": "none", "components": []any{affects(db, "degraded")},
		}).is(201).has(map[string]any{"impact": "none"})
		c.post("/api/v1/pages/acme/incidents", map[string]any{"title": "x"}).is(201).has(map[string]any{
			"impact": "none",
		})

		incident := "/api/v1/incidents/" + created.id()
		update := c.post(incident+"/updates", map[string]any{
			"message": "Worse.", "state": "identified", "impact": "critical",
			"components": []any{affects("shop", "major_outage")},
		}).is(201)
		keys(t, update.data(), "id", "incident_id", "message", "created_at")
		c.get(incident).is(200).has(map[string]any{"state": "identified", "impact": "critical", "resolved": false})
		status(shop, "major_outage")
		status(db, "degraded") // of the other incident

		// Without these fields nothing else changes.
		c.post(incident+"/updates", map[string]any{
			"message": "Still.", "state": nil, "impact": nil, "components": nil,
		}).is(201)
		c.get(incident).is(200).has(map[string]any{"state": "identified", "impact": "critical"})
		status(shop, "major_outage")

		// A message of a change is an update; a blank one is none.
		c.patch(incident, map[string]any{"state": "monitoring", "message": " "}).is(200)
		c.patch(incident, map[string]any{
			"state": "resolved", "resolved": true, "message": "Fixed.",
		}).is(200).has(map[string]any{"state": "resolved", "resolved": true})
		status(shop, "operational")
		var messages []string
		for _, u := range c.get(incident + "/updates").is(200).rows() {
			messages = append(messages, u["message"].(string))
		}
		if got := strings.Join(messages, " "); got != "Worse. Still. Fixed." {
			t.Errorf("the updates are %q", got)
		}
	})
}

func TestRefusedUpdateChangesNothing(t *testing.T) {
	each(t, func(t *testing.T, c *client) {
		_, db := c.webAndDatabase()
		incident := "/api/v1/incidents/" + c.post(incidentsPath, `{"title":"x"}`).is(201).id()
		c.unchanged(func() {
			c.post(incident+"/updates", map[string]any{
				"message": "x", "state": "investigating", "components": []any{affects("nothing", "degraded")},
			}).complains("components.0.id")
			c.post(incident+"/updates", map[string]any{
				"message": " ", "state": "x", "impact": "x", "components": []any{affects(db, "x")},
			}).
				complains("message", "state", "impact", "components.0.status")
			c.patch(incident, map[string]any{
				"resolved": false, "message": strings.Repeat("x", 25001),
			}).complains("message")
		})
	})
}

// TestUniqueNames checks that a name that the page has already is refused if the client wants that.
func TestUniqueNames(t *testing.T) {
	each(t, func(t *testing.T, c *client) {
		c.put("/api/v1/pages/acme", map[string]any{"name": "Acme"}).is(201)
		c.put("/api/v1/pages/other", map[string]any{"name": "Other"}).is(201)
		for path, noun := range map[string]string{
			"/api/v1/pages/acme/components": "component", "/api/v1/pages/acme/groups": "group",
			"/api/v1/monitors": "monitor",
		} {
			body := func(page string, unique any) map[string]any {
				if noun == "monitor" {
					return map[string]any{"name": "Same", "unique_name": unique, "page": page, "interval": 60}
				}
				return map[string]any{"name": "Same", "unique_name": unique}
			}
			first := c.post(path, body("acme", true)).is(201).id()
			a := c.post(path, body("acme", true)).is(422)
			want := "The page has a " + noun + " with this name: " + first + "."
			if a.object()["errors"].(map[string]any)["name"].([]any)[0] != want {
				t.Errorf("%s: %s", a.asked, a.body)
			}
			c.put(path+"/again", body("acme", map[string]any{"x": 1})).complains("unique_name")
			c.put(path+"/again", body("acme", true)).is(201) // it is found by its slug
			c.post(path, body("acme", false)).is(201)
			c.post(path, body("acme", nil)).is(201)
			c.post(strings.Replace(path, "acme", "other", 1), body("other", true)).is(201)
		}
	})
}

// TestScriptsMaySendUnknownFields sends an unknown field to the endpoints of the contract. It names them
// itself and does not take them from routes.go.
func TestScriptsMaySendUnknownFields(t *testing.T) {
	each(t, func(t *testing.T, c *client) {
		component := c.acme()
		unknown := func(body map[string]any) map[string]any {
			body["unknown_field"] = "x"
			return body
		}
		incident := c.post("/api/v1/pages/acme/incidents", unknown(map[string]any{"title": "Slow"})).is(201).id()
		c.patch("/api/v1/incidents/"+incident, unknown(map[string]any{"impact": "minor"})).is(200)
		c.post("/api/v1/incidents/"+incident+"/updates", unknown(map[string]any{"message": "It is slow."})).is(201)
		c.patch("/api/v1/pages/acme/components/"+component, unknown(map[string]any{"status": "degraded"})).is(200)
	})
}

// TestIgnoredFieldsOfARepetition checks that a saved response names the ignored fields, and that their names cannot be
// mistaken.
func TestIgnoredFieldsOfARepetition(t *testing.T) {
	each(t, func(t *testing.T, c *client) {
		c.acme()
		many := map[string]any{"title": "x"}
		for i := range 23 {
			many["field_"+string(rune('a'+i))] = 1
		}
		for key, tt := range map[string]struct {
			body any
			want string
		}{
			"names": {map[string]any{"title": "x", "a, b": 1, "": 1, `q"`: 1, "a.b": 1},
				`"", "a%2C%20b", "a%2Eb", "q%22"`},
			"none": {map[string]any{"title": "x"}, ""},
			"many": {many,
				`"field_a", "field_b", "field_c", "field_d", "field_e", "field_f", "field_g", "field_h", "field_i", ` +
					`"field_j", "field_k", "field_l", "field_m", "field_n", "field_o", "field_p", "field_q", ` +
					`"field_r", "field_s", "field_t";more=3`},
			"lengthy": {map[string]any{
				"title": "x", strings.Repeat("é", 64): 1, strings.Repeat("ü", 64): 1, strings.Repeat("z", 64): 1,
			}, `"` + strings.Repeat("%C3%A9", 64) + `", "` + strings.Repeat("%C3%BC", 64) + `", "` +
				strings.Repeat("z", 64) + `"`},
			"longer": {map[string]any{
				"title": "x", strings.Repeat("é", 64): 1, strings.Repeat("ü", 64): 1, strings.Repeat("ö", 64): 1,
			}, `"` + strings.Repeat("%C3%A9", 64) + `", "` + strings.Repeat("%C3%B6", 64) + `";more=1`},
		} {
			for _, when := range []string{"first", "again"} {
				a := c.do("POST", "/api/v1/pages/acme/incidents", tt.body, idempotencyKeyHeader, key).is(201)
				got := a.header.Get(ignoredHeader)
				if got != tt.want || (a.header.Get(replayedHeader) != "") != (when == "again") {
					t.Errorf("%s, %s: %v, want ignored %s", key, when, a.header, tt.want)
				}
			}
		}
	})
}

// TestDraft checks that the draft of a person is published only by publishIncident.
func TestDraft(t *testing.T) {
	each(t, func(t *testing.T, c *client) {
		c.acme()
		incidents := "/api/v1/pages/acme/incidents"
		draft := c.post(incidents, map[string]any{"title": "Leak", "draft": true}).is(201)
		keys(t, draft.data(), "id", "title", "impact", "state", "resolved", "resolved_at", "created_at", "updated_at",
			"updates")
		c.post(incidents, map[string]any{"title": "Seen", "draft": nil}).is(201)
		count := func(query string, want int) {
			t.Helper()
			if got := len(c.get(incidents + query).is(200).rows()); got != want {
				t.Errorf("%d incidents%s, want %d", got, query, want)
			}
		}
		count("", 1)
		count("?draft=true", 1)
		c.post("/api/v1/incidents/"+draft.id()+"/publish", nil).is(200)
		count("", 2)
		count("?draft=true", 0)
	})
}
