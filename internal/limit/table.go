package limit

import (
	"hash/maphash"
	"math"
	"sync"
	"time"
)

const (
	// shardCount is the number of locks per table. No power of two: a map's
	// slots are, and with this number a shard's map is three quarters full
	// at MaxKeys, where with 64 it had just doubled.
	shardCount = 42

	// sampled is how many keys are looked at to find one to forget.
	sampled = 8

	// minSweep is the least time between two searches through a full shard
	// for expired keys.
	minSweep = time.Second
)

// table is the logs of many keys.
type table[K comparable] struct {
	most   int // events per key and window
	window time.Duration
	keys   int       // the most keys of one shard
	base   time.Time // instants are kept as nanoseconds since
	seed   maphash.Seed
	shards [shardCount]shard[K]
}

// shard is the part of a table that one lock guards.
type shard[K comparable] struct {
	mu    sync.Mutex
	logs  map[K]log
	peak  int   // the most keys since logs was made
	swept int64 // when expired keys were last looked for
	_     [24]byte
}

// log is the events of one key. Most keys have one in the window, so that one
// is kept in place.
type log struct {
	last  int64 // the newest event
	older *ring // those before it; nil: none
}

func newTable[K comparable](most int, window time.Duration, keys int) *table[K] {
	t := &table[K]{most: most, window: window, keys: max(1, keys/shardCount), base: time.Now(), seed: maphash.MakeSeed()}
	for i := range t.shards {
		t.shards[i].logs = make(map[K]log)
		t.shards[i].swept = math.MinInt64 / 2 // long ago
	}
	return t
}

// entry is the log of one key at one instant. Its shard is locked until leave.
type entry[K comparable] struct {
	t     *table[K]
	s     *shard[K]
	key   K
	log   log
	at    int64 // never before the key's newest event: callers may overtake each other
	count int   // events in the window that ends at at
}

// enter locks the key's shard and looks the key up.
func (t *table[K]) enter(key K, now time.Time) entry[K] {
	e := entry[K]{t: t, s: &t.shards[maphash.Comparable(t.seed, key)%shardCount], key: key, at: int64(now.Sub(t.base))}
	e.s.mu.Lock()
	if e.at-e.s.swept >= int64(t.window) {
		e.s.sweep(e.at, t.window)
	}
	log, ok := e.s.logs[key]
	if !ok {
		return e
	}
	e.at = max(e.at, log.last)
	if since := e.at - int64(t.window); log.last > since {
		e.log, e.count = log, 1
		if log.older != nil {
			e.count += log.older.drop(since)
		}
	}
	return e
}

func (e *entry[K]) leave() { e.s.mu.Unlock() }

// full reports whether one more event would be too many.
func (e *entry[K]) full() bool { return e.count >= e.t.most }

// add records an event at e's instant.
func (e *entry[K]) add() {
	if e.count > 0 {
		if e.log.older == nil {
			e.log.older = new(ring)
		}
		e.log.older.push(e.log.last, e.t.most)
	} else {
		e.s.makeRoom(e.at, e.t, e.key)
	}
	e.count++
	e.log.last = e.at
	e.s.logs[e.key] = e.log
	e.s.peak = max(e.s.peak, len(e.s.logs))
}

// verdict tells how e stands now.
func (e *entry[K]) verdict(allowed bool) Verdict {
	oldest := e.at
	if e.count > 0 {
		oldest = e.log.last
		if e.log.older != nil && e.log.older.n > 0 {
			oldest = e.log.older.oldest()
		}
	}
	return Verdict{
		Allowed:   allowed,
		Limit:     e.t.most,
		Remaining: e.t.most - e.count,
		Reset:     e.t.base.Add(time.Duration(oldest) + e.t.window),
	}
}

// sweep forgets the keys without an event in the window, and gives memory back
// when few remain.
func (s *shard[K]) sweep(now int64, window time.Duration) {
	s.swept = now
	for key, log := range s.logs {
		if log.last <= now-int64(window) {
			delete(s.logs, key)
		}
	}
	if s.peak > 16 && len(s.logs) < s.peak/4 {
		// A map never shrinks.
		rest := make(map[K]log, len(s.logs))
		for key, log := range s.logs {
			rest[key] = log
		}
		s.logs, s.peak = rest, len(rest)
	}
}

// makeRoom makes sure that the key may be put into the shard.
func (s *shard[K]) makeRoom(now int64, t *table[K], key K) {
	if len(s.logs) < t.keys {
		return
	}
	if _, known := s.logs[key]; known {
		return
	}
	if now-s.swept >= int64(min(minSweep, t.window)) {
		s.sweep(now, t.window)
	}
	for len(s.logs) >= t.keys {
		var victim K
		var last int64
		looked := 0
		for key, log := range s.logs { // begins somewhere else each time
			if looked == 0 || log.last < last {
				victim, last = key, log.last
			}
			if looked++; looked == sampled {
				break
			}
		}
		delete(s.logs, victim)
	}
}

// ring is a queue of instants, oldest first, that grows as it is needed.
type ring struct {
	at      []int64
	head, n int
}

func (r *ring) oldest() int64 { return r.at[r.head] }

// drop takes out the instants up to since, and returns how many are left.
func (r *ring) drop(since int64) int {
	for r.n > 0 && r.at[r.head] <= since {
		r.head = (r.head + 1) % len(r.at)
		r.n--
	}
	return r.n
}

// push puts in an instant; there will be no more than most.
func (r *ring) push(at int64, most int) {
	if r.n == len(r.at) {
		grown := make([]int64, min(max(2, 2*r.n), max(most, r.n+1)))
		copied := copy(grown, r.at[r.head:])
		copy(grown[copied:], r.at[:r.head])
		r.at, r.head = grown, 0
	}
	r.at[(r.head+r.n)%len(r.at)] = at
	r.n++
}
