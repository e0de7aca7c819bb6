// Package domains verifies that a page's own domain belongs to its workspace: the DNS
// zone of the domain must contain the TXT record of statuspage.NewDomainRecord. A domain
// is checked when it is set and on request, and daily if it needs this proof. Each check also finds out whether the
// domain points to the installation. No transaction is open during a DNS lookup.
package domains

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"net/netip"
	"sync"
	"time"

	"github.com/allswell/allswell/internal/domain/kernel"
	"github.com/allswell/allswell/internal/domain/statuspage"
	"github.com/allswell/allswell/internal/shared/fair"
	"github.com/allswell/allswell/internal/shared/trigger"
	"github.com/allswell/allswell/internal/store"
)

const (
	// lookupTimeout is the maximum duration of the lookups of one check, including retries and waiting for a slot.
	lookupTimeout = 10 * time.Second

	// maxLookups is the maximum number of concurrent checks of a replica; one workspace has at most half of them.
	// dueChecks is how many due checks begin together.
	maxLookups = 16
	dueChecks  = maxLookups / 2

	// maxWaiting is how many checks wait for a place.
	maxWaiting = 64

	// pollInterval is how often Run looks for due checks.
	pollInterval = time.Minute
)

// Resolver queries the DNS. *net.Resolver implements it.
type Resolver interface {
	LookupTXT(ctx context.Context, name string) ([]string, error)
	LookupCNAME(ctx context.Context, host string) (string, error)
	LookupNetIP(ctx context.Context, network, host string) ([]netip.Addr, error)
}

// Config is the configuration of a Checker.
type Config struct {
	Store    *store.Store
	Server   string       // host and port of the DNS server; "": the servers of the system
	Resolver Resolver     // nil: one that queries Server
	Logger   *slog.Logger // nil: discard
}

// Checker checks the domains of the pages of one store.
type Checker struct {
	store    *store.Store
	log      *slog.Logger
	resolver Resolver
	timeout  time.Duration
	lookups  *fair.Pool      // a place is a check under way
	due      trigger.Trigger // fired when a check may be due
}

// New returns a Checker. It checks nothing by itself until Run is called. Call New before the store is used.
func New(c Config) *Checker {
	d := &Checker{
		store: c.Store, log: c.Logger, resolver: c.Resolver, timeout: lookupTimeout,
		lookups: fair.NewPool(maxLookups, maxWaiting), due: trigger.New(),
	}
	if d.log == nil {
		d.log = slog.New(slog.DiscardHandler)
	}
	if d.resolver == nil {
		d.resolver = newResolver(c.Server)
	}
	c.Store.OnDomainCheckDue(d.due.Fire)
	return d
}

// newResolver returns a resolver that queries a server, or the servers of the system if it is "".
func newResolver(server string) *net.Resolver {
	r := &net.Resolver{PreferGo: true}
	if server != "" {
		r.Dial = func(ctx context.Context, network, _ string) (net.Conn, error) {
			return new(net.Dialer).DialContext(ctx, network, server)
		}
	}
	return r
}

// Run makes the due checks until ctx ends. Each check is made by one replica.
func (d *Checker) Run(ctx context.Context) {
	ticker := time.NewTicker(pollInterval)
	defer ticker.Stop()
	for {
		for d.CheckDue(ctx) == dueChecks { // there may be more
		}
		select {
		case <-ctx.Done():
			return
		case <-d.due:
		case <-ticker.C:
		}
	}
}

// CheckDue makes at most dueChecks due checks and returns their number. It logs errors. A check whose result is not
// recorded is due again in two minutes.
func (d *Checker) CheckDue(ctx context.Context) int {
	checks, err := d.store.BeginDomainChecks(ctx, dueChecks)
	if err != nil {
		if ctx.Err() == nil {
			d.log.Log(ctx, store.LogLevel(err, slog.LevelWarn), "finding due domain checks failed", "error", err)
		}
		return 0
	}
	var running sync.WaitGroup
	for _, c := range checks {
		running.Go(func() {
			if _, err := d.check(ctx, c); err != nil && ctx.Err() == nil && !errors.Is(err, kernel.ErrNotFound) {
				d.log.Log(ctx, store.LogLevel(err, slog.LevelWarn), "recording a domain check failed", "domain",
					c.Domain, "error", err)
			}
		})
	}
	running.Wait()
	return len(checks)
}

// Verify checks the domain of a workspace's page now and returns the page with its status. It looks for no record if
// the domain needs no proof, and makes no lookup if the domain was checked less than statuspage.DomainCheckPause ago.
// For a page without a domain, it returns a *kernel.ValidationError.
func (d *Checker) Verify(
	ctx context.Context, actor kernel.Actor, slug string, save ...store.SaveResponse[statuspage.Page],
) (statuspage.Page, error) {
	p, err := d.store.Page(ctx, actor, slug)
	if err != nil {
		return p, err
	}
	if p.Domain == "" {
		var bad kernel.ValidationError
		bad.Add("domain", "The page has no domain.")
		return p, bad.Err()
	}
	now, err := d.store.Clock(ctx)
	if err != nil {
		return p, err
	}
	check := store.DomainCheck{
		PageID: p.ID, WorkspaceID: p.WorkspaceID, Domain: p.Domain, Actor: actor, Trusted: p.Claim.Trusted(),
	}
	last := p.Claim.CheckedAt
	if p.Lookup != nil && p.Lookup.CheckedAt.After(last) {
		last = p.Lookup.CheckedAt
	}
	if age := now.Sub(last); age >= 0 && age < statuspage.DomainCheckPause {
		return d.store.RecordDomainCheck(ctx, check, statuspage.DomainUnchecked, save...)
	}
	return d.check(ctx, check, save...)
}

// check makes one check and records its result.
func (d *Checker) check(
	ctx context.Context, c store.DomainCheck, save ...store.SaveResponse[statuspage.Page],
) (statuspage.Page, error) {
	result := d.lookUpAll(ctx, &c)
	if err := ctx.Err(); err != nil {
		return statuspage.Page{}, err // the lookup was interrupted: there is no result
	}
	return d.store.RecordDomainCheck(ctx, c, result, save...)
}

// lookUpAll looks for the record of a check, and sets its Lookup.
func (d *Checker) lookUpAll(ctx context.Context, c *store.DomainCheck) statuspage.DomainResult {
	ctx, cancel := context.WithTimeout(ctx, d.timeout)
	defer cancel()
	result := statuspage.DomainUnchecked
	release, err := d.lookups.Acquire(ctx, fair.Workspace(c.WorkspaceID))
	if err != nil {
		if !c.Trusted {
			result = statuspage.DomainNoAnswer
		}
		return result
	}
	defer release()
	domain, record := c.Domain, c.Record()
	var running sync.WaitGroup
	running.Go(func() { c.Lookup = d.lookUpAddresses(ctx, domain) })
	if !c.Trusted {
		result = d.lookUpRecord(ctx, record)
	}
	running.Wait()
	return result
}

// lookUpRecord looks up a record in the DNS.
func (d *Checker) lookUpRecord(ctx context.Context, record statuspage.DomainRecord) statuspage.DomainResult {
	values, err := d.resolver.LookupTXT(ctx, record.Name+".") // the trailing dot disables search domains
	switch {
	case err == nil && record.Matches(values):
		return statuspage.DomainFound
	case err == nil, isNotFound(err):
		return statuspage.DomainMissing
	}
	d.log.Debug("looking up a TXT record failed", "name", record.Name, "error", err)
	return statuspage.DomainNoAnswer
}
