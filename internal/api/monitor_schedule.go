package api

import (
	"time"

	"github.com/allswell/allswell"
	"github.com/allswell/allswell/internal/jsonobject"
	"github.com/allswell/allswell/internal/rights"
	"github.com/allswell/allswell/internal/store"
	"github.com/allswell/allswell/internal/web"
)

// scheduleRoutes are the routes of monitors' schedules.
var scheduleRoutes = []route{
	{"GET", "/api/v1/monitors/{monitorId}/schedule", rights.MonitorRead, (*api).getMonitorSchedule, operation{
		id:      "getMonitorSchedule",
		summary: "Show the schedule and the next times at which a ping is due.",
		query: []parameter{
			{name: "n", schema: wholeNumber{1, 100, 10}, text: "How many times."},
		},
		returns: one("DueTimes", "The schedule and its next times."),
	}},
}

// scheduleJSON says when the pings of a monitor are due. The fields of the other kind are absent.
type scheduleJSON struct {
	Kind       allswell.ScheduleKind `json:"kind"`
	Interval   int64                 `json:"interval,omitempty"` // seconds
	Expression string                `json:"expression,omitempty"`
	TimeZone   string                `json:"time_zone,omitempty"`
	Kubernetes bool                  `json:"kubernetes,omitempty"`
}

func newScheduleJSON(interval time.Duration, cron allswell.Cron) scheduleJSON {
	if cron.IsZero() {
		return scheduleJSON{Kind: allswell.ScheduleInterval, Interval: int64(interval / time.Second)}
	}
	return scheduleJSON{Kind: cron.Kind(), Expression: cron.Expression, TimeZone: cron.TimeZone, Kubernetes: cron.Kubernetes}
}

// readRuns reads the fields that only heartbeats have. If all are read, there can be a token, and a heartbeat needs a schedule.
func readRuns(o *jsonobject.Object, all, heartbeat bool) func(*allswell.MonitorConfig) {
	setSchedule, setConditions := readSchedule(o, all && heartbeat), readConditions(o)
	grace, maxRuntime, publish := seconds(o.Integer("grace")), readRuntime(o, "max_runtime"), o.Flag("publish_output")
	var token *string
	if all {
		token = o.Text("token")
	}
	return func(c *allswell.MonitorConfig) {
		setSchedule(c)
		setConditions(&c.RunConditions)
		set(&c.Grace, grace)
		set(&c.MaxRuntime, maxRuntime)
		set(&c.PublishOutput, publish)
		if orZero(token) != "" {
			c.Token = *token
		}
	}
}

// readSchedule reads the fields interval and schedule of a monitor, one of which may be required.
func readSchedule(o *jsonobject.Object, required bool) func(*allswell.MonitorConfig) {
	given := o.Integer("interval")
	schedule, ok := o.Object("schedule")
	if schedule == nil {
		if required && !ok {
			o.Require("interval")
		}
		return func(c *allswell.MonitorConfig) {
			if given != nil {
				c.Reschedule(*seconds(given), allswell.Cron{})
			} else if ok {
				wrongSchedule(c)
			}
		}
	}
	schedule.Require("kind")
	kind, own := orZero(jsonobject.Enum(schedule, "kind", allswell.ScheduleKinds)), schedule.Integer("interval")
	expression, zone, kubernetes := schedule.Text("expression"), schedule.Text("time_zone"), orZero(schedule.Flag("kubernetes"))
	if kubernetes && kind != "" && kind != allswell.ScheduleCron {
		schedule.Add("kubernetes", "field needs a schedule of the kind cron")
	}
	switch kind {
	case allswell.ScheduleCron, allswell.ScheduleCalendar:
		schedule.Require("expression")
		schedule.Reject("interval", "A schedule of the kind %s has no %s.", kind, allswell.Name("interval"))
		if zone != nil && *zone == "" {
			schedule.Add("time_zone", "must be the name of a zone, such as Europe/Berlin")
		}
		cron := allswell.NewCron(kind, orZero(expression), orZero(zone))
		cron.Kubernetes = kubernetes
		if longest := cron.Longest(); given != nil && longest != 0 && time.Duration(*given) != longest/time.Second {
			o.Add("interval", "disagrees with the schedule: give one of them")
		}
		return func(c *allswell.MonitorConfig) { c.Reschedule(0, cron) }
	case allswell.ScheduleInterval:
		schedule.Require("interval")
		schedule.Reject("expression", "A schedule of the kind interval has no %s.", allswell.Name("expression"))
		schedule.Reject("time_zone", "A schedule of the kind interval has no %s.", allswell.Name("time_zone"))
		switch d := seconds(own); {
		case d == nil:
		case *d < allswell.MinInterval || *d > allswell.MaxInterval:
			schedule.Add("interval", "must be a whole number of seconds from %d to %d", allswell.MinInterval/time.Second, allswell.MaxInterval/time.Second)
		case given != nil && *given != *own:
			o.Add("interval", "disagrees with the schedule: give one of them")
		default:
			return func(c *allswell.MonitorConfig) { c.Reschedule(*d, allswell.Cron{}) }
		}
	}
	return wrongSchedule
}

// wrongSchedule is the change by a schedule in which an error was recorded: the interval is not wrong, too.
func wrongSchedule(c *allswell.MonitorConfig) { c.Reschedule(allswell.MinInterval, allswell.Cron{}) }

// dueTimesJSON are the next due times of a monitor.
type dueTimesJSON struct {
	Schedule scheduleJSON `json:"schedule"`
	Grace    int64        `json:"grace"` // seconds
	DueAt    []string     `json:"due_at"`
}

// getMonitorSchedule shows the next ?n due times of a monitor, 10 by default.
func (a *api) getMonitorSchedule(c *call) (store.Response, error) {
	q := web.ParseQuery(c.URL.RawQuery)
	n := q.Integer("n", 10, 1, allswell.MaxDueTimes)
	if err := q.Check(); err != nil {
		return store.Response{}, err
	}
	m, err := a.store.Monitor(c.Context(), c.actor(), c.PathValue("monitorId"))
	return resourceResponse(m, err, func(m allswell.Monitor) dueTimesJSON {
		out := dueTimesJSON{Schedule: newScheduleJSON(m.Interval, m.Cron), Grace: int64(m.Grace / time.Second), DueAt: []string{}}
		for _, due := range m.DueTimes(a.now(), n) {
			out.DueAt = append(out.DueAt, allswell.FormatTime(due))
		}
		return out
	})
}
