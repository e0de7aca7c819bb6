package allswell

import (
	"slices"
	"time"
)

// NewMonitor is the input for creating a monitor.
type NewMonitor struct {
	Slug             string // "": made from the name
	Name             string
	Interval         time.Duration
	Page             string // slug
	ComponentID      string // id or slug; "": none
	Disabled         bool
	FailureThreshold int    // 0: the global setting
	DownStatus       Status // "": StatusMajorOutage
}

// Validate returns a *ValidationError with every invalid field. The store checks that the page and
// the component exist.
func (n NewMonitor) Validate() error {
	var bad ValidationError
	checkOptionalSlug(&bad, n.Slug)
	CheckText(&bad, "name", n.Name, MaxNameLength)
	checkInterval(&bad, n.Interval)
	if n.Page == "" {
		bad.Add("page", "The page field is required.")
	}
	if n.FailureThreshold != 0 {
		checkThreshold(&bad, n.FailureThreshold)
	}
	if n.DownStatus != "" {
		checkDownStatus(&bad, n.DownStatus)
	}
	return bad.Err()
}

// Replacement returns the change that gives an existing monitor the fields of n. Fields that n does
// not set get their defaults.
func (n NewMonitor) Replacement() MonitorChange {
	enabled := !n.Disabled
	if n.DownStatus == "" {
		n.DownStatus = StatusMajorOutage
	}
	return MonitorChange{
		Name: &n.Name, Interval: &n.Interval, Page: &n.Page, ComponentID: &n.ComponentID, Enabled: &enabled,
		FailureThreshold: &n.FailureThreshold, DownStatus: &n.DownStatus,
	}
}

// MonitorChange is the input for changing a monitor. Nil fields keep their values.
type MonitorChange struct {
	Name             *string
	Interval         *time.Duration
	Page             *string // slug
	ComponentID      *string // id or slug; "": none
	Enabled          *bool
	FailureThreshold *int // 0: the global setting
	DownStatus       *Status
}

// Validate returns a *ValidationError with every invalid field.
func (ch MonitorChange) Validate() error {
	var bad ValidationError
	if ch.Name != nil {
		CheckText(&bad, "name", *ch.Name, MaxNameLength)
	}
	if ch.Interval != nil {
		checkInterval(&bad, *ch.Interval)
	}
	if ch.FailureThreshold != nil && *ch.FailureThreshold != 0 {
		checkThreshold(&bad, *ch.FailureThreshold)
	}
	if ch.DownStatus != nil {
		checkDownStatus(&bad, *ch.DownStatus)
	}
	return bad.Err()
}

// Apply changes m, except for Page and ComponentID, which the store resolves. Enabling a monitor
// or changing its interval begins a new wait. ends reports that the monitor was down and is now
// disabled, so that its outage ends. A new interval does not end an outage; only a ping does.
func (m *Monitor) Apply(ch MonitorChange, now time.Time) (ends bool) {
	before := *m
	if ch.Name != nil {
		m.Name = *ch.Name
	}
	if ch.Interval != nil {
		m.Interval = *ch.Interval
	}
	if ch.Enabled != nil {
		m.Enabled = *ch.Enabled
	}
	if ch.FailureThreshold != nil {
		m.FailureThreshold = *ch.FailureThreshold
	}
	if ch.DownStatus != nil {
		m.DownStatus = *ch.DownStatus
	}
	if m.Enabled != before.Enabled || m.Interval != before.Interval {
		m.restartWait(now)
	}
	if !m.Enabled {
		m.State = MonitorUp
	}
	return before.State == MonitorDown && m.State == MonitorUp
}

func checkInterval(bad *ValidationError, d time.Duration) {
	if d < MinInterval || d > MaxInterval || d%time.Second != 0 {
		bad.Add("interval", "The interval must be a whole number of seconds from %d to %d.",
			MinInterval/time.Second, MaxInterval/time.Second)
	}
}

func checkThreshold(bad *ValidationError, n int) {
	if n < 1 || n > MaxFailureThreshold {
		bad.Add("failure_threshold", "The failure_threshold must be from 1 to %d.", MaxFailureThreshold)
	}
}

// checkDownStatus accepts DownStatuses.
func checkDownStatus(bad *ValidationError, s Status) {
	if !slices.Contains(DownStatuses, s) {
		bad.Add("down_status", "The down_status must be one of: %s.", joinValues(DownStatuses))
	}
}
