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

// readSchedule reads the fields interval and schedule of a monitor, one of which may be required. Both results are nil if
// neither is given. After an error in the schedule, which is recorded, the results are valid.
func readSchedule(o *jsonobject.Object, required bool) (interval *time.Duration, cron *allswell.Cron) {
	given := o.Integer("interval")
	schedule, ok := o.Object("schedule")
	switch {
	case !ok && required:
		o.Require("interval")
		fallthrough
	case !ok:
		return seconds(given), nil
	case schedule == nil:
		return new(allswell.MinInterval), nil
	}
	schedule.Require("kind")
	kind, own := orZero(jsonobject.Enum(schedule, "kind", allswell.ScheduleKinds)), schedule.Integer("interval")
	expression, zone, kubernetes := schedule.Text("expression"), schedule.Text("time_zone"), orZero(schedule.Flag("kubernetes"))
	if kubernetes && kind != "" && kind != allswell.ScheduleCron {
		schedule.Add("kubernetes", "field needs a schedule of the kind cron")
	}
	if kind == allswell.ScheduleCron || kind == allswell.ScheduleCalendar {
		schedule.Require("expression")
		schedule.Reject("interval", "A schedule of the kind %s has no %s.", kind, allswell.Name("interval"))
		if zone != nil && *zone == "" {
			schedule.Add("time_zone", "must be the name of a zone, such as Europe/Berlin")
		}
		cron = new(allswell.NewCron(kind, orZero(expression), orZero(zone)))
		cron.Kubernetes = kubernetes
		if given != nil && time.Duration(*given) == cron.Longest()/time.Second {
			given = nil // what responses show
		}
		return seconds(given), cron
	}
	interval = new(allswell.MinInterval)
	if kind == allswell.ScheduleInterval {
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
			interval = d
		}
	}
	return interval, nil
}

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
