package checker

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/allswell/allswell/internal/shared/trigger"
)

// simulatedCheck is a monitor in TestHangingHostsDelayNoOther.
type simulatedCheck struct {
	workspace, host   string
	interval, latency time.Duration
	hangs             bool
	due               time.Time
}

// simulatedChecks returns the monitors of some workspaces. All hosts of one workspace and some of the others hang. Some
// hosts are checked by several workspaces, and hang for some of these.
func simulatedChecks(random *rand.Rand) (checks []*simulatedCheck) {
	between := func(least, most int) int { return least + random.IntN(most-least+1) }
	for w := range between(2, 6) {
		hosts := between(1, 12)
		hanging := min(between(0, 3), hosts-1)
		if w == 0 {
			hanging = hosts
		}
		for h := range hosts {
			monitors, host := between(1, 5), fmt.Sprint(w, " ", h)
			if h < 3 && between(0, 1) == 0 {
				host = fmt.Sprint("shared ", h)
			}
			if h < hanging {
				monitors *= between(1, 40)
			}
			for range monitors {
				c := &simulatedCheck{
					workspace: fmt.Sprint(w), host: host, hangs: h < hanging,
					interval: time.Duration(between(10, 60)) * time.Second,
					latency:  time.Duration(between(20, 800)) * time.Millisecond,
				}
				if c.hangs {
					c.latency = 10 * time.Second // the timeout
				}
				c.due = time.Now().Add(time.Duration(between(0, int(c.interval/time.Millisecond))) * time.Millisecond)
				checks = append(checks, c)
			}
		}
	}
	return checks
}

// TestHangingHostsDelayNoOther simulates a replica with random hosts, workspaces, intervals and latencies. All hosts of
// one workspace and some hosts of others hang until the timeout. No check of another host is late by more than its
// interval.
func TestHangingHostsDelayNoOther(t *testing.T) {
	for seed := range uint64(15) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				random := rand.New(rand.NewPCG(seed, 1))
				freed := trigger.New()
				c := &Checker{Config: Config{Concurrency: 60 + random.IntN(300)}}
				p := newPlaces(c, freed)
				checks := simulatedChecks(random)
				var latest time.Duration
				for range 4 * 180 { // three minutes of claims
					latest = max(latest, claimSimulated(t, p, checks))
					time.Sleep(claimInterval)
				}
				t.Logf("%d checks, %d places: at most %s late", len(checks), p.size, latest)
				time.Sleep(time.Minute) // until all have ended
				if n := p.taken(); n != 0 {
					t.Errorf("%d places are taken at the end", n)
				}
			})
		})
	}
}

// claimSimulated begins the due checks that have a place, in the order in which they are due, as store.ClaimChecks
// does. It returns how late the latest check is that does not hang.
func claimSimulated(t *testing.T, p *places, checks []*simulatedCheck) (latest time.Duration) {
	now := time.Now()
	due := slices.DeleteFunc(slices.Clone(checks), func(c *simulatedCheck) bool { return c.due.After(now) })
	slices.SortFunc(due, func(a, b *simulatedCheck) int { return cmp.Compare(a.due.UnixNano(), b.due.UnixNano()) })
	plan := p.plan()
	left := min(plan.free(), claimLimit)
	for _, c := range due {
		late := now.Sub(c.due)
		if !c.hangs && late > c.interval {
			t.Fatalf("a check of host %s is late by %s, its interval is %s", c.host, late, c.interval)
		}
		if !c.hangs {
			latest = max(latest, late)
		}
		shares, keys := plan.place(c.workspace, c.host)
		if left == 0 || !shares.Fit(keys...) {
			continue
		}
		shares.Take(keys...)
		left--
		place := p.take(c.workspace, c.host)
		if place == nil { // its host has become slow meanwhile
			continue
		}
		time.AfterFunc(c.latency, place.leave)
		for !c.due.After(now) {
			c.due = c.due.Add(c.interval)
		}
	}
	return latest
}

// TestHangingChecksMove checks that checks which hang give their places to others after a while, and begin in places
// for slow hosts from then on, until their host answers quickly.
func TestHangingChecksMove(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := &Checker{Config: Config{Concurrency: 40}, isOnlyFirst: true}
		p := newPlaces(c, trigger.New())
		var hanging []*place
		for i := range 20 {
			hanging = append(hanging, p.take("w", fmt.Sprint(i)))
		}
		if p.take("w", "late") != nil {
			t.Error("there are too many places")
		}
		time.Sleep(slowAfter + time.Millisecond)
		late := p.take("w", "late")
		if late == nil || p.taken() != 21 || p.fast.Free() != 19 || p.slow.Free() != 0 {
			t.Fatalf("after %s, %d places are taken, %d are free for hosts that answer", slowAfter, p.taken(),
				p.fast.Free())
		}
		if late.leave(); p.take("w", "0") != nil {
			t.Error("a slow host got a place of those that answer")
		}
		hanging[0].leave()
		if again := p.take("w", "0"); again == nil || p.slow.Free() != 0 {
			t.Error("a slow host got no place for slow hosts")
		} else if again.leave(); p.isSlow(at{"w", "0"}) {
			t.Error("a host that answers quickly is still slow")
		}
	})
}
