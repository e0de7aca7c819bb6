package server

import (
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/allswell/allswell/internal/domain/kernel"
	"github.com/allswell/allswell/internal/shared/clientaddr"
	"github.com/allswell/allswell/internal/worker/ping"
	"github.com/allswell/allswell/test/freeport"
	"github.com/allswell/allswell/test/syncbuffer"
)

// pingFrom sends a ping with an unknown token from an address of this machine, and returns the status.
func pingFrom(t *testing.T, front, from string, h http.Header) int {
	t.Helper()
	dialer := net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(from)}}
	client := http.Client{
		Transport: &http.Transport{DialContext: dialer.DialContext, DisableKeepAlives: true},
		Timeout:   30 * time.Second,
	}
	req, err := http.NewRequestWithContext(t.Context(), "POST", front+ping.Path+kernel.NewPingToken(), nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Header = h
	res, err := client.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	io.Copy(io.Discard, res.Body)
	res.Body.Close()
	return res.StatusCode
}

// exemptClient is the address that is exempt from the limit of pings.
const exemptClient = "127.0.9.9"

// allForged returns all headers that could name a client, with the address of the exempt one.
func allForged() http.Header {
	h := make(http.Header)
	for _, header := range clientaddr.Headers() {
		h.Set(header, exemptClient)
	}
	return h
}

// forgedHeaders are headers by which a client would be exempt if it were believed.
var forgedHeaders = []http.Header{
	{}, allForged(), {"Forwarded": {"for=" + exemptClient}}, {"Forwarded": {"for=127.0.0.1"}},
	{"Forwarded": {"for=unknown"}},
	{"Forwarded": {""}},
	{"X-Forwarded-For": {exemptClient}}, {"X-Forwarded-For": {"127.0.0.1", exemptClient}},
	{"X-Forwarded-For": {"nonsense"}},
	{"x_forwarded_for": {exemptClient}},
	{"X-Real-Ip": {exemptClient}}, {"Cf-Connecting-Ip": {exemptClient}},
	{"Connection": {"X-Forwarded-For, close"}, "X-Forwarded-For": {exemptClient}},
}

// TestForgedHeadersThroughNginx runs deploy/nginx/allswell.conf, exempt from the limit of pings. No header
// that a client sends raises its limit or changes its address in the log.
func TestForgedHeadersThroughNginx(t *testing.T) {
	const limited, job = 3, exemptClient
	documented, err := os.ReadFile("../../deploy/nginx/allswell.conf")
	if err != nil {
		t.Fatal(err)
	}
	var log syncbuffer.Buffer
	t.Chdir(t.TempDir())
	cfg := Config{
		Listen: "127.0.0.1:0", Database: "sqlite:allswell.db", CheckInterval: time.Minute, FailureThreshold: 3,
		LogLevel:      slog.LevelDebug,
		PingRateLimit: limited, TrustedProxies: mustNetworks(t, "127.0.0.1"),
		PingExempt: mustNetworks(t, "127.0.0.1, "+job),
	}
	s, err := New(t.Context(), cfg, cfg.Logger(&log))
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if err := s.pings.Start(t.Context(), s.store); err != nil {
		t.Fatal(err)
	}
	defer s.pings.Close(t.Context())
	backend := httptest.NewServer(s.servers[0].Handler)
	defer backend.Close()
	if l, err := net.Listen("tcp", "127.0.1.1:0"); err != nil {
		t.Skip("skipped: this system has one loopback address only: ", err)
	} else {
		l.Close()
	}
	front, _ := startNginx(t, string(documented), strings.TrimPrefix(backend.URL, "http://"))

	for i := range 2 * limited {
		if got := pingFrom(t, front, job, http.Header{}); got != http.StatusNotFound {
			t.Errorf("ping %d of the exempt client: %d", i+1, got)
		}
	}
	clients := []string{job}
	for i, h := range forgedHeaders {
		from := fmt.Sprintf("127.0.1.%d", i+1)
		clients = append(clients, from)
		for n := range 2 * limited {
			want := http.StatusNotFound // the token is unknown, and counts
			if n >= limited {
				want = http.StatusTooManyRequests
			}
			if got := pingFrom(t, front, from, h); got != want {
				t.Errorf("%v, ping %d: %d, want %d", h, n+1, got, want)
			}
		}
	}
	backend.Close() // after the last line of the log
	flushAccessLog(s.log)
	text := log.String()
	for _, client := range clients {
		if got := strings.Count(text, " client="+client+" "); got != 2*limited {
			t.Errorf("%d lines of the log are of the client %s, want %d", got, client, 2*limited)
		}
	}
}

// findProgram returns the path of a program. Without it the test is skipped, or fails if the variable is 1.
func findProgram(t *testing.T, name, variable string) string {
	t.Helper()
	for _, path := range []string{name, "/usr/sbin/" + name} { // the latter is not in the path of ordinary users
		if program, err := exec.LookPath(path); err == nil {
			return program
		}
	}
	if os.Getenv(variable) == "1" {
		t.Fatal(name + " is not installed")
	}
	t.Skip("skipped: " + name + " is not installed")
	return ""
}

// startNginx runs a documented configuration in front of a backend and returns its URL, without TLS, and what it logs.
// Of the configuration only addresses and paths of files are replaced. It listens without TLS, too.
func startNginx(t *testing.T, documented, backend string) (url string, log *syncbuffer.Buffer) {
	t.Helper()
	program := findProgram(t, "nginx", "ALLSWELL_TEST_REQUIRE_NGINX")
	dir, address := t.TempDir(), freeport.Address(t)
	certificate, key := writeCertificate(t, dir)
	for _, change := range [][2]string{
		{"listen 443 ssl", "listen " + address + ";\nlisten unix:" + dir + "/tls ssl"},
		{"listen [::]:443 ", "listen unix:" + dir + "/tls6 "},
		{"listen 80;", "listen unix:" + dir + "/plain;"},
		{"listen [::]:80;", "listen unix:" + dir + "/plain6;"},
		{"/etc/ssl/status.example.com.pem", certificate},
		{"/etc/ssl/status.example.com.key", key},
		{"127.0.0.1:8080", backend},
	} {
		if !strings.Contains(documented, change[0]) {
			t.Fatalf("the configuration does not contain %q", change[0])
		}
		documented = strings.ReplaceAll(documented, change[0], change[1])
	}
	documented = strings.ReplaceAll(documented, "/var/cache/nginx/", dir+"/cache-")
	temporary := ""
	for _, kind := range []string{"client_body", "proxy", "fastcgi", "uwsgi", "scgi"} {
		temporary += kind + "_temp_path " + filepath.Join(dir, kind) + ";\n"
	}
	conf := "daemon off;\nmaster_process off;\npid nginx.pid;\nerror_log stderr;\nevents {}\nhttp {\naccess_log " +
		"/dev/stderr;\n" +
		temporary + documented + "}\n"
	if err := os.WriteFile(filepath.Join(dir, "nginx.conf"), []byte(conf), 0o600); err != nil {
		t.Fatal(err)
	}
	log = startProxy(t, address, exec.Command(program, "-e", "stderr", "-p", dir, "-c", "nginx.conf"))
	return "http://" + address, log
}

// writeCertificate writes a certificate for tests and its key to files in a folder.
func writeCertificate(t *testing.T, dir string) (certificate, key string) {
	t.Helper()
	s := httptest.NewTLSServer(nil)
	defer s.Close()
	pair := s.TLS.Certificates[0]
	private, err := x509.MarshalPKCS8PrivateKey(pair.PrivateKey)
	if err != nil {
		t.Fatal(err)
	}
	certificate, key = filepath.Join(dir, "tls.pem"), filepath.Join(dir, "tls.key")
	for file, block := range map[string]*pem.Block{
		certificate: {Type: "CERTIFICATE", Bytes: pair.Certificate[0]},
		key:         {Type: "PRIVATE KEY", Bytes: private},
	} {
		if err := os.WriteFile(file, pem.EncodeToMemory(block), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return certificate, key
}

// startProxy starts a program, waits until it listens, and ends it with the test. It returns what the program prints.
func startProxy(t *testing.T, address string, cmd *exec.Cmd) *syncbuffer.Buffer {
	t.Helper()
	output := new(syncbuffer.Buffer)
	cmd.Stdout, cmd.Stderr = output, output
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	t.Cleanup(func() {
		cmd.Process.Kill()
		<-ended
	})
	deadline, tick := time.After(time.Minute), time.NewTicker(10*time.Millisecond)
	defer tick.Stop()
	for {
		if conn, err := net.Dial("tcp", address); err == nil {
			conn.Close()
			return output
		}
		select {
		case err := <-ended:
			ended <- err
			t.Fatalf("%s has ended: %v\n%s", cmd.Path, err, output.String())
		case <-deadline:
			t.Fatalf("%s does not listen\n%s", cmd.Path, output.String())
		case <-tick.C:
		}
	}
}
