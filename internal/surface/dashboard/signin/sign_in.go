package signin

import (
	"cmp"
	"errors"
	"net/http"
	"net/url"

	"github.com/allswell/allswell/internal/domain/account"
	"github.com/allswell/allswell/internal/domain/kernel"
	"github.com/allswell/allswell/internal/shared/clientaddr"
	"github.com/allswell/allswell/internal/shared/fair"
	"github.com/allswell/allswell/internal/store"
	"github.com/allswell/allswell/internal/surface/dashboard/frame"
	"github.com/allswell/allswell/internal/surface/signin/password"
)

// signInScreen is the data of the template sign_in.
type signInScreen struct {
	*frame.Form
	Next            string
	CanMail         bool
	Email, Password frame.Field
	Passkeys        bool // browsers create passkeys for the base URL
	Passwords       bool
	Provider        string // "": none
	ProviderLink    string
	SignOutLinks    []signOutLink
	ProxyEmail      string // e-mail address of the person whom the reverse proxy names; "": nobody
}

// signOutLink is a link at which a user who has just signed out of the dashboard can also sign out of a provider or a
// proxy.
type signOutLink struct{ Name, URL string }

func (r *request) newSignIn(values url.Values) *signInScreen {
	return &signInScreen{
		Form: frame.NewForm(values), Next: frame.LocalPath(values.Get("next")), CanMail: r.SendMail != nil,
	}
}

// showSignIn shows the form to sign in.
func (r *request) showSignIn() error {
	s := r.newSignIn(r.URL.Query())
	if r.SignedIn.ID != "" {
		return r.Redirect(s.Next)
	}
	if r.URL.Query().Has("signed_out") {
		r.addSignOutLinks(s)
	}
	return r.showSignInForm(http.StatusOK, s)
}

func (r *request) showSignInForm(status int, s *signInScreen) error {
	s.Passkeys = r.Passkeys != nil
	s.Passwords, s.Provider, s.ProviderLink = !r.SingleSignOn.NoPasswords, r.SingleSignOn.ProviderName,
		r.oidcLink(s.Next)
	if identity, ok := r.proxyIdentity(); ok {
		s.ProxyEmail = identity.Email
	}
	if s.Passwords {
		s.Email = s.Draw(frame.Field{
			Name: "email", Label: "Email", Type: "email", Autocomplete: "username", Focus: true,
		})
		s.Password = s.Draw(frame.Field{
			Name: "password", Label: "Password", Type: "password", Autocomplete: "current-password",
		})
	}
	return r.Show(status, "sign_in", "Sign in", s)
}

// signIn signs in with a password. A wrong password, an account without a password and an unknown address get the same
// response after the same time.
func (r *request) signIn() error {
	s, typed := r.newSignIn(r.PostForm), r.PostForm
	refuse := func(status int, message string, args ...any) error {
		s.Refuse("password", message, args...)
		return r.showSignInForm(status, s)
	}
	if r.SingleSignOn.NoPasswords {
		return refuse(http.StatusForbidden, "Signing in with a password is turned off.")
	}
	account, matches, err := r.tryPassword(frame.Attempter{Account: typed.Get("email")}, typed.Get("password"))
	if errors.As(err, new(*frame.TooManyAttempts)) || errors.Is(err, password.ErrBusy) {
		return r.refuseAttempt(err, refuse)
	}
	if err != nil {
		return err
	}
	var in store.PasswordSignIn
	if matches {
		in, err = r.Store.SignInWithPassword(r.Context(), account, r.Browser())
	}
	if !matches || errors.Is(err, kernel.ErrNotFound) {
		return refuse(http.StatusUnprocessableEntity, "The email or password is wrong.")
	}
	if err == nil && in.Pending == "" {
		r.rememberBrowser(account.PasswordHash)
	}
	return r.passwordProved(in, err, s.Next)
}

// tryPassword counts an attempt, and reports whether an account has a password. The error is a *frame.TooManyAttempts
// above the limit, and password.ErrBusy while too many passwords are being checked.
func (r *request) tryPassword(a frame.Attempter, typed string) (account store.Credentials, matches bool, err error) {
	known := r.knownBrowsers()
	if len(known) > 0 {
		if account, err = r.Store.Credentials(r.Context(), a.Account); err != nil {
			return account, false, err
		}
		a.Browser = known.find(account.PasswordHash, r.Now())
	}
	if err := r.Attempt(a); err != nil {
		return account, false, err
	}
	if len(known) == 0 {
		if account, err = r.Store.Credentials(r.Context(), a.Account); err != nil {
			return account, false, err
		}
	}
	matches, err = r.matches(r.Context(), r.asker(a), account.PasswordHash, typed)
	return account, matches, err
}

// asker returns the password.Asker of an attempt, which determines how it waits.
func (r *request) asker(a frame.Attempter) password.Asker {
	account := fair.User(kernel.NormalizeEmail(a.Account))
	if a.Proven || a.Browser != "" {
		return password.Proven(account)
	}
	return password.Stranger(append(fair.Client(clientaddr.Of(r.Request.Request)), account, fair.Page(""))...)
}

// refuseAttempt answers an attempt above the limit, or one that cannot be checked now. It sets refusedStatus, for forms
// that refuse makes invalid.
func (r *request) refuseAttempt(err error, refuse func(status int, message string, args ...any) error) error {
	if errors.Is(err, password.ErrBusy) {
		r.refusedStatus = http.StatusServiceUnavailable
		r.W.Header().Set("Retry-After", frame.BusyRetryAfter)
		return refuse(r.refusedStatus,
			"Too many people are signing in at this moment. Please try again in a few seconds.")
	}
	var tooMany *frame.TooManyAttempts
	if !errors.As(err, &tooMany) {
		return err
	}
	r.refusedStatus = http.StatusTooManyRequests
	r.W.Header().Set("Retry-After", tooMany.RetryAfter())
	return refuse(r.refusedStatus, "Too many attempts. Please try again in %d minutes.", int(tooMany.Wait.Minutes())+1)
}

// refusalStatus returns the status of a form that is shown again: the status of refuseAttempt, or 422 if something else
// is wrong.
func (r *request) refusalStatus() int { return cmp.Or(r.refusedStatus, http.StatusUnprocessableEntity) }

// startSession replaces the browser's session by a new one, and redirects to path. err is the error of the store;
// kernel.ErrNotFound means that a one-time code is not valid.
func (r *request) startSession(secret string, err error, path string) error {
	if errors.Is(err, kernel.ErrNotFound) {
		return errBadCode
	}
	if err != nil {
		return err
	}
	r.endPrevious()
	r.SessionCookie.Set(r.W, secret)
	return r.Redirect(path)
}

// endPrevious ends the browser's current session, so that a sign-in never continues it.
func (r *request) endPrevious() {
	if r.SignedIn.ID == "" {
		return
	}
	err := r.Store.EndSession(r.Context(), r.Actor(), r.SignedIn.ID)
	if err != nil && !errors.Is(err, kernel.ErrNotFound) {
		r.Log.WarnContext(r.Context(), "the previous session could not be ended", "session", r.SignedIn.ID, "error",
			err)
	}
}

// signInWithCode signs in with the one-time code of a link.
func (r *request) signInWithCode() error {
	secret, err := r.Store.SignInWithCode(r.Context(), r.URL.Query().Get("code"), r.Browser())
	if errors.Is(err, kernel.ErrNotFound) {
		if err := r.Attempt(frame.Attempter{}); err != nil {
			return err
		}
	}
	return r.startSession(secret, err, frame.Path)
}

// addSignOutLinks adds the links at which users of single sign-on sign out.
func (r *request) addSignOutLinks(s *signInScreen) {
	if r.SingleSignOn.Provider != nil {
		target, err := r.SingleSignOn.Provider.SignOutURL(r.Context(), r.Base+frame.Path+"/sign-in")
		if err != nil {
			r.Log.WarnContext(r.Context(), "the provider has no known sign-out address", "error", err)
		}
		if target != "" {
			s.SignOutLinks = append(s.SignOutLinks, signOutLink{r.SingleSignOn.ProviderName, target})
		}
	}
	if r.SingleSignOn.Proxy.SignOutURL != "" {
		s.SignOutLinks = append(s.SignOutLinks, signOutLink{"the reverse proxy", r.SingleSignOn.Proxy.SignOutURL})
	}
}

// signOut ends the session.
func (r *request) signOut() error {
	if r.SignedIn.ID != "" {
		err := r.Store.EndSession(r.Context(), r.Actor(), r.SignedIn.ID)
		if err != nil && !errors.Is(err, kernel.ErrNotFound) {
			return err
		}
	}
	r.SessionCookie.Clear(r.W)
	target := frame.Path + "/sign-in"
	if r.SignedIn.Method == account.SignInOIDC || r.SignedIn.Method == account.SignInProxy {
		target += "?signed_out=1"
	}
	return r.Redirect(target)
}
