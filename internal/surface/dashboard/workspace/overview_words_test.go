package workspace

import (
	"strings"
	"testing"
	"time"

	"github.com/allswell/allswell/internal/domain/monitor"
	"github.com/allswell/allswell/internal/domain/statuspage"
	"github.com/allswell/allswell/internal/store"
)

func TestEventsOfTheLastHourHaveWords(t *testing.T) {
	o := store.Overview{Recent: []store.RecentEvent{
		{Kind: store.RecentMonitorDown}, {Kind: store.RecentMonitorUp}, {Kind: store.RecentIncidentOpened},
		{Kind: store.RecentIncidentResolved}, {Kind: store.RecentMaintenanceBegun},
		{Kind: store.RecentSubscriptionSuspended},
	}}
	for _, e := range (overviewScreen{Overview: o}).RecentEvents() {
		if e.Text == "" || e.Path == "" {
			t.Errorf("%s: %+v", e.Kind, e)
		}
	}
}

// TestCausesAreInTheRowOfTheirIncident checks that one outage is one thing that is wrong.
func TestCausesAreInTheRowOfTheirIncident(t *testing.T) {
	s := overviewScreen{Overview: store.Overview{
		Incidents: []store.ListedIncident{{Incident: statuspage.Incident{ID: "i"}}}, AllIncidents: 1, AllTroubled: 3,
		Troubled: []monitor.Monitor{{
			ID:             "cause",
			MonitorDerived: monitor.MonitorDerived{IncidentID: "i"},
		}, {ID: "late"}, {
			ID:             "other",
			MonitorDerived: monitor.MonitorDerived{IncidentID: "not listed"},
		}},
	}}
	if got := s.CausesOf("i"); len(got) != 1 || got[0].ID != "cause" {
		t.Errorf("the causes: %v", got)
	}
	if got := s.Unreported(); len(got) != 2 || s.ProblemCount() != 3 || s.Title() != "(3) Overview" {
		t.Errorf("%d things are wrong, and not reported: %v", s.ProblemCount(), got)
	}
}

// TestOverviewOfLateChecks checks that the overview does not call it well while monitors are not being checked.
func TestOverviewOfLateChecks(t *testing.T) {
	template := templates()["overview"]
	for late, want := range map[int][3]string{
		0: {"Overview", "No active problems", "9 monitors"},
		1: {"(1) Overview", `<a href="/admin/monitors?state=late">1 monitor is not being checked`, "since <time"},
		7: {"(1) Overview", "7 monitors are not being checked", "The state of their targets is unknown"},
	} {
		s := overviewScreen{Overview: store.Overview{Monitors: 9, LateChecks: late, LateSince: time.Now()}}
		var body strings.Builder
		if err := template.ExecuteTemplate(&body, "main", s); err != nil {
			t.Fatal(err)
		}
		if s.Title() != want[0] || !strings.Contains(body.String(), want[1]) ||
			!strings.Contains(body.String(), want[2]) {
			t.Errorf("with %d late checks: %s: %s", late, s.Title(), body.String())
		}
	}
}

// TestOverviewOfFailingChannels checks that the overview says that alerts do not arrive.
func TestOverviewOfFailingChannels(t *testing.T) {
	template := templates()["overview"]
	for n, want := range map[int][2]string{
		0: {"Overview", "No active problems"},
		1: {"(1) Overview", `<a href="/admin/channels">1 channel does not accept alerts`},
		2: {"(1) Overview", "2 channels do not accept alerts"},
	} {
		s := overviewScreen{Overview: store.Overview{Monitors: 9, FailingChannels: n}}
		var body strings.Builder
		if err := template.ExecuteTemplate(&body, "main", s); err != nil {
			t.Fatal(err)
		}
		if s.Title() != want[0] || !strings.Contains(body.String(), want[1]) {
			t.Errorf("with %d channels: %s: %s", n, s.Title(), body.String())
		}
	}
}

// TestOverviewSaysThatThereIsMore checks that what an overview does not show is counted in its title, and linked.
func TestOverviewSaysThatThereIsMore(t *testing.T) {
	template := templates()["overview"]
	s := overviewScreen{Overview: store.Overview{
		Monitors: 9, Incidents: make([]store.ListedIncident, 1), AllIncidents: 2,
		Troubled: []monitor.Monitor{{ID: "late"}, {ID: "other"}}, AllTroubled: 6,
		Maintenances: make([]store.OverviewMaintenance, 1), AllMaintenances: 3,
		FailedDeliveries: make([]store.FailedDeliveries, 1), AllFailedPages: 2,
		UnknownChecks: 2, UnknownSince: time.Now(),
	}}
	s.Troubled[0].IncidentID, s.Troubled[1].IncidentID = "a", "b" // not listed
	var body strings.Builder
	if err := template.ExecuteTemplate(&body, "main", s); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		`<a href="/admin/incidents">and 1 more incident</a>`, `<a href="/admin/monitors">and 4 more monitors</a>`,
		`<a href="/admin/maintenances">and 2 more</a>`,
		`<a href="/admin/deliveries?state=failed">and notifications of 1 more page</a>`,
		`<a href="/admin/monitors?state=unknown">2 monitors cannot be checked</a>`,
	} {
		if !strings.Contains(body.String(), want) || s.Title() != "(10) Overview" {
			t.Errorf("%s lacks %s: %s", s.Title(), want, body.String())
		}
	}
}
