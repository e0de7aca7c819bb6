package password

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/allswell/allswell/internal/domain/kernel"
	"github.com/allswell/allswell/internal/shared/fair"
	"pgregory.net/rapid"
)

// hashTime is how long a hash takes in these simulations.
const hashTime = 50 * time.Millisecond

// hash waits for a place and computes for hashTime. It returns how many hash times passed until its end.
func (q *queue) hash(ctx context.Context, a Asker) (hashes int, err error) {
	began := time.Now()
	end, err := q.begin(ctx, a)
	if err != nil {
		return 0, err
	}
	time.Sleep(hashTime)
	end()
	return int(time.Since(began) / hashTime), nil
}

func from(account string, address netip.Addr) Asker {
	return Stranger(append(fair.Client(address), fair.User(account))...)
}

// TestAFloodDoesNotDelayThoseWhoAreKnown checks, for random floods, that a known browser waits for none of the hashes
// of strangers, and for one of each other known browser at most.
func TestAFloodDoesNotDelayThoseWhoAreKnown(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		addresses := rapid.IntRange(1, 48).Draw(rt, "addresses")
		perAddress := rapid.IntRange(1, 8).Draw(rt, "attempts at a time from an address")
		known := rapid.IntRange(0, 4).Draw(rt, "other known users who flood too")
		account := rapid.SampledFrom([]string{"victim", "other"}).Draw(rt, "account")
		synctest.Test(t, func(*testing.T) {
			q := newQueue(1)
			ctx, stop := context.WithCancel(context.Background())
			flood := func(a Asker) {
				for ctx.Err() == nil {
					if _, err := q.hash(ctx, a); err != nil {
						time.Sleep(hashTime)
					}
				}
			}
			for i := range addresses {
				for range perAddress {
					go flood(from(account, netip.AddrFrom4([4]byte{198, 51, byte(i), 1})))
				}
			}
			for i := range known {
				for range perAddress {
					go flood(Proven(fair.User(fmt.Sprint(i))))
				}
			}
			time.Sleep(time.Second)
			for range 5 {
				if n, err := q.hash(ctx, Proven(fair.User("victim"))); err != nil || n > known+2 {
					rt.Errorf("a known browser waited for %d hashes beside %d others, %v", n, known, err)
				}
				time.Sleep(hashTime / 3)
			}
			stop()
			time.Sleep(time.Second) // the others end
		})
	})
}

// TestStrangersTakeTurns checks that a stranger from an address of their own waits for few of the attempts from 16
// other addresses, and that nobody waits long.
func TestStrangersTakeTurns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := newQueue(1)
		ctx, stop := context.WithCancel(t.Context())
		var refused, longest atomic.Int64
		for i := range 16 {
			for range 58 {
				go func() {
					for ctx.Err() == nil {
						n, err := q.hash(ctx, from("victim", netip.AddrFrom4([4]byte{198, 51, byte(i), 1})))
						if errors.Is(err, kernel.ErrBusy) {
							refused.Add(1)
							time.Sleep(hashTime)
						}
						longest.Store(max(longest.Load(), int64(n)))
					}
				}()
			}
		}
		time.Sleep(3 * time.Second)
		for range 5 {
			if n, err := q.hash(ctx, from("somebody else", netip.MustParseAddr("192.0.2.1"))); err != nil || n > 3 {
				t.Errorf("a stranger waited for %d hashes, %v", n, err)
			}
		}
		stop()
		time.Sleep(time.Second) // the others end
		if refused.Load() == 0 || longest.Load() > int64(maxWait/hashTime)+1 {
			t.Errorf("%d were refused, the others waited for up to %d hashes", refused.Load(), longest.Load())
		}
	})
}

// TestWaitingHasAnEnd checks that a queue that does not move refuses after maxWait.
func TestWaitingHasAnEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := newQueue(1)
		end, err := q.begin(t.Context(), Stranger(fair.Page("p")))
		if err != nil {
			t.Fatal(err)
		}
		began := time.Now()
		_, err = q.begin(t.Context(), Stranger(fair.Page("q")))
		if !errors.Is(err, ErrBusy) || !errors.Is(err, kernel.ErrBusy) || time.Since(began) != maxWait {
			t.Errorf("the wait ended after %v: %v", time.Since(began), err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if _, err := q.begin(ctx, Stranger(fair.Page("q"))); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("with a deadline of its own: %v", err)
		}
		end()
	})
}
