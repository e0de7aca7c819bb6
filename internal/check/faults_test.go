package check

import (
	"bufio"
	"context"
	"crypto/sha256"
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/allswell/allswell/internal/domain/kernel"
	"github.com/allswell/allswell/internal/domain/monitor"
	"github.com/allswell/allswell/test/freeport"
)

// faulty answers every connection with a fault, after the end of the header of a request.
func faulty(t *testing.T, fault func(*net.TCPConn)) (address string) {
	t.Helper()
	return fmt.Sprint("127.0.0.1:", acceptEach(t, fault))
}

// afterRequest reads the header of a request, and then does something.
func afterRequest(do func(*net.TCPConn)) func(*net.TCPConn) {
	return func(conn *net.TCPConn) {
		if _, err := http.ReadRequest(bufio.NewReader(conn)); err == nil {
			do(conn)
		}
	}
}

// afterHello reads the first message of a client, and then does something: what is not read would reset the connection
// when it closes.
func afterHello(do func(*net.TCPConn)) func(*net.TCPConn) {
	return func(conn *net.TCPConn) {
		var header [5]byte // of a TLS record
		if _, err := io.ReadFull(conn, header[:]); err != nil {
			return
		}
		if _, err := io.CopyN(io.Discard, conn, int64(header[3])<<8|int64(header[4])); err == nil {
			do(conn)
		}
	}
}

func hang(conn *net.TCPConn) { _, _ = io.Copy(io.Discard, conn) }

func reset(conn *net.TCPConn) {
	_ = conn.SetLinger(0)
	conn.Close()
}

// says writes a text, and then does something.
func says(text string, then func(*net.TCPConn)) func(*net.TCPConn) {
	return func(conn *net.TCPConn) {
		fmt.Fprint(conn, text)
		then(conn)
	}
}

func endless(text string) func(*net.TCPConn) {
	return func(conn *net.TCPConn) {
		for {
			if _, err := io.WriteString(conn, text); err != nil {
				return
			}
		}
	}
}

func halfClose(conn *net.TCPConn) {
	_ = conn.CloseWrite()
	hang(conn)
}

const okOfTen = "HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\n" // and then a body of ten bytes

// faults are what a server does, and the reason of the failed check; ADDRESS is the address of the server.
var faults = []struct {
	name    string
	scheme  string
	fault   func(*net.TCPConn)
	failure string
}{
	{"hangs before the handshake", "https", hang, "no TLS handshake with ADDRESS within 0.15 s"},
	{"closes before the handshake", "https", afterHello(func(*net.TCPConn) {}),
		"ADDRESS closed the connection during the TLS handshake"},
	{"resets during the handshake", "https", reset, "connection reset by ADDRESS"},
	{"half-closes during the handshake", "https", halfClose,
		"ADDRESS closed the connection during the TLS handshake"},
	{"garbage instead of a handshake", "https", says("\x16\x03\x03\x00\x05garbage", hang),
		"the TLS handshake with ADDRESS failed"},
	{"another protocol instead of TLS", "https", says("220 mail.example.com ESMTP\r\n", hang),
		`ADDRESS does not speak TLS: its answer begins with "220 m"`},
	{"hangs before the response", "http", hang, "no response from ADDRESS within 0.15 s"},
	{"closes before the response", "http", afterRequest(func(*net.TCPConn) {}),
		"ADDRESS closed the connection without a response"},
	{"resets before the response", "http", afterRequest(reset), "connection reset by ADDRESS"},
	{"half-closes before the response", "http", afterRequest(halfClose),
		"ADDRESS closed the connection without a response"},
	{"garbage", "http", afterRequest(says("garbage\r\n\r\n", hang)),
		`ADDRESS does not speak HTTP: its answer begins with "garbage"`},
	{"an invalid status", "http", afterRequest(says("HTTP/1.1 9999 x\r\n\r\n", hang)),
		`the status line of the response has no valid status: "9999"`},
	{"an invalid header", "http", afterRequest(says("HTTP/1.1 200 OK\r\nno colon\r\n\r\n", hang)),
		`a header of the response has no colon: "no colon"`},
	{"two lengths", "http",
		afterRequest(says("HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n", hang)),
		"the response has two different headers Content-Length"},
	{"a negative length", "http", afterRequest(says("HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\n", hang)),
		`the header Content-Length of the response is not valid: "-1"`},
	{"half a header", "http", afterRequest(says("HTTP/1.1 200 OK\r\nX: ", halfClose)),
		"ADDRESS closed the connection before the end of the response"},
	{"endless headers", "http", afterRequest(says("HTTP/1.1 200 OK\r\n", endless("X-Header: value\r\n"))),
		"the headers of the response are too large: more than the limit of 64 kB"},
	{"endless 103s", "http", afterRequest(endless("HTTP/1.1 103 Early Hints\r\n\r\n")),
		"the headers of the response are too large: more than the limit of 64 kB"},
	{"hangs in the header", "http", afterRequest(says("HTTP/1.1 200 OK\r\nX: ", hang)),
		"the response from ADDRESS did not end within 0.15 s"},
	{"hangs in the body", "http", afterRequest(says(okOfTen+"12345", hang)),
		"the response from ADDRESS did not end within 0.15 s"},
	{"resets in the body", "http", afterRequest(says(okOfTen+"12345", func(c *net.TCPConn) {
		_ = c.CloseWrite()
	})), "ADDRESS closed the connection before the end of the response"},
	{"half-closes in the body", "http", afterRequest(says(okOfTen+"12345", halfClose)),
		"ADDRESS closed the connection before the end of the response"},
	{"an invalid chunk", "http",
		afterRequest(says("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n", hang)),
		"the body is not valid: the length of a chunk is not a number"},
	{"a chunk that is too long", "http",
		afterRequest(says("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nffffffffffffffffff\r\n", hang)),
		"the body is not valid: the length of a chunk is too large"},
	{"an endless body", "http", afterRequest(says("HTTP/1.1 200 OK\r\n\r\n", endless("text"))), ""},
	{"a redirect to nowhere", "http",
		afterRequest(says("HTTP/1.1 302 Found\r\nLocation: ://\r\nContent-Length: 0\r\n\r\n", hang)),
		`the target redirects to an invalid URL (Location): "://"`},
	{"a redirect to a file", "http",
		afterRequest(says("HTTP/1.1 302 Found\r\nLocation: file:///etc/passwd\r\nContent-Length: 0\r\n\r\n", hang)),
		"the target redirects to a URL that is neither http nor https"},
}

// TestFaults checks what an HTTP check says of each fault of a server or a network. ADDRESS stands for the server's.
func TestFaults(t *testing.T) {
	t.Parallel()
	for _, c := range faults {
		t.Run(c.name, func(t *testing.T) {
			address := faulty(t, c.fault)
			timeout := testTimeout
			if strings.HasSuffix(c.failure, "within 0.15 s") {
				timeout = 150 * time.Millisecond
			}
			began := time.Now()
			o := Run(t.Context(), new(Network), probe(t, "http", fields(t, "url", c.scheme+"://"+address+"/")), timeout)
			if taken := time.Since(began); taken > testTimeout/2 {
				t.Errorf("the check took %s", taken)
			}
			expectFailure(t, o, strings.ReplaceAll(c.failure, "ADDRESS", address))
			expectPlain(t, o)
		})
	}
}

// TestSlowBytes checks that a server cannot keep a check busy with single bytes.
func TestSlowBytes(t *testing.T) {
	address := faulty(t, afterRequest(func(conn *net.TCPConn) {
		fmt.Fprint(conn, "HTTP/1.1 200 OK\r\nContent-Length: 1000000\r\n\r\n")
		ticker := time.NewTicker(5 * time.Millisecond)
		defer ticker.Stop()
		for range ticker.C {
			if _, err := conn.Write([]byte("x")); err != nil {
				return
			}
		}
	}))
	o := Run(t.Context(), new(Network), probe(t, "http", fields(t, "url", "http://"+address+"/")), 100*time.Millisecond)
	expectFailure(t, o, "the response from "+address+" did not end within 0.1 s")
}

// TestEveryTypeEnds checks that every type ends at its timeout and when it is interrupted, against a server that only
// accepts and one that resets, and says so.
func TestEveryTypeEnds(t *testing.T) {
	t.Parallel()
	silent, broken := faulty(t, hang), faulty(t, reset)
	for _, typ := range Types {
		if typ.Name == "icmp" || typ.Name == "dns" {
			continue // not over TCP
		}
		for _, address := range []string{silent, broken} {
			host, port, _ := net.SplitHostPort(address)
			all := map[string]string{
				"url": `"` + map[monitor.MonitorType]string{"http": "http", "websocket": "ws"}[typ.Name] + "://" +
					address + `"`,
				"host": `"` + host + `"`, "port": port, "expect": `"x"`,
			}
			given := "{}"
			for _, f := range typ.Fields {
				if value, ok := all[f.Name]; ok {
					given = strings.Replace(strings.Replace(given, "}", fmt.Sprintf(",%q: %s}", f.Name, value), 1),
						"{,", "{", 1)
				}
			}
			p := probe(t, typ.Name, given)
			o := Run(t.Context(), new(Network), p, 100*time.Millisecond)
			expectPlain(t, o)
			if o.Failure == "" || o.Answered || o.Unknown {
				t.Errorf("%s: %+v", typ.Name, o)
			}
			if o.Phases.Total > testTimeout/2 {
				t.Errorf("%s took %s", typ.Name, o.Phases.Total)
			}
			ctx, cancel := context.WithCancel(t.Context())
			time.AfterFunc(20*time.Millisecond, cancel)
			if o = Run(ctx, new(Network), p, testTimeout); o.Phases.Total > testTimeout/2 {
				t.Errorf("%s took %s after it was interrupted", typ.Name, o.Phases.Total)
			}
		}
	}
}

// expectPlain checks that an outcome has nothing but plain words, and no more than is kept.
func expectPlain(t *testing.T, o Outcome) {
	t.Helper()
	for _, text := range []string{
		"tls:", "http:", "net/http", "x509:", "dial tcp", "read tcp", "write tcp", "EOF", "i/o", "lookup ", "syscall",
		"context ", "textproto", "malformed", "unexpected",
	} {
		if strings.Contains(o.Failure, text) {
			t.Errorf("failure %q", o.Failure)
		}
	}
	if !utf8.ValidString(o.Failure) || strings.ContainsFunc(o.Failure, unicode.IsControl) || len(o.Failure) > 2_000 {
		t.Errorf("failure %q", o.Failure)
	}
	if len(o.Body) > monitor.MaxFailedBody || !utf8.ValidString(o.Body) || strings.Contains(o.Body, "\x00") {
		t.Errorf("body %q", o.Body)
	}
}

// TestNames checks what is said of names without an address.
func TestNames(t *testing.T) {
	server := nameServer(t, "four.example. 60 IN A 127.0.0.1")
	n := &Network{Resolver: &net.Resolver{
		PreferGo: true, Dial: func(ctx context.Context, network, _ string) (net.Conn, error) {
			return new(net.Dialer).DialContext(ctx, "tcp", server)
		},
	}}
	for host, failure := range map[string]string{
		"no.example":     "the name no.example has no address",
		"broken.example": "the name broken.example could not be resolved",
	} {
		o := Run(t.Context(), n, probe(t, "tcp", fields(t, "host", host, "port", 1)), testTimeout)
		expectFailure(t, o, failure)
		if o.Answered {
			t.Errorf("%s: a name server is no answer of the target", host)
		}
	}
	o := Run(t.Context(), n, probe(t, "tcp", fields(t, "host", "four.example", "port", 1, "ip_version", "6")),
		testTimeout)
	expectFailure(t, o, "the name four.example has no IPv6 address")
	o = Run(t.Context(), n, probe(t, "tcp", fields(t, "host", "four.example", "port", 1)), testTimeout)
	if o.Failure != "connection refused by 127.0.0.1:1" || o.Phases.DNS <= 0 {
		t.Errorf("outcome %+v", o)
	}
	silent, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer silent.Close()
	n.Resolver = &net.Resolver{PreferGo: true, Dial: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "udp", silent.LocalAddr().String())
	}}
	o = Run(t.Context(), n, probe(t, "http", fields(t, "url", "http://four.example/")), 100*time.Millisecond)
	expectFailure(t, o, "the name four.example could not be resolved within 0.1 s")
}

// TestProxy checks requests through a proxy, and one that refuses.
func TestProxy(t *testing.T) {
	target := webServer(t, true, func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "through") })
	var got string
	proxy := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		got = r.Header.Get("Proxy-Authorization")
		if got == "" {
			w.WriteHeader(http.StatusProxyAuthRequired)
			return
		}
		to, err := net.Dial("tcp", target.Listener.Addr().String())
		if err != nil {
			return
		}
		w.WriteHeader(http.StatusOK)
		from, sent, err := http.NewResponseController(w).Hijack()
		if err != nil {
			return
		}
		relay(to, sent, from)
		from.Close()
	}))
	defer proxy.Close()
	given := []any{"url", "https://hidden.example/", "insecure", true, "proxy", proxy.URL, "body_contains", "through"}
	o := runOnce(t, "http", fields(t, given...))
	expectFailure(t, o, "the proxy refused to connect: HTTP 407")
	if to := probe(t, "http", fields(t, given...)).Target(); to != (Target{Host: "hidden.example"}) {
		t.Errorf("target %+v, which may not be reachable without the proxy", to)
	}
	expectGood(t, runOnce(t, "http", fields(t, append(given, "proxy_username", "u", "proxy_password", "p")...)))
	if got != "Basic dTpw" {
		t.Errorf("credentials %q", got)
	}
}

// relay passes on what both sides of a proxy send.
func relay(to net.Conn, sent io.Reader, from io.Writer) {
	go func() { _, _ = io.Copy(to, sent); to.Close() }() // what is in the buffer, too
	_, _ = io.Copy(from, to)
}

// proxyFault is a check through a proxy that fails.
type proxyFault struct {
	name, url, proxy, failure string // PROXY is the proxy's address
	answered                  bool
}

// forward starts a proxy that answers with a status and a header, and returns its URL.
func forward(t *testing.T, status int, header, value string) string {
	t.Helper()
	return webServer(t, false, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set(header, value)
		w.WriteHeader(status)
	}).URL
}

func proxyFaults(t *testing.T) []proxyFault {
	t.Helper()
	connected := "HTTP/1.1 200 OK\r\n\r\n"
	a := newAuthority(t)
	certificate, _ := a.issue(t, 1000*time.Hour)
	secure := fmt.Sprintf("https://127.0.0.1:%d",
		serveTLS(t, &tls.Config{Certificates: []tls.Certificate{certificate}}))
	return []proxyFault{
		{"refuses to connect", "https://hidden.example/", forward(t, 502, "X", "y"),
			"the proxy refused to connect: HTTP 502", false},
		{"refused", "https://hidden.example/", "http://" + closedPort(t).String(),
			"connection refused by PROXY (the proxy)", false},
		{"says nothing", "https://hidden.example/", "http://" + faulty(t, afterRequest(func(c *net.TCPConn) {})),
			"PROXY (the proxy) closed the connection without a response", false},
		{"hangs", "https://hidden.example/", "http://" + faulty(t, hang),
			"no response from PROXY (the proxy) within 0.3 s", false},
		{"speaks no HTTP", "https://hidden.example/",
			"http://" + faulty(t, afterRequest(says("SSH-2.0\r\n\r\n", hang))),
			`PROXY (the proxy) does not speak HTTP: its answer begins with "SSH-2.0"`, false},
		{"no certificate", "https://hidden.example/", secure,
			"the proxy: the certificate is not signed by a trusted authority", false},
		{"the target closes", "https://hidden.example/",
			"http://" + faulty(t, afterRequest(says(connected, afterHello(func(c *net.TCPConn) {})))),
			"hidden.example:443 closed the connection during the TLS handshake", false},
		{"the target does not speak TLS", "https://hidden.example/",
			"http://" + faulty(t, afterRequest(says(connected, afterHello(says("220 ready\r\n", hang))))),
			`hidden.example:443 does not speak TLS: its answer begins with "220 r"`, true},
		{"wants a password", "http://hidden.example/", forward(t, 407, "X", "y"),
			"the proxy refused to connect: HTTP 407", false},
		{"its own error", "http://hidden.example/", forward(t, 500, "Proxy-Status", "squid; error=dns_error"),
			"the proxy failed: HTTP 500", false},
		{"an error of either", "http://hidden.example/", forward(t, 504, "X", "y"),
			"HTTP 504 from the proxy or the target (expected 200–299)", false},
		{"a bad gateway of either", "http://hidden.example/", forward(t, 502, "X", "y"),
			"HTTP 502 from the proxy or the target (expected 200–299)", false},
		{"an overload of either", "http://hidden.example/", forward(t, 503, "X", "y"),
			"HTTP 503 from the proxy or the target (expected 200–299)", false},
		{"an error of the target", "http://hidden.example/", forward(t, 500, "X", "y"), "HTTP 500 (expected 200–299)",
			true},
		{"SOCKS", "http://hidden.example/",
			"socks5://" + faulty(t, socks("\x05\x04\x00\x01\x00\x00\x00\x00\x00\x00", hang)),
			"PROXY (the proxy) did not connect to the target", false},
		{"SOCKS, and the target closes", "http://hidden.example/",
			"socks5://" +
				faulty(t, socks("\x05\x00\x00\x01\x00\x00\x00\x00\x00\x00", afterRequest(func(c *net.TCPConn) {}))),
			"hidden.example:80 closed the connection before the end of the response", false},
	}
}

// TestProxyFails checks that what a proxy says is not the target's answer, and is named as the proxy's.
func TestProxyFails(t *testing.T) {
	t.Parallel()
	for _, c := range proxyFaults(t) {
		t.Run(c.name, func(t *testing.T) {
			timeout := 10 * time.Second // more than a handshake takes on a machine that does other work
			if c.name == "hangs" {
				timeout = 300 * time.Millisecond
			}
			o := Run(t.Context(), new(Network), probe(t, "http", fields(t, "url", c.url, "proxy", c.proxy)), timeout)
			_, address, _ := strings.Cut(c.proxy, "://")
			expectFailure(t, o, strings.ReplaceAll(c.failure, "PROXY", address))
			if o.Answered != c.answered || !c.answered && o.Phases.FirstByte != 0 || !o.CertificateExpiresAt.IsZero() {
				t.Errorf("outcome %+v", o)
			}
			if strings.HasPrefix(c.url, "https") && o.Phases.TLS != 0 {
				t.Errorf("the handshake with the proxy is the target's: %+v", o.Phases)
			}
		})
	}
}

// socks speaks SOCKS5 without authentication, and then answers a request.
func socks(answer string, then func(*net.TCPConn)) func(*net.TCPConn) {
	return func(conn *net.TCPConn) {
		var hello [3]byte
		var request [4 + 1 + len("hidden.example") + 2]byte
		if _, err := io.ReadFull(conn, hello[:]); err != nil {
			return
		}
		fmt.Fprint(conn, "\x05\x00")
		if _, err := io.ReadFull(conn, request[:]); err == nil {
			says(answer, then)(conn)
		}
	}
}

// TestOAuth checks that an access token is requested once, and again after it was refused.
func TestOAuth(t *testing.T) {
	requested, obtaining := 0, time.Duration(0)
	s := webServer(t, false, func(w http.ResponseWriter, r *http.Request) {
		switch {
		case r.URL.Path == "/token":
			requested++
			began := time.Now()
			_ = sha256.Sum256(make([]byte, 16<<20)) // which takes a while
			obtaining = time.Since(began)
			user, password, ok := r.BasicAuth()
			if !ok || user != "client" || password != "secret" ||
				r.FormValue("grant_type") != "client_credentials" || r.FormValue("scope") != "read write" {
				w.Header().Set("Content-Type", "application/json")
				w.WriteHeader(http.StatusUnauthorized)
				fmt.Fprint(w, `{"error": "invalid_client"}`)
				return
			}
			w.Header().Set("Content-Type", "application/json")
			fmt.Fprintf(w, `{"access_token": "token%d", "token_type": "Bearer", "expires_in": 3600}`, requested)
		case r.Header.Get("Authorization") != fmt.Sprintf("Bearer token%s", r.URL.Query().Get("expect")):
			w.WriteHeader(http.StatusUnauthorized)
			fmt.Fprint(w, r.Header.Get("Authorization"), " is not accepted")
		}
	})
	n := new(Network)
	began := time.Now()
	run := func(path string, secret string) Outcome {
		return Run(t.Context(), n,
			probe(t, "http",
				fields(t, "url", s.URL+path, "oauth2_token_url", s.URL+"/token", "oauth2_client_id", "client",
					"oauth2_client_secret", secret, "oauth2_scopes", []string{"read", "write"})), testTimeout)
	}
	first := run("/?expect=1", "secret")
	expectGood(t, first)
	total := first.Phases.Total
	if total > time.Since(began)-obtaining || total < first.Phases.Connect+first.Phases.FirstByte {
		t.Errorf("obtaining a token is part of the total: %+v", first.Phases)
	}
	expectGood(t, run("/?expect=1", "secret"))
	refused := run("/?expect=2", "secret")
	if expectFailure(t, refused, "HTTP 401 (expected 200–299)"); refused.Body != "Bearer [secret] is not accepted" {
		t.Errorf("the response is kept as %q", refused.Body)
	}
	expectGood(t, run("/?expect=2", "secret"))
	refused = run("/", "wrong")
	expectFailure(t, refused, "the OAuth2 token URL returned HTTP 401 (invalid_client)")
	if !refused.NotAsked || !refused.Answered {
		t.Errorf("a target that was not asked: %+v", refused)
	}
	s.Close()
	o := run("/", "other")
	expectFailure(t, o, "no OAuth2 token: connection refused by "+s.Listener.Addr().String())
}

// TestTokensOfOtherScopes checks that two checks of one client with different scopes have access tokens of their own.
func TestTokensOfOtherScopes(t *testing.T) {
	s := webServer(t, false, func(w http.ResponseWriter, r *http.Request) {
		switch {
		case r.URL.Path == "/token":
			w.Header().Set("Content-Type", "application/json")
			fmt.Fprintf(w, `{"access_token": "may-%s", "token_type": "Bearer", "expires_in": 3600}`,
				r.FormValue("scope"))
		case r.Header.Get("Authorization") != "Bearer may-"+r.URL.Path[1:]:
			w.WriteHeader(http.StatusForbidden)
		}
	})
	n := new(Network)
	for _, scope := range []string{"read", "write", "read"} {
		expectGood(t,
			Run(t.Context(), n,
				probe(t, "http",
					fields(t, "url", s.URL+"/"+scope, "oauth2_token_url", s.URL+"/token", "oauth2_client_id", "client",
						"oauth2_client_secret", "secret", "oauth2_scopes", []string{scope})), testTimeout))
	}
}

// TestJSON checks values in bodies.
func TestJSON(t *testing.T) {
	body :=
		`{"status": "ok", "checks": [{"name": "db", "ms": 12.0}, {"name": "queue", "ms": 3}], "none": null, "on": true,
		"list": [ ], "empty": "", "id": 9007199254740993, "huge": 1E999999999}`
	s := webServer(t, false, func(w http.ResponseWriter, r *http.Request) { fmt.Fprint(w, body) })
	for _, c := range []struct{ path, value, failure string }{
		{"$.status", "ok", ""},
		{"$.status", "", ""},
		{"$.checks[1].name", "queue", ""},
		{"$.checks[0].ms", "12", ""},
		{"$.checks[?(@.name == 'queue')].ms", "3", ""},
		{"$..ms", "12", ""},
		{"$.none", "null", ""},
		{"$.on", "true", ""},
		{"$.status", "bad", "the value at $.status is ok, expected bad"},
		{"$.missing", "ok", "the body has no value at $.missing"},
		{"$.checks[?(@.ms > 3)].name", "db", ""},
		{"$.checks[?@.ms == 3.0].name", "queue", ""},
		{"$.checks[0]", `{"ms": 12, "name": "db"}`, ""},
		{"$", "", ""},
		{"$.list", "[]", ""},
		{"$.list", "[1]", "the value at $.list is [ ], expected [1]"},
		{"$.list[*]", "", "the body has no value at $.list[*]"},
		{"$.empty", "x", `the value at $.empty is "", expected x`},
		{"$.id", "9007199254740993", ""},
		{"$.id", "9007199254740992", "the value at $.id is 9007199254740993, expected 9007199254740992"},
		{"$[?@ == 9007199254740992]", "", "the body has no value at $[?@ == 9007199254740992]"},
		{"$.huge", "1e999999999", ""},
		{"$\n.missing", "", "the body has no value at $ .missing"},
		{"$.huge", "1e999999998", "the value at $.huge is 1E999999999, expected 1e999999998"},
	} {
		o := runOnce(t, "http", fields(t, "url", s.URL, "json_path", c.path, "json_value", c.value))
		expectFailure(t, o, c.failure)
	}
	expectFailure(t, runOnce(t, "http", fields(t, "url", s.URL, "json_path", "$.status", "max_body_size", 20)),
		"the body is not valid JSON; it is longer than the 20 bytes that are read (max_body_size)")
	for _, body = range []string{"<html>", `{"a": 1} <b>Warning</b>`, `{"a": 1}{"a": 1}`, `{"a": 1`, ""} {
		expectFailure(t, runOnce(t, "http", fields(t, "url", s.URL, "json_path", "$.a")), "the body is not valid JSON")
	}
	body = strings.Repeat("[", 2000) + strings.Repeat("]", 2000)
	expectFailure(t, runOnce(t, "http", fields(t, "url", s.URL, "json_path", "$[0]")),
		"the body has more than 1000 arrays and objects within each other")
	typ, _ := TypeOf("http")
	for _, path := range []string{"status", "$.foo-bar", "$ ", "$[?@.a === 1]", "$["} {
		_, _, err := typ.Read(object(t, fields(t, "url", s.URL, "json_path", path)))
		if bad, ok := err.(*kernel.ValidationError); !ok || len(bad.Messages()["json_path"]) != 1 {
			t.Errorf("%s: %v", path, err)
		}
	}
}

// TestNginx checks a server that is not written in Go, with HTTP/1.1, HTTP/2 and TLS.
func TestNginx(t *testing.T) {
	bin, err := exec.LookPath("nginx")
	if err != nil {
		if bin = "/usr/sbin/nginx"; !isFile(bin) {
			if os.Getenv("ALLSWELL_TEST_REQUIRE_NGINX") == "1" {
				t.Fatal("nginx is not installed")
			}
			t.Skip("skipped: nginx is not installed")
		}
	}
	a := newAuthority(t)
	_, both := a.issue(t, 1000*time.Hour)
	dir, port, secure := t.TempDir(), freeport.Port(t), freeport.Port(t)
	write := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	pem := write("pem", both)
	config := write("nginx.conf", fmt.Sprintf(`daemon off; master_process off; pid %[1]s/pid; error_log %[1]s/error.log;
events {}
http {
	access_log off; client_body_temp_path %[1]s/a; proxy_temp_path %[1]s/b; fastcgi_temp_path %[1]s/c; uwsgi_temp_path %[1]s/d; scgi_temp_path %[1]s/e;
	server {
		listen 127.0.0.1:%[2]d; listen 127.0.0.1:%[3]d ssl http2; ssl_certificate %[4]s; ssl_certificate_key %[4]s;
		location / { add_header X-Protocol $server_protocol; return 200 "well\n"; }
		location /gone { return 410; }
		location /moved { return 301 https://127.0.0.1:%[3]d/; }
	}
}`, dir, port, secure, pem))
	startServer(t, exec.Command(bin, "-e", filepath.Join(dir, "error.log"), "-c", config))
	plain := fmt.Sprintf("http://127.0.0.1:%d", port)
	await(t, probe(t, "http", fields(t, "url", plain)), func(o Outcome) bool { return o.Failure == "" })
	expectFailure(t, runOnce(t, "http", fields(t, "url", plain+"/gone")), "HTTP 410 (expected 200–299)")
	for version, protocol := range map[string]string{"1.1": "HTTP/1.1", "2": "HTTP/2.0"} {
		o := runOnce(t, "http", fields(t, "url", plain+"/moved", "ca_certificates", a.pem, "body_contains", "well"))
		expectGood(t, o)
		o = runOnce(t, "http",
			fields(t, "url", fmt.Sprintf("https://127.0.0.1:%d", secure), "ca_certificates", a.pem, "http_version",
				version, "expected_headers", map[string]string{"X-Protocol": protocol}))
		expectGood(t, o)
		if o.CertificateExpiresAt.IsZero() || o.Phases.TLS <= 0 {
			t.Errorf("outcome %+v", o)
		}
	}
}

func isFile(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode().IsRegular()
}

// TestVersions checks servers that speak no version of TLS that we do.
func TestVersions(t *testing.T) {
	a := newAuthority(t)
	certificate, _ := a.issue(t, time.Hour*1000)
	port := serveTLS(t, &tls.Config{
		Certificates: []tls.Certificate{certificate}, MinVersion: tls.VersionTLS10, MaxVersion: tls.VersionTLS11,
	})
	o := runOnce(t, "tls", fields(t, "host", "127.0.0.1", "port", port, "ca_certificates", a.pem))
	expectFailure(t, o, fmt.Sprintf("127.0.0.1:%d refused the TLS handshake: no common version of TLS", port))
	u, err := url.Parse(fmt.Sprintf("https://127.0.0.1:%d", port))
	if err != nil || urlTarget(u) != (Target{"127.0.0.1", port}) {
		t.Errorf("target %+v", urlTarget(u))
	}
}
