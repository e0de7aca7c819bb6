package signin

import (
	"cmp"
	"errors"
	"net/http"
	"net/url"
	"strings"

	"github.com/allswell/allswell/internal/domain/account"
	"github.com/allswell/allswell/internal/domain/kernel"
	"github.com/allswell/allswell/internal/store"
	"github.com/allswell/allswell/internal/surface/dashboard/frame"
	"github.com/allswell/allswell/internal/surface/signin/password"
)

// acceptScreen is the data of the template accept, which shows an invitation to the invited person.
type acceptScreen struct {
	*frame.Form
	store.FoundInvitation
	SignedInAs string // email address of another account that is signed in; "": none
	Fields     []frame.Field

	Provider     string // name of the identity provider at which the invited person can sign in
	ProviderLink string // its URL; "": there is no provider
	NoPassword   bool   // the person must sign in at the provider
}

// findInvitation looks up the invitation with the code of a form.
func (r *request) findInvitation(values url.Values) (*acceptScreen, error) {
	s := &acceptScreen{Form: frame.NewForm(values)}
	var err error
	s.FoundInvitation, err = r.Store.FindInvitation(r.Context(), values.Get("code"))
	if errors.Is(err, kernel.ErrNotFound) {
		if err := r.Attempt(frame.Attempter{}); err != nil {
			return s, err
		}
		return s, errBadCode
	}
	if r.SignedIn.ID != "" && r.SignedIn.User.ID != s.UserID {
		s.SignedInAs = r.SignedIn.User.Email
	}
	return s, err
}

// showAccept shows an invitation.
func (r *request) showAccept() error {
	s, err := r.findInvitation(r.URL.Query())
	// The sign-in has accepted the invitation, so its code is no longer valid.
	if errors.Is(err, errBadCode) && r.SignedIn.ID != "" && r.URL.Query().Has("signed_in") {
		return r.Redirect(frame.Path)
	}
	if err != nil {
		return err
	}
	return r.showAcceptForm(http.StatusOK, s)
}

func (r *request) showAcceptForm(status int, s *acceptScreen) error {
	if r.SignedIn.ID == "" {
		s.Provider, s.NoPassword = r.SingleSignOn.ProviderName, r.SingleSignOn.NoPasswords
		s.ProviderLink = r.oidcLink(frame.Path + "/accept?" +
			url.Values{"code": {s.Value("code")}, "signed_in": {"1"}}.Encode())
	}
	switch {
	case r.SignedIn.ID != "" || s.NoPassword: // a button is enough, or nothing can be accepted
	default: // the form must not reveal whether the address has an account
		s.Fields = []frame.Field{
			s.Draw(frame.Field{
				Name: "password", Label: "Password", Type: "password", Autocomplete: "current-password",
				Hint: "Of your account, or for a new account: at least 12 characters.",
			}),
			s.Draw(frame.Field{
				Name: "name", Label: "Your name", Autocomplete: "name", Optional: true, Hint: "For a new account.",
			}),
			s.Draw(frame.Field{
				Name: "second_factor", Label: "Code from your authenticator app, or a recovery code", Optional: true,
				Hint: "Only if your account asks for it when you sign in.", Autocomplete: "one-time-code",
			}),
		}
		frame.FocusFirst(s.Fields)
	}
	return r.Show(status, "accept", "Join "+s.Workspace, s)
}

// accept makes the invited person a member and signs in. The account is always the one with the invited address.
func (r *request) accept() error {
	s, err := r.findInvitation(r.PostForm)
	if err != nil {
		return err
	}
	var by store.Acceptance
	switch {
	case s.SignedInAs != "":
		return r.showAcceptForm(http.StatusForbidden, s)
	case r.SignedIn.ID == "" && r.SingleSignOn.NoPasswords:
		return r.showAcceptForm(http.StatusForbidden, s)
	case r.SignedIn.ID != "":
		if ok, err := r.confirm(); !ok || err != nil { // the new session counts as confirmed
			return err
		}
		by.UserID = r.SignedIn.User.ID
		if r.SignedIn.Method == account.SignInProxy {
			by.Method = r.SignedIn.Method // the new session depends on the proxy, too
		}
	default:
		by, err = r.readAcceptance(s)
	}
	if s.Refused(err) {
		return r.showAcceptForm(r.refusalStatus(), s)
	}
	if err != nil {
		return err
	}
	secret, err := r.Store.AcceptInvitation(r.Context(), s.Value("code"), by, r.Browser())
	return r.startSession(secret, err, frame.Path)
}

// errNotAccepted is the text for a password that is neither the password of the account nor acceptable for a new
// account. It does not reveal whether there is an account.
const errNotAccepted = "This is neither the password of your account nor one for a new account, which needs at least " +
	"12 characters and must not be easy to guess."

// readAcceptance returns the person who accepts: the account with the invited address, or the new account that the form
// describes.
func (r *request) readAcceptance(s *acceptScreen) (store.Acceptance, error) {
	local, _, _ := strings.Cut(s.Email, "@")
	n := account.NewUser{Email: s.Email, Name: cmp.Or(strings.TrimSpace(s.Value("name")), local)}
	if err := n.Validate(); err != nil {
		return store.Acceptance{}, err
	}
	if s.UserID == "" {
		return r.newAccount(s, n)
	}
	return r.proveAccount(s)
}

// newAccount returns a new account. It reports errors in the same way as proveAccount, and counts them as attempts.
func (r *request) newAccount(s *acceptScreen, n account.NewUser) (store.Acceptance, error) {
	if password.Check(s.Value("password"), n.Name, n.Email) != nil {
		_, err := r.checkPassword(s.Email, "password", s.Value("password"))
		return store.Acceptance{}, sameRefusal(err)
	}
	hash, err := password.Hash(r.Context(), r.asker(frame.Attempter{Account: s.Email, Proven: true}),
		s.Value("password"))
	return store.Acceptance{Name: n.Name, PasswordHash: hash}, err
}

// proveAccount checks the password and the second factor of the account with the invited address.
func (r *request) proveAccount(s *acceptScreen) (store.Acceptance, error) {
	hash, err := r.checkPassword(s.Email, "password", s.Value("password"))
	by := store.Acceptance{UserID: s.UserID, PasswordHash: hash}
	err = sameRefusal(err)
	if err != nil || !s.NeedsCode {
		return by, err
	}
	factor, err := r.readFactor(s.UserID, s.Value("second_factor"))
	if err == nil {
		err = r.Store.UseSecondFactor(r.Context(), s.UserID, s.WorkspaceID, factor, r.Browser())
	}
	return by, r.factorError("second_factor", err)
}

// sameRefusal replaces the message wrongPassword with errNotAccepted.
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

// wrongPassword is the message about a wrong password.
const wrongPassword = "The password is wrong."

// checkPassword counts an attempt, checks the password of the account with an e-mail address, and returns its hash. It
// is for visitors with a session or a one-time code. If the password is wrong, or if there were too many attempts, the
// error is a *kernel.ValidationError for the field name.
func (r *request) checkPassword(email, name, typed string) (hash string, err error) {
	var bad kernel.ValidationError
	refuse := func(_ int, message string, args ...any) error {
		bad.Add(name, message, args...)
		return bad.Err()
	}
	account, matches, err := r.tryPassword(frame.Attempter{Account: email, Proven: true}, typed)
	if errors.As(err, new(*frame.TooManyAttempts)) || errors.Is(err, password.ErrBusy) {
		return "", r.refuseAttempt(err, refuse)
	}
	if err == nil && !matches {
		bad.Add(name, wrongPassword)
		err = bad.Err()
	}
	return account.PasswordHash, err
}
