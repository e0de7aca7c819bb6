package api

import (
	"net/http"
	"net/netip"

	"github.com/allswell/allswell/internal/domain/statuspage"
	"github.com/allswell/allswell/internal/resource/rights"
	"github.com/allswell/allswell/internal/shared/optional"
	"github.com/allswell/allswell/internal/store"
)

var domainRoutes = []route{
	{"GET", "/api/v1/pages/{pageSlug}/domain", rights.PageRead, (*api).getDomain, operation{
		id: "getDomain",
		summary: "Get the verification status of a page's domain, the DNS record that verifies it, and where the " +
			"domain points to.",
		returns: one("PageDomain", "The domain. All fields are null if the page has no domain."),
	}},
	{"POST", "/api/v1/pages/{pageSlug}/domain/verify", rights.PageChange, (*api).verifyDomain, operation{
		id:      "verifyDomain",
		summary: "Check the DNS record of a page's domain, and where the domain points to, now.",
		text: "Waits for the DNS, at most 10 seconds. The response is 200 whatever the result is: see `status`, " +
			"`last_result` and `lookup`. The record is not looked up if the domain needs no proof. Nothing is " +
			"looked up if the domain was checked less than 10 seconds ago. A page without a domain is 422. The body " +
			"is ignored.",
		returns: one("PageDomain", "The domain."),
	}},
}

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
	Domain      *string                  `json:"domain"`
	Status      *statuspage.DomainStatus `json:"status"`
	Record      *domainRecordJSON        `json:"record"` // null if no proof is needed
	LastResult  *statuspage.DomainResult `json:"last_result"`
	LastCheckAt *string                  `json:"last_check_at"`
	NextCheckAt *string                  `json:"next_check_at"`
	VerifiedAt  *string                  `json:"verified_at"`
	ReleaseAt   *string                  `json:"release_at"` // null unless failing
	Lookup      *domainLookupJSON        `json:"lookup"`     // null if the domain was not looked up yet
}

// domainLookupJSON is where a domain points to.
type domainLookupJSON struct {
	Result            statuspage.DomainLookupResult `json:"result"`
	Message           string                        `json:"message"`
	CNAME             *string                       `json:"cname"`
	Addresses         []netip.Addr                  `json:"addresses"`
	ExpectedHost      string                        `json:"expected_host"`
	ExpectedAddresses []netip.Addr                  `json:"expected_addresses"`
	CheckedAt         *string                       `json:"checked_at"`
}

type domainRecordJSON struct {
	Type  string `json:"type"`
	Name  string `json:"name"`
	Value string `json:"value"`
}

func newDomainJSON(p statuspage.Page) domainJSON {
	out := domainJSON{
		Domain: optional.Ptr(p.Domain), Status: optional.Ptr(p.DomainStatus), LastResult: optional.Ptr(p.Claim.Result),
		LastCheckAt: timePtr(p.Claim.CheckedAt), NextCheckAt: timePtr(p.Claim.CheckAt),
		VerifiedAt: timePtr(p.Claim.VerifiedAt), ReleaseAt: timePtr(p.Claim.ReleaseAt()),
	}
	if p.Domain != "" && !p.Claim.Trusted() {
		r := statuspage.NewDomainRecord(p.ID, p.Domain)
		out.Record = &domainRecordJSON{"TXT", r.Name, r.Value}
	}
	if l := p.Lookup; l != nil {
		out.Lookup = &domainLookupJSON{
			l.Result, l.Message(), optional.Ptr(l.CNAME), append([]netip.Addr{}, l.Addresses...),
			l.Host, append([]netip.Addr{}, l.HostAddresses...), timePtr(l.CheckedAt),
		}
	}
	return out
}
