package dashboard

import (
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"strings"
	"unicode/utf8"

	"github.com/allswell/allswell/internal/domain/account"
	"github.com/allswell/allswell/internal/domain/audience"
	"github.com/allswell/allswell/internal/domain/kernel"
	"github.com/allswell/allswell/internal/domain/statuspage"
	"github.com/allswell/allswell/internal/resource/rights"
	"github.com/allswell/allswell/internal/shared/clientaddr"
	"github.com/allswell/allswell/internal/store"
	"github.com/allswell/allswell/internal/surface/signin/password"
	"github.com/allswell/allswell/internal/surface/web"
)

// maxFormBytes is the maximum size of a form, which may contain an image or a list of subscribers.
const maxFormBytes = max(statuspage.MaxImageSize, audience.MaxImportBytes) + 64<<10

// maxStrangersForm is the maximum size of a form of somebody who is not signed in, such as the report of an
// acknowledgement.
const maxStrangersForm = 64 << 10

// busyRetryAfter is when a request that found no room may be sent again, in seconds.
const busyRetryAfter = "5"

var errNotFound = kernel.ErrNotFound

// visit is a request for a screen.
type visit struct {
	*Dashboard
	w  http.ResponseWriter
	r  *http.Request
	in account.SignedIn // the zero value: not signed in

	polled bool // by the event stream of an open screen: no person has caused the request

	alerts *string // see openAlerts; nil: not loaded yet

	refusedStatus int // of an attempt that refuseAttempt has refused; 0: none was
}

// handle returns the handler of a route: it finds the session, checks the role, reads the form and answers errors.
// polled is that of the visits.
func (d *Dashboard) handle(route route, polled bool) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		v := &visit{Dashboard: d, w: w, r: r, polled: polled}
		defer web.FailPanic(v.fail)
		h := w.Header()
		h.Set("Cache-Control", "no-store")
		h.Set("Content-Security-Policy", policy)
		h.Set("X-Frame-Options", "DENY")
		h.Set("Referrer-Policy", "same-origin")
		err := v.admit(route)
		if err == nil {
			err = route.serve(v)
		}
		if err != nil {
			v.fail(err)
		}
	})
}

// errForbidden means that the member's role does not allow the request.
var errForbidden = errors.New("the role does not allow this")

// errSignedOut means that the visitor has to sign in first.
var errSignedOut = errors.New("nobody is signed in")

// admit finds the session and checks that the request is allowed.
func (v *visit) admit(route route) error {
	if route.needs == rights.Signed {
		return nil
	}
	if secret := v.cookie.read(v.r); secret != "" {
		find := v.store.UseSession
		if v.polled {
			find = v.store.FindSession
		}
		in, err := find(v.r.Context(), secret)
		if err != nil && !errors.Is(err, kernel.ErrUnauthenticated) {
			return err
		}
		if err == nil {
			v.in = in
		}
	}
	if v.sso.Proxy.Email != "" {
		if err := v.admitByProxy(route); err != nil {
			return err
		}
	}
	if route.needs != rights.Anyone {
		if v.in.ID == "" {
			return errSignedOut
		}
		if !route.needs.AllowsRole(v.in.Role) {
			return errForbidden
		}
	}
	if v.r.Method == http.MethodPost {
		v.r.Body = http.MaxBytesReader(v.w, v.r.Body, int64(v.maxForm()))
		err := v.r.ParseForm()
		if err == nil && strings.HasPrefix(v.r.Header.Get("Content-Type"), "multipart/form-data") {
			err = v.r.ParseMultipartForm(maxFormBytes)
		}
		if errors.Is(err, web.ErrBodies) {
			return err
		}
		if err != nil {
			return fmt.Errorf("%w: %v", errBadForm, err)
		}
		if id := v.r.PostForm.Get("workspace"); id != "" && id != v.in.WorkspaceID {
			return errOtherWorkspace
		}
	}
	// PostgreSQL stores no other text.
	if !isText(v.r.URL.Path) {
		return errNotFound
	}
	if query := v.r.URL.Query(); !hasOnlyText(query) {
		v.r.URL.RawQuery = replaceNoText(query).Encode()
	}
	if !hasOnlyText(v.r.PostForm) {
		return errNotText
	}
	return nil
}

// maxForm returns the maximum size of a form of the visitor.
func (v *visit) maxForm() int {
	if v.in.ID == "" {
		return maxStrangersForm
	}
	return maxFormBytes
}

// errOtherWorkspace means that another tab has switched to another workspace since a form was shown.
var errOtherWorkspace = errors.New("the form is of another workspace")

// isText reports whether s is UTF-8 without NUL.
func isText(s string) bool { return utf8.ValidString(s) && !strings.ContainsRune(s, 0) }

func hasOnlyText(fields url.Values) bool {
	for _, values := range fields {
		for _, value := range values {
			if !isText(value) {
				return false
			}
		}
	}
	return true
}

// replaceNoText returns a query in which U+FFFD, which matches nothing, replaces bytes that are not text.
func replaceNoText(query url.Values) url.Values {
	clean := url.Values{}
	for name, values := range query {
		for _, value := range values {
			clean.Add(name, strings.ReplaceAll(strings.ToValidUTF8(value, "\ufffd"), "\x00", "\ufffd"))
		}
	}
	return clean
}

// errBadForm means that the body of a request is no form, or too large.
var errBadForm = errors.New("the form cannot be read")

// errNotText means that a field of a form is not UTF-8, or contains NUL.
var errNotText = errors.New("the form contains what is no text")

// askToSignIn leads to the sign-in, and from there back to a screen that was requested.
func (v *visit) askToSignIn() {
	target := Path + "/sign-in"
	if v.r.Method == http.MethodGet && v.r.URL.Path != Path {
		target += "?" + url.Values{"next": {v.r.URL.RequestURI()}}.Encode()
	}
	http.Redirect(v.w, v.r, target, http.StatusSeeOther)
}

// actor returns the actor of the request's changes.
func (v *visit) actor() kernel.Actor {
	address := ""
	if a := clientaddr.Of(v.r); a.IsValid() {
		address = a.String()
	}
	return v.in.Actor(address)
}

// browser describes the browser at a sign-in.
func (v *visit) browser() store.Browser {
	return store.Browser{Address: v.actor().Address, Client: v.r.UserAgent()}
}

// may reports whether the member's role and limit to pages allow an operation.
func (v *visit) may(o rights.Operation) bool {
	return o.AllowsRole(v.in.Role) && o.CheckLimit(v.in.Actor("")) == nil
}

// redirect answers with a screen to go to, after a change.
func (v *visit) redirect(path string) error {
	http.Redirect(v.w, v.r, path, http.StatusSeeOther)
	return nil
}

// localPath returns path if it is a path of the dashboard, and Path otherwise, so that no link leads elsewhere after a
// sign-in.
func localPath(path string) string {
	u, err := url.Parse(path)
	if err != nil || u.IsAbs() || u.Host != "" || u.Path != Path && !strings.HasPrefix(u.Path, Path+"/") ||
		strings.ContainsAny(path, "\\\r\n\t") {
		return Path
	}
	return path
}

// failure is the data of the screen of an error.
type failure struct {
	Status int
	Title  string
	Text   string

	Next  string // URL of the link; "": the overview
	Alone bool   // nobody is signed in, or it is not known who
}

// fail answers with the screen of an error.
func (v *visit) fail(err error) {
	var identity account.IdentityError
	var tooMany *tooManyAttempts
	f := failure{
		Status: http.StatusInternalServerError, Title: "Something went wrong",
		Text: "The error is in the log of the service. Please try again.",
	}
	switch {
	case errors.Is(err, kernel.ErrNotFound):
		f = failure{Status: http.StatusNotFound, Title: "Not found", Text: "There is no such page, or it was deleted."}
	case errors.As(err, &identity):
		f = failure{Status: http.StatusForbidden, Title: "You cannot sign in", Text: identity.Error()}
		v.log.WarnContext(v.r.Context(), "a sign-in through the reverse proxy failed", "error", err)
	case errors.Is(err, errForbidden):
		f = failure{
			Status: http.StatusForbidden, Title: "Not allowed",
			Text: fmt.Sprintf("Your role in this workspace, %s, does not allow this. An admin or owner can change it.",
				v.in.Role),
		}
	case errors.Is(err, kernel.ErrPageLimited):
		f = failure{
			Status: http.StatusForbidden, Title: "Not allowed",
			Text: "You are limited to some pages of this workspace, and this is about all of it. An admin or owner " +
				"can change it.",
		}
	case errors.Is(err, errByProxy):
		f = failure{
			Status: http.StatusForbidden, Title: "Not with this sign-in",
			Text: "The reverse proxy has signed you in, so you cannot change passkeys, authenticator apps or " +
				"recovery codes here. If you have a password, sign out, and sign in with it first.",
		}
	case errors.Is(err, errSignedOut):
		v.askToSignIn()
		return
	case errors.Is(err, kernel.ErrUnauthenticated):
		v.cookie.clear(v.w)
		v.askToSignIn()
		return
	case errors.Is(err, errBadCode):
		f = failure{
			Status: http.StatusNotFound, Title: "This link is not valid any more",
			Text: "It works once, and for a limited time. Ask the person who sent it for a new one. " +
				"On the server, the command allswell setup-link prints a new link for the first account, and " +
				"allswell user reset EMAIL one for a new password.",
		}
	case errors.Is(err, errOldAlert):
		f = failure{
			Status: http.StatusNotFound, Title: "This link is not valid any more",
			Text: "It is of an alert that ended long ago, or is not complete.",
		}
	case errors.As(err, &tooMany):
		v.w.Header().Set("Retry-After", tooMany.retryAfter())
		f = failure{
			Status: http.StatusTooManyRequests, Title: "Too many attempts", Text: "Please try again in some minutes.",
		}
	case errors.Is(err, errBackupRunning):
		f = failure{
			Status: http.StatusConflict, Title: "One backup at a time",
			Text: "Somebody is downloading a backup. Please try again when it is done.",
		}
	case errors.Is(err, errBadForm):
		f = failure{
			Status: http.StatusRequestEntityTooLarge, Title: "The form could not be read",
			Text: fmt.Sprintf("It may have at most %d KiB.", v.maxForm()>>10),
		}
	case errors.Is(err, errOtherWorkspace):
		f = failure{
			Status: http.StatusConflict, Title: "You have switched to another workspace",
			Text: "The form was opened in a workspace other than this one. Nothing was saved. Switch back, and send " +
				"the form again.",
		}
	case errors.Is(err, errBadMove):
		f = failure{
			Status: http.StatusBadRequest, Title: "Nothing was moved",
			Text: "A component or a group moves up or down. Please go back and try again.",
		}
	case errors.Is(err, errOrderChanged):
		f = failure{
			Status: http.StatusConflict, Title: "Nothing was moved",
			Text: "Somebody else has changed the order meanwhile. Reload to see it, and move again.",
		}
	case errors.Is(err, errNotText):
		f = failure{
			Status: http.StatusBadRequest, Title: "The form could not be read",
			Text: "It may contain only text in UTF-8. Please go back and try again.",
		}
	case errors.Is(err, kernel.ErrPreconditionFailed):
		f = failure{
			Status: http.StatusConflict, Title: "Somebody else has changed this",
			Text: "It was changed after you opened it. Nothing was saved. Go back, reload, and review the change " +
				"first.",
		}
	case errors.Is(err, kernel.ErrUnknownOutcome):
		f = failure{
			Status: http.StatusServiceUnavailable, Title: "The change may have been saved",
			Text: "The database did not confirm the change. Check whether it was saved before you try again.",
		}
	case errors.Is(err, password.ErrBusy):
		f = failure{
			Status: http.StatusServiceUnavailable, Title: "Too many passwords are being checked",
			Text: "Nothing was changed. Please try again in a moment.",
		}
	case errors.Is(err, errExports):
		f = failure{
			Status: http.StatusServiceUnavailable, Title: "Too many lists are being downloaded",
			Text: "Please try again when a download has ended.",
		}
	case errors.Is(err, web.ErrBodies):
		f = failure{
			Status: http.StatusServiceUnavailable, Title: "Too many large forms are being read",
			Text: "Nothing was changed. Please try again in a moment.",
		}
	case errors.Is(err, kernel.ErrBusy), v.r.Context().Err() != nil:
		f = failure{
			Status: http.StatusServiceUnavailable, Title: "The database cannot be reached",
			Text: "Nothing was changed. Please try again in a moment.",
		}
	default:
		v.log.ErrorContext(v.r.Context(), "a request failed", "method", v.r.Method, "path", v.r.URL.Path, "error", err)
	}
	if f.Status == http.StatusServiceUnavailable {
		v.w.Header().Set("Retry-After", busyRetryAfter)
		v.log.Log(v.r.Context(), slog.LevelDebug, "a request could not be served now", "path", v.r.URL.Path, "error",
			err)
		if v.r.Method == http.MethodGet {
			f.Next = v.r.URL.RequestURI()
		}
	}
	if err := v.showFailure(f); err != nil {
		http.Error(v.w, f.Title, f.Status)
	}
}

// showFailure answers with the screen of an error, or with another short text.
func (v *visit) showFailure(f failure) error {
	f.Alone = v.in.ID == ""
	return v.show(f.Status, "error", f.Title, f)
}
