package signin

import (
	"encoding/json"
	"errors"
	"net/http"
	"net/url"

	"github.com/allswell/allswell/internal/domain/account"
	"github.com/allswell/allswell/internal/domain/kernel"
	"github.com/allswell/allswell/internal/store"
	"github.com/allswell/allswell/internal/surface/dashboard/frame"
	"github.com/allswell/allswell/internal/surface/signin/passkey"
)

// passkeyField is the field of a form that the script sets to the response of the authenticator.
const passkeyField = "credential"

// answerOptions answers the script with the options of a ceremony, which are JSON.
func (r *request) answerOptions(options any, err error) error {
	if err != nil {
		return err
	}
	body, err := json.Marshal(options)
	if err != nil {
		return err
	}
	r.W.Header().Set("Content-Type", "application/json")
	_, err = r.W.Write(body)
	return err
}

// requestOptions answers with the options with which the script uses a passkey. userID is "" at the sign-in.
func (r *request) requestOptions(userID string) error {
	if r.Passkeys == nil {
		return kernel.ErrNotFound
	}
	if err := r.Attempt(frame.Attempter{}); err != nil {
		return err
	}
	challenge, err := r.Store.IssuePasskeyChallenge(r.Context(), userID)
	if err != nil {
		return err
	}
	return r.answerOptions(r.Passkeys.RequestOptions(challenge))
}

// signInOptions answers with the options with which the script signs in with a passkey.
func (r *request) signInOptions() error { return r.requestOptions("") }

// confirmOptions answers with the options with which the script confirms a change with a passkey.
func (r *request) confirmOptions() error { return r.requestOptions(r.SignedIn.User.ID) }

// errPasskeyRefused means that the response of an authenticator is not valid.
var errPasskeyRefused = errors.New("the passkey was refused")

// checkPasskey returns the passkey that has signed a challenge of this service, and its new sign count. userID is the
// user for whom the challenge must have been issued; "": for a sign-in. The error is errPasskeyRefused if the response
// is not valid.
func (r *request) checkPasskey(response, userID string) (key account.Passkey, signCount uint32, err error) {
	if r.Passkeys == nil {
		return key, 0, kernel.ErrNotFound
	}
	var user account.User
	assertion, err := passkey.ParseAssertion([]byte(response))
	if err == nil {
		err = r.takeChallenge(assertion.Challenge(), userID)
	}
	if err == nil {
		key, user, err = r.Store.FindPasskey(r.Context(), assertion.CredentialID())
	}
	if err == nil && userID != "" && userID != key.UserID {
		err = errPasskeyRefused
	}
	if err == nil {
		signCount, err = r.Passkeys.Verify(assertion, user, key)
	}
	return key, signCount, r.passkeyError(err)
}

// takeChallenge uses up a challenge that was issued to a user, or for a sign-in if userID is "". The error is
// errPasskeyRefused if it was issued to somebody else, and kernel.ErrNotFound if it is not valid.
func (r *request) takeChallenge(challenge, userID string) error {
	issued, err := r.Store.TakePasskeyChallenge(r.Context(), challenge)
	if err == nil && issued != userID {
		err = errPasskeyRefused
	}
	return err
}

// passkeyError logs errors of passkeys and returns errPasskeyRefused for them. Other errors are returned unchanged.
func (r *request) passkeyError(err error) error {
	if errors.Is(err, passkey.ErrRefused) || errors.Is(err, store.ErrWrongFactor) ||
		errors.Is(err, kernel.ErrNotFound) || errors.Is(err, errPasskeyRefused) {
		r.Log.InfoContext(r.Context(), "a passkey was refused", "error", err)
		return errPasskeyRefused
	}
	return err
}

// passkeyInvalid returns a *kernel.ValidationError for a refused passkey, and other errors unchanged.
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

// signInWithPasskey signs in the user of a passkey. It needs no second factor, because a passkey combines the
// authenticator with its verification of the user.
func (r *request) signInWithPasskey() error {
	s := r.newSignIn(r.PostForm)
	if err := r.Attempt(frame.Attempter{}); err != nil {
		return r.refuseAttempt(err, func(status int, message string, args ...any) error {
			s.Refuse(passkeyField, message, args...)
			return r.showSignInForm(status, s)
		})
	}
	response := r.PostForm.Get(passkeyField)
	key, signCount, err := r.checkPasskey(response, "")
	if err == nil && len(r.SingleSignOn.Rules.Groups) > 0 {
		elsewhere, err := r.Store.HasIdentity(r.Context(), "", key.UserID)
		if err != nil {
			return err
		}
		if elsewhere { // a passkey would keep a role that the groups do not give any more
			s.Refuse(passkeyField,
				"Your groups decide about your role at every sign-in, so please use single sign-on. Your passkey "+
					"still confirms changes.")
			return r.showSignInForm(http.StatusForbidden, s)
		}
	}
	var secret string
	if err == nil {
		secret, err = r.Store.SignInWithPasskey(r.Context(), key, signCount, r.Browser())
		err = r.passkeyError(err)
	}
	if s.Refused(passkeyInvalid(passkeyField, response, err)) {
		return r.showSignInForm(http.StatusUnprocessableEntity, s)
	}
	return r.startSession(secret, err, s.Next)
}

// creationOptions answers with the options with which the script creates a passkey.
func (r *request) creationOptions() error {
	if r.Passkeys == nil {
		return kernel.ErrNotFound
	}
	if err := r.Attempt(frame.Attempter{}); err != nil {
		return err
	}
	others, err := r.Store.Passkeys(r.Context(), r.Actor())
	if err != nil {
		return err
	}
	challenge, err := r.Store.IssuePasskeyChallenge(r.Context(), r.SignedIn.User.ID)
	if err != nil {
		return err
	}
	return r.answerOptions(r.Passkeys.CreationOptions(r.SignedIn.User, others, challenge))
}

// addPasskey adds the passkey that the script has created.
func (r *request) addPasskey() error {
	f := frame.NewForm(r.PostForm)
	if r.Passkeys == nil {
		return kernel.ErrNotFound
	}
	response := f.Value(passkeyField)
	challenge, err := passkey.CreationChallenge([]byte(response))
	if err == nil {
		err = r.takeChallenge(challenge, r.SignedIn.User.ID)
	}
	var made account.Passkey
	if err == nil {
		made, err = r.Passkeys.Create(r.SignedIn.User, challenge, []byte(response))
	}
	if err = passkeyInvalid(passkeyField, response, r.passkeyError(err)); err == nil {
		made.Name = f.Value("name")
		err = r.Store.AddPasskey(r.Context(), r.Actor(), made)
	}
	if f.Refused(err) {
		return r.showAccountForms(http.StatusUnprocessableEntity, &accountScreen{NewPasskey: f})
	}
	if err != nil {
		return err
	}
	return r.Redirect(accountPath)
}

// renamePasskey changes the name of a passkey.
func (r *request) renamePasskey() error {
	f := frame.NewForm(url.Values{"name": {r.PostForm.Get("name")}})
	err := r.Store.RenamePasskey(r.Context(), r.Actor(), r.PathValue("passkey"), f.Value("name"))
	if f.Refused(err) {
		return r.showAccountForms(http.StatusUnprocessableEntity, &accountScreen{
			Renamed: r.PathValue("passkey"), Rename: f,
		})
	}
	if err != nil {
		return err
	}
	return r.Redirect(accountPath)
}

// removePasskey removes a passkey. It is no error if the passkey does not exist.
func (r *request) removePasskey() error {
	err := r.Store.RemovePasskey(r.Context(), r.Actor(), r.PathValue("passkey"))
	if err != nil && !errors.Is(err, kernel.ErrNotFound) {
		return err
	}
	return r.Redirect(accountPath)
}

// passkeyRow is a passkey in the list.
type passkeyRow struct {
	account.Passkey
	Name frame.Field
	Open bool // the name was refused
}

// showPasskeys fills in the passkeys of the account's screen.
func (r *request) showPasskeys(s *accountScreen) error {
	keys, err := r.Store.Passkeys(r.Context(), r.Actor())
	if err != nil {
		return err
	}
	s.PasskeysWork = r.Passkeys != nil
	for _, key := range keys {
		row, f := passkeyRow{Passkey: key}, frame.NewForm(url.Values{"name": {key.Name}})
		if key.ID == s.Renamed {
			row.Open, f = true, s.Rename
		}
		row.Name = f.Draw(frame.Field{Name: "name", ID: "name-" + key.ID, Label: "Name"})
		s.Passkeys = append(s.Passkeys, row)
	}
	if s.NewPasskey == nil {
		s.NewPasskey = frame.NewForm(url.Values{"name": {browserName(r.UserAgent())}})
	}
	s.PasskeyName = s.NewPasskey.Draw(frame.Field{
		Name: "name", ID: "passkey-name", Label: "Name",
		Hint: "Helps you recognize the device or the password manager that stores it.",
	})
	return nil
}
