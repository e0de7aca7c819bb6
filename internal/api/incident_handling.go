package api

import (
	"net/http"

	"github.com/allswell/allswell/internal/store"
)

// takeOverIncident leaves an automatic incident to people. It reads no body.
func (a *api) takeOverIncident(c *call) (store.Response, error) { return a.setTakenOver(c, true) }

// giveBackIncident leaves an automatic incident to its monitor again. It reads no body.
func (a *api) giveBackIncident(c *call) (store.Response, error) { return a.setTakenOver(c, false) }

func (a *api) setTakenOver(c *call, taken bool) (store.Response, error) {
	r := newResponder(c, http.StatusOK, newIncidentWithUpdatesJSON)
	return r.respond(a.store.TakeOverIncident(c.Context(), c.actor(), c.PathValue("incidentId"), taken, r.save...))
}

// mergeIncident merges an incident into another one.
func (a *api) mergeIncident(c *call) (store.Response, error) {
	o, err := c.object()
	if err != nil {
		return store.Response{}, err
	}
	o.Require("incident_id")
	into := orZero(o.Text("incident_id"))
	if err := o.Check(nil); err != nil {
		return store.Response{}, err
	}
	incident, err := a.store.MergeIncident(c.Context(), c.actor(), c.PathValue("incidentId"), into)
	return resourceResponse(incident, err, newIncidentJSON)
}
