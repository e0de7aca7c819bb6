package monitors

import (
	"strconv"

	"github.com/allswell/allswell/internal/domain/schedule"
	"github.com/allswell/allswell/internal/surface/dashboard/frame"
)

// kindKubernetes is the kind of a schedule of cron that is read as Kubernetes does.
const kindKubernetes = "kubernetes"

// fieldGroups returns the fields of the form. where, down and parents are the choices of components, of their statuses
// and of other monitors; threshold is the setting of the server.
func (s *monitorFormScreen) fieldGroups(where, down, parents []frame.Option, threshold int) []frame.FieldGroup {
	schedule := monitorScheduleFields(where, down)
	advanced := append(monitorAdvancedFields(s.Monitor.ID == "", threshold), monitorSlugField(s), parentField(parents))
	if s.IsCheck() {
		return checkGroups(s.Type, s.Monitor.Check.SecretFields, schedule, advanced, threshold)
	}
	return []frame.FieldGroup{
		{Fields: schedule},
		{Key: "runs", Title: "Starts, failures and output of runs", Fields: monitorRunFields()},
		{Key: "advanced", Title: "Advanced", Fields: advanced},
	}
}

// monitorScheduleFields are the fields that most monitors need: when pings are due, and what is affected without them.
// where and down are the choices of components and of their statuses.
func monitorScheduleFields(where, down []frame.Option) []frame.Field {
	return []frame.Field{
		{Name: "name", Label: "Name", Placeholder: "Nightly backup", Wide: true},
		{Name: "schedule.kind", Label: "A ping is due", Type: "select", Options: []frame.Option{
			{Value: string(schedule.ScheduleInterval), Label: "within an interval after the last one"},
			{Value: string(schedule.ScheduleCron), Label: "at times, as in a crontab"},
			{Value: string(schedule.ScheduleCalendar), Label: "at times, as in a systemd timer"},
			{Value: kindKubernetes, Label: "at times, as in a CronJob of Kubernetes"},
		}},
		{
			Name: "interval", Label: "Interval", Bare: true, Placeholder: "25h",
			Suggestions: []string{"90s", "5m", "20m", "75m", "25h", "8d"},
			Hint: "The longest time between two pings, with units: 90s, 5m, 25h, 8d. Leave room: 25h for a " +
				"job that runs every night.",
		},
		{Name: "schedule.expression", Label: "Times", Type: "textarea", Rows: 2, Bare: true, Placeholder: "30 2 * * *",
			Hint: "As in a crontab: minute, hour, day of the month, month and day of the week, such as 30 2 * * *. " +
				"As in OnCalendar= of a systemd timer: Mon..Fri 02:30. One per line, up to 10."},
		{
			Name: "schedule.time_zone", Label: "Time zone", Optional: true, Placeholder: "Europe/Berlin",
			Hint: "Of these times. Left empty: UTC, or the zone after the times of a timer.",
		},
		{
			Name: "grace", Label: "Grace", Optional: true, Placeholder: "5m",
			Suggestions: []string{"0s", "5m", "30m", "2h"},
			Hint:        "How much later a ping may come. Left empty, none with an interval, and 5m with times.",
		},
		{Name: "component_id", Label: "While it is down, this is affected", Type: "select", Options: where},
		{Name: "down_status", Label: "The component is then", Type: "select", Options: down},
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
		Hint: "Its name in addresses and commands: lower-case letters, digits and hyphens.",
	}
	if s.Monitor.ID == "" {
		f.Optional, f.Hint = true, f.Hint+" Left empty, made from the name."
	} else if !s.IsCheck() {
		f.Hint += " Jobs that ping it by slug, with the ping key of the page, must use the new one. The old one is " +
			"free at once."
	}
	return f
}

// monitorAdvancedFields are the fields that few monitors need. Only a new monitor can be given a token. threshold is
// the setting of the server.
func monitorAdvancedFields(isNew bool, threshold int) []frame.Field {
	fields := monitorFields("failure_threshold", "auto_incidents")
	fields[0].Placeholder = strconv.Itoa(threshold)
	if isNew {
		token := monitorFields("token")[0]
		token.Wide, token.Autocomplete = true, "off"
		fields = append(fields, token)
	}
	return fields
}
