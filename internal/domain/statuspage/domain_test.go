package statuspage_test

import (
	"strings"
	"testing"
	"time"

	"github.com/allswell/allswell/internal/domain/domaintest"
	"github.com/allswell/allswell/internal/domain/kernel"
	"github.com/allswell/allswell/internal/domain/statuspage"
)

// TestHostName checks which Host headers name the same host.
func TestHostName(t *testing.T) {
	for host, want := range map[string]string{
		"": "", "status.acme.example": "status.acme.example", "STATUS.Acme.example": "status.acme.example",
		"status.acme.example:8443": "status.acme.example",
		"status.acme.example.":     "status.acme.example", "Status.acme.example.:80": "status.acme.example",
		"[::1]:80": "[::1]", "[::1]": "[::1]", ":80": "",
	} {
		if got := statuspage.HostName(host); got != want {
			t.Errorf("HostName(%q) = %q, want %q", host, got, want)
		}
	}
}

// TestHosts checks which domains a page can have, and where it is served.
func TestHosts(t *testing.T) {
	verified := statuspage.NewTrustedDomainClaim(domaintest.T1)
	failing := verified
	failing.CheckAt = domaintest.T1
	failing.Check(statuspage.DomainMissing, domaintest.T1)
	hosts := statuspage.NewHosts("Status.Example:8443", "alias.example.", "", "LOCALHOST:8080")
	for _, c := range []struct {
		hosts  statuspage.Hosts
		domain string
		claim  statuspage.DomainClaim
		allow  bool
		status statuspage.DomainStatus
		served bool
	}{
		{hosts, "", statuspage.DomainClaim{}, true, "", false},
		{hosts, "a.example", verified, true, statuspage.DomainVerified, true},
		{hosts, "a.example", failing, true, statuspage.DomainFailing, true},
		{hosts, "a.example", statuspage.NewDomainClaim(domaintest.T1), true, statuspage.DomainPending, false},
		{hosts, "www.status.example", verified, true, statuspage.DomainVerified, true},
		{hosts, "status.example", verified, false, statuspage.DomainDisabled, false},
		{hosts, "alias.example", verified, false, statuspage.DomainDisabled, false},
		{hosts, "localhost", verified, false, statuspage.DomainDisabled, false},
		{statuspage.Hosts{}, "a.example", verified, false, statuspage.DomainDisabled, false},
		{statuspage.NewHosts("", "alias.example"), "a.example", verified, false, statuspage.DomainDisabled, false},
		{statuspage.NewHosts("", "alias.example"), "", verified, true, "", false},
	} {
		var bad kernel.ValidationError
		c.hosts.CheckDomain(&bad, c.domain)
		p := statuspage.Page{Slug: "acme", Domain: c.domain, Claim: c.claim, Host: "old.example", DomainStatus: "old"}
		c.hosts.SetHost(&p)
		want := "https://base.example/status/acme"
		if c.served {
			want = "https://" + c.domain
		}
		if (bad.Err() == nil) != c.allow || p.DomainStatus != c.status ||
			(p.Host == c.domain && c.domain != "") != c.served || p.URL("https://base.example") != want {
			t.Errorf("domain %+v: problems %v, status %q at the host %q, URL %s", c, bad.Err(), p.DomainStatus, p.Host,
				p.URL("https://base.example"))
		}
	}
}

// TestHostsOfTheInstallation checks at which hosts the installation itself is served, and which names no page may have.
func TestHostsOfTheInstallation(t *testing.T) {
	named := statuspage.NewHosts("Status.Example:8443", "alias.example.", "", "bücher.example", "xn--bcher-kva.example")
	for host, own := range map[string]bool{
		"status.example": true, "STATUS.example.:80": true, "alias.example": true, "a.example": false, "": false,
		":80": false, "xn--bcher-kva.example": true,
	} {
		if named.Contains(host) != own || named.ServesInstallation(host) != own {
			t.Errorf("%q: contained %v, served %v; want %v", host, named.Contains(host), named.ServesInstallation(host),
				own)
		}
		for _, unnamed := range []statuspage.Hosts{
			{}, statuspage.NewHosts(""), statuspage.NewHosts("", "alias.example"),
		} {
			if !unnamed.ServesInstallation(host) ||
				unnamed.Contains(host) != (host == "alias.example" && unnamed.Contains("alias.example")) {
				t.Errorf("without a base URL %q: served %v, contained %v", host, unnamed.ServesInstallation(host),
					unnamed.Contains(host))
			}
		}
	}
	for domain, want := range map[string]string{
		"a.example": "",
		"Bücher.example": "The domain must not be a name of the installation itself (ALLSWELL_BASE_URL, " +
			"ALLSWELL_OWN_HOSTS).",
		"Status.Example": "The domain must not be a name of the installation itself (ALLSWELL_BASE_URL, " +
			"ALLSWELL_OWN_HOSTS).",
	} {
		var bad kernel.ValidationError
		named.CheckDomain(&bad, domain)
		if got := strings.Join(bad.Messages()["domain"], " "); got != want {
			t.Errorf("problems of the domain %q: %q, want %q", domain, got, want)
		}
	}
}

func TestDomainRecord(t *testing.T) {
	r := statuspage.NewDomainRecord("page_1", "status.acme.example")
	if r.Name != "_allswell-challenge.status.acme.example" ||
		r != statuspage.NewDomainRecord("page_1", "status.acme.example") {
		t.Errorf("NewDomainRecord = %+v", r)
	}
	token, ok := strings.CutPrefix(r.Value, "allswell-verification=")
	if !ok || len(token) != 32 || strings.Trim(token, "abcdefghijklmnopqrstuvwxyz234567") != "" {
		t.Errorf("value %q", r.Value)
	}
	if r.Value == statuspage.NewDomainRecord("page_2", "status.acme.example").Value ||
		r.Value == statuspage.NewDomainRecord("page_1", "acme.example").Value {
		t.Error("two pages, or two domains, have the same record")
	}
	for value, want := range map[string]bool{
		r.Value: true, " " + r.Value + "\t": true, "": false, token: false, r.Value + "x": false,
		strings.ToUpper(r.Value): false,
	} {
		if got := r.Matches([]string{"v=spf1 -all", value}); got != want {
			t.Errorf("Matches(%q) = %t", value, got)
		}
	}
	longest := strings.Repeat("abc.", 56) + "a.example"
	name := statuspage.NewDomainRecord("page_1", longest).Name
	if !statuspage.ValidDomain(longest) || len(name) != 253 {
		t.Errorf("the record of the longest domain has a name of %d characters", len(name))
	}
}

// claimStep is a check of a domain, and what it changes.
type claimStep struct {
	at      time.Duration // since the claim
	result  statuspage.DomainResult
	change  statuspage.DomainChange
	served  bool
	release time.Duration // 0: none
	next    time.Duration // until the next check
}

// Short names for domainClaims.
const (
	hour, day = time.Hour, 24 * time.Hour
	found     = statuspage.DomainFound
	missing   = statuspage.DomainMissing
	noAnswer  = statuspage.DomainNoAnswer
	taken     = statuspage.DomainUsedByOther
	same      = statuspage.DomainChangeNone
)

// domainClaims are sequences of checks of a domain.
var domainClaims = map[string][]claimStep{
	"the record is published late": {{0, missing, same, false, 0, hour},
		{23 * hour, noAnswer, same, false, 0, hour},
		{day, missing, same, false, 0, day}, {2 * day, taken, same, false, 0, day},
		{3 * day, found, statuspage.DomainChangeVerified, true, 0, day}, {4 * day, found, same, true, 0, day}},
	"the record disappears": {{0, found, statuspage.DomainChangeVerified, true, 0, day},
		{day, missing, statuspage.DomainChangeFailing, true, 8 * day, day},
		{7*day + hour, missing, same, true, 8 * day, 23 * hour}, {8*day - 1, missing, same, true, 8 * day, 1},
		{8 * day, missing, statuspage.DomainChangeReleased, false, 0, day},
		{9 * day, found, statuspage.DomainChangeVerified, true, 0, day}},
	"the record returns": {{0, found, statuspage.DomainChangeVerified, true, 0, day},
		{day, missing, statuspage.DomainChangeFailing, true, 8 * day, day},
		{2 * day, found, statuspage.DomainChangeRecovered, true, 0, day},
		{8 * day, missing, statuspage.DomainChangeFailing, true, 15 * day, day}},
	"no answer changes nothing": {{0, found, statuspage.DomainChangeVerified, true, 0, day},
		{day, noAnswer, same, true, 0, hour}, {30 * day, noAnswer, same, true, 0, hour},
		{31 * day, missing, statuspage.DomainChangeFailing, true, 38 * day, day},
		{38 * day, noAnswer, same, true, 38 * day, hour}, {60 * day, noAnswer, same, true, 38 * day, hour},
		{61 * day, missing, statuspage.DomainChangeReleased, false, 0, day}},
	"the clock goes back": {{10 * day, found, statuspage.DomainChangeVerified, true, 0, day},
		{11 * day, missing, statuspage.DomainChangeFailing, true, 18 * day, day},
		{hour, missing, same, true, 7*day + hour, day}},
}

// TestDomainClaim checks a domain again and again.
func TestDomainClaim(t *testing.T) {
	for name, steps := range domainClaims {
		t.Run(name, func(t *testing.T) {
			c := statuspage.NewDomainClaim(domaintest.T1)
			for i, s := range steps {
				now := domaintest.T1.Add(s.at)
				change := c.Check(s.result, now)
				var release time.Duration
				if !c.ReleaseAt().IsZero() {
					release = c.ReleaseAt().Sub(domaintest.T1)
				}
				if change != s.change || c.VerifiedAt.IsZero() == s.served || release != s.release ||
					c.CheckAt.Sub(now) != s.next ||
					!c.CheckedAt.Equal(now) || c.Result != s.result || c.Trusted() {
					t.Fatalf("step %d: change %d, release %v, next %v, %+v", i, change, release, c.CheckAt.Sub(now), c)
				}
			}
		})
	}
}

func TestNewDomainClaims(t *testing.T) {
	c := statuspage.NewTrustedDomainClaim(domaintest.T1)
	if !c.Trusted() || c != (statuspage.DomainClaim{ClaimedAt: domaintest.T1, VerifiedAt: domaintest.T1}) {
		t.Errorf("a trusted claim: %+v", c)
	}
	c = statuspage.NewDomainClaim(domaintest.T1)
	if c.Trusted() || c != (statuspage.DomainClaim{ClaimedAt: domaintest.T1, CheckAt: domaintest.T1}) {
		t.Errorf("a claim: %+v", c)
	}
	if (statuspage.DomainClaim{}).Trusted() {
		t.Error("the claim of a page without a domain is trusted")
	}
}
