package api

import (
	"cmp"
	"encoding/json"
	"net/http"
	"time"

	"github.com/allswell/allswell"
	"github.com/allswell/allswell/internal/check"
	"github.com/allswell/allswell/internal/jsonobject"
	"github.com/allswell/allswell/internal/rights"
	"github.com/allswell/allswell/internal/store"
	"github.com/allswell/allswell/internal/web"
)

// monitorRoutes are the routes of monitors.
var monitorRoutes = []route{
	{"GET", "/api/v1/monitors", rights.MonitorRead, (*api).listMonitors, operation{
		id:      "listMonitors",
		summary: "List the monitors.",
		query: []parameter{
			bySlug, byName,
			{name: "page_slug", schema: anyText, text: "Only monitors of the page with this slug."},
			{name: "component_id", schema: listOf{of: anyText, max: allswell.MaxAffectedComponents},
				text: "Only monitors of one of these components, given by their ids or, with page_slug, slugs."},
			{name: "incident_id", schema: anyText,
				text: "Only the monitor that is down and whose outage opened this incident."},
			{name: "tag", schema: anyText, text: "Only monitors with this tag."},
			{name: "state", schema: values("monitorFilterStates"),
				text: "Only monitors in this state. Of those that are up, `late` miss a ping, or the next result of " +
					"their check is late, `unknown` cannot be checked, `waiting` are enabled and were never pinged, " +
					"and `disabled` are not enabled."},
			{name: "type", schema: ref("MonitorType"), text: "Only monitors of this type."},
		},
		returns: list("Monitor"),
	}},
	{"POST", "/api/v1/monitors", rights.MonitorChange, (*api).createMonitor, operation{
		id:      "createMonitor",
		summary: "Create a monitor. One of the type heartbeat waits for its first ping.",
		text: "Without a `type`, or with `heartbeat`, the monitor expects pings. The targets of all other types are " +
			"checked by the server; such a monitor has the fields of its type, which the description of a property " +
			"names, and no token, schedule, grace and conditions on runs. A field that monitors of the type do not " +
			"have is 422.",
		returns: created("Monitor", "The new monitor."),
	}},
	{"GET", monitorPath, rights.MonitorRead, (*api).getMonitor, operation{
		id:      "getMonitor",
		summary: "Get a monitor.",
		returns: one("Monitor", "The monitor."),
	}},
	{"PUT", monitorPath, rights.MonitorChange, (*api).putMonitor, operation{
		id:      "putMonitor",
		summary: "Create or replace a monitor by its slug.",
		text: "Creates the monitor with the slug in the path, or replaces what it is configured as: absent fields " +
			"get their defaults. The ping token and secrets are kept: another `token` than its own is answered 422, " +
			"and a secret that is null is removed. By id, the body can have another slug. `If-Match` with the `ETag` " +
			"of an earlier response replaces only that version; `If-None-Match: *` only creates.",
		returns: upserted("Monitor", "The replaced monitor.", "The new monitor."),
	}},
	{"PATCH", "/api/v1/monitors/{monitorId}", rights.MonitorChange, (*api).changeMonitor, operation{
		id:      "changeMonitor",
		summary: "Change a monitor; absent fields keep their values.",
		text: "Enabling it or changing its interval or its schedule restarts the wait for the next ping. `interval` " +
			"without `schedule` makes it a monitor with an interval. If the kind of the schedule changes, an absent " +
			"`grace` gets its default. Disabling it while it is down ends the outage. `paused_until` disables it " +
			"until then, at most 366 days; with null it stays disabled until somebody enables it. Change `page` and " +
			"`component_id` in one request. A field of the type that is null gets its default; a secret that is " +
			"null is removed, and one that is absent is kept.",
		returns: one("Monitor", "The monitor."),
	}},
	{"DELETE", "/api/v1/monitors/{monitorId}", rights.MonitorChange, (*api).deleteMonitor, operation{
		id:      "deleteMonitor",
		summary: "Delete a monitor and end its outage.",
	}},
	{"GET", "/api/v1/monitors/{monitorId}/outages", rights.MonitorRead, (*api).listOutages, operation{
		id:      "listOutages",
		summary: "List the outages of a monitor, newest first.",
		returns: list("Outage"),
	}},
	{"GET", "/api/v1/monitors/{monitorId}/explain", rights.MonitorRead, (*api).explainMonitor, operation{
		id:      "explainMonitor",
		summary: "Explain why a monitor has its state, and when it goes down.",
		returns: one("Explanation", "The explanation."),
	}},
	{"POST", "/api/v1/monitors/{monitorId}/rotate", rights.MonitorChange, (*api).rotateMonitor, operation{
		id:      "rotateMonitor",
		summary: "Replace the ping token of a monitor.",
		text: "The old token works for another 24 hours, so that jobs can be changed without a gap. The body is " +
			"ignored.",
		returns: one("Monitor", "The monitor with its new token."),
	}},
}

type monitorJSON struct {
	ID                  string                  `json:"id"`
	Slug                string                  `json:"slug"`
	Name                string                  `json:"name"`
	Type                allswell.MonitorType    `json:"type"`
	Token               *string                 `json:"token"`    // null of a check, or if the caller may only read
	PingURL             *string                 `json:"ping_url"` // null of a check, or if the caller may only read
	Interval            int64                   `json:"interval"` // seconds
	Schedule            *scheduleJSON           `json:"schedule"` // null of a check
	Grace               *int64                  `json:"grace"`    // seconds; null of a check
	NextCheckAt         *string                 `json:"next_check_at"`
	ConsecutiveFailures int                     `json:"consecutive_failures"`
	State               allswell.MonitorState   `json:"state"`
	Condition           allswell.MonitorState   `json:"condition"`
	Enabled             bool                    `json:"enabled"`
	PausedUntil         *string                 `json:"paused_until"` // null: enabled, or disabled until somebody enables it
	ParentID            *string                 `json:"parent_id"`
	ComponentID         *string                 `json:"component_id"`
	Page                *string                 `json:"page"` // the slug
	LastPingAt          *string                 `json:"last_ping_at"`
	FailureThreshold    *int                    `json:"failure_threshold"` // null: the setting for all monitors
	EffectiveThreshold  int                     `json:"effective_failure_threshold"`
	IncidentID          *string                 `json:"incident_id"` // of the open outage
	DownStatus          allswell.Status         `json:"down_status"`
	AutoIncidents       *allswell.AutoIncidents `json:"auto_incidents"` // null: the page's
	Tags                []string                `json:"tags"`
	Warnings            []allswell.Condition    `json:"warnings"`
	Timeout             *int64                  `json:"timeout"`    // seconds; this and what follows is null of a heartbeat
	SlowAfter           *float64                `json:"slow_after"` // seconds; null: no result is slow
	RecoveryThreshold   *int                    `json:"recovery_threshold"`
	ConfirmFrom         *int                    `json:"confirm_from"`
	Secrets             []string                `json:"secrets"`
	MaxRuntime          *int64                  `json:"max_runtime"`    // seconds; null: the default
	PublishOutput       *bool                   `json:"publish_output"` // null of a check
	conditionsJSON
	CreatedAt string `json:"created_at"`
	UpdatedAt string `json:"updated_at"`

	config json.RawMessage // the fields of the type, which stand beside the others
}

// MarshalJSON returns the fields of all monitors and those of the type.
func (m monitorJSON) MarshalJSON() ([]byte, error) {
	type plain monitorJSON
	body, err := jsonobject.Marshal(plain(m))
	return withFields(body, m.config), err
}

// newMonitorJSON returns the JSON of a monitor. The ping token is a credential for
// writing: with it, a caller of the scope read could keep a dead job up.
func (c *call) newMonitorJSON(m allswell.Monitor) monitorJSON {
	out := monitorJSON{
		ID: m.ID, Slug: m.Slug, Name: m.Name, Type: m.Type, Interval: int64(m.Interval / time.Second), NextCheckAt: timePtr(m.NextCheckAt),
		ConsecutiveFailures: m.ConsecutiveFailures, State: m.State, Condition: m.Condition(), Enabled: m.Enabled, PausedUntil: timePtr(m.PausedUntil),
		ParentID: ptrOrNil(m.ParentID), ComponentID: ptrOrNil(m.ComponentID), Page: ptrOrNil(m.PageSlug),
		FailureThreshold: ptrOrNil(m.FailureThreshold), EffectiveThreshold: m.EffectiveFailureThreshold,
		IncidentID: ptrOrNil(m.IncidentID), DownStatus: m.DownStatus, AutoIncidents: ptrOrNil(m.AutoIncidents),
		Tags: append([]string{}, m.Tags...), Warnings: append([]allswell.Condition{}, m.Warned...),
		CreatedAt: allswell.FormatTime(m.CreatedAt), UpdatedAt: allswell.FormatTime(m.UpdatedAt),
		Secrets: append([]string{}, m.Check.SecretFields...), config: m.Check.Config,
	}
	if m.IsCheck() {
		out.Timeout, out.RecoveryThreshold, out.ConfirmFrom = new(int64(m.Check.Timeout/time.Second)), &m.Check.RecoveryThreshold, &m.Check.ConfirmFrom
		out.SlowAfter = phase(m.Check.SlowAfter)
		return out
	}
	if rights.MonitorSecrets.AllowsScope(c.token.Scope) {
		out.Token, out.PingURL = &m.Token, new(c.base+"/api/v1/heartbeat/"+m.Token)
	}
	out.Schedule, out.Grace, out.LastPingAt = new(newScheduleJSON(m.Interval, m.Cron)), new(int64(m.Grace/time.Second)), timePtr(m.LastPingAt)
	out.MaxRuntime, out.PublishOutput, out.conditionsJSON = ptrOrNil(int64(m.MaxRuntime/time.Second)), &m.PublishOutput, newConditionsJSON(m.RunConditions)
	return out
}

type outageJSON struct {
	ID            string                `json:"id"`
	Reason        allswell.OutageReason `json:"reason"`
	SilentSince   string                `json:"silent_since"` // the last ping before it
	StartedAt     string                `json:"started_at"`   // when the monitor went down
	EndedAt       *string               `json:"ended_at"`
	IncidentID    *string               `json:"incident_id"` // null: it opened none, or that was deleted
	IncidentDraft bool                  `json:"incident_draft"`
}

func newOutageJSON(o allswell.Outage) outageJSON {
	return outageJSON{
		ID: o.ID, Reason: o.Reason, SilentSince: allswell.FormatTime(o.SilentSince), StartedAt: allswell.FormatTime(o.StartedAt), EndedAt: timePtr(o.EndedAt),
		IncidentID: ptrOrNil(o.IncidentID), IncidentDraft: o.Draft,
	}
}

// listMonitors filters by ?slug, ?name, ?page_slug, ?component_id, ?tag, ?incident_id, ?state and ?type.
func (a *api) listMonitors(c *call) (store.Response, error) {
	q := web.ParseQuery(c.URL.RawQuery)
	f := store.MonitorFilter{
		Filter: readFilter(q), Page: q.Text("page_slug"), Components: q.Texts("component_id", allswell.MaxAffectedComponents),
		Tag: q.Text("tag"), IncidentID: q.Text("incident_id"), State: web.Choice(q, "state", allswell.MonitorFilterStates),
		Type: web.Choice(q, "type", check.MonitorTypes()),
	}
	return servePage(q, c.newMonitorJSON, func(r store.Pagination) ([]allswell.Monitor, int, error) {
		return a.store.Monitors(c.Context(), c.actor(), f, r)
	})
}

func (a *api) createMonitor(c *call) (store.Response, error) {
	o, err := c.object()
	if err != nil {
		return store.Response{}, err
	}
	create := a.store.CreateMonitor
	if orZero(o.Flag("unique_name")) {
		create = a.store.CreateUniqueMonitor
	}
	r := newResponder(c, http.StatusCreated, c.newMonitorJSON)
	return r.respond(create(c.Context(), c.actor(), readMonitor(o, true), r.save...))
}

// readMonitor reads the fields of a monitor: of a new one and of a PUT, which say all of it, or those that a change sets.
func readMonitor(o *jsonobject.Object, all bool) allswell.MonitorChange {
	given := jsonobject.Enum(o, "type", check.MonitorTypes())
	kind, known := cmp.Or(orZero(given), allswell.MonitorHeartbeat), given != nil || !o.Given("type")
	slug, name, parent, enabled := o.Text("slug"), o.Text("name"), nullableText(o, "parent_id"), o.Flag("enabled")
	page, component := nullableText(o, "page"), o.Text("component_id")
	threshold, status, incidents := o.Integer("failure_threshold"), jsonobject.Enum(o, "down_status", allswell.DownStatuses), readAutoIncidents(o)
	tags, pausedUntil := o.Texts("tags"), readPause(o, all)
	setType := readTypeFields(o, kind, all, known)
	err := o.Check(nil)
	return func(c *allswell.MonitorConfig) error {
		if all {
			c.Reset(kind)
			c.Enable(true)
		} else {
			set(&c.Type, given)
		}
		set(&c.Slug, slug)
		set(&c.Name, name)
		set(&c.ParentID, parent)
		if set(&c.PageSlug, page); page != nil && *page == "" {
			c.ComponentID = ""
		}
		set(&c.ComponentID, component)
		if enabled != nil {
			c.Enable(*enabled)
		}
		if set(&c.PausedUntil, pausedUntil); enabled == nil && !orZero(pausedUntil).IsZero() {
			c.Enabled = false
		}
		set(&c.FailureThreshold, threshold)
		set(&c.DownStatus, status)
		set(&c.AutoIncidents, incidents)
		if tags != nil {
			c.Tags = tags
		}
		return allswell.JoinUnread(err, setType(c))
	}
}

// readTypeFields reads the fields that only monitors of some types have. If all are read, the type is kind; known says that
// it is one.
func readTypeFields(o *jsonobject.Object, kind allswell.MonitorType, all, known bool) allswell.MonitorChange {
	given := givenFields(o)
	setRuns, setTiming := func(*allswell.MonitorConfig) {}, func(*allswell.MonitorConfig) {}
	switch {
	case !known && all: // only the type is wrong
		o.AllowUnknown()
		readTiming(o)
		setRuns = readRuns(o, true, false)
		given = nil
	case all && kind.IsCheck():
		refuseFields(o, kind, heartbeatFields...)
		setTiming = readNewTiming(o)
	case all:
		refuseFields(o, kind, checkFields...)
		setRuns = readRuns(o, true, true)
	default:
		setTiming, setRuns = readTiming(o), readRuns(o, false, false)
	}
	return func(c *allswell.MonitorConfig) error {
		setRuns(c)
		setTiming(c)
		if c.Interval == 0 && !known {
			c.Interval = allswell.DefaultCheckInterval
		}
		return check.Change(c.Type, &c.Check, given, all)
	}
}

// refuseZero records what check says of a number that is given as 0. In the domain, 0 means that there is none.
func refuseZero[T int | time.Duration](o *jsonobject.Object, n *T, check func(*allswell.ValidationError, T)) *T {
	if n != nil && *n == 0 {
		var bad allswell.ValidationError
		check(&bad, 0)
		for _, p := range bad.Problems {
			o.Add(p.Field, p.Code, p.Args...)
		}
	}
	return n
}

// readPause reads paused_until of a change; null is zero.
func readPause(o *jsonobject.Object, all bool) *time.Time {
	if all {
		return nil // a read-only field
	}
	if o.Null("paused_until") {
		return new(time.Time)
	}
	return o.Instant("paused_until")
}

// readAutoIncidents reads auto_incidents of a monitor; null is the setting of its page.
func readAutoIncidents(o *jsonobject.Object) *allswell.AutoIncidents {
	if o.Null("auto_incidents") {
		return new(allswell.AutoIncidents)
	}
	return jsonobject.Enum(o, "auto_incidents", allswell.AutoIncidentModes)
}

// readRuntime reads the duration of a run; null is 0.
func readRuntime(o *jsonobject.Object, key string) *time.Duration {
	if o.Null(key) {
		return new(time.Duration)
	}
	return refuseZero(o, seconds(o.Integer(key)), func(bad *allswell.ValidationError, d time.Duration) { allswell.CheckRuntime(bad, key, d) })
}

// listOutages lists the outages of a monitor, newest first.
func (a *api) listOutages(c *call) (store.Response, error) {
	return servePage(web.ParseQuery(c.URL.RawQuery), newOutageJSON, func(r store.Pagination) ([]allswell.Outage, int, error) {
		return a.store.Outages(c.Context(), c.actor(), c.PathValue("monitorId"), r)
	})
}

type explanationJSON struct {
	State               allswell.MonitorState  `json:"state"`
	PausedUntil         *string                `json:"paused_until"`
	AsOf                string                 `json:"as_of"`
	LastPingAt          *string                `json:"last_ping_at"`
	WaitingSince        *string                `json:"waiting_since"`
	Interval            int64                  `json:"interval"` // seconds
	Schedule            scheduleJSON           `json:"schedule"`
	Grace               int64                  `json:"grace"`       // seconds
	ExpectedAt          *string                `json:"expected_at"` // without grace and extensions
	Extensions          []extensionJSON        `json:"extensions"`
	DueAt               *string                `json:"due_at"`
	ConsecutiveFailures int                    `json:"consecutive_failures"`
	FailureThreshold    int                    `json:"failure_threshold"`
	IncidentTakenOver   bool                   `json:"incident_taken_over"`
	CountedAt           *string                `json:"counted_at"`
	DownAt              *string                `json:"down_at"`
	Reason              *allswell.OutageReason `json:"reason"` // null: it is not down
	DownSince           *string                `json:"down_since"`
	Warnings            []allswell.Condition   `json:"warnings"`
	RunDueAt            *string                `json:"run_due_at"`
	PingGaps            []pingGapJSON          `json:"ping_gaps"` // oldest first
	Rhythm              *rhythmJSON            `json:"rhythm"`    // null: unknown
	Check               *checkStateJSON        `json:"check"`     // null: a heartbeat
}

// checkStateJSON is what the results of a check have led to.
type checkStateJSON struct {
	Status            *allswell.CheckStatus `json:"status"`
	Reason            *string               `json:"reason"`
	GoodResults       int                   `json:"good_results"`
	SlowResults       int                   `json:"slow_results"`
	RecoveryThreshold int                   `json:"recovery_threshold"`
	SlowSince         *string               `json:"slow_since"`
	UnknownSince      *string               `json:"unknown_since"`
	UnknownReason     *string               `json:"unknown_reason"`
	Late              bool                  `json:"late"`
	SuppressedUntil   *string               `json:"suppressed_until"`
	Gaps              []checkingGapJSON     `json:"gaps"` // newest first
	Views             []checkResultJSON     `json:"views"`
}

type checkingGapJSON struct {
	From  string             `json:"from"`
	To    *string            `json:"to"`    // null: it has not ended
	Cause *allswell.GapCause `json:"cause"` // null: it was saved without
}

type pingGapJSON struct {
	PingedAt string  `json:"pinged_at"`
	Length   float64 `json:"length"` // seconds since the one before it
}

type rhythmJSON struct {
	Every    int64 `json:"every"`  // seconds
	Spread   int64 `json:"spread"` // seconds
	AtLeast  bool  `json:"at_least"`
	Interval int64 `json:"interval"` // seconds
}

type extensionJSON struct {
	Reason allswell.ExtensionReason `json:"reason"`
	From   *string                  `json:"from"`
	To     string                   `json:"to"`
	DueAt  string                   `json:"due_at"`
}

func (c *call) newExplanationJSON(e allswell.Explanation) explanationJSON {
	out := explanationJSON{
		State: e.State, PausedUntil: timePtr(e.PausedUntil), AsOf: allswell.FormatTime(e.AsOf), LastPingAt: timePtr(e.LastPingAt), WaitingSince: timePtr(e.WaitingSince),
		Interval: int64(e.Interval / time.Second), Schedule: newScheduleJSON(e.Interval, e.Cron), Grace: int64(e.Grace / time.Second), ExpectedAt: timePtr(e.ExpectedAt),
		Extensions: []extensionJSON{}, DueAt: timePtr(e.DueAt),
		ConsecutiveFailures: e.Failures, FailureThreshold: e.Threshold, IncidentTakenOver: e.TakenOver, CountedAt: timePtr(e.CountedAt), DownAt: timePtr(e.DownAt), Reason: ptrOrNil(e.Reason), DownSince: timePtr(e.DownSince), Warnings: append([]allswell.Condition{}, e.Warned...), RunDueAt: timePtr(e.RunDueAt), PingGaps: []pingGapJSON{},
	}
	if e.Type.IsCheck() {
		s := e.Check
		out.Check = &checkStateJSON{
			ptrOrNil(s.Status), ptrOrNil(s.Reason), s.Good, s.Slow, e.RecoveryThreshold, timePtr(s.SlowSince), timePtr(s.UnknownSince), ptrOrNil(e.UnknownReason), s.Late, timePtr(e.SuppressedUntil),
			[]checkingGapJSON{}, []checkResultJSON{},
		}
		for _, gap := range e.LastCheckingGaps() {
			to := gap.To
			if gap.Open {
				to = time.Time{}
			}
			out.Check.Gaps = append(out.Check.Gaps, checkingGapJSON{allswell.FormatTime(gap.From), timePtr(to), ptrOrNil(gap.Cause)})
		}
		for _, r := range e.Views {
			out.Check.Views = append(out.Check.Views, c.newCheckResultJSON(r))
		}
	}
	for _, x := range e.Extensions {
		out.Extensions = append(out.Extensions, extensionJSON{x.Reason, timePtr(x.From), allswell.FormatTime(x.To), allswell.FormatTime(x.DueAt)})
	}
	for _, gap := range e.PingGaps {
		out.PingGaps = append(out.PingGaps, pingGapJSON{allswell.FormatTime(gap.PingedAt), gap.Length.Seconds()})
	}
	if r, ok := e.Rhythm(); ok {
		out.Rhythm = &rhythmJSON{int64(r.Every / time.Second), int64(r.Spread / time.Second), r.AtLeast, int64(r.Interval / time.Second)}
	}
	return out
}

// explainMonitor says why a monitor has its state.
func (a *api) explainMonitor(c *call) (store.Response, error) {
	e, err := a.store.ExplainMonitor(c.Context(), c.actor(), c.PathValue("monitorId"))
	return resourceResponse(e, err, c.newExplanationJSON)
}

func (a *api) getMonitor(c *call) (store.Response, error) {
	monitor, err := a.store.Monitor(c.Context(), c.actor(), c.PathValue("monitorId"))
	return taggedResponse(c, monitor, err, c.newMonitorJSON)
}

func (a *api) changeMonitor(c *call) (store.Response, error) {
	o, err := c.object()
	if err != nil {
		return store.Response{}, err
	}
	monitor, err := a.store.ChangeMonitor(c.Context(), c.actor(), c.PathValue("monitorId"), readMonitor(o, false), c.cond)
	return taggedResponse(c, monitor, err, c.newMonitorJSON)
}

func (a *api) deleteMonitor(c *call) (store.Response, error) {
	return noContent(a.store.DeleteMonitor(c.Context(), c.actor(), c.PathValue("monitorId"), c.cond))
}

// rotateMonitor replaces the ping token of a monitor. It reads no body.
func (a *api) rotateMonitor(c *call) (store.Response, error) {
	r := newResponder(c, http.StatusOK, c.newMonitorJSON)
	return r.respond(a.store.RotateMonitor(c.Context(), c.actor(), c.PathValue("monitorId"), r.save...))
}

// seconds converts seconds to a duration. Values out of range are clamped to invalid
// ones, so that they do not overflow and validation rejects them.
func seconds(n *int) *time.Duration {
	if n == nil {
		return nil
	}
	const beyond = int(allswell.MaxInterval/time.Second) + 1
	d := time.Duration(min(max(*n, -1), beyond)) * time.Second
	return &d
}
