package connlimit

import (
	"bufio"
	"errors"
	"io"
	"net"
	"net/http"
	"net/netip"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"
)

// testServer is a server with a limiter. A request for /hold is served until release.
type testServer struct {
	*testing.T
	*Limiter
	listener *Listener
	server   *http.Server
	addr     string
	lost     atomic.Int64
	holding  chan struct{} // one element per request being held
	hold     chan struct{}
	served   chan error
}

func newTestServer(t *testing.T, c Config, wrap func(net.Listener) net.Listener) *testServer {
	t.Helper()
	w := &testServer{T: t, holding: make(chan struct{}, 1000), hold: make(chan struct{}), served: make(chan error, 1)}
	c.Lost = func() { w.lost.Add(1) }
	w.Limiter = New(c)
	inner, err := Socket(t.Context(), "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	w.addr = inner.Addr().String()
	if wrap != nil {
		inner = wrap(inner)
	}
	w.listener = w.Listen(inner)
	w.server = &http.Server{Handler: http.HandlerFunc(w.answer), ConnState: w.ConnState, ConnContext: w.ConnContext}
	go func() { w.served <- w.server.Serve(w.listener) }()
	t.Cleanup(func() { w.server.Close() })
	return w
}

func (w *testServer) answer(rw http.ResponseWriter, r *http.Request) {
	if w.CloseAfterAnswer() {
		rw.Header().Set("Connection", "close")
	}
	if r.URL.Path != "/ping" {
		if why := w.Begin(r.Context()); why != Admitted {
			http.Error(rw, why.String(), http.StatusServiceUnavailable)
			return
		}
		defer w.End(r.Context())
	}
	switch r.URL.Path {
	case "/hold":
		w.holding <- struct{}{}
		<-w.hold
	case "/stream":
		c, _, err := http.NewResponseController(rw).Hijack()
		if err != nil {
			w.Error(err)
			return
		}
		io.WriteString(c, "HTTP/1.1 200 OK\r\n\r\n")
		go func() {
			io.Copy(io.Discard, c)
			c.Close()
		}()
		return
	}
	io.WriteString(rw, "ok")
}

// dial connects from a local address.
func (w *testServer) dial(from string) net.Conn {
	w.Helper()
	d := net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(from)}, Timeout: 10 * time.Second}
	c, err := d.Dial("tcp", w.addr)
	if err != nil {
		w.Fatal(err)
	}
	w.Cleanup(func() { c.Close() })
	c.SetDeadline(time.Now().Add(20 * time.Second))
	return c
}

// ask sends a request on a connection and returns the response and its body.
func (w *testServer) ask(c net.Conn, path string) (*http.Response, string) {
	w.Helper()
	io.WriteString(c, "GET "+path+" HTTP/1.1\r\nHost: x\r\n\r\n")
	res, err := http.ReadResponse(bufio.NewReader(c), nil)
	if err != nil {
		w.Fatalf("GET %s: %v", path, err)
	}
	body, err := io.ReadAll(res.Body)
	if err != nil {
		w.Fatal(err)
	}
	return res, string(body)
}

// until waits for a condition that another goroutine makes true.
func (w *testServer) until(what string, ok func() bool) {
	w.Helper()
	for deadline := time.Now().Add(20 * time.Second); !ok(); time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			w.Fatalf("never: %s; phases %v", what, w.Phases())
		}
	}
}

func address(i int) string { return "127.0.1." + string(rune('1'+i%9)) }

// TestIdleConnectionsAreClosedFirst checks that idle connections never keep a client
// with a request out.
func TestIdleConnectionsAreClosedFirst(t *testing.T) {
	w := newTestServer(t, Config{Max: 32, PerAddress: 32}, nil)
	for i := range 300 {
		w.dial(address(i))
	}
	for range 10 {
		if res, body := w.ask(w.dial("127.0.0.1"), "/ping"); res.StatusCode != 200 || body != "ok" {
			t.Fatalf("GET /ping while connections are idle: %s %s", res.Status, body)
		}
	}
	w.until("the first are closed", func() bool { return w.Count(IdleClosed) >= 250 && w.Open() <= 32 })
	if w.lost.Load() != 0 || w.Count(Full) != 0 {
		t.Errorf("%d lost, %d refused", w.lost.Load(), w.Count(Full))
	}
}

// TestSlowConnectionsAreClosed checks that incomplete headers keep no client out
// either, and that closing such a connection counts as a loss: it may have been a ping.
func TestSlowConnectionsAreClosed(t *testing.T) {
	w := newTestServer(t, Config{Max: 32, PerAddress: 32}, nil)
	var first net.Conn
	for i := range 32 {
		c := w.dial(address(i))
		if first == nil {
			first = c
		}
		io.WriteString(c, "GET /ping HTTP/1.1\r\n")
		w.until("it is being read", func() bool { return w.Phases()["reading"] == i+1 })
	}
	if res, _ := w.ask(w.dial("127.0.0.1"), "/ping"); res.StatusCode != 200 {
		t.Fatalf("GET /ping while connections are slow: %v", res.Status)
	}
	if w.lost.Load() != 1 || w.Count(ArrivingClosed) != 1 {
		t.Errorf("%d lost, %d closed", w.lost.Load(), w.Count(ArrivingClosed))
	}
	if res, err := http.ReadResponse(bufio.NewReader(first), nil); err != nil || res.StatusCode != 503 || !res.Close {
		t.Errorf("the oldest is answered %v, %v", res, err)
	}
}

// TestReserve checks that the last eighth of the connections is reserved for pings; other requests are refused
// immediately.
func TestReserve(t *testing.T) {
	w := newTestServer(t, Config{Max: 32, PerAddress: 32}, nil)
	var busy sync.WaitGroup
	for i := range 24 {
		c := w.dial(address(i))
		busy.Go(func() { w.ask(c, "/hold") })
	}
	for range 24 {
		<-w.holding
	}
	if res, body := w.ask(w.dial("127.0.0.1"), "/page"); res.StatusCode != 503 || body != "reserved\n" {
		t.Errorf("GET /page beyond the reserve: %s %s", res.Status, body)
	}
	res, _ := w.ask(w.dial("127.0.0.1"), "/ping")
	if res.StatusCode != 200 || !res.Close {
		t.Errorf("GET /ping beyond the reserve: %s, to be closed: %t", res.Status, res.Close)
	}
	if w.lost.Load() != 0 || w.Count(Reserved) != 1 {
		t.Errorf("%d lost, %d refused", w.lost.Load(), w.Count(Reserved))
	}
	close(w.hold)
	busy.Wait()
	w.until("the connections are released", func() bool { return w.busy.Load() == 0 })
	if res, _ := w.ask(w.dial("127.0.0.1"), "/page"); res.StatusCode != 200 {
		t.Errorf("GET /page after a request has ended: %v", res.Status)
	}
}

// TestPerAddress checks the limit per address, and that trusted proxies are exempt.
func TestPerAddress(t *testing.T) {
	w := newTestServer(t,
		Config{Max: 64, PerAddress: 16, Trusted: []netip.Prefix{netip.MustParsePrefix("127.0.0.2/32")}}, nil)
	var busy sync.WaitGroup
	defer func() { close(w.hold); busy.Wait() }()
	hold := func(from string, n int) {
		for range n {
			c := w.dial(from)
			busy.Go(func() { w.ask(c, "/hold") })
			<-w.holding
		}
	}
	hold("127.0.0.3", 12)
	if res, body := w.ask(w.dial("127.0.0.3"), "/page"); res.StatusCode != 503 || body != "address_busy\n" {
		t.Errorf("GET /page from a busy address: %s %s", res.Status, body)
	}
	for range 100 {
		w.dial("127.0.0.3")
	}
	if res, _ := w.ask(w.dial("127.0.0.3"), "/ping"); res.StatusCode != 200 {
		t.Errorf("GET /ping from a busy address: %v", res.Status)
	}
	hold("127.0.0.2", 20)
	if res, _ := w.ask(w.dial("127.0.0.4"), "/page"); res.StatusCode != 200 {
		t.Errorf("GET /page from another address: %v", res.Status)
	}
	if w.lost.Load() != 0 || w.Count(Full)+w.Count(AddressFull) != 0 {
		t.Errorf("%d lost, %d refused", w.lost.Load(), w.Count(Full))
	}
}

// TestFull checks that with all connections busy another one gets a 503, and that it
// counts as a loss.
func TestFull(t *testing.T) {
	gate := new(tunedListener)
	w := newTestServer(t, Config{Max: 32, PerAddress: 32}, func(l net.Listener) net.Listener {
		gate.Listener = l
		return gate
	})
	var streams []net.Conn
	for i := range 24 {
		c := w.dial(address(i))
		io.WriteString(c, "GET /stream HTTP/1.1\r\nHost: x\r\n\r\n")
		streams = append(streams, c)
	}
	w.until("they are streams", func() bool { return w.Phases()["stream"] == 24 })
	// Other requests cannot use the reserved connections, so lower the limit instead.
	lower := func() { w.Max = 24 }
	gate.tune.Store(&lower)
	res, _ := w.ask(w.dial("127.0.0.1"), "/ping")
	if res.StatusCode != 503 || !res.Close || res.Header.Get("Retry-After") == "" {
		t.Errorf("answer of a full server: %s %v", res.Status, res.Header)
	}
	if w.lost.Load() == 0 || w.Count(Full) != 1 {
		t.Errorf("%d lost, %d refused", w.lost.Load(), w.Count(Full))
	}
	for _, c := range streams {
		c.Close()
	}
	w.until("the connections are released", func() bool { return w.Open() == 0 && w.busy.Load() == 0 })
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.conns)+len(w.peers) != 0 {
		t.Errorf("%d connections and %d addresses are still registered", len(w.conns), len(w.peers))
	}
}

// tunedListener calls a function before it accepts a connection.
type tunedListener struct {
	net.Listener
	tune atomic.Pointer[func()]
}

func (l *tunedListener) Accept() (net.Conn, error) {
	conn, err := l.Listener.Accept()
	if tune := l.tune.Swap(nil); tune != nil {
		(*tune)()
	}
	return conn, err
}

// failingListener fails to accept while its switch is on.
type failingListener struct {
	net.Listener
	err atomic.Pointer[error]
}

func (l *failingListener) Accept() (net.Conn, error) {
	if err := l.err.Load(); err != nil {
		return nil, &net.OpError{Op: "accept", Err: os.NewSyscallError("accept4", *err)}
	}
	return l.Listener.Accept()
}

func (l *failingListener) SetDeadline(at time.Time) error {
	return l.Listener.(*net.TCPListener).SetDeadline(at)
}

// TestShortage checks that the server survives a shortage of descriptors or memory,
// reports lost pings, and closes idle connections.
func TestShortage(t *testing.T) {
	for _, errno := range []error{syscall.EMFILE, syscall.ENFILE, syscall.ENOBUFS, syscall.ENOMEM} {
		t.Run(errno.Error(), func(t *testing.T) {
			var l *failingListener
			w := newTestServer(t, Config{Max: 32, PerAddress: 32}, func(inner net.Listener) net.Listener {
				l = &failingListener{Listener: inner}
				return l
			})
			w.ask(w.dial("127.0.0.1"), "/ping")
			w.until("it is idle", func() bool { return w.Phases()["idle"] == 1 })
			l.err.Store(&errno)
			c := w.dial("127.0.0.1") // the Accept that is waiting takes it
			w.until("failures are losses", func() bool { return w.lost.Load() > 1 && w.AcceptFailures() > 1 })
			w.until("the idle one is closed", func() bool { return w.Count(IdleClosed) >= 1 })
			l.err.Store(nil)
			c.Close()
			if res, _ := w.ask(w.dial("127.0.0.1"), "/ping"); res.StatusCode != 200 {
				t.Errorf("GET /ping after a shortage: %v", res.Status)
			}
			select {
			case err := <-w.served:
				t.Errorf("the server ended: %v", err)
			default:
			}
		})
	}
}

// TestShortageEndsWithoutClients checks that a shortage ends when a descriptor is
// free, and not only when the next client connects.
func TestShortageEndsWithoutClients(t *testing.T) {
	var l *failingListener
	var log lines
	newTestServer := func() *testServer {
		return newTestServer(t, Config{Max: 32, PerAddress: 32, Logger: log.logger()},
			func(inner net.Listener) net.Listener {
				l = &failingListener{Listener: inner}
				return l
			})
	}
	var errno error = syscall.EMFILE
	w := newTestServer()
	l.err.Store(&errno)
	w.dial("127.0.0.1").Close()
	w.until("it fails", func() bool { return w.lost.Load() > 0 })
	l.err.Store(nil)
	w.until("it is over", func() bool { return strings.Contains(log.String(), "accepting connections again") })
}

// TestDrain checks that clients that connected before the drain are served, and that
// later clients are refused by the kernel and not reset.
func TestDrain(t *testing.T) {
	t.Parallel()
	w := newTestServer(t, Config{Max: 1000, PerAddress: 1000}, nil)
	var clients sync.WaitGroup
	var reset, answered atomic.Int64
	stop := make(chan struct{})
	for range 16 {
		clients.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
				}
				c, err := net.Dial("tcp", w.addr)
				if err != nil {
					if !errors.Is(err, syscall.ECONNREFUSED) {
						reset.Add(1)
						t.Errorf("connecting: %v", err)
					}
					return
				}
				io.WriteString(c, "GET /ping HTTP/1.1\r\nHost: x\r\n\r\n")
				if _, err := http.ReadResponse(bufio.NewReader(c), nil); err != nil {
					reset.Add(1)
					t.Errorf("a client that connected before the drain: %v", err)
				}
				c.Close()
				answered.Add(1)
			}
		})
	}
	w.until("they are served", func() bool { return answered.Load() > 100 })
	w.listener.Drain(2 * time.Second)
	if err := <-w.served; !errors.Is(err, net.ErrClosed) {
		t.Errorf("the server ended with %v", err)
	}
	clients.Wait()
	close(stop)
	if reset.Load() > 0 {
		t.Errorf("%d of %d were reset", reset.Load(), answered.Load())
	}
}

// TestSettle checks that Settle waits for new connections without a request and for
// requests being served, but not for connections whose request was answered.
func TestSettle(t *testing.T) {
	w := newTestServer(t, Config{Max: 100, PerAddress: 100}, nil)
	w.ask(w.dial("127.0.0.1"), "/page")
	w.until("it is idle", w.settled)
	c := w.dial("127.0.0.1")
	w.until("it is new", func() bool { return !w.settled() })
	var busy sync.WaitGroup
	busy.Go(func() { w.ask(c, "/hold") })
	<-w.holding
	if w.settled() {
		t.Error("a request is being served")
	}
	close(w.hold)
	if err := w.Settle(t.Context()); err != nil {
		t.Error(err)
	}
	busy.Wait()
}

func TestDefaultLimits(t *testing.T) {
	for files, want := range map[uint64][2]int{
		0: {65536, 1024}, 64: {48, 32}, 256: {192, 48}, 1024: {896, 224}, 4096: {3968, 992}, 20_000: {19_872, 1024},
		1 << 40: {65536, 1024}, 4: {16, 16},
	} {
		if most, each := DefaultLimits(files); most != want[0] || each != want[1] {
			t.Errorf("with %d files: %d and %d, want %v", files, most, each, want)
		}
	}
}
