package api

import (
	"net/http"

	"github.com/allswell/allswell"
	"github.com/allswell/allswell/internal/store"
)

func (a *api) listUpdates(c *call) (store.Response, error) {
	return serveList(c, newIncidentUpdateJSON, func(r store.Pagination) ([]allswell.IncidentUpdate, int, error) {
		return a.store.Updates(c.Context(), c.actor(), c.PathValue("incidentId"), r)
	})
}

// postUpdate adds an update to the timeline of an incident.
func (a *api) postUpdate(c *call) (store.Response, error) {
	o, err := c.object()
	if err != nil {
		return store.Response{}, err
	}
	message := orZero(o.Text("message"))
	if err := o.Check(allswell.CheckMessage(message)); err != nil {
		return store.Response{}, err
	}
	r := newResponder(c, http.StatusCreated, newIncidentUpdateJSON)
	return r.respond(a.store.PostUpdate(c.Context(), c.actor(), c.PathValue("incidentId"), message, r.save...))
}
