package stream

import (
	"io"
	"net"
	"net/http"
	"os"
	"sync"
	"time"

	"github.com/allswell/allswell/internal/shared/trigger"
)

// responseConn makes a response of HTTP/2 a connection for a subscriber. The network connection cannot be taken over,
// because it carries other requests too; so the handler of the request runs as long as the stream.
type responseConn struct {
	net.Conn // nil: only the methods below are called

	w       http.ResponseWriter
	control *http.ResponseController
	gone    <-chan struct{} // closed when the client has disconnected

	closing sync.Once
	closed  chan struct{}

	mu       sync.Mutex
	deadline time.Time       // when Read returns
	moved    trigger.Trigger // fired by a new deadline
}

func newResponseConn(w http.ResponseWriter, r *http.Request) *responseConn {
	return &responseConn{
		w: w, control: http.NewResponseController(w), gone: r.Context().Done(), closed: make(chan struct{}),
		moved: trigger.New(),
	}
}

// begin sends the header of the response, and removes the deadlines of a short request.
func (c *responseConn) begin() bool {
	if c.control.SetReadDeadline(time.Time{}) != nil || c.control.SetWriteDeadline(time.Time{}) != nil {
		return false
	}
	c.w.WriteHeader(http.StatusOK)
	return c.control.Flush() == nil
}

// Read waits until the deadline, the end of the stream or the client's disconnection.
func (c *responseConn) Read([]byte) (int, error) {
	for {
		c.mu.Lock()
		timer := time.NewTimer(time.Until(c.deadline))
		c.mu.Unlock()
		select {
		case <-c.moved:
			timer.Stop()
			continue
		case <-c.gone:
			timer.Stop()
			return 0, io.EOF
		case <-c.closed:
			timer.Stop()
			return 0, net.ErrClosed
		case <-timer.C:
			return 0, os.ErrDeadlineExceeded
		}
	}
}

// Write sends p immediately, and removes the write deadline, which would end an idle stream.
func (c *responseConn) Write(p []byte) (int, error) {
	n, err := c.w.Write(p)
	if err == nil {
		err = c.control.Flush()
	}
	if err == nil {
		err = c.control.SetWriteDeadline(time.Time{})
	}
	return n, err
}

func (c *responseConn) SetReadDeadline(at time.Time) error {
	c.mu.Lock()
	c.deadline = at
	c.mu.Unlock()
	c.moved.Fire()
	return nil
}

func (c *responseConn) SetWriteDeadline(at time.Time) error { return c.control.SetWriteDeadline(at) }

// Close wakes Read. The response ends with its handler.
func (c *responseConn) Close() error {
	c.closing.Do(func() { close(c.closed) })
	return nil
}
