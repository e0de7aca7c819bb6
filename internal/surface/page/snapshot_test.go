package page

import (
	"context"
	"errors"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/allswell/allswell/internal/domain/kernel"
	"github.com/allswell/allswell/internal/domain/statuspage"
	"github.com/allswell/allswell/internal/shared/cache"
	"github.com/allswell/allswell/internal/shared/i18n"
	"github.com/allswell/allswell/internal/store/storetest"
	"github.com/allswell/allswell/internal/surface/htmltest"
)

// TestChangeShowsImmediately checks that each of many changes shows on the next
// request, while other clients request the page.
func TestChangeShowsImmediately(t *testing.T) {
	run(t, func(w *fixture) {
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
		for i := range 40 {
			status := []kernel.Status{kernel.StatusMajorOutage, kernel.StatusOperational, kernel.StatusMaintenance}[i%3]
			w.status("acme", c.ID, status)
			began := time.Now()
			got := htmltest.Parse(t, w.do("GET", "/status/acme").Body.String()).One(t, "#banner")
			took := time.Since(began)
			if got != kernel.Banner(status) && took < cache.WaitTimeout { // after the timeout the old page is served
				t.Errorf("change %d: after %v the banner says %q, want %q", i, took, got, kernel.Banner(status))
			}
		}
		stop()
		others.Wait()
	})
}

// TestRenderedOncePerChange checks that a page is loaded once after a change,
// however many clients request it.
func TestRenderedOncePerChange(t *testing.T) {
	run(t, func(w *fixture) {
		t := w.t
		c := w.component("acme", "Website", "")
		w.get("/status/acme", 200)
		var loads atomic.Int64
		e := w.site.index.Last().find("acme")
		load := e.snapshot.Load
		e.snapshot.Load = func(ctx context.Context) (*snapshot, time.Time, error) {
			loads.Add(1)
			return load(ctx)
		}
		for round := int64(1); round <= 20; round++ {
			status := []kernel.Status{kernel.StatusOperational, kernel.StatusPartialOutage}[round%2]
			w.status("acme", c.ID, status)
			var requests sync.WaitGroup
			for range 100 {
				requests.Go(func() {
					got := w.do("GET", "/status/acme").Body.String()
					if !strings.Contains(got, ">"+kernel.Banner(status)+"</h2>") {
						t.Error("an old page")
					}
				})
			}
			requests.Wait()
			if loads.Load() != round {
				t.Fatalf("loaded %d times after %d changes", loads.Load(), round)
			}
		}
	})
}

// TestDatabaseUnavailable checks what is served after the database has become
// unavailable.
func TestDatabaseUnavailable(t *testing.T) {
	run(t, func(w *fixture) {
		t := w.t
		c := w.component("acme", "Website", "")
		inc := w.incident("acme", statuspage.Incident{Title: "One"}, "")
		w.page("beta", "Beta")
		seen := []string{"/status/acme", "/status/acme/history", "/status/acme/incidents/" + inc.ID, "/"}
		w.clock.set(time.Now()) // the store's contact is by the host's clock
		w.status("acme", c.ID, kernel.StatusPartialOutage)
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
				if now := contact.Add(tc.after); path == "/status/acme/history" && now.Month() != contact.Month() {
					w.get(path, 503) // nobody has seen the new month
					continue
				}
				p := w.get(path, 200)
				if got := len(p.All(".late")) == 1; got != tc.late {
					t.Errorf("%s after %v: says that it is delayed: %v", path, tc.after, got)
				}
				if tc.late && !strings.Contains(p.One(t, ".late"), i18n.English().Moment(contact)) {
					t.Errorf("the delay of %s after %v: %q", path, tc.after, p.One(t, ".late"))
				}
			}
			p := w.get("/status/acme", 200)
			if got := p.One(t, "#banner"); got != "Partial system outage" {
				t.Errorf("the banner says %q", got)
			}
		}
		first, second := w.do("GET", "/status/acme").Header().Get("Etag"),
			w.do("GET", "/status/acme").Header().Get("Etag")
		if first != second || w.do("GET", "/status/acme", "If-None-Match", first).Code != 304 {
			t.Error("the delayed page differs between requests")
		}
		w.site.markStale("any page")
		w.get("/status/unknown", 503)
		w.get("/status/beta/history", 503)
		if got := w.do("GET", "/status/unknown").Header().Get("Retry-After"); got == "" {
			t.Error("a 503 without Retry-After")
		}
	})
}

// TestRunLoadsPages checks that a page without requests is in memory when the
// database becomes unavailable.
func TestRunLoadsPages(t *testing.T) {
	run(t, func(w *fixture) {
		t := w.t
		ctx, stop := context.WithCancel(t.Context())
		stop()
		w.site.Run(ctx) // returns immediately
		if w.site.index.Last() != nil {
			t.Fatal("pages were loaded after ctx had ended")
		}
		ctx, stop = context.WithCancel(t.Context())
		done := make(chan struct{})
		go func() { w.site.Run(ctx); close(done) }()
		deadline := time.Now().Add(10 * time.Second)
		for {
			if e := w.site.index.Last().find("acme"); e != nil && e.snapshot.Last() != nil {
				break
			}
			if time.Now().After(deadline) {
				t.Fatal("the page was not loaded")
			}
		}
		stop()
		<-done
		w.store.Close()
		w.get("/status/acme", 200)
	})
}

// TestReplicas changes a page through one store and requests it through another.
func TestReplicas(t *testing.T) {
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
				t.Fatalf("the other replica does not show %s", what)
			}
		}
	}
	for _, status := range []kernel.Status{kernel.StatusMajorOutage, kernel.StatusOperational, kernel.StatusDegraded} {
		a.status("acme", website.ID, status)
		eventually(string(status), func() bool {
			rec := b.do("GET", "/status/acme")
			return rec.Code == 200 && htmltest.Parse(t, rec.Body.String()).One(t, "#banner") == kernel.Banner(status)
		})
	}
	slug := "renamed"
	p, err := a.store.ChangePage(ctx, a.ws, "acme", func(p *statuspage.Page) error { p.Slug = slug; return nil })
	must(a, p, err)
	eventually("the new slug", func() bool {
		return b.do("GET", "/status/acme").Code == 404 && b.do("GET", "/status/renamed").Code == 200
	})
	if err := a.store.DeletePage(ctx, a.ws, slug); err != nil {
		t.Fatal(err)
	}
	eventually("the deletion", func() bool { return b.do("GET", "/status/renamed").Code == 404 })
	stop()
	<-done
}

func TestOldSnapshotIsShownWhileLoadingFails(t *testing.T) {
	run(t, func(w *fixture) {
		t := w.t
		c := w.component("acme", "Website", "")
		w.get("/status/acme", 200)
		e := w.site.index.Last().find("acme")
		loads := e.snapshot.Load
		e.snapshot.Load = func(context.Context) (*snapshot, time.Time, error) {
			return nil, time.Time{}, errors.New("broken")
		}
		w.status("acme", c.ID, kernel.StatusMajorOutage)
		if got := w.get("/status/acme", 200).One(t, "#banner"); got != "All systems operational" {
			t.Errorf("while loading fails: %q", got)
		}
		e.snapshot.Load = loads
		w.status("acme", c.ID, kernel.StatusPartialOutage)
		if got := w.get("/status/acme", 200).One(t, "#banner"); got != "Partial system outage" {
			t.Errorf("afterwards: %q", got)
		}
	})
}

// TestLifetimeOfSnapshots checks that a page whose components are all operational
// is rendered less often.
func TestLifetimeOfSnapshots(t *testing.T) {
	of := func(status kernel.Status) statuspage.Summary {
		return statuspage.Summary{
			Blocks: []statuspage.Block{
				{Components: []statuspage.Component{{Baseline: kernel.StatusOperational}, {Baseline: status}}},
			},
		}
	}
	active := of(kernel.StatusOperational)
	active.Active = []statuspage.Incident{{}}
	for _, c := range []struct {
		sum  statuspage.Summary
		want time.Duration
	}{
		{of(kernel.StatusOperational), maxAge}, {of(kernel.StatusDegraded), time.Minute},
		{of(kernel.StatusMaintenance), time.Minute}, {active, time.Minute}, {statuspage.Summary{}, maxAge},
	} {
		if got := lifetimeOf(c.sum); got != c.want {
			t.Errorf("%+v lasts %v, want %v", c.sum, got, c.want)
		}
	}
}
