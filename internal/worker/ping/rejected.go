package ping

import (
	"strings"
	"sync"
	"time"
)

const (
	// maxRejected is the maximum number of rejected tokens that are kept. A million monitors that ping every five
	// minutes reach it in 78 s. By then there has been no commit for 30 s, and the listening gap protects all monitors.
	maxRejected = 1 << 18

	// maxSaved is the maximum number of rejected tokens that one transaction saves, to keep it short.
	maxSaved = 4096
)

// rejectedPings is the tokens of valid pings that were rejected, until a liveness record has saved them: the job behind
// each token is alive. It is safe for concurrent use, except that calls of take and settle must alternate.
type rejectedPings struct {
	mu          sync.Mutex
	pending     map[string]struct{}
	since       time.Time // arrival of the oldest ping in pending
	saving      []string  // the tokens in the current transaction
	savingSince time.Time // arrival of the oldest ping in saving
}

// add adds a token. It returns false if maxRejected is reached.
func (r *rejectedPings) add(token string, arrived time.Time) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	_, known := r.pending[token]
	if !known && len(r.pending) >= maxRejected {
		return false
	}
	if len(r.pending) == 0 || arrived.Before(r.since) { // the pings of a batch are rejected after later ones
		r.since = arrived
	}
	if known {
		return true
	}
	if r.pending == nil {
		r.pending = make(map[string]struct{})
	}
	r.pending[strings.Clone(token)] = struct{}{} // the token is a substring of the request
	return true
}

// take moves up to maxSaved tokens from pending to saving, and returns saving.
func (r *rejectedPings) take() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.savingSince = r.since
	for token := range r.pending {
		if len(r.saving) == maxSaved {
			return r.saving
		}
		r.saving = append(r.saving, token)
		delete(r.pending, token)
	}
	r.pending = nil // a map never shrinks
	return r.saving
}

// settle drops the tokens that take returned if they were saved, and makes them pending again otherwise.
func (r *rejectedPings) settle(saved bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !saved && len(r.saving) > 0 {
		if len(r.pending) == 0 || r.savingSince.Before(r.since) {
			r.since = r.savingSince
		}
		if r.pending == nil {
			r.pending = make(map[string]struct{}, len(r.saving))
		}
		for _, token := range r.saving {
			r.pending[token] = struct{}{}
		}
	}
	r.saving = nil
}

// oldest returns the arrival of the oldest rejected ping that is not saved. It
// includes the pings in saving if includeSaving is set. any is false if there is none.
func (r *rejectedPings) oldest(includeSaving bool) (arrived time.Time, any bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	switch pending, saving := len(r.pending) > 0, includeSaving && len(r.saving) > 0; {
	case saving && (!pending || r.savingSince.Before(r.since)):
		return r.savingSince, true
	default:
		return r.since, pending
	}
}
