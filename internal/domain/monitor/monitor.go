package monitor

import (
	"time"

	"github.com/allswell/allswell/internal/domain/kernel"
	"github.com/allswell/allswell/internal/domain/schedule"
	"github.com/allswell/allswell/internal/domain/statuspage"
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

// Display states of monitors that are up or disabled. See Monitor.DisplayState.
const (
	MonitorWaiting  MonitorState = "waiting"  // enabled and never pinged
	MonitorDisabled MonitorState = "disabled" // not enabled
	// its ping or the result of its check was overdue at the last tick, but it is not down
	MonitorLate MonitorState = "late"
)

// DisplayStates lists the results of Monitor.DisplayState, the most urgent first.
var DisplayStates = []MonitorState{
	MonitorDown, MonitorLate, MonitorFailing, MonitorUnknown, MonitorSlow, MonitorSuppressed, MonitorWaiting, MonitorUp,
	MonitorDisabled,
}

// MonitorFilterStates are the states by which the API can filter lists of monitors.
var MonitorFilterStates = []MonitorState{
	MonitorUp, MonitorDown, MonitorLate, MonitorUnknown, MonitorWaiting, MonitorDisabled,
}

// Limits of intervals and failure thresholds.
const (
	MinInterval             = time.Second
	MaxInterval             = 31_536_000 * time.Second // 365 days
	DefaultFailureThreshold = 3
	MaxFailureThreshold     = 1_000
	MaxGrace                = MaxInterval
	DefaultCronGrace        = 5 * time.Minute // with an interval, the default is 0
)

// Monitor watches one thing: a job, which sends a ping within every interval or at the times of a Cron, or a target,
// which the service checks. It can belong to a page, and be linked to one of the page's components.
type Monitor struct {
	ID             string
	WorkspaceID    string
	MonitorConfig                        // what people set
	MonitorStatus                        // what pings, ticks, results and maintenances determine
	MonitorDerived                       // what follows from other objects and from settings
	SecretVersions kernel.SecretVersions // of the ping token, and of the secrets of the check
	CreatedAt      time.Time
	UpdatedAt      time.Time
}

// MonitorConfig is the configuration of a monitor: all that people set.
//
// The type says how the monitor finds out whether its target works, and does not change. A heartbeat has a token, with
// which its job pings; a schedule, which is an interval or a Cron; a grace; and conditions on the runs of the job. All
// other types have a Check instead, which is repeated after each interval. A monitor that is not enabled refuses pings,
// is not checked, and cannot be down.
//
// The outages of the monitor open incidents on its page, and the component has the DownStatus meanwhile. While a parent
// is down, the monitor does not go down.
type MonitorConfig struct {
	Type             MonitorType // MonitorHeartbeat, or the type of a check
	Slug             string      // unique in the workspace
	Name             string
	Token            string        // secret part of the ping URL; "": a check has none
	Interval         time.Duration // between two pings or checks; with a Cron: Cron.Longest
	Cron             schedule.Cron // when pings are due; zero: within Interval
	Grace            time.Duration // how much later they may come
	Enabled          bool
	PausedUntil      time.Time // when a disabled monitor is enabled again; zero: not by itself
	FailureThreshold int       // failures in a row until the monitor is down; 0: the global setting
	// while that monitor is down, failures of this one are suppressed; "": none
	ParentID      string
	PageID        string                   // "": no page
	PageSlug      string                   // of the page with PageID
	ComponentID   string                   // "": none
	DownStatus    kernel.Status            // the component's status while the monitor is down
	AutoIncidents statuspage.AutoIncidents // "": the page's
	Tags          []string                 // in order, each once
	MaxRuntime    time.Duration            // of a run; 0: see RunLimit
	PublishOutput bool                     // the end of the output of a failed run is published with the incident
	RunConditions
	Check CheckSpec // zero: a heartbeat
}

// MonitorStatus is the part of a monitor that pings, ticks, results and maintenances determine. People do not set it,
// but changes of the configuration can reset parts of it.
//
// A monitor is up until failures in a row reach its threshold, or a run of its job fails. The failures of a heartbeat
// are ticks that found its ping overdue; the failures of a check are results. A ping makes a heartbeat wait for the
// next one; Monitor.Wait says how long.
type MonitorStatus struct {
	State               MonitorState
	ConsecutiveFailures int
	FailuresSuppressed  bool        // the last of them was counted while ParentDown
	LastPingAt          time.Time   // zero: never pinged
	WaitingSince        time.Time   // start of the current wait; zero: waiting for the first ping
	RejectedAt          time.Time   // when the service last rejected a valid ping; zero: never
	SuppressedUntil     time.Time   // end of the component's maintenance, past or planned; zero: none
	TickedAt            time.Time   // instant of the last tick that found the monitor overdue
	RunDueAt            time.Time   // the earliest time at which a run in progress must have ended; zero: there is none
	Warned              []Condition // that the last runs violated, with ActionWarn
	CheckState          CheckState  // what the results of a check determine; zero: a heartbeat
}

// MonitorDerived is what follows from other objects and from settings: from parents, from gaps, from the threshold of
// all monitors and from the outage. ParentDown is always loaded. The store's methods that return monitors to users load
// the rest.
type MonitorDerived struct {
	ParentDown                bool      // the parent, or its parent, and so on, is down
	NextCheckAt               time.Time // Monitor.DueAt of a heartbeat; when a check is due
	EffectiveFailureThreshold int       // result of MonitorConfig.Threshold
	IncidentID                string    // incident of the open outage; "": none
	PingURL                   string    // with the token, as the API shows it
}

// Outage is a period in which a monitor is down.
type Outage struct {
	ID          string
	MonitorID   string
	IncidentID  string // the incident it opened; "": none, or deleted
	Draft       bool   // the incident is a draft
	Reason      OutageReason
	SilentSince time.Time // last ping before the outage; StartedAt if there was none, or the monitor is a check
	StartedAt   time.Time // when the monitor was marked down
	EndedAt     time.Time // zero: ongoing
	EndReason   string    // see OutageEndReason.String, if requested; "": ongoing, or longer ago than events are kept
}

// DisplayState returns the state that lists and screens show: one of DisplayStates.
func (m Monitor) DisplayState() MonitorState {
	switch {
	case !m.Enabled:
		return MonitorDisabled
	case m.State == MonitorDown:
		return MonitorDown
	case m.IsCheck():
		return m.checkDisplayState()
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
func (m Monitor) Wait() (wait schedule.PingWait, ok bool) {
	wait = schedule.PingWait{
		Since: m.WaitingSince, Interval: m.Interval, Cron: m.Cron, Grace: m.Grace, RejectedAt: m.RejectedAt,
		SuppressedUntil: m.SuppressedUntil,
	}
	return wait, m.Enabled && !m.WaitingSince.IsZero()
}

// DueAt returns the deadline of the next ping, or the zero Time for a monitor that is disabled or
// was never pinged. See PingWait.Deadline for gaps.
func (m Monitor) DueAt(gaps []schedule.ListeningGap) time.Time {
	wait, ok := m.Wait()
	if !ok {
		return time.Time{}
	}
	return wait.Deadline(gaps)
}

// ScheduleWords says in English when pings are due: "every 25 h", "02:00 every day (Europe/Berlin), grace 5 min".
func (m MonitorConfig) ScheduleWords() string {
	text := kernel.EveryDuration(m.Interval)
	if !m.Cron.IsZero() {
		text = m.Cron.Words()
	}
	if m.Grace > 0 {
		text += ", grace " + kernel.CompactDuration(m.Grace)
	}
	return text
}

// MaxDueTimes is how many due times can be listed in one go.
const MaxDueTimes = 100

// DueTimes returns the next n times at which a ping is due, without the grace. With an interval they are counted from
// the current wait; it returns nil if there is none.
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
		now = wait.Next(now)
		times = append(times, now)
	}
	return times
}

// RecordPing applies a valid ping: the monitor is up, its failure count is 0 and a new wait
// begins. recovered reports that the monitor was down, so that its outage ends. LastPingAt and
// WaitingSince never move backwards, because replicas can commit out of order.
func (m *MonitorStatus) RecordPing(now time.Time) (recovered bool) {
	recovered = m.State == MonitorDown
	m.State = MonitorUp
	m.ConsecutiveFailures, m.FailuresSuppressed = 0, false
	m.LastPingAt = kernel.Later(m.LastPingAt, now)
	m.WaitingSince = kernel.Later(m.WaitingSince, m.LastPingAt)
	return recovered
}

// Tick is one periodic search of all monitors for overdue pings and runs.
type Tick struct {
	Instant   time.Time // nominal instant, a multiple of Period
	AsOf      time.Time // the instant that deadlines are compared with: Instant minus the age of uncommitted pings
	Period    time.Duration
	Threshold int // of monitors without their own
	Gaps      []schedule.ListeningGap
}

// TickResult is the result of a tick for one monitor.
type TickResult int

// The results of a tick.
const (
	TickSkipped  TickResult = iota // nothing changed
	TickOnTime                     // the failure count is 0
	TickOverdue                    // the failure count increased
	TickWentDown                   // the failure count reached the threshold: the monitor is down
)

// ApplyTick applies a tick to the monitor. Monitors that are disabled, down or never pinged are
// skipped. Each instant increases the failure count at most once; a TickedAt more than a period in
// the future comes from a clock that went back and is ignored.
func (m *Monitor) ApplyTick(t Tick) TickResult {
	wait, ok := m.Wait()
	if !ok || m.State == MonitorDown {
		return TickSkipped
	}
	if !m.TickedAt.Before(t.Instant) && !m.TickedAt.After(t.Instant.Add(t.Period)) {
		return TickSkipped
	}
	if !wait.Deadline(t.Gaps).Before(t.AsOf) {
		m.ConsecutiveFailures = 0
		return TickOnTime
	}
	m.TickedAt = t.Instant
	m.countFailure()
	if m.ConsecutiveFailures < m.Threshold(t.Threshold) || m.ParentDown {
		return TickOverdue
	}
	m.State = MonitorDown
	return TickWentDown
}

// Threshold returns the monitor's own failure threshold, or setting if it has none.
func (m MonitorConfig) Threshold(setting int) int {
	if m.FailureThreshold > 0 {
		return m.FailureThreshold
	}
	return setting
}

// restartWait begins a new wait after a change of the monitor, unless it was never pinged.
func (m *MonitorStatus) restartWait(now time.Time) {
	m.ConsecutiveFailures = 0
	m.RejectedAt = time.Time{}
	if !m.LastPingAt.IsZero() {
		m.WaitingSince = now
	}
}

// Suppress sets the end of the maintenance of the monitor's component; no ping is expected before
// it. A zero until means that no maintenance is running: if one was, it has ended, and the monitor
// gets a fresh interval. The failure count becomes 0. Suppress reports whether anything changed.
func (m *MonitorStatus) Suppress(until, now time.Time) bool {
	end := kernel.Later(until, kernel.Earlier(m.SuppressedUntil, now))
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

// DownIncident returns the incident that an outage of the reason OutageSilent opens, and its first update.
func (m Monitor) DownIncident(silentSince time.Time) (statuspage.Incident, statuspage.IncidentUpdate) {
	if m.Cron.IsZero() {
		return m.newIncident(statuspage.SystemMessage{
			Kind: statuspage.SystemMessageSilent, Since: silentSince.UTC(), Interval: m.Interval,
		})
	}
	expected := kernel.Later(kernel.Later(m.WaitingSince, m.RejectedAt), m.SuppressedUntil)
	return m.newIncident(statuspage.SystemMessage{
		Kind: statuspage.SystemMessagePingMissed, Since: silentSince.UTC(), Due: m.Cron.Next(expected),
	})
}

// newIncident returns the incident of an outage, and its first update, with the text of auto.
func (m MonitorConfig) newIncident(auto statuspage.SystemMessage) (statuspage.Incident, statuspage.IncidentUpdate) {
	name := []rune(m.Name)
	if len(name) > kernel.MaxTitleLength-len(downSuffix) {
		name = append(name[:kernel.MaxTitleLength-len(downSuffix)-1], '…')
	}
	return statuspage.Incident{
			Title: string(name) + downSuffix, DownMonitor: string(name), Impact: kernel.ImpactOf(m.DownStatus),
			State: statuspage.IncidentInvestigating,
		},
		statuspage.IncidentUpdate{Message: auto.Text(), System: auto}
}

// OutageEndReason is the reason why an outage ended.
type OutageEndReason int

// The reasons why an outage ends.
const (
	OutageEndedByPing OutageEndReason = iota
	OutageEndedByDisable
	OutageEndedByDelete
	OutageEndedByCheck
)

// String returns the reason as events name it.
func (r OutageEndReason) String() string {
	switch r {
	case OutageEndedByDisable:
		return "disabled"
	case OutageEndedByDelete:
		return "deleted"
	case OutageEndedByCheck:
		return "check"
	default:
		return "ping"
	}
}

// SystemMessage returns the update that resolves the outage's incident. lasted is the time since
// the last ping before the outage.
func (r OutageEndReason) SystemMessage(lasted time.Duration) statuspage.SystemMessage {
	switch r {
	case OutageEndedByDisable:
		return statuspage.SystemMessage{Kind: statuspage.SystemMessageMonitorDisabled}
	case OutageEndedByDelete:
		return statuspage.SystemMessage{Kind: statuspage.SystemMessageMonitorDeleted}
	default:
		return statuspage.SystemMessage{Kind: statuspage.SystemMessagePingsResumed, Lasted: lasted}
	}
}

// PingCommand returns the shell command with which a job sends a ping to a URL.
func PingCommand(url string) string {
	return "curl -fsS -m 10 --retry 5 --retry-connrefused " + url
}
