package api

import (
	"net/http"

	"github.com/allswell/allswell"
	"github.com/allswell/allswell/internal/alert"
	"github.com/allswell/allswell/internal/jsonobject"
	"github.com/allswell/allswell/internal/rights"
	"github.com/allswell/allswell/internal/store"
	"github.com/allswell/allswell/internal/web"
)

// alertRoutes are the routes of alerts.
var alertRoutes = []route{
	{"GET", "/api/v1/alerts", rights.AlertRead, (*api).listAlerts, operation{
		id:      "listAlerts",
		summary: "List the alerts, newest first.",
		query: []parameter{
			{name: "state", schema: ref("AlertState")},
			{name: "event", schema: ref("AlertEvent")},
			{name: "monitor", schema: anyText, text: "The id or slug of a monitor."},
		},
		returns: list("Alert"),
	}},
	{"GET", "/api/v1/alerts/{alertId}", rights.AlertRead, (*api).getAlert, operation{
		id:      "getAlert",
		summary: "Get an alert with who was notified of it, and what the rules will still do.",
		returns: one("AlertWithHistory", "The alert."),
	}},
	{"POST", "/api/v1/alerts/{alertId}/acknowledge", rights.AlertAcknowledge, (*api).acknowledgeAlert, operation{
		id:      "acknowledgeAlert",
		summary: "Acknowledge an alert, so that it is no longer repeated or escalated.",
		text: "All channels that were notified learn who acknowledged it. Pages do not change. An alert that was " +
			"acknowledged before, or has ended, stays as it is.",
		returns: one("Alert", "The alert."),
	}},
}

// silenceRoutes are the routes of silences.
var silenceRoutes = []route{
	{"GET", "/api/v1/silences", rights.SilenceRead, (*api).listSilences, operation{
		id:      "listSilences",
		summary: "List the silences that have not ended, in the order of their ends.",
		query: []parameter{
			{name: "ended", schema: yesOrNo,
				text: "With true, also list silences that have ended in the last 90 days."},
		},
		returns: list("Silence"),
	}},
	{"POST", "/api/v1/silences", rights.SilenceChange, (*api).createSilence, operation{
		id:      "createSilence",
		summary: "Create a silence. It holds alerts back; alerts that are still open at its end are sent then.",
		text: "An empty list does not limit the silence; otherwise one of the values must match. A workspace can " +
			"have 500 silences that have not ended.",
		returns: created("Silence", "The silence."),
	}},
	{"GET", "/api/v1/silences/{silenceId}", rights.SilenceRead, (*api).getSilence, operation{
		id:      "getSilence",
		summary: "Get a silence.",
		returns: one("Silence", "The silence."),
	}},
	{"PATCH", "/api/v1/silences/{silenceId}", rights.SilenceChange, (*api).changeSilence, operation{
		id:      "changeSilence",
		summary: "Change a silence; absent fields keep their values.",
		returns: one("Silence", "The silence."),
	}},
	{"DELETE", "/api/v1/silences/{silenceId}", rights.SilenceChange, (*api).endSilence, operation{
		id:      "endSilence",
		summary: "End a silence now.",
		text:    "It is kept for 90 days.",
	}},
}

type alertJSON struct {
	ID             string          `json:"id"`
	Event          alert.Event     `json:"event"`
	State          alert.State     `json:"state"`
	Title          string          `json:"title"`
	Name           string          `json:"name"`
	MonitorID      *string         `json:"monitor_id"`
	Page           *string         `json:"page"` // slug
	Severity       allswell.Impact `json:"severity"`
	Tags           []string        `json:"tags"`
	Reason         *string         `json:"reason"`
	OpenedAt       string          `json:"opened_at"`
	AcknowledgedAt *string         `json:"acknowledged_at"`
	AcknowledgedBy *string         `json:"acknowledged_by"`
	ResolvedAt     *string         `json:"resolved_at"`
	EndReason      *string         `json:"end_reason"`
}

func newAlertJSON(a alert.Alert) alertJSON {
	return alertJSON{
		ID: a.ID, Event: a.Event, State: a.State(), Title: a.Title(), Name: a.Name, MonitorID: ptrOrNil(a.MonitorID), Page: ptrOrNil(a.PageSlug),
		Severity: a.Severity, Tags: append([]string{}, a.Tags...), Reason: ptrOrNil(a.Reason), OpenedAt: allswell.FormatTime(a.OpenedAt),
		AcknowledgedAt: timePtr(a.AcknowledgedAt), AcknowledgedBy: ptrOrNil(a.AcknowledgedBy), ResolvedAt: timePtr(a.ResolvedAt), EndReason: ptrOrNil(a.EndReason),
	}
}

// alertDetailJSON is an alert with its history.
type alertDetailJSON struct {
	alertJSON
	Notices []noticeJSON `json:"notices"`
	Holds   []holdJSON   `json:"holds"`
	Plans   []planJSON   `json:"plans"`
}

type noticeJSON struct {
	Kind      alert.NoticeKind `json:"kind"`
	ChannelID string           `json:"channel_id"`
	Channel   string           `json:"channel"`
	Type      string           `json:"channel_type"`
	Deleted   bool             `json:"channel_deleted"`
	Rule      *string          `json:"rule"`
	InPlaceOf *string          `json:"in_place_of"`
	At        string           `json:"at"`
	SentAt    *string          `json:"sent_at"`
	Failed    bool             `json:"failed"`
	Reason    *string          `json:"reason"`
}

type holdJSON struct {
	Rule   *string          `json:"rule"`
	Reason alert.HoldReason `json:"reason"`
	At     string           `json:"at"`
	Until  string           `json:"until"`
	Over   bool             `json:"over"`
}

type planJSON struct {
	RuleID string            `json:"rule_id"`
	Rule   string            `json:"rule"`
	DueAt  string            `json:"due_at"`
	Held   *alert.HoldReason `json:"held"`

	Steps []forecastStepJSON `json:"steps"`
}

func newAlertDetailJSON(d store.AlertDetail) alertDetailJSON {
	out := alertDetailJSON{newAlertJSON(d.Alert), []noticeJSON{}, []holdJSON{}, []planJSON{}}
	for _, t := range d.Notices {
		out.Notices = append(out.Notices, noticeJSON{
			t.Kind, t.ChannelID, t.ChannelName, t.ChannelType, t.Deleted, ptrOrNil(t.RuleName), ptrOrNil(t.FallbackFor), allswell.FormatTime(t.At), timePtr(t.SentAt), t.Failed, ptrOrNil(t.Reason),
		})
	}
	for _, h := range d.Holds {
		out.Holds = append(out.Holds, holdJSON{ptrOrNil(h.RuleName), h.Reason, allswell.FormatTime(h.At), allswell.FormatTime(h.Until), h.Over})
	}
	for _, p := range d.Plans {
		out.Plans = append(out.Plans, planJSON{p.RuleID, p.RuleName, allswell.FormatTime(p.DueAt), ptrOrNil(p.Held), newForecastStepsJSON(p.Steps)})
	}
	return out
}

// listAlerts filters by ?state, ?event and ?monitor.
func (a *api) listAlerts(c *call) (store.Response, error) {
	q := web.ParseQuery(c.URL.RawQuery)
	f := store.AlertFilter{
		State: web.Choice(q, "state", alert.States), Event: web.Choice(q, "event", alert.Events),
		Monitor: q.Text("monitor"),
	}
	return servePage(q, newAlertJSON, func(r store.Pagination) ([]alert.Alert, int, error) {
		return a.store.Alerts(c.Context(), c.actor(), f, r)
	})
}

func (a *api) getAlert(c *call) (store.Response, error) {
	d, err := a.store.Alert(c.Context(), c.actor(), c.PathValue("alertId"))
	return resourceResponse(d, err, newAlertDetailJSON)
}

// acknowledgeAlert reads no body.
func (a *api) acknowledgeAlert(c *call) (store.Response, error) {
	r := newResponder(c, http.StatusOK, newAlertJSON)
	return r.respond(a.store.AcknowledgeAlert(c.Context(), c.actor(), c.PathValue("alertId"), r.save...))
}

type silenceJSON struct {
	ID string `json:"id"`
	filterJSON
	About     string `json:"about"`
	Comment   string `json:"comment"`
	StartsAt  string `json:"starts_at"`
	EndsAt    string `json:"ends_at"`
	CreatedBy string `json:"created_by"`
	CreatedAt string `json:"created_at"`
	UpdatedAt string `json:"updated_at"`
}

func newSilenceJSON(v alert.Silence) silenceJSON {
	return silenceJSON{
		v.ID, newFilterJSON(v.Filter), v.About, v.Comment, allswell.FormatTime(v.StartsAt), allswell.FormatTime(v.EndsAt), v.CreatedBy,
		allswell.FormatTime(v.CreatedAt), allswell.FormatTime(v.UpdatedAt),
	}
}

// listSilences lists those that have not ended, with ?ended=true all that are kept.
func (a *api) listSilences(c *call) (store.Response, error) {
	q := web.ParseQuery(c.URL.RawQuery)
	ended := q.Flag("ended")
	return servePage(q, newSilenceJSON, func(r store.Pagination) ([]alert.Silence, int, error) {
		return a.store.Silences(c.Context(), c.actor(), orZero(ended), r)
	})
}

func (a *api) getSilence(c *call) (store.Response, error) {
	v, err := a.store.Silence(c.Context(), c.actor(), c.PathValue("silenceId"))
	return taggedResponse(c, v, err, newSilenceJSON)
}

// readSilence returns a function that sets the given fields of a silence. Its accessors are called at once.
func readSilence(o *jsonobject.Object) func(*alert.Silence) {
	comment, startsAt, endsAt := o.Text("comment"), o.Instant("starts_at"), o.Instant("ends_at")
	var given alert.Filter
	readFilterFields(o, &given)
	return func(v *alert.Silence) {
		set(&v.Comment, comment)
		set(&v.StartsAt, startsAt)
		set(&v.EndsAt, endsAt)
		replaceFilter(o, &v.Filter, given)
	}
}

func (a *api) createSilence(c *call) (store.Response, error) {
	o, err := c.object()
	if err != nil {
		return store.Response{}, err
	}
	o.Require("ends_at")
	var v alert.Silence
	readSilence(o)(&v)
	now := a.now()
	check := v
	if check.StartsAt.IsZero() {
		check.StartsAt = now
	}
	if err := o.Check(check.Validate(alert.Silence{}, now)); err != nil {
		return store.Response{}, err
	}
	r := newResponder(c, http.StatusCreated, newSilenceJSON)
	return r.respond(a.store.CreateSilence(c.Context(), c.actor(), v, r.save...))
}

func (a *api) changeSilence(c *call) (store.Response, error) {
	o, err := c.object()
	if err != nil {
		return store.Response{}, err
	}
	change := readSilence(o)
	v, err := a.store.ChangeSilence(c.Context(), c.actor(), c.PathValue("silenceId"), c.cond, func(v *alert.Silence) error {
		saved := *v
		change(v)
		return o.Check(v.Validate(saved, a.now()))
	})
	return taggedResponse(c, v, err, newSilenceJSON)
}

// endSilence ends a silence now. It is kept as one that has ended.
func (a *api) endSilence(c *call) (store.Response, error) {
	return noContent(a.store.EndSilence(c.Context(), c.actor(), c.PathValue("silenceId"), c.cond))
}
