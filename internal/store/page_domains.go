package store

import (
	"context"
	"time"

	"github.com/allswell/allswell/internal/domain/account"
	"github.com/allswell/allswell/internal/domain/kernel"
	"github.com/allswell/allswell/internal/domain/statuspage"
	"github.com/allswell/allswell/internal/store/database"
)

// Hosts returns the host names of the installation itself: Options.Hosts.
func (s *Store) Hosts() statuspage.Hosts { return s.hosts }

// claimDomain sets the claim of a page to its new domain: verified immediately in the first workspace, pending in
// others. The transaction holds the mutex of domains. It returns a *kernel.ValidationError if the page cannot have the
// domain.
func (t *tx) claimDomain(p *statuspage.Page) error {
	defer t.s.hosts.SetHost(p)
	p.Claim, p.Lookup = statuspage.DomainClaim{}, nil
	if p.Domain == "" {
		return nil
	}
	workspace, err := database.One(t.Session, database.ScanString, `SELECT name FROM workspaces WHERE id = $1`,
		p.WorkspaceID)
	if err != nil {
		return err
	}
	// A pending claim does not prevent claims of other workspaces. In the same workspace a second claim is a mistake.
	of, trusted := `workspace_id = $2`, workspace == account.DefaultWorkspace
	if trusted {
		of = `(workspace_id = $2 OR domain_verified_at IS NOT NULL)`
	}
	n, err := database.One(t.Session, database.ScanInt,
		`SELECT count(*) FROM pages WHERE domain = $1 AND `+of+` AND id <> $3`, p.Domain, p.WorkspaceID, p.ID)
	if err != nil {
		return err
	}
	if n > 0 {
		var bad kernel.ValidationError
		bad.Add("domain", "has already been taken")
		return bad.Err()
	}
	p.Claim = statuspage.NewDomainClaim(t.Now)
	if trusted {
		p.Claim = statuspage.NewTrustedDomainClaim(t.Now)
	} else {
		t.signal(effectDomainCheckDue)
	}
	return nil
}

// DomainCheck is a check of a page's domain that is due or was requested.
type DomainCheck struct {
	PageID      string
	WorkspaceID string
	Domain      string
	Actor       kernel.Actor             // who asked for it; zero: the service itself
	Trusted     bool                     // the domain needs no proof: the record is not looked for
	Lookup      *statuspage.DomainLookup // where the domain points to; nil: not looked up
}

// Record returns the record to look for.
func (c DomainCheck) Record() statuspage.DomainRecord {
	return statuspage.NewDomainRecord(c.PageID, c.Domain)
}

// domainLease is how long a replica has to complete the checks that it has begun. Then another replica may begin them.
const domainLease = 2 * time.Minute

// BeginDomainChecks returns up to limit checks of domains that are due, of each workspace in turn, beginning with the
// checks due longest. No other replica gets them for domainLease; call RecordDomainCheck for each within that time.
func (s *Store) BeginDomainChecks(ctx context.Context, limit int) ([]DomainCheck, error) {
	// Checks that are due later than any scheduled now were scheduled before the clock went back.
	const due = `(domain_check_at <= $1 OR domain_check_at > $2)`
	ahead := func(now time.Time) any { return millis(now.Add(statuspage.DomainCheckInterval + domainLease)) }
	now, err := s.Clock(ctx)
	if err != nil {
		return nil, err
	}
	if found, err := s.exists(ctx, `SELECT 1 FROM pages WHERE `+due, millis(now), ahead(now)); err != nil || !found {
		return nil, err
	}
	return write(ctx, s, func(t *tx) ([]DomainCheck, error) {
		if err := t.lockMutex(mutexDomains); err != nil {
			return nil, err
		}
		checks, err := database.Query(t.Session, func(row database.Row) (c DomainCheck, err error) {
			err = row.Scan(&c.PageID, &c.Domain, &c.WorkspaceID)
			return
		}, `SELECT id, domain, workspace_id FROM (SELECT id, domain, workspace_id, domain_check_at,
				row_number() OVER (PARTITION BY workspace_id ORDER BY domain_check_at, id) AS turn FROM pages
				WHERE `+due+`) AS due
			ORDER BY turn, domain_check_at, id LIMIT $3`, millis(t.Now), ahead(t.Now), limit)
		if err != nil || len(checks) == 0 {
			return nil, err
		}
		ids := make([]string, len(checks))
		for i, c := range checks {
			ids[i] = c.PageID
		}
		_, err = t.Exec(`UPDATE pages SET domain_check_at = $2 WHERE id IN EACH($1)`, list(ids),
			millis(t.Now.Add(domainLease)))
		return checks, err
	})
}

// RecordDomainCheck saves the result of a check, and where the domain points to if that was looked up, and returns the
// page with its status. The claim of a page that needs no proof, or was not checked (DomainUnchecked), does not change.
// If the page has been deleted or has another domain by now, it returns kernel.ErrNotFound. If the record was found but
// another page is served at the domain, that page is released from it if its own record was missing in its last check;
// otherwise the recorded result is statuspage.DomainUsedByOther.
func (s *Store) RecordDomainCheck(
	ctx context.Context, c DomainCheck, result statuspage.DomainResult, save ...SaveResponse[statuspage.Page],
) (statuspage.Page, error) {
	return writeAs(ctx, s, c.Actor, func(t *tx) (p statuspage.Page, err error) {
		t.skipBeforeReturn = true
		if err := t.lockMutex(mutexDomains); err != nil {
			return p, err
		}
		// In one statement, and so by id, also the page that may lose the domain.
		_, err = t.ids(
			`SELECT id FROM pages WHERE domain = $1 AND (id = $2 OR domain_verified_at IS NOT NULL) ORDER BY id
				FOR UPDATE`, c.Domain, c.PageID,
		)
		if err != nil {
			return p, err
		}
		p, err = t.page(`WHERE id = $1 AND domain = $2`, c.PageID, c.Domain)
		if err != nil {
			return p, err
		}
		if c.Lookup != nil {
			p.Lookup = new(*c.Lookup)
			p.Lookup.CheckedAt = t.Now
		}
		if p.Claim.Trusted() || result == statuspage.DomainUnchecked {
			if c.Lookup != nil {
				err = domainTable.update(t, &p)
			}
			return t.withStatus(p, err)
		}
		if result == statuspage.DomainFound && p.Claim.VerifiedAt.IsZero() {
			if result, err = t.acquireDomain(p); err != nil {
				return p, err
			}
		}
		change := p.Claim.Check(result, t.Now)
		s.hosts.SetHost(&p)
		if err := domainTable.update(t, &p); err != nil {
			return p, err
		}
		if err := t.domainChanged(p, change); err != nil {
			return p, err
		}
		return t.withStatus(p, nil)
	}, save...)
}

// acquireDomain releases the domain from another page whose record is missing, for a page
// that has proved it, and returns the result of the check.
func (t *tx) acquireDomain(p statuspage.Page) (statuspage.DomainResult, error) {
	others, err := t.pages(`WHERE domain = $1 AND domain_verified_at IS NOT NULL AND id <> $2`, p.Domain, p.ID)
	if err != nil || len(others) == 0 {
		return statuspage.DomainFound, err
	}
	for _, other := range others { // there is one at most
		if other.Claim.FailedAt.IsZero() {
			return statuspage.DomainUsedByOther, nil
		}
		other.Claim.Release()
		if err := domainTable.update(t, &other); err != nil {
			return "", err
		}
		if err := t.domainChanged(other, statuspage.DomainChangeReleased); err != nil {
			return "", err
		}
	}
	return statuspage.DomainFound, nil
}

// domainLogMessages are the log messages of changes.
var domainLogMessages = map[statuspage.DomainChange]string{
	statuspage.DomainChangeVerified:  "domain verified",
	statuspage.DomainChangeReleased:  "domain released: its TXT record is missing",
	statuspage.DomainChangeFailing:   "domain no longer verified: its TXT record is missing",
	statuspage.DomainChangeRecovered: "domain verified again",
}

// domainChanged logs a change, and makes a new version of the page if it is now served elsewhere.
func (t *tx) domainChanged(p statuspage.Page, change statuspage.DomainChange) error {
	if change == statuspage.DomainChangeNone {
		return nil
	}
	t.logAfter(domainLogMessages[change], "page", p.Slug, p.Domain)
	if change != statuspage.DomainChangeVerified && change != statuspage.DomainChangeReleased {
		return nil
	}
	return t.bumpVersion(p.ID)
}

// DisabledDomains returns the first pages, up to limit, that are not served at their domain
// because of the settings, and the number of all such pages.
func (s *Store) DisabledDomains(ctx context.Context, limit int) ([]statuspage.Page, int, error) {
	pages, err := read(ctx, s, func(c *session) ([]statuspage.Page, error) {
		return c.pages(`WHERE domain IS NOT NULL ORDER BY created_at, id`)
	})
	disabled := pages[:0]
	for _, p := range pages {
		if p.DomainStatus == statuspage.DomainDisabled {
			disabled = append(disabled, p)
		}
	}
	return disabled[:min(len(disabled), limit)], len(disabled), err
}
