package monitors

import (
	"net/url"
	"reflect"
	"testing"
	"time"

	"github.com/allswell/allswell/internal/check"
	"github.com/allswell/allswell/internal/domain/monitor"
	"github.com/allswell/allswell/internal/resource"
)

// TestMonitorFormHasEachField checks that the form has an input for each described field, but for those that are
// changed elsewhere.
func TestMonitorFormHasEachField(t *testing.T) {
	elsewhere := map[string]bool{
		"type":              true, // a link to another form
		"token":             true, // only a new monitor is given one, and another path rotates it
		"schedule":          true, // schedule.kind, schedule.expression and schedule.time_zone
		"enabled":           true, // actions of the monitor's screen
		"paused_until":      true, // likewise
		"page":              true, // component_id has it, too
		"no_overlap_action": true, // no_overlap has it, too
		"config":            true, // the fields of the type
	}
	ofHeartbeats := map[string]bool{"slug": true} // of checks, others change it
	anywhere := make(map[string]bool)
	for _, kind := range append([]check.Type{{}}, check.Types...) {
		s := &monitorFormScreen{Monitor: monitor.Monitor{ID: "mon_1"}, Type: kind}
		inputs := make(map[string]bool)
		for _, g := range s.fieldGroups(nil, nil, nil, 2) {
			for _, x := range g.Fields {
				inputs[x.Name], anywhere[x.Name] = true, true
			}
		}
		for _, i := range resource.Monitor.Infos() {
			if !inputs[i.Name] && !elsewhere[i.Name] && !i.OfSome && !(kind.Name != "" && ofHeartbeats[i.Name]) {
				t.Errorf("the form of the type %q has no %s", kind.Name, i.Name)
			}
		}
		for _, f := range kind.Fields {
			if !inputs[f.Name] {
				t.Errorf("the form of the type %q has no %s", kind.Name, f.Name)
			}
		}
	}
	for _, i := range resource.Monitor.Infos() {
		if i.OfSome && !anywhere[i.Name] && !elsewhere[i.Name] {
			t.Errorf("no form has %s", i.Name)
		}
	}
}

// TestMonitorFormKeepsOtherFields checks that a monitor keeps what a form does not have, and that a new one has the
// defaults.
func TestMonitorFormKeepsOtherFields(t *testing.T) {
	typed := url.Values{"name": {"a"}, "interval": {"1h"}, "component_id": {"/"}}
	stored := monitor.MonitorConfig{
		Type: monitor.MonitorHeartbeat, Token: "secret", PublishOutput: true, FailureThreshold: 3, Tags: []string{"x"},
	}
	for isNew, want := range map[bool]monitor.MonitorConfig{
		true:  {Token: "secret", Enabled: true},
		false: {Token: "secret", PublishOutput: true, FailureThreshold: 3, Tags: []string{"x"}},
	} {
		got := stored
		if err := readMonitor(typed, check.Type{}, isNew)(&got); err != nil {
			t.Fatal(err)
		}
		if want.Type, want.Name, want.Interval = monitor.MonitorHeartbeat, "a", time.Hour; isNew {
			want.RunConditions = monitor.RunConditions{}.WithDefaults()
		}
		got.NoOverlapAction, want.NoOverlapAction = "", ""
		if !reflect.DeepEqual(got, want) {
			t.Errorf("new: %v: got %+v, want %+v", isNew, got, want)
		}
	}
}
