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

	"github.com/allswell/allswell"
)

// Monitor is a heartbeat monitor, which is down when expected pings are missing, or a monitor whose target the server
// checks. Fields that monitors of its Type do not have are zero.
type Monitor struct {
	Meta
	Type                      allswell.MonitorType     `json:"type"`
	ID                        string                   `json:"id"`
	Slug                      string                   `json:"slug"` // unique in the workspace
	Name                      string                   `json:"name"`
	Token                     string                   `json:"token"`    // in PingURL; a secret; "" with a token of the scope read
	PingURL                   string                   `json:"ping_url"` // the address to ping; "" with a token of the scope read
	Interval                  Seconds                  `json:"interval"` // the maximum expected time between two pings, or between two times of a cron schedule or a calendar
	Schedule                  Schedule                 `json:"schedule"`
	Grace                     Seconds                  `json:"grace"` // how much later than due a ping may come
	NextCheckAt               *time.Time               `json:"next_check_at"`
	ConsecutiveFailures       int                      `json:"consecutive_failures"`
	State                     allswell.MonitorState    `json:"state"`
	Condition                 allswell.MonitorState    `json:"condition"` // one of allswell.MonitorConditions
	Enabled                   bool                     `json:"enabled"`
	PausedUntil               *time.Time               `json:"paused_until"` // when it is enabled again; nil: it is enabled, or not before somebody enables it
	ComponentID               *string                  `json:"component_id"`
	Page                      string                   `json:"page"`                        // the page's slug; "": none
	LastPingAt                *time.Time               `json:"last_ping_at"`                // nil: never pinged, so never down
	FailureThreshold          *int                     `json:"failure_threshold"`           // nil: the server's setting
	EffectiveFailureThreshold int                      `json:"effective_failure_threshold"` // its own, or the server's setting
	IncidentID                *string                  `json:"incident_id"`                 // the open incident of its outage; nil: none
	DownStatus                allswell.Status          `json:"down_status"`                 // of the component while the monitor is down
	AutoIncidents             *allswell.AutoIncidents  `json:"auto_incidents"`              // nil: the page's
	Tags                      []string                 `json:"tags"`                        // in order
	MaxRuntime                *Seconds                 `json:"max_runtime"`                 // of a run; nil: the grace or, without one, the interval
	PublishOutput             bool                     `json:"publish_output"`              // the end of the output of a failed run is published with its incident
	MinRuntime                *Seconds                 `json:"min_runtime"`                 // of a run that succeeds; nil: any time
	MaxPerInterval            *int                     `json:"max_per_interval"`            // runs that may begin within the interval; nil: any number
	NoOverlap                 bool                     `json:"no_overlap"`                  // a run must not begin before the others have ended
	MaxRuntimeAction          allswell.ConditionAction `json:"max_runtime_action"`          // the effect of a run that violates the condition
	MinRuntimeAction          allswell.ConditionAction `json:"min_runtime_action"`
	MaxPerIntervalAction      allswell.ConditionAction `json:"max_per_interval_action"`
	NoOverlapAction           allswell.ConditionAction `json:"no_overlap_action"`
	Warnings                  []allswell.Condition     `json:"warnings"`  // conditions that the last runs violated, and that only warn
	ParentID                  *string                  `json:"parent_id"` // while this monitor is down, failures are only shown; nil: none
	CreatedAt                 time.Time                `json:"created_at"`
	UpdatedAt                 time.Time                `json:"updated_at"`

	// Of monitors whose targets the server checks.
	Timeout           *Seconds        `json:"timeout"`            // of a check
	SlowAfter         *DecimalSeconds `json:"slow_after"`         // a good result that takes longer is slow; nil: none is
	RecoveryThreshold *int            `json:"recovery_threshold"` // consecutive good results that end an outage
	ConfirmFrom       *int            `json:"confirm_from"`       // locations that must find the target failing
	Secrets           []string        `json:"secrets"`            // the fields of Check that have a secret, which is never shown
	Check             Check           `json:"-"`                  // the fields of the Type, such as url
}

// Check has the fields of a type of monitors by name, such as url and expected_statuses of the type http. In the API
// they stand beside the other fields of a monitor. Values are those of encoding/json: texts, numbers, booleans, lists
// and objects.
type Check map[string]any

// UnmarshalJSON reads a monitor. Fields that this package does not know belong to Check, except for those of heartbeats.
func (m *Monitor) UnmarshalJSON(raw []byte) error {
	type plain Monitor
	if err := json.Unmarshal(raw, (*plain)(m)); err != nil || m.Type == "" || m.Type == allswell.MonitorHeartbeat {
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
// expression of cron or of systemd's OnCalendar, or of several. Other fields than those of the kind are empty.
type Schedule struct {
	Kind       allswell.ScheduleKind `json:"kind"`
	Interval   Seconds               `json:"interval,omitempty"`
	Expression string                `json:"expression,omitempty"` // or several, with a newline between them
	TimeZone   string                `json:"time_zone,omitempty"`  // "" in requests: UTC, or the zone at the end of a calendar's expression
	Kubernetes bool                  `json:"kubernetes,omitempty"` // the cron expression is read as Kubernetes reads the schedule of a CronJob
}

// NewMonitor describes a monitor to create. Its Type says which fields it may have.
type NewMonitor struct {
	Type             allswell.MonitorType    `json:"type,omitempty"`  // "": a heartbeat monitor
	Slug             string                  `json:"slug,omitempty"`  // "": made from the name
	Token            string                  `json:"token,omitempty"` // of PingURL, which no other monitor has; "": a random one
	Name             string                  `json:"name"`
	Interval         Seconds                 `json:"interval,omitempty"` // 0: Schedule says it
	Schedule         *Schedule               `json:"schedule,omitempty"` // nil: Interval says it
	Grace            *Seconds                `json:"grace,omitempty"`    // nil: 0, or 5 minutes with a cron schedule or a calendar
	Page             string                  `json:"page,omitempty"`     // the page's slug; "": none
	ComponentID      *string                 `json:"component_id,omitempty"`
	Enabled          *bool                   `json:"enabled,omitempty"`           // nil: true
	FailureThreshold *int                    `json:"failure_threshold,omitempty"` // nil or 0: the server's setting
	DownStatus       *allswell.Status        `json:"down_status,omitempty"`       // nil: allswell.DefaultDownStatus
	AutoIncidents    *allswell.AutoIncidents `json:"auto_incidents,omitempty"`    // nil: the page's
	Tags             []string                `json:"tags,omitempty"`
	MaxRuntime       *Seconds                `json:"max_runtime,omitempty"` // nil: the grace or, without one, the interval
	PublishOutput    bool                    `json:"publish_output,omitempty"`
	MinRuntime       *Seconds                `json:"min_runtime,omitempty"`      // nil: any time
	MaxPerInterval   *int                    `json:"max_per_interval,omitempty"` // nil: any number
	NoOverlap        bool                    `json:"no_overlap,omitempty"`

	// The effect of a run that violates a condition; "": the default, ActionDown for the first one, and ActionWarn for
	// the others.
	MaxRuntimeAction     allswell.ConditionAction `json:"max_runtime_action,omitempty"`
	MinRuntimeAction     allswell.ConditionAction `json:"min_runtime_action,omitempty"`
	MaxPerIntervalAction allswell.ConditionAction `json:"max_per_interval_action,omitempty"`
	NoOverlapAction      allswell.ConditionAction `json:"no_overlap_action,omitempty"`

	// UniqueName makes CreateMonitor fail if the page has a monitor with this name. PutMonitor ignores it.
	UniqueName bool `json:"unique_name,omitempty"`

	ParentID *string `json:"parent_id,omitempty"` // id or slug of a monitor; nil: none

	// Of monitors whose targets the server checks. Zero values are the server's defaults.
	Timeout           Seconds         `json:"timeout,omitempty"`
	SlowAfter         *DecimalSeconds `json:"slow_after,omitempty"`
	RecoveryThreshold int             `json:"recovery_threshold,omitempty"`
	ConfirmFrom       int             `json:"confirm_from,omitempty"`
	Check             Check           `json:"-"` // the fields of the Type, with secrets
}

// MarshalJSON returns the monitor with the fields of Check beside the others.
func (n NewMonitor) MarshalJSON() ([]byte, error) {
	type plain NewMonitor
	return marshalFlat(plain(n), n.Check)
}

// MonitorChange is a change of a monitor.
type MonitorChange struct {
	Type             allswell.MonitorType             `json:"type,omitempty"` // that the monitor has, or ""
	Slug             *string                          `json:"slug,omitempty"` // ping addresses of a ping key then have it, too
	Name             *string                          `json:"name,omitempty"`
	Interval         *Seconds                         `json:"interval,omitempty"` // in place of Schedule
	Schedule         *Schedule                        `json:"schedule,omitempty"`
	Grace            *Seconds                         `json:"grace,omitempty"`
	Page             Nullable[string]                 `json:"page,omitzero"`
	ComponentID      *string                          `json:"component_id,omitempty"` // "": no component
	Enabled          *bool                            `json:"enabled,omitempty"`
	PausedUntil      Nullable[time.Time]              `json:"paused_until,omitzero"`       // disables it until then; null: until it is enabled
	FailureThreshold *int                             `json:"failure_threshold,omitempty"` // 0: the server's setting
	DownStatus       *allswell.Status                 `json:"down_status,omitempty"`
	AutoIncidents    Nullable[allswell.AutoIncidents] `json:"auto_incidents,omitzero"` // null: the page's
	Tags             *[]string                        `json:"tags,omitempty"`          // replaces all
	MaxRuntime       Nullable[Seconds]                `json:"max_runtime,omitzero"`    // null: the default
	PublishOutput    *bool                            `json:"publish_output,omitempty"`
	MinRuntime       Nullable[Seconds]                `json:"min_runtime,omitzero"`      // null: any time
	MaxPerInterval   Nullable[int]                    `json:"max_per_interval,omitzero"` // null: any number
	NoOverlap        *bool                            `json:"no_overlap,omitempty"`

	MaxRuntimeAction     *allswell.ConditionAction `json:"max_runtime_action,omitempty"`
	MinRuntimeAction     *allswell.ConditionAction `json:"min_runtime_action,omitempty"`
	MaxPerIntervalAction *allswell.ConditionAction `json:"max_per_interval_action,omitempty"`
	NoOverlapAction      *allswell.ConditionAction `json:"no_overlap_action,omitempty"`

	ParentID Nullable[string] `json:"parent_id,omitzero"` // null: none

	// Of monitors whose targets the server checks.
	Timeout           *Seconds                 `json:"timeout,omitempty"`
	SlowAfter         Nullable[DecimalSeconds] `json:"slow_after,omitzero"` // null: no result is slow
	RecoveryThreshold *int                     `json:"recovery_threshold,omitempty"`
	ConfirmFrom       *int                     `json:"confirm_from,omitempty"`
	Check             Check                    `json:"-"` // fields of the type; null: the default, or no secret
}

// MarshalJSON returns the change with the fields of Check beside the others.
func (ch MonitorChange) MarshalJSON() ([]byte, error) {
	type plain MonitorChange
	return marshalFlat(plain(ch), ch.Check)
}

// MonitorFilter selects monitors. Empty fields select all.
type MonitorFilter struct {
	Page       string                // the page's slug
	Components []string              // ids or, if Page is given, slugs
	Tag        string                // one of their tags
	IncidentID string                // the incident that the outage of the monitor opened
	State      allswell.MonitorState // one of allswell.MonitorFilterStates
	Type       allswell.MonitorType
}

// ListMonitors returns the monitors of all pages that match the filter, the oldest first.
func (c *Client) ListMonitors(filter MonitorFilter) *List[Monitor] {
	query := make(url.Values)
	for name, value := range map[string]string{
		"page_slug": filter.Page, "component_id": strings.Join(filter.Components, ","), "tag": filter.Tag, "incident_id": filter.IncidentID, "state": string(filter.State), "type": string(filter.Type),
	} {
		if value != "" {
			query.Set(name, value)
		}
	}
	return &List[Monitor]{client: c, path: pathOf("monitors"), query: query}
}

// CreateMonitor creates a monitor. It waits for its first ping.
func (c *Client) CreateMonitor(ctx context.Context, monitor NewMonitor, options ...CallOption) (*Monitor, error) {
	return post[Monitor](ctx, c, pathOf("monitors"), monitor, options...)
}

// GetMonitor returns a monitor.
func (c *Client) GetMonitor(ctx context.Context, id string) (*Monitor, error) {
	return get[Monitor](ctx, c, pathOf("monitors", id))
}

// PutMonitor creates the monitor with the slug, or replaces its configuration. Fields that are not set get their
// defaults. The ping token is kept, so that another Token is an error. The options are IfMatch and IfNoneMatch.
func (c *Client) PutMonitor(ctx context.Context, slug string, monitor NewMonitor, options ...CallOption) (*Monitor, error) {
	monitor.Slug, monitor.UniqueName = "", false
	return put[Monitor](ctx, c, pathOf("monitors", slug), monitor, options...)
}

// ChangeMonitor changes a monitor. The option is IfMatch.
func (c *Client) ChangeMonitor(ctx context.Context, id string, change MonitorChange, options ...CallOption) (*Monitor, error) {
	return patch[Monitor](ctx, c, pathOf("monitors", id), change, options...)
}

// DeleteMonitor deletes a monitor. If it is down, its outage ends. The option is IfMatch.
func (c *Client) DeleteMonitor(ctx context.Context, id string, options ...CallOption) error {
	return c.remove(ctx, pathOf("monitors", id), options...)
}

// DueTimes are the next times at which a ping of a monitor is due.
type DueTimes struct {
	Meta
	Schedule Schedule    `json:"schedule"`
	Grace    Seconds     `json:"grace"`
	DueAt    []time.Time `json:"due_at"` // without the grace; empty for an interval before the first ping
}

// GetMonitorSchedule returns the next n due times of a monitor, at most allswell.MaxDueTimes.
func (c *Client) GetMonitorSchedule(ctx context.Context, id string, n int) (*DueTimes, error) {
	query := url.Values{"n": {strconv.Itoa(n)}}
	return send[DueTimes](ctx, c, request{method: http.MethodGet, path: pathOf("monitors", id, "schedule"), query: query})
}

// Outage is a period in which a monitor was down.
type Outage struct {
	Meta
	ID            string                `json:"id"`
	Reason        allswell.OutageReason `json:"reason"`
	SilentSince   time.Time             `json:"silent_since"` // the last ping before it; StartedAt: there was none, as before outages of checks
	StartedAt     time.Time             `json:"started_at"`   // when the monitor went down
	EndedAt       *time.Time            `json:"ended_at"`
	IncidentID    *string               `json:"incident_id"` // nil: it opened none, or that was deleted
	IncidentDraft bool                  `json:"incident_draft"`
}

// ListOutages returns the outages of a monitor, the newest first.
func (c *Client) ListOutages(monitor string) *List[Outage] {
	return &List[Outage]{client: c, path: pathOf("monitors", monitor, "outages")}
}

// MonitorExplanation says why a monitor has its state.
type MonitorExplanation struct {
	Meta
	State               allswell.MonitorState  `json:"state"`        // one of allswell.MonitorConditions
	PausedUntil         *time.Time             `json:"paused_until"` // when a disabled monitor is enabled again; nil: not by itself
	AsOf                time.Time              `json:"as_of"`
	LastPingAt          *time.Time             `json:"last_ping_at"`
	WaitingSince        *time.Time             `json:"waiting_since"` // the last ping, or when a person restarted the wait
	Interval            Seconds                `json:"interval"`
	Schedule            Schedule               `json:"schedule"`
	Grace               Seconds                `json:"grace"`
	ExpectedAt          *time.Time             `json:"expected_at"` // when the ping is due, without grace and extensions
	Extensions          []DeadlineExtension    `json:"extensions"`  // what moved the deadline
	DueAt               *time.Time             `json:"due_at"`
	ConsecutiveFailures int                    `json:"consecutive_failures"`
	FailureThreshold    int                    `json:"failure_threshold"`
	IncidentTakenOver   bool                   `json:"incident_taken_over"` // the next ping does not resolve its incident
	CountedAt           *time.Time             `json:"counted_at"`          // the last check that found it overdue
	DownAt              *time.Time             `json:"down_at"`             // when it goes down if no ping comes; nil: it is down, or nothing is expected
	Reason              *allswell.OutageReason `json:"reason"`              // why it is down; nil: it is not
	DownSince           *time.Time             `json:"down_since"`
	Warnings            []allswell.Condition   `json:"warnings"`   // conditions that the last runs violated, and that only warn
	RunDueAt            *time.Time             `json:"run_due_at"` // when the first of the runs that have begun must have ended; nil: none has
	PingGaps            []PingGap              `json:"ping_gaps"`  // the last ones, oldest first; at most one per interval
	Rhythm              *PingRhythm            `json:"rhythm"`     // nil: unknown
	Check               *CheckState            `json:"check"`      // nil: a heartbeat
}

// CheckState is what the results of a check have led to.
type CheckState struct {
	Status            *allswell.CheckStatus `json:"status"`       // of the last result that changed something; nil: there was none
	Reason            *string               `json:"reason"`       // of that result
	GoodResults       int                   `json:"good_results"` // in a row toward the end of an outage or of slowness
	SlowResults       int                   `json:"slow_results"` // in a row
	RecoveryThreshold int                   `json:"recovery_threshold"`
	SlowSince         *time.Time            `json:"slow_since"`       // since when the component is degraded; nil: it is not
	UnknownSince      *time.Time            `json:"unknown_since"`    // since when the results are unknown, or there are none; nil: they are known
	UnknownReason     *string               `json:"unknown_reason"`   // of the last unknown result while the state is unknown; nil: not kept, or another state
	Late              bool                  `json:"late"`             // the next result is overdue by more than two intervals
	SuppressedUntil   *time.Time            `json:"suppressed_until"` // end of the component's maintenance, past or planned
	Gaps              []CheckingGap         `json:"gaps"`             // the last ones, newest first, of 30 seconds or more, and one that has not ended
	Views             []CheckResult         `json:"views"`            // the last result of the last day from each location, in the order of their names
}

// CheckingGap is a time in which all results of a monitor's checks were unknown, or there were none.
type CheckingGap struct {
	From  time.Time          `json:"from"`
	To    *time.Time         `json:"to"`    // nil: it has not ended
	Cause *allswell.GapCause `json:"cause"` // nil: a former version saved it
}

// DeadlineExtension is something that moved a monitor's deadline.
type DeadlineExtension struct {
	Reason allswell.ExtensionReason `json:"reason"`
	From   *time.Time               `json:"from"` // nil for a maintenance
	To     time.Time                `json:"to"`
	DueAt  time.Time                `json:"due_at"` // the deadline with this extension and those before it
}

// PingGap is the time between two pings of a monitor that were kept.
type PingGap struct {
	PingedAt time.Time `json:"pinged_at"` // the later ping
	Length   float64   `json:"length"`    // seconds since the one before it
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

// RotateMonitor gives a monitor another ping URL. The old one works for another 24 hours.
func (c *Client) RotateMonitor(ctx context.Context, id string, options ...CallOption) (*Monitor, error) {
	return post[Monitor](ctx, c, pathOf("monitors", id, "rotate"), nil, options...)
}

// Ping records a ping of the monitor with this ping token, or with the slug after a page's ping key and a slash. When Ping
// returns nil, the ping is durable. It needs no API token.
func (c *Client) Ping(ctx context.Context, token string) error {
	_, err := c.do(ctx, request{method: http.MethodPost, path: heartbeatPath(token), anonymous: true})
	return err
}

// heartbeatPath returns the path of a ping URL.
func heartbeatPath(token string, signal ...string) string {
	return pathOf(slices.Concat([]string{"heartbeat"}, strings.Split(token, "/"), signal)...)
}
