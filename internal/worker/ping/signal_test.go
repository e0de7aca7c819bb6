package ping

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/allswell/allswell/internal/domain/monitor"
	"github.com/allswell/allswell/internal/store"
	"github.com/allswell/allswell/internal/store/storetest"
)

// signals returns the signals of a monitor, newest first, with their outputs.
func (w *testServer) signals(monitor string) []monitor.Signal {
	w.Helper()
	all, _, err := w.store.Signals(w.Context(), w.ws, monitor, store.SignalFilter{Outputs: 100}, 100)
	if err != nil {
		w.Fatal(err)
	}
	return all
}

const signalRun = "0191A1B2-0000-7000-8000-00000000000F"

// signalPaths are the ends of paths, and the signals that they record.
var signalPaths = map[string]struct {
	kind monitor.SignalKind
	code int // -1: none
	run  string
}{
	"start":                            {monitor.SignalStart, -1, ""},
	"start?rid=" + signalRun:           {monitor.SignalStart, -1, strings.ToLower(signalRun)},
	"success":                          {monitor.SignalSuccess, -1, ""},
	"fail?x=y":                         {monitor.SignalFail, -1, ""},
	"log?rid=":                         {"", 422, ""},
	"log?rid=nonsense":                 {"", 422, ""},
	"log?rid={" + signalRun[:34] + "}": {"", 422, ""},
	"log?rid=" + signalRun + "&rid=" + signalRun: {"", 422, ""},
	"log?%zz": {"", 422, ""},
	"0":       {monitor.SignalSuccess, 0, ""},
	"1":       {monitor.SignalFail, 1, ""},
	"255":     {monitor.SignalFail, 255, ""},
	"256":     {"", 404, ""},
	"-1":      {"", 404, ""},
	"+1":      {"", 404, ""},
	"01":      {"", 404, ""},
	"//":      {"", 404, ""},
	"Start":   {"", 404, ""},
	"start/":  {monitor.SignalStart, -1, ""},
	"start/1": {"", 404, ""},
}

// TestSignalPaths checks every kind of signal with every method, and what is no signal.
func TestSignalPaths(t *testing.T) {
	t.Parallel()
	onEachEngine(t, Config{}, func(w *testServer) {
		m := w.newMonitor()
		n := 0
		for path, want := range signalPaths {
			for _, method := range []string{"POST", "GET", "HEAD"} {
				got := w.send(method, Path+m.Token+"/"+path, nil)
				body := map[int]string{422: string(badRun.body), 404: notFoundBody}[want.code]
				if path == "log?%zz" {
					body = string(ownStyle.unreadable.body)
				}
				status := want.code
				if want.kind != "" {
					status, body, n = 200, okBody, n+1
				}
				if method == "HEAD" {
					body = ""
				}
				if got.StatusCode != status || got.body != body {
					w.Errorf("%s %s: %s %s, want %d %s", method, path, got.Status, got.body, status, body)
					continue
				}
				if want.kind == "" {
					continue
				}
				s := w.signals(m.ID)[0]
				code := -1
				if s.ExitCode != nil {
					code = *s.ExitCode
				}
				if s.Number != int64(n) || s.Kind != want.kind || code != want.code || s.RunID != want.run ||
					s.Address == "" || s.UserAgent != "Go-http-client/1.1" || s.OutputSize != 0 {
					w.Errorf("%s %s: %+v", method, path, s)
				}
			}
		}
		if got := w.signals(m.ID); len(got) != n {
			w.Errorf("%d signals, want %d", len(got), n)
		}
		got := w.send("PUT", Path+m.Token+"/start", nil)
		if got.StatusCode != 405 || got.Header.Get("Allow") != "GET, HEAD, POST" {
			w.Errorf("PUT: %s", got.Status)
		}
		w.want(w.send("POST", Path+strings.Repeat("a", 32)+"/success", nil), 404, notFoundBody)
	})
}

// TestSignalBodies checks what is kept of bodies of any kind and size.
func TestSignalBodies(t *testing.T) {
	t.Parallel()
	binary := make([]byte, 256)
	for i := range binary {
		binary[i] = byte(i)
	}
	long := bytes.Repeat([]byte("0123456789abcdef"), 10<<20/16)
	umlauts := bytes.Repeat([]byte("ä"), monitor.MaxOutput)
	onEachEngine(t, Config{}, func(w *testServer) {
		for name, c := range map[string]struct {
			body io.Reader
			want []byte
			cut  bool
		}{
			"none":           {http.NoBody, nil, false},
			"empty, chunked": {io.MultiReader(), nil, false},
			"text":           {strings.NewReader("hello"), []byte("hello"), false},
			"binary":         {bytes.NewReader(binary), binary, false},
			"chunked":        {io.MultiReader(strings.NewReader("a"), strings.NewReader("b")), []byte("ab"), false},
			"exactly":        {bytes.NewReader(long[:monitor.MaxOutput]), long[:monitor.MaxOutput], false},
			"one more":       {bytes.NewReader(long[:monitor.MaxOutput+1]), long[1 : monitor.MaxOutput+1], true},
			"10 MB":          {bytes.NewReader(long), long[len(long)-monitor.MaxOutput:], true},
			"10 MB, chunked": {io.MultiReader(bytes.NewReader(long)), long[len(long)-monitor.MaxOutput:], true},
			"half of an ä": {io.MultiReader(
				strings.NewReader("x"), bytes.NewReader(umlauts[:monitor.MaxOutput+1]), strings.NewReader("y"),
			), nil, true},
		} {
			w.Run(name, func(t *testing.T) {
				in := w.in(t)
				m := in.newMonitor()
				in.want(in.send("POST", Path+m.Token+"/log", c.body), 200, okBody)
				s := in.signals(m.ID)[0]
				if s.OutputCut != c.cut || s.OutputSize != len(s.Output) ||
					c.want != nil && !bytes.Equal(s.Output, c.want) || len(s.Output) > monitor.MaxOutput {
					t.Errorf("%d bytes are kept, cut %t, size %d; want %d, %t", len(s.Output), s.OutputCut,
						s.OutputSize, len(c.want), c.cut)
				}
			})
		}
		if n := w.outputs.total; n != 0 || len(w.outputs.held) != 0 {
			w.Errorf("%d bytes are still counted, of %d clients", n, len(w.outputs.held))
		}
	})
}

// TestUnusualSignals sends bodies that HTTP libraries do not send. The signal is recorded with what arrived.
func TestUnusualSignals(t *testing.T) {
	t.Parallel()
	onEachEngine(t, Config{}, func(w *testServer) {
		for name, c := range map[string]struct {
			body, want string
			more       bool // the client goes on waiting
		}{
			"a body that is cut off": {"Content-Length: 100\r\n\r\nhello", "hello", false},
			"a body that stops":      {"Content-Length: 100\r\n\r\nhello", "hello", true},
			"chunks that stop":       {"Transfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n", "hello", true},
			"chunks that are none":   {"Transfer-Encoding: chunked\r\n\r\nnonsense\r\n", "", true},
		} {
			w.Run(name, func(t *testing.T) {
				t.Parallel()
				in := w.in(t)
				m := in.newMonitor()
				conn := in.dial(t)
				conn.say("POST %s%s/7 HTTP/1.1\r\nHost: a\r\n%s", Path, m.Token, c.body)
				if !c.more {
					conn.Conn.(interface{ CloseWrite() error }).CloseWrite()
				}
				conn.answered()
				conn.closed()
				s := in.signals(m.ID)[0]
				if !s.OutputCut || string(s.Output) != c.want || *s.ExitCode != 7 {
					t.Errorf("output and signal: %q, %+v", s.Output, s)
				}
			})
		}
	})
}

// TestOutputsAreBounded checks that signals are recorded without their bodies if too many wait.
func TestOutputsAreBounded(t *testing.T) {
	t.Parallel()
	onEachEngine(t, Config{}, func(w *testServer) {
		w.outputs.held, w.outputs.total = map[string]int64{"192.0.2.1/32": maxOutputs}, maxOutputs
		w.want(w.send("POST", Path+w.monitor.Token+"/fail", strings.NewReader("hello")), 200, okBody)
		if s := w.signals(w.monitor.ID)[0]; len(s.Output) != 0 || !s.OutputCut {
			w.Errorf("signal without room for its output: %+v", s)
		}
		if n := w.outputs.total; n != maxOutputs {
			w.Errorf("%d bytes are counted, want %d", n, maxOutputs)
		}
		if res := w.send("POST", snitchPath+w.monitor.Token, strings.NewReader("m=hello")); res.StatusCode != 503 {
			w.Errorf("a form is answered %s", res.Status)
		}
		if _, rejected := w.batcher.rejected.oldest(true); !rejected {
			w.Error("a form that was not read does not show that its job is alive")
		}
	})
}

// TestOutputsOfOneClient checks that what one client sends slowly leaves room for the bodies of others.
func TestOutputsOfOneClient(t *testing.T) {
	var o outputs
	from := func(address string) *http.Request { return &http.Request{RemoteAddr: address} }
	one, neighbour, other := from("[2001:db8::1]:5000"), from("[2001:db8::2]:5000"), from("[2001:db8:0:1::1]:5000")
	const size = 1 << 20
	var held []func()
	for range maxOutputs / size {
		for _, r := range []*http.Request{one, neighbour} {
			if release, ok := o.reserve(r, size); ok {
				held = append(held, release)
			}
		}
	}
	if n := len(held) * size; n != maxOutputs/2 {
		t.Errorf("one client has %d bytes, want half of %d", n, maxOutputs)
	}
	release, ok := o.reserve(other, size)
	if !ok {
		t.Error("another one finds no room")
	}
	for _, release := range append(held, release) {
		release()
	}
	if o.total != 0 || len(o.held) != 0 {
		t.Errorf("%d bytes are held by %v", o.total, o.held)
	}
}

// TestOrderOfSignalsAndPings checks that the later one wins if pings and signals of a monitor wait for the same commit.
func TestOrderOfSignalsAndPings(t *testing.T) {
	t.Parallel()
	onEachEngine(t, Config{}, func(w *testServer) {
		for i, order := range [][]string{
			{"", "/fail"}, {"/fail", ""}, {"", "/fail", "", "/fail"}, {"/fail", "", "/fail", "/success"},
		} {
			m, blocked := w.newMonitor(), w.newMonitor() // the first ping of a monitor locks it
			w.want(w.ping(m.Token), 200, okBody)
			release := w.blockCommits()
			first := w.background(blocked.Token)
			w.until("the first batch is being committed", w.committing)
			var waits []func() []int
			for _, signal := range order {
				waits = append(waits, w.background(m.Token+signal))
			}
			release()
			first()
			for _, wait := range waits {
				if got := wait(); got[0] != 200 {
					w.Errorf("answered %v", got)
				}
			}
			want := monitor.MonitorUp
			if order[len(order)-1] == "/fail" {
				want = monitor.MonitorDown
			}
			if got := w.now(m.ID); got.State != want {
				w.Errorf("%d: %s after %q", i, got.State, order)
			}
		}
	})
}

// TestRejectedSignals checks that a success that was rejected is a sign of life, and that other signals are not.
func TestRejectedSignals(t *testing.T) {
	t.Parallel()
	onEachEngine(t, Config{RateLimit: 1}, func(w *testServer) {
		w.want(w.ping(w.monitor.Token), 200, okBody)
		alive := map[string]bool{
			"success": true, "0": true, "start": false, "log": false, "fail": false, "1": false, "2x": false,
			"success?rid=x": false,
		}
		monitors := make(map[string]string)
		for signal := range alive {
			m := w.newMonitor()
			monitors[signal] = m.ID
			if got := w.send("POST", Path+m.Token+"/"+signal, nil); got.StatusCode != 429 {
				w.Errorf("%s: %s", signal, got.Status)
			}
		}
		w.stop()
		for signal, want := range alive {
			if got := !w.now(monitors[signal]).RejectedAt.IsZero(); got != want {
				w.Errorf("%s: a sign of life is %t", signal, got)
			}
		}
	})
}

// TestSignalsWithoutDatabase checks the answers while nothing can be recorded.
func TestSignalsWithoutDatabase(t *testing.T) {
	t.Parallel()
	onEachEngine(t, Config{}, func(w *testServer) {
		m, other := w.newMonitor(), w.newMonitor()
		repair := w.breakDatabase()
		for _, path := range []string{m.Token + "/success", other.Token + "/fail"} {
			got := w.send("POST", Path+path, strings.NewReader("hello"))
			if got.StatusCode != 503 || got.Header.Get("Retry-After") != "7" || got.body != string(unavailable.body) {
				w.Errorf("%s: answer: %s %s", path, got.Status, got.body)
			}
		}
		repair()
		w.stop()
		if w.now(m.ID).RejectedAt.IsZero() || !w.now(other.ID).RejectedAt.IsZero() {
			w.Error("the sign of life is not that of the success")
		}
		if n := len(w.signals(m.ID)) + len(w.signals(other.ID)); n != 0 {
			w.Errorf("%d signals are recorded", n)
		}
	})
}

// FuzzSignal checks that for any path, query and body, only valid signals are recorded, and the answer is one of the
// documented ones.
func FuzzSignal(f *testing.F) {
	s := storetest.Open(f, "sqlite:"+filepath.Join(f.TempDir(), "a.db"), store.Options{})
	ws, _ := storetest.Workspace(f, s, "default")
	m := must(s.CreateMonitor(f.Context(), ws, monitor.MonitorOf(monitor.MonitorConfig{
		Name: "nightly", Interval: time.Hour,
	})))(f)
	server := New(Config{Replica: "a"})
	if err := server.Start(context.Background(), s); err != nil {
		f.Fatal(err)
	}
	f.Cleanup(func() { server.Close(context.Background()) })
	for _, path := range []string{
		"start", "success", "fail", "log", "0", "00", "255", "256", "99999999999999999999", "-0", "٣", "start/", "/",
		"", "fail\x00", "../start", "１",
	} {
		f.Add(path, "", "", []byte("output"))
	}
	f.Add("start", "rid=0191a1b2-0000-7000-8000-00000000000f", "curl/8", []byte{0xff, 0, 0xc3})
	f.Add("fail", "rid=urn:uuid:0191a1b2-0000-7000-8000-00000000000f", "\x00\xff", []byte("\x1b[31mred\x1b[0m"))
	f.Add("log", "rid=%00&x=;", strings.Repeat("é", 300), []byte(nil))
	f.Fuzz(func(t *testing.T, path, query, agent string, body []byte) {
		r := &http.Request{
			Method: "POST", URL: &url.URL{Path: Path + m.Token + "/" + path, RawQuery: query},
			Header:     http.Header{"User-Agent": {agent}},
			RemoteAddr: "192.0.2.1:1", Body: io.NopCloser(bytes.NewReader(body)), ContentLength: int64(len(body)),
		}
		rec := httptest.NewRecorder()
		server.ServeHTTP(rec, r)
		plain := path == ""
		path = strings.TrimSuffix(path, "/")
		known := plain || path == "start" || path == "success" || path == "fail" || path == "log"
		if n, err := strconv.Atoi(path); err == nil && n >= 0 && n <= 255 && strconv.Itoa(n) == path {
			known = true
		}
		switch {
		case !known && rec.Code != 404, known && rec.Code != 200 && rec.Code != 422:
			t.Fatalf("answer to %q?%q: %d", path, query, rec.Code)
		case rec.Code == 422 && (query == "" || plain):
			t.Fatal("a run id is missed")
		}
	})
}

// TestUserAgents checks that what a client calls itself is one line of text of limited length.
func TestUserAgents(t *testing.T) {
	long := strings.Repeat("ü", monitor.MaxUserAgentLength)
	for given, want := range map[string]string{
		"":                  "",
		"curl/8.5.0":        "curl/8.5.0",
		"a\tb\x1b[31mc\x7f": "ab[31mc",
		"a\r\nb\x00":        "ab",
		"Wörker \xff":       "Wörker \ufffd",
		long:                long,
		long + "é":          long,
		"\x01" + long:       long,
	} {
		if got := userAgent(given); got != want {
			t.Errorf("user agent of %q: %q", given, got)
		}
	}
}
