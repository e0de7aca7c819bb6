package page

import (
	"context"
	"net/http"
	"strings"
	"time"

	"github.com/allswell/allswell"
	"github.com/allswell/allswell/internal/store"
	"github.com/allswell/allswell/internal/web"
)

// What programs ask of a page, besides what the page itself is made of. Each is
// the end of an address, below that of the page or of one of its components.
const (
	atomName      = "history.atom"
	rssName       = "history.rss"
	calendarName  = "history.ics" // of a page alone
	badgeName     = "badge.svg"
	badgeJSONName = "badge.json"
)

const (
	typeAtom     = "application/atom+xml; charset=utf-8"
	typeRSS      = "application/rss+xml; charset=utf-8"
	typeCalendar = "text/calendar; charset=utf-8"
	typeSVG      = "image/svg+xml"
	typeJSON     = "application/json"

	// A proxy that copies pictures, as those of code hosts do, keeps none of
	// ours; and no cache shows a badge that is old.
	cacheBadge = "public, no-cache, max-age=0"
)

// Header values of documents for programs, which every site may read and embed.
var (
	anyOrigin   = []string{"*"}
	crossOrigin = []string{"cross-origin"}
)

// routeMachine answers what programs ask of a page. It returns false for all
// else.
func (s *Site) routeMachine(w http.ResponseWriter, r *http.Request, v visit) bool {
	component, name, ok := cutMachine(v.part)
	if !ok {
		return false
	}
	e := v.entry
	if _, there := v.snap.badges.of(component); !there {
		s.failAt(w, r, v, http.StatusNotFound) // without a look into the database
		return true
	}
	switch name {
	case badgeName, badgeJSONName:
		s.serveBadge(w, r, v, component, name)
	default:
		doc, err := loadRendered(r.Context(), s, key{entry: e, kind: name, name: component}, func(ctx context.Context) (*web.Document, time.Time, error) {
			doc, err := s.loadNews(ctx, e, component, name)
			return doc, time.Time{}, err
		})
		s.serveMachine(w, r, v, doc, err)
	}
	return true
}

// cutMachine takes a path below that of a page apart; component is "" where it
// is the page that is asked about.
func cutMachine(part string) (component, name string, ok bool) {
	name = part
	if rest, found := strings.CutPrefix(part, "components/"); found {
		component, name, _ = strings.Cut(rest, "/")
		if !isComponentID(component) {
			return "", "", false
		}
	}
	switch {
	case name == atomName, name == rssName, name == badgeName, name == badgeJSONName, name == calendarName && component == "":
		return component, name, true
	default:
		return "", "", false
	}
}

// isComponentID reports whether id has the form of a component's id.
func isComponentID(id string) bool {
	rest, ok := strings.CutPrefix(id, allswell.PrefixComponent)
	if !ok || len(rest) != 20 {
		return false
	}
	for i := range len(rest) {
		if c := rest[i]; (c < '0' || c > '9') && (c < 'a' || c > 'v') {
			return false
		}
	}
	return true
}

// serveMachine answers with a document for programs, or with the error of loading
// it. While the database is unavailable it is an old one: each feed says when it
// was updated.
func (s *Site) serveMachine(w http.ResponseWriter, r *http.Request, v visit, doc *web.Document, err error) {
	if err != nil {
		s.failForAt(w, r, v, err)
		return
	}
	serveOpen(w, r, doc)
}

// serveOpen serves a document that every other site may read.
func serveOpen(w http.ResponseWriter, r *http.Request, doc *web.Document) {
	h := w.Header()
	h["Access-Control-Allow-Origin"] = anyOrigin
	h["Cross-Origin-Resource-Policy"] = crossOrigin
	doc.ServeHTTP(w, r)
}

// newMachine returns a document for programs.
func newMachine(body []byte, contentType, cacheControl string) *web.Document {
	return web.NewDocument(body, web.DocumentHeader{ContentType: contentType, CacheControl: cacheControl, Policy: web.PolicyData})
}

// loadNews makes a feed or the calendar.
func (s *Site) loadNews(ctx context.Context, e *entry, component, name string) (*web.Document, error) {
	contents, err := s.store.LoadNewest(ctx, e.slug, component)
	if err != nil {
		return nil, err
	}
	if contents.Page.ID != e.id {
		return nil, allswell.ErrNotFound // another page has the slug now
	}
	base := contents.Page.URL(s.base)
	if name == calendarName {
		if err := s.addPlanned(ctx, &contents); err != nil {
			return nil, err
		}
		return newMachine(calendarDocument(contents, base), typeCalendar, web.CacheRevalidate), nil
	}
	f, ok := newFeed(contents, component, base)
	if !ok {
		return nil, allswell.ErrNotFound
	}
	body, contentType := f.atom, typeAtom
	if name == rssName {
		body, contentType = f.rss, typeRSS
	}
	written, err := body()
	if err != nil {
		return nil, err
	}
	return newMachine(written, contentType, web.CacheRevalidate), nil
}

// addPlanned adds the maintenances that are not over to the newest, which have
// the later ones only if there are many.
func (s *Site) addPlanned(ctx context.Context, contents *allswell.PageContents) error {
	if len(contents.Maintenances) < store.MaxNewest {
		return nil
	}
	full, err := s.store.LoadPage(ctx, contents.Page.Slug)
	if err != nil {
		return err
	}
	known := make(map[string]bool, len(contents.Maintenances))
	for _, m := range contents.Maintenances {
		known[m.ID] = true
	}
	for _, m := range full.Maintenances {
		if !known[m.ID] && m.State != allswell.MaintenanceCompleted {
			contents.Maintenances = append(contents.Maintenances, m)
		}
	}
	return nil
}
