package page

import (
	"context"
	"errors"
	"net/http"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/allswell/allswell/internal/domain/kernel"
	"github.com/allswell/allswell/internal/shared/i18n"
	"github.com/allswell/allswell/internal/surface/page/view"
	"github.com/allswell/allswell/internal/surface/web"
)

// fail answers with an error page that belongs to no status page.
func (s *Site) fail(w http.ResponseWriter, r *http.Request, status int) {
	var v view.Variant
	v.Language, v.Chosen = languageFor(r, i18n.Offered(nil), "")
	s.serveError(w, r, errorPage{
		status: status, key: key{variant: v}, version: &unchanging, layout: func() view.Layout {
			return view.NewRootLayout(view.PresentRoot(v))
		},
	})
}

// errorPage is the error page for an HTTP status, for a page and a variant of it.
type errorPage struct {
	status  int
	key     key            // with entry and variant
	version *atomic.Uint64 // of the layout
	layout  func() view.Layout
}

// serveError answers with an error page. The rendered page is cached by status and variant, so it is rendered even if
// the client has disconnected.
func (s *Site) serveError(w http.ResponseWriter, r *http.Request, e errorPage) {
	e.key.kind, e.key.name = "error", strconv.Itoa(e.status)
	doc, err := getRendered(context.WithoutCancel(r.Context()), s, e.key, e.version,
		func(ctx context.Context) (*web.Document, time.Time, error) {
			doc, err := renderDocument(ctx, view.Error(e.layout(), e.status), web.CacheNever)
			return doc, time.Time{}, err
		})
	if err != nil {
		http.Error(w, http.StatusText(e.status), e.status)
		return
	}
	doc.ServeStatus(w, r, e.status)
}

// failFor answers with the error page for err.
func (s *Site) failFor(w http.ResponseWriter, r *http.Request, err error) {
	s.fail(w, r, statusFor(w, err))
}

// failAt answers with an error page in the layout of a status page, or in the layout of its forms if the request may
// see no more.
func (s *Site) failAt(w http.ResponseWriter, r *http.Request, req pageRequest, status int) {
	if req.byKey {
		s.answer(w, r, status, view.Error(s.secretLayout(req), status))
		return
	}
	// The closure is cached with the page, so it must not capture req, which holds a snapshot.
	entry, variant := req.entry, req.variant
	k := key{entry: entry, variant: variant}
	s.serveError(w, r, errorPage{status: status, key: k, version: &entry.snapshot.Loads, layout: func() view.Layout {
		snap := entry.snapshot.Last()
		return view.NewLayout(s.presentation(snap.page, variant), snap.page, snap.severity, snap.sum.AsOf)
	}})
}

// failForAt is failAt with the status for err.
func (s *Site) failForAt(w http.ResponseWriter, r *http.Request, req pageRequest, err error) {
	s.failAt(w, r, req, statusFor(w, err))
}

// statusFor returns the HTTP status for err, and sets Retry-After.
func statusFor(w http.ResponseWriter, err error) int {
	if errors.Is(err, kernel.ErrNotFound) {
		return http.StatusNotFound
	}
	if errors.Is(err, errTooManyNotFound) || errors.Is(err, errTooManyCalls) {
		w.Header()["Retry-After"] = []string{strconv.Itoa(int(notFoundWindow.Seconds()))}
		return http.StatusTooManyRequests
	}
	w.Header()["Retry-After"] = retryAfter
	return http.StatusServiceUnavailable
}
