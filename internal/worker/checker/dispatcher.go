package checker

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"github.com/allswell/allswell/internal/check"
	"github.com/allswell/allswell/internal/domain/monitor"
	"github.com/allswell/allswell/internal/shared/trigger"
	"github.com/allswell/allswell/internal/store"
)

// dispatcher claims checks and runs them. Each running check has a place, and hosts and workspaces share the places
// fairly. Checks without a free place are not claimed: they stay due, and other replicas can run them. The fields are
// used by one goroutine only.
type dispatcher struct {
	checker *Checker
	work    context.Context // the context of running checks
	results chan<- monitor.CheckResult
	places  *places
	ended   trigger.Trigger // fired when a place may have become free

	running   sync.WaitGroup
	full      bool // checks are due for which there was no place
	refreshed time.Time
}

func newDispatcher(c *Checker, work context.Context) *dispatcher {
	ended := trigger.New()
	return &dispatcher{checker: c, work: work, results: c.results, places: newPlaces(c, ended), ended: ended}
}

// run claims checks until ctx ends.
func (d *dispatcher) run(ctx context.Context) {
	timer := time.NewTimer(0)
	defer timer.Stop()
	var claimed time.Time
	for {
		select {
		case <-ctx.Done():
			return
		case <-d.ended:
			if d.full {
				timer.Reset(fullClaimInterval - time.Since(claimed))
			}
		case <-timer.C:
			claimed = time.Now()
			timer.Reset(d.claim(ctx))
		}
	}
}

// claim claims as many checks as can run, and returns how long to wait before the next claim. It claims
// none while too many results wait to be saved: other replicas run the checks, or they run late.
func (d *dispatcher) claim(ctx context.Context) time.Duration {
	c := d.checker
	if time.Since(d.refreshed) >= surroundingsAge {
		if err := c.refresh(ctx); err != nil {
			return d.failed(ctx, err)
		}
		d.refreshed = time.Now()
	}
	plan := d.places.plan()
	limit := min(plan.free(), claimLimit, maxResults-c.Waiting())
	if c.verdicts.isCutOff(time.Now()) {
		limit = min(limit, cutOffClaimLimit-d.places.taken())
	}
	if limit <= 0 {
		d.full = true
		return claimInterval
	}
	claimed, next, err := c.Store.ClaimChecks(ctx, store.CheckClaim{
		Replica: c.Replica, Location: c.Location, Limit: limit, Place: plan.place, Full: plan.isFull,
	})
	if err != nil {
		return d.failed(ctx, err)
	}
	c.claims.Worked(time.Now())
	if returned := d.startAll(ctx, claimed); returned > 0 {
		return 0 // their hosts are known now, so others are claimed
	}
	if d.full = !next.IsZero() && !next.After(c.now()); next.IsZero() {
		return emptyInterval
	}
	return min(max(next.Sub(c.now()), claimInterval), idleInterval)
}

// failed logs that checks cannot be claimed, and returns how long to wait before the next attempt.
func (d *dispatcher) failed(ctx context.Context, err error) time.Duration {
	if ctx.Err() == nil {
		if store.LogLevel(err, slog.LevelWarn) >= slog.LevelWarn {
			d.checker.claims.Failed(time.Now(), "error", err)
		}
	}
	return idleInterval
}

// startAll launches claimed checks, and saves their hosts. It returns how many of them were given back, because
// their host turned out to have no free place.
func (d *dispatcher) startAll(ctx context.Context, claimed []store.ClaimedCheck) (returned int) {
	c := d.checker
	var hosts []store.CheckHost
	for _, claim := range claimed {
		probe, reason := probeOf(claim)
		if reason != "" {
			d.results <- c.unknown(claim, reason)
			continue
		}
		host := probe.Target().Host
		place := d.places.take(claim.WorkspaceID, host)
		if place != nil {
			d.launch(claim, probe, place)
		} else {
			returned++
		}
		if place == nil || host != claim.Host {
			hosts = append(hosts, store.CheckHost{ClaimedCheck: claim, Host: host, Returned: place == nil})
		}
	}
	if err := c.Store.SaveCheckHosts(ctx, hosts); err != nil {
		d.failed(ctx, err)
		for _, h := range hosts {
			if h.Returned {
				d.results <- c.unknown(h.ClaimedCheck, "too many checks of "+h.Host+" were running")
			}
		}
		return 0
	}
	return returned
}

// launch runs a check, and frees its place when the check has ended.
func (d *dispatcher) launch(claimed store.ClaimedCheck, probe check.Probe, p *place) {
	d.running.Go(func() {
		result := d.checker.check(d.work, claimed, probe)
		if d.work.Err() == nil {
			d.results <- result
		}
		p.leave()
	})
}

// drain waits until no check runs. After drainTimeout it calls stop, which cancels the checks that still run. These
// have no result: other replicas, or this one after its next start, check again at the next due time.
func (d *dispatcher) drain(stop context.CancelFunc) {
	timer := time.AfterFunc(drainTimeout, stop)
	defer timer.Stop()
	d.running.Wait()
}
