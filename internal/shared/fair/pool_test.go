package fair

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"
)

// fill takes places for a key until it gets no more, and returns how many it got.
func fill(p *Pool, keys ...Key) (n int) {
	for {
		if _, ok := p.TryAcquire(keys...); !ok {
			return n
		}
		n++
	}
}

func TestOneKeyGetsHalf(t *testing.T) {
	for _, test := range []struct{ size, want int }{{1, 1}, {2, 1}, {3, 2}, {8, 4}, {200, 100}} {
		if got := fill(NewPool(test.size, 0), Workspace("a")); got != test.want {
			t.Errorf("of %d places one key got %d, not %d", test.size, got, test.want)
		}
	}
}

func TestBusyKeysLeavePlaces(t *testing.T) {
	p := NewPool(120, 0)
	for i, want := range []int{60, 30, 15} {
		if got := fill(p, Host(fmt.Sprint(i))); got != want {
			t.Errorf("key %d got %d places, not %d", i, got, want)
		}
	}
	if fill(p, Host("another")) == 0 {
		t.Error("a key without a place found none")
	}
}

func TestMaximumOfAKey(t *testing.T) {
	p := NewPool(100, 0)
	if got := fill(p, Workspace("w"), Host("a").AtMost(20).Nested()); got != 20 {
		t.Errorf("the host got %d places, not 20", got)
	}
	if planned := p.Shares(); !planned.Fit(Workspace("w")) {
		t.Errorf("the shares are %+v", planned)
	} else if planned.Take(Host("b")); p.Free() != 80 {
		t.Error("a plan takes places of the pool")
	}
	if got := fill(p, Workspace("w"), Host("b").Nested()); got != 20 {
		t.Errorf("another host of the workspace got %d places, not 20, a third of those that the first one left it",
			got)
	}
	if _, ok := p.TryAcquire(Workspace("w"), Host("c").Nested()); !ok {
		t.Error("a third host of the workspace got no place")
	}
	if p.Shares().Held(Workspace("w")) != 41 || p.Free() != 59 {
		t.Errorf("the workspace holds %d places, and %d are free", p.Shares().Held(Workspace("w")), p.Free())
	}
}

func TestReleasingTwiceFreesOnePlace(t *testing.T) {
	p := NewPool(1, 0)
	release, _ := p.TryAcquire(Host("a"))
	release()
	release()
	if p.Free() != 1 {
		t.Errorf("%d places are free", p.Free())
	}
}

// TestOneThatWaitsIsNext checks that a key gets the only place after one turn of a key for which a hundred wait.
func TestOneThatWaitsIsNext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := NewPool(1, 1000)
		var order []string
		var mu sync.Mutex
		use := func(key string) {
			release, err := p.Acquire(t.Context(), Workspace(key))
			if err != nil {
				t.Error(err)
				return
			}
			time.Sleep(time.Second)
			mu.Lock()
			order = append(order, key)
			mu.Unlock()
			release()
		}
		for range 100 {
			go use("many")
		}
		synctest.Wait()
		go use("one")
		time.Sleep(time.Minute * 5)
		mu.Lock()
		defer mu.Unlock()
		if len(order) != 101 || order[1] != "one" {
			t.Errorf("of %d turns, the first were %v", len(order), order[:3])
		}
		p.mu.Lock()
		defer p.mu.Unlock()
		if len(p.shares.held)+len(p.queued)+len(p.served)+len(p.waiting) != 0 || p.shares.free != 1 {
			t.Errorf("the pool keeps %v %v %v", p.shares.held, p.queued, p.served)
		}
	})
}

// TestAPlaceForOneWhoLeavesIsFree gives a place to a caller whose context ended just before.
func TestAPlaceForOneWhoLeavesIsFree(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := NewPool(1, 10)
		fill(p, Host("a"))
		ctx, cancel := context.WithCancel(t.Context())
		var err error
		go func() { _, err = p.Acquire(ctx, Host("b")) }()
		synctest.Wait()
		p.mu.Lock()
		cancel() // it goes on when the lock is free
		p.put([]Key{Host("a")})
		p.mu.Unlock()
		synctest.Wait()
		if !errors.Is(err, context.Canceled) {
			t.Errorf("the error is %v", err)
		}
		if free := p.Free(); free != 1 {
			t.Errorf("%d places are free, not 1", free)
		}
	})
}

func TestTheQueueIsBoundedAndShared(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := NewPool(1, 10)
		release, _ := p.TryAcquire(Workspace("a"))
		ctx, cancel := context.WithCancel(t.Context())
		refused := 0
		var mu sync.Mutex
		for range 20 {
			go func() {
				if _, err := p.Acquire(ctx, Workspace("a")); errors.Is(err, ErrFull) {
					mu.Lock()
					refused++
					mu.Unlock()
				}
			}()
		}
		synctest.Wait()
		if refused != 15 {
			t.Errorf("%d of 20 callers may not wait, want 15", refused)
		}
		got := make(chan error, 1)
		go func() {
			release, err := p.Acquire(t.Context(), Workspace("b"))
			if err == nil {
				release()
			}
			got <- err
		}()
		synctest.Wait()
		cancel()
		synctest.Wait()
		release()
		if err := <-got; err != nil {
			t.Errorf("the other key: %v", err)
		}
		if p.Free() != 1 {
			t.Errorf("%d places are free", p.Free())
		}
	})
}

// TestNewcomersFindAPlace checks, for random pools and keys, that keys which take what they can and never give it back
// leave a place to a key that appears, as long as they are fewer than the pool allows, and that no key exceeds its
// share.
func TestNewcomersFindAPlace(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		size := rapid.IntRange(4, 300).Draw(t, "size")
		hogs := 0
		for 1<<(hogs+2) <= size { // each hog takes half of what is left
			hogs++
		}
		hogs = rapid.IntRange(0, hogs).Draw(t, "hogs")
		p := NewPool(size, 0)
		for range rapid.IntRange(0, 3*size).Draw(t, "attempts") {
			if hogs == 0 {
				break
			}
			p.TryAcquire(Workspace(fmt.Sprint(rapid.IntRange(0, hogs-1).Draw(t, "hog"))))
		}
		for i := range hogs {
			if held := p.Shares().Held(Workspace(fmt.Sprint(i))); held > (size+1)/2 {
				t.Fatalf("a key holds %d of %d places", held, size)
			}
		}
		if _, ok := p.TryAcquire(Workspace("newcomer")); !ok {
			t.Fatalf("%d keys left no place of %d", hogs, size)
		}
	})
}

// TestBoundedKeysHaveRoomOfTheirOwn checks that a host has its room as long as any place of the pool is free.
func TestBoundedKeysHaveRoomOfTheirOwn(t *testing.T) {
	p := NewPool(9, 0)
	for n := range 3 {
		if _, ok := p.TryAcquire(Workspace(fmt.Sprint(n)), Host("shared").Bounded(5)); !ok {
			t.Fatalf("workspace %d has no place", n)
		}
	}
	for n := range 3 {
		p.TryAcquire(Workspace(fmt.Sprint("other ", n)))
	}
	want := []bool{true, true, false} // until the host is full
	for n, want := range want {
		if _, ok := p.TryAcquire(Workspace(fmt.Sprint("late ", n)), Host("shared").Bounded(5)); ok != want {
			t.Errorf("with %d places free, and 3 and %d of 5 at the host: %t", p.Free(), n, ok)
		}
	}
}
