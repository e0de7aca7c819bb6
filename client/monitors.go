package client

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Check holds the fields that depend on the type of a monitor, by name, such as url and expected_statuses of the type
// http. In the JSON of a monitor they stand beside its other fields. The values have the types that encoding/json
// decodes into an any.
type Check map[string]any

// UnmarshalJSON reads a monitor. Fields that this package does not know belong to Check, except in heartbeats.
func (m *Monitor) UnmarshalJSON(raw []byte) error {
	type plain Monitor
	if err := json.Unmarshal(raw, (*plain)(m)); err != nil || m.Type == "" || m.Type == MonitorHeartbeat {
		return err
	}
	if err := json.Unmarshal(raw, &m.Check); err != nil {
		return err
	}
	for _, name := range fieldNames(reflect.TypeFor[Monitor]()) {
		delete(m.Check, name)
	}
	return nil
}

// fieldNames returns the names of the fields of a struct in JSON.
func fieldNames(t reflect.Type) (names []string) {
	for field := range t.Fields() {
		if name, _, _ := strings.Cut(field.Tag.Get("json"), ","); name != "" && name != "-" {
			names = append(names, name)
		}
	}
	return names
}

// marshalFlat returns the JSON of a struct with the fields of a check or of a channel beside its own.
func marshalFlat(v any, fields map[string]any) ([]byte, error) {
	raw, err := json.Marshal(v)
	if err != nil || len(fields) == 0 {
		return raw, err
	}
	for _, name := range fieldNames(reflect.TypeOf(v)) {
		if _, twice := fields[name]; twice {
			return nil, fmt.Errorf("the fields of the type have %s, which is another field", name)
		}
	}
	more, err := json.Marshal(fields)
	if err != nil {
		return nil, err
	}
	if string(raw) == "{}" {
		return more, nil
	}
	return slices.Concat(raw[:len(raw)-1], []byte(","), more[1:]), nil
}

// Schedule says when the pings of a monitor are due: within an interval after the last one, or at the times of an
// expression of cron or of systemd's OnCalendar, or of several. Only the fields of the kind are set.
type Schedule struct {
	Kind       ScheduleKind `json:"kind"`
	Interval   Seconds      `json:"interval,omitempty"`
	Expression string       `json:"expression,omitempty"` // or several, with a newline between them
	// "" in requests: UTC, or the zone at the end of a calendar's expression
	TimeZone string `json:"time_zone,omitempty"`
	// the cron expression is read as Kubernetes reads the schedule of a CronJob
	Kubernetes bool `json:"kubernetes,omitempty"`
}

// MarshalJSON returns the monitor with the fields of Check beside the others.
func (n NewMonitor) MarshalJSON() ([]byte, error) {
	type plain NewMonitor
	return marshalFlat(plain(n), n.Check)
}

// MarshalJSON returns the change with the fields of Check beside the others.
func (ch MonitorChange) MarshalJSON() ([]byte, error) {
	type plain MonitorChange
	return marshalFlat(plain(ch), ch.Check)
}

// MonitorFilter selects monitors. Empty fields select all.
type MonitorFilter struct {
	Page       string       // the page's slug
	Components []string     // ids or, if Page is given, slugs
	Tag        string       // a tag that the monitor must have
	IncidentID string       // the incident that the outage of the monitor opened
	State      MonitorState // up, down, late, unknown, waiting or disabled
	Type       MonitorType
}

// ListMonitors returns the monitors of all pages that match the filter, the oldest first.
func (c *Client) ListMonitors(filter MonitorFilter) *List[Monitor] {
	query := make(url.Values)
	for name, value := range map[string]string{
		"page_slug": filter.Page, "component_id": strings.Join(filter.Components, ","), "tag": filter.Tag,
		"incident_id": filter.IncidentID, "state": string(filter.State), "type": string(filter.Type),
	} {
		if value != "" {
			query.Set(name, value)
		}
	}
	return &List[Monitor]{client: c, path: pathOf("monitors"), query: query}
}

// DueTimes are the next times at which a ping of a monitor is due.
type DueTimes struct {
	Meta
	Schedule Schedule    `json:"schedule"`
	Grace    Seconds     `json:"grace"`
	DueAt    []time.Time `json:"due_at"` // without the grace; empty if a monitor with an interval was never pinged
}

// GetMonitorSchedule returns the next n due times of a monitor, at most 100.
func (c *Client) GetMonitorSchedule(ctx context.Context, id string, n int) (*DueTimes, error) {
	query := url.Values{"n": {strconv.Itoa(n)}}
	return send[DueTimes](ctx, c, request{
		method: http.MethodGet, path: pathOf("monitors", id, "schedule"), query: query,
	})
}

// Outage is a period in which a monitor was down.
type Outage struct {
	Meta
	ID     string       `json:"id"`
	Reason OutageReason `json:"reason"`
	// when the last ping before the outage arrived; equal to StartedAt if there was none, and for checks
	SilentSince   time.Time  `json:"silent_since"`
	StartedAt     time.Time  `json:"started_at"` // when the monitor went down
	EndedAt       *time.Time `json:"ended_at"`
	IncidentID    *string    `json:"incident_id"` // nil: it opened no incident, or the incident was deleted
	IncidentDraft bool       `json:"incident_draft"`
}

// ListOutages returns the outages of a monitor, the newest first.
func (c *Client) ListOutages(monitor string) *List[Outage] {
	return &List[Outage]{client: c, path: pathOf("monitors", monitor, "outages")}
}

// MonitorExplanation explains the state of a monitor.
type MonitorExplanation struct {
	Meta
	State MonitorState `json:"state"` // the state that the dashboard shows, such as late or waiting
	// when a disabled monitor is enabled again; nil: only when somebody enables it
	PausedUntil         *time.Time          `json:"paused_until"`
	AsOf                time.Time           `json:"as_of"`
	LastPingAt          *time.Time          `json:"last_ping_at"`
	WaitingSince        *time.Time          `json:"waiting_since"` // the last ping, or when somebody restarted the wait
	Interval            Seconds             `json:"interval"`
	Schedule            Schedule            `json:"schedule"`
	Grace               Seconds             `json:"grace"`
	ExpectedAt          *time.Time          `json:"expected_at"` // when the ping is due, without grace and extensions
	Extensions          []DeadlineExtension `json:"extensions"`  // what moved the deadline
	DueAt               *time.Time          `json:"due_at"`
	ConsecutiveFailures int                 `json:"consecutive_failures"`
	FailureThreshold    int                 `json:"failure_threshold"`
	IncidentTakenOver   bool                `json:"incident_taken_over"` // the next ping does not resolve its incident
	CountedAt           *time.Time          `json:"counted_at"`          // the last check that found it overdue
	// when it goes down if no ping comes; nil: it is down, or nothing is expected
	DownAt    *time.Time    `json:"down_at"`
	Reason    *OutageReason `json:"reason"` // why it is down; nil: it is not
	DownSince *time.Time    `json:"down_since"`
	Warnings  []Condition   `json:"warnings"` // violated conditions of the last runs, if they only warn
	// the earliest time at which a run in progress must have ended; nil: no run with a limit is in progress
	RunDueAt *time.Time  `json:"run_due_at"`
	PingGaps []PingGap   `json:"ping_gaps"` // the newest gaps, the oldest first; at most one per interval
	Rhythm   *PingRhythm `json:"rhythm"`    // nil: unknown
	Check    *CheckState `json:"check"`     // nil: a heartbeat
}

// CheckState is the state of a check, as its results have determined it.
type CheckState struct {
	// of the last result that changed something; nil: there was none
	Status            *CheckStatus `json:"status"`
	Reason            *string      `json:"reason"`       // of that result
	GoodResults       int          `json:"good_results"` // in a row toward the end of an outage or of slowness
	SlowResults       int          `json:"slow_results"` // in a row
	RecoveryThreshold int          `json:"recovery_threshold"`
	SlowSince         *time.Time   `json:"slow_since"` // since when the component is degraded; nil: it is not
	// since when the results are unknown, or there are none; nil: they are known
	UnknownSince *time.Time `json:"unknown_since"`
	// of the last unknown result while the state is unknown; nil: not kept, or another state
	UnknownReason   *string    `json:"unknown_reason"`
	Late            bool       `json:"late"`             // the next result is overdue by more than two intervals
	SuppressedUntil *time.Time `json:"suppressed_until"` // end of the component's maintenance, past or planned
	// the last ones, newest first, of 30 seconds or more, and one that has not ended
	Gaps []CheckingGap `json:"gaps"`
	// the last result of the last day from each location, in the order of their names
	Views []CheckResult `json:"views"`
}

// CheckingGap is a time in which all results of a monitor's checks were unknown, or there were none.
type CheckingGap struct {
	From  time.Time  `json:"from"`
	To    *time.Time `json:"to"`    // nil: it has not ended
	Cause *GapCause  `json:"cause"` // nil: a former version saved it
}

// DeadlineExtension is something that moved a monitor's deadline.
type DeadlineExtension struct {
	Reason ExtensionReason `json:"reason"`
	From   *time.Time      `json:"from"` // nil for a maintenance
	To     time.Time       `json:"to"`
	DueAt  time.Time       `json:"due_at"` // the deadline with this and all earlier extensions
}

// PingGap is the time between two pings of a monitor, from the pings that are kept: at most one per interval.
type PingGap struct {
	PingedAt time.Time `json:"pinged_at"` // the later ping
	Length   float64   `json:"length"`    // seconds since the ping before it
}

// PingRhythm is how often a job pings.
type PingRhythm struct {
	Every    Seconds `json:"every"`
	Spread   Seconds `json:"spread"`   // four of five gaps differ from it by at most this
	AtLeast  bool    `json:"at_least"` // the job may ping several times as often
	Interval Seconds `json:"interval"` // the interval that this suggests
}

// ExplainMonitor returns why a monitor has its state.
func (c *Client) ExplainMonitor(ctx context.Context, id string) (*MonitorExplanation, error) {
	return get[MonitorExplanation](ctx, c, pathOf("monitors", id, "explain"))
}

// RotateMonitor gives a monitor another ping URL. The old one keeps working for 24 hours.
func (c *Client) RotateMonitor(ctx context.Context, id string, options ...CallOption) (*Monitor, error) {
	return post[Monitor](ctx, c, pathOf("monitors", id, "rotate"), nil, options...)
}

// Ping records a ping. The token is the monitor's ping token, or a page's ping key, a slash and the monitor's slug.
// When Ping returns nil, the ping is durable. It needs no API token.
func (c *Client) Ping(ctx context.Context, token string) error {
	_, err := c.do(ctx, request{method: http.MethodPost, path: heartbeatPath(token), anonymous: true})
	return err
}

// heartbeatPath returns the path of a ping URL.
func heartbeatPath(token string, signal ...string) string {
	return pathOf(slices.Concat([]string{"heartbeat"}, strings.Split(token, "/"), signal)...)
}
