package resource

import (
	"time"

	"github.com/allswell/allswell"
	"github.com/allswell/allswell/internal/field"
	"github.com/allswell/allswell/internal/jsonobject"
)

// Schedule is when the pings of a monitor are due, in JSON. The fields of the other kinds are absent.
type Schedule struct {
	Kind       allswell.ScheduleKind `json:"kind"`
	Interval   int64                 `json:"interval,omitempty"` // seconds
	Expression string                `json:"expression,omitempty"`
	TimeZone   string                `json:"time_zone,omitempty"`
	Kubernetes bool                  `json:"kubernetes,omitempty"`
}

// ScheduleOf returns a schedule: that of a Cron or, if it is zero, an interval.
func ScheduleOf(interval time.Duration, cron allswell.Cron) Schedule {
	if cron.IsZero() {
		return Schedule{Kind: allswell.ScheduleInterval, Interval: int64(interval / time.Second)}
	}
	return Schedule{Kind: cron.Kind(), Expression: cron.Expression, TimeZone: cron.TimeZone, Kubernetes: cron.Kubernetes}
}

func shownSchedule(m *monitor) any { return ScheduleOf(m.Interval, m.Cron) }

// auditedSchedule returns the schedule as the audit log records it: the interval is a field of its own.
func auditedSchedule(m *monitor) map[string]any {
	fields := map[string]any{"cron": nil, "calendar": nil, "time_zone": nil, "kubernetes": nil}
	if m.Cron.IsZero() {
		return fields
	}
	fields[string(m.Cron.Kind())], fields["time_zone"] = m.Cron.Expression, m.Cron.TimeZone
	if m.Cron.Kubernetes {
		fields["kubernetes"] = true
	}
	return fields
}

// readSchedule reads the schedule of a heartbeat monitor. given is the interval beside it; nil: there is none. If all of a
// monitor is read, it needs one of them.
func readSchedule(o *jsonobject.Object, request field.Request, kind allswell.MonitorType, given *time.Duration) func(*allswell.MonitorConfig) {
	all := request != field.Changing
	if all && kind.IsCheck() {
		return nil // it has none
	}
	schedule, ok := o.Object("schedule")
	if schedule != nil {
		return readScheduleObject(o, schedule, given)
	}
	if all && kind == allswell.MonitorHeartbeat && !ok {
		o.Require("interval")
	}
	return func(c *allswell.MonitorConfig) {
		if given != nil {
			c.Reschedule(*given, allswell.Cron{})
		} else if ok {
			wrongSchedule(c)
		}
	}
}

// readScheduleObject reads a schedule. interval is the one beside it; nil: there is none.
func readScheduleObject(o, schedule *jsonobject.Object, interval *time.Duration) func(*allswell.MonitorConfig) {
	schedule.Require("kind")
	kind, own := valueOf(jsonobject.Enum(schedule, "kind", allswell.ScheduleKinds)), readSeconds(schedule)
	expression, zone, kubernetes := schedule.Text("expression"), schedule.Text("time_zone"), valueOf(schedule.Flag("kubernetes"))
	if kubernetes && kind != "" && kind != allswell.ScheduleCron {
		schedule.Add("kubernetes", "field needs a schedule of the kind cron")
	}
	switch kind {
	case allswell.ScheduleCron, allswell.ScheduleCalendar:
		schedule.Require("expression")
		schedule.Reject("interval", "A schedule of the kind %s has no %s.", kind, allswell.Name("interval"))
		if zone != nil && *zone == "" {
			schedule.Add("time_zone", "must be the name of a zone, such as Europe/Berlin")
		}
		cron := allswell.NewCron(kind, valueOf(expression), valueOf(zone))
		cron.Kubernetes = kubernetes
		if longest := cron.Longest(); interval != nil && longest != 0 && *interval != longest.Truncate(time.Second) {
			o.Add("interval", "disagrees with the schedule: give one of them")
		}
		return func(c *allswell.MonitorConfig) { c.Reschedule(0, cron) }
	case allswell.ScheduleInterval:
		schedule.Require("interval")
		schedule.Reject("expression", "A schedule of the kind interval has no %s.", allswell.Name("expression"))
		schedule.Reject("time_zone", "A schedule of the kind interval has no %s.", allswell.Name("time_zone"))
		switch {
		case own == nil:
		case *own < allswell.MinInterval || *own > allswell.MaxInterval:
			schedule.Add("interval", "must be a whole number of seconds from %d to %d", allswell.MinInterval/time.Second, allswell.MaxInterval/time.Second)
		case interval != nil && *interval != *own:
			o.Add("interval", "disagrees with the schedule: give one of them")
		default:
			return func(c *allswell.MonitorConfig) { c.Reschedule(*own, allswell.Cron{}) }
		}
	}
	return wrongSchedule
}

// wrongSchedule is the change by a schedule in which an error was recorded: the interval is not wrong, too.
func wrongSchedule(c *allswell.MonitorConfig) { c.Reschedule(allswell.MinInterval, allswell.Cron{}) }

// readSeconds reads an interval. What is far out of range becomes a value that is, so that it does not overflow.
func readSeconds(o *jsonobject.Object) *time.Duration {
	n := o.Integer("interval")
	if n == nil {
		return nil
	}
	const beyond = 1_000_000_000 // longer than two times of a cron schedule are apart
	return new(time.Duration(min(max(*n, -1), beyond)) * time.Second)
}
