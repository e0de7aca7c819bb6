package signin

import (
	"errors"
	"net/http"

	"github.com/allswell/allswell/internal/domain/account"
	"github.com/allswell/allswell/internal/domain/kernel"
	"github.com/allswell/allswell/internal/surface/dashboard/frame"
	"github.com/allswell/allswell/internal/surface/signin/password"
)

// resetScreen is the data of the template reset.
type resetScreen struct {
	*frame.Form
	Code     string
	User     account.User
	Password frame.Field
}

// showReset shows the form for a new password, for the code of a link.
func (r *request) showReset() error {
	s := &resetScreen{Form: frame.NewForm(r.URL.Query()), Code: r.URL.Query().Get("code")}
	if err := r.findCode(account.CodeReset, s.Code, &s.User); err != nil {
		return err
	}
	return r.showResetForm(http.StatusOK, s)
}

func (r *request) showResetForm(status int, s *resetScreen) error {
	s.Password = s.Draw(newPassword)
	return r.Show(status, "reset", "New password", s)
}

// newPassword is the field for choosing a password.
var newPassword = frame.Field{Name: "password", Label: "New password", Type: "password", Autocomplete: "new-password",
	Hint: "At least 12 characters. Four random words are easy to remember."}

// findCode looks up a code without using it up. user may be nil.
func (r *request) findCode(purpose account.CodePurpose, code string, user *account.User) error {
	found, err := r.Store.FindCode(r.Context(), purpose, code)
	if errors.Is(err, kernel.ErrNotFound) {
		if err := r.Attempt(frame.Attempter{}); err != nil {
			return err
		}
		return errBadCode
	}
	if user != nil {
		*user = found
	}
	return err
}

// reset sets the password and signs in.
func (r *request) reset() error {
	s := &resetScreen{Form: frame.NewForm(r.PostForm), Code: r.PostForm.Get("code")}
	if err := r.findCode(account.CodeReset, s.Code, &s.User); err != nil {
		return err
	}
	chosen := r.PostForm.Get("password")
	if s.Refused(password.Check(chosen, s.User.Name, s.User.Email)) {
		return r.showResetForm(http.StatusUnprocessableEntity, s)
	}
	hash, err := password.Hash(r.Context(), r.asker(frame.Attempter{Account: s.User.Email, Proven: true}), chosen)
	if err != nil {
		return err
	}
	in, err := r.Store.ResetPassword(r.Context(), s.Code, hash, r.Browser())
	if err == nil && in.Pending == "" {
		r.rememberBrowser(hash)
	}
	return r.passwordProved(in, err, frame.Path)
}
