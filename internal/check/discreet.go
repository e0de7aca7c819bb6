package check

import (
	"cmp"
	"context"
	"net"
	"net/netip"
	"slices"
	"strings"

	"github.com/miekg/dns"
	"golang.org/x/net/publicsuffix"

	"github.com/allswell/allswell/internal/shared/addressguard"
)

// maxInternalTargets is how many names in an answer are looked up to find out whether they are internal.
const maxInternalTargets = 30

// isInternalName reports whether a name is outside the public DNS, so that only this machine's own name server can know
// it: a single label, a name below none of the public top-level domains, or the reverse name of an address that is not
// public.
func isInternalName(name string) bool {
	name = strings.ToLower(strings.TrimSuffix(name, "."))
	if isBelow(name, "in-addr.arpa") || isBelow(name, "ip6.arpa") {
		addr, err := netip.ParseAddr(addressOfReverse(name))
		return err != nil || addressguard.CheckPublic(addr.Unmap()) != nil
	}
	if !strings.Contains(name, ".") || isBelow(name, "home.arpa") {
		return true
	}
	suffix, isICANN := publicsuffix.PublicSuffix(name)
	return !isICANN && !strings.Contains(suffix, ".") // a suffix with a dot is a private one below a public domain
}

func isBelow(name, domain string) bool { return name == domain || strings.HasSuffix(name, "."+domain) }

// isInternal reports whether an answer of this machine's name server may tell of its own network: it has an address
// that is not public, or leads to a name that is internal or has only such addresses. To the people who configure
// checks, such an answer must look like an answer without records.
func (r *run) isInternal(ctx context.Context, answer *dns.Msg) bool {
	if answer.Rcode != dns.RcodeSuccess || len(recordValues(answer, answer.Question[0].Qtype)) == 0 {
		return true
	}
	var names []string
	for _, record := range slices.Concat(answer.Answer, answer.Extra) {
		if isPrivateRecord(record) {
			return true
		}
		if name := dns.CanonicalName(targetOf(record)); name != "." && !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return len(names) > maxInternalTargets || slices.ContainsFunc(names, func(name string) bool {
		return r.leadsInside(ctx, name)
	})
}

func isPrivateRecord(record dns.RR) bool {
	var ip net.IP
	switch v := record.(type) {
	case *dns.A:
		ip = v.A
	case *dns.AAAA:
		ip = v.AAAA
	default:
		return false
	}
	addr, ok := netip.AddrFromSlice(ip)
	return !ok || addressguard.CheckPublic(addr.Unmap()) != nil
}

// targetOf returns the name to which a record leads, or "".
func targetOf(record dns.RR) string {
	switch v := record.(type) {
	case *dns.CNAME:
		return v.Target
	case *dns.MX:
		return v.Mx
	case *dns.SRV:
		return v.Target
	case *dns.NS:
		return v.Ns
	case *dns.PTR:
		return v.Ptr
	}
	return ""
}

// leadsInside reports whether a name is internal, or none of its addresses is public. It returns false if the name
// cannot be looked up.
func (r *run) leadsInside(ctx context.Context, name string) bool {
	if isInternalName(name) {
		return true
	}
	addresses, err := cmp.Or(r.network.Resolver, net.DefaultResolver).LookupNetIP(ctx, "ip", name)
	return err == nil && !slices.ContainsFunc(addresses, func(a netip.Addr) bool {
		return addressguard.CheckPublic(a.Unmap()) == nil
	})
}

// addressOfReverse returns the address that a name below in-addr.arpa or ip6.arpa is for, or "".
func addressOfReverse(name string) string {
	if labels, ok := strings.CutSuffix(name, ".in-addr.arpa"); ok {
		parts := strings.Split(labels, ".")
		slices.Reverse(parts)
		return strings.Join(parts, ".")
	}
	labels, ok := strings.CutSuffix(name, ".ip6.arpa")
	digits := strings.Split(labels, ".")
	if !ok || len(digits) != 32 {
		return ""
	}
	slices.Reverse(digits)
	var address strings.Builder
	for i, d := range digits {
		if i > 0 && i%4 == 0 {
			address.WriteByte(':')
		}
		address.WriteString(d)
	}
	return address.String()
}
