package statuspage_test

import (
	"net/netip"
	"strings"
	"testing"

	"github.com/allswell/allswell/internal/domain/statuspage"
)

// TestDomainLookup compares answers for a domain and the host of the base URL.
func TestDomainLookup(t *testing.T) {
	host := func(name, cname, failure, addresses string) statuspage.ResolvedHost {
		h := statuspage.ResolvedHost{Name: name, CNAME: cname, Failure: statuspage.DomainLookupResult(failure)}
		for _, a := range strings.Fields(addresses) {
			h.Addresses = append(h.Addresses, netip.MustParseAddr(a))
		}
		return h
	}
	base := host("s.example", "", "", "198.51.100.4 2001:db8::4")
	const change = " Change the record: CNAME s.example, or A 198.51.100.4 and AAAA 2001:db8::4."
	seen := make(map[statuspage.DomainLookupResult]bool)
	for _, c := range []struct {
		domain, base statuspage.ResolvedHost
		result       statuspage.DomainLookupResult
		message      string
	}{
		{host("a.example", "", "", "2001:db8::4 198.51.100.4"), base, "match",
			"a.example points to this installation (198.51.100.4, 2001:db8::4)."},
		{host("a.example", "", "", "198.51.100.4"), base, "match",
			"a.example points to this installation (198.51.100.4)."},
		// addresses change
		{host("a.example", "s.example", "", "203.0.113.9"), base, "match",
			"a.example points to this installation (203.0.113.9)."},
		{host("a.example", "lb.example", "", "192.0.2.7"), host("s.example", "lb.example", "", "192.0.2.8"), "match",
			"a.example points to this installation (192.0.2.7)."},
		{host("a.example", "", "", "198.51.100.4 192.0.2.7"), base, "partial",
			"a.example points to s.example (198.51.100.4, 2001:db8::4), but also to 192.0.2.7. Remove that record, " +
				"or pass Host on from the proxy that answers there."},
		{host("a.example", "", "", "198.51.100.4 10.0.0.1"), base, "partial",
			"a.example points to s.example (198.51.100.4, 2001:db8::4), but also to a private address. Remove that " +
				"record, or pass Host on from the proxy that answers there."},
		{host("a.example", "", "", "192.0.2.7 10.0.0.1"), base, "elsewhere",
			"a.example points to 192.0.2.7, not to s.example (198.51.100.4, 2001:db8::4)." + change +
				" Or pass Host on from the proxy that answers there."},
		{host("a.example", "cdn.example", "", "192.0.2.7"), host("198.51.100.4", "", "", "198.51.100.4"), "elsewhere",
			"a.example points to cdn.example (192.0.2.7), not to 198.51.100.4. Change the record: A 198.51.100.4. Or " +
				"pass Host on from the proxy that answers there."},
		{host("a.example", "", "", "10.0.0.2"), host("s.example", "", "", "10.0.0.1"), "elsewhere",
			"a.example points to 10.0.0.2, not to s.example (10.0.0.1). Change the record: CNAME s.example, or A " +
				"10.0.0.1. Or pass Host on from the proxy that answers there."},
		{host("a.example", "", "", "10.0.0.1 127.0.0.1 fe80::1 ::1"), base, "private",
			"a.example points to a private address, which visitors cannot reach." + change},
		{host("a.example", "", "not_found", ""), base, "not_found",
			"a.example has no address in the DNS. Add a record:" + strings.TrimPrefix(change, " Change the record:")},
		{host("a.example", "typo.example", "not_found", ""), base, "not_found",
			"a.example is a CNAME of typo.example, which has no address in the DNS." + change},
		{host("a.example", "", "timeout", ""), base, "timeout",
			"The DNS did not answer within 5 seconds for a.example. Try again. If it happens again, check the name " +
				"servers of the domain."},
		{host("a.example", "", "failed", ""), base, "failed",
			"The DNS answered with an error for a.example. Check the name servers of the domain."},
		{host("a.example", "", "", "192.0.2.7"), host("s.example", "", "timeout", ""), "unknown_host",
			"a.example points to 192.0.2.7. Whether that is this installation is unknown: the DNS has no address of " +
				"s.example, the host of ALLSWELL_BASE_URL."},
		// the same name, but nothing is known of it
		{host("a.example", "s.example", "", "192.0.2.7"), host("s.example", "", "failed", ""), "unknown_host",
			"a.example points to s.example (192.0.2.7). Whether that is this installation is unknown: the DNS has no " +
				"address of s.example, the host of ALLSWELL_BASE_URL."},
		{host("a.example", "", "", "10.0.0.2"), host("s.example", "", "timeout", ""), "private",
			"a.example points to a private address, which visitors cannot reach. Change the record: CNAME s.example."},
		{host("a.example", "", "not_found", ""), host("198.51.100.4", "", "", "198.51.100.4 2001:db8::4"), "not_found",
			"a.example has no address in the DNS. Add a record: A 198.51.100.4, or AAAA 2001:db8::4."},
	} {
		l := statuspage.NewDomainLookup(c.domain, c.base)
		if l.Result != c.result || l.Message() != c.message {
			t.Errorf("%v, %v:\n%s: %s\nwant\n%s: %s", c.domain, c.base, l.Result, l.Message(), c.result, c.message)
		}
		seen[l.Result] = true
	}
	for _, r := range statuspage.DomainLookupResults {
		if !seen[r] {
			t.Errorf("%s was not tested", r)
		}
	}
	many := host("a.example", "", "", "")
	for a := netip.MustParseAddr("192.0.2.1"); len(many.Addresses) < 100; a = a.Next() {
		many.Addresses = append(many.Addresses, a, a)
	}
	if l := statuspage.NewDomainLookup(many, base); len(l.Addresses) != statuspage.MaxLookupAddresses {
		t.Errorf("%d addresses", len(l.Addresses))
	}
}
