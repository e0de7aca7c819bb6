package page

import (
	"container/list"
	"context"
	"errors"
	"sync"
	"time"

	"github.com/allswell/allswell"
)

// The most that one shelf keeps, over all status pages.
const (
	shelfSheets = 512
	shelfBytes  = 8 << 20
)

// place names what is on a shelf: a month or an incident of a page, a feed. The
// entry itself is in it, because a page with another slug is another entry.
type place struct {
	entry      *entry
	kind, name string
}

// shelf keeps the cells of what was asked for last. Only what was made with
// success takes a place, so that asking for what does not exist pushes nothing
// out.
type shelf[T any] struct {
	mu     sync.Mutex
	cells  map[place]*list.Element // of *shelved[T]
	order  *list.List              // last used first
	bytes  int
	making map[place]*cell[T] // being made for the first time
}

type shelved[T any] struct {
	place place
	cell  *cell[T]
	bytes int
}

func newShelf[T any]() *shelf[T] {
	return &shelf[T]{cells: make(map[place]*list.Element), order: list.New(), making: make(map[place]*cell[T])}
}

// loader makes what is to stand on a shelf. until is as in a cell.
type loader[T any] func(ctx context.Context) (value *T, until time.Time, err error)

// fromShelf returns what is at a place, an old one if it cannot be made anew.
// What is not there is made by at most maxLoads requests at a time, so that
// asking for incidents that never were cannot keep the database busy; the
// others wait as long as a stale page would.
func fromShelf[T any](ctx context.Context, s *Site, on *shelf[T], p place, size func(*T) int, load loader[T]) (*T, error) {
	c := on.find(p)
	if c == nil {
		release, ok := s.admit(ctx)
		if !ok {
			return nil, allswell.ErrBusy
		}
		defer release()
		c = on.begin(p, newShelved(s, on, p, size, load))
	}
	value, err := c.get(ctx)
	if value == nil || errors.Is(err, allswell.ErrNotFound) {
		return nil, err
	}
	return value, nil
}

// newShelved returns a cell that takes its place on the shelf when it is made,
// and gives it back when there is nothing to show.
func newShelved[T any](s *Site, on *shelf[T], p place, size func(*T) int, load loader[T]) *cell[T] {
	c := &cell[T]{gen: &p.entry.gen, now: s.now}
	c.make = func(ctx context.Context) (*T, time.Time, error) {
		value, until, err := load(ctx)
		switch {
		case err == nil:
			on.put(p, c, size(value))
		case c.last() == nil, errors.Is(err, allswell.ErrNotFound):
			on.drop(p)
		}
		return value, until, err
	}
	c.told = func(err error) { s.complain("a part of a status page could not be rendered", p.entry.slug, err) }
	return c
}

// admit waits for a place among the loads.
func (s *Site) admit(ctx context.Context) (release func(), ok bool) {
	timer := time.NewTimer(patience)
	defer timer.Stop()
	select {
	case s.loads <- struct{}{}:
		return func() { <-s.loads }, true
	case <-timer.C:
	case <-ctx.Done():
	}
	return nil, false
}

// find returns the cell at a place, or the one that is being made for it, or
// nil.
func (s *shelf[T]) find(p place) *cell[T] {
	s.mu.Lock()
	defer s.mu.Unlock()
	if e, ok := s.cells[p]; ok {
		s.order.MoveToFront(e)
		return e.Value.(*shelved[T]).cell
	}
	return s.making[p]
}

// begin announces that c is being made for a place. It returns what find would
// have, if that is not nil, and otherwise c.
func (s *shelf[T]) begin(p place, c *cell[T]) *cell[T] {
	s.mu.Lock()
	defer s.mu.Unlock()
	if e, ok := s.cells[p]; ok {
		return e.Value.(*shelved[T]).cell
	}
	if other := s.making[p]; other != nil {
		return other
	}
	s.making[p] = c
	return c
}

// put keeps a cell, whose value has the given size, at a place. What does not
// fit any more goes, the least recently used first.
func (s *shelf[T]) put(p place, c *cell[T], bytes int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.making, p)
	if e, ok := s.cells[p]; ok {
		s.take(e)
	}
	s.cells[p] = s.order.PushFront(&shelved[T]{p, c, bytes})
	s.bytes += bytes
	for s.bytes > shelfBytes || s.order.Len() > shelfSheets {
		s.take(s.order.Back())
	}
}

// drop forgets what is at a place, or was to be.
func (s *shelf[T]) drop(p place) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.making, p)
	if e, ok := s.cells[p]; ok {
		s.take(e)
	}
}

func (s *shelf[T]) take(e *list.Element) {
	v := s.order.Remove(e).(*shelved[T])
	delete(s.cells, v.place)
	s.bytes -= v.bytes
}
