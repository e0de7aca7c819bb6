package api

import (
	"net/http"
	"slices"
	"strings"

	"github.com/allswell/allswell"
	"github.com/allswell/allswell/internal/store"
	"github.com/allswell/allswell/internal/web"
)

func (a *api) listPages(c *call) (store.Response, error) {
	return serveNamedList(c, c.newPageJSON, func(f store.Filter, r store.Pagination) ([]allswell.Page, int, error) {
		return a.store.Pages(c.Context(), c.actor(), f, r)
	})
}

func (a *api) createPage(c *call) (store.Response, error) {
	o, err := c.object()
	if err != nil {
		return store.Response{}, err
	}
	n, err := a.readNewPage(o, orZero(o.Text("slug")))
	if err = o.Check(err); err != nil {
		return store.Response{}, err
	}
	r := newResponder(c, http.StatusCreated, c.newPageJSON)
	return r.respond(a.store.CreatePage(c.Context(), c.actor(), n, r.save...))
}

// readNewPage reads the fields of a page, and returns what is invalid.
func (a *api) readNewPage(o *web.Object, slug string) (allswell.NewPage, error) {
	n := allswell.NewPage{
		Name:         orZero(o.Text("name")),
		Slug:         slug,
		Description:  o.Text("description"),
		PageSettings: readPageSettings(o),
	}
	o.Check(n.Validate())
	return n, a.checkPageSettings(n.PageSettings)
}

// readPageSettings reads the settings of a page. Null clears an optional one.
func readPageSettings(o *web.Object) allswell.PageSettings {
	settings := allswell.PageSettings{
		TimeZone: o.Text("time_zone"),
		Language: nullableText(o, "language"),
		Domain:   nullableText(o, "domain"),
		Accent:   nullableText(o, "accent"),

		AutoIncidents: web.Enum(o, "auto_incidents", allswell.AutoIncidentModes),
		Visibility:    web.Enum(o, "visibility", allswell.Visibilities),
		Home:          o.Flag("home"),
	}
	if o.Null("footer_links") {
		settings.Footer = new([]allswell.FooterLink)
	}
	if links := o.Objects("footer_links", allswell.MaxFooterLinks); links != nil {
		footer := make([]allswell.FooterLink, len(links))
		for i, l := range links {
			l.Require("label", "url")
			footer[i] = allswell.FooterLink{Label: orZero(l.Text("label")), URL: orZero(l.Text("url"))}
		}
		settings.Footer = &footer
	}
	return settings
}

// checkPageSettings checks what depends on this installation: the language must be
// available, and the domain must not be a host name of the installation itself.
func (a *api) checkPageSettings(settings allswell.PageSettings) error {
	var bad allswell.ValidationError
	if settings.Language != nil && *settings.Language != "" && len(a.languages) > 0 {
		primary, _, _ := strings.Cut(*settings.Language, "-") // of "de-AT"
		if !slices.Contains(a.languages, strings.ToLower(primary)) {
			bad.Add("language", "The language must be one that pages can be in: %s.", strings.Join(a.languages, ", "))
		}
	}
	if settings.Domain != nil {
		a.store.Hosts().CheckDomain(&bad, *settings.Domain)
	}
	return bad.Err()
}

// nullableText reads a text; null becomes "".
func nullableText(o *web.Object, field string) *string {
	if o.Null(field) {
		return new(string)
	}
	return o.Text(field)
}

func (a *api) getPage(c *call) (store.Response, error) {
	page, err := a.store.Page(c.Context(), c.actor(), c.PathValue("pageSlug"))
	return taggedResponse(c, page, err, c.newPageJSON)
}

func (a *api) changePage(c *call) (store.Response, error) {
	o, err := c.object()
	if err != nil {
		return store.Response{}, err
	}
	ch := allswell.PageChange{Name: o.Text("name"), Slug: o.Text("slug"), PageSettings: readPageSettings(o)}
	ch.Description, ch.HasDescription = o.NullableText("description")
	o.Check(ch.Validate()) // the next one returns this, too
	if err := o.Check(a.checkPageSettings(ch.PageSettings)); err != nil {
		return store.Response{}, err
	}
	page, err := a.store.ChangePage(c.Context(), c.actor(), c.PathValue("pageSlug"), ch, c.cond)
	return taggedResponse(c, page, err, c.newPageJSON)
}

func (a *api) deletePage(c *call) (store.Response, error) {
	return noContent(a.store.DeletePage(c.Context(), c.actor(), c.PathValue("pageSlug"), c.cond))
}
