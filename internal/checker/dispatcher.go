package checker

import (
	"context"
	"log/slog"
	"time"

	"github.com/allswell/allswell"
	"github.com/allswell/allswell/internal/check"
	"github.com/allswell/allswell/internal/store"
)

// dispatcher claims checks and runs them. Only its goroutine uses its fields.
type dispatcher struct {
	checker *Checker
	work    context.Context // of checks that run
	results chan<- allswell.CheckResult
	done    chan string // hosts of checks that have ended

	running   int
	hosts     map[string]int // checks that run, by host
	waiting   []waitingCheck // for their hosts, oldest first
	refreshed time.Time
}

// waitingCheck is a check that waits until fewer checks of its host run.
type waitingCheck struct {
	claimed store.ClaimedCheck
	probe   check.Probe
}

// run claims checks until ctx ends.
func (d *dispatcher) run(ctx context.Context) {
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case host := <-d.done:
			d.ended(host)
		case <-timer.C:
			timer.Reset(d.claim(ctx))
		}
	}
}

// claim claims as many checks as can run, and returns after how long to claim again. It claims none while too many
// results wait to be saved: other replicas run these checks, or they run late.
func (d *dispatcher) claim(ctx context.Context) time.Duration {
	c := d.checker
	if time.Since(d.refreshed) >= surroundingsAge {
		if err := c.refresh(ctx); err != nil {
			return d.failed(ctx, err)
		}
		d.refreshed = time.Now()
	}
	free := min(c.Concurrency-d.running-len(d.waiting), claimLimit, maxResults-c.Waiting())
	if c.verdicts.isCutOff(time.Now()) {
		free = min(free, cutOffClaimLimit-d.running)
	}
	if free <= 0 {
		return claimInterval
	}
	claimed, next, err := c.Store.ClaimChecks(ctx, store.CheckClaim{Replica: c.Replica, Location: c.Location, Limit: free})
	if err != nil {
		return d.failed(ctx, err)
	}
	c.claims.Worked(time.Now())
	for _, check := range claimed {
		d.start(check)
	}
	if next.IsZero() {
		return emptyInterval
	}
	return min(max(next.Sub(c.now()), claimInterval), idleInterval)
}

// failed logs that checks cannot be claimed, and returns after how long to try again.
func (d *dispatcher) failed(ctx context.Context, err error) time.Duration {
	if ctx.Err() == nil {
		if store.LogLevel(err, slog.LevelWarn) >= slog.LevelWarn {
			d.checker.claims.Failed(time.Now(), "error", err)
		}
	}
	return idleInterval
}

// start launches a check, or queues it if perHost checks of its host are running. If the queue is full, the oldest
// check in it is unknown.
func (d *dispatcher) start(claimed store.ClaimedCheck) {
	c := d.checker
	probe, reason := probeOf(claimed)
	if reason != "" {
		d.results <- c.unknown(claimed, reason)
		return
	}
	host := probe.Target().Host
	if d.hosts[host] < perHost {
		d.launch(waitingCheck{claimed, probe})
		return
	}
	d.waiting = append(d.waiting, waitingCheck{claimed, probe})
	if len(d.waiting) > c.Concurrency {
		first := d.waiting[0]
		d.waiting = d.waiting[1:]
		d.results <- c.unknown(first.claimed, "too many checks of "+first.probe.Target().Host+" were running")
	}
}

func (d *dispatcher) launch(w waitingCheck) {
	host := w.probe.Target().Host
	d.running++
	d.hosts[host]++
	go func() {
		result := d.checker.check(d.work, w.claimed, w.probe)
		if d.work.Err() == nil {
			d.results <- result
		}
		d.done <- host
	}()
}

// ended notes that a check of a host has ended, and launches the oldest one that waits for this host.
func (d *dispatcher) ended(host string) {
	d.running--
	if d.hosts[host]--; d.hosts[host] == 0 {
		delete(d.hosts, host)
	}
	for i, w := range d.waiting {
		if w.probe.Target().Host == host {
			d.waiting = append(d.waiting[:i], d.waiting[i+1:]...)
			d.launch(w)
			return
		}
	}
}

// drain waits until no check runs. After drainTimeout it calls stop, which cancels the checks that still run. These
// have no result: other replicas, or this one after its next start, check again at the next due time.
func (d *dispatcher) drain(stop context.CancelFunc) {
	timer := time.NewTimer(drainTimeout)
	defer timer.Stop()
	d.waiting = nil
	for d.running > 0 {
		select {
		case host := <-d.done:
			d.ended(host)
		case <-timer.C:
			stop()
		}
	}
}
