package signin

import (
	"errors"
	"net/http"
	"net/url"
	"regexp"
	"strings"

	"github.com/allswell/allswell/internal/domain/account"
	"github.com/allswell/allswell/internal/domain/kernel"
	"github.com/allswell/allswell/internal/surface/dashboard/frame"
	"github.com/allswell/allswell/internal/surface/signin/password"
)

// accountPath is the path of the screen of the visitor's own account.
const accountPath = frame.Path + "/account"

// accountScreen is the data of the template account.
type accountScreen struct {
	User     account.User
	Name     *frame.Form
	Password *frame.Form
	Factors  account.Factors
	Passkeys []passkeyRow
	Sessions []sessionRow
	Log      frame.ObjectLog

	HasPassword    bool
	NameField      frame.Field
	PasswordFields []frame.Field

	ByProxy      bool // the session was begun by the reverse proxy, so factors cannot be changed
	PasskeysWork bool // browsers create passkeys for the base URL
	NewPasskey   *frame.Form
	PasskeyName  frame.Field
	Renamed      string // id of the passkey whose new name was refused
	Rename       *frame.Form
}

// sessionRow is a session in the list.
type sessionRow struct {
	account.Session
	This bool // the session of the request
}

// Browser returns the name of the session's browser and system, as far as its User-Agent names them.
func (s sessionRow) Browser() string {
	return browserName(s.Client)
}

// How returns how the session began, for people.
func (s sessionRow) How() string {
	switch s.Method {
	case account.SignInPassword:
		return "password"
	case account.SignInPasskey:
		return "passkey"
	case account.SignInOIDC:
		return "single sign-on"
	case account.SignInProxy:
		return "reverse proxy"
	default:
		return "link"
	}
}

// Product tokens of User-Agents. Browsers also name browsers that they resemble; the first match is the right one.
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
func (r *request) showOwnAccount() error {
	return r.showAccountForms(http.StatusOK, &accountScreen{})
}

func (r *request) showAccountForms(status int, s *accountScreen) error {
	s.User, s.ByProxy = r.SignedIn.User, r.SignedIn.Method == account.SignInProxy
	if s.Name == nil {
		s.Name = frame.NewForm(url.Values{"name": {s.User.Name}})
	}
	if s.Password == nil {
		s.Password = frame.NewForm(url.Values{})
	}
	s.NameField = s.Name.Draw(frame.Field{
		Name: "name", Label: "Name", Autocomplete: "name", Hint: "Other members and the audit log show it.",
	})
	s.PasswordFields = []frame.Field{
		s.Password.Draw(frame.Field{
			Name: "current_password", Label: "Current password", Type: "password", Autocomplete: "current-password",
		}),
		s.Password.Draw(newPassword),
	}
	var err error
	if s.Factors, err = r.Store.Factors(r.Context(), r.Actor()); err != nil {
		return err
	}
	if err := r.showPasskeys(s); err != nil {
		return err
	}
	account, err := r.Store.Credentials(r.Context(), s.User.Email)
	if err != nil {
		return err
	}
	s.HasPassword = account.PasswordHash != ""
	sessions, err := r.Store.Sessions(r.Context(), r.Actor())
	if err != nil {
		return err
	}
	if s.Log, err = r.accountLog(); err != nil {
		return err
	}
	for _, one := range sessions {
		s.Sessions = append(s.Sessions, sessionRow{one, one.ID == r.SignedIn.ID})
	}
	return r.Show(status, "account", "Your account", s)
}

// changeAccount changes the visitor's name.
func (r *request) changeAccount() error {
	f := frame.NewForm(r.PostForm)
	err := r.Store.ChangeUser(r.Context(), r.Actor(), func(u *account.User) error {
		u.Name = f.Value("name")
		return nil
	})
	if f.Refused(err) {
		return r.showAccountForms(http.StatusUnprocessableEntity, &accountScreen{Name: f})
	}
	if err != nil {
		return err
	}
	return r.Redirect(accountPath)
}

// changePassword changes the visitor's password, if the current one is right. It ends all other sessions.
func (r *request) changePassword() error {
	f := frame.NewForm(r.PostForm)
	err := password.Check(f.Value("password"), r.SignedIn.User.Name, r.SignedIn.User.Email)
	if err == nil {
		_, err = r.checkPassword(r.SignedIn.User.Email, "current_password", f.Value("current_password"))
	}
	if f.Refused(err) {
		return r.showAccountForms(r.refusalStatus(), &accountScreen{Password: f})
	}
	if err != nil {
		return err
	}
	hash, err := password.Hash(r.Context(), r.asker(frame.Attempter{Account: r.SignedIn.User.Email, Proven: true}),
		f.Value("password"))
	if err == nil {
		err = r.Store.ChangePassword(r.Context(), r.Actor(), hash)
	}
	if err != nil {
		return err
	}
	r.rememberBrowser(hash)
	return r.Redirect(accountPath)
}

// endSession ends one of the visitor's sessions. It is no error if the session has already ended.
func (r *request) endSession() error {
	id := r.PathValue("session")
	err := r.Store.EndSession(r.Context(), r.Actor(), id)
	if err != nil && !errors.Is(err, kernel.ErrNotFound) {
		return err
	}
	if id == r.SignedIn.ID {
		r.SessionCookie.Clear(r.W)
		return r.Redirect(frame.Path + "/sign-in")
	}
	return r.Redirect(accountPath)
}

// endOtherSessions ends all of the visitor's sessions but the session of the request.
func (r *request) endOtherSessions() error {
	if err := r.Store.EndOtherSessions(r.Context(), r.Actor()); err != nil {
		return err
	}
	return r.Redirect(accountPath)
}

// switchWorkspace shows another workspace of the visitor.
func (r *request) switchWorkspace() error {
	if err := r.Store.SwitchWorkspace(r.Context(), r.Actor(), r.PostForm.Get("workspace_id")); err != nil {
		return err
	}
	return r.Redirect(frame.Path)
}
