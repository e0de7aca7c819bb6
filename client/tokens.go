package client

import (
	"context"
	"encoding/json"
	"net/http"
	"time"
)

// Token is an API token.
type Token struct {
	Meta
	ID         string     `json:"id"`
	Name       string     `json:"name"`
	Scope      Scope      `json:"scope"`
	Pages      []string   `json:"pages"` // slugs of the pages to which it is limited; nil: all
	CreatedAt  time.Time  `json:"created_at"`
	ExpiresAt  *time.Time `json:"expires_at"` // nil: never
	LastUsedAt *time.Time `json:"last_used_at"`
	RevokedAt  *time.Time `json:"revoked_at"` // nil: valid
	Secret     string     `json:"token"`      // only after IssueToken
}

// NewToken describes a token to issue.
type NewToken struct {
	Name      string     `json:"name"`
	Scope     Scope      `json:"scope"`
	ExpiresAt *time.Time `json:"expires_at,omitempty"` // nil: never
	Pages     []string   `json:"pages,omitempty"`      // slugs of the pages to limit it to; nil: all
}

// ListTokens returns the API tokens, also revoked ones, without their secrets.
func (c *Client) ListTokens() *List[Token] { return &List[Token]{client: c, path: pathOf("tokens")} }

// IssueToken creates an API token. Its secret is returned only here.
func (c *Client) IssueToken(ctx context.Context, token NewToken, options ...CallOption) (*Token, error) {
	return post[Token](ctx, c, pathOf("tokens"), token, options...)
}

// RevokeToken revokes an API token immediately.
func (c *Client) RevokeToken(ctx context.Context, id string) error {
	return c.remove(ctx, pathOf("tokens", id))
}

// Describe returns the OpenAPI document of the server. It needs no API token.
func (c *Client) Describe(ctx context.Context) (json.RawMessage, error) {
	answer, err := c.do(ctx, request{method: http.MethodGet, path: pathOf("openapi.json"), anonymous: true})
	if err != nil {
		return nil, err
	}
	return answer.raw, nil
}
