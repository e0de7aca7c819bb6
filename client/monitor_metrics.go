package client

import (
	"context"
	"net/http"
	"net/url"
	"strconv"
	"time"
)

// CheckSummary summarizes the results of a monitor's checks in a period. Times are seconds of good results; they are
// nil if there were none.
type CheckSummary struct {
	Count    int      `json:"count"` // results that are not unknown
	Slow     int      `json:"slow"`
	Failures int      `json:"failures"`
	Unknown  int      `json:"unknown"` // results that say nothing about the target
	Uptime   *float64 `json:"uptime"`  // percent; nil: no result is known
	Min      *float64 `json:"min"`
	Mean     *float64 `json:"mean"`
	P50      *float64 `json:"p50"`
	P95      *float64 `json:"p95"`
	P99      *float64 `json:"p99"`
	Max      *float64 `json:"max"`
}

// CheckPeriod is the summary of one period.
type CheckPeriod struct {
	StartsAt time.Time `json:"starts_at"`
	CheckSummary
}

// MonitorMetrics are the statistics of a monitor's checks.
type MonitorMetrics struct {
	Meta
	From    time.Time     `json:"from"` // beginning of the first period
	To      time.Time     `json:"to"`
	Step    Seconds       `json:"step"`
	Summary CheckSummary  `json:"summary"` // of all periods
	Periods []CheckPeriod `json:"periods"` // periods with results, oldest first
}

// GetMonitorMetrics returns the statistics of a monitor's checks between two times, in periods of the given length: 5,
// 10, 15, 20 or 30 minutes, or whole hours. There are at most 1,000 periods. A zero to means now; a zero from means a
// day before to.
func (c *Client) GetMonitorMetrics(
	ctx context.Context, monitor string, from, to time.Time, step time.Duration,
) (*MonitorMetrics, error) {
	query := url.Values{"step": {strconv.FormatInt(int64(SecondsOf(step)), 10)}}
	for name, at := range map[string]time.Time{"from": from, "to": to} {
		if !at.IsZero() {
			query.Set(name, at.Format(time.RFC3339Nano))
		}
	}
	return send[MonitorMetrics](ctx, c, request{
		method: http.MethodGet, path: pathOf("monitors", monitor, "metrics"), query: query,
	})
}
