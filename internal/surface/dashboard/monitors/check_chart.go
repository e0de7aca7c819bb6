package monitors

import (
	"time"

	"github.com/allswell/allswell/internal/check/checkstats"
	"github.com/allswell/allswell/internal/domain/monitor"
	"github.com/allswell/allswell/internal/store"
	"github.com/allswell/allswell/internal/surface/dashboard/frame"
	"github.com/allswell/allswell/internal/surface/page/checkchart"
)

// checkRange is a time span of the chart of checks, with periods that fit on a screen.
type checkRange struct {
	Name, Label string
	length      time.Duration
	step        time.Duration
}

var checkRanges = []checkRange{
	{"day", "24 hours", 24 * time.Hour, 15 * time.Minute},
	{"week", "7 days", 7 * 24 * time.Hour, 2 * time.Hour},
	{"month", "30 days", 30 * 24 * time.Hour, 8 * time.Hour},
	{"quarter", "90 days", 90 * 24 * time.Hour, 24 * time.Hour},
	{"year", "1 year", 52 * 7 * 24 * time.Hour, 4 * 24 * time.Hour},
}

// checkChart is the chart of the results of a monitor's checks.
type checkChart struct {
	*checkchart.Chart
	Path   string // of the monitor's screen
	Range  checkRange
	Ranges []checkRange
}

// loadCheckChart returns the chart of the range that the request names.
func (r *request) loadCheckChart(m monitor.Monitor, now time.Time) (*checkChart, error) {
	chosen := checkRanges[0]
	for _, span := range checkRanges {
		if span.Name == r.URL.Query().Get("range") {
			chosen = span
		}
	}
	to := now.Truncate(chosen.step).Add(chosen.step)
	from := to.Add(-chosen.length)
	periods, err := r.Store.CheckStatistics(r.Context(), r.Actor(), m.ID, store.StatisticsRange{
		From: from, To: to, Step: chosen.step,
	})
	return &checkChart{
		checkchart.New(from, to, chosen.step, periods), frame.MonitorsPath + "/" + m.ID, chosen, checkRanges,
	}, err
}

// Wide, High and Low return the sizes of the drawings.
func (checkChart) Wide() int { return checkchart.Width }
func (checkChart) High() int { return checkchart.Height }
func (checkChart) Low() int  { return checkchart.FailureHeight }

// In returns a response time for people.
func (checkChart) In(d time.Duration) string { return shortTime(d) }

// Uptime returns the share of good results of a summary, for people.
func (checkChart) Uptime(s checkstats.Summary) string {
	share, ok := s.Uptime()
	if !ok {
		return "unknown"
	}
	return percentOf(share)
}
