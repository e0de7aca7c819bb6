package notify

import (
	"bytes"
	"compress/gzip"
	"context"
	"crypto/tls"
	"crypto/x509"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/allswell/allswell/internal/domain/audience"
	"github.com/allswell/allswell/internal/domain/statuspage"
)

// serveConnections serves TCP connections, each in its own goroutine, and closes them when
// serve returns.
func serveConnections(t *testing.T, serve func(net.Conn, int)) (address string, accepted *atomic.Int32) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { listener.Close() })
	accepted = new(atomic.Int32)
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			n := int(accepted.Add(1))
			go func() {
				defer conn.Close()
				_ = conn.SetDeadline(time.Now().Add(testTimeout))
				serve(conn, n)
			}()
		}
	}()
	return listener.Addr().String(), accepted
}

// webhookReadRequest reads one request to its end.
func webhookReadRequest(conn net.Conn) error {
	var head []byte
	for one := make([]byte, 1); !bytes.HasSuffix(head, []byte("\r\n\r\n")); head = append(head, one...) {
		if _, err := io.ReadFull(conn, one); err != nil {
			return err
		}
	}
	m := regexp.MustCompile(`Content-Length: (\d+)`).FindSubmatch(head)
	length, _ := strconv.ParseInt(string(m[1]), 10, 64)
	_, err := io.CopyN(io.Discard, conn, length)
	return err
}

// wireHang waits until the other side gives up.
func wireHang(conn net.Conn) { _, _ = io.Copy(io.Discard, conn) }

func wireDrop(net.Conn) {}

func wireDrip(conn net.Conn, piece string) {
	for {
		if _, err := io.WriteString(conn, piece); err != nil {
			return
		}
		time.Sleep(time.Millisecond) // simulates a slow receiver
	}
}

func wireFlood(conn net.Conn, piece string) {
	for piece = strings.Repeat(piece, 1000); ; {
		if _, err := io.WriteString(conn, piece); err != nil {
			return
		}
	}
}

// wireAnswer reads the request, and answers.
func wireAnswer(text string, then func(net.Conn)) func(net.Conn) {
	return func(conn net.Conn) {
		if webhookReadRequest(conn) != nil {
			return
		}
		_, _ = io.WriteString(conn, text)
		then(conn)
	}
}

const wireLate, wireNone = "late", "none" // both have the same reason

// wireFailures are failures on the wire.
var wireFailures = []struct {
	name    string
	timeout time.Duration
	serve   func(net.Conn) // nil: only waits
	reason  string         // "": accepted
}{
	{"dropped at once", 0, wireDrop, wireNone},
	{"dropped in the request", 0, func(conn net.Conn) { _, _ = io.ReadFull(conn, make([]byte, 20)) }, wireNone},
	{"dropped after the request", 0, wireAnswer("", wireDrop), wireNone},
	{"dropped in the status", 0, wireAnswer("HTTP/1.1 2", wireDrop), wireNone},
	{"dropped in the header", 0, wireAnswer("HTTP/1.1 200 OK\r\nContent-Le", wireDrop), wireNone},
	{"dropped in the body", 0, wireAnswer("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nfour", wireDrop), ""},
	{"not HTTP", 0, wireAnswer("SSH-2.0-OpenSSH_9.2\r\n", wireDrop), wireNone},
	{"a body that is not chunked as declared", 0,
		wireAnswer("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz", wireDrop), ""},
	{"a huge header", 0, wireAnswer("HTTP/1.1 200 OK\r\n", func(conn net.Conn) {
		wireFlood(conn, "X-Filler: 0123456789\r\n")
	}), wireNone},
	{"a huge header line", 0, wireAnswer("HTTP/1.1 200 OK\r\nX-Filler: ", func(conn net.Conn) {
		wireFlood(conn, "0123456789")
	}), wireNone},
	{"endless early hints", 0, wireAnswer("", func(conn net.Conn) {
		wireFlood(conn, "HTTP/1.1 103 Early Hints\r\n\r\n")
	}), wireNone},
	{"an endless body", 0, wireAnswer("HTTP/1.1 200 OK\r\n\r\n", func(conn net.Conn) {
		wireFlood(conn, "0123456789")
	}), ""},
	{"an endless error", 0, wireAnswer("HTTP/1.1 500 No\r\n\r\n", func(conn net.Conn) {
		wireFlood(conn, "0123456789")
	}), "The webhook answered 500."},
	{"hangs before it reads", 200 * time.Millisecond, nil, wireLate},
	{"hangs before the status", 200 * time.Millisecond, wireAnswer("", wireHang), wireLate},
	{"hangs in the header", 200 * time.Millisecond, wireAnswer("HTTP/1.1 200 OK\r\nContent-Le", wireHang), wireLate},
	{"hangs in the body", 2 * time.Second, wireAnswer("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nfour", wireHang),
		""},
	{"hangs in an error's body", 2 * time.Second,
		wireAnswer("HTTP/1.1 503 No\r\nContent-Length: 9\r\n\r\nfour", wireHang),
		"The webhook answered 503."},
	{"switches protocols and hangs", 0,
		wireAnswer("HTTP/1.1 101 OK\r\nConnection: Upgrade\r\nUpgrade: x\r\n\r\n", wireHang),
		"The webhook answered 101."},
	{"drips the header", 200 * time.Millisecond, wireAnswer("HTTP/1.1 200 OK\r\nX-Filler: ", func(conn net.Conn) {
		wireDrip(conn, "0")
	}), wireLate},
	{"drips the body", 2 * time.Second, wireAnswer("HTTP/1.1 200 OK\r\n\r\n", func(conn net.Conn) {
		wireDrip(conn, "0")
	}), ""},
}

// TestWebhookWire checks failures on the wire: each uses one connection, has an outcome with a reason, and ends in
// time.
func TestWebhookWire(t *testing.T) {
	t.Parallel()
	for _, c := range wireFailures {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			address, accepted := serveConnections(t, func(conn net.Conn, _ int) {
				if c.serve == nil {
					<-t.Context().Done()
					return
				}
				c.serve(conn)
			})
			w := webhookSender(t)
			w.timeout = 2 * testTimeout // not reached if the attempt ends by itself
			if c.timeout > 0 {
				w.timeout = c.timeout
			}
			o := webhookSend(t, w, "http://"+address)
			want := c.reason
			if want == wireLate || want == wireNone {
				want = w.failure(t.Context(), "http://hooks.example.com/")
				if o.Detail == "" {
					t.Error("there is no detail for the log")
				}
			}
			if o.Reason != want || o.Result != audience.SendAccepted && o.Result != audience.SendFailed {
				t.Errorf("outcome: %+v, want %q", o, c.reason)
			}
			if want := c.reason != "" && !strings.HasSuffix(c.reason, "answered 101."); o.Unreachable != want {
				t.Errorf("unreachable: %t, want %t", o.Unreachable, want)
			}
			if accepted.Load() != 1 {
				t.Errorf("%d connections", accepted.Load())
			}
		})
	}
}

func TestWebhookUnreachable(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := listener.Addr().String()
	listener.Close()
	w := webhookSender(t)
	failed := func(w *webhooks, target, detail string) {
		t.Helper()
		o := webhookSend(t, w, target)
		if o.Result != audience.SendFailed || !o.Unreachable || o.Reason != webhookNoAnswer ||
			!strings.Contains(o.Detail, detail) {
			t.Errorf("%s: %+v, want the detail %q", target, o, detail)
		}
	}
	failed(w, "http://"+address, syscall.ECONNREFUSED.Error())
	w.dialer.Resolver = webhookResolver(t, func(name string) []string {
		if strings.HasPrefix(name, "broken.") {
			return []string{"servfail"}
		}
		return nil
	})
	failed(w, "http://none.example", "no such host")
	failed(w, "http://broken.example", "broken.example")
	long := strings.Repeat(strings.Repeat("a", 60)+".", 4) + "example"
	if got := webhookSend(t, w, "http://"+long); got.Result != audience.SendFailed || !got.Unreachable {
		t.Errorf("outcome at a name that is too long: %+v", got)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	o := w.send(ctx, webhookNotifications()[statuspage.EventIncidentCreated])
	if o.Result != audience.SendFailed || o.Reason != "The attempt was interrupted before the webhook answered." {
		t.Errorf("outcome of an interrupted attempt: %+v", o)
	}
	if got := webhookReason("%s", strings.Repeat("é", 400)); got != strings.Repeat("é", 300) {
		t.Errorf("a reason of %d characters", utf8.RuneCountInString(got))
	}
}

func TestWebhookTLS(t *testing.T) {
	quiet := func(s *httptest.Server) { s.Config.ErrorLog = webhookNoLog }
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	quiet(server)
	server.StartTLS()
	defer server.Close()
	failed := func(w *webhooks, target, detail string) {
		t.Helper()
		o := webhookSend(t, w, target)
		if o.Reason != w.failure(t.Context(), "http://hooks.example.com/") || !strings.Contains(o.Detail, detail) {
			t.Errorf("%s: %+v, want the detail %q", target, o, detail)
		}
	}
	w := webhookSender(t)
	failed(w, server.URL, "certificate")
	trusted := x509.NewCertPool()
	trusted.AddCert(server.Certificate())
	w = webhookSender(t)
	w.transport.TLSClientConfig = &tls.Config{RootCAs: trusted}
	if o := webhookSend(t, w, server.URL); o.Result != audience.SendAccepted {
		t.Errorf("outcome with a trusted certificate: %+v", o)
	}
	w.dialer.Resolver = webhookResolver(t, func(string) []string { return []string{"127.0.0.1"} })
	_, port, _ := net.SplitHostPort(server.Listener.Addr().String())
	failed(w, "https://another.test:"+port, "not another.test")

	plain := httptest.NewUnstartedServer(http.NotFoundHandler())
	quiet(plain)
	plain.Start()
	defer plain.Close()
	failed(w, strings.Replace(plain.URL, "http:", "https:", 1), "TLS handshake")
	old := httptest.NewUnstartedServer(http.NotFoundHandler())
	old.TLS = &tls.Config{MaxVersion: tls.VersionTLS11, MinVersion: tls.VersionTLS10}
	quiet(old)
	old.StartTLS()
	defer old.Close()
	failed(webhookSender(t), old.URL, "protocol version")
	address, _ := serveConnections(t, func(conn net.Conn, _ int) { _, _ = io.Copy(io.Discard, conn) })
	w = webhookSender(t)
	w.timeout = 200 * time.Millisecond
	failed(w, "https://"+address, "deadline exceeded")
}

// TestWebhookCompressedResponse checks that a compressed response is not decompressed. It
// is within the limit, so the connection is used again.
func TestWebhookCompressedResponse(t *testing.T) {
	var packed bytes.Buffer
	z := gzip.NewWriter(&packed)
	if _, err := z.Write(make([]byte, 32<<20)); err != nil || z.Close() != nil || packed.Len() > webhookRead {
		t.Fatal(err, packed.Len())
	}
	connections := new(atomic.Int32)
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(rw http.ResponseWriter, _ *http.Request) {
		rw.Header().Set("Content-Encoding", "gzip")
		_, _ = rw.Write(packed.Bytes())
	}))
	server.Config.ConnState = func(_ net.Conn, s http.ConnState) {
		if s == http.StateNew {
			connections.Add(1)
		}
	}
	server.Start()
	defer server.Close()
	w := webhookSender(t)
	for range 3 {
		if o := webhookSend(t, w, server.URL); o.Result != audience.SendAccepted {
			t.Errorf("outcome: %+v", o)
		}
	}
	if connections.Load() != 1 {
		t.Errorf("%d connections", connections.Load())
	}
}

// TestWebhookKeptConnectionCloses checks that the request is sent again on a new
// connection if the receiver closes a kept connection at that moment.
func TestWebhookKeptConnectionCloses(t *testing.T) {
	address, accepted := serveConnections(t, func(conn net.Conn, n int) {
		if webhookReadRequest(conn) != nil {
			return
		}
		_, _ = io.WriteString(conn, "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
		if n == 1 {
			_ = webhookReadRequest(conn)
			return
		}
	})
	w := webhookSender(t)
	for range 2 {
		if o := webhookSend(t, w, "http://"+address); o.Result != audience.SendAccepted {
			t.Errorf("outcome: %+v", o)
		}
	}
	if accepted.Load() != 2 {
		t.Errorf("%d connections", accepted.Load())
	}
}
