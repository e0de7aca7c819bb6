package page

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/allswell/allswell/internal/domain/kernel"
	"github.com/allswell/allswell/internal/domain/statuspage"
	"github.com/allswell/allswell/internal/store"
	"github.com/allswell/allswell/internal/surface/page/badge"
	"github.com/allswell/allswell/internal/surface/page/feed"
	"github.com/allswell/allswell/internal/surface/page/picture"
	"github.com/allswell/allswell/internal/surface/web"
)

const (
	typeSVG  = "image/svg+xml"
	typeJSON = "application/json"
	typePNG  = "image/png"

	// max-age=0 keeps the image proxies of code hosts from showing old badges.
	cacheBadge = "public, no-cache, max-age=0"
)

// Header values of documents for programs, which other sites may read and embed.
var (
	anyOrigin   = []string{"*"}
	crossOrigin = []string{"cross-origin"}
)

// routePrograms serves feeds, the calendar and badges, and reports whether it did.
func (s *Site) routePrograms(w http.ResponseWriter, r *http.Request, req pageRequest) bool {
	component, name, ok := parseProgramPath(req.part)
	if !ok {
		return false
	}
	e := req.entry
	if !req.snap.badges.Has(component) {
		s.failAt(w, r, req, http.StatusNotFound) // without a query
		return true
	}
	switch name {
	case badge.SVGName, badge.JSONName:
		s.serveBadge(w, r, req, component, name)
	default:
		doc, err := loadRendered(r.Context(), s, key{entry: e, kind: name, name: component},
			func(ctx context.Context) (*web.Document, time.Time, error) {
				doc, err := s.loadFeed(ctx, e, component, name)
				return doc, time.Time{}, err
			})
		s.serveToPrograms(w, r, req, doc, err)
	}
	return true
}

// parseProgramPath splits a path below a page's. component is "" for a document of the whole page.
func parseProgramPath(part string) (component, name string, ok bool) {
	name = part
	if rest, found := strings.CutPrefix(part, "components/"); found {
		component, name, _ = strings.Cut(rest, "/")
		if !componentID.MatchString(component) {
			return "", "", false
		}
	}
	switch {
	case name == feed.AtomName, name == feed.RSSName, name == badge.SVGName, name == badge.JSONName,
		name == feed.CalendarName && component == "":
		return component, name, true
	default:
		return "", "", false
	}
}

// serveToPrograms answers with a document for programs, or with the error of loading it. While the database is
// unavailable, the document is an old one: each feed says when it was updated.
func (s *Site) serveToPrograms(w http.ResponseWriter, r *http.Request, req pageRequest, doc *web.Document, err error) {
	if err != nil {
		s.failForAt(w, r, req, err)
		return
	}
	serveCrossOrigin(w, r, doc)
}

// serveCrossOrigin serves a document that other sites may read.
func serveCrossOrigin(w http.ResponseWriter, r *http.Request, doc *web.Document) {
	h := w.Header()
	h["Access-Control-Allow-Origin"] = anyOrigin
	h["Cross-Origin-Resource-Policy"] = crossOrigin
	doc.ServeHTTP(w, r)
}

// servePicture answers with the picture that previews of the page show. It expires with the snapshot of the page.
func (s *Site) servePicture(w http.ResponseWriter, r *http.Request, req pageRequest) {
	e := req.entry
	doc, err := loadRendered(r.Context(), s, key{entry: e, kind: picture.Name},
		func(ctx context.Context) (*web.Document, time.Time, error) {
			snap, err := e.snapshot.Get(ctx)
			if snap == nil {
				return nil, time.Time{}, err
			}
			body, err := snap.picture.PNG()
			return newProgramDocument(body, typePNG, web.CacheRevalidate), snap.until, err
		})
	s.serveToPrograms(w, r, req, doc, err)
}

// newProgramDocument returns a document for programs.
func newProgramDocument(body []byte, contentType, cacheControl string) *web.Document {
	return web.NewDocument(body, web.DocumentHeader{
		ContentType: contentType, CacheControl: cacheControl, Policy: web.PolicyData,
	})
}

// loadFeed loads and renders a feed or the calendar. The error is kernel.ErrNotFound if the page or the component does
// not exist.
func (s *Site) loadFeed(ctx context.Context, e *entry, component, name string) (*web.Document, error) {
	contents, err := s.store.LoadNewest(ctx, e.slug, component)
	if err != nil {
		return nil, err
	}
	if !e.shows(contents.Page) {
		return nil, kernel.ErrNotFound // the slug belongs to another page now, or the visibility has changed
	}
	base := contents.Page.URL(s.base)
	if name == feed.CalendarName {
		if err := s.addUpcoming(ctx, &contents); err != nil {
			return nil, err
		}
		return newProgramDocument(feed.Calendar(contents, base), feed.CalendarType, web.CacheRevalidate), nil
	}
	f, ok := feed.New(contents, component, base)
	if !ok {
		return nil, kernel.ErrNotFound
	}
	write, contentType := f.Atom, feed.AtomType
	if name == feed.RSSName {
		write, contentType = f.RSS, feed.RSSType
	}
	body, err := write()
	if err != nil {
		return nil, err
	}
	return newProgramDocument(body, contentType, web.CacheRevalidate), nil
}

// addUpcoming adds the maintenances that are not completed if the newest store.MaxNewest do not include all of them.
func (s *Site) addUpcoming(ctx context.Context, contents *statuspage.PageContents) error {
	if len(contents.Maintenances) < store.MaxNewest {
		return nil
	}
	full, err := s.store.LoadPage(ctx, contents.Page.Slug)
	if err == nil && full.Page.Visibility != contents.Page.Visibility {
		err = kernel.ErrNotFound
	}
	if err != nil {
		return err
	}
	known := make(map[string]bool, len(contents.Maintenances))
	for _, m := range contents.Maintenances {
		known[m.ID] = true
	}
	for _, m := range full.Maintenances {
		if !known[m.ID] && m.State != statuspage.MaintenanceCompleted {
			contents.Maintenances = append(contents.Maintenances, m)
		}
	}
	return nil
}

// serveBadge answers with a badge. Badges with a label from the URL are drawn for each request, because the number of
// labels is unlimited; the others are cached. While pages say that they are delayed, badges show the status unknown.
func (s *Site) serveBadge(w http.ResponseWriter, r *http.Request, req pageRequest, component, name string) {
	var options badge.Options
	if r.URL.RawQuery != "" {
		options = badge.ParseOptions(r.URL.Query())
	}
	_, late := s.late()
	e := req.entry
	load := func(context.Context) (*web.Document, time.Time, error) {
		b, ok := e.snapshot.Last().badges.Badge(component, options, late)
		if !ok {
			return nil, time.Time{}, kernel.ErrNotFound
		}
		return badgeDocument(b, name, options.Theme), time.Time{}, nil
	}
	if options.Label != "" {
		doc, _, err := load(r.Context())
		s.serveToPrograms(w, r, req, doc, err)
		return
	}
	kind := fmt.Sprint(name, " ", options.Theme, " ", options.Uptime, " ", options.Incidents, " ", late)
	doc, err := getRendered(r.Context(), s, key{entry: e, kind: kind, name: component}, &e.snapshot.Loads, load)
	s.serveToPrograms(w, r, req, doc, err)
}

func badgeDocument(b badge.Badge, name, theme string) *web.Document {
	if name == badge.JSONName {
		return newProgramDocument(b.JSON(), typeJSON, cacheBadge)
	}
	svg, style := b.SVG(theme)
	h := web.DocumentHeader{ContentType: typeSVG, CacheControl: cacheBadge, Policy: web.PolicyData}
	if style != "" {
		h.Policy = h.Policy.WithStyle(style)
	}
	return web.NewDocument(svg, h)
}
