package connlimit

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
)

const (
	// The first and the longest pause between attempts to accept a connection while that fails. Each pause is twice the
	// previous one.
	minPause, maxPause = 5 * time.Millisecond, time.Second

	// drainQuiet is how long a drained listener waits for one more connection before
	// it is closed. It is long enough for a handshake in progress to finish.
	drainQuiet = 100 * time.Millisecond

	// maxRefusing is how many refusals may be in progress. Each waits up to refusalTimeout for the request: closing a
	// socket with unread data would discard the answer.
	maxRefusing    = 16
	refusalTimeout = 250 * time.Millisecond
)

// unavailable is the answer to refused connections. curl --retry honours its Retry-After.
var unavailable = func() []byte {
	const body = `{"message":"The service cannot do this right now. Please try again."}`
	return fmt.Appendf(nil,
		"HTTP/1.1 503 Service Unavailable\r\nContent-Type: application/json\r\nCache-Control: no-store\r\n"+
			"Retry-After: 7\r\nConnection: close\r\nContent-Length: %d\r\n\r\n%s", len(body), body)
}()

// Listener is a net.Listener that accepts connections within the limits of a Limiter.
type Listener struct {
	net.Listener
	limiter   *Limiter
	encrypted bool

	closing  sync.Once
	closed   chan struct{} // closed by Close
	draining atomic.Bool
	drainEnd time.Time     // set before draining
	drained  chan struct{} // closed after the last connection was accepted

	failed int // consecutive failures of Accept; used by the accepting goroutine only
}

// Socket listens on a TCP address. It disables Multipath TCP, because Drain needs a
// socket filter and the kernel does not support filters on Multipath TCP sockets.
func Socket(ctx context.Context, address string) (net.Listener, error) {
	var c net.ListenConfig
	c.SetMultipathTCP(false)
	return c.Listen(ctx, "tcp", address)
}

// Listen returns a listener that limits the connections of inner.
func (l *Limiter) Listen(inner net.Listener) *Listener {
	return &Listener{Listener: inner, limiter: l, closed: make(chan struct{}), drained: make(chan struct{})}
}

// ListenTLS is Listen for a listener whose connections are encrypted by TLS. Refused
// connections are closed without an answer.
func (l *Limiter) ListenTLS(inner net.Listener) *Listener {
	ln := l.Listen(inner)
	ln.encrypted = true
	return ln
}

// Accept returns the next connection that is within the limits. If file descriptors
// or memory are exhausted, it closes idle connections and retries.
func (ln *Listener) Accept() (net.Conn, error) {
	for {
		if ln.draining.Load() {
			ln.setDeadline(earlier(time.Now().Add(drainQuiet), ln.drainEnd))
		}
		raw, err := ln.Listener.Accept()
		switch {
		case err == nil:
			ln.recovered()
			if c := ln.limiter.admit(raw, ln.encrypted); c != nil {
				return c, nil
			}
		case isShortage(err):
			if !ln.waitForRoom(err) {
				return nil, net.ErrClosed
			}
		case ln.draining.Load():
			if errors.Is(err, os.ErrDeadlineExceeded) && connectionPending(ln.Listener) &&
				time.Now().Before(ln.drainEnd) {
				continue // the deadline had passed before Accept was called
			}
			close(ln.drained)
			return nil, net.ErrClosed
		case errors.Is(err, os.ErrDeadlineExceeded):
			ln.recovered() // a descriptor is free, and no connection is waiting
		default:
			return nil, err
		}
	}
}

// isShortage reports whether Accept failed because a resource is exhausted, which may be temporary.
func isShortage(err error) bool {
	for _, errno := range []error{syscall.EMFILE, syscall.ENFILE, syscall.ENOBUFS, syscall.ENOMEM} {
		if errors.Is(err, errno) {
			return true
		}
	}
	return false
}

// waitForRoom closes idle connections and pauses. It returns false if the listener was closed.
func (ln *Listener) waitForRoom(err error) bool {
	l := ln.limiter
	l.failures.Add(1)
	l.Lost()
	if ln.failed == 0 {
		l.Logger.Error("accepting connections failed", "error", err, "open", l.Open())
	}
	pause := min(minPause<<min(ln.failed, 10), maxPause)
	ln.failed++
	if l.closeIdle(nil, max(l.Max/16, 1)) == 0 {
		l.closeSlow(nil)
	}
	timer := time.NewTimer(pause)
	defer timer.Stop()
	select {
	case <-ln.closed:
		return false
	case <-timer.C:
	}
	// Without a free descriptor, Accept fails immediately. With one it blocks, until this deadline reveals that the
	// shortage is over.
	ln.setDeadline(time.Now().Add(10 * minPause))
	return true
}

// recovered logs the end of a shortage.
func (ln *Listener) recovered() {
	if ln.failed == 0 {
		return
	}
	ln.limiter.Logger.Info("accepting connections again", "failed", ln.failed)
	ln.failed = 0
	ln.setDeadline(time.Time{})
}

func (ln *Listener) setDeadline(at time.Time) {
	if d, ok := ln.Listener.(interface{ SetDeadline(time.Time) error }); ok {
		d.SetDeadline(at) // fails only if the listener is closed; then Accept fails too
	}
}

// Close closes the listener. Connections that were not accepted yet are reset; to avoid that, use Drain.
func (ln *Listener) Close() error {
	ln.closing.Do(func() { close(ln.closed) })
	return ln.Listener.Close()
}

// Drain stops the kernel from establishing new connections, lets Accept return the established ones, and then closes
// the listener. Clients that connect later are refused by the kernel. Drain takes at most the given time, and a tenth
// of a second if no connection is pending.
func (ln *Listener) Drain(most time.Duration) {
	ln.limiter.closing.Store(true)
	defer ln.Close()
	if err := dropHandshakes(ln.Listener); err != nil {
		ln.limiter.Logger.Debug("dropping new handshakes failed; connections may be reset", "error", err)
	}
	ln.drainEnd = time.Now().Add(most)
	ln.draining.Store(true)
	ln.setDeadline(earlier(time.Now().Add(drainQuiet), ln.drainEnd))
	timer := time.NewTimer(most)
	defer timer.Stop()
	select {
	case <-ln.drained:
	case <-ln.closed:
	case <-timer.C:
	}
}

func earlier(a, b time.Time) time.Time {
	if b.Before(a) {
		return b
	}
	return a
}

// refuse answers 503 to a connection, unless it is encrypted, and closes it.
func (l *Limiter) refuse(c net.Conn, why Reason, encrypted bool) {
	l.note(why)
	l.mu.Lock()
	due := time.Since(l.logged) >= logEvery
	if due {
		l.logged = time.Now()
	}
	l.mu.Unlock()
	if due {
		l.Logger.Warn("refusing connections", "reason", why.String(), "address", clientOf(c), "open", l.Open())
	}
	if encrypted {
		c.Close()
		return
	}
	select {
	case l.refusing <- struct{}{}:
	default:
		c.SetWriteDeadline(time.Now().Add(time.Millisecond))
		c.Write(unavailable)
		c.Close()
		return
	}
	go func() {
		defer func() { <-l.refusing }()
		defer c.Close()
		c.SetDeadline(time.Now().Add(refusalTimeout))
		var request [4 << 10]byte
		c.Read(request[:]) // closing a socket with unread data discards the answer
		c.Write(unavailable)
	}()
}
