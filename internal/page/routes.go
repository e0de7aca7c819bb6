package page

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"strings"
	"time"

	"github.com/allswell/allswell"
	"github.com/allswell/allswell/internal/i18n"
	"github.com/allswell/allswell/internal/view"
)

// visit is a request for a page or a part of it.
type visit struct {
	entry   *entry
	snap    *snapshot // an old one if it cannot be loaded again
	variant view.Variant
	part    string // of the path, below the page: "", "history", "incidents/…"
	key     keyLookup
}

// presentation returns how the page is shown to the visitor.
func (v visit) presentation() view.Presentation { return view.Present(v.snap.page, v.variant) }

// routeSlug serves a part of the page under a slug.
func (s *Site) routeSlug(w http.ResponseWriter, r *http.Request, slug, part string) {
	key := s.lookUpKey(r, part)
	e, snap, err := s.snapshotOf(r.Context(), cmp.Or(key.slug, slug))
	if snap == nil {
		s.failVisit(w, r, part, err)
		return
	}
	v := newVisit(r, e, snap, part, false)
	v.key = key
	s.routePage(w, r, v)
}

// routeDomain serves a part of the page whose own domain is the request's host,
// and reports whether there is one. The hosts of the installation itself are never
// a page's own. For a path below /status/ an unknown host is not looked up.
func (s *Site) routeDomain(w http.ResponseWriter, r *http.Request, isStatus bool) bool {
	host, part := allswell.HostName(r.Host), strings.TrimPrefix(r.URL.Path, "/")
	if host == "" || s.store.Hosts().Contains(host) || isStatus && s.index.Last().findHost(host) == nil {
		return false
	}
	e, snap, err := s.snapshotBy(r.Context(),
		func() (*entry, error) { return s.lookUpHost(r.Context(), host) },
		func(p allswell.Page) bool { return p.Host == host })
	switch {
	case e == nil && errors.Is(err, allswell.ErrNotFound):
		return false
	case snap == nil:
		s.failVisit(w, r, part, err)
	default:
		v := newVisit(r, e, snap, part, snap.page.Host != "")
		v.key = s.lookUpKey(r, part)
		s.routePage(w, r, v)
	}
	return true
}

// failVisit answers for a page that cannot be shown, to people and to programs.
func (s *Site) failVisit(w http.ResponseWriter, r *http.Request, part string, err error) {
	if !failStatuspage(w, r, part, err) {
		s.failFor(w, r, err)
	}
}

func newVisit(r *http.Request, e *entry, snap *snapshot, part string, own bool) visit {
	v := visit{entry: e, snap: snap, part: part, variant: view.Variant{OwnDomain: own}}
	v.variant.Language, v.variant.Chosen = languageFor(r, snap.page.Language)
	return v
}

// routePage serves all paths of a page.
func (s *Site) routePage(w http.ResponseWriter, r *http.Request, v visit) {
	if s.routeStatuspage(w, r, v) || s.routeForm(w, r, v) {
		return
	}
	if !isRead(r) {
		w.Header()["Allow"] = allowGetHead
		s.failAt(w, r, v, http.StatusMethodNotAllowed)
		return
	}
	kind, id, deeper := strings.Cut(v.part, "/")
	switch {
	case v.part == "":
		s.serveStatus(w, r, v)
	case v.part == "events":
		s.serveEvents(w, r, v)
	case v.part == "history":
		s.serveHistory(w, r, v)
	case deeper && kind == "incidents":
		s.serveIncident(w, r, v, id)
	case deeper && kind == "maintenances":
		s.serveMaintenance(w, r, v, id)
	case deeper && kind == "look":
		s.serveTheme(w, r, v, id)
	case s.routePrograms(w, r, v):
	case deeper && kind == "components":
		s.serveComponent(w, r, v, id)
	default:
		s.failAt(w, r, v, http.StatusNotFound)
	}
}

// serveStatus answers with the page itself.
func (s *Site) serveStatus(w http.ResponseWriter, r *http.Request, v visit) {
	e, k := v.entry, key{entry: v.entry, kind: "status", variant: v.variant}
	sh, err := getRendered(r.Context(), s, k, &e.summary.Loads, func(ctx context.Context) (*renderedPage, time.Time, error) {
		sh, err := newRenderedPage(ctx, e.summary.Last().model(k.variant))
		return sh, time.Time{}, err
	})
	if err != nil {
		s.failForAt(w, r, v, err)
		return
	}
	s.serveSheet(w, r, k, sh)
}

// presentation returns how a page is shown, with what only the site knows.
func (s *Site) presentation(page allswell.Page, v view.Variant) view.Presentation {
	at := view.Present(page, v)
	at.Public, at.Mail = page.URL(s.base), s.mail
	return at
}

// languageFor returns the language of a response, and whether the URL names it.
func languageFor(r *http.Request, fallback string) (l *i18n.Language, chosen bool) {
	if r.URL.RawQuery != "" {
		if l := i18n.Find(r.URL.Query().Get(view.LanguageParam)); l != nil {
			return l, true
		}
	}
	var accept string
	if fields := r.Header["Accept-Language"]; len(fields) > 0 {
		accept = fields[0]
	}
	return i18n.Choose("", accept, fallback), false
}
