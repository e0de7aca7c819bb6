package dashboard

import (
	"errors"
	"net/http"
	"net/url"
	"strings"

	"github.com/allswell/allswell/internal/domain/account"
)

// The fields of what confirms a dangerous change.
const (
	confirmField        = "confirm_password"
	confirmCodeField    = "confirm_code"
	confirmPasskeyField = "confirm_passkey"
)

// confirmScreen is the data of the template confirm. It sends the form again that was refused, with the password.
type confirmScreen struct {
	*form
	Action   string
	Typed    url.Values // the fields of the form that was refused
	User     account.User
	Password field
	Code     field  // if the user has an authenticator app
	Passkeys bool   // the user has passkeys
	Provider string // that can confirm it; "": none
	Known    bool   // the user has a password
	HasCode  bool   // the user has an authenticator app
}

// Proofs returns what proves the identity of the user, in words; "" for nothing.
func (s *confirmScreen) Proofs() string {
	var proofs []string
	switch {
	case s.Known && s.HasCode:
		proofs = append(proofs, "your password with a code")
	case s.Known:
		proofs = append(proofs, "your password")
	}
	if s.Passkeys {
		proofs = append(proofs, "a passkey")
	}
	if s.Provider != "" {
		proofs = append(proofs, "a new sign-in with "+s.Provider)
	}
	return strings.Join(proofs, " or ")
}

// confirmed returns the handler of a dangerous change: it is made only by somebody who has proved their identity within
// account.ConfirmationAge, at the sign-in or since.
func confirmed(serve func(*visit) error) func(*visit) error {
	return func(v *visit) error {
		if ok, err := v.confirm(); !ok || err != nil {
			return err
		}
		return serve(v)
	}
}

// errByProxy means that the session proves nothing without the reverse proxy.
var errByProxy = errors.New("a session of the reverse proxy changes no factors")

// changesFactors returns the handler of a change of what the visitor signs in with. A session that the reverse proxy
// began cannot make it: what it added would outlive the sign-in at the proxy.
func changesFactors(serve func(*visit) error) func(*visit) error {
	return func(v *visit) error {
		if v.in.Method == account.SignInProxy {
			return errByProxy
		}
		return serve(v)
	}
}

// confirm reports whether the visitor has proved their identity lately, or does it with the request. Otherwise it asks
// for the password.
func (v *visit) confirm() (bool, error) {
	if !v.in.NeedsConfirmation(v.now()) {
		return true, nil
	}
	s := &confirmScreen{form: newForm(url.Values{}), Action: v.r.URL.RequestURI(), Typed: url.Values{}, User: v.in.User}
	for name, values := range v.r.PostForm {
		if name != confirmField && name != confirmCodeField && name != confirmPasskeyField && name != "username" {
			s.Typed[name] = values
		}
	}
	status := http.StatusOK
	if v.r.PostForm.Has(confirmField) || v.r.PostForm.Has(confirmPasskeyField) {
		err := v.proveIdentity()
		if err == nil {
			return true, nil
		}
		if !s.refused(err) {
			return false, err
		}
		status = v.refusalStatus()
	}
	factors, err := v.store.Factors(v.r.Context(), v.actor())
	if err != nil {
		return false, err
	}
	s.Passkeys = v.passkeys != nil && factors.Passkeys > 0
	s.HasCode = factors.HasAuthenticator()
	account, err := v.store.Credentials(v.r.Context(), v.in.User.Email)
	if err != nil {
		return false, err
	}
	s.Known = account.PasswordHash != ""
	if v.sso.Provider != nil {
		has, err := v.store.HasIdentity(v.r.Context(), v.sso.Provider.Issuer(), v.in.User.ID)
		if err != nil {
			return false, err
		}
		if has {
			s.Provider = v.sso.ProviderName
		}
	}
	s.Password = s.draw(field{
		Name: confirmField, Label: "Your password", Type: "password", Autocomplete: "current-password", Focus: true,
	})
	s.Code = s.draw(field{
		Name: confirmCodeField, Label: "Code of your authenticator app, or a recovery code",
		Autocomplete: "one-time-code",
	})
	return false, v.show(status, "confirm", "Confirm that it is you", s)
}

// proveIdentity checks the password, with a code if the user has an authenticator app, or the passkey of the form, and
// confirms the session. It returns a
// *kernel.ValidationError if it is wrong.
func (v *visit) proveIdentity() error {
	response := v.r.PostForm.Get(confirmPasskeyField)
	if !v.r.PostForm.Has(confirmPasskeyField) {
		if _, err := v.checkPassword(v.in.User.Email, confirmField, v.r.PostForm.Get(confirmField)); err != nil {
			return err
		}
		if err := v.proveSecondFactor(); err != nil {
			return err
		}
		return v.store.ConfirmSession(v.r.Context(), v.actor())
	}
	key, signCount, err := v.checkPasskey(response, v.in.User.ID)
	if err == nil {
		err = v.passkeyError(v.store.ConfirmWithPasskey(v.r.Context(), v.actor(), key, signCount))
	}
	return passkeyInvalid(confirmPasskeyField, response, err)
}

// proveSecondFactor uses up the code of the form if the user has an authenticator app.
func (v *visit) proveSecondFactor() error {
	factors, err := v.store.Factors(v.r.Context(), v.actor())
	if err != nil || !factors.HasAuthenticator() {
		return err
	}
	factor, err := v.readFactor(v.in.User.ID, v.r.PostForm.Get(confirmCodeField))
	if err == nil {
		err = v.store.UseSecondFactor(v.r.Context(), v.in.User.ID, v.in.WorkspaceID, factor, v.browser())
	}
	return v.factorError(confirmCodeField, err)
}
