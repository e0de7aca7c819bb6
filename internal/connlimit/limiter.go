// Package connlimit bounds the connections of an HTTP server: in all, for each
// client address, and those that may be busy with anything but a ping. Waiting
// connections are closed, the oldest first, before a new one is turned away, so
// that a client that sends a request is always preferred to one that does not.
// See docs/decisions/0031-connections.md.
package connlimit

import (
	"context"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

const (
	// slowAfter is how long a client may take to send the header of a request
	// before its connection may be closed as if it were idle.
	slowAfter = 5 * time.Second

	// settleAfter is how long a new connection may take to begin a request that is
	// still served when the server stops.
	settleAfter = time.Second

	// logEvery is the least time between two log lines about refused connections.
	logEvery = 10 * time.Second

	// The fewest connections that are reserved for pings, of all and of one address.
	minReserve, minAddressReserve = 8, 4
)

// Config is what a Limiter needs.
type Config struct {
	Max        int            // open connections
	PerAddress int            // open connections of one address; an IPv6 network of 64 bits counts as one
	Trusted    []netip.Prefix // reverse proxies, which PerAddress does not apply to

	// Lost is called whenever a client may have sent a ping that nobody read:
	// when a connection cannot be accepted, is refused because Max are open, or is
	// closed while its request arrives. It must not block. nil: nobody asks.
	Lost func()

	Logger *slog.Logger // nil: discard
}

// DefaultLimits returns Max and PerAddress for a process that may have files
// open files, 0 if that is not known. A quarter, but at most 128, is left for
// the database, logs, and the connections that the process itself opens.
func DefaultLimits(files uint64) (most, perAddress int) {
	const ceiling = 1 << 16
	most = ceiling
	if files > 0 && files < ceiling {
		n := int(files)
		most = max(n-min(n/4, 128), 2*minReserve)
	}
	return most, DefaultPerAddress(most)
}

// DefaultPerAddress returns PerAddress for a Max: a quarter of it, from 32 to 1,024.
func DefaultPerAddress(most int) int { return min(max(most/4, 32), 1024, most) }

// Reason is why a connection or a request was refused, or a connection closed.
type Reason int

const (
	Admitted       Reason = iota
	Full                  // connection refused: Max are open and none of them waits
	AddressFull           // connection refused: as many of its address are
	Reserved              // request refused: what is left is for pings
	AddressBusy           // request refused: the address has its share of requests
	IdleClosed            // connection closed: it was idle
	SlowClosed            // connection closed: its request took too long to arrive
	ArrivingClosed        // connection closed while its request arrived
	reasons
)

// String returns the value of the metrics' label.
func (r Reason) String() string {
	return [...]string{"admitted", "full", "address_full", "reserved", "address_busy", "idle", "slow", "arriving"}[r]
}

// Refusals and Closings are the reasons that are counted, for metrics.
var (
	Refusals = []Reason{Full, AddressFull, Reserved, AddressBusy}
	Closings = []Reason{IdleClosed, SlowClosed, ArrivingClosed}
)

// Limiter counts and bounds the connections of one server. It is safe for
// concurrent use.
type Limiter struct {
	Config
	began    time.Time // phases are timed from here, by the monotonic clock
	phases   [phaseCount]atomic.Int64
	busy     atomic.Int64 // connections that are counted by Begin
	closing  atomic.Bool
	counts   [reasons]atomic.Uint64
	failures atomic.Uint64
	refusing chan struct{} // holds one element for each connection that is being refused

	mu     sync.Mutex
	conns  map[*conn]struct{}
	peers  map[netip.Addr]*peer
	logged time.Time // the last line about refused connections
}

// peer is one client address.
type peer struct {
	conns map[*conn]struct{} // under the limiter's mutex
	busy  atomic.Int64
}

// New returns a Limiter without connections.
func New(c Config) *Limiter {
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	if c.Lost == nil {
		c.Lost = func() {}
	}
	return &Limiter{
		Config: c, began: time.Now(), refusing: make(chan struct{}, maxRefusing),
		conns: make(map[*conn]struct{}), peers: make(map[netip.Addr]*peer),
	}
}

// Open returns how many connections are open.
func (l *Limiter) Open() int {
	sum := 0
	for i := range l.phases {
		sum += int(l.phases[i].Load())
	}
	return sum
}

// Count returns how often something was refused or closed for a reason.
func (l *Limiter) Count(r Reason) uint64 { return l.counts[r].Load() }

// AcceptFailures returns how often accepting a connection failed.
func (l *Limiter) AcceptFailures() uint64 { return l.failures.Load() }

// CloseAfterAnswer reports whether answers have to close their connections: when
// more than three quarters of all are open, or the listener is being drained.
func (l *Limiter) CloseAfterAnswer() bool {
	return l.closing.Load() || l.Open() > l.Max-l.Max/4
}

// maxBusy is how many connections may be busy with anything but pings.
func (l *Limiter) maxBusy() int64 { return int64(l.Max - max(l.Max/8, minReserve)) }

func (l *Limiter) maxAddressBusy() int64 {
	return int64(l.PerAddress - max(l.PerAddress/8, minAddressReserve))
}

// Begin is called before a request that is no ping is served. Unless it returns
// Admitted, the request has to be refused; else End is called after it.
func (l *Limiter) Begin(ctx context.Context) Reason {
	c, ok := ctx.Value(connKey{}).(*conn)
	if !ok {
		return Admitted // not a connection of ours
	}
	if l.busy.Add(1) > l.maxBusy() {
		l.busy.Add(-1)
		return l.note(Reserved)
	}
	if c.peer != nil && c.peer.busy.Add(1) > l.maxAddressBusy() {
		c.peer.busy.Add(-1)
		l.busy.Add(-1)
		return l.note(AddressBusy)
	}
	c.counted.Store(true)
	return Admitted
}

// End is called when a request that was admitted by Begin has been served. A
// connection that the handler has taken over counts until it is closed.
func (l *Limiter) End(ctx context.Context) {
	if c, ok := ctx.Value(connKey{}).(*conn); ok && phase(c.phase.Load()) != takenOver {
		c.release()
	}
}

func (l *Limiter) note(r Reason) Reason {
	l.counts[r].Add(1)
	return r
}

// ConnContext is http.Server's: it lets Begin and End find the connection.
func (l *Limiter) ConnContext(ctx context.Context, nc net.Conn) context.Context {
	if c, ok := nc.(*conn); ok {
		return context.WithValue(ctx, connKey{}, c)
	}
	return ctx
}

type connKey struct{}

// ConnState is http.Server's.
func (l *Limiter) ConnState(nc net.Conn, state http.ConnState) {
	c, ok := nc.(*conn)
	if !ok {
		return
	}
	switch state {
	case http.StateActive: // the header of a request has been read
		c.used.Store(true)
		if !c.move(reading, serving) {
			c.move(idle, serving)
		}
	case http.StateIdle:
		c.move(serving, idle)
	case http.StateHijacked:
		c.move(serving, takenOver)
	}
}

// admit registers a new connection and returns it, or refuses it and returns nil if
// the limits are reached. It closes waiting connections to make room. It is called by
// one goroutine at a time.
func (l *Limiter) admit(raw net.Conn) *conn {
	open := l.Open()
	if open >= l.Max-l.Max/8 {
		open -= l.closeIdle(nil, max(l.Max/16, 1))
	}
	if open >= l.Max && !l.closeSlow(nil) {
		l.refuse(raw, Full)
		l.Lost()
		return nil
	}
	c := &conn{Conn: raw, limiter: l}
	c.since.Store(int64(time.Since(l.began)))
	if c.address = clientOf(raw); !l.trusts(c.address) {
		c.address = network(c.address)
		if c.peer = l.peerOf(c.address); c.peer == nil {
			l.refuse(raw, AddressFull)
			return nil
		}
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.conns[c] = struct{}{}
	if c.peer != nil {
		c.peer.conns[c] = struct{}{}
		l.peers[c.address] = c.peer
	}
	l.phases[idle].Add(1)
	return c
}

// peerOf returns the peer of an address, or nil if it may have no further
// connection. It closes waiting connections of the address to make room.
func (l *Limiter) peerOf(address netip.Addr) *peer {
	l.mu.Lock()
	p := l.peers[address]
	if p == nil {
		p = &peer{conns: make(map[*conn]struct{})}
	}
	full := len(p.conns) >= l.PerAddress
	l.mu.Unlock()
	if full && l.closeIdle(p, max(l.PerAddress/16, 1)) == 0 && !l.closeSlow(p) {
		return nil
	}
	return p
}

// closeIdle closes the connections that have been idle for longest, at most n,
// and returns how many. A nil peer is all of them.
func (l *Limiter) closeIdle(p *peer, n int) (closed int) {
	if l.phases[idle].Load() == 0 {
		return 0
	}
	for _, c := range l.oldest(p, idle, n, 0) {
		if c.evict(idle) {
			l.note(IdleClosed)
			closed++
		}
	}
	return closed
}

// closeSlow closes connections whose requests take too long to arrive, or else
// the one whose request has been arriving for longest. It returns false if there
// is none.
func (l *Limiter) closeSlow(p *peer) (closed bool) {
	if l.phases[reading].Load() == 0 {
		return false
	}
	for _, c := range l.oldest(p, reading, max(l.Max/16, 1), slowAfter) {
		if c.evict(reading) {
			l.note(SlowClosed)
			closed = true
		}
	}
	if closed {
		return true
	}
	for _, c := range l.oldest(p, reading, 1, 0) {
		if c.evict(reading) {
			l.note(ArrivingClosed)
			if p == nil { // else it is the address that has too many, not we that have too few
				l.Lost()
			}
			return true
		}
	}
	return false
}

// oldest returns up to n connections that have been in a phase for longest, and
// for at least a time.
func (l *Limiter) oldest(p *peer, in phase, n int, least time.Duration) []*conn {
	type aged struct {
		*conn
		since int64
	}
	var found []aged
	before := int64(time.Since(l.began) - least)
	l.mu.Lock()
	from := l.conns
	if p != nil {
		from = p.conns
	}
	for c := range from {
		if since := c.since.Load(); phase(c.phase.Load()) == in && since <= before {
			found = append(found, aged{c, since})
		}
	}
	l.mu.Unlock()
	slices.SortFunc(found, func(a, b aged) int { return int(a.since - b.since) })
	out := make([]*conn, min(n, len(found)))
	for i := range out {
		out[i] = found[i].conn
	}
	return out
}

// Settle waits until no request arrives or is served, and until no connection is
// new: without a request yet, and younger than settleAfter. It is for a server
// that is drained: http.Server.Shutdown drops requests that it reads from then
// on, without an answer. It returns ctx's error if that ends before.
func (l *Limiter) Settle(ctx context.Context) error {
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for !l.settled() {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-tick.C:
		}
	}
	return nil
}

func (l *Limiter) settled() bool {
	if l.phases[reading].Load()+l.phases[serving].Load() > 0 {
		return false
	}
	young := int64(time.Since(l.began) - settleAfter)
	l.mu.Lock()
	defer l.mu.Unlock()
	for c := range l.conns {
		if !c.used.Load() && c.since.Load() > young {
			return false
		}
	}
	return true
}

// forget removes a closed connection.
func (l *Limiter) forget(c *conn) {
	c.release()
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.conns, c)
	if c.peer != nil {
		if delete(c.peer.conns, c); len(c.peer.conns) == 0 && l.peers[c.address] == c.peer {
			delete(l.peers, c.address)
		}
	}
}

func (l *Limiter) trusts(a netip.Addr) bool {
	return slices.ContainsFunc(l.Trusted, func(p netip.Prefix) bool { return p.Contains(a) })
}

// clientOf returns the address of a connection's peer; all that have none share
// the zero Addr.
func clientOf(c net.Conn) netip.Addr {
	if tcp, ok := c.RemoteAddr().(*net.TCPAddr); ok {
		return tcp.AddrPort().Addr().Unmap().WithZone("")
	}
	return netip.Addr{}
}

// network returns what an address counts for: itself, or its network of 64 bits.
func network(a netip.Addr) netip.Addr {
	if a.Is6() {
		if p, err := a.Prefix(64); err == nil {
			return p.Addr()
		}
	}
	return a
}
