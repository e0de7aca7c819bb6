package frame

import (
	"errors"
	"fmt"
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
	"github.com/allswell/allswell/internal/surface/web"
)

// MaxFormBytes is the maximum size of a form, which may contain an image or a list of subscribers.
const MaxFormBytes = max(statuspage.MaxImageSize, audience.MaxImportBytes) + 64<<10

// maxStrangersForm is the maximum size of a form from a visitor who is not signed in, such as the acknowledgement of an
// alert.
const maxStrangersForm = 64 << 10

// BusyRetryAfter is the Retry-After header of a 503, in seconds.
const BusyRetryAfter = "5"

// Request is a request for a screen, with its session and its response.
type Request struct {
	*http.Request
	*Frame
	W        http.ResponseWriter
	SignedIn account.SignedIn // the zero value: not signed in

	Polled      bool // the event stream of an open screen makes the request, and not a person
	keepCurrent bool // see RouteOf.Live

	alerts *alertStanding // nil: not loaded yet
}

// handle returns the handler of a route: it finds the session, checks the role, reads the form and answers errors.
// polled: see Request.Polled.
func (f *Frame) handle(route Route, polled bool) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, request *http.Request) {
		r := &Request{Request: request, Frame: f, W: w, Polled: polled, keepCurrent: route.Live}
		defer web.FailPanic(r.fail)
		h := w.Header()
		h.Set("Cache-Control", "no-store")
		h.Set("Content-Security-Policy", policy)
		h.Set("X-Frame-Options", "DENY")
		h.Set("Referrer-Policy", "same-origin")
		err := r.admit(route)
		if err == nil {
			err = route.Serve(r)
		}
		if err != nil {
			r.fail(err)
		}
	})
}

// admit finds the session and checks that the request is allowed.
func (r *Request) admit(route Route) error {
	if route.Needs == rights.Signed {
		return nil
	}
	if secret := r.SessionCookie.read(r.Request); secret != "" {
		find := r.Store.UseSession
		if r.Polled {
			find = r.Store.FindSession
		}
		in, err := find(r.Context(), secret)
		if err != nil && !errors.Is(err, kernel.ErrUnauthenticated) {
			return err
		}
		if err == nil {
			r.SignedIn = in
		}
	}
	if err := r.gate.AdmitByProxy(r, route); err != nil {
		return err
	}
	if route.Needs != rights.Anyone {
		if r.SignedIn.ID == "" {
			return ErrSignedOut
		}
		if !route.Needs.AllowsRole(r.SignedIn.Role) {
			return ErrForbidden
		}
	}
	if r.Method == http.MethodPost {
		r.Body = http.MaxBytesReader(r.W, r.Body, int64(r.maxForm()))
		err := r.ParseForm()
		if err == nil && strings.HasPrefix(r.Header.Get("Content-Type"), "multipart/form-data") {
			err = r.ParseMultipartForm(MaxFormBytes)
		}
		if errors.Is(err, web.ErrBodies) {
			return err
		}
		if err != nil {
			return fmt.Errorf("%w: %v", errBadForm, err)
		}
		if id := r.PostForm.Get("workspace"); id != "" && id != r.SignedIn.WorkspaceID {
			return errOtherWorkspace
		}
	}
	// PostgreSQL stores only such text.
	if !IsText(r.URL.Path) {
		return kernel.ErrNotFound
	}
	if query := r.URL.Query(); !hasOnlyText(query) {
		r.URL.RawQuery = replaceNoText(query).Encode()
	}
	if !hasOnlyText(r.PostForm) {
		return errNotText
	}
	return nil
}

// maxForm returns the maximum size of a form of the visitor.
func (r *Request) maxForm() int {
	if r.SignedIn.ID == "" {
		return maxStrangersForm
	}
	return MaxFormBytes
}

// IsText reports whether s is UTF-8 without NUL.
func IsText(s string) bool { return utf8.ValidString(s) && !strings.ContainsRune(s, 0) }

func hasOnlyText(fields url.Values) bool {
	for _, values := range fields {
		for _, value := range values {
			if !IsText(value) {
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

// askToSignIn redirects to the sign-in, which leads back to the requested screen.
func (r *Request) askToSignIn() {
	target := Path + "/sign-in"
	if r.Method == http.MethodGet && r.URL.Path != Path {
		target += "?" + url.Values{"next": {r.URL.RequestURI()}}.Encode()
	}
	http.Redirect(r.W, r.Request, target, http.StatusSeeOther)
}

// Actor returns the actor of the request's changes.
func (r *Request) Actor() kernel.Actor {
	address := ""
	if a := clientaddr.Of(r.Request); a.IsValid() {
		address = a.String()
	}
	return r.SignedIn.Actor(address)
}

// Browser describes the browser at a sign-in.
func (r *Request) Browser() store.Browser {
	return store.Browser{Address: r.Actor().Address, Client: r.UserAgent()}
}

// May reports whether the member's role and limit to pages allow an operation.
func (r *Request) May(o rights.Operation) bool {
	return o.AllowsRole(r.SignedIn.Role) && o.CheckLimit(r.SignedIn.Actor("")) == nil
}

// Redirect redirects to a screen after a change.
func (r *Request) Redirect(path string) error {
	http.Redirect(r.W, r.Request, path, http.StatusSeeOther)
	return nil
}

// LocalPath returns path if it is a path of the dashboard, and Path otherwise, so that a sign-in never redirects to
// another site.
func LocalPath(path string) string {
	u, err := url.Parse(path)
	if err != nil || u.IsAbs() || u.Host != "" || u.Path != Path && !strings.HasPrefix(u.Path, Path+"/") ||
		strings.ContainsAny(path, "\\\r\n\t") {
		return Path
	}
	return path
}
