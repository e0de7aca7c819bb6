// Package limit refuses what comes too often from one address or with one
// token. It is exact: it keeps the instant of every event that it allowed, so
// no window of any position holds more of them than the limit, and nothing is
// refused while fewer are in the window. What it refused does not count.
//
// Memory is bounded. A key with one event in the window takes about 50 bytes,
// one with n events 8 to 16 bytes more for each; keys without an event in the
// window are forgotten. At MaxKeys keys, a new one takes the place of one whose
// events have expired, or else of the least recently allowed of a few that are
// picked at random: that one's count begins anew, so that a flood of addresses
// may allow others too much but never makes them be refused.
package limit

import "time"

// MaxKeys is how many keys one limit remembers at most.
const MaxKeys = 1 << 20

// Verdict is what became of one event.
type Verdict struct {
	Allowed   bool
	Limit     int       // the most events in a window; 0: no limit
	Remaining int       // how many more would be allowed at this instant
	Reset     time.Time // when the oldest event leaves the window: a refused one would be allowed then
}

// Log limits events by a string, such as a token's id. It is safe for
// concurrent use.
type Log struct {
	keys *table[string]
}

// New returns a Log that allows at most most events per key in any window. With
// most 0 it allows everything and keeps nothing.
func New(most int, window time.Duration) *Log {
	return &Log{newTable[string](most, window, MaxKeys)}
}

// Take decides about an event at now, and counts it if it is allowed.
func (l *Log) Take(key string, now time.Time) Verdict {
	if l.keys.most <= 0 {
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
