package view

import (
	"slices"
	"testing"
	"time"

	"github.com/allswell/allswell"
	"github.com/allswell/allswell/internal/htmltest"
	"github.com/allswell/allswell/internal/i18n/i18ntest"
)

// TestNamesInChangesAreIsolated checks that a component's name does not reorder the
// text around it.
func TestNamesInChangesAreIsolated(t *testing.T) {
	turning := allswell.AffectedChange{Name: "a\u202eb\u2066 <i>c", Old: allswell.StatusDegraded, New: allswell.StatusMajorOutage}
	arabic := allswell.AffectedChange{Name: "بوابة", New: allswell.StatusDegraded}
	inc := allswell.Incident{ID: "1", Title: "Dark", Resolved: true, CreatedAt: day, ResolvedAt: day,
		Updates: []allswell.IncidentUpdate{{Number: 1, Message: "x", State: allswell.IncidentResolved, CreatedAt: day, Affected: []allswell.AffectedChange{turning, arabic}}}}
	for lang, want := range map[string][]string{
		"en": {"ab <i>c: Major Outage, before that Degraded", "بوابة: Degraded"},
		"de": {"ab <i>c: Schwerer Ausfall, vorher Beeinträchtigt", "بوابة: Beeinträchtigt"},
	} {
		at := englishPresentation()
		at.lang = i18ntest.Language(t, lang)
		html, err := incidentModel(at, allswell.Page{Slug: "acme", Name: "Acme"}, allswell.StatusOperational, inc).Render(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		p := htmltest.Parse(t, string(html))
		checkMarkup(t, lang, p)
		if got := p.Texts(".changes li span"); !slices.Equal(got, want) {
			t.Errorf("%s: %q, want %q", lang, got, want)
		}
		if got := p.Texts(".changes bdi"); !slices.Equal(got, []string{"ab <i>c", "بوابة"}) {
			t.Errorf("%s: %q are isolated", lang, got)
		}
	}
}

// TestIncidentTitle checks that the title of an outage is in the language of the
// page.
func TestIncidentTitle(t *testing.T) {
	outage, first := allswell.Monitor{MonitorConfig: allswell.MonitorConfig{Name: "Backup"}}.DownIncident(time.Now())
	outage.Open(first, time.Now())
	for tag, want := range map[string]string{"en": outage.Title, "de": "Backup ist ausgefallen", "ar": "تعطّل \u2068Backup\u2069"} {
		at := Present(allswell.Page{Slug: "acme"}, Variant{Language: i18ntest.Language(t, tag)})
		v := viewIncident(at, outage, detail{updates: 1, budget: newBudget(), lines: newBudget()})
		if v.Title != want {
			t.Errorf("%s: %q, want %q", tag, v.Title, want)
		}
	}
}
