package server

import (
	"bytes"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/allswell/allswell/internal/domain/account"
	"github.com/allswell/allswell/internal/domain/kernel"
	"github.com/allswell/allswell/internal/shared/connlimit"
	"github.com/allswell/allswell/internal/store/storetest"
	"github.com/allswell/allswell/test/syncbuffer"
	"github.com/prometheus/client_golang/prometheus/promhttp"
)

// answering returns a handler that writes the name of its surface.
func answering(name string) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, name) })
}

func newTestRouter(log io.Writer, level slog.Level) *router {
	return &router{
		heartbeat: answering("heartbeat"), api: answering("api"), page: answering("page"),
		health: answering("health"), readiness: answering("ready"), metrics: answering("metrics"),
		accessLog: &accessLog{out: log, level: level},
		observed:  newMetrics(), connections: connlimit.New(connlimit.Config{Max: 100, PerAddress: 100}),
	}
}

func TestRoutes(t *testing.T) {
	f := newTestRouter(io.Discard, slog.LevelError)
	for path, want := range map[string]string{
		"/": "page", "/status/acme": "page", "/assets/x.css": "page", "/apiary": "page", "/healthz/": "page",
		"/api": "api", "/api/": "api", "/api/v1/pages": "api", "/api/v1//pages": "api", "/api/v1/heartbeat": "api",
		"/api/v2/summary.json": "page", "/api/v2": "api",
		"/api/v1/heartbeat/": "heartbeat", "/api/v1/heartbeat/x": "heartbeat", "/ping/x": "heartbeat", "/ping": "page",
		"/p/x/y": "heartbeat", "/snitch/x": "heartbeat", "/api/push/x": "heartbeat", "/api/push": "api", "/P/x": "page",
		"/api/v1/heartbeat/x/..": "heartbeat",
		"/healthz":               "health", "/readyz": "ready", "/metrics": "metrics",
	} {
		w := httptest.NewRecorder()
		f.ServeHTTP(w, httptest.NewRequest("GET", "http://localhost"+path, nil))
		if w.Body.String() != want {
			t.Errorf("%s is answered by %s, want %s", path, w.Body, want)
		}
		framed := w.Header().Get("X-Frame-Options") == "DENY" && w.Header().Get("Content-Security-Policy") != ""
		if framed == (want == "page" || want == "heartbeat") || w.Header().Get("X-Content-Type-Options") != "nosniff" {
			t.Errorf("%s has the headers %v", path, w.Header())
		}
	}
}

// TestStreamsAreNotResponseTimes checks that event streams over HTTP/2 are counted, but that their duration is not.
func TestStreamsAreNotResponseTimes(t *testing.T) {
	f := newTestRouter(io.Discard, slog.LevelError)
	f.page = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", r.URL.Query().Get("type"))
		io.WriteString(w, "x")
	})
	for _, kind := range []string{"text/event-stream", "text/html", "text/event-stream"} {
		r := httptest.NewRequest("GET", "/status/acme/events?type="+kind, nil)
		r.Proto, r.ProtoMajor, r.ProtoMinor = "HTTP/2.0", 2, 0
		f.ServeHTTP(httptest.NewRecorder(), r)
	}
	w := httptest.NewRecorder()
	promhttp.HandlerFor(f.observed.registry, promhttp.HandlerOpts{}).ServeHTTP(w,
		httptest.NewRequest("GET", "/metrics", nil))
	for _, want := range []string{
		`allswell_http_requests_total{status="200",surface="page"} 3`,
		`allswell_http_request_seconds_count{surface="page"} 1`,
	} {
		if !strings.Contains(w.Body.String(), want+"\n") {
			t.Errorf("the metrics lack %s:\n%s", want, w.Body)
		}
	}
}

func TestRequestIDsAreUnique(t *testing.T) {
	var a, b requestIDs
	seen := make(map[string]bool)
	for range 1000 {
		for _, id := range []string{a.next(), b.next()} {
			if seen[id] || len(id) != requestIDLength {
				t.Fatalf("the id %s is a duplicate or has a wrong length", id)
			}
			seen[id] = true
		}
	}
	if a.count.Load() != 1000 {
		t.Errorf("%d ids are counted, want 1000", a.count.Load())
	}
}

// TestRequestIDsAreRandom checks that neither the beginnings nor the ends of ids are constant.
func TestRequestIDsAreRandom(t *testing.T) {
	var ids requestIDs
	heads, tails := make(map[string]bool), make(map[string]bool)
	for range 1000 {
		id := ids.next()
		heads[id[:8]], tails[id[len(id)-8:]] = true, true
	}
	if len(heads) < 990 || len(tails) < 990 { // of 2^40 each
		t.Errorf("1000 ids have %d beginnings and %d ends", len(heads), len(tails))
	}
}

func BenchmarkRequestID(b *testing.B) {
	var ids requestIDs
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			ids.next()
		}
	})
}

// TestAccessLog checks the log lines of requests and their levels.
func TestAccessLog(t *testing.T) {
	for _, c := range []struct {
		path  string
		level slog.Level
		want  string // "": no line
	}{
		{"/status/acme?token=hunter2", slog.LevelInfo,
			`level=INFO msg=request method=PUT path=/status/acme status=418 bytes=3 took=`},
		{"/api/v1/heartbeat/0123456789ABCDEFGHIJKLMNOPQRSTUV", slog.LevelInfo, ""},
		{"/api/v1/heartbeat/0123456789ABCDEFGHIJKLMNOPQRSTUV", slog.LevelDebug,
			`level=DEBUG msg=request method=PUT path=/api/v1/heartbeat/… status=418`},
		{"/readyz", slog.LevelInfo, ""},
	} {
		var log bytes.Buffer
		f := newTestRouter(&log, c.level)
		teapot := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(http.StatusEarlyHints)
			w.WriteHeader(http.StatusTeapot)
			io.WriteString(w, "tea")
		})
		f.page, f.heartbeat, f.readiness = teapot, teapot, teapot
		server := httptest.NewServer(f)
		r, err := http.NewRequest("PUT", server.URL+c.path, strings.NewReader("hunter2"))
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Authorization", "Bearer hunter2")
		response, err := server.Client().Do(r)
		if err != nil {
			t.Fatal(err)
		}
		response.Body.Close()
		server.Close() // waits for the handler, which logs after its answer
		line := log.String()
		if c.want == "" {
			if line != "" {
				t.Errorf("%s at %v is logged: %s", c.path, c.level, line)
			}
			continue
		}
		if !strings.Contains(line, c.want) ||
			!strings.Contains(line, "client=127.0.0.1 id="+response.Header.Get("X-Request-Id")) {
			t.Errorf("%s is logged as %s\nwant %s", c.path, line, c.want)
		}
		if strings.Contains(line, "hunter2") || strings.Contains(line, "ABCDEF") {
			t.Errorf("a secret is in the log: %s", line)
		}
	}
}

// TestAccessLogOfAPanic checks that an aborted request is logged.
func TestAccessLogOfAPanic(t *testing.T) {
	var log bytes.Buffer
	f := newTestRouter(&log, slog.LevelInfo)
	f.page = http.HandlerFunc(func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) })
	defer func() {
		if err, _ := recover().(error); !errors.Is(err, http.ErrAbortHandler) {
			t.Errorf("the panic does not reach net/http: %v", err)
		}
		if !strings.Contains(log.String(), "path=/x") {
			t.Errorf("no line in the log: %s", &log)
		}
	}()
	f.ServeHTTP(httptest.NewRecorder(), httptest.NewRequest("GET", "/x", nil))
}

func TestLoggedPath(t *testing.T) {
	token := kernel.NewPingToken()
	for path, want := range map[string]string{
		"":                           "",
		"/":                          "/",
		"/status/acme":               "/status/acme",
		"/status/äöü":                "/status/äöü",
		"/api/v1/heartbeat/" + token: "/api/v1/heartbeat/…",
		"/ping/f618072a-7bde-4eee-af63-71a77c5723bc/start": "/ping/…", "/Ping/0123456789abcdefghijkl/job": "/Ping/…",
		"/p/short/job":       "/p/…",
		"/snitch/c2354d53d2": "/snitch/…", "/api/push/0123456789": "/api/push/…",
		"/API/v1/Heartbeat/" + token[:20]:                        "/API/v1/Heartbeat/…",
		"/x/Heartbeat/" + token[:20]:                             "/x/Heartbeat/…",
		"//x/" + token:                                           "//x/…",
		"/x-" + token + "-y":                                     "/x-…-y",
		"/" + account.NewTokenSecret():                           "/aw_…",
		"/api/v1/incidents/0190d5a4-7c1e-7b1a-8a52-0c1e5a9d2f11": "/api/v1/incidents/0190d5a4-7c1e-7b1a-8a52-0c1e5a9d2f11",
		"/api/v1/monitors/mon_06gvooci5j3bb2of0n77":              "/api/v1/monitors/mon_06gvooci5j3bb2of0n77",
		"/" + strings.Repeat("ä", 150):                           "/" + strings.Repeat("ä", 99) + "…",
	} {
		if got := loggedPath(path); got != want {
			t.Errorf("%s is logged as %s, want %s", path, got, want)
		}
	}
}

var couldBeToken = regexp.MustCompile(`[0-9A-Za-z]{32}`)

func FuzzLoggedPath(f *testing.F) {
	f.Add("/api/v1/heartbeat/0123456789ABCDEFGHIJKLMNOPQRSTUV")
	f.Add("/status/\xff/0123456789ABCDEFGHIJKLMNOPQRSTUVW…")
	// Removing the invalid byte would join the parts around it.
	f.Add(strings.Repeat("0", 27) + "\xff" + strings.Repeat(strings.Repeat("0", 31)+" ", 6))
	f.Fuzz(func(t *testing.T, path string) {
		got := loggedPath(path)
		if couldBeToken.MatchString(got) {
			t.Errorf("%q is logged as %q", path, got)
		}
		if len(got) > maxLoggedPath+len("…") {
			t.Errorf("%q is logged in %d bytes", path, len(got))
		}
		if utf8.ValidString(path) && !utf8.ValidString(got) {
			t.Errorf("%q is cut within a character: %q", path, got)
		}
	})
}

// newTestServer returns a server with its own database. It is not started.
func newTestServer(t *testing.T) *Server {
	t.Helper()
	s, err := New(t.Context(), Config{
		Listen: "127.0.0.1:0", Database: storetest.SQLite(t), CheckInterval: time.Minute, FailureThreshold: 3,
		APIRateLimit: 1,
	}, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	return s
}

// TestReadiness checks /readyz from the start to the stop of a server.
func TestReadiness(t *testing.T) {
	t.Parallel()
	s := newTestServer(t)
	ready := func(want int, says string) {
		t.Helper()
		w := httptest.NewRecorder()
		s.readinessHandler().ServeHTTP(w, httptest.NewRequest("GET", "/readyz", nil))
		if w.Code != want || !strings.Contains(w.Body.String(), says) {
			t.Errorf("/readyz says %d %q, want %d %q", w.Code, w.Body, want, says)
		}
	}
	ready(http.StatusServiceUnavailable, "cannot record pings")
	if err := s.pings.Start(t.Context(), s.store); err != nil {
		t.Fatal(err)
	}
	ready(http.StatusServiceUnavailable, "the service is starting")
	s.openHandlers()
	ready(http.StatusOK, "ready")
	if err := s.stop(); err != nil {
		t.Fatal(err)
	}
	ready(http.StatusServiceUnavailable, "the service is stopping")
}

// TestFailedAuthenticationsOfMetrics checks that failed authentications are limited, and that a valid token is always
// accepted.
func TestFailedAuthenticationsOfMetrics(t *testing.T) {
	t.Parallel()
	s := newTestServer(t)
	secret := account.NewTokenSecret()
	first, err := s.store.CreateFirstToken(t.Context(), secret)
	if err != nil || !first {
		t.Fatal(first, err)
	}
	h := s.authenticatedMetrics()
	ask := func(token, from string) *httptest.ResponseRecorder {
		r := httptest.NewRequest("GET", "/metrics", nil)
		r.RemoteAddr = from
		r.Header.Set("Authorization", "Bearer "+token)
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		return w
	}
	for i := range 101 {
		want := http.StatusUnauthorized
		if i == 100 {
			want = http.StatusTooManyRequests
		}
		if w := ask("guess", "192.0.2.1:1"); w.Code != want {
			t.Fatalf("try %d is answered %d, want %d", i+1, w.Code, want)
		}
	}
	if w := ask("guess", "192.0.2.2:1"); w.Code != http.StatusUnauthorized {
		t.Errorf("another address is answered %d", w.Code)
	}
	w := ask(secret, "192.0.2.1:1")
	if w.Code != http.StatusOK || !strings.Contains(w.Body.String(), "\nallswell_ready 0\n") {
		t.Errorf("a valid token is answered %d %s", w.Code, w.Body)
	}
}

// TestURL checks the URL that is shown without a base URL.
func TestURL(t *testing.T) {
	for _, c := range []struct{ listen, base, want string }{
		{"127.0.0.1:0", "", `^http://127\.0\.0\.1:\d+$`},
		{":0", "", `^http://localhost:\d+$`},
		{"0.0.0.0:0", "", `^http://localhost:\d+$`},
		{":0", "https://status.example.com", `^https://status\.example\.com$`},
	} {
		l, err := listen(t.Context(), "ALLSWELL_LISTEN", c.listen)
		if err != nil {
			t.Fatal(err)
		}
		s := &Server{cfg: Config{BaseURL: c.base}, listener: l}
		if got := s.URL(); !regexp.MustCompile(c.want).MatchString(got) {
			t.Errorf("listening on %s with base URL %q it is %s, want %s", c.listen, c.base, got, c.want)
		}
		l.Close()
	}
}

func TestFirstStepsAreForAShell(t *testing.T) {
	steps := firstSteps("http://localhost:8080", "CODE123", "aw_secret", true)
	for _, want := range []string{
		"\nOnly this machine can connect. For others: a reverse proxy",
		"\n  http://localhost:8080/admin/setup?code=CODE123\n", "\n  aw_secret\n",
		"\n  curl -fsS -m 10 --retry 5 --retry-connrefused \"$PING\"\n",
		" http://localhost:8080/api/v1/pages -d ", "\nThen look at http://localhost:8080/status/example\n",
	} {
		if !strings.Contains(steps, want) {
			t.Errorf("the first steps do not have %q:\n%s", want, steps)
		}
	}
	for _, left := range []string{"BASE", "SECRET", "HINT", "PING_LINE", "SETUP_URL"} {
		if strings.Contains(steps, left) {
			t.Errorf("%s is left in the first steps:\n%s", left, steps)
		}
	}
}

// TestOnlyLocalServersSayHowToReachThem checks that the first lines of the log say how others can connect, if only this
// machine can.
func TestOnlyLocalServersSayHowToReachThem(t *testing.T) {
	for _, c := range []struct {
		listen, base string
		want         bool
	}{
		{"127.0.0.1:0", "", true}, {"[::1]:0", "", true}, {":0", "", false},
		{"127.0.0.1:0", "https://status.example.com", false},
	} {
		l, err := listen(t.Context(), "ALLSWELL_LISTEN", c.listen)
		if err != nil {
			t.Fatal(err)
		}
		s := &Server{cfg: Config{BaseURL: c.base}, listener: l}
		if got := s.isLocal(); got != c.want {
			t.Errorf("listening on %s with base URL %q: %v, want %v", c.listen, c.base, got, c.want)
		}
		if got, want := s.listensLocally(), c.listen != ":0"; got != want {
			t.Errorf("listening on %s: only for this machine: %v, want %v", c.listen, got, want)
		}
		l.Close()
	}
}

// TestBootstrapTokenIsReplaced checks that a start with a new value revokes the earlier token and logs it, and that a
// later start with the earlier value does not restore it.
func TestBootstrapTokenIsReplaced(t *testing.T) {
	t.Chdir(t.TempDir())
	first, second := strings.Repeat("a", 40), strings.Repeat("b", 40)
	for _, start := range []struct{ token, says string }{
		{first, ""}, {first, ""}, {second, "the earlier bootstrap token is revoked"}, {second, ""},
		{first, "is a token that was revoked"},
	} {
		var log syncbuffer.Buffer
		cfg := Config{
			Listen: "127.0.0.1:0", Database: "sqlite:allswell.db", CheckInterval: time.Minute, FailureThreshold: 3,
			BootstrapToken: start.token,
		}
		s, err := New(t.Context(), cfg, slog.New(slog.NewTextHandler(&log, nil)))
		if err != nil {
			t.Fatal(err)
		}
		got := log.String()
		if strings.Contains(got, "BOOTSTRAP") != (start.says != "") ||
			!strings.Contains(got, start.says) || strings.Contains(got, start.token) {
			t.Errorf("a start with %.3s… logs %q, want %q", start.token, got, start.says)
		}
		s.Close()
	}
}
