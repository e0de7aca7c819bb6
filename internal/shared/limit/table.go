package limit

import (
	"hash/maphash"
	"math"
	"sync"
	"time"
)

const (
	// shardCount is the number of shards per table, each with its own lock. A Go map's capacity is a power of two; with
	// 42 shards, the map of a shard is three quarters full at MaxKeys. With 64 it would just have doubled.
	shardCount = 42

	// sampleSize is how many keys are compared to find one to evict.
	sampleSize = 8

	// minSweep is the minimum time between two sweeps of a full shard for expired keys.
	minSweep = time.Second
)

// table maps keys to their events.
type table[K comparable] struct {
	limit  int // events per key and window
	window time.Duration
	keys   int       // maximum number of keys of one shard
	base   time.Time // times are kept as nanoseconds since base
	seed   maphash.Seed
	shards [shardCount]shard[K]
}

// shard is the part of a table under one lock.
type shard[K comparable] struct {
	mu    sync.Mutex
	logs  map[K]history
	peak  int   // maximum number of keys since the map was allocated
	swept int64 // when expired keys were last removed
	_     [24]byte
}

// history is the events of one key. Most keys have one event in the window, which needs no allocation.
type history struct {
	last  int64 // the newest event
	older *ring // earlier events; nil: none
}

func newTable[K comparable](limit int, window time.Duration, keys int) *table[K] {
	t := &table[K]{
		limit: limit, window: window, keys: max(1, keys/shardCount), base: time.Now(), seed: maphash.MakeSeed(),
	}
	for i := range t.shards {
		t.shards[i].logs = make(map[K]history)
		t.shards[i].swept = math.MinInt64 / 2 // long ago
	}
	return t
}

// entry is the history of one key at one time. Its shard is locked until leave.
type entry[K comparable] struct {
	t     *table[K]
	s     *shard[K]
	key   K
	log   history
	at    int64 // not before the key's newest event, as concurrent callers may arrive out of order
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

// full reports whether the window has no room for another event.
func (e *entry[K]) full() bool { return e.count >= e.t.limit }

// add records an event at e.at.
func (e *entry[K]) add() {
	if e.count > 0 {
		if e.log.older == nil {
			e.log.older = new(ring)
		}
		e.log.older.push(e.log.last, e.t.limit)
	} else {
		e.s.makeRoom(e.at, e.t, e.key)
	}
	e.count++
	e.log.last = e.at
	e.s.logs[e.key] = e.log
	e.s.peak = max(e.s.peak, len(e.s.logs))
}

// verdict returns the decision and the current state of e.
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
		Limit:     e.t.limit,
		Remaining: e.t.limit - e.count,
		Reset:     e.t.base.Add(time.Duration(oldest) + e.t.window),
	}
}

// sweep removes the keys without an event in the window, and reallocates the map when few keys remain.
func (s *shard[K]) sweep(now int64, window time.Duration) {
	s.swept = now
	for key, log := range s.logs {
		if log.last <= now-int64(window) {
			delete(s.logs, key)
		}
	}
	if s.peak > 16 && len(s.logs) < s.peak/4 {
		// A map never shrinks.
		rest := make(map[K]history, len(s.logs))
		for key, log := range s.logs {
			rest[key] = log
		}
		s.logs, s.peak = rest, len(rest)
	}
}

// makeRoom makes sure that the shard has room for key, by evicting others if needed.
func (s *shard[K]) makeRoom(now int64, t *table[K], key K) {
	if len(s.logs) < t.keys {
		return
	}
	if _, ok := s.logs[key]; ok {
		return
	}
	if now-s.swept >= int64(min(minSweep, t.window)) {
		s.sweep(now, t.window)
	}
	for len(s.logs) >= t.keys {
		var victim K
		var last int64
		looked := 0
		for key, log := range s.logs { // map iteration starts at a random key
			if looked == 0 || log.last < last {
				victim, last = key, log.last
			}
			if looked++; looked == sampleSize {
				break
			}
		}
		delete(s.logs, victim)
	}
}

// ring is a growing queue of times, oldest first.
type ring struct {
	at      []int64
	head, n int
}

func (r *ring) oldest() int64 { return r.at[r.head] }

// drop removes the times up to since, and returns how many remain.
func (r *ring) drop(since int64) int {
	for r.n > 0 && r.at[r.head] <= since {
		r.head = (r.head + 1) % len(r.at)
		r.n--
	}
	return r.n
}

// push appends a time. The ring never holds more than limit.
func (r *ring) push(at int64, limit int) {
	if r.n == len(r.at) {
		grown := make([]int64, min(max(2, 2*r.n), max(limit, r.n+1)))
		copied := copy(grown, r.at[r.head:])
		copy(grown[copied:], r.at[:r.head])
		r.at, r.head = grown, 0
	}
	r.at[(r.head+r.n)%len(r.at)] = at
	r.n++
}
