package dashboard

import (
	"errors"
	"net/http"
	"net/url"
	"regexp"
	"strings"

	"github.com/allswell/allswell/internal/domain/account"
	"github.com/allswell/allswell/internal/domain/kernel"
	"github.com/allswell/allswell/internal/surface/signin/password"
)

// accountPath is the path of the screen of the visitor's own account.
const accountPath = Path + "/account"

// accountScreen is the data of the template account.
type accountScreen struct {
	User     account.User
	Name     *form
	Password *form
	Factors  account.Factors
	Passkeys []passkeyRow
	Sessions []sessionRow
	Log      objectLog

	HasPassword    bool
	NameField      field
	PasswordFields []field

	ByProxy      bool // the reverse proxy has signed in, so factors cannot be changed
	PasskeysWork bool // browsers make passkeys for the base URL
	NewPasskey   *form
	PasskeyName  field
	Renamed      string // the passkey whose name was refused
	Rename       *form
}

// sessionRow is a session in the list.
type sessionRow struct {
	account.Session
	This bool // the one of the request
}

// Browser returns the name of the session's browser and system, as far as its User-Agent names them.
func (s sessionRow) Browser() string {
	return browserName(s.Client)
}

// How returns how the session began.
func (s sessionRow) How() string {
	switch s.Method {
	case account.SignInPassword:
		return "with the password"
	case account.SignInPasskey:
		return "with a passkey"
	case account.SignInOIDC:
		return "with single sign-on"
	case account.SignInProxy:
		return "by the reverse proxy"
	default:
		return "with a link"
	}
}

// Product tokens of User-Agents. Browsers name those that they resemble, too: the first one found is the right one.
var (
	browserTokens = []struct{ token, name string }{
		{"Edg", "Edge"}, {"OPR/", "Opera"}, {"Firefox/", "Firefox"}, {"FxiOS/", "Firefox"}, {"Chrome/", "Chrome"},
		{"CriOS/", "Chrome"}, {"Safari/", "Safari"},
	}
	systemTokens = []struct{ token, name string }{
		{"iPhone", "iPhone"}, {"iPad", "iPad"}, {"Android", "Android"}, {"Windows", "Windows"}, {"Mac OS X", "macOS"},
		{"CrOS", "ChromeOS"}, {"Linux", "Linux"},
	}
	otherClient = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9._-]{1,30}`)
)

func browserName(client string) string {
	browser, system := "", ""
	for _, b := range browserTokens {
		if browser == "" && strings.Contains(client, b.token) {
			browser = b.name
		}
	}
	for _, s := range systemTokens {
		if system == "" && strings.Contains(client, s.token) {
			system = s.name
		}
	}
	switch {
	case browser != "" && system != "":
		return browser + " on " + system
	case browser != "":
		return browser
	case otherClient.MatchString(client):
		return otherClient.FindString(client)
	default:
		return "Unknown browser"
	}
}

// showOwnAccount shows the visitor's account and sessions.
func (v *visit) showOwnAccount() error {
	return v.showAccountForms(http.StatusOK, &accountScreen{})
}

func (v *visit) showAccountForms(status int, s *accountScreen) error {
	s.User, s.ByProxy = v.in.User, v.in.Method == account.SignInProxy
	if s.Name == nil {
		s.Name = newForm(url.Values{"name": {s.User.Name}})
	}
	if s.Password == nil {
		s.Password = newForm(url.Values{})
	}
	s.NameField = s.Name.draw(field{
		Name: "name", Label: "Name", Autocomplete: "name", Hint: "Other members and the audit log show it.",
	})
	s.PasswordFields = []field{
		s.Password.draw(field{
			Name: "current_password", Label: "Current password", Type: "password", Autocomplete: "current-password",
		}),
		s.Password.draw(newPassword),
	}
	var err error
	if s.Factors, err = v.store.Factors(v.r.Context(), v.actor()); err != nil {
		return err
	}
	if err := v.showPasskeys(s); err != nil {
		return err
	}
	account, err := v.store.Credentials(v.r.Context(), s.User.Email)
	if err != nil {
		return err
	}
	s.HasPassword = account.PasswordHash != ""
	sessions, err := v.store.Sessions(v.r.Context(), v.actor())
	if err != nil {
		return err
	}
	if s.Log, err = v.accountLog(); err != nil {
		return err
	}
	for _, one := range sessions {
		s.Sessions = append(s.Sessions, sessionRow{one, one.ID == v.in.ID})
	}
	return v.show(status, "account", "Your account", s)
}

// changeAccount changes the visitor's name.
func (v *visit) changeAccount() error {
	f := newForm(v.r.PostForm)
	err := v.store.ChangeUser(v.r.Context(), v.actor(), func(u *account.User) error {
		u.Name = f.Value("name")
		return nil
	})
	if f.refused(err) {
		return v.showAccountForms(http.StatusUnprocessableEntity, &accountScreen{Name: f})
	}
	if err != nil {
		return err
	}
	return v.redirect(accountPath)
}

// changePassword changes the visitor's password, if the current one is right. It ends all other sessions.
func (v *visit) changePassword() error {
	f := newForm(v.r.PostForm)
	err := password.Check(f.Value("password"), v.in.User.Name, v.in.User.Email)
	if err == nil {
		_, err = v.checkPassword(v.in.User.Email, "current_password", f.Value("current_password"))
	}
	if f.refused(err) {
		return v.showAccountForms(v.refusalStatus(), &accountScreen{Password: f})
	}
	if err != nil {
		return err
	}
	hash, err := password.Hash(v.r.Context(), v.asker(attempter{account: v.in.User.Email, proven: true}),
		f.Value("password"))
	if err == nil {
		err = v.store.ChangePassword(v.r.Context(), v.actor(), hash)
	}
	if err != nil {
		return err
	}
	v.rememberBrowser(hash)
	return v.redirect(accountPath)
}

// endSession ends one of the visitor's sessions. One that has ended already is fine.
func (v *visit) endSession() error {
	id := v.r.PathValue("session")
	err := v.store.EndSession(v.r.Context(), v.actor(), id)
	if err != nil && !errors.Is(err, kernel.ErrNotFound) {
		return err
	}
	if id == v.in.ID {
		v.cookie.clear(v.w)
		return v.redirect(Path + "/sign-in")
	}
	return v.redirect(accountPath)
}

// endOtherSessions ends all of the visitor's sessions but the one of the request.
func (v *visit) endOtherSessions() error {
	if err := v.store.EndOtherSessions(v.r.Context(), v.actor()); err != nil {
		return err
	}
	return v.redirect(accountPath)
}

// switchWorkspace shows another workspace of the visitor.
func (v *visit) switchWorkspace() error {
	if err := v.store.SwitchWorkspace(v.r.Context(), v.actor(), v.r.PostForm.Get("workspace_id")); err != nil {
		return err
	}
	return v.redirect(Path)
}
