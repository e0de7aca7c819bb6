package allswell_test

import (
	"strings"
	"testing"
	"time"

	"github.com/allswell/allswell"
)

// TestImpactOfNewIncidents checks the impact of an incident that is opened without one.
func TestImpactOfNewIncidents(t *testing.T) {
	for statuses, want := range map[string]allswell.Impact{
		"": allswell.ImpactNone, "operational": allswell.ImpactNone, "nonsense": allswell.ImpactNone,
		"degraded": allswell.ImpactMinor, "degraded_performance": allswell.ImpactMinor, "partial_outage": allswell.ImpactMajor,
		"major_outage": allswell.ImpactCritical, "degraded major_outage partial_outage": allswell.ImpactCritical, "operational degraded": allswell.ImpactMinor,
	} {
		n := allswell.Incident{Title: "x"}
		for _, status := range strings.Fields(statuses) {
			n.Affected = append(n.Affected, allswell.AffectedComponent{Status: allswell.Status(status)})
		}
		given := n
		given.Impact = allswell.ImpactNone
		if n.Open(allswell.IncidentUpdate{}, time.Now()); n.Impact != want {
			t.Errorf("%q: %s, want %s", statuses, n.Impact, want)
		}
		if given.Open(allswell.IncidentUpdate{}, time.Now()); given.Impact != allswell.ImpactNone {
			t.Errorf("%q: the given impact none became %s", statuses, given.Impact)
		}
	}
}
