package view

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/allswell/allswell/internal/domain/kernel"
	"github.com/allswell/allswell/internal/domain/statuspage"
	"github.com/allswell/allswell/internal/shared/i18n"
	"github.com/allswell/allswell/internal/shared/i18n/i18ntest"
	"github.com/allswell/allswell/internal/surface/htmltest"
)

// TestCountsText checks that unknown components do not count as failing.
func TestCountsText(t *testing.T) {
	const (
		ok, bad, unknown = kernel.StatusOperational, kernel.StatusMajorOutage, kernel.StatusUnknown
	)
	for _, c := range []struct {
		statuses []kernel.Status
		want     string
	}{
		{nil, ""},
		{[]kernel.Status{ok, ok}, ""},
		{[]kernel.Status{bad}, ""},
		{[]kernel.Status{unknown, unknown}, ""},
		{[]kernel.Status{ok, bad, bad}, "1 of 3 components operational"},
		{[]kernel.Status{ok, ok, unknown}, "2 of 3 components operational · 1 unknown"},
		{[]kernel.Status{bad, unknown, unknown}, "0 of 3 components operational · 2 unknown"},
	} {
		var p statuspage.PageContents
		for i, status := range c.statuses {
			p.Components = append(p.Components, statuspage.Component{ID: fmt.Sprint(i), Baseline: status})
		}
		if got := countsText(i18ntest.Language(t, "en"), p.Summarize(day)); got != c.want {
			t.Errorf("%v: %q, want %q", c.statuses, got, c.want)
		}
	}
}

// TestUptimesCoverTheSameDays checks that the uptimes of the page, its groups and its
// components cover the same days, and name them.
func TestUptimesCoverTheSameDays(t *testing.T) {
	p := pageWithOutages(10, barsNow)
	for _, l := range i18n.All() {
		out, err := statusModel(Presentation{base: "/status/acme", lang: l, zone: time.UTC},
			p.Summarize(barsNow)).Render(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		page := htmltest.Parse(t, string(out))
		for place, want := range map[string]int{".beside": 1, ".group .figure": 15} {
			for _, days := range barSpans {
				got := page.Texts(fmt.Sprint(place, " .of-", days))
				if len(got) != want {
					t.Errorf("%s: %s has %d figures of %d days, want %d", l.Tag, place, len(got), days, want)
				}
				for _, figure := range got {
					if !strings.HasSuffix(figure, l.T("bars.over", "n", days)) || !strings.Contains(figure, "%") {
						t.Errorf("%s: %s has the figure %q of %d days", l.Tag, place, figure, days)
					}
				}
			}
		}
	}
}

// TestActiveIncidentsByLatestUpdate checks that the incident with the latest update
// is first on the page, at its components, and on the page of a component.
func TestActiveIncidentsByLatestUpdate(t *testing.T) {
	p := statuspage.PageContents{
		Page:       statuspage.Page{ID: "page_1", Slug: "acme", Name: "Acme", CreatedAt: day.AddDate(0, -1, 0)},
		Components: []statuspage.Component{{ID: "comp_1", Name: "Checkout", Baseline: kernel.StatusOperational}},
		AsOf:       day,
	}
	for i, written := range []int{5, 1, 9} { // minutes ago; the first is the newest
		began := day.Add(-time.Duration(10+i) * time.Minute)
		p.Incidents = append(p.Incidents, statuspage.Incident{
			ID: fmt.Sprint(i), Title: fmt.Sprintf("Written %d minutes ago", written),
			State: statuspage.IncidentIdentified, CreatedAt: began,
			Updates: []statuspage.IncidentUpdate{
				{Number: 1, CreatedAt: began}, {Number: 2, CreatedAt: day.Add(-time.Duration(written) * time.Minute)},
			},
			Affected: []statuspage.AffectedComponent{{ComponentID: "comp_1", Status: kernel.StatusDegraded}},
		})
	}
	want := []string{"Written 1 minutes ago", "Written 5 minutes ago", "Written 9 minutes ago"}
	sum := p.Summarize(day)
	for place, s := range map[string]Model{
		".incident h3": statusModel(englishPresentation(), sum),
		".concern":     statusModel(englishPresentation(), sum),
		"article h3":   componentModel(englishPresentation(), sum, p.Components[0], p),
	} {
		out, err := s.Render(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if got := htmltest.Parse(t, string(out)).Texts(place); !slices.Equal(got, want) {
			t.Errorf("%s: %q, want %q", place, got, want)
		}
	}
}

// TestLimitsOfStatusPage has more of everything than a page shows, and checks that
// links lead to the rest.
func TestLimitsOfStatusPage(t *testing.T) {
	p := sample("x")
	p.Incidents, p.Maintenances = nil, nil
	for i := range 40 {
		inc := statuspage.Incident{
			ID: fmt.Sprint("active-", i), Title: fmt.Sprint("Active ", i), State: statuspage.IncidentInvestigating,
			CreatedAt: day.Add(-time.Duration(i) * time.Minute),
		}
		for n := range 30 {
			inc.Updates = append(inc.Updates, statuspage.IncidentUpdate{
				Number: n + 1, Message: fmt.Sprint("Update ", n+1), CreatedAt: day,
			})
		}
		dayEntry := inc
		dayEntry.ID, dayEntry.Resolved, dayEntry.ResolvedAt = fmt.Sprint("past-", i), true, day
		p.Incidents = append(p.Incidents, inc, dayEntry)
	}
	out, err := statusModel(englishPresentation(), p.Summarize(day)).Render(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	page := htmltest.Parse(t, string(out))
	if got := len(page.All("article.incident")); got != maxTimelines {
		t.Errorf("%d timelines", got)
	}
	if got := len(page.All("article.incident .timeline li")); got != maxTimelines*maxUpdates {
		t.Errorf("%d updates", got)
	}
	if got := page.All("article.incident .timeline .message")[0].Text(); got != "Update 30" {
		t.Errorf("the first update is %q", got)
	}
	got := page.All("article.incident .more a")[0]
	if got.Text() != "5 earlier updates" || got.Attr("href") != "/status/acme/incidents/active-0" {
		t.Errorf("the link to the earlier updates is %q to %q", got.Text(), got.Attr("href"))
	}
	for i := range 40 {
		if len(page.All("main a[href=/status/acme/incidents/active-"+fmt.Sprint(i)+"]")) == 0 {
			t.Errorf("incident %d is not on the page", i)
		}
	}
	all := page.All(".day .more a")
	more := all[len(all)-1]
	if len(all) != maxPerDay+1 || more.Text() != "30 more on this day" ||
		more.Attr("href") != "/status/acme/history?month=2020-11#2020-11-21" {
		t.Errorf("the link to the other incidents: %v", page.Texts(".day .more"))
	}
}

func TestPastDaysOfStatusPage(t *testing.T) {
	p := sample("x")
	p.Maintenances = nil
	ago := func(days, hours int) time.Time {
		return statuspage.Midnight(day, time.UTC).AddDate(0, 0, -days).Add(time.Duration(hours) * time.Hour)
	}
	p.Incidents = []statuspage.Incident{
		{
			ID: "a", Title: "Long", Impact: kernel.ImpactNone, State: statuspage.IncidentResolved, Resolved: true,
			CreatedAt: ago(5, 22), ResolvedAt: ago(3, 1),
		},
		{
			ID: "b", Title: "Short", Impact: kernel.ImpactNone, State: statuspage.IncidentResolved, Resolved: true,
			CreatedAt: ago(6, 3), ResolvedAt: ago(6, 4),
		},
		{ID: "c", Title: "Now", Impact: kernel.ImpactNone, State: statuspage.IncidentMonitoring, CreatedAt: ago(1, 8)},
	}
	out, err := statusModel(englishPresentation(), p.Summarize(day)).Render(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	want := []string{
		"Saturday, 21 November No new incidents",
		"Friday, 20 November 1 active incident",
		"Thursday, 19 November No incidents",
		"17–18 Nov No new incidents",
		"Monday, 16 November Long 22:00 to 18 Nov, 01:00 1 day 3 hours No impact Resolved Full timeline",
		"Sunday, 15 November Short 03:00 to 04:00 1 hour No impact Resolved Full timeline",
	}
	if got := htmltest.Parse(t, string(out)).Texts(".day"); !slices.Equal(got, want) {
		t.Errorf("the days read\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}
