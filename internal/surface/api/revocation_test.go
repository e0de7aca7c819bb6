package api

import (
	"io"
	"strings"
	"testing"

	"github.com/allswell/allswell/internal/domain/kernel"
)

// revokingBody is a body whose token is revoked while it is read.
type revokingBody struct {
	io.Reader
	revoke func()
}

// Read revokes the token, once.
func (b *revokingBody) Read(p []byte) (int, error) {
	if b.revoke != nil {
		b.revoke()
		b.revoke = nil
	}
	return b.Reader.Read(p)
}

// TestTokenRevokedWhileTheBodyArrives: the request was authenticated before the token was
// revoked, and its body ends after that. It is refused.
func TestTokenRevokedWhileTheBodyArrives(t *testing.T) {
	each(t, func(t *testing.T, c *client) {
		for _, r := range []struct{ method, target, body, list string }{
			{"POST", "/api/v1/tokens", `{"name": "second", "scope": "admin"}`, "/api/v1/tokens"},
			{"PUT", "/api/v1/pages/acme", `{"name": "Acme"}`, "/api/v1/pages"},
		} {
			token := c.post("/api/v1/tokens", map[string]any{
				"name": "first", "scope": kernel.ScopeAdmin,
			}).is(201).data()
			before := string(c.get(r.list).is(200).body)
			body := &revokingBody{strings.NewReader(r.body), func() {
				c.delete("/api/v1/tokens/" + token["id"].(string)).is(204)
				before = string(c.get(r.list).is(200).body)
			}}
			late := c.with(token["token"].(string))
			late.do(r.method, r.target, body).is(401)
			if got := string(c.get(r.list).is(200).body); got != before {
				t.Errorf("%s %s with a revoked token changed\n%s\nto\n%s", r.method, r.target, before, got)
			}
		}
	})
}

// TestSavedResponseOfARevokedToken: the repetition of a request does not show its response
// to a token that is revoked while the body arrives.
func TestSavedResponseOfARevokedToken(t *testing.T) {
	each(t, func(t *testing.T, c *client) {
		token := c.post("/api/v1/tokens", map[string]any{"name": "first", "scope": kernel.ScopeAdmin}).is(201).data()
		first := c.with(token["token"].(string))
		const body = `{"name": "second", "scope": "read"}`
		first.do("POST", "/api/v1/tokens", body, "Idempotency-Key", "k").is(201)
		first.do("POST", "/api/v1/tokens", body, "Idempotency-Key", "k").is(201)
		late := &revokingBody{strings.NewReader(body), func() {
			c.delete("/api/v1/tokens/" + token["id"].(string)).is(204)
		}}
		first.do("POST", "/api/v1/tokens", late, "Idempotency-Key", "k").is(401)
	})
}
