// Package failurelog logs the beginning and the end of an outage, and not each failure within it.
package failurelog

import (
	"log/slog"
	"sync"
	"sync/atomic"
	"time"
)

// Log writes one line when an operation starts to fail and one when it succeeds
// again. It is safe for concurrent use once its fields are set.
type Log struct {
	Logger  *slog.Logger
	Failing string // the message of the first line
	Working string // the message of the second line

	// Settle is how long the operation has to succeed before the outage counts as
	// over. Attempts that began before the first success may still fail after it.
	Settle time.Duration

	failing  atomic.Bool // true while since is set
	mu       sync.Mutex
	since    time.Time // the first failure of the outage; zero: no outage
	worked   time.Time // the first success after the last failure; zero: none yet
	failures int
}

// Failed records a failure. The first failure of an outage is logged, with attrs.
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

// Worked records a success. Outside of an outage it costs one atomic read.
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
