package statuspage

import (
	"testing"
	"time"

	"github.com/allswell/allswell/internal/domain/kernel"
)

func TestLeadIncident(t *testing.T) {
	now := time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC)
	incident := func(id string, impact kernel.Impact, hours int, resolved bool) Incident {
		return Incident{
			ID: id, Impact: impact, CreatedAt: now.Add(-time.Duration(hours) * time.Hour), Resolved: resolved,
		}
	}
	for name, c := range map[string]struct {
		incidents []Incident
		want      string
	}{
		"no incident": {nil, ""},
		"no impact":   {[]Incident{incident("a", kernel.ImpactNone, 1, false)}, ""},
		"resolved":    {[]Incident{incident("a", kernel.ImpactCritical, 1, true)}, ""},
		"the only one": {[]Incident{
			incident("a", kernel.ImpactMinor, 1, false), incident("b", kernel.ImpactNone, 0, false),
		}, "a"},
		"the most severe": {[]Incident{
			incident("a", kernel.ImpactMinor, 1, false), incident("b", kernel.ImpactCritical, 5, false),
			incident("c", kernel.ImpactMajor, 2, false),
		}, "b"},
		"the newest of severe": {[]Incident{
			incident("a", kernel.ImpactMajor, 3, false), incident("b", kernel.ImpactMajor, 2, false),
			incident("c", kernel.ImpactMinor, 1, false),
		}, "b"},
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
		status kernel.Status
		impact kernel.Impact
		want   kernel.Status
	}{
		{kernel.StatusOperational, kernel.ImpactNone, kernel.StatusOperational},
		{kernel.StatusUnknown, kernel.ImpactNone, kernel.StatusUnknown},
		{kernel.StatusUnknown, kernel.ImpactMinor, kernel.StatusDegraded},
		{kernel.StatusOperational, kernel.ImpactMajor, kernel.StatusPartialOutage},
		{kernel.StatusMaintenance, kernel.ImpactMinor, kernel.StatusDegraded},
		{kernel.StatusMajorOutage, kernel.ImpactMinor, kernel.StatusMajorOutage},
		{kernel.StatusDegraded, kernel.ImpactCritical, kernel.StatusMajorOutage},
	} {
		sum := Summary{Status: c.status, Active: []Incident{{ID: "a", Impact: c.impact}}}
		if got := sum.Severity(); got != c.want {
			t.Errorf("Severity of %s with impact %s = %s, want %s", c.status, c.impact, got, c.want)
		}
	}
}
