package api

import (
	"net/http"

	"github.com/allswell/allswell"
	"github.com/allswell/allswell/internal/store"
)

func (a *api) listUpdates(c *call) (store.StoredResponse, error) {
	return list(c, presentUpdate, func(r store.Pagination) ([]allswell.IncidentUpdate, int, error) {
		return a.store.Updates(c.Context(), c.actor(), c.PathValue("incidentId"), r)
	})
}

// postUpdate is contract section 4.3.
func (a *api) postUpdate(c *call) (store.StoredResponse, error) {
	o, err := c.object()
	if err != nil {
		return store.StoredResponse{}, err
	}
	message := orZero(o.Text("message"))
	if err := o.Check(allswell.CheckMessage(message)); err != nil {
		return store.StoredResponse{}, err
	}
	r := newResponder(c, http.StatusCreated, presentUpdate)
	return r.respond(a.store.PostUpdate(c.Context(), c.actor(), c.PathValue("incidentId"), message, r.save...))
}
