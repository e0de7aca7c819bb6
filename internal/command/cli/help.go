package cli

import (
	"reflect"
	"strings"

	"github.com/allswell/allswell/client"
	"github.com/allswell/allswell/internal/alertchannel"
	"github.com/allswell/allswell/internal/check"
	"github.com/allswell/allswell/internal/domain/alert"
	"github.com/allswell/allswell/internal/domain/audience"
	"github.com/allswell/allswell/internal/domain/kernel"
	"github.com/allswell/allswell/internal/domain/monitor"
	"github.com/allswell/allswell/internal/domain/statuspage"
)

// HelpVariables are the variables in the help texts of the commands.
func HelpVariables() map[string]string {
	return map[string]string{
		"statuses":          enumerate(kernel.Statuses),
		"affected_statuses": enumerate(kernel.AffectedStatuses),
		"down_statuses":     enumerate(kernel.DownStatuses),
		"monitor_types":     strings.Join(textsOf(check.MonitorTypes()), ", "),
		"channel_types":     strings.Join(alertchannel.Names(), ", "),
	}
}

// enumerate returns statuses without aliases: "a, b or c".
func enumerate(statuses []kernel.Status) string {
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
		reflect.TypeFor[client.Status]():            textsOf(kernel.Statuses),
		reflect.TypeFor[client.Impact]():            textsOf(kernel.Impacts),
		reflect.TypeFor[client.IncidentState]():     textsOf(statuspage.IncidentStates),
		reflect.TypeFor[client.MaintenanceState]():  textsOf(statuspage.MaintenanceStates),
		reflect.TypeFor[client.AnnouncementLevel](): textsOf(statuspage.AnnouncementLevels),
		reflect.TypeFor[client.MonitorState]():      textsOf(monitor.MonitorFilterStates),
		reflect.TypeFor[client.MonitorType]():       textsOf(check.MonitorTypes()),
		reflect.TypeFor[alert.State]():              textsOf(alert.States),
		reflect.TypeFor[alert.Event]():              textsOf(alert.Events),
		reflect.TypeFor[client.Visibility]():        textsOf(statuspage.Visibilities),
		reflect.TypeFor[client.AutoIncidents]():     textsOf(statuspage.AutoIncidentModes),
		reflect.TypeFor[client.DeliveryState]():     textsOf(audience.DeliveryStates),
		reflect.TypeFor[client.AuditAction]():       textsOf(kernel.AuditActions),
		reflect.TypeFor[client.Role]():              textsOf(kernel.Roles),
		reflect.TypeFor[client.ObjectKind]():        textsOf(kernel.ObjectKinds),
	}
}

func textsOf[T ~string](values []T) []string {
	texts := make([]string, len(values))
	for i, v := range values {
		texts[i] = string(v)
	}
	return texts
}
