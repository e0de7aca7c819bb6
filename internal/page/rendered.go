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
	shelfPlaces    = 512
	shelfBytes     = 32 << 20
	renditionBytes = 32 << 20 // of that with the pages themselves; see Site.rendition
	// shelfShare is the part of a full shelf from which on what a page adds pushes
	// out its own rather than that of others.
	shelfShare = 4
)

// place names what is on a shelf: a month or an incident of a page, a feed. The
// entry itself is in it, because a page with another slug is another entry.
type place struct {
	entry      *entry
	kind, name string
	facet      facet // the zero facet: it is the same in all
}

// shelf keeps what was asked for last.
type shelf[T any] struct {
	most   int // bytes
	mu     sync.Mutex
	places map[place]*list.Element // of *shelved[T]
	order  *list.List              // last used first
	bytes  int
	shares map[*entry]int // bytes, by page
	making map[place]*T   // being made for the first time
}

type shelved[T any] struct {
	place place
	value *T
	bytes int
}

func newShelf[T any](most int) *shelf[T] {
	return &shelf[T]{most: most, places: make(map[place]*list.Element), order: list.New(), shares: make(map[*entry]int), making: make(map[place]*T)}
}

// loader makes what is to stand on a shelf. until is as in a cell.
type loader[T any] func(ctx context.Context) (value *T, until time.Time, err error)

// fromShelf returns what is at a place, an old one if it cannot be made anew.
// What is not there is made by at most maxLoads requests at a time, so that
// asking for incidents that never were cannot keep the database busy; the
// others wait as long as a stale page would. Only what was made with success
// takes a place, so that asking for what does not exist pushes nothing out.
// load may come again long after the request, and must hold nothing of it.
func fromShelf[T any](ctx context.Context, s *Site, on *shelf[cell[T]], p place, size func(*T) int, load loader[T]) (*T, error) {
	c := on.find(p)
	if c == nil {
		release, ok := s.loads.acquire(ctx, patience)
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
func newShelved[T any](s *Site, on *shelf[cell[T]], p place, size func(*T) int, load loader[T]) *cell[T] {
	c := &cell[T]{gen: &p.entry.gen, now: s.now}
	c.make = func(ctx context.Context) (*T, time.Time, error) {
		value, until, err := safely(ctx, load)
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

// rendition is a part of a page as one facet shows it, rendered once, by
// whoever asks for it first.
type rendition struct {
	of    uint64 // the snapshot's number: the old one is not kept for it
	sheet func() (*sheet, error)
}

// rendition returns what is at a place, rendered of a snapshot. There are many
// facets, and so only those that were asked for last are kept.
func (s *Site) rendition(p place, of *snapshot, render func() (*sheet, error)) (*sheet, error) {
	r := s.renditions.have(p, of.sheet.size(), // they differ little
		func(r *rendition) bool { return r.of == of.number },
		func() *rendition { return &rendition{of.number, sync.OnceValues(render)} })
	return r.sheet()
}

// have returns what is at a place if it is good, and otherwise puts something
// fresh there, of that many bytes.
func (s *shelf[T]) have(p place, bytes int, good func(*T) bool, fresh func() *T) *T {
	s.mu.Lock()
	defer s.mu.Unlock()
	if value := s.at(p); value != nil && good(value) {
		return value
	}
	value := fresh()
	s.keep(p, value, bytes)
	return value
}

// find returns what is at a place, or what is being made for it, or nil.
func (s *shelf[T]) find(p place) *T {
	s.mu.Lock()
	defer s.mu.Unlock()
	if value := s.at(p); value != nil {
		return value
	}
	return s.making[p]
}

// begin announces that value is being made for a place. It returns what find
// would have, if that is not nil, and otherwise value.
func (s *shelf[T]) begin(p place, value *T) *T {
	s.mu.Lock()
	defer s.mu.Unlock()
	if other := s.at(p); other != nil {
		return other
	}
	if other := s.making[p]; other != nil {
		return other
	}
	s.making[p] = value
	return value
}

// put keeps a value of a size at a place, whatever its size. What does not fit any
// more goes; see oldest.
func (s *shelf[T]) put(p place, value *T, bytes int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.making, p)
	s.keep(p, value, bytes)
}

// drop forgets what is at a place, or was to be.
func (s *shelf[T]) drop(p place) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.making, p)
	if e, ok := s.places[p]; ok {
		s.take(e)
	}
}

// at returns what is at a place, which is used by that, or nil. The caller of
// this and the following has the mutex.
func (s *shelf[T]) at(p place) *T {
	e, ok := s.places[p]
	if !ok {
		return nil
	}
	s.order.MoveToFront(e)
	return e.Value.(*shelved[T]).value
}

func (s *shelf[T]) keep(p place, value *T, bytes int) {
	if e, ok := s.places[p]; ok {
		s.take(e)
	}
	s.places[p] = s.order.PushFront(&shelved[T]{p, value, bytes})
	s.bytes += bytes
	s.shares[p.entry] += bytes
	for (s.bytes > s.most || s.order.Len() > shelfPlaces) && s.order.Len() > 1 {
		s.take(s.oldest(p.entry))
	}
}

// oldest returns what goes to make room for what a page has just added: the least
// recently used of that page if it takes more than its share, or else of all. So
// a page of large documents makes itself slow, and no other.
func (s *shelf[T]) oldest(of *entry) *list.Element {
	if s.shares[of] > s.most/shelfShare {
		for e := s.order.Back(); e != s.order.Front(); e = e.Prev() {
			if e.Value.(*shelved[T]).place.entry == of {
				return e
			}
		}
	}
	return s.order.Back()
}

func (s *shelf[T]) take(e *list.Element) {
	v := s.order.Remove(e).(*shelved[T])
	delete(s.places, v.place)
	s.bytes -= v.bytes
	if s.shares[v.place.entry] -= v.bytes; s.shares[v.place.entry] == 0 {
		delete(s.shares, v.place.entry)
	}
}
