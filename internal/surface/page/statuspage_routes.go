package page

import (
	"context"
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/allswell/allswell/internal/domain/kernel"
	"github.com/allswell/allswell/internal/domain/statuspage"
	"github.com/allswell/allswell/internal/surface/page/statuspageapi"
	"github.com/allswell/allswell/internal/surface/web"
)

// statuspageSet has the documents of one page in the format of Statuspage, by their
// paths below /api/v2/. See docs/statuspage.md.
type statuspageSet struct {
	documents map[string]*web.Document
	bytes     int
}

func (d *statuspageSet) Size() int { return d.bytes }

// Header values that permit scripts of other sites to read the documents.
var (
	allowOpen    = []string{"GET, HEAD, OPTIONS"}
	anyHeader    = []string{"*"}
	preflightAge = []string{"86400"}
)

// statuspageErrors returns the errors by HTTP status.
var statuspageErrors = sync.OnceValue(func() map[int]*web.Document {
	return map[int]*web.Document{
		http.StatusNotFound:           newStatuspageError("Not found."),
		http.StatusMethodNotAllowed:   newStatuspageError("This method is not allowed here."),
		http.StatusTooManyRequests:    newStatuspageError("Too many requests. Please try again in a moment."),
		http.StatusServiceUnavailable: newStatuspageError("This could not be loaded. Please try again in a moment."),
	}
})

func newStatuspageError(message string) *web.Document {
	body, err := json.Marshal(map[string]string{"message": message})
	if err != nil {
		panic(err) // the messages are constant
	}
	return newProgramDocument(body, typeJSON, web.CacheNever)
}

// routeStatuspage serves all paths of a page below api/v2/, with any method, and reports whether it did.
func (s *Site) routeStatuspage(w http.ResponseWriter, r *http.Request, req pageRequest) bool {
	path, ok := strings.CutPrefix(req.part, statuspageapi.Prefix)
	if ok {
		serveStatuspage(w, r, func() (*web.Document, error) {
			return s.statuspageDocument(r.Context(), req.entry, path)
		})
	}
	return ok
}

// failStatuspage is routeStatuspage for a page that does not exist or cannot be loaded; err says which.
func failStatuspage(w http.ResponseWriter, r *http.Request, part string, err error) bool {
	if !strings.HasPrefix(part, statuspageapi.Prefix) {
		return false
	}
	serveStatuspage(w, r, func() (*web.Document, error) { return nil, err })
	return true
}

// serveStatuspage answers with a document, or with the error of loading it.
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
	statuspageErrors()[status].ServeStatus(w, r, status)
}

// statuspageDocument returns one document of a page, or kernel.ErrNotFound. All documents of a page are rendered
// together, at the first request after a change, so that they agree.
func (s *Site) statuspageDocument(ctx context.Context, e *entry, path string) (*web.Document, error) {
	if !slices.Contains(statuspageapi.Names, path) {
		return nil, kernel.ErrNotFound
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
	snap, newest, err := e.loadPart(ctx, func(*snapshot) (statuspage.PageContents, error) {
		return s.store.LoadNewest(ctx, e.slug, "")
	})
	if err != nil {
		return nil, err
	}
	bodies, err := statuspageapi.Documents(snap.sum, newest, snap.sum.Page.URL(s.base))
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
