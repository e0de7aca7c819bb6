package monitors

import (
	"net/url"

	"github.com/allswell/allswell/internal/domain/monitor"
	"github.com/allswell/allswell/internal/resource"
	"github.com/allswell/allswell/internal/surface/dashboard/frame"
)

// monitorFields returns form fields for described fields of a monitor.
func monitorFields(names ...string) (all []frame.Field) {
	for _, name := range names {
		all = append(all, frame.FieldOf(resource.Monitor.Info(name)))
	}
	return all
}

// isDefaultValue reports whether a field of a monitor shows its default.
func isDefaultValue(x frame.Field) bool {
	for _, i := range resource.Monitor.Infos(x.Name) {
		return x.Value == i.Default || x.Value == "false"
	}
	return false
}

// overlapField combines in one choice whether runs may overlap, and what happens if they do.
func overlapField() frame.Field {
	x := monitorFields("no_overlap_action")[0]
	x.Name, x.Label, x.Options = "no_overlap", monitorFields("no_overlap")[0].Label,
		append([]frame.Option{{Label: "allow"}}, x.Options...)
	return x
}

func setOverlapValue(values url.Values, r monitor.RunConditions) {
	values.Del("no_overlap_action")
	values.Set("no_overlap", "")
	if r.NoOverlap {
		values.Set("no_overlap", string(r.Action(monitor.ConditionNoOverlap)))
	}
}
