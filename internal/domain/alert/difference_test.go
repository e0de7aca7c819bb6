package alert

import (
	"testing"

	"github.com/allswell/allswell/internal/domain/kernel"
)

// TestDifference compares the sentences about rules that do not match.
func TestDifference(t *testing.T) {
	names := map[string]string{"mon_1": "Backup", "page_1": "Acme", "page_2": "Docs"}
	shop := Subject{
		Event: MonitorDown, MonitorID: "mon_2", PageID: "page_1", Name: "Shop", Severity: kernel.ImpactMajor,
		Tags: []string{"web", "prod"},
	}
	gap := Subject{Event: ServiceGap, Severity: kernel.ImpactMajor}
	for _, c := range []struct {
		filter  Filter
		subject Subject
		want    string
	}{
		{Filter{Events: []Event{MonitorDown}}, shop, ""},
		{Filter{Events: []Event{MonitorLate, MonitorSlow}}, shop,
			"The rule covers “Monitor late” or “Monitor slow”; the event is “Monitor down”."},
		{Filter{Pages: []string{"page_2"}}, shop, "The rule covers the page Docs; the event is about the page Acme."},
		{Filter{Pages: []string{"page_3", "page_2"}}, gap,
			"The rule covers the page Docs or a deleted page; the event is about no page."},
		{Filter{Pages: []string{"page_3", "page_4"}}, shop,
			"The rule covers a deleted page; the event is about the page Acme."},
		{Filter{Monitors: []string{"mon_1"}}, shop,
			"The rule covers the monitor Backup; the event is about the monitor Shop."},
		{Filter{Monitors: []string{"mon_9"}}, Subject{Event: MonitorDown, MonitorID: "mon_8"},
			"The rule covers a deleted monitor; the event is about another monitor."},
		{Filter{Monitors: []string{"mon_1"}}, gap,
			"The rule covers the monitor Backup; the event is about no monitor."},
		{Filter{Tags: []string{"db"}}, shop, "The rule covers the tag db; the monitor has the tags web and prod."},
		{Filter{Tags: []string{"db", "cache"}}, gap, "The rule covers the tag db or cache; the event has no tag."},
		{Filter{Severities: []kernel.Impact{kernel.ImpactCritical}}, shop,
			"The rule covers the severity critical; the event has the severity major."},
	} {
		if got := (Rule{Enabled: true, Filter: c.filter}).Difference(c.subject, names); got != c.want {
			t.Errorf("Difference = %q, want %q", got, c.want)
		}
		if got := (Rule{Filter: c.filter}).Difference(c.subject, names); got != "The rule is disabled." {
			t.Errorf("of a disabled rule: %q", got)
		}
	}
}
