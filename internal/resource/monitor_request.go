package resource

import (
	"cmp"
	"time"

	"github.com/allswell/allswell/internal/check"
	"github.com/allswell/allswell/internal/domain/kernel"
	"github.com/allswell/allswell/internal/domain/monitor"
	"github.com/allswell/allswell/internal/resource/field"
	"github.com/allswell/allswell/internal/shared/jsonobject"
	"github.com/allswell/allswell/internal/shared/optional"
)

// monitorByHand reads the fields of a request that depend on each other: the type, by which all others have their
// defaults; the schedule, which can be an interval; the page with the component and its status; and the end of a pause,
// which disables the monitor.
func monitorByHand(o *jsonobject.Object, request field.Request) field.Change[monitor.Monitor] {
	all := request != field.Changing
	given := jsonobject.Enum(o, "type", check.MonitorTypes())
	known := given != nil || !o.Given("type")
	if !known && all {
		o.AllowUnknown() // only the type is wrong
	}
	kind := cmp.Or(optional.Value(given), monitor.MonitorHeartbeat)
	if !known {
		kind = ""
	}
	interval := readSeconds(o)
	setSchedule := readSchedule(o, request, kind, interval)
	page, component, enabled := readNullable(o, "page"), readNullable(o, "component_id"), o.Flag("enabled")
	if page == nil && o.Given("page") { // the component of an unknown page cannot be looked up
		component = nil
	}
	down := jsonobject.Enum(o, "down_status", kernel.DownStatuses)
	var token *string
	var pausedUntil *time.Time
	switch {
	case all:
		token = o.Text("token")
		enabled = new(enabled == nil || *enabled)
	case o.Null("paused_until"):
		pausedUntil = new(time.Time)
	default:
		pausedUntil = o.Instant("paused_until")
	}
	return func(m *monitor.Monitor) error {
		if all {
			m.Reset(kind) // which keeps the end of a pause
		} else {
			set(&m.Type, given)
		}
		if all && !known {
			m.Interval = monitor.DefaultCheckInterval
		}
		if !m.IsCheck() {
			setSchedule(&m.MonitorConfig)
		} else {
			set(&m.Interval, interval)
		}
		if set(&m.PageSlug, page); page != nil && *page == "" {
			m.ComponentID = ""
		}
		set(&m.ComponentID, component)
		set(&m.DownStatus, down)
		if enabled != nil {
			m.Enable(*enabled)
		}
		if set(&m.PausedUntil, pausedUntil); enabled == nil && !optional.Value(pausedUntil).IsZero() {
			m.Enabled = false
		}
		if optional.Value(token) != "" {
			m.Token = *token
		}
		return nil
	}
}

// NothingToCheck is the problem of the type heartbeat in a request to check a target.
const NothingToCheck = "A monitor of the type %s expects pings: there is nothing to check."

// checkFields are the fields of a monitor that change what a check does, without the fields that are read by hand.
var checkFields = Monitor.Only("timeout", "slow_after", "recovery_threshold", "confirm_from", "config")

// ReadCheck reads the fields of a new monitor that change what its check does, and ignores the others. The error is a
// *kernel.ValidationError if the type is not a type of check.
func ReadCheck(o *jsonobject.Object) (field.Change[monitor.Monitor], error) {
	for _, i := range Monitor.Infos() {
		if i.Kind != field.KindConfig { // whose fields stand beside the others
			o.AllowReadOnly(i.Name)
		}
	}
	o.AllowReadOnly(append(Monitor.ReadOnly(), "unique_name")...)
	o.Require("type")
	kind := optional.Value(jsonobject.Enum(o, "type", check.MonitorTypes()))
	if kind == monitor.MonitorHeartbeat {
		o.Add("type", NothingToCheck, kind)
	}
	interval := readSeconds(o)
	change := checkFields.Read(o, field.Creation)
	if !kind.IsCheck() {
		return nil, o.Check(nil)
	}
	return func(m *monitor.Monitor) error {
		ResetMonitor(m, kind)
		m.Name = "test"
		set(&m.Interval, interval)
		return change(m)
	}, nil
}

// readNullable reads a text; null is "".
func readNullable(o *jsonobject.Object, name string) *string {
	if o.Null(name) {
		return new(string)
	}
	return o.Text(name)
}

func set[V any](to, value *V) {
	if value != nil {
		*to = *value
	}
}
