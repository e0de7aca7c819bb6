package dashboard

import (
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/allswell/allswell/internal/domain/account"
	"github.com/allswell/allswell/internal/domain/kernel"
)

// tokensScreen is the data of the template tokens.
type tokensScreen struct {
	*form
	Fields []field
	Now    time.Time

	LimitTo limitForm
	Issued  account.IssuedToken // what has just been created; the zero value: nothing
	Tokens  []account.Token
	Pager   pager
	Back    string // the list as it is shown
}

// showTokens lists the API tokens of the workspace.
func (v *visit) showTokens() error {
	return v.listTokens(http.StatusOK, newForm(url.Values{"scope": {string(kernel.ScopeRead)}}), account.IssuedToken{})
}

func (v *visit) listTokens(status int, f *form, issued account.IssuedToken) error {
	const path = Path + "/tokens"
	query := v.r.URL.Query()
	r := pagination(query)
	tokens, total, err := v.store.Tokens(v.r.Context(), v.actor(), r)
	if err != nil {
		return err
	}
	s := tokensScreen{
		form: f, Issued: issued, Tokens: tokens, Pager: newPager(path, url.Values{}, r, len(tokens), total),
	}
	s.Now = v.now()
	if s.LimitTo, err = v.limitForm(f.values); err != nil {
		return err
	}
	s.Back = path + "?" + url.Values{"p": {query.Get("p")}}.Encode()
	s.Fields = []field{
		f.draw(field{
			Name: "name", Label: "Name", Placeholder: "deploy pipeline", Hint: "The person or program that uses it.",
		}),
		f.draw(field{Name: "scope", Label: "Scope", Type: "select", Options: []option{
			{Value: string(kernel.ScopeRead), Label: "read: see everything but secrets and addresses"},
			{
				Value: string(kernel.ScopeWrite),
				Label: "write: also change pages, incidents, monitors, subscribers and on-call schedules",
			},
			{
				Value: string(kernel.ScopeAdmin),
				Label: "admin: also change channels and rules, manage tokens and members, and read the audit log",
			},
		}}),
		f.draw(field{Name: "expires_in", Label: "Expires", Type: "select", Options: tokenAges}),
	}
	return v.show(status, "tokens", "Tokens", s)
}

// tokenAges are the lifetimes that the form offers, as durations.
var tokenAges = []option{
	{Label: "never"}, {Value: "168h", Label: "in 7 days"}, {Value: "720h", Label: "in 30 days"},
	{Value: "2160h", Label: "in 90 days"}, {Value: "8760h", Label: "in a year"},
}

// expiry returns when a token expires that is created now; the zero time: never.
func (v *visit) expiry(f *form) (at time.Time, err error) {
	if f.Value("expires_in") == "" {
		return at, nil
	}
	age, err := time.ParseDuration(f.Value("expires_in"))
	if err != nil || age <= 0 {
		var bad kernel.ValidationError
		bad.Add("expires_in", "Choose one of the times.")
		return at, bad.Err()
	}
	return v.now().Add(age).UTC().Truncate(time.Second), nil
}

// createToken creates a token. The answer shows its secret, so that no address ever has it.
func (v *visit) createToken() error {
	f := newForm(v.r.PostForm)
	n := account.NewToken{Name: strings.TrimSpace(f.Value("name")), Scope: kernel.Scope(f.Value("scope"))}
	if limit := readLimit(f.values); limit != nil {
		n.Limit = *limit
	}
	var issued account.IssuedToken
	var err error
	if n.ExpiresAt, err = v.expiry(f); err == nil {
		issued, err = v.store.IssueToken(v.r.Context(), v.actor(), n)
	}
	if f.refused(err) {
		return v.listTokens(http.StatusUnprocessableEntity, f, account.IssuedToken{})
	}
	if err != nil {
		return err
	}
	return v.listTokens(http.StatusCreated, newForm(url.Values{"scope": {string(kernel.ScopeRead)}}), issued)
}

// revokeToken revokes a token.
func (v *visit) revokeToken() error {
	if err := v.store.RevokeToken(v.r.Context(), v.actor(), v.r.PathValue("token")); err != nil {
		return err
	}
	return v.redirect(localPath(v.r.PostForm.Get("back")))
}
