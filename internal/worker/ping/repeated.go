package ping

import (
	"maps"
	"sync"
	"time"
)

const (
	// repeatTime is how long the next start is regarded as the repetition of one that was answered 429 or 503: longer
	// than the Retry-After of both, with the time that an attempt takes.
	repeatTime = 2 * time.Minute

	// maxUnacknowledged is the maximum number of such starts that are kept. If there are more, all starts are regarded
	// as repetitions for repeatTime.
	maxUnacknowledged = 1 << 14
)

// unacknowledgedStarts is the starts that were answered 429 or 503, so that their jobs repeat them: a repetition comes
// later than the run began, and may be recorded twice. It is safe for concurrent use.
type unacknowledgedStarts struct {
	mu       sync.Mutex
	at       map[uint64]time.Time // by the short hash of the ping address
	allUntil time.Time            // until when all starts are regarded as repetitions
}

// add adds the start with the hash of a ping address.
func (u *unacknowledgedStarts) add(address uint64, now time.Time) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if len(u.at) >= maxUnacknowledged {
		maps.DeleteFunc(u.at, func(_ uint64, at time.Time) bool { return now.Sub(at) > repeatTime })
	}
	if u.at == nil || len(u.at) >= maxUnacknowledged {
		if u.at != nil {
			u.allUntil = now.Add(repeatTime) // as long as what is dropped here
		}
		u.at = make(map[uint64]time.Time)
	}
	u.at[address] = now
}

// take removes the start with the hash of a ping address, and reports whether the start that arrives now may be its
// repetition.
func (u *unacknowledgedStarts) take(address uint64, now time.Time) bool {
	u.mu.Lock()
	defer u.mu.Unlock()
	at, ok := u.at[address]
	delete(u.at, address)
	return ok && now.Sub(at) <= repeatTime || !now.After(u.allUntil)
}
