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

	changes   atomic.Uint64 // moves with each commit that changed any page
	directory cell[directory]
	list      cell[sheet]
	shelf     *shelf
	loads     chan struct{} // a place for each history or incident page being made
	firstStep *document
	errors    map[int]*document
	signUps   *signUps
	hub       *hub
	origins   *http.CrossOriginProtection
}

// maxLoads is how many history and incident pages may be made at the same time.
const maxLoads = 4

// New returns a site that follows the store's commits. It is to be called
// before the store serves.
func New(c Config) *Site {
	s := &Site{
		store: c.Store, log: c.Logger, now: c.Now, mail: c.Mail,
		shelf: newShelf(), loads: make(chan struct{}, maxLoads), signUps: newSignUps(),
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
	s.hub = newHub(s.now, c.Streams, s.look)
	s.directory.gen, s.directory.now, s.directory.make = &s.changes, s.now, s.loadDirectory
	s.directory.told = func(err error) { s.complain("the list of status pages could not be read", "", err) }
	s.list.gen, s.list.now, s.list.make = &s.changes, s.now, s.loadList
	s.list.told = func(err error) { s.complain("the list of status pages could not be rendered", "", err) }
	s.firstStep = mustRender(screen{
		frame{Title: "Allswell is running", Status: allswell.Operational}, firstStepsBody{strings.TrimRight(c.BaseURL, "/")},
	}, cacheNone)
	s.errors = errorPages()
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

// Handler returns the handler of "/", "/status/" and "/assets/". Every path it
// does not know is a 404 in HTML.
func (s *Site) Handler() http.Handler { return http.HandlerFunc(s.route) }

// route is the table of all routes. It takes the path apart by hand, because
// pages are asked for far more often than all else.
func (s *Site) route(w http.ResponseWriter, r *http.Request) {
	path := r.URL.Path
	rest, isStatus := strings.CutPrefix(path, "/status/")
	slug, part, _ := strings.Cut(rest, "/")
	if isStatus && s.routeForm(w, r, slug, part) {
		return
	}
	if !isRead(r) {
		w.Header()["Allow"] = allowGetHead
		s.fail(w, r, http.StatusMethodNotAllowed)
		return
	}
	if isStatus {
		id, isIncident := strings.CutPrefix(part, "incidents/")
		switch {
		case rest == slug:
			s.serveStatus(w, r, slug)
		case part == "events":
			s.serveEvents(w, r, slug)
		case part == "history":
			s.serveHistory(w, r, slug)
		case isIncident:
			s.serveIncident(w, r, slug, id)
		case part == "" && allswell.ValidSlug(slug): // a slash too many
			http.Redirect(w, r, homeOf(slug), http.StatusPermanentRedirect)
		default:
			s.fail(w, r, http.StatusNotFound)
		}
		return
	}
	if name, ok := strings.CutPrefix(path, "/assets/"); ok {
		s.serveAsset(w, r, name)
		return
	}
	if path == "/" {
		s.serveFront(w, r)
		return
	}
	s.fail(w, r, http.StatusNotFound)
}

// isRead reports whether a request asks to see something.
func isRead(r *http.Request) bool { return r.Method == http.MethodGet || r.Method == http.MethodHead }

func (s *Site) serveStatus(w http.ResponseWriter, r *http.Request, slug string) {
	_, snap, err := s.snapshotOf(r.Context(), slug)
	if snap == nil {
		s.failFor(w, r, err)
		return
	}
	s.serveSheet(w, r, snap.sheet)
}

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
		s.serveStatus(w, r, d.entries[0].slug)
	default:
		sh, err := s.list.get(r.Context())
		if sh == nil {
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
func (s *Site) loadList(ctx context.Context) (*sheet, time.Time, error) {
	d, err := s.directory.get(ctx)
	if err != nil {
		return nil, time.Time{}, err
	}
	worst := allswell.Operational
	var b listBody
	for i, e := range d.entries {
		if i == maxListed {
			b.More = len(d.entries) - maxListed
			break
		}
		snap, err := e.cell.get(ctx)
		switch {
		case errors.Is(err, allswell.ErrNotFound):
			continue // deleted a moment ago
		case err != nil:
			return nil, time.Time{}, err
		}
		if snap.status.Worse(worst) {
			worst = snap.status
		}
		b.Pages = append(b.Pages, listedPage{homeOf(e.slug), snap.page.Name, allswell.Banner(snap.status), snap.status})
	}
	f := frame{
		Title: "Status pages", Description: "The current status of everything that is watched here.",
		Canonical: "/", Status: worst, AsOf: moment(s.now()),
	}
	sh, err := newSheet(screen{f, b})
	return sh, time.Time{}, err
}

// errorPages renders the pages that say why there is nothing to see.
func errorPages() map[int]*document {
	pages := map[int]plainBody{
		http.StatusBadRequest: {
			Heading: "This form could not be read", Text: []string{"Nothing was changed. Please go back, load the page again, and try once more."},
		},
		http.StatusForbidden: {
			Heading: "This form came from another site", Text: []string{"Nothing was changed. A form is only taken from its own page: please open that page, and try there."},
		},
		http.StatusNotFound: {
			Heading: "There is no such page", Text: []string{"The address may be mistyped, or the page or incident was removed."},
		},
		http.StatusMethodNotAllowed: {
			Heading: "This cannot be done here", Text: []string{"The address does not answer to this method. Changes go through the API."},
		},
		http.StatusRequestEntityTooLarge: {
			Heading: "This form is too large", Text: []string{"Nothing was changed. Please go back and choose fewer components, or the whole page."},
		},
		http.StatusServiceUnavailable: {
			Heading: "This page cannot be shown right now", Text: []string{"It could not be loaded. Please try again in a moment."},
		},
	}
	docs := make(map[int]*document, len(pages))
	for status, b := range pages {
		f := frame{Title: b.Heading, Status: allswell.Unknown, Secret: true} // of whichever address it is
		docs[status] = mustRender(screen{f, b}, cacheNone)
	}
	return docs
}

// mustRender renders what is known at the start; that it can be is tested.
func mustRender(s screen, cacheControl string) *document {
	doc, err := renderDocument(s, cacheControl)
	if err != nil {
		panic(err)
	}
	return doc
}

// failFor answers with the page that fits the error.
func (s *Site) failFor(w http.ResponseWriter, r *http.Request, err error) {
	if errors.Is(err, allswell.ErrNotFound) {
		s.fail(w, r, http.StatusNotFound)
		return
	}
	w.Header()["Retry-After"] = retryAfter
	s.fail(w, r, http.StatusServiceUnavailable)
}

func (s *Site) fail(w http.ResponseWriter, r *http.Request, status int) {
	s.errors[status].serveAs(w, r, status)
}

func (s *Site) complain(what, page string, err error) {
	if errors.Is(err, allswell.ErrNotFound) {
		return // it is not there, which is an answer
	}
	s.log.Error(what, "page", page, "error", err)
}
