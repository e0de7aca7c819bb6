package page

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/allswell/allswell"
)

// TestEveryAutoInEveryLanguage: no kind is left to the English that is stored.
func TestEveryAutoInEveryLanguage(t *testing.T) {
	zone := zoneOf(t, "Europe/Berlin")
	seen := map[string]string{}
	for _, l := range languages() {
		for _, kind := range allswell.AutoKinds {
			a := allswell.Auto{Kind: kind, Since: time.Date(2026, 11, 21, 20, 15, 40, 0, time.UTC), Interval: 5 * time.Minute, Lasted: 6 * time.Minute}
			s := said{a.Message(), a}
			for _, text := range []string{s.text(l, zone), string(s.html(l, zone)), s.excerpt(l, zone)} {
				if found := leftovers(text); len(found) > 0 || strings.Contains(text, "{") {
					t.Errorf("%s: %s: %q", l.Tag, kind, text)
				}
				if other, is := seen[text]; is && other != l.Tag+string(kind) {
					t.Errorf("%s: %s is like %s: %q", l.Tag, kind, other, text)
				}
				seen[text] = l.Tag + string(kind)
			}
			silent := kind == allswell.AutoSilent
			if got := strings.Contains(string(s.html(l, zone)), `<time datetime="2026-11-21T20:15:40.000Z">`); got != silent {
				t.Errorf("%s: %s: %s", l.Tag, kind, s.html(l, zone))
			}
			if got := strings.Contains(s.text(l, zone), "21:15"); got != silent {
				t.Errorf("%s: %s: %s", l.Tag, kind, s.text(l, zone))
			}
		}
	}
	de := languageOf(t, "de")
	written := said{message: "The maintenance has *begun*."}
	later := said{"Something *new*.", allswell.Auto{Kind: "of_a_later_version"}}
	for s, want := range map[said]string{written: "<p>The maintenance has <em>begun</em>.</p>", later: "<p>Something <em>new</em>.</p>"} {
		if got := string(s.html(de, zone)); got != want {
			t.Errorf("%+v: %s, want %s", s, got, want)
		}
	}
}

// TestAutoOnThePage: what the service tells by itself is in the language and the
// zone of the page, wherever it stands there; what people tell stays as it is.
func TestAutoOnThePage(t *testing.T) {
	run(t, func(w *world) {
		t, now := w.t, w.clock.now()
		c := w.component("acme", "Disk", allswell.Operational)
		zone, language := "Europe/Berlin", "de"
		_, err := w.store.ChangePage(t.Context(), w.ws, "acme", allswell.PageChange{PageLook: allswell.PageLook{TimeZone: &zone, Language: &language}})
		must(w, c, err)
		m := w.maintenance("acme", allswell.NewMaintenance{Title: "Upgrade",
			ScheduledFor: now.Add(time.Hour), ScheduledUntil: now.Add(3 * time.Hour), Components: []string{c.ID}})
		w.clock.move(time.Hour)
		advance(w)
		u, err := w.store.PostMaintenanceUpdate(t.Context(), w.ws, m.ID, "The maintenance has begun.", "")
		must(w, u, err)
		w.clock.move(2 * time.Hour)
		advance(w)
		want := []string{"Die Wartung ist abgeschlossen.", "The maintenance has begun.", "Die Wartung hat begonnen."}
		got := w.get("/status/acme/maintenances/"+m.ID+"?lang=de", 200).texts(".timeline .message")
		if !slices.Equal(got, want) {
			t.Errorf("in German: %q", got)
		}
		if got := w.get("/status/acme/maintenances/"+m.ID+"?lang=en", 200).texts(".timeline .message"); got[0] != "The maintenance is complete." || got[2] != got[1] {
			t.Errorf("in English: %q", got)
		}
		for _, path := range []string{"/status/acme?lang=de", "/status/acme/history?lang=de"} {
			if got := w.get(path, 200).one(t, ".excerpt"); got != want[0] {
				t.Errorf("%s: %q", path, got)
			}
		}
		for _, path := range []string{"/status/acme/history.atom", "/status/acme/history.rss", "/status/acme/history.ics"} {
			if got := strings.ReplaceAll(w.do("GET", path).Body.String(), "\r\n ", ""); !strings.Contains(got, want[0]) || strings.Contains(got, "complete.") {
				t.Errorf("%s: %s", path, got)
			}
		}
		if got := w.do("GET", "/status/acme/api/v2/scheduled-maintenances.json").Body.String(); !strings.Contains(got, "The maintenance is complete.") || strings.Contains(got, want[0]) {
			t.Errorf("for programs: %s", got)
		}
	})
}

// TestDownInEveryLanguage: the title that the service gives to an outage is in
// the visitor's language, and what people have written stays.
func TestDownInEveryLanguage(t *testing.T) {
	outage := allswell.Incident{Title: allswell.Monitor{Name: "Backup"}.DownIncident(time.Now()).Title, OutageID: "out"}
	renamed := allswell.Incident{Title: "No backups", OutageID: "out"}
	human := allswell.Incident{Title: "Everything is down"}
	for tag, want := range map[string]string{"en": outage.Title, "de": "Backup ist ausgefallen", "ar": "تعطّل \u2068Backup\u2069"} {
		l := languageOf(t, tag)
		if got := titleOf(l, outage); got != want {
			t.Errorf("%s: %q, want %q", tag, got, want)
		}
		for _, inc := range []allswell.Incident{renamed, human} {
			if got := titleOf(l, inc); got != inc.Title {
				t.Errorf("%s: %q, want %q", tag, got, inc.Title)
			}
		}
		v := viewIncident(whereOf(allswell.Page{Slug: "acme"}, facet{lang: l}), outage, extent{updates: 1, room: newRoom(), lines: newRoom()})
		if v.Title != want {
			t.Errorf("%s: on the page %q", tag, v.Title)
		}
	}
}
