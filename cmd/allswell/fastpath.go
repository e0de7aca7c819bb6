package main

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/allswell/allswell"
)

// fastPath answers what status pages are asked for most, without most of
// net/http: a plain GET of a page, on a connection that net/http has answered on
// before (decision 0030). The same handler answers as in net/http. What is
// anything but plain, net/http gets to read as if nobody had looked at it.
type fastPath struct {
	handler http.Handler
	busy    atomic.Int64 // answers under way
}

// readSize is how much net/http reads at once when it has nothing left to read.
const readSize = 4 << 10

// drain waits until no answer is under way, or ctx ends.
func (f *fastPath) drain(ctx context.Context) error {
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for f.busy.Load() > 0 {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-tick.C:
		}
	}
	return nil
}

// renewAfter is how exact the deadlines of a connection are on the fast path.
const renewAfter = time.Second

// fastListener makes its connections fastConns.
type fastListener struct {
	net.Listener
	path *fastPath
}

func (l fastListener) Accept() (net.Conn, error) {
	conn, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	return &fastConn{Conn: conn, path: l.path}, nil
}

// fastConn is a connection whose Read answers plain requests for pages itself
// and returns with the first that is not. That is only safe while net/http waits
// for the first bytes of a request. In the middle of one, what looks like a
// request is a part of it.
//
// How net/http waits: it reports the connection as idle, moves the read deadline,
// looks for four bytes, and moves the read deadline again. It calls what touches
// wait from one goroutine at a time.
type fastConn struct {
	net.Conn
	path    *fastPath
	wait    waiting
	remote  string    // its address; "" until the first answer
	renewed time.Time // when the deadlines were moved last

	mu        sync.Mutex
	answering bool
	closed    bool // by net/http; an answer under way ends first
}

// waiting is how far net/http has come in waiting for a request.
type waiting int8

const (
	hasRequest   waiting = iota // or a part of one
	saysIdle                    // it has said that it has none
	looksForNext                // for the first bytes of the next
)

// noteState is http.Server's ConnState.
func noteState(conn net.Conn, state http.ConnState) {
	if c, ok := conn.(*fastConn); ok {
		c.wait = hasRequest
		if state == http.StateIdle {
			c.wait = saysIdle
		}
	}
}

// SetReadDeadline is the connection's. Between the two calls around its look for
// the first bytes, net/http waits.
func (c *fastConn) SetReadDeadline(at time.Time) error {
	switch c.wait {
	case saysIdle:
		c.wait = looksForNext
	case looksForNext:
		c.wait = hasRequest
	}
	return c.Conn.SetReadDeadline(at)
}

// Read is the connection's, for all that is not answered on the way.
func (c *fastConn) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	// With less room than that net/http has bytes already, or sees whether the
	// client hangs up, in another goroutine.
	if len(p) != readSize || c.wait != looksForNext {
		return n, err
	}
	c.renewed = time.Time{} // net/http has set its own since
	for err == nil {
		r := plainRequest(p[:n])
		if r == nil {
			break
		}
		if !c.serve(r) {
			return 0, io.EOF
		}
		n, err = c.Conn.Read(p)
	}
	c.wait = hasRequest // whatever it reads from here on belongs to what it has now
	return n, err
}

// serve answers a request and reports whether another may be read.
func (c *fastConn) serve(r *http.Request) (more bool) {
	if !c.begin() {
		return false
	}
	defer c.end() // also when the handler panics, with which net/http deals
	return c.answer(r) == nil
}

// begin reports whether an answer may begin.
func (c *fastConn) begin() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return false
	}
	c.answering = true
	c.path.busy.Add(1)
	return true
}

func (c *fastConn) end() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.answering = false
	c.path.busy.Add(-1)
	if c.closed {
		c.Conn.Close()
	}
}

// Close closes the connection, after the answer that is under way on the fast
// path: for net/http, which closes what is idle when it shuts down, it is idle.
// That answer has as long as the others then have.
func (c *fastConn) Close() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.closed = true
	if c.answering {
		return c.SetWriteDeadline(time.Now().Add(drainTimeout))
	}
	return c.Conn.Close()
}

// closing reports whether the answer under way is the last.
func (c *fastConn) closing() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.closed
}

// CloseWrite ends the sending side, as net/http does before it closes a
// connection whose peer still sends.
func (c *fastConn) CloseWrite() error {
	if half, ok := c.Conn.(interface{ CloseWrite() error }); ok {
		return half.CloseWrite()
	}
	return nil
}

// answer writes what the handler has to say. After an error the connection is
// of no more use.
func (c *fastConn) answer(r *http.Request) error {
	if c.remote == "" {
		c.remote = c.RemoteAddr().String()
	}
	r.RemoteAddr = c.remote
	if now := time.Now(); now.Sub(c.renewed) > renewAfter {
		c.renewed = now
		c.Conn.SetReadDeadline(now.Add(idleTimeout)) // where these fail, so does the next read or write
		c.SetWriteDeadline(now.Add(answerTimeout))
	}
	w := fastAnswers.Get().(*fastAnswer)
	w.conn = c
	c.path.handler.ServeHTTP(w, r)
	err := w.finish()
	w.reset()
	fastAnswers.Put(w)
	return err
}

// fastAnswer is the http.ResponseWriter of the fast path. What it writes is what
// net/http would, for a handler that says what its answer's type is.
type fastAnswer struct {
	conn   *fastConn
	header http.Header
	status int
	body   []byte // what was written and is not sent yet
	sent   bool
	err    error
	head   bytes.Buffer
}

// fastAnswers are used again, with the room that their headers take.
var fastAnswers = sync.Pool{New: func() any { return &fastAnswer{header: make(http.Header, 16)} }}

func (w *fastAnswer) reset() {
	clear(w.header)
	w.head.Reset()
	w.conn, w.status, w.body, w.sent, w.err = nil, 0, nil, false, nil
}

func (w *fastAnswer) Header() http.Header { return w.header }

func (w *fastAnswer) WriteHeader(status int) {
	if w.status == 0 && status >= http.StatusOK {
		w.status = status
	}
}

// Write sends what is all of the answer at once, and gathers all else.
func (w *fastAnswer) Write(p []byte) (int, error) {
	w.WriteHeader(http.StatusOK)
	switch length := w.header["Content-Length"]; {
	case !w.mayHaveBody():
		return 0, http.ErrBodyNotAllowed
	case w.sent:
		return 0, http.ErrContentLength
	case len(length) == 1 && length[0] == strconv.Itoa(len(p)):
		w.send(p)
		return len(p), w.err
	}
	w.body = append(w.body, p...)
	return len(p), nil
}

func (w *fastAnswer) mayHaveBody() bool {
	return w.status != http.StatusNotModified && w.status != http.StatusNoContent
}

// finish sends what was not sent yet. After an error the connection is of no
// more use.
func (w *fastAnswer) finish() error {
	if !w.sent {
		w.WriteHeader(http.StatusOK)
		delete(w.header, "Content-Length")
		if w.mayHaveBody() {
			w.header["Content-Length"] = []string{strconv.Itoa(len(w.body))}
		}
		w.send(w.body)
	}
	if w.err == nil && w.header["Connection"] != nil {
		return errLastAnswer
	}
	return w.err
}

// errLastAnswer is that an answer says that it closes the connection.
var errLastAnswer = errors.New("the connection ends with this answer")

func (w *fastAnswer) send(body []byte) {
	w.sent = true
	if w.conn.closing() {
		w.header["Connection"] = []string{"close"}
	}
	delete(w.header, "Date")
	head := &w.head
	head.WriteString("HTTP/1.1 ")
	head.Write(strconv.AppendInt(head.AvailableBuffer(), int64(w.status), 10))
	head.WriteByte(' ')
	head.WriteString(http.StatusText(w.status))
	head.WriteString("\r\nDate: ")
	head.Write(time.Now().UTC().AppendFormat(head.AvailableBuffer(), http.TimeFormat))
	head.WriteString("\r\n")
	w.header.Write(head) // a bytes.Buffer does not fail
	head.WriteString("\r\n")
	if len(body) == 0 {
		_, w.err = w.conn.Write(head.Bytes())
		return
	}
	both := net.Buffers{head.Bytes(), body}
	_, w.err = both.WriteTo(w.conn.Conn)
}

// plainRequest returns the request that p is from its first to its last byte,
// as net/http would read it, or nil if there is anything about it that it does
// not know to be harmless: it is for net/http then.
func plainRequest(p []byte) *http.Request {
	const method, version, end = "GET ", " HTTP/1.1\r\n", "\r\n\r\n"
	if !bytes.HasPrefix(p, []byte(method)) || bytes.Index(p, []byte(end)) != len(p)-len(end) {
		return nil
	}
	text := string(p[:len(p)-2])
	target, lines, ok := strings.Cut(text[len(method):], version)
	if !ok || !isHot(target) {
		return nil
	}
	all := &struct {
		r http.Request
		u url.URL
	}{}
	all.u.Path = target
	all.r = http.Request{
		Method: http.MethodGet, URL: &all.u, RequestURI: target, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Body: http.NoBody,
	}
	if all.r.Header, all.r.Host = plainHeader(lines); all.r.Host == "" {
		return nil
	}
	return &all.r
}

// isHot reports whether a path is a status page's, or the front page.
func isHot(path string) bool {
	slug, ok := strings.CutPrefix(path, "/status/")
	return path == "/" || ok && allswell.ValidSlug(slug)
}

// plainHeader reads the lines of a header. host is "" if one of them is not
// plain, or if none names the host.
func plainHeader(lines string) (h http.Header, host string) {
	count := strings.Count(lines, "\r\n")
	h = make(http.Header, count)
	values := make([]string, count) // one allocation for all
	for lines != "" {
		line, rest, _ := strings.Cut(lines, "\r\n")
		name, value, ok := strings.Cut(line, ":")
		if !ok || !isPlain(name, value) {
			return nil, ""
		}
		name, value, lines = http.CanonicalHeaderKey(name), strings.Trim(value, " "), rest
		switch {
		case name == "Host":
			if host != "" || !isPlainHost(value) {
				return nil, ""
			}
			host = value
			continue
		case !harmless(name, value):
			return nil, ""
		case h[name] != nil:
			h[name] = append(h[name], value)
			continue
		}
		values[0] = value
		h[name], values = values[:1:1], values[1:]
	}
	return h, host
}

// harmless reports whether a field changes nothing of how a request is read,
// answered or followed.
func harmless(name, value string) bool {
	switch name {
	case "Content-Length", "Transfer-Encoding", "Trailer", "Te", "Expect", "Upgrade", "Http2-Settings", "Pragma":
		return false
	case "Connection":
		return strings.EqualFold(value, "keep-alive")
	}
	return true
}

// isPlain reports whether a field is of letters, digits and hyphens, and its
// value of what ASCII prints.
func isPlain(name, value string) bool {
	for i := range len(name) {
		if c := name[i]; c != '-' && !isLetterOrDigit(c) {
			return false
		}
	}
	for i := range len(value) {
		if c := value[i]; c < ' ' || c > '~' {
			return false
		}
	}
	return name != ""
}

// isPlainHost reports whether a host is a name or an IPv4 address, with or
// without a port.
func isPlainHost(host string) bool {
	for i := range len(host) {
		if c := host[i]; c != '.' && c != '-' && c != ':' && !isLetterOrDigit(c) {
			return false
		}
	}
	return host != ""
}

func isLetterOrDigit(c byte) bool { return isSecretRune(rune(c)) }
