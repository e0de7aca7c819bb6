package cache

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// counted is a Value that counts its loads: the count is the value.
type counted struct {
	Value[*int64]
	version atomic.Uint64
	loads   atomic.Int64
	takes   time.Duration
	expires time.Duration // after the load began; 0: never
	fails   error
}

func newCounted() *counted {
	c := &counted{}
	c.Version, c.Now = &c.version, time.Now
	c.Load = func(ctx context.Context) (*int64, time.Time, error) {
		n := c.loads.Add(1)
		fails, expires := c.fails, time.Time{}
		if c.expires != 0 {
			expires = time.Now().Add(c.expires)
		}
		select {
		case <-time.After(c.takes):
		case <-ctx.Done():
			return nil, expires, ctx.Err()
		}
		if fails != nil {
			return nil, expires, fails
		}
		return &n, expires, nil
	}
	return c
}

// want checks the result of getting the value. A value of 0 means none.
func (c *counted) want(t *testing.T, value int64, err error) {
	t.Helper()
	got, gotErr := c.Get(t.Context())
	if !errors.Is(gotErr, err) {
		t.Errorf("error %v, want %v", gotErr, err)
	}
	switch {
	case got == nil && value != 0:
		t.Errorf("no value, want %d", value)
	case got != nil && *got != value:
		t.Errorf("value %d, want %d", *got, value)
	}
}

func TestConcurrentCallersShareOneLoad(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCounted()
		c.takes = 300 * time.Millisecond
		for round := int64(1); round <= 3; round++ {
			var callers sync.WaitGroup
			for range 500 {
				callers.Go(func() { c.want(t, round, nil) })
			}
			callers.Wait()
			if loads := c.loads.Load(); loads != round {
				t.Fatalf("loaded %d times, want %d", loads, round)
			}
			c.version.Add(1)
		}
	})
}

// TestStaleWhileLoading checks that a caller after a change does not get the result of a load that began
// before the change.
func TestStaleWhileLoading(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCounted()
		c.takes = 300 * time.Millisecond
		var both sync.WaitGroup
		both.Go(func() { c.want(t, 1, nil) })
		time.Sleep(100 * time.Millisecond)
		c.version.Add(1)
		both.Go(func() { c.want(t, 2, nil) })
		both.Wait()
	})
}

// TestSteadyChanges checks that continuous changes do not delay a caller. It gets a value from after its
// call.
func TestSteadyChanges(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCounted()
		c.takes = 300 * time.Millisecond
		ctx, stop := context.WithCancel(t.Context())
		var changes sync.WaitGroup
		changes.Go(func() {
			for ctx.Err() == nil {
				c.version.Add(1)
				time.Sleep(time.Millisecond)
			}
		})
		began := time.Now()
		if v, err := c.Get(ctx); v == nil || err != nil {
			t.Errorf("Get during steady changes = %v, %v", v, err)
		}
		if took := time.Since(began); took > 2*c.takes {
			t.Errorf("took %v", took)
		}
		stop()
		changes.Wait()
	})
}

func TestWaitTimeout(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCounted()
		c.takes = 4 * time.Second
		began := time.Now()
		c.want(t, 1, nil) // without an old value, the caller waits
		if took := time.Since(began); took != 4*time.Second {
			t.Errorf("the first waited %v", took)
		}
		c.version.Add(1)
		began = time.Now()
		c.want(t, 1, context.DeadlineExceeded)
		if took := time.Since(began); took != WaitTimeout {
			t.Errorf("with an old value it waited %v", took)
		}
		synctest.Wait()
		time.Sleep(4 * time.Second)
		c.want(t, 2, nil)
	})
}

func TestLoadTimeout(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCounted()
		c.takes = time.Hour
		began := time.Now()
		c.want(t, 0, context.DeadlineExceeded)
		if took := time.Since(began); took != LoadTimeout {
			t.Errorf("waited %v", took)
		}
	})
}

func TestLoadFails(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		broken := errors.New("broken")
		c, reported := newCounted(), 0
		c.OnError = func(error) { reported++ }
		c.fails = broken
		c.want(t, 0, broken)
		c.want(t, 0, broken)
		if loads := c.loads.Load(); loads != 1 {
			t.Errorf("loaded %d times at once", loads)
		}
		time.Sleep(RetryDelay)
		c.want(t, 0, broken)
		if loads := c.loads.Load(); loads != 2 || reported != 1 {
			t.Errorf("%d loads, %d errors reported, want 2 and 1", loads, reported)
		}
		c.fails = nil
		time.Sleep(RetryDelay)
		c.want(t, 3, nil)

		c.fails = broken
		c.version.Add(1)
		c.want(t, 3, broken) // the old value stays
		c.fails = nil
		c.version.Add(1) // after a change RetryDelay does not apply: the source works again
		c.want(t, 5, nil)
		if reported != 2 {
			t.Errorf("%d errors reported, want 2", reported)
		}
	})
}

func TestExpiry(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCounted()
		c.expires = time.Minute
		c.want(t, 1, nil)
		time.Sleep(time.Minute - time.Nanosecond)
		c.want(t, 1, nil)
		time.Sleep(time.Nanosecond)
		c.want(t, 2, nil)
		c.expires = -time.Second // expired when loaded, because its clock is behind: served once
		c.version.Add(1)
		c.want(t, 3, nil)
	})
}

// TestExpiredWhileLoadsHang checks that while loads hang, only the first caller waits for an expired
// value.
func TestExpiredWhileLoadsHang(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCounted()
		c.expires = time.Minute
		c.want(t, 1, nil)
		time.Sleep(time.Minute)
		c.takes = time.Hour
		c.want(t, 1, context.DeadlineExceeded)
		time.Sleep(LoadTimeout)
		began := time.Now()
		for range 20 {
			c.want(t, 1, context.DeadlineExceeded)
			time.Sleep(RetryDelay)
		}
		if waited := time.Since(began) - 20*RetryDelay; waited != 0 {
			t.Errorf("they waited for %v", waited)
		}
		c.version.Add(1) // the value is stale now, so callers wait
		c.want(t, 1, context.DeadlineExceeded)
		if waited := time.Since(began) - 20*RetryDelay; waited <= 0 {
			t.Error("after a change they did not wait")
		}
		time.Sleep(2 * LoadTimeout)
		c.takes = 0
		c.want(t, c.loads.Load()+1, nil)
	})
}

func TestLoadSurvivesACancelledCaller(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCounted()
		c.takes = 300 * time.Millisecond
		ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
		defer cancel()
		go c.want(t, 1, nil) // another caller waits
		if v, err := c.Get(ctx); v != nil || !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("Get until its context ends = %v, %v", v, err)
		}
		c.want(t, 1, nil) // the load continued
	})
}

func TestLoadPanics(t *testing.T) {
	c := newCounted()
	c.Load = func(context.Context) (*int64, time.Time, error) { panic("boom") }
	if v, err := c.Get(t.Context()); v != nil || err == nil {
		t.Errorf("Get after a panic = %v, %v", v, err)
	}
}

// TestAbandonedLoadIsCancelled checks that a load is cancelled when all its callers have given up, and
// that the next caller starts another.
func TestAbandonedLoadIsCancelled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCounted()
		c.takes = 3 * time.Second
		var stopped []error
		inner := c.Load
		c.Load = func(ctx context.Context) (*int64, time.Time, error) {
			value, until, err := inner(ctx)
			stopped = append(stopped, err)
			return value, until, err
		}
		var reported int
		c.OnError = func(error) { reported++ }
		ctx, cancelFirst := context.WithCancel(t.Context())
		other, cancelOther := context.WithCancel(t.Context())
		for _, caller := range []context.Context{ctx, other} {
			go c.Get(caller)
		}
		synctest.Wait()
		cancelFirst()
		synctest.Wait()
		if len(stopped) != 0 {
			t.Fatalf("stopped with %v while a caller waits", stopped)
		}
		cancelOther()
		synctest.Wait()
		if len(stopped) != 1 || stopped[0] != context.Canceled || reported != 0 {
			t.Fatalf("stopped with %v, %d errors reported", stopped, reported)
		}
		c.want(t, 2, nil) // immediately, without RetryDelay
	})
}
