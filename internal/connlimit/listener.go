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
	// The pauses between attempts to accept a connection while that fails. They
	// double.
	minPause, maxPause = 5 * time.Millisecond, time.Second

	// drainQuiet is how long nobody may be waiting for a drained listener to be
	// closed. Handshakes that had begun end within it.
	drainQuiet = 100 * time.Millisecond

	// Connections that are refused: how many at a time, and for how long each
	// waits for its request, so that the answer is not lost with it.
	maxRefusing    = 16
	refusalTimeout = 250 * time.Millisecond
)

// unavailable is the answer to whoever is refused unread. curl tries again after it.
var unavailable = func() []byte {
	const body = `{"message":"The service cannot do this right now. Please try again."}`
	return fmt.Appendf(nil, "HTTP/1.1 503 Service Unavailable\r\nContent-Type: application/json\r\nCache-Control: no-store\r\n"+
		"Retry-After: 7\r\nConnection: close\r\nContent-Length: %d\r\n\r\n%s", len(body), body)
}()

// Listener is a net.Listener whose connections are limited.
type Listener struct {
	net.Listener
	limiter *Limiter

	closing  sync.Once
	closed   chan struct{} // closed by Close
	draining atomic.Bool
	drainEnd time.Time     // set before draining
	drained  chan struct{} // closed when the last connection was taken

	failed int // attempts to accept in a row, of the goroutine that accepts
}

// Socket opens a TCP address for Listen. It speaks no Multipath TCP, because the
// kernel takes no filter for that, which Drain needs.
func Socket(ctx context.Context, address string) (net.Listener, error) {
	var c net.ListenConfig
	c.SetMultipathTCP(false)
	return c.Listen(ctx, "tcp", address)
}

// Listen returns a listener that limits the connections of another.
func (l *Limiter) Listen(inner net.Listener) *Listener {
	return &Listener{Listener: inner, limiter: l, closed: make(chan struct{}), drained: make(chan struct{})}
}

// Accept returns the next connection that there is a place for. While the
// process or the machine is short of descriptors or memory it closes idle
// connections and tries again.
func (ln *Listener) Accept() (net.Conn, error) {
	for {
		if ln.draining.Load() {
			ln.setDeadline(earlier(time.Now().Add(drainQuiet), ln.drainEnd))
		}
		raw, err := ln.Listener.Accept()
		switch {
		case err == nil:
			ln.recovered()
			if c := ln.limiter.admit(raw); c != nil {
				return c, nil
			}
		case isShortage(err):
			if !ln.waitForRoom(err) {
				return nil, net.ErrClosed
			}
		case ln.draining.Load():
			if errors.Is(err, os.ErrDeadlineExceeded) && somebodyWaits(ln.Listener) && time.Now().Before(ln.drainEnd) {
				continue // the deadline had passed before Accept looked
			}
			close(ln.drained)
			return nil, net.ErrClosed
		case errors.Is(err, os.ErrDeadlineExceeded):
			ln.recovered() // a descriptor was free, and nobody was waiting
		default:
			return nil, err
		}
	}
}

// isShortage reports whether a connection could not be accepted for want of
// something that may be there again later.
func isShortage(err error) bool {
	for _, errno := range []error{syscall.EMFILE, syscall.ENFILE, syscall.ENOBUFS, syscall.ENOMEM} {
		if errors.Is(err, errno) {
			return true
		}
	}
	return false
}

// waitForRoom closes idle connections and waits; false: the listener was closed.
func (ln *Listener) waitForRoom(err error) bool {
	l := ln.limiter
	l.failures.Add(1)
	l.Lost()
	if ln.failed == 0 {
		l.Logger.Error("connections cannot be accepted", "error", err, "open", l.Open())
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
	// Accept fails at once while there is no descriptor. If it waits instead,
	// there is one, and the end of the shortage is noticed at the deadline.
	ln.setDeadline(time.Now().Add(10 * minPause))
	return true
}

// recovered ends a shortage.
func (ln *Listener) recovered() {
	if ln.failed == 0 {
		return
	}
	ln.limiter.Logger.Info("connections are accepted again", "failed", ln.failed)
	ln.failed = 0
	ln.setDeadline(time.Time{})
}

func (ln *Listener) setDeadline(at time.Time) {
	if d, ok := ln.Listener.(interface{ SetDeadline(time.Time) error }); ok {
		d.SetDeadline(at) // it fails on a closed listener, and so does Accept
	}
}

// Close closes the listener. Connections that wait to be accepted are reset: see
// Drain.
func (ln *Listener) Close() error {
	ln.closing.Do(func() { close(ln.closed) })
	return ln.Listener.Close()
}

// Drain takes no new connections but those that the kernel has already
// established, which Accept still returns, and then closes the listener. Clients
// that come later are refused by the kernel. It takes at most the given time,
// and a tenth of a second if nobody comes.
func (ln *Listener) Drain(most time.Duration) {
	ln.limiter.closing.Store(true)
	defer ln.Close()
	if err := ignoreNew(ln.Listener); err != nil {
		ln.limiter.Logger.Debug("new connections cannot be told to wait while the listener is drained", "error", err)
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

// refuse answers a connection that there is no place for, and closes it.
func (l *Limiter) refuse(c net.Conn, why Reason) {
	l.note(why)
	l.mu.Lock()
	due := time.Since(l.logged) >= logEvery
	if due {
		l.logged = time.Now()
	}
	l.mu.Unlock()
	if due {
		l.Logger.Warn("connections are refused", "reason", why.String(), "address", clientOf(c), "open", l.Open())
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
		c.Read(request[:]) // what is unread when it is closed would take the answer with it
		c.Write(unavailable)
	}()
}
