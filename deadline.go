package allswell

import "time"

// LongGap is the least length of a hole in the ledger of listening that may
// grant a fresh interval (design section 7, point 2).
const LongGap = 30 * time.Second

const (
	// retryPause is the longest pause between two retries of a well-behaved
	// job, which come after 1, 2, 4, 8 and 16 s.
	retryPause = 16 * time.Second

	// lateness is how late a punctual job's ping may come, by its start and
	// the network. It moves no deadline; but a hole that begins this soon after
	// one may have swallowed the ping that was on its way.
	pingDelay = 10 * time.Second
)

// Window is a hole in the ledger of listening: from From until To nothing
// could be heard. One of LongGap or more is a deaf window; a shorter one is
// the trace of a quick restart.
type ListeningGap struct {
	From, To time.Time
}

// Len returns how long the window lasted.
func (w ListeningGap) Len() time.Duration { return w.To.Sub(w.From) }

// Wait is one monitor waiting for one ping.
type PingWait struct {
	Since           time.Time     // the last recorded ping, or when a human started the wait anew
	Interval        time.Duration // a ping is due within this
	RejectedAt      time.Time     // when a valid ping was last refused by us; zero: never
	SuppressedUntil time.Time     // when the planned maintenance of its component ends, or ended; zero: there was none
}

// Deadline returns the instant after which silence counts. holes are all holes
// in the ledger, in order and without overlap; those before the wait do not
// matter. One more hole never makes it earlier.
//
// The rule (design section 7, point 3). Undisturbed it is Since + Interval. A
// deaf window that touches the second half of the wait grants one fresh
// interval from when we hear again, because the ping that was due may have
// come while nobody listened; after such a grant the job's phase is unknown,
// and any overlap grants again. A shorter hole grants only what the job's own
// retries need: they double their pause, so a ping that first failed inside
// the hole arrives at most the hole's length and a second after its end. Holes
// with less than a retry's pause between them count as one. All of this is
// capped at Since + 2 × Interval + the time we were deaf, so that endless
// restarts cannot hide a real outage.
//
// A refused ping proves life as a recorded one does: silence counts from it by
// the same rule, whatever the cap of the wait. So it does from the end of a
// planned maintenance: until then nothing is expected, and after it there is one
// fresh interval.
func (w PingWait) Deadline(holes []ListeningGap) time.Time {
	due := deadline(w.Since, w.Interval, holes)
	if w.RejectedAt.After(w.Since) {
		due = later(due, deadline(w.RejectedAt, w.Interval, holes))
	}
	if w.SuppressedUntil.After(w.Since) {
		due = later(due, deadline(w.SuppressedUntil, w.Interval, holes))
	}
	return due
}

// deadline is PingWait.Deadline from one sign of life.
func deadline(since time.Time, interval time.Duration, holes []ListeningGap) time.Time {
	due := since.Add(interval)
	middle := since.Add(interval / 2) // whatever follows a grant is behind it
	deaf := time.Duration(0)
	var span ListeningGap // the hole, and those that count as one with it
	for _, hole := range holes {
		if !hole.To.After(since) {
			continue
		}
		if hole.From.After(due.Add(pingDelay)) {
			break // the ping was due before this hole began
		}
		if span.To.IsZero() || hole.From.Sub(span.To) >= retryPause {
			span.From = hole.From
		}
		span.To = hole.To
		deaf += hole.To.Sub(later(hole.From, since))
		limit := since.Add(2*interval + deaf)
		retried := span.To.Add(min(span.Len(), LongGap) + time.Second)
		due = later(due, earlier(retried, limit))
		if span.Len() >= LongGap && span.To.After(middle) {
			due = later(due, earlier(span.To.Add(interval), limit))
		}
	}
	return due
}
