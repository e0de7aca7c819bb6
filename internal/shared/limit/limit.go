// Package limit limits the rate of events by client address or by token. It keeps a sliding log: the time of every
// allowed event in the window. No window, wherever it starts, holds more events than the limit, and no event is refused
// while the window has room. Refused events do not count.
//
// Memory is bounded. A key with one event in the window takes about 50 bytes, and each further event 8 to 16 bytes.
// Keys without an event in the window are removed. With MaxKeys keys in use, a new key evicts a key whose events have
// expired, or else the least recently used of a small random sample. The count of an evicted key restarts at zero: a
// flood of addresses can let other clients exceed their limit, but cannot get them refused.
package limit

import "time"

// MaxKeys is the maximum number of keys of one limiter.
const MaxKeys = 1 << 20

// Verdict is the decision about one event.
type Verdict struct {
	Allowed   bool
	Limit     int       // maximum number of events in a window; 0: no limit
	Remaining int       // how many more events would be allowed now
	Reset     time.Time // when the oldest event leaves the window, which makes room for one more
}

// Limiter limits events by a string key, such as the id of a token. It is safe for concurrent use.
type Limiter struct {
	keys *table[string]
}

// New returns a Limiter that allows up to limit events per key in any window.
// If limit is 0, it allows every event and keeps no state.
func New(limit int, window time.Duration) *Limiter {
	return &Limiter{newTable[string](limit, window, MaxKeys)}
}

// Limit returns the maximum number of events of a key; 0: any number.
func (l *Limiter) Limit() int { return max(0, l.keys.limit) }

// Take decides whether an event at now is allowed, and counts it if so.
func (l *Limiter) Take(key string, now time.Time) Verdict {
	if l.keys.limit <= 0 {
		return Verdict{Allowed: true}
	}
	e := l.keys.enter(key, now)
	defer e.leave()
	if e.full() {
		return e.verdict(false)
	}
	e.add()
	return e.verdict(true)
}

// Full reports whether Take would refuse an event of a key at now. It does not count the event.
func (l *Limiter) Full(key string, now time.Time) bool {
	if l.keys.limit <= 0 {
		return false
	}
	e := l.keys.enter(key, now)
	defer e.leave()
	return e.full()
}
