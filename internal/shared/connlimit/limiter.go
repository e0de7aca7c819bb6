// Package connlimit limits the connections of an HTTP server: in total, per client address, and connections that serve
// requests other than pings. Before it refuses a new connection, it closes waiting connections, the oldest first. A
// client that sends a request takes precedence over clients that hold connections open. See
// docs/decisions/0031-connections-are-limited.md.
package connlimit

import (
	"context"
	"crypto/tls"
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
	// slowAfter is how long a client may take to send the header of a request.
	// After that, its connection may be closed like an idle one.
	slowAfter = 5 * time.Second

	// settleAfter is how long Settle waits for the first request on a new connection.
	settleAfter = time.Second

	// logEvery is the minimum time between two log lines about refused connections.
	logEvery = 10 * time.Second

	// The minimum number of connections reserved for pings: in total and per address.
	minReserve, minAddressReserve = 8, 4
)

// Config configures a Limiter.
type Config struct {
	Max int // maximum number of open connections
	// maximum number of open connections per client address; an IPv6 /64 network counts as one address
	PerAddress int
	Trusted    []netip.Prefix // reverse proxies, exempt from PerAddress

	// Lost is called whenever an unread ping may have been lost: when a connection
	// cannot be accepted, when it is refused because Max are open, and when it is
	// closed while its request arrives. It must not block. nil: not called.
	Lost func()

	Logger *slog.Logger // nil: discard
}

// DefaultLimits returns the default Max and PerAddress of a process that may open the given number of files; 0 means
// unknown. It leaves a quarter of them, at most 128, for the database, the log and outgoing connections.
func DefaultLimits(files uint64) (most, perAddress int) {
	const ceiling = 1 << 16
	most = ceiling
	if files > 0 && files < ceiling {
		n := int(files)
		most = max(n-min(n/4, 128), 2*minReserve)
	}
	return most, DefaultPerAddress(most)
}

// DefaultPerAddress returns the default PerAddress: a quarter of Max, between 32 and 1,024.
func DefaultPerAddress(most int) int { return min(max(most/4, 32), 1024, most) }

// Reason is why a connection was refused or closed, or a request was refused.
type Reason int

const (
	Admitted       Reason = iota
	Full                  // connection refused: Max are open and none can be closed
	AddressFull           // connection refused: PerAddress are open and none can be closed
	Reserved              // request refused: the remaining connections are reserved for pings
	AddressBusy           // request refused: too many requests of the address are being served
	IdleClosed            // connection closed: it was idle
	SlowClosed            // connection closed: its request took too long to arrive
	ArrivingClosed        // connection closed while its request arrived
	reasonCount
)

// String returns the metric label.
func (r Reason) String() string {
	return [...]string{"admitted", "full", "address_full", "reserved", "address_busy", "idle", "slow", "arriving"}[r]
}

// Refusals and Closings are the reasons to refuse and to close, for metrics.
var (
	Refusals = []Reason{Full, AddressFull, Reserved, AddressBusy}
	Closings = []Reason{IdleClosed, SlowClosed, ArrivingClosed}
)

// Limiter counts and limits the connections of one server. It is safe for concurrent use.
type Limiter struct {
	Config
	began    time.Time // origin of conn.since, on the monotonic clock
	phases   [phaseCount]atomic.Int64
	busy     atomic.Int64 // connections counted by Begin
	closing  atomic.Bool
	counts   [reasonCount]atomic.Uint64
	failures atomic.Uint64
	refusing chan struct{} // one element per refusal in progress

	admitting sync.Mutex // held by admit: several listeners may share a limiter

	mu     sync.Mutex
	conns  map[*conn]struct{}
	peers  map[netip.Addr]*peer
	logged time.Time // when the last refusal was logged
}

// peer is one client address.
type peer struct {
	conns map[*conn]struct{} // guarded by Limiter.mu
	busy  atomic.Int64
}

// New returns a Limiter with no open connections.
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

// Open returns the number of open connections.
func (l *Limiter) Open() int {
	sum := 0
	for i := range l.phases {
		sum += int(l.phases[i].Load())
	}
	return sum
}

// Count returns how often a connection or request was refused or closed for a reason.
func (l *Limiter) Count(r Reason) uint64 { return l.counts[r].Load() }

// AcceptFailures returns how often accepting a connection failed.
func (l *Limiter) AcceptFailures() uint64 { return l.failures.Load() }

// CloseAfterAnswer reports whether responses must close their connections: when
// more than three quarters of Max are open, or the listener is being drained.
func (l *Limiter) CloseAfterAnswer() bool {
	return l.closing.Load() || l.Open() > l.Max-l.Max/4
}

// maxBusy returns how many connections may serve requests other than pings.
func (l *Limiter) maxBusy() int64 { return int64(l.Max - max(l.Max/8, minReserve)) }

func (l *Limiter) maxAddressBusy() int64 {
	return int64(l.PerAddress - max(l.PerAddress/8, minAddressReserve))
}

// Begin must be called before a request other than a ping is served. If it returns Admitted, End must be called after
// the request; otherwise, the request must be refused.
func (l *Limiter) Begin(ctx context.Context) Reason {
	c, ok := ctx.Value(connKey{}).(*conn)
	if !ok {
		return Admitted // not accepted by this limiter
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
	c.counted.Add(1)
	return Admitted
}

// End must be called after a request that Begin admitted. A hijacked connection counts as busy until it is closed.
func (l *Limiter) End(ctx context.Context) {
	if c, ok := ctx.Value(connKey{}).(*conn); ok && phase(c.phase.Load()) != hijacked {
		c.release()
	}
}

func (l *Limiter) note(r Reason) Reason {
	l.counts[r].Add(1)
	return r
}

// ConnContext is the ConnContext of http.Server. Begin and End need it to find the connection.
func (l *Limiter) ConnContext(ctx context.Context, nc net.Conn) context.Context {
	if c, ok := limited(nc); ok {
		return context.WithValue(ctx, connKey{}, c)
	}
	return ctx
}

type connKey struct{}

// limited returns the connection of the limiter below a connection of http.Server, which may be a *tls.Conn.
func limited(nc net.Conn) (*conn, bool) {
	if encrypted, ok := nc.(interface{ NetConn() net.Conn }); ok {
		nc = encrypted.NetConn()
	}
	c, ok := nc.(*conn)
	return c, ok
}

// ConnState is the ConnState of http.Server.
func (l *Limiter) ConnState(nc net.Conn, state http.ConnState) {
	c, ok := limited(nc)
	if !ok {
		return
	}
	switch state {
	case http.StateActive: // net/http has read the header of a request, or begins with HTTP/2
		c.used.Store(true)
		if encrypted, ok := nc.(interface{ ConnectionState() tls.ConnectionState }); ok && !c.multiplexed.Load() {
			c.multiplexed.Store(encrypted.ConnectionState().NegotiatedProtocol == "h2")
		}
		if !c.move(reading, serving) {
			c.move(idle, serving)
		}
	case http.StateIdle:
		c.move(serving, idle)
	case http.StateHijacked:
		c.move(serving, hijacked)
	}
}

// admit registers a new connection and returns it. It closes waiting connections to make room. If there is none, it
// refuses the connection and returns nil. encrypted says that TLS is spoken on it.
func (l *Limiter) admit(raw net.Conn, encrypted bool) *conn {
	l.admitting.Lock()
	defer l.admitting.Unlock()
	open := l.Open()
	if open >= l.Max-l.Max/8 {
		open -= l.closeIdle(nil, max(l.Max/16, 1))
	}
	if open >= l.Max && !l.closeSlow(nil) {
		l.refuse(raw, Full, encrypted)
		l.Lost()
		return nil
	}
	c := &conn{Conn: raw, limiter: l, encrypted: encrypted}
	c.since.Store(int64(time.Since(l.began)))
	if c.address = clientOf(raw); !l.trusts(c.address) {
		c.address = network(c.address)
		if c.peer = l.peerOf(c.address); c.peer == nil {
			l.refuse(raw, AddressFull, encrypted)
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

// peerOf returns the peer of an address. It closes waiting connections of the
// address to make room, and returns nil if there is none.
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

// closeIdle closes up to n connections that have been idle the longest, and returns
// how many it closed. If p is not nil, it only closes connections of that peer.
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

// closeSlow closes connections whose request has been arriving for more than slowAfter. If there is none, it closes the
// connection whose request has been arriving the longest. It returns false if no request is arriving.
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
			if p == nil { // otherwise only this address is over its limit
				l.Lost()
			}
			return true
		}
	}
	return false
}

// oldest returns up to n connections that have been in a phase the longest, and for at least the given time.
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

// Settle waits until no request is arriving or being served, and no connection younger than settleAfter is still
// waiting for its first request. It is called before http.Server.Shutdown, which drops requests that arrive afterwards
// without an answer. If ctx ends first, Settle returns its error.
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
	for c.counted.Load() > 0 {
		c.release()
	}
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

// clientOf returns the remote address of a connection, or the zero Addr if it is not a TCP connection.
func clientOf(c net.Conn) netip.Addr {
	if tcp, ok := c.RemoteAddr().(*net.TCPAddr); ok {
		return tcp.AddrPort().Addr().Unmap().WithZone("")
	}
	return netip.Addr{}
}

// network returns the /64 network of an IPv6 address, and an IPv4 address unchanged.
func network(a netip.Addr) netip.Addr {
	if a.Is6() {
		if p, err := a.Prefix(64); err == nil {
			return p.Addr()
		}
	}
	return a
}
