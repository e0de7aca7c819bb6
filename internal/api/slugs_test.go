package api

import (
	"fmt"
	"strings"
	"sync"
	"testing"
)

func TestSlugs(t *testing.T) {
	each(t, func(t *testing.T, c *client) {
		c.post("/api/v1/pages", `{"name":"Acme","slug":"acme"}`).is(201)
		c.post("/api/v1/pages", `{"name":"Other","slug":"other"}`).is(201)

		group := c.post("/api/v1/pages/acme/groups", `{"name":"Western Europe"}`).is(201).has(map[string]any{"slug": "western-europe"})
		c.post("/api/v1/pages/acme/groups", `{"name":"Western Europe"}`).is(201).has(map[string]any{"slug": "western-europe-2"})
		c.post("/api/v1/pages/acme/groups", `{"name":"Asia","slug":"western-europe"}`).complains("slug")
		c.post("/api/v1/pages/other/groups", `{"name":"Asia","slug":"western-europe"}`).is(201)
		c.patch("/api/v1/groups/"+group.id(), `{"name":"EU"}`).is(200).has(map[string]any{"name": "EU", "slug": "western-europe"})

		api := c.post("/api/v1/pages/acme/components", `{"name":"API","group":"western-europe"}`).is(201)
		second := c.post("/api/v1/pages/acme/components", `{"name":"API"}`).is(201)
		web := c.post("/api/v1/pages/acme/components", `{"name":"Website","slug":"web"}`).is(201)
		c.post("/api/v1/pages/acme/components", `{"name":"Web","slug":"web"}`).complains("slug")
		c.post("/api/v1/pages/acme/components", `{"name":"Web","slug":"Web","group":"asia"}`).complains("slug")
		c.post("/api/v1/pages/acme/components", `{"name":"Web","group":"asia"}`).complains("group")
		for slug, want := range map[string]answer{"api": api, "api-2": second, "web": web} {
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
		c.patch("/api/v1/components/"+web.id(), `{"name":"Shop","group":"western-europe-2"}`).is(200)
		c.get("/api/v1/pages/acme/components/web").is(200).has(map[string]any{"name": "Shop"})

		// Status changes and components without a page take ids only.
		c.patch("/api/v1/pages/acme/components/web", `{"status":"degraded"}`).is(404)
		c.patch("/api/v1/components/web", `{"name":"x"}`).is(404)

		monitor := c.post("/api/v1/monitors", `{"name":"Nightly backup","interval":60,"page":"acme","component_id":"api"}`).is(201).
			has(map[string]any{"slug": "nightly-backup", "component_id": api.id()})
		c.post("/api/v1/monitors", `{"name":"Nightly backup","interval":60,"page":"other"}`).is(201).has(map[string]any{"slug": "nightly-backup-2"})
		c.post("/api/v1/monitors", `{"name":"x","slug":"nightly-backup","interval":60,"page":"other"}`).complains("slug")
		c.post("/api/v1/monitors", `{"name":"x","interval":60,"page":"other","component_id":"api"}`).complains("component_id")
		c.get("/api/v1/monitors/nightly-backup").is(200).has(map[string]any{"id": monitor.id()})
		c.patch("/api/v1/monitors/nightly-backup", `{"name":"Daily","component_id":"web"}`).is(200).
			has(map[string]any{"id": monitor.id(), "slug": "nightly-backup", "component_id": web.id()})
		c.post("/api/v1/monitors/nightly-backup/rotate", nil).is(200).has(map[string]any{"id": monitor.id()})
		if rows := c.get("/api/v1/monitors?name=Daily").is(200).rows(); len(rows) != 1 || rows[0]["id"] != monitor.id() {
			t.Errorf("the monitor is not found by its name: %v", rows)
		}
		c.stranger().get("/api/v1/monitors/nightly-backup").is(404)
		c.stranger().get("/api/v1/pages/acme/components?slug=web").is(404)
		c.get("/api/v1/monitors?slug=%00&page=0").complains("slug", "page")

		c.delete("/api/v1/monitors/nightly-backup").is(204)
		c.delete("/api/v1/pages/acme/components/web").is(204)
		c.get("/api/v1/pages/acme/components/" + web.id()).is(404)
		if rows := c.get("/api/v1/pages?slug=acme").is(200).rows(); len(rows) != 1 || rows[0]["slug"] != "acme" {
			t.Errorf("the page is not found by its slug: %v", rows)
		}
	})
}

// TestSlugsOfConcurrentMonitors creates monitors with the same name at once.
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
