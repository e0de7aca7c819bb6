package cli

import (
	"fmt"
	"strconv"
	"time"

	"github.com/allswell/allswell/client"
	"github.com/allswell/allswell/internal/command/console"
	"github.com/allswell/allswell/internal/domain/statuspage"
	"github.com/allswell/allswell/internal/shared/timeinput"
)

type monitorMetrics struct {
	Monitor string             `arg:"" help:"Id, name or slug of the monitor."`
	Last    timeinput.Duration `default:"24h" placeholder:"DURATION" help:"How far back, such as 1h, 24h, 30d; at most two years."`
	Step    timeinput.Duration `placeholder:"DURATION" help:"Length of the periods: 5m, 10m, 15m, 30m or whole hours. By default chosen so that there are at most 48."`
}

// maxMetricsRows is how many periods are shown by default.
const maxMetricsRows = 48

// step returns the length of the periods.
func (cmd *monitorMetrics) step() time.Duration {
	if cmd.Step > 0 {
		return time.Duration(cmd.Step)
	}
	for _, step := range []time.Duration{
		5 * time.Minute, 15 * time.Minute, 30 * time.Minute, time.Hour, 2 * time.Hour, 6 * time.Hour, 12 * time.Hour,
	} {
		if time.Duration(cmd.Last) <= maxMetricsRows*step {
			return step
		}
	}
	const day = 24 * time.Hour
	return (time.Duration(cmd.Last)/maxMetricsRows + day - 1).Truncate(day)
}

// Run prints the statistics of a monitor's checks.
func (cmd *monitorMetrics) Run(c *commandContext) error {
	id, err := c.monitor(cmd.Monitor)
	if err != nil {
		return err
	}
	now := time.Now()
	metrics, err := c.api.GetMonitorMetrics(c.Ctx, id, now.Add(-time.Duration(cmd.Last)), now, cmd.step())
	return object(c, metrics, err, func(m *client.MonitorMetrics) {
		if len(m.Periods) == 0 {
			c.Printf("No checks in that time.\n")
			return
		}
		rows := [][]string{{"FROM", "CHECKS", "FAILED", "SLOW", "UPTIME", "MIN", "MEAN", "P50", "P95", "P99", "MAX"}}
		for _, p := range m.Periods {
			rows = append(rows, append([]string{console.Time(p.StartsAt)}, summaryRow(p.CheckSummary)...))
		}
		rows = append(rows, append([]string{"total"}, summaryRow(m.Summary)...))
		c.Table(rows)
	})
}

func summaryRow(s client.CheckSummary) []string {
	uptime := "-"
	if s.Uptime != nil {
		uptime = fmt.Sprintf("%.*f%%", statuspage.UptimeDecimals,
			statuspage.UptimePercent(*s.Uptime/100, statuspage.UptimeDecimals))
	}
	row := []string{strconv.Itoa(s.Count), strconv.Itoa(s.Failures), strconv.Itoa(s.Slow), uptime}
	for _, v := range []*float64{s.Min, s.Mean, s.P50, s.P95, s.P99, s.Max} {
		row = append(row, milliseconds(v))
	}
	return row
}

// milliseconds formats a response time in seconds for people.
func milliseconds(seconds *float64) string {
	switch {
	case seconds == nil:
		return "-"
	case *seconds < 0.01:
		return fmt.Sprintf("%.1f ms", *seconds*1000)
	case *seconds < 10:
		return fmt.Sprintf("%.0f ms", *seconds*1000)
	default:
		return fmt.Sprintf("%.1f s", *seconds)
	}
}
