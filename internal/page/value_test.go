package page

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// counted is a cell whose value is the number of its makings.
type counted struct {
	cell[int64]
	gen   atomic.Uint64
	made  atomic.Int64
	takes time.Duration
	until time.Duration // from the making on; 0: no end
	fails error
}

func newCounted() *counted {
	c := &counted{}
	c.cell.gen, c.cell.now = &c.gen, time.Now
	c.cell.make = func(ctx context.Context) (*int64, time.Time, error) {
		n := c.made.Add(1)
		fails, until := c.fails, time.Time{}
		if c.until != 0 {
			until = time.Now().Add(c.until)
		}
		select {
		case <-time.After(c.takes):
		case <-ctx.Done():
			return nil, until, ctx.Err()
		}
		if fails != nil {
			return nil, until, fails
		}
		return &n, until, nil
	}
	return c
}

// want gets the value and holds it to what is expected; value 0: none.
func (c *counted) want(t *testing.T, value int64, err error) {
	t.Helper()
	got, gotErr := c.get(t.Context())
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

func TestCellMakesOnceForAHerd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCounted()
		c.takes = 300 * time.Millisecond
		for round := int64(1); round <= 3; round++ {
			var herd sync.WaitGroup
			for range 500 {
				herd.Go(func() { c.want(t, round, nil) })
			}
			herd.Wait()
			if made := c.made.Load(); made != round {
				t.Fatalf("made %d times, want %d", made, round)
			}
			c.gen.Add(1)
		}
	})
}

// A commit during a making is not in its result: who asks after that commit
// waits for the next making.
func TestCellMarkedStaleWhileMaking(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCounted()
		c.takes = 300 * time.Millisecond
		var both sync.WaitGroup
		both.Go(func() { c.want(t, 1, nil) })
		time.Sleep(100 * time.Millisecond)
		c.gen.Add(1)
		both.Go(func() { c.want(t, 2, nil) })
		both.Wait()
	})
}

// Commits without a pause must not keep a request waiting for ever: it gets
// what was committed before it came.
func TestCellUnderSteadyCommits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCounted()
		c.takes = 300 * time.Millisecond
		ctx, stop := context.WithCancel(t.Context())
		var commits sync.WaitGroup
		commits.Go(func() {
			for ctx.Err() == nil {
				c.gen.Add(1)
				time.Sleep(time.Millisecond)
			}
		})
		began := time.Now()
		if v, err := c.get(ctx); v == nil || err != nil {
			t.Errorf("got %v, %v", v, err)
		}
		if took := time.Since(began); took > 2*c.takes {
			t.Errorf("took %v", took)
		}
		stop()
		commits.Wait()
	})
}

func TestCellPatience(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCounted()
		c.takes = 4 * time.Second
		began := time.Now()
		c.want(t, 1, nil) // nothing old to show: waits
		if took := time.Since(began); took != 4*time.Second {
			t.Errorf("the first waited %v", took)
		}
		c.gen.Add(1)
		began = time.Now()
		c.want(t, 1, context.DeadlineExceeded)
		if took := time.Since(began); took != patience {
			t.Errorf("with an old value it waited %v", took)
		}
		synctest.Wait()
		time.Sleep(4 * time.Second)
		c.want(t, 2, nil)
	})
}

func TestCellDeadline(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCounted()
		c.takes = time.Hour
		began := time.Now()
		c.want(t, 0, context.DeadlineExceeded)
		if took := time.Since(began); took != loadDeadline {
			t.Errorf("waited %v", took)
		}
	})
}

func TestCellFailure(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		broken := errors.New("broken")
		c, told := newCounted(), 0
		c.told = func(error) { told++ }
		c.fails = broken
		c.want(t, 0, broken)
		c.want(t, 0, broken)
		if made := c.made.Load(); made != 1 {
			t.Errorf("tried %d times at once", made)
		}
		time.Sleep(backOff)
		c.want(t, 0, broken)
		if made := c.made.Load(); made != 2 || told != 1 {
			t.Errorf("tried %d times and told %d times, want 2 and 1", made, told)
		}
		c.fails = nil
		time.Sleep(backOff)
		c.want(t, 3, nil)

		c.fails = broken
		c.gen.Add(1)
		c.want(t, 3, broken) // the old value stays
		c.fails = nil
		c.gen.Add(1) // a commit: the database is there, so there is no reason to wait
		c.want(t, 5, nil)
		if told != 2 {
			t.Errorf("told %d times, want 2", told)
		}
	})
}

func TestCellEndsByTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCounted()
		c.until = time.Minute
		c.want(t, 1, nil)
		time.Sleep(time.Minute - time.Nanosecond)
		c.want(t, 1, nil)
		time.Sleep(time.Nanosecond)
		c.want(t, 2, nil)
		c.until = -time.Second // made by a clock that is behind ours: used, not made for ever
		c.gen.Add(1)
		c.want(t, 3, nil)
	})
}

// TestCellTimePassesWhileAllHangs: while the database hangs, one request waits
// for a value that has only grown old, and further ones don't.
func TestCellTimePassesWhileAllHangs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCounted()
		c.until = time.Minute
		c.want(t, 1, nil)
		time.Sleep(time.Minute)
		c.takes = time.Hour
		c.want(t, 1, context.DeadlineExceeded)
		time.Sleep(loadDeadline)
		began := time.Now()
		for range 20 {
			c.want(t, 1, context.DeadlineExceeded)
			time.Sleep(backOff)
		}
		if waited := time.Since(began) - 20*backOff; waited != 0 {
			t.Errorf("they waited for %v", waited)
		}
		c.gen.Add(1) // there is something to see
		c.want(t, 1, context.DeadlineExceeded)
		if waited := time.Since(began) - 20*backOff; waited <= 0 {
			t.Error("after a commit they did not wait")
		}
		time.Sleep(2 * loadDeadline)
		c.takes = 0
		c.want(t, c.made.Load()+1, nil)
	})
}

func TestCellOutlivesAnAsker(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCounted()
		c.takes = 300 * time.Millisecond
		ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
		defer cancel()
		go c.want(t, 1, nil) // somebody else waits
		if v, err := c.get(ctx); v != nil || !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("got %v, %v", v, err)
		}
		c.want(t, 1, nil) // the making went on
	})
}

func TestCellPanic(t *testing.T) {
	c := newCounted()
	c.make = func(context.Context) (*int64, time.Time, error) { panic("boom") }
	if v, err := c.get(t.Context()); v != nil || err == nil {
		t.Errorf("got %v, %v", v, err)
	}
}
