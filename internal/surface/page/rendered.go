package page

import (
	"bytes"
	"context"
	"net/http"
	"sync/atomic"
	"time"

	"github.com/allswell/allswell/internal/domain/kernel"
	"github.com/allswell/allswell/internal/shared/cache"
	"github.com/allswell/allswell/internal/shared/fair"
	"github.com/allswell/allswell/internal/surface/page/view"
	"github.com/allswell/allswell/internal/surface/web"
)

// The limits of the cache of rendered documents of all status pages.
const (
	maxRenderedEntries = 2048
	maxRenderedBytes   = 64 << 20
)

// key names a rendered document: a status page, an incident, a feed. A page whose
// slug changes has another entry, and so other keys.
type key struct {
	entry      *entry // nil: the document belongs to no page
	kind, name string
	before     int          // see view.TimelinePart
	variant    view.Variant // zero if the document is the same in all variants
	lateSince  int64        // Unix milliseconds; see serveDelayed
}

// Owner makes pages evict their own documents before other pages' documents.
func (k key) Owner() any { return k.entry }

// rendered is what is cached under a key.
type rendered interface{ Size() int }

func (s *Site) newRendered(maxBytes int) *cache.Cache[key, rendered] {
	return cache.New[key, rendered](cache.Config[key]{
		MaxEntries: maxRenderedEntries, MaxBytes: maxBytes, Now: s.now,
		Gone:    isNotFound,
		OnError: func(k key, err error) { s.logError("rendering a part of a status page", k.entry, err) },
	})
}

// getRendered returns the value of a key; see cache.Cache.Get.
func getRendered[T rendered](
	ctx context.Context, s *Site, k key, version *atomic.Uint64, load cache.Loader[T],
) (T, error) {
	value, err := s.rendered.Get(ctx, k, version, func(ctx context.Context) (rendered, time.Time, error) {
		return load(ctx)
	})
	t, _ := value.(T)
	return t, err
}

// loadRendered is getRendered for values that are loaded from the store. At most
// maxLoads requests at a time load what is not in memory, at most half of them of one workspace, so that requests for
// what does not exist cannot keep the database busy.
func loadRendered[T rendered](ctx context.Context, s *Site, k key, load cache.Loader[T]) (T, error) {
	if !s.rendered.Contains(k) {
		release, ok := s.loads.Within(ctx, cache.WaitTimeout, fair.Page(k.entry.id), fair.Workspace(k.entry.workspace))
		if !ok {
			var none T
			return none, kernel.ErrBusy
		}
		defer release()
	}
	return getRendered(ctx, s, k, &k.entry.version, load)
}

// renderedPage is a rendered HTML page, with the model from which it is rendered again when it is delayed.
type renderedPage struct {
	model view.Model
	doc   *web.Document
}

// newRenderedPage renders a model. It stops when ctx ends.
func newRenderedPage(ctx context.Context, m view.Model) (*renderedPage, error) {
	doc, err := renderDocument(ctx, m, web.CacheRevalidate)
	if err != nil {
		return nil, err
	}
	return &renderedPage{model: m, doc: doc}, nil
}

// Size counts the model as large as the HTML rendered from it.
func (p *renderedPage) Size() int { return p.doc.Size() + len(p.doc.Body()) }

// renderDocument renders a model as a document. It stops when ctx ends.
func renderDocument(ctx context.Context, m view.Model, cacheControl string) (*web.Document, error) {
	html, err := m.Render(ctx)
	if err != nil {
		return nil, err
	}
	// Text that people typed is escaped and cannot look like a form or a script.
	content := web.PageContent{
		Form: bytes.Contains(html, []byte("<form ")), Script: bytes.Contains(html, []byte("<script ")),
	}
	return web.NewDocument(html, web.DocumentHeader{
		ContentType: typeHTML, CacheControl: cacheControl, Policy: web.PolicyPage(content), ByLanguage: true,
		Secret: m.Layout.Secret,
	}), nil
}

// servePage writes a page. If the store has not reached its database for delayedAfter, the page says that it is
// delayed.
func (s *Site) servePage(w http.ResponseWriter, r *http.Request, k key, page *renderedPage) {
	if contact, late := s.late(); late {
		s.serveDelayed(w, r, k, page, contact)
		return
	}
	page.doc.ServeHTTP(w, r)
}

// serveDelayed writes a page that says since when it has not been refreshed.
func (s *Site) serveDelayed(w http.ResponseWriter, r *http.Request, k key, page *renderedPage, since time.Time) {
	k.lateSince = since.UnixMilli()
	doc, err := getRendered(r.Context(), s, k, &unchanging,
		func(ctx context.Context) (*web.Document, time.Time, error) {
			doc, err := renderDocument(ctx, page.model.Delayed(since), web.CacheRevalidate)
			return doc, time.Time{}, err
		})
	if err != nil {
		doc = page.doc
	}
	doc.ServeHTTP(w, r)
}

// unchanging is the version of values that never become stale.
var unchanging atomic.Uint64
