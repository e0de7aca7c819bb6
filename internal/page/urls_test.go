package page

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/allswell/allswell"
)

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
				if got := p.All("link[hreflang=" + tag + "]")[0].Attr("href"); got != want[i] {
					t.Errorf("%s in %s: %s, want %s", path, tag, got, want[i])
				}
			}
			if got := p.All("footer a[hreflang=de]")[0].Attr("href"); !strings.HasPrefix(got, "/") {
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
		if got := p.Texts(".day")[0]; got != "Monday, 30 November Late No impact Resolved 23:30" {
			t.Errorf("the day reads %q", got)
		}
		if got := p.Texts("footer .notes p")[0]; got != "As of 30 Nov 2020, 23:30 EST. No changes since. All times are in America/New York." {
			t.Errorf("the footer reads %q", got)
		}
		if got := p.All(".day .meta time")[0].Attr("datetime"); got != "2020-12-01T04:30:00.000Z" {
			t.Errorf("for programs: %s", got)
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
		if got := w.get("/status/acme/history?month=2020-11", 200).Texts(".day h4"); !slices.Equal(got, []string{"Late"}) {
			t.Errorf("in November: %q", got)
		}
	})
}
