package domains

import (
	"context"
	"log/slog"
	"net"
	"net/netip"
	"reflect"
	"testing"
	"time"

	"github.com/allswell/allswell/internal/domain/statuspage"
	"github.com/allswell/allswell/internal/store"
	"github.com/allswell/allswell/internal/store/storetest"
	"golang.org/x/net/dns/dnsmessage"
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
			result  statuspage.DomainLookupResult
			cname   string
		}{
			{answers{
				domain + ".": {cname: domain + ".", addresses: addresses("198.51.100.4")}, "allswell.example.": base,
			}, statuspage.LookupMatch, ""},
			{answers{
				domain + ".": {cname: "CDN.example.", addresses: addresses("192.0.2.7")}, "allswell.example.": base,
			}, statuspage.LookupElsewhere, "cdn.example"},
			{answers{domain + ".": {err: &net.DNSError{IsNotFound: true}}, "allswell.example.": base},
				statuspage.LookupNotFound, ""},
			{answers{domain + ".": {err: &net.DNSError{IsTemporary: true}}, "allswell.example.": base},
				statuspage.LookupFailed, ""},
			{answers{domain + ".": {cname: domain + ".", addresses: addresses("192.0.2.7")}},
				statuspage.LookupUnknownHost, ""},
			{answers{"allswell.example.": base}, statuspage.LookupTimeout, ""},
		} {
			w.pass(time.Minute)
			w.resolver = c.answers
			p, err := w.verify()
			if err != nil || p.Lookup == nil || p.Lookup.Result != c.result || p.Lookup.CNAME != c.cname ||
				p.Lookup.CheckedAt.UnixMilli() != w.clock.Load() {
				w.Errorf("%s: %v, %+v", c.result, err, p.Lookup)
			}
			saved, err := w.store.Page(w.Context(), w.ws, "acme")
			if err != nil || saved.Lookup == nil || saved.Lookup.Result != c.result {
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
			result  statuspage.DomainLookupResult
		}{
			{func() {}, statuspage.LookupNotFound},
			{func() { w.dns.Fail(dnsmessage.RCodeServerFailure) }, statuspage.LookupFailed},
			{func() {
				w.dns.Fail(dnsmessage.RCodeSuccess)
				w.dns.Resolve([4]byte{192, 0, 2, 7})
			}, statuspage.LookupMatch},
			{func() { w.dns.Silence(); w.timeout = 50 * time.Millisecond }, statuspage.LookupTimeout},
		} {
			c.prepare()
			w.pass(time.Minute)
			if p, err := w.verify(); err != nil || p.Lookup == nil || p.Lookup.Result != c.result {
				w.Errorf("%s: %v, %+v", c.result, err, p.Lookup)
			}
		}
	})
}

// TestResolve checks what is known of a host after a lookup, by the answers of the DNS.
func TestResolve(t *testing.T) {
	t.Parallel()
	some, mapped := netip.MustParseAddr("192.0.2.7"), netip.MustParseAddr("::ffff:192.0.2.7")
	notFound := &net.DNSError{IsNotFound: true}
	for name, c := range map[string]struct {
		host   string
		answer answer
		want   statuspage.ResolvedHost
	}{
		"addresses": {"a.example", answer{addresses: []netip.Addr{mapped, some}},
			statuspage.ResolvedHost{Name: "a.example", Addresses: []netip.Addr{some, some}}},
		"an alias": {"a.example", answer{cname: "B.example.", addresses: []netip.Addr{some}},
			statuspage.ResolvedHost{Name: "a.example", CNAME: "b.example", Addresses: []netip.Addr{some}}},
		"its own name": {"a.example", answer{cname: "A.example.", addresses: []netip.Addr{some}},
			statuspage.ResolvedHost{Name: "a.example", Addresses: []netip.Addr{some}}},
		"no address": {"a.example", answer{},
			statuspage.ResolvedHost{Name: "a.example", Failure: statuspage.LookupNotFound}},
		"an alias of nothing": {"a.example", answer{cname: "b.example."},
			statuspage.ResolvedHost{Name: "a.example", CNAME: "b.example", Failure: statuspage.LookupNotFound}},
		"no such name": {"a.example", answer{err: notFound},
			statuspage.ResolvedHost{Name: "a.example", Failure: statuspage.LookupNotFound}},
		"a timeout of the DNS": {"a.example", answer{err: &net.DNSError{IsTimeout: true}},
			statuspage.ResolvedHost{Name: "a.example", Failure: statuspage.LookupTimeout}},
		"a failure": {"a.example", answer{err: &net.DNSError{IsTemporary: true}},
			statuspage.ResolvedHost{Name: "a.example", Failure: statuspage.LookupFailed}},
		"another error": {"a.example", answer{err: net.ErrClosed},
			statuspage.ResolvedHost{Name: "a.example", Failure: statuspage.LookupFailed}},
		"an address": {"192.0.2.7", answer{err: notFound},
			statuspage.ResolvedHost{Name: "192.0.2.7", Addresses: []netip.Addr{some}}},
		"a mapped address": {"::ffff:192.0.2.7", answer{err: notFound},
			statuspage.ResolvedHost{Name: "::ffff:192.0.2.7", Addresses: []netip.Addr{some}}},
	} {
		d := &Checker{resolver: answers{c.host + ".": c.answer}, log: slog.New(slog.DiscardHandler)}
		if got := d.resolve(t.Context(), c.host); !reflect.DeepEqual(got, c.want) {
			t.Errorf("%s: %+v, want %+v", name, got, c.want)
		}
	}
}

// TestLookUpWithoutABaseURL checks that nothing is looked up if there is nothing to compare with, and that an address
// may be the base.
func TestLookUpWithoutABaseURL(t *testing.T) {
	t.Parallel()
	found := answers{domain + ".": {addresses: []netip.Addr{netip.MustParseAddr("2001:db8::1")}}}
	for base, want := range map[string]statuspage.DomainLookupResult{
		"": "", "[2001:db8::1]:8443": statuspage.LookupMatch, "[2001:db8::2]": statuspage.LookupElsewhere,
	} {
		s := storetest.Open(t, storetest.SQLite(t), store.Options{Hosts: statuspage.NewHosts(base)})
		l := New(Config{Store: s, Resolver: found}).lookUpAddresses(t.Context(), domain)
		if (l == nil) != (want == "") || l != nil && l.Result != want {
			t.Errorf("base %q: %+v", base, l)
		}
	}
}
