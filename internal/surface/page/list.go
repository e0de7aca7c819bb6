package page

import (
	"context"
	"net/http"
	"time"

	"github.com/allswell/allswell/internal/shared/i18n"
	"github.com/allswell/allswell/internal/store"
	"github.com/allswell/allswell/internal/surface/page/view"
	"github.com/allswell/allswell/internal/surface/web"
)

const (
	// maxListed is how many pages "/" lists, oldest first.
	maxListed = 200

	// listAge is the lifetime of the list without a commit. A list that cannot be
	// reloaded is served, and says so after listAge + delayedAfter.
	listAge = time.Minute
)

// pageList is the list of pages at "/". It is loaded in few queries and not from
// the snapshots of the pages, so that no page can delay the list.
type pageList struct {
	store.PageList
	loaded  time.Time // by the host's clock
	changes uint64    // Site.changes before it was loaded
}

func (s *Site) loadList(ctx context.Context) (*pageList, time.Time, error) {
	changes := s.changes.Load()
	index, err := s.store.PageList(ctx, maxListed)
	if err != nil {
		return nil, time.Time{}, err
	}
	now := s.now()
	return &pageList{PageList: index, loaded: now, changes: changes}, now.Add(listAge), nil
}

// serveRoot answers "/": with the home page, with the list of pages, or with the first steps if there is no public
// page.
func (s *Site) serveRoot(w http.ResponseWriter, r *http.Request) {
	list, err := s.list.Get(r.Context())
	switch {
	case list == nil:
		s.failFor(w, r, err)
	case list.Home == "":
		s.firstSteps().ServeHTTP(w, r)
	case s.pageIndex && list.Total > 1:
		s.serveList(w, r)
	default:
		s.routeSlug(w, r, list.Home, "")
	}
}

func (s *Site) serveList(w http.ResponseWriter, r *http.Request) {
	k := key{kind: "list"}
	k.variant.Language, k.variant.Chosen = languageFor(r, i18n.Offered(nil), "")
	page, err := getRendered(r.Context(), s, k, &s.list.Loads,
		func(ctx context.Context) (*renderedPage, time.Time, error) {
			page, err := newRenderedPage(ctx, s.listModel(k.variant))
			return page, time.Time{}, err
		})
	if err != nil {
		s.failFor(w, r, err)
		return
	}
	if loaded := s.list.Last().loaded; s.now().Sub(loaded) > listAge+delayedAfter {
		s.serveDelayed(w, r, k, page, loaded)
		return
	}
	s.servePage(w, r, k, page)
}

func (s *Site) listModel(v view.Variant) view.Model {
	list := s.list.Last()
	entries := make([]view.ListEntry, 0, len(list.Pages))
	for _, p := range list.Pages {
		if since, ok := s.madePrivate.Load(p.ID); !ok || list.changes >= since.(uint64) {
			entries = append(entries, view.ListEntry{Slug: p.Slug, Name: p.Name, Status: p.Status, Lead: p.Lead})
		}
	}
	at := view.PresentRoot(v)
	at.Public = s.base
	return view.List(at, entries, list.Total-len(list.Pages), list.AsOf)
}

// renderFirstSteps renders the page for an installation without status pages.
func (s *Site) renderFirstSteps() *web.Document {
	at := view.PresentRoot(view.Variant{Language: i18n.English()})
	doc, err := renderDocument(context.Background(), view.FirstSteps(at, s.base), web.CacheNever)
	if err != nil {
		panic(err) // its data is constant
	}
	return doc
}
