package schedule

import (
	"time"

	"github.com/allswell/allswell/internal/domain/kernel"
)

// LateCheckIntervals is by how many intervals a result must be overdue for its check to be late.
const LateCheckIntervals = 2

// CheckWait is the wait of a check for its next result.
type CheckWait struct {
	// when the last result's check began, or when the monitor was created, enabled or changed, if that was later
	Since    time.Time
	Interval time.Duration
}

// DueAt returns when the next result is due: an interval after Since.
func (w CheckWait) DueAt() time.Time { return w.Since.Add(w.Interval) }

// LateAt returns the instant after which the check is late if there is no result: LateCheckIntervals after DueAt, and
// so three intervals after the last result. Whether a replica has claimed the check meanwhile does not matter. The time
// in listening gaps after DueAt does not count, because no replica was running, and the gap has its own event. gaps are
// in order and without overlap.
func (w CheckWait) LateAt(gaps []ListeningGap) time.Time {
	due := w.DueAt()
	late := due.Add(LateCheckIntervals * w.Interval)
	for _, gap := range gaps {
		if !gap.From.Before(late) {
			break
		}
		if from := kernel.Later(gap.From, due); gap.To.After(from) {
			late = late.Add(gap.To.Sub(from))
		}
	}
	return late
}
