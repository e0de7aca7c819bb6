package signin

import (
	"errors"
	"net/http"
	"net/url"
	"strings"

	"github.com/allswell/allswell/internal/domain/account"
	"github.com/allswell/allswell/internal/surface/dashboard/frame"
)

// The fields of a form that confirm a dangerous change.
const (
	confirmField        = "confirm_password"
	confirmCodeField    = "confirm_code"
	confirmPasskeyField = "confirm_passkey"
)

// confirmScreen is the data of the template confirm. It sends the interrupted form again, with the password.
type confirmScreen struct {
	*frame.Form
	Action   string
	Typed    url.Values // the fields of the interrupted form
	User     account.User
	Password frame.Field
	Code     frame.Field // if the user has an authenticator app
	Passkeys bool        // the user has passkeys
	Provider string      // name of the provider that can confirm it; "": none
	Known    bool        // the user has a password
	HasCode  bool        // the user has an authenticator app
}

// Proofs asks for what proves the identity of the user, as the beginning of a sentence; "" if nothing does.
func (s *confirmScreen) Proofs() string {
	var proofs []string
	switch {
	case s.Known && s.HasCode:
		proofs = append(proofs, "enter your password and a code")
	case s.Known:
		proofs = append(proofs, "enter your password")
	}
	if s.Passkeys {
		proofs = append(proofs, "use a passkey")
	}
	if s.Provider != "" {
		proofs = append(proofs, "sign in again with "+s.Provider)
	}
	text := strings.Join(proofs, " or ")
	if text == "" {
		return ""
	}
	return strings.ToUpper(text[:1]) + text[1:]
}

// errByProxy means that a session of the reverse proxy cannot change factors.
var errByProxy = errors.New("a session of the reverse proxy changes no factors")

// changesFactors returns the handler of a change of the visitor's means of signing in. A session that the reverse proxy
// began cannot make it, because the change would outlive the sign-in at the proxy.
func changesFactors(serve func(*request) error) func(*request) error {
	return func(r *request) error {
		if r.SignedIn.Method == account.SignInProxy {
			return errByProxy
		}
		return serve(r)
	}
}

// confirm reports whether the visitor has proved their identity recently, or proves it with this request. Otherwise it
// asks for the password.
func (r *request) confirm() (bool, error) {
	if !r.SignedIn.NeedsConfirmation(r.Now()) {
		return true, nil
	}
	s := &confirmScreen{
		Form: frame.NewForm(url.Values{}), Action: r.URL.RequestURI(), Typed: url.Values{}, User: r.SignedIn.User,
	}
	for name, values := range r.PostForm {
		if name != confirmField && name != confirmCodeField && name != confirmPasskeyField && name != "username" {
			s.Typed[name] = values
		}
	}
	status := http.StatusOK
	if r.PostForm.Has(confirmField) || r.PostForm.Has(confirmPasskeyField) {
		err := r.proveIdentity()
		if err == nil {
			return true, nil
		}
		if !s.Refused(err) {
			return false, err
		}
		status = r.refusalStatus()
	}
	factors, err := r.Store.Factors(r.Context(), r.Actor())
	if err != nil {
		return false, err
	}
	s.Passkeys = r.Passkeys != nil && factors.Passkeys > 0
	s.HasCode = factors.HasAuthenticator()
	account, err := r.Store.Credentials(r.Context(), r.SignedIn.User.Email)
	if err != nil {
		return false, err
	}
	s.Known = account.PasswordHash != ""
	if r.SingleSignOn.Provider != nil {
		has, err := r.Store.HasIdentity(r.Context(), r.SingleSignOn.Provider.Issuer(), r.SignedIn.User.ID)
		if err != nil {
			return false, err
		}
		if has {
			s.Provider = r.SingleSignOn.ProviderName
		}
	}
	s.Password = s.Draw(frame.Field{
		Name: confirmField, Label: "Your password", Type: "password", Autocomplete: "current-password", Focus: true,
	})
	s.Code = s.Draw(frame.Field{
		Name: confirmCodeField, Label: "Code from your authenticator app, or a recovery code",
		Autocomplete: "one-time-code",
	})
	return false, r.Show(status, "confirm", "Confirm it’s you", s)
}

// proveIdentity checks the password, with a code if the user has an authenticator app, or the passkey in the form, and
// confirms the session. If one is wrong, the error is a *kernel.ValidationError.
func (r *request) proveIdentity() error {
	response := r.PostForm.Get(confirmPasskeyField)
	if !r.PostForm.Has(confirmPasskeyField) {
		if _, err := r.checkPassword(r.SignedIn.User.Email, confirmField, r.PostForm.Get(confirmField)); err != nil {
			return err
		}
		if err := r.proveSecondFactor(); err != nil {
			return err
		}
		return r.Store.ConfirmSession(r.Context(), r.Actor())
	}
	key, signCount, err := r.checkPasskey(response, r.SignedIn.User.ID)
	if err == nil {
		err = r.passkeyError(r.Store.ConfirmWithPasskey(r.Context(), r.Actor(), key, signCount))
	}
	return passkeyInvalid(confirmPasskeyField, response, err)
}

// proveSecondFactor uses up the code of the form if the user has an authenticator app.
func (r *request) proveSecondFactor() error {
	factors, err := r.Store.Factors(r.Context(), r.Actor())
	if err != nil || !factors.HasAuthenticator() {
		return err
	}
	factor, err := r.readFactor(r.SignedIn.User.ID, r.PostForm.Get(confirmCodeField))
	if err == nil {
		err = r.Store.UseSecondFactor(r.Context(), r.SignedIn.User.ID, r.SignedIn.WorkspaceID, factor, r.Browser())
	}
	return r.factorError(confirmCodeField, err)
}
