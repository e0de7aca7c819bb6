package page

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/allswell/allswell"
	"github.com/allswell/allswell/internal/i18n/i18ntest"
)

// TestAutoOnThePage: what the service tells by itself is in the language and the
// zone of the page, wherever it stands there; what people tell stays as it is.
func TestAutoOnThePage(t *testing.T) {
	run(t, func(w *world) {
		t, now := w.t, w.clock.now()
		c := w.component("acme", "Disk", allswell.StatusOperational)
		zone, language := "Europe/Berlin", "de"
		_, err := w.store.ChangePage(t.Context(), w.ws, "acme", allswell.PageChange{PageSettings: allswell.PageSettings{TimeZone: &zone, Language: &language}})
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
		got := w.get("/status/acme/maintenances/"+m.ID+"?lang=de", 200).Texts(".timeline .message")
		if !slices.Equal(got, want) {
			t.Errorf("in German: %q", got)
		}
		if got := w.get("/status/acme/maintenances/"+m.ID+"?lang=en", 200).Texts(".timeline .message"); got[0] != "The maintenance is complete." || got[2] != got[1] {
			t.Errorf("in English: %q", got)
		}
		for _, path := range []string{"/status/acme?lang=de", "/status/acme/history?lang=de"} {
			if got := w.get(path, 200).One(t, ".excerpt"); got != want[0] {
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
	outage := allswell.Monitor{Name: "Backup"}.DownIncident(time.Now()).Open("page", "id", "update", time.Now())
	edited, title := outage, "All of Backup is down"
	edited.Apply(allswell.IncidentChange{Title: &title}, time.Now())
	human := allswell.Incident{Title: "Everything is down"}
	for tag, want := range map[string]string{"en": outage.Title, "de": "Backup ist ausgefallen", "ar": "تعطّل \u2068Backup\u2069"} {
		l := i18ntest.Language(t, tag)
		if got := l.IncidentTitle(outage); got != want {
			t.Errorf("%s: %q, want %q", tag, got, want)
		}
		for _, inc := range []allswell.Incident{edited, human} {
			if got := l.IncidentTitle(inc); got != inc.Title {
				t.Errorf("%s: %q, want %q", tag, got, inc.Title)
			}
		}
	}
}
