package allswell

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// MonitorState is the state of a monitor.
type MonitorState string

// The states of a monitor. A monitor that was never pinged is up.
const (
	MonitorUp   MonitorState = "up"
	MonitorDown MonitorState = "down"
)

// MonitorStates lists all valid states.
var MonitorStates = []MonitorState{MonitorUp, MonitorDown}

// Conditions of monitors, by which lists are limited like by their states. Such a monitor is up.
const (
	MonitorWaiting  MonitorState = "waiting"  // enabled and never pinged
	MonitorDisabled MonitorState = "disabled" // not enabled
	MonitorLate     MonitorState = "late"     // the last check found it overdue; see Monitor.Condition
)

// MonitorConditions lists the results of Monitor.Condition, the most urgent first.
var MonitorConditions = []MonitorState{MonitorDown, MonitorLate, MonitorWaiting, MonitorUp, MonitorDisabled}

// MonitorFilterStates are the states and conditions by which lists of monitors are limited.
var MonitorFilterStates = []MonitorState{MonitorUp, MonitorDown, MonitorWaiting, MonitorDisabled}

// Limits of intervals and failure thresholds.
const (
	MinInterval             = time.Second
	MaxInterval             = 31_536_000 * time.Second // 365 days
	DefaultFailureThreshold = 3
	MaxFailureThreshold     = 1_000
	MaxGrace                = MaxInterval
	DefaultCronGrace        = 5 * time.Minute // of intervals: 0
)

// Monitor expects a ping within every interval, or at the times of a Cron. It can belong to a page, and be linked to one of
// the page's components.
type Monitor struct {
	ID                        string
	WorkspaceID               string
	PageID                    string // "": no page
	PageSlug                  string
	ComponentID               string // "": none
	Slug                      string // unique in the workspace
	Name                      string
	Token                     string        // secret part of the ping URL
	Interval                  time.Duration // with a Cron: Cron.Longest
	Cron                      Cron          // when pings are due; zero: within Interval
	Grace                     time.Duration // how much later they may come
	Enabled                   bool
	PausedUntil               time.Time     // when a disabled monitor is enabled again; zero: not by itself
	FailureThreshold          int           // 0: the global setting
	DownStatus                Status        // the component's status while the monitor is down
	AutoIncidents             AutoIncidents // "": the page's
	Tags                      []string      // in order, each once
	MaxRuntime                time.Duration // of a run; 0: see RunLimit
	PublishOutput             bool          // the end of the output of a failed run is published with the incident
	State                     MonitorState
	ConsecutiveFailures       int
	LastPingAt                time.Time // zero: never pinged
	WaitingSince              time.Time // start of the current wait; zero: waiting for the first ping
	RejectedAt                time.Time // when the service last rejected a valid ping; zero: never
	SuppressedUntil           time.Time // end of the component's maintenance, past or planned; zero: none
	NextCheckAt               time.Time // DueAt, if requested
	EffectiveFailureThreshold int       // result of Threshold, if requested
	IncidentID                string    // incident of the open outage, if requested; "": none
	TickedAt                  time.Time // instant of the last tick that found the monitor overdue
	RunDueAt                  time.Time // when the first of the runs that have begun must have ended; zero: there is none
	CreatedAt                 time.Time
	UpdatedAt                 time.Time
}

// Outage is a period in which a monitor is down.
type Outage struct {
	ID          string
	MonitorID   string
	IncidentID  string // the incident it opened; "": none, or deleted
	Draft       bool   // the incident is a draft
	Reason      OutageReason
	SilentSince time.Time // last ping before the outage; StartedAt if there was none
	StartedAt   time.Time // when the monitor was marked down
	EndedAt     time.Time // zero: ongoing
	EndReason   string    // see OutageEndReason.String, if requested; "": ongoing, or longer ago than events are kept
}

// Condition returns the one of MonitorConditions that describes the monitor.
func (m Monitor) Condition() MonitorState {
	switch {
	case !m.Enabled:
		return MonitorDisabled
	case m.State == MonitorDown:
		return MonitorDown
	case m.WaitingSince.IsZero():
		return MonitorWaiting
	case m.ConsecutiveFailures > 0:
		return MonitorLate
	default:
		return MonitorUp
	}
}

// Wait returns the monitor's current wait. ok is false if there is no deadline: the monitor is
// disabled or was never pinged.
func (m Monitor) Wait() (wait PingWait, ok bool) {
	wait = PingWait{
		Since: m.WaitingSince, Interval: m.Interval, Cron: m.Cron, Grace: m.Grace, RejectedAt: m.RejectedAt, SuppressedUntil: m.SuppressedUntil,
	}
	return wait, m.Enabled && !m.WaitingSince.IsZero()
}

// DueAt returns the deadline of the next ping, or the zero Time for a monitor that is disabled or
// was never pinged. See PingWait.Deadline for gaps.
func (m Monitor) DueAt(gaps []ListeningGap) time.Time {
	wait, ok := m.Wait()
	if !ok {
		return time.Time{}
	}
	return wait.Deadline(gaps)
}

// ScheduleWords says in English when a ping is due: "within 5 minutes", "at 0 2 * * * (Europe/Berlin), with 5 minutes of grace".
func (m Monitor) ScheduleWords() string {
	text := "within " + FormatDuration(m.Interval)
	if !m.Cron.IsZero() {
		text = "at " + m.Cron.String()
	}
	if m.Grace > 0 {
		text += ", with " + FormatDuration(m.Grace) + " of grace"
	}
	return text
}

// MaxDueTimes is how many due times can be listed at once.
const MaxDueTimes = 100

// DueTimes returns the next n times at which a ping is due, without the grace. With an interval they are counted from the
// current wait; if there is none, there are no such times.
func (m Monitor) DueTimes(now time.Time, n int) (times []time.Time) {
	wait, ok := m.Wait()
	if m.Cron.IsZero() {
		if !ok {
			return nil
		}
		passed := max(0, now.Sub(wait.Since)/m.Interval)
		now = wait.Since.Add(passed * m.Interval)
	}
	for range n {
		now = wait.next(now)
		times = append(times, now)
	}
	return times
}

// RecordPing applies a valid ping: the monitor is up, its failure count is 0 and a new wait
// begins. recovered reports that the monitor was down, so that its outage ends. LastPingAt and
// WaitingSince never move backwards, because replicas can commit out of order.
func (m *Monitor) RecordPing(now time.Time) (recovered bool) {
	recovered = m.State == MonitorDown
	m.State = MonitorUp
	m.ConsecutiveFailures = 0
	m.LastPingAt = Later(m.LastPingAt, now)
	m.WaitingSince = Later(m.WaitingSince, m.LastPingAt)
	return recovered
}

// Tick is one run of the periodic check.
type Tick struct {
	Instant   time.Time // nominal instant, a multiple of Period
	AsOf      time.Time // the instant that deadlines are compared with: Instant minus the age of uncommitted pings
	Period    time.Duration
	Threshold int // of monitors without their own
	Gaps      []ListeningGap
}

// CheckResult is the result of checking one monitor.
type CheckResult int

// The results of a check.
const (
	CheckSkipped  CheckResult = iota // nothing changed
	CheckOnTime                      // the failure count is 0
	CheckOverdue                     // the failure count increased
	CheckWentDown                    // the failure count reached the threshold: the monitor is down
)

// Check applies a tick to the monitor. Monitors that are disabled, down or never pinged are
// skipped. Each instant increases the failure count at most once; a TickedAt more than a period in
// the future comes from a clock that went back and is ignored.
func (m *Monitor) Check(t Tick) CheckResult {
	wait, ok := m.Wait()
	if !ok || m.State == MonitorDown {
		return CheckSkipped
	}
	if !m.TickedAt.Before(t.Instant) && !m.TickedAt.After(t.Instant.Add(t.Period)) {
		return CheckSkipped
	}
	if !wait.Deadline(t.Gaps).Before(t.AsOf) {
		m.ConsecutiveFailures = 0
		return CheckOnTime
	}
	m.TickedAt = t.Instant
	m.ConsecutiveFailures++
	if m.ConsecutiveFailures < m.Threshold(t.Threshold) {
		return CheckOverdue
	}
	m.State = MonitorDown
	return CheckWentDown
}

// Threshold returns the monitor's own failure threshold, or setting if it has none.
func (m Monitor) Threshold(setting int) int {
	if m.FailureThreshold > 0 {
		return m.FailureThreshold
	}
	return setting
}

// restartWait begins a new wait after a change of the monitor, unless it was never pinged.
func (m *Monitor) restartWait(now time.Time) {
	m.ConsecutiveFailures = 0
	m.RejectedAt = time.Time{}
	if !m.LastPingAt.IsZero() {
		m.WaitingSince = now
	}
}

// Suppress sets the end of the maintenance of the monitor's component; no ping is expected before
// it. A zero until means that no maintenance is running: if one was, it has ended, and the monitor
// gets a fresh interval. The failure count becomes 0. Suppress reports whether anything changed.
func (m *Monitor) Suppress(until, now time.Time) bool {
	end := Later(until, earlier(m.SuppressedUntil, now))
	if end.Equal(m.SuppressedUntil) {
		return false
	}
	m.SuppressedUntil = end
	if m.State == MonitorUp {
		m.ConsecutiveFailures = 0
	}
	return true
}

// downSuffix follows the monitor's name in the title of an incident that its outage opens.
const downSuffix = " is down"

// DownIncident returns the incident that an outage of the reason OutageSilent opens.
func (m Monitor) DownIncident(silentSince time.Time) NewIncident {
	if m.Cron.IsZero() {
		return m.newIncident(SystemMessage{Kind: SystemMessageSilent, Since: silentSince.UTC(), Interval: m.Interval})
	}
	expected := Later(Later(m.WaitingSince, m.RejectedAt), m.SuppressedUntil)
	return m.newIncident(SystemMessage{Kind: SystemMessagePingMissed, Since: silentSince.UTC(), Due: m.Cron.Next(expected)})
}

// newIncident returns the incident of an outage, with the update auto.
func (m Monitor) newIncident(auto SystemMessage) NewIncident {
	name := []rune(m.Name)
	if len(name) > MaxTitleLength-len(downSuffix) {
		name = append(name[:MaxTitleLength-len(downSuffix)-1], '…')
	}
	message := auto.Text()
	return NewIncident{
		Title: string(name) + downSuffix, DownMonitor: string(name), Impact: ImpactOf(m.DownStatus),
		State: IncidentInvestigating, Message: &message, System: auto,
	}
}

// OutageEndReason is the reason why an outage ended.
type OutageEndReason int

// The reasons why an outage ends.
const (
	OutageEndedByPing OutageEndReason = iota
	OutageEndedByDisable
	OutageEndedByDelete
)

// String returns the reason as events name it.
func (r OutageEndReason) String() string {
	switch r {
	case OutageEndedByDisable:
		return "disabled"
	case OutageEndedByDelete:
		return "deleted"
	default:
		return "ping"
	}
}

// SystemMessage returns the update that resolves the outage's incident. lasted is the time since
// the last ping before the outage.
func (r OutageEndReason) SystemMessage(lasted time.Duration) SystemMessage {
	switch r {
	case OutageEndedByDisable:
		return SystemMessage{Kind: SystemMessageMonitorDisabled}
	case OutageEndedByDelete:
		return SystemMessage{Kind: SystemMessageMonitorDeleted}
	default:
		return SystemMessage{Kind: SystemMessagePingsResumed, Lasted: lasted}
	}
}

// PingCommand returns the shell command with which a job sends a ping to a URL.
func PingCommand(url string) string {
	return "curl -fsS -m 10 --retry 5 --retry-connrefused " + url
}

// DurationPart is a number of one unit of time.
type DurationPart struct {
	Count int
	Unit  time.Duration // a day, an hour, a minute or a second
}

// SplitDuration returns d, rounded to seconds, as one or two parts of adjacent units; the rest is
// cut off. 24 hours and 3 seconds are 1 day. Less than half a second, and negative durations, are
// 0 seconds.
func SplitDuration(d time.Duration) []DurationPart {
	d = max(d, 0).Round(time.Second)
	units := []time.Duration{24 * time.Hour, time.Hour, time.Minute, time.Second}
	for i, unit := range units {
		if d < unit {
			continue
		}
		parts := []DurationPart{{int(d / unit), unit}}
		if i+1 < len(units) {
			if rest := d % unit / units[i+1]; rest > 0 {
				parts = append(parts, DurationPart{int(rest), units[i+1]})
			}
		}
		return parts
	}
	return []DurationPart{{0, time.Second}}
}

// FormatDuration formats d in English with the parts of SplitDuration: "5 minutes", "1 hour 30
// minutes". Package i18n formats durations in other languages.
func FormatDuration(d time.Duration) string {
	names := map[time.Duration]string{24 * time.Hour: "day", time.Hour: "hour", time.Minute: "minute", time.Second: "second"}
	var words []string
	for _, part := range SplitDuration(d) {
		plural := "s"
		if part.Count == 1 {
			plural = ""
		}
		words = append(words, fmt.Sprintf("%d %s%s", part.Count, names[part.Unit], plural))
	}
	return strings.Join(words, " ")
}

// NewMonitor is the input for creating a monitor.
type NewMonitor struct {
	Slug             string // "": made from the name
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
	MaxRuntime       time.Duration // 0: see Monitor.RunLimit
	PublishOutput    bool
	UniqueName       bool // refuse a name that another monitor of the page has
}

// Validate returns a *ValidationError with every invalid field. The store checks that the page and
// the component exist.
func (n NewMonitor) Validate() error {
	var bad ValidationError
	checkOptionalSlug(&bad, n.Slug)
	CheckText(&bad, "name", n.Name, MaxNameLength)
	if n.Cron.IsZero() {
		checkInterval(&bad, n.Interval)
	} else {
		checkCron(&bad, n.Cron, n.Interval)
	}
	checkGrace(&bad, n.Grace)
	if n.Page == "" && n.ComponentID != "" {
		bad.Add("page", "The page field is required with a component_id.")
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
// not set get their defaults, except the down status: its default depends on the other monitors of
// the component, so that repeating a request could change it. It is kept.
func (n NewMonitor) Replacement() MonitorChange {
	enabled := !n.Disabled
	interval, cron, grace := n.Schedule()
	ch := MonitorChange{
		Name: &n.Name, Interval: &interval, Cron: &cron, Grace: &grace, Page: &n.Page, ComponentID: &n.ComponentID, Enabled: &enabled,
		FailureThreshold: &n.FailureThreshold, AutoIncidents: &n.AutoIncidents, Tags: &n.Tags, MaxRuntime: &n.MaxRuntime, PublishOutput: &n.PublishOutput,
	}
	if n.DownStatus != "" {
		ch.DownStatus = &n.DownStatus
	}
	return ch
}

// MonitorChange is the input for changing a monitor. Nil fields keep their values.
type MonitorChange struct {
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
	MaxRuntime       *time.Duration // 0: see Monitor.RunLimit; runs that have begun keep their limit
	PublishOutput    *bool
}

// Validate returns a *ValidationError with every invalid field.
func (ch MonitorChange) Validate(now time.Time) error {
	var bad ValidationError
	if ch.PausedUntil != nil {
		checkPause(&bad, *ch.PausedUntil, now)
		if ch.Enabled != nil && *ch.Enabled && !ch.PausedUntil.IsZero() {
			bad.Add("paused_until", "The paused_until cannot be given for a monitor that is enabled.")
		}
	}
	if ch.Name != nil {
		CheckText(&bad, "name", *ch.Name, MaxNameLength)
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
	if ch.Tags != nil {
		CheckTags(&bad, *ch.Tags)
	}
	CheckTags(&bad, ch.AddTags)
	if ch.Page != nil && *ch.Page == "" && ch.ComponentID != nil && *ch.ComponentID != "" {
		bad.Add("page", "The page field is required with a component_id.")
	}
	return bad.Err()
}

// Apply changes m, except for Page and ComponentID, which the store resolves. Enabling a monitor
// or changing its schedule begins a new wait. ends reports that the monitor was down and is now
// disabled, so that its outage ends. A new schedule does not end an outage; only a ping does.
func (m *Monitor) Apply(ch MonitorChange, now time.Time) (ends bool) {
	before := *m
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
	m.Tags = ch.tags(m.Tags)
	if m.Enabled != before.Enabled || m.Interval != before.Interval || m.Cron != before.Cron {
		m.restartWait(now)
	}
	if !m.Enabled {
		m.State = MonitorUp
	}
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
		bad.Add("interval", "The interval disagrees with the schedule: give one of them.")
	}
}

func checkGrace(bad *ValidationError, d *time.Duration) {
	if d != nil && (*d < 0 || *d > MaxGrace || *d%time.Second != 0) {
		bad.Add("grace", "The grace must be a whole number of seconds from 0 to %d.", MaxGrace/time.Second)
	}
}

func checkInterval(bad *ValidationError, d time.Duration) {
	if d < MinInterval || d > MaxInterval || d%time.Second != 0 {
		bad.Add("interval", "The interval must be a whole number of seconds from %d to %d.",
			MinInterval/time.Second, MaxInterval/time.Second)
	}
}

// checkMaxRuntime accepts 0 for the default.
func checkMaxRuntime(bad *ValidationError, d time.Duration) {
	if d < 0 || d > MaxRuntime || d%time.Second != 0 {
		bad.Add("max_runtime", "The max_runtime must be a whole number of seconds from 1 to %d.", MaxRuntime/time.Second)
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

// AuditObject returns what the audit log records of a monitor.
func (m Monitor) AuditObject() AuditObject {
	var threshold, pausedUntil, maxRuntime, publishOutput, cron, zone, grace any
	if m.Grace > 0 {
		grace = int64(m.Grace / time.Second)
	}
	if !m.Cron.IsZero() {
		cron, zone = m.Cron.Expression, m.Cron.TimeZone
	}
	if m.PublishOutput {
		publishOutput = true
	}
	if m.MaxRuntime > 0 {
		maxRuntime = int64(m.MaxRuntime / time.Second)
	}
	if !m.PausedUntil.IsZero() {
		pausedUntil = FormatTime(m.PausedUntil)
	}
	if m.FailureThreshold > 0 {
		threshold = m.FailureThreshold
	}
	return AuditObject{Kind: ObjectMonitor, ID: m.ID, Name: m.Name, Fields: map[string]any{
		"slug": m.Slug, "name": m.Name, "interval": int64(m.Interval / time.Second), "cron": cron, "time_zone": zone,
		"grace": grace, "page": m.PageSlug, "component_id": m.ComponentID,
		"enabled": m.Enabled, "paused_until": pausedUntil, "failure_threshold": threshold, "down_status": m.DownStatus, "auto_incidents": m.AutoIncidents, "tags": append([]string{}, m.Tags...),
		"max_runtime": maxRuntime, "publish_output": publishOutput,
	}}
}
