package checker

import (
	"sync"
	"time"

	"github.com/allswell/allswell/internal/shared/fair"
	"github.com/allswell/allswell/internal/shared/trigger"
)

const (
	// slowAfter is how long a check may run until its host is slow.
	slowAfter = 2 * time.Second

	// maxSlowHosts is the maximum number of slow hosts that are known, each for a workspace.
	maxSlowHosts = 100_000

	// perHost is how many checks of one workspace run at one host at a time, and hostPlaces how many of all workspaces
	// together.
	perHost    = 20
	hostPlaces = 4 * perHost
)

// places are where checks run. Half of them are for hosts that are known to be slow, such as hosts that do not answer:
// a check moves there when its host turns out to be slow, if there is a place. So hosts that do not answer hold the
// other half for at most slowAfter each time, except for checks that do not fit into the slow half.
type places struct {
	checker    *Checker
	fast, slow *fair.Pool
	size       int
	freed      trigger.Trigger

	mu        sync.Mutex
	slowHosts map[at]bool
}

// at is a host as a workspace checks it: the checks of one workspace may hang there while the checks of another one are
// answered.
type at struct{ workspaceID, host string }

func newPlaces(c *Checker, freed trigger.Trigger) *places {
	fast, slow := (c.Concurrency+1)/2, max(1, c.Concurrency/2)
	return &places{
		checker: c, fast: fair.NewPool(fast, 0), slow: fair.NewPool(slow, 0), size: fast + slow, freed: freed,
		slowHosts: make(map[at]bool),
	}
}

// taken returns how many checks run.
func (p *places) taken() int { return p.size - p.fast.Free() - p.slow.Free() }

// keys returns the keys under which a check needs a place. A workspace that is alone shares with nobody. Otherwise it
// leaves the others as many places as it has, in all and at the host.
func (p *places) keys(to at) []fair.Key {
	if p.checker.isAlone() {
		return []fair.Key{fair.Host(to.host).AtMost(perHost).Nested()}
	}
	workspace := fair.Workspace(to.workspaceID)
	ofHost, ofWorkspace := workspace.At(to.host), workspace.At(to.host)
	ofWorkspace.Kind = "host of workspace"
	return []fair.Key{
		fair.Host(to.host).Bounded(hostPlaces), ofHost.Nested(),
		workspace, ofWorkspace.AtMost(perHost).Nested(),
	}
}

func (p *places) isSlow(to at) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.slowHosts[to]
}

// note notes whether a host is slow.
func (p *places) note(host at, slow bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !slow {
		delete(p.slowHosts, host)
		return
	}
	if len(p.slowHosts) >= maxSlowHosts && !p.slowHosts[host] {
		for one := range p.slowHosts { // if it is still slow, it takes a fast place once more
			delete(p.slowHosts, one)
			break
		}
	}
	p.slowHosts[host] = true
}

// plan is a choice of checks that take places later.
type plan struct {
	*places
	fast, slow *fair.Shares
}

func (p *places) plan() plan { return plan{p, p.fast.Shares(), p.slow.Shares()} }

func (p plan) free() int { return p.fast.Free() + p.slow.Free() }

// place is what store.CheckClaim.Place needs. A check whose host is not known is claimed to find out, and returned if
// there is no place for it.
func (p plan) place(workspaceID, host string) (*fair.Shares, []fair.Key) {
	to := at{workspaceID, host}
	switch {
	case host == "":
		return p.fast, nil
	case p.isSlow(to):
		return p.slow, p.keys(to)
	}
	return p.fast, p.keys(to)
}

// isFull reports whether a workspace has no place for any host.
func (p plan) isFull(workspaceID string) bool {
	var keys []fair.Key
	if !p.checker.isAlone() {
		keys = append(keys, fair.Workspace(workspaceID))
	}
	return !p.fast.Fit(keys...) && !p.slow.Fit(keys...)
}

// place is where a check runs.
type place struct {
	places *places
	host   at
	began  time.Time
	move   *time.Timer

	mu      sync.Mutex
	left    bool
	release func()
}

// take returns the place of a check that begins, or nil if there is none.
func (p *places) take(workspaceID, host string) *place {
	to := at{workspaceID, host}
	pool, keys, slow := p.fast, p.keys(to), p.isSlow(to)
	if slow {
		pool = p.slow
	}
	release, ok := pool.TryAcquire(keys...)
	if !ok {
		return nil
	}
	c := &place{places: p, host: to, began: time.Now(), release: release}
	if !slow {
		c.move = time.AfterFunc(slowAfter, func() { c.moveToSlow(keys) })
	}
	return c
}

// moveToSlow gives the place to others if there is one for slow hosts.
func (c *place) moveToSlow(keys []fair.Key) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.left {
		return
	}
	c.places.note(c.host, true)
	if release, ok := c.places.slow.TryAcquire(keys...); ok {
		c.release()
		c.release = release
		c.places.freed.Fire()
	}
}

// leave gives the place to others after the check has ended.
func (c *place) leave() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.left = true
	if c.move != nil {
		c.move.Stop()
	}
	c.places.note(c.host, time.Since(c.began) > slowAfter)
	c.release()
	c.places.freed.Fire()
}
