package statuspage_test

import (
	"strings"
	"testing"
	"time"

	"github.com/allswell/allswell/internal/domain/kernel"
	"github.com/allswell/allswell/internal/domain/statuspage"
)

// TestImpactOfNewIncidents checks the impact of an incident that is opened without one.
func TestImpactOfNewIncidents(t *testing.T) {
	for statuses, want := range map[string]kernel.Impact{
		"": kernel.ImpactNone, "operational": kernel.ImpactNone, "nonsense": kernel.ImpactNone,
		"degraded": kernel.ImpactMinor, "degraded_performance": kernel.ImpactMinor,
		"partial_outage": kernel.ImpactMajor,
		"major_outage":   kernel.ImpactCritical, "degraded major_outage partial_outage": kernel.ImpactCritical,
		"operational degraded": kernel.ImpactMinor,
	} {
		n := statuspage.Incident{Title: "x"}
		for _, status := range strings.Fields(statuses) {
			n.Affected = append(n.Affected, statuspage.AffectedComponent{Status: kernel.Status(status)})
		}
		given := n
		given.Impact = kernel.ImpactNone
		if n.Open(statuspage.IncidentUpdate{}, time.Now()); n.Impact != want {
			t.Errorf("impact of components that are %q: %s, want %s", statuses, n.Impact, want)
		}
		if given.Open(statuspage.IncidentUpdate{}, time.Now()); given.Impact != kernel.ImpactNone {
			t.Errorf("%q: the given impact none became %s", statuses, given.Impact)
		}
	}
}
