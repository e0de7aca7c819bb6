package ping

import (
	"maps"
	"slices"
	"sync"
)

// maxAdded is how many added hashes are kept in the map before they are merged into the sorted slice.
const maxAdded = 4096

// tokenSet is the set of the short hashes of all valid ping tokens, eight bytes each. Revoked tokens stay in the set
// until the next start, which is harmless: the store ignores their pings. It is safe for concurrent use.
type tokenSet struct {
	mu     sync.RWMutex
	loaded bool
	sorted []uint64
	added  map[uint64]struct{}
}

// has reports whether a token may be valid. Before load it returns true for every token.
func (s *tokenSet) has(hash uint64) bool {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return !s.loaded || s.contains(hash)
}

func (s *tokenSet) contains(hash uint64) bool {
	if _, ok := s.added[hash]; ok {
		return true
	}
	_, ok := slices.BinarySearch(s.sorted, hash)
	return ok
}

// add adds a token.
func (s *tokenSet) add(hash uint64) {
	s.mu.RLock()
	present := s.contains(hash)
	s.mu.RUnlock()
	if present {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.added == nil {
		s.added = make(map[uint64]struct{})
	}
	s.added[hash] = struct{}{}
	if len(s.added) > maxAdded {
		s.merge(nil)
	}
}

// load adds all tokens of the database. From then on, has returns false for unknown tokens.
func (s *tokenSet) load(hashes []uint64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.merge(hashes)
	s.loaded = true
}

// merge merges all hashes into one sorted slice without spare capacity.
func (s *tokenSet) merge(more []uint64) {
	all := make([]uint64, 0, len(s.sorted)+len(s.added)+len(more))
	all = append(append(slices.AppendSeq(all, maps.Keys(s.added)), s.sorted...), more...)
	slices.Sort(all)
	s.sorted, s.added = slices.Compact(all), nil
}
