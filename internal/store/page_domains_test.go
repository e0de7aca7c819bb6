package store_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/allswell/allswell/internal/domain/kernel"
	"github.com/allswell/allswell/internal/domain/statuspage"
	"github.com/allswell/allswell/internal/resource"
	"github.com/allswell/allswell/internal/store"
	"github.com/allswell/allswell/internal/store/storetest"
)

// domainOf is a change of the domain.
func domainOf(domain string) func(*statuspage.Page) error {
	return func(p *statuspage.Page) error { p.Domain = domain; return nil }
}

// claimDomain gives a page a domain.
func (w *world) claimDomain(workspace kernel.Actor, slug, domain string) statuspage.Page {
	w.Helper()
	return must(w.ChangePage(w.ctx, workspace, slug, domainOf(domain)))(w)
}

// checked records the result of a check of a page's domain.
func (w *world) checked(p statuspage.Page, result statuspage.DomainResult) statuspage.Page {
	w.Helper()
	return must(w.RecordDomainCheck(w.ctx, store.DomainCheck{PageID: p.ID, Domain: p.Domain}, result))(w)
}

// hosts lists which pages visitors find at domains, as "domain slug".
func (w *world) hosts() (found []string) {
	w.Helper()
	for _, p := range must(w.PublicPages(w.ctx))(w) {
		if p.Host != "" {
			found = append(found, p.Host+" "+p.Slug)
		}
	}
	slices.Sort(found)
	return found
}

// serves holds which pages are served where.
func (w *world) serves(want ...string) {
	w.Helper()
	if got := w.hosts(); !slices.Equal(got, want) {
		w.Fatalf("served: %q, want %q", got, want)
	}
}

// twoMore makes pages "x" and "y", each of a workspace of its own.
func (w *world) twoMore() (x, y kernel.Actor) {
	w.Helper()
	x, _ = storetest.Workspace(w.T, w.Store, "x")
	y, _ = storetest.Workspace(w.T, w.Store, "y")
	must(w.CreatePage(w.ctx, x, resource.Page.From(statuspage.Page{Name: "x", Slug: "x"})))(w)
	must(w.CreatePage(w.ctx, y, resource.Page.From(statuspage.Page{Name: "y", Slug: "y"})))(w)
	return x, y
}

const someDomain = "status.example.com"

// TestDomainBelongsToThePageThatProvesIt: claims of several workspaces do not keep each
// other away, and one page is served.
func TestDomainBelongsToThePageThatProvesIt(t *testing.T) {
	inWorlds(t, func(w *world) {
		wx, wy := w.twoMore()
		x, y := w.claimDomain(wx, "x", someDomain), w.claimDomain(wy, "y", someDomain)
		if x.DomainStatus != statuspage.DomainPending || y.DomainStatus != statuspage.DomainPending {
			w.Errorf("statuses %q and %q", x.DomainStatus, y.DomainStatus)
		}
		w.serves()
		if got := w.checked(y, statuspage.DomainMissing); got.DomainStatus != statuspage.DomainPending {
			w.Errorf("after a check: %+v", got)
		}
		w.checked(y, statuspage.DomainFound)
		w.serves(someDomain + " y")
		got := w.checked(x, statuspage.DomainFound)
		if got.DomainStatus != statuspage.DomainPending || got.Claim.Result != statuspage.DomainUsedByOther {
			w.Errorf("a proof of what another page has: %+v", got)
		}
		w.serves(someDomain + " y")

		// It moves when the other one cannot prove it any more.
		w.checked(y, statuspage.DomainMissing)
		w.serves(someDomain + " y")
		w.checked(x, statuspage.DomainFound)
		w.serves(someDomain + " x")
		got = must(w.Page(w.ctx, wy, "y"))(w)
		if got.DomainStatus != statuspage.DomainPending || got.Domain != someDomain {
			w.Errorf("the page that lost it: %+v", got)
		}

		// Or when that one gives it up, or is deleted.
		w.claimDomain(wx, "x", "")
		w.serves()
		w.checked(y, statuspage.DomainFound)
		w.serves(someDomain + " y")
		w.claimDomain(wx, "x", someDomain)
		w.ok(w.DeletePage(w.ctx, wy, "y"))
		w.checked(x, statuspage.DomainFound)
		w.serves(someDomain + " x")

		// What was begun for another claim is not recorded.
		w.claimDomain(wx, "x", "other.example.com")
		_, err := w.RecordDomainCheck(w.ctx, store.DomainCheck{PageID: x.ID, Domain: someDomain},
			statuspage.DomainFound)
		if err != kernel.ErrNotFound {
			w.Errorf("a check of a claim that is gone: %v", err)
		}
		w.serves()
	})
}

// TestDomainsInTheFirstWorkspace: they work immediately, but not against a proof.
func TestDomainsInTheFirstWorkspace(t *testing.T) {
	inWorlds(t, func(w *world) {
		wx, _ := w.twoMore()
		x := w.claimDomain(wx, "x", someDomain)
		taken := func(what string, err error) {
			w.Helper()
			if refused(err, "domain") != kernel.ErrNotFound {
				w.Errorf("%s: %v", what, err)
			}
		}
		_, err := w.CreatePage(w.ctx, wx, resource.Page.From(statuspage.Page{Name: "z", Slug: "z", Domain: someDomain}))
		taken("a domain that is claimed in the same workspace", err)

		w.claimDomain(w.ws, "acme", someDomain) // a claim alone keeps nobody away
		w.claimDomain(w.ws, "acme", someDomain)
		w.serves(someDomain + " acme")
		_, err = w.CreatePage(w.ctx, w.ws, resource.Page.From(statuspage.Page{
			Name: "z", Slug: "z", Domain: someDomain,
		}))
		taken("a domain that is used in the first workspace", err)
		if got := w.checked(x, statuspage.DomainFound); got.Claim.Result != statuspage.DomainUsedByOther {
			w.Errorf("a proof against the first workspace: %+v", got)
		}
		p := must(w.Page(w.ctx, w.ws, "acme"))(w)
		got := w.checked(p, statuspage.DomainMissing)
		if got.DomainStatus != statuspage.DomainVerified || !got.Claim.Trusted() {
			w.Errorf("a check of what needs no proof: %+v", got)
		}
		w.claimDomain(w.ws, "acme", "")
		w.checked(x, statuspage.DomainFound)
		w.serves(someDomain + " x")
		_, err = w.ChangePage(w.ctx, w.ws, "acme", domainOf(someDomain))
		taken("a domain that another workspace has proved", err)
		for _, own := range []string{"status.allswell.example", "alias.allswell.example"} {
			_, err = w.ChangePage(w.ctx, w.ws, "acme", domainOf(own))
			taken(own, err)
		}
		w.serves(someDomain + " x")
	})
}

// TestDomainIsReleased after its grace period, by a check that finds nothing.
func TestDomainIsReleased(t *testing.T) {
	inWorlds(t, func(w *world) {
		wx, _ := w.twoMore()
		var stale []string
		w.OnPageChange(func(id string) { stale = append(stale, id) })
		x := w.claimDomain(wx, "x", someDomain)
		w.checked(x, statuspage.DomainFound)
		w.clock.move(24 * time.Hour)
		w.checked(x, statuspage.DomainMissing)
		w.clock.move(7*24*time.Hour - time.Millisecond)
		w.checked(x, statuspage.DomainMissing)
		w.clock.move(time.Hour)
		w.checked(x, statuspage.DomainNoAnswer)
		w.serves(someDomain + " x")
		stale = nil
		got := w.checked(x, statuspage.DomainMissing)
		w.serves()
		if got.DomainStatus != statuspage.DomainPending || got.Domain != someDomain || got.Host != "" ||
			!slices.Equal(stale, []string{x.ID}) {
			w.Errorf("released: %+v, changed: %q", got, stale)
		}
	})
}

// TestOneReplicaMakesEachCheck, and another one if that one does not.
func TestOneReplicaMakesEachCheck(t *testing.T) {
	inWorlds(t, func(w *world) {
		wx, wy := w.twoMore()
		begin := func(want ...string) {
			w.Helper()
			var got []string
			for _, c := range must(w.BeginDomainChecks(w.ctx, 8))(w) {
				got = append(got, c.Domain)
			}
			if slices.Sort(got); !slices.Equal(got, want) {
				w.Fatalf("due: %q, want %q", got, want)
			}
		}
		begin()
		claimed := 0
		w.OnDomainCheckDue(func() { claimed++ })
		w.claimDomain(w.ws, "acme", "status.acme.example") // needs none
		x := w.claimDomain(wx, "x", "x.example")
		y := w.claimDomain(wy, "y", "y.example")
		must(w.ChangePage(w.ctx, wy, "y", resource.Page.From(statuspage.Page{Name: "Y"})))(w)
		if claimed != 2 {
			w.Errorf("%d signals of due checks", claimed)
		}
		begin("x.example", "y.example")
		begin()
		w.checked(x, statuspage.DomainFound)
		w.clock.move(2*time.Minute + time.Second)
		begin("y.example") // its check was begun and not recorded
		w.checked(y, statuspage.DomainMissing)
		begin()
		w.clock.move(time.Hour)
		begin("y.example")
		w.checked(y, statuspage.DomainMissing)
		w.clock.move(22 * time.Hour)
		begin("y.example")
		w.clock.move(time.Hour)
		begin("x.example", "y.example")
		w.checked(x, statuspage.DomainFound)
		w.checked(y, statuspage.DomainFound)
		w.clock.move(-72 * time.Hour) // the clock goes back
		begin("x.example", "y.example")
		w.clock.move(72 * time.Hour)
	})
}

// TestReplicasShareChecks lets several replicas look for the same checks concurrently.
func TestReplicasShareChecks(t *testing.T) {
	onPostgres(t, "", func(w *world) {
		wx, wy := w.twoMore()
		w.claimDomain(wx, "x", "x.example")
		w.claimDomain(wy, "y", "y.example")
		var begun [4]int
		var each []func()
		for i := range begun {
			s := w.replica()
			each = append(each, func() {
				checks, err := s.BeginDomainChecks(context.Background(), 8)
				if begun[i] = len(checks); err != nil {
					t.Error(err)
				}
			})
		}
		together(each...)
		if begun[0]+begun[1]+begun[2]+begun[3] != 2 {
			t.Errorf("checks that were begun: %v", begun)
		}
	})
}

// TestTwoProofsAtOnce: one page gets the domain.
func TestTwoProofsAtOnce(t *testing.T) {
	inWorlds(t, func(w *world) {
		wx, wy := w.twoMore()
		x, y := w.claimDomain(wx, "x", someDomain), w.claimDomain(wy, "y", someDomain)
		together(func() { w.checked(x, statuspage.DomainFound) }, func() { w.checked(y, statuspage.DomainFound) },
			func() {
				_, _ = w.ChangePage(w.ctx, w.ws, "acme", domainOf(someDomain))
			})
		if got := w.hosts(); len(got) != 1 {
			w.Errorf("served: %q", got)
		}
	})
}

// TestDisabledDomains: what the settings forbid is kept, and not served.
func TestDisabledDomains(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, dsn string) {
		w := newWorld(t, dsn, "")
		w.claimDomain(w.ws, "acme", someDomain)
		must(w.CreatePage(w.ctx, w.ws, resource.Page.From(statuspage.Page{
			Name: "z", Slug: "z", Domain: "other.example.com",
		})))(w)
		for _, c := range []struct {
			hosts    statuspage.Hosts
			disabled int
			serves   []string
		}{
			{statuspage.NewHosts("", "x.example"), 2, nil},
			{statuspage.NewHosts(strings.ToUpper(someDomain) + ".:443"), 1, []string{"other.example.com z"}},
			{statuspage.NewHosts("x.example"), 0, []string{"other.example.com z", someDomain + " acme"}},
		} {
			w.ok(w.Store.Close())
			w.Store = storetest.Open(t, dsn, store.Options{Clock: w.clock.now, Hosts: c.hosts})
			w.serves(c.serves...)
			pages, all, err := w.DisabledDomains(w.ctx, 1)
			w.ok(err)
			if all != c.disabled || len(pages) != min(c.disabled, 1) {
				t.Errorf("%+v: %d disabled, %d listed", c, all, len(pages))
			}
			p := must(w.Page(w.ctx, w.ws, "acme"))(t)
			if p.Domain != someDomain || (p.DomainStatus == statuspage.DomainDisabled) == (p.Host != "") {
				t.Errorf("%+v: page: %+v", c, p)
			}
		}
	})
}

// TestVersion3IsMigrated: domains of the first workspace need no proof, and
// the others are served until the grace period of a first check has passed.
func TestVersion3IsMigrated(t *testing.T) {
	t.Parallel()
	storetest.EachEmpty(t, func(t *testing.T, dsn string) {
		if err := store.MigrateTo(t.Context(), dsn, 3); err != nil {
			t.Fatal(err)
		}
		driver, address := "pgx", dsn
		if path, isFile := strings.CutPrefix(dsn, "sqlite:"); isFile {
			driver, address = "sqlite", path
		}
		db := must(sqlOpen(driver, address))(t)
		for _, text := range []string{
			`INSERT INTO workspaces (id, name, created_at) VALUES ('ws_1', 'default', $1), ('ws_2', 'x', $1)`,
			`INSERT INTO pages (id, workspace_id, slug, name, domain, created_at, updated_at)
				VALUES ('page_1', 'ws_1', 'acme', 'Acme', 'status.acme.example', $1, $1), ('page_2', 'ws_2', 'x', 'x',
				'status.example.com', $1, $1),
					('page_3', 'ws_2', 'y', 'y', NULL, $1, $1)`,
		} {
			if _, err := db.Exec(text, began.UnixMilli()); err != nil {
				t.Fatal(err)
			}
		}
		if err := db.Close(); err != nil {
			t.Fatal(err)
		}
		w := &world{T: t, ctx: t.Context(), clock: newClock(), dsn: dsn}
		w.clock.move(time.Hour)
		w.Store = w.replica()
		w.serves("status.acme.example acme", someDomain+" x")
		due := must(w.BeginDomainChecks(w.ctx, 8))(t)
		if len(due) != 1 || due[0] != (store.DomainCheck{PageID: "page_2", WorkspaceID: "ws_2", Domain: someDomain}) {
			t.Fatalf("due: %+v", due)
		}
		x := must(w.Page(w.ctx, kernel.Actor{WorkspaceID: "ws_2"}, "x"))(t)
		got := w.checked(x, statuspage.DomainMissing)
		if got.DomainStatus != statuspage.DomainFailing ||
			!got.Claim.ReleaseAt().Equal(w.clock.now().Add(7*24*time.Hour)) {
			t.Errorf("page after its first check: %+v", got)
		}
		w.clock.move(7 * 24 * time.Hour)
		w.checked(x, statuspage.DomainMissing)
		w.serves("status.acme.example acme")
	})
}

// TestDueDomainsTakeTurns checks that many due checks of one workspace do not delay the checks of another.
func TestDueDomainsTakeTurns(t *testing.T) {
	inWorlds(t, func(w *world) {
		create := func(ws kernel.Actor, slug string) {
			domain := slug + ".example"
			must(w.CreatePage(w.ctx, ws, resource.Page.From(statuspage.Page{
				Name: slug, Slug: slug, Domain: domain,
			})))(w)
		}
		for n := range 20 {
			create(w.ws, fmt.Sprint("many-", n))
		}
		w.clock.move(time.Second)
		create(w.otherWorkspace(), "one")
		w.clock.move(time.Hour)
		due := must(w.BeginDomainChecks(w.ctx, 8))(w)
		if !slices.ContainsFunc(due, func(c store.DomainCheck) bool { return c.Domain == "one.example" }) {
			t.Errorf("the first checks are %+v", due)
		}
	})
}

// TestWhatACheckOfADomainChanges makes each check of each kind of claim, with and without a lookup, and compares what
// is saved with the rule of claims.
func TestWhatACheckOfADomainChanges(t *testing.T) {
	inWorlds(t, func(w *world) {
		wx, _ := w.twoMore()
		lookup := statuspage.DomainLookup{
			Result: statuspage.LookupElsewhere, Domain: someDomain, Host: "status.allswell.example",
		}
		for _, kind := range []string{"pending", "verified", "failing", "trusted"} {
			for _, result := range append(statuspage.DomainResults, statuspage.DomainUnchecked) {
				for _, looked := range []bool{false, true} {
					actor, slug := wx, "x"
					if kind == "trusted" {
						actor, slug = w.ws, "acme"
					}
					p := w.claimDomain(actor, slug, someDomain)
					if kind == "verified" || kind == "failing" {
						p = w.checked(p, statuspage.DomainFound)
					}
					if kind == "failing" {
						p = w.checked(p, statuspage.DomainMissing)
					}
					w.clock.move(time.Hour)
					now, version := w.clock.now(), w.value(`SELECT version FROM pages WHERE id = $1`, p.ID)
					c, want, change := store.DomainCheck{PageID: p.ID, WorkspaceID: p.WorkspaceID, Domain: someDomain},
						p.Claim, statuspage.DomainChangeNone
					if looked {
						c.Lookup = &lookup
					}
					if kind != "trusted" && result != statuspage.DomainUnchecked {
						change = want.Check(result, now)
					}
					got := must(w.RecordDomainCheck(w.ctx, c, result))(w)
					saved := must(w.Page(w.ctx, actor, slug))(w)
					for name, page := range map[string]statuspage.Page{"returned": got, "saved": saved} {
						if !sameClaim(page.Claim, want) || (page.Lookup != nil) != looked ||
							looked && (!page.Lookup.CheckedAt.Equal(now) || page.Lookup.Result != lookup.Result) {
							w.Errorf("%s, %q, looked up %v, %s: %+v, %+v, want %+v", kind, result, looked, name,
								page.Claim, page.Lookup, want)
						}
						if served := page.Host != ""; served == want.VerifiedAt.IsZero() {
							w.Errorf("%s, %q, %s: at %q", kind, result, name, page.Host)
						}
					}
					bumped := change == statuspage.DomainChangeVerified || change == statuspage.DomainChangeReleased
					if after := w.value(`SELECT version FROM pages WHERE id = $1`, p.ID); (after != version) != bumped {
						w.Errorf("%s, %q: version %s, then %s", kind, result, version, after)
					}
					if lookup.CheckedAt != (time.Time{}) {
						w.Fatal("the lookup of the caller was changed")
					}
					w.claimDomain(actor, slug, "")
				}
			}
		}
	})
}

// sameClaim reports whether two claims are the same, to the millisecond.
func sameClaim(a, b statuspage.DomainClaim) bool {
	times := func(c statuspage.DomainClaim) (all []int64) {
		for _, at := range []time.Time{c.ClaimedAt, c.VerifiedAt, c.CheckedAt, c.FailedAt, c.CheckAt} {
			all = append(all, at.UnixMilli())
		}
		return all
	}
	return a.Result == b.Result && slices.Equal(times(a), times(b))
}
