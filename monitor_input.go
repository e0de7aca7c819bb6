package allswell

import (
	"cmp"
	"slices"
	"time"
)

// NewMonitor is the input for creating a monitor.
type NewMonitor struct {
	Type             MonitorType // "": MonitorHeartbeat
	Check            CheckSpec   // of a type that is checked; its zero fields get their defaults
	ParentID         string      // id or slug; "": none
	Slug             string      // "": made from the name
	Token            string      // of its ping URL, which no other monitor has; "": a random one
	Name             string
	Interval         time.Duration  // 0 with a Cron
	Cron             Cron           // zero: pings are due within Interval
	Grace            *time.Duration // nil: the default of the schedule's kind
	Page             string         // slug; "": none
	ComponentID      string         // id or slug; "": none
	Disabled         bool
	FailureThreshold int           // 0: the global setting
	DownStatus       Status        // "": DefaultDownStatus
	AutoIncidents    AutoIncidents // "": the page's
	Tags             []string
	MaxRuntime       time.Duration // 0: see MonitorConfig.RunLimit
	PublishOutput    bool
	RunConditions
	UniqueName bool // refuse a name that another monitor of the page has
}

// Validate returns a *ValidationError with every invalid field. The store checks that the page and
// the component exist.
func (n NewMonitor) Validate() error {
	var bad ValidationError
	CheckOptionalSlug(&bad, n.Slug)
	checkPingToken(&bad, n.Token)
	CheckLine(&bad, "name", n.Name, MaxNameLength)
	switch {
	case n.IsCheck():
		n.checkCheck(&bad)
	case n.Cron.IsZero():
		checkInterval(&bad, n.Interval)
	default:
		checkCron(&bad, n.Cron, n.Interval)
	}
	checkGrace(&bad, n.Grace)
	if n.Page == "" && n.ComponentID != "" {
		bad.Add("page", "field is required with a %s", Name("component_id"))
	}
	if n.FailureThreshold != 0 {
		checkThreshold(&bad, n.FailureThreshold)
	}
	if n.DownStatus != "" {
		checkDownStatus(&bad, n.DownStatus)
	}
	if n.AutoIncidents != "" {
		checkAutoIncidents(&bad, n.AutoIncidents)
	}
	checkMaxRuntime(&bad, n.MaxRuntime)
	n.check(&bad)
	CheckRuntimes(&bad, n.MinRuntime, n.MaxRuntime)
	CheckTags(&bad, n.Tags)
	return bad.Err()
}

// Schedule returns the interval, the Cron and the grace of the new monitor, with their defaults.
func (n NewMonitor) Schedule() (interval time.Duration, cron Cron, grace time.Duration) {
	if n.Grace != nil {
		grace = *n.Grace
	} else {
		grace = defaultGrace(n.Cron)
	}
	if n.IsCheck() {
		return cmp.Or(n.Interval, DefaultCheckInterval), Cron{}, 0
	}
	if n.Cron.IsZero() {
		return n.Interval, n.Cron, grace
	}
	return n.Cron.Longest(), n.Cron, grace
}

// defaultGrace returns the grace of a monitor with a Cron, or with an interval if that is zero.
func defaultGrace(cron Cron) time.Duration {
	if cron.IsZero() {
		return 0
	}
	return DefaultCronGrace
}

// DefaultDownStatus returns the down status of a new monitor. One silent job of several does not
// make its component a major outage, so a monitor that shares a component gets
// StatusPartialOutage. others is the number of other monitors of the component; componentID is ""
// for a monitor without a component.
func DefaultDownStatus(componentID string, others int) Status {
	if componentID != "" && others == 0 {
		return StatusMajorOutage
	}
	return StatusPartialOutage
}

// Replacement returns the change that gives an existing monitor the fields of n. Fields that n does
// not set get their defaults, except the slug, and the down status: its default depends on the other
// monitors of the component, so that repeating a request could change it. Both are kept.
func (n NewMonitor) Replacement() MonitorChange {
	enabled := !n.Disabled
	interval, cron, grace := n.Schedule()
	ch := MonitorChange{
		Name: &n.Name, Interval: &interval, Cron: &cron, Grace: &grace, Page: &n.Page, ComponentID: &n.ComponentID, Enabled: &enabled,
		FailureThreshold: &n.FailureThreshold, AutoIncidents: &n.AutoIncidents, Tags: &n.Tags, MaxRuntime: &n.MaxRuntime, PublishOutput: &n.PublishOutput,
		Conditions: n.replacement(), Type: cmp.Or(n.Type, MonitorHeartbeat), ParentID: &n.ParentID,
	}
	if n.IsCheck() {
		ch.Check = n.Check.replacement()
	}
	if n.DownStatus != "" {
		ch.DownStatus = &n.DownStatus
	}
	if n.Slug != "" {
		ch.Slug = &n.Slug
	}
	return ch
}

// MonitorChange is the input for changing a monitor. Nil fields keep their values.
type MonitorChange struct {
	Type             MonitorType // "", or the type that the monitor has, which cannot be changed
	Check            CheckChange
	ParentID         *string // id or slug; "": none
	Slug             *string
	Name             *string
	Interval         *time.Duration // pings are due within it, unless Cron is given, too
	Cron             *Cron          // zero: as Interval says
	Grace            *time.Duration // nil: unchanged, but the default if the kind of the schedule changes
	Page             *string        // slug; "": none, and no component either
	ComponentID      *string        // id or slug; "": none
	Enabled          *bool
	PausedUntil      *time.Time // a time disables the monitor until then; zero: it stays disabled, if it is
	FailureThreshold *int       // 0: the global setting
	DownStatus       *Status
	AutoIncidents    *AutoIncidents // "": the page's
	Tags             *[]string      // replaces all
	AddTags          []string       // in addition to those it has
	RemoveTags       []string
	MaxRuntime       *time.Duration // 0: see MonitorConfig.RunLimit; runs that have begun keep their limit
	PublishOutput    *bool
	Conditions       ConditionsChange
}

// Validate returns a *ValidationError with every invalid field.
func (ch MonitorChange) Validate(now time.Time) error {
	var bad ValidationError
	if ch.PausedUntil != nil {
		checkPause(&bad, *ch.PausedUntil, now)
		if ch.Enabled != nil && *ch.Enabled && !ch.PausedUntil.IsZero() {
			bad.Add("paused_until", "cannot be given for a monitor that is enabled")
		}
	}
	if ch.Slug != nil {
		checkSlug(&bad, *ch.Slug)
	}
	if ch.Name != nil {
		CheckLine(&bad, "name", *ch.Name, MaxNameLength)
	}
	if ch.Cron != nil && !ch.Cron.IsZero() {
		var interval time.Duration
		if ch.Interval != nil {
			interval = *ch.Interval
		}
		checkCron(&bad, *ch.Cron, interval)
	} else if ch.Interval != nil {
		checkInterval(&bad, *ch.Interval)
	}
	checkGrace(&bad, ch.Grace)
	if ch.FailureThreshold != nil && *ch.FailureThreshold != 0 {
		checkThreshold(&bad, *ch.FailureThreshold)
	}
	if ch.DownStatus != nil {
		checkDownStatus(&bad, *ch.DownStatus)
	}
	if ch.AutoIncidents != nil && *ch.AutoIncidents != "" {
		checkAutoIncidents(&bad, *ch.AutoIncidents)
	}
	if ch.MaxRuntime != nil {
		checkMaxRuntime(&bad, *ch.MaxRuntime)
	}
	ch.Conditions.ApplyTo(RunConditions{}).check(&bad)
	if ch.Tags != nil {
		CheckTags(&bad, *ch.Tags)
	}
	CheckTags(&bad, ch.AddTags)
	if ch.Page != nil && *ch.Page == "" && ch.ComponentID != nil && *ch.ComponentID != "" {
		bad.Add("page", "field is required with a %s", Name("component_id"))
	}
	return bad.Err()
}

// Apply changes m, except for Page and ComponentID, which the store resolves. Enabling a monitor
// or changing its schedule begins a new wait. ends reports that the monitor was down and is now
// disabled, so that its outage ends. A new schedule does not end an outage; only a ping does.
func (m *Monitor) Apply(ch MonitorChange, now time.Time) (ends bool) {
	before := *m
	set(&m.Slug, ch.Slug)
	if ch.Name != nil {
		m.Name = *ch.Name
	}
	m.reschedule(ch)
	if ch.PausedUntil != nil {
		m.PausedUntil = *ch.PausedUntil
		m.Enabled = m.Enabled && m.PausedUntil.IsZero()
	}
	if ch.Enabled != nil {
		m.Enabled = *ch.Enabled
	}
	if m.Enabled {
		m.PausedUntil = time.Time{}
	}
	if ch.FailureThreshold != nil {
		m.FailureThreshold = *ch.FailureThreshold
	}
	if ch.DownStatus != nil {
		m.DownStatus = *ch.DownStatus
	}
	if ch.AutoIncidents != nil {
		m.AutoIncidents = *ch.AutoIncidents
	}
	if ch.MaxRuntime != nil {
		m.MaxRuntime = *ch.MaxRuntime
	}
	if ch.PublishOutput != nil {
		m.PublishOutput = *ch.PublishOutput
	}
	m.RunConditions = ch.Conditions.ApplyTo(m.RunConditions)
	m.Tags = ch.tags(m.Tags)
	if m.Enabled != before.Enabled || m.Interval != before.Interval || m.Cron != before.Cron {
		m.restartWait(now)
	}
	if !m.Enabled {
		m.State = MonitorUp
	}
	m.applyCheckChange(ch.Check, before)
	m.dropWarned()
	return before.State == MonitorDown && m.State == MonitorUp
}

// reschedule changes the schedule and the grace.
func (m *Monitor) reschedule(ch MonitorChange) {
	before := m.Cron
	if ch.Interval != nil {
		m.Interval, m.Cron = *ch.Interval, Cron{}
	}
	if ch.Cron != nil && !ch.Cron.IsZero() {
		m.Interval, m.Cron = ch.Cron.Longest(), *ch.Cron
	}
	switch {
	case ch.Grace != nil:
		m.Grace = *ch.Grace
	case before.IsZero() != m.Cron.IsZero():
		m.Grace = defaultGrace(m.Cron)
	}
}

// checkCron checks a Cron, and the interval that is given with it; 0: none.
func checkCron(bad *ValidationError, cron Cron, interval time.Duration) {
	cron.validate(bad)
	if longest := cron.Longest(); interval != 0 && longest != 0 && interval != longest {
		bad.Add("interval", "disagrees with the schedule: give one of them")
	}
}

func checkGrace(bad *ValidationError, d *time.Duration) {
	if d != nil && (*d < 0 || *d > MaxGrace || *d%time.Second != 0) {
		bad.Add("grace", "must be a whole number of seconds from 0 to %d", MaxGrace/time.Second)
	}
}

func checkInterval(bad *ValidationError, d time.Duration) {
	if d < MinInterval || d > MaxInterval || d%time.Second != 0 {
		bad.Add("interval", "must be a whole number of seconds from %d to %d",
			MinInterval/time.Second, MaxInterval/time.Second)
	}
}

// checkMaxRuntime accepts 0 for the default.
func checkMaxRuntime(bad *ValidationError, d time.Duration) {
	if d < 0 || d > MaxRuntime || d%time.Second != 0 {
		bad.Add("max_runtime", "must be a whole number of seconds from 1 to %d", MaxRuntime/time.Second)
	}
}

func checkThreshold(bad *ValidationError, n int) {
	if n < 1 || n > MaxFailureThreshold {
		bad.Add("failure_threshold", "must be from 1 to %d", MaxFailureThreshold)
	}
}

// checkDownStatus accepts DownStatuses.
func checkDownStatus(bad *ValidationError, s Status) {
	if !slices.Contains(DownStatuses, s) {
		bad.Add("down_status", "must be one of: %s", JoinValues(DownStatuses))
	}
}
