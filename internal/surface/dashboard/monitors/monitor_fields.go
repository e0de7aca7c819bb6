package monitors

import (
	"fmt"
	"strconv"

	"github.com/allswell/allswell/internal/domain/schedule"
	"github.com/allswell/allswell/internal/surface/dashboard/frame"
)

// kindKubernetes is the kind of a cron schedule that is read as Kubernetes reads it.
const kindKubernetes = "kubernetes"

// fieldGroups returns the fields of the form. where, down and parents are the choices of components, of statuses while
// the monitor is down, and of parents. threshold is the server's failure threshold.
func (s *monitorFormScreen) fieldGroups(where, down, parents []frame.Option, threshold int) []frame.FieldGroup {
	schedule := monitorScheduleFields(where, down)
	advanced := append(monitorAdvancedFields(s.Monitor.ID == "", threshold), monitorSlugField(s), parentField(parents))
	if s.IsCheck() {
		return checkGroups(s.Type, s.Monitor.Check.SecretFields, schedule, advanced, threshold)
	}
	return []frame.FieldGroup{
		{Fields: schedule},
		{Key: "runs", Title: "Job runs", Fields: monitorRunFields()},
		{Key: "advanced", Title: "Advanced", Fields: advanced},
	}
}

// monitorScheduleFields are the fields that most monitors need: when pings are due, and what an outage affects. where
// and down are the choices of components and of their statuses.
func monitorScheduleFields(where, down []frame.Option) []frame.Field {
	hint := ""
	if len(down) > 0 && down[0].Value == "" {
		hint = "Automatic: major outage for the only monitor of a component, otherwise partial outage."
	}
	return []frame.Field{
		{Name: "name", Label: "Name", Placeholder: "Nightly backup", Wide: true},
		{Name: "schedule.kind", Label: "Schedule", Type: "select", Options: []frame.Option{
			{Value: string(schedule.ScheduleInterval), Label: "Interval"},
			{Value: string(schedule.ScheduleCron), Label: "Cron"},
			{Value: string(schedule.ScheduleCalendar), Label: "systemd calendar (OnCalendar)"},
			{Value: kindKubernetes, Label: "Kubernetes CronJob"},
		}},
		{
			Name: "interval", Label: "Interval", Bare: true, Placeholder: "25h",
			Suggestions: []string{"90s", "5m", "20m", "75m", "25h", "8d"},
			Hint:        "Maximum time between pings, e.g. 90s, 5m, 25h, 8d. Allow some slack: 25h for a nightly job.",
		},
		{Name: "schedule.expression", Label: "Cron or calendar expression", Type: "textarea", Rows: 2, Bare: true,
			Placeholder: "30 2 * * *",
			Hint: "Cron expression: minute, hour, day of the month, month and day of the week, e.g. 30 2 * * *. " +
				"systemd calendar: e.g. Mon..Fri 02:30. One per line, up to 10."},
		{
			Name: "schedule.time_zone", Label: "Time zone", Optional: true, Placeholder: "Europe/Berlin",
			Hint: "Time zone of the schedule. Default: UTC, or the zone in a systemd calendar.",
		},
		{
			Name: "grace", Label: "Grace period", Optional: true, Placeholder: "5m",
			Suggestions: []string{"0s", "5m", "30m", "2h"},
			Hint:        "How late a ping may be. Default: 0 with an interval, 5m with a schedule.",
		},
		{Name: "component_id", Label: "Affected component", Type: "select", Options: where},
		{Name: "down_status", Label: "Status when down", Type: "select", Options: down, Hint: hint},
		monitorFields("tags")[0],
	}
}

// monitorRunFields are the fields for jobs that report the starts of runs.
func monitorRunFields() []frame.Field {
	all := monitorFields("max_runtime", "max_runtime_action", "min_runtime", "min_runtime_action", "max_per_interval",
		"max_per_interval_action")
	return append(append(all, overlapField()), monitorFields("publish_output")...)
}

// monitorSlugField is the field of the slug.
func monitorSlugField(s *monitorFormScreen) frame.Field {
	f := frame.Field{
		Name: "slug", Label: "Slug", Autocomplete: "off",
		Hint: "Used in URLs and commands. Lower-case letters, digits and hyphens.",
	}
	if s.Monitor.ID == "" {
		f.Optional, f.Hint = true, f.Hint+" Leave empty to derive it from the name."
	} else if !s.IsCheck() {
		f.Hint += " Jobs that ping by slug must use the new one immediately."
	}
	return f
}

// thresholdHint explains the failure threshold. threshold is the setting of the server.
func thresholdHint(what string, threshold int) string {
	return fmt.Sprintf("%s before it counts as down. Default: server setting (%d).", what, threshold)
}

// monitorAdvancedFields are the fields that few monitors need. Only a new monitor can be given a token. threshold is
// the setting of the server.
func monitorAdvancedFields(isNew bool, threshold int) []frame.Field {
	fields := monitorFields("failure_threshold", "auto_incidents")
	fields[0].Placeholder = strconv.Itoa(threshold)
	fields[0].Hint = thresholdHint("Consecutive overdue checks", threshold)
	if isNew {
		token := monitorFields("token")[0]
		token.Wide, token.Autocomplete = true, "off"
		fields = append(fields, token)
	}
	return fields
}
