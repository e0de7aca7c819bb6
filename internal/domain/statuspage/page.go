package statuspage

import (
	"time"

	"github.com/allswell/allswell/internal/domain/kernel"
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
	URLs         PageURLs

	AutoIncidents AutoIncidents // for monitors without a setting of their own
	Visibility    Visibility
	Access        PageAccess // while the page is private
	Home          bool       // shown at "/" of the service; at most one page of a workspace

	ResponseTimes bool // pages of components show how long the checks of their monitors took, and which failed
	// visitors can subscribe webhooks, chats and phones; see docs/decisions/0033-visitors-subscribe.md
	WebhookSignUps bool
	SMS            bool // the settings permit SMS to subscribers; set by Store.LoadPage

	Version   int64         // increases with every change of the page's contents
	Status    kernel.Status // result of Rollup for the page's components
	CreatedAt time.Time
	UpdatedAt time.Time
}

// PageURLs are the addresses of a page and of its images; see Page.SetURLs.
type PageURLs struct {
	Page, Logo, LogoDark, Icon string // "": there is no such image
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
	zone, err := kernel.LoadZone(p.TimeZone)
	if err != nil {
		return time.UTC
	}
	return zone
}

// URL returns the page's address without a trailing slash: at its own domain if it is served
// there, and otherwise under base, the base URL of the installation.
func (p Page) URL(base string) string {
	if p.Host != "" {
		return "https://" + p.Host
	}
	return base + "/status/" + p.Slug
}

// SetURLs sets the addresses of the page and of its images, given the base URL of the installation.
func (p *Page) SetURLs(base string) {
	p.URLs = PageURLs{Page: p.URL(base)}
	image := func(name string) string {
		if name == "" {
			return ""
		}
		return p.URLs.Page + "/look/" + name
	}
	p.URLs.Logo, p.URLs.LogoDark, p.URLs.Icon = image(p.Logo), image(p.LogoDark), image(p.Icon)
}
