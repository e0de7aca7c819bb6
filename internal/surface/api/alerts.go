package api

import (
	"net/http"

	"github.com/allswell/allswell/internal/domain/alert"
	"github.com/allswell/allswell/internal/domain/kernel"
	"github.com/allswell/allswell/internal/resource/rights"
	"github.com/allswell/allswell/internal/shared/optional"
	"github.com/allswell/allswell/internal/store"
	"github.com/allswell/allswell/internal/surface/web"
)

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
		summary: "Acknowledge an alert. Stops repeats and escalation.",
		text: "All channels that were notified learn who acknowledged it. Pages do not change. An alert that was " +
			"acknowledged before, or has ended, stays as it is.",
		returns: one("Alert", "The alert."),
	}},
}

type alertJSON struct {
	ID             string        `json:"id"`
	Event          alert.Event   `json:"event"`
	State          alert.State   `json:"state"`
	Title          string        `json:"title"`
	Name           string        `json:"name"`
	MonitorID      *string       `json:"monitor_id"`
	Page           *string       `json:"page"` // slug
	Severity       kernel.Impact `json:"severity"`
	Tags           []string      `json:"tags"`
	Reason         *string       `json:"reason"`
	OpenedAt       string        `json:"opened_at"`
	AcknowledgedAt *string       `json:"acknowledged_at"`
	AcknowledgedBy *string       `json:"acknowledged_by"`
	ResolvedAt     *string       `json:"resolved_at"`
	EndReason      *string       `json:"end_reason"`
}

func newAlertJSON(a alert.Alert) alertJSON {
	return alertJSON{
		ID: a.ID, Event: a.Event, State: a.State(), Title: a.Title(), Name: a.Name,
		MonitorID: optional.Ptr(a.MonitorID), Page: optional.Ptr(a.PageSlug),
		Severity: a.Severity, Tags: append([]string{}, a.Tags...), Reason: optional.Ptr(a.Reason),
		OpenedAt: kernel.FormatTime(a.OpenedAt), AcknowledgedAt: timePtr(a.AcknowledgedAt),
		AcknowledgedBy: optional.Ptr(a.AcknowledgedBy), ResolvedAt: timePtr(a.ResolvedAt),
		EndReason: optional.Ptr(a.EndReason),
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
			t.Kind, t.ChannelID, t.ChannelName, t.ChannelType, t.Deleted, optional.Ptr(t.RuleName),
			optional.Ptr(t.FallbackFor), kernel.FormatTime(t.At), timePtr(t.SentAt), t.Failed, optional.Ptr(t.Reason),
		})
	}
	for _, h := range d.Holds {
		out.Holds = append(out.Holds, holdJSON{
			optional.Ptr(h.RuleName), h.Reason, kernel.FormatTime(h.At), kernel.FormatTime(h.Until), h.Over,
		})
	}
	for _, p := range d.Plans {
		out.Plans = append(out.Plans, planJSON{
			p.RuleID, p.RuleName, kernel.FormatTime(p.DueAt), optional.Ptr(p.Held), newForecastStepsJSON(p.Steps),
		})
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
