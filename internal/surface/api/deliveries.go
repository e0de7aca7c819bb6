package api

import (
	"net/http"

	"github.com/allswell/allswell/internal/domain/audience"
	"github.com/allswell/allswell/internal/domain/kernel"
	"github.com/allswell/allswell/internal/domain/statuspage"
	"github.com/allswell/allswell/internal/resource/rights"
	"github.com/allswell/allswell/internal/shared/optional"
	"github.com/allswell/allswell/internal/store"
	"github.com/allswell/allswell/internal/surface/web"
)

var deliveryRoutes = []route{
	{"GET", "/api/v1/pages/{pageSlug}/deliveries", rights.DeliveryRecipients, (*api).listDeliveries, operation{
		id:      "listDeliveries",
		summary: "List the deliveries to the subscribers of a page, newest first.",
		text:    "Needs the scope write, as the list of subscribers does. Finished deliveries stay for 30 days.",
		query: []parameter{
			{name: "state", schema: listOf{of: ref("DeliveryState"), min: 1}, example: []string{"dead", "expired"},
				text: "Only deliveries in one of these states."},
			{name: "subscriber", schema: anyText, text: "Only deliveries to the subscriber with this id."},
		},
		returns: list("Delivery"),
	}},
	{"POST", "/api/v1/deliveries/{deliveryId}/retry", rights.DeliveryRetry, (*api).retryDelivery, operation{
		id:      "retryDelivery",
		summary: "Retry a delivery immediately.",
		text: "A dead, expired or pending delivery is retried for another 24 hours. If another delivery to the same " +
			"receiver has to be sent first, `waits_for` is its id, and that one is retried at once. Other " +
			"deliveries are 422. The body is ignored.",
		returns: one("Delivery", "The delivery."),
	}},
}

type deliveryJSON struct {
	ID            string                   `json:"id"`
	Purpose       audience.DeliveryPurpose `json:"purpose"`
	Channel       audience.Channel         `json:"channel"`
	Target        *string                  `json:"target"` // null: the subscription has ended
	Event         *statuspage.EventKind    `json:"event"`
	IncidentID    *string                  `json:"incident_id"`
	MaintenanceID *string                  `json:"maintenance_id"`
	MonitorID     *string                  `json:"monitor_id"` // of a warning
	State         audience.DeliveryState   `json:"state"`
	Attempts      int                      `json:"attempts"`
	Reason        *string                  `json:"reason"`
	NextAttemptAt *string                  `json:"next_attempt_at"` // null unless pending
	CreatedAt     string                   `json:"created_at"`
	UpdatedAt     string                   `json:"updated_at"`
	SubscriberID  string                   `json:"subscriber_id"`
	CarriedBy     *string                  `json:"carried_by"` // null unless superseded
	WaitsFor      *string                  `json:"waits_for"`  // null unless pending behind another delivery
}

func newDeliveryJSON(d audience.DeliveryLogEntry) deliveryJSON {
	out := deliveryJSON{
		ID: d.ID, Purpose: d.Purpose, Channel: d.Channel, Target: optional.Ptr(d.Target),
		Event: optional.Ptr(d.Kind), IncidentID: optional.Ptr(d.IncidentID),
		MaintenanceID: optional.Ptr(d.MaintenanceID), MonitorID: optional.Ptr(d.MonitorID),
		State: d.State, Attempts: d.Attempts, Reason: optional.Ptr(d.Reason),
		CreatedAt: kernel.FormatTime(d.CreatedAt), UpdatedAt: kernel.FormatTime(d.UpdatedAt),
		SubscriberID: d.SubscriberID, WaitsFor: optional.Ptr(d.WaitsFor),
	}
	switch d.State {
	case audience.DeliveryPending:
		next := d.NextAttemptAt
		if d.HeldUntil.After(next) {
			next = d.HeldUntil
		}
		out.NextAttemptAt = timePtr(next)
	case audience.DeliverySuperseded:
		out.CarriedBy = optional.Ptr(d.MergedInto)
	}
	return out
}

// listDeliveries filters by ?state=, which is repeatable, and ?subscriber=.
func (a *api) listDeliveries(c *call) (store.Response, error) {
	q := web.ParseQuery(c.URL.RawQuery)
	r, f := readPagination(q), store.DeliveryFilter{
		States: web.Choices(q, "state", audience.DeliveryStates), Subscriber: q.Text("subscriber"),
	}
	if err := q.Check(); err != nil {
		return store.Response{}, err
	}
	deliveries, total, err := a.store.Deliveries(c.Context(), c.actor(), c.PathValue("pageSlug"), f, r)
	if err != nil {
		return store.Response{}, err
	}
	return newListResponse(deliveries, total, r, newDeliveryJSON)
}

// retryDelivery makes a delivery due immediately. It reads no body.
func (a *api) retryDelivery(c *call) (store.Response, error) {
	r := newResponder(c, http.StatusOK, newDeliveryJSON)
	return r.respond(a.store.RetryDelivery(c.Context(), c.actor(), c.PathValue("deliveryId"), r.save...))
}
