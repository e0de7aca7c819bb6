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
	all := map[reflect.Type][]string{
		reflect.TypeFor[alert.State](): textsOf(alert.States),
		reflect.TypeFor[alert.Event](): textsOf(alert.Events),
	}
	addValues[client.Status](all, kernel.Statuses)
	addValues[client.Impact](all, kernel.Impacts)
	addValues[client.IncidentState](all, statuspage.IncidentStates)
	addValues[client.MaintenanceState](all, statuspage.MaintenanceStates)
	addValues[client.AnnouncementLevel](all, statuspage.AnnouncementLevels)
	addValues[client.MonitorState](all, monitor.MonitorFilterStates)
	addValues[client.MonitorType](all, check.MonitorTypes())
	addValues[client.Visibility](all, statuspage.Visibilities)
	addValues[client.AutoIncidents](all, statuspage.AutoIncidentModes)
	addValues[client.DeliveryState](all, audience.DeliveryStates)
	addValues[client.AuditAction](all, kernel.AuditActions)
	addValues[client.Role](all, kernel.Roles)
	addValues[client.ObjectKind](all, kernel.ObjectKinds)
	return all
}

// addValues adds the values for a type of the client, and for the same type of the domain, which flags that follow from
// descriptions of resources have.
func addValues[C, D ~string](all map[reflect.Type][]string, values []D) {
	texts := textsOf(values)
	all[reflect.TypeFor[C]()], all[reflect.TypeFor[D]()] = texts, texts
}

func textsOf[T ~string](values []T) []string {
	texts := make([]string, len(values))
	for i, v := range values {
		texts[i] = string(v)
	}
	return texts
}
