package fair

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"
)

// modelPool says in plain words who gets the places of a pool.
type modelPool struct {
	size, maxWaiting int
	holding, waiting []*caller
	turn             int
	last             map[keyID]int // turn in which a key got its last place, while it holds or waits for one
}

// caller is somebody who holds a place or waits for one.
type caller struct {
	keys    []Key
	cancel  context.CancelFunc
	release func()
	err     error
	ended   bool // Acquire has returned
	want    error
	got     bool
}

func count(callers []*caller, k Key) (n int) {
	for _, c := range callers {
		for _, other := range c.keys {
			if other.id() == k.id() {
				n++
			}
		}
	}
	return n
}

func (m *modelPool) fits(keys []Key) bool {
	free := m.size - len(m.holding)
	room := free // for the next key
	for _, k := range keys {
		if !k.nested {
			room = free
		}
		if k.bounded {
			room = k.Max
		}
		if k.Max > 0 {
			room = min(room, k.Max)
		}
		if room -= count(m.holding, k); room <= 0 {
			return false
		}
	}
	return free > 0
}

func (m *modelPool) take(c *caller) {
	m.turn++
	m.holding = append(m.holding, c)
	for _, k := range c.keys {
		m.last[k.id()] = m.turn
	}
	c.got = true
}

// serve gives free places to waiters: first whose keys hold the fewest, then whose keys waited the longest.
func (m *modelPool) serve() {
	for {
		fits := slices.DeleteFunc(slices.Clone(m.waiting), func(c *caller) bool { return !m.fits(c.keys) })
		if len(fits) == 0 {
			break
		}
		rank := func(c *caller) (held, last int) {
			for _, k := range c.keys {
				held, last = max(held, count(m.holding, k)), max(last, m.last[k.id()])
			}
			return
		}
		slices.SortStableFunc(fits, func(a, b *caller) int {
			heldA, lastA := rank(a)
			heldB, lastB := rank(b)
			if heldA != heldB {
				return heldA - heldB
			}
			return lastA - lastB
		})
		m.leave(fits[0])
		m.take(fits[0])
	}
	m.forget()
}

func (m *modelPool) leave(c *caller) {
	m.waiting = slices.DeleteFunc(m.waiting, func(other *caller) bool { return other == c })
}

func (m *modelPool) forget() {
	for id := range m.last {
		k := Key{Kind: id.kind, Name: id.name}
		if count(m.holding, k)+count(m.waiting, k) == 0 {
			delete(m.last, id)
		}
	}
}

func (m *modelPool) mayWait(keys []Key) bool {
	left := m.maxWaiting - len(m.waiting)
	return left > 0 && !slices.ContainsFunc(keys, func(k Key) bool { return count(m.waiting, k) >= left })
}

// TestPoolIsTheModel lets callers come, wait, give up and release at random, and compares who has a place after every
// step.
func TestPoolIsTheModel(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		var failed any
		synctest.Test(t, func(*testing.T) {
			defer func() { failed = recover() }()
			runPoolModel(r)
		})
		if failed != nil {
			panic(failed)
		}
	})
}

func runPoolModel(t *rapid.T) {
	m := &modelPool{
		size: rapid.IntRange(1, 9).Draw(t, "size"), maxWaiting: rapid.IntRange(1, 12).Draw(t, "waiting"),
		last: map[keyID]int{},
	}
	p := NewPool(m.size, m.maxWaiting)
	var all []*caller
	defer func() { // also after a failure, so that nobody waits at the end
		for _, c := range all {
			c.cancel()
		}
		synctest.Wait()
	}()
	for range rapid.IntRange(40, 120).Draw(t, "steps") {
		switch rapid.SampledFrom([]string{"come", "come", "try", "release", "release", "give up"}).Draw(t, "step") {
		case "come":
			all = append(all, m.come(p, drawKeys(t)))
		case "try":
			c := &caller{keys: drawKeys(t), cancel: func() {}, ended: true}
			release, ok := p.TryAcquire(c.keys...)
			if want := m.fits(c.keys); ok != want {
				t.Fatalf("a place without waiting: %t, want %t", ok, want)
			}
			if ok {
				c.release = release
				m.take(c)
				all = append(all, c)
			}
		case "release":
			if len(m.holding) > 0 {
				c := rapid.SampledFrom(m.holding).Draw(t, "who")
				m.holding = slices.DeleteFunc(m.holding, func(other *caller) bool { return other == c })
				m.serve()
				c.release()
				c.release() // without effect
			}
		case "give up":
			if len(m.waiting) > 0 {
				c := rapid.SampledFrom(m.waiting).Draw(t, "who")
				m.leave(c)
				m.forget()
				c.want = context.Canceled
				c.cancel()
			}
		}
		synctest.Wait()
		m.compare(t, p, all)
	}
}

// come lets a caller ask for a place, which may wait for it.
func (m *modelPool) come(p *Pool, keys []Key) *caller {
	ctx, cancel := context.WithCancel(context.Background())
	c := &caller{keys: keys, cancel: cancel}
	switch {
	case m.fits(c.keys):
		m.take(c)
	case m.mayWait(c.keys):
		m.waiting = append(m.waiting, c)
	default:
		c.want = ErrFull
	}
	go func() {
		c.release, c.err = p.Acquire(ctx, c.keys...)
		c.ended = true
	}()
	return c
}

// compare compares a pool with the model after a step.
func (m *modelPool) compare(t *rapid.T, p *Pool, all []*caller) {
	for i, c := range all {
		if c.ended != (c.got || c.want != nil) || !errors.Is(c.err, c.want) {
			t.Fatalf("caller %d of %v: returned %t with %v; want a place %t, %v", i, c.keys, c.ended, c.err, c.got,
				c.want)
		}
	}
	if p.Free() != m.size-len(m.holding) {
		t.Fatalf("%d places are free, want %d", p.Free(), m.size-len(m.holding))
	}
	if len(p.served) != len(m.last) {
		t.Fatalf("%d keys are remembered, want %d", len(p.served), len(m.last))
	}
}

func drawKeys(t *rapid.T) []Key {
	workspace := Workspace(rapid.SampledFrom([]string{"a", "b", "c"}).Draw(t, "workspace"))
	host := rapid.SampledFrom([]string{"x", "y"}).Draw(t, "host")
	switch rapid.IntRange(0, 3).Draw(t, "keys") {
	case 0:
		return []Key{workspace}
	case 1:
		return []Key{workspace.AtMost(2), Host(host)}
	case 2:
		return []Key{workspace.AtMost(4), workspace.At(host).Nested()}
	}
	return []Key{workspace, Host(host).Bounded(4), workspace.At(host).AtMost(2).Nested()}
}

// modelBreaker is what the model knows of a target.
type modelBreaker struct {
	failures, pauses int
	until            time.Time
}

var gateWorkspaces, gateHosts = []string{"a", "b", "c"}, []string{"x", "y"}

// modelGate says in plain words what a gate admits.
type modelGate struct {
	config   GateConfig
	known    map[Target]*modelBreaker
	sending  []Target
	releases []func()
	now      time.Time
}

// sharing returns the target whose failures count for another one: itself, or one for all.
func (m *modelGate) sharing(target Target) Target {
	if m.config.PerHost == 0 {
		return Target{}
	}
	return target
}

// held counts the messages that are being sent to some targets.
func (m *modelGate) held(fits func(Target) bool) (n int) {
	for _, target := range m.sending {
		if fits(target) {
			n++
		}
	}
	return n
}

func (m *modelGate) admits(to Target) bool {
	c := m.config
	free := c.Places - len(m.sending)
	ofWorkspace := m.held(func(o Target) bool { return o.Workspace == to.Workspace })
	room := free
	if c.PerWorkspace > 0 {
		room = min(room, c.PerWorkspace)
	}
	if free <= 0 || ofWorkspace >= room {
		return false
	}
	atHost := m.held(func(o Target) bool { return o.Host == to.Host })
	there := m.held(func(o Target) bool { return o == to })
	if c.PerHost > 0 && there >= min(c.PerHost, 4*c.PerHost-atHost) {
		return false
	}
	if b := m.known[m.sharing(to)]; b != nil && b.failures >= BreakAfter {
		same := m.held(func(o Target) bool { return m.sharing(o) == m.sharing(to) })
		return !m.now.Before(b.until) && same == 0
	}
	return true
}

// step draws what happens next to a target, and lets it happen to the gate and the model.
func (m *modelGate) step(t *rapid.T, g *Gate, target Target) {
	switch rapid.SampledFrom([]string{"fails", "fails", "fails", "works", "enter", "leave"}).Draw(t, "step") {
	case "fails":
		b := m.known[m.sharing(target)]
		if b == nil {
			b = &modelBreaker{}
			m.known[m.sharing(target)] = b
		}
		if b.failures++; b.failures >= BreakAfter && !m.now.Before(b.until) {
			b.until = m.now.Add(min(time.Minute<<b.pauses, 5*time.Minute))
			b.pauses = min(b.pauses+1, 10) // a longer shift overflows
		}
		g.Note(target, true, m.now)
	case "works":
		if rapid.IntRange(0, 3).Draw(t, "seldom") == 0 {
			delete(m.known, m.sharing(target))
			g.Note(target, false, m.now)
		}
	case "enter":
		if m.admits(target) {
			m.sending = append(m.sending, target)
			m.releases = append(m.releases, g.Enter(target))
		}
	case "leave":
		if len(m.sending) > 0 {
			i := rapid.IntRange(0, len(m.sending)-1).Draw(t, "which")
			m.releases[i]()
			m.sending, m.releases = slices.Delete(m.sending, i, i+1), slices.Delete(m.releases, i, i+1)
		}
	}
}

// compareHosts compares what a plan says of the hosts of a workspace, and reports whether none of them is admitted.
func (m *modelGate) compareHosts(t *rapid.T, g *Gate, plan *Plan, workspace string) (none bool) {
	closed := slices.Sorted(slices.Values(plan.Closed(workspace)))
	none = true
	for _, host := range gateHosts {
		to := Target{workspace, host}
		want := m.admits(to)
		none = none && !want
		if got := plan.Admits(to); got != want {
			t.Fatalf("%v admitted: %t, want %t; %v are being sent", to, got, want, m.sending)
		}
		if g.Failing(to) != (m.known[m.sharing(to)] != nil) {
			t.Fatalf("Failing(%v) = %t, unlike the model", to, g.Failing(to))
		}
		// A host that is not listed may be full for the workspace as a whole.
		if slices.Contains(closed, host) && want {
			t.Fatalf("%v is closed, and admitted", to)
		}
		busy := m.held(func(o Target) bool { return o.Host == host }) > 0 || m.known[to] != nil
		if m.config.PerHost > 0 && busy && !want && !slices.Contains(closed, host) {
			t.Fatalf("%v is not admitted, and not closed: %v", to, closed)
		}
	}
	return none
}

// compareWorkspace compares what a plan says of a workspace with the model.
func (m *modelGate) compareWorkspace(t *rapid.T, g *Gate, plan *Plan, workspace string) {
	none := m.compareHosts(t, g, plan, workspace)
	if plan.Full(workspace) && !none {
		t.Fatalf("%s is full, and may send", workspace)
	}
	if fits := m.admits(Target{workspace, "unused"}); plan.Full(workspace) == fits {
		t.Fatalf("%s is full: %t, but a new host fits: %t", workspace, plan.Full(workspace), fits)
	}
}

// compareAdded checks that a plan counts what it has added.
func (m *modelGate) compareAdded(t *rapid.T, plan *Plan, target Target) {
	if !m.admits(target) {
		return
	}
	plan.Add(target)
	m.sending = append(m.sending, target)
	if got, want := plan.Admits(target), m.admits(target); got != want {
		t.Fatalf("another to %v admitted: %t, want %t", target, got, want)
	}
	m.sending = m.sending[:len(m.sending)-1]
}

// TestGateIsTheModel notes results, enters and leaves at random, and compares what a plan admits, and which hosts and
// workspaces it passes over, with the model: by target, for a server of all as well as for many hosts.
func TestGateIsTheModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := GateConfig{
			Places:       rapid.IntRange(1, 12).Draw(t, "places"),
			PerWorkspace: rapid.SampledFrom([]int{0, 1, 3}).Draw(t, "per workspace"),
			PerHost:      rapid.SampledFrom([]int{0, 1, 2}).Draw(t, "per host"), MinPause: time.Minute,
			MaxPause: 5 * time.Minute,
		}
		g := NewGate(c)
		m := &modelGate{
			config: c, known: map[Target]*modelBreaker{}, now: time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC),
		}
		pauses := []time.Duration{0, time.Second, time.Minute, 5 * time.Minute}
		for range rapid.IntRange(20, 120).Draw(t, "steps") {
			m.now = m.now.Add(rapid.SampledFrom(pauses).Draw(t, "later"))
			target := Target{
				rapid.SampledFrom(gateWorkspaces).Draw(t, "workspace"), rapid.SampledFrom(gateHosts).Draw(t, "host"),
			}
			m.step(t, g, target)
			plan := g.Plan(m.now)
			for _, workspace := range gateWorkspaces {
				m.compareWorkspace(t, g, plan, workspace)
			}
			m.compareAdded(t, plan, target)
			if g.Free() != c.Places-len(m.sending) { // the gate does not count what a plan has added
				t.Fatalf("%d places are free with %d of %d in use", g.Free(), len(m.sending), c.Places)
			}
		}
	})
}

// TestFullBreakersForgetOne checks that the workspace with most failing targets loses one when there are too many, and
// that nobody else's does.
func TestFullBreakersForgetOne(t *testing.T) {
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	b := newBreakers(time.Minute, time.Hour)
	few := []string{"a", "z"}
	for _, workspace := range few {
		for i := range 3 {
			b.note(Target{workspace, fmt.Sprint(i)}, true, now)
		}
	}
	for i := range maxBreakers + 20 {
		b.note(Target{"many", fmt.Sprint(i)}, true, now)
		if want := min(i+7, maxBreakers); b.count != want {
			t.Fatalf("%d targets are counted after %d, want %d", b.count, i+1, want)
		}
	}
	if got := len(b.failing["many"]); got != maxBreakers-6 {
		t.Errorf("%d of the many are tracked", got)
	}
	for _, workspace := range few {
		if len(b.failing[workspace]) != 3 {
			t.Errorf("%s lost a target", workspace)
		}
	}
}

// TestNoPlanAdmitsAll checks that work which is not planned is never held back.
func TestNoPlanAdmitsAll(t *testing.T) {
	var p *Plan
	p.Add(Target{"a", "x"})
	if !p.Admits(Target{"a", "x"}) || p.Full("a") || p.Closed("a") != nil {
		t.Error("something is held back without a plan")
	}
}
