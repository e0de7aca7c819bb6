package store

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"slices"

	"github.com/allswell/allswell/internal/domain/kernel"
	"github.com/allswell/allswell/internal/domain/statuspage"
	"github.com/allswell/allswell/internal/resource"
	"github.com/allswell/allswell/internal/resource/field"
	"github.com/allswell/allswell/internal/resource/rights"
	"github.com/allswell/allswell/internal/store/database"
)

// pageTable has pages. Their images have a table of their own.
var pageTable = newTable("pages", resource.Page, append(asRead(domainTable.columns),
	column[statuspage.Page]{name: "workspace_id", at: func(p *statuspage.Page) any {
		return &p.WorkspaceID
	}, fixed: true},
	column[statuspage.Page]{name: "footer", at: func(p *statuspage.Page) any {
		return listOf[statuspage.FooterLink]{&p.Footer}
	}},
	column[statuspage.Page]{name: "version", at: func(p *statuspage.Page) any { return &p.Version }, fixed: true},
	column[statuspage.Page]{name: "access_members", at: func(p *statuspage.Page) any { return &p.Access.Members }},
	column[statuspage.Page]{name: "access_networks", at: func(p *statuspage.Page) any {
		return listOf[netip.Prefix]{&p.Access.Networks}
	}},
	column[statuspage.Page]{name: "access_password_hash", at: func(p *statuspage.Page) any {
		return &p.Access.PasswordHash
	}, null: true},
	column[statuspage.Page]{name: "access_password_set_at", at: func(p *statuspage.Page) any {
		return &p.Access.PasswordSetAt
	}},
	column[statuspage.Page]{name: "access_link_hash", at: func(p *statuspage.Page) any {
		return &p.Access.LinkHash
	}, null: true},
	column[statuspage.Page]{name: "access_link_created_at", at: func(p *statuspage.Page) any {
		return &p.Access.LinkCreatedAt
	}},
	column[statuspage.Page]{
		name: `(SELECT name FROM page_images WHERE page_images.page_id = pages.id AND kind = 'logo')`,
		at: func(p *statuspage.Page) any {
			return &p.Logo
		}, read: true, null: true,
	},
	column[statuspage.Page]{
		name: `(SELECT name FROM page_images WHERE page_images.page_id = pages.id AND kind = 'logo_dark')`,
		at: func(p *statuspage.Page) any {
			return &p.LogoDark
		}, read: true, null: true,
	},
	column[statuspage.Page]{
		name: `(SELECT name FROM page_images WHERE page_images.page_id = pages.id AND kind = 'icon')`,
		at: func(p *statuspage.Page) any {
			return &p.Icon
		}, read: true, null: true,
	},
)...)

// domainTable has the domains of pages, which are checked while others change the pages.
var domainTable = tableOf("pages", resource.Page.ID, []column[statuspage.Page]{
	{name: "domain", at: func(p *statuspage.Page) any { return &p.Domain }, null: true},
	{name: "domain_claimed_at", at: func(p *statuspage.Page) any { return &p.Claim.ClaimedAt }},
	{name: "domain_verified_at", at: func(p *statuspage.Page) any { return &p.Claim.VerifiedAt }},
	{name: "domain_checked_at", at: func(p *statuspage.Page) any { return &p.Claim.CheckedAt }},
	{name: "domain_failed_at", at: func(p *statuspage.Page) any { return &p.Claim.FailedAt }},
	{name: "domain_check_at", at: func(p *statuspage.Page) any { return &p.Claim.CheckAt }},
	{name: "domain_result", at: func(p *statuspage.Page) any { return &p.Claim.Result }},
	{name: "domain_lookup", at: func(p *statuspage.Page) any { return jsonOf[statuspage.DomainLookup]{&p.Lookup} }},
})

// asRead returns columns that other statements save.
func asRead[T any](columns []column[T]) []column[T] {
	columns = slices.Clone(columns)
	for i := range columns {
		columns[i].read = true
	}
	return columns
}

// pages loads pages. rest is the statement from WHERE on.
func (c *session) pages(rest string, args ...any) ([]statuspage.Page, error) {
	pages, err := database.Query(c.Session, pageTable.scan, `SELECT `+pageTable.selected+` FROM pages `+rest, args...)
	c.fillHosts(pages)
	return pages, err
}

// page loads the page that rest selects, or returns ErrNotFound.
func (c *session) page(rest string, args ...any) (statuspage.Page, error) {
	pages, err := c.pages(rest, args...)
	if err == nil && len(pages) == 0 {
		err = kernel.ErrNotFound
	}
	if err != nil {
		return statuspage.Page{}, err
	}
	return pages[0], nil
}

// fillHosts sets the fields that depend on the settings: where pages are served.
func (c *session) fillHosts(pages []statuspage.Page) {
	for i := range pages {
		c.s.hosts.SetHost(&pages[i])
	}
}

// pageBySlug finds a workspace's page.
func (c *session) pageBySlug(actor kernel.Actor, slug string) (statuspage.Page, error) {
	r := accessOf(actor)
	return c.page(`WHERE slug = $1 AND `+r.pages(2), slug, r.arg)
}

// Pages lists a workspace's pages that match the filter, with their statuses, oldest first.
func (s *Store) Pages(ctx context.Context, actor kernel.Actor, f Filter, r Pagination) ([]statuspage.Page, int, error) {
	fill := func(c *session, pages []statuspage.Page) error {
		c.fillHosts(pages)
		return c.fillStatus(pages)
	}
	access := accessOf(actor)
	from, args := f.from(`FROM pages WHERE `+access.pages(1), access.arg)
	return listQuery[statuspage.Page]{
		scan: pageTable.scan, fill: fill, columns: pageTable.selected,
		from: from, args: args, order: `ORDER BY created_at, id`,
	}.load(ctx, s, r)
}

// Page returns a workspace's page with its status.
func (s *Store) Page(ctx context.Context, actor kernel.Actor, slug string) (statuspage.Page, error) {
	return read(ctx, s, func(c *session) (statuspage.Page, error) {
		p, err := c.pageBySlug(actor, slug)
		return c.withStatus(p, err)
	})
}

func (c *session) withStatus(p statuspage.Page, err error) (statuspage.Page, error) {
	if err != nil {
		return p, err
	}
	pages := []statuspage.Page{p}
	err = c.fillStatus(pages)
	return pages[0], err
}

// fillStatus computes the rollup of each page.
func (c *session) fillStatus(pages []statuspage.Page) error {
	ids := make([]string, len(pages))
	for i, p := range pages {
		ids[i] = p.ID
	}
	components, err := c.components(`WHERE page_id IN EACH($1)`, list(ids))
	if err != nil {
		return err
	}
	byPage := make(map[string][]statuspage.Component)
	for _, comp := range components {
		byPage[comp.PageID] = append(byPage[comp.PageID], comp)
	}
	for i := range pages {
		pages[i].Status = statuspage.Rollup(byPage[pages[i].ID])
	}
	return nil
}

// CreatePage creates a page. If the slug is taken, in any workspace, the error is a *kernel.ValidationError.
func (s *Store) CreatePage(
	ctx context.Context, actor kernel.Actor, change field.Change[statuspage.Page],
	save ...SaveResponse[statuspage.Page],
) (statuspage.Page, error) {
	p, err := writeAs(ctx, s, actor, func(t *tx) (statuspage.Page, error) {
		if err := t.lockForSettings(actor.WorkspaceID, "", change); err != nil {
			return statuspage.Page{}, err
		}
		return t.createPage(actor, change)
	}, save...)
	return p, s.slugTaken(err)
}

// createPage creates a page. If the change sets a domain, the transaction holds the mutex of domains.
func (t *tx) createPage(actor kernel.Actor, change field.Change[statuspage.Page]) (statuspage.Page, error) {
	if err := rights.PageCreate.CheckLimit(actor); err != nil {
		return statuspage.Page{}, err
	}
	p := statuspage.Page{WorkspaceID: actor.WorkspaceID, Version: 1, Status: statuspage.Rollup(nil)}
	resource.Page.Begin(&p, kernel.NewID(kernel.PrefixPage, t.Now), t.Now)
	if err := t.checkPage(resource.Page.Create(&p, change, t.Now), statuspage.Page{}, &p); err != nil {
		return p, err
	}
	if err := t.claimHome(actor, p); err != nil {
		return p, err
	}
	err := pageTable.insert(t, &p)
	if err == nil && p.Domain != "" {
		err = domainTable.update(t, &p)
	}
	if err == nil {
		err = t.bumpVersion(p.ID)
	}
	if err == nil {
		err = t.audit(actor, kernel.AuditCreate, nil, resource.Page.Audited(p))
	}
	return p, err
}

// ChangePage changes a page's own fields, if the page meets all conditions; otherwise
// the error is kernel.ErrPreconditionFailed.
func (s *Store) ChangePage(
	ctx context.Context, actor kernel.Actor, slug string, change field.Change[statuspage.Page],
	conds ...kernel.Precondition,
) (statuspage.Page, error) {
	p, err := writeAs(ctx, s, actor, func(t *tx) (statuspage.Page, error) {
		if err := t.lockForSettings(actor.WorkspaceID, slug, change); err != nil {
			return statuspage.Page{}, err
		}
		p, err := t.lockPage(actor, slug)
		if err == nil {
			err = check(conds, resource.Page.Audited(p))
		}
		if err != nil {
			return p, err
		}
		return t.changePage(actor, p, change)
	})
	return p, s.slugTaken(err)
}

// PutPage creates or replaces the workspace's page with a slug, by a change that says all of it. It returns
// kernel.ErrPreconditionFailed if the page does not meet cond, and a *kernel.ValidationError if another workspace has
// the slug.
func (s *Store) PutPage(
	ctx context.Context, actor kernel.Actor, slug string, change field.Change[statuspage.Page],
	cond kernel.Precondition,
) (p statuspage.Page, created bool, err error) {
	done, err := writePut(ctx, s, actor, func(t *tx) (done put[statuspage.Page], err error) {
		if err := t.lockForSettings(actor.WorkspaceID, slug, change); err != nil {
			return done, err
		}
		page, err := t.lockPage(actor, slug)
		switch {
		case errors.Is(err, kernel.ErrNotFound):
			if err = cond.Check(nil); err == nil {
				done.created = true
				done.object, err = t.createPage(actor, func(p *statuspage.Page) error {
					p.Slug = slug
					return change(p)
				})
			}
		case err == nil:
			if err = cond.Check(resource.Page.Audited(page)); err == nil {
				done.object, err = t.changePage(actor, page, change)
			}
		}
		return done, err
	})
	return done.object, done.created, s.slugTaken(err)
}

// lockPage locks a workspace's page and then loads it. With a single statement that waits for the lock, PostgreSQL
// would return the row from after the wait, but sub-selects, such as the images, from before.
func (t *tx) lockPage(actor kernel.Actor, slug string) (statuspage.Page, error) {
	r := accessOf(actor)
	id, err := database.One(t.Session, database.ScanString,
		`SELECT id FROM pages WHERE slug = $1 AND `+r.pages(2)+` FOR UPDATE`, slug, r.arg)
	if err != nil {
		return statuspage.Page{}, err
	}
	return t.page(`WHERE id = $1`, id)
}

// changePage changes a locked page. If the change sets the domain, the transaction holds the mutex of domains.
func (t *tx) changePage(
	actor kernel.Actor, p statuspage.Page, change field.Change[statuspage.Page],
) (statuspage.Page, error) {
	before := p
	if err := t.checkPage(resource.Page.Apply(&p, change, t.Now), before, &p); err != nil {
		return p, err
	}
	if kernel.EntityTag(resource.Page.Audited(p)) == kernel.EntityTag(resource.Page.Audited(before)) {
		return t.withStatus(p, nil)
	}
	if err := t.bumpVersion(p.ID); err != nil {
		return p, err
	}
	if p.Domain != before.Domain {
		if err := domainTable.update(t, &p); err != nil {
			return p, err
		}
	}
	if err := t.claimHome(actor, p); err != nil {
		return p, err
	}
	if p.Visibility == statuspage.VisibilityPrivate && before.Visibility != p.Visibility {
		t.addEffect(effectPageHidden, p.ID)
		if err := t.cancelForSignedUp(p.ID); err != nil {
			return p, err
		}
	}
	if err := pageTable.update(t, &p); err != nil {
		return p, err
	}
	if err := t.audit(actor, kernel.AuditUpdate, resource.Page.Audited(before), resource.Page.Audited(p)); err != nil {
		return p, err
	}
	return t.withStatus(p, nil)
}

// checkPage claims the new domain of a page. The error is invalid, joined with a *kernel.ValidationError if another
// page has the new slug or the page cannot have the domain.
func (t *tx) checkPage(invalid error, before statuspage.Page, p *statuspage.Page) error {
	var taken kernel.ValidationError
	if p.Slug != before.Slug {
		others, err := database.One(t.Session, database.ScanInt, `SELECT count(*) FROM pages WHERE slug = $1`, p.Slug)
		if err != nil {
			return err
		}
		if others > 0 {
			taken.Add("slug", "has already been taken")
		}
	}
	if p.Domain == before.Domain {
		return kernel.JoinUnread(invalid, taken.Err())
	}
	t.s.hosts.CheckDomain(&taken, p.Domain)
	return kernel.JoinUnread(invalid, kernel.JoinInvalid(taken.Err(), t.claimDomain(p)))
}

// ChangePageAccess changes who can see a page while it is private, if the page meets all conditions; otherwise the
// error is kernel.ErrPreconditionFailed. The key of a new link is in Access.LinkKey of the result, and nowhere else.
func (s *Store) ChangePageAccess(
	ctx context.Context, actor kernel.Actor, slug string, change statuspage.PageAccessChange,
	conds ...kernel.Precondition,
) (statuspage.Page, error) {
	return writeAs(ctx, s, actor, func(t *tx) (statuspage.Page, error) {
		p, err := t.lockPage(actor, slug)
		if err == nil {
			err = check(conds, resource.Page.Audited(p))
		}
		if err != nil {
			return p, err
		}
		before := p
		if err := p.Access.Change(change, t.Now); err != nil {
			return p, err
		}
		if p.Access.Equal(before.Access) {
			return t.withStatus(p, nil)
		}
		p.UpdatedAt = kernel.Later(t.Now, p.UpdatedAt)
		if err := t.bumpVersion(p.ID); err != nil {
			return p, err
		}
		if err := pageTable.update(t, &p); err != nil {
			return p, err
		}
		err = t.audit(actor, kernel.AuditUpdate, resource.Page.Audited(before), resource.Page.Audited(p))
		if err != nil {
			return p, err
		}
		return t.withStatus(p, nil)
	})
}

// lockForSettings locks what other pages share with the page with the slug, if the change sets it: the mutex of
// domains, or the present home page. Call it before locking the page. A page that is to be created has no slug yet.
func (t *tx) lockForSettings(workspaceID, slug string, change field.Change[statuspage.Page]) error {
	const untouched = "."
	asked := statuspage.Page{Domain: untouched}
	_ = change(&asked) // the page itself says what is wrong
	if asked.Domain != untouched {
		if err := t.lockMutex(mutexDomains); err != nil {
			return err
		}
	}
	if !asked.Home {
		return nil
	}
	if err := t.lockMutex(mutexHome); err != nil { // such changes wait for each other
		return err
	}
	return t.lockRows(func() (s lockSet, err error) {
		s.pages, err = t.ids(`SELECT id FROM pages WHERE workspace_id = $1 AND (home OR slug = $2)`, workspaceID, slug)
		return s, err
	})
}

// claimHome makes room for a page that becomes its workspace's home page: the present one is no
// longer. lockForSettings has locked both.
func (t *tx) claimHome(actor kernel.Actor, p statuspage.Page) error {
	if !p.Home {
		return nil
	}
	others, err := t.pages(`WHERE workspace_id = $1 AND home AND id <> $2`, p.WorkspaceID, p.ID)
	if err == nil && len(others) > 0 && actor.PageLimited {
		var bad kernel.ValidationError
		bad.Add("home", "Another page is the home page, and you can change only some pages.")
		err = bad.Err()
	}
	for _, before := range others {
		if err != nil {
			break
		}
		after := before
		after.Home, after.UpdatedAt = false, kernel.Later(t.Now, before.UpdatedAt)
		_, err = t.Exec(`UPDATE pages SET home = FALSE, updated_at = $2 WHERE id = $1`,
			after.ID, millis(after.UpdatedAt))
		if err == nil {
			err = t.audit(actor, kernel.AuditUpdate, resource.Page.Audited(before), resource.Page.Audited(after))
		}
	}
	return err
}

// SetPageImage sets an image of a page.
func (s *Store) SetPageImage(
	ctx context.Context, actor kernel.Actor, slug string, image statuspage.PageImage,
) (statuspage.Page, error) {
	return s.changeImage(ctx, actor, slug, func(t *tx, pageID string) error {
		_, err := t.Exec(`INSERT INTO page_images (page_id, kind, type, name, body) VALUES ($1, $2, $3, $4, $5)
			ON CONFLICT (page_id, kind) DO UPDATE SET type = excluded.type, name = excluded.name, body = excluded.body`,
			pageID, string(image.Kind), image.Type, image.Name, image.Body)
		return err
	})
}

// DeletePageImage removes an image of a page, if it has one.
func (s *Store) DeletePageImage(
	ctx context.Context, actor kernel.Actor, slug string, kind statuspage.ImageKind,
) (statuspage.Page, error) {
	return s.changeImage(ctx, actor, slug, func(t *tx, pageID string) error {
		_, err := t.Exec(`DELETE FROM page_images WHERE page_id = $1 AND kind = $2`, pageID, string(kind))
		return err
	})
}

func (s *Store) changeImage(
	ctx context.Context, actor kernel.Actor, slug string, change func(t *tx, pageID string) error,
) (statuspage.Page, error) {
	return writeAs(ctx, s, actor, func(t *tx) (statuspage.Page, error) {
		before, err := t.lockPage(actor, slug)
		if err == nil {
			err = t.bumpVersion(before.ID)
		}
		if err == nil {
			err = change(t, before.ID)
		}
		if err != nil {
			return before, err
		}
		p, err := t.withStatus(t.page(`WHERE id = $1`, before.ID))
		if err == nil && (p.Logo != before.Logo || p.LogoDark != before.LogoDark || p.Icon != before.Icon) {
			p.UpdatedAt = kernel.Later(t.Now, p.UpdatedAt)
			_, err = t.Exec(`UPDATE pages SET updated_at = $2 WHERE id = $1`, p.ID, millis(p.UpdatedAt))
		}
		if err == nil {
			err = t.audit(actor, kernel.AuditUpdate, resource.Page.Audited(before), resource.Page.Audited(p))
		}
		return p, err
	})
}

// slugTaken turns the violation of the unique index of slugs into a *kernel.ValidationError.
func (s *Store) slugTaken(err error) error {
	if err != nil && s.db.IsDuplicate(err) {
		var bad kernel.ValidationError
		bad.Add("slug", "has already been taken")
		return bad.Err()
	}
	return err
}

// DeletePage deletes a page with everything that belongs to it: components, incidents, events, subscribers and the
// monitors linked to it. If the page does not meet all conditions, the error is kernel.ErrPreconditionFailed. That is
// one transaction, except on a page with stepRows subscribers or deliveries or more: deleting them all in one go would
// delay pings. There the first transaction, which finds the page by its slug, deletes some of them, and from then on
// the page with this id is deleted whatever its slug becomes. If that fails in the middle, the error is
// kernel.ErrUnknownOutcome: the page is still there, with a part of its subscribers and deliveries, and calling
// DeletePage again deletes the rest.
func (s *Store) DeletePage(ctx context.Context, actor kernel.Actor, slug string, conds ...kernel.Precondition) error {
	partOf, err := writeAs(ctx, s, actor, func(t *tx) (pageID string, err error) {
		p, err := t.pageBySlug(actor, slug)
		if err == nil {
			p, err = t.lockWholePage(p.ID)
		}
		if err == nil && p.Slug != slug {
			err = kernel.ErrNotFound // renamed before it was locked
		}
		if err == nil {
			err = check(conds, resource.Page.Audited(p))
		}
		if err != nil {
			return "", err
		}
		for _, table := range manyPerPage {
			n, err := t.deleteStep(`FROM `+table+` WHERE page_id = $1`, p.ID)
			if err != nil || n == stepRows {
				return p.ID, err
			}
		}
		return "", t.deletePage(actor, p)
	})
	if err != nil || partOf == "" {
		return err
	}
	for _, table := range manyPerPage {
		if err := s.deleteInSteps(ctx, `FROM `+table+` WHERE page_id = $1`, func(*tx) any {
			return partOf
		}); err != nil {
			return partlyDeleted(err)
		}
	}
	// The deletion was accepted: it is completed even if the token is revoked meanwhile.
	err = writeOnly(ctx, s, func(t *tx) error {
		p, err := t.lockWholePage(partOf)
		if err == nil {
			err = t.deletePage(actor, p)
		}
		return err
	})
	if errors.Is(err, kernel.ErrNotFound) {
		return nil // another DeletePage has completed it
	}
	return partlyDeleted(err)
}

// manyPerPage are the tables that may have many rows of one page.
var manyPerPage = []string{"subscribers", "deliveries"}

// deletePage deletes a page that lockWholePage has locked.
func (t *tx) deletePage(actor kernel.Actor, p statuspage.Page) error {
	if _, err := t.Exec(`DELETE FROM pages WHERE id = $1`, p.ID); err != nil {
		return err
	}
	return t.audit(actor, kernel.AuditDelete, resource.Page.Audited(p), nil)
}

// partlyDeleted returns the error of a deletion that is committed in part. ErrBusy would say that nothing was changed.
func partlyDeleted(err error) error {
	if errors.Is(err, kernel.ErrBusy) {
		return fmt.Errorf("%w: the page may be deleted in part: %v", kernel.ErrUnknownOutcome, err)
	}
	return err
}
