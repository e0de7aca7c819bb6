package ping

import (
	"strings"
	"sync"
	"time"
)

const (
	// maxRefused is how many refused tokens are remembered. A million monitors
	// that ping every five minutes fill it in 78 s; after 30 s without a
	// commit, the ledger of listening protects them anyway.
	maxRefused = 1 << 18

	// maxSaved is how many of them one transaction saves, so that it stays
	// short.
	maxSaved = 4096
)

// refusals are the tokens of valid pings that were refused, until a beat has
// saved them. It is safe for concurrent use, but that only one beat may be
// under way.
type refusals struct {
	mu          sync.Mutex
	pending     map[string]struct{}
	since       time.Time // when the first of pending came
	saving      []string  // go along with the beat that is under way
	savingSince time.Time
}

// add remembers a token, and returns false if there is no room for it.
func (r *refusals) add(token string, came time.Time) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if _, ok := r.pending[token]; ok {
		return true
	}
	if len(r.pending) >= maxRefused {
		return false
	}
	if len(r.pending) == 0 || came.Before(r.since) {
		r.since = came
	}
	if r.pending == nil {
		r.pending = make(map[string]struct{})
	}
	r.pending[strings.Clone(token)] = struct{}{} // the token is part of a longer request
	return true
}

// take moves up to maxSaved tokens to those that are being saved, and returns
// them.
func (r *refusals) take() []string {
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

// settle ends what take began: the tokens are forgotten if they were saved, and
// else are pending again.
func (r *refusals) settle(saved bool) {
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

// oldest returns when the oldest refused ping came that is not saved; saving
// tells whether those count that are being saved. any is false if there is none.
func (r *refusals) oldest(saving bool) (came time.Time, any bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	switch pending, saving := len(r.pending) > 0, saving && len(r.saving) > 0; {
	case saving && (!pending || r.savingSince.Before(r.since)):
		return r.savingSince, true
	default:
		return r.since, pending
	}
}
