package api

import (
	"net/http"

	"github.com/allswell/allswell/internal/domain/kernel"
	"github.com/allswell/allswell/internal/domain/statuspage"
	"github.com/allswell/allswell/internal/resource/rights"
	"github.com/allswell/allswell/internal/shared/jsonobject"
	"github.com/allswell/allswell/internal/shared/optional"
	"github.com/allswell/allswell/internal/store"
)

var updateRoutes = []route{
	{"GET", "/api/v1/incidents/{incidentId}/updates", rights.IncidentRead, (*api).listUpdates, operation{
		id:      "listUpdates",
		summary: "List the updates of an incident, oldest first.",
		returns: list("SavedUpdate"),
	}},
	{"POST", "/api/v1/incidents/{incidentId}/updates", rights.IncidentChange, (*api).postUpdate, operation{
		id:      "postUpdate",
		summary: "Add an update to the timeline and notify subscribers.",
		text: "An incident can have 1,000 updates. One more is 422 on `message`. The other fields change the " +
			"incident first, as `changeIncident` and `setAffectedComponents` do, and subscribers are notified once " +
			"of all.",
		returns:  created("Update", "The new update."),
		contract: true,
	}},
	{"GET", "/api/v1/incidents/{incidentId}/updates/{updateId}", rights.IncidentRead, (*api).getUpdate, operation{
		id:      "getUpdate",
		summary: "Get an update of an incident.",
		returns: one("SavedUpdate", "The update."),
	}},
	{"PATCH", "/api/v1/incidents/{incidentId}/updates/{updateId}", rights.IncidentChange, (*api).editUpdate, operation{
		id:      "editUpdate",
		summary: "Replace the text of an update.",
		text: "No one is notified. The page, its feeds and documents say when the text was edited. Messages that " +
			"are not sent yet get the new text.",
		returns: one("SavedUpdate", "The update."),
	}},
	{"DELETE", "/api/v1/incidents/{incidentId}/updates/{updateId}", rights.IncidentChange, (*api).deleteUpdate,
		operation{
			id:      "deleteUpdate",
			summary: "Delete an update.",
			text: "No one is notified. The text stays in the audit log alone. Messages that are not sent yet are " +
				"sent " +
				"without it. An incident without updates says on the page what its state means.",
		}},
}

// timelineEntryJSON is an update inside its incident, without incident_id.
type timelineEntryJSON struct {
	ID        string `json:"id"`
	Message   string `json:"message"`
	CreatedAt string `json:"created_at"`
}

func newTimelineEntryJSON(u statuspage.IncidentUpdate) timelineEntryJSON {
	return timelineEntryJSON{ID: u.ID, Message: u.Message, CreatedAt: kernel.FormatTime(u.CreatedAt)}
}

type incidentUpdateJSON struct {
	ID         string `json:"id"`
	IncidentID string `json:"incident_id"`
	Message    string `json:"message"`
	CreatedAt  string `json:"created_at"`
}

func newIncidentUpdateJSON(u statuspage.IncidentUpdate) incidentUpdateJSON {
	return incidentUpdateJSON{
		ID: u.ID, IncidentID: u.IncidentID, Message: u.Message,
		CreatedAt: kernel.FormatTime(u.CreatedAt),
	}
}

// savedUpdateJSON is an update in responses outside the contract, with its changes since it was posted.
type savedUpdateJSON struct {
	incidentUpdateJSON
	EditedAt *string `json:"edited_at"`
	Notified bool    `json:"notified"`
}

func newSavedUpdateJSON(u statuspage.IncidentUpdate) savedUpdateJSON {
	return savedUpdateJSON{newIncidentUpdateJSON(u), timePtr(u.EditedAt), !u.Silent}
}

func (a *api) getUpdate(c *call) (store.Response, error) {
	u, err := a.store.Update(c.Context(), c.actor(), c.PathValue("incidentId"), c.PathValue("updateId"))
	return taggedResponse(c, u, err, newSavedUpdateJSON)
}

// editUpdate replaces the text of an update.
func (a *api) editUpdate(c *call) (store.Response, error) {
	o, err := c.object()
	if err != nil {
		return store.Response{}, err
	}
	o.Require("message")
	message := optional.Value(o.Text("message"))
	if err := o.Check(statuspage.CheckMessage(message)); err != nil {
		return store.Response{}, err
	}
	u, err := a.store.EditUpdate(c.Context(), c.actor(), c.PathValue("incidentId"), c.PathValue("updateId"), message,
		c.cond)
	return taggedResponse(c, u, err, newSavedUpdateJSON)
}

func (a *api) deleteUpdate(c *call) (store.Response, error) {
	return noContent(a.store.DeleteUpdate(c.Context(), c.actor(), c.PathValue("incidentId"), c.PathValue("updateId"),
		c.cond))
}

func (a *api) listUpdates(c *call) (store.Response, error) {
	return serveList(c, newSavedUpdateJSON, func(r store.Pagination) ([]statuspage.IncidentUpdate, int, error) {
		return a.store.Updates(c.Context(), c.actor(), c.PathValue("incidentId"), r)
	})
}

// postUpdate adds an update to the timeline of an incident, and changes the incident.
func (a *api) postUpdate(c *call) (store.Response, error) {
	o, err := c.object()
	if err != nil {
		return store.Response{}, err
	}
	u := statuspage.IncidentUpdate{
		Message: optional.Value(o.Text("message")), CreatedAt: optional.Value(o.Instant("at")),
	}
	u.Silent = readSilentPast(o, !u.CreatedAt.IsZero())
	state, impact, affected := jsonobject.Enum(o, "state", statuspage.IncidentStates),
		jsonobject.Enum(o, "impact", kernel.Impacts), readAffected(o)
	change := changeOf(o, func(i *statuspage.Incident) {
		set(&i.State, state)
		setImpact(i, impact)
		setAffected(i, affected)
	})
	r := newResponder(c, http.StatusCreated, newIncidentUpdateJSON)
	return r.respond(a.store.PostUpdate(c.Context(), c.actor(), c.PathValue("incidentId"), u, change, r.save...))
}
