package page

import (
	"context"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/allswell/allswell/internal/domain/kernel"
	"github.com/allswell/allswell/internal/domain/statuspage"
	"github.com/allswell/allswell/internal/shared/cache"
	"github.com/allswell/allswell/internal/shared/fair"
	"github.com/allswell/allswell/internal/store/storetest"
)

// TestChangeShowsWithoutDatabase checks that pages in memory show a change although the database becomes unavailable as
// soon as it is acknowledged.
func TestChangeShowsWithoutDatabase(t *testing.T) {
	t.Parallel()
	check := func(t *testing.T, dsn string, stop func(w *fixture)) {
		w := open(t, dsn, &clock{})
		w.page("acme", "Acme")
		w.page("globex", "Globex")
		w.page("old", "Old")
		website := w.component("acme", "Website", kernel.StatusOperational)
		for _, path := range []string{"/", "/status/acme", "/status/globex", "/status/old"} {
			w.get(path, 200)
		}

		w.status("acme", website.ID, kernel.StatusMajorOutage)
		w.incident("acme", statuspage.Incident{Title: "The website is down"}, "")
		slug := "new"
		_, err := w.store.ChangePage(t.Context(), w.ws, "globex", func(p *statuspage.Page) error {
			p.Slug = slug
			return nil
		})
		must(w, 0, err)
		must(w, 0, w.store.DeletePage(t.Context(), w.ws, "old"))
		stop(w)

		for path, want := range map[string]string{
			"/": "Major system outage", "/status/acme": "The website is down", "/status/new": "Globex",
		} {
			if body := w.do("GET", path).Body.String(); !strings.Contains(body, want) {
				t.Errorf("%s does not show %q", path, want)
			}
		}
		for _, gone := range []string{"/status/globex", "/status/old"} {
			if code := w.do("GET", gone).Code; code == 200 {
				t.Errorf("%s still exists", gone)
			}
		}
	}
	t.Run("sqlite", func(t *testing.T) {
		check(t, "sqlite:"+storetest.TempDir(t)+"/allswell.db", func(w *fixture) { w.store.Close() })
	})
	t.Run("postgres", func(t *testing.T) {
		cluster := storetest.NewCluster(t)
		check(t, cluster.Database(t), func(*fixture) { cluster.Kill() })
	})
}

// TestPageNotInMemoryIsNotLoaded checks that a change does not load a page that is
// not in memory.
func TestPageNotInMemoryIsNotLoaded(t *testing.T) {
	run(t, func(w *fixture) {
		w.page("globex", "Globex")
		w.get("/status/globex", 200)
		loads := func() (n uint64) {
			for _, e := range w.site.index.Last().entries {
				n += e.snapshot.Loads.Load()
			}
			return n
		}
		before := loads()
		w.component("acme", "Website", kernel.StatusOperational)
		if n := loads() - before; n != 0 {
			w.t.Errorf("%d pages were loaded", n)
		}
		w.component("globex", "Website", kernel.StatusOperational)
		if n := loads() - before; n != 1 {
			w.t.Errorf("%d pages were loaded, want the one in memory", n)
		}
	})
}

// refreshing is a site with a page "p" in memory, which takes a while to load, and
// a page "new" that is not in memory.
type refreshing struct {
	*Site
	p     *entry
	takes time.Duration
	loads atomic.Int64
	fails error
}

func newRefreshing(takes time.Duration) *refreshing {
	r := &refreshing{Site: &Site{now: time.Now, refreshes: fair.NewPool(maxRefreshes, maxWaiting)}, takes: takes}
	r.p = r.newEntry(statuspage.Page{ID: "p", Slug: "p"})
	r.p.snapshot.OnError = nil
	r.p.snapshot.Load = func(ctx context.Context) (*snapshot, time.Time, error) {
		r.loads.Add(1)
		select {
		case <-time.After(r.takes):
			return &snapshot{}, time.Time{}, r.fails
		case <-ctx.Done():
			return nil, time.Time{}, ctx.Err()
		}
	}
	known := &index{byID: map[string]*entry{"p": r.p, "new": r.newEntry(statuspage.Page{ID: "new"})}}
	r.index.Version, r.index.Now = &r.changes, time.Now
	r.index.Load = func(context.Context) (*index, time.Time, error) { return known, time.Time{}, nil }
	r.index.Get(context.Background())
	r.p.snapshot.Get(context.Background())
	r.loads.Store(0)
	return r
}

// change refreshes a page as a commit does, and returns how long that took.
func (r *refreshing) change(ctx context.Context, id string) time.Duration {
	r.index.Last().byID[id].version.Add(1)
	began := time.Now()
	r.refresh(ctx, []string{id})
	return time.Since(began)
}

// TestRefreshIsShared checks that any number of changes of one page at the same
// time cause two loads.
func TestRefreshIsShared(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRefreshing(300 * time.Millisecond)
		var changes sync.WaitGroup
		changes.Go(func() { r.change(t.Context(), "p") })
		time.Sleep(time.Millisecond)
		for range 500 {
			changes.Go(func() {
				if took := r.change(t.Context(), "p"); took > 600*time.Millisecond {
					t.Errorf("a change waited for %s", took)
				}
			})
		}
		changes.Wait()
		if n := r.loads.Load(); n != 2 {
			t.Errorf("%d loads, want 2", n)
		}
	})
}

// TestRefreshTimeout checks that a change waits up to refreshWait for a load, which
// continues afterwards, and does not wait for a page that is not in memory or that
// has just failed to load.
func TestRefreshTimeout(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRefreshing(3 * time.Second)
		var both sync.WaitGroup
		both.Go(func() {
			if took := r.change(t.Context(), "p"); took != cache.WaitTimeout {
				t.Errorf("the first change waited for %s", took)
			}
		})
		time.Sleep(time.Millisecond)
		both.Go(func() {
			if took := r.change(t.Context(), "p"); took > refreshWait {
				t.Errorf("the second change waited for %s", took)
			}
		})
		if took := r.change(t.Context(), "new"); took != 0 {
			t.Errorf("a change of a page that is not in memory waited for %s", took)
		}
		both.Wait()
		time.Sleep(r.takes)
		if r.loads.Load() < 1 || r.p.snapshot.Loads.Load() < 2 {
			t.Error("the slow load did not continue")
		}

		r.takes, r.fails = 0, kernel.ErrBusy
		r.change(t.Context(), "p")
		began := time.Now()
		r.refresh(t.Context(), []string{"p"})
		if took := time.Since(began); took != 0 || r.p.snapshot.Last() == nil {
			t.Errorf("a change of a page that had just failed waited for %s", took)
		}
	})
}
