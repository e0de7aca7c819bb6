package api

import "testing"

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
