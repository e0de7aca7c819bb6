package api

import (
	"context"
	"net/http"

	"github.com/allswell/allswell"
	"github.com/allswell/allswell/internal/store"
)

func (a *api) listPages(c *call) (store.Answer, error) {
	return list(c, presentPage, func(r store.Range) ([]allswell.Page, int, error) {
		return a.store.Pages(c.Context(), c.workspace(), r)
	})
}

func (a *api) createPage(c *call) (store.Answer, error) {
	o, err := c.object()
	if err != nil {
		return store.Answer{}, err
	}
	n := allswell.NewPage{
		Name:        orZero(o.Text("name")),
		Slug:        orZero(o.Text("slug")),
		Description: o.Text("description"),
	}
	if err := o.Check(n.Validate()); err != nil {
		return store.Answer{}, err
	}
	return act(c, http.StatusCreated, presentPage, func(ctx context.Context) (allswell.Page, error) {
		return a.store.CreatePage(ctx, c.workspace(), n)
	})
}

func (a *api) getPage(c *call) (store.Answer, error) {
	page, err := a.store.Page(c.Context(), c.workspace(), c.PathValue("pageSlug"))
	return show(page, err, presentPage)
}

func (a *api) changePage(c *call) (store.Answer, error) {
	o, err := c.object()
	if err != nil {
		return store.Answer{}, err
	}
	ch := allswell.PageChange{Name: o.Text("name"), Slug: o.Text("slug")}
	ch.Description, ch.HasDescription = o.NullableText("description")
	if err := o.Check(ch.Validate()); err != nil {
		return store.Answer{}, err
	}
	page, err := a.store.ChangePage(c.Context(), c.workspace(), c.PathValue("pageSlug"), ch)
	return show(page, err, presentPage)
}

func (a *api) deletePage(c *call) (store.Answer, error) {
	return gone(a.store.DeletePage(c.Context(), c.workspace(), c.PathValue("pageSlug")))
}
