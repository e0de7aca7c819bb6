package page

import (
	"context"
	"errors"
	"net/http"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/allswell/allswell"
	"github.com/allswell/allswell/internal/web"
)

// errorPage identifies an error page: its variant and its HTTP status.
type errorPage struct {
	variant
	status int // of HTTP
}

// errorNames are the names of the errors in the keys of their messages.
var errorNames = map[int]string{
	http.StatusBadRequest:            "bad_form",
	http.StatusForbidden:             "foreign_form",
	http.StatusNotFound:              "not_found",
	http.StatusMethodNotAllowed:      "method",
	http.StatusRequestEntityTooLarge: "large_form",
	http.StatusTooManyRequests:       "too_many",
	http.StatusServiceUnavailable:    "unavailable",
}

func errorScreen(f errorPage, around layout) screen {
	key := "error." + errorNames[f.status]
	b := plainBody{Heading: f.lang.T(key + ".heading"), Text: []string{f.lang.T(key + ".text")}, Home: around.At.home()}
	around.Secret = true // of whichever address it is
	if around.Site != nil {
		b.AtPage = true
		around.titled(b.Heading)
	} else {
		around.Title = b.Heading
	}
	return screen{around, b}
}

// fail answers with an error page that belongs to no status page.
func (s *Site) fail(w http.ResponseWriter, r *http.Request, status int) {
	var f variant
	f.lang, f.chosen = languageFor(r, "")
	s.serveFault(w, r, key{variant: f}, &unchanging, status, func() layout { return layout{At: anywhere(f), Status: allswell.StatusUnknown} })
}

// serveFault answers with an error page within a frame. The page of each status
// and variant is kept. It is rendered even if the client has gone.
func (s *Site) serveFault(w http.ResponseWriter, r *http.Request, k key, version *atomic.Uint64, status int, around func() layout) {
	k.kind, k.name = "fault", strconv.Itoa(status)
	doc, err := getRendered(context.WithoutCancel(r.Context()), s, k, version, func(ctx context.Context) (*web.Document, time.Time, error) {
		doc, err := renderDocument(ctx, errorScreen(errorPage{k.variant, status}, around()), web.CacheNever)
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

// failAt answers with an error page in the layout of a status page.
func (s *Site) failAt(w http.ResponseWriter, r *http.Request, v visit, status int) {
	e, f := v.entry, v.variant
	s.serveFault(w, r, key{entry: e, variant: f}, &e.summary.Loads, status, func() layout {
		snap := e.summary.Last()
		return newLayout(s.presentationOf(snap.page, f), snap.page, snap.status, snap.sum.AsOf)
	})
}

// failForAt is failAt with the status for err.
func (s *Site) failForAt(w http.ResponseWriter, r *http.Request, v visit, err error) {
	s.failAt(w, r, v, statusFor(w, err))
}

// statusFor returns the HTTP status for err, and sets Retry-After.
func statusFor(w http.ResponseWriter, err error) int {
	if errors.Is(err, allswell.ErrNotFound) {
		return http.StatusNotFound
	}
	if errors.Is(err, errTooManyGuesses) {
		w.Header()["Retry-After"] = []string{strconv.Itoa(int(guessWindow.Seconds()))}
		return http.StatusTooManyRequests
	}
	w.Header()["Retry-After"] = retryAfter
	return http.StatusServiceUnavailable
}
