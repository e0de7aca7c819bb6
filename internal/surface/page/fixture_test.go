package page

import (
	"log/slog"
	"net/http/httptest"
	"sync/atomic"
	"testing"
	"time"

	"github.com/allswell/allswell/internal/domain/account"
	"github.com/allswell/allswell/internal/domain/kernel"
	"github.com/allswell/allswell/internal/domain/statuspage"
	"github.com/allswell/allswell/internal/resource"
	"github.com/allswell/allswell/internal/shared/markdown/markdowntest"
	"github.com/allswell/allswell/internal/store"
	"github.com/allswell/allswell/internal/store/storetest"
	"github.com/allswell/allswell/internal/surface/htmltest"
	"github.com/allswell/allswell/internal/surface/signin/password"
)

func init() { password.Weaken() }

// day is long before the current time of the host, by whose clock the store says
// when it last reached its database.
var day = time.Date(2020, 11, 21, 15, 4, 5, 0, time.UTC)

const hostile = markdowntest.Hostile

func text(s string) *string { return &s }

// fixture is a site over a store, with one clock that only the test moves.
type fixture struct {
	t     *testing.T
	store *store.Store
	site  *Site
	clock *clock
	ws    kernel.Actor
}

type clock struct{ ms atomic.Int64 }

func (c *clock) now() time.Time { return time.UnixMilli(c.ms.Load()).UTC() }

func (c *clock) set(t time.Time) { c.ms.Store(t.UnixMilli()) }

func (c *clock) move(by time.Duration) { c.set(c.now().Add(by)) }

// run runs f on every engine, with a page called Acme.
func run(t *testing.T, f func(w *fixture)) {
	storetest.Each(t, func(t *testing.T, dsn string) {
		w := open(t, dsn, &clock{})
		w.page("acme", "Acme")
		f(w)
	})
}

// open opens a fixture whose clock is c, which starts at day.
func open(t *testing.T, dsn string, c *clock) *fixture {
	return openAt(t, dsn, c, statuspage.NewHosts("localhost:8080"))
}

// openAt is open for an installation with these hosts.
func openAt(t *testing.T, dsn string, c *clock, hosts statuspage.Hosts) *fixture {
	if c.ms.Load() == 0 {
		c.set(day)
	}
	s := storetest.Open(t, dsn, storetest.WithKey(t, dsn, store.Options{Clock: c.now, Hosts: hosts}))
	ws, _ := storetest.Workspace(t, s, account.DefaultWorkspace)
	return &fixture{
		t, s,
		New(Config{Store: s, Now: c.now, Logger: slog.New(slog.NewTextHandler(t.Output(), nil)), PageIndex: true}), c,
		ws,
	}
}

func must[T any](w *fixture, v T, err error) T {
	w.t.Helper()
	if err != nil {
		w.t.Fatal(err)
	}
	return v
}

func (w *fixture) page(slug, name string) statuspage.Page {
	w.t.Helper()
	p, err := w.store.CreatePage(w.t.Context(), w.ws, resource.Page.From(statuspage.Page{Name: name, Slug: slug}))
	return must(w, p, err)
}

func (w *fixture) component(slug, name string, status kernel.Status) statuspage.Component {
	w.t.Helper()
	c, err := w.store.Components().Create(w.t.Context(), w.ws, slug,
		resource.Component.From(statuspage.Component{Name: name, Baseline: status}))
	return must(w, c, err)
}

func (w *fixture) incident(slug string, i statuspage.Incident, message string) statuspage.Incident {
	w.t.Helper()
	inc, err := w.store.CreateIncident(w.t.Context(), w.ws, slug, i, statuspage.IncidentUpdate{Message: message}, nil)
	return must(w, inc, err)
}

func (w *fixture) status(slug, id string, status kernel.Status) {
	w.t.Helper()
	c, err := w.store.Components().Change(w.t.Context(), w.ws, slug, id, func(c *statuspage.Component) error {
		c.SetStatus(status)
		return nil
	}, kernel.Precondition{})
	must(w, c, err)
}

func (w *fixture) maintenance(slug string, n func(*statuspage.Maintenance) error) statuspage.Maintenance {
	w.t.Helper()
	m, err := w.store.CreateMaintenance(w.t.Context(), w.ws, slug, n)
	return must(w, m, err)
}

// advance lets the clock begin and end what is planned.
func advance(w *fixture) {
	w.t.Helper()
	if _, err := w.store.AdvanceMaintenances(w.t.Context()); err != nil {
		w.t.Fatal(err)
	}
}

func (w *fixture) domain(slug, domain string) {
	w.t.Helper()
	p, err := w.store.ChangePage(w.t.Context(), w.ws, slug, func(p *statuspage.Page) error {
		p.Domain = domain
		return nil
	})
	must(w, p, err)
}

func (w *fixture) do(method, path string, fields ...string) *httptest.ResponseRecorder {
	w.t.Helper()
	r := httptest.NewRequest(method, path, nil)
	for i := 0; i < len(fields); i += 2 {
		r.Header.Add(fields[i], fields[i+1])
	}
	rec := httptest.NewRecorder()
	w.site.Handler().ServeHTTP(rec, r)
	return rec
}

// at requests a path at a host.
func (w *fixture) at(host, method, path string, fields ...string) *httptest.ResponseRecorder {
	w.t.Helper()
	r := httptest.NewRequest(method, path, nil)
	r.Host = host
	for i := 0; i < len(fields); i += 2 {
		r.Header.Add(fields[i], fields[i+1])
	}
	rec := httptest.NewRecorder()
	w.site.Handler().ServeHTTP(rec, r)
	return rec
}

// from requests a path from a client address.
func (w *fixture) from(address, method, path string) *httptest.ResponseRecorder {
	w.t.Helper()
	r := httptest.NewRequest(method, path, nil)
	r.RemoteAddr = address + ":1"
	rec := httptest.NewRecorder()
	w.site.Handler().ServeHTTP(rec, r)
	return rec
}

// get requests a page, checks its status and its HTML, and returns it.
func (w *fixture) get(path string, status int) htmltest.Tree {
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
