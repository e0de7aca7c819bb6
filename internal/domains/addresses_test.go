package domains

import (
	"context"
	"net"
	"net/netip"
	"testing"
	"time"

	"golang.org/x/net/dns/dnsmessage"

	"github.com/allswell/allswell"
)

// answers is a Resolver with an answer for each name. It waits for the end of the context without one.
type answers map[string]answer

type answer struct {
	cname     string
	addresses []netip.Addr
	err       error
}

func (answers) LookupTXT(context.Context, string) ([]string, error) {
	return nil, &net.DNSError{IsNotFound: true}
}

func (a answers) LookupCNAME(_ context.Context, host string) (string, error) {
	return a[host].cname, a[host].err
}

func (a answers) LookupNetIP(ctx context.Context, _, host string) ([]netip.Addr, error) {
	if _, ok := a[host]; !ok {
		<-ctx.Done()
		return nil, ctx.Err()
	}
	return a[host].addresses, a[host].err
}

// TestLookUpAddresses checks the lookups that a check makes and saves.
func TestLookUpAddresses(t *testing.T) {
	t.Parallel()
	addresses := func(s string) []netip.Addr { return []netip.Addr{netip.MustParseAddr(s)} }
	base := answer{cname: "allswell.example.", addresses: addresses("::ffff:198.51.100.4")}
	run(t, func(w *world) {
		w.timeout = 50 * time.Millisecond
		for _, c := range []struct {
			answers answers
			result  allswell.DomainLookupResult
			cname   string
		}{
			{answers{domain + ".": {cname: domain + ".", addresses: addresses("198.51.100.4")}, "allswell.example.": base}, allswell.LookupMatch, ""},
			{answers{domain + ".": {cname: "CDN.example.", addresses: addresses("192.0.2.7")}, "allswell.example.": base}, allswell.LookupElsewhere, "cdn.example"},
			{answers{domain + ".": {err: &net.DNSError{IsNotFound: true}}, "allswell.example.": base}, allswell.LookupNotFound, ""},
			{answers{domain + ".": {err: &net.DNSError{IsTemporary: true}}, "allswell.example.": base}, allswell.LookupFailed, ""},
			{answers{domain + ".": {cname: domain + ".", addresses: addresses("192.0.2.7")}}, allswell.LookupUnknownHost, ""},
			{answers{"allswell.example.": base}, allswell.LookupTimeout, ""},
		} {
			w.pass(time.Minute)
			w.resolver = c.answers
			p, err := w.verify()
			if err != nil || p.Lookup == nil || p.Lookup.Result != c.result || p.Lookup.CNAME != c.cname || p.Lookup.CheckedAt.UnixMilli() != w.clock.Load() {
				w.Errorf("%s: %v, %+v", c.result, err, p.Lookup)
			}
			if saved, err := w.store.Page(w.Context(), w.ws, "acme"); err != nil || saved.Lookup == nil || saved.Lookup.Result != c.result {
				w.Errorf("%s was not saved: %v, %+v", c.result, err, saved.Lookup)
			}
		}
	})
}

// TestLookUpAddressesAtAServer queries a real DNS server.
func TestLookUpAddressesAtAServer(t *testing.T) {
	run(t, func(w *world) {
		for _, c := range []struct {
			prepare func()
			result  allswell.DomainLookupResult
		}{
			{func() {}, allswell.LookupNotFound},
			{func() { w.dns.Fail(dnsmessage.RCodeServerFailure) }, allswell.LookupFailed},
			{func() { w.dns.Fail(dnsmessage.RCodeSuccess); w.dns.Resolve([4]byte{192, 0, 2, 7}) }, allswell.LookupMatch},
			{func() { w.dns.Silence(); w.timeout = 50 * time.Millisecond }, allswell.LookupTimeout},
		} {
			c.prepare()
			w.pass(time.Minute)
			if p, err := w.verify(); err != nil || p.Lookup == nil || p.Lookup.Result != c.result {
				w.Errorf("%s: %v, %+v", c.result, err, p.Lookup)
			}
		}
	})
}
