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
