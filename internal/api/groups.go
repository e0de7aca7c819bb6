package api

import (
	"net/http"

	"github.com/allswell/allswell"
	"github.com/allswell/allswell/internal/rights"
	"github.com/allswell/allswell/internal/store"
)

// groupRoutes are the routes of groups.
var groupRoutes = []route{
	{"GET", "/api/v1/pages/{pageSlug}/groups", rights.GroupRead, (*api).listGroups, operation{
		id:      "listGroups",
		summary: "List the groups of a page.",
		query:   bySlugOrName,
		returns: list("Group"),
	}},
	{"POST", "/api/v1/pages/{pageSlug}/groups", rights.GroupChange, (*api).createGroup, operation{
		id:      "createGroup",
		summary: "Create a group of components.",
		text:    "A page can have 100 groups. One more is 422 on `name`.",
		returns: created("Group", "The new group."),
	}},
	{"PATCH", "/api/v1/groups/{groupId}", rights.GroupChange, (*api).changeGroup, operation{
		id:      "changeGroup",
		summary: "Change a group; absent fields keep their values.",
		query:   []parameter{pageOfSlug},
		returns: one("Group", "The group."),
	}},
	{"DELETE", "/api/v1/groups/{groupId}", rights.GroupChange, (*api).deleteGroup, operation{
		id:      "deleteGroup",
		summary: "Delete a group.",
		text:    "Its components stay, without a group.",
		query:   []parameter{pageOfSlug},
	}},
}

type groupJSON struct {
	ID        string `json:"id"`
	Slug      string `json:"slug"`
	Name      string `json:"name"`
	Order     int    `json:"order"`
	CreatedAt string `json:"created_at"`
	UpdatedAt string `json:"updated_at"`
}

func newGroupJSON(g allswell.Group) groupJSON {
	return groupJSON{
		ID: g.ID, Slug: g.Slug, Name: g.Name, Order: g.Order,
		CreatedAt: allswell.FormatTime(g.CreatedAt), UpdatedAt: allswell.FormatTime(g.UpdatedAt),
	}
}

func (a *api) listGroups(c *call) (store.Response, error) {
	return serveNamedList(c, newGroupJSON, func(f store.Filter, r store.Pagination) ([]allswell.Group, int, error) {
		return a.store.Groups(c.Context(), c.actor(), c.PathValue("pageSlug"), f, r)
	})
}

func (a *api) createGroup(c *call) (store.Response, error) {
	o, err := c.object()
	if err != nil {
		return store.Response{}, err
	}
	n := allswell.NewGroup{
		Slug: orZero(o.Text("slug")), Name: orZero(o.Text("name")), Order: o.Integer("order"), UniqueName: orZero(o.Flag("unique_name")),
	}
	if err := o.Check(n.Validate()); err != nil {
		return store.Response{}, err
	}
	r := newResponder(c, http.StatusCreated, newGroupJSON)
	return r.respond(a.store.CreateGroup(c.Context(), c.actor(), c.PathValue("pageSlug"), n, r.save...))
}

func (a *api) changeGroup(c *call) (store.Response, error) {
	o, err := c.object()
	if err != nil {
		return store.Response{}, err
	}
	ch := allswell.GroupChange{Name: o.Text("name"), Order: o.Integer("order")}
	if err := o.Check(ch.Validate()); err != nil {
		return store.Response{}, err
	}
	page, err := readPageSlug(c)
	if err != nil {
		return store.Response{}, err
	}
	group, err := a.store.ChangeGroup(c.Context(), c.actor(), page, c.PathValue("groupId"), ch)
	return resourceResponse(group, err, newGroupJSON)
}

func (a *api) deleteGroup(c *call) (store.Response, error) {
	page, err := readPageSlug(c)
	if err != nil {
		return store.Response{}, err
	}
	return noContent(a.store.DeleteGroup(c.Context(), c.actor(), page, c.PathValue("groupId")))
}
