package page

import (
	"context"
	"errors"
	"net/http"
	"strconv"
	"sync"

	"github.com/allswell/allswell"
	"github.com/allswell/allswell/internal/web"
)

// fault is a reason to show nothing else, as one facet tells it.
type fault struct {
	facet
	status int // of HTTP
}

// faultNames are the reasons by their statuses, as the languages know them.
var faultNames = map[int]string{
	http.StatusBadRequest:            "bad_form",
	http.StatusForbidden:             "foreign_form",
	http.StatusNotFound:              "not_found",
	http.StatusMethodNotAllowed:      "method",
	http.StatusRequestEntityTooLarge: "large_form",
	http.StatusTooManyRequests:       "too_many",
	http.StatusServiceUnavailable:    "unavailable",
}

// faults are the pages that say why there is nothing to see where there is no
// status page around it, made as they are asked for. There are few, because there are few facets and reasons.
type faults struct {
	mu   sync.Mutex
	docs map[fault]*web.Document
}

// page returns the page of a fault, in a frame.
func (all *faults) page(f fault, around func() frame) *web.Document {
	all.mu.Lock()
	defer all.mu.Unlock()
	doc := all.docs[f]
	if doc == nil {
		doc = mustRender(faultScreen(f, around()), web.CacheNever)
		if all.docs == nil {
			all.docs = make(map[fault]*web.Document)
		}
		all.docs[f] = doc
	}
	return doc
}

func faultScreen(f fault, around frame) screen {
	key := "error." + faultNames[f.status]
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

// mustRender renders what holds nothing that could fail; that it can be is
// tested.
func mustRender(s screen, cacheControl string) *web.Document {
	doc, err := renderDocument(context.Background(), s, cacheControl)
	if err != nil {
		panic(err)
	}
	return doc
}

// fail answers with the page that says why there is nothing to see.
func (s *Site) fail(w http.ResponseWriter, r *http.Request, status int) {
	var f facet
	f.lang, f.chosen = languageFor(r, "")
	around := func() frame { return frame{At: anywhere(f), Status: allswell.StatusUnknown} }
	s.faults.page(fault{f, status}, around).ServeStatus(w, r, status)
}

// failFor is fail with the page that fits an error.
func (s *Site) failFor(w http.ResponseWriter, r *http.Request, err error) {
	s.fail(w, r, statusFor(w, err))
}

// failAt is fail in the clothes of a status page.
func (s *Site) failAt(w http.ResponseWriter, r *http.Request, v visit, status int) {
	snap := v.snap
	sh, _ := s.rendition(place{v.entry, "fault", strconv.Itoa(status), v.facet}, snap, func() (*sheet, error) {
		around := frameOf(s.whereOf(snap.page, v.facet), snap.page, snap.status, snap.sum.AsOf)
		return &sheet{doc: mustRender(faultScreen(fault{v.facet, status}, around), web.CacheNever)}, nil
	})
	sh.doc.ServeStatus(w, r, status)
}

// failForAt is failAt with the page that fits an error.
func (s *Site) failForAt(w http.ResponseWriter, r *http.Request, v visit, err error) {
	s.failAt(w, r, v, statusFor(w, err))
}

// statusFor returns the status that fits an error, and says when to try again.
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
