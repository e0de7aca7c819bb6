package api

import (
	"bytes"
	"testing"

	"github.com/allswell/allswell/internal/domain/kernel"
)

// TestStaleIfMatchChangesNothing sends a condition that no resource meets to every route that
// writes.
func TestStaleIfMatchChangesNothing(t *testing.T) {
	each(t, func(t *testing.T, c *client) {
		w := c.build("acme")
		c.unchanged(func() {
			for _, rt := range routes() {
				if rt.method == "GET" {
					c.do(rt.method, w.path(rt), nil, "If-Match", `"0000000000000000"`).is(200)
					continue
				}
				body := validBody(t, rt, w)
				for _, tags := range []string{`"0000000000000000"`, ""} {
					c.do(rt.method, w.path(rt), body, "If-Match", tags).is(412)
				}
				c.do(rt.method, w.path(rt), body, "If-None-Match", "*").is(412)
				if !rt.hasEntityTag() {
					c.do(rt.method, w.path(rt), body, "If-Match", "*").is(412)
				}
				c.with("").do(rt.method, w.path(rt), body, "If-Match", `"0000000000000000"`).is(401)
			}
		})
	})
}

// TestIfMatchWithTheTag changes and deletes each resource that has an entity tag, with the tag of the
// response before.
func TestIfMatchWithTheTag(t *testing.T) {
	each(t, func(t *testing.T, c *client) {
		w := c.build("acme")
		page, component := "/api/v1/pages/acme", "/api/v1/pages/acme/components/"+w.component
		monitor, subscriber := "/api/v1/monitors/"+w.monitor, page+"/subscribers/"+w.subscriber
		for _, tt := range []struct{ get, patch, body string }{
			{page, page, `{"name":"Acme 2","accent":"#102030"}`},
			{component, "/api/v1/components/" + w.component, `{"name":"API 2","group":""}`},
			{component, component, `{"status":"degraded","description":"Slow"}`},
			{monitor, monitor, `{"name":"Backup 2","interval":120}`},
			{subscriber, subscriber, `{"components":[]}`},
		} {
			old := c.get(tt.get).is(200).header.Get("ETag")
			changed := c.do("PATCH", tt.patch, tt.body, "If-Match", `"x", `+old).is(200).header.Get("ETag")
			if got := c.get(tt.get).is(200).header.Get("ETag"); changed == "" || changed == old || got != changed {
				t.Errorf("PATCH %s changes the tag %s to %s; GET returns %s", tt.patch, old, changed, got)
			}
			c.do("PATCH", tt.patch, tt.body, "If-Match", old).is(412)
			c.do("PATCH", tt.patch, tt.body, "If-None-Match", changed).complains("If-None-Match")
			c.do("PATCH", tt.patch, tt.body, "If-Match", "*").is(200)
		}
		c.do("PATCH", "/api/v1/pages/nowhere", `{"name":"x"}`, "If-Match", "*").is(404)
		for _, path := range []string{subscriber, monitor, component, page} {
			tag := c.get(path).is(200).header.Get("ETag")
			c.do("DELETE", path, nil, "If-Match", "W/"+tag).is(412)
			c.do("DELETE", path, nil, "If-Match", tag).is(204)
			c.do("DELETE", path, nil, "If-Match", tag).is(404)
		}
	})
}

// TestIdempotencyKeyIsForPost sends the header to every other route that writes.
func TestIdempotencyKeyIsForPost(t *testing.T) {
	each(t, func(t *testing.T, c *client) {
		w := c.build("acme")
		for _, rt := range routes() {
			switch rt.method + " " + rt.path {
			case "PATCH /api/v1/incidents/{incidentId}", "PATCH /api/v1/pages/{pageSlug}/components/{componentId}":
				a := c.do(rt.method, w.path(rt), validBody(t, rt, w), "Idempotency-Key", "k").is(200)
				if a.header.Get("Idempotency-Replayed") != "" {
					t.Errorf("%s is replayed", a.asked)
				}
				continue
			}
			switch rt.method {
			case "GET":
				c.do(rt.method, w.path(rt), nil, "Idempotency-Key", "k").is(200)
			case "PUT", "PATCH", "DELETE":
				c.unchanged(func() {
					c.do(rt.method, w.path(rt), validBody(t, rt, w), "Idempotency-Key",
						"k").complains("Idempotency-Key")
				})
			}
		}
	})
}

// TestReadTokensGetNoPingTokens reads everything with a read token.
func TestReadTokensGetNoPingTokens(t *testing.T) {
	each(t, func(t *testing.T, c *client) {
		w := c.build("acme")
		reader, monitor := c.with(c.issue(kernel.ScopeRead)), "/api/v1/monitors/"+w.monitor
		shown := c.with(c.issue(kernel.ScopeWrite)).get(monitor).is(200)
		token := shown.data()["token"].(string)
		url := shown.data()["ping_url"]
		if len(token) != 32 || url != "http://status.example.com/api/v1/heartbeat/"+token {
			t.Errorf("with a write token: %q, %v", token, url)
		}
		for _, rt := range routes() {
			if rt.method == "GET" && rt.needs.Scope == kernel.ScopeRead {
				if a := reader.get(w.path(rt)).is(200); bytes.Contains(a.body, []byte(token)) {
					t.Errorf("%s shows the ping token to a read token", a.asked)
				}
			}
		}
		got := reader.get(monitor).has(map[string]any{"id": w.monitor, "token": nil, "ping_url": nil})
		if got.header.Get("ETag") != shown.header.Get("ETag") {
			t.Errorf("the entity tag is %s, with a read token %s", shown.header.Get("ETag"), got.header.Get("ETag"))
		}
	})
}
