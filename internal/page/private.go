package page

import (
	"errors"
	"net/http"

	"github.com/allswell/allswell"
	"github.com/allswell/allswell/internal/clientaddr"
	"github.com/allswell/allswell/internal/web"
)

// A private page is served only to clients that prove that they may see it: with an API token of
// its workspace, or with the key of a subscription in the path, which shows that subscription.
// For all others it does not exist: the index that their requests are looked up in does not have
// it, so that its response is that of an unknown page, after the same steps.

// credentials are what a request may prove to see a private page.
type credentials struct {
	workspace string // whose token the client has; "": none
	slug      string // of the page of the subscription whose key is in the path; "": none
}

// credentialsOf checks the token of a request. key is the look-up of the key in its path.
// A token that is not valid counts as a request for what does not exist, and towards the API's limit
// of failed authentications. One that is valid counts towards the limit of its calls.
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
	var token allswell.Token
	err := tokens.run(r.Context(), func() (err error) {
		token, err = s.store.Authenticate(r.Context(), secret)
		return err
	})
	switch {
	case errors.Is(err, allswell.ErrUnauthenticated):
		if !s.limits.Failed.Take(clientaddr.Of(r), s.now()).Allowed {
			return c, errTooManyNotFound
		}
		return c, s.notFound.take(r)
	case limited && errors.Is(err, allswell.ErrBusy):
		return c, errTooManyNotFound
	case err != nil:
		return c, err
	case !s.limits.Calls.Take(token.ID, s.now()).Allowed:
		return c, errTooManyCalls
	}
	if token.Scope.Allows(allswell.ScopeRead) {
		c.workspace = token.WorkspaceID
	}
	return c, nil
}

// permit reports whether the credentials are enough to see a private page.
func (c credentials) permit(e *entry) bool {
	return e.workspace == c.workspace || e.slug == c.slug
}

// servePrivate answers with a part of the private page that find finds in the index, if the
// request may see it. It returns the error to answer with otherwise, allswell.ErrNotFound for
// a page that does not exist.
func (s *Site) servePrivate(w http.ResponseWriter, r *http.Request, part string, key keyLookup, ownDomain bool, find func(*index) *entry) error {
	c, err := s.credentialsOf(r, key)
	if err != nil {
		return err
	}
	if c == (credentials{}) {
		return allswell.ErrNotFound
	}
	e, snap, err := s.snapshotBy(r.Context(), func() (*entry, error) {
		idx, err := s.index.Get(r.Context())
		if err != nil {
			return nil, err
		}
		if e := find(idx); e != nil && c.permit(e) {
			return e, nil
		}
		return nil, allswell.ErrNotFound
	}, func(allswell.Page) bool { return true })
	if err != nil {
		return err
	}
	req := newPageRequest(r, e, snap, part, ownDomain)
	req.key = key
	req.byKey = e.workspace != c.workspace
	s.routePage(&privateWriter{ResponseWriter: w}, r, req)
	return nil
}

// privateWriter is a ResponseWriter that keeps caches from storing a response, whatever the
// document says, and scripts of other sites from reading it.
type privateWriter struct {
	http.ResponseWriter
	began bool
}

var (
	cachePrivate      = []string{"private, no-store"}
	varyAuthorization = []string{"Accept-Encoding, Accept-Language, Authorization"}
)

func (w *privateWriter) begin() {
	if w.began {
		return
	}
	w.began = true
	h := w.Header()
	h["Cache-Control"] = cachePrivate
	h["Vary"] = varyAuthorization
	h["X-Robots-Tag"] = noIndex
	delete(h, "Access-Control-Allow-Origin")
	delete(h, "Cross-Origin-Resource-Policy")
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
