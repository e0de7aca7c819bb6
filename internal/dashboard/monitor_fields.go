package dashboard

import (
	"strconv"

	"github.com/allswell/allswell"
)

// isDefaultAction reports whether a field says what happens when a run violates a condition, and says what happens by
// default.
func isDefaultAction(x field) bool {
	for _, c := range allswell.Conditions {
		if x.Name == string(c)+"_action" {
			return x.Value == string(allswell.RunConditions{}.Action(c))
		}
	}
	return false
}

// kindKubernetes is the kind of a schedule of cron that is read as Kubernetes does.
const kindKubernetes = "kubernetes"

// monitorScheduleFields are the fields that most monitors need: when pings are due, and what is affected without them.
// where and down are the choices of components and of their statuses.
func monitorScheduleFields(where, down []option) []field {
	return []field{
		{Name: "name", Label: "Name", Placeholder: "Nightly backup", Wide: true},
		{Name: "schedule.kind", Label: "A ping is due", Type: "select", Options: []option{
			{Value: string(allswell.ScheduleInterval), Label: "within an interval after the last one"}, {Value: string(allswell.ScheduleCron), Label: "at times, as in a crontab"},
			{Value: string(allswell.ScheduleCalendar), Label: "at times, as in a systemd timer"},
			{Value: kindKubernetes, Label: "at times, as in a CronJob of Kubernetes"},
		}},
		{Name: "interval", Label: "Interval", Bare: true, Placeholder: "25h", Suggestions: []string{"90s", "5m", "20m", "75m", "25h", "8d"},
			Hint: "The longest time between two pings, with units: 90s, 5m, 25h, 8d. Leave room: 25h for a job that runs every night."},
		{Name: "schedule.expression", Label: "Times", Type: "textarea", Rows: 2, Bare: true, Placeholder: "30 2 * * *",
			Hint: "As in a crontab: minute, hour, day of the month, month and day of the week, such as 30 2 * * *. As in OnCalendar= of a systemd timer: Mon..Fri 02:30. One per line, up to 10."},
		{
			Name: "schedule.time_zone", Label: "Time zone", Optional: true, Placeholder: "Europe/Berlin",
			Hint: "Of these times. Left empty: UTC, or the zone after the times of a timer.",
		},
		{Name: "grace", Label: "Grace", Optional: true, Placeholder: "5m", Suggestions: []string{"0s", "5m", "30m", "2h"},
			Hint: "How much later a ping may come. Left empty, none with an interval, and 5m with times."},
		{Name: "component_id", Label: "While it is down, this is affected", Type: "select", Options: where},
		{Name: "down_status", Label: "The component is then", Type: "select", Options: down},
		{
			Name: "tags", Label: "Tags", Optional: true, Placeholder: "prod nightly",
			Hint: "Words to find monitors by, with spaces between them: lower-case letters, digits and hyphens.",
		},
	}
}

// monitorRunFields are the fields for jobs that report the starts of runs.
func monitorRunFields() []field {
	return append(append([]field{
		{Name: "max_runtime", Label: "A run may take", Optional: true, Placeholder: "2h",
			Hint: "For jobs that report the start of a run: without its end in this time, the run has failed. Left empty, the grace (5m with a cron expression) or, without one, the interval: set it for each job that takes longer."},
	}, conditionFields()...), field{Name: "publish_output", Label: "The output of a failed run", Type: "select", Options: []option{
		{Label: "is for members only"}, {Value: "true", Label: "is published with the incident: its last 1,000 characters"},
	}})
}

// monitorSlugField is the field of the slug.
func monitorSlugField(s *monitorFormScreen) field {
	f := field{Name: "slug", Label: "Slug", Autocomplete: "off", Hint: "Its name in addresses and commands: lower-case letters, digits and hyphens."}
	if s.Monitor.ID == "" {
		f.Optional, f.Hint = true, f.Hint+" Left empty, made from the name."
	} else if !s.IsCheck() {
		f.Hint += " Jobs that ping it by slug, with the ping key of the page, must use the new one. The old one is free at once."
	}
	return f
}

// monitorAdvancedFields are the fields that few monitors need. Only a new monitor can be given a token. threshold is
// the setting of the server.
func monitorAdvancedFields(isNew bool, threshold int) []field {
	fields := []field{
		{Name: "failure_threshold", Label: "Checks in a row that must find it overdue", Optional: true, Placeholder: strconv.Itoa(threshold),
			Hint: "Left empty, the setting of the server."},
		{Name: "auto_incidents", Label: "An outage opens an incident that", Type: "select", Options: []option{
			{Label: "follows the setting of the page"}, {Value: "publish", Label: "is published at once"}, {Value: "draft", Label: "waits as a draft until somebody publishes it"},
			{Value: "off", Label: "does not exist: no incident"},
		}},
	}
	if isNew {
		fields = append(fields, field{Name: "token", Label: "Ping token", Optional: true, Wide: true, Autocomplete: "off", Placeholder: "f618072a-7bde-4eee-af63-71a77c5723bc",
			Hint: "The token that the job has in its URL at another service, if it moves here: a UUID, or 16 to 64 letters, digits and hyphens. Left empty, a random one."})
	}
	return fields
}
