package dashboard

import (
	"encoding/json"
	"errors"
	"net/http"
	"net/url"

	"github.com/allswell/allswell/internal/domain/account"
	"github.com/allswell/allswell/internal/domain/kernel"
	"github.com/allswell/allswell/internal/store"
	"github.com/allswell/allswell/internal/surface/signin/passkey"
)

// passkeyField is the field of a form in which the script puts what the authenticator answered.
const passkeyField = "credential"

// answerOptions answers the script with the options of a ceremony, which are JSON.
func (v *visit) answerOptions(options any, err error) error {
	if err != nil {
		return err
	}
	body, err := json.Marshal(options)
	if err != nil {
		return err
	}
	v.w.Header().Set("Content-Type", "application/json")
	_, err = v.w.Write(body)
	return err
}

// requestOptions answers with what the script needs to use a passkey. userID is "" at the sign-in.
func (v *visit) requestOptions(userID string) error {
	if v.passkeys == nil {
		return errNotFound
	}
	if err := v.attempt(attempter{}); err != nil {
		return err
	}
	challenge, err := v.store.IssuePasskeyChallenge(v.r.Context(), userID)
	if err != nil {
		return err
	}
	return v.answerOptions(v.passkeys.RequestOptions(challenge))
}

// signInOptions answers with what the script needs to sign in with a passkey.
func (v *visit) signInOptions() error { return v.requestOptions("") }

// confirmOptions answers with what the script needs to confirm a change with a passkey.
func (v *visit) confirmOptions() error { return v.requestOptions(v.in.User.ID) }

// errPasskeyRefused means that what an authenticator answered proves nothing.
var errPasskeyRefused = errors.New("the passkey was refused")

// checkPasskey returns the passkey that has signed a challenge of this service, and its new sign count. userID is whose
// ceremony it has to be; "": a sign-in of anybody. It returns errPasskeyRefused.
func (v *visit) checkPasskey(response, userID string) (key account.Passkey, signCount uint32, err error) {
	if v.passkeys == nil {
		return key, 0, errNotFound
	}
	var user account.User
	assertion, err := passkey.ParseAssertion([]byte(response))
	if err == nil {
		err = v.takeChallenge(assertion.Challenge(), userID)
	}
	if err == nil {
		key, user, err = v.store.FindPasskey(v.r.Context(), assertion.CredentialID())
	}
	if err == nil && userID != "" && userID != key.UserID {
		err = errPasskeyRefused
	}
	if err == nil {
		signCount, err = v.passkeys.Verify(assertion, user, key)
	}
	return key, signCount, v.passkeyError(err)
}

// takeChallenge uses up a challenge of a user, or of a sign-in if userID is "". It returns errPasskeyRefused if there
// is none.
func (v *visit) takeChallenge(challenge, userID string) error {
	issued, err := v.store.TakePasskeyChallenge(v.r.Context(), challenge)
	if err == nil && issued != userID {
		err = errPasskeyRefused
	}
	return err
}

// passkeyError returns errPasskeyRefused for all errors of passkeys, and logs them.
func (v *visit) passkeyError(err error) error {
	if errors.Is(err, passkey.ErrRefused) || errors.Is(err, store.ErrWrongFactor) ||
		errors.Is(err, kernel.ErrNotFound) || errors.Is(err, errPasskeyRefused) {
		v.log.InfoContext(v.r.Context(), "a passkey was refused", "error", err)
		return errPasskeyRefused
	}
	return err
}

// passkeyInvalid returns the *kernel.ValidationError of a passkey that was refused, and other errors as they are.
func passkeyInvalid(name, response string, err error) error {
	if !errors.Is(err, errPasskeyRefused) {
		return err
	}
	var bad kernel.ValidationError
	if response == "" {
		bad.Add(name, "Passkeys need JavaScript.")
	} else {
		bad.Add(name, "The passkey was not accepted. Please try again.")
	}
	return bad.Err()
}

// signInWithPasskey signs in the user of a passkey. It needs no second factor: the authenticator is one thing, and
// what it asks of its user is another.
func (v *visit) signInWithPasskey() error {
	s := v.newSignIn(v.r.PostForm)
	if err := v.attempt(attempter{}); err != nil {
		return v.refuseAttempt(err, func(status int, message string, args ...any) error {
			s.refuse(passkeyField, message, args...)
			return v.showSignInForm(status, s)
		})
	}
	response := v.r.PostForm.Get(passkeyField)
	key, signCount, err := v.checkPasskey(response, "")
	if err == nil && len(v.sso.Rules.Groups) > 0 {
		elsewhere, err := v.store.HasIdentity(v.r.Context(), "", key.UserID)
		if err != nil {
			return err
		}
		if elsewhere { // a passkey would keep a role that the groups do not give any more
			s.refuse(passkeyField,
				"Your groups decide about your role at every sign-in, so please use single sign-on. Your passkey "+
					"still confirms changes.")
			return v.showSignInForm(http.StatusForbidden, s)
		}
	}
	var secret string
	if err == nil {
		secret, err = v.store.SignInWithPasskey(v.r.Context(), key, signCount, v.browser())
		err = v.passkeyError(err)
	}
	if s.refused(passkeyInvalid(passkeyField, response, err)) {
		return v.showSignInForm(http.StatusUnprocessableEntity, s)
	}
	return v.startSession(secret, err, s.Next)
}

// creationOptions answers with what the script needs to make a passkey.
func (v *visit) creationOptions() error {
	if v.passkeys == nil {
		return errNotFound
	}
	if err := v.attempt(attempter{}); err != nil {
		return err
	}
	others, err := v.store.Passkeys(v.r.Context(), v.actor())
	if err != nil {
		return err
	}
	challenge, err := v.store.IssuePasskeyChallenge(v.r.Context(), v.in.User.ID)
	if err != nil {
		return err
	}
	return v.answerOptions(v.passkeys.CreationOptions(v.in.User, others, challenge))
}

// addPasskey adds the passkey that the script has made.
func (v *visit) addPasskey() error {
	f := newForm(v.r.PostForm)
	if v.passkeys == nil {
		return errNotFound
	}
	response := f.Value(passkeyField)
	challenge, err := passkey.CreationChallenge([]byte(response))
	if err == nil {
		err = v.takeChallenge(challenge, v.in.User.ID)
	}
	var made account.Passkey
	if err == nil {
		made, err = v.passkeys.Create(v.in.User, challenge, []byte(response))
	}
	if err = passkeyInvalid(passkeyField, response, v.passkeyError(err)); err == nil {
		made.Name = f.Value("name")
		err = v.store.AddPasskey(v.r.Context(), v.actor(), made)
	}
	if f.refused(err) {
		return v.showAccountForms(http.StatusUnprocessableEntity, &accountScreen{NewPasskey: f})
	}
	if err != nil {
		return err
	}
	return v.redirect(accountPath)
}

// renamePasskey changes the name of a passkey.
func (v *visit) renamePasskey() error {
	f := newForm(url.Values{"name": {v.r.PostForm.Get("name")}})
	err := v.store.RenamePasskey(v.r.Context(), v.actor(), v.r.PathValue("passkey"), f.Value("name"))
	if f.refused(err) {
		return v.showAccountForms(http.StatusUnprocessableEntity, &accountScreen{
			Renamed: v.r.PathValue("passkey"), Rename: f,
		})
	}
	if err != nil {
		return err
	}
	return v.redirect(accountPath)
}

// removePasskey removes a passkey. It is no error if the passkey does not exist.
func (v *visit) removePasskey() error {
	if err := v.store.RemovePasskey(
		v.r.Context(), v.actor(), v.r.PathValue("passkey"),
	); err != nil && !errors.Is(err, kernel.ErrNotFound) {
		return err
	}
	return v.redirect(accountPath)
}

// passkeyRow is a passkey in the list.
type passkeyRow struct {
	account.Passkey
	Name field
	Open bool // the name was refused
}

// showPasskeys fills in the passkeys of the account's screen.
func (v *visit) showPasskeys(s *accountScreen) error {
	keys, err := v.store.Passkeys(v.r.Context(), v.actor())
	if err != nil {
		return err
	}
	s.PasskeysWork = v.passkeys != nil
	for _, key := range keys {
		row, f := passkeyRow{Passkey: key}, newForm(url.Values{"name": {key.Name}})
		if key.ID == s.Renamed {
			row.Open, f = true, s.Rename
		}
		row.Name = f.draw(field{Name: "name", ID: "name-" + key.ID, Label: "Name"})
		s.Passkeys = append(s.Passkeys, row)
	}
	if s.NewPasskey == nil {
		s.NewPasskey = newForm(url.Values{"name": {browserName(v.r.UserAgent())}})
	}
	s.PasskeyName = s.NewPasskey.draw(field{
		Name: "name", ID: "passkey-name", Label: "Name",
		Hint: "Helps you recognize the device or the password manager that stores it.",
	})
	return nil
}
