package api

import (
	"github.com/allswell/allswell/internal/resource/rights"
	"github.com/allswell/allswell/internal/store"
	"github.com/allswell/allswell/internal/surface/web"
)

var imageRoutes = []route{
	{"PUT", "/api/v1/pages/{pageSlug}/logo", rights.PageChange, (*api).putImage, operation{
		id:      "setLogo",
		summary: "Set the logo of a page.",
		text: "The body is the image itself, at most 262,144 bytes. The format is detected from the bytes; the " +
			"Content-Type is ignored. An SVG must be well-formed XML in UTF-8 without a DOCTYPE.",
		returns: one("Page", "The page."),
	}},
	{"DELETE", "/api/v1/pages/{pageSlug}/logo", rights.PageChange, (*api).deleteImage, operation{
		id:      "deleteLogo",
		summary: "Remove the logo of a page, if it has one.",
	}},
	{"PUT", "/api/v1/pages/{pageSlug}/logo_dark", rights.PageChange, (*api).putImage, operation{
		id:      "setDarkLogo",
		summary: "Set the logo of a page for dark backgrounds.",
		text: "Pages and mails show it in dark mode, instead of `logo`. It needs a `logo`. The body is the image " +
			"itself, at most 262,144 bytes. The format is detected from the bytes; the Content-Type is ignored. An " +
			"SVG must be well-formed XML in UTF-8 without a DOCTYPE.",
		returns: one("Page", "The page."),
	}},
	{"DELETE", "/api/v1/pages/{pageSlug}/logo_dark", rights.PageChange, (*api).deleteImage, operation{
		id:      "deleteDarkLogo",
		summary: "Remove the dark logo of a page, if it has one.",
	}},
	{"PUT", "/api/v1/pages/{pageSlug}/icon", rights.PageChange, (*api).putImage, operation{
		id:      "setIcon",
		summary: "Set the icon of a page.",
		text: "The body is the image itself, at most 262,144 bytes. The format is detected from the bytes; the " +
			"Content-Type is ignored. An SVG must be well-formed XML in UTF-8 without a DOCTYPE. ICO is accepted " +
			"too.",
		returns: one("Page", "The page."),
	}},
	{"DELETE", "/api/v1/pages/{pageSlug}/icon", rights.PageChange, (*api).deleteImage, operation{
		id:      "deleteIcon",
		summary: "Remove the icon of a page, if it has one.",
	}},
}

// putImage sets an image of a page. The body is the image file.
func (a *api) putImage(c *call) (store.Response, error) {
	image, err := web.ReadImage(c.route.imageKind(), c.body)
	if err != nil {
		return store.Response{}, err
	}
	page, err := a.store.SetPageImage(c.Context(), c.actor(), c.PathValue("pageSlug"), image)
	return resourceResponse(page, err, pageActions.shown(a, c))
}

// deleteImage removes an image of a page, if there is one.
func (a *api) deleteImage(c *call) (store.Response, error) {
	_, err := a.store.DeletePageImage(c.Context(), c.actor(), c.PathValue("pageSlug"), c.route.imageKind())
	return noContent(err)
}
