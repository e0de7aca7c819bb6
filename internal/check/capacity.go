package check

import (
	"context"
	"errors"
	"runtime"
	"sync"
	"time"

	"github.com/allswell/allswell/internal/shared/fair"
)

// Limits of what the bodies of all checks together take. The memory for bodies is at most the memory of the places, and
// the memory to judge one body is at most about seven times its size.
const (
	freeBody    = 16 << 10 // bytes of a body that need no place
	smallBody   = 1 << 20  // bytes of a small body
	smallBodies = 32       // places for small bodies
	largeBodies = 4        // places for bodies of up to maxMaxBodySize
	maxTurns    = 4        // bodies that are judged at a time
	maxWaiting  = 20_000   // checks that wait for a place
	turnLength  = 50 * time.Millisecond
	maxJudging  = 5 * time.Second // of turns to judge a body
)

// errBusy means that other checks had all places until the timeout.
var errBusy = errors.New("too many responses are being judged")

// errTooExpensive means that judging a body takes longer than maxJudging.
var errTooExpensive = errors.New("judging the body takes too long")

// capacity shares memory for bodies and time to judge them among the checks of hosts and workspaces. The zero value is
// ready to use.
type capacity struct {
	once         sync.Once
	small, large *fair.Pool // places for bodies
	turns        *fair.Pool // places for judging bodies; at most a quarter of the processors

	smallBuffers, largeBuffers sync.Pool // of *[]byte, so that bodies leave no garbage
}

func (c *capacity) open() *capacity {
	c.once.Do(func() {
		c.small, c.large = fair.NewPool(smallBodies, maxWaiting), fair.NewPool(largeBodies, maxWaiting)
		c.smallBuffers.New = func() any { return newBuffer(smallBody) }
		c.largeBuffers.New = func() any { return newBuffer(maxMaxBodySize) }
		c.turns = fair.NewPool(min(maxTurns, max(1, runtime.GOMAXPROCS(0)/4)), maxWaiting)
	})
	return c
}

func newBuffer(size int) *[]byte {
	buffer := make([]byte, 0, size)
	return &buffer
}

// reserve waits for a place for a body of up to size bytes, and returns its empty buffer, which must not be used after
// release.
func (c *capacity) reserve(ctx context.Context, size int, keys []fair.Key) (buffer []byte, release func(), err error) {
	places, buffers := c.open().small, &c.smallBuffers
	if size > smallBody {
		places, buffers = c.large, &c.largeBuffers
	}
	leave, err := places.Acquire(ctx, keys...)
	if err != nil {
		return nil, nil, err
	}
	b := buffers.Get().(*[]byte)
	return (*b)[:0], sync.OnceFunc(func() {
		buffers.Put(b)
		leave()
	}), nil
}

// turn is the right to judge a body. It is passed on after turnLength, so that no body keeps others waiting for long.
type turn struct {
	ctx     context.Context
	pool    *fair.Pool
	keys    []fair.Key
	release func()
	since   time.Time
	held    time.Duration // in turns before since
	waited  time.Duration
	err     error
}

// inTurn waits for a turn, and calls judge, which must return an error soon after stop has returned true. The error of
// inTurn is then the reason to stop: errBusy, errTooExpensive or the error of ctx.
func (r *run) inTurn(ctx context.Context, judge func(stop func() bool) error) error {
	t := &turn{ctx: ctx, pool: r.network.room().open().turns, keys: r.keys}
	if !t.begin() {
		return t.err
	}
	defer func() { t.release() }()
	err := judge(t.stop)
	if t.err != nil {
		return t.err
	}
	return err
}

// begin waits for a place.
func (t *turn) begin() bool {
	began := time.Now()
	release, err := t.pool.Acquire(t.ctx, t.keys...)
	t.since = time.Now()
	t.waited += t.since.Sub(began)
	if err != nil {
		t.release = func() {}
		t.err = t.why()
		return false
	}
	t.release = release
	return true
}

// stop reports whether to stop judging. It lets others have their turn.
func (t *turn) stop() bool {
	if t.err != nil {
		return true
	}
	if t.ctx.Err() != nil {
		t.err = t.why()
		return true
	}
	took := time.Since(t.since)
	if t.held+took > maxJudging {
		t.err = errTooExpensive
		return true
	}
	if took < turnLength {
		return false
	}
	t.held += took
	t.release()
	return !t.begin()
}

// why returns why the turns ended before their time.
func (t *turn) why() error {
	if t.waited > t.held+time.Since(t.since) || t.ctx.Err() == nil {
		return errBusy
	}
	return t.ctx.Err()
}

// notJudged sets the outcome of a body that was not judged completely. err is an error of inTurn or reserve.
func (r *run) notJudged(ctx context.Context, err error, o *Outcome) {
	switch {
	case errors.Is(err, errBusy):
		o.Failure, o.Unknown = "this server was too busy to judge the response within "+seconds(r.timeout), true
	case errors.Is(err, errTooExpensive):
		o.Failure = "judging the body took longer than " + seconds(maxJudging) +
			"; use a simpler expression or a smaller max_body_size"
	case errors.Is(ctx.Err(), context.DeadlineExceeded):
		o.Failure = "the body could not be judged within " + seconds(r.timeout)
	default:
		o.Failure, o.Unknown = r.fail(err).Failure, true
	}
}

// wait notes that the run waited for this server, which does not count towards the time of the target.
func (r *run) wait(d time.Duration) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.before += d
}

// finish notes that the response of the target is complete: what follows does not count towards its time.
func (r *run) finish() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.phases.Total = time.Since(r.started) - r.before
}
