// Package cache keeps values in memory that are expensive to load or to render.
//
// A [Value] is one value. Concurrent callers share one load. A stale value is reloaded, and the old value is returned
// while that fails or takes too long. A [Cache] holds many values by key, within a limit of bytes.
package cache

import (
	"context"
	"fmt"
	"runtime/debug"
	"sync"
	"sync/atomic"
	"time"
)

const (
	// WaitTimeout is how long a caller waits for a new value while an old one could be served instead.
	WaitTimeout = time.Second
	// LoadTimeout bounds one load.
	LoadTimeout = 5 * time.Second
	// RetryDelay is the time between a failed load and the next attempt, unless the version has changed in between.
	RetryDelay = 500 * time.Millisecond
)

// Loader loads a value and returns when it expires; the zero Time means never. It must not refer to the request that
// caused it, because it may be called again much later.
type Loader[T any] func(ctx context.Context) (value T, expires time.Time, err error)

// Value is one value in memory. It is stale if Version has changed since its load began, or if it has expired. The zero
// T means "no value", so T is a pointer or an interface. Set the exported fields before the first use.
type Value[T any] struct {
	Load    Loader[T]
	Version *atomic.Uint64   // increases with each change of the source
	Now     func() time.Time // the clock that Load's expiry is compared with
	OnError func(error)      // called when a load fails after the previous one succeeded; nil: nothing

	// Loads increases after each successful load. It is the Version of values that are derived from this one.
	Loads atomic.Uint64

	current atomic.Pointer[loaded[T]]

	mu      sync.Mutex
	loading *load   // nil: none
	failure failure // of the last load, if it failed
}

// loaded is a value with its version and expiry.
type loaded[T any] struct {
	value   T
	version uint64
	expires time.Time
}

// load is a load in progress. version and err may be read once done is closed. It
// is cancelled when all its callers have given up.
type load struct {
	done    chan struct{}
	version uint64
	err     error
	cancel  context.CancelFunc
	waiters int
	wanted  bool // continue without callers: one of them received the old value
}

type failure struct {
	err     error
	version uint64
	at      time.Time
}

// fresh reports whether the value is not stale. It reads the clock only for values that expire.
func (l *loaded[T]) fresh(version uint64, now func() time.Time) bool {
	return l != nil && l.version >= version && (l.expires.IsZero() || now().Before(l.expires))
}

// Get returns a value that includes every change before the call. If loading fails, it returns the error together with
// the old value, if there is one. If loading takes longer than WaitTimeout, the error is context.DeadlineExceeded;
// without an old value, Get waits until the load has ended.
func (v *Value[T]) Get(ctx context.Context) (T, error) {
	want := v.Version.Load()
	if l := v.current.Load(); l.fresh(want, v.Now) {
		return l.value, nil
	}
	return v.wait(ctx, want)
}

// Last returns the value of the last successful load, however old, or the zero T.
func (v *Value[T]) Last() (value T) {
	if l := v.current.Load(); l != nil {
		value = l.value
	}
	return value
}

// Expires returns when the value of the last successful load expires; the zero Time means never.
func (v *Value[T]) Expires() time.Time {
	if l := v.current.Load(); l != nil {
		return l.expires
	}
	return time.Time{}
}

// wait returns a value of version want or later; see Get.
func (v *Value[T]) wait(ctx context.Context, want uint64) (T, error) {
	timer := time.NewTimer(WaitTimeout)
	defer timer.Stop()
	timeout := timer.C
	for {
		l, value, err := v.join(want)
		if l == nil {
			return value, err
		}
		for waiting := true; waiting; {
			select {
			case <-l.done:
				waiting = false
			case <-timeout:
				if v.current.Load() != nil {
					v.keep(l)
					return v.Last(), context.DeadlineExceeded
				}
				timeout = nil
			case <-ctx.Done():
				v.leave(l)
				return v.Last(), ctx.Err()
			}
		}
		if l.err != nil || l.version >= want {
			return v.Last(), l.err
		}
	}
}

// keep lets a load continue even if all its callers give up.
func (v *Value[T]) keep(l *load) {
	v.mu.Lock()
	defer v.mu.Unlock()
	l.wanted = true
}

// leave removes a caller, and cancels a load that has no other. The next caller starts another load.
func (v *Value[T]) leave(l *load) {
	v.mu.Lock()
	defer v.mu.Unlock()
	l.waiters--
	if l.waiters == 0 && !l.wanted && v.loading == l {
		v.loading = nil
		l.cancel()
	}
}

// join returns the load in progress, or starts one. It returns a value or an error instead if the value has been loaded
// in the meantime, or if the last load failed less than RetryDelay ago. It does the same if the last load failed and
// the value has only expired; then it starts a load for which no caller waits.
func (v *Value[T]) join(want uint64) (*load, T, error) {
	v.mu.Lock()
	defer v.mu.Unlock()
	var none T
	current, failed := v.current.Load(), v.failure
	if v.loading == nil {
		if current.fresh(want, v.Now) {
			return nil, current.value, nil
		}
		if failed.err != nil && failed.version >= want && v.Now().Sub(failed.at).Abs() < RetryDelay {
			return nil, v.Last(), failed.err
		}
		// The load has a context of its own: a cancelled request must not fail the load for other callers.
		ctx, cancel := context.WithTimeout(context.Background(), LoadTimeout)
		v.loading = &load{done: make(chan struct{}), cancel: cancel}
		go v.run(ctx, v.loading)
	}
	if failed.err != nil && current != nil && current.version >= want {
		v.loading.wanted = true
		return nil, current.value, failed.err
	}
	v.loading.waiters++
	return v.loading, none, nil
}

// run loads the value. It drops the error of a load without callers.
func (v *Value[T]) run(ctx context.Context, l *load) {
	defer l.cancel()
	version := v.Version.Load() // before reading the source: a change from here on makes the value stale
	value, expires, err := v.Load.safely(ctx)

	v.mu.Lock()
	failedBefore, abandoned := v.failure.err != nil, v.loading != l
	switch current := v.current.Load(); {
	case err == nil && (current == nil || current.version <= version):
		v.current.Store(&loaded[T]{value, version, expires})
		v.Loads.Add(1) // after the value: a caller that sees the new number gets the new value
		v.failure = failure{}
	case err != nil && !abandoned:
		v.failure = failure{err, version, v.Now()}
	}
	l.version, l.err = version, err
	if !abandoned {
		v.loading = nil
	}
	v.mu.Unlock()
	if err != nil && !failedBefore && !abandoned && v.OnError != nil {
		v.OnError(err)
	}
	close(l.done)
}

// safely calls the loader and turns a panic into an error, because a panic in
// the goroutine of a load would end the process.
func (load Loader[T]) safely(ctx context.Context) (value T, expires time.Time, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("panic: %v\n%s", p, debug.Stack())
		}
	}()
	return load(ctx)
}
