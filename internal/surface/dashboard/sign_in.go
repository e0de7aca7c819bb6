package dashboard

import (
	"cmp"
	"crypto/sha256"
	"errors"
	"net/http"
	"net/netip"
	"net/url"
	"strconv"
	"time"

	"github.com/allswell/allswell/internal/domain/account"
	"github.com/allswell/allswell/internal/domain/kernel"
	"github.com/allswell/allswell/internal/shared/clientaddr"
	"github.com/allswell/allswell/internal/shared/fair"
	"github.com/allswell/allswell/internal/shared/limit"
	"github.com/allswell/allswell/internal/store"
	"github.com/allswell/allswell/internal/surface/signin/password"
)

// The number of attempts to sign in that are answered within signInWindow. Nobody can lock out somebody else: an
// account is limited for each address on its own.
const (
	signInsPerAddress = 60 // an IPv6 network of 64 bits has ten times as many
	signInsPerAccount = 10 // from one address, or one IPv6 network of 64 bits
	signInWindow      = 10 * time.Minute

	// Codes of six digits could be guessed from many addresses, by somebody who has the password. Recovery codes and
	// passkeys work above this limit, so nobody is locked out.
	codesPerUser = 30
	codeWindow   = time.Hour
)

// signInLimits limits how often passwords and codes can be tried.
type signInLimits struct {
	addresses *limit.Addresses
	accounts  *limit.Limiter
	codes     *limit.Limiter // of authenticator apps, by user
}

func newSignInLimits() *signInLimits {
	return &signInLimits{
		limit.NewAddresses(signInsPerAddress, signInWindow), limit.New(signInsPerAccount, signInWindow),
		limit.New(codesPerUser, codeWindow),
	}
}

// attempter is who tries a password or a code.
type attempter struct {
	account string // e-mail address, "" for a code
	browser string // of a browser that has signed in to the account before; see knownBrowsers
	proven  bool   // by a session or a one-time code of the account
}

// take counts an attempt. Those who have shown before who they are have limits of their own, which strangers at the
// same address, such as that of a proxy, cannot use up.
func (l *signInLimits) take(r *http.Request, a attempter, now time.Time) limit.Verdict {
	address := clientaddr.Of(r)
	if a.browser != "" {
		return l.accounts.Take("browser "+a.browser, now)
	}
	// an address above its limit cannot fill the table of accounts
	if a.account != "" && (a.proven || !l.addresses.Full(address, now)) {
		if v := l.accounts.Take(accountKey(address, a), now); !v.Allowed || a.proven {
			return v
		}
	}
	return l.addresses.Take(address, now)
}

// accountKey returns the key of the attempts for an account from an address. Its length does not depend on what was
// entered.
func accountKey(address netip.Addr, a attempter) string {
	network := address.Unmap()
	if p, err := network.Prefix(64); err == nil { // not IPv4
		network = p.Addr()
	}
	sum := sha256.Sum256([]byte(kernel.NormalizeEmail(a.account)))
	if a.proven {
		return "proven " + network.String() + " " + string(sum[:])
	}
	return network.String() + " " + string(sum[:])
}

// tooManyAttempts is the error of an attempt above the limit.
type tooManyAttempts struct{ wait time.Duration }

func (e *tooManyAttempts) Error() string { return "too many attempts to sign in" }

// retryAfter returns when the next attempt is allowed, as the value of Retry-After.
func (e *tooManyAttempts) retryAfter() string { return strconv.Itoa(int(e.wait.Seconds()) + 1) }

// attempt counts an attempt to sign in, and returns an error if there were too many.
func (v *visit) attempt(a attempter) error {
	now := v.now()
	if verdict := v.signIns.take(v.r, a, now); !verdict.Allowed {
		return &tooManyAttempts{max(time.Second, verdict.Reset.Sub(now))}
	}
	return nil
}

// signInScreen is the data of the template sign_in.
type signInScreen struct {
	*form
	Next            string
	CanMail         bool
	Email, Password field
	Passkeys        bool // browsers make passkeys for the base URL
	Passwords       bool
	Provider        string // "": none
	ProviderLink    string
	SignOutLinks    []signOutLink
	ProxyEmail      string // whom the reverse proxy names; "": nobody
}

// signOutLink is where a user who has just signed out of the dashboard can also sign out of a provider or a proxy.
type signOutLink struct{ Name, URL string }

func (v *visit) newSignIn(values url.Values) *signInScreen {
	return &signInScreen{form: newForm(values), Next: localPath(values.Get("next")), CanMail: v.sendMail != nil}
}

// showSignIn shows the form to sign in.
func (v *visit) showSignIn() error {
	s := v.newSignIn(v.r.URL.Query())
	if v.in.ID != "" {
		return v.redirect(s.Next)
	}
	if v.r.URL.Query().Has("signed_out") {
		v.addSignOutLinks(s)
	}
	return v.showSignInForm(http.StatusOK, s)
}

func (v *visit) showSignInForm(status int, s *signInScreen) error {
	s.Passkeys = v.passkeys != nil
	s.Passwords, s.Provider, s.ProviderLink = !v.sso.NoPasswords, v.sso.ProviderName, v.oidcLink(s.Next)
	if identity, ok := v.proxyIdentity(); ok {
		s.ProxyEmail = identity.Email
	}
	if s.Passwords {
		s.Email = s.draw(field{Name: "email", Label: "E-mail", Type: "email", Autocomplete: "username", Focus: true})
		s.Password = s.draw(field{
			Name: "password", Label: "Password", Type: "password", Autocomplete: "current-password",
		})
	}
	return v.show(status, "sign_in", "Sign in", s)
}

// signIn signs in with a password. A wrong password, an account without one, and an unknown address are not told
// apart, in words or in time.
func (v *visit) signIn() error {
	s, typed := v.newSignIn(v.r.PostForm), v.r.PostForm
	refuse := func(status int, message string, args ...any) error {
		s.refuse("password", message, args...)
		return v.showSignInForm(status, s)
	}
	if v.sso.NoPasswords {
		return refuse(http.StatusForbidden, "Nobody can sign in with a password here.")
	}
	account, matches, err := v.tryPassword(attempter{account: typed.Get("email")}, typed.Get("password"))
	if errors.As(err, new(*tooManyAttempts)) || errors.Is(err, password.ErrBusy) {
		return v.refuseAttempt(err, refuse)
	}
	if err != nil {
		return err
	}
	var in store.PasswordSignIn
	if matches {
		in, err = v.store.SignInWithPassword(v.r.Context(), account, v.browser())
	}
	if !matches || errors.Is(err, kernel.ErrNotFound) {
		return refuse(http.StatusUnprocessableEntity, "The e-mail address or the password is wrong.")
	}
	if err == nil && in.Pending == "" {
		v.rememberBrowser(account.PasswordHash)
	}
	return v.passwordProved(in, err, s.Next)
}

// tryPassword counts an attempt, and reports whether a password is that of an account. It returns a *tooManyAttempts
// above the limit, and password.ErrBusy while too many passwords are being checked.
func (v *visit) tryPassword(a attempter, typed string) (account store.Credentials, matches bool, err error) {
	known := v.knownBrowsers()
	if len(known) > 0 {
		if account, err = v.store.Credentials(v.r.Context(), a.account); err != nil {
			return account, false, err
		}
		a.browser = known.find(account.PasswordHash, v.now())
	}
	if err := v.attempt(a); err != nil {
		return account, false, err
	}
	if len(known) == 0 {
		if account, err = v.store.Credentials(v.r.Context(), a.account); err != nil {
			return account, false, err
		}
	}
	matches, err = v.matches(v.r.Context(), v.asker(a), account.PasswordHash, typed)
	return account, matches, err
}

// asker returns whose password is hashed, and how that waits.
func (v *visit) asker(a attempter) password.Asker {
	account := fair.User(kernel.NormalizeEmail(a.account))
	if a.proven || a.browser != "" {
		return password.Proven(account)
	}
	return password.Stranger(append(fair.Client(clientaddr.Of(v.r)), account, fair.Page(""))...)
}

// refuseAttempt answers an attempt above the limit, or one for which there is no room now. It sets refusedStatus for
// forms that refuse makes invalid.
func (v *visit) refuseAttempt(err error, refuse func(status int, message string, args ...any) error) error {
	if errors.Is(err, password.ErrBusy) {
		v.refusedStatus = http.StatusServiceUnavailable
		v.w.Header().Set("Retry-After", busyRetryAfter)
		return refuse(v.refusedStatus,
			"Too many people are signing in at this moment. Please try again in some seconds.")
	}
	var tooMany *tooManyAttempts
	if !errors.As(err, &tooMany) {
		return err
	}
	v.refusedStatus = http.StatusTooManyRequests
	v.w.Header().Set("Retry-After", tooMany.retryAfter())
	return refuse(v.refusedStatus, "Too many attempts. Please try again in %d minutes.", int(tooMany.wait.Minutes())+1)
}

// refusalStatus returns the status of a form that is shown again: that of refuseAttempt or, if something else is wrong,
// 422.
func (v *visit) refusalStatus() int { return cmp.Or(v.refusedStatus, http.StatusUnprocessableEntity) }

// startSession gives the browser a session in place of the one that it had, and leads to path. err is that of the
// store's use of a one-time code.
func (v *visit) startSession(secret string, err error, path string) error {
	if errors.Is(err, kernel.ErrNotFound) {
		return errBadCode
	}
	if err != nil {
		return err
	}
	v.endPrevious()
	v.cookie.set(v.w, secret)
	return v.redirect(path)
}

// endPrevious ends the session that the browser had until now, so that a sign-in never continues it.
func (v *visit) endPrevious() {
	if v.in.ID == "" {
		return
	}
	if err := v.store.EndSession(v.r.Context(), v.actor(), v.in.ID); err != nil && !errors.Is(err, kernel.ErrNotFound) {
		v.log.WarnContext(v.r.Context(), "the previous session could not be ended", "session", v.in.ID, "error", err)
	}
}

// signInWithCode signs in with the one-time code of a link.
func (v *visit) signInWithCode() error {
	secret, err := v.store.SignInWithCode(v.r.Context(), v.r.URL.Query().Get("code"), v.browser())
	if errors.Is(err, kernel.ErrNotFound) {
		if err := v.attempt(attempter{}); err != nil {
			return err
		}
	}
	return v.startSession(secret, err, Path)
}

// addSignOutLinks adds the addresses at which those sign out who sign in by others.
func (v *visit) addSignOutLinks(s *signInScreen) {
	if v.sso.Provider != nil {
		target, err := v.sso.Provider.SignOutURL(v.r.Context(), v.base+Path+"/sign-in")
		if err != nil {
			v.log.WarnContext(v.r.Context(), "the provider has no known sign-out address", "error", err)
		}
		if target != "" {
			s.SignOutLinks = append(s.SignOutLinks, signOutLink{v.sso.ProviderName, target})
		}
	}
	if v.sso.Proxy.SignOutURL != "" {
		s.SignOutLinks = append(s.SignOutLinks, signOutLink{"the reverse proxy", v.sso.Proxy.SignOutURL})
	}
}

// signOut ends the session.
func (v *visit) signOut() error {
	if v.in.ID != "" {
		if err := v.store.EndSession(v.r.Context(), v.actor(), v.in.ID); err != nil &&
			!errors.Is(err, kernel.ErrNotFound) {
			return err
		}
	}
	v.cookie.clear(v.w)
	target := Path + "/sign-in"
	if v.in.Method == account.SignInOIDC || v.in.Method == account.SignInProxy {
		target += "?signed_out=1"
	}
	return v.redirect(target)
}
