package page

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/allswell/allswell"
	"github.com/allswell/allswell/internal/badge"
	"github.com/allswell/allswell/internal/cache"
	"github.com/allswell/allswell/internal/feed"
	"github.com/allswell/allswell/internal/htmltest"
	"github.com/allswell/allswell/internal/i18n"
	"github.com/allswell/allswell/internal/markdown/markdowntest"
	"github.com/allswell/allswell/internal/store"
	"github.com/allswell/allswell/internal/store/storetest"
)

// day is long before the current time of the host, by whose clock the store says
// when it last reached its database.
var day = time.Date(2020, 11, 21, 15, 4, 5, 0, time.UTC)

const hostile = markdowntest.Hostile

func text(s string) *string { return &s }

// world is a site over a store, by one clock that only the test moves.
type world struct {
	t     *testing.T
	store *store.Store
	site  *Site
	clock *clock
	ws    allswell.Actor
}

type clock struct{ ms atomic.Int64 }

func (c *clock) now() time.Time        { return time.UnixMilli(c.ms.Load()).UTC() }
func (c *clock) set(t time.Time)       { c.ms.Store(t.UnixMilli()) }
func (c *clock) move(by time.Duration) { c.set(c.now().Add(by)) }

// run runs f on every engine, in a world with a page called Acme.
func run(t *testing.T, f func(w *world)) {
	storetest.Each(t, func(t *testing.T, dsn string) {
		w := open(t, dsn, &clock{})
		w.page("acme", "Acme")
		f(w)
	})
}

// open opens a world by c, which stands at day.
func open(t *testing.T, dsn string, c *clock) *world {
	return openAt(t, dsn, c, allswell.NewHosts("localhost:8080"))
}

// openAt opens a world of an installation with these names.
func openAt(t *testing.T, dsn string, c *clock, hosts allswell.Hosts) *world {
	if c.ms.Load() == 0 {
		c.set(day)
	}
	s := storetest.Open(t, dsn, store.Options{Clock: c.now, Hosts: hosts})
	ws, _ := storetest.Workspace(t, s, allswell.DefaultWorkspace)
	return &world{t, s, New(Config{Store: s, Now: c.now, Logger: slog.New(slog.NewTextHandler(t.Output(), nil))}), c, ws}
}

func must[T any](w *world, v T, err error) T {
	w.t.Helper()
	if err != nil {
		w.t.Fatal(err)
	}
	return v
}

func (w *world) page(slug, name string) allswell.Page {
	w.t.Helper()
	p, err := w.store.CreatePage(w.t.Context(), w.ws, allswell.NewPage{Name: name, Slug: slug})
	return must(w, p, err)
}

func (w *world) component(slug, name string, status allswell.Status) allswell.Component {
	w.t.Helper()
	c, err := w.store.CreateComponent(w.t.Context(), w.ws, slug, allswell.NewComponent{Name: name, Status: status})
	return must(w, c, err)
}

func (w *world) incident(slug string, n allswell.NewIncident) allswell.Incident {
	w.t.Helper()
	inc, err := w.store.CreateIncident(w.t.Context(), w.ws, slug, n)
	return must(w, inc, err)
}

func (w *world) status(slug, id string, status allswell.Status) {
	w.t.Helper()
	c, err := w.store.ChangeComponent(w.t.Context(), w.ws, slug, id, allswell.ComponentChange{Status: status})
	must(w, c, err)
}

func (w *world) do(method, path string, fields ...string) *httptest.ResponseRecorder {
	w.t.Helper()
	r := httptest.NewRequest(method, path, nil)
	for i := 0; i < len(fields); i += 2 {
		r.Header.Add(fields[i], fields[i+1])
	}
	rec := httptest.NewRecorder()
	w.site.Handler().ServeHTTP(rec, r)
	return rec
}

// get returns the page at path, which has to answer with the given status.
func (w *world) get(path string, status int) htmltest.Tree {
	w.t.Helper()
	rec := w.do("GET", path)
	if rec.Code != status {
		w.t.Fatalf("GET %s: %d, want %d", path, rec.Code, status)
	}
	if got := rec.Header().Get("Content-Type"); got != typeHTML {
		w.t.Errorf("GET %s: type %q", path, got)
	}
	p := htmltest.Parse(w.t, rec.Body.String())
	htmltest.CheckPage(w.t, path, p)
	return p
}

func TestStatusPage(t *testing.T) {
	run(t, func(w *world) {
		ctx, t := w.t.Context(), w.t
		p := w.get("/status/acme", 200)
		if got := p.One(t, "#banner"); got != "All systems operational" {
			t.Errorf("the empty page's banner: %q", got)
		}
		w.component("acme", "Website", "")
		group, err := w.store.CreateGroup(ctx, w.ws, "acme", allswell.NewGroup{Name: "Regions"})
		must(w, group, err)
		for name, status := range map[string]allswell.Status{"North": allswell.StatusMajorOutage, "South": allswell.StatusDegradedPerformance} {
			c, err := w.store.CreateComponent(ctx, w.ws, "acme", allswell.NewComponent{
				Name: name, Status: status, GroupID: group.ID, Description: text("In the " + name), Order: new(len(status)),
			})
			must(w, c, err)
		}
		message := "Wires are down."
		inc := w.incident("acme", allswell.NewIncident{Title: "The north is dark", Impact: allswell.ImpactCritical, Message: &message})
		w.clock.move(10 * time.Minute)
		u, err := w.store.PostUpdate(ctx, w.ws, inc.ID, "Wires are up.")
		must(w, u, err)

		p = w.get("/status/acme", 200)
		for selector, want := range map[string][]string{
			"title":                     {"Major system outage – Acme"},
			"h1":                        {"Acme"},
			"#banner":                   {"Major system outage"},
			".banner p":                 {"1 of 3 components operational · 1 active incident"},
			".block h3":                 {"Regions"},
			".block summary .state":     {"Major Outage"},
			".components .row":          {"Website Operational", "North Major Outage", "South Degraded Performance"},
			".components .description":  {"In the North", "In the South"},
			".beside .of-90":            {"66.66% uptime over 90 days"},
			"article.incident h3":       {"The north is dark"},
			"article.incident .impact":  {"Critical impact"},
			"article.incident .message": {"Wires are up.", "Wires are down."},
			"article.incident .when":    {"Investigating 21 Nov 2020, 15:14 UTC", "Investigating 21 Nov 2020, 15:04 UTC"},
			"footer p":                  {"As of 21 Nov 2020, 15:14 UTC. No changes since. All times are in UTC.", "Monitored by Allswell"},
			"main .onward a":            {"Incident history"},
			".late":                     nil,
		} {
			if got := p.Texts(selector); !slices.Equal(got, want) {
				t.Errorf("%s: %q, want %q", selector, got, want)
			}
		}

		w.clock.move(20 * time.Minute)
		resolved := true
		inc, err = w.store.ChangeIncident(ctx, w.ws, inc.ID, allswell.IncidentChange{Resolved: &resolved})
		must(w, inc, err)
		p = w.get("/status/acme", 200)
		if got := len(p.All("article.incident")); got != 0 {
			t.Errorf("%d active incidents", got)
		}
		if got := p.Texts(".past li"); !slices.Equal(got, []string{"The north is dark Critical impact Resolved after 30 minutes 15:04 to 15:34 Wires are up."}) {
			t.Errorf("past incidents: %q", got)
		}
	})
}

// TestChangeShowsAtOnce changes and looks, hundreds of times, while others look
// as well.
func TestChangeShowsAtOnce(t *testing.T) {
	run(t, func(w *world) {
		t := w.t
		c := w.component("acme", "Website", "")
		ctx, stop := context.WithCancel(t.Context())
		var others sync.WaitGroup
		for range 2 {
			others.Go(func() {
				for ctx.Err() == nil {
					w.do("GET", "/status/acme")
				}
			})
		}
		for i := range 100 {
			status := []allswell.Status{allswell.StatusMajorOutage, allswell.StatusOperational, allswell.StatusMaintenance}[i%3]
			w.status("acme", c.ID, status)
			began := time.Now()
			got := htmltest.Parse(t, w.do("GET", "/status/acme").Body.String()).One(t, "#banner")
			took := time.Since(began)
			if got != allswell.Banner(status) && took < cache.WaitTimeout { // a machine that busy gets the old page
				t.Errorf("change %d: after %v the banner says %q, want %q", i, took, got, allswell.Banner(status))
			}
		}
		stop()
		others.Wait()
	})
}

// TestRenderedOnce counts what a herd after a commit costs.
func TestRenderedOnce(t *testing.T) {
	run(t, func(w *world) {
		t := w.t
		c := w.component("acme", "Website", "")
		w.get("/status/acme", 200)
		var made atomic.Int64
		e := w.site.index.Last().find("acme")
		loads := e.summary.Load
		e.summary.Load = func(ctx context.Context) (*snapshot, time.Time, error) {
			made.Add(1)
			return loads(ctx)
		}
		for round := int64(1); round <= 20; round++ {
			status := []allswell.Status{allswell.StatusOperational, allswell.StatusPartialOutage}[round%2]
			w.status("acme", c.ID, status)
			var herd sync.WaitGroup
			for range 100 {
				herd.Go(func() {
					if got := w.do("GET", "/status/acme").Body.String(); !strings.Contains(got, ">"+allswell.Banner(status)+"</h2>") {
						t.Error("an old page")
					}
				})
			}
			herd.Wait()
			if made.Load() != round {
				t.Fatalf("rendered %d times after %d changes", made.Load(), round)
			}
		}
	})
}

func TestFront(t *testing.T) {
	storetest.Each(t, func(t *testing.T, dsn string) {
		w := open(t, dsn, &clock{})
		p := w.get("/", 200)
		if got := p.One(t, "h1"); got != "Allswell is running" {
			t.Errorf("with no page: %q", got)
		}
		if !strings.Contains(p.Text(), "http://localhost:8080") {
			t.Error("the first steps do not say where")
		}
		w.page("acme", "Acme")
		if got := w.get("/", 200).One(t, "title"); got != "All systems operational – Acme" {
			t.Errorf("with one page: %q", got)
		}
		w.clock.move(time.Second)
		w.page("beta", "Beta "+hostile)
		c := w.component("beta", "x", allswell.StatusMajorOutage)
		for _, status := range []allswell.Status{allswell.StatusMajorOutage, allswell.StatusUnknown} {
			w.status("beta", c.ID, status)
			p = w.get("/", 200)
			got := p.Texts(".pages li .state")
			if want := []string{"All systems operational", allswell.Banner(status)}; !slices.Equal(got, want) {
				t.Errorf("with two pages: %q, want %q", got, want)
			}
		}
		for _, a := range p.All(".pages a") {
			w.get(a.Attr("href"), 200)
		}
		if err := w.store.DeletePage(t.Context(), w.ws, "beta"); err != nil {
			t.Fatal(err)
		}
		if got := w.get("/", 200).One(t, "h1"); got != "Acme" {
			t.Errorf("with one page again: %q", got)
		}
	})
}

// TestSlugs moves pages about: each change shows on the very next request.
func TestSlugs(t *testing.T) {
	run(t, func(w *world) {
		ctx, t := w.t.Context(), w.t
		inc := w.incident("acme", allswell.NewIncident{Title: "One"})
		rename := func(from, to string) {
			t.Helper()
			p, err := w.store.ChangePage(ctx, w.ws, from, allswell.PageChange{Slug: &to})
			must(w, p, err)
		}
		parts := []string{"", "/history", "/incidents/" + inc.ID}
		everywhere := func(slug string, status int) {
			t.Helper()
			for _, part := range parts {
				w.get("/status/"+slug+part, status)
			}
		}
		everywhere("acme", 200)
		everywhere("other", 404)
		for range 20 {
			rename("acme", "other")
			everywhere("acme", 404)
			everywhere("other", 200)
			rename("other", "acme")
			everywhere("other", 404)
			everywhere("acme", 200)
		}
		rename("acme", "other")
		w.page("acme", "The new one")
		if got := w.get("/status/acme", 200).One(t, "h1"); got != "The new one" {
			t.Errorf("the slug shows %q", got)
		}
		w.get("/status/acme/incidents/"+inc.ID, 404)
		if err := w.store.DeletePage(ctx, w.ws, "other"); err != nil {
			t.Fatal(err)
		}
		everywhere("other", 404)
		w.get("/status/acme", 200)
	})
}

// TestUnknownIsCheap asks for what is not there: it takes no memory, and
// unknown slugs are answered without the database.
func TestUnknownIsCheap(t *testing.T) {
	run(t, func(w *world) {
		t := w.t
		for i := range 1000 {
			w.do("GET", fmt.Sprintf("/status/acme/incidents/01a1fc53-1977-7f37-b83c-%012d", i))
			w.do("GET", fmt.Sprintf("/status/acme-%d", i))
			w.do("GET", fmt.Sprintf("/status/acme-%d/history?month=2020-11", i))
		}
		if n, _ := w.site.rendered.Stats(); n > 4 {
			t.Errorf("%d documents are kept, want no more than error pages", n)
		}
		if n := len(w.site.index.Last().bySlug); n != 1 {
			t.Errorf("%d pages are known", n)
		}
		w.store.Close()
		for _, name := range []string{feed.AtomName, feed.RSSName, badge.SVGName, ""} { // of a component that never was
			if rec := w.do("GET", "/status/acme/components/comp_00000000000000000000/"+name); rec.Code != 404 {
				t.Errorf("%q of no component: %d", name, rec.Code)
			}
		}
		for _, slug := range []string{"unknown", "", "-", "Acme", "a%20b", "acme%2Fx", "..", strings.Repeat("a", 64), "ac%00me", "%ff"} {
			rec := w.do("GET", "/status/"+slug)
			if rec.Code != 404 {
				t.Errorf("%q: %d", slug, rec.Code)
			}
		}
		w.get("/status/acme", 200)
	})
}

// TestDatabaseGone closes the store behind the site's back.
func TestDatabaseGone(t *testing.T) {
	run(t, func(w *world) {
		t := w.t
		c := w.component("acme", "Website", "")
		inc := w.incident("acme", allswell.NewIncident{Title: "One"})
		w.page("beta", "Beta")
		seen := []string{"/status/acme", "/status/acme/history", "/status/acme/incidents/" + inc.ID, "/"}
		w.clock.set(time.Now()) // which the store's contact is counted by
		w.status("acme", c.ID, allswell.StatusPartialOutage)
		for _, path := range seen {
			w.get(path, 200)
		}
		contact := w.store.LastContact()
		w.store.Close()
		for _, tc := range []struct {
			after time.Duration
			late  bool
		}{{2 * time.Minute, false}, {2*time.Minute + time.Millisecond, true}, {30 * time.Hour, true}} {
			w.clock.set(contact.Add(tc.after))
			for _, path := range seen {
				p := w.get(path, 200)
				if got := len(p.All(".late")) == 1; got != tc.late {
					t.Errorf("%s after %v: says that it is delayed: %v", path, tc.after, got)
				}
				if tc.late && !strings.Contains(p.One(t, ".late"), i18n.English().Moment(contact)) {
					t.Errorf("%s after %v: %q", path, tc.after, p.One(t, ".late"))
				}
			}
			p := w.get("/status/acme", 200)
			if got := p.One(t, "#banner"); got != "Partial system outage" {
				t.Errorf("the banner says %q", got)
			}
		}
		first, second := w.do("GET", "/status/acme").Header().Get("Etag"), w.do("GET", "/status/acme").Header().Get("Etag")
		if first != second || w.do("GET", "/status/acme", "If-None-Match", first).Code != 304 {
			t.Error("the delayed page is not the same from one request to the next")
		}
		w.site.markStale("any page")
		w.get("/status/unknown", 503)
		w.get("/status/beta/history", 503)
		if got := w.do("GET", "/status/unknown").Header().Get("Retry-After"); got == "" {
			t.Error("a 503 without Retry-After")
		}
	})
}

// TestRunMakesPagesAhead: a page nobody has asked for yet survives the
// database.
func TestRunMakesPagesAhead(t *testing.T) {
	run(t, func(w *world) {
		t := w.t
		ctx, stop := context.WithCancel(t.Context())
		stop()
		w.site.Run(ctx) // returns, having done nothing
		if w.site.index.Last() != nil {
			t.Fatal("pages were made after the end")
		}
		ctx, stop = context.WithCancel(t.Context())
		done := make(chan struct{})
		go func() { w.site.Run(ctx); close(done) }()
		deadline := time.Now().Add(10 * time.Second)
		for {
			if e := w.site.index.Last().find("acme"); e != nil && e.summary.Last() != nil {
				break
			}
			if time.Now().After(deadline) {
				t.Fatal("no page was made ahead")
			}
		}
		stop()
		<-done
		w.store.Close()
		w.get("/status/acme", 200)
	})
}

// TestReplica changes a page through one store and looks through another.
func TestReplica(t *testing.T) {
	dsn := storetest.PostgreSQL(t)
	c := &clock{}
	a, b := open(t, dsn, c), open(t, dsn, c)
	a.page("acme", "Acme")
	website := a.component("acme", "Website", "")
	ctx, stop := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() { b.site.Run(ctx); close(done) }()
	eventually := func(what string, ok func() bool) {
		t.Helper()
		for deadline := time.Now().Add(10 * time.Second); !ok(); {
			if time.Now().After(deadline) {
				t.Fatalf("the other replica never shows %s", what)
			}
		}
	}
	for _, status := range []allswell.Status{allswell.StatusMajorOutage, allswell.StatusOperational, allswell.StatusDegraded} {
		a.status("acme", website.ID, status)
		eventually(string(status), func() bool {
			rec := b.do("GET", "/status/acme")
			return rec.Code == 200 && htmltest.Parse(t, rec.Body.String()).One(t, "#banner") == allswell.Banner(status)
		})
	}
	slug := "renamed"
	p, err := a.store.ChangePage(ctx, a.ws, "acme", allswell.PageChange{Slug: &slug})
	must(a, p, err)
	eventually("the new slug", func() bool {
		return b.do("GET", "/status/acme").Code == 404 && b.do("GET", "/status/renamed").Code == 200
	})
	if err := a.store.DeletePage(ctx, a.ws, slug); err != nil {
		t.Fatal(err)
	}
	eventually("that it is gone", func() bool { return b.do("GET", "/status/renamed").Code == 404 })
	stop()
	<-done
}

// TestLoadsAreBounded: with all places taken, what is not on the shelf is
// refused after a second, and what is there is served.
func TestLoadsAreBounded(t *testing.T) {
	run(t, func(w *world) {
		inc := w.incident("acme", allswell.NewIncident{Title: "One"})
		w.get("/status/acme/incidents/"+inc.ID, 200)
		for range maxLoads {
			w.site.loads <- struct{}{}
		}
		w.get("/status/acme/incidents/"+inc.ID, 200)
		w.get("/status/acme", 200)
		w.get("/status/acme/history", http.StatusServiceUnavailable)
		<-w.site.loads
		w.get("/status/acme/history", 200)
	})
}

func TestRenderingFails(t *testing.T) {
	run(t, func(w *world) {
		t := w.t
		c := w.component("acme", "Website", "")
		w.get("/status/acme", 200)
		e := w.site.index.Last().find("acme")
		loads := e.summary.Load
		e.summary.Load = func(context.Context) (*snapshot, time.Time, error) { return nil, time.Time{}, errors.New("broken") }
		w.status("acme", c.ID, allswell.StatusMajorOutage)
		if got := w.get("/status/acme", 200).One(t, "#banner"); got != "All systems operational" {
			t.Errorf("while rendering fails: %q", got)
		}
		e.summary.Load = loads
		w.status("acme", c.ID, allswell.StatusPartialOutage)
		if got := w.get("/status/acme", 200).One(t, "#banner"); got != "Partial system outage" {
			t.Errorf("after it: %q", got)
		}
	})
}
