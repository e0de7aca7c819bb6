package api

import (
	"net/http"
	"slices"
	"strings"

	"github.com/allswell/allswell"
	"github.com/allswell/allswell/internal/jsonobject"
	"github.com/allswell/allswell/internal/rights"
	"github.com/allswell/allswell/internal/store"
)

// pageRoutes are the routes of pages.
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
		text: "Creates the page with the slug in the path, or replaces what it is configured as: absent fields get " +
			"their defaults. The images are kept. `If-Match` with the `ETag` of an earlier response replaces only " +
			"that version; `If-None-Match: *` only creates.",
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

type pageJSON struct {
	ID           string                 `json:"id"`
	Slug         string                 `json:"slug"`
	Name         string                 `json:"name"`
	Description  *string                `json:"description"`
	Status       allswell.Status        `json:"status"`
	URL          string                 `json:"url"` // of the public status page
	TimeZone     string                 `json:"time_zone"`
	Language     *string                `json:"language"`
	Domain       *string                `json:"domain"`
	DomainStatus *allswell.DomainStatus `json:"domain_status"`
	Accent       *string                `json:"accent"`
	FooterLinks  []allswell.FooterLink  `json:"footer_links"`
	Logo         *string                `json:"logo"` // URL of the image
	LogoDark     *string                `json:"logo_dark"`
	Icon         *string                `json:"icon"`

	AutoIncidents allswell.AutoIncidents `json:"auto_incidents"`
	Visibility    allswell.Visibility    `json:"visibility"`
	Home          bool                   `json:"home"`

	WebhookSignUps bool `json:"webhook_sign_ups"`
	ResponseTimes  bool `json:"response_times"`

	Languages []string `json:"languages"` // empty: all
	CustomCSS *string  `json:"custom_css"`

	CreatedAt string `json:"created_at"`
	UpdatedAt string `json:"updated_at"`
}

func (c *call) newPageJSON(p allswell.Page) pageJSON {
	return pageJSON{
		ID: p.ID, Slug: p.Slug, Name: p.Name, Description: p.Description, Status: p.Status, URL: p.URL(c.base), TimeZone: p.TimeZone,
		Language: ptrOrNil(p.Language), Domain: ptrOrNil(p.Domain), DomainStatus: ptrOrNil(p.DomainStatus), Accent: ptrOrNil(p.Accent),
		FooterLinks: append([]allswell.FooterLink{}, p.Footer...), // [], never null
		Logo:        c.imageURL(p, p.Logo), LogoDark: c.imageURL(p, p.LogoDark), Icon: c.imageURL(p, p.Icon),
		AutoIncidents: p.AutoIncidents, Visibility: p.Visibility, Home: p.Home, WebhookSignUps: p.WebhookSignUps, ResponseTimes: p.ResponseTimes,
		Languages: append([]string{}, p.Languages...), CustomCSS: ptrOrNil(p.CustomCSS),
		CreatedAt: allswell.FormatTime(p.CreatedAt), UpdatedAt: allswell.FormatTime(p.UpdatedAt),
	}
}

// imageURL returns the URL of an image of a page, or nil if the name is "".
func (c *call) imageURL(p allswell.Page, name string) *string {
	if name == "" {
		return nil
	}
	url := p.URL(c.base) + "/look/" + name
	return &url
}

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
func (a *api) readNewPage(o *jsonobject.Object, slug string) (allswell.NewPage, error) {
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
func readPageSettings(o *jsonobject.Object) allswell.PageSettings {
	settings := allswell.PageSettings{
		TimeZone: o.Text("time_zone"),
		Language: nullableText(o, "language"),
		Domain:   nullableText(o, "domain"),
		Accent:   nullableText(o, "accent"),

		AutoIncidents: jsonobject.Enum(o, "auto_incidents", allswell.AutoIncidentModes),
		Visibility:    jsonobject.Enum(o, "visibility", allswell.Visibilities),
		Home:          o.Flag("home"),

		WebhookSignUps: o.Flag("webhook_sign_ups"),
		ResponseTimes:  o.Flag("response_times"),
		CustomCSS:      nullableText(o, "custom_css"),
	}
	if o.Null("languages") {
		settings.Languages = new([]string)
	} else if languages := o.Texts("languages"); languages != nil {
		settings.Languages = &languages
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
	if settings.Language != nil && *settings.Language != "" && a.languages != nil {
		primary, _, _ := strings.Cut(*settings.Language, "-") // of "de-AT"
		if !slices.Contains(a.languages(), strings.ToLower(primary)) {
			bad.Add("language", "must be one of: %s", strings.Join(a.languages(), ", "))
		}
	}
	if settings.Languages != nil && a.languages != nil && slices.ContainsFunc(*settings.Languages, func(l string) bool { return !slices.Contains(a.languages(), l) }) {
		bad.Add("languages", "must be among: %s", strings.Join(a.languages(), ", "))
	}
	if settings.Domain != nil {
		a.store.Hosts().CheckDomain(&bad, *settings.Domain)
	}
	return bad.Err()
}

// nullableText reads a text; null becomes "".
func nullableText(o *jsonobject.Object, field string) *string {
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
