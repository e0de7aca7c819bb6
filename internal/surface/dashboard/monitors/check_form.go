package monitors

import (
	"net/http"

	"github.com/allswell/allswell/internal/check"
	"github.com/allswell/allswell/internal/domain/kernel"
	"github.com/allswell/allswell/internal/domain/monitor"
	"github.com/allswell/allswell/internal/resource"
	"github.com/allswell/allswell/internal/store"
	"github.com/allswell/allswell/internal/surface/dashboard/frame"
)

// checkGroups returns the form fields of a monitor with a type of checks. secrets are the fields with a saved secret.
// schedule and advanced are the fields of heartbeats, from which it takes some.
func checkGroups(t check.Type, secrets []string, schedule, advanced []frame.Field, threshold int) []frame.FieldGroup {
	first := []frame.Field{{Name: "name", Label: "Name", Placeholder: "Web shop", Wide: true}}
	first = append(first, frame.TypeFields(t.Fields, false, secrets)...)
	first = append(first, frame.Field{
		Name: "interval", Label: "Interval", Bare: true, Placeholder: "1m",
		Suggestions: []string{"10s", "30s", "1m", "5m", "1h"}, Hint: "Time between checks, from 10s to 24h.",
	})
	var rest []frame.Field
	for _, x := range schedule {
		switch x.Name {
		case "component_id", "down_status", "tags":
			first = append(first, x)
		}
	}
	for _, x := range advanced {
		if x.Name == "auto_incidents" || x.Name == "parent_id" {
			rest = append(rest, x)
		}
	}
	groups := []frame.FieldGroup{{Fields: first}}
	if more := frame.TypeFields(t.Fields, true, secrets); len(more) > 0 {
		groups = append(groups, frame.FieldGroup{Key: "type", Title: "Advanced " + t.Label + " options", Fields: more})
	}
	return append(groups, frame.FieldGroup{
		Key: "counting", Title: "Thresholds and alerting", Fields: append(countingFields(threshold), rest...),
	})
}

// isDefaultOf returns a function that reports whether a field of a type shows its default.
func isDefaultOf(t check.Type) func(frame.Field) bool {
	return func(x frame.Field) bool {
		switch x.Name {
		case "recovery_threshold", "confirm_from":
			return x.Value == "1"
		case "timeout":
			return x.Value == "10s"
		}
		f, _ := t.Field(x.Name)
		return x.Value == f.Default
	}
}

// parentField is the choice of the parent of a monitor.
func parentField(parents []frame.Option) frame.Field {
	return frame.Field{
		Name: "parent_id", Label: "Parent monitor", Type: "select", Options: parents,
		Hint: "Suppresses alerts while the parent is down.",
	}
}

// maxParents is the maximum number of monitors to choose from as a parent.
const maxParents = 500

// parentOptions returns the monitors on which one may depend.
func (r *request) parentOptions(m monitor.Monitor) ([]frame.Option, error) {
	all := []frame.Option{{Label: "None"}}
	list, err := r.Store.MonitorList(r.Context(), r.Actor(), store.MonitorQuery{Order: store.MonitorsByName},
		store.Pagination{Page: 1, PerPage: maxParents})
	found := m.ParentID == ""
	for _, other := range list.Monitors {
		if other.ID != m.ID {
			all = append(all, frame.Option{Value: other.ID, Label: other.Name})
			found = found || other.ID == m.ParentID
		}
	}
	if !found {
		all = append(all, frame.Option{Value: m.ParentID, Label: m.ParentID})
	}
	return all, err
}

// showTest runs the check that a form describes once, and shows the form with the result.
func (r *request) showTest(s *monitorFormScreen, change monitor.MonitorChange) error {
	status := http.StatusOK
	spec, err := r.changedCheck(s.Monitor, change)
	if err == nil {
		s.Result, err = r.testCheck(s.Type.Name, spec)
	}
	if s.Refused(err) {
		status, err = http.StatusUnprocessableEntity, nil
	}
	if err != nil {
		return err
	}
	return r.showMonitorForm(status, s)
}

// changedCheck returns the check of a monitor after a change. A new monitor has no id, and may lack a name.
func (r *request) changedCheck(m monitor.Monitor, change monitor.MonitorChange) (spec monitor.CheckSpec, err error) {
	if m.ID != "" {
		err = resource.ChangeMonitor(&m, change, r.Now())
	} else {
		m, err = resource.NewMonitor(change, r.Now())
	}
	if m.Name == "" {
		err = withoutField(err, "name")
	}
	return m.Check, err
}

// withoutField returns a validation error without the problems of a field.
func withoutField(err error, name string) error {
	invalid, ok := err.(*kernel.ValidationError)
	if !ok {
		return err
	}
	var bad kernel.ValidationError
	for _, p := range invalid.Problems {
		if p.Field != name {
			bad.Problems = append(bad.Problems, p)
		}
	}
	return bad.Err()
}
