// Package fair shares a bounded number of places among keys, such as hosts and workspaces, so that no key keeps the
// others out. A place stands for work in progress: a check that runs, a message that is being sent, a hash that is
// being computed.
//
// A key gets a place only while it holds fewer places than are free. So one busy key holds at most half of a pool, and
// each further one at most half of the rest: a new key finds a place without waiting for the work of others to end,
// unless very many keys are busy.
package fair

import (
	"context"
	"errors"
	"sync"
)

// ErrFull means that a caller may not wait, because too many others wait.
var ErrFull = errors.New("too many are waiting for a place")

// Key identifies one of several users of a pool, such as a workspace. A place belongs to one or several keys of
// different kinds, and each of them has to have room.
type Key struct {
	Kind, Name string
	Max        int // places at a time, besides the rule of the pool; 0: no other limit
	bounded    bool
	nested     bool
}

// Workspace and Host return keys of the usual kinds.
func Workspace(id string) Key  { return Key{Kind: "workspace", Name: id} }
func Host(name string) Key     { return Key{Kind: "host", Name: name} }
func (k Key) AtMost(n int) Key { k.Max = n; return k }

// At returns the key of k's work at a host. The work of other keys at the host has other keys.
func (k Key) At(host string) Key { return Key{Kind: k.Kind + " at host", Name: k.Name + " " + host} }

// Bounded returns the key with a maximum as its only limit. The keys nested in it share n places, whatever is free of
// the pool.
func (k Key) Bounded(n int) Key { k.Max, k.bounded = n, true; return k }

// Nested returns the key as one of several within the key before it, such as a host of a workspace: it leaves places of
// the key before it to the others.
func (k Key) Nested() Key { k.nested = true; return k }

func (k Key) id() keyID { return keyID{k.Kind, k.Name} }

type keyID struct{ kind, name string }

// Pool shares places among keys. It is safe for concurrent use.
type Pool struct {
	maxWaiting int

	mu      sync.Mutex
	shares  *Shares
	waiting []*waiter       // in the order of their arrival
	queued  map[keyID]int   // how many of them have the key
	served  map[keyID]int64 // when the key got its last place, for keys that hold a place or wait for one
	serving int64
}

type waiter struct {
	keys  []Key
	ready chan struct{} // closed when the waiter has its place
}

// NewPool returns a pool with size places, for which up to maxWaiting callers of Acquire may wait.
func NewPool(size, maxWaiting int) *Pool {
	return &Pool{
		maxWaiting: maxWaiting, shares: NewShares(size),
		queued: make(map[keyID]int), served: make(map[keyID]int64),
	}
}

// TryAcquire takes a place if all keys have room for it. release gives it back, and may be called again without effect.
func (p *Pool) TryAcquire(keys ...Key) (release func(), ok bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.shares.Fit(keys...) {
		return nil, false
	}
	p.take(keys)
	return p.releaser(keys), true
}

// Acquire waits for a place until ctx ends, and returns the error of ctx if that happens first. If too many wait, or
// too many with one of these keys, it returns ErrFull immediately. The place goes to the waiter whose keys hold the
// fewest places; among equals to the one whose keys got none for the longest time.
func (p *Pool) Acquire(ctx context.Context, keys ...Key) (release func(), err error) {
	p.mu.Lock()
	if p.shares.Fit(keys...) {
		p.take(keys)
		p.mu.Unlock()
		return p.releaser(keys), nil
	}
	if !p.mayWait(keys) {
		p.mu.Unlock()
		return nil, ErrFull
	}
	w := &waiter{keys, make(chan struct{})}
	p.waiting = append(p.waiting, w)
	for _, k := range keys {
		p.queued[k.id()]++
	}
	p.mu.Unlock()
	select {
	case <-w.ready:
		return p.releaser(keys), nil
	case <-ctx.Done():
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	for i := range p.waiting {
		if p.waiting[i] == w {
			p.leaveQueue(i)
			return nil, ctx.Err()
		}
	}
	p.put(keys) // it got its place while ctx ended
	return nil, ctx.Err()
}

// Shares returns a copy of the present shares.
func (p *Pool) Shares() *Shares {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.shares.Clone()
}

// Free returns how many places are free.
func (p *Pool) Free() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.shares.Free()
}

// mayWait reports whether a caller may join the queue: there is room, and for each key, fewer callers wait than the
// queue still has room for.
func (p *Pool) mayWait(keys []Key) bool {
	left := p.maxWaiting - len(p.waiting)
	for _, k := range keys {
		if p.queued[k.id()] >= left {
			return false
		}
	}
	return left > 0
}

func (p *Pool) take(keys []Key) {
	p.shares.Take(keys...)
	p.serving++
	for _, k := range keys {
		p.served[k.id()] = p.serving
	}
}

func (p *Pool) releaser(keys []Key) func() {
	return sync.OnceFunc(func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.put(keys)
	})
}

// put gives a place back, and gives places to waiters.
func (p *Pool) put(keys []Key) {
	p.shares.put(keys)
	for p.shares.Free() > 0 {
		next := p.next()
		if next < 0 {
			break
		}
		w := p.waiting[next]
		p.leaveQueue(next)
		p.take(w.keys)
		close(w.ready)
	}
	for _, k := range keys {
		p.forget(k)
	}
}

// next returns the index of the waiter who gets the next place; -1: no waiter's keys have room.
func (p *Pool) next() int {
	best, bestHeld, bestServed := -1, 0, int64(0)
	for i, w := range p.waiting {
		if !p.shares.Fit(w.keys...) {
			continue
		}
		held, served := 0, int64(0)
		for _, k := range w.keys {
			held = max(held, p.shares.held[k.id()])
			served = max(served, p.served[k.id()])
		}
		if best < 0 || held < bestHeld || held == bestHeld && served < bestServed {
			best, bestHeld, bestServed = i, held, served
		}
	}
	return best
}

func (p *Pool) leaveQueue(i int) {
	keys := p.waiting[i].keys
	p.waiting = append(p.waiting[:i], p.waiting[i+1:]...)
	for _, k := range keys {
		decrement(p.queued, k.id())
		p.forget(k)
	}
}

// forget drops what is known of a key that neither holds nor waits for a place.
func (p *Pool) forget(k Key) {
	if p.shares.held[k.id()] == 0 && p.queued[k.id()] == 0 {
		delete(p.served, k.id())
	}
}

func decrement(counts map[keyID]int, k keyID) {
	if counts[k]--; counts[k] == 0 {
		delete(counts, k)
	}
}
