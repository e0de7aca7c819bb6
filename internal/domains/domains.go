// Package domains proves that pages' own domains belong to their workspaces: a
// TXT record that allswell.NewDomainRecord names has to be in the DNS zone of the
// domain. Claims are checked when they are made, when users ask for it, and
// daily. No transaction is open while the DNS is asked.
package domains

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"sync"
	"time"

	"github.com/allswell/allswell"
	"github.com/allswell/allswell/internal/store"
)

const (
	// lookupTimeout bounds one lookup, including its repetitions and the wait for
	// one of maxLookups.
	lookupTimeout = 10 * time.Second

	// maxLookups is how many lookups a replica makes at the same time.
	maxLookups = 8

	// lookInterval is how often checks are looked for that are due.
	lookInterval = time.Minute
)

// Config is what a Checker needs.
type Config struct {
	Store  *store.Store
	Server string       // host and port of the DNS server to ask; "": those of the system
	Logger *slog.Logger // nil: discard
}

// Checker checks the domains of the pages of one store.
type Checker struct {
	store    *store.Store
	log      *slog.Logger
	resolver *net.Resolver
	timeout  time.Duration
	lookups  chan struct{} // holds one element for each lookup under way
	claimed  chan struct{} // there may be a check that is due
}

// New returns a Checker that checks nothing by itself before Run. It is to be
// called before the store serves.
func New(c Config) *Checker {
	d := &Checker{
		store: c.Store, log: c.Logger, resolver: &net.Resolver{PreferGo: true}, timeout: lookupTimeout,
		lookups: make(chan struct{}, maxLookups), claimed: make(chan struct{}, 1),
	}
	if d.log == nil {
		d.log = slog.New(slog.DiscardHandler)
	}
	if c.Server != "" {
		d.resolver.Dial = func(ctx context.Context, network, _ string) (net.Conn, error) {
			return new(net.Dialer).DialContext(ctx, network, c.Server)
		}
	}
	c.Store.OnDomainCheckDue(func() {
		select {
		case d.claimed <- struct{}{}:
		default: // it is going to look anyway
		}
	})
	return d
}

// Run makes the checks that are due until ctx ends. Of several replicas, one
// makes each check.
func (d *Checker) Run(ctx context.Context) {
	ticker := time.NewTicker(lookInterval)
	defer ticker.Stop()
	for {
		for d.CheckDue(ctx) == maxLookups { // there may be more
		}
		select {
		case <-ctx.Done():
			return
		case <-d.claimed:
		case <-ticker.C:
		}
	}
}

// CheckDue makes at most maxLookups checks that are due and returns how many
// were. Errors are logged; what failed is due again in two minutes.
func (d *Checker) CheckDue(ctx context.Context) int {
	checks, err := d.store.BeginDomainChecks(ctx, maxLookups)
	if err != nil {
		if ctx.Err() == nil {
			d.log.Log(ctx, store.LogLevel(err, slog.LevelWarn), "looking for domains to check failed", "error", err)
		}
		return 0
	}
	var running sync.WaitGroup
	for _, c := range checks {
		running.Go(func() {
			if _, err := d.check(ctx, c); err != nil && ctx.Err() == nil && !errors.Is(err, allswell.ErrNotFound) {
				d.log.Log(ctx, store.LogLevel(err, slog.LevelWarn), "recording the check of a domain failed", "domain", c.Domain, "error", err)
			}
		})
	}
	running.Wait()
	return len(checks)
}

// Verify checks the domain of a workspace's page now and returns the page with
// its status. Nothing is looked up if the domain needs no proof or was checked
// less than allswell.DomainCheckPause ago. A page without a domain is an
// *allswell.ValidationError.
func (d *Checker) Verify(ctx context.Context, actor allswell.Actor, slug string, save ...store.SaveResponse[allswell.Page]) (allswell.Page, error) {
	p, err := d.store.Page(ctx, actor, slug)
	if err != nil {
		return p, err
	}
	if p.Domain == "" {
		var bad allswell.ValidationError
		bad.Add("domain", "The page has no domain.")
		return p, bad.Err()
	}
	now, err := d.store.Clock(ctx)
	if err != nil {
		return p, err
	}
	check := store.DomainCheck{PageID: p.ID, Domain: p.Domain}
	if age := now.Sub(p.Claim.CheckedAt); p.Claim.Trusted() || age >= 0 && age < allswell.DomainCheckPause {
		return d.store.RecordDomainCheck(ctx, check, allswell.DomainUnchecked, save...)
	}
	return d.check(ctx, check, save...)
}

// check makes one check and records its result.
func (d *Checker) check(ctx context.Context, c store.DomainCheck, save ...store.SaveResponse[allswell.Page]) (allswell.Page, error) {
	result := d.lookUp(ctx, c.Record())
	if err := ctx.Err(); err != nil {
		return allswell.Page{}, err // it was interrupted, and says nothing
	}
	return d.store.RecordDomainCheck(ctx, c, result, save...)
}

// lookUp looks for a record in the DNS.
func (d *Checker) lookUp(ctx context.Context, record allswell.DomainRecord) allswell.DomainResult {
	ctx, cancel := context.WithTimeout(ctx, d.timeout)
	defer cancel()
	select {
	case d.lookups <- struct{}{}:
		defer func() { <-d.lookups }()
	case <-ctx.Done():
		return allswell.DomainNoAnswer
	}
	values, err := d.resolver.LookupTXT(ctx, record.Name+".") // with the dot no search list is tried
	var none *net.DNSError
	switch {
	case err == nil && record.Matches(values):
		return allswell.DomainFound
	case err == nil, errors.As(err, &none) && none.IsNotFound:
		return allswell.DomainMissing
	}
	d.log.Debug("looking up a TXT record failed", "name", record.Name, "error", err)
	return allswell.DomainNoAnswer
}
