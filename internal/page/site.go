// Package page serves the public status pages.
//
// A request is answered from memory, without the database and without a template.
// Two layers are kept: a snapshot of each page, loaded from the store, and the
// documents rendered from it, bounded in bytes. A commit marks the snapshot stale
// before it is acknowledged. The snapshot is loaded again before the
// acknowledgement if somebody waits for that, and otherwise by the first request,
// once, while the others wait. If loading fails, the old snapshot is served with
// its own time.
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
	"github.com/allswell/allswell/internal/assets"
	"github.com/allswell/allswell/internal/cache"
	"github.com/allswell/allswell/internal/store"
	"github.com/allswell/allswell/internal/stream"
	"github.com/allswell/allswell/internal/web"
)

// delayedAfter is how long the database may be unavailable before pages say so.
const delayedAfter = 2 * time.Minute

// Config is what a Site needs. Only Store has to be given.
type Config struct {
	Store   *store.Store
	Logger  *slog.Logger     // nil: discard
	Now     func() time.Time // the host's clock; nil: time.Now
	BaseURL string           // URL of the service; "": http://localhost:8080
	Mail    bool             // mail can be sent, so that people may subscribe by it
	SignUps int              // sign-ups by e-mail that are accepted in any hour, of all clients together; 0: any number
	Streams int              // event streams that may be open at a time; 0: stream.DefaultMaxSubscribers
}

// Site serves the public pages of one store.
type Site struct {
	store *store.Store
	log   *slog.Logger
	now   func() time.Time
	mail  bool
	base  string // Config.BaseURL, without a slash at its end

	changes  atomic.Uint64 // moves with each commit that changed any page
	index    cache.Value[*index]
	list     cache.Value[*pageList]
	rendered *cache.Cache[key, rendered]

	loads     semaphore // parts of pages that are loaded for the first time
	refreshes semaphore // see refresh
	forms     formSemaphores
	guesses   guesses
	firstStep *web.Document
	signUps   *signUps
	events    *stream.Broadcaster
	origins   *http.CrossOriginProtection
}

// New returns a site that follows the store's commits. It is to be called
// before the store serves.
func New(c Config) *Site {
	s := &Site{
		store: c.Store, log: c.Logger, now: c.Now, mail: c.Mail,
		loads: make(semaphore, maxLoads), refreshes: make(semaphore, maxRefreshes), forms: newFormSemaphores(),
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
	s.events = stream.New(stream.Config{Now: s.now, MaxSubscribers: c.Streams, Gone: isNotFound})
	s.rendered = s.newRendered(maxRenderedBytes)
	s.index.Version, s.index.Now, s.index.Load = &s.changes, s.now, s.loadIndex
	s.index.OnError = func(err error) { s.logError("loading the index of status pages", nil, err) }
	s.list.Version, s.list.Now, s.list.Load = &s.changes, s.now, s.loadList
	s.list.OnError = func(err error) { s.logError("loading the list of status pages", nil, err) }
	s.firstStep = s.renderFirstStep()
	s.origins = originsOf(c.BaseURL)
	s.store.OnPageChange(s.markStale)
	s.store.BeforeReturn(s.refresh)
	return s
}

// Run loads the pages before anybody asks, so that there is something to show if
// the database becomes unavailable, and follows the commits of other replicas. It
// returns when ctx ends.
func (s *Site) Run(ctx context.Context) {
	if ctx.Err() != nil {
		return
	}
	var loading sync.WaitGroup
	loading.Go(func() { s.loadAll(ctx) })
	s.store.WatchPages(ctx, s.markStale)
	<-ctx.Done()
	loading.Wait()
}

// loadAll loads the list of pages, and the pages on it, one after another.
func (s *Site) loadAll(ctx context.Context) {
	s.list.Get(ctx) // an error is logged, and the next request tries again
	if d, err := s.index.Get(ctx); err == nil {
		for _, e := range d.entries[:min(len(d.entries), maxListed)] {
			if ctx.Err() == nil {
				e.summary.Get(ctx)
			}
		}
	}
}

// markStale is called after each commit that changed what a page shows. No later
// request gets what was loaded before, unless loading fails.
func (s *Site) markStale(pageID string) {
	if d := s.index.Last(); d != nil {
		if e := d.byID[pageID]; e != nil {
			e.version.Add(1)
			e.topic.Changed()
		}
	}
	s.changes.Add(1)
}

// Handler returns the handler of everything that is shown: "/", "/status/",
// "/assets/", and at the own domains of pages all paths. Every path it does not
// know is a 404 in HTML.
func (s *Site) Handler() http.Handler { return http.HandlerFunc(s.route) }

// route serves all paths except those of a single page. It parses the path by
// hand: status pages are by far the most frequent requests.
func (s *Site) route(w http.ResponseWriter, r *http.Request) {
	path := r.URL.Path
	if name, ok := strings.CutPrefix(path, assets.Path); ok && isRead(r) {
		s.serveAsset(w, r, name)
		return
	}
	rest, isStatus := strings.CutPrefix(path, "/status/")
	if s.routeDomain(w, r, isStatus) {
		return
	}
	slug, part, deeper := strings.Cut(rest, "/")
	switch {
	case isStatus && deeper && part == "" && isRead(r) && allswell.ValidSlug(slug): // one slash too many
		http.Redirect(w, r, (&url.URL{Path: "/status/" + slug, RawQuery: r.URL.RawQuery}).String(), http.StatusPermanentRedirect)
	case isStatus && slug != "":
		s.routeSlug(w, r, slug, part)
	case failStatuspage(w, r, strings.TrimPrefix(path, "/"), allswell.ErrNotFound): // the host is not a page's own domain
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

// late reports whether pages have to say that they are delayed, and since when
// the database has been unavailable.
func (s *Site) late() (since time.Time, late bool) {
	contact := s.store.LastContact()
	return contact, s.now().Sub(contact) > delayedAfter
}

func isNotFound(err error) bool { return errors.Is(err, allswell.ErrNotFound) }

// logError logs what failed, of which page; nil: of none. Objects that do not
// exist are no errors.
func (s *Site) logError(what string, e *entry, err error) {
	if isNotFound(err) {
		return
	}
	var slug string
	if e != nil {
		slug = e.slug
	}
	s.log.Log(context.Background(), store.LogLevel(err, slog.LevelError), what, "page", slug, "error", err)
}

const typeHTML = "text/html; charset=utf-8"

// Header values that many responses share. They are assigned to http.Header
// without a copy and must not be modified.
var (
	allowGetHead = []string{"GET, HEAD"}
	allowForm    = []string{"GET, HEAD, POST"}
	retryAfter   = []string{"2"}
)
