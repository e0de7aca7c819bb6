package cli

import (
	"strings"
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
		if !cronOf(d.Schedule).IsZero() {
			zone = cronOf(d.Schedule).Zone()
		}
		for _, due := range d.DueAt {
			c.Printf("%s\n", due.In(zone).Format("Mon 2006-01-02 15:04:05 MST"))
		}
	})
}

// scheduleFlags give the times at which pings are due.
type scheduleFlags struct {
	Cron       []string `xor:"schedule" sep:"none" placeholder:"EXPRESSION" help:"New times at which pings are due, in place of an interval, as in a crontab: '0 2 * * *' or @daily. Repeatable."`
	Calendar   []string `xor:"schedule" sep:"none" placeholder:"EXPRESSION" help:"The same, as in OnCalendar= of a systemd timer: 'Mon..Fri 08..18:00/15', '*-*-01 02:30' or daily. Repeatable."`
	TimeZone   string   `placeholder:"ZONE" help:"Time zone of --cron or --calendar, such as Europe/Berlin. Default: the zone at the end of a --calendar, or UTC."`
	Kubernetes bool     `help:"Read --cron as Kubernetes reads the schedule of a CronJob."`
}

// newSchedule are the same flags of a monitor that needs one of them or an interval.
type newSchedule struct {
	Cron       []string `xor:"schedule" sep:"none" placeholder:"EXPRESSION" help:"Times at which pings are due, in place of an interval, as in a crontab: '0 2 * * *', '*/15 8-18 * * mon-fri' or @daily. Repeatable."`
	Calendar   []string `xor:"schedule" sep:"none" placeholder:"EXPRESSION" help:"The same, as in OnCalendar= of a systemd timer: 'Mon..Fri 08..18:00/15', '*-*-01 02:30' or daily. Repeatable."`
	TimeZone   string   `placeholder:"ZONE" help:"Time zone of --cron or --calendar, such as Europe/Berlin. Default: the zone at the end of a --calendar, or UTC."`
	Kubernetes bool     `help:"Read --cron as Kubernetes reads the schedule of a CronJob."`
}

// schedule returns the schedule of an expression, or nil if none is given.
func (f scheduleFlags) schedule() (*client.Schedule, error) {
	switch {
	case f.Kubernetes && len(f.Cron) == 0:
		return nil, console.UsageErrorf("--kubernetes needs --cron")
	case len(f.Cron) > 0:
		return &client.Schedule{Kind: allswell.ScheduleCron, Expression: strings.Join(f.Cron, "\n"), TimeZone: f.TimeZone, Kubernetes: f.Kubernetes}, nil
	case len(f.Calendar) > 0:
		return &client.Schedule{Kind: allswell.ScheduleCalendar, Expression: strings.Join(f.Calendar, "\n"), TimeZone: f.TimeZone}, nil
	case f.TimeZone != "":
		return nil, console.UsageErrorf("--time-zone needs --cron or --calendar")
	default:
		return nil, nil
	}
}

// cronOf returns the Cron of a schedule; zero for an interval.
func cronOf(s client.Schedule) allswell.Cron {
	return allswell.Cron{Expression: s.Expression, TimeZone: s.TimeZone, Calendar: s.Kind == allswell.ScheduleCalendar, Kubernetes: s.Kubernetes}
}

func scheduleText(s client.Schedule) string {
	if !cronOf(s).IsZero() {
		return cronOf(s).String()
	}
	return settings.ShortDuration(s.Interval.Duration())
}

func scheduleLabel(m *client.Monitor) string {
	switch m.Schedule.Kind {
	case allswell.ScheduleCron:
		return "Cron"
	case allswell.ScheduleCalendar:
		return "Calendar"
	default:
		return "Interval"
	}
}

func graceText(grace client.Seconds) string {
	if grace == 0 {
		return ""
	}
	return settings.ShortDuration(grace.Duration())
}

// often says how often the job of a monitor has to ping.
func often(m *client.Monitor) string {
	if cron := cronOf(m.Schedule); cron.Kubernetes {
		return "at each time of " + cron.String()
	} else if !cron.IsZero() {
		return "at each time of " + cron.Sentence() + " (" + cron.TimeZone + ")"
	}
	return "at least " + every(m.Interval.Duration())
}
