package api

import (
	"net/http"
	"time"

	"github.com/allswell/allswell/internal/check"
	"github.com/allswell/allswell/internal/domain/kernel"
	"github.com/allswell/allswell/internal/domain/monitor"
	"github.com/allswell/allswell/internal/domain/statuspage"
	"github.com/allswell/allswell/internal/resource"
	"github.com/allswell/allswell/internal/resource/field"
	"github.com/allswell/allswell/internal/resource/rights"
	"github.com/allswell/allswell/internal/shared/jsonobject"
	"github.com/allswell/allswell/internal/shared/optional"
	"github.com/allswell/allswell/internal/store"
	"github.com/allswell/allswell/internal/surface/web"
)

var monitorRoutes = []route{
	{"GET", "/api/v1/monitors", rights.MonitorRead, (*api).listMonitors, operation{
		id:      "listMonitors",
		summary: "List the monitors.",
		query: []parameter{
			bySlug, byName,
			{name: "page_slug", schema: anyText, text: "Only monitors of the page with this slug."},
			{name: "component_id", schema: listOf{of: anyText, max: statuspage.MaxAffectedComponents},
				text: "Only monitors of one of these components, given by their ids or, with page_slug, slugs."},
			{name: "incident_id", schema: anyText,
				text: "Only the monitor that is down and whose outage opened this incident."},
			{name: "tag", schema: anyText, text: "Only monitors with this tag."},
			{name: "state", schema: values(anyOf(monitor.MonitorFilterStates)),
				text: "Only monitors in this state. Of those that are up, `late` miss a ping, or the next result of " +
					"their check is late, `unknown` cannot be checked, `waiting` are enabled and were never pinged, " +
					"and `disabled` are not enabled."},
			{name: "type", schema: ref("MonitorType"), text: "Only monitors of this type."},
		},
		returns: list("Monitor"),
	}},
	{"POST", "/api/v1/monitors", rights.MonitorChange, (*api).createMonitor, operation{
		id:      "createMonitor",
		summary: "Create a monitor. A heartbeat waits for its first ping.",
		text: "Without a `type`, or with `heartbeat`, the monitor expects pings. The targets of all other types are " +
			"checked by the server; such a monitor has the fields of its type, which the description of a property " +
			"names, and no token, schedule, grace and conditions on runs. A field that monitors of the type do not " +
			"have is 422.",
		returns: created("Monitor", "The new monitor."),
	}},
	{"GET", "/api/v1/monitors/{monitorId}", rights.MonitorRead, (*api).getMonitor, operation{
		id:      "getMonitor",
		summary: "Get a monitor.",
		returns: one("Monitor", "The monitor."),
	}},
	{"PUT", "/api/v1/monitors/{monitorId}", rights.MonitorChange, (*api).putMonitor, operation{
		id:      "putMonitor",
		summary: "Create or replace a monitor by its slug.",
		text: "Creates the monitor with the slug in the path, or replaces what it is configured as: absent fields " +
			"get their defaults. The ping token and secrets are kept: another `token` than its own is answered 422, " +
			"and a secret that is null is removed. A monitor that stays disabled keeps the end of its pause. By id, " +
			"the body can have another slug. `If-Match` with the `ETag` " +
			"of an earlier response replaces only that version; `If-None-Match: *` only creates.",
		returns: upserted("Monitor", "The replaced monitor.", "The new monitor."),
	}},
	{"PATCH", "/api/v1/monitors/{monitorId}", rights.MonitorChange, (*api).changeMonitor, operation{
		id:      "changeMonitor",
		summary: "Change a monitor; absent fields keep their values.",
		text: "Enabling it or changing its interval or its schedule restarts the wait for the next ping. `interval` " +
			"without `schedule` makes it a monitor with an interval. If the kind of the schedule changes, an absent " +
			"`grace` gets its default. Disabling it while it is down ends the outage. `paused_until` disables it " +
			"until then, at most 366 days; with null it stays disabled until someone enables it. Change `page` and " +
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
		text: "The old token keeps working for 24 hours, so that jobs can be changed without a gap. The body is " +
			"ignored.",
		returns: one("Monitor", "The monitor with its new token."),
	}},
}

// monitorActions presents monitors. The other actions on monitors do not belong to a collection.
var monitorActions = resourceActions[monitor.Monitor]{Resource: resource.Monitor, complete: completeMonitor}

// completeMonitor sets the ping URL, or removes the ping token if the caller has only the scope read: with the token,
// such a caller could keep the monitor of a dead job up.
func completeMonitor(_ *api, c *call, m *monitor.Monitor) {
	switch {
	case m.IsCheck():
	case rights.MonitorSecrets.AllowsScope(c.token.Scope):
		m.PingURL = c.base + "/api/v1/heartbeat/" + m.Token
	default:
		m.Token, m.PingURL = "", ""
	}
}

type outageJSON struct {
	ID            string               `json:"id"`
	Reason        monitor.OutageReason `json:"reason"`
	SilentSince   string               `json:"silent_since"` // the last ping before it
	StartedAt     string               `json:"started_at"`   // when the monitor went down
	EndedAt       *string              `json:"ended_at"`
	IncidentID    *string              `json:"incident_id"` // null: it opened none, or that was deleted
	IncidentDraft bool                 `json:"incident_draft"`
}

func newOutageJSON(o monitor.Outage) outageJSON {
	return outageJSON{
		ID: o.ID, Reason: o.Reason, SilentSince: kernel.FormatTime(o.SilentSince),
		StartedAt: kernel.FormatTime(o.StartedAt), EndedAt: timePtr(o.EndedAt),
		IncidentID: optional.Ptr(o.IncidentID), IncidentDraft: o.Draft,
	}
}

// listMonitors filters by ?slug, ?name, ?page_slug, ?component_id, ?tag, ?incident_id, ?state and ?type.
func (a *api) listMonitors(c *call) (store.Response, error) {
	q := web.ParseQuery(c.URL.RawQuery)
	f := store.MonitorFilter{
		Filter: readFilter(q), Page: q.Text("page_slug"),
		Components: q.Texts("component_id", statuspage.MaxAffectedComponents),
		Tag:        q.Text("tag"), IncidentID: q.Text("incident_id"),
		State: web.Choice(q, "state", monitor.MonitorFilterStates),
		Type:  web.Choice(q, "type", check.MonitorTypes()),
	}
	return servePage(q, monitorActions.shown(a, c), func(r store.Pagination) ([]monitor.Monitor, int, error) {
		return a.store.Monitors(c.Context(), c.actor(), f, r)
	})
}

func (a *api) createMonitor(c *call) (store.Response, error) {
	o, err := c.object()
	if err != nil {
		return store.Response{}, err
	}
	create := a.store.CreateMonitor
	if optional.Value(o.Flag("unique_name")) {
		create = a.store.CreateUniqueMonitor
	}
	r := newResponder(c, http.StatusCreated, monitorActions.shown(a, c))
	return r.respond(create(c.Context(), c.actor(), readMonitor(o, field.Creation), r.save...))
}

// readMonitor reads the fields of a monitor.
func readMonitor(o *jsonobject.Object, request field.Request) monitor.MonitorChange {
	return resource.MonitorChange(resource.Monitor.Read(o, request))
}

// listOutages lists the outages of a monitor, newest first.
func (a *api) listOutages(c *call) (store.Response, error) {
	return servePage(web.ParseQuery(c.URL.RawQuery), newOutageJSON,
		func(r store.Pagination) ([]monitor.Outage, int, error) {
			return a.store.Outages(c.Context(), c.actor(), c.PathValue("monitorId"), r)
		})
}

type explanationJSON struct {
	State               monitor.MonitorState  `json:"state"`
	PausedUntil         *string               `json:"paused_until"`
	AsOf                string                `json:"as_of"`
	LastPingAt          *string               `json:"last_ping_at"`
	WaitingSince        *string               `json:"waiting_since"`
	Interval            int64                 `json:"interval"` // seconds
	Schedule            resource.Schedule     `json:"schedule"`
	Grace               int64                 `json:"grace"`       // seconds
	ExpectedAt          *string               `json:"expected_at"` // without grace and extensions
	Extensions          []extensionJSON       `json:"extensions"`
	DueAt               *string               `json:"due_at"`
	ConsecutiveFailures int                   `json:"consecutive_failures"`
	FailureThreshold    int                   `json:"failure_threshold"`
	IncidentTakenOver   bool                  `json:"incident_taken_over"`
	CountedAt           *string               `json:"counted_at"`
	DownAt              *string               `json:"down_at"`
	Reason              *monitor.OutageReason `json:"reason"` // null: it is not down
	DownSince           *string               `json:"down_since"`
	Warnings            []monitor.Condition   `json:"warnings"`
	RunDueAt            *string               `json:"run_due_at"`
	PingGaps            []pingGapJSON         `json:"ping_gaps"` // oldest first
	Rhythm              *rhythmJSON           `json:"rhythm"`    // null: unknown
	Check               *checkStateJSON       `json:"check"`     // null: a heartbeat
}

// checkStateJSON is the state of a check, which follows from its results.
type checkStateJSON struct {
	Status            *monitor.CheckStatus `json:"status"`
	Reason            *string              `json:"reason"`
	GoodResults       int                  `json:"good_results"`
	SlowResults       int                  `json:"slow_results"`
	RecoveryThreshold int                  `json:"recovery_threshold"`
	SlowSince         *string              `json:"slow_since"`
	UnknownSince      *string              `json:"unknown_since"`
	UnknownReason     *string              `json:"unknown_reason"`
	Late              bool                 `json:"late"`
	SuppressedUntil   *string              `json:"suppressed_until"`
	Gaps              []checkingGapJSON    `json:"gaps"` // newest first
	Views             []checkResultJSON    `json:"views"`
}

type checkingGapJSON struct {
	From  string            `json:"from"`
	To    *string           `json:"to"`    // null: the gap has not ended
	Cause *monitor.GapCause `json:"cause"` // null: not known
}

type pingGapJSON struct {
	PingedAt string  `json:"pinged_at"`
	Length   float64 `json:"length"` // seconds since the ping before it
}

type rhythmJSON struct {
	Every    int64 `json:"every"`  // seconds
	Spread   int64 `json:"spread"` // seconds
	AtLeast  bool  `json:"at_least"`
	Interval int64 `json:"interval"` // seconds
}

type extensionJSON struct {
	Reason monitor.ExtensionReason `json:"reason"`
	From   *string                 `json:"from"`
	To     string                  `json:"to"`
	DueAt  string                  `json:"due_at"`
}

func (c *call) newExplanationJSON(e monitor.Explanation) explanationJSON {
	out := explanationJSON{
		State: e.State, PausedUntil: timePtr(e.PausedUntil), AsOf: kernel.FormatTime(e.AsOf),
		LastPingAt: timePtr(e.LastPingAt), WaitingSince: timePtr(e.WaitingSince),
		Interval: int64(e.Interval / time.Second), Schedule: resource.ScheduleOf(e.Interval, e.Cron),
		Grace: int64(e.Grace / time.Second), ExpectedAt: timePtr(e.ExpectedAt), Extensions: []extensionJSON{},
		DueAt: timePtr(e.DueAt), ConsecutiveFailures: e.Failures, FailureThreshold: e.Threshold,
		IncidentTakenOver: e.TakenOver, CountedAt: timePtr(e.CountedAt), DownAt: timePtr(e.DownAt),
		Reason: optional.Ptr(e.Reason), DownSince: timePtr(e.DownSince),
		Warnings: append([]monitor.Condition{}, e.Warned...),
		RunDueAt: timePtr(e.RunDueAt), PingGaps: []pingGapJSON{},
	}
	if e.Type.IsCheck() {
		s := e.Check
		out.Check = &checkStateJSON{
			optional.Ptr(s.Status), optional.Ptr(s.Reason), s.Good, s.Slow, e.RecoveryThreshold, timePtr(s.SlowSince),
			timePtr(s.UnknownSince), optional.Ptr(e.UnknownReason), s.Late, timePtr(e.SuppressedUntil),
			[]checkingGapJSON{}, []checkResultJSON{},
		}
		for _, gap := range e.LastCheckingGaps() {
			to := gap.To
			if gap.Open {
				to = time.Time{}
			}
			out.Check.Gaps = append(out.Check.Gaps, checkingGapJSON{
				kernel.FormatTime(gap.From), timePtr(to), optional.Ptr(gap.Cause),
			})
		}
		for _, r := range e.Views {
			out.Check.Views = append(out.Check.Views, c.newCheckResultJSON(r))
		}
	}
	for _, x := range e.Extensions {
		out.Extensions = append(out.Extensions, extensionJSON{
			x.Reason, timePtr(x.From), kernel.FormatTime(x.To), kernel.FormatTime(x.DueAt),
		})
	}
	for _, gap := range e.PingGaps {
		out.PingGaps = append(out.PingGaps, pingGapJSON{kernel.FormatTime(gap.PingedAt), gap.Length.Seconds()})
	}
	if r, ok := e.Rhythm(); ok {
		out.Rhythm = &rhythmJSON{
			int64(r.Every / time.Second), int64(r.Spread / time.Second), r.AtLeast, int64(r.Interval / time.Second),
		}
	}
	return out
}

// explainMonitor returns why a monitor has its state.
func (a *api) explainMonitor(c *call) (store.Response, error) {
	e, err := a.store.ExplainMonitor(c.Context(), c.actor(), c.PathValue("monitorId"))
	return resourceResponse(e, err, c.newExplanationJSON)
}

func (a *api) getMonitor(c *call) (store.Response, error) {
	monitor, err := a.store.Monitor(c.Context(), c.actor(), c.PathValue("monitorId"))
	return monitorActions.tagged(a, c, monitor, err)
}

func (a *api) changeMonitor(c *call) (store.Response, error) {
	o, err := c.object()
	if err != nil {
		return store.Response{}, err
	}
	monitor, err := a.store.ChangeMonitor(c.Context(), c.actor(), c.PathValue("monitorId"),
		readMonitor(o, field.Changing), c.cond)
	return monitorActions.tagged(a, c, monitor, err)
}

func (a *api) deleteMonitor(c *call) (store.Response, error) {
	return noContent(a.store.DeleteMonitor(c.Context(), c.actor(), c.PathValue("monitorId"), c.cond))
}

// rotateMonitor replaces the ping token of a monitor. It reads no body.
func (a *api) rotateMonitor(c *call) (store.Response, error) {
	r := newResponder(c, http.StatusOK, monitorActions.shown(a, c))
	return r.respond(a.store.RotateMonitor(c.Context(), c.actor(), c.PathValue("monitorId"), r.save...))
}
