package ping

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"syscall"
	"testing"
	"time"
)

func (w *testServer) serve(r *http.Request) *httptest.ResponseRecorder {
	rec := httptest.NewRecorder()
	w.ServeHTTP(rec, r)
	return rec
}

// endless is an infinite body.
type endless struct{ *strings.Reader }

func (endless) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = 'x'
	}
	return len(p), nil
}

// TestBodies checks that bodies of any kind and size are ignored.
func TestBodies(t *testing.T) {
	t.Parallel()
	onEachEngine(t, Config{}, func(w *testServer) {
		for name, body := range map[string]func() io.Reader{
			"JSON":          func() io.Reader { return strings.NewReader(`{"ok":false}`) },
			"broken JSON":   func() io.Reader { return strings.NewReader(`{"ok":`) },
			"binary":        func() io.Reader { return bytes.NewReader([]byte{0, 1, 2, 0xff, 0xfe}) },
			"1 MiB":         func() io.Reader { return bytes.NewReader(make([]byte, maxDrain)) },
			"1 MiB and one": func() io.Reader { return bytes.NewReader(make([]byte, maxDrain+1)) },
			"8 MiB":         func() io.Reader { return bytes.NewReader(make([]byte, 8<<20)) },
			"chunked": func() io.Reader {
				return io.MultiReader(strings.NewReader("a"), strings.NewReader("b"))
			},
			"chunked, 1 MiB":     func() io.Reader { return io.LimitReader(endless{}, maxDrain) },
			"chunked, and empty": func() io.Reader { return io.MultiReader() },
			"chunked, 8 MiB":     func() io.Reader { return io.LimitReader(endless{}, 8<<20) },
		} {
			w.Run(name, func(t *testing.T) {
				in := w.in(t)
				m := in.newMonitor()
				long := strings.Contains(name, "MiB")
				in.wantBody(Path+m.Token, body(), long, 200, okBody)
				if in.now(m.ID).LastPingAt.IsZero() {
					t.Error("the ping was not recorded")
				}
				in.wantBody(Path+"unknown", body(), long, 404, notFoundBody)
			})
		}
		w.Run("Expect: 100-continue", func(t *testing.T) {
			in := w.in(t)
			in.want(in.send("POST", Path+w.monitor.Token, strings.NewReader("hello"), "Expect", "100-continue"), 200,
				okBody)
		})
	})
}

// wantBody sends a POST with a body and fails the test if the answer differs. With a long body, on a slow machine, the
// client may get a reset before it has read the answer, because it still sends when the server closes the connection.
func (w *testServer) wantBody(path string, body io.Reader, long bool, status int, want string) {
	w.Helper()
	res, err := w.http.Client().Do(must(http.NewRequestWithContext(w.Context(), "POST", w.http.URL+path, body))(w))
	if long && (errors.Is(err, syscall.ECONNRESET) || errors.Is(err, syscall.EPIPE)) {
		w.Logf("no answer: %v", err)
		return
	}
	must(res, err)(w)
	defer res.Body.Close()
	w.want(reply{res, string(must(io.ReadAll(res.Body))(w))}, status, want)
}

// raw is a connection without an HTTP library.
type raw struct {
	*testing.T
	net.Conn
	r *bufio.Reader
}

func (w *testServer) dial(t *testing.T) raw {
	t.Helper()
	conn := must(net.Dial("tcp", w.http.Listener.Addr().String()))(t)
	t.Cleanup(func() { conn.Close() })
	conn.SetDeadline(time.Now().Add(20 * time.Second))
	return raw{t, conn, bufio.NewReader(conn)}
}

func (c raw) say(format string, args ...any) {
	c.Helper()
	if _, err := fmt.Fprintf(c, format, args...); err != nil {
		c.Fatal(err)
	}
}

// answered reads an answer and fails the test unless the ping was recorded.
func (c raw) answered() *http.Response {
	c.Helper()
	res := must(http.ReadResponse(c.r, nil))(c)
	defer res.Body.Close()
	if body := must(io.ReadAll(res.Body))(c); res.StatusCode != 200 || string(body) != okBody {
		c.Errorf("answer: %s %q", res.Status, body)
	}
	return res
}

// closed fails the test unless the server closes the connection.
func (c raw) closed() {
	c.Helper()
	if rest, err := io.ReadAll(c.r); len(rest) > 0 {
		c.Errorf("after the answer: %q, %v", rest, err)
	}
}

// unusualExchanges are requests that HTTP libraries do not send. begin is the beginning of a ping.
var unusualExchanges = map[string]func(c raw, begin, token string){
	"the connection is used again": func(c raw, begin, token string) {
		for range 3 {
			c.say("%s\r\n", begin)
			c.answered()
			c.say("%sContent-Length: 5\r\n\r\nhello", begin)
			c.answered()
			c.say("%sTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n", begin)
			c.answered()
		}
	},
	"all in one packet": func(c raw, begin, token string) {
		c.say("%s", strings.Repeat(begin+"Content-Length: 5\r\n\r\nhello", 5))
		for range 5 {
			c.answered()
		}
	},
	"a body that never comes": func(c raw, begin, token string) {
		c.say("%sContent-Length: 100\r\n\r\n", begin)
		c.answered()
		c.closed()
	},
	"a body that stops": func(c raw, begin, token string) {
		c.say("%sContent-Length: 100\r\n\r\nhello", begin)
		c.answered()
		c.closed()
	},
	"a body cut off by the client": func(c raw, begin, token string) {
		c.say("%sContent-Length: 100\r\n\r\nhello", begin)
		c.Conn.(*net.TCPConn).CloseWrite()
		c.answered()
		c.closed()
	},
	"chunks that stop": func(c raw, begin, token string) {
		c.say("%sTransfer-Encoding: chunked\r\n\r\n5\r\nhel", begin)
		c.answered()
		c.closed()
	},
	"chunks that are none": func(c raw, begin, token string) {
		c.say("%sTransfer-Encoding: chunked\r\n\r\nnonsense\r\n", begin)
		c.answered()
		c.closed()
	},
	"a longer body than it says": func(c raw, begin, token string) {
		c.say("%sContent-Length: 2\r\n\r\nhello", begin)
		c.answered()
	},
	"Expect without a body": func(c raw, begin, token string) {
		c.say("%sExpect: 100-continue\r\nContent-Length: 5\r\n\r\n", begin)
		if res := must(http.ReadResponse(c.r, nil))(c); res.StatusCode != http.StatusContinue {
			c.Errorf("status of the first answer: %s, want 100", res.Status)
		}
		c.say("hello")
		c.answered()
		c.say("%s\r\n", begin)
		c.answered()
	},
	"HTTP/1.0": func(c raw, begin, token string) {
		c.say("POST %s%s HTTP/1.0\r\n\r\n", Path, token)
		c.answered()
		c.closed()
	},
	"an absolute address": func(c raw, begin, token string) {
		c.say("GET http://example.com%s%s HTTP/1.1\r\nHost: b\r\n\r\n", Path, token)
		c.answered()
	},
}

// TestUnusualClients sends requests that HTTP libraries do not send.
func TestUnusualClients(t *testing.T) {
	t.Parallel()
	onEachEngine(t, Config{}, func(w *testServer) {
		begin := "POST " + Path + w.monitor.Token + " HTTP/1.1\r\nHost: a\r\n"
		for name, exchange := range unusualExchanges {
			w.Run(name, func(t *testing.T) {
				t.Parallel()
				exchange(w.dial(t), begin, w.monitor.Token)
			})
		}
	})
}

// TestSlowBodyIsRecordedAtOnce checks that a ping is recorded before its body arrives.
func TestSlowBodyIsRecordedAtOnce(t *testing.T) {
	t.Parallel()
	onEachEngine(t, Config{}, func(w *testServer) {
		body, more := io.Pipe()
		code := make(chan int)
		go func() { code <- w.serve(request("POST", Path+w.monitor.Token, body)).Code }()
		w.until("recorded without its body", func() bool { return !w.now(w.monitor.ID).LastPingAt.IsZero() })
		more.Close()
		if got := <-code; got != 200 {
			w.Errorf("answered %d", got)
		}
	})
}
