package ping

import (
	"maps"
	"slices"
	"sync"
)

// maxAdded is how many additions are kept beside the sorted hashes before they
// are merged into them.
const maxAdded = 4096

// known is the set of the short hashes of all valid ping tokens, eight bytes
// each. Tokens that are no longer valid stay in it until the next start: the
// store ignores them. It is safe for concurrent use.
type known struct {
	mu     sync.RWMutex
	loaded bool
	sorted []uint64
	added  map[uint64]struct{}
}

// has reports whether a token may be valid: every one before load.
func (k *known) has(short uint64) bool {
	k.mu.RLock()
	defer k.mu.RUnlock()
	return !k.loaded || k.contains(short)
}

func (k *known) contains(short uint64) bool {
	if _, ok := k.added[short]; ok {
		return true
	}
	_, ok := slices.BinarySearch(k.sorted, short)
	return ok
}

// add puts in a token.
func (k *known) add(short uint64) {
	k.mu.RLock()
	present := k.contains(short)
	k.mu.RUnlock()
	if present {
		return
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.added == nil {
		k.added = make(map[uint64]struct{})
	}
	k.added[short] = struct{}{}
	if len(k.added) > maxAdded {
		k.merge(nil)
	}
}

// load puts in all tokens that the database has. It may reorder its argument.
func (k *known) load(shorts []uint64) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.merge(shorts)
	k.loaded = true
}

// merge makes one sorted slice, without room to spare, of all there are.
func (k *known) merge(more []uint64) {
	all := make([]uint64, 0, len(k.sorted)+len(k.added)+len(more))
	all = append(append(slices.AppendSeq(all, maps.Keys(k.added)), k.sorted...), more...)
	slices.Sort(all)
	k.sorted, k.added = slices.Compact(all), nil
}
