package dashboard

import (
	"cmp"
	"errors"
	"net/http"
	"net/url"
	"strings"

	"github.com/allswell/allswell/internal/domain/account"
	"github.com/allswell/allswell/internal/domain/kernel"
	"github.com/allswell/allswell/internal/store"
	"github.com/allswell/allswell/internal/surface/signin/password"
)

// acceptScreen is the data of the template accept: an invitation, as the invited person sees it.
type acceptScreen struct {
	*form
	store.FoundInvitation
	SignedInAs string // e-mail address of another account that is signed in; "": none
	Fields     []field

	Provider     string // at which the invited person can sign in
	ProviderLink string // "": none
	NoPassword   bool   // the person has to sign in there
}

// findInvitation looks up the invitation with the code of a form.
func (v *visit) findInvitation(values url.Values) (*acceptScreen, error) {
	s := &acceptScreen{form: newForm(values)}
	var err error
	s.FoundInvitation, err = v.store.FindInvitation(v.r.Context(), values.Get("code"))
	if errors.Is(err, kernel.ErrNotFound) {
		if err := v.attempt(attempter{}); err != nil {
			return s, err
		}
		return s, errBadCode
	}
	if v.in.ID != "" && v.in.User.ID != s.UserID {
		s.SignedInAs = v.in.User.Email
	}
	return s, err
}

// showAccept shows an invitation.
func (v *visit) showAccept() error {
	s, err := v.findInvitation(v.r.URL.Query())
	if errors.Is(err, errBadCode) && v.in.ID != "" && v.r.URL.Query().Has("signed_in") { // the sign-in has accepted it
		return v.redirect(Path)
	}
	if err != nil {
		return err
	}
	return v.showAcceptForm(http.StatusOK, s)
}

func (v *visit) showAcceptForm(status int, s *acceptScreen) error {
	if v.in.ID == "" {
		s.Provider, s.NoPassword = v.sso.ProviderName, v.sso.NoPasswords
		s.ProviderLink = v.oidcLink(Path + "/accept?" +
			url.Values{"code": {s.Value("code")}, "signed_in": {"1"}}.Encode())
	}
	switch {
	case v.in.ID != "" || s.NoPassword: // a button is enough, or nothing can be accepted
	default: // the same whether the address has an account, which is nobody else's business
		s.Fields = []field{
			s.draw(field{
				Name: "password", Label: "Password", Type: "password", Autocomplete: "current-password",
				Hint: "Of your account, or for a new account: at least 12 characters.",
			}),
			s.draw(field{
				Name: "name", Label: "Your name", Autocomplete: "name", Optional: true, Hint: "For a new account.",
			}),
			s.draw(field{
				Name: "second_factor", Label: "Code of your authenticator app, or a recovery code", Optional: true,
				Hint: "Only if your account asks for it at sign-in.", Autocomplete: "one-time-code",
			}),
		}
		focusFirst(s.Fields)
	}
	return v.show(status, "accept", "Join "+s.Workspace, s)
}

// accept makes the invited person a member, in the account of the invited address alone, and signs in.
func (v *visit) accept() error {
	s, err := v.findInvitation(v.r.PostForm)
	if err != nil {
		return err
	}
	var by store.Acceptance
	switch {
	case s.SignedInAs != "":
		return v.showAcceptForm(http.StatusForbidden, s)
	case v.in.ID == "" && v.sso.NoPasswords:
		return v.showAcceptForm(http.StatusForbidden, s)
	case v.in.ID != "":
		if ok, err := v.confirm(); !ok || err != nil { // the new session counts as confirmed
			return err
		}
		by.UserID = v.in.User.ID
		if v.in.Method == account.SignInProxy {
			by.Method = v.in.Method // the new session is of no use without the proxy either
		}
	default:
		by, err = v.readAcceptance(s)
	}
	if s.refused(err) {
		return v.showAcceptForm(v.refusalStatus(), s)
	}
	if err != nil {
		return err
	}
	secret, err := v.store.AcceptInvitation(v.r.Context(), s.Value("code"), by, v.browser())
	return v.startSession(secret, err, Path)
}

// errNotAccepted says of a password that it is neither that of the account nor one for a new account, so that nobody
// learns whether there is an account.
const errNotAccepted = "This is neither the password of your account nor one for a new account, which needs at least " +
	"12 characters and must not be easy to guess."

// readAcceptance returns who accepts: the account of the invited address, or the new one that the form describes.
func (v *visit) readAcceptance(s *acceptScreen) (store.Acceptance, error) {
	local, _, _ := strings.Cut(s.Email, "@")
	n := account.NewUser{Email: s.Email, Name: cmp.Or(strings.TrimSpace(s.Value("name")), local)}
	if err := n.Validate(); err != nil {
		return store.Acceptance{}, err
	}
	if s.UserID == "" {
		return v.newAccount(s, n)
	}
	return v.proveAccount(s)
}

// newAccount returns a new account. What is wrong is answered as proveAccount does, and counts as an attempt.
func (v *visit) newAccount(s *acceptScreen, n account.NewUser) (store.Acceptance, error) {
	if password.Check(s.Value("password"), n.Name, n.Email) != nil {
		_, err := v.checkPassword(s.Email, "password", s.Value("password"))
		return store.Acceptance{}, sameRefusal(err)
	}
	hash, err := password.Hash(v.r.Context(), v.asker(attempter{account: s.Email, proven: true}), s.Value("password"))
	return store.Acceptance{Name: n.Name, PasswordHash: hash}, err
}

// proveAccount checks the password, and the second factor, of the account that the invited address has.
func (v *visit) proveAccount(s *acceptScreen) (store.Acceptance, error) {
	hash, err := v.checkPassword(s.Email, "password", s.Value("password"))
	by := store.Acceptance{UserID: s.UserID, PasswordHash: hash}
	err = sameRefusal(err)
	if err != nil || !s.NeedsCode {
		return by, err
	}
	factor, err := v.readFactor(s.UserID, s.Value("second_factor"))
	if err == nil {
		err = v.store.UseSecondFactor(v.r.Context(), s.UserID, s.WorkspaceID, factor, v.browser())
	}
	return by, v.factorError("second_factor", err)
}

// sameRefusal replaces the message that a password is wrong with errNotAccepted.
func sameRefusal(err error) error {
	var bad *kernel.ValidationError
	if !errors.As(err, &bad) || len(bad.Problems) != 1 || bad.Problems[0].Field != "password" ||
		bad.Problems[0].Code != wrongPassword {
		return err
	}
	var same kernel.ValidationError
	same.Add("password", errNotAccepted)
	return same.Err()
}

// wrongPassword is the message on a password that is not that of the account.
const wrongPassword = "The password is wrong."

// checkPassword is for visitors with a session or a one-time code. It counts an attempt, checks the password of the
// account with an e-mail address, and returns its hash. It returns a *kernel.ValidationError for a field if the
// password is wrong, or there were too many attempts.
func (v *visit) checkPassword(email, name, typed string) (hash string, err error) {
	var bad kernel.ValidationError
	refuse := func(_ int, message string, args ...any) error {
		bad.Add(name, message, args...)
		return bad.Err()
	}
	account, matches, err := v.tryPassword(attempter{account: email, proven: true}, typed)
	if errors.As(err, new(*tooManyAttempts)) || errors.Is(err, password.ErrBusy) {
		return "", v.refuseAttempt(err, refuse)
	}
	if err == nil && !matches {
		bad.Add(name, wrongPassword)
		err = bad.Err()
	}
	return account.PasswordHash, err
}
