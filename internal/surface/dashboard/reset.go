package dashboard

import (
	"errors"
	"net/http"

	"github.com/allswell/allswell/internal/domain/account"
	"github.com/allswell/allswell/internal/domain/kernel"
	"github.com/allswell/allswell/internal/surface/signin/password"
)

// resetScreen is the data of the template reset.
type resetScreen struct {
	*form
	Code     string
	User     account.User
	Password field
}

// showReset shows the form for a new password, for the code of a link.
func (v *visit) showReset() error {
	s := &resetScreen{form: newForm(v.r.URL.Query()), Code: v.r.URL.Query().Get("code")}
	if err := v.findCode(account.CodeReset, s.Code, &s.User); err != nil {
		return err
	}
	return v.showResetForm(http.StatusOK, s)
}

func (v *visit) showResetForm(status int, s *resetScreen) error {
	s.Password = s.draw(newPassword)
	return v.show(status, "reset", "New password", s)
}

// newPassword is the field of a password that is chosen.
var newPassword = field{Name: "password", Label: "New password", Type: "password", Autocomplete: "new-password",
	Hint: "At least 12 characters. Four words at random are easy to remember."}

// errBadCode means that a one-time code is unknown, was used, or has expired.
var errBadCode = errors.New("the code is not valid")

// findCode looks up a code without using it up. user may be nil.
func (v *visit) findCode(purpose account.CodePurpose, code string, user *account.User) error {
	found, err := v.store.FindCode(v.r.Context(), purpose, code)
	if errors.Is(err, kernel.ErrNotFound) {
		if err := v.attempt(attempter{}); err != nil {
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
func (v *visit) reset() error {
	s := &resetScreen{form: newForm(v.r.PostForm), Code: v.r.PostForm.Get("code")}
	if err := v.findCode(account.CodeReset, s.Code, &s.User); err != nil {
		return err
	}
	chosen := v.r.PostForm.Get("password")
	if s.refused(password.Check(chosen, s.User.Name, s.User.Email)) {
		return v.showResetForm(http.StatusUnprocessableEntity, s)
	}
	hash, err := password.Hash(v.r.Context(), v.asker(attempter{account: s.User.Email, proven: true}), chosen)
	if err != nil {
		return err
	}
	in, err := v.store.ResetPassword(v.r.Context(), s.Code, hash, v.browser())
	if err == nil && in.Pending == "" {
		v.rememberBrowser(hash)
	}
	return v.passwordProved(in, err, Path)
}
