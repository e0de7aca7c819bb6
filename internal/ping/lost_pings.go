package ping

import (
	"sync"
	"time"
)

// lostFor is how long after a loss no liveness record is written, because it is
// not known to be over yet.
const lostFor = 2 * time.Second

// losses is when clients may have sent pings of which nobody read the token, so
// that it cannot be remembered which job lives. It is safe for concurrent use.
type losses struct {
	mu     sync.Mutex
	since  time.Time // the first that is in no stored gap; zero: none
	latest time.Time
	until  time.Time // the end of the gap that was stored last
}

// note takes a loss down, and reports whether it is the first.
func (l *losses) note(now time.Time) (first bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	first = now.Sub(l.latest) > lostFor // a zero time is long ago
	l.latest = now
	switch {
	case !l.since.IsZero():
	case first:
		l.since = now
	default:
		l.since = l.until // no liveness was recorded since: it is the same gap
	}
	return first
}

// unsaved returns since when losses are in no stored gap; zero: there are none.
func (l *losses) unsaved() time.Time {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.since
}

// recent reports whether losses have to be expected.
func (l *losses) recent(now time.Time) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return now.Sub(l.latest) <= lostFor
}

// saved notes that a gap until a moment is stored. Losses after it are in none,
// and while there are some, the next gap continues this one.
func (l *losses) saved(until time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.since, l.until = time.Time{}, until
	if l.latest.After(until) {
		l.since = until
	}
}

// Lost notes that clients may have sent pings that nobody read: connections
// could not be accepted, or were closed while a request arrived. Until some
// seconds after the last such call no liveness record is written, and the time
// is stored as a listening gap, which counts for all replicas: whose pings were
// lost is not known. It does not block.
func (s *Server) Lost() { s.batcher.lose(time.Now()) }

// Shedding reports whether pings are being lost, or were lost and the gap is not
// stored yet. Silence is not to be judged meanwhile.
func (s *Server) Shedding() bool { return s.batcher.shedding(time.Now()) }

func (b *batcher) lose(now time.Time) {
	if b.losses.note(now) {
		b.log.Warn("pings are being lost: silence does not count until they can be heard again")
		b.rouse() // store the gap now, and not with the next liveness record
	}
}

func (b *batcher) shedding(now time.Time) bool {
	return b.losses.recent(now) || !b.losses.unsaved().IsZero()
}

// gapDue reports whether a gap has to be stored before the next liveness record.
func (b *batcher) gapDue(now time.Time) bool {
	return !b.losses.unsaved().IsZero() && now.Sub(b.gapSaved) >= beatRetry
}

// turnAway is refuse for want of room. A token that is made by another replica may
// not be known here, so the ping counts as lost, too; not so when the door is
// closed, because then there are no liveness records anyway.
func (b *batcher) turnAway(token string, now time.Time) {
	b.refuse(token, now)
	b.mu.Lock()
	open := b.open
	b.mu.Unlock()
	if open {
		b.lose(now)
	}
}
