package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/allswell/allswell"
	"github.com/allswell/allswell/internal/store/storetest"
)

// fastServer is a server of its own kind in front of a handler.
type fastServer struct {
	t      *testing.T
	path   *fastPath
	server *http.Server
	addr   string
	idle   chan struct{} // one for each answer of net/http's that is over
}

// serveFast serves a handler as the service does. The handler sees by isFast
// which way a request came.
func serveFast(t *testing.T, h http.Handler) *fastServer {
	t.Helper()
	return serveWith(t, h, func(f *fastServer, l net.Listener) net.Listener {
		f.path, f.idle = &fastPath{handler: h}, make(chan struct{}, 1000)
		f.server.ConnState = func(conn net.Conn, state http.ConnState) {
			noteState(conn, state)
			if state == http.StateIdle {
				f.idle <- struct{}{}
			}
		}
		return fastListener{l, f.path}
	})
}

// serveSlow is serveFast without the fast path.
func serveSlow(t *testing.T, h http.Handler) *fastServer {
	t.Helper()
	return serveWith(t, h, func(_ *fastServer, l net.Listener) net.Listener { return l })
}

// serveWith serves a handler on a listener that wrap makes of a real one.
func serveWith(t *testing.T, h http.Handler, wrap func(*fastServer, net.Listener) net.Listener) *fastServer {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := &service{log: slog.New(slog.DiscardHandler)}
	f := &fastServer{t: t, server: s.server(h), addr: l.Addr().String()}
	wrapped := wrap(f, l)
	go f.server.Serve(wrapped)
	t.Cleanup(func() { f.server.Close() })
	return f
}

func isFast(r *http.Request) bool { return r.Context().Value(http.ServerContextKey) == nil }

// wire is a client's end of a connection.
type wire struct {
	t *testing.T
	net.Conn
	in *bufio.Reader
}

// dialKnown returns a connection on which net/http has answered, and is done
// with that: what comes before it is done goes to it as well.
func (f *fastServer) dialKnown() *wire {
	f.t.Helper()
	w := f.dial()
	w.send(plainGET)
	w.answer("GET")
	<-f.idle
	return w
}

func (f *fastServer) dial() *wire {
	f.t.Helper()
	conn, err := net.Dial("tcp", f.addr)
	if err != nil {
		f.t.Fatal(err)
	}
	f.t.Cleanup(func() { conn.Close() })
	conn.SetDeadline(time.Now().Add(20 * time.Second))
	return &wire{f.t, conn, bufio.NewReader(conn)}
}

func (w *wire) send(text string) {
	w.t.Helper()
	if _, err := io.WriteString(w, text); err != nil {
		w.t.Fatal(err)
	}
}

// answer reads the answer to a request of a method.
func (w *wire) answer(method string) (res *http.Response, body string) {
	w.t.Helper()
	res, err := http.ReadResponse(w.in, &http.Request{Method: method})
	if err != nil {
		w.t.Fatal(err)
	}
	all, err := io.ReadAll(res.Body)
	if err != nil {
		w.t.Fatal(err)
	}
	return res, string(all)
}

// ended holds that nothing more comes.
func (w *wire) ended() {
	w.t.Helper()
	if b, err := w.in.ReadByte(); err == nil || errors.Is(err, os.ErrDeadlineExceeded) {
		w.t.Errorf("%q, %v; want the end", b, err)
	}
}

const plainGET = "GET /status/acme HTTP/1.1\r\nHost: acme.test\r\nAccept: */*\r\n\r\n"

// TestFastPathIsTaken: by what is plain, after net/http has answered once, and
// by nothing else; whichever way, all requests of a connection are answered in
// their order.
func TestFastPathIsTaken(t *testing.T) {
	f := serveFast(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		fmt.Fprintf(w, "%s %s %s %d fast:%v", r.Method, r.Host, r.URL, len(body), isFast(r))
	}))
	w := f.dial()
	for _, c := range []struct{ text, want string }{
		{plainGET, "GET acme.test /status/acme 0 fast:false"},
		{plainGET, "GET acme.test /status/acme 0 fast:true"},
		{plainGET, "GET acme.test /status/acme 0 fast:true"},
		{"GET / HTTP/1.1\r\nHost: acme.test:80\r\n\r\n", "GET acme.test:80 / 0 fast:true"},
		{"GET / HTTP/1.1\r\nhost:acme.test\r\nCONNECTION:  Keep-Alive \r\n\r\n", "GET acme.test / 0 fast:true"},
		{"HEAD / HTTP/1.1\r\nHost: acme.test\r\n\r\n", ""},
		{plainGET, "GET acme.test /status/acme 0 fast:true"},
		{"POST / HTTP/1.1\r\nHost: acme.test\r\nContent-Length: 3\r\n\r\nabc", "POST acme.test / 3 fast:false"},
		{"GET / HTTP/1.1\r\nHost: acme.test\r\nContent-Length: 3\r\n\r\nabc", "GET acme.test / 3 fast:false"},
		{"GET / HTTP/1.1\r\nHost: acme.test\r\nTransfer-Encoding: chunked\r\n\r\n1\r\na\r\n0\r\n\r\n", "GET acme.test / 1 fast:false"},
		{"GET /status/acme?lang=de HTTP/1.1\r\nHost: acme.test\r\n\r\n", "GET acme.test /status/acme?lang=de 0 fast:false"},
		{"GET /status/acme/events HTTP/1.1\r\nHost: acme.test\r\n\r\n", "GET acme.test /status/acme/events 0 fast:false"},
		{"GET /status/%61cme HTTP/1.1\r\nHost: acme.test\r\n\r\n", "GET acme.test /status/%61cme 0 fast:false"},
		{"GET http://acme.test/ HTTP/1.1\r\nHost: acme.test\r\n\r\n", "GET acme.test http://acme.test/ 0 fast:false"},
		{"GET / HTTP/1.1\nHost: acme.test\n\n", "GET acme.test / 0 fast:false"},
		{"GET / HTTP/1.1\r\nHost: acme.test\r\nA: " + strings.Repeat("x", readSize) + "\r\n\r\n", "GET acme.test / 0 fast:false"},
		{plainGET, "GET acme.test /status/acme 0 fast:true"},
	} {
		w.send(c.text)
		method, _, _ := strings.Cut(c.text, " ")
		if _, got := w.answer(method); got != c.want {
			t.Errorf("%q: %q, want %q", c.text, got, c.want)
		}
		if !strings.HasSuffix(c.want, "fast:true") {
			<-f.idle
		}
	}
	w.send("\r\n" + plainGET)
	if res, _ := w.answer("GET"); res.StatusCode != 400 { // as net/http has it, but after a POST
		t.Errorf("an empty line before a request: %d", res.StatusCode)
	}
}

// TestFastPathPieces: requests that come in pieces, or several at once.
func TestFastPathPieces(t *testing.T) {
	var n atomic.Int64
	f := serveFast(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprintf(w, "%d %s", n.Add(1), r.URL)
	}))
	w := f.dial()
	w.send(plainGET)
	w.answer("GET")
	for i := range len(plainGET) - 1 {
		w.send(plainGET[:i+1])
		time.Sleep(time.Millisecond) // so that it is a piece of its own, mostly
		w.send(plainGET[i+1:])
		w.answer("GET")
	}
	was := int(n.Load())
	w.send(strings.Repeat(plainGET, 100) + plainGET[:20])
	for i := range 100 {
		if _, body := w.answer("GET"); body != fmt.Sprintf("%d /status/acme", was+i+1) {
			t.Fatalf("answer %d of those at once: %s", i, body)
		}
	}
	w.send(plainGET[20:])
	if _, body := w.answer("GET"); body != fmt.Sprintf("%d /status/acme", was+101) {
		t.Errorf("the last: %s", body)
	}
}

// TestFastPathIsTheSame: the service's answers are the same on both ways but
// for the instant and the id.
func TestFastPathIsTheSame(t *testing.T) {
	s := newTestService(t)
	ws, _ := storetest.Workspace(t, s.store, "Acme")
	ctx := t.Context()
	domain := "status.acme.test"
	_, err := s.store.CreatePage(ctx, ws, allswell.NewPage{Slug: "acme", Name: "Acme", PageLook: allswell.PageLook{Domain: &domain}})
	if _, err2 := s.store.CreateComponent(ctx, ws, "acme", allswell.NewComponent{Name: "Website"}); err != nil || err2 != nil {
		t.Fatal(err, err2)
	}
	var taken atomic.Int64
	f := serveFast(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if isFast(r) {
			taken.Add(1)
		}
		s.fast.handler.ServeHTTP(w, r)
	}))
	fast := f.dialKnown()
	var asked int64
	both := func(path, host, fields string, status int) (etag string) {
		t.Helper()
		asked++
		text := "GET " + path + " HTTP/1.1\r\nHost: " + host + "\r\n" + fields + "\r\n"
		slow := f.dial() // the first request of a connection goes to net/http
		slow.send(text)
		want, wantBody := slow.answer("GET")
		fast.send(text)
		got, gotBody := fast.answer("GET")
		etag = want.Header.Get("Etag")
		for _, h := range []http.Header{want.Header, got.Header} {
			if h.Get("Date") == "" || h.Get("X-Request-Id") == "" {
				t.Errorf("%q: %v", text, h)
			}
			h.Del("Date")
			h.Del("X-Request-Id")
		}
		if got.StatusCode != status || got.Status != want.Status || !reflect.DeepEqual(got.Header, want.Header) ||
			gotBody != wantBody || got.ContentLength != want.ContentLength {
			t.Errorf("%q: %s %v, %d bytes; by net/http %s %v, %d bytes", text, got.Status, got.Header, len(gotBody), want.Status, want.Header, len(wantBody))
		}
		return etag
	}
	for _, fields := range []string{"", "Accept-Encoding: gzip\r\n", "Accept-Language: de\r\n", "accept-language: ar\r\nAccept-Encoding: br, gzip\r\n"} {
		for _, at := range []struct{ path, host string }{{"/", "localhost"}, {"/status/acme", "localhost"}, {"/", domain}} {
			etag := both(at.path, at.host, fields, 200)
			both(at.path, at.host, fields+"If-None-Match: "+etag+"\r\n", 304)
		}
		both("/status/nope", "localhost", fields, 404)
	}
	if taken.Load() != asked {
		t.Errorf("%d of %d went the fast path", taken.Load(), asked)
	}
}

// TestFastAnswers: however a handler writes, the answer arrives whole and has
// its length.
func TestFastAnswers(t *testing.T) {
	body := strings.Repeat("0123456789", 20_000)
	for name, c := range map[string]struct {
		write  http.HandlerFunc
		status int
		body   string
	}{
		"nothing":  {func(w http.ResponseWriter, r *http.Request) {}, 200, ""},
		"pieces":   {func(w http.ResponseWriter, r *http.Request) { io.WriteString(w, "a"); io.WriteString(w, "b") }, 200, "ab"},
		"large":    {func(w http.ResponseWriter, r *http.Request) { io.WriteString(w, body) }, 200, body},
		"a status": {func(w http.ResponseWriter, r *http.Request) { http.Error(w, "no", http.StatusServiceUnavailable) }, 503, "no\n"},
		"two":      {func(w http.ResponseWriter, r *http.Request) { w.WriteHeader(404); w.WriteHeader(200) }, 404, ""},
		"not changed": {func(w http.ResponseWriter, r *http.Request) {
			w.WriteHeader(304)
			if _, err := io.WriteString(w, "a"); !errors.Is(err, http.ErrBodyNotAllowed) {
				t.Errorf("a 304 with a body: %v", err)
			}
		}, 304, ""},
		"in between": {func(w http.ResponseWriter, r *http.Request) { w.WriteHeader(103); io.WriteString(w, "a") }, 200, "a"},
		"a length": {func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Length", strconv.Itoa(len(body)))
			io.WriteString(w, body)
		}, 200, body},
		"more than its length": {func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Length", "1")
			io.WriteString(w, "a")
			if _, err := io.WriteString(w, "b"); !errors.Is(err, http.ErrContentLength) {
				t.Errorf("too much: %v", err)
			}
		}, 200, "a"},
		"a line in a header": {func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("X", "a\r\nContent-Length: 7\r\n\r\n")
		}, 200, ""},
	} {
		f := serveFast(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if isFast(r) {
				c.write(w, r)
			}
		}))
		w := f.dialKnown()
		for range 3 {
			w.send(plainGET)
			res, got := w.answer("GET")
			if res.StatusCode != c.status || got != c.body || c.status != 304 && res.ContentLength != int64(len(c.body)) {
				t.Errorf("%s: %d, %d bytes, length %d", name, res.StatusCode, len(got), res.ContentLength)
			}
		}
	}
}

// TestFastPathHangsUp: with an answer that says so.
func TestFastPathHangsUp(t *testing.T) {
	f := serveFast(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if isFast(r) {
			w.Header().Set("Connection", "close")
		}
	}))
	w := f.dialKnown()
	w.send(plainGET)
	w.answer("GET")
	w.ended()
}

// TestFastPathEnds: a shutdown waits for an answer under way and closes the
// connection after it, and a panic closes the connection at once.
func TestFastPathEnds(t *testing.T) {
	begun, goOn := make(chan struct{}), make(chan struct{})
	f := serveFast(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case !isFast(r):
		case r.URL.Path == "/":
			panic(http.ErrAbortHandler)
		default:
			close(begun)
			<-goOn
			io.WriteString(w, "whole")
		}
	}))
	panicking, slow, quiet := f.dialKnown(), f.dialKnown(), f.dialKnown()
	panicking.send("GET / HTTP/1.1\r\nHost: acme.test\r\n\r\n")
	panicking.ended()
	slow.send(plainGET)
	<-begun
	if n := f.path.busy.Load(); n != 1 {
		t.Errorf("%d answers are under way", n)
	}
	if err := f.server.Shutdown(t.Context()); err != nil {
		t.Fatal(err)
	}
	quiet.ended()
	ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
	defer cancel()
	if err := f.path.drain(ctx); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("before the answer: %v", err)
	}
	close(goOn)
	if res, body := slow.answer("GET"); body != "whole" || !res.Close {
		t.Errorf("%q, the last: %v", body, res.Close)
	}
	slow.ended()
	if err := f.path.drain(t.Context()); err != nil {
		t.Errorf("after the answer: %v", err)
	}
}

// TestStopWaitsForTheFastPath: and the metrics' own address has none.
func TestStopWaitsForTheFastPath(t *testing.T) {
	t.Chdir(t.TempDir())
	s, err := newService(t.Context(), config{
		listen: "127.0.0.1:0", metricsListen: "127.0.0.1:0", database: "sqlite:allswell.db", checkInterval: time.Minute, failureThreshold: 3, apiRateLimit: 1,
	}, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	defer s.close()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	ended := make(chan error, 1)
	go func() { ended <- s.run(ctx) }()
	metrics := (&fastServer{t: t, addr: s.metricsListener.Addr().String()}).dial()
	for range 3 {
		metrics.send(plainGET)
		if res, _ := metrics.answer("GET"); res.StatusCode != 404 || res.Header.Get("X-Request-Id") != "" {
			t.Errorf("at the metrics' address: %d %v", res.StatusCode, res.Header)
		}
		time.Sleep(5 * time.Millisecond) // so that net/http waits again
	}
	s.fast.busy.Add(1)
	cancel()
	select {
	case err := <-ended:
		t.Errorf("ended amid an answer: %v", err)
	case <-time.After(200 * time.Millisecond):
	}
	s.fast.busy.Add(-1)
	if err := <-ended; err != nil {
		t.Error(err)
	}
}

// scripted is a connection on which one request comes again and again, at
// instants that a test chooses.
type scripted struct {
	net.Conn
	waits       []time.Duration // before each request
	read, write time.Time       // deadlines
	late        int             // requests and answers after their deadline
}

func (c *scripted) Read(p []byte) (int, error) {
	if len(c.waits) == 0 {
		return 0, io.EOF
	}
	time.Sleep(c.waits[0])
	c.waits = c.waits[1:]
	if time.Now().After(c.read) {
		c.late++
	}
	return copy(p, plainGET), nil
}

func (c *scripted) Write(p []byte) (int, error) {
	if until := time.Until(c.write); c.write.IsZero() || until < answerTimeout-renewAfter || until > answerTimeout {
		c.late++
	}
	return len(p), nil
}

func (c *scripted) RemoteAddr() net.Addr                { return &net.TCPAddr{} }
func (c *scripted) SetReadDeadline(at time.Time) error  { c.read = at; return nil }
func (c *scripted) SetWriteDeadline(at time.Time) error { c.write = at; return nil }

// TestFastPathDeadlines: a connection that keeps asking stays open, and each of
// its answers has its time.
func TestFastPathDeadlines(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		conn := new(scripted)
		c := &fastConn{Conn: conn, path: &fastPath{handler: answering("page")}}
		for range 100 {
			conn.SetReadDeadline(time.Now().Add(idleTimeout)) // as net/http does
			conn.SetWriteDeadline(time.Time{})
			conn.waits = []time.Duration{900 * time.Millisecond, 0, idleTimeout - 2*renewAfter, 10 * renewAfter, time.Millisecond}
			c.wait = looksForNext
			if n, err := c.Read(make([]byte, readSize)); n != 0 || err != io.EOF || len(conn.waits) > 0 {
				t.Errorf("%d, %v, %d left", n, err, len(conn.waits))
			}
		}
		if conn.late > 0 {
			t.Errorf("%d were late", conn.late)
		}
	})
}

// requestsToMix are requests with what looks like another inside of them, or that
// end where readers of them might not expect it.
var requestsToMix = []string{
	plainGET,
	"GET / HTTP/1.1\r\nHost: a\r\n\r\n",
	"HEAD / HTTP/1.1\r\nHost: a\r\n\r\n",
	"GET / HTTP/1.0\r\nConnection: keep-alive\r\n\r\n",
	fmt.Sprintf("POST /p HTTP/1.1\r\nHost: a\r\nContent-Length: %d\r\n\r\n", len(plainGET)) + plainGET,
	fmt.Sprintf("POST /c HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n%x\r\n", len(plainGET)) + plainGET + "\r\n0\r\n\r\n",
	fmt.Sprintf("POST /b HTTP/1.1\r\nHost: a\r\nContent-Length: %d\r\n\r\n", 2*readSize+len(plainGET)) + strings.Repeat("b", 2*readSize) + plainGET,
	"GET /line HTTP/1.1\r\nX: " + strings.Repeat("a", readSize-3) + plainGET, // the first request ends with the last line of the second
	"GET /next HTTP/1.1\r\nX: " + strings.Repeat("a", readSize-2) + plainGET,
	"GET /long HTTP/1.1\r\nX: " + strings.Repeat("a", 2*readSize-3) + plainGET,
	"GET /fold HTTP/1.1\r\nX: a\r\n " + plainGET,
	"POST /head HTTP/1.1\r\n" + plainGET,
}

// TestFastPathReadsTheSame: of whatever comes, in whatever pieces, the handler
// sees the same requests with the fast path as with net/http alone.
func TestFastPathReadsTheSame(t *testing.T) {
	var mu sync.Mutex
	var seen []string
	var taken int
	handler := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		mu.Lock()
		defer mu.Unlock()
		seen = append(seen, fmt.Sprintf("%s %s %s %v %q %v", r.Method, r.RequestURI, r.Host, r.Header, body, err))
		if isFast(r) {
			taken++
		}
	})
	fast, slow := serveFast(t, handler), serveSlow(t, handler)
	play := func(f *fastServer, pieces []string) (all []string) {
		w := f.dial()
		for _, piece := range pieces {
			w.Write([]byte(piece)) // after a bad one it may be closed
			time.Sleep(200 * time.Microsecond)
		}
		w.Conn.(*net.TCPConn).CloseWrite()
		io.Copy(io.Discard, w)
		w.Close()
		mu.Lock()
		defer mu.Unlock()
		all, seen = seen, nil
		return all
	}
	random := rand.New(rand.NewPCG(1, 2))
	for range 300 {
		var pieces []string
		for range 2 + random.IntN(4) {
			text := requestsToMix[random.IntN(len(requestsToMix))]
			if at := strings.LastIndex(text, "GET "); at > 0 && random.IntN(2) == 0 {
				pieces = append(pieces, text[:at])
				text = text[at:]
			}
			if n := len(pieces); n > 0 && random.IntN(4) == 0 {
				pieces[n-1] += text
				continue
			}
			pieces = append(pieces, text)
		}
		if got, want := play(fast, pieces), play(slow, pieces); !slices.Equal(got, want) {
			t.Errorf("%.9000q:\nthe handler sees %.900q,\nby net/http %.900q", pieces, got, want)
		}
	}
	if taken == 0 {
		t.Error("no request went the fast path")
	}
}

// FuzzPlainRequest: what the fast path takes, net/http reads as the same
// request, to the last byte.
func FuzzPlainRequest(f *testing.F) {
	for _, seed := range [][4]string{
		{"/status/acme", " a", "If-None-Match: \"x\", W/\"y\"\r\nif-none-match:\"z\"\r\n", ""},
		{"/", " a.test:80", "Cookie: a=b\r\nConnection: keep-alive\r\nAccept: */*\r\n", ""},
		{"/", "a", "Accept-Language: de\r\n folded\r\n", ""},
		{"/", "a\r\nhost: b", "", ""},
		{"/", "a\r\nX:\r\nY: \t", "X : y\r\n", "GET / HTTP/1.1\r\n"},
		{"/status/a", "a", "Content-Length: 0\r\nPragma: no-cache\r\n", ""},
		{"/status/a", "a", "Transfer-Encoding : chunked\r\n", "0\r\n\r\n"},
		{"/ HTTP/1.1\r\nHost: b\r\nGET /", "[::1]:80", "Upgrade: h2c\r\nExpect: 100-continue\r\n", ""},
	} {
		f.Add(seed[0], seed[1], seed[2], seed[3])
	}
	f.Fuzz(func(t *testing.T, target, host, fields, more string) {
		text := []byte("GET " + target + " HTTP/1.1\r\nHost:" + host + "\r\n" + fields + "\r\n" + more)
		got := plainRequest(text)
		if got == nil {
			return
		}
		in := bufio.NewReader(bytes.NewReader(text))
		want, err := http.ReadRequest(in)
		if err != nil {
			t.Fatalf("%q is no request: %v", text, err)
		}
		if in.Buffered() > 0 || want.ContentLength != 0 || want.TransferEncoding != nil || want.Close || want.Trailer != nil {
			t.Errorf("%q is more than it seems: %+v", text, want)
		}
		if got.Method != want.Method || *got.URL != *want.URL || got.RequestURI != want.RequestURI || got.Proto != want.Proto ||
			got.Host != want.Host || !reflect.DeepEqual(got.Header, want.Header) || got.Body != http.NoBody {
			t.Errorf("%q:\n%+v, by net/http:\n%+v", text, got, want)
		}
	})
}
