package fair

import (
	"context"
	"maps"
	"math"
	"sync"
	"time"
)

// Target is where a message goes, and the workspace that sends it there.
type Target struct{ Workspace, Host string }

// GateConfig configures a Gate.
type GateConfig struct {
	Places       int // messages at a time
	PerWorkspace int // messages of one workspace at a time; 0: only the rule of the pool limits them

	// PerHost is how many messages of one workspace go to one host at a time. All workspaces together send at most four
	// times as many to the host, and one workspace gets at most half of the free part of that. 0: all hosts are one
	// server, which the settings name.
	PerHost int

	// A target that cannot be reached gets no messages for a pause, which doubles from MinPause to MaxPause.
	MinPause, MaxPause time.Duration
}

// Gate decides which messages may be sent now. It is a Pool of places for them, with a circuit breaker for each target:
// where a host fails for one workspace, other workspaces still try it. It is safe for concurrent use, but only one
// goroutine may use plans.
type Gate struct {
	GateConfig
	pool *Pool

	mu       sync.Mutex
	breakers *breakers
}

// NewGate returns a gate whose places are free.
func NewGate(c GateConfig) *Gate {
	return &Gate{GateConfig: c, pool: NewPool(c.Places, c.Places), breakers: newBreakers(c.MinPause, c.MaxPause)}
}

// limits returns the keys that must have room for a message.
func (g *Gate) limits(t Target) []Key {
	keys := []Key{Workspace(t.Workspace).AtMost(g.PerWorkspace)}
	if g.PerHost > 0 {
		keys = append(keys, Host(t.Host).Bounded(4*g.PerHost), g.probed(t).AtMost(g.PerHost).Nested())
	}
	return keys
}

// keys returns the keys that count a message while it is being sent.
func (g *Gate) keys(t Target) []Key {
	if g.PerHost > 0 {
		return g.limits(t)
	}
	return append(g.limits(t), g.probed(t))
}

// probed returns the key that counts the messages with the same circuit breaker.
func (g *Gate) probed(t Target) Key {
	b := g.breakerOf(t)
	return Workspace(b.Workspace).At(b.Host)
}

// breakerOf returns the target whose circuit breaker counts for t: one for all targets if PerHost is 0.
func (g *Gate) breakerOf(t Target) Target {
	if g.PerHost == 0 {
		return Target{}
	}
	return t
}

// Enter takes a place for a message that a plan has admitted, whether or not the target has room for it. release gives
// the place back, and may be called again without effect.
func (g *Gate) Enter(t Target) (release func()) {
	g.pool.mu.Lock()
	defer g.pool.mu.Unlock()
	g.pool.take(g.keys(t))
	return g.pool.releaser(g.keys(t))
}

// Wait waits until ctx ends for a place of the target and of another key. It is for a message that is sent even if its
// target is paused. If too many callers wait, it returns ErrFull.
func (g *Gate) Wait(ctx context.Context, t Target, also Key) (release func(), err error) {
	return g.pool.Acquire(ctx, append(g.keys(t), also)...)
}

// Free returns how many places are free.
func (g *Gate) Free() int { return g.pool.Free() }

// Note records whether an attempt found a target unreachable.
func (g *Gate) Note(t Target, unreachable bool, now time.Time) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.breakers.note(g.breakerOf(t), unreachable, now)
}

// Failing reports whether the last attempt found a target unreachable.
func (g *Gate) Failing(t Target) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.breakers.isFailing(g.breakerOf(t))
}

// Plan is a choice of messages to be claimed. It changes nothing at the gate, so that a transaction that chooses may be
// repeated with a new plan. A nil Plan admits everything. It is not safe for concurrent use.
type Plan struct {
	gate   *Gate
	now    time.Time
	shares *Shares
}

// Plan returns a plan that begins with the places that are free now.
func (g *Gate) Plan(now time.Time) *Plan { return &Plan{g, now, g.pool.Shares()} }

// Full reports whether a workspace can send no message now: it has no room, or all messages go to one server, which is
// failing.
func (p *Plan) Full(workspace string) bool { return p.Room(workspace) == 0 }

// Room returns how many messages a workspace may send now, if their hosts have room for them.
func (p *Plan) Room(workspace string) int {
	if p == nil {
		return math.MaxInt
	}
	room := p.shares.Room(Workspace(workspace).AtMost(p.gate.PerWorkspace))
	if p.gate.PerHost == 0 {
		room = min(room, p.probes(Target{Workspace: workspace}))
	}
	return room
}

// Closed returns the hosts to which a workspace may send nothing now, because they are full or failing.
func (p *Plan) Closed(workspace string) (hosts []string) {
	if p == nil || p.gate.PerHost == 0 {
		return nil
	}
	seen := make(map[string]bool)
	check := func(host string) {
		if !seen[host] && !p.Admits(Target{workspace, host}) {
			hosts = append(hosts, host)
		}
		seen[host] = true
	}
	for k := range p.shares.held {
		if k.kind == Host("").Kind {
			check(k.name)
		}
	}
	p.gate.mu.Lock()
	failing := maps.Clone(p.gate.breakers.failing[workspace])
	p.gate.mu.Unlock()
	for host := range failing {
		check(host)
	}
	return hosts
}

// Admits reports whether a target has room for a message and is not paused.
func (p *Plan) Admits(t Target) bool {
	if p == nil {
		return true
	}
	return p.probes(t) > 0 && p.shares.Fit(p.gate.limits(t)...)
}

// probes returns how many messages the circuit breaker of a target permits now.
func (p *Plan) probes(t Target) int {
	p.gate.mu.Lock()
	limit := p.gate.breakers.max(p.gate.breakerOf(t), p.now)
	p.gate.mu.Unlock()
	if limit < 0 {
		return math.MaxInt
	}
	return max(0, limit-p.shares.held[p.gate.probed(t).id()])
}

// Add adds a message to the plan.
func (p *Plan) Add(t Target) {
	if p == nil {
		return
	}
	p.shares.Take(p.gate.keys(t)...)
}
