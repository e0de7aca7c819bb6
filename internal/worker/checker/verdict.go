package checker

import (
	"context"
	"sync"
	"time"

	"github.com/allswell/allswell/internal/check"
	"github.com/allswell/allswell/internal/domain/kernel"
)

// Limits of trying canaries.
const (
	canaryTimeout = 3 * time.Second
	verdictAge    = 5 * time.Second        // for which a failed try is not repeated
	cutOffAge     = time.Minute            // for which a replica claims few checks after it reached nothing
	answerAge     = 250 * time.Millisecond // for which an answer shows that the network works
	backAge       = 5 * time.Second        // after which a network that is back reaches all hosts
)

// verdicts decides whether an unreachable target, and not this replica's network, has failed. It is safe for concurrent
// use.
type verdicts struct {
	canaries []check.Target // configured
	trusted  *check.Network // for canaries, which the operator configured

	mu           sync.Mutex
	reachability *reachability
	single       bool      // there is no other replica
	cutOff       time.Time // when a try of other hosts last ended without success, or most hosts were lost
	canaryUp     time.Time // when a configured canary last answered
	back         time.Time // when the first host or canary answered after cutOff

	trying sync.Mutex // held while canaries are tried
}

// reachable is a target, and the network over which its check may reach it.
type reachable struct {
	check.Target
	network   *check.Network
	workspace string // that checks it; "": a canary
}

// note records whether a target answered in a check with an interval; 0: it was tried without a check.
func (v *verdicts) note(t reachable, answered bool, interval time.Duration) {
	v.mu.Lock()
	defer v.mu.Unlock()
	now := time.Now()
	if answered && !isLoopback(t.Target) && t.Host != "" {
		v.answered(now)
	}
	v.reachability.note(t, answered, interval, now)
}

// answered notes that a host or canary answered now. v.mu is held.
func (v *verdicts) answered(now time.Time) {
	if v.cutOff.After(v.reachability.answered) && v.cutOff.After(v.canaryUp) {
		v.back = now
	}
}

func (v *verdicts) setSingle(single bool) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.single = single
}

// isCutOff reports whether this replica found within cutOffAge that it reaches no other host, and has not reached one
// since. It returns false if there is no other replica.
func (v *verdicts) isCutOff(now time.Time) bool {
	v.mu.Lock()
	defer v.mu.Unlock()
	return !v.single && now.Sub(v.cutOff) < cutOffAge && v.cutOff.After(v.reachability.answered) &&
		v.cutOff.After(v.canaryUp)
}

// counts reports whether the failure to reach a target counts: as far as is known, the network of this replica works,
// and had worked for backAge when the check began.
func (v *verdicts) counts(ctx context.Context, t check.Target, began time.Time, interval time.Duration) bool {
	if isLoopback(t) {
		return true
	}
	if !v.worksNow(ctx, t, began, interval) {
		return false
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.back.IsZero() || began.Sub(v.back) >= backAge
}

// worksNow reports whether the network of this replica works.
func (v *verdicts) worksNow(ctx context.Context, t check.Target, began time.Time, interval time.Duration) bool {
	v.mu.Lock()
	now := time.Now()
	mass, works := v.reachability.massLoss(now, interval), v.reachability.works(t, shownSince(began, now))
	if mass && len(v.canaries) == 0 {
		v.cutOff = now
	}
	v.mu.Unlock()
	switch {
	case len(v.canaries) > 0:
		return v.tryCanaries(ctx, began)
	case mass:
		return false
	case works:
		return true
	default:
		return v.tryOthers(ctx, t, began)
	}
}

// shownSince returns the instant since which an answer shows that the network works: the later of the beginning of the
// check and answerAge ago, because the network may fail during the check.
func shownSince(began, now time.Time) time.Time {
	return kernel.Later(began, now.Add(-answerAge))
}

// tryCanaries reports whether a configured canary answers.
func (v *verdicts) tryCanaries(ctx context.Context, began time.Time) bool {
	v.trying.Lock()
	defer v.trying.Unlock()
	now := time.Now()
	v.mu.Lock()
	up, cutOff := v.canaryUp, v.cutOff
	v.mu.Unlock()
	if up.After(shownSince(began, now)) {
		return true
	}
	if cutOff.After(began) && now.Sub(cutOff) < verdictAge {
		return false
	}
	ok := reachesAny(ctx, v.trusted, v.canaries)
	v.mu.Lock()
	defer v.mu.Unlock()
	if ok {
		v.answered(time.Now())
		v.canaryUp = time.Now()
	} else {
		v.cutOff = time.Now()
	}
	return ok
}

// tryOthers reports whether a host that answered before answers now. It returns true if there is none, because nothing
// then suggests that the network failed.
func (v *verdicts) tryOthers(ctx context.Context, t check.Target, began time.Time) bool {
	v.trying.Lock()
	defer v.trying.Unlock()
	now := time.Now()
	v.mu.Lock()
	works, others := v.reachability.works(t, shownSince(began, now)), v.reachability.others(t, now, v.single)
	cutOff := v.cutOff.After(began) && now.Sub(v.cutOff) < verdictAge
	v.mu.Unlock()
	switch {
	case works || len(others) == 0:
		return true
	case cutOff:
		return false
	}
	for _, host := range reached(ctx, others) {
		v.note(host, true, 0)
		return true
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	v.cutOff = time.Now()
	return false
}

func reachesAny(ctx context.Context, n *check.Network, targets []check.Target) bool {
	all := make([]reachable, len(targets))
	for i, t := range targets {
		all[i] = reachable{t, n, ""}
	}
	return len(reached(ctx, all)) > 0
}

// reached tries all targets concurrently, and returns the first one that answers within canaryTimeout, or nil.
func reached(ctx context.Context, targets []reachable) []reachable {
	ctx, cancel := context.WithTimeout(ctx, canaryTimeout)
	defer cancel()
	answers := make(chan []reachable, len(targets))
	for _, t := range targets {
		go func() {
			if t.network.Reaches(ctx, t.Target) {
				answers <- []reachable{t}
			} else {
				answers <- nil
			}
		}()
	}
	for range targets {
		if answer := <-answers; answer != nil {
			return answer
		}
	}
	return nil
}
