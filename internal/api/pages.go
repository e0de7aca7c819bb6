package api

import (
	"net/http"
	"slices"
	"strings"

	"github.com/allswell/allswell"
	"github.com/allswell/allswell/internal/store"
	"github.com/allswell/allswell/internal/web"
)

func (a *api) listPages(c *call) (store.StoredResponse, error) {
	return list(c, c.presentPage, func(r store.Pagination) ([]allswell.Page, int, error) {
		return a.store.Pages(c.Context(), c.actor(), r)
	})
}

func (a *api) createPage(c *call) (store.StoredResponse, error) {
	o, err := c.object()
	if err != nil {
		return store.StoredResponse{}, err
	}
	n := allswell.NewPage{
		Name:         orZero(o.Text("name")),
		Slug:         orZero(o.Text("slug")),
		Description:  o.Text("description"),
		PageSettings: readLook(o),
	}
	o.Check(n.Validate()) // the next one returns this, too
	if err := o.Check(a.suits(n.PageSettings)); err != nil {
		return store.StoredResponse{}, err
	}
	r := newResponder(c, http.StatusCreated, c.presentPage)
	return r.respond(a.store.CreatePage(c.Context(), c.actor(), n, r.save...))
}

// readLook reads how a page looks. Null clears what a page need not have.
func readLook(o *web.Object) allswell.PageSettings {
	look := allswell.PageSettings{
		TimeZone: o.Text("time_zone"),
		Language: clearable(o, "language"),
		Domain:   clearable(o, "domain"),
		Accent:   clearable(o, "accent"),
	}
	if o.Null("footer_links") {
		look.Footer = new([]allswell.FooterLink)
	}
	if links := o.Objects("footer_links", allswell.MaxFooterLinks); links != nil {
		footer := make([]allswell.FooterLink, len(links))
		for i, l := range links {
			l.Require("label", "url")
			footer[i] = allswell.FooterLink{Label: orZero(l.Text("label")), URL: orZero(l.Text("url"))}
		}
		look.Footer = &footer
	}
	return look
}

// suits refuses what is well-formed but means nothing in this installation: a
// language that it does not speak, and as a page's own domain a name of the
// installation itself.
func (a *api) suits(look allswell.PageSettings) error {
	var bad allswell.ValidationError
	if look.Language != nil && *look.Language != "" && len(a.languages) > 0 {
		primary, _, _ := strings.Cut(*look.Language, "-") // of "de-AT"
		if !slices.Contains(a.languages, strings.ToLower(primary)) {
			bad.Add("language", "The language must be one that pages can be in: %s.", strings.Join(a.languages, ", "))
		}
	}
	if look.Domain != nil {
		a.store.Hosts().CheckDomain(&bad, *look.Domain)
	}
	return bad.Err()
}

// clearable reads a text that null makes empty.
func clearable(o *web.Object, field string) *string {
	if o.Null(field) {
		return new(string)
	}
	return o.Text(field)
}

func (a *api) getPage(c *call) (store.StoredResponse, error) {
	page, err := a.store.Page(c.Context(), c.actor(), c.PathValue("pageSlug"))
	return show(page, err, c.presentPage)
}

func (a *api) changePage(c *call) (store.StoredResponse, error) {
	o, err := c.object()
	if err != nil {
		return store.StoredResponse{}, err
	}
	ch := allswell.PageChange{Name: o.Text("name"), Slug: o.Text("slug"), PageSettings: readLook(o)}
	ch.Description, ch.HasDescription = o.NullableText("description")
	o.Check(ch.Validate()) // the next one returns this, too
	if err := o.Check(a.suits(ch.PageSettings)); err != nil {
		return store.StoredResponse{}, err
	}
	page, err := a.store.ChangePage(c.Context(), c.actor(), c.PathValue("pageSlug"), ch)
	return show(page, err, c.presentPage)
}

func (a *api) deletePage(c *call) (store.StoredResponse, error) {
	return gone(a.store.DeletePage(c.Context(), c.actor(), c.PathValue("pageSlug")))
}
