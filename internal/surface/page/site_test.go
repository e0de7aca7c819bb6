package page

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/allswell/allswell/internal/domain/kernel"
	"github.com/allswell/allswell/internal/domain/statuspage"
	"github.com/allswell/allswell/internal/resource"
	"github.com/allswell/allswell/internal/store/storetest"
	"github.com/allswell/allswell/internal/surface/page/badge"
	"github.com/allswell/allswell/internal/surface/page/feed"
)

// statusPageTexts are the texts of a page with an active incident, by selector.
var statusPageTexts = map[string][]string{
	"title":                     {"Critical impact: The north is dark – Acme"},
	"h1":                        {"Acme"},
	"#banner":                   {"Major system outage"},
	".overall":                  {"Major system outage 1 of 3 components operational"},
	".block h3":                 {"Regions"},
	".block summary .state":     {"Major Outage"},
	".components .row":          {"Website Operational", "North Major Outage", "South Degraded Performance"},
	".components .description":  {"In the North", "In the South"},
	".beside .of-90":            {"66.66% uptime since 21 Nov"},
	"article.lead #lead":        {"The north is dark"},
	"article.incident .impact":  {"Critical impact"},
	"article.incident .message": {"Wires are up.", "Wires are down."},
	"article.incident .when":    {"Investigating 21 Nov 2020, 15:14", "Investigating 21 Nov 2020, 15:04"},
	"footer p": {"As of 21 Nov 2020, 15:14. No changes since. All times are in UTC.",
		"Monitored by Allswell"},
	"main .onward a": {"Incident history"},
	".late":          nil,
}

func TestStatusPage(t *testing.T) {
	run(t, func(w *fixture) {
		ctx, t := w.t.Context(), w.t
		p := w.get("/status/acme", 200)
		if got := p.One(t, "#banner"); got != "All systems operational" {
			t.Errorf("the banner of a page without components: %q", got)
		}
		w.component("acme", "Website", "")
		group, err := w.store.Groups().Create(ctx, w.ws, "acme", resource.Group.From(statuspage.Group{Name: "Regions"}))
		must(w, group, err)
		for name, status := range map[string]kernel.Status{
			"North": kernel.StatusMajorOutage, "South": kernel.StatusDegradedPerformance,
		} {
			c, err := w.store.Components().Create(ctx, w.ws, "acme", resource.Component.From(statuspage.Component{
				Name: name, Baseline: status, GroupID: group.ID, Description: text("In the " + name),
				Order: len(status),
			}))
			must(w, c, err)
		}
		message := "Wires are down."
		inc := w.incident("acme", statuspage.Incident{Title: "The north is dark", Impact: kernel.ImpactCritical},
			message)
		w.clock.move(10 * time.Minute)
		u, err := w.store.PostUpdate(ctx, w.ws, inc.ID, statuspage.IncidentUpdate{Message: "Wires are up."}, nil)
		must(w, u, err)

		p = w.get("/status/acme", 200)
		for selector, want := range statusPageTexts {
			if got := p.Texts(selector); !slices.Equal(got, want) {
				t.Errorf("%s: %q, want %q", selector, got, want)
			}
		}

		w.clock.move(20 * time.Minute)
		resolved := true
		inc, err = w.store.ChangeIncident(ctx, w.ws, inc.ID, func(i *statuspage.Incident) error {
			i.SetResolved(resolved)
			return nil
		}, statuspage.IncidentUpdate{}, "")
		must(w, inc, err)
		p = w.get("/status/acme", 200)
		if got := len(p.All("article.incident")); got != 0 {
			t.Errorf("%d active incidents", got)
		}
		past := "The north is dark 15:04 to 15:34 30 minutes Critical impact Resolved Wires are up. Full timeline"
		if got := p.Texts(".past li"); !slices.Equal(got, []string{past}) {
			t.Errorf("past incidents: %q, want %q", got, past)
		}
	})
}

func TestListOfPages(t *testing.T) {
	storetest.Each(t, func(t *testing.T, dsn string) {
		w := open(t, dsn, &clock{})
		p := w.get("/", 200)
		if got := p.One(t, "h1"); got != "Allswell is running" {
			t.Errorf("without pages: %q", got)
		}
		if !strings.Contains(p.Text(), "http://localhost:8080") {
			t.Error("the first steps do not have the URL")
		}
		w.page("acme", "Acme")
		if got := w.get("/", 200).One(t, "title"); got != "All systems operational – Acme" {
			t.Errorf("with one page: %q", got)
		}
		w.clock.move(time.Second)
		w.page("beta", "Beta "+strings.ReplaceAll(hostile, "\u202e", ""))
		c := w.component("beta", "x", kernel.StatusMajorOutage)
		for _, status := range []kernel.Status{kernel.StatusMajorOutage, kernel.StatusUnknown} {
			w.status("beta", c.ID, status)
			p = w.get("/", 200)
			got := p.Texts(".pages li .state")
			if want := []string{"All systems operational", kernel.Banner(status)}; !slices.Equal(got, want) {
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

// TestChangedSlugs checks that a change of slugs shows on the next request.
func TestChangedSlugs(t *testing.T) {
	t.Parallel()
	run(t, func(w *fixture) {
		ctx, t := w.t.Context(), w.t
		inc := w.incident("acme", statuspage.Incident{Title: "One"}, "")
		rename := func(from, to string) {
			t.Helper()
			p, err := w.store.ChangePage(ctx, w.ws, from, func(p *statuspage.Page) error { p.Slug = to; return nil })
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

// TestUnknownPathsUseNoMemory checks that requests for what does not exist use no
// memory, and that unknown slugs cause no query.
func TestUnknownPathsUseNoMemory(t *testing.T) {
	run(t, func(w *fixture) {
		t := w.t
		for i := range 1000 {
			w.do("GET", fmt.Sprintf("/status/acme/incidents/01a1fc53-1977-7f37-b83c-%012d", i))
			w.do("GET", fmt.Sprintf("/status/acme-%d", i))
			w.do("GET", fmt.Sprintf("/status/acme-%d/history?month=2020-11", i))
		}
		if n, _ := w.site.rendered.Stats(); n > 4 {
			t.Errorf("%d documents are in memory, want at most the error pages", n)
		}
		if n := len(w.site.index.Last().byID); n != 1 {
			t.Errorf("the index has %d pages", n)
		}
		w.store.Close()
		for _, name := range []string{feed.AtomName, feed.RSSName, badge.SVGName, ""} { // of an unknown component
			if rec := w.do("GET", "/status/acme/components/comp_00000000000000000000/"+name); rec.Code != 404 {
				t.Errorf("%q of an unknown component: %d", name, rec.Code)
			}
		}
		for _, slug := range []string{
			"unknown", "", "-", "Acme", "a%20b", "acme%2Fx", "..", strings.Repeat("a", 64), "ac%00me", "%ff",
		} {
			rec := w.do("GET", "/status/"+slug)
			if rec.Code != 404 {
				t.Errorf("%q: %d", slug, rec.Code)
			}
		}
		w.get("/status/acme", 200)
	})
}
