package cli

import (
	"time"

	"github.com/allswell/allswell"
	"github.com/allswell/allswell/client"
	"github.com/allswell/allswell/internal/console"
	"github.com/allswell/allswell/internal/settings"
)

type monitorSchedule struct {
	Monitor string `arg:"" help:"Id, name or slug of the monitor."`
	Count   int    `short:"n" default:"10" placeholder:"COUNT" help:"How many times, at most 100. Default: 10."`
}

func (cmd *monitorSchedule) Run(c *commandContext) error {
	id, err := c.monitor(cmd.Monitor)
	if err != nil {
		return err
	}
	times, err := c.api.GetMonitorSchedule(c.Ctx, id, cmd.Count)
	return object(c, times, err, func(d *client.DueTimes) {
		if len(d.DueAt) == 0 {
			c.Printf("No ping is due: the monitor is disabled, or waits for its first ping.\n")
			return
		}
		zone := time.UTC
		if d.Schedule.Kind == allswell.ScheduleCron {
			zone = cronOf(d.Schedule).Zone()
		}
		for _, due := range d.DueAt {
			c.Printf("%s\n", due.In(zone).Format("Mon 2006-01-02 15:04:05 MST"))
		}
	})
}

// cronSchedule returns the schedule of an expression in a zone, or nil if none is given.
func cronSchedule(expression, zone string) (*client.Schedule, error) {
	if expression == "" {
		if zone != "" {
			return nil, console.UsageErrorf("--time-zone needs --cron")
		}
		return nil, nil
	}
	return &client.Schedule{Kind: allswell.ScheduleCron, Expression: expression, TimeZone: zone}, nil
}

// cronOf returns the Cron of a schedule; zero for an interval.
func cronOf(s client.Schedule) allswell.Cron {
	return allswell.Cron{Expression: s.Expression, TimeZone: s.TimeZone}
}

func scheduleText(s client.Schedule) string {
	if s.Kind == allswell.ScheduleCron {
		return cronOf(s).String()
	}
	return settings.ShortDuration(s.Interval.Duration())
}

func scheduleLabel(m *client.Monitor) string {
	if m.Schedule.Kind == allswell.ScheduleCron {
		return "Cron"
	}
	return "Interval"
}

func graceText(grace client.Seconds) string {
	if grace == 0 {
		return ""
	}
	return settings.ShortDuration(grace.Duration())
}

// often says how often the job of a monitor has to ping.
func often(m *client.Monitor) string {
	if m.Schedule.Kind == allswell.ScheduleCron {
		return "at each time of " + cronOf(m.Schedule).String()
	}
	return "at least " + every(m.Interval.Duration())
}
