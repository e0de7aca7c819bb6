package store

import (
	"context"

	"github.com/allswell/allswell"
	"github.com/allswell/allswell/internal/database"
	"github.com/allswell/allswell/internal/field"
)

// Collection is all stored objects of a resource. Its methods act for an actor, who reaches the objects of a workspace, or
// of some of its pages: others are allswell.ErrNotFound. Errors of the input are *allswell.ValidationError.
type Collection[T any] struct {
	s *Store
	collection[T]
}

// collection says how the objects of a resource are stored.
type collection[T any] struct {
	*table[T]
	prefix string           // of their ids
	page   func(*T) *string // the id of their page
	order  string           // of lists

	// allow reports with an error that an object may not be what it is about to become. before is nil for a new one.
	allow func(t *tx, before, after *T) error
}

// PageID returns the id of the page of an object.
func (c collection[T]) PageID(v T) string { return *c.page(&v) }

// List lists the objects of a page, given its slug.
func (c Collection[T]) List(ctx context.Context, actor allswell.Actor, page string, r Pagination) ([]T, int, error) {
	p, err := c.s.pageOf(ctx, actor, page)
	if err != nil {
		return nil, 0, err
	}
	return listQuery[T]{
		scan: c.scan, columns: c.selected, from: `FROM ` + c.name + ` WHERE page_id = $1`, args: []any{p.ID}, order: c.order,
	}.load(ctx, c.s, r)
}

// Get returns an object.
func (c Collection[T]) Get(ctx context.Context, actor allswell.Actor, id string) (T, error) {
	return read(ctx, c.s, func(s *session) (T, error) { return c.one(s, actor, id) })
}

func (c collection[T]) one(s *session, actor allswell.Actor, id string) (T, error) {
	where, args := objectOf(actor, "", id)
	return database.One(s.Session, c.scan, `SELECT `+c.selected+` FROM `+c.name+` `+where, args...)
}

// lock returns an object under its page's lock.
func (c collection[T]) lock(t *tx, actor allswell.Actor, id string) (v T, err error) {
	if v, err = c.one(&t.session, actor, id); err == nil {
		err = t.bumpVersion(*c.page(&v))
	}
	if err != nil {
		return v, err
	}
	return c.one(&t.session, actor, id)
}

// Create creates an object on a page, given its slug. The object begins with the defaults of its fields.
func (c Collection[T]) Create(
	ctx context.Context, actor allswell.Actor, page string, change field.Change[T], save ...SaveResponse[T],
) (T, error) {
	return writeAs(ctx, c.s, actor, func(t *tx) (v T, err error) {
		p, err := t.pageBySlug(actor, page)
		if err == nil {
			err = t.bumpVersion(p.ID)
		}
		if err != nil {
			return v, err
		}
		c.resource.Begin(&v, allswell.NewID(c.prefix, t.Now), t.Now)
		*c.page(&v) = p.ID
		err = c.resource.Create(&v, change, t.Now)
		if err == nil {
			err = c.allow(t, nil, &v)
		}
		if err == nil {
			err = c.insert(t, &v)
		}
		if err == nil {
			err = t.audit(actor, allswell.AuditCreate, nil, c.resource.Audited(v))
		}
		return v, err
	}, save...)
}

// Change changes an object that meets a condition; otherwise the error is allswell.ErrPreconditionFailed.
func (c Collection[T]) Change(
	ctx context.Context, actor allswell.Actor, id string, change field.Change[T], p allswell.Precondition,
) (T, error) {
	return writeAs(ctx, c.s, actor, func(t *tx) (T, error) {
		v, err := c.lock(t, actor, id)
		if err != nil {
			return v, err
		}
		before, was := v, c.resource.Audited(v)
		if err = p.Check(was); err == nil {
			err = c.resource.Apply(&v, change, t.Now)
		}
		if err == nil {
			err = c.allow(t, &before, &v)
		}
		if err == nil {
			err = c.update(t, &v)
		}
		if err == nil {
			err = t.audit(actor, allswell.AuditUpdate, was, c.resource.Audited(v))
		}
		return v, err
	})
}

// Delete deletes an object that meets a condition; otherwise the error is allswell.ErrPreconditionFailed.
func (c Collection[T]) Delete(ctx context.Context, actor allswell.Actor, id string, p allswell.Precondition) error {
	return writeOnlyAs(ctx, c.s, actor, func(t *tx) error {
		v, err := c.lock(t, actor, id)
		if err != nil {
			return err
		}
		was := c.resource.Audited(v)
		if err = p.Check(was); err == nil {
			err = c.delete(t, v)
		}
		if err == nil {
			err = t.audit(actor, allswell.AuditDelete, was, nil)
		}
		return err
	})
}
