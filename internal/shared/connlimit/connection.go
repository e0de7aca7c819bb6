package connlimit

import (
	"net"
	"net/netip"
	"sync/atomic"
	"time"
)

// phase is what a connection is doing now.
type phase int32

const (
	idle     phase = iota // waiting for the first byte of a request
	reading               // receiving the header of a request
	serving               // its handler runs
	hijacked              // taken over by its handler: an event stream
	phaseCount
	closed phase = -1
)

// Phases returns the number of open connections in each phase, by metric label.
func (l *Limiter) Phases() map[string]int {
	return map[string]int{
		"idle": int(l.phases[idle].Load()), "reading": int(l.phases[reading].Load()),
		"serving": int(l.phases[serving].Load()), "stream": int(l.phases[hijacked].Load()),
	}
}

// conn is a connection whose phase the limiter tracks. Serving a request only needs
// atomic operations; the search for connections to close does the work.
type conn struct {
	net.Conn
	limiter     *Limiter
	address     netip.Addr
	peer        *peer // nil if the client is a trusted proxy
	encrypted   bool  // by TLS: the client would not understand a plain answer
	phase       atomic.Int32
	since       atomic.Int64 // when the phase began
	counted     atomic.Int32 // requests that Begin has counted as busy; over HTTP/2 there may be several
	multiplexed atomic.Bool  // HTTP/2: bytes that arrive need not begin a request
	used        atomic.Bool  // it has carried a request
}

// move changes the phase. It returns false if the phase was not from.
func (c *conn) move(from, to phase) bool {
	if !c.phase.CompareAndSwap(int32(from), int32(to)) {
		return false
	}
	l := c.limiter
	c.since.Store(int64(time.Since(l.began)))
	l.phases[from].Add(-1)
	l.phases[to].Add(1)
	return true
}

func (c *conn) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	if n > 0 && phase(c.phase.Load()) == idle && !c.multiplexed.Load() {
		c.move(idle, reading)
	}
	return n, err
}

// Close closes the connection before it is no longer counted: another one may take its place only when its descriptor
// is free.
func (c *conn) Close() error {
	was := phase(c.phase.Swap(int32(closed)))
	err := c.Conn.Close()
	if was != closed {
		c.limiter.phases[was].Add(-1)
		c.limiter.forget(c)
	}
	return err
}

// evict closes the connection and returns true, unless it has left the given phase.
func (c *conn) evict(in phase) bool {
	if !c.phase.CompareAndSwap(int32(in), int32(closed)) {
		return false
	}
	if in == reading && !c.encrypted {
		c.SetWriteDeadline(time.Now().Add(time.Millisecond)) // the answer fits into the socket's buffer
		c.Write(unavailable)
	}
	c.Conn.Close()
	c.limiter.phases[in].Add(-1)
	c.limiter.forget(c)
	return true
}

// release undoes one count of Begin, unless all are undone.
func (c *conn) release() {
	for {
		n := c.counted.Load()
		if n == 0 {
			return
		}
		if c.counted.CompareAndSwap(n, n-1) {
			break
		}
	}
	c.limiter.busy.Add(-1)
	if c.peer != nil {
		c.peer.busy.Add(-1)
	}
}

// CloseWrite closes the sending side. net/http calls it before it closes a connection whose client is still sending.
func (c *conn) CloseWrite() error {
	if half, ok := c.Conn.(interface{ CloseWrite() error }); ok {
		return half.CloseWrite()
	}
	return nil
}
