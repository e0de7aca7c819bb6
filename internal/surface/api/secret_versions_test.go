package api

import (
	"reflect"
	"slices"
	"strings"
	"testing"
)

// TestReplacedSecretsAreSeen replaces secrets without changing anything else. The entity tag and the audit log say so,
// and neither has a secret.
func TestReplacedSecretsAreSeen(t *testing.T) {
	const first, second = "first-secret-x7Hq2", "second-secret-k3Pw9"
	channels, monitors := "/api/v1/channels", "/api/v1/monitors"
	each(t, func(t *testing.T, c *client) {
		plain := func(s string) any { return s }
		header := func(s string) any { return map[string]any{"A": s} }
		after := func(prefix string) func(string) any { return func(s string) any { return prefix + s } }
		phone, target := map[string]any{"to": "+4915112345678"},
			map[string]any{"url": "https://www.example.com", "username": "me"}
		gateway := map[string]any{"to": "+4915112345678", "url": "https://sms.example.com"}
		for _, tt := range []struct {
			path, kind, field string
			fields            map[string]any
			value             func(secret string) any
		}{
			{channels, "ntfy", "topic", nil, plain},
			{channels, "ntfy", "access_token", map[string]any{"topic": "x7"}, plain},
			{channels, "webhook", "url", nil, after("https://ops.example.com/")},
			{channels, "slack", "url", nil, after("https://hooks.slack.com/services/")},
			{channels, "sms", "url", phone, after("https://sms.example.com/?k=")},
			{channels, "sms", "headers", gateway, header},
			{monitors, "http", "password", target, plain},
			{monitors, "http", "secret_headers", target, header},
		} {
			body := map[string]any{"type": tt.kind, "name": tt.kind + tt.field, tt.field: tt.value(first)}
			for name, value := range tt.fields {
				body[name] = value
			}
			made := c.post(tt.path, body).is(201)
			path := tt.path + "/" + made.id()
			tags := []string{c.get(path).is(200).header.Get("ETag")}
			entries := 1
			for n, secret := range []string{second, second, first} {
				last := tags[len(tags)-1]
				change := map[string]any{tt.field: tt.value(secret)}
				tag := c.do("PATCH", path, change, "If-Match", last).is(200).header.Get("ETag")
				if same := n == 1; same != (tag == last) || tag != c.get(path).header.Get("ETag") {
					t.Errorf("%s of %s: change %d makes the tag %s of %s", tt.field, tt.kind, n, tag, last)
				}
				if tag == last {
					continue
				}
				if slices.Contains(tags, tag) {
					t.Errorf("%s of %s: an earlier tag comes back", tt.field, tt.kind)
				}
				tags, entries = append(tags, tag), entries+1
				c.do("PATCH", path, map[string]any{tt.field: tt.value("third")}, "If-Match", last).is(412)
				log := c.get("/api/v1/audit?object=" + made.id()).is(200)
				newest, want := log.rows()[0], map[string]any{"changed_secrets": []any{tt.field}}
				same := newest["action"] == "update" && reflect.DeepEqual(newest["before"], map[string]any{}) &&
					reflect.DeepEqual(newest["after"], want)
				if len(log.rows()) != entries || !same || strings.Contains(string(log.body), "-secret-") {
					t.Errorf("%s of %s: %d entries, the last is %v", tt.field, tt.kind, len(log.rows()), newest)
				}
			}
		}
	})
}

// TestRemovedSecretsAreSeen removes a secret, and adds it again.
func TestRemovedSecretsAreSeen(t *testing.T) {
	each(t, func(t *testing.T, c *client) {
		made := c.post("/api/v1/channels", map[string]any{
			"type": "ntfy", "name": "Ops", "topic": "x7", "access_token": "t",
		}).is(201)
		path := "/api/v1/channels/" + made.id()
		tags := []string{c.get(path).is(200).header.Get("ETag")}
		for _, value := range []any{nil, "t"} {
			tag := c.patch(path, map[string]any{"access_token": value}).is(200).header.Get("ETag")
			if slices.Contains(tags, tag) {
				t.Errorf("with %v: an earlier tag comes back", value)
			}
			tags = append(tags, tag)
			after := c.get("/api/v1/audit?object=" + made.id()).is(200).rows()[0]["after"]
			if got := after.(map[string]any)["changed_secrets"]; !reflect.DeepEqual(got, []any{"access_token"}) {
				t.Errorf("with %v: the log has %v", value, after)
			}
		}
		tag := c.patch(path, map[string]any{"access_token": nil}).is(200).header.Get("ETag")
		if slices.Contains(tags, tag) {
			t.Error("removed again: an earlier tag comes back")
		}
	})
}

// TestRotatedSecretsAreSeen rotates a ping token and the secret of a subscriber.
func TestRotatedSecretsAreSeen(t *testing.T) {
	each(t, func(t *testing.T, c *client) {
		w := c.build("acme")
		for path, field := range map[string]string{
			"/api/v1/monitors/" + w.monitor:                  "token",
			"/api/v1/pages/acme/subscribers/" + w.subscriber: "secret",
		} {
			before := c.get(path).is(200).header.Get("ETag")
			c.post(path+"/rotate", nil).is(200)
			if c.get(path).is(200).header.Get("ETag") == before {
				t.Errorf("%s has the same tag", path)
			}
			c.do("DELETE", path, nil, "If-Match", before).is(412)
			newest := c.get("/api/v1/audit?action=rotate&object=" +
				path[strings.LastIndexByte(path, '/')+1:]).is(200).rows()[0]
			if !reflect.DeepEqual(newest["after"], map[string]any{"changed_secrets": []any{field}}) {
				t.Errorf("%s: the log has %v", path, newest)
			}
		}
	})
}
