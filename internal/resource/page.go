package resource

import (
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/allswell/allswell/internal/domain/kernel"
	"github.com/allswell/allswell/internal/domain/statuspage"
	"github.com/allswell/allswell/internal/resource/field"
	"github.com/allswell/allswell/internal/shared/i18n"
)

type page = statuspage.Page

// Page describes status pages. The images of a page, and the access to a private page, have requests of their own.
var Page = field.New(field.Resource[page]{
	Noun: "page", Path: "pages", Object: kernel.ObjectPage, AuditMore: auditPage,
	Calls: []string{"create", "get", "put", "change", "delete"},
	Doc:   "a status page",
	Example: page{
		ID: "page_068vq2r4b1ccu5a0d3e1", Slug: "acme", Name: "Acme", Description: new("How Acme is doing"),
		Status: kernel.StatusOperational, TimeZone: "Europe/Berlin",
		Footer:        []statuspage.FooterLink{{Label: "Imprint", URL: "https://example.com/imprint"}},
		AutoIncidents: statuspage.AutoIncidentsPublish, Visibility: statuspage.VisibilityPublic, WebhookSignUps: true,
		URLs: statuspage.PageURLs{Page: "https://status.example.com/status/acme"}, CreatedAt: exampleDay,
		UpdatedAt: exampleDay,
	},
	Fields: []*field.Field[page]{
		field.ID("id", kernel.PrefixPage, func(p *page) *string { return &p.ID }),
		field.Slug(func(p *page) *string { return &p.Slug }).Required().
			Doc("Slug of the page, the last part of its URL, unique in the installation").
			Form("Address", "", "acme-cloud"),
		field.Line("name", func(p *page) *string { return &p.Name }).Required().Max(kernel.MaxNameLength).
			Doc("Name of the page").
			Form("Name", "", "Acme Cloud"),
		field.OptionalText("description", func(p *page) **string {
			return &p.Description
		}).Max(kernel.MaxDescriptionLength).
			Doc("Text below the name").Empty("none").
			Form("Description", "Visitors see it below the name.", ""),
		field.Choice("status", func(p *page) *kernel.Status {
			return &p.Status
		}, field.Values(kernel.RankedStatuses)...).ReadOnly().NoColumn().Schema("PageStatus").
			Doc("The worst status of the components that are not hidden"),
		field.Text("url", func(p *page) *string { return &p.URLs.Page }).ReadOnly().NoColumn().Pattern("^https?://.+").
			Doc("URL of the public page"),
		field.Zone("time_zone", func(p *page) *string { return &p.TimeZone }).
			Default(func(p *page, _ time.Time) { p.TimeZone = statuspage.DefaultTimeZone }).
			Doc("Time zone in which the page's days begin, such as Europe/Berlin").
			Form("Time zone", "Days of the history begin and end in this zone.", "Europe/Berlin"),
		field.Text("language", func(p *page) *string {
			return &p.Language
		}).Nullable().Pattern(languageForm.String()).Formed(checkLanguage).Suggest(i18n.Tags()...).
			Doc("Language of mails, and for visitors whose own languages are not available: "+
				strings.Join(i18n.Tags(), ", ")+", also with a region, such as de-AT").Empty("English").
			Form("Language", "For visitors whose own languages are not available.", ""),
		field.Text("domain", func(p *page) *string {
			return &p.Domain
		}).Nullable().NoColumn().Max(statuspage.MaxDomainLength).
			Settle(func(p *page) { p.Domain = statuspage.ASCIIDomain(p.Domain) }).Formed(checkDomain).
			Doc("Host name of the page's own, in lower case, such as status.example.com. It serves this page at `/`, "+
				"and no other page. Rejected if the installation "+
				"has no `ALLSWELL_BASE_URL`, and for host names of the installation itself. Except in the first "+
				"workspace, the domain is `pending` until a DNS record verifies it").Empty("none").
			Form("Domain", "Your own host name that points to this installation.", "status.example.com"),
		field.Choice("domain_status", func(p *page) *statuspage.DomainStatus {
			return &p.DomainStatus
		}, field.Values(statuspage.DomainStatuses)...).Nullable().ReadOnly().NoColumn().
			Doc("Whether the page is served at its domain").Empty("no domain"),
		field.Text("accent", func(p *page) *string { return &p.Accent }).Nullable().Pattern(colourForm.String()).
			Settle(func(p *page) { p.Accent = strings.ToLower(p.Accent) }).Formed(checkAccent).
			Doc("Colour of links and buttons, such as #1b4f9c").Empty("the standard colour").
			Form("Accent colour", "For links and buttons. Adjusted for contrast where needed.",
				"#1b4f9c"),
		field.Parts("footer_links", statuspage.MaxFooterLinks, FooterLink, func(p *page) *[]statuspage.FooterLink {
			return &p.Footer
		}).NoColumn().
			Check(func(p *page, bad *kernel.ValidationError) { statuspage.CheckFooterLinks(bad, p.Footer) }).
			Doc("Links in the footer of the page").
			Form("Links in the footer", "", ""),
		image("logo", func(p *page) *string { return &p.URLs.Logo }, "png|jpg|gif|webp|svg").
			Doc("URL of the logo, which changes with the logo").Empty("none"),
		image("logo_dark", func(p *page) *string { return &p.URLs.LogoDark }, "png|jpg|gif|webp|svg").
			Doc("URL of the logo for dark backgrounds, which changes with it").Empty("none, so that the logo is " +
			"shown there, too"),
		image("icon", func(p *page) *string { return &p.URLs.Icon }, "png|jpg|gif|webp|svg|ico").
			Doc("URL of the icon, which changes with the icon").Empty("none, so that an icon shows the status"),
		field.Choice("auto_incidents", func(p *page) *statuspage.AutoIncidents { return &p.AutoIncidents },
			field.Of(statuspage.AutoIncidentsPublish, "publish an incident and notify subscribers"),
			field.Of(statuspage.AutoIncidentsDraft, "keep an incident as a draft"),
			field.Of(statuspage.AutoIncidentsOff, "open no incident")).
			Kept().Default(func(p *page, _ time.Time) { p.AutoIncidents = statuspage.AutoIncidentsPublish }).
			Doc("Incidents of monitors that go down. A draft is published by a person").
			Form("When a monitor goes down",
				"Monitors can override this. The component changes in any case.", ""),
		field.Choice("visibility", func(p *page) *statuspage.Visibility { return &p.Visibility },
			field.Of(statuspage.VisibilityPublic, "Public"),
			field.Of(statuspage.VisibilityUnlisted, "Unlisted"),
			field.Of(statuspage.VisibilityPrivate, "Private")).
			Kept().Default(func(p *page, _ time.Time) { p.Visibility = statuspage.VisibilityPublic }).
			Doc("Who can see the page. Anyone with the URL can see an unlisted page; a private page is for clients "+
				"with a token and for visitors who are allowed to see it").
			Form("Visibility",
				"Unlisted: anyone with the URL. Private: API clients, and visitors who are allowed under Access.", ""),
		field.Bool("home", func(p *page) *bool { return &p.Home }).Kept().
			Doc("Whether the page is set as the one at `/` of the service, which at most one page of a workspace is: "+
				"`true` takes it from the present one. If several "+
				"workspaces have one, `/` shows the page of the oldest; without one, the first public page").
			Form("Show at /", "", "").Labels("yes", "no"),
		field.Bool("webhook_sign_ups", func(p *page) *bool { return &p.WebhookSignUps }).Kept().
			Default(func(p *page, _ time.Time) { p.WebhookSignUps = true }).
			Doc("Whether visitors can subscribe webhooks, chats and phones to the page. They receive nothing but a "+
				"request for confirmation until they are confirmed").
			Form("Let visitors subscribe webhooks, chats and phones",
				"Targets that visitors add receive nothing before they are confirmed, and private addresses are "+
					"refused.",
				"").
			Labels("yes", "no"),
		field.Bool("response_times", func(p *page) *bool { return &p.ResponseTimes }).Kept().
			Doc("Whether the pages of components show how long the checks of their monitors took, and which failed, "+
				"in the last day. They name neither the monitors nor "+
				"their targets").
			Form("Response times",
				"How long the checks of a component's monitors took in the last day, and which failed. Visitors see "+
					"neither the names of monitors nor their targets.",
				"").
			Labels("shown on component pages", "not shown"),
		field.Texts("languages", func(p *page) *[]string { return &p.Languages }).Emptied().
			Settle(func(p *page) {
				p.Languages = slices.Compact(slices.Sorted(slices.Values(p.Languages)))
			}).Formed(checkLanguages).Suggest(i18n.Tags()...).
			Doc("Languages that visitors are offered: "+strings.Join(i18n.Tags(), ", ")+
				". If the default language is not among them, the first one takes its place").Empty("all").
			Flag("offer_language").NoFlag("offer-all-languages").
			Form("Languages that visitors are offered", "", ""),
		field.Text("custom_css", func(p *page) *string { return &p.CustomCSS }).Nullable().Max(statuspage.MaxCustomCSS).
			Settle(func(p *page) { p.CustomCSS = statuspage.NormalizeCSS(p.CustomCSS) }).
			Formed(func(p *page, bad *kernel.ValidationError) { statuspage.CheckCustomCSS(bad, p.CustomCSS) }).
			Doc("A style sheet of the page's own, at most 20,000 bytes, which pages load after their own. It must be "+
				"complete, and may not load anything: no `@import` "+
				"and no `url()`").Empty("none").
			Form("Style sheet",
				"CSS, at most 20,000 bytes, loaded after the style of the page. It may not load anything. Leave empty "+
					"for the default look.",
				":root { --radius: 0; }"),
		field.Time("created_at", func(p *page) *time.Time { return &p.CreatedAt }).ReadOnly(),
		field.Time("updated_at", func(p *page) *time.Time { return &p.UpdatedAt }).ReadOnly(),
	},
})

type footerLink = statuspage.FooterLink

// FooterLink describes the links in the footers of pages.
var FooterLink = field.NewPart(field.Resource[footerLink]{
	Noun: "footer link", Doc: "a link in the footer of a page",
	Example: footerLink{Label: "Imprint", URL: "https://example.com/imprint"},
	Fields: []*field.Field[footerLink]{
		field.Line("label", func(l *footerLink) *string {
			return &l.Label
		}).Required().Max(statuspage.MaxFooterLabelLength).
			Doc("Text of the link").
			Form("Label", "", "Contact"),
		field.Text("url", func(l *footerLink) *string { return &l.URL }).Required().Max(kernel.MaxURLLength).
			Doc("Address: http, https or mailto").
			Form("Address", "", "https://example.com/contact"),
	},
})

// image returns the field of the URL of an image. endings are the file extensions, separated by |.
func image(name string, at func(*page) *string, endings string) *field.Field[page] {
	return field.Text(name, at).Nullable().ReadOnly().NoColumn().Pattern(`^https?://.+/look/[0-9a-f]{16}\.(` +
		endings + `)$`)
}

// auditPage adds the access to a private page, and names that change with its images and its style sheet.
func auditPage(p page, fields map[string]any) {
	fields["logo"], fields["logo_dark"], fields["icon"], fields["custom_css"] = p.Logo, p.LogoDark, p.Icon,
		p.CustomCSSName()
	p.Access.AuditMore(fields)
}

var (
	colourForm   = regexp.MustCompile(`^#[0-9a-fA-F]{6}$`)
	languageForm = regexp.MustCompile(`^[a-zA-Z]{2,3}(-[a-zA-Z0-9]{2,8}){0,3}$`)
)

func checkAccent(p *page, bad *kernel.ValidationError) {
	if !colourForm.MatchString(p.Accent) {
		bad.Add("accent", "must be a colour, such as #1b4f9c")
	}
}

func checkDomain(p *page, bad *kernel.ValidationError) {
	if !statuspage.ValidDomain(p.Domain) {
		bad.Add("domain",
			"must be a public host name in lower case, such as status.example.com, without a port, of at most %d "+
				"characters",
			statuspage.MaxDomainLength)
	}
}

func checkLanguage(p *page, bad *kernel.ValidationError) {
	primary, _, _ := strings.Cut(strings.ToLower(p.Language), "-") // of de-AT
	switch {
	case !languageForm.MatchString(p.Language):
		bad.Add("language", "must be a language tag, such as en or de")
	case !slices.Contains(i18n.Tags(), primary):
		bad.Add("language", "must be one of: %s", strings.Join(i18n.Tags(), ", "))
	}
}

func checkLanguages(p *page, bad *kernel.ValidationError) {
	if slices.ContainsFunc(p.Languages, func(l string) bool { return !slices.Contains(i18n.Tags(), l) }) {
		bad.Add("languages", "must be among: %s", strings.Join(i18n.Tags(), ", "))
	}
}
