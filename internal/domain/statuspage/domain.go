package statuspage

import (
	"crypto/sha256"
	"encoding/base32"
	"slices"
	"strings"
	"time"

	"github.com/allswell/allswell/internal/domain/kernel"
)

// Time limits of domain checks.
const (
	// DomainCheckInterval is the time between two checks.
	DomainCheckInterval = 24 * time.Hour

	// DomainFirstInterval is the time between two checks of an unverified claim that is younger
	// than DomainCheckInterval, and the time until a check that got no DNS response is repeated.
	DomainFirstInterval = time.Hour

	// DomainGrace is how long a verified domain is served after a check first found its record missing.
	DomainGrace = 7 * 24 * time.Hour

	// DomainCheckPause is the minimum time between two checks of one page that users request.
	DomainCheckPause = 10 * time.Second
)

// The name of the TXT record is domainChallenge followed by the domain; its value is domainProof followed by a token.
const (
	domainChallenge = "_allswell-challenge."
	domainProof     = "allswell-verification="
)

// DomainStatus is the state of a page's claim to its domain.
type DomainStatus string

// The domain statuses.
const (
	DomainVerified DomainStatus = "verified" // the page is served there
	DomainFailing  DomainStatus = "failing"  // the page is served there until the grace period ends
	DomainPending  DomainStatus = "pending"  // the domain is not verified yet
	DomainDisabled DomainStatus = "disabled" // the installation's settings do not allow the domain
)

// DomainStatuses lists the domain statuses.
var DomainStatuses = []DomainStatus{DomainVerified, DomainFailing, DomainPending, DomainDisabled}

// DomainResult is the result of a check of a page's domain.
type DomainResult string

// The results of domain checks.
const (
	DomainUnchecked   DomainResult = ""              // not checked yet
	DomainFound       DomainResult = "found"         // the record exists
	DomainMissing     DomainResult = "missing"       // the DNS responded that the record does not exist
	DomainNoAnswer    DomainResult = "no_answer"     // the DNS did not respond or failed; proves nothing
	DomainUsedByOther DomainResult = "used_by_other" // the record exists, but another page is served at the domain
)

// DomainResults lists the results of domain checks, without DomainUnchecked.
var DomainResults = []DomainResult{DomainFound, DomainMissing, DomainNoAnswer, DomainUsedByOther}

// DomainClaim is the state of a page's claim to its Domain. It is zero for a page without a domain.
type DomainClaim struct {
	ClaimedAt  time.Time // when the domain was set
	VerifiedAt time.Time // since when the page is served at the domain; zero: not verified
	CheckedAt  time.Time // last check; zero: never
	FailedAt   time.Time // first check of a verified domain that found the record missing; zero: none
	CheckAt    time.Time // next check; zero: never, because no proof is needed
	Result     DomainResult
}

// NewDomainClaim returns a claim that has to be verified. Its first check is due immediately.
func NewDomainClaim(now time.Time) DomainClaim { return DomainClaim{ClaimedAt: now, CheckAt: now} }

// NewTrustedDomainClaim returns a claim that needs no verification.
func NewTrustedDomainClaim(now time.Time) DomainClaim {
	return DomainClaim{ClaimedAt: now, VerifiedAt: now}
}

// Trusted reports whether the claim needs no verification.
func (c DomainClaim) Trusted() bool { return !c.VerifiedAt.IsZero() && c.CheckAt.IsZero() }

// ReleaseAt returns when the grace period of a failing domain ends. The first check from then on that finds the record
// missing releases the domain. It returns the zero Time if the domain is not failing.
func (c DomainClaim) ReleaseAt() time.Time {
	if c.FailedAt.IsZero() {
		return time.Time{}
	}
	return c.FailedAt.Add(DomainGrace)
}

// DomainChange is the effect of a check.
type DomainChange int

// The effects of a check.
const (
	DomainChangeNone      DomainChange = iota
	DomainChangeVerified               // the page is now served at the domain
	DomainChangeFailing                // the grace period begins
	DomainChangeRecovered              // the record exists again, which ends the grace period
	DomainChangeReleased               // the page is no longer served at the domain
)

// Check applies the result of a check made at now and returns its effect. DomainNoAnswer changes
// neither whether the domain is served nor its grace period.
func (c *DomainClaim) Check(result DomainResult, now time.Time) DomainChange {
	c.CheckedAt, c.Result = now, result
	if c.FailedAt.After(now) { // the clock went back
		c.FailedAt = now
	}
	change := DomainChangeNone
	switch {
	case result == DomainFound && c.VerifiedAt.IsZero():
		c.VerifiedAt, change = now, DomainChangeVerified
	case result == DomainFound && !c.FailedAt.IsZero():
		c.FailedAt, change = time.Time{}, DomainChangeRecovered
	case result == DomainMissing && !c.VerifiedAt.IsZero() && c.FailedAt.IsZero():
		c.FailedAt, change = now, DomainChangeFailing
	case result == DomainMissing && !c.VerifiedAt.IsZero() && !now.Before(c.ReleaseAt()):
		c.Release()
		change = DomainChangeReleased
	}
	c.CheckAt = c.nextCheck(now)
	return change
}

// Release makes a verified claim pending again.
func (c *DomainClaim) Release() { c.VerifiedAt, c.FailedAt = time.Time{}, time.Time{} }

func (c DomainClaim) nextCheck(now time.Time) time.Time {
	next := now.Add(DomainCheckInterval)
	if c.Result == DomainNoAnswer || c.VerifiedAt.IsZero() && now.Sub(c.ClaimedAt) < DomainCheckInterval {
		next = now.Add(DomainFirstInterval)
	}
	if release := c.ReleaseAt(); release.After(now) && release.Before(next) {
		next = release
	}
	return next
}

// DomainRecord is the TXT record that proves ownership of a domain.
type DomainRecord struct {
	Name  string // without a trailing dot
	Value string
}

// NewDomainRecord returns the record that proves that domain belongs to the page. It depends only
// on the two arguments and is not secret: only the owner of the DNS zone can publish it.
func NewDomainRecord(pageID, domain string) DomainRecord {
	sum := sha256.Sum256([]byte("allswell domain\n" + pageID + "\n" + domain))
	token := strings.ToLower(base32.StdEncoding.WithPadding(base32.NoPadding).EncodeToString(sum[:20]))
	return DomainRecord{Name: domainChallenge + domain, Value: domainProof + token}
}

// Matches reports whether one of the given TXT values is the record's, ignoring surrounding white space.
func (r DomainRecord) Matches(values []string) bool {
	return slices.ContainsFunc(values, func(v string) bool { return strings.TrimSpace(v) == r.Value })
}

// Hosts are the host names of the installation itself, which pages cannot use as their domains. With the zero Hosts,
// which belongs to an installation without a base URL, no page can have a domain.
type Hosts struct {
	base string
	own  map[string]bool
}

// NewHosts returns the hosts of an installation: the host of its base URL, or "" if none is set, and its other names.
// Names have the form of a Host header, in ASCII; case, port and a trailing dot are ignored.
func NewHosts(base string, others ...string) Hosts {
	h := Hosts{base: HostName(base)}
	for _, name := range append(others, base) {
		if name = HostName(name); name != "" {
			if h.own == nil {
				h.own = make(map[string]bool)
			}
			h.own[name] = true
		}
	}
	return h
}

// Contains reports whether host, in the form of a Host header, belongs to the installation itself.
func (h Hosts) Contains(host string) bool { return h.own[HostName(host)] }

// Base returns the host name of the base URL, or "" if none is set.
func (h Hosts) Base() string { return h.base }

// ServesInstallation reports whether what belongs to the installation itself, such as the dashboard, is served at host,
// in the form of a Host header: at its own hosts or, without a base URL, at every host.
func (h Hosts) ServesInstallation(host string) bool { return h.base == "" || h.Contains(host) }

// CheckDomain adds an error to bad if a page cannot use the domain.
func (h Hosts) CheckDomain(bad *kernel.ValidationError, domain string) {
	domain = ASCIIDomain(domain)
	switch {
	case domain == "":
	case h.base == "":
		bad.Add("domain", "requires ALLSWELL_BASE_URL to be set")
	case h.Contains(domain):
		bad.Add("domain", "must not be a name of the installation itself (ALLSWELL_BASE_URL, ALLSWELL_OWN_HOSTS)")
	}
}

// SetHost sets the page's DomainStatus, and its Host if the page is served at its domain.
func (h Hosts) SetHost(p *Page) {
	p.Host = ""
	switch {
	case p.Domain == "":
		p.DomainStatus = ""
	case h.base == "" || h.Contains(p.Domain):
		p.DomainStatus = DomainDisabled
	case p.Claim.VerifiedAt.IsZero():
		p.DomainStatus = DomainPending
	case !p.Claim.FailedAt.IsZero():
		p.DomainStatus, p.Host = DomainFailing, p.Domain
	default:
		p.DomainStatus, p.Host = DomainVerified, p.Domain
	}
}

// HostName returns the host name from a Host header: in lower case, without port and trailing dot.
func HostName(host string) string {
	if colon := strings.LastIndexByte(host, ':'); colon > strings.LastIndexByte(host, ']') {
		host = host[:colon]
	}
	return strings.ToLower(strings.TrimSuffix(host, "."))
}
