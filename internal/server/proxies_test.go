package server

import (
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/allswell/allswell/internal/worker/ping"
	"github.com/allswell/allswell/test/freeport"
	"github.com/allswell/allswell/test/syncbuffer"
)

// checkLongPings sends pings whose body is longer than proxies permit by default, as jobs that send their output do.
// They are answered as without a proxy.
func checkLongPings(t *testing.T, backend, front string) {
	t.Helper()
	body := strings.Repeat("a line of the output of a job\n", 1<<18) // 8 MB
	send := func(base, prefix string) (status int, contentType string) {
		r, err := http.NewRequestWithContext(t.Context(), "POST", base+prefix+"unknown", strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		status, h, _ := do(t, r)
		return status, h.Get("Content-Type")
	}
	for _, prefix := range ping.Prefixes {
		want, wantType := send(backend, prefix)
		for range 3 {
			if status, contentType := send(front, prefix); status != want || contentType != wantType {
				t.Errorf("a ping of %s with %d bytes: %d %s, without a proxy %d %s", prefix, len(body), status,
					contentType, want, wantType)
			}
		}
	}
}

const secretInURL = "a-secret-address"

// requestSecrets requests addresses that are secrets, and wants a status, or any if that is 0.
func requestSecrets(t *testing.T, front string, want int) {
	t.Helper()
	paths := []string{
		"/status/acme/subscription/", "/status/acme/unsubscribe/", "/subscription/", "/unsubscribe/", "/s/", "/u/",
		"/admin/alert-link?key=", "/admin/on-call.ics?key=", "/admin/enter?code=", "/admin/accept?signed_in=1&code=",
		"/admin/confirm-address?code=",
		"/status/acme?key=", "/status/acme/feed.atom?lang=de&key=", "/?key=", "/status/private/events?key=",
	}
	for _, path := range append(paths, ping.Prefixes...) {
		if status, _, _ := get(t, front+path+secretInURL); status != want && want != 0 {
			t.Errorf("%s: %d", path, status)
		}
	}
}

// checkSecretsAreNotLogged requests addresses that are secrets through a proxy whose backend is down. The proxy logs
// that error, but not the secret.
func checkSecretsAreNotLogged(t *testing.T, front string, log *syncbuffer.Buffer) {
	t.Helper()
	requestSecrets(t, front, http.StatusBadGateway)
	if status, _, _ := get(t, front+"/api/v1/not-a-secret"); status != http.StatusBadGateway {
		t.Errorf("the API: %d", status)
	}
	checkLog(t, log)
}

// checkLog checks what a proxy has logged, when it has logged the request for /api/v1/not-a-secret, which was the last
// one.
func checkLog(t *testing.T, log *syncbuffer.Buffer) {
	t.Helper()
	deadline, tick := time.After(20*time.Second), time.NewTicker(10*time.Millisecond)
	defer tick.Stop()
	for !strings.Contains(log.String(), "/api/v1/not-a-secret") {
		select {
		case <-deadline:
			t.Fatalf("the proxy did not log a request\n%s", log.String())
		case <-tick.C:
		}
	}
	for line := range strings.Lines(log.String()) {
		if strings.Contains(line, secretInURL) {
			t.Errorf("the proxy logged a secret: %s", line)
		}
	}
}

// TestCaddyPassesPages runs deploy/caddy/Caddyfile, with an access log. Without Caddy it is skipped, or fails if
// ALLSWELL_TEST_REQUIRE_CADDY is 1.
func TestCaddyPassesPages(t *testing.T) {
	t.Parallel()
	program := findProgram(t, "caddy", "ALLSWELL_TEST_REQUIRE_CADDY")
	raw, err := os.ReadFile("../../deploy/caddy/Caddyfile")
	if err != nil {
		t.Fatal(err)
	}
	b := newCountingBackend(t)
	dir, address := t.TempDir(), freeport.Address(t)
	file := filepath.Join(dir, "Caddyfile")
	conf := strings.NewReplacer("{\n\t# Secrets", "{\n\tadmin off\n\t# Secrets", "\nstatus.example.com {",
		"\nhttp://"+address+" {\n\tlog",
		"127.0.0.1:8080", strings.TrimPrefix(b.url, "http://")).Replace(string(raw))
	if err := os.WriteFile(file, []byte(conf), 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(program, "run", "--config", file, "--adapter", "caddyfile")
	cmd.Env = append(os.Environ(), "HOME="+dir, "XDG_CONFIG_HOME="+dir, "XDG_DATA_HOME="+dir)
	log := startProxy(t, address, cmd)
	front := "http://" + address
	checkDocuments(t, front+"/status/acme")
	checkLongPings(t, b.url, front)
	checkStreams(t, b, front)
	requestSecrets(t, front, 0)
	b.stop()
	checkSecretsAreNotLogged(t, front, log)
	if !strings.Contains(log.String(), "handled request") {
		t.Error("Caddy has no access log")
	}
}

// TestHAProxyPassesPings runs deploy/high-availability/haproxy-edge.cfg in front of a replica that can record pings,
// and of two that cannot. Without HAProxy it is skipped, or fails if ALLSWELL_TEST_REQUIRE_HAPROXY is 1.
func TestHAProxyPassesPings(t *testing.T) {
	t.Parallel()
	program := findProgram(t, "haproxy", "ALLSWELL_TEST_REQUIRE_HAPROXY")
	raw, err := os.ReadFile("../../deploy/high-availability/haproxy-edge.cfg")
	if err != nil {
		t.Fatal(err)
	}
	replica := func(other int) string {
		s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path != "/healthz" {
				w.WriteHeader(other)
			}
		}))
		t.Cleanup(s.Close)
		return strings.TrimPrefix(s.URL, "http://")
	}
	address := freeport.Address(t)
	conf := strings.NewReplacer("log /dev/log local0", "log stdout format raw local0", "\tuser haproxy\n", "",
		"\tgroup haproxy\n", "",
		"bind :80\n", "bind "+address+"\n", "node1:8080", replica(http.StatusOK),
		"node2:8080", replica(http.StatusServiceUnavailable), "node3:8080",
		replica(http.StatusServiceUnavailable)).Replace(string(raw))
	file := filepath.Join(t.TempDir(), "haproxy.cfg")
	if err := os.WriteFile(file, []byte(conf), 0o600); err != nil {
		t.Fatal(err)
	}
	log := startProxy(t, address, exec.Command(program, "-db", "-f", file))
	front := "http://" + address
	deadline, tick := time.After(time.Minute), time.NewTicker(50*time.Millisecond)
	defer tick.Stop()
	for !strings.Contains(log.String(), "Server writable/node2 is DOWN") ||
		!strings.Contains(log.String(), "Server writable/node3 is DOWN") {
		select {
		case <-deadline:
			t.Fatalf("HAProxy does not notice which replicas cannot record pings\n%s", log.String())
		case <-tick.C:
		}
	}
	for _, path := range append([]string{"/api/v1/pages/"}, ping.Prefixes...) {
		for range 3 {
			if status, _, _ := get(t, front+path); status != http.StatusOK {
				t.Errorf("%s: %d from a replica that cannot record pings", path, status)
			}
		}
	}
	requestSecrets(t, front, 0)
	get(t, front+"/api/v1/not-a-secret")
	checkLog(t, log)
}
