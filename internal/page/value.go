package page

import (
	"context"
	"fmt"
	"runtime/debug"
	"sync"
	"sync/atomic"
	"time"
)

const (
	// patience is how long a request waits for a new value while an old one
	// could be served instead.
	patience = time.Second
	// loadDeadline bounds the making of one value, the database included.
	loadDeadline = 5 * time.Second
	// backOff is how long after a failed making the next one is tried, unless
	// something was committed in between.
	backOff = 500 * time.Millisecond
)

// cell keeps one value in memory. The value is made when it is asked for the
// first time and again once gen has moved or its own time is up, by one
// goroutine however many ask.
type cell[T any] struct {
	gen  *atomic.Uint64 // moves when what the value is made of has changed
	now  func() time.Time
	make func(ctx context.Context) (value *T, until time.Time, err error) // zero until: no end
	told func(err error)                                                  // called when making fails after it had succeeded

	held atomic.Pointer[held[T]]

	mu      sync.Mutex
	flight  *flight // the making under way; nil: none
	failure failure // the last making, if it failed
}

// held is a value with what it is good for.
type held[T any] struct {
	value *T
	gen   uint64
	until time.Time
}

// flight is one making of a value; its generation and its error may be read
// after done is closed. When all who wait for it have hung up, it is cancelled.
type flight struct {
	done    chan struct{}
	gen     uint64
	err     error
	cancel  context.CancelFunc
	readers int  // who wait for it
	kept    bool // somebody was served an old value instead, and will want the new one
}

// failure remembers why and when making the value failed.
type failure struct {
	err error
	gen uint64
	at  time.Time
}

func (h *held[T]) good(gen uint64, now time.Time) bool {
	return h != nil && h.gen >= gen && (h.until.IsZero() || now.Before(h.until))
}

// get returns a value that holds everything committed before the call. If none
// can be made, it returns the error, and beside it the old value if there is
// one; likewise with context.DeadlineExceeded when making it takes longer than
// patience. Without an old value it waits until the making has ended.
func (c *cell[T]) get(ctx context.Context) (*T, error) {
	want := c.gen.Load()
	if h := c.held.Load(); h.good(want, c.now()) {
		return h.value, nil
	}
	return c.wait(ctx, want)
}

// last returns the value of the last successful making, however old; nil: none.
func (c *cell[T]) last() *T {
	if h := c.held.Load(); h != nil {
		return h.value
	}
	return nil
}

// end returns until when that value lasts; the zero Time: no end.
func (c *cell[T]) end() time.Time {
	if h := c.held.Load(); h != nil {
		return h.until
	}
	return time.Time{}
}

// wait returns a value of generation want or later; see get.
func (c *cell[T]) wait(ctx context.Context, want uint64) (*T, error) {
	timer := time.NewTimer(patience)
	defer timer.Stop()
	impatient := timer.C
	for {
		f, value, err := c.join(want)
		if f == nil {
			return value, err
		}
		for waiting := true; waiting; {
			select {
			case <-f.done:
				waiting = false
			case <-impatient:
				if old := c.last(); old != nil {
					c.keep(f)
					return old, context.DeadlineExceeded
				}
				impatient = nil
			case <-ctx.Done():
				c.leave(f)
				return c.last(), ctx.Err()
			}
		}
		if f.err != nil || f.gen >= want {
			return c.last(), f.err
		}
	}
}

// keep lets a making go on though nobody may wait for it any more.
func (c *cell[T]) keep(f *flight) {
	c.mu.Lock()
	defer c.mu.Unlock()
	f.kept = true
}

// leave takes a reader from a making, and cancels one that has none left. Who
// asks after that begins another.
func (c *cell[T]) leave(f *flight) {
	c.mu.Lock()
	defer c.mu.Unlock()
	f.readers--
	if f.readers == 0 && !f.kept && c.flight == f {
		c.flight = nil
		f.cancel()
	}
}

// join returns the making under way, or begins one. Without a flight it returns
// the value, because somebody has made it meanwhile, or the error of a making
// that failed too recently to be tried again; or else, because there is nothing
// to see but that time has passed, and nobody is to wait for that while the
// database makes everybody wait.
func (c *cell[T]) join(want uint64) (*flight, *T, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	h, failed, now := c.held.Load(), c.failure, c.now()
	if c.flight == nil {
		if h.good(want, now) {
			return nil, h.value, nil
		}
		if failed.err != nil && failed.gen >= want && now.Sub(failed.at).Abs() < backOff {
			return nil, c.last(), failed.err
		}
		// It belongs to no request, so that one who hangs up takes nothing from
		// those who wait.
		ctx, cancel := context.WithTimeout(context.Background(), loadDeadline)
		c.flight = &flight{done: make(chan struct{}), cancel: cancel}
		go c.fly(ctx, c.flight)
	}
	if failed.err != nil && h != nil && h.gen >= want {
		c.flight.kept = true
		return nil, h.value, failed.err
	}
	c.flight.readers++
	return c.flight, nil, nil
}

// fly makes the value. What a cancelled making fails with is nobody's concern.
func (c *cell[T]) fly(ctx context.Context, f *flight) {
	defer f.cancel()
	gen := c.gen.Load() // before anything is read: a commit from here on makes it stale again
	value, until, err := safely(ctx, c.make)

	c.mu.Lock()
	failedBefore, abandoned := c.failure.err != nil, c.flight != f
	switch h := c.held.Load(); {
	case err == nil && (h == nil || h.gen <= gen):
		c.held.Store(&held[T]{value, gen, until})
		c.failure = failure{}
	case err != nil && !abandoned:
		c.failure = failure{err, gen, c.now()}
	}
	f.gen, f.err = gen, err
	if !abandoned {
		c.flight = nil
	}
	c.mu.Unlock()
	if err != nil && !failedBefore && !abandoned && c.told != nil {
		c.told(err)
	}
	close(f.done)
}

// safely calls load and turns a panic into an error: it would end the process
// otherwise, which has pings to record.
func safely[T any](ctx context.Context, load loader[T]) (value *T, until time.Time, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("panic: %v\n%s", p, debug.Stack())
		}
	}()
	return load(ctx)
}
