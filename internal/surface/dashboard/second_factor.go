package dashboard

import (
	"errors"
	"html/template"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/allswell/allswell/internal/domain/account"
	"github.com/allswell/allswell/internal/domain/kernel"
	"github.com/allswell/allswell/internal/store"
	"github.com/allswell/allswell/internal/surface/signin/totp"
)

// secondFactorScreen is the data of the template second_factor: a sign-in whose password was right.
type secondFactorScreen struct {
	*form
	Pending      string // continues the sign-in
	Next         string
	Code         field
	RecoveryCode field
}

// passwordProved continues a sign-in whose password was right: with a session, or with the question for the second
// factor. err is that of the store's sign-in.
func (v *visit) passwordProved(in store.PasswordSignIn, err error, next string) error {
	if err != nil || in.Pending == "" {
		return v.startSession(in.Secret, err, next)
	}
	return v.askSecondFactor(http.StatusOK, &secondFactorScreen{
		form: newForm(url.Values{}), Pending: in.Pending, Next: next,
	})
}

func (v *visit) askSecondFactor(status int, s *secondFactorScreen) error {
	s.Code = s.draw(field{
		Name: "code", Label: "Code of your authenticator app", Autocomplete: "one-time-code", InputMode: "numeric",
	})
	s.RecoveryCode = s.draw(field{
		Name: "recovery_code", Label: "Recovery code", Autocomplete: "off", Hint: "Each one works once.",
	})
	s.RecoveryCode.Focus = len(s.RecoveryCode.Errors) > 0
	s.Code.Focus = !s.RecoveryCode.Focus
	return v.show(status, "second_factor", "Second factor", s)
}

// finishSignIn continues a sign-in with a code of the authenticator app, or with a recovery code.
func (v *visit) finishSignIn() error {
	f := newForm(v.r.PostForm)
	s := &secondFactorScreen{form: f, Pending: f.Value("pending"), Next: localPath(f.Value("next"))}
	user, err := v.store.FindCode(v.r.Context(), account.CodeSecondFactor, s.Pending)
	if errors.Is(err, kernel.ErrNotFound) {
		return v.signInAgain()
	}
	if err != nil {
		return err
	}
	name := "code"
	if v.r.PostForm.Has("recovery_code") {
		name = "recovery_code"
	}
	if err := v.attempt(attempter{account: user.Email, proven: true}); err != nil {
		return v.refuseAttempt(err, func(status int, message string, args ...any) error {
			s.refuse(name, message, args...)
			return v.askSecondFactor(status, s)
		})
	}
	factor, err := v.readFactor(user.ID, f.Value(name))
	var secret string
	if err == nil {
		secret, err = v.store.FinishSignIn(v.r.Context(), s.Pending, factor, v.browser())
	}
	if f.refused(v.factorError(name, err)) {
		return v.askSecondFactor(http.StatusUnprocessableEntity, s)
	}
	if errors.Is(err, kernel.ErrNotFound) {
		return v.signInAgain()
	}
	if err == nil {
		account, err := v.store.Credentials(v.r.Context(), user.Email)
		if err != nil {
			v.log.WarnContext(v.r.Context(), "a browser is not remembered", "error", err)
		}
		v.rememberBrowser(account.PasswordHash)
	}
	return v.startSession(secret, err, s.Next)
}

// signInAgain says that the time for the second factor is over.
func (v *visit) signInAgain() error {
	if err := v.attempt(attempter{}); err != nil {
		return err
	}
	s := v.newSignIn(url.Values{})
	s.refuse("sign_in", "The sign-in took too long. Please begin again.")
	return v.showSignInForm(http.StatusUnprocessableEntity, s)
}

// errTooManyCodes means that too many codes of a user have been tried within codeWindow.
var errTooManyCodes = errors.New("too many codes of the authenticator app")

// readFactor returns the second factor that was typed: a code of the user's authenticator app, which it checks, or a
// recovery code. It returns store.ErrWrongFactor or errTooManyCodes.
func (v *visit) readFactor(userID, typed string) (store.SecondFactor, error) {
	typed = strings.NewReplacer(" ", "", "-", "").Replace(typed)
	if len(typed) > 6 {
		return store.SecondFactor{RecoveryCode: typed}, nil
	}
	now := v.now()
	if !v.signIns.codes.Take(userID, now).Allowed {
		return store.SecondFactor{}, errTooManyCodes
	}
	secret, err := v.store.AuthenticatorSecret(v.r.Context(), userID)
	if errors.Is(err, kernel.ErrNotFound) {
		return store.SecondFactor{}, store.ErrWrongFactor
	}
	if err != nil {
		return store.SecondFactor{}, err
	}
	step, ok := totp.Match(secret, typed, now)
	if !ok {
		return store.SecondFactor{}, store.ErrWrongFactor
	}
	return store.SecondFactor{Step: step}, nil
}

// factorError returns the error of a second factor as one of a field.
func (v *visit) factorError(name string, err error) error {
	var bad kernel.ValidationError
	switch {
	case errors.Is(err, store.ErrWrongFactor):
		bad.Add(name, "The code is wrong, or has been used already.")
	case errors.Is(err, errTooManyCodes):
		bad.Add(name, "Too many codes were tried. Use a recovery code, or try again in an hour.")
	default:
		return err
	}
	return bad.Err()
}

const authenticatorPath = accountPath + "/authenticator"

// authenticatorScreen is the data of the template authenticator.
type authenticatorScreen struct {
	*form
	Secret  string
	Address template.URL // opens an app on this device
	QR      totp.QRCode
	Code    field
}

// Grouped returns the secret in groups, as people type it.
func (s authenticatorScreen) Grouped() string {
	var groups []string
	for rest := s.Secret; rest != ""; rest = rest[min(4, len(rest)):] {
		groups = append(groups, rest[:min(4, len(rest))])
	}
	return strings.Join(groups, " ")
}

// beginAuthenticator redirects to the screen that sets up an authenticator app, after the confirmation.
func (v *visit) beginAuthenticator() error { return v.redirect(authenticatorPath) }

// showAuthenticator shows a new secret for an authenticator app. It counts when a code has proved it.
func (v *visit) showAuthenticator() error {
	factors, err := v.store.Factors(v.r.Context(), v.actor())
	if err != nil {
		return err
	}
	if factors.HasAuthenticator() {
		return v.redirect(accountPath)
	}
	secret, err := totp.NewSecret()
	if err != nil {
		return err
	}
	return v.askForProof(http.StatusOK, newForm(url.Values{"secret": {secret}}))
}

func (v *visit) askForProof(status int, f *form) error {
	s := authenticatorScreen{form: f, Secret: f.Value("secret")}
	issuer := "Allswell"
	if base, err := url.Parse(v.base); err == nil && base.Hostname() != "" {
		issuer += " " + base.Hostname()
	}
	address := totp.Address(s.Secret, issuer, v.in.User.Email)
	var err error
	if s.QR, err = totp.NewQRCode(address); err != nil {
		return err
	}
	s.Address = template.URL(address) // of our own making, and escaped
	s.Code = f.draw(field{
		Name: "code", Label: "Code that the app shows", Autocomplete: "one-time-code", InputMode: "numeric",
	})
	s.Code.Focus = len(s.Code.Errors) > 0 // otherwise it would scroll the QR code away
	return v.show(status, "authenticator", "Authenticator app", s)
}

// setAuthenticator sets up an authenticator app, and shows the recovery codes.
func (v *visit) setAuthenticator() error {
	f := newForm(v.r.PostForm)
	secret := f.Value("secret")
	if !totp.ValidSecret(secret) {
		return v.redirect(authenticatorPath)
	}
	step, ok := totp.Match(secret, strings.ReplaceAll(f.Value("code"), " ", ""), v.now())
	if !ok {
		f.refuse("code", "The code is wrong. Is the clock of your phone right? The server's is at %s UTC.",
			v.now().UTC().Format(time.TimeOnly))
		return v.askForProof(http.StatusUnprocessableEntity, f)
	}
	codes, err := v.store.SetAuthenticator(v.r.Context(), v.actor(), secret, step)
	if errors.Is(err, kernel.ErrPreconditionFailed) {
		return v.redirect(accountPath) // sent twice
	}
	return v.showRecoveryCodes(codes, err)
}

// renewRecoveryCodes replaces the recovery codes, and shows the new ones.
func (v *visit) renewRecoveryCodes() error {
	codes, err := v.store.RenewRecoveryCodes(v.r.Context(), v.actor())
	if errors.Is(err, kernel.ErrNotFound) {
		return v.redirect(accountPath) // removed meanwhile
	}
	return v.showRecoveryCodes(codes, err)
}

// recoveryCodesScreen is the data of the template recovery_codes.
type recoveryCodesScreen struct{ Codes []string }

// showRecoveryCodes shows new recovery codes, in the answer itself, so that no address ever has them.
func (v *visit) showRecoveryCodes(codes []string, err error) error {
	if err != nil {
		return err
	}
	return v.show(http.StatusCreated, "recovery_codes", "Recovery codes", recoveryCodesScreen{codes})
}

// removeAuthenticator removes the authenticator app and the recovery codes.
func (v *visit) removeAuthenticator() error {
	if err := v.store.RemoveAuthenticator(v.r.Context(), v.actor()); err != nil && !errors.Is(err, kernel.ErrNotFound) {
		return err
	}
	return v.redirect(accountPath)
}
