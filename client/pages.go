package client

import (
	"context"
	"net/http"
	"net/netip"
	"strconv"
	"time"

	"github.com/allswell/allswell"
)

// Page is a status page.
type Page struct {
	Meta
	ID           string                 `json:"id"`
	Slug         string                 `json:"slug"`
	Name         string                 `json:"name"`
	Description  *string                `json:"description"`
	Status       allswell.Status        `json:"status"` // the worst among its components
	URL          string                 `json:"url"`    // for visitors
	TimeZone     string                 `json:"time_zone"`
	Language     *string                `json:"language"`
	Domain       *string                `json:"domain"`
	DomainStatus *allswell.DomainStatus `json:"domain_status"` // nil: no domain
	Accent       *string                `json:"accent"`        // the colour, as #rrggbb
	FooterLinks  []FooterLink           `json:"footer_links"`
	Logo         *string                `json:"logo"`      // URL of the image
	LogoDark     *string                `json:"logo_dark"` // URL of the image for dark backgrounds; nil: Logo
	Icon         *string                `json:"icon"`      // URL of the image

	AutoIncidents allswell.AutoIncidents `json:"auto_incidents"` // of monitors that have no setting of their own
	Visibility    allswell.Visibility    `json:"visibility"`
	Home          bool                   `json:"home"` // shown at "/"

	WebhookSignUps bool `json:"webhook_sign_ups"` // visitors can subscribe webhooks
	ResponseTimes  bool `json:"response_times"`   // pages of components show how long the checks of their monitors took

	Languages []string `json:"languages"` // tags of those that visitors are offered; empty: all
	CustomCSS *string  `json:"custom_css"`

	CreatedAt time.Time `json:"created_at"`
	UpdatedAt time.Time `json:"updated_at"`
}

// FooterLink is a link at the foot of a page.
type FooterLink struct {
	Label string `json:"label"`
	URL   string `json:"url"`
}

// NewPage describes a page to create.
type NewPage struct {
	Name        string       `json:"name"`
	Slug        string       `json:"slug"`
	Description *string      `json:"description,omitempty"`
	TimeZone    *string      `json:"time_zone,omitempty"` // nil: UTC
	Language    *string      `json:"language,omitempty"`  // nil: English
	Domain      *string      `json:"domain,omitempty"`
	Accent      *string      `json:"accent,omitempty"`
	FooterLinks []FooterLink `json:"footer_links,omitempty"`

	AutoIncidents *allswell.AutoIncidents `json:"auto_incidents,omitempty"` // nil: publish
	Visibility    *allswell.Visibility    `json:"visibility,omitempty"`     // nil: public
	Home          *bool                   `json:"home,omitempty"`           // nil: false

	WebhookSignUps *bool `json:"webhook_sign_ups,omitempty"` // nil: true
	ResponseTimes  *bool `json:"response_times,omitempty"`   // nil: false

	Languages []string `json:"languages,omitempty"` // nil: all
	CustomCSS *string  `json:"custom_css,omitempty"`
}

// PageChange is a change of a page.
type PageChange struct {
	Name        *string                `json:"name,omitempty"`
	Slug        *string                `json:"slug,omitempty"`
	Description Nullable[string]       `json:"description,omitzero"`
	TimeZone    *string                `json:"time_zone,omitempty"`
	Language    Nullable[string]       `json:"language,omitzero"`
	Domain      Nullable[string]       `json:"domain,omitzero"`
	Accent      Nullable[string]       `json:"accent,omitzero"`
	FooterLinks Nullable[[]FooterLink] `json:"footer_links,omitzero"`

	AutoIncidents *allswell.AutoIncidents `json:"auto_incidents,omitempty"`
	Visibility    *allswell.Visibility    `json:"visibility,omitempty"`
	Home          *bool                   `json:"home,omitempty"` // true: no other page of the workspace is

	WebhookSignUps *bool `json:"webhook_sign_ups,omitempty"`
	ResponseTimes  *bool `json:"response_times,omitempty"`

	Languages Nullable[[]string] `json:"languages,omitzero"`
	CustomCSS Nullable[string]   `json:"custom_css,omitzero"`
}

// ListPages returns all pages, the oldest first.
func (c *Client) ListPages() *List[Page] { return &List[Page]{client: c, path: pathOf("pages")} }

// CreatePage creates a page.
func (c *Client) CreatePage(ctx context.Context, page NewPage, options ...CallOption) (*Page, error) {
	return post[Page](ctx, c, pathOf("pages"), page, options...)
}

// GetPage returns a page.
func (c *Client) GetPage(ctx context.Context, slug string) (*Page, error) {
	return get[Page](ctx, c, pathOf("pages", slug))
}

// PutPage creates the page with the slug, or replaces its settings. Fields that are not set get their defaults.
// The images are kept. The options are IfMatch and IfNoneMatch.
func (c *Client) PutPage(ctx context.Context, slug string, page NewPage, options ...CallOption) (*Page, error) {
	page.Slug = slug
	return put[Page](ctx, c, pathOf("pages", slug), page, options...)
}

// ChangePage changes a page. The option is IfMatch.
func (c *Client) ChangePage(ctx context.Context, slug string, change PageChange, options ...CallOption) (*Page, error) {
	return patch[Page](ctx, c, pathOf("pages", slug), change, options...)
}

// DeletePage deletes a page with everything on it, and its monitors. The option is IfMatch.
func (c *Client) DeletePage(ctx context.Context, slug string, options ...CallOption) error {
	return c.remove(ctx, pathOf("pages", slug), options...)
}

// SetLogo sets the logo of a page: a PNG, JPEG, GIF, WebP or SVG file of at most 256 KiB.
func (c *Client) SetLogo(ctx context.Context, slug string, image []byte) (*Page, error) {
	return c.setImage(ctx, slug, "logo", image)
}

// DeleteLogo removes the logo of a page.
func (c *Client) DeleteLogo(ctx context.Context, slug string) error {
	return c.remove(ctx, pathOf("pages", slug, "logo"))
}

// SetDarkLogo sets the logo of a page for dark backgrounds: a file as for SetLogo.
func (c *Client) SetDarkLogo(ctx context.Context, slug string, image []byte) (*Page, error) {
	return c.setImage(ctx, slug, "logo_dark", image)
}

// DeleteDarkLogo removes the logo of a page for dark backgrounds.
func (c *Client) DeleteDarkLogo(ctx context.Context, slug string) error {
	return c.remove(ctx, pathOf("pages", slug, "logo_dark"))
}

// SetIcon sets the icon of a page: a file as for SetLogo, or an ICO file.
func (c *Client) SetIcon(ctx context.Context, slug string, image []byte) (*Page, error) {
	return c.setImage(ctx, slug, "icon", image)
}

// DeleteIcon removes the icon of a page.
func (c *Client) DeleteIcon(ctx context.Context, slug string) error {
	return c.remove(ctx, pathOf("pages", slug, "icon"))
}

func (c *Client) setImage(ctx context.Context, slug, kind string, image []byte) (*Page, error) {
	return send[Page](ctx, c, request{
		method: http.MethodPut, path: pathOf("pages", slug, kind), body: image, contentType: "application/octet-stream",
	})
}

// PageAccess is who can see a page while it is private, besides clients with a token.
type PageAccess struct {
	Meta
	Members       bool       `json:"members"` // of the workspace, signed in to the dashboard
	Networks      []string   `json:"networks"`
	PasswordSetAt *time.Time `json:"password_set_at"` // nil: there is no password
	LinkCreatedAt *time.Time `json:"link_created_at"` // nil: there is no secret link
	Link          string     `json:"link,omitempty"`  // the secret link, only in the result of the change that made it
}

// PageAccessChange is a change of who can see a private page.
type PageAccessChange struct {
	Members  *bool              `json:"members,omitempty"`
	Networks Nullable[[]string] `json:"networks,omitzero"`
	Password Nullable[string]   `json:"password,omitzero"`
	Link     Nullable[string]   `json:"link,omitzero"` // NewPageLink
}

// NewPageLink is the value of PageAccessChange.Link that makes a new secret link.
const NewPageLink = "new"

// GetPageAccess returns who can see a page while it is private.
func (c *Client) GetPageAccess(ctx context.Context, slug string) (*PageAccess, error) {
	return get[PageAccess](ctx, c, pathOf("pages", slug, "access"))
}

// ChangePageAccess changes who can see a page while it is private.
func (c *Client) ChangePageAccess(ctx context.Context, slug string, change PageAccessChange) (*PageAccess, error) {
	return patch[PageAccess](ctx, c, pathOf("pages", slug, "access"), change)
}

// PageDomain is the verification of a page's own domain. All fields are nil if the page has none.
type PageDomain struct {
	Meta
	Domain      *string                `json:"domain"`
	Status      *allswell.DomainStatus `json:"status"`
	Record      *DNSRecord             `json:"record"` // the DNS record that proves the domain; nil: no proof is needed
	LastResult  *allswell.DomainResult `json:"last_result"`
	LastCheckAt *time.Time             `json:"last_check_at"`
	NextCheckAt *time.Time             `json:"next_check_at"`
	VerifiedAt  *time.Time             `json:"verified_at"`
	ReleaseAt   *time.Time             `json:"release_at"` // when the grace period of a failing domain ends
	Lookup      *DomainLookup          `json:"lookup"`     // where the domain points to; nil: not looked up yet
}

// DomainLookup compares where a page's domain points to with the host of the installation's base URL.
type DomainLookup struct {
	Result            allswell.DomainLookupResult `json:"result"`
	Message           string                      `json:"message"` // where the domain points to, and what to change
	CNAME             *string                     `json:"cname"`   // nil: the domain has no CNAME record
	Addresses         []netip.Addr                `json:"addresses"`
	ExpectedHost      string                      `json:"expected_host"`
	ExpectedAddresses []netip.Addr                `json:"expected_addresses"`
	CheckedAt         time.Time                   `json:"checked_at"`
}

// DNSRecord is a record to add to the DNS.
type DNSRecord struct {
	Type  string `json:"type"`
	Name  string `json:"name"`
	Value string `json:"value"`
}

// GetDomain returns the verification of a page's own domain.
func (c *Client) GetDomain(ctx context.Context, slug string) (*PageDomain, error) {
	return get[PageDomain](ctx, c, pathOf("pages", slug, "domain"))
}

// VerifyDomain checks the DNS record of a page's domain and where the domain points to now, which takes up to 10
// seconds, and returns the result.
func (c *Client) VerifyDomain(ctx context.Context, slug string, options ...CallOption) (*PageDomain, error) {
	return post[PageDomain](ctx, c, pathOf("pages", slug, "domain", "verify"), nil, options...)
}

// Uptime is the uptime of a page. Percentages are nil if nothing is known.
type Uptime struct {
	Meta
	Days       int               `json:"days"`
	TimeZone   string            `json:"time_zone"` // in which days begin
	Uptime     *float64          `json:"uptime"`
	Components []ComponentUptime `json:"components"` // in the order of the page
	Groups     []GroupUptime     `json:"groups"`     // those with components
}

// ComponentUptime is the uptime of a component.
type ComponentUptime struct {
	ID      string          `json:"id"`
	Name    string          `json:"name"`
	Slug    string          `json:"slug"`
	Group   *string         `json:"group"` // the group's id
	Status  allswell.Status `json:"status"`
	Uptime  *float64        `json:"uptime"`
	History []HistoryDay    `json:"history"` // the oldest day first; the last one is today
}

// GroupUptime is the uptime of a group.
type GroupUptime struct {
	ID     string   `json:"id"`
	Name   string   `json:"name"`
	Uptime *float64 `json:"uptime"`
}

// HistoryDay is a day of a component.
type HistoryDay struct {
	Date    string                      `json:"date"`   // such as 2026-11-21
	Status  *allswell.Status            `json:"status"` // the worst of the day; nil: the component did not exist
	Uptime  *float64                    `json:"uptime"`
	Seconds map[allswell.Status]float64 `json:"seconds"` // time in each status
}

// GetUptime returns the uptime of a page during the last days, today included: from 1 to 90.
func (c *Client) GetUptime(ctx context.Context, slug string, days int) (*Uptime, error) {
	return send[Uptime](ctx, c, request{
		method: http.MethodGet, path: pathOf("pages", slug, "uptime"), query: map[string][]string{"days": {strconv.Itoa(days)}},
	})
}
