package page

import (
	"slices"
	"testing"
	"time"

	"github.com/allswell/allswell"
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
		p.Maintenances = append(p.Maintenances, allswell.PlannedMaintenance{ID: title, Title: title, State: allswell.MaintenanceCompleted,
			ScheduledFor: at, ScheduledUntil: at.Add(time.Hour), BegunAt: at, EndedAt: at.Add(time.Hour)})
	}
	page := func(p allswell.PageContents) tree {
		html, err := render(statusScreen(english(), p.Summarize(day)))
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
	views := viewDays(english(), []allswell.Day{{Date: day, Incidents: p.Incidents, Maintenances: p.Maintenances}}, 1)
	if len(views[0].Past) != 1 || views[0].More != 1 {
		t.Errorf("of two, one may be shown: %+v", views[0])
	}
}
