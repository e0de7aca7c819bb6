package monitors

import (
	"slices"
	"strconv"
	"time"

	"github.com/allswell/allswell/internal/domain/kernel"
	"github.com/allswell/allswell/internal/domain/monitor"
	"github.com/allswell/allswell/internal/domain/schedule"
	"github.com/allswell/allswell/internal/resource"
	"github.com/allswell/allswell/internal/surface/dashboard/frame"
)

// The size of the chart of gaps, in its own units, which the browser stretches.
const (
	chartWidth  = 720
	chartHeight = 120
	chartBars   = 60
)

// pingChart is the chart of the gaps between the pings of a monitor, with its interval.
type pingChart struct {
	Gaps      []chartGap // newest first
	Bars      []chartBar // oldest first
	Due       string     // when a ping is due, for people
	Down      string     // when the monitor is down, for people
	DueY      int        // the top of a gap of one interval and the grace; 0: the schedule has times
	DownY     int        // the top of a gap with which the monitor goes down
	DownAfter time.Duration
	Longest   monitor.PingGap
	Median    time.Duration

	Rhythm   string        // "": unknown
	Interval time.Duration // that the rhythm suggests; 0: none
	Tag      string        // entity tag of the monitor
}

// chartGap is a gap, and the lateness of the ping that ended it.
type chartGap struct {
	monitor.PingGap
	Late time.Duration
}

// chartBar is a gap as a bar.
type chartBar struct {
	X, Y, Width, Height int
	Tone                string
}

// newPingChart returns the chart of a monitor; nil if there are no gaps.
func newPingChart(m monitor.Monitor, e monitor.Explanation) *pingChart {
	if len(e.PingGaps) == 0 {
		return nil
	}
	gaps := e.PingGaps[max(0, len(e.PingGaps)-chartBars):]
	checks := time.Duration(e.Threshold) * e.Period
	c := &pingChart{
		Tag:       kernel.EntityTag(resource.Monitor.Audited(m)),
		Due:       "due within " + kernel.CompactDuration(e.Interval+e.Grace),
		DownAfter: e.Interval + e.Grace + checks,
		Down:      "down after " + kernel.CompactDuration(e.Interval+e.Grace+checks),
	}
	if !m.Cron.IsZero() {
		c.Due, c.Down = "schedule "+m.ScheduleWords(), "down "+kernel.CompactDuration(checks)+" later"
	}
	lengths := make([]time.Duration, len(gaps))
	for i, gap := range gaps {
		lengths[i] = gap.Length
		wait := schedule.PingWait{
			Since: gap.PingedAt.Add(-gap.Length), Interval: e.Interval, Cron: m.Cron, Grace: e.Grace,
		}
		late := max(0, gap.PingedAt.Sub(wait.Deadline(nil)))
		if !m.Cron.IsZero() && late <= e.Period {
			late = 0 // a check keeps the last ping before it, and there may have been an earlier one
		}
		c.Gaps = append(c.Gaps, chartGap{gap, late})
		if gap.Length >= c.Longest.Length {
			c.Longest = gap
		}
	}
	slices.Sort(lengths)
	c.Median = lengths[len(lengths)/2].Round(time.Second)
	// Gaps of outages are cut off, so that the others remain distinguishable.
	top := min(max(c.Longest.Length, c.DownAfter), 2*c.DownAfter)
	height := func(d time.Duration) int { return max(2, int(float64(min(d, top))/float64(top)*chartHeight)) }
	if m.Cron.IsZero() {
		c.DueY, c.DownY = chartHeight-height(e.Interval+e.Grace), chartHeight-height(c.DownAfter)
	}
	const step = chartWidth / chartBars
	for i, gap := range c.Gaps {
		tone := kernel.StatusOperational
		switch {
		case gap.Late > checks:
			tone = m.DownStatus
		case gap.Late > 0:
			tone = kernel.StatusDegraded
		}
		h := height(gap.Length)
		c.Bars = append(c.Bars, chartBar{
			chartWidth - (len(c.Gaps)-i)*step + 2, chartHeight - h, step - 3, h, tone.Tone().Name,
		})
	}
	slices.Reverse(c.Gaps)
	if r, ok := e.Rhythm(); ok {
		c.Rhythm = r.String()
		if r.Suggests(e.Interval) {
			c.Interval = r.Interval
		}
	}
	return c
}

// Seconds returns the suggested interval in seconds.
func (c *pingChart) Seconds() int { return int(c.Interval / time.Second) }

// Wide returns the width of the chart.
func (*pingChart) Wide() int { return chartWidth }

// High returns the height of the chart.
func (*pingChart) High() int { return chartHeight }

// setInterval sets a monitor's interval to the one that its rhythm suggests, unless somebody else has changed the
// monitor since.
func (r *request) setInterval() error {
	seconds, err := strconv.Atoi(r.PostForm.Get("interval"))
	if err != nil || seconds < 1 || seconds > int(monitor.MaxInterval/time.Second) {
		return kernel.ErrNotFound // no such button
	}
	m, err := r.Store.ChangeMonitor(r.Context(), r.Actor(), r.PathValue("monitor"),
		func(c *monitor.MonitorConfig) error {
			c.Reschedule(time.Duration(seconds)*time.Second, schedule.Cron{})
			return nil
		}, frame.UnchangedSince(r.PostForm))
	if err != nil {
		return err
	}
	return r.Redirect(frame.MonitorsPath + "/" + m.ID + "#pings")
}
