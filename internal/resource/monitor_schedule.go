package resource

import (
	"time"

	"github.com/allswell/allswell/internal/domain/kernel"
	"github.com/allswell/allswell/internal/domain/monitor"
	"github.com/allswell/allswell/internal/domain/schedule"
	"github.com/allswell/allswell/internal/resource/field"
	"github.com/allswell/allswell/internal/shared/jsonobject"
	"github.com/allswell/allswell/internal/shared/optional"
)

// Schedule is when the pings of a monitor are due, in JSON. The fields of the other kinds are absent.
type Schedule struct {
	Kind       schedule.ScheduleKind `json:"kind"`
	Interval   int64                 `json:"interval,omitempty"` // seconds
	Expression string                `json:"expression,omitempty"`
	TimeZone   string                `json:"time_zone,omitempty"`
	Kubernetes bool                  `json:"kubernetes,omitempty"`
}

// ScheduleOf returns the schedule of a Cron, or an interval if the Cron is zero.
func ScheduleOf(interval time.Duration, cron schedule.Cron) Schedule {
	if cron.IsZero() {
		return Schedule{Kind: schedule.ScheduleInterval, Interval: int64(interval / time.Second)}
	}
	return Schedule{
		Kind: cron.Kind(), Expression: cron.Expression, TimeZone: cron.TimeZone, Kubernetes: cron.Kubernetes,
	}
}

func shownSchedule(m *monitor.Monitor) any { return ScheduleOf(m.Interval, m.Cron) }

// auditedSchedule returns the schedule as the audit log records it: the interval is a field of its own.
func auditedSchedule(m *monitor.Monitor) map[string]any {
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

// readSchedule reads the schedule of a heartbeat monitor. given is the interval beside it; nil: there is none. A
// request that creates or replaces a monitor must have one of them.
func readSchedule(
	o *jsonobject.Object, request field.Request, kind monitor.MonitorType, given *time.Duration,
) func(*monitor.MonitorConfig) {
	all := request != field.Changing
	if all && kind.IsCheck() {
		return nil // it has none
	}
	times, ok := o.Object("schedule")
	if times != nil {
		return readScheduleObject(o, times, given)
	}
	if all && kind == monitor.MonitorHeartbeat && !ok {
		o.Require("interval")
	}
	return func(c *monitor.MonitorConfig) {
		if given != nil {
			c.Reschedule(*given, schedule.Cron{})
		} else if ok {
			wrongSchedule(c)
		}
	}
}

// readScheduleObject reads a schedule. interval is the interval beside it; nil: there is none.
func readScheduleObject(o, times *jsonobject.Object, interval *time.Duration) func(*monitor.MonitorConfig) {
	times.Require("kind")
	kind, own := optional.Value(jsonobject.Enum(times, "kind", schedule.ScheduleKinds)), readSeconds(times)
	expression, zone, kubernetes := times.Text("expression"), times.Text("time_zone"),
		optional.Value(times.Flag("kubernetes"))
	if kubernetes && kind != "" && kind != schedule.ScheduleCron {
		times.Add("kubernetes", "field needs a schedule of the kind cron")
	}
	switch kind {
	case schedule.ScheduleCron, schedule.ScheduleCalendar:
		times.Require("expression")
		times.Reject("interval", "A schedule of the kind %s has no %s.", kind, kernel.Name("interval"))
		if zone != nil && *zone == "" {
			times.Add("time_zone", "must be the name of a zone, such as Europe/Berlin")
		}
		cron := schedule.NewCron(kind, optional.Value(expression), optional.Value(zone))
		cron.Kubernetes = kubernetes
		if longest := cron.Longest(); interval != nil && longest != 0 && *interval != longest.Truncate(time.Second) {
			o.Add("interval", "disagrees with the schedule: give one of them")
		}
		return func(c *monitor.MonitorConfig) { c.Reschedule(0, cron) }
	case schedule.ScheduleInterval:
		times.Require("interval")
		times.Reject("expression", "A schedule of the kind interval has no %s.", kernel.Name("expression"))
		times.Reject("time_zone", "A schedule of the kind interval has no %s.", kernel.Name("time_zone"))
		switch {
		case own == nil:
		case *own < monitor.MinInterval || *own > monitor.MaxInterval:
			times.Add("interval", "must be a whole number of seconds from %d to %d", monitor.MinInterval/time.Second,
				monitor.MaxInterval/time.Second)
		case interval != nil && *interval != *own:
			o.Add("interval", "disagrees with the schedule: give one of them")
		default:
			return func(c *monitor.MonitorConfig) { c.Reschedule(*own, schedule.Cron{}) }
		}
	}
	return wrongSchedule
}

// wrongSchedule is the change for a schedule with an error. It sets a valid interval, so that the interval causes no
// further error.
func wrongSchedule(c *monitor.MonitorConfig) { c.Reschedule(monitor.MinInterval, schedule.Cron{}) }

// readSeconds reads an interval. A number far out of range is replaced by one that is out of range, too, but does not
// overflow.
func readSeconds(o *jsonobject.Object) *time.Duration {
	n := o.Integer("interval")
	if n == nil {
		return nil
	}
	const beyond = 1_000_000_000 // longer than two times of a cron schedule are apart
	return new(time.Duration(min(max(*n, -1), beyond)) * time.Second)
}
