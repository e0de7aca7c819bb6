package allswell

import (
	"testing"
	"time"
)

func TestLeadIncident(t *testing.T) {
	now := time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC)
	incident := func(id string, impact Impact, hours int, resolved bool) Incident {
		return Incident{ID: id, Impact: impact, CreatedAt: now.Add(-time.Duration(hours) * time.Hour), Resolved: resolved}
	}
	for name, c := range map[string]struct {
		incidents []Incident
		want      string
	}{
		"no incident":          {nil, ""},
		"no impact":            {[]Incident{incident("a", ImpactNone, 1, false)}, ""},
		"resolved":             {[]Incident{incident("a", ImpactCritical, 1, true)}, ""},
		"the only one":         {[]Incident{incident("a", ImpactMinor, 1, false), incident("b", ImpactNone, 0, false)}, "a"},
		"the most severe":      {[]Incident{incident("a", ImpactMinor, 1, false), incident("b", ImpactCritical, 5, false), incident("c", ImpactMajor, 2, false)}, "b"},
		"the newest of severe": {[]Incident{incident("a", ImpactMajor, 3, false), incident("b", ImpactMajor, 2, false), incident("c", ImpactMinor, 1, false)}, "b"},
	} {
		sum := PageContents{Incidents: c.incidents}.Summarize(now)
		lead, ok := sum.LeadIncident()
		if lead.ID != c.want || ok != (c.want != "") {
			t.Errorf("%s: the page leads with %q, %v, want %q", name, lead.ID, ok, c.want)
		}
	}
}

func TestSeverity(t *testing.T) {
	for _, c := range []struct {
		status Status
		impact Impact
		want   Status
	}{
		{StatusOperational, ImpactNone, StatusOperational}, {StatusUnknown, ImpactNone, StatusUnknown}, {StatusUnknown, ImpactMinor, StatusDegraded},
		{StatusOperational, ImpactMajor, StatusPartialOutage}, {StatusMaintenance, ImpactMinor, StatusDegraded},
		{StatusMajorOutage, ImpactMinor, StatusMajorOutage}, {StatusDegraded, ImpactCritical, StatusMajorOutage},
	} {
		sum := Summary{Status: c.status, Active: []Incident{{ID: "a", Impact: c.impact}}}
		if got := sum.Severity(); got != c.want {
			t.Errorf("%s with impact %s: %s, want %s", c.status, c.impact, got, c.want)
		}
	}
}
