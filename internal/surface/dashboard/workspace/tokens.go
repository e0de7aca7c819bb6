package workspace

import (
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/allswell/allswell/internal/domain/account"
	"github.com/allswell/allswell/internal/domain/kernel"
	"github.com/allswell/allswell/internal/surface/dashboard/frame"
)

// tokensScreen is the data of the template tokens.
type tokensScreen struct {
	*frame.Form
	Fields []frame.Field
	Now    time.Time

	LimitTo frame.LimitForm
	Issued  account.IssuedToken // the token that has just been created; zero: none
	Tokens  []account.Token
	Pager   frame.Pager
	Back    string // URL of the current list
}

// showTokens lists the API tokens of the workspace.
func (r *request) showTokens() error {
	return r.listTokens(http.StatusOK, frame.NewForm(url.Values{"scope": {string(kernel.ScopeRead)}}),
		account.IssuedToken{})
}

func (r *request) listTokens(status int, f *frame.Form, issued account.IssuedToken) error {
	const path = frame.Path + "/tokens"
	query := r.URL.Query()
	rows := frame.Pagination(query)
	tokens, total, err := r.Store.Tokens(r.Context(), r.Actor(), rows)
	if err != nil {
		return err
	}
	s := tokensScreen{
		Form: f, Issued: issued, Tokens: tokens, Pager: frame.NewPager(path, url.Values{}, rows, len(tokens), total),
	}
	s.Now = r.Now()
	if s.LimitTo, err = r.LimitForm(f.Values); err != nil {
		return err
	}
	s.Back = path + "?" + url.Values{"p": {query.Get("p")}}.Encode()
	s.Fields = []frame.Field{
		f.Draw(frame.Field{
			Name: "name", Label: "Name", Placeholder: "deploy pipeline", Hint: "The person or program that uses it.",
		}),
		f.Draw(frame.Field{Name: "scope", Label: "Scope", Type: "select", Options: []frame.Option{
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
		f.Draw(frame.Field{Name: "expires_in", Label: "Expires", Type: "select", Options: tokenAges}),
	}
	return r.Show(status, "tokens", "Tokens", s)
}

// tokenAges are the lifetimes that the form offers, as durations.
var tokenAges = []frame.Option{
	{Label: "never"}, {Value: "168h", Label: "in 7 days"}, {Value: "720h", Label: "in 30 days"},
	{Value: "2160h", Label: "in 90 days"}, {Value: "8760h", Label: "in a year"},
}

// expiry returns the expiry of a token that is created now; the zero time: never.
func (r *request) expiry(f *frame.Form) (at time.Time, err error) {
	if f.Value("expires_in") == "" {
		return at, nil
	}
	age, err := time.ParseDuration(f.Value("expires_in"))
	if err != nil || age <= 0 {
		var bad kernel.ValidationError
		bad.Add("expires_in", "Choose one of the times.")
		return at, bad.Err()
	}
	return r.Now().Add(age).UTC().Truncate(time.Second), nil
}

// createToken creates a token. The response itself shows its secret, so that no URL ever contains it.
func (r *request) createToken() error {
	f := frame.NewForm(r.PostForm)
	n := account.NewToken{Name: strings.TrimSpace(f.Value("name")), Scope: kernel.Scope(f.Value("scope"))}
	if limit := frame.ReadLimit(f.Values); limit != nil {
		n.Limit = *limit
	}
	var issued account.IssuedToken
	var err error
	if n.ExpiresAt, err = r.expiry(f); err == nil {
		issued, err = r.Store.IssueToken(r.Context(), r.Actor(), n)
	}
	if f.Refused(err) {
		return r.listTokens(http.StatusUnprocessableEntity, f, account.IssuedToken{})
	}
	if err != nil {
		return err
	}
	return r.listTokens(http.StatusCreated, frame.NewForm(url.Values{"scope": {string(kernel.ScopeRead)}}), issued)
}

// revokeToken revokes a token.
func (r *request) revokeToken() error {
	if err := r.Store.RevokeToken(r.Context(), r.Actor(), r.PathValue("token")); err != nil {
		return err
	}
	return r.Redirect(frame.LocalPath(r.PostForm.Get("back")))
}
