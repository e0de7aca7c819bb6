package domains

import (
	"context"
	"errors"
	"net"
	"net/netip"
	"strings"
	"sync"

	"github.com/allswell/allswell/internal/domain/statuspage"
)

// lookUpAddresses looks up where a domain points to, and compares it with the host of the base
// URL. It takes at most statuspage.DomainLookupTimeout. It returns nil if no base URL is set.
func (d *Checker) lookUpAddresses(ctx context.Context, domain string) *statuspage.DomainLookup {
	base := strings.Trim(d.store.Hosts().Base(), "[]") // of an IPv6 address
	if base == "" {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, statuspage.DomainLookupTimeout)
	defer cancel()
	var host statuspage.ResolvedHost
	var running sync.WaitGroup
	running.Go(func() { host = d.resolve(ctx, base) })
	lookup := d.resolve(ctx, domain)
	running.Wait()
	out := statuspage.NewDomainLookup(lookup, host)
	return &out
}

// resolve looks up the canonical name and the addresses of a host: a name or an IP address.
func (d *Checker) resolve(ctx context.Context, name string) statuspage.ResolvedHost {
	out := statuspage.ResolvedHost{Name: name}
	if address, err := netip.ParseAddr(name); err == nil {
		out.Addresses = []netip.Addr{address.Unmap()}
		return out
	}
	var running sync.WaitGroup
	running.Go(func() {
		// Without an answer, the addresses alone decide.
		if cname, err := d.resolver.LookupCNAME(ctx, name+"."); err == nil {
			out.CNAME = statuspage.HostName(cname)
		}
	})
	addresses, err := d.resolver.LookupNetIP(ctx, "ip", name+".") // the trailing dot disables search domains
	running.Wait()
	if out.CNAME == name {
		out.CNAME = ""
	}
	for _, a := range addresses {
		out.Addresses = append(out.Addresses, a.Unmap())
	}
	if out.Failure = failure(ctx, err, len(addresses)); out.Failure != "" {
		d.log.Debug("looking up a host failed", "name", name, "error", err)
	}
	return out
}

// failure returns why a lookup found no addresses, or "" if it found some.
func failure(ctx context.Context, err error, addresses int) statuspage.DomainLookupResult {
	var dnsErr *net.DNSError
	switch {
	case err == nil && addresses > 0:
		return ""
	case err == nil, isNotFound(err):
		return statuspage.LookupNotFound
	case ctx.Err() != nil, errors.As(err, &dnsErr) && dnsErr.IsTimeout:
		return statuspage.LookupTimeout
	}
	return statuspage.LookupFailed
}

// isNotFound reports whether the DNS answered that a name, or a record of it, does not exist.
func isNotFound(err error) bool {
	var dnsErr *net.DNSError
	return errors.As(err, &dnsErr) && dnsErr.IsNotFound
}
