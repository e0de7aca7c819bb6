package resource

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/allswell/allswell/internal/domain/monitor"
	"github.com/allswell/allswell/internal/resource/field"
	"github.com/allswell/allswell/internal/shared/jsonobject"
)

// TestDefaultsOfMonitors checks that a field which is not given has one default: in the description, in a monitor that
// is created, in one that is replaced, and in the form of a new one. It also describes defaults that no field has
// today, for values whose zero can be meant.
func TestDefaultsOfMonitors(t *testing.T) {
	t.Run("as described", checkDefaultsOfMonitors)
	before := Monitor
	defer func() { Monitor = before }()
	other := *Monitor
	other.Fields = slices.Clone(Monitor.Fields)
	for i, f := range other.Fields {
		switch f.Info().Name {
		case "publish_output":
			other.Fields[i] = ofHeartbeats(field.Bool("publish_output", func(m *monitor.Monitor) *bool {
				return &m.PublishOutput
			})).
				Default(func(m *monitor.Monitor, _ time.Time) {
					m.PublishOutput = true
				}).Doc("Publication").Form("Publication", "", "")
		case "max_per_interval":
			other.Fields[i] = ofHeartbeats(field.Integer("max_per_interval", func(m *monitor.Monitor) *int {
				return &m.MaxPerInterval
			})).
				Nullable().Between(1, monitor.MaxPerInterval).
				Default(func(m *monitor.Monitor, _ time.Time) { m.MaxPerInterval = 7 }).Doc("Runs").Form("Runs", "", "")
		case "slow_after":
			other.Fields[i] = ofChecks(field.Duration("slow_after", monitor.MaxCheckTimeout,
				func(m *monitor.Monitor) *time.Duration {
					return &m.Check.SlowAfter
				})).
				Default(func(m *monitor.Monitor, _ time.Time) {
					m.Check.SlowAfter = time.Second
				}).Doc("Slow").Empty("never").Form("Slow", "", "")
		case "failure_threshold":
			other.Fields[i] = field.Integer("failure_threshold", func(m *monitor.Monitor) *int {
				return &m.FailureThreshold
			}).
				Between(0, monitor.MaxFailureThreshold).
				Default(func(m *monitor.Monitor, _ time.Time) {
					m.FailureThreshold = 4
				}).Doc("Threshold").Form("Threshold", "", "")
		}
	}
	Monitor = field.New(other)
	t.Run("with more defaults", checkDefaultsOfMonitors)
}

// minimalMonitors are bodies with the fields that a monitor must have, and bodies that set all others.
var minimalMonitors = map[string]string{
	`{"name":"a","interval":60}`: `{"grace":9,"failure_threshold":2,"auto_incidents":"off","tags":["x"],` +
		`"max_runtime":8,"publish_output":true,"min_runtime":2,` +
		`"max_per_interval":3,"no_overlap":true,"max_runtime_action":"warn","min_runtime_action":"down",` +
		`"max_per_interval_action":"down","no_overlap_action":"down",` +
		`"parent_id":"p","page":"acme","component_id":"c","down_status":"degraded_performance"}`,
	`{"name":"a","type":"tcp","host":"localhost","port":1}`: `{"interval":90,"failure_threshold":2,` +
		`"auto_incidents":"off","tags":["x"],"timeout":7,"slow_after":2,` +
		`"recovery_threshold":3,"confirm_from":2,"parent_id":"p","page":"acme","component_id":"c",` +
		`"down_status":"degraded_performance"}`,
}

func checkDefaultsOfMonitors(t *testing.T) {
	now := time.Now()
	read := func(text string, request field.Request) monitor.MonitorChange {
		t.Helper()
		o, err := jsonobject.Parse([]byte(text))
		if err != nil {
			t.Fatal(err)
		}
		return MonitorChange(Monitor.Read(o, request))
	}
	for minimal, others := range minimalMonitors {
		created, err := NewMonitor(read(minimal, field.Creation), now)
		if err != nil {
			t.Fatalf("creating the monitor %v: %v", minimal, err)
		}
		replaced := created
		if err := ChangeMonitor(&replaced, read(others, field.Changing), now); err != nil {
			t.Fatalf("changing the monitor %v: %v", minimal, err)
		}
		changed := replaced
		if err := ChangeMonitor(&replaced, read(minimal, field.Replacement), now); err != nil {
			t.Fatalf("replacing by the monitor %v: %v", minimal, err)
		}
		form := monitor.Monitor{}
		ResetMonitor(&form, created.Type)
		for _, i := range Monitor.Infos() {
			one := Monitor.Only("id", "name", "created_at", i.Name)
			value := func(m monitor.Monitor) string { return fmt.Sprint(one.Audited(m).AuditObject().Fields[i.Name]) }
			if i.Kept {
				if value(replaced) != value(changed) {
					t.Errorf("%s of a %s was %s, and is %s after a PUT without it", i.Name, created.Type,
						value(changed), value(replaced))
				}
				continue
			}
			if value(replaced) != value(created) {
				t.Errorf("%s of a %s is %s when it is created, and %s when it is replaced", i.Name, created.Type,
					value(created), value(replaced))
			}
			if i.Default == "" || value(created) == "<nil>" {
				continue // which a monitor of the type lacks
			}
			if shown := one.FormValues(created, time.UTC).Get(i.Name); shown != i.Default {
				t.Errorf("%s of a %s is %q, and described as %s", i.Name, created.Type, shown, i.Default)
			}
			// whose empty value is the default
			if shown := one.FormValues(form, time.UTC).Get(i.Name); shown != i.Default && i.Kind != field.KindChoice {
				t.Errorf("%s of a %s is %q in a form, and described as %s", i.Name, created.Type, shown, i.Default)
			}
		}
	}
}
