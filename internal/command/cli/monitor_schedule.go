package cli

import (
	"strings"
	"time"

	"github.com/allswell/allswell/client"
	"github.com/allswell/allswell/internal/command/console"
	"github.com/allswell/allswell/internal/domain/schedule"
	"github.com/allswell/allswell/internal/shared/settings"
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
			c.Printf("No ping is due: the monitor is paused, or waiting for its first ping.\n")
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

// newSchedule has the flags for the times at which the pings of a new monitor are due, in place of an interval.
type newSchedule struct {
	Cron       []string `xor:"schedule" sep:"none" placeholder:"EXPRESSION" help:"Times at which pings are due, in place of an interval, as in a crontab: '0 2 * * *', '*/15 8-18 * * mon-fri' or @daily. Repeatable."`
	Calendar   []string `xor:"schedule" sep:"none" placeholder:"EXPRESSION" help:"The same, as in OnCalendar= of a systemd timer: 'Mon..Fri 08..18:00/15', '*-*-01 02:30' or daily. Repeatable."`
	TimeZone   string   `placeholder:"ZONE" help:"Time zone of --cron or --calendar, such as Europe/Berlin. Default: the zone at the end of a --calendar, or UTC."`
	Kubernetes bool     `help:"Read --cron as Kubernetes reads the schedule of a CronJob."`
}

// schedule returns the schedule of an expression, or nil if none is given.
func (f newSchedule) schedule() (*client.Schedule, error) {
	s := givenTimes(f.Cron, f.Calendar)
	switch {
	case f.Kubernetes && len(f.Cron) == 0:
		return nil, errKubernetesNeedsCron
	case s == nil && f.TimeZone != "":
		return nil, errZoneNeedsTimes
	case s != nil:
		s.TimeZone, s.Kubernetes = f.TimeZone, f.Kubernetes
	}
	return s, nil
}

var (
	errKubernetesNeedsCron = console.UsageErrorf("--kubernetes needs --cron")
	errZoneNeedsTimes      = console.UsageErrorf("--time-zone needs --cron or --calendar")
	errNoTimes             = console.UsageErrorf("--time-zone and --kubernetes need --cron or --calendar: " +
		"the monitor has an interval")
)

// givenTimes returns the schedule of expressions without its zone; nil if there are none.
func givenTimes(cron, calendar []string) *client.Schedule {
	switch {
	case len(cron) > 0:
		return &client.Schedule{Kind: client.ScheduleCron, Expression: strings.Join(cron, "\n")}
	case len(calendar) > 0:
		return &client.Schedule{Kind: client.ScheduleCalendar, Expression: strings.Join(calendar, "\n")}
	}
	return nil
}

// editedSchedule has the flags that change a schedule. What is not given is not changed.
type editedSchedule struct {
	Cron       []string `xor:"schedule" sep:"none" placeholder:"EXPRESSION" help:"New times at which pings are due, in place of an interval, as in a crontab: '0 2 * * *' or @daily. Repeatable."`
	Calendar   []string `xor:"schedule" sep:"none" placeholder:"EXPRESSION" help:"The same, as in OnCalendar= of a systemd timer: 'Mon..Fri 08..18:00/15', '*-*-01 02:30' or daily. Repeatable."`
	TimeZone   string   `placeholder:"ZONE" help:"Time zone of the times, such as Europe/Berlin. Default: the zone at the end of a --calendar, or the present one. In place of an interval: UTC."`
	Kubernetes *bool    `negatable:"" help:"Whether cron times are read as Kubernetes reads the schedule of a CronJob. Default: as before."`
}

// edited returns the schedule of a monitor after the change, with the precondition for saving it, because the API
// replaces a schedule as a whole. Without flags it returns nil: the schedule stays. interval means that a new interval
// is given, with which flags are an error.
func (f editedSchedule) edited(
	c *commandContext, monitor string, interval bool,
) (*client.Schedule, []client.CallOption, error) {
	given := givenTimes(f.Cron, f.Calendar)
	switch none := given == nil && f.TimeZone == "" && f.Kubernetes == nil; {
	case none:
		return nil, nil, nil
	case interval:
		return nil, nil, errNoTimes
	}
	m, err := c.api.GetMonitor(c.Ctx, monitor)
	if err != nil {
		return nil, nil, err
	}
	s, err := f.applied(m.Schedule, given)
	return s, []client.CallOption{client.IfMatch(m.ETag())}, err
}

// applied returns a schedule after the change. The zone stays even if cron times are replaced by calendar times, or the
// reverse.
func (f editedSchedule) applied(was client.Schedule, given *client.Schedule) (*client.Schedule, error) {
	s := was
	if given != nil {
		s = *given
		if !cronOf(s).EndsInZone() {
			s.TimeZone = was.TimeZone
		}
		s.Kubernetes = was.Kubernetes && s.Kind == client.ScheduleCron
	}
	switch wanted := f.Kubernetes != nil && *f.Kubernetes; {
	case cronOf(s).IsZero():
		return nil, errNoTimes
	case wanted && s.Kind != client.ScheduleCron:
		return nil, errKubernetesNeedsCron
	case f.Kubernetes != nil:
		s.Kubernetes = wanted
	}
	if f.TimeZone != "" {
		s.TimeZone = f.TimeZone
	}
	return &s, nil
}

// cronOf returns the Cron of a schedule; zero for an interval.
func cronOf(s client.Schedule) schedule.Cron {
	return schedule.Cron{
		Expression: s.Expression, TimeZone: s.TimeZone, Calendar: s.Kind == client.ScheduleCalendar,
		Kubernetes: s.Kubernetes,
	}
}

func scheduleText(s client.Schedule) string {
	if !cronOf(s).IsZero() {
		return cronOf(s).String()
	}
	return settings.ShortDuration(s.Interval.Duration())
}

func scheduleLabel(m *client.Monitor) string {
	switch m.Schedule.Kind {
	case client.ScheduleCron:
		return "Cron"
	case client.ScheduleCalendar:
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

// expectation says when pings are expected: "expected at least every 25h".
func expectation(m *client.Monitor) string {
	cron := cronOf(m.Schedule)
	switch {
	case cron.IsZero():
		return "expected at least every " + settings.ShortDuration(m.Interval.Duration())
	case cron.Kubernetes:
		return "expected at " + cron.Sentence() + ", " + cron.TimeZone + ", as in Kubernetes"
	}
	return "expected at " + cron.Sentence() + ", " + cron.TimeZone
}
