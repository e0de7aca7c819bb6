package cli

import (
	"reflect"
	"strings"

	"github.com/allswell/allswell"
	"github.com/allswell/allswell/internal/alert"
	"github.com/allswell/allswell/internal/alertchannel"
	"github.com/allswell/allswell/internal/check"
)

// HelpVariables are the variables in the help texts of the commands.
func HelpVariables() map[string]string {
	return map[string]string{
		"statuses":          enumerate(allswell.Statuses),
		"affected_statuses": enumerate(allswell.AffectedStatuses),
		"down_statuses":     enumerate(allswell.DownStatuses),
		"monitor_types":     strings.Join(textsOf(check.MonitorTypes()), ", "),
		"channel_types":     strings.Join(alertchannel.Names(), ", "),
	}
}

// enumerate returns statuses without aliases: "a, b or c".
func enumerate(statuses []allswell.Status) string {
	var names []string
	for _, s := range statuses {
		if s.Canonical() == s {
			names = append(names, string(s))
		}
	}
	last := len(names) - 1
	return strings.Join(names[:last], ", ") + " or " + names[last]
}

// CompletionValues are the values of flags and arguments that shells complete, by their types.
func CompletionValues() map[reflect.Type][]string {
	return map[reflect.Type][]string{
		reflect.TypeFor[allswell.Status]():            textsOf(allswell.Statuses),
		reflect.TypeFor[allswell.Impact]():            textsOf(allswell.Impacts),
		reflect.TypeFor[allswell.IncidentState]():     textsOf(allswell.IncidentStates),
		reflect.TypeFor[allswell.MaintenanceState]():  textsOf(allswell.MaintenanceStates),
		reflect.TypeFor[allswell.AnnouncementLevel](): textsOf(allswell.AnnouncementLevels),
		reflect.TypeFor[allswell.MonitorState]():      textsOf(allswell.MonitorFilterStates),
		reflect.TypeFor[allswell.MonitorType]():       textsOf(check.MonitorTypes()),
		reflect.TypeFor[alert.State]():                textsOf(alert.States),
		reflect.TypeFor[alert.Event]():                textsOf(alert.Events),
		reflect.TypeFor[allswell.Visibility]():        textsOf(allswell.Visibilities),
		reflect.TypeFor[allswell.AutoIncidents]():     textsOf(allswell.AutoIncidentModes),
		reflect.TypeFor[allswell.DeliveryState]():     textsOf(allswell.DeliveryStates),
		reflect.TypeFor[allswell.AuditAction]():       textsOf(allswell.AuditActions),
		reflect.TypeFor[allswell.Role]():              textsOf(allswell.Roles),
		reflect.TypeFor[allswell.ObjectKind]():        textsOf(allswell.ObjectKinds),
	}
}

func textsOf[T ~string](values []T) []string {
	texts := make([]string, len(values))
	for i, v := range values {
		texts[i] = string(v)
	}
	return texts
}
