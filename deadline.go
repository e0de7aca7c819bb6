package allswell

import "time"

// LongGap is the minimum length of a listening gap that can grant a monitor a fresh interval and
// that histories show as unknown. Shorter gaps come from quick restarts.
const LongGap = 30 * time.Second

const (
	// retryPause is the longest pause between two retries of a job, which follow after 1, 2, 4, 8
	// and 16 seconds.
	retryPause = 16 * time.Second

	// pingDelay is how late a punctual job's ping may arrive, because the job takes time to start
	// and the network is slow. It does not move the deadline. But if a gap begins within this time
	// after the deadline, the ping may have been lost in it.
	pingDelay = 10 * time.Second
)

// ListeningGap is a period during which the service could not receive pings.
type ListeningGap struct {
	From, To time.Time
}

// Len returns the length of the gap.
func (g ListeningGap) Len() time.Duration { return g.To.Sub(g.From) }

// PingWait is a monitor's wait for its next ping.
type PingWait struct {
	Since           time.Time     // the last recorded ping, or when a person restarted the wait
	Interval        time.Duration // the ping is due within this time
	RejectedAt      time.Time     // when the service last rejected a valid ping; zero: never
	SuppressedUntil time.Time     // end of the component's maintenance, past or planned; zero: none
}

// Deadline returns the instant after which silence counts as a failure. gaps are the recorded
// listening gaps, in order and without overlap; gaps before the wait have no effect. An additional
// gap never makes the deadline earlier.
//
// Without gaps the deadline is Since + Interval. A gap of at least LongGap that touches the second
// half of the wait grants one fresh interval from its end, because the ping may have come while
// the service was not listening. After such a grant the phase of the job is unknown, so any
// overlap grants again. A shorter gap grants only the time that the job's retries need: they
// double their pause, so a ping that first failed inside the gap arrives at most the gap's length
// plus one second after its end. Gaps less than one retry pause apart count as one. The deadline
// is never later than Since + 2 × Interval + the total length of the gaps, so that repeated
// restarts cannot hide an outage.
//
// A rejected ping counts as a sign of life: the same rule applies from RejectedAt, and the later
// deadline wins. The same holds for SuppressedUntil: nothing is expected during maintenance, and
// its end starts a fresh interval.
//
// See docs/deadlines.md for the rule with a picture.
func (w PingWait) Deadline(gaps []ListeningGap) time.Time {
	due := deadline(w.Since, w.Interval, gaps)
	if w.RejectedAt.After(w.Since) {
		due = Later(due, deadline(w.RejectedAt, w.Interval, gaps))
	}
	if w.SuppressedUntil.After(w.Since) {
		due = Later(due, deadline(w.SuppressedUntil, w.Interval, gaps))
	}
	return due
}

// deadline applies the rule of PingWait.Deadline from one sign of life.
func deadline(since time.Time, interval time.Duration, gaps []ListeningGap) time.Time {
	due := since.Add(interval)
	middle := since.Add(interval / 2) // always before the end of a later grant
	missed := time.Duration(0)
	var span ListeningGap // the gap, joined with those right before it
	for _, gap := range gaps {
		if !gap.To.After(since) {
			continue
		}
		if gap.From.After(due.Add(pingDelay)) {
			break // the ping was due before this gap
		}
		if span.To.IsZero() || gap.From.Sub(span.To) >= retryPause {
			span.From = gap.From
		}
		span.To = gap.To
		missed += gap.To.Sub(Later(gap.From, since))
		limit := since.Add(2*interval + missed)
		retried := span.To.Add(min(span.Len(), LongGap) + time.Second)
		due = Later(due, earlier(retried, limit))
		if span.Len() >= LongGap && span.To.After(middle) {
			due = Later(due, earlier(span.To.Add(interval), limit))
		}
	}
	return due
}
