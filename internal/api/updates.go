package api

import (
	"net/http"

	"github.com/allswell/allswell"
	"github.com/allswell/allswell/internal/store"
	"github.com/allswell/allswell/internal/web"
)

// timelineEntryJSON is an update inside its incident, without incident_id.
type timelineEntryJSON struct {
	ID        string `json:"id"`
	Message   string `json:"message"`
	CreatedAt string `json:"created_at"`
}

func newTimelineEntryJSON(u allswell.IncidentUpdate) timelineEntryJSON {
	return timelineEntryJSON{ID: u.ID, Message: u.Message, CreatedAt: allswell.FormatTime(u.CreatedAt)}
}

type incidentUpdateJSON struct {
	ID         string `json:"id"`
	IncidentID string `json:"incident_id"`
	Message    string `json:"message"`
	CreatedAt  string `json:"created_at"`
}

func newIncidentUpdateJSON(u allswell.IncidentUpdate) incidentUpdateJSON {
	return incidentUpdateJSON{
		ID: u.ID, IncidentID: u.IncidentID, Message: u.Message,
		CreatedAt: allswell.FormatTime(u.CreatedAt),
	}
}

func (a *api) listUpdates(c *call) (store.Response, error) {
	return serveList(c, newIncidentUpdateJSON, func(r store.Pagination) ([]allswell.IncidentUpdate, int, error) {
		return a.store.Updates(c.Context(), c.actor(), c.PathValue("incidentId"), r)
	})
}

// postUpdate adds an update to the timeline of an incident, and changes the incident.
func (a *api) postUpdate(c *call) (store.Response, error) {
	o, err := c.object()
	if err != nil {
		return store.Response{}, err
	}
	n := allswell.NewIncidentUpdate{
		Message: orZero(o.Text("message")),
		State:   web.Enum(o, "state", allswell.IncidentStates),
		Impact:  web.Enum(o, "impact", allswell.Impacts),
	}
	if affected := readAffected(o); affected != nil {
		n.Affected = &affected
	}
	if err := o.Check(n.Change().Validate()); err != nil {
		return store.Response{}, err
	}
	r := newResponder(c, http.StatusCreated, newIncidentUpdateJSON)
	return r.respond(a.store.PostUpdate(c.Context(), c.actor(), c.PathValue("incidentId"), n, r.save...))
}
