package api

import (
	"net/http"

	"github.com/allswell/allswell/internal/domain/account"
	"github.com/allswell/allswell/internal/domain/kernel"
	"github.com/allswell/allswell/internal/resource/rights"
	"github.com/allswell/allswell/internal/shared/jsonobject"
	"github.com/allswell/allswell/internal/shared/optional"
	"github.com/allswell/allswell/internal/store"
)

var tokenRoutes = []route{
	{"GET", "/api/v1/tokens", rights.TokenManage, (*api).listTokens, operation{
		id:      "listTokens",
		summary: "List all API tokens, including revoked ones, without their secrets.",
		returns: list("Token"),
	}},
	{"POST", "/api/v1/tokens", rights.TokenManage, (*api).issueToken, operation{
		id:      "issueToken",
		summary: "Create an API token.",
		text:    "The response has its secret, which is shown only once.",
		returns: created("IssuedToken", "The new token."),
	}},
	{"DELETE", "/api/v1/tokens/{tokenId}", rights.TokenManage, (*api).revokeToken, operation{
		id:      "revokeToken",
		summary: "Revoke an API token immediately.",
		returns: nothing("The token is revoked. It may have been revoked before."),
	}},
}

type tokenJSON struct {
	ID         string       `json:"id"`
	Name       string       `json:"name"`
	Scope      kernel.Scope `json:"scope"`
	Pages      []string     `json:"pages"` // null: all
	CreatedAt  string       `json:"created_at"`
	ExpiresAt  *string      `json:"expires_at"`
	LastUsedAt *string      `json:"last_used_at"`
	RevokedAt  *string      `json:"revoked_at"`
}

func newTokenJSON(t account.Token) tokenJSON {
	return tokenJSON{
		ID: t.ID, Name: t.Name, Scope: t.Scope, Pages: pagesJSON(t.Limit), CreatedAt: kernel.FormatTime(t.CreatedAt),
		ExpiresAt: timePtr(t.ExpiresAt), LastUsedAt: timePtr(t.LastUsedAt), RevokedAt: timePtr(t.RevokedAt),
	}
}

// pagesJSON returns the slugs of a page limit, or nil if there is no limit.
func pagesJSON(l account.PageLimit) []string {
	if l.Limited && l.Pages == nil { // all of them were deleted
		return []string{}
	}
	return l.Pages
}

// issuedTokenJSON is a new token with its secret, which is shown only once.
type issuedTokenJSON struct {
	tokenJSON
	Token string `json:"token"`
}

func newIssuedTokenJSON(t account.IssuedToken) issuedTokenJSON {
	return issuedTokenJSON{newTokenJSON(t.Token), t.Secret}
}

// listTokens returns all tokens, including revoked ones, without their secrets.
func (a *api) listTokens(c *call) (store.Response, error) {
	return serveList(c, newTokenJSON, func(r store.Pagination) ([]account.Token, int, error) {
		return a.store.Tokens(c.Context(), c.actor(), r)
	})
}

func (a *api) issueToken(c *call) (store.Response, error) {
	o, err := c.object()
	if err != nil {
		return store.Response{}, err
	}
	o.Require("scope")
	n := account.NewToken{
		Name:  optional.Value(o.Text("name")),
		Scope: optional.Value(jsonobject.Enum(o, "scope", kernel.Scopes)),

		ExpiresAt: optional.Value(o.Instant("expires_at")),
		Limit:     account.LimitTo(o.Texts("pages")),
	}
	if err := o.Check(n.Validate()); err != nil {
		return store.Response{}, err
	}
	r := newResponder(c, http.StatusCreated, newIssuedTokenJSON)
	return r.respond(a.store.IssueToken(c.Context(), c.actor(), n, r.save...))
}

func (a *api) revokeToken(c *call) (store.Response, error) {
	return noContent(a.store.RevokeToken(c.Context(), c.actor(), c.PathValue("tokenId")))
}
