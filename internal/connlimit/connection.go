package connlimit

import (
	"net"
	"net/netip"
	"sync/atomic"
	"time"
)

// phase is what a connection is doing.
type phase int32

const (
	idle      phase = iota // no byte of a request has come
	reading                // the header of a request is arriving
	serving                // a request is being served
	takenOver              // by its handler: an event stream
	phaseCount
	closed phase = -1
)

// Phases are the states of open connections, for metrics: label and number.
func (l *Limiter) Phases() map[string]int {
	return map[string]int{
		"idle": int(l.phases[idle].Load()), "reading": int(l.phases[reading].Load()),
		"serving": int(l.phases[serving].Load()), "stream": int(l.phases[takenOver].Load()),
	}
}

// conn is a connection that the limiter knows the phase of. The hot path only
// uses atomics: whoever closes connections looks for them.
type conn struct {
	net.Conn
	limiter *Limiter
	address netip.Addr
	peer    *peer // nil: a trusted proxy's
	phase   atomic.Int32
	since   atomic.Int64 // when the phase began
	counted atomic.Bool  // by Begin
	used    atomic.Bool  // a request has come on it
}

// move changes the phase. It returns false if that was another one.
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
	if n > 0 && phase(c.phase.Load()) == idle {
		c.move(idle, reading)
	}
	return n, err
}

func (c *conn) Close() error {
	if was := phase(c.phase.Swap(int32(closed))); was != closed {
		c.limiter.phases[was].Add(-1)
		c.limiter.forget(c)
	}
	return c.Conn.Close()
}

// evict closes the connection if it is still in a phase, and reports whether it was.
func (c *conn) evict(in phase) bool {
	if !c.phase.CompareAndSwap(int32(in), int32(closed)) {
		return false
	}
	if in == reading {
		c.SetWriteDeadline(time.Now().Add(time.Millisecond)) // it fits into the socket's buffer
		c.Write(unavailable)
	}
	c.limiter.phases[in].Add(-1)
	c.limiter.forget(c)
	c.Conn.Close()
	return true
}

// release ends what Begin began, once.
func (c *conn) release() {
	if c.counted.Swap(false) {
		c.limiter.busy.Add(-1)
		if c.peer != nil {
			c.peer.busy.Add(-1)
		}
	}
}

// CloseWrite ends the sending side, as net/http does before it closes a
// connection whose client still sends.
func (c *conn) CloseWrite() error {
	if half, ok := c.Conn.(interface{ CloseWrite() error }); ok {
		return half.CloseWrite()
	}
	return nil
}
