package api

import (
	"net/http"

	"github.com/allswell/allswell"
	"github.com/allswell/allswell/internal/jsonobject"
	"github.com/allswell/allswell/internal/rights"
	"github.com/allswell/allswell/internal/store"
	"github.com/allswell/allswell/internal/web"
)

// componentRoutes are the routes of components.
var componentRoutes = []route{
	{"GET", "/api/v1/pages/{pageSlug}/components", rights.ComponentRead, (*api).listComponents, operation{
		id:      "listComponents",
		summary: "List the components of a page in their order.",
		query: []parameter{
			bySlug, byName,
			{name: "hidden", schema: yesOrNo, text: "Only hidden components, or only those that are shown."},
		},
		returns: list("Component"),
	}},
	{"POST", "/api/v1/pages/{pageSlug}/components", rights.ComponentChange, (*api).createComponent, operation{
		id:      "createComponent",
		summary: "Create a component.",
		text:    "A page can have 500 components. One more is 422 on `name`.",
		returns: created("Component", "The new component."),
	}},
	{"GET", "/api/v1/pages/{pageSlug}/components/{componentId}", rights.ComponentRead, (*api).getComponent, operation{
		id:      "getComponent",
		summary: "Get a component.",
		returns: one("Component", "The component."),
	}},
	{"PUT", "/api/v1/pages/{pageSlug}/components/{componentId}", rights.ComponentChange, (*api).putComponent, operation{
		id:      "putComponent",
		summary: "Create or replace a component by its slug.",
		text: "Creates the component with the slug in the path, or replaces what it is configured as: absent fields " +
			"get their defaults. A `status`, an `order` and a `group` are kept if absent; `null` or `\"\"` is no " +
			"group. `If-Match` with the `ETag` of an earlier response replaces only that version; `If-None-Match: " +
			"*` only creates.",
		returns: upserted("Component", "The replaced component.", "The new component."),
	}},
	{"PATCH", "/api/v1/pages/{pageSlug}/components/{componentId}", rights.ComponentChange, (*api).changeComponent, operation{
		id:      "changeComponentStatus",
		summary: "Set a component's status.",
		text: "The status is shown immediately, regardless of monitors, until it is set again or another monitor " +
			"goes down. Other fields than `status` and `description` are ignored here, and named in " +
			"`Allswell-Ignored`: `editComponent` changes them.",
		returns:  one("Component", "The component."),
		contract: true,
	}},
	{"DELETE", "/api/v1/pages/{pageSlug}/components/{componentId}", rights.ComponentChange, (*api).deleteComponent, operation{
		id:      "deleteComponent",
		summary: "Delete a component.",
	}},
	{"PATCH", "/api/v1/components/{componentId}", rights.ComponentChange, (*api).editComponent, operation{
		id:      "editComponent",
		summary: "Change a component's name, description, order or group, but not its status.",
		text:    "A `status` is 422 here; `changeComponentStatus` changes it.",
		query:   []parameter{pageOfSlug},
		returns: one("Component", "The component."),
	}},
}

type componentJSON struct {
	ID          string          `json:"id"`
	Name        string          `json:"name"`
	Description *string         `json:"description"`
	Status      allswell.Status `json:"status"`
	Order       int             `json:"order"`
	CreatedAt   string          `json:"created_at"`
	UpdatedAt   string          `json:"updated_at"`
}

func newComponentJSON(c allswell.Component) componentJSON {
	return componentJSON{
		ID: c.ID, Name: c.Name, Description: c.Description, Status: c.Status(), Order: c.Order,
		CreatedAt: allswell.FormatTime(c.CreatedAt), UpdatedAt: allswell.FormatTime(c.UpdatedAt),
	}
}

// listComponents filters by ?slug, ?name and ?hidden.
func (a *api) listComponents(c *call) (store.Response, error) {
	q := web.ParseQuery(c.URL.RawQuery)
	f := store.ComponentFilter{Filter: readFilter(q), Hidden: q.Flag("hidden")}
	return servePage(q, newComponentJSON, func(r store.Pagination) ([]allswell.Component, int, error) {
		return a.store.Components(c.Context(), c.actor(), c.PathValue("pageSlug"), f, r)
	})
}

func (a *api) createComponent(c *call) (store.Response, error) {
	o, err := c.object()
	if err != nil {
		return store.Response{}, err
	}
	n, err := readNewComponent(o, orZero(o.Text("slug")))
	n.UniqueName = orZero(o.Flag("unique_name"))
	if err = o.Check(err); err != nil {
		return store.Response{}, err
	}
	r := newResponder(c, http.StatusCreated, newComponentJSON)
	return r.respond(a.store.CreateComponent(c.Context(), c.actor(), c.PathValue("pageSlug"), n, r.save...))
}

// readNewComponent reads the fields of a component, and returns what is invalid.
func readNewComponent(o *jsonobject.Object, slug string) (allswell.NewComponent, error) {
	group := nullableText(o, "group")
	n := allswell.NewComponent{
		Slug:        slug,
		Name:        orZero(o.Text("name")),
		Description: o.Text("description"),
		Status:      orZero(jsonobject.Enum(o, "status", allswell.Statuses)),
		Order:       o.Integer("order"),
		GroupID:     orZero(group),
		KeepGroup:   group == nil,
		Hidden:      o.Flag("hidden"),
	}
	return n, n.Validate()
}

func (a *api) getComponent(c *call) (store.Response, error) {
	component, err := a.store.Component(c.Context(), c.actor(), c.PathValue("pageSlug"), c.PathValue("componentId"))
	return taggedResponse(c, component, err, newComponentJSON)
}

// changeComponent sets the manual status of a component.
func (a *api) changeComponent(c *call) (store.Response, error) {
	o, err := c.object()
	if err != nil {
		return store.Response{}, err
	}
	o.Require("status")
	ch := allswell.ComponentChange{Status: orZero(jsonobject.Enum(o, "status", allswell.Statuses))}
	ch.Description, ch.HasDescription = o.NullableText("description")
	if err := o.Check(ch.Validate()); err != nil {
		return store.Response{}, err
	}
	component, err := a.store.ChangeComponent(c.Context(), c.actor(), c.PathValue("pageSlug"), c.PathValue("componentId"), ch, c.cond)
	return taggedResponse(c, component, err, newComponentJSON)
}

// editComponent changes the fields of a component except its status.
func (a *api) editComponent(c *call) (store.Response, error) {
	o, err := c.object()
	if err != nil {
		return store.Response{}, err
	}
	o.Reject("status", "is set by PATCH /api/v1/pages/{pageSlug}/components/{componentId}")
	e := allswell.ComponentEdit{
		Name: o.Text("name"), Order: o.Integer("order"), GroupID: o.Text("group"), Hidden: o.Flag("hidden"),
	}
	e.Description, e.HasDescription = o.NullableText("description")
	if err := o.Check(e.Validate()); err != nil {
		return store.Response{}, err
	}
	page, err := readPageSlug(c)
	if err != nil {
		return store.Response{}, err
	}
	component, err := a.store.EditComponent(c.Context(), c.actor(), page, c.PathValue("componentId"), e, c.cond)
	return taggedResponse(c, component, err, newComponentJSON)
}

func (a *api) deleteComponent(c *call) (store.Response, error) {
	return noContent(a.store.DeleteComponent(c.Context(), c.actor(), c.PathValue("pageSlug"), c.PathValue("componentId"), c.cond))
}
