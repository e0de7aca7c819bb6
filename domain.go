package allswell

import (
	"crypto/sha256"
	"encoding/base32"
	"slices"
	"strings"
	"time"
)

// How often a page's claim to its domain is checked, and how long it keeps a
// domain that is no longer proved.
const (
	// DomainCheckInterval is the time between two checks.
	DomainCheckInterval = 24 * time.Hour

	// DomainFirstInterval is the time between two checks of a claim that is
	// younger than DomainCheckInterval and not verified, and the time until a
	// check is repeated that got no answer from the DNS.
	DomainFirstInterval = time.Hour

	// DomainGrace is how long a verified domain is served after a check first
	// found its record missing.
	DomainGrace = 7 * 24 * time.Hour

	// DomainCheckPause is the shortest time between two checks of one page
	// that users ask for.
	DomainCheckPause = 10 * time.Second
)

// The TXT record that proves a domain: its name is domainChallenge and the
// domain, its value is domainProof and DomainToken.
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
	DomainPending  DomainStatus = "pending"  // the page is not served there before the domain is proved
	DomainDisabled DomainStatus = "disabled" // the page is not served there because of the installation's settings
)

// DomainStatuses lists the domain statuses.
var DomainStatuses = []DomainStatus{DomainVerified, DomainFailing, DomainPending, DomainDisabled}

// DomainResult is what a check of a page's domain found.
type DomainResult string

// The results of checks.
const (
	DomainUnchecked   DomainResult = ""              // no check yet
	DomainFound       DomainResult = "found"         // the record is there
	DomainMissing     DomainResult = "missing"       // the DNS answered that the record is not there
	DomainNoAnswer    DomainResult = "no_answer"     // the DNS did not answer, or with a failure; proves nothing
	DomainUsedByOther DomainResult = "used_by_other" // the record is there, but another page is served at the domain
)

// DomainResults lists the results of checks that were made.
var DomainResults = []DomainResult{DomainFound, DomainMissing, DomainNoAnswer, DomainUsedByOther}

// DomainClaim is how far a page has proved that its Domain is its own. The zero
// DomainClaim is that of a page without a domain.
type DomainClaim struct {
	ClaimedAt  time.Time // when the page was given the domain
	VerifiedAt time.Time // since when the domain is the page's; zero: not proved
	CheckedAt  time.Time // when it was last checked; zero: never
	FailedAt   time.Time // when the record was first missing since it was last found; zero: not, or not verified
	CheckAt    time.Time // when it is checked next; zero: never, because no proof is needed
	Result     DomainResult
}

// NewDomainClaim returns the claim of a page that has to prove a domain. It is due
// to be checked at once.
func NewDomainClaim(now time.Time) DomainClaim { return DomainClaim{ClaimedAt: now, CheckAt: now} }

// NewTrustedDomainClaim returns the claim of a page whose domain is taken on trust.
func NewTrustedDomainClaim(now time.Time) DomainClaim {
	return DomainClaim{ClaimedAt: now, VerifiedAt: now}
}

// Trusted reports whether the claim needs no proof.
func (c DomainClaim) Trusted() bool { return !c.VerifiedAt.IsZero() && c.CheckAt.IsZero() }

// ReleaseAt returns when the grace period of a failing domain ends: the first
// check from then on that finds the record missing releases the domain. It
// returns the zero Time if the domain is not failing.
func (c DomainClaim) ReleaseAt() time.Time {
	if c.FailedAt.IsZero() {
		return time.Time{}
	}
	return c.FailedAt.Add(DomainGrace)
}

// DomainChange is what a check changed.
type DomainChange int

// The changes.
const (
	DomainChangeNone      DomainChange = iota
	DomainChangeVerified               // the page is served at the domain from now on
	DomainChangeFailing                // the grace period begins
	DomainChangeRecovered              // the grace period ended because the record is there again
	DomainChangeReleased               // the page is no longer served at the domain
)

// Check records the result of a check made at now and returns what it changed.
// DomainNoAnswer changes neither whether the domain is served nor its grace
// period.
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

// DomainRecord is the TXT record that proves a page's domain.
type DomainRecord struct {
	Name  string // without a dot at its end
	Value string
}

// NewDomainRecord returns the record that proves that domain belongs to the page
// with this id. It is the same whenever the page claims the domain, and another
// one for every other page. It is no secret: only who controls the DNS zone of
// the domain can publish it.
func NewDomainRecord(pageID, domain string) DomainRecord {
	sum := sha256.Sum256([]byte("allswell domain\n" + pageID + "\n" + domain))
	token := strings.ToLower(base32.StdEncoding.WithPadding(base32.NoPadding).EncodeToString(sum[:20]))
	return DomainRecord{Name: domainChallenge + domain, Value: domainProof + token}
}

// Matches reports whether one of the values of TXT records is that of r. White
// space around a value is ignored.
func (r DomainRecord) Matches(values []string) bool {
	return slices.ContainsFunc(values, func(v string) bool { return strings.TrimSpace(v) == r.Value })
}

// Hosts are the host names of the installation itself, which are no page's own
// domain. With the zero Hosts, which is of an installation without a base URL,
// no page is served at a domain.
type Hosts struct {
	base string
	own  map[string]bool
}

// NewHosts returns the hosts of an installation: the host name of its base URL,
// or "" if none is set, and its other names. Names are as they stand in a Host
// header, in ASCII; case, a port and a dot at the end do not matter.
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

// Own reports whether a host, as it stands in a Host header, is one of the
// installation itself.
func (h Hosts) Contains(host string) bool { return h.own[HostName(host)] }

// Allow names what is wrong with domain as a page's own, if anything is.
func (h Hosts) CheckDomain(bad *ValidationError, domain string) {
	switch {
	case domain == "":
	case h.base == "":
		bad.Add("domain", "The domain needs an installation with ALLSWELL_BASE_URL set.")
	case h.Contains(domain):
		bad.Add("domain", "The domain must not be a name of the installation itself (ALLSWELL_BASE_URL, ALLSWELL_OWN_HOSTS).")
	}
}

// Place sets DomainStatus and Host of a page: the state of its claim to its
// domain, and the domain if the page is served there.
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

// HostName returns a host as it stands in a Host header, without its port, in
// lower case and without the dot that may end it.
func HostName(host string) string {
	if colon := strings.LastIndexByte(host, ':'); colon > strings.LastIndexByte(host, ']') {
		host = host[:colon]
	}
	return strings.ToLower(strings.TrimSuffix(host, "."))
}
