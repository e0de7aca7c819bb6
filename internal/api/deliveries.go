package api

import (
	"net/http"

	"github.com/allswell/allswell"
	"github.com/allswell/allswell/internal/store"
	"github.com/allswell/allswell/internal/web"
)

// listDeliveries filters by ?state=, which is repeatable.
func (a *api) listDeliveries(c *call) (store.Response, error) {
	q := web.ParseQuery(c.URL.RawQuery)
	r, states := readPagination(q), web.Choices(q, "state", allswell.DeliveryStates)
	if err := q.Check(); err != nil {
		return store.Response{}, err
	}
	deliveries, total, err := a.store.Deliveries(c.Context(), c.actor(), c.PathValue("pageSlug"), states, r)
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
