package alert

import (
	"testing"

	"github.com/allswell/allswell"
)

// TestDifference compares the sentences about rules that do not match.
func TestDifference(t *testing.T) {
	names := map[string]string{"mon_1": "Backup", "page_1": "Acme", "page_2": "Docs"}
	shop := Subject{Event: MonitorDown, MonitorID: "mon_2", PageID: "page_1", Name: "Shop", Severity: allswell.ImpactMajor, Tags: []string{"web", "prod"}}
	gap := Subject{Event: ServiceGap, Severity: allswell.ImpactMajor}
	for _, c := range []struct {
		filter  Filter
		subject Subject
		want    string
	}{
		{Filter{Events: []Event{MonitorDown}}, shop, ""},
		{Filter{Events: []Event{MonitorLate, MonitorSlow}}, shop, "It is about monitor.late or monitor.slow, not monitor.down."},
		{Filter{Pages: []string{"page_2"}}, shop, "It is about the page Docs, the event about Acme."},
		{Filter{Pages: []string{"page_3", "page_2"}}, gap, "It is about the page that was deleted or Docs, the event about no page."},
		{Filter{Monitors: []string{"mon_1"}}, shop, "It is about the monitor Backup, the event about Shop."},
		{Filter{Monitors: []string{"mon_1"}}, gap, "It is about the monitor Backup, the event about no monitor."},
		{Filter{Tags: []string{"db"}}, shop, "It is about the tag db, the monitor has web and prod."},
		{Filter{Tags: []string{"db", "cache"}}, gap, "It is about the tag db or cache, the event has none."},
		{Filter{Severities: []allswell.Impact{allswell.ImpactCritical}}, shop, "It is about the severity critical, the event has major."},
	} {
		if got := (Rule{Enabled: true, Filter: c.filter}).Difference(c.subject, names); got != c.want {
			t.Errorf("got %q, want %q", got, c.want)
		}
		if got := (Rule{Filter: c.filter}).Difference(c.subject, names); got != "It is disabled." {
			t.Errorf("of a disabled rule: %q", got)
		}
	}
}
