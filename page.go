package allswell

import (
	"slices"
	"time"
)

// Page is a public status page.
type Page struct {
	ID           string
	WorkspaceID  string
	Slug         string
	Name         string
	Description  *string // nil: none
	TimeZone     string  // IANA name
	Language     string  // BCP 47 tag, used if the visitor's languages are not available; "": English
	Domain       string  // host name set for the page; "": none
	Claim        DomainClaim
	Lookup       *DomainLookup // where Domain pointed to when it was last looked up; nil: never
	DomainStatus DomainStatus  // "": no domain; set by Hosts.SetHost
	Host         string        // Domain if the page is served there, or ""; set by Hosts.SetHost
	Languages    []string      // primary tags of the languages that visitors are offered; empty: all
	Accent       string        // "#rrggbb"; "": the default
	CustomCSS    string        // style sheet of the page's own, after all others; "": none
	Footer       []FooterLink
	Logo         string // name of the image; "": none
	LogoDark     string // the same for dark pages and mails; "": Logo
	Icon         string // "": one that shows the status

	AutoIncidents AutoIncidents // of monitors that have no setting of their own
	Visibility    Visibility
	Access        PageAccess // while the page is private
	Home          bool       // shown at "/" of the service; at most one page of a workspace

	ResponseTimes  bool // pages of components show how long the checks of their monitors took, and which failed
	WebhookSignUps bool // visitors can subscribe webhooks, chats and phones; see docs/decisions/0075-visitors-subscribe-webhooks.md
	SMS            bool // SMS can be sent to subscribers, as the settings say; set by Store.LoadPage

	Version   int64  // increases with every change of the page's contents
	Status    Status // result of Rollup for the page's components
	CreatedAt time.Time
	UpdatedAt time.Time
}

// Group is a heading above components on a page.
type Group struct {
	ID        string
	PageID    string
	Slug      string // unique on the page
	Name      string
	Order     int
	CreatedAt time.Time
	UpdatedAt time.Time
}

// FooterLink is a link in the footer of a page.
type FooterLink struct {
	Label string `json:"label"`
	URL   string `json:"url"`
}

// Location returns the page's time zone, or UTC if the time zone database does not have it.
func (p Page) Location() *time.Location {
	zone, err := LoadZone(p.TimeZone)
	if err != nil {
		return time.UTC
	}
	return zone
}

// NewPage is the input for creating a page.
type NewPage struct {
	Name        string
	Slug        string
	Description *string
	PageSettings
}

// PageSettings are the optional settings of a page. Nil fields mean the default for a new page and
// no change for an existing one.
type PageSettings struct {
	TimeZone *string
	Language *string // "": English
	Domain   *string // "": none
	Accent   *string // "": the default
	Footer   *[]FooterLink

	Languages *[]string // empty: all
	CustomCSS *string   // "": none

	AutoIncidents *AutoIncidents
	Visibility    *Visibility
	Home          *bool

	WebhookSignUps *bool
	ResponseTimes  *bool
}

// Validate returns a *ValidationError with every invalid field. The store checks that the slug is
// free.
func (n NewPage) Validate() error {
	var bad ValidationError
	CheckLine(&bad, "name", n.Name, MaxNameLength)
	checkSlug(&bad, n.Slug)
	if n.Description != nil {
		CheckLength(&bad, "description", *n.Description, MaxDescriptionLength)
	}
	n.PageSettings.check(&bad)
	return bad.Err()
}

// Replacement returns the change that gives an existing page the fields of n. Settings that n does
// not set get their defaults, except for those that decide who sees what: the page keeps its visibility,
// its being the home page, what happens to incidents, and whether visitors can subscribe webhooks.
func (n NewPage) Replacement() PageChange {
	zone := DefaultTimeZone
	ch := PageChange{Name: &n.Name, Description: n.Description, HasDescription: true, PageSettings: n.PageSettings}
	ch.TimeZone = firstOf(n.TimeZone, &zone)
	ch.Language = firstOf(n.Language, new(string))
	ch.Domain = firstOf(n.Domain, new(string))
	ch.Accent = firstOf(n.Accent, new(string))
	ch.Footer = firstOf(n.Footer, new([]FooterLink))
	ch.Languages = firstOf(n.Languages, new([]string))
	ch.CustomCSS = firstOf(n.CustomCSS, new(string))
	return ch
}

// firstOf returns p, or fallback if p is nil.
func firstOf[T any](p, fallback *T) *T {
	if p != nil {
		return p
	}
	return fallback
}

// URL returns the page's address without a trailing slash: at its own domain if it is served
// there, and otherwise under base, the base URL of the installation.
func (p Page) URL(base string) string {
	if p.Host != "" {
		return "https://" + p.Host
	}
	return base + "/status/" + p.Slug
}

// PageChange is the input for changing a page. Nil fields keep their values.
type PageChange struct {
	Name           *string
	Slug           *string
	Description    *string // nil with HasDescription removes it
	HasDescription bool
	PageSettings
}

// Validate returns a *ValidationError with every invalid field.
func (ch PageChange) Validate() error {
	var bad ValidationError
	if ch.Name != nil {
		CheckLine(&bad, "name", *ch.Name, MaxNameLength)
	}
	if ch.Slug != nil {
		checkSlug(&bad, *ch.Slug)
	}
	if ch.Description != nil {
		CheckLength(&bad, "description", *ch.Description, MaxDescriptionLength)
	}
	ch.PageSettings.check(&bad)
	return bad.Err()
}

// Apply changes p. UpdatedAt changes if a field does.
func (p *Page) Apply(ch PageChange, now time.Time) (changed bool) {
	before := *p
	if ch.Name != nil {
		p.Name = *ch.Name
	}
	if ch.Slug != nil {
		p.Slug = *ch.Slug
	}
	if ch.HasDescription {
		p.Description = ch.Description
	}
	p.ApplySettings(ch.PageSettings)
	changed = p.Name != before.Name || p.Slug != before.Slug || !equalText(p.Description, before.Description) ||
		p.TimeZone != before.TimeZone || p.Language != before.Language || p.Domain != before.Domain ||
		p.Accent != before.Accent || !slices.Equal(p.Footer, before.Footer) ||
		p.AutoIncidents != before.AutoIncidents || p.Visibility != before.Visibility || p.Home != before.Home ||
		p.WebhookSignUps != before.WebhookSignUps || p.ResponseTimes != before.ResponseTimes || !slices.Equal(p.Languages, before.Languages) || p.CustomCSS != before.CustomCSS
	if changed {
		p.UpdatedAt = Later(now, p.UpdatedAt)
	}
	return changed
}

// AuditObject returns the form of a page in the audit log.
func (p Page) AuditObject() AuditObject {
	links := []FooterLink{}
	o := AuditObject{Kind: ObjectPage, ID: p.ID, Name: p.Name, Fields: map[string]any{
		"name": p.Name, "slug": p.Slug, "description": orNil(p.Description), "time_zone": p.TimeZone, "language": p.Language,
		"domain": p.Domain, "accent": p.Accent, "footer_links": append(links, p.Footer...), "logo": p.Logo, "logo_dark": p.LogoDark, "icon": p.Icon,
		"auto_incidents": p.AutoIncidents, "visibility": p.Visibility, "home": p.Home, "webhook_sign_ups": p.WebhookSignUps, "response_times": p.ResponseTimes,
		"languages": append([]string{}, p.Languages...), "custom_css": p.CustomCSSName(),
	}}
	p.Access.addAuditFields(o.Fields)
	return o
}

func equalText(a, b *string) bool {
	if a == nil || b == nil {
		return a == b
	}
	return *a == *b
}
