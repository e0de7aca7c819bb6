package store

import (
	"context"
	"errors"
	"strings"

	"github.com/allswell/allswell/internal/domain/kernel"
	"github.com/allswell/allswell/internal/resource/field"
	"github.com/allswell/allswell/internal/store/database"
)

// Collection is all stored objects of a resource. Its methods act for an actor, who reaches the objects of a workspace,
// or of some of its pages: others are kernel.ErrNotFound. Errors of the input are *kernel.ValidationError.
//
// Objects are in a page, given by its slug, or in the workspace, which is "". An object is given by its id; if it has a
// slug, also by that, together with the page; if it has a name that is unique in the workspace, also by that.
type Collection[T any] struct {
	s *Store
	collection[T]
	uniqueNames bool
}

// collection says how the objects of a resource are stored.
type collection[T any] struct {
	*table[T]
	prefix string    // the prefix of ids
	order  string    // ORDER BY of lists
	parent parent[T] // what contains the objects

	// fill loads fields that are not columns of the table; nil: there are none.
	fill func(s *session, objects []T) error
	// describe sets fields that are derived from the objects of one workspace and from what these refer to; nil: there
	// are none.
	describe func(s *session, objects []T) error
	// begin sets the fields of a new object that depend on its actor or on stored objects; nil: there are none.
	begin func(t *tx, actor kernel.Actor, v *T) error
	// resolve replaces references, such as slugs, by ids; nil: there are no references. It returns a
	// *kernel.ValidationError for references to nothing. before is the object before the change: references that it has
	// already may be to deleted objects.
	resolve func(t *tx, actor kernel.Actor, before, v *T) error
	// allow returns an error if an object may not become after; nil: everything is allowed. before is nil for a new
	// object.
	allow func(t *tx, actor kernel.Actor, before, after *T) error
	// prepare sets fields that follow from an allowed change; nil: there are none. before is nil for a new object.
	prepare func(t *tx, before, after *T) error
	// saved saves other objects that follow from a change; nil: there are none. before is nil for a new object.
	saved func(t *tx, before *T, after T) error
	// audited returns the two states that the audit log compares; nil: before and after themselves.
	audited func(before, after T) (was, is T)
	// lockDeletion locks the other rows that the deletion of an object changes, in the lock order; nil: parent.lock
	// locks all of them.
	lockDeletion func(t *tx, v T) error
	// deletion returns what the audit log records about a deletion; nil: the object.
	deletion func(t *tx, v T) (kernel.Auditable, error)
	// remove deletes a locked object; nil: its row is deleted.
	remove func(t *tx, v T) error
	// end replaces the deletion, including its entry in the audit log; nil: the object is deleted.
	end func(t *tx, actor kernel.Actor, v T) error
}

// UniqueNames returns the collection. If only is set, its Create refuses a name that another object of the same page
// has.
func (c Collection[T]) UniqueNames(only bool) Collection[T] {
	c.uniqueNames = only
	return c
}

// List lists the objects in a page that match a filter.
func (c Collection[T]) List(
	ctx context.Context, actor kernel.Actor, in string, f Filter, r Pagination,
) ([]T, int, error) {
	from, args, err := c.parent.list(ctx, c.s, actor, in)
	if err != nil {
		return nil, 0, err
	}
	from, args = f.from(from, args...)
	return listQuery[T]{
		scan: c.scan, columns: c.selected, from: from, args: args, order: c.order, fill: c.complete,
	}.load(ctx, c.s, r)
}

// complete sets what is not in the rows of objects.
func (c collection[T]) complete(s *session, objects []T) (err error) {
	if c.fill != nil {
		err = c.fill(s, objects)
	}
	if err == nil && c.describe != nil && len(objects) > 0 {
		err = c.describe(s, objects)
	}
	return err
}

// Get returns an object.
func (c Collection[T]) Get(ctx context.Context, actor kernel.Actor, in, ref string) (T, error) {
	return read(ctx, c.s, func(s *session) (T, error) {
		v, err := c.one(s, actor, in, ref)
		return setOne(s, v, err, c.describe)
	})
}

// one returns an object without what describe sets.
func (c collection[T]) one(s *session, actor kernel.Actor, in, ref string) (T, error) {
	where, args, err := c.parent.find(actor, in, ref)
	if err != nil {
		var none T
		return none, err
	}
	v, err := database.One(s.Session, c.scan, `SELECT `+c.selected+` FROM `+c.name+` `+where, args...)
	return setOne(s, v, err, c.fill)
}

// setOne returns one object with what set sets of many, unless err is an error or set is nil.
func setOne[T any](s *session, v T, err error, set func(*session, []T) error) (T, error) {
	if err != nil || set == nil {
		return v, err
	}
	one := []T{v}
	err = set(s, one)
	return one[0], err
}

// lock returns an object that is locked.
func (c collection[T]) lock(t *tx, actor kernel.Actor, in, ref string) (T, error) {
	v, err := c.one(&t.session, actor, in, ref)
	if err == nil {
		err = c.parent.lock(t, actor, &v, c.resource.ID(v))
	}
	if err != nil {
		return v, err
	}
	return c.one(&t.session, actor, "", c.resource.ID(v))
}

// resolved returns a change that also replaces references.
func (c collection[T]) resolved(t *tx, actor kernel.Actor, change field.Change[T]) field.Change[T] {
	if c.resolve == nil {
		return change
	}
	return func(v *T) error {
		before := *v
		return kernel.JoinInvalid(change(v), c.resolve(t, actor, &before, v))
	}
}

// Create creates an object in a page. It begins with the defaults of its fields.
func (c Collection[T]) Create(
	ctx context.Context, actor kernel.Actor, in string, change field.Change[T], save ...SaveResponse[T],
) (T, error) {
	v, err := writeAs(ctx, c.s, actor, func(t *tx) (T, error) { return c.create(t, actor, in, "", change) }, save...)
	return v, c.s.slugTaken(err)
}

// create creates an object. free is a slug that the caller has found to be free, so that it is not looked up again; "":
// there is none. If another transaction takes it meanwhile, the insertion fails.
func (c Collection[T]) create(t *tx, actor kernel.Actor, in, free string, change field.Change[T]) (v T, err error) {
	if err = c.parent.begin(t, actor, in, &v); err != nil {
		return v, err
	}
	c.resource.Begin(&v, kernel.NewID(c.prefix, t.Now), t.Now)
	if c.begin != nil {
		err = c.begin(t, actor, &v)
	}
	if err == nil {
		err = c.checkAll(t, actor, c.resource.Create(&v, c.resolved(t, actor, change), t.Now), nil, &v, free)
	}
	if err == nil && c.prepare != nil {
		err = c.prepare(t, nil, &v)
	}
	if err == nil {
		err = c.insert(t, &v)
	}
	if err == nil && c.saved != nil {
		err = c.saved(t, nil, v)
	}
	if err == nil {
		err = t.audit(actor, kernel.AuditCreate, nil, c.resource.Audited(v))
	}
	return setOne(&t.session, v, err, c.describe)
}

// checkAll returns everything that is wrong with an object that is about to become after: invalid, which its fields
// alone show, and what depends on stored objects. before is nil for a new object, and free a slug that need not be
// looked up.
func (c Collection[T]) checkAll(t *tx, actor kernel.Actor, invalid error, before, after *T, free string) error {
	var refused, sameName error
	if c.allow != nil {
		refused = c.allow(t, actor, before, after)
	}
	if before == nil && c.uniqueNames {
		from, args := c.parent.siblings(after)
		sameName = t.checkUniqueName(c.resource.Noun, c.resource.Name(*after), from, args...)
	}
	return kernel.JoinUnread(invalid, kernel.JoinInvalid(refused, sameName, c.checkFree(t, before, after, free)))
}

// checkFree makes a slug for an object that should have one and has none. The error is a *kernel.ValidationError if
// another object has the slug, or a name that must be unique. before is nil for a new object, and free is a slug that
// need not be checked.
func (c collection[T]) checkFree(t *tx, before, v *T, free string) error {
	var bad kernel.ValidationError
	check := func(field, value, code string, args ...any) error {
		from, in := c.parent.siblings(v)
		from, in = withCondition(from, in, field+` = $%d`, value)
		from, in = withCondition(from, in, `id <> $%d`, c.resource.ID(*v))
		others, err := t.ids(`SELECT id `+from, in...)
		if len(others) > 0 {
			bad.Add(field, code, args...)
		}
		return err
	}
	if c.parent.uniqueNames && (before == nil || c.resource.Name(*before) != c.resource.Name(*v)) {
		if err := check("name", c.resource.Name(*v), "Another %s has this name.", c.resource.Argument()); err != nil {
			return err
		}
	}
	switch slug := c.resource.Slug(v); {
	case slug == nil, before != nil && *slug == *c.resource.Slug(before), free != "" && *slug == free:
	case *slug == "":
		from, args := c.parent.siblings(v)
		made, err := t.freeSlug(kernel.SlugOf(c.resource.Name(*v), c.resource.Argument()), from, args...)
		if err != nil {
			return err
		}
		*slug = made
	default:
		if err := check("slug", *slug, "has already been taken"); err != nil {
			return err
		}
	}
	return bad.Err()
}

// Put replaces an object, or creates it if there is none with the slug ref. created reports which. If the object, or
// its absence, does not meet the condition, the error is kernel.ErrPreconditionFailed. ref is never taken for a name;
// one that is neither an id nor a valid slug is a *kernel.ValidationError.
func (c Collection[T]) Put(
	ctx context.Context, actor kernel.Actor, in, ref string, change field.Change[T], p kernel.Precondition,
) (v T, created bool, err error) {
	done, err := writePut(ctx, c.s, actor, func(t *tx) (done put[T], err error) {
		v, err := c.lock(t, actor, in, ref)
		slug := c.resource.Slug(&v)
		bySlug := slug != nil && !strings.HasPrefix(ref, c.prefix)
		if err == nil && bySlug && *slug != ref { // only its name is ref
			err = kernel.ErrNotFound
		}
		switch {
		case err == nil:
			done.object, err = c.changeLocked(t, actor, v, change, p)
		case errors.Is(err, kernel.ErrNotFound) && bySlug:
			if err = p.Check(nil); err == nil {
				done.created = true
				done.object, err = c.create(t, actor, in, ref, func(v *T) error {
					err := change(v)
					*c.resource.Slug(v) = ref
					return err
				})
			}
		}
		return done, err
	})
	return done.object, done.created, c.s.slugTaken(err)
}

// Change changes an object that meets a condition; otherwise the error is kernel.ErrPreconditionFailed.
func (c Collection[T]) Change(
	ctx context.Context, actor kernel.Actor, in, ref string, change field.Change[T], p kernel.Precondition,
) (T, error) {
	v, err := writeAs(ctx, c.s, actor, func(t *tx) (T, error) { return c.change(t, actor, in, ref, change, p) })
	return v, c.s.slugTaken(err)
}

func (c Collection[T]) change(
	t *tx, actor kernel.Actor, in, ref string, change field.Change[T], p kernel.Precondition,
) (T, error) {
	v, err := c.lock(t, actor, in, ref)
	if err != nil {
		return v, err
	}
	return c.changeLocked(t, actor, v, change, p)
}

// changeLocked is change for an object that is locked.
func (c Collection[T]) changeLocked(
	t *tx, actor kernel.Actor, v T, change field.Change[T], p kernel.Precondition,
) (T, error) {
	before, err := v, p.Check(c.resource.Audited(v))
	if err == nil {
		err = c.checkAll(t, actor, c.resource.Apply(&v, c.resolved(t, actor, change), t.Now), &before, &v, "")
	}
	if err == nil && c.prepare != nil {
		err = c.prepare(t, &before, &v)
	}
	if err == nil {
		err = c.update(t, &v)
	}
	if err == nil && c.saved != nil {
		err = c.saved(t, &before, v)
	}
	if err != nil {
		return v, err
	}
	after := v
	if c.audited != nil {
		before, after = c.audited(before, after)
	}
	err = t.audit(actor, kernel.AuditUpdate, c.resource.Audited(before), c.resource.Audited(after))
	return setOne(&t.session, v, err, c.describe)
}

// Delete deletes an object that meets a condition; otherwise the error is kernel.ErrPreconditionFailed.
func (c Collection[T]) Delete(ctx context.Context, actor kernel.Actor, in, ref string, p kernel.Precondition) error {
	return writeOnlyAs(ctx, c.s, actor, func(t *tx) error {
		v, err := c.one(&t.session, actor, in, ref)
		if err == nil && c.lockDeletion != nil {
			err = c.lockDeletion(t, v)
		}
		if err == nil {
			v, err = c.lock(t, actor, in, ref)
		}
		if err != nil {
			return err
		}
		was := c.resource.Audited(v)
		if err = p.Check(was); err == nil && c.end != nil {
			return c.end(t, actor, v)
		}
		if err == nil && c.deletion != nil {
			was, err = c.deletion(t, v)
		}
		remove := c.delete
		if c.remove != nil {
			remove = c.remove
		}
		if err == nil {
			err = remove(t, v)
		}
		if err == nil {
			err = t.audit(actor, kernel.AuditDelete, was, nil)
		}
		return err
	})
}

// withField adds a problem of a field to the error of a validation, which may be nil.
func withField(err error, field, code string, args ...any) error {
	var bad *kernel.ValidationError
	if err != nil && !errors.As(err, &bad) {
		return err
	}
	if bad == nil {
		bad = new(kernel.ValidationError)
	}
	bad.Add(field, code, args...)
	return bad
}
