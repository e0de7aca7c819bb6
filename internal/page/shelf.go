package page

import (
	"container/list"
	"sync"
)

// The most that is kept of history and incident pages, over all status pages.
const (
	shelfSheets = 512
	shelfBytes  = 8 << 20
)

// place names a sheet on the shelf: a month or an incident of a page. The entry
// itself is in it, because a page with another slug is another entry.
type place struct {
	entry      *entry
	kind, name string
}

// shelf keeps the cells of the sheets that were asked for last. Only what was
// made with success takes a place, so that asking for what does not exist
// pushes nothing out.
type shelf struct {
	mu     sync.Mutex
	cells  map[place]*list.Element // of *shelved
	order  *list.List              // last used first
	bytes  int
	making map[place]*cell[sheet] // being made for the first time
}

type shelved struct {
	place place
	cell  *cell[sheet]
	bytes int
}

func newShelf() *shelf {
	return &shelf{cells: make(map[place]*list.Element), order: list.New(), making: make(map[place]*cell[sheet])}
}

// find returns the cell at a place, or the one that is being made for it, or
// nil.
func (s *shelf) find(p place) *cell[sheet] {
	s.mu.Lock()
	defer s.mu.Unlock()
	if e, ok := s.cells[p]; ok {
		s.order.MoveToFront(e)
		return e.Value.(*shelved).cell
	}
	return s.making[p]
}

// begin announces that c is being made for a place. It returns what find would
// have, if that is not nil, and otherwise c.
func (s *shelf) begin(p place, c *cell[sheet]) *cell[sheet] {
	s.mu.Lock()
	defer s.mu.Unlock()
	if e, ok := s.cells[p]; ok {
		return e.Value.(*shelved).cell
	}
	if other := s.making[p]; other != nil {
		return other
	}
	s.making[p] = c
	return c
}

// put keeps a cell, whose sheet has the given size, at a place. What does not
// fit any more goes, the least recently used first.
func (s *shelf) put(p place, c *cell[sheet], bytes int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.making, p)
	if e, ok := s.cells[p]; ok {
		s.take(e)
	}
	s.cells[p] = s.order.PushFront(&shelved{p, c, bytes})
	s.bytes += bytes
	for s.bytes > shelfBytes || s.order.Len() > shelfSheets {
		s.take(s.order.Back())
	}
}

// drop forgets what is at a place, or was to be.
func (s *shelf) drop(p place) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.making, p)
	if e, ok := s.cells[p]; ok {
		s.take(e)
	}
}

func (s *shelf) take(e *list.Element) {
	v := s.order.Remove(e).(*shelved)
	delete(s.cells, v.place)
	s.bytes -= v.bytes
}
