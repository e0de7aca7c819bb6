package api

import (
	"strings"
	"testing"

	"github.com/allswell/allswell/internal/domain/monitor"
)

// TestPingKey makes, rotates and removes the ping key of a page.
func TestPingKey(t *testing.T) {
	eachWith(t, Config{BaseURL: "https://status.example.org/"}, func(t *testing.T, c *client) {
		const target, given = "/api/v1/pages/acme/ping-key", "0123456789_bcdefghij-l"
		c.put("/api/v1/pages/acme", map[string]any{"name": "Acme"}).is(201)
		c.put("/api/v1/pages/other", map[string]any{"name": "Other"}).is(201)
		none := map[string]any{"key": nil, "access": "off", "ping_url": nil, "created_at": nil, "previous_until": nil}
		c.get(target).is(200).has(none)
		c.post(target+"/rotate", nil).is(404)
		c.patch(target, map[string]any{}).is(200).has(none)
		for _, wrong := range []string{"", "short", given + "x", strings.Replace(given, "_", "/", 1)} {
			c.patch(target, map[string]any{"key": wrong}).complains("key")
		}
		c.patch(target, map[string]any{"key": given, "access": "off"}).complains("key")
		c.patch(target, map[string]any{"access": "write"}).complains("access")
		first := c.patch(target, map[string]any{"access": "ping_only"}).is(200).data()
		key, _ := first["key"].(string)
		if !monitor.IsPingKey(key) || first["ping_url"] != "https://status.example.org/api/v1/heartbeat/"+key+"/" ||
			first["access"] != "ping_only" {
			t.Errorf("the new key: %v", first)
		}
		c.patch(target, map[string]any{"access": "read_write"}).is(200).has(map[string]any{
			"key": key, "access": "read_write",
		})
		c.patch(target, map[string]any{"key": key}).is(200).has(map[string]any{"key": key, "access": "read_write"})
		c.patch(target, map[string]any{"key": given}).complains("key")
		c.patch("/api/v1/pages/other/ping-key", map[string]any{"key": key}).complains("key") // taken
		rotated := c.post(target+"/rotate", nil).is(200).data()
		if rotated["key"] == key || rotated["access"] != "read_write" || rotated["previous_until"] == nil {
			t.Errorf("the key after the rotation: %v", rotated)
		}
		c.patch("/api/v1/pages/other/ping-key", map[string]any{"key": key}).complains("key") // still valid
		c.patch(target, map[string]any{"access": "off"}).is(200).has(none)
		c.patch("/api/v1/pages/other/ping-key", map[string]any{"key": key}).is(200).has(map[string]any{
			"key": key, "access": "ping_only",
		})
		log := string(c.get("/api/v1/audit").is(200).body)
		if strings.Contains(log, key) || strings.Contains(log, rotated["key"].(string)) ||
			strings.Count(log, "ping_key") < 5 {
			t.Errorf("the audit log: %s", log)
		}
	})
}
