package check

import (
	"crypto/tls"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"
)

// webServer starts a server. TLS errors, which tests provoke, are not logged.
func webServer(t *testing.T, secure bool, h http.HandlerFunc) *httptest.Server {
	t.Helper()
	s := httptest.NewUnstartedServer(h)
	s.Config.ErrorLog = quiet
	s.EnableHTTP2 = secure
	if secure {
		s.StartTLS()
	} else {
		s.Start()
	}
	t.Cleanup(s.Close)
	return s
}

// answerByPath answers as the path says.
func answerByPath(w http.ResponseWriter, r *http.Request) {
	switch r.URL.Path {
	case "/teapot":
		http.Error(w, strings.Repeat("short and stout ", 200), http.StatusTeapot)
	case "/loop":
		http.Redirect(w, r, "/loop", http.StatusFound)
	case "/moved":
		http.Redirect(w, r, "/", http.StatusMovedPermanently)
	case "/file":
		w.Header().Set("Location", "file:///etc/passwd")
		w.WriteHeader(http.StatusFound)
	case "/far":
		http.Redirect(w, r, "/near", http.StatusFound)
	case "/near":
		http.Redirect(w, r, "/teapot?code=secret", http.StatusFound)
	case "/private":
		if user, password, ok := r.BasicAuth(); !ok || user != "me" || password != "secret" {
			w.WriteHeader(http.StatusUnauthorized)
		}
	case "/echo":
		fmt.Fprintf(w, "%s %s %s %s", r.Method, r.Host, r.Header.Get("X-Key"), r.Header.Get("Authorization"))
	default:
		w.Header().Set("Content-Type", "text/plain; charset=utf-8")
		fmt.Fprint(w, "all is well")
	}
}

// TestHTTP checks what is expected of responses.
func TestHTTP(t *testing.T) {
	s := webServer(t, false, answerByPath)
	for _, c := range []struct {
		name, path, failure string
		more                []any
	}{
		{"good", "/", "", nil},
		{"status", "/teapot", "HTTP 418 (expected 200–299)", nil},
		{"several statuses", "/teapot", "HTTP 418 (expected 200–299, 404)",
			[]any{"expected_statuses", []string{"200-299", "404"}}},
		{"status as expected", "/teapot", "", []any{"expected_statuses", []string{"400-499"}}},
		{"contains", "/", "", []any{"body_contains", "is well"}},
		{"does not contain", "/", "the body does not contain the expected text", []any{"body_contains", "is bad"}},
		{"forbidden text", "/", "the body contains a text that it must not contain",
			[]any{"body_not_contains", "well"}},
		{"matches", "/", "", []any{"body_matches", "^all .* well$"}},
		{"does not match", "/", "the body does not match the regular expression", []any{"body_matches", "^well"}},
		{"read to a maximum", "/",
			"the body does not contain the expected text; it is longer than the 5 bytes that are read (max_body_size)",
			[]any{"body_contains", "well", "max_body_size", 5}},
		{"as long as the maximum", "/", "the body does not contain the expected text",
			[]any{"body_contains", "bad", "max_body_size", len("all is well")}},
		{"header", "/", "", []any{"expected_headers", map[string]string{"content-type": "TEXT/plain"}}},
		{"another header", "/", "the header Content-Type does not contain the expected text",
			[]any{"expected_headers", map[string]string{"Content-Type": "html"}}},
		{"no header", "/", "the response has no header X-A", []any{"expected_headers", map[string]string{"X-A": ""}}},
		{"redirects", "/loop", "more than 10 redirects, in a circle", nil},
		{"redirect to a file", "/file", "the target redirects to a URL that is neither http nor https", nil},
		{"redirected", "/moved", "", []any{"body_contains", "all is well"}},
		{"redirect not followed", "/moved", "HTTP 301 (expected 200–299)", []any{"follow_redirects", false}},
		{"redirected to a failure", "/near", "HTTP 418 (expected 200–299), after a redirect to " + s.URL + "/teapot",
			nil},
		{"redirected twice to a failure", "/far",
			"HTTP 418 (expected 200–299), after 2 redirects, the last one to " + s.URL + "/teapot", nil},
		{"basic authentication", "/private", "", []any{"username", "me", "password", "secret"}},
		{"wrong password", "/private", "HTTP 401 (expected 200–299)", []any{"username", "me", "password", "wrong"}},
		{"request", "/echo", "",
			[]any{
				"method", "POST", "headers", map[string]string{"host": "other.example"}, "secret_headers",
				map[string]string{"x-key": "k"}, "bearer_token", "t", "body_contains", "POST other.example k Bearer t",
			}},
		{"HTTP/1.1", "/", "", []any{"http_version", "1.1"}},
		{"IPv6 only", "/", "127.0.0.1 has no IPv6 address", []any{"ip_version", "6"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			o := runOnce(t, "http", fields(t, append([]any{"url", s.URL + c.path}, c.more...)...))
			expectFailure(t, o, c.failure)
			if c.failure == "" {
				expectGood(t, o)
			}
			if c.name == "status" && (len(o.Body) != 1024 || !strings.HasPrefix(o.Body, "short and stout")) {
				t.Errorf("body %q", o.Body)
			}
			if c.name != "IPv6 only" && (o.Phases.Connect <= 0 || o.Phases.FirstByte <= 0 || !o.Answered) {
				t.Errorf("phases %+v, answered %v", o.Phases, o.Answered)
			}
		})
	}
}

// TestHTTPS checks certificates.
func TestHTTPS(t *testing.T) {
	s := webServer(t, true, func(w http.ResponseWriter, r *http.Request) { fmt.Fprint(w, r.Proto) })
	authority := string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: s.Certificate().Raw}))
	o := runOnce(t, "http", fields(t, "url", s.URL))
	expectFailure(t, o, "the certificate is not signed by a trusted authority")
	if !o.Answered || !o.CertificateExpiresAt.Equal(s.Certificate().NotAfter) {
		t.Errorf("outcome %+v", o)
	}
	for version, text := range map[string]string{"1.1": "HTTP/1.1", "2": "HTTP/2.0"} {
		o = runOnce(t, "http",
			fields(t, "url", s.URL, "ca_certificates", authority, "http_version", version, "body_contains", text))
		expectGood(t, o)
		if o.Phases.TLS <= 0 || !o.CertificateExpiresAt.Equal(s.Certificate().NotAfter) {
			t.Errorf("outcome %+v", o)
		}
	}
	expectGood(t, runOnce(t, "http", fields(t, "url", s.URL, "insecure", true)))
	port := s.Listener.Addr().(*net.TCPAddr).Port
	o = runOnce(t, "http",
		fields(t, "url", fmt.Sprintf("https://localhost:%d", port), "ca_certificates", authority, "ip_version", "4"))
	expectFailure(t, o, "the certificate is not valid for localhost, but for example.com, *.example.com")
	o = runOnce(t, "http", fields(t, "url", fmt.Sprintf("http://127.0.0.1:%d", port)))
	expectFailure(t, o, "HTTP 400 (expected 200–299): the port expects https")
	plain := webServer(t, false, func(http.ResponseWriter, *http.Request) {})
	o = runOnce(t, "http", fields(t, "url", strings.Replace(plain.URL, "http:", "https:", 1)))
	expectFailure(t, o, plain.Listener.Addr().String()+" does not speak TLS, but HTTP: the URL is one of https")
	strict := httptest.NewUnstartedServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	strict.Config.ErrorLog, strict.TLS = quiet, &tls.Config{ClientAuth: tls.RequireAnyClientCert}
	strict.StartTLS()
	defer strict.Close()
	o = runOnce(t, "http", fields(t, "url", strict.URL, "insecure", true))
	expectFailure(t, o, strict.Listener.Addr().String()+" refused the TLS handshake: it requires a client certificate")
}

// TestRedirectElsewhere checks that no other host gets what is for the configured one.
func TestRedirectElsewhere(t *testing.T) {
	var got http.Header
	other := webServer(t, false, func(_ http.ResponseWriter, r *http.Request) { got = r.Header.Clone() })
	s := webServer(t, false, func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, other.URL, http.StatusTemporaryRedirect)
	})
	expectGood(t,
		runOnce(t, "http",
			fields(t, "url", s.URL+"/?token=secret", "headers",
				map[string]string{"X-A": "b", "Cookie": "c=d", "Accept": "text/html"},
				"secret_headers",
				map[string]string{
					"X-Key": "k", "user-agent": "secret", "Referer": "secret", "Accept-Language": "secret",
				},
				"username", "u", "password", "p")))
	for name, values := range got {
		want := map[string]string{
			"User-Agent": "Allswell", "Accept": "text/html", "Connection": "close",
		}[name]
		if want != values[0] {
			t.Errorf("another host got %s: %s", name, values)
		}
	}
}

// TestRedirectBack checks that a host that was left by a redirect gets no header afterwards, and neither does its
// neighbour by a relative redirect.
func TestRedirectBack(t *testing.T) {
	var seen []string
	note := func(w http.ResponseWriter, r *http.Request, to string) {
		seen = append(seen,
			fmt.Sprint(r.URL.Path, r.Header["X-Key"], r.Header["Authorization"], r.Header["Referer"] != nil,
				strings.HasPrefix(r.Host, "127.")))
		if to != "" {
			w.Header().Set("Location", to)
			w.WriteHeader(http.StatusFound)
		}
	}
	var s *httptest.Server
	other := webServer(t, false, func(w http.ResponseWriter, r *http.Request) {
		note(w, r, map[string]string{"/b": "/c", "/c": s.URL + "/d"}[r.URL.Path])
	})
	s = webServer(t, false, func(w http.ResponseWriter, r *http.Request) {
		note(w, r, map[string]string{"/": "/a", "/a": other.URL + "/b"}[r.URL.Path])
	})
	expectGood(t,
		runOnce(t, "http",
			fields(t, "url", s.URL+"/", "secret_headers", map[string]string{"X-Key": "k", "Host": "secret.example"},
				"bearer_token", "x")))
	want := "/[k] [Bearer x] false false,/a[k] [Bearer x] true false,/b[] [] false true,/c[] [] true true,/d[] [] " +
		"false true"
	if got := strings.Join(seen, ","); got != want {
		t.Errorf("headers of the requests:\ngot  %s\nwant %s", got, want)
	}
}

// TestRedirectsLikeABrowser checks which method, body and cookies follow a redirect, to the same host and to another.
func TestRedirectsLikeABrowser(t *testing.T) {
	end := func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		cookies := ""
		for _, c := range r.Cookies() {
			cookies += " " + c.String()
		}
		fmt.Fprintf(w, "%s %q %s%s", r.Method, body, r.Header.Get("Content-Type"), cookies)
	}
	other := webServer(t, false, end)
	otherURL := strings.Replace(other.URL, "127.0.0.1", "localhost", 1)
	s := webServer(t, false, func(w http.ResponseWriter, r *http.Request) {
		status, err := strconv.Atoi(r.URL.Query().Get("status"))
		if err != nil {
			end(w, r)
			return
		}
		http.SetCookie(w, &http.Cookie{Name: "session", Value: "1"})
		to := "/end"
		if r.URL.Query().Has("away") {
			to = otherURL
		}
		w.Header().Set("Location", to)
		w.WriteHeader(status)
	})
	for status, want := range map[int]string{
		301: `GET ""`, 302: `GET ""`, 303: `GET ""`, 307: `POST "a" text/csv`, 308: `POST "a" text/csv`,
	} {
		for query, cookie := range map[string]string{"": " session=1", "&away": ""} {
			url := fmt.Sprintf("%s/?status=%d%s", s.URL, status, query)
			o := runOnce(t, "http",
				fields(t, "url", url, "method", "POST", "body", "a", "headers",
					map[string]string{"Content-Type": "text/csv"},
					"ip_version", "4", "body_matches", "^"+regexp.QuoteMeta(want)+" *"+cookie+"$"))
			if expectGood(t, o); o.Failure != "" {
				t.Errorf("%s: %s", url, o.Body)
			}
		}
	}
}

// TestCertificatesOfEveryHop checks that the certificate that expires first counts, also of a host that only redirects,
// and with insecure.
func TestCertificatesOfEveryHop(t *testing.T) {
	const day = 24 * time.Hour
	a := newAuthority(t)
	secure := func(left time.Duration, h http.HandlerFunc) *httptest.Server {
		s := httptest.NewUnstartedServer(h)
		certificate, _ := a.issue(t, left)
		s.Config.ErrorLog, s.TLS = quiet, &tls.Config{Certificates: []tls.Certificate{certificate}}
		s.StartTLS()
		t.Cleanup(s.Close)
		return s
	}
	last := secure(60*day, func(http.ResponseWriter, *http.Request) {})
	plain := webServer(t, false, func(http.ResponseWriter, *http.Request) {})
	for _, target := range []string{last.URL, plain.URL} {
		redirect := func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, target, http.StatusFound) }
		first, expired := secure(3*day+time.Hour, redirect), secure(-time.Hour, redirect)
		for _, more := range [][]any{{"ca_certificates", a.pem}, {"insecure", true}} {
			o := runOnce(t, "http", fields(t, append(more, "url", first.URL)...))
			if expectGood(t, o); o.Warning != "the certificate expires in 3 days" {
				t.Errorf("%v: outcome %+v", more, o)
			}
			expectFailure(t, runOnce(t, "http", fields(t, append(more, "url", first.URL, "down_days", 7)...)),
				"the certificate expires in 3 days")
		}
		today := "the certificate expired on " + time.Now().Add(-time.Hour).UTC().Format("2006-01-02")
		o := runOnce(t, "http", fields(t, "insecure", true, "url", expired.URL))
		if expectGood(t, o); o.Warning != today {
			t.Errorf("outcome %+v", o)
		}
		expectFailure(t, runOnce(t, "http", fields(t, "insecure", true, "url", expired.URL, "down_days", 1)), today)
	}
}

// TestRedirectToAnotherScheme checks that what was sent to the configured host over TLS is not sent to it again in
// clear.
func TestRedirectToAnotherScheme(t *testing.T) {
	p := probe(t, "http", fields(t, "url", "https://shop.example.com/", "username", "u", "password", "p")).(*httpProbe)
	for target, kept := range map[string]bool{
		"https://shop.example.com/login": true, "http://shop.example.com/login": false,
	} {
		r := &run{network: new(Network)}
		transport := p.transport(r)
		transport.TLSClientConfig.Certificates = make([]tls.Certificate, 1)
		next := httptest.NewRequest(http.MethodGet, target, nil)
		next.SetBasicAuth("u", "p")
		if err := p.redirect(transport, &requests{run: r, url: p.url})(next, nil); err != nil {
			t.Fatal(err)
		}
		if next.Header.Get("Authorization") != "" != kept || len(transport.TLSClientConfig.Certificates) > 0 != kept {
			t.Errorf("%s gets %v and %d certificates", target, next.Header, len(transport.TLSClientConfig.Certificates))
		}
	}
}

// TestRefusedAddresses checks that addresses are refused after DNS, and on redirects.
func TestRefusedAddresses(t *testing.T) {
	s := webServer(t, false, func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, "http://169.254.169.254/latest/", http.StatusFound)
	})
	o := runOnce(t, "http", fields(t, "url", s.URL))
	expectFailure(t, o, "checks may not connect to 169.254.169.254: it belongs to a cloud's metadata service")
	n := &Network{Rules: Rules{Refuse: func(_ string, a netip.AddrPort) error {
		if a.Addr().IsLoopback() {
			return errors.New("it is private")
		}
		return nil
	}}}
	o = Run(t.Context(), n, probe(t, "http", fields(t, "url", strings.Replace(s.URL, "127.0.0.1", "localhost", 1))),
		testTimeout)
	if !strings.HasSuffix(o.Failure, ": it is private") || o.Answered {
		t.Errorf("outcome %+v", o)
	}
}

// TestTCP checks connections, answers and TLS.
func TestTCP(t *testing.T) {
	port := acceptEach(t, func(conn *net.TCPConn) {
		line := make([]byte, 5)
		if n, _ := conn.Read(line); string(line[:n]) == "PING\n" {
			fmt.Fprint(conn, "PO")
			fmt.Fprint(conn, "NG\n")
		}
	})
	expectGood(t, runOnce(t, "tcp", fields(t, "host", "127.0.0.1", "port", port)))
	expectGood(t, runOnce(t, "tcp", fields(t, "host", "localhost", "port", port, "send", "PING\n", "expect", "PONG")))
	o := runOnce(t, "tcp", fields(t, "host", "127.0.0.1", "port", port, "send", "PING\n", "expect", "POONG"))
	expectFailure(t, o, "the answer does not contain the expected text")
	if o.Body != "PONG\n" || !o.Answered {
		t.Errorf("outcome %+v", o)
	}
	o = runOnce(t, "tcp", fields(t, "host", "127.0.0.1", "port", port, "send", "QUIT\n", "expect", "x"))
	expectFailure(t, o, fmt.Sprintf("127.0.0.1:%d closed the connection without a response", port))
	refused := closedPort(t)
	o = runOnce(t, "tcp", fields(t, "host", "127.0.0.1", "port", refused.Port()))
	expectFailure(t, o, "connection refused by "+refused.String())
	if o.Answered {
		t.Error("a refused connection is no answer")
	}
	s := webServer(t, true, func(http.ResponseWriter, *http.Request) {})
	expectGood(t,
		runOnce(t, "tcp",
			fields(t, "host", "127.0.0.1", "port", s.Listener.Addr().(*net.TCPAddr).Port, "tls", true, "insecure",
				true)))
	o = Run(t.Context(), new(Network), probe(t, "tcp", fields(t, "host", "127.0.0.1", "port", port, "expect", "x")),
		50*time.Millisecond)
	expectFailure(t, o, fmt.Sprintf("no response from 127.0.0.1:%d within 0.05 s", port))
}
