package api

import (
	"net/http"

	"github.com/allswell/allswell"
	"github.com/allswell/allswell/internal/store"
	"github.com/allswell/allswell/internal/web"
)

// listDeliveries takes ?state=, one or several, beside the range.
func (a *api) listDeliveries(c *call) (store.StoredResponse, error) {
	q := web.ParseQuery(c.URL.RawQuery)
	r, states := readRange(q), web.Choices(q, "state", allswell.DeliveryStates)
	if err := q.Check(); err != nil {
		return store.StoredResponse{}, err
	}
	deliveries, total, err := a.store.Deliveries(c.Context(), c.actor(), c.PathValue("pageSlug"), states, r)
	if err != nil {
		return store.StoredResponse{}, err
	}
	return many(deliveries, total, r, presentDelivery)
}

// retryDelivery has a delivery tried again at once. It needs no body.
func (a *api) retryDelivery(c *call) (store.StoredResponse, error) {
	r := newResponder(c, http.StatusOK, presentDelivery)
	return r.respond(a.store.RetryDelivery(c.Context(), c.actor(), c.PathValue("deliveryId"), r.save...))
}
