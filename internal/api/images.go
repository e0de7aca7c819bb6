package api

import (
	"github.com/allswell/allswell"
	"github.com/allswell/allswell/internal/store"
	"github.com/allswell/allswell/internal/web"
)

// putImage sets an image of a page. The body is the image itself.
func (a *api) putImage(kind allswell.ImageKind) action {
	return func(c *call) (store.Response, error) {
		image, err := web.ReadImage(kind, c.body)
		if err != nil {
			return store.Response{}, err
		}
		page, err := a.store.SetPageImage(c.Context(), c.actor(), c.PathValue("pageSlug"), image)
		return resourceResponse(page, err, c.newPageJSON)
	}
}

// deleteImage removes an image of a page, if there is one.
func (a *api) deleteImage(kind allswell.ImageKind) action {
	return func(c *call) (store.Response, error) {
		_, err := a.store.DeletePageImage(c.Context(), c.actor(), c.PathValue("pageSlug"), kind)
		return noContent(err)
	}
}
