package dashboard

import (
	"net/http"

	"github.com/allswell/allswell/internal/check"
	"github.com/allswell/allswell/internal/domain/kernel"
	"github.com/allswell/allswell/internal/domain/monitor"
	"github.com/allswell/allswell/internal/resource"
	"github.com/allswell/allswell/internal/store"
)

// checkGroups returns the fields of the form of a monitor of a type. secrets are the fields that have a secret;
// schedule and advanced are the fields of heartbeats.
func checkGroups(t check.Type, secrets []string, schedule, advanced []field, threshold int) []fieldGroup {
	first := []field{{Name: "name", Label: "Name", Placeholder: "Web shop", Wide: true}}
	first = append(first, typeFields(t.Fields, false, secrets)...)
	first = append(first, field{
		Name: "interval", Label: "Interval", Bare: true, Placeholder: "1m",
		Suggestions: []string{"10s", "30s", "1m", "5m", "1h"}, Hint: "The time between two checks, from 10s to 24h.",
	})
	var rest []field
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
	groups := []fieldGroup{{Fields: first}}
	if more := typeFields(t.Fields, true, secrets); len(more) > 0 {
		groups = append(groups, fieldGroup{Key: "type", Title: "More of " + t.Label, Fields: more})
	}
	return append(groups, fieldGroup{
		Key: "counting", Title: "When it counts", Fields: append(countingFields(threshold), rest...),
	})
}

// isDefaultOf reports for a type whether a field shows its default.
func isDefaultOf(t check.Type) func(field) bool {
	return func(x field) bool {
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
func parentField(parents []option) field {
	return field{
		Name: "parent_id", Label: "It depends on", Type: "select", Options: parents,
		Hint: "While that is down, failures of this one raise no alarm.",
	}
}

// maxParents is how many monitors can be chosen from as a parent.
const maxParents = 500

// parentOptions returns the monitors on which one may depend.
func (v *visit) parentOptions(m monitor.Monitor) ([]option, error) {
	all := []option{{Label: "No other monitor"}}
	list, err := v.store.MonitorList(v.r.Context(), v.actor(), store.MonitorQuery{Order: store.MonitorsByName},
		store.Pagination{Page: 1, PerPage: maxParents})
	found := m.ParentID == ""
	for _, other := range list.Monitors {
		if other.ID != m.ID {
			all = append(all, option{Value: other.ID, Label: other.Name})
			found = found || other.ID == m.ParentID
		}
	}
	if !found {
		all = append(all, option{Value: m.ParentID, Label: m.ParentID})
	}
	return all, err
}

// showTest checks once what a form says, and shows the form with the result.
func (v *visit) showTest(s *monitorFormScreen, change monitor.MonitorChange) error {
	status := http.StatusOK
	spec, err := v.changedCheck(s.Monitor, change)
	if err == nil {
		s.Result, err = v.testCheck(s.Type.Name, spec)
	}
	if s.refused(err) {
		status, err = http.StatusUnprocessableEntity, nil
	}
	if err != nil {
		return err
	}
	return v.showMonitorForm(status, s)
}

// changedCheck returns the check of a monitor, which has no id if it is new, after a change. It may lack a name.
func (v *visit) changedCheck(m monitor.Monitor, change monitor.MonitorChange) (spec monitor.CheckSpec, err error) {
	if m.ID != "" {
		err = resource.ChangeMonitor(&m, change, v.now())
	} else {
		m, err = resource.NewMonitor(change, v.now())
	}
	if m.Name == "" {
		err = withoutField(err, "name")
	}
	return m.Check, err
}

// withoutField returns an error without what it says of a field.
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
