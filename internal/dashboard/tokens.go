package dashboard

import (
	"net/http"
	"net/url"
	"strings"

	"github.com/allswell/allswell"
)

// tokensScreen is what the template tokens shows.
type tokensScreen struct {
	*form
	Fields []field
	Issued allswell.IssuedToken // what has just been created; the zero value: nothing
	Tokens []allswell.Token
	Pager  pager
	Back   string // the list as it is shown
}

// showTokens lists the API tokens of the workspace.
func (v *visit) showTokens() error {
	return v.listTokens(http.StatusOK, newForm(url.Values{"scope": {string(allswell.ScopeRead)}}), allswell.IssuedToken{})
}

func (v *visit) listTokens(status int, f *form, issued allswell.IssuedToken) error {
	const path = Path + "/tokens"
	query := v.r.URL.Query()
	r := pagination(query)
	tokens, total, err := v.store.Tokens(v.r.Context(), v.actor(), r)
	if err != nil {
		return err
	}
	s := tokensScreen{form: f, Issued: issued, Tokens: tokens, Pager: newPager(path, url.Values{}, r, len(tokens), total)}
	s.Back = path + "?" + url.Values{"p": {query.Get("p")}}.Encode()
	s.Fields = []field{
		f.draw(field{Name: "name", Label: "Name", Placeholder: "deploy pipeline", Hint: "Who or what uses it."}),
		f.draw(field{Name: "scope", Label: "Scope", Type: "select", Options: []option{
			{Value: string(allswell.ScopeRead), Label: "read: see everything but secrets and addresses"},
			{Value: string(allswell.ScopeWrite), Label: "write: also change pages, incidents and monitors"},
			{Value: string(allswell.ScopeAdmin), Label: "admin: also create and revoke tokens"},
		}}),
	}
	return v.show(status, "tokens", "Tokens", s)
}

// createToken creates a token. The answer shows its secret, so that no address ever has it.
func (v *visit) createToken() error {
	f := newForm(v.r.PostForm)
	issued, err := v.store.IssueToken(v.r.Context(), v.actor(), allswell.NewToken{
		Name: strings.TrimSpace(f.Value("name")), Scope: allswell.Scope(f.Value("scope")),
	})
	if f.refused(err) {
		return v.listTokens(http.StatusUnprocessableEntity, f, allswell.IssuedToken{})
	}
	if err != nil {
		return err
	}
	return v.listTokens(http.StatusCreated, newForm(url.Values{"scope": {string(allswell.ScopeRead)}}), issued)
}

// revokeToken revokes a token.
func (v *visit) revokeToken() error {
	if err := v.store.RevokeToken(v.r.Context(), v.actor(), v.r.PathValue("token")); err != nil {
		return err
	}
	return v.redirect(localPath(v.r.PostForm.Get("back")))
}
