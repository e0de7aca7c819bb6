package api

import "testing"

// samePuts are pairs of requests that say the same. Their lists may have another order, or name something twice, and
// overrides may lack their ids.
var samePuts = []struct {
	target       string
	first, again map[string]any
}{
	{
		"/alert-rules/r",
		map[string]any{
			"name": "r", "channel_ids": []any{"b", "a", "b"}, "events": []any{"monitor.up", "monitor.down"},
			"severities": []any{"critical", "minor", "minor"},
			"monitors":   []any{"c", "a"}, "tags": []any{"y", "x", "x"},
			"quiet_hours": map[string]any{
				"zone": "UTC", "from": "22:00", "until": "07:00", "days": []any{"tue", "mon"},
			},
		},
		map[string]any{
			"name": "r", "channel_ids": []any{"a", "b"}, "events": []any{"monitor.down", "monitor.up"},
			"severities": []any{"minor", "critical"},
			"monitors":   []any{"a", "c"}, "tags": []any{"x", "y"},
			"quiet_hours": map[string]any{
				"zone": "UTC", "from": "22:00", "until": "07:00", "days": []any{"mon", "tue"},
			},
		},
	},
	{
		"/on-call/o",
		map[string]any{
			"name": "o", "participants": []any{map[string]any{"name": "Ada", "channel_ids": []any{"b", "a"}}},
			"overrides": []any{
				map[string]any{
					"participant": "Ada", "starts_at": "2026-12-30T00:00:00Z",
					"ends_at": "2026-12-31T00:00:00Z",
				},
			},
		},
		map[string]any{
			"name": "o", "participants": []any{map[string]any{"name": "Ada", "channel_ids": []any{"a", "b"}}},
			"overrides": []any{
				map[string]any{
					"participant": "Ada", "starts_at": "2026-12-30T00:00:00Z",
					"ends_at": "2026-12-31T00:00:00Z",
				},
			},
		},
	},
}

// TestPutAgain checks that a repeated PUT changes nothing.
func TestPutAgain(t *testing.T) {
	each(t, func(t *testing.T, c *client) {
		c.put("/api/v1/pages/acme", map[string]any{"name": "Acme"}).is(201)
		for _, slug := range []string{"a", "b", "c"} {
			c.put("/api/v1/channels/"+slug, map[string]any{
				"name": slug, "type": "webhook", "url": "https://hooks.example.com/" + slug,
			}).is(201)
			c.put("/api/v1/monitors/"+slug, map[string]any{"name": slug, "interval": 60}).is(201)
		}
		for _, r := range samePuts {
			first := c.put("/api/v1"+r.target, r.first).is(201)
			again := c.put("/api/v1"+r.target, r.again).is(200)
			if got, want := again.header.Get("ETag"), first.header.Get("ETag"); got != want {
				t.Errorf("%s: the entity tag %s became %s\n%s\n%s", r.target, want, got, first.body, again.body)
			}
		}
	})
}

func TestPutOfInvalidSlug(t *testing.T) {
	each(t, func(t *testing.T, c *client) {
		c.put("/api/v1/pages/acme", map[string]any{"name": "Acme"}).is(201)
		for _, target := range []string{
			"/monitors/A_b", "/channels/A", "/alert-rules/R", "/on-call/O", "/incident-templates/T",
			"/pages/acme/components/A", "/pages/acme/groups/A", "/pages/A",
		} {
			c.put("/api/v1"+target, map[string]any{"name": "x"}).is(422)
		}
	})
}
