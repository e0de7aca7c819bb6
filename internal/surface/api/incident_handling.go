package api

import (
	"net/http"

	"github.com/allswell/allswell/internal/resource/rights"
	"github.com/allswell/allswell/internal/shared/optional"
	"github.com/allswell/allswell/internal/store"
)

var incidentHandlingRoutes = []route{
	{"POST", "/api/v1/incidents/{incidentId}/take-over", rights.IncidentChange, (*api).takeOverIncident, operation{
		id:      "takeOverIncident",
		summary: "Take over an incident that a monitor opened.",
		text: "The recovery of the monitor then neither resolves it nor adds an update, and its components keep " +
			"their statuses until a person resolves it. If no monitor opened the incident, or if it is resolved, " +
			"this is 422. The body is ignored.",
		returns: one("IncidentWithUpdates", "The incident with its updates, oldest first."),
	}},
	{"POST", "/api/v1/incidents/{incidentId}/give-back", rights.IncidentChange, (*api).giveBackIncident, operation{
		id:      "giveBackIncident",
		summary: "Give an incident that was taken over back to its monitor.",
		text: "The recovery of the monitor resolves it. If no monitor opened the incident, if it is resolved, or if " +
			"the monitor has recovered already, this is 422. The body is ignored.",
		returns: one("IncidentWithUpdates", "The incident with its updates, oldest first."),
	}},
	{"PUT", "/api/v1/incidents/{incidentId}/merged-into", rights.IncidentChange, (*api).mergeIncident, operation{
		id:      "mergeIncident",
		summary: "Merge an incident into another one on its page.",
		text: "The incident is resolved, and its page links to the other one, which gets its components, each with " +
			"the worse status. No one is notified. Updates of the other incident then notify the subscribers of " +
			"these components, too.",
		returns: one("Incident", "The merged incident."),
	}},
}

// takeOverIncident marks an automatic incident as handled by people. It reads no body.
func (a *api) takeOverIncident(c *call) (store.Response, error) { return a.setTakenOver(c, true) }

// giveBackIncident returns an automatic incident to its monitor. It reads no body.
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
	into := optional.Value(o.Text("incident_id"))
	if err := o.Check(nil); err != nil {
		return store.Response{}, err
	}
	incident, err := a.store.MergeIncident(c.Context(), c.actor(), c.PathValue("incidentId"), into)
	return resourceResponse(incident, err, newIncidentJSON)
}
