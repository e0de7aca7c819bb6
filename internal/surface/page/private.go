package page

import (
	"cmp"
	"errors"
	"net/http"
	"slices"

	"github.com/allswell/allswell/internal/domain/account"
	"github.com/allswell/allswell/internal/domain/kernel"
	"github.com/allswell/allswell/internal/domain/statuspage"
	"github.com/allswell/allswell/internal/shared/clientaddr"
	"github.com/allswell/allswell/internal/surface/web"
)

// A private page is served only to clients that prove that they may see it: with an API token of its workspace, in one
// of the ways that its operators have set (statuspage.PageAccess), or with the key of a subscription in the path, which
// shows only that subscription. All others are asked for the password or to sign in, if the page offers one of these.
// If it offers neither, they get the response for an unknown page, after the same steps. All paths of a page are behind
// this one check.

// credentials are what a request presents to see a private page.
type credentials struct {
	workspace string             // of the client's token; "": none
	limit     *account.PageLimit // of the client's token; nil: none
	slug      string             // of the page whose subscription has the key in the path; "": none
}

// credentialsOf checks the token of a request. key is the result of looking up the key in its path. An invalid token
// counts as a request for what does not exist, and towards the API's limit of failed authentications. A valid one
// counts towards the rate limit of its calls.
func (s *Site) credentialsOf(r *http.Request, key keyLookup) (credentials, error) {
	c := credentials{slug: key.slug}
	secret, ok := web.Bearer(r)
	if !ok {
		return c, nil
	}
	limited, tokens := s.notFound.exceeded(r), s.forms.tokens
	if limited {
		tokens = s.forms.limitedTokens
	}
	var token account.Token
	err := runIn(r.Context(), tokens, keysOf(r, nil), func() (err error) {
		token, err = s.store.Authenticate(r.Context(), secret)
		return err
	})
	switch {
	case errors.Is(err, kernel.ErrUnauthenticated):
		if !s.limits.Failed.Take(clientaddr.Of(r), s.now()).Allowed {
			return c, errTooManyNotFound
		}
		return c, s.notFound.take(r)
	case limited && errors.Is(err, kernel.ErrBusy):
		return c, errTooManyNotFound
	case err != nil:
		return c, err
	case !s.limits.Calls.Take(token.ID, s.now()).Allowed:
		return c, errTooManyCalls
	}
	if token.Scope.Allows(kernel.ScopeRead) {
		c.workspace = token.WorkspaceID
		if token.Limit.Limited {
			c.limit = &token.Limit
		}
	}
	return c, nil
}

// admission is what a request may see of a private page.
type admission int

const (
	admissionRefused      admission = iota // nothing, not even that the page exists
	admissionAsked                         // the form that admits visitors
	admissionSubscription                  // the subscription whose key is in the path
	admissionPage                          // everything
)

// errAsk means that a visitor has to enter the password of a private page, or sign in.
var errAsk = errors.New("the visitor has to be admitted first")

// admit returns what a request may see of a private page. Members are recognized only at the address of the
// installation, where browsers send the cookie of the dashboard.
func (s *Site) admit(r *http.Request, e *entry, c credentials, ownDomain bool) (admission, error) {
	// At an unknown host, a browser in an allowed network may be the victim of DNS rebinding: the name of another site
	// resolves to this server.
	near := (ownDomain || s.hosts.ServesInstallation(r.Host)) && e.access.Contains(clientaddr.Of(r))
	if near || c.byToken(e) || s.hasVisit(r, e) || hasKey(r, e) {
		return admissionPage, nil
	}
	if e.access.Members && !ownDomain {
		if member, err := s.isMember(r, e); member || err != nil {
			return admissionPage, err
		}
	}
	switch {
	case e.slug == c.slug:
		return admissionSubscription, nil
	case e.access.AcceptsCredentials():
		return admissionAsked, nil
	default:
		return admissionRefused, nil
	}
}

// byToken reports whether the token is enough to see a private page.
func (c credentials) byToken(e *entry) bool {
	return e.workspace == c.workspace && (c.limit == nil || slices.Contains(c.limit.Pages, e.slug))
}

// isMember reports whether a request has the session of a member of the page's workspace who can see the page. Sessions
// that do not exist count as requests for what does not exist; above the limit of these, no session is looked up.
func (s *Site) isMember(r *http.Request, e *entry) (member bool, err error) {
	if s.session == nil {
		return false, nil
	}
	secret := s.session(r)
	if secret == "" || s.notFound.exceeded(r) {
		return false, nil
	}
	err = runIn(r.Context(), s.forms.sessions, keysOf(r, e), func() error {
		in, err := s.store.FindSession(r.Context(), secret)
		if err != nil || !slices.ContainsFunc(in.Workspaces, func(w account.Workspace) bool {
			return w.ID == e.workspace
		}) {
			return err
		}
		if counts, err := s.sessionCounts(r, in); !counts || err != nil {
			return err
		}
		_, err = s.store.Page(r.Context(), in.ActorIn(e.workspace), e.slug)
		member = err == nil
		return err
	})
	if errors.Is(err, kernel.ErrNotFound) { // the member is limited to other pages
		return false, nil
	}
	if errors.Is(err, kernel.ErrUnauthenticated) {
		s.notFound.take(r)
		return false, nil
	}
	return member, err
}

// privateRequest asks for a part of a private page.
type privateRequest struct {
	part      string    // the path below the page
	key       keyLookup // of a form
	ownDomain bool      // the page is served under its own domain
	find      func(*index) *entry
}

// servePrivate answers with a part of a private page, if the request may see it. Otherwise it returns the error to
// answer with: kernel.ErrNotFound for a page that does not exist.
func (s *Site) servePrivate(w http.ResponseWriter, r *http.Request, wanted privateRequest) error {
	c, err := s.credentialsOf(r, wanted.key)
	if err != nil {
		return err
	}
	private := &privateWriter{ResponseWriter: w}
	var asked *entry
	var admitted admission
	e, snap, err := s.snapshotBy(r.Context(), func() (*entry, error) {
		idx, loadErr := s.index.Get(r.Context()) // after an error, the old index says whether the page exists
		if idx == nil {
			return nil, loadErr
		}
		e := wanted.find(idx)
		if e == nil {
			return nil, kernel.ErrNotFound
		}
		var err error
		admitted, err = s.admit(r, e, c, wanted.ownDomain)
		switch {
		case admitted == admissionRefused:
			return nil, kernel.ErrNotFound
		case loadErr != nil || err != nil:
			return nil, cmp.Or(loadErr, err)
		case admitted == admissionAsked:
			asked = e
			return nil, errAsk
		}
		return e, nil
	}, func(statuspage.Page) bool { return true })
	switch {
	case errors.Is(err, errAsk):
		s.serveAccess(private, r, accessRequest{entry: asked, part: wanted.part, ownDomain: wanted.ownDomain})
		return nil
	case err != nil:
		return err
	case admitted == admissionPage &&
		s.redirectVisitor(private, r, accessRequest{entry: e, part: wanted.part, ownDomain: wanted.ownDomain}):
		return nil
	}
	req := newPageRequest(r, e, snap, wanted.part)
	req.variant.OwnDomain = wanted.ownDomain
	req.key = wanted.key
	req.byKey = admitted == admissionSubscription
	s.routePage(private, r, req)
	return nil
}

// privateWriter is a ResponseWriter that keeps caches from storing a response, regardless of the document's
// Cache-Control, and other sites from reading or embedding it.
type privateWriter struct {
	http.ResponseWriter
	began bool
}

var (
	cachePrivate    = []string{"private, no-store"}
	varyCredentials = []string{"Accept-Encoding, Accept-Language, Authorization, Cookie"}
	sameOrigin      = []string{"same-origin"}
)

func (w *privateWriter) begin() {
	if w.began {
		return
	}
	w.began = true
	h := w.Header()
	h["Cache-Control"] = cachePrivate
	h["Vary"] = varyCredentials
	h["X-Robots-Tag"] = noIndex
	delete(h, "Access-Control-Allow-Origin")
	h["Cross-Origin-Resource-Policy"] = sameOrigin
}

func (w *privateWriter) WriteHeader(status int) {
	w.begin()
	w.ResponseWriter.WriteHeader(status)
}

func (w *privateWriter) Write(p []byte) (int, error) {
	w.begin()
	return w.ResponseWriter.Write(p)
}

// Unwrap is used by http.ResponseController.
func (w *privateWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }
