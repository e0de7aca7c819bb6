package api

import (
	"net/http"

	"github.com/allswell/allswell"
	"github.com/allswell/allswell/internal/jsonobject"
	"github.com/allswell/allswell/internal/rights"
	"github.com/allswell/allswell/internal/store"
	"github.com/allswell/allswell/internal/web"
)

// templateRoutes are the routes of incident templates.
var templateRoutes = []route{
	{"GET", "/api/v1/incident-templates", rights.TemplateRead, (*api).listIncidentTemplates, operation{
		id:      "listIncidentTemplates",
		summary: "List the templates of incidents, the oldest first.",
		query: []parameter{
			{name: "page_slug", schema: anyText, text: "Only templates that can be used on this page."},
		},
		returns: list("IncidentTemplate"),
	}},
	{"POST", "/api/v1/incident-templates", rights.TemplateChange, (*api).createIncidentTemplate, operation{
		id:      "createIncidentTemplate",
		summary: "Create a template of incidents.",
		text: "`title` and `message` may contain the variables `{{component}}` (the names of the affected " +
			"components, or of the page), `{{date}}`, `{{page}}` and `{{time}}` (in the page's time zone). Others " +
			"are 422. A workspace can have 200 templates, each with a name of its own.",
		returns: created("IncidentTemplate", "The template."),
	}},
	{"GET", "/api/v1/incident-templates/{templateId}", rights.TemplateRead, (*api).getIncidentTemplate, operation{
		id:      "getIncidentTemplate",
		summary: "Get a template of incidents.",
		returns: one("IncidentTemplate", "The template."),
	}},
	{"PATCH", "/api/v1/incident-templates/{templateId}", rights.TemplateChange, (*api).changeIncidentTemplate, operation{
		id:      "changeIncidentTemplate",
		summary: "Change a template of incidents; absent fields keep their values.",
		returns: one("IncidentTemplate", "The template."),
	}},
	{"DELETE", "/api/v1/incident-templates/{templateId}", rights.TemplateChange, (*api).deleteIncidentTemplate, operation{
		id:      "deleteIncidentTemplate",
		summary: "Delete a template of incidents.",
	}},
}

type incidentTemplateJSON struct {
	ID        string  `json:"id"`
	Page      *string `json:"page"` // slug; nil: all pages
	Name      string  `json:"name"`
	Title     string  `json:"title"`
	Impact    *string `json:"impact"`
	State     *string `json:"state"`
	Message   *string `json:"message"`
	CreatedAt string  `json:"created_at"`
	UpdatedAt string  `json:"updated_at"`
}

func newIncidentTemplateJSON(t allswell.IncidentTemplate) incidentTemplateJSON {
	optional := func(text string) *string {
		if text == "" {
			return nil
		}
		return &text
	}
	return incidentTemplateJSON{
		ID: t.ID, Page: optional(t.Page), Name: t.Name, Title: t.Title, Impact: optional(string(t.Impact)), State: optional(string(t.State)),
		Message: optional(t.Message), CreatedAt: allswell.FormatTime(t.CreatedAt), UpdatedAt: allswell.FormatTime(t.UpdatedAt),
	}
}

// listIncidentTemplates lists the templates of the workspace, with ?page_slug those for one page.
func (a *api) listIncidentTemplates(c *call) (store.Response, error) {
	q := web.ParseQuery(c.URL.RawQuery)
	page := q.Text("page_slug")
	return servePage(q, newIncidentTemplateJSON, func(r store.Pagination) ([]allswell.IncidentTemplate, int, error) {
		return a.store.IncidentTemplates(c.Context(), c.actor(), page, r)
	})
}

// readIncidentTemplate reads the fields of a template.
func readIncidentTemplate(o *jsonobject.Object) allswell.IncidentTemplateChange {
	return allswell.IncidentTemplateChange{
		Page: o.Text("page"), Name: o.Text("name"), Title: o.Text("title"), Message: o.Text("message"),
		Impact: jsonobject.Enum(o, "impact", allswell.Impacts), State: jsonobject.Enum(o, "state", allswell.IncidentStates),
	}
}

func (a *api) createIncidentTemplate(c *call) (store.Response, error) {
	o, err := c.object()
	if err != nil {
		return store.Response{}, err
	}
	ch := readIncidentTemplate(o)
	var n allswell.IncidentTemplate
	n.Apply(ch, n.UpdatedAt)
	if err := o.Check(n.Validate()); err != nil {
		return store.Response{}, err
	}
	r := newResponder(c, http.StatusCreated, newIncidentTemplateJSON)
	return r.respond(a.store.CreateIncidentTemplate(c.Context(), c.actor(), ch, r.save...))
}

func (a *api) getIncidentTemplate(c *call) (store.Response, error) {
	t, err := a.store.IncidentTemplate(c.Context(), c.actor(), c.PathValue("templateId"))
	return taggedResponse(c, t, err, newIncidentTemplateJSON)
}

func (a *api) changeIncidentTemplate(c *call) (store.Response, error) {
	o, err := c.object()
	if err != nil {
		return store.Response{}, err
	}
	ch := readIncidentTemplate(o)
	given := allswell.IncidentTemplate{Name: "x", Title: "x"}
	given.Apply(ch, given.UpdatedAt)
	if err := o.Check(given.Validate()); err != nil {
		return store.Response{}, err
	}
	t, err := a.store.ChangeIncidentTemplate(c.Context(), c.actor(), c.PathValue("templateId"), ch, c.cond)
	return taggedResponse(c, t, err, newIncidentTemplateJSON)
}

func (a *api) deleteIncidentTemplate(c *call) (store.Response, error) {
	return noContent(a.store.DeleteIncidentTemplate(c.Context(), c.actor(), c.PathValue("templateId"), c.cond))
}
