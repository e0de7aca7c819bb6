package signin

import (
	"net/http"
	"net/url"

	"github.com/allswell/allswell/internal/domain/account"
	"github.com/allswell/allswell/internal/domain/kernel"
	"github.com/allswell/allswell/internal/surface/dashboard/frame"
	"github.com/allswell/allswell/internal/surface/signin/password"
)

// showSetup shows the first step, for the code that the first start prints.
func (r *request) showSetup() error {
	code := r.URL.Query().Get("code")
	if err := r.findCode(account.CodeSetup, code, nil); err != nil {
		return err
	}
	return r.showAccount(http.StatusOK, frame.NewForm(url.Values{"code": {code}}))
}

func (r *request) showAccount(status int, f *frame.Form) error {
	s := &frame.SetupStep{Form: f, Step: 1}
	s.DrawFields(
		frame.Field{Name: "name", Label: "Your name", Autocomplete: "name"},
		frame.Field{Name: "email", Label: "Email", Type: "email", Autocomplete: "username"},
		newPassword)
	return r.Show(status, "setup_account", s.Title(), s)
}

// setUp creates the first owner and signs in.
func (r *request) setUp() error {
	f := frame.NewForm(r.PostForm)
	if err := r.findCode(account.CodeSetup, f.Value("code"), nil); err != nil {
		return err
	}
	n := account.NewUser{Name: f.Value("name"), Email: f.Value("email")}
	if f.Refused(kernel.JoinInvalid(n.Validate(), password.Check(f.Value("password"), n.Name, n.Email))) {
		return r.showAccount(http.StatusUnprocessableEntity, f)
	}
	var err error
	n.PasswordHash, err = password.Hash(r.Context(), r.asker(frame.Attempter{Account: n.Email, Proven: true}),
		f.Value("password"))
	if err != nil {
		return err
	}
	secret, err := r.Store.SetUp(r.Context(), f.Value("code"), n, r.Browser())
	if err == nil {
		r.rememberBrowser(n.PasswordHash)
	}
	return r.startSession(secret, err, frame.Path+"/setup/page")
}
