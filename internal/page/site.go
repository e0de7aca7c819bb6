// Package page serves the public status pages.
//
// A request is answered from a snapshot in memory: no database, no template. A
// commit marks the snapshot stale before it is acknowledged. If somebody waits for
// the acknowledgement, it is rendered again before that, and otherwise by the first
// request: once, from one allswell.Summary, while the others wait. If that fails, the
// old snapshot is served with its own time.
package page

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/allswell/allswell"
	"github.com/allswell/allswell/internal/i18n"
	"github.com/allswell/allswell/internal/store"
	"github.com/allswell/allswell/internal/web"
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
	SignUps int              // sign-ups by e-mail that are accepted in any hour, of all clients together; 0: any number
	Streams int              // event streams that may be open at a time; 0: MaxStreams
}

// Site serves the public pages of one store.
type Site struct {
	store *store.Store
	log   *slog.Logger
	now   func() time.Time
	mail  bool
	base  string // Config.BaseURL, without a slash at its end

	changes   atomic.Uint64 // moves with each commit that changed any page
	snapshots atomic.Uint64 // how many were begun
	directory cell[directory]
	list      cell[pageList]
	shelf     *shelf[cell[sheet]]
	machines  *shelf[cell[web.Document]] // what programs ask for: feeds, calendars, badges
	compat    *shelf[cell[statuspageSet]]

	renditions *shelf[rendition]
	loads      semaphore // for history, incident and other pages being made
	refreshes  semaphore // see refresh
	forms      formSemaphores
	guesses    guesses
	firstStep  *web.Document
	faults     faults
	signUps    *signUps
	hub        *hub
	origins    *http.CrossOriginProtection
}

// New returns a site that follows the store's commits. It is to be called
// before the store serves.
func New(c Config) *Site {
	s := &Site{
		store: c.Store, log: c.Logger, now: c.Now, mail: c.Mail,
		shelf: newShelf[cell[sheet]](shelfBytes), machines: newShelf[cell[web.Document]](shelfBytes), compat: newShelf[cell[statuspageSet]](shelfBytes),
		renditions: newShelf[rendition](renditionBytes), loads: make(semaphore, maxLoads), refreshes: make(semaphore, maxRefreshes), forms: newFormSemaphores(),
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
	s.guesses = newGuesses(s.now)
	s.signUps = newSignUps(c.SignUps, s.log)
	s.hub = newHub(s.now, c.Streams, s.look)
	s.directory.gen, s.directory.now, s.directory.make = &s.changes, s.now, s.loadDirectory
	s.directory.told = func(err error) { s.complain("the list of status pages could not be read", "", err) }
	s.list.gen, s.list.now, s.list.make = &s.changes, s.now, s.loadList
	s.list.told = func(err error) { s.complain("the list of status pages could not be rendered", "", err) }
	s.firstStep = mustRender(screen{
		frame{At: anywhere(facet{lang: i18n.English()}), Title: "Allswell is running", Status: allswell.StatusOperational}, firstStepsBody{s.base},
	}, web.CacheNever)
	s.origins = originsOf(c.BaseURL)
	s.store.OnPageChange(s.markStale)
	s.store.BeforeReturn(s.refresh)
	return s
}

// Run makes the pages before anybody asks, so that there is something to show
// should the database go, and follows the commits of other replicas. It
// returns when ctx ends.
func (s *Site) Run(ctx context.Context) {
	if ctx.Err() != nil {
		return
	}
	var ahead sync.WaitGroup
	ahead.Go(func() { s.makeAhead(ctx) })
	s.store.WatchPages(ctx, s.markStale)
	<-ctx.Done()
	ahead.Wait()
}

// makeAhead makes the list of pages, and the pages on it, one after another.
func (s *Site) makeAhead(ctx context.Context) {
	s.list.get(ctx) // a failure is in the log, and tried again on request
	if d, err := s.directory.get(ctx); err == nil {
		for _, e := range d.entries[:min(len(d.entries), maxListed)] {
			if ctx.Err() == nil {
				e.cell.get(ctx)
			}
		}
	}
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

// serveSheet writes a sheet, with a line that it is old if the database has
// been silent for too long.
func (s *Site) serveSheet(w http.ResponseWriter, r *http.Request, sh *sheet) {
	if contact, late := s.late(); late {
		s.serveDelayed(w, r, sh, contact)
		return
	}
	sh.doc.ServeHTTP(w, r)
}

// serveDelayed writes a sheet with a line that it could not be refreshed since
// an instant.
func (s *Site) serveDelayed(w http.ResponseWriter, r *http.Request, sh *sheet, since time.Time) {
	doc, err := sh.delayed(since)
	if err != nil {
		s.complain("a page could not be rendered as delayed", r.URL.Path, err)
		doc = sh.doc
	}
	doc.ServeHTTP(w, r)
}

// late reports whether pages have to say that they are old, and since when the
// database has been silent.
func (s *Site) late() (since time.Time, late bool) {
	contact := s.store.LastContact()
	return contact, s.now().Sub(contact) > delayedAfter
}

func (s *Site) complain(what, page string, err error) {
	if errors.Is(err, allswell.ErrNotFound) {
		return // it is not there, which is an answer
	}
	s.log.Log(context.Background(), store.LogLevel(err, slog.LevelError), what, "page", page, "error", err)
}

const typeHTML = "text/html; charset=utf-8"

// Header values that many responses share. They are assigned to http.Header
// without a copy and must not be modified.
var (
	allowGetHead = []string{"GET, HEAD"}
	allowForm    = []string{"GET, HEAD, POST"}
	retryAfter   = []string{"2"}
)
