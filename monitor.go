package allswell

import (
	"fmt"
	"strings"
	"time"
)

// MonitorState is up or down.
type MonitorState string

// The states of a monitor. One that was never pinged is up, and waits.
const (
	MonitorUp   MonitorState = "up"
	MonitorDown MonitorState = "down"
)

// The limits of an interval and of a failure threshold.
const (
	MinInterval             = time.Second
	MaxInterval             = 31_536_000 * time.Second // 365 days
	DefaultFailureThreshold = 3
	MaxFailureThreshold     = 1_000
)

// Monitor expects a ping within every interval. It is linked to a page, and
// may be linked to one of the page's components.
type Monitor struct {
	ID                        string
	WorkspaceID               string
	PageID                    string
	PageSlug                  string
	ComponentID               string // "": none
	Name                      string
	Token                     string // the secret of the ping URL
	Interval                  time.Duration
	Enabled                   bool
	FailureThreshold          int    // 0: the setting for all monitors
	DownStatus                Status // what the component gets while it is down
	State                     MonitorState
	ConsecutiveFailures       int
	LastPingAt                time.Time // zero: never pinged
	WaitingSince              time.Time // what the deadline counts from; zero: waiting for the first ping
	RejectedAt                time.Time // when a valid ping was last refused by us; zero: never
	SuppressedUntil           time.Time // when the planned maintenance of its component ends, or ended; zero: there was none
	NextCheckAt               time.Time // DueAt, where it was asked for
	EffectiveFailureThreshold int       // Threshold of the setting, where it was asked for
	IncidentID                string    // the incident of the open outage, where it was asked for; "": none
	TickedAt                  time.Time // the nominal instant of the last tick that counted
	CreatedAt                 time.Time
	UpdatedAt                 time.Time
}

// Outage is one down period of one monitor.
type Outage struct {
	ID          string
	MonitorID   string
	IncidentID  string    // the incident it opened; "": deleted since
	SilentSince time.Time // the last ping heard before
	StartedAt   time.Time // when the monitor was marked down
	EndedAt     time.Time // zero while it lasts
}

// Wait returns what the monitor is waiting for; ok is false for one that is
// disabled or waits for its first ping, which has no deadline.
func (m Monitor) Wait() (wait PingWait, ok bool) {
	return PingWait{Since: m.WaitingSince, Interval: m.Interval, RejectedAt: m.RejectedAt, SuppressedUntil: m.SuppressedUntil}, m.Enabled && !m.WaitingSince.IsZero()
}

// DueAt returns the instant by which the next ping is due, or the zero
// Time for a monitor that is disabled or was never pinged. holes as in PingWait.Deadline.
func (m Monitor) DueAt(holes []ListeningGap) time.Time {
	wait, ok := m.Wait()
	if !ok {
		return time.Time{}
	}
	return wait.Deadline(holes)
}

// Heard is what a valid ping does to the monitor (contract section 3, "Valid
// ping"): it is up, the count is 0 and the wait begins anew. It reports
// whether the monitor was down, in which case its outage has to be ended. The
// last ping and the wait only move forward, because replicas may commit out of
// order.
func (m *Monitor) RecordPing(now time.Time) (recovered bool) {
	recovered = m.State == MonitorDown
	m.State = MonitorUp
	m.ConsecutiveFailures = 0
	m.LastPingAt = later(m.LastPingAt, now)
	m.WaitingSince = later(m.WaitingSince, m.LastPingAt)
	return recovered
}

// Tick is one run of the periodic check.
type Tick struct {
	Instant   time.Time // the nominal instant n·T
	AsOf      time.Time // the instant judged: Instant less what was heard but is not committed
	Period    time.Duration
	Threshold int // for monitors that have none of their own
	Gaps      []ListeningGap
}

// Verdict is what a tick found.
type CheckResult int

// The verdicts. Passed changes nothing; CheckOnTime sets the count to 0; Counted
// adds one to it; CheckWentDown adds one and marks the monitor down.
const (
	CheckSkipped CheckResult = iota
	CheckOnTime
	CheckOverdue
	CheckWentDown
)

// Missed is what a tick does to the monitor (contract section 3, "Periodic
// check"; design section 7, point 4). A disabled, down or never pinged monitor
// is passed over, and so is one that this or a later instant has counted
// already: one increment at most per instant. A clock that went back does not
// strand it: an instant more than a period ahead is taken as never counted.
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

// Threshold returns the monitor's own threshold, or else the given one.
func (m Monitor) Threshold(setting int) int {
	if m.FailureThreshold > 0 {
		return m.FailureThreshold
	}
	return setting
}

// restart begins the wait anew after a human changed what is waited for: count
// 0, deadline now + interval if the monitor was ever pinged.
func (m *Monitor) restartWait(now time.Time) {
	m.ConsecutiveFailures = 0
	m.RejectedAt = time.Time{}
	if !m.LastPingAt.IsZero() {
		m.WaitingSince = now
	}
}

// Hush takes note of the planned maintenance of the monitor's component: until
// it ends nothing is expected. The zero Time is none; if there was one until
// now, it is over, and the monitor gets a fresh interval. What was counted before
// counts no more, as after a tick that finds the monitor not overdue. It reports
// whether anything changed.
func (m *Monitor) Suppress(until, now time.Time) bool {
	quiet := later(until, earlier(m.SuppressedUntil, now))
	if quiet.Equal(m.SuppressedUntil) {
		return false
	}
	m.SuppressedUntil = quiet
	if m.State == MonitorUp {
		m.ConsecutiveFailures = 0
	}
	return true
}

// DownIncident is the incident that the monitor's outage opens (design section
// 4, "The auto-incident").
func (m Monitor) DownIncident(silentSince time.Time) NewIncident {
	name := []rune(m.Name)
	if len(name) > MaxTitleLength-len(downSuffix) {
		name = append(name[:MaxTitleLength-len(downSuffix)-1], '…')
	}
	auto := SystemMessage{Kind: SystemMessageSilent, Since: silentSince.UTC(), Interval: m.Interval}
	message := auto.Text()
	return NewIncident{Title: string(name) + downSuffix, Impact: ImpactOf(m.DownStatus), State: IncidentInvestigating, Message: &message, System: auto}
}

// OutageEndReason is why an outage ended.
type OutageEndReason int

// The reasons.
const (
	OutageEndedByPing OutageEndReason = iota
	OutageEndedByDisable
	OutageEndedByDelete
)

// Auto returns what the update tells that closes the outage's incident. lasted
// is counted from the last ping before the silence.
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

// SplitDuration returns d, rounded to seconds, as people say it: one or two parts of adjacent units, the rest cut off.
// 24 hours and 3 seconds are 1 day. Less than half a second, and negative durations, are 0 seconds.
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

// FormatDuration writes d in English with the parts of SplitDuration: "5 minutes", "1 hour 30 minutes". In other
// languages, package i18n does that.
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
