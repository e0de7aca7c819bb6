// Package page serves the public status pages.
//
// A request is answered from a snapshot in memory: no database, no template. A
// commit marks the snapshot stale before it is acknowledged, and the first
// request after it renders once, from one allswell.Summary, while the others
// wait. If that fails, the old snapshot is served with its own time.
package page

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"net/url"
	"strings"
	"sync/atomic"
	"time"

	"github.com/allswell/allswell"
	"github.com/allswell/allswell/internal/store"
)

// delayedAfter is how long the database may be silent before pages say so.
const delayedAfter = 2 * time.Minute

// Config is what a Site needs. Only Store has to be given.
type Config struct {
	Store   *store.Store
	Logger  *slog.Logger     // nil: discard
	Now     func() time.Time // the host's clock; nil: time.Now
	BaseURL string           // where visitors find us; "": http://localhost:8080
	Mail    bool             // mail can be sent, so that people may subscribe by it
	Streams int              // event streams that may be open at a time; 0: MaxStreams
}

// Site serves the public pages of one store.
type Site struct {
	store *store.Store
	log   *slog.Logger
	now   func() time.Time
	mail  bool
	base  string // Config.BaseURL, without a slash at its end
	host  string // its host name

	changes   atomic.Uint64 // moves with each commit that changed any page
	snapshots atomic.Uint64 // how many were begun
	directory cell[directory]
	list      cell[renditions]
	shelf     *shelf[cell[sheet]]
	machines  *shelf[cell[document]] // what programs ask for: feeds, calendars, badges
	compat    *shelf[cell[statuspageSet]]

	renditions *shelf[rendition]
	loads      chan struct{} // a place for each history or incident page being made
	firstStep  *document
	faults     faults
	signUps    *signUps
	hub        *hub
	origins    *http.CrossOriginProtection
}

// maxLoads is how many history and incident pages may be made at the same time.
const maxLoads = 4

// New returns a site that follows the store's commits. It is to be called
// before the store serves.
func New(c Config) *Site {
	s := &Site{
		store: c.Store, log: c.Logger, now: c.Now, mail: c.Mail,
		shelf: newShelf[cell[sheet]](shelfBytes), machines: newShelf[cell[document]](shelfBytes), compat: newShelf[cell[statuspageSet]](shelfBytes),
		renditions: newShelf[rendition](renditionBytes), loads: make(chan struct{}, maxLoads), signUps: newSignUps(),
	}
	if s.log == nil {
		s.log = slog.New(slog.DiscardHandler)
	}
	if s.now == nil {
		s.now = time.Now
	}
	if c.BaseURL == "" {
		c.BaseURL = "http://localhost:8080"
	}
	s.base = strings.TrimRight(c.BaseURL, "/")
	if u, err := url.Parse(s.base); err == nil {
		s.host = hostName(u.Host)
	}
	s.hub = newHub(s.now, c.Streams, s.look)
	s.directory.gen, s.directory.now, s.directory.make = &s.changes, s.now, s.loadDirectory
	s.directory.told = func(err error) { s.complain("the list of status pages could not be read", "", err) }
	s.list.gen, s.list.now, s.list.make = &s.changes, s.now, s.loadList
	s.list.told = func(err error) { s.complain("the list of status pages could not be rendered", "", err) }
	s.firstStep = mustRender(screen{
		frame{At: anywhere(facet{lang: tongues.all[0]}), Title: "Allswell is running", Status: allswell.Operational}, firstStepsBody{s.base},
	}, cacheNone)
	s.origins = originsOf(c.BaseURL)
	s.store.OnPageChange(s.markStale)
	return s
}

// Run makes the pages before anybody asks, so that there is something to show
// should the database go, and follows the commits of other replicas. It
// returns when ctx ends.
func (s *Site) Run(ctx context.Context) {
	if ctx.Err() != nil {
		return
	}
	if d, err := s.directory.get(ctx); err == nil {
		for _, e := range d.entries[:min(len(d.entries), maxListed)] {
			if ctx.Err() == nil {
				e.cell.get(ctx) // a failure is in the log, and tried again on request
			}
		}
	}
	s.store.FollowPages(ctx, s.markStale)
	<-ctx.Done()
}

// markStale is called after each commit that changed what a page shows: from
// here on no request gets what was rendered before.
func (s *Site) markStale(pageID string) {
	if d := s.directory.last(); d != nil {
		if e := d.byID[pageID]; e != nil {
			e.gen.Add(1)
			e.changed()
		}
	}
	s.changes.Add(1)
}

// Handler returns the handler of everything that is shown: "/", "/status/",
// "/assets/", and at the own domains of pages all paths. Every path it does not
// know is a 404 in HTML.
func (s *Site) Handler() http.Handler { return http.HandlerFunc(s.route) }

// route is the table of all routes but those of a page. It takes the path apart
// by hand, because pages are asked for far more often than all else.
func (s *Site) route(w http.ResponseWriter, r *http.Request) {
	path := r.URL.Path
	if name, ok := strings.CutPrefix(path, "/assets/"); ok && isRead(r) {
		s.serveAsset(w, r, name)
		return
	}
	rest, isStatus := strings.CutPrefix(path, "/status/")
	if s.visitDomain(w, r, isStatus) {
		return
	}
	slug, part, deeper := strings.Cut(rest, "/")
	switch {
	case isStatus && deeper && part == "" && isRead(r) && allswell.ValidSlug(slug): // a slash too many
		http.Redirect(w, r, (&url.URL{Path: "/status/" + slug, RawQuery: r.URL.RawQuery}).String(), http.StatusPermanentRedirect)
	case isStatus && slug != "":
		s.visitSlug(w, r, slug, part)
	case failStatuspage(w, r, strings.TrimPrefix(path, "/"), allswell.ErrNotFound): // at a host that is no page's own
	case !isRead(r):
		w.Header()["Allow"] = allowGetHead
		s.fail(w, r, http.StatusMethodNotAllowed)
	case path == "/":
		s.serveFront(w, r)
	default:
		s.fail(w, r, http.StatusNotFound)
	}
}

// isRead reports whether a request asks to see something.
func isRead(r *http.Request) bool { return r.Method == http.MethodGet || r.Method == http.MethodHead }

// serveFront answers "/": the only page, or the list of them, or what to do
// when there is none.
func (s *Site) serveFront(w http.ResponseWriter, r *http.Request) {
	d, err := s.directory.get(r.Context())
	if d == nil {
		s.failFor(w, r, err)
		return
	}
	switch len(d.entries) {
	case 0:
		s.firstStep.serve(w, r)
	case 1:
		s.visitSlug(w, r, d.entries[0].slug, "")
	default:
		all, err := s.list.get(r.Context())
		if all == nil {
			s.failFor(w, r, err)
			return
		}
		var f facet
		f.lang, f.chosen = languageFor(r, "")
		sh, err := (*all)[f]()
		if err != nil {
			s.complain("the list of status pages could not be rendered", "", err)
			s.failFor(w, r, err)
			return
		}
		s.serveSheet(w, r, sh)
	}
}

// serveSheet writes a sheet, with a line that it is old if the database has
// been silent for too long.
func (s *Site) serveSheet(w http.ResponseWriter, r *http.Request, sh *sheet) {
	doc := sh.doc
	if contact, late := s.late(); late {
		delayed, err := sh.delayed(contact)
		if err == nil {
			doc = delayed
		} else {
			s.complain("a page could not be rendered as delayed", r.URL.Path, err)
		}
	}
	doc.serve(w, r)
}

// late reports whether pages have to say that they are old, and since when the
// database has been silent.
func (s *Site) late() (since time.Time, late bool) {
	contact := s.store.LastContact()
	return contact, s.now().Sub(contact) > delayedAfter
}

// loadList makes the list of all pages with the state of each.
func (s *Site) loadList(ctx context.Context) (*renditions, time.Time, error) {
	d, err := s.directory.get(ctx)
	if err != nil {
		return nil, time.Time{}, err
	}
	var pages []allswell.Page
	for i, e := range d.entries {
		if i == maxListed {
			break
		}
		snap, err := e.cell.get(ctx)
		switch {
		case errors.Is(err, allswell.ErrNotFound):
			continue // deleted a moment ago
		case err != nil:
			return nil, time.Time{}, err
		}
		pages = append(pages, snap.page)
	}
	more, now := max(0, len(d.entries)-maxListed), s.now()
	all := newRenditions(func(f facet) screen { return listScreen(s.anywhere(f), pages, more, now) })
	return &all, time.Time{}, nil
}

// listScreen lays out the list of pages, with how many there are besides.
func listScreen(at where, pages []allswell.Page, more int, asOf time.Time) screen {
	worst := allswell.Operational
	b := listBody{More: more}
	for _, p := range pages {
		if p.Status.Worse(worst) {
			worst = p.Status
		}
		b.Pages = append(b.Pages, listedPage{at.link("/status/" + p.Slug), p.Name, p.Status})
	}
	f := frame{
		At: at, Title: at.lang.T("list.heading"), Description: at.lang.T("list.description"),
		Path: "/", Status: worst, AsOf: at.moment(asOf),
	}
	return screen{f, b}
}

func (s *Site) complain(what, page string, err error) {
	if errors.Is(err, allswell.ErrNotFound) {
		return // it is not there, which is an answer
	}
	s.log.Error(what, "page", page, "error", err)
}
