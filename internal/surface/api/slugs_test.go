package api

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// twoPages creates the pages acme and other.
func (c *client) twoPages() {
	c.t.Helper()
	c.post("/api/v1/pages", `{"name":"Acme","slug":"acme"}`).is(201)
	c.post("/api/v1/pages", `{"name":"Other","slug":"other"}`).is(201)
}

// slugs are objects of two pages that have slugs.
type slugs struct{ group, api, second, web answer }

// withSlugs creates the pages acme and other, and groups and components with slugs. Both pages have a group with the
// same slug.
func (c *client) withSlugs() (s slugs) {
	c.t.Helper()
	c.twoPages()
	s.group = c.post("/api/v1/pages/acme/groups", `{"name":"Western Europe"}`).is(201)
	c.post("/api/v1/pages/other/groups", `{"name":"Asia","slug":"western-europe"}`).is(201)
	s.api = c.post("/api/v1/pages/acme/components", `{"name":"API","group":"western-europe"}`).is(201)
	s.second = c.post("/api/v1/pages/acme/components", `{"name":"API"}`).is(201)
	s.web = c.post("/api/v1/pages/acme/components", `{"name":"Website","slug":"web"}`).is(201)
	return s
}

func TestSlugsOfGroups(t *testing.T) {
	each(t, func(t *testing.T, c *client) {
		c.twoPages()
		group := c.post("/api/v1/pages/acme/groups", `{"name":"Western Europe"}`).is(201).has(map[string]any{
			"slug": "western-europe",
		})
		c.post("/api/v1/pages/acme/groups", `{"name":"Western Europe"}`).is(201).has(map[string]any{
			"slug": "western-europe-2",
		})
		c.post("/api/v1/pages/acme/groups", `{"name":"Asia","slug":"western-europe"}`).complains("slug")
		c.post("/api/v1/pages/other/groups", `{"name":"Asia","slug":"western-europe"}`).is(201)
		c.patch("/api/v1/groups/"+group.id(), `{"name":"EU"}`).is(200).has(map[string]any{
			"name": "EU", "slug": "western-europe",
		})
	})
}

func TestSlugsOfComponents(t *testing.T) {
	each(t, func(t *testing.T, c *client) {
		s := c.withSlugs()
		c.post("/api/v1/pages/acme/components", `{"name":"Web","slug":"web"}`).complains("slug")
		c.post("/api/v1/pages/acme/components", `{"name":"Web","slug":"Web","group":"asia"}`).complains("group", "slug")
		c.post("/api/v1/pages/acme/components", `{"name":"Web","group":"asia"}`).complains("group")
		for slug, want := range map[string]answer{"api": s.api, "api-2": s.second, "web": s.web} {
			c.get("/api/v1/pages/acme/components/" + slug).is(200).has(map[string]any{"id": want.id()})
			c.get("/api/v1/pages/other/components/" + slug).is(404)
			rows := c.get("/api/v1/pages/acme/components?slug=" + slug).is(200).rows()
			if len(rows) != 1 || rows[0]["id"] != want.id() {
				t.Errorf("%s finds %v", slug, rows)
			}
		}
		if rows := c.get("/api/v1/pages/acme/components?name=API").is(200).rows(); len(rows) != 2 {
			t.Errorf("two components are named API: %v", rows)
		}
		if rows := c.get("/api/v1/pages/acme/components?name=API&slug=web").is(200).rows(); len(rows) != 0 {
			t.Errorf("no component matches both: %v", rows)
		}
	})
}

func TestSlugsOfComponentsChange(t *testing.T) {
	each(t, func(t *testing.T, c *client) {
		s := c.withSlugs()
		c.patch("/api/v1/components/"+s.web.id(), `{"name":"Shop","group":"western-europe"}`).is(200)
		c.get("/api/v1/pages/acme/components/web").is(200).has(map[string]any{"name": "Shop"})
		c.patch("/api/v1/components/"+s.web.id(), `{"slug":"api"}`).complains("slug")
		c.patch("/api/v1/components/"+s.web.id(), `{"slug":"shop"}`).is(200)
		c.get("/api/v1/pages/acme/components/web").is(404)
		c.put("/api/v1/pages/acme/components/shop", `{"name":"Shop","slug":"web"}`).complains("slug")
		c.put("/api/v1/pages/acme/components/"+s.web.id(), `{"name":"Shop","slug":"web"}`).is(200)
		c.get("/api/v1/pages/acme/components/web").is(200).has(map[string]any{"id": s.web.id()})
	})
}

// TestSlugsNeedTheirPage: groups and components are given by their slugs only with their page.
func TestSlugsNeedTheirPage(t *testing.T) {
	each(t, func(t *testing.T, c *client) {
		s := c.withSlugs()
		c.patch("/api/v1/pages/acme/components/web", `{"status":"degraded"}`).is(200).has(map[string]any{
			"id": s.web.id(), "status": "degraded",
		})
		c.patch("/api/v1/pages/other/components/web", `{"status":"degraded"}`).is(404)
		c.patch("/api/v1/components/web", `{"name":"x"}`).is(404)
		c.patch("/api/v1/components/web?page_slug=other", `{"name":"x"}`).is(404)
		c.patch("/api/v1/components/"+s.web.id()+"?page_slug=other", `{"name":"x"}`).is(404)
		c.patch("/api/v1/components/web?page_slug=acme", `{"order":7}`).is(200).has(map[string]any{
			"id": s.web.id(), "order": 7.0,
		})
		c.patch("/api/v1/components/web?page_slug=%00", `{"order":7}`).complains("page_slug")
		c.patch("/api/v1/groups/western-europe", `{"name":"x"}`).is(404)
		c.patch("/api/v1/groups/western-europe?page_slug=acme", `{"order":7}`).is(200).has(map[string]any{
			"id": s.group.id(), "order": 7.0,
		})
		c.stranger().patch("/api/v1/groups/western-europe?page_slug=acme", `{"order":7}`).is(404)
		c.delete("/api/v1/groups/western-europe").is(404)
		c.delete("/api/v1/groups/western-europe?page_slug=other").is(204)
		c.delete("/api/v1/groups/western-europe?page_slug=other").is(404)
		if rows := c.get("/api/v1/pages/acme/groups?slug=western-europe").is(200).rows(); len(rows) != 1 {
			t.Errorf("the group of the other page is deleted, too")
		}
	})
}

func TestSlugsOfMonitors(t *testing.T) {
	each(t, func(t *testing.T, c *client) {
		s := c.withSlugs()
		monitor := c.post("/api/v1/monitors",
			`{"name":"Nightly backup","interval":60,"page":"acme","component_id":"api"}`).is(201).
			has(map[string]any{"slug": "nightly-backup", "component_id": s.api.id()})
		c.post("/api/v1/monitors", `{"name":"Nightly backup","interval":60,"page":"other"}`).is(201).has(map[string]any{
			"slug": "nightly-backup-2",
		})
		c.post("/api/v1/monitors",
			`{"name":"x","slug":"nightly-backup","interval":60,"page":"other"}`).complains("slug")
		c.post("/api/v1/monitors",
			`{"name":"x","interval":60,"page":"other","component_id":"api"}`).complains("component_id")
		c.get("/api/v1/monitors/nightly-backup").is(200).has(map[string]any{"id": monitor.id()})
		c.patch("/api/v1/monitors/nightly-backup", `{"name":"Daily","component_id":"web"}`).is(200).
			has(map[string]any{"id": monitor.id(), "slug": "nightly-backup", "component_id": s.web.id()})
		c.post("/api/v1/monitors/nightly-backup/rotate", nil).is(200).has(map[string]any{"id": monitor.id()})
		rows := c.get("/api/v1/monitors?name=Daily").is(200).rows()
		if len(rows) != 1 || rows[0]["id"] != monitor.id() {
			t.Errorf("the monitor is not found by its name: %v", rows)
		}
		c.stranger().get("/api/v1/monitors/nightly-backup").is(404)
		c.stranger().get("/api/v1/pages/acme/components?slug=web").is(404)
		c.get("/api/v1/monitors?slug=%00&page=0").complains("slug", "page")
	})
}

func TestObjectsAreDeletedBySlug(t *testing.T) {
	each(t, func(t *testing.T, c *client) {
		s := c.withSlugs()
		c.post("/api/v1/monitors", `{"name":"Nightly backup","interval":60}`).is(201)
		c.delete("/api/v1/monitors/nightly-backup").is(204)
		c.delete("/api/v1/pages/acme/components/web").is(204)
		c.get("/api/v1/pages/acme/components/" + s.web.id()).is(404)
		if rows := c.get("/api/v1/pages?slug=acme").is(200).rows(); len(rows) != 1 || rows[0]["slug"] != "acme" {
			t.Errorf("the page is not found by its slug: %v", rows)
		}
	})
}

// TestSlugsInListsOfComponents gives slugs in place of ids.
func TestSlugsInListsOfComponents(t *testing.T) {
	each(t, func(t *testing.T, c *client) {
		c.post("/api/v1/pages", `{"name":"Acme","slug":"acme"}`).is(201)
		c.post("/api/v1/pages", `{"name":"Other","slug":"other"}`).is(201)
		api := c.post("/api/v1/pages/acme/components", `{"name":"API"}`).is(201).id()
		web := c.post("/api/v1/pages/acme/components", `{"name":"Web"}`).is(201).id()
		c.post("/api/v1/pages/other/components", `{"name":"Shop"}`).is(201)

		incident := c.post("/api/v1/pages/acme/incidents",
			`{"title":"x","components":[{"id":"api","status":"degraded"},{"id":"`+web+
				`","status":"degraded"}]}`).is(201).id()
		path := "/api/v1/incidents/" + incident + "/components"
		if rows := c.get(path).is(200).rows(); len(rows) != 2 || rows[0]["id"] != api || rows[1]["id"] != web {
			t.Errorf("the incident has the components %v", rows)
		}
		c.get("/api/v1/pages/acme/components/api").is(200).has(map[string]any{"status": "degraded"})
		c.put(path, `{"components":[{"id":"web","status":"major_outage"}]}`).is(200)
		c.get("/api/v1/pages/acme/components/api").is(200).has(map[string]any{"status": "operational"})
		c.get("/api/v1/pages/acme/components/web").is(200).has(map[string]any{"status": "major_outage"})
		c.put(path,
			`{"components":[{"id":"web","status":"degraded"},{"id":"shop","status":"degraded"}]}`).
			complains("components.1.id")
		c.put(path,
			`{"components":[{"id":"web","status":"degraded"},{"id":"`+web+
				`","status":"degraded"}]}`).complains("components")

		start := c.clock.Now()
		maintenance := c.post("/api/v1/pages/acme/maintenances", map[string]any{
			"title": "x", "scheduled_for": start.Add(time.Hour), "scheduled_until": start.Add(2 * time.Hour),
			"components": []string{"web", api}}).is(201)
		path = "/api/v1/maintenances/" + maintenance.id()
		c.patch(path, `{"components":["shop"]}`).complains("components.0")
		c.patch(path, `{"components":["api","`+api+`"]}`).complains("components")
		changed := c.patch(path, `{"components":["api"]}`).is(200)
		if got := fmt.Sprint(changed.data()["components"]); !strings.Contains(got, api) || strings.Contains(got, web) {
			t.Errorf("the maintenance has the components %s", got)
		}

		subscriber := c.post("/api/v1/pages/acme/subscribers",
			`{"channel":"email","target":"ada@example.com","components":["web","`+web+`"]}`).is(201)
		if got := fmt.Sprint(subscriber.data()["components"]); got != "["+web+"]" {
			t.Errorf("the subscriber has chosen %s", got)
		}
		c.post("/api/v1/pages/acme/subscribers",
			`{"channel":"email","target":"bob@example.com","components":["shop"]}`).complains("components")
		for target, want := range map[string]int{"ada@example.com": 1, "bob@example.com": 0, "": 1} {
			if rows := c.get("/api/v1/pages/acme/subscribers?target=" + target).is(200).rows(); len(rows) != want {
				t.Errorf("%q: %d subscribers, want %d", target, len(rows), want)
			}
		}
		if rows := c.get("/api/v1/pages/other/subscribers?target=ada@example.com").is(200).rows(); len(rows) != 0 {
			t.Errorf("another page has the subscribers %v", rows)
		}
	})
}

// TestMonitorsAreFiltered lists monitors by their page, component, incident and state.
func TestMonitorsAreFiltered(t *testing.T) {
	each(t, func(t *testing.T, c *client) {
		names := make(map[string]string) // by id
		create := func(name, body string) {
			names[c.post("/api/v1/monitors", `{"name":"`+name+`","interval":60,`+body+`}`).is(201).id()] = name
		}
		for _, page := range []string{"acme", "other"} {
			c.post("/api/v1/pages", `{"name":"x","slug":"`+page+`"}`).is(201)
			c.post("/api/v1/pages/"+page+"/components", `{"name":"API"}`).is(201)
		}
		web := c.post("/api/v1/pages/acme/components", `{"name":"Web"}`).is(201).id()
		create("a", `"page":"acme"`)
		create("b", `"page":"acme","component_id":"api"`)
		create("c", `"page":"acme","component_id":"web"`)
		create("d", `"page":"other","component_id":"api"`)
		for query, want := range map[string]string{
			"":                                         "abcd",
			"page_slug=acme":                           "abc",
			"page_slug=nowhere":                        "",
			"component_id=" + web:                      "c",
			"component_id=api":                         "",
			"component_id=comp_nobody":                 "",
			"component_id=api&page_slug=acme":          "b",
			"component_id=api,web&page_slug=acme":      "bc",
			"component_id=" + web + "&page_slug=other": "",
			"component_id=" + web + "&state=up&name=c": "c",
			"state=up":                                 "abcd",
			"state=down":                               "",
			"incident_id=nobody":                       "",
			"state=up&page_slug=other&name=d&slug=d":   "d",
			"name=a&slug=b&page_slug=acme&state=up":    "",
		} {
			var found []string
			for _, row := range c.get("/api/v1/monitors?" + query).is(200).rows() {
				found = append(found, names[fmt.Sprint(row["id"])])
			}
			slices.Sort(found)
			if got := strings.Join(found, ""); got != want {
				t.Errorf("%s: %q, want %q", query, got, want)
			}
			for _, row := range c.stranger().get("/api/v1/monitors?" + query).is(200).rows() {
				t.Errorf("%s: a stranger sees %v", query, row["id"])
			}
		}
		c.get("/api/v1/monitors?state=off&component_id="+strings.Repeat(",", 500)).complains("state", "component_id")
	})
}

// TestSlugsOfConcurrentMonitors creates monitors with the same name concurrently.
func TestSlugsOfConcurrentMonitors(t *testing.T) {
	each(t, func(t *testing.T, c *client) {
		c.post("/api/v1/pages", `{"name":"Acme","slug":"acme"}`).is(201)
		var wg sync.WaitGroup
		for range 6 {
			wg.Go(func() { c.post("/api/v1/monitors", `{"name":"Job","interval":60,"page":"acme"}`) })
		}
		wg.Wait()
		var slugs []string
		for _, row := range c.get("/api/v1/monitors").is(200).rows() {
			slugs = append(slugs, fmt.Sprint(row["slug"]))
		}
		if len(slugs) != 6 {
			t.Errorf("the slugs are %s", strings.Join(slugs, ", "))
		}
	})
}

// TestSlugsAreNotRemoved: a slug is made from the name at creation only.
func TestSlugsAreNotRemoved(t *testing.T) {
	each(t, func(t *testing.T, c *client) {
		w := c.build("acme")
		for path, body := range map[string]map[string]any{
			"/api/v1/monitors":              {"interval": 60},
			"/api/v1/channels":              {"type": "ntfy", "topic": "x"},
			"/api/v1/alert-rules":           {"channel_ids": []string{w.channel}},
			"/api/v1/on-call":               {"participants": []any{}},
			"/api/v1/incident-templates":    {"title": "t"},
			"/api/v1/pages/acme/groups":     {},
			"/api/v1/pages/acme/components": {},
		} {
			body["name"], body["slug"] = "Slugless one", ""
			id := c.post(path, body).is(201).id()
			object := strings.Replace(path, "/pages/acme", "", 1) + "/" + id
			c.patch(object, map[string]any{"slug": "", "name": ""}).complains("slug", "name")
			c.patch(object, map[string]any{"slug": ""}).complains("slug")
			c.patch(object, map[string]any{"slug": nil}).is(200)
			c.put(path+"/"+id, body).complains("slug")
			c.put(path+"/slugless-one", body).complains("slug")
			delete(body, "slug")
			c.put(path+"/slugless-one", body).is(200).has(map[string]any{"id": id})
		}
	})
}
