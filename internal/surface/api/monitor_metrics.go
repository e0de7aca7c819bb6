package api

import (
	"time"

	"github.com/allswell/allswell/internal/check/checkstats"
	"github.com/allswell/allswell/internal/domain/kernel"
	"github.com/allswell/allswell/internal/domain/monitor"
	"github.com/allswell/allswell/internal/domain/statuspage"
	"github.com/allswell/allswell/internal/resource/rights"
	"github.com/allswell/allswell/internal/store"
	"github.com/allswell/allswell/internal/surface/web"
)

var metricsRoutes = []route{
	{"GET", "/api/v1/monitors/{monitorId}/metrics", rights.MonitorRead, (*api).getMonitorMetrics, operation{
		id:      "getMonitorMetrics",
		summary: "Get the statistics of a monitor's checks.",
		text: "How many checks there were, how many failed, and how long the good ones took, in periods of the same " +
			"length. Periods begin at multiples of their length, in UTC; those without results are left out. " +
			"Percentiles have a relative error of 2 %, all other numbers are exact. Periods below an hour reach " +
			"back 90 days, others two years. A heartbeat monitor has none.",
		query: []parameter{
			{name: "from", schema: dateTime, text: "The beginning; by default a day before `to`."},
			{name: "to", schema: dateTime, text: "The end; by default now."},
			{name: "step", schema: wholeNumber{300, 0, 300},
				text: "Length of the periods in seconds: a multiple of 300 that divides an hour, or a multiple of " +
					"an hour. There may be at most 1,000 periods."},
		},
		returns: one("MonitorMetrics", "The statistics."),
	}},
}

// The defaults of the metrics of a monitor.
const (
	defaultMetricsSpan = 24 * time.Hour
	defaultMetricsStep = 5 * time.Minute
)

type checkSummaryJSON struct {
	Count    int      `json:"count"` // without the unknown ones
	Slow     int      `json:"slow"`
	Failures int      `json:"failures"`
	Unknown  int      `json:"unknown"`
	Uptime   *float64 `json:"uptime"` // percent; null: no result is known
	Min      *float64 `json:"min"`    // seconds of good results; null: there were none
	Mean     *float64 `json:"mean"`
	P50      *float64 `json:"p50"`
	P95      *float64 `json:"p95"`
	P99      *float64 `json:"p99"`
	Max      *float64 `json:"max"`
}

func newCheckSummaryJSON(s *checkstats.Summary) checkSummaryJSON {
	out := checkSummaryJSON{Count: s.Count, Slow: s.Slow, Failures: s.Failures, Unknown: s.Unknown}
	if share, ok := s.Uptime(); ok {
		out.Uptime = new(statuspage.UptimePercent(share, uptimeDecimals))
	}
	if s.Timed() > 0 {
		seconds := func(d time.Duration) *float64 { return new(d.Seconds()) }
		out.Min, out.Mean, out.Max = seconds(s.Min), seconds(s.Mean()), seconds(s.Max)
		out.P50, out.P95, out.P99 = seconds(s.P50()), seconds(s.P95()), seconds(s.P99())
	}
	return out
}

type checkPeriodJSON struct {
	StartsAt string `json:"starts_at"`
	checkSummaryJSON
}

type monitorMetricsJSON struct {
	From    string            `json:"from"`
	To      string            `json:"to"`
	Step    int64             `json:"step"` // seconds
	Summary checkSummaryJSON  `json:"summary"`
	Periods []checkPeriodJSON `json:"periods"` // periods with results, oldest first
}

// getMonitorMetrics reads ?from, ?to and ?step, in seconds. By default it returns the last day in steps of five
// minutes.
func (a *api) getMonitorMetrics(c *call) (store.Response, error) {
	q := web.ParseQuery(c.URL.RawQuery)
	to, from := q.Time("to"), q.Time("from")
	step := time.Duration(q.Integer("step", int(defaultMetricsStep/time.Second), 1,
		int(monitor.MaxInterval/time.Second))) * time.Second
	if err := q.Check(); err != nil {
		return store.Response{}, err
	}
	if to.IsZero() {
		to = a.now()
	}
	if from.IsZero() {
		from = to.Add(-defaultMetricsSpan)
	}
	within := store.StatisticsRange{From: from, To: to, Step: step}
	periods, err := a.store.CheckStatistics(c.Context(), c.actor(), c.PathValue("monitorId"), within)
	return resourceResponse(periods, err, func(periods []checkstats.Period) monitorMetricsJSON {
		out := monitorMetricsJSON{
			From: kernel.FormatTime(from.Truncate(step)), To: kernel.FormatTime(to),
			Step: int64(step / time.Second), Periods: []checkPeriodJSON{},
		}
		var total checkstats.Summary
		for _, p := range periods {
			total.Merge(&p.Summary)
			out.Periods = append(out.Periods, checkPeriodJSON{
				kernel.FormatTime(p.StartsAt), newCheckSummaryJSON(&p.Summary),
			})
		}
		out.Summary = newCheckSummaryJSON(&total)
		return out
	})
}
