package fair

import "maps"

// Shares says how many places of a pool are free and which keys hold the others, and decides who may have one. It is
// not safe for concurrent use.
type Shares struct {
	free int
	held map[keyID]int
}

// NewShares returns shares whose places are all free.
func NewShares(size int) *Shares { return &Shares{max(1, size), make(map[keyID]int)} }

// Clone returns a copy, for planning.
func (s *Shares) Clone() *Shares { return &Shares{s.free, maps.Clone(s.held)} }

// Free returns how many places are free.
func (s *Shares) Free() int { return s.free }

// Held returns how many places a key holds.
func (s *Shares) Held(k Key) int { return s.held[k.id()] }

// Fit reports whether the keys have room for a place. One place must be free. Each key must hold fewer places than its
// maximum, if it has one, and a key that is not bounded must also hold fewer places than are free. For a nested key,
// the free places are those that the key before it leaves: the free places or its maximum, whichever is less, minus the
// places that it holds.
func (s *Shares) Fit(keys ...Key) bool {
	left := s.free
	for _, k := range keys {
		switch {
		case k.bounded:
			left = k.Max
		case !k.nested:
			left = s.free
		}
		held := s.held[k.id()]
		if held >= left || k.Max > 0 && held >= k.Max {
			return false
		}
		if k.Max > 0 {
			left = min(left, k.Max)
		}
		left -= held
	}
	return s.free > 0
}

// Room returns how many further places in a row fit a key that is neither bounded nor nested: each of them increases
// the places that it holds, and decreases the free places.
func (s *Shares) Room(k Key) int {
	held := s.held[k.id()]
	room := (s.free - held + 1) / 2
	if k.Max > 0 {
		room = min(room, k.Max-held)
	}
	return max(0, room)
}

// Take takes a place for keys that fit.
func (s *Shares) Take(keys ...Key) {
	s.free--
	for _, k := range keys {
		s.held[k.id()]++
	}
}

// put gives a place back.
func (s *Shares) put(keys []Key) {
	s.free++
	for _, k := range keys {
		decrement(s.held, k.id())
	}
}
