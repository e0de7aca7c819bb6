package page

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/allswell/allswell"
	"github.com/allswell/allswell/internal/i18n/i18ntest"
)

// TestOneRunOfADay: incidents and maintenances of a day are in one order, and the
// heading names what there is.
func TestOneRunOfADay(t *testing.T) {
	p := allswell.PageContents{Page: allswell.Page{Slug: "acme", Name: "Acme"}}
	for hour, title := range []string{"night", "morning", "noon", "evening"} {
		at := day.Add(time.Duration(hour-10) * time.Hour)
		if hour%2 == 0 {
			p.Incidents = append(p.Incidents, allswell.Incident{ID: title, Title: title, Resolved: true, CreatedAt: at, ResolvedAt: at.Add(time.Minute)})
			continue
		}
		p.Maintenances = append(p.Maintenances, allswell.Maintenance{ID: title, Title: title, State: allswell.MaintenanceCompleted,
			ScheduledFor: at, ScheduledUntil: at.Add(time.Hour), BegunAt: at, EndedAt: at.Add(time.Hour)})
	}
	page := func(p allswell.PageContents) tree {
		html, err := render(t.Context(), statusScreen(english(), p.Summarize(day)))
		if err != nil {
			t.Fatal(err)
		}
		return parse(t, string(html))
	}
	shown := page(p)
	if got := shown.texts(".past h4"); !slices.Equal(got, []string{"evening", "noon", "morning", "night"}) {
		t.Errorf("the day reads %q", got)
	}
	if got := shown.one(t, "#past"); got != "Past incidents and maintenance" {
		t.Errorf("the heading reads %q", got)
	}
	p.Maintenances = nil
	if got := page(p).one(t, "#past"); got != "Past incidents" {
		t.Errorf("without maintenance it reads %q", got)
	}
	views := viewDays(english(), []allswell.Day{{Date: day, Incidents: p.Incidents, Maintenances: p.Maintenances}}, 1, extent{names: maxNamed, budget: newBudget(), lines: newBudget()})
	if len(views[0].Past) != 1 || views[0].More != 1 {
		t.Errorf("of two, one may be shown: %+v", views[0])
	}
}

// TestTimelinesOfAMonth: each incident and each maintenance has its timeline in
// the history, folded, newest first; where it is too long, or the month too
// busy, a link leads to the rest.
func TestTimelinesOfAMonth(t *testing.T) {
	text := strings.Repeat("It does not work yet. ", 50)
	contents := allswell.PageContents{Page: allswell.Page{Slug: "acme", Name: "Acme", CreatedAt: day.AddDate(0, 0, -20)}}
	for i := range 300 {
		inc := allswell.Incident{ID: fmt.Sprint("inc_", i), Title: "Down", Resolved: true, CreatedAt: day.Add(-time.Duration(i) * time.Hour), ResolvedAt: day}
		for n := range 1 + i%30 {
			inc.Updates = append(inc.Updates, allswell.IncidentUpdate{Number: n + 1, Message: fmt.Sprint(n+1, ": ", text), State: allswell.IncidentResolved, CreatedAt: day})
		}
		contents.Incidents = append(contents.Incidents, inc)
	}
	contents.Maintenances = []allswell.Maintenance{{ID: "mnt_1", Title: "Upgrade", State: allswell.MaintenanceCompleted,
		ScheduledFor: day, ScheduledUntil: day.Add(time.Hour), BegunAt: day.Add(time.Minute), EndedAt: day.Add(time.Hour),
		Updates: []allswell.MaintenanceUpdate{{Number: 1, Message: "First."}, {Number: 2, Message: "Last."}}}, {
		ID: "mnt_2", Title: "Silent", State: allswell.MaintenanceCompleted, BegunAt: day, EndedAt: day}}
	sc := historyScreen(english(), contents.Page, allswell.StatusOperational, month{monthOf(day, time.UTC), contents.Page.CreatedAt, day, contents})
	html, err := render(t.Context(), sc)
	if err != nil {
		t.Fatal(err)
	}
	if len(html) > monthBudget*3/2 {
		t.Errorf("the month takes %d bytes", len(html))
	}
	p := parse(t, string(html))
	items := p.all(".past li")
	timelines := p.all(".past details")
	if got := timelines[0]; got.attr("data-key") != "/status/acme/maintenances/mnt_1" || got.attr("open") != "" ||
		got.one(t, "summary") != "Timeline, 2 updates" || !slices.Equal(got.texts(".message"), []string{"Last.", "First."}) {
		t.Errorf("the maintenance's: %q", got.text())
	}
	if text := p.text(); !strings.Contains(text, "Silent Maintenance Completed 15:04 Down") {
		t.Errorf("without a timeline, and over at once: %q", text[:4000])
	}
	long := timelines[30] // of the incident with 30 updates
	if got := long.texts(".message"); len(got) != maxUpdates || !strings.HasPrefix(got[0], "30: ") || long.one(t, ".more") != "5 earlier updates" {
		t.Errorf("a long one has %d updates: %s", len(got), long.text()[:100])
	}
	last := items[len(items)-1]
	if len(timelines) >= 300 || len(last.all("details")) > 0 || last.one(t, ".more") != "Timeline, 30 updates" || last.all(".more a")[0].attr("href") != "/status/acme/incidents/inc_299" {
		t.Errorf("%d timelines; where there is no room: %q", len(timelines), last.text())
	}
}

// TestNamesInChanges: a component's name stands on its own in the middle of a line
// of ours, whichever way it runs, and turns nothing that follows.
func TestNamesInChanges(t *testing.T) {
	turning := allswell.AffectedChange{Name: "a\u202eb\u2066 <i>c", Old: allswell.StatusDegraded, New: allswell.StatusMajorOutage}
	arabic := allswell.AffectedChange{Name: "بوابة", New: allswell.StatusDegraded}
	inc := allswell.Incident{ID: "1", Title: "Dark", Resolved: true, CreatedAt: day, ResolvedAt: day,
		Updates: []allswell.IncidentUpdate{{Number: 1, Message: "x", State: allswell.IncidentResolved, CreatedAt: day, Affected: []allswell.AffectedChange{turning, arabic}}}}
	for lang, want := range map[string][]string{
		"en": {"ab <i>c: Major Outage, before that Degraded", "بوابة: Degraded"},
		"de": {"ab <i>c: Schwerer Ausfall, vorher Beeinträchtigt", "بوابة: Beeinträchtigt"},
	} {
		at := english()
		at.lang = i18ntest.Language(t, lang)
		html, err := render(t.Context(), incidentScreen(at, allswell.Page{Slug: "acme", Name: "Acme"}, allswell.StatusOperational, incidentPart{Incident: inc}, day))
		if err != nil {
			t.Fatal(err)
		}
		p := parse(t, string(html))
		checkMarkup(t, lang, p)
		if got := p.texts(".changes li span"); !slices.Equal(got, want) {
			t.Errorf("%s: %q, want %q", lang, got, want)
		}
		if got := p.texts(".changes bdi"); !slices.Equal(got, []string{"ab <i>c", "بوابة"}) {
			t.Errorf("%s: %q are on their own", lang, got)
		}
	}
}
