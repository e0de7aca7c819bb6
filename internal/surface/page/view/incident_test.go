package view

import (
	"slices"
	"testing"
	"time"

	"github.com/allswell/allswell/internal/domain/kernel"
	"github.com/allswell/allswell/internal/domain/monitor"
	"github.com/allswell/allswell/internal/domain/statuspage"
	"github.com/allswell/allswell/internal/shared/i18n/i18ntest"
	"github.com/allswell/allswell/internal/surface/htmltest"
)

// TestNamesInChangesAreIsolated checks that a component's name does not reorder the
// text around it.
func TestNamesInChangesAreIsolated(t *testing.T) {
	turning := statuspage.AffectedChange{
		Name: "a\u202eb\u2066 <i>c", Old: kernel.StatusDegraded, New: kernel.StatusMajorOutage,
	}
	arabic := statuspage.AffectedChange{Name: "بوابة", New: kernel.StatusDegraded}
	inc := statuspage.Incident{ID: "1", Title: "Dark", Resolved: true, CreatedAt: day, ResolvedAt: day,
		Updates: []statuspage.IncidentUpdate{
			{
				Number: 1, Message: "x", State: statuspage.IncidentResolved, CreatedAt: day,
				Affected: []statuspage.AffectedChange{turning, arabic},
			},
		}}
	for lang, want := range map[string][]string{
		"en": {"ab <i>c: Degraded → Major Outage", "بوابة: Degraded"},
		"de": {"ab <i>c: Schwerer Ausfall, vorher Beeinträchtigt", "بوابة: Beeinträchtigt"},
	} {
		at := englishPresentation()
		at.lang = i18ntest.Language(t, lang)
		html, err := incidentModel(at, statuspage.Page{Slug: "acme", Name: "Acme"}, kernel.StatusOperational,
			inc).Render(t.Context())
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
	outage, first := monitor.Monitor{MonitorConfig: monitor.MonitorConfig{Name: "Backup"}}.DownIncident(time.Now())
	outage.Open(first, time.Now())
	for tag, want := range map[string]string{
		"en": outage.Title, "de": "Backup ist ausgefallen", "ar": "تعطّل \u2068Backup\u2069",
	} {
		at := Present(statuspage.Page{Slug: "acme"}, Variant{Language: i18ntest.Language(t, tag)})
		v := viewIncident(at, outage, detail{updates: 1, budget: newBudget(), lines: newBudget()})
		if v.Title != want {
			t.Errorf("%s: %q, want %q", tag, v.Title, want)
		}
	}
}
