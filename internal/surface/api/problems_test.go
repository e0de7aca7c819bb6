package api

import (
	"maps"
	"slices"
	"testing"
)

// creation is a request that creates something below /api/v1.
type creation struct {
	target string
	body   map[string]any
}

// takenNames create objects whose name and slug are taken.
var takenNames = []creation{
	{"/monitors", map[string]any{"slug": "taken", "name": "Taken", "interval": 60, "page": "acme"}},
	{"/channels",
		map[string]any{"slug": "taken", "name": "Taken", "type": "webhook", "url": "https://hooks.example.com/a"}},
	{"/pages/acme/components", map[string]any{"slug": "taken", "name": "Taken"}},
	{"/pages/acme/groups", map[string]any{"slug": "taken", "name": "Taken"}},
	{"/incident-templates", map[string]any{"slug": "taken", "name": "Taken", "title": "t"}},
	{"/on-call",
		map[string]any{
			"slug": "taken", "name": "Taken",
			"participants": []any{map[string]any{"name": "Ada", "channel_ids": []any{"taken"}}},
		}},
}

// severalProblems are requests with several problems, and the fields that have them.
var severalProblems = []struct {
	creation
	fields []string
}{
	{creation{"/pages", map[string]any{"name": "", "slug": "acme"}}, []string{"name", "slug"}},
	{creation{"/monitors",
		map[string]any{"name": "", "slug": "taken", "interval": 60, "page": "nowhere", "parent_id": "nobody"}},
		[]string{"name", "slug", "page", "parent_id"}},
	{creation{"/monitors", map[string]any{"name": "", "interval": 60, "page": "acme", "component_id": "nothing"}},
		[]string{"name", "component_id"}},
	{creation{"/monitors", map[string]any{"name": "Taken", "unique_name": true, "interval": 0, "page": "acme"}},
		[]string{"name", "interval"}},
	{creation{"/monitors", map[string]any{"name": "m", "interval": 60, "page": 1, "component_id": "nothing"}},
		[]string{"page"}},
	{creation{"/channels",
		map[string]any{
			"name": "", "slug": "taken", "type": "webhook", "url": "https://hooks.example.com/a",
			"fallback_id": "nobody",
		}},
		[]string{"name", "slug", "fallback_id"}},
	{creation{"/pages/acme/components", map[string]any{"name": "", "slug": "taken", "group": "nothing"}},
		[]string{"name", "slug", "group"}},
	{creation{"/pages/acme/components", map[string]any{"name": "Taken", "unique_name": true, "status": "fine"}},
		[]string{"name", "status"}},
	{creation{"/pages/acme/groups", map[string]any{"name": "", "slug": "taken"}}, []string{"name", "slug"}},
	{creation{"/incident-templates", map[string]any{"name": "Taken", "slug": "taken", "title": "", "page": "nowhere"}},
		[]string{"name", "slug", "title", "page"}},
	{creation{
		"/alert-rules", map[string]any{"name": "", "channel_ids": []any{"nobody"}, "monitor_ids": []any{"nothing"}},
	},
		[]string{"name", "channel_ids", "monitor_ids"}},
	{creation{"/on-call",
		map[string]any{
			"name": "", "slug": "taken",
			"participants": []any{map[string]any{"name": "Ada", "channel_ids": []any{"nobody"}}},
		}},
		[]string{"name", "slug", "participants"}},
	{creation{"/pages/acme/subscribers",
		map[string]any{"channel": "email", "target": "nobody", "components": []any{"nothing"}}},
		[]string{"target", "components"}},
	{creation{
		"/pages/acme/subscribers", map[string]any{"channel": "email", "target": 1, "components": []any{"nothing"}},
	},
		[]string{"target", "components"}},
	{creation{"/pages/acme/incidents",
		map[string]any{"title": "", "components": []any{map[string]any{"id": "nothing", "status": "degraded"}}}},
		[]string{"title", "components.0.id"}},
	{creation{"/pages/acme/maintenances", map[string]any{"title": "", "components": []any{"nothing"}}},
		[]string{"title", "components.0", "scheduled_for", "scheduled_until"}},
}

// TestProblemsAtOnce checks that a request is answered with everything that is wrong with it: what its fields say
// themselves, what they name that does not exist, and what others have already.
func TestProblemsAtOnce(t *testing.T) {
	each(t, func(t *testing.T, c *client) {
		c.put("/api/v1/pages/acme", map[string]any{"name": "Acme"}).is(201)
		for _, r := range takenNames {
			c.post("/api/v1"+r.target, r.body).is(201)
		}
		for _, r := range severalProblems {
			answer := c.post("/api/v1"+r.target, r.body)
			errors, _ := answer.object()["errors"].(map[string]any)
			if got := slices.Sorted(maps.Keys(errors)); !slices.Equal(got, slices.Sorted(slices.Values(r.fields))) {
				t.Errorf("%s: %v, want %v: %s", answer.asked, got, r.fields, answer.body)
			}
		}
	})
}
