package ping

import (
	"sync"
	"time"
)

// lossTimeout is how long after a loss further losses are expected. No liveness record is written before it has passed.
const lossTimeout = 2 * time.Second

// lostPings tracks when pings may have been lost without their token being read, so that it is unknown which jobs sent
// them. It is safe for concurrent use.
type lostPings struct {
	mu     sync.Mutex
	since  time.Time // the first loss that is not in a saved listening gap; zero: none
	latest time.Time // the last loss
	until  time.Time // end of the gap saved last
}

// note records a loss, and reports whether it is the first one in lossTimeout.
func (l *lostPings) note(now time.Time) (first bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	first = now.Sub(l.latest) > lossTimeout // true if latest is zero
	l.latest = now
	switch {
	case !l.since.IsZero():
	case first:
		l.since = now
	default:
		l.since = l.until // no liveness record was written since: continue the gap
	}
	return first
}

// unsaved returns the time of the first loss that is not in a saved gap. It is zero if there is none.
func (l *lostPings) unsaved() time.Time {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.since
}

// recent reports whether the last loss is at most lossTimeout ago.
func (l *lostPings) recent(now time.Time) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return now.Sub(l.latest) <= lossTimeout
}

// saved notes that a gap that ends at until was saved. If there were losses after until, the next gap starts there.
func (l *lostPings) saved(until time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.since, l.until = time.Time{}, until
	if l.latest.After(until) {
		l.since = until
	}
}

// NoteLost notes that pings may have been lost: a connection could not be accepted, or was closed while a request was
// arriving. Until two seconds after the last call, no liveness record is written, and the time is saved as a listening
// gap. The gap counts for the monitors of all replicas, because it is unknown whose pings were lost. NoteLost does not
// block.
func (s *Server) NoteLost() { s.batcher.noteLost(time.Now()) }

// LosingPings reports whether pings are being lost, or were lost and the listening gap
// is not saved yet. Meanwhile, silence must not be counted against monitors.
func (s *Server) LosingPings() bool { return s.batcher.losingPings(time.Now()) }

func (b *batcher) noteLost(now time.Time) {
	if b.lost.note(now) {
		b.log.Warn("pings are being lost; silence does not count until they are received again")
		b.due.Fire() // save the gap now, not with the next liveness record
	}
}

func (b *batcher) losingPings(now time.Time) bool {
	return b.lost.recent(now) || !b.lost.unsaved().IsZero()
}

// gapDue reports whether a listening gap has to be saved before the next liveness record is due.
func (b *batcher) gapDue(now time.Time) bool {
	return !b.lost.unsaved().IsZero() && now.Sub(b.gapSavedAt) >= livenessRetry
}

// rejectUnqueued rejects a ping that found no room in the queue. The token set may lack a token of another replica, so
// the ping also counts as lost. During a stop it does not: then there are no further liveness records that would have
// to be held back.
func (b *batcher) rejectUnqueued(token string, now time.Time) {
	b.reject(token, now)
	b.mu.Lock()
	accepting := b.accepting
	b.mu.Unlock()
	if accepting {
		b.noteLost(now)
	}
}
