package page

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"strings"
	"time"

	"github.com/allswell/allswell/internal/domain/kernel"
	"github.com/allswell/allswell/internal/domain/statuspage"
	"github.com/allswell/allswell/internal/shared/i18n"
	"github.com/allswell/allswell/internal/surface/assets"
	"github.com/allswell/allswell/internal/surface/page/picture"
	"github.com/allswell/allswell/internal/surface/page/view"
)

// Handler returns the handler of the public pages: "/", "/status/", "/assets/",
// and at the own domains of pages all paths. Unknown paths get a 404 in HTML.
func (s *Site) Handler() http.Handler { return http.HandlerFunc(s.route) }

// route serves all paths. It parses the path of a status page by hand, because status pages are by far the most
// frequent requests.
func (s *Site) route(w http.ResponseWriter, r *http.Request) {
	path := r.URL.Path
	if name, ok := strings.CutPrefix(path, assets.Path); ok && isRead(r) {
		s.serveAsset(w, r, name)
		return
	}
	if s.routeWellKnown(w, r, path) {
		return
	}
	rest, isStatus := strings.CutPrefix(path, "/status/")
	if s.routeDomain(w, r, isStatus) {
		return
	}
	slug, part, _ := strings.Cut(rest, "/")
	switch {
	case isStatus && slug != "":
		s.routeSlug(w, r, slug, part)
	case s.routeShortLink(w, r, path):
	case failStatuspage(w, r, strings.TrimPrefix(path, "/"), kernel.ErrNotFound): // the host is not a page's own domain
	case !isRead(r):
		w.Header()["Allow"] = allowGetHead
		s.fail(w, r, http.StatusMethodNotAllowed)
	case path == "/":
		s.serveRoot(w, r)
	default:
		s.fail(w, r, http.StatusNotFound)
	}
}

func (s *Site) serveAsset(w http.ResponseWriter, r *http.Request, name string) {
	if doc := assets.Find(name); doc != nil {
		doc.ServeHTTP(w, r)
		return
	}
	s.fail(w, r, http.StatusNotFound)
}

// isRead reports whether a request only reads.
func isRead(r *http.Request) bool { return r.Method == http.MethodGet || r.Method == http.MethodHead }

// pageRequest is what a request for a page or a part of it asks for.
type pageRequest struct {
	entry   *entry
	snap    *snapshot // the previous one if the page cannot be loaded
	variant view.Variant
	part    string    // the path below the page: "", "history", "incidents/…"
	key     keyLookup // of the key in the path of a form
	byKey   bool      // the page is private, and shown only because of the key
}

// routeSlug serves a part of the page under a slug.
func (s *Site) routeSlug(w http.ResponseWriter, r *http.Request, slug, part string) {
	key := s.lookUpKey(r, part)
	slug = cmp.Or(key.slug, slug)
	e, snap, err := s.snapshotOf(r.Context(), slug)
	if snap == nil && isNotFound(err) {
		find := func(idx *index) *entry { return idx.private.bySlug[slug] }
		if err = s.servePrivate(w, r, privateRequest{part: part, key: key, find: find}); err == nil {
			return
		}
	}
	if snap == nil {
		s.failPage(w, r, part, err)
		return
	}
	req := newPageRequest(r, e, snap, part)
	req.key = key
	s.routePage(w, r, req)
}

// routeDomain serves a part of the page whose domain is the request's host, and reports whether there is one. The hosts
// of the installation itself are never the domain of a page. Below /status/, an unknown host is not looked up.
func (s *Site) routeDomain(w http.ResponseWriter, r *http.Request, isStatus bool) bool {
	host, part := statuspage.HostName(r.Host), strings.TrimPrefix(r.URL.Path, "/")
	if host == "" || s.store.Hosts().Contains(host) || isStatus && s.index.Last().findHost(host) == nil {
		return false
	}
	e, snap, err := s.snapshotBy(r.Context(),
		func() (*entry, error) { return s.lookUpHost(r.Context(), host) },
		func(p statuspage.Page) bool { return p.Host == host })
	switch {
	case e == nil && errors.Is(err, kernel.ErrNotFound):
		find := func(idx *index) *entry { return idx.private.byHost[host] }
		err := s.servePrivate(w, r, privateRequest{part: part, key: s.lookUpKey(r, part), ownDomain: true, find: find})
		if isNotFound(err) {
			return false
		}
		if err != nil {
			s.failPage(w, r, part, err)
		}
	case snap == nil:
		s.failPage(w, r, part, err)
	default:
		req := newPageRequest(r, e, snap, part)
		req.variant.OwnDomain = snap.page.Host != ""
		req.key = s.lookUpKey(r, part)
		s.routePage(w, r, req)
	}
	return true
}

// failPage answers for a page that cannot be shown, to people and to programs.
func (s *Site) failPage(w http.ResponseWriter, r *http.Request, part string, err error) {
	if !failStatuspage(w, r, part, err) {
		s.failFor(w, r, err)
	}
}

// newPageRequest returns a request for a part of a page, in the language that the client prefers.
func newPageRequest(r *http.Request, e *entry, snap *snapshot, part string) pageRequest {
	req := pageRequest{entry: e, snap: snap, part: part}
	req.variant.Language, req.variant.Chosen = languageFor(r, i18n.Offered(snap.page.Languages),
		snap.page.DefaultLanguage())
	return req
}

// languageFor returns the language of a response, which is always an offered one, and whether the URL names it.
func languageFor(r *http.Request, offered *i18n.Languages, fallback string) (l *i18n.Language, chosen bool) {
	if r.URL.RawQuery != "" {
		if l := offered.Find(r.URL.Query().Get(view.LanguageParam)); l != nil {
			return l, true
		}
	}
	var accept string
	if fields := r.Header["Accept-Language"]; len(fields) > 0 {
		accept = fields[0]
	}
	return offered.Choose("", accept, fallback), false
}

// presentation returns the presentation of a page, with the channels that the installation supports.
func (s *Site) presentation(page statuspage.Page, v view.Variant) view.Presentation {
	at := view.Present(page, v)
	at.Public, at.Mail, at.Webhooks = page.URL(s.base), s.mail, page.WebhookSignUps
	at.Chats, at.SMS, at.Push = page.WebhookSignUps && s.seals, page.WebhookSignUps && page.SMS, s.seals
	return at
}

// routePage serves all paths of a page.
func (s *Site) routePage(w http.ResponseWriter, r *http.Request, req pageRequest) {
	if req.snap.page.Visibility != statuspage.VisibilityPublic {
		w.Header()["X-Robots-Tag"] = noIndex
	}
	if s.routeStatuspage(w, r, req) || s.routeForm(w, r, req) {
		return
	}
	if !isRead(r) {
		w.Header()["Allow"] = allowGetHead
		s.failAt(w, r, req, http.StatusMethodNotAllowed)
		return
	}
	kind, id, deeper := strings.Cut(req.part, "/")
	switch {
	case req.part == "":
		s.serveStatus(w, r, req)
	case req.part == "events":
		s.serveEvents(w, r, req)
	case req.part == "history":
		s.serveHistory(w, r, req)
	case deeper && kind == "incidents":
		s.serveIncident(w, r, req, id)
	case deeper && kind == "maintenances":
		s.serveMaintenance(w, r, req, id)
	case deeper && kind == "look":
		s.serveTheme(w, r, req, id)
	case req.part == view.WidgetName, req.part == view.WidgetScriptName:
		s.serveWidget(w, r, req)
	case req.part == view.WorkerName, req.part == view.ManifestName, deeper && kind == "app":
		s.serveApp(w, r, req)
	case req.part == picture.Name:
		s.servePicture(w, r, req)
	case s.routePrograms(w, r, req):
	case deeper && kind == "components":
		s.serveComponent(w, r, req, id)
	default:
		s.failAt(w, r, req, http.StatusNotFound)
	}
}

// serveStatus answers with the status page itself.
func (s *Site) serveStatus(w http.ResponseWriter, r *http.Request, req pageRequest) {
	e, k := req.entry, key{entry: req.entry, kind: "status", variant: req.variant}
	page, err := getRendered(r.Context(), s, k, &e.snapshot.Loads,
		func(ctx context.Context) (*renderedPage, time.Time, error) {
			page, err := newRenderedPage(ctx, e.snapshot.Last().model(k.variant))
			return page, time.Time{}, err
		})
	if err != nil {
		s.failForAt(w, r, req, err)
		return
	}
	s.servePage(w, r, k, page)
}
