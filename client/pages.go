package client

import (
	"context"
	"net/http"
	"net/netip"
	"net/url"
	"strconv"
	"time"
)

// ListPages returns all pages, the oldest first.
func (c *Client) ListPages() *List[Page] { return &List[Page]{client: c, path: pathOf("pages")} }

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
	Domain      *string       `json:"domain"`
	Status      *DomainStatus `json:"status"`
	Record      *DNSRecord    `json:"record"` // the DNS record that proves the domain; nil: no proof is needed
	LastResult  *DomainResult `json:"last_result"`
	LastCheckAt *time.Time    `json:"last_check_at"`
	NextCheckAt *time.Time    `json:"next_check_at"`
	VerifiedAt  *time.Time    `json:"verified_at"`
	ReleaseAt   *time.Time    `json:"release_at"` // when the grace period of a failing domain ends
	Lookup      *DomainLookup `json:"lookup"`     // where the domain points to; nil: not looked up yet
}

// DomainLookup compares where a page's domain points to with the host of the installation's base URL.
type DomainLookup struct {
	Result            DomainLookupResult `json:"result"`
	Message           string             `json:"message"` // where the domain points to, and what to change
	CNAME             *string            `json:"cname"`   // nil: the domain has no CNAME record
	Addresses         []netip.Addr       `json:"addresses"`
	ExpectedHost      string             `json:"expected_host"`
	ExpectedAddresses []netip.Addr       `json:"expected_addresses"`
	CheckedAt         time.Time          `json:"checked_at"`
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
	Groups     []GroupUptime     `json:"groups"`     // groups with components
}

// ComponentUptime is the uptime of a component.
type ComponentUptime struct {
	ID      string       `json:"id"`
	Name    string       `json:"name"`
	Slug    string       `json:"slug"`
	Group   *string      `json:"group"` // the group's id
	Status  Status       `json:"status"`
	Uptime  *float64     `json:"uptime"`
	History []HistoryDay `json:"history"` // the oldest day first; the last one is today
}

// GroupUptime is the uptime of a group.
type GroupUptime struct {
	ID     string   `json:"id"`
	Name   string   `json:"name"`
	Uptime *float64 `json:"uptime"`
}

// HistoryDay is a day of a component.
type HistoryDay struct {
	Date    string             `json:"date"`   // such as 2026-11-21
	Status  *Status            `json:"status"` // the worst of the day; nil: the component did not exist
	Uptime  *float64           `json:"uptime"`
	Seconds map[Status]float64 `json:"seconds"` // time in each status
}

// UptimeOptions says which uptime figures of a page are requested.
type UptimeOptions struct {
	Days   int  // the last days, today included: from 1 to 90
	Hidden bool // also list hidden components, without uptime and history
}

// GetUptime returns the uptime of a page.
func (c *Client) GetUptime(ctx context.Context, slug string, o UptimeOptions) (*Uptime, error) {
	query := url.Values{"days": {strconv.Itoa(o.Days)}}
	if o.Hidden {
		query.Set("hidden", "true")
	}
	return send[Uptime](ctx, c, request{method: http.MethodGet, path: pathOf("pages", slug, "uptime"), query: query})
}
