package page

import (
	"crypto/hmac"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"errors"
	"math"
	"net/http"
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/allswell/allswell/internal/domain/kernel"
	"github.com/allswell/allswell/internal/domain/statuspage"
	"github.com/allswell/allswell/internal/shared/clientaddr"
	"github.com/allswell/allswell/internal/shared/fair"
	"github.com/allswell/allswell/internal/shared/i18n"
	"github.com/allswell/allswell/internal/surface/page/picture"
	"github.com/allswell/allswell/internal/surface/page/statuspageapi"
	"github.com/allswell/allswell/internal/surface/page/view"
	"github.com/allswell/allswell/internal/surface/signin/password"
)

const (
	// visitCookie is the cookie of a visitor who has entered the password of a private page, or opened its secret link.
	visitCookie = "allswell_page"

	// visitLifetime is how long the cookie admits the visitor.
	visitLifetime = 30 * 24 * time.Hour

	// knownVisitorLifetime is how long a browser keeps the cookie after that. It no longer admits the visitor, but
	// shows that the visitor has entered the password before.
	knownVisitorLifetime = 150 * 24 * time.Hour

	// maxWrongPasswords is how many wrong passwords of private pages one address may enter in wrongPasswordWindow. An
	// IPv6 network of 64 bits may enter ten times as many.
	maxWrongPasswords   = 10
	wrongPasswordWindow = 10 * time.Minute

	// accessPart is the path of the form that admits visitors, below the path of a private page.
	accessPart = "access"

	fieldPassword = "password"
	fieldNext     = "next"
)

// accessRequest is a request for a part of a private page.
type accessRequest struct {
	entry     *entry
	part      string
	ownDomain bool
}

// path returns the path of a part of the page; "" is the page itself.
func (req accessRequest) path(part string) string {
	base := "/status/" + req.entry.slug
	if req.ownDomain {
		base = ""
	}
	if part == "" && base != "" {
		return base
	}
	return base + "/" + part
}

// visitKeys returns the keys that sign the cookies of a page's visitors: one for the password and one for the link, as
// far as they are set. A new password or link gives a new key, which makes earlier cookies invalid.
func (e *entry) visitKeys() (keys []string) {
	for _, key := range []string{e.access.PasswordHash, e.access.LinkHash} {
		if key != "" {
			keys = append(keys, key)
		}
	}
	return keys
}

// signVisit returns the value of a cookie that expires at ends, in Unix seconds: ends and its signature.
func signVisit(key, pageID string, ends int64) string {
	mac := hmac.New(sha256.New, []byte(key))
	mac.Write([]byte("visit " + pageID + " " + strconv.FormatInt(ends, 10)))
	return strconv.FormatInt(ends, 10) + "." + base64.RawURLEncoding.EncodeToString(mac.Sum(nil))
}

// hasVisit reports whether a request has a valid cookie of the page.
func (s *Site) hasVisit(r *http.Request, e *entry) bool {
	return s.findVisit(r, 0, e.id, e.visitKeys()...) != ""
}

// findVisit returns the value of a request's cookie that one of the keys has signed and that has not been expired for
// grace or longer; "": there is none.
func (s *Site) findVisit(r *http.Request, grace time.Duration, pageID string, keys ...string) string {
	for _, cookie := range r.CookiesNamed(visitCookie) {
		text, _, _ := strings.Cut(cookie.Value, ".")
		ends, err := strconv.ParseInt(text, 10, 64)
		if err != nil || !s.now().Before(time.Unix(ends, 0).Add(grace)) {
			continue
		}
		for _, key := range keys {
			if hmac.Equal([]byte(cookie.Value), []byte(signVisit(key, pageID, ends))) {
				return cookie.Value
			}
		}
	}
	return ""
}

// setVisit sets the cookie that key signs. Browsers send it only to this page.
func (s *Site) setVisit(w http.ResponseWriter, r *http.Request, req accessRequest, key string) {
	http.SetCookie(w, &http.Cookie{
		Name: visitCookie, Value: signVisit(key, req.entry.id, s.now().Add(visitLifetime).Unix()), Path: req.path(""),
		MaxAge: int((visitLifetime + knownVisitorLifetime).Seconds()), HttpOnly: true, SameSite: http.SameSiteLaxMode,
		Secure: r.TLS != nil || strings.HasPrefix(s.base, "https:"),
	})
}

// hasKey reports whether the query of a request has the key of the page's secret link.
func hasKey(r *http.Request, e *entry) bool {
	if e.access.LinkHash == "" || !strings.Contains(r.URL.RawQuery, statuspage.PageKeyParam) {
		return false
	}
	key := r.URL.Query().Get(statuspage.PageKeyParam)
	return subtle.ConstantTimeCompare([]byte(statuspage.HashPageKey(key)), []byte(e.access.LinkHash)) == 1
}

// isDocument reports whether a part of a page is a document for programs or for other sites. Programs do not keep
// cookies: they send the key with each request.
func isDocument(part string) bool {
	_, _, program := parseProgramPath(part)
	return program || part == "events" || part == picture.Name || strings.HasPrefix(part, "look/") ||
		strings.HasPrefix(part, statuspageapi.Prefix)
}

// redirectVisitor redirects a visitor who may see a private page, and reports whether it did: from the secret link to
// the URL without the key, with a cookie, and from the form to the page.
func (s *Site) redirectVisitor(w http.ResponseWriter, r *http.Request, req accessRequest) bool {
	target := url.URL{Path: req.path(strings.TrimLeft(req.part, "/"))}
	switch {
	case req.part == accessPart:
		target.Path = req.path("")
	case isRead(r) && !isDocument(req.part) && hasKey(r, req.entry):
		s.setVisit(w, r, req, req.entry.access.LinkHash)
		query := r.URL.Query()
		query.Del(statuspage.PageKeyParam)
		target.RawQuery = query.Encode()
	default:
		return false
	}
	w.Header().Set("Referrer-Policy", "no-referrer")
	http.Redirect(w, r, target.String(), http.StatusSeeOther)
	return true
}

// serveAccess answers a visitor who may not see a private page yet: with the form, or with the result of sending it.
// The response is the same for all parts of the page, and shows nothing of it.
func (s *Site) serveAccess(w http.ResponseWriter, r *http.Request, req accessRequest) {
	if failStatuspage(w, r, req.part, kernel.ErrNotFound) {
		return
	}
	form := s.accessForm(r, req)
	if req.part != accessPart || r.Method != http.MethodPost {
		s.answer(w, r, http.StatusForbidden, view.Access(form))
		return
	}
	if s.origins.Check(r) != nil {
		s.fail(w, r, http.StatusForbidden)
		return
	}
	fields, status := readForm(w, r)
	if status != http.StatusOK {
		s.fail(w, r, status)
		return
	}
	form.Next = cleanPart(fields.Get(fieldNext))
	wait, err := s.checkPassword(r, req.entry, fields.Get(fieldPassword))
	switch {
	case err == nil:
		s.setVisit(w, r, req, req.entry.access.PasswordHash)
		http.Redirect(w, r, (&url.URL{Path: req.path(form.Next)}).String(), http.StatusSeeOther)
	case errors.Is(err, errWrongPassword):
		form.Wrong = true
		s.answer(w, r, http.StatusForbidden, view.Access(form))
	case errors.Is(err, errTooManyPasswords):
		w.Header().Set("Retry-After", strconv.Itoa(int(math.Ceil(wait.Seconds()))))
		form.WaitMinutes = int(math.Ceil(wait.Minutes()))
		s.answer(w, r, http.StatusTooManyRequests, view.Access(form))
	default:
		s.failFor(w, r, err)
	}
}

// accessForm returns the form that admits visitors to a private page.
func (s *Site) accessForm(r *http.Request, req accessRequest) view.AccessForm {
	v := view.Variant{OwnDomain: req.ownDomain}
	v.Language, v.Chosen = languageFor(r, i18n.Offered(nil), "")
	form := view.AccessForm{
		At: view.Present(statuspage.Page{Slug: req.entry.slug, TimeZone: statuspage.DefaultTimeZone}, v),
	}
	form.Password = req.entry.access.PasswordHash != ""
	if req.part != accessPart && isRead(r) {
		form.Next = cleanPart(req.part)
	}
	if req.entry.access.Members {
		// Browsers send the cookie of the dashboard only to the installation's own host.
		form.SignIn = s.base + "/admin/visit/" + req.entry.slug
	}
	return form
}

// plainPart matches the parts to which a visitor is redirected. It excludes everything that a browser could take for
// another host.
var plainPart = regexp.MustCompile(`^[a-z][A-Za-z0-9._-]*(/[A-Za-z0-9._-]+)*$`)

// cleanPart returns the part that a visitor asked for, or "" for the page itself and for a part that plainPart does not
// match.
func cleanPart(part string) string {
	if !plainPart.MatchString(part) || part == accessPart {
		return ""
	}
	return part
}

var (
	errWrongPassword    = errors.New("the password is wrong")
	errTooManyPasswords = errors.New("too many wrong passwords")
)

// checkPassword checks the password of a private page. The error is errWrongPassword, or errTooManyPasswords, after
// which the next attempt is allowed in wait. Visitors who have entered the current password before have nothing to
// guess and are limited separately: the wrong passwords of strangers at the same address do not count for them.
func (s *Site) checkPassword(r *http.Request, e *entry, typed string) (wait time.Duration, err error) {
	client, now := clientaddr.Of(r), s.now()
	asker := password.Stranger(append(fair.Client(client), fair.Page(e.id), fair.Workspace(e.workspace))...)
	known := ""
	if hash := e.access.PasswordHash; hash != "" {
		known = s.findVisit(r, knownVisitorLifetime, e.id, hash)
	}
	tooMany := func() (time.Duration, error) {
		return max(time.Second, s.passwords.Take(client, now).Reset.Sub(now)), errTooManyPasswords
	}
	if known != "" {
		asker = password.Proven(fair.User(e.id + " " + known))
	} else if s.passwords.Full(client, now) {
		return tooMany()
	}
	matches, err := password.Matches(r.Context(), asker, e.access.PasswordHash, typed)
	switch {
	case err != nil:
		return 0, err
	// others that were tried meanwhile were wrong: this result stays unknown
	case known == "" && s.passwords.Full(client, now):
		return tooMany()
	case !matches && known == "" && !s.passwords.Take(client, now).Allowed:
		return tooMany()
	case !matches:
		return 0, errWrongPassword
	}
	return 0, nil
}
