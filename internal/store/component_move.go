package store

import (
	"context"
	"slices"

	"github.com/allswell/allswell/internal/domain/kernel"
	"github.com/allswell/allswell/internal/domain/statuspage"
)

// MoveComponent moves a component, given its id or slug, by one place within its group: up if by is -1, down if it is
// 1. The first cannot move up and the last not down; they stay. See PlaceComponent for what else changes.
func (s *Store) MoveComponent(ctx context.Context, actor kernel.Actor, slug, ref string, by int) error {
	return writeOnlyAs(ctx, s, actor, func(t *tx) error {
		_, _, components, err := t.lockOrder(actor, slug)
		if err != nil {
			return err
		}
		moved, err := findComponent(components, ref)
		if err != nil {
			return err
		}
		group := inGroup(components, moved.GroupID)
		at := slices.IndexFunc(group, func(c statuspage.Component) bool { return c.ID == moved.ID })
		to, ok := step(len(group), at, by, func(i int) string { return group[i].ID })
		if !ok {
			return nil
		}
		to.GroupID = moved.GroupID
		return t.placeComponent(actor, moved, slices.Delete(group, at, at+1), to)
	})
}

// MoveGroup is MoveComponent for a group among the groups of its page.
func (s *Store) MoveGroup(ctx context.Context, actor kernel.Actor, slug, ref string, by int) error {
	return writeOnlyAs(ctx, s, actor, func(t *tx) error {
		_, groups, _, err := t.lockOrder(actor, slug)
		if err != nil {
			return err
		}
		at, err := indexOfGroup(groups, ref)
		if err != nil {
			return err
		}
		to, ok := step(len(groups), at, by, func(i int) string { return groups[i].ID })
		if !ok {
			return nil
		}
		moved := groups[at]
		return placeAmong(t, actor, placedGroup(moved, slices.Delete(groups, at, at+1), to), t.reorderGroup)
	})
}

// step returns the place that is one before (by is -1) or after (by is 1) an object,
// among n objects in their order. ok is false if there is none.
func step(n, at, by int, id func(int) string) (to statuspage.Place, ok bool) {
	next := at + by
	if next < 0 || next >= n {
		return to, false
	}
	if by < 0 {
		return statuspage.Place{Before: id(next)}, true
	}
	return statuspage.Place{After: id(next)}, true
}
