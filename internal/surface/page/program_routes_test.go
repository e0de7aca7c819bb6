package page

import (
	"encoding/xml"
	"fmt"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/allswell/allswell/internal/domain/kernel"
	"github.com/allswell/allswell/internal/domain/statuspage"
	"github.com/allswell/allswell/internal/resource"
	"github.com/allswell/allswell/internal/surface/page/badge"
	"github.com/allswell/allswell/internal/surface/page/feed"
	"github.com/allswell/allswell/internal/surface/web"
)

// addEvents creates a component, an incident that affects it, one that does not,
// and a maintenance.
func addEvents(w *fixture) (c statuspage.Component, inc statuspage.Incident, m statuspage.Maintenance) {
	w.t.Helper()
	c = w.component("acme", "Website", "")
	message := "We look into it."
	w.incident("acme", statuspage.Incident{Title: "Elsewhere"}, message)
	w.clock.move(time.Minute)
	inc = w.incident("acme",
		statuspage.Incident{
			Title:    "It is dark",
			Affected: []statuspage.AffectedComponent{{ComponentID: c.ID, Status: kernel.StatusPartialOutage}},
		},
		message)
	w.clock.move(time.Minute)
	m, err := w.store.CreateMaintenance(w.t.Context(), w.ws, "acme", resource.Maintenance.From(statuspage.Maintenance{
		Title: "New lamps", Updates: []statuspage.MaintenanceUpdate{{Message: message}},
		ScheduledFor: w.clock.now().Add(48 * time.Hour), ScheduledUntil: w.clock.now().Add(50 * time.Hour),
		Components: statuspage.ComponentRefs(c.ID),
	}))
	return c, inc, must(w, m, err)
}

// ids returns the ids of a feed's entries.
func (w *fixture) ids(path string) (ids []string) {
	w.t.Helper()
	rec := w.do("GET", path)
	var r struct {
		Entries []string `xml:"entry>id"`
		Items   []string `xml:"channel>item>guid"`
	}
	if err := xml.Unmarshal(rec.Body.Bytes(), &r); rec.Code != 200 || err != nil {
		w.t.Fatalf("%s: %d %v", path, rec.Code, err)
	}
	return append(r.Entries, r.Items...)
}

func TestProgramDocuments(t *testing.T) {
	run(t, func(w *fixture) {
		t := w.t
		c, _, _ := addEvents(w)
		for path, want := range map[string][2]string{
			"/history.atom": {feed.AtomType, web.CacheRevalidate}, "/history.rss": {feed.RSSType, web.CacheRevalidate},
			"/history.ics": {feed.CalendarType, web.CacheRevalidate},
			"/badge.svg":   {typeSVG, cacheBadge}, "/badge.json": {typeJSON, cacheBadge},
			"/badge.svg?label=Lamps":                {typeSVG, cacheBadge},
			"/components/" + c.ID + "/history.atom": {feed.AtomType, web.CacheRevalidate},
			"/components/" + c.ID + "/history.rss":  {feed.RSSType, web.CacheRevalidate},
			"/components/" + c.ID + "/badge.svg":    {typeSVG, cacheBadge},
			"/components/" + c.ID + "/badge.json":   {typeJSON, cacheBadge},
		} {
			path = "/status/acme" + path
			get, head := w.do("GET", path), w.do("HEAD", path)
			h := get.Header()
			if get.Code != 200 || h.Get("Content-Type") != want[0] || h.Get("Cache-Control") != want[1] ||
				h.Get("Access-Control-Allow-Origin") != "*" ||
				h.Get("Cross-Origin-Resource-Policy") != "cross-origin" ||
				h.Get("X-Content-Type-Options") != "nosniff" ||
				!strings.HasPrefix(h.Get("Content-Security-Policy"), string(web.PolicyData)) ||
				strings.Contains(h.Get("Content-Security-Policy"), "unsafe") {
				t.Errorf("GET %s: %d %v", path, get.Code, h)
			}
			if head.Code != 200 || head.Body.Len() != 0 || fmt.Sprint(head.Header()) != fmt.Sprint(h) {
				t.Errorf("HEAD %s: %d with %v, want %v", path, head.Code, head.Header(), h)
			}
			packed := w.do("GET", path, "Accept-Encoding", "gzip")
			if want[0] != typeJSON &&
				(packed.Header().Get("Content-Encoding") != "gzip" || packed.Header().Get("Etag") == h.Get("Etag")) {
				t.Errorf("GET %s packed: %v", path, packed.Header())
			}
			again := w.do("GET", path, "If-None-Match", h.Get("Etag"))
			if again.Code != 304 || again.Body.Len() != 0 || again.Header().Get("Access-Control-Allow-Origin") != "*" {
				t.Errorf("GET %s again: %d %v", path, again.Code, again.Header())
			}
			if rec := w.do("POST", path); rec.Code != 405 {
				t.Errorf("POST %s: %d", path, rec.Code)
			}
		}
		for _, path := range []string{
			"/status/nope/history.atom", "/status/nope/badge.svg", "/status/acme/history.json",
			"/status/acme/badge.png", "/status/acme/badge.svg/", "/status/acme/history.atom/",
			"/status/acme/components/comp_00000000000000000000/history.atom",
			"/status/acme/components/comp_00000000000000000000/badge.svg",
			"/status/acme/components/comp_00000000000000000000/badge.json?label=x",
			"/status/acme/components/" + c.ID + "/history.ics",
			"/status/acme/components/nope/badge.svg", "/status/acme/components//badge.svg",
			"/status/acme/components/" + c.ID + "/x/badge.svg",
		} {
			w.get(path, 404)
		}
	})
}

// TestFeedsOverTime checks that a feed has its entries newest first, and that their
// ids do not change when the slug of the page changes.
func TestFeedsOverTime(t *testing.T) {
	run(t, func(w *fixture) {
		t, ctx := w.t, w.t.Context()
		c, inc, m := addEvents(w)
		of := "/components/" + c.ID
		before := w.ids("/status/acme/history.atom")
		if len(before) != 3 || before[0] != "tag:allswell,2026:"+m.ID || before[1] != "urn:uuid:"+inc.ID {
			t.Errorf("the feed has %q", before)
		}
		if got := w.ids("/status/acme/history.rss"); !slices.Equal(got, before) {
			t.Errorf("in RSS there are %q, want %q", got, before)
		}
		for _, name := range []string{"/history.atom", "/history.rss"} {
			if got := w.ids("/status/acme" + of + name); !slices.Equal(got, before[:2]) {
				t.Errorf("the component's %s has %q, want %q", name, got, before[:2])
			}
		}

		u, err := w.store.PostUpdate(ctx, w.ws, inc.ID, statuspage.IncidentUpdate{Message: "It dawns."}, nil)
		must(w, u, err)
		if body := w.do("GET", "/status/acme/history.atom").Body.String(); !strings.Contains(body, "It dawns.") {
			t.Errorf("the update is not in %s", body)
		}
		slug, domain := "other", "status.acme.example"
		p, err := w.store.ChangePage(ctx, w.ws, "acme", func(p *statuspage.Page) error {
			p.Slug, p.Domain = slug, domain
			return nil
		})
		must(w, p, err)
		w.get("/status/acme/history.atom", 404)
		if got := w.ids("/status/other/history.atom"); !slices.Equal(got, before) {
			t.Errorf("after the page has moved there are %q, want %q", got, before)
		}
		body := w.do("GET", "/status/other/history.atom").Body.String()
		want := `<link rel="alternate" type="text/html" href="https://status.acme.example/incidents/` + inc.ID + `">`
		if !strings.Contains(body, want) || strings.Contains(body, "localhost") {
			t.Errorf("the links of the feed: %s is not in %s", want, body)
		}

		if err := w.store.Components().Delete(ctx, w.ws, "other", c.ID, kernel.Precondition{}); err != nil {
			t.Fatal(err)
		}
		w.get("/status/other"+of+"/history.atom", 404)
		w.get("/status/other"+of+"/badge.svg", 404)
	})
}

// TestCalendarOverTime checks that all planned maintenances are in the calendar,
// however many there are.
func TestCalendarOverTime(t *testing.T) {
	run(t, func(w *fixture) {
		t := w.t
		for i := range 60 {
			from := w.clock.now().Add(time.Duration(i+1) * 24 * time.Hour)
			m, err := w.store.CreateMaintenance(t.Context(), w.ws, "acme",
				resource.Maintenance.From(statuspage.Maintenance{
					Title: fmt.Sprint("Number ", i), ScheduledFor: from, ScheduledUntil: from.Add(time.Hour),
				}))
			must(w, m, err)
		}
		var titles []string
		for line := range strings.SplitSeq(w.do("GET", "/status/acme/history.ics").Body.String(), "\r\n") {
			if title, ok := strings.CutPrefix(line, "SUMMARY:"); ok {
				titles = append(titles, title)
			}
		}
		if len(titles) != 60 || titles[0] != "Number 0" || titles[59] != "Number 59" {
			t.Errorf("%d events: %q", len(titles), titles)
		}
	})
}

func TestBadgesOverTime(t *testing.T) {
	run(t, func(w *fixture) {
		t := w.t
		c := w.component("acme", "Website", "")
		said := func(path string) string {
			t.Helper()
			rec := w.do("GET", "/status/acme"+path)
			if rec.Code != 200 {
				t.Fatalf("%s: %d", path, rec.Code)
			}
			_, label, _ := strings.Cut(rec.Body.String(), `aria-label="`)
			label, _, _ = strings.Cut(label, `"`)
			return label
		}
		of := "/components/" + c.ID + "/badge.svg"
		for path, want := range map[string]string{
			"/badge.svg": "Acme: Operational", of: "Website: Operational",
			of + "?label=Lamps&theme=dark":                "Lamps: Operational",
			"/badge.svg?style=flat-square&theme=blue&x=1": "Acme: Operational",
			"/badge.svg?style=uptime":                     "Acme: Uptime: not known",
		} {
			if got := said(path); got != want {
				t.Errorf("%s says %q, want %q", path, got, want)
			}
		}
		w.clock.move(9 * time.Hour)
		w.status("acme", c.ID, kernel.StatusMajorOutage)
		w.clock.move(time.Hour)
		w.status("acme", c.ID, kernel.StatusDegraded)
		for path, want := range map[string]string{
			"/badge.svg": "Acme: Degraded", of: "Website: Degraded", of + "?label=Lamps&theme=dark": "Lamps: Degraded",
			of + "?style=uptime":                  "Website: 90.00% uptime",
			"/badge.svg?style=uptime&theme=light": "Acme: 90.00% uptime",
		} {
			if got := said(path); got != want {
				t.Errorf("%s says %q, want %q", path, got, want)
			}
		}
		rec := w.do("GET", "/status/acme/badge.json?label=Lamps&style=uptime")
		if rec.Body.String() != `{"schemaVersion":1,"label":"Lamps","message":"90.00% uptime","color":"b3261e"}` {
			t.Errorf("for shields: %s", rec.Body)
		}

		kept, _ := w.site.rendered.Stats()
		for i := range 100 {
			if got, want := said(fmt.Sprint("/badge.svg?label=", i)), fmt.Sprint(i, ": Degraded"); got != want {
				t.Errorf("it says %q, want %q", got, want)
			}
		}
		if got, _ := w.site.rendered.Stats(); got != kept {
			t.Errorf("badges with labels took %d cache entries", got-kept)
		}

		w.clock.move(30 * time.Hour) // nothing happens but that time goes by
		if got := said(of + "?style=uptime"); got != "Website: 97.50% uptime" {
			t.Errorf("a day later it says %q", got)
		}
	})
}

// TestBadgeOfIncidentsIsAnother checks that the badge with ?show=incidents and the badge without are kept separately in
// memory.
func TestBadgeOfIncidentsIsAnother(t *testing.T) {
	run(t, func(w *fixture) {
		w.component("acme", "Website", "")
		w.incident("acme", statuspage.Incident{Title: "Slow", Impact: kernel.ImpactCritical}, "")
		for _, path := range []string{"/status/acme/badge.svg", "/status/acme/badge.json"} {
			status := w.do("GET", path)
			incidents := w.do("GET", path+"?show=incidents")
			if status.Code != 200 || incidents.Code != 200 || status.Body.String() == incidents.Body.String() {
				w.t.Errorf("%s: both badges say %s", path, status.Body)
			}
		}
	})
}

// TestBadgePolicy checks that the Content-Security-Policy of a badge allows its style
// sheet.
func TestBadgePolicy(t *testing.T) {
	b, _ := badge.NewSet(statuspage.Summary{
		Page: statuspage.Page{Name: "Acme"}, Status: kernel.StatusOperational,
	}).Badge("", badge.Options{}, false)
	policy := func(theme string) string {
		rec := httptest.NewRecorder()
		badgeDocument(b, badge.SVGName, theme).ServeHTTP(rec, httptest.NewRequest("GET", "/", nil))
		return rec.Header().Get("Content-Security-Policy")
	}
	if auto := policy(""); !strings.HasPrefix(auto, string(web.PolicyData)+"; style-src 'sha256-") {
		t.Errorf("without a theme: policy %q", auto)
	}
	if dark := policy(badge.ThemeDark); dark != string(web.PolicyData) {
		t.Errorf("dark: policy %q", dark)
	}
}

func TestPublicBase(t *testing.T) {
	s := &Site{base: "https://status.example.org"}
	for want, p := range map[string]statuspage.Page{
		"https://status.example.org/status/acme": {Slug: "acme"},
		"https://acme.example":                   {Slug: "acme", Host: "acme.example"},
	} {
		if got := p.URL(s.base); got != want {
			t.Errorf("the URL of the page: %q, want %q", got, want)
		}
	}
}

// TestParseProgramPath checks which paths are routes of documents for programs.
func TestParseProgramPath(t *testing.T) {
	id := kernel.NewID(kernel.PrefixComponent, day)
	for part, want := range map[string][2]string{
		"history.atom": {"", "history.atom"}, "components/" + id + "/badge.json": {id, "badge.json"},
		"history.ics": {"", "history.ics"},
		"":            {}, "history": {}, "components/" + id: {}, "components/" + id + "/history.ics": {},
		"components//badge.svg":                       {},
		"components/" + id[:len(id)-1] + "/badge.svg": {}, "components/" + strings.ToUpper(id) + "/badge.svg": {},
		"components/" + id + "w/badge.svg": {},
	} {
		component, name, ok := parseProgramPath(part)
		if got := [2]string{component, name}; got != want || ok != (name != "") {
			t.Errorf("%q: %q %v, want %q", part, got, ok, want)
		}
	}
}
