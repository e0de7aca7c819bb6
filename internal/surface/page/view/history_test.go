package view

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/allswell/allswell/internal/domain/kernel"
	"github.com/allswell/allswell/internal/domain/statuspage"
	"github.com/allswell/allswell/internal/surface/htmltest"
)

// TestIncidentsAndMaintenancesOfDayAreSorted checks that the incidents and maintenances of a day
// are sorted together, and that the heading names both.
func TestIncidentsAndMaintenancesOfDayAreSorted(t *testing.T) {
	p := statuspage.PageContents{Page: statuspage.Page{Slug: "acme", Name: "Acme"}}
	for hour, title := range []string{"night", "morning", "noon", "evening"} {
		at := day.Add(time.Duration(hour-10) * time.Hour)
		if hour%2 == 0 {
			p.Incidents = append(p.Incidents, statuspage.Incident{
				ID: title, Title: title, Resolved: true, CreatedAt: at, ResolvedAt: at.Add(time.Minute),
			})
			continue
		}
		p.Maintenances = append(p.Maintenances, statuspage.Maintenance{
			ID: title, Title: title, State: statuspage.MaintenanceCompleted,
			ScheduledFor: at, ScheduledUntil: at.Add(time.Hour), BegunAt: at, EndedAt: at.Add(time.Hour),
		})
	}
	page := func(p statuspage.PageContents) htmltest.Tree {
		html, err := statusModel(englishPresentation(), p.Summarize(day)).Render(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		return htmltest.Parse(t, string(html))
	}
	shown := page(p)
	if got := shown.Texts(".past h4"); !slices.Equal(got, []string{"evening", "noon", "morning", "night"}) {
		t.Errorf("the day reads %q", got)
	}
	if got := shown.One(t, "#past"); got != "Past incidents and maintenance" {
		t.Errorf("the heading reads %q", got)
	}
	p.Maintenances = nil
	if got := page(p).One(t, "#past"); got != "Past incidents" {
		t.Errorf("without maintenance it reads %q", got)
	}
	views := viewDays(englishPresentation(),
		[]statuspage.Day{{Date: day, Incidents: p.Incidents, Maintenances: p.Maintenances}}, 1,
		detail{names: maxNamed, budget: newBudget(), lines: newBudget()})
	if len(views[0].Past) != 1 || views[0].More != 1 {
		t.Errorf("with a limit of one: %+v", views[0])
	}
}

// TestTimelinesOfAMonth checks that each incident and maintenance has a folded
// timeline, newest first, and a link to the rest if the timeline is too long or the
// month too busy.
func TestTimelinesOfAMonth(t *testing.T) {
	text := strings.Repeat("It does not work yet. ", 50)
	contents := statuspage.PageContents{
		Page: statuspage.Page{Slug: "acme", Name: "Acme", CreatedAt: day.AddDate(0, 0, -20)},
	}
	for i := range 300 {
		inc := statuspage.Incident{
			ID: fmt.Sprint("inc_", i), Title: "Down", Resolved: true,
			CreatedAt: day.Add(-time.Duration(i) * time.Hour), ResolvedAt: day,
		}
		for n := range 1 + i%30 {
			inc.Updates = append(inc.Updates, statuspage.IncidentUpdate{
				Number: n + 1, Message: fmt.Sprint(n+1, ": ", text), State: statuspage.IncidentResolved,
				CreatedAt: day,
			})
		}
		contents.Incidents = append(contents.Incidents, inc)
	}
	contents.Maintenances = []statuspage.Maintenance{
		{ID: "mnt_1", Title: "Upgrade", State: statuspage.MaintenanceCompleted,
			ScheduledFor: day, ScheduledUntil: day.Add(time.Hour), BegunAt: day.Add(time.Minute),
			EndedAt: day.Add(time.Hour),
			Updates: []statuspage.MaintenanceUpdate{{Number: 1, Message: "First."}, {Number: 2, Message: "Last."}}}, {
			ID: "mnt_2", Title: "Silent", State: statuspage.MaintenanceCompleted, BegunAt: day, EndedAt: day},
	}
	sc := historyModel(englishPresentation(), kernel.StatusOperational, Month{
		MonthStart(day, time.UTC), contents.Page.CreatedAt, day, contents,
	})
	html, err := sc.Render(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if len(html) > monthBudget*3/2 {
		t.Errorf("the month takes %d bytes", len(html))
	}
	p := htmltest.Parse(t, string(html))
	items := p.All(".past details")
	got := items[0]
	if got.Attr("data-key") != "/status/acme/maintenances/mnt_1" || got.Attr("open") != "" ||
		got.One(t, "summary") != "Upgrade 15:05 to 16:04 59 minutes" ||
		got.All(".more a")[0].Attr("href") != "/status/acme/maintenances/mnt_1" ||
		!slices.Equal(got.Texts(".message"), []string{"Last.", "First."}) {
		t.Errorf("the timeline of the maintenance: %q", got.Text())
	}
	if text := p.Text(); !strings.Contains(text, "Silent 15:04 Maintenance Completed Full timeline Down") {
		t.Errorf("a maintenance without updates or duration: %q", text[:4000])
	}
	long := items[31] // the incident with 30 updates
	messages := long.Texts(".message")
	if len(messages) != maxUpdates || !strings.HasPrefix(messages[0], "30: ") ||
		long.One(t, ".more") != "Full timeline" {
		t.Errorf("a long timeline has %d updates: %s", len(messages), long.Text()[:100])
	}
	last := items[len(items)-1]
	timelines := len(p.All(".past .timeline"))
	if timelines >= 300 || len(last.All(".timeline")) > 0 ||
		last.All(".more a")[0].Attr("href") != "/status/acme/incidents/inc_299" {
		t.Errorf("%d timelines; beyond the budget: %q", timelines, last.Text())
	}
}

// TestHistoryOfBusyMonth checks that a month with more incidents than are loaded
// says so.
func TestHistoryOfBusyMonth(t *testing.T) {
	p, page := largestPage()
	p.Incidents = p.Incidents[:250]
	p.Since = day.Add(-5 * 24 * time.Hour)
	s := historyModel(englishPresentation(), kernel.StatusOperational, Month{
		MonthStart(day, time.UTC), page.CreatedAt, day, p,
	})
	out, err := s.Render(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(out), "are not shown") {
		t.Error("the omitted incidents are not mentioned")
	}
	if days := s.body.(historyBody).Days; days[len(days)-1].Date != "16–20 Nov" {
		t.Errorf("the days end with %q, want those that are loaded completely", days[len(days)-1].Date)
	}
}

// TestEntriesOfEarlierMonths checks that what began before a month and went on in it has a heading of
// its own, with the dates, and that the days are not called free of incidents.
func TestEntriesOfEarlierMonths(t *testing.T) {
	month := MonthStart(day, time.UTC)
	p := statuspage.PageContents{Page: statuspage.Page{Slug: "acme", Name: "Acme", CreatedAt: day.AddDate(0, -3, 0)}}
	began := month.Add(-30 * time.Hour)
	p.Incidents = []statuspage.Incident{
		{ID: "long", Title: "Long", Resolved: true, CreatedAt: began, ResolvedAt: month.Add(26 * time.Hour)},
	}
	p.Maintenances = []statuspage.Maintenance{{ID: "mnt_1", Title: "Night", State: statuspage.MaintenanceCompleted,
		ScheduledFor: began, ScheduledUntil: month.Add(time.Hour), BegunAt: began.Add(29 * time.Hour),
		EndedAt: month.Add(time.Hour)}}
	html, err := historyModel(englishPresentation(), kernel.StatusOperational, Month{
		month, p.Page.CreatedAt, day, p,
	}).Render(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	shown := htmltest.Parse(t, string(html))
	got := shown.Texts(".day h3")
	if !slices.Equal(got, []string{"3–21 Nov", "1–2 Nov", "Began before November 2020"}) {
		t.Errorf("the headings are %q", got)
	}
	got = shown.Texts(".past summary")
	if !slices.Equal(
		got,
		[]string{"Night 31 Oct, 23:00 to 1 Nov, 01:00 2 hours", "Long 30 Oct, 18:00 to 2 Nov, 02:00 2 days 8 hours"},
	) {
		t.Errorf("the entries are %q", got)
	}
	if got := shown.Texts(".calm-days .quiet"); !slices.Equal(got, []string{"No incidents", "No new incidents"}) {
		t.Errorf("the days read %q", got)
	}
}
