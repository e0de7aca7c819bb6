package connlimit

import (
	"context"
	"maps"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"
)

// modelConn is a connection of a client, and what the model knows of it.
type modelConn struct {
	net.Conn // nil
	from     net.Addr

	mu      sync.Mutex
	closed  bool
	written string

	limited       *conn // nil: refused
	ctx           context.Context
	group         string // address that is limited; "": a trusted proxy
	encrypted     bool
	phase         phase
	since         time.Time
	used, counted bool
	gone          bool // closed, as the model has it
	answer        string
}

func (c *modelConn) RemoteAddr() net.Addr             { return c.from }
func (c *modelConn) SetDeadline(time.Time) error      { return nil }
func (c *modelConn) SetWriteDeadline(time.Time) error { return nil }
func (c *modelConn) Read(p []byte) (int, error)       { return 1, nil }

func (c *modelConn) Write(p []byte) (int, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.written += string(p)
	return len(p), nil
}

func (c *modelConn) Close() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.closed = true
	return nil
}

// model decides as a Limiter should, by looking at all connections each time.
type model struct {
	most, each int
	all        []*modelConn
	counts     map[Reason]uint64
	lost       int
}

func (m *model) open(fits func(*modelConn) bool) (found []*modelConn) {
	for _, c := range m.all {
		if !c.gone && (fits == nil || fits(c)) {
			found = append(found, c)
		}
	}
	slices.SortFunc(found, func(a, b *modelConn) int { return a.since.Compare(b.since) })
	return found
}

// evict closes up to n connections in a phase since a time, the oldest first; of one address if group is not "".
func (m *model) evict(group string, in phase, n int, before time.Time, why Reason) (closed int) {
	for _, c := range m.open(func(c *modelConn) bool {
		return c.phase == in && (group == "" || c.group == group) && !c.since.After(before)
	}) {
		if closed == n {
			break
		}
		if closed++; in == reading && !c.encrypted {
			c.answer = string(unavailable)
		}
		c.gone = true
		m.counts[why]++
	}
	return closed
}

func (m *model) evictSlow(group string, now time.Time) bool {
	if m.evict(group, reading, max(m.most/16, 1), now.Add(-5*time.Second), SlowClosed) > 0 {
		return true
	}
	if m.evict(group, reading, 1, now, ArrivingClosed) == 0 {
		return false
	}
	if group == "" {
		m.lost++
	}
	return true
}

func (m *model) admit(c *modelConn, now time.Time) {
	refuse := func(why Reason) {
		c.gone, c.phase = true, closed
		m.counts[why]++
		if !c.encrypted {
			c.answer = string(unavailable)
		}
	}
	c.since = now
	if len(m.open(nil)) >= m.most-m.most/8 {
		m.evict("", idle, max(m.most/16, 1), now, IdleClosed)
	}
	if len(m.open(nil)) >= m.most && !m.evictSlow("", now) {
		refuse(Full)
		m.lost++
		return
	}
	if c.group == "" {
		return
	}
	if len(m.open(func(o *modelConn) bool { return o.group == c.group && o != c })) >= m.each &&
		m.evict(c.group, idle, max(m.each/16, 1), now, IdleClosed) == 0 && !m.evictSlow(c.group, now) {
		refuse(AddressFull)
	}
}

// TestLimiterIsTheModel opens, uses and closes connections at random, and compares the limiter with the model after
// every step: which connections are open, what the others were answered, all counts, and what is lost.
func TestLimiterIsTheModel(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		var failed any
		synctest.Test(t, func(*testing.T) {
			defer func() { failed = recover() }()
			runModel(r)
		})
		if failed != nil {
			panic(failed)
		}
	})
}

func runModel(t *rapid.T) {
	m := &model{
		rapid.SampledFrom([]int{16, 17, 32, 40}).Draw(t, "max"),
		rapid.SampledFrom([]int{5, 9, 16, 32, 40}).Draw(t, "per address"), nil, map[Reason]uint64{}, 0,
	}
	lost := 0
	l := New(Config{Max: m.most, PerAddress: m.each, Lost: func() { lost++ },
		Trusted: []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8")}})
	var mix mix
	for i := range rapid.IntRange(120, 240).Draw(t, "steps") {
		if i%60 == 0 {
			mix = rapid.SampledFrom(mixes).Draw(t, "mix")
		}
		time.Sleep(time.Duration(rapid.SampledFrom([]int{1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 900, 5000}).Draw(t,
			"ms")) * time.Millisecond)
		m.step(t, l, mix)
		synctest.Wait()
		m.compare(t, l, lost)
	}
	for _, c := range m.open(nil) {
		c.limited.Close()
		c.limited.Close() // as http.Server may
		c.gone = true
	}
	m.compare(t, l, lost)
	if len(l.conns)+len(l.peers) != 0 || l.busy.Load() != 0 {
		t.Fatalf("%d connections, %d addresses and %d requests are left", len(l.conns), len(l.peers), l.busy.Load())
	}
}

// mix says what clients do for a while: a server fills up in different ways.
type mix struct {
	steps []string
	from  []string // addresses; nil: all
	pings bool     // some requests are pings
}

var mixes = []mix{
	{[]string{"open", "open", "open", "byte", "byte", "request", "request", "answer", "stream", "close"}, nil, true},
	{[]string{"open", "open", "byte"}, nil, true},
	{[]string{"open", "byte", "byte"}, []string{"10.1.2.3"}, true},
	{[]string{"open", "open", "byte", "byte"}, []string{"192.0.2.1", "2001:db8::1"}, true},
	{[]string{"open", "request"}, []string{"10.1.2.3"}, false},
	{[]string{"open", "request", "stream"}, []string{"192.0.2.1", "10.1.2.3"}, true},
	{[]string{"open", "request"}, []string{"192.0.2.1", "2001:db8::1"}, true},
	{[]string{"request", "answer", "answer", "close"}, nil, true},
}

func (m *model) step(t *rapid.T, l *Limiter, mix mix) {
	now := time.Now()
	move := func(c *modelConn, to phase) { c.phase, c.since = to, now }
	pick := func(phases ...phase) *modelConn {
		if fits := m.open(func(c *modelConn) bool { return slices.Contains(phases, c.phase) }); len(fits) > 0 {
			return rapid.SampledFrom(fits).Draw(t, "connection")
		}
		return nil
	}
	switch rapid.SampledFrom(mix.steps).Draw(t, "step") {
	case "open":
		m.openConn(t, l, mix, now)
	case "byte":
		c := pick(idle)
		if c == nil {
			c = pick(reading, serving)
		}
		if c != nil {
			c.limited.Read(nil)
			if c.phase == idle {
				move(c, reading)
			}
		}
	case "request": // its header has been read; it is no ping, or it is one
		if c := pick(idle, reading); c != nil {
			l.ConnState(c.limited, http.StateActive)
			c.used = true
			move(c, serving)
			if !mix.pings || !rapid.Bool().Draw(t, "ping") {
				m.begin(t, l, c)
			}
		}
	case "answer":
		if c := pick(serving); c != nil {
			if c.counted {
				l.End(c.ctx)
				c.counted = false
			}
			l.ConnState(c.limited, http.StateIdle)
			move(c, idle)
		}
	case "stream":
		if c := pick(serving); c != nil && c.counted {
			l.ConnState(c.limited, http.StateHijacked)
			l.End(c.ctx)
			move(c, hijacked)
		}
	case "close":
		if c := pick(idle, reading, serving, hijacked); c != nil {
			c.limited.Close()
			c.gone = true
		}
	}
}

func (m *model) openConn(t *rapid.T, l *Limiter, mix mix, now time.Time) {
	groups := map[string]string{
		"192.0.2.1": "192.0.2.1", "::ffff:192.0.2.1": "192.0.2.1", "198.51.100.7": "198.51.100.7", "10.1.2.3": "",
		"2001:db8::1": "2001:db8::", "2001:db8::ffff:2": "2001:db8::", "2001:db8:0:1::1": "2001:db8:0:1::",
	}
	from := mix.from
	if from == nil {
		from = slices.Sorted(maps.Keys(groups))
	}
	address := rapid.SampledFrom(from).Draw(t, "from")
	c := &modelConn{
		from: &net.TCPAddr{IP: net.ParseIP(address), Port: 1}, group: groups[address],
		encrypted: rapid.Bool().Draw(t, "encrypted"),
	}
	m.admit(c, now)
	m.all = append(m.all, c)
	c.limited = l.admit(c, c.encrypted)
	if (c.limited == nil) != c.gone {
		t.Fatalf("from %s: refused %t, want %t", address, c.limited == nil, c.gone)
	}
	if c.limited != nil {
		c.ctx = l.ConnContext(context.Background(), c.limited)
	}
}

// begin compares the decision about a request that is no ping.
func (m *model) begin(t *rapid.T, l *Limiter, c *modelConn) {
	want := Admitted
	busy := m.open(func(o *modelConn) bool { return o.counted })
	ofAddress := m.open(func(o *modelConn) bool { return o.counted && o.group == c.group })
	switch {
	case len(busy) >= m.most-max(m.most/8, 8):
		want = Reserved
	case c.group != "" && len(ofAddress) >= m.each-max(m.each/8, 4):
		want = AddressBusy
	}
	if got := l.Begin(c.ctx); got != want {
		t.Fatalf("with %d requests, %d of the address: %s, want %s", len(busy), len(ofAddress), got, want)
	}
	if want != Admitted {
		m.counts[want]++
	}
	c.counted = want == Admitted
}

func (m *model) compare(t *rapid.T, l *Limiter, lost int) {
	phases := map[string]int{"idle": 0, "reading": 0, "serving": 0, "stream": 0}
	settled := true
	for i, c := range m.all {
		if c.mu.Lock(); c.closed != c.gone || c.written != c.answer {
			t.Fatalf("connection %d: closed %t, want %t; answered %q, want %q", i, c.closed, c.gone, c.written,
				c.answer)
		}
		c.mu.Unlock()
		if c.gone {
			continue
		}
		phases[[]string{"idle", "reading", "serving", "stream"}[c.phase]]++
		if c.phase == reading || c.phase == serving || !c.used && time.Since(c.since) < time.Second {
			settled = false
		}
	}
	open := len(m.open(nil))
	if got := l.Phases(); !maps.Equal(got, phases) || l.Open() != open {
		t.Fatalf("connections: %d open, %v; want %d, %v", l.Open(), got, open, phases)
	}
	for _, why := range append(slices.Clone(Refusals), Closings...) {
		if got := l.Count(why); got != m.counts[why] {
			t.Fatalf("Count(%s) = %d, want %d", why, got, m.counts[why])
		}
	}
	if lost != m.lost {
		t.Fatalf("Lost was called %d times, want %d", lost, m.lost)
	}
	if got, want := l.CloseAfterAnswer(), open > m.most-m.most/4; got != want {
		t.Fatalf("%d of %d open: close after the answer: %t", open, m.most, got)
	}
	if got := l.settled(); got != settled {
		t.Fatalf("settled: %t, want %t", got, settled)
	}
}

// TestReasonsOfMetrics checks that each reason is counted under its label, as a refusal or as a closing.
func TestReasonsOfMetrics(t *testing.T) {
	labels := func(reasons []Reason) (all []string) {
		for _, r := range reasons {
			all = append(all, r.String())
		}
		return all
	}
	if got := labels(Refusals); !slices.Equal(got, []string{"full", "address_full", "reserved", "address_busy"}) {
		t.Errorf("refusals: %v", got)
	}
	if got := labels(Closings); !slices.Equal(got, []string{"idle", "slow", "arriving"}) {
		t.Errorf("closings: %v", got)
	}
}
