package api

import (
	"context"
	"net/http"

	"github.com/allswell/allswell"
	"github.com/allswell/allswell/internal/store"
	"github.com/allswell/allswell/internal/web"
)

// listTokens shows revoked ones too; none with its secret.
func (a *api) listTokens(c *call) (store.Answer, error) {
	return list(c, presentToken, func(r store.Range) ([]allswell.Token, int, error) {
		return a.store.Tokens(c.Context(), c.workspace(), r)
	})
}

func (a *api) issueToken(c *call) (store.Answer, error) {
	o, err := c.object()
	if err != nil {
		return store.Answer{}, err
	}
	o.Require("scope")
	n := allswell.NewToken{
		Name:  orZero(o.Text("name")),
		Scope: orZero(web.Enum(o, "scope", allswell.Scopes)),
	}
	if err := o.Check(n.Validate()); err != nil {
		return store.Answer{}, err
	}
	return act(c, http.StatusCreated, presentIssuedToken, func(ctx context.Context) (allswell.IssuedToken, error) {
		return a.store.IssueToken(ctx, c.workspace(), n)
	})
}

func (a *api) revokeToken(c *call) (store.Answer, error) {
	return gone(a.store.RevokeToken(c.Context(), c.workspace(), c.PathValue("tokenId")))
}
