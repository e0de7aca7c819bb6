// Package failurelog keeps the log short while something goes on failing.
package failurelog

import (
	"log/slog"
	"sync"
	"sync/atomic"
	"time"
)

// Log writes one line when something begins to fail and one when it works again,
// however often it fails in between. It is safe for concurrent use once its
// fields are set.
type Log struct {
	Logger  *slog.Logger
	Failing string // the message of the first line
	Working string // the message of the second one

	// Settle is how long after its first success nothing may fail before it
	// counts as working: what began before that success may still fail later.
	Settle time.Duration

	failing  atomic.Bool // since is not zero
	mu       sync.Mutex
	since    time.Time // when it began to fail
	worked   time.Time // the first success after the last failure; zero: none
	failures int
}

// Failed notes a failure at an instant. The first one is logged, with attrs.
func (l *Log) Failed(at time.Time, attrs ...any) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.failures++
	l.worked = time.Time{}
	if l.since.IsZero() {
		l.since = at
		l.failing.Store(true)
		l.Logger.Error(l.Failing, attrs...)
	}
}

// Worked notes a success at an instant. It costs nothing while all is well.
func (l *Log) Worked(at time.Time) {
	if !l.failing.Load() {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.since.IsZero() {
		return
	}
	if l.worked.IsZero() {
		l.worked = at
	}
	if at.Sub(l.worked) < l.Settle {
		return
	}
	l.Logger.Info(l.Working, "after", l.worked.Sub(l.since).Round(time.Millisecond), "failures", l.failures)
	l.since, l.worked, l.failures = time.Time{}, time.Time{}, 0
	l.failing.Store(false)
}
