package api

import (
	"github.com/allswell/allswell/internal/domain/kernel"
	"github.com/allswell/allswell/internal/domain/statuspage"
	"github.com/allswell/allswell/internal/resource"
	"github.com/allswell/allswell/internal/resource/field"
	"github.com/allswell/allswell/internal/resource/rights"
	"github.com/allswell/allswell/internal/shared/jsonobject"
	"github.com/allswell/allswell/internal/shared/optional"
	"github.com/allswell/allswell/internal/store"
	"github.com/allswell/allswell/internal/surface/web"
)

var componentActions = resourceActions[statuspage.Component]{
	Resource: resource.Component, objects: (*store.Store).Components, id: "componentId",
}

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
	{"POST", "/api/v1/pages/{pageSlug}/components", rights.ComponentChange, componentActions.create, operation{
		id:      "createComponent",
		summary: "Create a component.",
		text:    "A page can have 500 components. One more is 422 on `name`.",
		returns: created("Component", "The new component."),
	}},
	{"GET", "/api/v1/pages/{pageSlug}/components/{componentId}", rights.ComponentRead, componentActions.get, operation{
		id:      "getComponent",
		summary: "Get a component.",
		returns: one("Component", "The component."),
	}},
	{"PUT", "/api/v1/pages/{pageSlug}/components/{componentId}", rights.ComponentChange, componentActions.put,
		operation{
			id:      "putComponent",
			summary: "Create or replace a component by its slug.",
			text: "Creates the component with the slug in the path, or replaces what it is configured as: absent " +
				"fields " +
				"get their defaults. A `status`, an `order`, a `group` and `hidden` are kept if absent; `null` or " +
				"`\"\"` is no " +
				"group. A `status` that is not the one shown is set by hand. Given by its id, it is only replaced, " +
				"and `slug` can change. `If-Match` with the `ETag` of an earlier response replaces only that " +
				"version; `If-None-Match: " +
				"*` only creates.",
			returns: upserted("Component", "The replaced component.", "The new component."),
		}},
	{"PATCH", "/api/v1/pages/{pageSlug}/components/{componentId}", rights.ComponentChange, (*api).setComponentStatus,
		operation{
			id:      "changeComponentStatus",
			summary: "Set a component's status.",
			text: "The status is shown immediately, regardless of monitors, until it is set again or another monitor " +
				"goes down. Other fields than `status` and `description` are ignored here, and named in " +
				"`Allswell-Ignored`: `editComponent` changes them.",
			returns:  one("Component", "The component."),
			contract: true,
		}},
	{"DELETE", "/api/v1/pages/{pageSlug}/components/{componentId}", rights.ComponentChange, componentActions.delete,
		operation{
			id:      "deleteComponent",
			summary: "Delete a component.",
		}},
	{"PATCH", "/api/v1/components/{componentId}", rights.ComponentChange, (*api).editComponent, operation{
		id:      "editComponent",
		summary: "Change a component, but not its status.",
		text:    "A `status` is 422 here; `changeComponentStatus` changes it.",
		query:   []parameter{pageOfSlug},
		returns: one("Component", "The component."),
	}},
}

// listComponents filters by ?slug, ?name and ?hidden.
func (a *api) listComponents(c *call) (store.Response, error) {
	q := web.ParseQuery(c.URL.RawQuery)
	f := readFilter(q)
	f.Hidden = q.Flag("hidden")
	return servePage(q, resource.Component.JSON, func(p store.Pagination) ([]statuspage.Component, int, error) {
		return a.store.Components().List(c.Context(), c.actor(), c.PathValue("pageSlug"), f, p)
	})
}

// setComponentStatus sets the status of a component by hand, and its description.
func (a *api) setComponentStatus(c *call) (store.Response, error) {
	o, err := c.object()
	if err != nil {
		return store.Response{}, err
	}
	o.Require("status")
	status := optional.Value(jsonobject.Enum(o, "status", kernel.Statuses))
	description, given := o.NullableText("description")
	invalid := o.Check(nil)
	component, err := a.store.Components().Change(c.Context(), c.actor(), c.PathValue("pageSlug"),
		c.PathValue("componentId"),
		func(v *statuspage.Component) error {
			v.SetStatus(status)
			if given {
				v.Description = description
			}
			return invalid
		}, c.cond)
	return componentActions.tagged(a, c, component, err)
}

// editComponent changes the fields of a component except its status.
func (a *api) editComponent(c *call) (store.Response, error) {
	o, err := c.object()
	if err != nil {
		return store.Response{}, err
	}
	o.Reject("status", "is set by PATCH /api/v1/pages/{pageSlug}/components/{componentId}")
	page, err := readPageSlug(c)
	if err != nil {
		return store.Response{}, err
	}
	component, err := a.store.Components().Change(c.Context(), c.actor(), page, c.PathValue("componentId"),
		resource.Component.Read(o, field.Changing), c.cond)
	return componentActions.tagged(a, c, component, err)
}
