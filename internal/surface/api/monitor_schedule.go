package api

import (
	"time"

	"github.com/allswell/allswell/internal/domain/kernel"
	"github.com/allswell/allswell/internal/domain/monitor"
	"github.com/allswell/allswell/internal/resource"
	"github.com/allswell/allswell/internal/resource/rights"
	"github.com/allswell/allswell/internal/store"
	"github.com/allswell/allswell/internal/surface/web"
)

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

// dueTimesJSON are the next due times of a monitor.
type dueTimesJSON struct {
	Schedule resource.Schedule `json:"schedule"`
	Grace    int64             `json:"grace"` // seconds
	DueAt    []string          `json:"due_at"`
}

// getMonitorSchedule shows the next ?n due times of a monitor, 10 by default.
func (a *api) getMonitorSchedule(c *call) (store.Response, error) {
	q := web.ParseQuery(c.URL.RawQuery)
	n := q.Integer("n", 10, 1, monitor.MaxDueTimes)
	if err := q.Check(); err != nil {
		return store.Response{}, err
	}
	m, err := a.store.Monitor(c.Context(), c.actor(), c.PathValue("monitorId"))
	return resourceResponse(m, err, func(m monitor.Monitor) dueTimesJSON {
		out := dueTimesJSON{
			Schedule: resource.ScheduleOf(m.Interval, m.Cron), Grace: int64(m.Grace / time.Second), DueAt: []string{},
		}
		for _, due := range m.DueTimes(a.now(), n) {
			out.DueAt = append(out.DueAt, kernel.FormatTime(due))
		}
		return out
	})
}
