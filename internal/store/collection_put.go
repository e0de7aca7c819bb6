package store

import (
	"context"
	"errors"
	"strings"

	"github.com/allswell/allswell/internal/domain/kernel"
	"github.com/allswell/allswell/internal/domain/monitor"
)

// put is the result of a Put method.
type put[T any] struct {
	object  T
	created bool
}

// writePut is writeAs for a Put method. If another transaction creates the object at the
// same time, f runs again and finds it.
func writePut[T any](ctx context.Context, s *Store, actor kernel.Actor, f func(*tx) (put[T], error)) (put[T], error) {
	done, err := writeAs(ctx, s, actor, f)
	if err != nil && s.db.IsDuplicate(err) {
		return writeAs(ctx, s, actor, f)
	}
	return done, err
}

// check returns kernel.ErrPreconditionFailed unless o, whose row is locked, meets all conditions.
func check(conds []kernel.Precondition, o kernel.Auditable) error {
	for _, cond := range conds {
		if err := cond.Check(o); err != nil {
			return err
		}
	}
	return nil
}

// PutMonitor replaces a monitor that meets a condition, given its id or slug, with a change that says all of it. If
// there is none with that slug, the monitor is created; one that is not valid is a *kernel.ValidationError.
func (s *Store) PutMonitor(
	ctx context.Context, actor kernel.Actor, ref string, change monitor.MonitorChange, cond kernel.Precondition,
) (m monitor.Monitor, created bool, err error) {
	done, err := writePut(ctx, s, actor, func(t *tx) (done put[monitor.Monitor], err error) {
		if err := t.lockParents(change); err != nil {
			return done, err
		}
		m, err := t.lockMonitor(actor, ref)
		switch {
		case errors.Is(err, kernel.ErrNotFound) && !strings.HasPrefix(ref, kernel.PrefixMonitor):
			if err = cond.Check(nil); err == nil {
				done.created = true
				done.object, err = t.createMonitor(actor, func(c *monitor.MonitorConfig) error {
					err := change(c)
					c.Slug = ref
					return err
				}, false)
			}
		case err == nil:
			if err = cond.Check(auditedMonitor(m)); err == nil {
				done.object, err = t.changeMonitor(actor, m, change)
			}
		}
		return done, err
	})
	return done.object, done.created, s.slugTaken(err)
}
