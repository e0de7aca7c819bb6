package signin

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
	"github.com/allswell/allswell/internal/surface/dashboard/frame"
	"github.com/allswell/allswell/internal/surface/signin/totp"
)

// secondFactorScreen is the data of the template second_factor, which continues a sign-in after the right password.
type secondFactorScreen struct {
	*frame.Form
	Pending      string // continues the sign-in
	Next         string
	Code         frame.Field
	RecoveryCode frame.Field
}

// passwordProved continues a sign-in after the right password: it begins a session or asks for the second factor. err
// is the error of the store's sign-in.
func (r *request) passwordProved(in store.PasswordSignIn, err error, next string) error {
	if err != nil || in.Pending == "" {
		return r.startSession(in.Secret, err, next)
	}
	return r.askSecondFactor(http.StatusOK, &secondFactorScreen{
		Form: frame.NewForm(url.Values{}), Pending: in.Pending, Next: next,
	})
}

func (r *request) askSecondFactor(status int, s *secondFactorScreen) error {
	s.Code = s.Draw(frame.Field{
		Name: "code", Label: "Code from your authenticator app", Autocomplete: "one-time-code", InputMode: "numeric",
	})
	s.RecoveryCode = s.Draw(frame.Field{
		Name: "recovery_code", Label: "Recovery code", Autocomplete: "off", Hint: "Each one works once.",
	})
	s.RecoveryCode.Focus = len(s.RecoveryCode.Errors) > 0
	s.Code.Focus = !s.RecoveryCode.Focus
	return r.Show(status, "second_factor", "Second factor", s)
}

// finishSignIn continues a sign-in with a code of the authenticator app, or with a recovery code.
func (r *request) finishSignIn() error {
	f := frame.NewForm(r.PostForm)
	s := &secondFactorScreen{Form: f, Pending: f.Value("pending"), Next: frame.LocalPath(f.Value("next"))}
	user, err := r.Store.FindCode(r.Context(), account.CodeSecondFactor, s.Pending)
	if errors.Is(err, kernel.ErrNotFound) {
		return r.signInAgain()
	}
	if err != nil {
		return err
	}
	name := "code"
	if r.PostForm.Has("recovery_code") {
		name = "recovery_code"
	}
	if err := r.Attempt(frame.Attempter{Account: user.Email, Proven: true}); err != nil {
		return r.refuseAttempt(err, func(status int, message string, args ...any) error {
			s.Refuse(name, message, args...)
			return r.askSecondFactor(status, s)
		})
	}
	factor, err := r.readFactor(user.ID, f.Value(name))
	var secret string
	if err == nil {
		secret, err = r.Store.FinishSignIn(r.Context(), s.Pending, factor, r.Browser())
	}
	if f.Refused(r.factorError(name, err)) {
		return r.askSecondFactor(http.StatusUnprocessableEntity, s)
	}
	if errors.Is(err, kernel.ErrNotFound) {
		return r.signInAgain()
	}
	if err == nil {
		account, err := r.Store.Credentials(r.Context(), user.Email)
		if err != nil {
			r.Log.WarnContext(r.Context(), "a browser is not remembered", "error", err)
		}
		r.rememberBrowser(account.PasswordHash)
	}
	return r.startSession(secret, err, s.Next)
}

// signInAgain shows the sign-in again, because the time for the second factor is over.
func (r *request) signInAgain() error {
	if err := r.Attempt(frame.Attempter{}); err != nil {
		return err
	}
	s := r.newSignIn(url.Values{})
	s.Refuse("sign_in", "The sign-in took too long. Please begin again.")
	return r.showSignInForm(http.StatusUnprocessableEntity, s)
}

// errTooManyCodes means that too many codes of a user have been tried within codeWindow.
var errTooManyCodes = errors.New("too many codes of the authenticator app")

// readFactor returns the second factor that was typed: a code of the user's authenticator app, which it checks, or a
// recovery code, which it does not check. The error may be store.ErrWrongFactor or errTooManyCodes.
func (r *request) readFactor(userID, typed string) (store.SecondFactor, error) {
	typed = strings.NewReplacer(" ", "", "-", "").Replace(typed)
	if len(typed) > 6 {
		return store.SecondFactor{RecoveryCode: typed}, nil
	}
	now := r.Now()
	if !r.SignIns.Codes.Take(userID, now).Allowed {
		return store.SecondFactor{}, errTooManyCodes
	}
	secret, err := r.Store.AuthenticatorSecret(r.Context(), userID)
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

// factorError returns the error of a second factor as a *kernel.ValidationError for a field. Other errors are returned
// unchanged.
func (r *request) factorError(name string, err error) error {
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
	*frame.Form
	Secret  string
	Address template.URL // opens an app on this device
	QR      totp.QRCode
	Code    frame.Field
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
func (r *request) beginAuthenticator() error { return r.Redirect(authenticatorPath) }

// showAuthenticator shows a new secret for an authenticator app. It becomes valid when a code proves that the app has
// it.
func (r *request) showAuthenticator() error {
	factors, err := r.Store.Factors(r.Context(), r.Actor())
	if err != nil {
		return err
	}
	if factors.HasAuthenticator() {
		return r.Redirect(accountPath)
	}
	secret, err := totp.NewSecret()
	if err != nil {
		return err
	}
	return r.askForProof(http.StatusOK, frame.NewForm(url.Values{"secret": {secret}}))
}

func (r *request) askForProof(status int, f *frame.Form) error {
	s := authenticatorScreen{Form: f, Secret: f.Value("secret")}
	issuer := "Allswell"
	if base, err := url.Parse(r.Base); err == nil && base.Hostname() != "" {
		issuer += " " + base.Hostname()
	}
	address := totp.Address(s.Secret, issuer, r.SignedIn.User.Email)
	var err error
	if s.QR, err = totp.NewQRCode(address); err != nil {
		return err
	}
	s.Address = template.URL(address) // of our own making, and escaped
	s.Code = f.Draw(frame.Field{
		Name: "code", Label: "Code that the app shows", Autocomplete: "one-time-code", InputMode: "numeric",
	})
	s.Code.Focus = len(s.Code.Errors) > 0 // otherwise it would scroll the QR code away
	return r.Show(status, "authenticator", "Authenticator app", s)
}

// setAuthenticator sets up an authenticator app, and shows the recovery codes.
func (r *request) setAuthenticator() error {
	f := frame.NewForm(r.PostForm)
	secret := f.Value("secret")
	if !totp.ValidSecret(secret) {
		return r.Redirect(authenticatorPath)
	}
	step, ok := totp.Match(secret, strings.ReplaceAll(f.Value("code"), " ", ""), r.Now())
	if !ok {
		f.Refuse("code", "The code is wrong. Is the clock of your phone right? The server's is at %s UTC.",
			r.Now().UTC().Format(time.TimeOnly))
		return r.askForProof(http.StatusUnprocessableEntity, f)
	}
	codes, err := r.Store.SetAuthenticator(r.Context(), r.Actor(), secret, step)
	if errors.Is(err, kernel.ErrPreconditionFailed) {
		return r.Redirect(accountPath) // sent twice
	}
	return r.showRecoveryCodes(codes, err)
}

// renewRecoveryCodes replaces the recovery codes, and shows the new ones.
func (r *request) renewRecoveryCodes() error {
	codes, err := r.Store.RenewRecoveryCodes(r.Context(), r.Actor())
	if errors.Is(err, kernel.ErrNotFound) {
		return r.Redirect(accountPath) // removed meanwhile
	}
	return r.showRecoveryCodes(codes, err)
}

// recoveryCodesScreen is the data of the template recovery_codes.
type recoveryCodesScreen struct{ Codes []string }

// showRecoveryCodes shows new recovery codes in the response itself, so that no URL ever contains them.
func (r *request) showRecoveryCodes(codes []string, err error) error {
	if err != nil {
		return err
	}
	return r.Show(http.StatusCreated, "recovery_codes", "Recovery codes", recoveryCodesScreen{codes})
}

// removeAuthenticator removes the authenticator app and the recovery codes.
func (r *request) removeAuthenticator() error {
	if err := r.Store.RemoveAuthenticator(r.Context(), r.Actor()); err != nil && !errors.Is(err, kernel.ErrNotFound) {
		return err
	}
	return r.Redirect(accountPath)
}
