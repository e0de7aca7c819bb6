package server

import (
	"bufio"
	"bytes"
	"context"
	"crypto/x509"
	"encoding/pem"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/allswell/allswell/test/syncbuffer"
)

// issueCertificate writes a certificate to cert.pem and key.pem. It returns a server that has it, whose client trusts
// it.
func issueCertificate(t *testing.T) *httptest.Server {
	t.Helper()
	issued := httptest.NewUnstartedServer(nil) // for its certificate
	issued.EnableHTTP2 = true
	issued.StartTLS()
	t.Cleanup(issued.Close)
	private, err := x509.MarshalPKCS8PrivateKey(issued.TLS.Certificates[0].PrivateKey)
	if err != nil {
		t.Fatal(err)
	}
	for path, block := range map[string]*pem.Block{
		"cert.pem": {Type: "CERTIFICATE", Bytes: issued.Certificate().Raw},
		"key.pem":  {Type: "PRIVATE KEY", Bytes: private},
	} {
		if err := os.WriteFile(path, pem.EncodeToMemory(block), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return issued
}

// roundTrip sends a request with a token, and follows no redirect.
func roundTrip(t *testing.T, client *http.Client, token, method, url, body string) *http.Response {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), method, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer "+token)
	res, err := client.Transport.RoundTrip(r)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { res.Body.Close() })
	return res
}

func checkOverTLS(t *testing.T, url string, do func(method, url, body string) *http.Response) {
	t.Helper()
	page := do("GET", url+"/status/acme", "")
	if page.StatusCode != http.StatusOK || page.ProtoMajor != 2 ||
		page.Header.Get("Strict-Transport-Security") != "max-age=15552000" {
		t.Errorf("the page: %s %s %v", page.Proto, page.Status, page.Header)
	}
}

// checkOverHTTP checks that pages are redirected, the API is refused, and pings are taken.
func checkOverHTTP(t *testing.T, url string, do func(method, url, body string) *http.Response) {
	t.Helper()
	redirect := do("GET", url+"/status/acme", "")
	got := redirect.Header.Get("Location")
	if redirect.StatusCode != http.StatusPermanentRedirect || got != "https://status.example.com/status/acme" {
		t.Errorf("over HTTP: %s, to %s", redirect.Status, got)
	}
	if res := do("GET", url+"/api/v1/pages", ""); res.StatusCode != http.StatusForbidden {
		t.Errorf("the API over HTTP: %s", res.Status)
	}
	if res := do("GET", url+"/api/v1/heartbeat/nothing", ""); res.StatusCode != http.StatusNotFound {
		t.Errorf("a ping over HTTP: %s", res.Status)
	}
}

func checkExpiryMetric(t *testing.T, notAfter time.Time, res *http.Response) {
	t.Helper()
	metrics, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	expiry := strconv.FormatFloat(float64(notAfter.Unix()), 'g', -1, 64)
	if !strings.Contains(string(metrics), "\nallswell_certificate_expiry_timestamp_seconds "+expiry+"\n") {
		t.Errorf("the metrics do not contain the expiry of the certificate, %s:\n%s", expiry, metrics)
	}
}

// TestTLSFromFiles checks a server with a certificate from files: pages, an event stream and a stop over HTTP/2.
func TestTLSFromFiles(t *testing.T) {
	t.Chdir(t.TempDir())
	issued := issueCertificate(t)
	var log syncbuffer.Buffer
	cfg := Config{
		Listen: "127.0.0.1:0", Database: "sqlite:allswell.db", BaseURL: "https://status.example.com",
		CheckInterval: time.Minute, FailureThreshold: 3,
		BootstrapToken: strings.Repeat("t", 40),
		TLS:            TLSConfig{CertFile: "cert.pem", KeyFile: "key.pem", RedirectListen: "127.0.0.1:0"},
	}
	s, err := New(t.Context(), cfg, slog.New(slog.NewTextHandler(&log, nil)))
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- s.Run(ctx) }()

	url := "https://" + s.Addr().String()
	do := func(method, url, body string) *http.Response {
		t.Helper()
		return roundTrip(t, issued.Client(), cfg.BootstrapToken, method, url, body)
	}
	for deadline := time.Now().Add(time.Minute); do("GET", url+"/readyz", "").StatusCode != http.StatusOK; {
		if time.Now().After(deadline) {
			t.Fatal("the server is not ready")
		}
	}
	created := do("POST", url+"/api/v1/pages", `{"name": "Acme", "slug": "acme"}`)
	if created.StatusCode != http.StatusCreated {
		t.Fatalf("creating a page: %s", created.Status)
	}
	checkOverTLS(t, url, do)
	checkOverHTTP(t, "http://"+s.redirectListener.Addr().String(), do)
	line := `ALLSWELL_REDIRECT_LISTEN" address=` + s.redirectListener.Addr().String()
	if !strings.Contains(log.String(), line) {
		t.Errorf("the log does not contain %s:\n%s", line, log.String())
	}
	checkExpiryMetric(t, issued.Certificate().NotAfter, do("GET", url+"/metrics", ""))
	stream := do("GET", url+"/status/acme/events", "")
	if stream.StatusCode != http.StatusOK || stream.Header.Get("Content-Type") != "text/event-stream" {
		t.Fatalf("the event stream: %s", stream.Status)
	}

	stop()
	if _, err := io.ReadAll(stream.Body); err != nil {
		t.Errorf("the stream does not end in order: %v", err)
	}
	if err := <-ended; err != nil {
		t.Errorf("the stop: %v", err)
	}
	if strings.Contains(log.String(), "cut off") {
		t.Errorf("requests were cut off:\n%s", log.String())
	}
}

// awaitCondition waits until something is so. Otherwise it ends the test with what is not.
func awaitCondition(t *testing.T, not string, done func() bool) {
	t.Helper()
	deadline, tick := time.After(time.Minute), time.NewTicker(10*time.Millisecond)
	defer tick.Stop()
	for !done() {
		select {
		case <-deadline:
			t.Fatal(not)
		case <-tick.C:
		}
	}
}

// TestStopDrainsAllListeners checks that the listener for pings over HTTP is drained like the listener for HTTPS: it
// takes no new connections while a request that was accepted before is in progress, and that request is answered.
func TestStopDrainsAllListeners(t *testing.T) {
	t.Chdir(t.TempDir())
	certificate, key := writeCertificate(t, ".")
	s, err := New(t.Context(), Config{
		Listen: "127.0.0.1:0", Database: "sqlite:allswell.db", BaseURL: "https://status.example.com",
		CheckInterval: time.Minute, FailureThreshold: 3,
		TLS: TLSConfig{CertFile: certificate, KeyFile: key, RedirectListen: "127.0.0.1:0"},
	}, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	ended := make(chan error, 1)
	go func() { ended <- s.Run(ctx) }()

	address := s.redirectListener.Addr().String()
	conn, err := net.Dial("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	_, err = io.WriteString(conn, "POST /api/v1/heartbeat/unknown HTTP/1.1\r\nHost: status.example.com\r\n")
	if err != nil {
		t.Fatal(err)
	}
	awaitCondition(t, "the server does not read the request", func() bool {
		return s.Ready() && s.connections.Phases()["reading"] == 1
	})

	stop()
	awaitCondition(t, "the listener is not closed", func() bool {
		c, err := net.DialTimeout("tcp", address, 250*time.Millisecond)
		if err == nil {
			c.Close()
		}
		return err != nil
	})
	if _, err := io.WriteString(conn, "\r\n"); err != nil {
		t.Fatal(err)
	}
	answer, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		t.Fatalf("the request in progress: %v", err)
	}
	defer answer.Body.Close()
	if answer.StatusCode != http.StatusNotFound || !answer.Close {
		t.Errorf("the request in progress: %s", answer.Status)
	}
	if err := <-ended; err != nil {
		t.Errorf("the stop: %v", err)
	}
}

// TestWrongTLSFiles checks that a start with wrong files fails with an error that names the setting and the file.
func TestWrongTLSFiles(t *testing.T) {
	dir := t.TempDir()
	missing, nonsense := filepath.Join(dir, "missing.pem"), filepath.Join(dir, "nonsense.pem")
	if err := os.WriteFile(nonsense, []byte("nonsense"), 0o600); err != nil {
		t.Fatal(err)
	}
	for want, c := range map[string]TLSConfig{
		"ALLSWELL_TLS_CERT, ALLSWELL_TLS_KEY: open " + missing: {CertFile: missing, KeyFile: missing},
		"ALLSWELL_TLS_CERT, ALLSWELL_TLS_KEY: " + nonsense:     {CertFile: nonsense, KeyFile: nonsense},
		"ALLSWELL_ACME_CA: open " + missing:                    {Auto: true, ACMECA: missing},
		"ALLSWELL_ACME_CA: " + nonsense + " contains no":       {Auto: true, ACMECA: nonsense},
	} {
		cfg := Config{
			Listen: "127.0.0.1:0", Database: "sqlite:" + filepath.Join(dir, "x.db"),
			BaseURL: "https://status.example.com", TLS: c,
		}
		s, err := New(t.Context(), cfg, slog.New(slog.DiscardHandler))
		if err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("the error for %+v: %v, want %s", c, err, want)
			if s != nil {
				s.Close()
			}
		}
	}
}

// TestHandshakeErrorsAreDebugMessages checks that strangers cannot fill the log.
func TestHandshakeErrorsAreDebugMessages(t *testing.T) {
	var log bytes.Buffer
	w := handshakeErrors{slog.New(slog.NewTextHandler(&log, nil))}
	w.Write([]byte("http: TLS handshake error from 192.0.2.1:1: EOF\n"))
	if log.Len() > 0 {
		t.Errorf("a handshake error is logged: %s", log.String())
	}
	w.Write([]byte("http: panic serving 192.0.2.1:1: x\n"))
	if !strings.Contains(log.String(), `level=WARN msg="http: panic serving`) {
		t.Errorf("a panic is logged as %q", log.String())
	}
}
