// Package page serves the public status pages, the forms of their subscribers, and
// their event streams. Package view renders the HTML.
//
// A request is answered from memory, without the database and without a template. There are two layers: a snapshot of
// each page, loaded from the store, and the documents rendered from it, limited in bytes. A commit marks the snapshot
// stale before it is acknowledged. A snapshot that is in memory is reloaded before the acknowledgement. Otherwise the
// first request loads it while the others wait. If loading fails, the old snapshot is served with its own time.
package page

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/allswell/allswell/internal/domain/account"
	"github.com/allswell/allswell/internal/domain/kernel"
	"github.com/allswell/allswell/internal/domain/statuspage"
	"github.com/allswell/allswell/internal/shared/cache"
	"github.com/allswell/allswell/internal/shared/fair"
	"github.com/allswell/allswell/internal/shared/limit"
	"github.com/allswell/allswell/internal/store"
	"github.com/allswell/allswell/internal/surface/page/stream"
	"github.com/allswell/allswell/internal/surface/web"
)

// delayedAfter is how long the database may be unavailable before pages say so.
const delayedAfter = 2 * time.Minute

// Config configures a Site. Only Store is required.
type Config struct {
	Store   *store.Store
	Logger  *slog.Logger     // nil: discard
	Now     func() time.Time // the host's clock; nil: time.Now
	BaseURL string           // URL of the service; "": http://localhost:8080
	Hosts   statuspage.Hosts // of the installation
	Mail    bool             // mail can be sent, so people may subscribe by email
	// sign-ups that are accepted per hour, by all channels and for all clients together; 0: any number
	SignUps         int
	PageIndex       bool          // "/" lists the public pages, if there are several
	SecurityContact string        // URI for /.well-known/security.txt; "": there is none
	Limits          *limit.Tokens // of requests with tokens, shared with the API; nil: none
	// returns the secret of the dashboard's session, "" if there is none; nil: members are not recognized
	SessionSecret func(*http.Request) string
	// SessionCounts reports whether the dashboard accepts the session in the request.
	SessionCounts func(*http.Request, account.SignedIn) (bool, error)
	Streams       int // event streams that may be open at a time; 0: stream.DefaultMaxSubscribers
}

// Site serves the public pages of one store.
type Site struct {
	store *store.Store
	log   *slog.Logger
	now   func() time.Time
	mail  bool
	seals bool // URLs of chats and addresses of browsers can be sealed

	pageIndex bool // Config.PageIndex

	hosts    statuspage.Hosts
	security string // Config.SecurityContact
	base     string // Config.BaseURL, without a slash at its end

	changes atomic.Uint64 // increases with each commit that changed any page
	index   cache.Value[*index]
	list    cache.Value[*pageList]

	madePrivate sync.Map // by the id of a page: the first value of changes after the commit (uint64)

	rendered *cache.Cache[key, rendered]

	loads         *fair.Pool // see loadRendered
	refreshes     *fair.Pool // see refresh
	forms         formPools
	notFound      notFoundLimit
	hostLookups   *limit.Limiter                                      // see WorkspaceOf
	passwords     *limit.Addresses                                    // wrong passwords of private pages
	session       func(*http.Request) string                          // Config.SessionSecret
	sessionCounts func(*http.Request, account.SignedIn) (bool, error) // Config.SessionCounts
	limits        *limit.Tokens
	firstSteps    func() *web.Document // rendered when first shown
	signUps       *signUpLimits
	events        *stream.Broadcaster
	origins       *http.CrossOriginProtection
}

// New returns a site that follows the store's commits. It must be called before the store is used by others.
func New(c Config) *Site {
	s := &Site{
		store: c.Store, log: c.Logger, now: c.Now, mail: c.Mail, seals: c.Store.CanSeal(), pageIndex: c.PageIndex,
		security: c.SecurityContact, loads: fair.NewPool(maxLoads, maxWaiting),
		refreshes: fair.NewPool(maxRefreshes, maxWaiting),
		forms:     newFormPools(),
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
	s.base, s.hosts = strings.TrimRight(c.BaseURL, "/"), c.Hosts
	s.notFound, s.hostLookups = newNotFoundLimit(s.now), limit.New(maxHostLookups, time.Second)
	s.passwords, s.session = limit.NewAddresses(maxWrongPasswords, wrongPasswordWindow), c.SessionSecret
	s.sessionCounts = c.SessionCounts
	if s.limits = c.Limits; s.limits == nil {
		s.limits = limit.NewTokens(0)
	}
	s.signUps = newSignUpLimits(c.SignUps, s.log)
	s.events = stream.New(stream.Config{Now: s.now, MaxSubscribers: c.Streams, Gone: isNotFound})
	s.rendered = s.newRendered(maxRenderedBytes)
	s.index.Version, s.index.Now, s.index.Load = &s.changes, s.now, s.loadIndex
	s.index.OnError = func(err error) { s.logError("loading the index of status pages", nil, err) }
	s.list.Version, s.list.Now, s.list.Load = &s.changes, s.now, s.loadList
	s.list.OnError = func(err error) { s.logError("loading the list of status pages", nil, err) }
	s.firstSteps = sync.OnceValue(s.renderFirstSteps)
	s.origins = originsOf(c.BaseURL)
	s.store.OnPageChange(s.markStale)
	s.store.OnPageHidden(s.withdraw)
	s.store.BeforeReturn(s.refresh)
	return s
}

// Run loads the pages before the first requests, so that they can be shown if the database becomes unavailable, and
// follows the commits of other replicas. It returns when ctx ends.
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

// loadAll loads the list of pages and the pages on it, one after another.
func (s *Site) loadAll(ctx context.Context) {
	s.list.Get(ctx) // an error is logged, and the next request tries again
	if idx, err := s.index.Get(ctx); err == nil {
		for _, e := range idx.entries[:min(len(idx.entries), maxListed)] {
			if ctx.Err() == nil {
				e.snapshot.Get(ctx)
			}
		}
	}
}

// markStale is called after each commit that changed what a page shows. Later
// requests get what was loaded before only if loading fails.
func (s *Site) markStale(pageID string) {
	if idx := s.index.Last(); idx != nil {
		if e := idx.byID[pageID]; e != nil {
			e.version.Add(1)
			e.topic.Changed()
		}
	}
	s.changes.Add(1)
}

// withdraw is called after each commit that made a page private, before markStale. From then on the page's entry is not
// used, and lists loaded before leave the page out, even if index and list cannot be loaded again.
func (s *Site) withdraw(pageID string) {
	s.madePrivate.Store(pageID, s.changes.Load()+1)
	s.list.Loads.Add(1) // render the list without it
	if idx := s.index.Last(); idx != nil {
		if e := idx.byID[pageID]; e != nil && !e.private {
			e.withdrawn.Store(true)
		}
	}
}

// late reports whether pages say that they are delayed. since is the time of the last contact with the database.
func (s *Site) late() (since time.Time, late bool) {
	since = s.store.LastContact()
	return since, s.now().Sub(since) > delayedAfter
}

func isNotFound(err error) bool { return errors.Is(err, kernel.ErrNotFound) }

// logError logs a failure of a page; e is nil if it belongs to no page. It does not log kernel.ErrNotFound.
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

// Header values that responses share. They are assigned to http.Header without a copy and must not be modified.
var (
	allowGetHead = []string{"GET, HEAD"}
	allowForm    = []string{"GET, HEAD, POST"}
	retryAfter   = []string{"2"}
	noIndex      = []string{"noindex, nofollow"}
)
