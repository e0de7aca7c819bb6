package api

import (
	"github.com/allswell/allswell/internal/domain/kernel"
	"github.com/allswell/allswell/internal/domain/statuspage"
	"github.com/allswell/allswell/internal/resource/rights"
	"github.com/allswell/allswell/internal/shared/optional"
	"github.com/allswell/allswell/internal/store"
)

var postmortemRoutes = []route{
	{"GET", "/api/v1/incidents/{incidentId}/postmortem", rights.IncidentRead, (*api).getPostmortem, operation{
		id:      "getPostmortem",
		summary: "Get the post-mortem of an incident.",
		returns: one("Postmortem", "The post-mortem."),
	}},
	{"PUT", "/api/v1/incidents/{incidentId}/postmortem", rights.IncidentChange, (*api).putPostmortem, operation{
		id:      "putPostmortem",
		summary: "Write the post-mortem of an incident, and publish it or not.",
		text: "It can be published once the incident is resolved. Visitors see it while it is published and the " +
			"incident is resolved. Subscribers are notified of the first publication for an incident, and of " +
			"nothing later.",
		returns: upserted("Postmortem", "The post-mortem.", "The new post-mortem."),
	}},
	{"DELETE", "/api/v1/incidents/{incidentId}/postmortem", rights.IncidentChange, (*api).deletePostmortem, operation{
		id:      "deletePostmortem",
		summary: "Delete the post-mortem of an incident.",
		text:    "No one is notified. The text stays in the audit log alone.",
	}},
}

type postmortemJSON struct {
	IncidentID  string  `json:"incident_id"`
	Body        string  `json:"body"`
	Published   bool    `json:"published"`
	PublishedAt *string `json:"published_at"`
	EditedAt    *string `json:"edited_at"`
	Notified    bool    `json:"notified"`
	CreatedAt   string  `json:"created_at"`
	UpdatedAt   string  `json:"updated_at"`
}

func newPostmortemJSON(p statuspage.Postmortem) postmortemJSON {
	return postmortemJSON{
		IncidentID: p.IncidentID, Body: p.Body, Published: p.Published, PublishedAt: timePtr(p.PublishedAt),
		EditedAt: timePtr(p.EditedAt), Notified: p.Notified, CreatedAt: kernel.FormatTime(p.CreatedAt),
		UpdatedAt: kernel.FormatTime(p.UpdatedAt),
	}
}

func (a *api) getPostmortem(c *call) (store.Response, error) {
	p, err := a.store.Postmortem(c.Context(), c.actor(), c.PathValue("incidentId"))
	return taggedResponse(c, p, err, newPostmortemJSON)
}

// putPostmortem saves the post-mortem of an incident, and publishes or unpublishes it if the body has that field.
func (a *api) putPostmortem(c *call) (store.Response, error) {
	o, err := c.object()
	if err != nil {
		return store.Response{}, err
	}
	allowReadOnly[postmortemJSON](o)
	o.Require("body")
	body, published, silent := optional.Value(o.Text("body")), o.Flag("published"), readSilent(o)
	unread := o.Check(nil)
	p, created, err := a.store.PutPostmortem(c.Context(), c.actor(), c.PathValue("incidentId"),
		func(p *statuspage.Postmortem) error {
			p.Body = body
			set(&p.Published, published)
			return unread
		}, silent, c.cond)
	return putResponse(c, p, created, err, newPostmortemJSON)
}

func (a *api) deletePostmortem(c *call) (store.Response, error) {
	return noContent(a.store.DeletePostmortem(c.Context(), c.actor(), c.PathValue("incidentId"), c.cond))
}
