package api

import "testing"

// TestPutsOfGroups creates, replaces and renames a group by its slug and by its id.
func TestPutsOfGroups(t *testing.T) {
	each(t, func(t *testing.T, c *client) {
		c.put("/api/v1/pages/acme", map[string]any{"name": "Acme"}).is(201)
		c.post("/api/v1/pages/acme/groups", `{"name":"First"}`).is(201)
		const target = "/api/v1/pages/acme/groups/eu"
		c.do("PUT", target, map[string]any{"name": "Europe"}, "If-Match", "*").is(412)
		made := c.put(target, map[string]any{"name": "Europe", "unique_name": true}).is(201).has(map[string]any{"slug": "eu", "order": 1.0})
		tag := c.get("/api/v1/groups/eu?page_slug=acme").is(200).header.Get("ETag")
		c.put(target, map[string]any{"name": "EU", "order": nil}).is(200).has(map[string]any{"id": made.id(), "name": "EU", "order": 1.0})
		c.do("PUT", target, map[string]any{"name": "x"}, "If-Match", tag).is(412)
		c.do("PUT", target, map[string]any{"name": "x"}, "If-None-Match", "*").is(412)
		c.put(target, map[string]any{"name": "x", "slug": "other"}).complains("slug")
		c.put(target, map[string]any{"order": 2}).complains("name")
		c.put("/api/v1/pages/acme/groups/grp_068vq2r4b1ccu5a0d3e1", map[string]any{"name": "x"}).is(404)
		c.put("/api/v1/pages/acme/groups/"+made.id(), map[string]any{"name": "EU", "slug": "first"}).complains("slug")
		renamed := c.put("/api/v1/pages/acme/groups/"+made.id(), map[string]any{"name": "EU", "slug": "europe"}).is(200).data()
		c.put("/api/v1/pages/acme/groups/europe", renamed).is(200).has(map[string]any{"slug": "europe", "updated_at": renamed["updated_at"]})
		c.get("/api/v1/groups/eu?page_slug=acme").is(404)
		c.stranger().put("/api/v1/pages/acme/groups/europe", map[string]any{"name": "x"}).is(404)
	})
}

// TestPutsOfTemplates creates and replaces a template by its slug, and finds it by its slug before its name.
func TestPutsOfTemplates(t *testing.T) {
	each(t, func(t *testing.T, c *client) {
		c.put("/api/v1/pages/acme", map[string]any{"name": "Acme"}).is(201)
		const all = "/api/v1/incident-templates/"
		first := c.put(all+"slow", map[string]any{"name": "Slow", "title": "t", "page": "acme", "impact": "minor", "message": "m"}).is(201).id()
		c.put(all+"slow", map[string]any{"name": "Slow", "title": "t"}).is(200).
			has(map[string]any{"id": first, "slug": "slow", "page": nil, "impact": nil, "message": nil})
		c.patch(all+"Slow", `{"impact":"minor","page":"acme"}`).is(200).has(map[string]any{"impact": "minor", "page": "acme"})
		c.patch(all+"slow", `{"impact":null,"page":null}`).is(200).has(map[string]any{"impact": nil, "page": nil})
		second := c.post("/api/v1/incident-templates", map[string]any{"name": "slow", "title": "t"}).is(201).has(map[string]any{"slug": "slow-2"})
		c.get(all + "slow").is(200).has(map[string]any{"id": first}) // its slug, and the name of the other one
		c.get(all + "Slow").is(200).has(map[string]any{"id": first})
		c.patch(all+second.id(), `{"name":"Slow"}`).complains("name")
		c.patch(all+second.id(), `{"slug":"slow"}`).complains("slug")
		c.put(all+"third", map[string]any{"name": "Slow", "title": "t"}).complains("name")
		c.patch(all+second.id(), `{"page":"nowhere","title":""}`).complains("page", "title")
	})
}
