package page

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/allswell/allswell/internal/domain/kernel"
	"github.com/allswell/allswell/internal/domain/monitor"
	"github.com/allswell/allswell/internal/domain/statuspage"
	"github.com/allswell/allswell/internal/resource"
	"github.com/allswell/allswell/internal/shared/i18n"
	"github.com/allswell/allswell/internal/shared/i18n/i18ntest"
	"github.com/allswell/allswell/internal/surface/htmltest"
)

func TestLanguageOfRequest(t *testing.T) {
	run(t, func(w *fixture) {
		t := w.t
		german, unknown := "de", "qaa" // reserved for private use
		for _, c := range []struct{ page, query, accept, want string }{
			{"", "", "", "en"}, {"", "", "de-AT, en;q=0.5", "de"}, {"", "?lang=ar", "de", "ar"},
			{"", "?lang=" + unknown, "ar", "ar"}, {"", "?lang=", "", "en"},
			{german, "", "", "de"}, {german, "", unknown, "de"}, {german, "", "en", "en"},
			{german, "?lang=en", "de", "en"}, {german, "?other=1", "ar", "ar"},
		} {
			page, err := w.store.ChangePage(t.Context(), w.ws, "acme", func(p *statuspage.Page) error {
				p.Language = c.page
				return nil
			})
			must(w, page, err)
			for _, path := range []string{"/status/acme", "/status/acme/history", "/status/acme/nope"} {
				rec := w.do("GET", path+c.query, "Accept-Language", c.accept)
				p := htmltest.Parse(t, rec.Body.String())
				if got := p.All("html")[0].Attr("lang"); got != c.want {
					t.Errorf("the language of %+v at %s: %s", c, path, got)
				}
				if rec.Header().Get("Vary") != "Accept-Encoding, Accept-Language" {
					t.Errorf("Vary %q", rec.Header().Get("Vary"))
				}
			}
		}
		p := w.get("/status/acme/history?month=2020-11&lang=ar", 200)
		if got := p.All("header nav a")[0].Attr("href"); got != "/status/acme/history?lang=ar" {
			t.Errorf("a link to %s", got)
		}
		var addresses, want []string
		for _, l := range i18n.All() {
			want = append(want, "/status/acme/history?month=2020-11&lang="+l.Tag)
		}
		for _, a := range p.All("footer a[hreflang]") {
			addresses = append(addresses, a.Attr("href"))
			if current := a.Attr("aria-current") == "true"; current != (a.Attr("hreflang") == "ar") {
				t.Errorf("%s is current: %v", a.Attr("hreflang"), current)
			}
			if got := w.get(a.Attr("href"), 200).All("html")[0].Attr("lang"); got != a.Attr("hreflang") {
				t.Errorf("%s is in the language %s", a.Attr("href"), got)
			}
		}
		if !slices.Equal(addresses, want) {
			t.Errorf("the languages are at %q, want %q", addresses, want)
		}
		if got := len(p.All("link[rel=alternate][hreflang]")); got != len(i18n.All())+1 {
			t.Errorf("%d alternates", got)
		}
	})
}

// TestOfferedLanguages: a page that offers some languages is in no other, whatever the visitor asks for.
func TestOfferedLanguages(t *testing.T) {
	run(t, func(w *fixture) {
		t := w.t
		for _, c := range []struct{ offered, page, query, accept, want string }{
			{"de", "", "", "en", "de"}, {"de", "", "?lang=en", "ar", "de"}, {"ar de", "", "", "en", "ar"},
			{"ar de", "de-AT", "", "en", "de"},
			{"ar de", "", "?lang=de", "ar", "de"}, {"", "", "", "ar", "ar"},
		} {
			offered := strings.Fields(c.offered)
			page, err := w.store.ChangePage(t.Context(), w.ws, "acme", func(p *statuspage.Page) error {
				p.Language, p.Languages = c.page, offered
				return nil
			})
			must(w, page, err)
			p := htmltest.Parse(t, w.do("GET", "/status/acme"+c.query, "Accept-Language", c.accept).Body.String())
			if got := p.All("html")[0].Attr("lang"); got != c.want {
				t.Errorf("the language for %+v: %s", c, got)
			}
			links := len(offered)
			if links == 0 {
				links = len(i18n.All())
			}
			if got := len(p.All("link[rel=alternate][hreflang]")); got != links+1 {
				t.Errorf("%+v: %d alternates", c, got)
			}
		}
	})
}

// TestAlternateLanguages checks the absolute URLs of each language for search engines.
func TestAlternateLanguages(t *testing.T) {
	run(t, func(w *fixture) {
		t := w.t
		w.page("other", "Other")
		w.domain("other", "status.other.example")
		for path, want := range map[string][2]string{
			"/": {"http://localhost:8080/?lang=de", "http://localhost:8080/"},
			"/status/acme": {"http://localhost:8080/status/acme?lang=de",
				"http://localhost:8080/status/acme"},
			"/status/acme/history?month=2020-11": {"http://localhost:8080/status/acme/history?month=2020-11&lang=de",
				"http://localhost:8080/status/acme/history?month=2020-11"},
			"/status/other": {"https://status.other.example/?lang=de", "https://status.other.example/"},
			"/status/other/history?month=2020-11": {"https://status.other.example/history?month=2020-11&lang=de",
				"https://status.other.example/history?month=2020-11"},
		} {
			p := w.get(path, 200)
			for i, tag := range []string{"de", "x-default"} {
				if got := p.All("link[hreflang=" + tag + "]")[0].Attr("href"); got != want[i] {
					t.Errorf("the alternate of %s in %s: %s, want %s", path, tag, got, want[i])
				}
			}
			if got := p.All("footer a[hreflang=de]")[0].Attr("href"); !strings.HasPrefix(got, "/") {
				t.Errorf("%s: the link for visitors leads to %s", path, got)
			}
		}
	})
}

// TestTimeZone checks a page whose days begin five hours after the days of UTC.
func TestTimeZone(t *testing.T) {
	run(t, func(w *fixture) {
		t := w.t
		zone := "America/New_York"
		page, err := w.store.ChangePage(t.Context(), w.ws, "acme", func(p *statuspage.Page) error {
			p.TimeZone = zone
			return nil
		})
		must(w, page, err)
		w.clock.set(time.Date(2020, 12, 1, 4, 30, 0, 0, time.UTC)) // 23:30 on the last of November
		w.incident("acme", statuspage.Incident{Title: "Late", State: statuspage.IncidentResolved}, "")
		p := w.get("/status/acme", 200)
		if got := p.Texts(".day")[0]; got != "Monday, 30 November Late 23:30 No impact Resolved Full timeline" {
			t.Errorf("the day reads %q", got)
		}
		got := p.Texts("footer .notes p")[0]
		if got != "As of 30 Nov 2020, 23:30. No changes since. All times are in America/New York." {
			t.Errorf("the footer reads %q", got)
		}
		if got := p.All(".day summary time")[0].Attr("datetime"); got != "2020-12-01T04:30:00.000Z" {
			t.Errorf("datetime: %s", got)
		}
		if html := p.All("html")[0]; html.Attr("data-zone") != zone {
			t.Errorf("the zone is %s", html.Attr("data-zone"))
		}
		month := func() []string { return w.get("/status/acme/history", 200).Texts("h2") }
		if got := month(); !slices.Equal(got, []string{"November 2020"}) {
			t.Errorf("before midnight: %q", got)
		}
		w.get("/status/acme/history?month=2020-12", 404)
		w.clock.set(time.Date(2020, 12, 1, 5, 0, 0, 0, time.UTC))
		if got := w.get("/status/acme", 200).Texts(".day h3")[0]; got != "Tuesday, 1 December" {
			t.Errorf("after midnight: %q", got)
		}
		if got := month(); !slices.Equal(got, []string{"December 2020"}) {
			t.Errorf("after midnight: %q", got)
		}
		headings := w.get("/status/acme/history?month=2020-11", 200).Texts(".day h4")
		if !slices.Equal(headings, []string{"Late"}) {
			t.Errorf("in November: %q", headings)
		}
	})
}

// TestSystemMessages checks that messages of the system are in the language and the
// time zone of the page, and that people's messages are not changed.
func TestSystemMessages(t *testing.T) {
	run(t, func(w *fixture) {
		t, now := w.t, w.clock.now()
		c := w.component("acme", "Disk", kernel.StatusOperational)
		zone, language := "Europe/Berlin", "de"
		_, err := w.store.ChangePage(t.Context(), w.ws, "acme", func(p *statuspage.Page) error {
			p.TimeZone, p.Language = zone, language
			return nil
		})
		must(w, c, err)
		m := w.maintenance("acme", resource.Maintenance.From(statuspage.Maintenance{
			Title: "Upgrade", ScheduledFor: now.Add(time.Hour), ScheduledUntil: now.Add(3 * time.Hour),
			Components: statuspage.ComponentRefs(c.ID),
		}))
		w.clock.move(time.Hour)
		advance(w)
		u, err := w.store.PostMaintenanceUpdate(t.Context(), w.ws, m.ID,
			resource.MaintenanceUpdate.From(statuspage.MaintenanceUpdate{Message: "The maintenance has begun."}), "")
		must(w, u, err)
		w.clock.move(2 * time.Hour)
		advance(w)
		want := []string{"Die Wartung ist abgeschlossen.", "The maintenance has begun.", "Die Wartung hat begonnen."}
		got := w.get("/status/acme/maintenances/"+m.ID+"?lang=de", 200).Texts(".timeline .message")
		if !slices.Equal(got, want) {
			t.Errorf("in German: %q", got)
		}
		got = w.get("/status/acme/maintenances/"+m.ID+"?lang=en", 200).Texts(".timeline .message")
		if got[0] != "The maintenance is complete." || got[2] != got[1] {
			t.Errorf("in English: %q", got)
		}
		if got := w.get("/status/acme?lang=de", 200).One(t, ".excerpt"); got != want[0] {
			t.Errorf("on the page: %q", got)
		}
		if got := w.get("/status/acme/history?lang=de", 200).Texts(".message"); !slices.Equal(got, want) {
			t.Errorf("in the history: %q", got)
		}
		for _, path := range []string{
			"/status/acme/history.atom", "/status/acme/history.rss", "/status/acme/history.ics",
		} {
			got := strings.ReplaceAll(w.do("GET", path).Body.String(), "\r\n ", "")
			if !strings.Contains(got, want[0]) || strings.Contains(got, "complete.") {
				t.Errorf("%s: %s", path, got)
			}
		}
		document := w.do("GET", "/status/acme/api/v2/scheduled-maintenances.json").Body.String()
		if !strings.Contains(document, "The maintenance is complete.") || strings.Contains(document, want[0]) {
			t.Errorf("datetime: %s", document)
		}
	})
}

// TestTitleOfOutage checks that the title of an outage is in the visitor's
// language, and that a title by a person is not changed.
func TestTitleOfOutage(t *testing.T) {
	outage, _ := monitor.Monitor{MonitorConfig: monitor.MonitorConfig{Name: "Backup"}}.DownIncident(time.Now())
	edited := outage
	if _, err := edited.Change(func(i *statuspage.Incident) error {
		i.Title = "All of Backup is down"
		return nil
	}, statuspage.IncidentUpdate{}, nil, time.Now()); err != nil {
		t.Fatal(err)
	}
	human := statuspage.Incident{Title: "Everything is down"}
	for tag, want := range map[string]string{
		"en": outage.Title, "de": "Backup ist ausgefallen", "ar": "تعطّل \u2068Backup\u2069",
	} {
		l := i18ntest.Language(t, tag)
		if got := l.IncidentTitle(outage); got != want {
			t.Errorf("%s: %q, want %q", tag, got, want)
		}
		for _, inc := range []statuspage.Incident{edited, human} {
			if got := l.IncidentTitle(inc); got != inc.Title {
				t.Errorf("%s: %q, want %q", tag, got, inc.Title)
			}
		}
	}
}

// TestCanonicalLinksAreAbsolute checks the links for search engines: canonical links, links of previews, and links to
// other languages.
func TestCanonicalLinksAreAbsolute(t *testing.T) {
	run(t, func(w *fixture) {
		for path, canonical := range map[string]string{
			"/": "/status/acme", "/status/acme": "/status/acme", "/status/acme?lang=de": "/status/acme?lang=de",
			"/status/acme/history":         "/status/acme/history?month=2020-11",
			"/status/acme/history?lang=ar": "/status/acme/history?month=2020-11&lang=ar",
		} {
			p := w.get(path, 200)
			want := "http://localhost:8080" + canonical
			if links := p.All("link[rel=canonical]"); len(links) != 1 || links[0].Attr("href") != want {
				t.Errorf("%s: the canonical link is not %s", path, want)
			}
			for _, link := range p.All("meta[property=og:url]") {
				if got := link.Attr("content"); got != want {
					t.Errorf("%s: og:url is %s", path, got)
				}
			}
			for _, link := range p.All("link[rel=alternate][hreflang]") {
				if got := link.Attr("href"); !strings.HasPrefix(got, "http://localhost:8080/") {
					t.Errorf("%s: an alternate is %s", path, got)
				}
			}
		}
		if links := w.get("/status/acme", 200).All("meta[property=og:url]"); len(links) != 1 {
			t.Errorf("%d og:url", len(links))
		}
	})
}
