package api

import (
	"net/http"
	"net/netip"

	"github.com/allswell/allswell"
	"github.com/allswell/allswell/internal/store"
)

func (a *api) getDomain(c *call) (store.Response, error) {
	page, err := a.store.Page(c.Context(), c.actor(), c.PathValue("pageSlug"))
	return resourceResponse(page, err, newDomainJSON)
}

// verifyDomain checks the domain now and waits for the DNS.
func (a *api) verifyDomain(c *call) (store.Response, error) {
	r := newResponder(c, http.StatusOK, newDomainJSON)
	return r.respond(a.verify(c.Context(), c.actor(), c.PathValue("pageSlug"), r.save...))
}

// domainJSON is the state of a page's domain. All fields are null if the page has none.
type domainJSON struct {
	Domain      *string                `json:"domain"`
	Status      *allswell.DomainStatus `json:"status"`
	Record      *domainRecordJSON      `json:"record"` // null if no proof is needed
	LastResult  *allswell.DomainResult `json:"last_result"`
	LastCheckAt *string                `json:"last_check_at"`
	NextCheckAt *string                `json:"next_check_at"`
	VerifiedAt  *string                `json:"verified_at"`
	ReleaseAt   *string                `json:"release_at"` // null unless failing
	Lookup      *domainLookupJSON      `json:"lookup"`     // null if the domain was not looked up yet
}

// domainLookupJSON is where a domain points to.
type domainLookupJSON struct {
	Result            allswell.DomainLookupResult `json:"result"`
	Message           string                      `json:"message"`
	CNAME             *string                     `json:"cname"`
	Addresses         []netip.Addr                `json:"addresses"`
	ExpectedHost      string                      `json:"expected_host"`
	ExpectedAddresses []netip.Addr                `json:"expected_addresses"`
	CheckedAt         *string                     `json:"checked_at"`
}

type domainRecordJSON struct {
	Type  string `json:"type"`
	Name  string `json:"name"`
	Value string `json:"value"`
}

func newDomainJSON(p allswell.Page) domainJSON {
	out := domainJSON{
		Domain: ptrOrNil(p.Domain), Status: ptrOrNil(p.DomainStatus), LastResult: ptrOrNil(p.Claim.Result),
		LastCheckAt: timePtr(p.Claim.CheckedAt), NextCheckAt: timePtr(p.Claim.CheckAt),
		VerifiedAt: timePtr(p.Claim.VerifiedAt), ReleaseAt: timePtr(p.Claim.ReleaseAt()),
	}
	if p.Domain != "" && !p.Claim.Trusted() {
		r := allswell.NewDomainRecord(p.ID, p.Domain)
		out.Record = &domainRecordJSON{"TXT", r.Name, r.Value}
	}
	if l := p.Lookup; l != nil {
		out.Lookup = &domainLookupJSON{
			l.Result, l.Message(), ptrOrNil(l.CNAME), append([]netip.Addr{}, l.Addresses...),
			l.Host, append([]netip.Addr{}, l.HostAddresses...), timePtr(l.CheckedAt),
		}
	}
	return out
}
