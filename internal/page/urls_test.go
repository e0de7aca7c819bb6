package page

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/allswell/allswell"
	"github.com/allswell/allswell/internal/i18n"
)

func TestLinks(t *testing.T) {
	de := i18n.Find("de")
	month := time.Date(2020, 11, 1, 0, 0, 0, 0, time.UTC)
	for _, c := range []struct {
		page allswell.Page
		f    variant
		want []string // home, its canonical address, a month, that in English
	}{
		{allswell.Page{Slug: "acme"}, variant{lang: de}, []string{"/status/acme", "/status/acme", "/status/acme/history?month=2020-11", "/status/acme/history?month=2020-11&lang=en"}},
		{allswell.Page{Slug: "acme"}, variant{lang: de, chosen: true},
			[]string{"/status/acme?lang=de", "/status/acme?lang=de", "/status/acme/history?month=2020-11&lang=de", "/status/acme/history?month=2020-11&lang=en"}},
		{allswell.Page{Slug: "acme", Host: "a.example"}, variant{lang: de},
			[]string{"/status/acme", "https://a.example/", "/status/acme/history?month=2020-11", "/status/acme/history?month=2020-11&lang=en"}},
		{allswell.Page{Slug: "acme", Host: "a.example"}, variant{lang: de, chosen: true, own: true},
			[]string{"/?lang=de", "https://a.example/?lang=de", "/history?month=2020-11&lang=de", "/history?month=2020-11&lang=en"}},
		{allswell.Page{Slug: "acme", Host: "a.example"}, variant{lang: de, own: true},
			[]string{"/", "https://a.example/", "/history?month=2020-11", "/history?month=2020-11&lang=en"}},
	} {
		at := presentationOf(c.page, c.f)
		got := []string{at.home(), at.canonical("/"), at.month(month), at.inLanguage(monthPath(month), i18n.Find("en"))}
		if !slices.Equal(got, c.want) {
			t.Errorf("%+v: %q, want %q", c.f, got, c.want)
		}
	}
}

// TestAlternates: search engines are told each language by an absolute address,
// presentation the page is found for good.
func TestAlternates(t *testing.T) {
	run(t, func(w *world) {
		t := w.t
		w.page("other", "Other")
		w.domain("other", "status.other.example")
		for path, want := range map[string][2]string{
			"/":                                  {"http://localhost:8080/?lang=de", "http://localhost:8080/"},
			"/status/acme":                       {"http://localhost:8080/status/acme?lang=de", "http://localhost:8080/status/acme"},
			"/status/acme/history?month=2020-11": {"http://localhost:8080/status/acme/history?month=2020-11&lang=de", "http://localhost:8080/status/acme/history?month=2020-11"},
			"/status/other":                      {"https://status.other.example/?lang=de", "https://status.other.example/"},
			"/status/other/history?month=2020-11": {"https://status.other.example/history?month=2020-11&lang=de",
				"https://status.other.example/history?month=2020-11"},
		} {
			p := w.get(path, 200)
			for i, tag := range []string{"de", "x-default"} {
				if got := p.all("link[hreflang=" + tag + "]")[0].attr("href"); got != want[i] {
					t.Errorf("%s in %s: %s, want %s", path, tag, got, want[i])
				}
			}
			if got := p.all("footer a[hreflang=de]")[0].attr("href"); !strings.HasPrefix(got, "/") {
				t.Errorf("%s: visitors are led elsewhere: %s", path, got)
			}
		}
	})
}

// TestZone looks at a page whose days begin five hours after those of UTC.
func TestZone(t *testing.T) {
	run(t, func(w *world) {
		t := w.t
		zone := "America/New_York"
		page, err := w.store.ChangePage(t.Context(), w.ws, "acme", allswell.PageChange{PageSettings: allswell.PageSettings{TimeZone: &zone}})
		must(w, page, err)
		w.clock.set(time.Date(2020, 12, 1, 4, 30, 0, 0, time.UTC)) // 23:30 on the last of November
		w.incident("acme", allswell.NewIncident{Title: "Late", State: allswell.IncidentResolved})
		p := w.get("/status/acme", 200)
		if got := p.texts(".day")[0]; got != "Monday, 30 November Late No impact Resolved 23:30" {
			t.Errorf("the day reads %q", got)
		}
		if got := p.texts("footer .notes p")[0]; got != "As of 30 Nov 2020, 23:30 EST. No changes since. All times are in America/New York." {
			t.Errorf("the footer reads %q", got)
		}
		if got := p.all(".day .meta time")[0].attr("datetime"); got != "2020-12-01T04:30:00.000Z" {
			t.Errorf("for programs: %s", got)
		}
		if html := p.all("html")[0]; html.attr("data-zone") != zone {
			t.Errorf("the zone is %s", html.attr("data-zone"))
		}
		month := func() []string { return w.get("/status/acme/history", 200).texts("h2") }
		if got := month(); !slices.Equal(got, []string{"November 2020"}) {
			t.Errorf("before midnight: %q", got)
		}
		w.get("/status/acme/history?month=2020-12", 404)
		w.clock.set(time.Date(2020, 12, 1, 5, 0, 0, 0, time.UTC))
		if got := w.get("/status/acme", 200).texts(".day h3")[0]; got != "Tuesday, 1 December" {
			t.Errorf("after midnight: %q", got)
		}
		if got := month(); !slices.Equal(got, []string{"December 2020"}) {
			t.Errorf("after midnight: %q", got)
		}
		if got := w.get("/status/acme/history?month=2020-11", 200).texts(".day h4"); !slices.Equal(got, []string{"Late"}) {
			t.Errorf("in November: %q", got)
		}
	})
}
