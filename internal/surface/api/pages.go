package api

import (
	"net/http"

	"github.com/allswell/allswell/internal/domain/statuspage"
	"github.com/allswell/allswell/internal/resource"
	"github.com/allswell/allswell/internal/resource/field"
	"github.com/allswell/allswell/internal/resource/rights"
	"github.com/allswell/allswell/internal/store"
)

var pageRoutes = []route{
	{"GET", "/api/v1/pages", rights.PageRead, (*api).listPages, operation{
		id:      "listPages",
		summary: "List the status pages in the order of their creation.",
		text:    "A token that is limited to some pages gets only these.",
		query:   bySlugOrName,
		returns: list("Page"),
	}},
	{"POST", "/api/v1/pages", rights.PageCreate, (*api).createPage, operation{
		id:      "createPage",
		summary: "Create a status page.",
		returns: created("Page", "The new page."),
	}},
	{"GET", "/api/v1/pages/{pageSlug}", rights.PageRead, (*api).getPage, operation{
		id:      "getPage",
		summary: "Get a status page, with its status computed from its components.",
		returns: one("Page", "The page."),
	}},
	{"PUT", "/api/v1/pages/{pageSlug}", rights.PageChange, (*api).putPage, operation{
		id:      "putPage",
		summary: "Create or replace a page by its slug.",
		text:    pageActions.replacementText(),
		returns: upserted("Page", "The replaced page.", "The new page."),
	}},
	{"PATCH", "/api/v1/pages/{pageSlug}", rights.PageChange, (*api).changePage, operation{
		id:      "changePage",
		summary: "Change a page; absent fields keep their values.",
		returns: one("Page", "The page."),
	}},
	{"DELETE", "/api/v1/pages/{pageSlug}", rights.PageDelete, (*api).deletePage, operation{
		id:      "deletePage",
		summary: "Delete a page and everything on it.",
		text: "Its monitors are deleted, too. After a 503 with 1,000 subscribers or more, some of them may be " +
			"deleted: repeat the request.",
	}},
}

// pageActions presents pages. The other actions on pages do not belong to a collection.
var pageActions = resourceActions[statuspage.Page]{
	Resource: resource.Page, putText: "The images are kept.", complete: func(_ *api, c *call, p *statuspage.Page) {
		p.SetURLs(c.base)
	},
}

func (a *api) listPages(c *call) (store.Response, error) {
	return serveNamedList(c, pageActions.shown(a, c),
		func(f store.Filter, r store.Pagination) ([]statuspage.Page, int, error) {
			return a.store.Pages(c.Context(), c.actor(), f, r)
		})
}

func (a *api) createPage(c *call) (store.Response, error) {
	o, err := c.object()
	if err != nil {
		return store.Response{}, err
	}
	r := newResponder(c, http.StatusCreated, pageActions.shown(a, c))
	return r.respond(a.store.CreatePage(c.Context(), c.actor(), resource.Page.Read(o, field.Creation), r.save...))
}

func (a *api) getPage(c *call) (store.Response, error) {
	page, err := a.store.Page(c.Context(), c.actor(), c.PathValue("pageSlug"))
	return pageActions.tagged(a, c, page, err)
}

func (a *api) putPage(c *call) (store.Response, error) {
	o, err := c.object()
	if err != nil {
		return store.Response{}, err
	}
	slug := c.PathValue("pageSlug")
	checkSlug(o, slug)
	o.AllowReadOnly(resource.Page.ReadOnly()...)
	o.Flag("unique_name") // the slug identifies the page, not the name
	page, created, err := a.store.PutPage(c.Context(), c.actor(), slug, resource.Page.Read(o, field.Replacement),
		c.cond)
	return pageActions.upserted(a, c, page, created, err)
}

func (a *api) changePage(c *call) (store.Response, error) {
	o, err := c.object()
	if err != nil {
		return store.Response{}, err
	}
	page, err := a.store.ChangePage(c.Context(), c.actor(), c.PathValue("pageSlug"),
		resource.Page.Read(o, field.Changing), c.cond)
	return pageActions.tagged(a, c, page, err)
}

func (a *api) deletePage(c *call) (store.Response, error) {
	return noContent(a.store.DeletePage(c.Context(), c.actor(), c.PathValue("pageSlug"), c.cond))
}
