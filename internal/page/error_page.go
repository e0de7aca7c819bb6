package page

import (
	"context"
	"errors"
	"net/http"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/allswell/allswell"
	"github.com/allswell/allswell/internal/i18n"
	"github.com/allswell/allswell/internal/view"
	"github.com/allswell/allswell/internal/web"
)

// fail answers with an error page that belongs to no status page.
func (s *Site) fail(w http.ResponseWriter, r *http.Request, status int) {
	var v view.Variant
	v.Language, v.Chosen = languageFor(r, i18n.Offered(nil), "")
	s.serveError(w, r, key{variant: v}, &unchanging, status, func() view.Layout { return view.NewRootLayout(view.PresentRoot(v)) })
}

// serveError answers with an error page. The page of each status and variant is
// cached. It is rendered even if the client has gone.
func (s *Site) serveError(w http.ResponseWriter, r *http.Request, k key, version *atomic.Uint64, status int, layout func() view.Layout) {
	k.kind, k.name = "error", strconv.Itoa(status)
	doc, err := getRendered(context.WithoutCancel(r.Context()), s, k, version, func(ctx context.Context) (*web.Document, time.Time, error) {
		doc, err := renderDocument(ctx, view.Error(layout(), status), web.CacheNever)
		return doc, time.Time{}, err
	})
	if err != nil {
		http.Error(w, http.StatusText(status), status)
		return
	}
	doc.ServeStatus(w, r, status)
}

// failFor answers with the error page for err.
func (s *Site) failFor(w http.ResponseWriter, r *http.Request, err error) {
	s.fail(w, r, statusFor(w, err))
}

// failAt answers with an error page in the layout of a status page, or in that of its forms if the
// request may see no more.
func (s *Site) failAt(w http.ResponseWriter, r *http.Request, req pageRequest, status int) {
	if req.byKey {
		s.answer(w, r, status, view.Error(s.secretLayout(req), status))
		return
	}
	// The closure is cached with the page, so it must not capture req, which holds a snapshot.
	entry, variant := req.entry, req.variant
	s.serveError(w, r, key{entry: entry, variant: variant}, &entry.snapshot.Loads, status, func() view.Layout {
		snap := entry.snapshot.Last()
		return view.NewLayout(s.presentation(snap.page, variant), snap.page, snap.severity, snap.sum.AsOf)
	})
}

// failForAt is failAt with the status for err.
func (s *Site) failForAt(w http.ResponseWriter, r *http.Request, req pageRequest, err error) {
	s.failAt(w, r, req, statusFor(w, err))
}

// statusFor returns the HTTP status for err, and sets Retry-After.
func statusFor(w http.ResponseWriter, err error) int {
	if errors.Is(err, allswell.ErrNotFound) {
		return http.StatusNotFound
	}
	if errors.Is(err, errTooManyNotFound) || errors.Is(err, errTooManyCalls) {
		w.Header()["Retry-After"] = []string{strconv.Itoa(int(notFoundWindow.Seconds()))}
		return http.StatusTooManyRequests
	}
	w.Header()["Retry-After"] = retryAfter
	return http.StatusServiceUnavailable
}
