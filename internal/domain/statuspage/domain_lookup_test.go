package statuspage_test

import (
	"net/netip"
	"strings"
	"testing"

	"github.com/allswell/allswell/internal/domain/statuspage"
)

func resolvedHost(name, cname, failure, addresses string) statuspage.ResolvedHost {
	h := statuspage.ResolvedHost{Name: name, CNAME: cname, Failure: statuspage.DomainLookupResult(failure)}
	for _, a := range strings.Fields(addresses) {
		h.Addresses = append(h.Addresses, netip.MustParseAddr(a))
	}
	return h
}

var baseHost = resolvedHost("s.example", "", "", "198.51.100.4 2001:db8::4")

const changeRecord = " Change the record: CNAME s.example, or A 198.51.100.4 and AAAA 2001:db8::4."

// domainLookups are answers for a domain and the host of the base URL, and what is said about them.
var domainLookups = []struct {
	domain, base statuspage.ResolvedHost
	result       statuspage.DomainLookupResult
	message      string
}{
	{resolvedHost("a.example", "", "", "2001:db8::4 198.51.100.4"), baseHost, "match",
		"a.example points to this installation (198.51.100.4, 2001:db8::4)."},
	{resolvedHost("a.example", "", "", "198.51.100.4"), baseHost, "match",
		"a.example points to this installation (198.51.100.4)."},
	// addresses change
	{resolvedHost("a.example", "s.example", "", "203.0.113.9"), baseHost, "match",
		"a.example points to this installation (203.0.113.9)."},
	{resolvedHost("a.example", "lb.example", "", "192.0.2.7"), resolvedHost("s.example", "lb.example", "", "192.0.2.8"),
		"match",
		"a.example points to this installation (192.0.2.7)."},
	{resolvedHost("a.example", "", "", "198.51.100.4 192.0.2.7"), baseHost, "partial",
		"a.example points to s.example (198.51.100.4, 2001:db8::4), but also to 192.0.2.7. Remove that record, " +
			"or pass Host on from the proxy that answers there."},
	{resolvedHost("a.example", "", "", "198.51.100.4 10.0.0.1"), baseHost, "partial",
		"a.example points to s.example (198.51.100.4, 2001:db8::4), but also to a private address. Remove that " +
			"record, or pass Host on from the proxy that answers there."},
	{resolvedHost("a.example", "", "", "192.0.2.7 10.0.0.1"), baseHost, "elsewhere",
		"a.example points to 192.0.2.7, not to s.example (198.51.100.4, 2001:db8::4)." + changeRecord +
			" Or pass Host on from the proxy that answers there."},
	{resolvedHost("a.example", "cdn.example", "", "192.0.2.7"), resolvedHost("198.51.100.4", "", "", "198.51.100.4"),
		"elsewhere",
		"a.example points to cdn.example (192.0.2.7), not to 198.51.100.4. Change the record: A 198.51.100.4. Or " +
			"pass Host on from the proxy that answers there."},
	{resolvedHost("a.example", "", "", "10.0.0.2"), resolvedHost("s.example", "", "", "10.0.0.1"), "elsewhere",
		"a.example points to 10.0.0.2, not to s.example (10.0.0.1). Change the record: CNAME s.example, or A " +
			"10.0.0.1. Or pass Host on from the proxy that answers there."},
	{resolvedHost("a.example", "", "", "10.0.0.1 127.0.0.1 fe80::1 ::1"), baseHost, "private",
		"a.example points to a private address, which visitors cannot reach." + changeRecord},
	{resolvedHost("a.example", "", "not_found", ""), baseHost, "not_found",
		"a.example has no address in the DNS. Add a record:" + strings.TrimPrefix(changeRecord, " Change the record:")},
	{resolvedHost("a.example", "typo.example", "not_found", ""), baseHost, "not_found",
		"a.example is a CNAME of typo.example, which has no address in the DNS." + changeRecord},
	{resolvedHost("a.example", "", "timeout", ""), baseHost, "timeout",
		"The DNS did not answer within 5 seconds for a.example. Try again. If it happens again, check the name " +
			"servers of the domain."},
	{resolvedHost("a.example", "", "failed", ""), baseHost, "failed",
		"The DNS answered with an error for a.example. Check the name servers of the domain."},
	{resolvedHost("a.example", "", "", "192.0.2.7"), resolvedHost("s.example", "", "timeout", ""), "unknown_host",
		"a.example points to 192.0.2.7. Whether that is this installation is unknown: the DNS has no address of " +
			"s.example, the host of ALLSWELL_BASE_URL."},
	// the same name, but nothing is known of it
	{resolvedHost("a.example", "s.example", "", "192.0.2.7"), resolvedHost("s.example", "", "failed", ""),
		"unknown_host",
		"a.example points to s.example (192.0.2.7). Whether that is this installation is unknown: the DNS has no " +
			"address of s.example, the host of ALLSWELL_BASE_URL."},
	{resolvedHost("a.example", "", "", "10.0.0.2"), resolvedHost("s.example", "", "timeout", ""), "private",
		"a.example points to a private address, which visitors cannot reach. Change the record: CNAME s.example."},
	{resolvedHost("a.example", "", "not_found", ""), resolvedHost("198.51.100.4", "", "", "198.51.100.4 2001:db8::4"),
		"not_found",
		"a.example has no address in the DNS. Add a record: A 198.51.100.4, or AAAA 2001:db8::4."},
}

// TestDomainLookup checks every result of a lookup.
func TestDomainLookup(t *testing.T) {
	seen := make(map[statuspage.DomainLookupResult]bool)
	for _, c := range domainLookups {
		l := statuspage.NewDomainLookup(c.domain, c.base)
		if l.Result != c.result || l.Message() != c.message {
			t.Errorf("NewDomainLookup(%v, %v):\n%s: %s\nwant\n%s: %s", c.domain, c.base, l.Result, l.Message(),
				c.result, c.message)
		}
		seen[l.Result] = true
	}
	for _, r := range statuspage.DomainLookupResults {
		if !seen[r] {
			t.Errorf("%s was not tested", r)
		}
	}
}

func TestDomainLookupHasFewAddresses(t *testing.T) {
	many := resolvedHost("a.example", "", "", "")
	for a := netip.MustParseAddr("192.0.2.1"); len(many.Addresses) < 100; a = a.Next() {
		many.Addresses = append(many.Addresses, a, a)
	}
	if l := statuspage.NewDomainLookup(many, baseHost); len(l.Addresses) != statuspage.MaxLookupAddresses {
		t.Errorf("a lookup of many addresses has %d of them", len(l.Addresses))
	}
}
