package api

import (
	"net/http"

	"github.com/allswell/allswell"
	"github.com/allswell/allswell/internal/store"
)

func (a *api) getDomain(c *call) (store.StoredResponse, error) {
	page, err := a.store.Page(c.Context(), c.actor(), c.PathValue("pageSlug"))
	return show(page, err, presentDomain)
}

// verifyDomain checks the domain now, which takes as long as the DNS does.
func (a *api) verifyDomain(c *call) (store.StoredResponse, error) {
	r := newResponder(c, http.StatusOK, presentDomain)
	return r.respond(a.verify(c.Context(), c.actor(), c.PathValue("pageSlug"), r.save...))
}

// domainJSON is a page's claim to its domain. All is null for a page without a
// domain.
type domainJSON struct {
	Domain      *string                `json:"domain"`
	Status      *allswell.DomainStatus `json:"status"`
	Record      *recordJSON            `json:"record"` // null where no proof is needed
	LastResult  *allswell.DomainResult `json:"last_result"`
	LastCheckAt *string                `json:"last_check_at"`
	NextCheckAt *string                `json:"next_check_at"`
	VerifiedAt  *string                `json:"verified_at"`
	ReleaseAt   *string                `json:"release_at"` // null unless failing
}

type recordJSON struct {
	Type  string `json:"type"`
	Name  string `json:"name"`
	Value string `json:"value"`
}

func presentDomain(p allswell.Page) domainJSON {
	out := domainJSON{
		Domain: unlessZero(p.Domain), Status: unlessZero(p.DomainStatus), LastResult: unlessZero(p.Claim.Result),
		LastCheckAt: whenever(p.Claim.CheckedAt), NextCheckAt: whenever(p.Claim.CheckAt),
		VerifiedAt: whenever(p.Claim.VerifiedAt), ReleaseAt: whenever(p.Claim.ReleaseAt()),
	}
	if p.Domain != "" && !p.Claim.Trusted() {
		r := allswell.NewDomainRecord(p.ID, p.Domain)
		out.Record = &recordJSON{"TXT", r.Name, r.Value}
	}
	return out
}
