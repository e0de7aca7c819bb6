package page

import (
	"context"
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/allswell/allswell"
	"github.com/allswell/allswell/internal/statuspage"
	"github.com/allswell/allswell/internal/view"
	"github.com/allswell/allswell/internal/web"
)

// The documents of version 2 of the public API of Statuspage (statuspage.io),
// for programs that were written for it. Some refuse a member that they do not
// know, so the types in statuspage_objects.go have exactly the members of the
// original: docs/statuspage.md says what each means here.

// statuspageSet is the documents of one page by their paths under /api/v2/.
type statuspageSet struct {
	documents map[string]*web.Document
	bytes     int
}

func (d *statuspageSet) Size() int { return d.bytes }

// The values of header fields that let a script of any site ask.
var (
	allowOpen    = []string{"GET, HEAD, OPTIONS"}
	anyHeader    = []string{"*"}
	preflightAge = []string{"86400"}
)

// statuspageErrors are the answers to all that is not a document.
var statuspageErrors = map[int]*web.Document{
	http.StatusNotFound:           newStatuspageError("Not found."),
	http.StatusMethodNotAllowed:   newStatuspageError("This method is not allowed here."),
	http.StatusServiceUnavailable: newStatuspageError("This could not be loaded. Please try again in a moment."),
}

func newStatuspageError(message string) *web.Document {
	body, err := json.Marshal(map[string]string{"message": message})
	if err != nil {
		panic(err) // they are above
	}
	return newProgramDocument(body, typeJSON, web.CacheNever)
}

// routeStatuspage answers all under api/v2/ of a page, whatever the method. It
// returns false for all else.
func (s *Site) routeStatuspage(w http.ResponseWriter, r *http.Request, v visit) bool {
	path, ok := strings.CutPrefix(v.part, statuspage.Prefix)
	if ok {
		serveStatuspage(w, r, func() (*web.Document, error) { return s.statuspageDocument(r.Context(), v.entry, path) })
	}
	return ok
}

// failStatuspage is routeStatuspage for a page that is not there, or that cannot
// be loaded: err says which.
func failStatuspage(w http.ResponseWriter, r *http.Request, part string, err error) bool {
	if !strings.HasPrefix(part, statuspage.Prefix) {
		return false
	}
	serveStatuspage(w, r, func() (*web.Document, error) { return nil, err })
	return true
}

// serveStatuspage answers with a document, or with why there is none.
func serveStatuspage(w http.ResponseWriter, r *http.Request, load func() (*web.Document, error)) {
	h := w.Header()
	switch {
	case r.Method == http.MethodOptions:
		h["Allow"] = allowOpen
		h["Access-Control-Allow-Origin"] = anyOrigin
		h["Access-Control-Allow-Methods"] = allowOpen
		h["Access-Control-Allow-Headers"] = anyHeader
		h["Access-Control-Max-Age"] = preflightAge
		w.WriteHeader(http.StatusNoContent)
		return
	case !isRead(r):
		h["Allow"] = allowOpen
		serveStatuspageError(w, r, http.StatusMethodNotAllowed)
		return
	}
	if doc, err := load(); err != nil {
		serveStatuspageError(w, r, statusFor(w, err))
	} else {
		serveCrossOrigin(w, r, doc)
	}
}

func serveStatuspageError(w http.ResponseWriter, r *http.Request, status int) {
	w.Header()["Access-Control-Allow-Origin"] = anyOrigin
	statuspageErrors[status].ServeStatus(w, r, status)
}

// statuspageDocument returns one document of a page, or allswell.ErrNotFound.
// All of a page are made together, when the first is asked for after a change,
// so that they tell of one moment.
func (s *Site) statuspageDocument(ctx context.Context, e *entry, path string) (*web.Document, error) {
	if !slices.Contains(statuspage.Names, path) {
		return nil, allswell.ErrNotFound
	}
	all, err := loadRendered(ctx, s, key{entry: e, kind: "statuspage"},
		func(ctx context.Context) (*statuspageSet, time.Time, error) {
			d, err := s.loadStatuspage(ctx, e)
			return d, time.Time{}, err
		})
	if err != nil {
		return nil, err
	}
	return all.documents[path], nil
}

func (s *Site) loadStatuspage(ctx context.Context, e *entry) (*statuspageSet, error) {
	snap, err := e.summary.Get(ctx)
	if err != nil {
		return nil, err
	}
	newest, err := s.store.LoadNewest(ctx, e.slug, "")
	if err != nil {
		return nil, err
	}
	if newest.Page.ID != e.id {
		return nil, allswell.ErrNotFound // another page has the slug now
	}
	view.CleanNames(&newest)
	bodies, err := statuspage.Documents(snap.sum, newest, snap.sum.Page.URL(s.base))
	if err != nil {
		return nil, err
	}
	d := &statuspageSet{documents: make(map[string]*web.Document, len(bodies))}
	for path, body := range bodies {
		doc := newProgramDocument(body, typeJSON, web.CacheRevalidate)
		d.documents[path] = doc
		d.bytes += doc.Size()
	}
	return d, nil
}
