package schedule

import (
	"time"

	"github.com/allswell/allswell/internal/domain/kernel"
)

// LongGap is the minimum length of a listening gap that can grant a monitor a fresh interval and
// that histories show as unknown. Shorter gaps come from quick restarts.
const LongGap = 30 * time.Second

const (
	// retryPause is the longest pause between two retries of a job, which follow after 1, 2, 4, 8 and 16 seconds.
	retryPause = 16 * time.Second

	// PingDelay is how late a punctual job's ping may arrive, because the job takes time to start
	// and the network is slow. It does not move the deadline. But if a gap begins within this time
	// after the deadline, the ping may have been lost in it.
	PingDelay = 10 * time.Second

	// maxExcused is how many due times in a row separate gaps can excuse.
	maxExcused = 2
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
	Interval        time.Duration // the ping is due within this time; ignored with a Cron
	Cron            Cron          // the ping is due at its next time; zero: within the interval
	Grace           time.Duration // how much later the ping may come
	RejectedAt      time.Time     // when the service last rejected a valid ping; zero: never
	SuppressedUntil time.Time     // end of the component's maintenance, past or planned; zero: none
}

// Deadline returns the instant after which silence counts as a failure. gaps are the recorded listening gaps, in order
// and without overlap; gaps before the wait have no effect. An additional gap never makes the deadline earlier.
//
// docs/deadlines.md has the rule, and docs/decisions/0013-gaps-and-deadlines.md the reasons.
func (w PingWait) Deadline(gaps []ListeningGap) time.Time {
	deadline := w.deadlineFrom(w.Since, gaps)
	if w.RejectedAt.After(w.Since) {
		deadline = kernel.Later(deadline, w.deadlineFrom(w.RejectedAt, gaps))
	}
	if w.SuppressedUntil.After(w.Since) {
		deadline = kernel.Later(deadline, w.deadlineFrom(w.SuppressedUntil, gaps))
	}
	return deadline
}

// DueAt returns when the ping is due, without the grace and regardless of gaps, rejected pings and maintenance.
func (w PingWait) DueAt() time.Time { return w.Next(w.Since) }

// Next returns the first due time after an instant.
func (w PingWait) Next(after time.Time) time.Time {
	if next := w.Cron.Next(after); !next.IsZero() {
		return next
	}
	return after.Add(w.Interval) // also of a Cron that is not valid, which is never saved
}

// deadlineFrom returns the deadline counted from one sign of life, by the rule of PingWait.Deadline.
func (w PingWait) deadlineFrom(since time.Time, gaps []ListeningGap) time.Time {
	if w.Cron.IsZero() {
		return w.intervalDeadline(since, gaps)
	}
	due, spans := w.Next(since), JoinGaps(gaps, since)
	for range maxExcused {
		var end time.Time // of the last gap that excuses the due time
		for _, span := range spans {
			if span.Len() >= LongGap && !span.To.Before(due) && !span.From.After(due.Add(w.Grace+PingDelay)) {
				end = span.To
			}
		}
		if end.IsZero() {
			break
		}
		due = w.Next(end)
	}
	deadline := due.Add(w.Grace)
	limit := w.Next(due).Add(w.Grace)
	for _, span := range spans {
		if span.From.After(deadline.Add(PingDelay)) {
			break
		}
		deadline = kernel.Later(deadline, kernel.Earlier(RetryDeadline(span), limit))
	}
	return deadline
}

// JoinGaps returns the gaps that end after an instant. Gaps less than one retry pause apart count as one.
func JoinGaps(gaps []ListeningGap, since time.Time) (spans []ListeningGap) {
	for _, gap := range gaps {
		switch n := len(spans); {
		case !gap.To.After(since):
		case n > 0 && gap.From.Sub(spans[n-1].To) < retryPause:
			spans[n-1].To = gap.To
		default:
			spans = append(spans, gap)
		}
	}
	return spans
}

// RetryDeadline returns the latest time at which a ping that failed in a gap arrives by a retry.
func RetryDeadline(gap ListeningGap) time.Time {
	return gap.To.Add(min(gap.Len(), LongGap) + time.Second)
}

// intervalDeadline is deadlineFrom for a monitor with an interval.
func (w PingWait) intervalDeadline(since time.Time, gaps []ListeningGap) time.Time {
	interval := w.Interval + w.Grace
	deadline := since.Add(interval)
	expected := since.Add(max(0, w.Interval/2-w.Grace)) // always before the end of a later grant
	missed := time.Duration(0)
	var span ListeningGap // the gap, joined with the gaps right before it
	for _, gap := range gaps {
		if !gap.To.After(since) {
			continue
		}
		if gap.From.After(deadline.Add(PingDelay)) {
			break // the deadline passed before this gap
		}
		if span.To.IsZero() || gap.From.Sub(span.To) >= retryPause {
			span.From = gap.From
		}
		span.To = gap.To
		missed += gap.To.Sub(kernel.Later(gap.From, since))
		limit := since.Add(2*interval + missed)
		deadline = kernel.Later(deadline, kernel.Earlier(RetryDeadline(span), limit))
		if span.Len() >= LongGap && span.To.After(expected) {
			deadline = kernel.Later(deadline, kernel.Earlier(span.To.Add(interval), limit))
		}
	}
	return deadline
}
