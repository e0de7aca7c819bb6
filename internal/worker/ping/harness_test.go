package ping

import (
	"context"
	"database/sql"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/allswell/allswell/internal/domain/kernel"
	"github.com/allswell/allswell/internal/domain/monitor"
	"github.com/allswell/allswell/internal/domain/statuspage"
	"github.com/allswell/allswell/internal/resource"
	"github.com/allswell/allswell/internal/store"
	"github.com/allswell/allswell/internal/store/storetest"
	"github.com/allswell/allswell/test/syncbuffer"
)

// testServer is a Server on a real store behind real HTTP, with a page and a monitor.
type testServer struct {
	*testing.T
	*Server
	dsn     string
	store   *store.Store
	ws      kernel.Actor
	monitor monitor.Monitor
	http    *httptest.Server
	log     *logged
	db      *sql.DB // outside of the store; nil until beside is called
}

// logged collects the log.
type logged struct{ syncbuffer.Buffer }

// onEachEngine runs f once per database engine, with a started server.
func onEachEngine(t *testing.T, c Config, f func(w *testServer)) {
	t.Helper()
	storetest.EachParallel(t, func(t *testing.T, dsn string) {
		w := newTestServer(t, dsn, c)
		w.start()
		f(w)
	})
}

func newTestServer(t *testing.T, dsn string, c Config) *testServer {
	t.Helper()
	w := &testServer{T: t, dsn: dsn, store: storetest.Open(t, dsn, store.Options{}), log: new(logged)}
	w.ws, _ = storetest.Workspace(t, w.store, "default")
	must(w.store.CreatePage(t.Context(), w.ws, resource.Page.From(statuspage.Page{Name: "Acme", Slug: "acme"})))(t)
	w.monitor = w.newMonitor()
	c.Replica = "a"
	c.Logger = slog.New(slog.NewTextHandler(w.log, &slog.HandlerOptions{Level: slog.LevelDebug}))
	w.Server = New(c)
	w.http = httptest.NewServer(w.Server)
	t.Cleanup(func() {
		w.http.Close()
		w.Close(context.Background()) // fails in tests that break the database
		if strings.Contains(w.log.String(), w.monitor.Token) {
			t.Error("the log shows a token")
		}
	})
	return w
}

func (w *testServer) start() {
	w.Helper()
	if err := w.Start(w.Context(), w.store); err != nil {
		w.Fatal(err)
	}
}

func (w *testServer) stop() {
	w.Helper()
	if err := w.Close(w.Context()); err != nil {
		w.Fatal(err)
	}
}

// must returns a value, or ends the test if there was an error.
func must[T any](v T, err error) func(testing.TB) T {
	return func(t testing.TB) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
}

func (w *testServer) newMonitor() monitor.Monitor {
	w.Helper()
	return must(w.store.CreateMonitor(w.Context(), w.ws, monitor.MonitorOf(monitor.MonitorConfig{
		Name: "nightly", Interval: 5 * time.Minute, PageSlug: "acme",
	})))(w)
}

// now returns the monitor as stored.
func (w *testServer) now(id string) monitor.Monitor {
	w.Helper()
	return must(w.store.Monitor(w.Context(), w.ws, id))(w)
}

// reply is a response with its body.
type reply struct {
	*http.Response
	body string
}

// send sends a request over HTTP.
func (w *testServer) send(method, path string, body io.Reader, header ...string) reply {
	w.Helper()
	r := must(http.NewRequestWithContext(w.Context(), method, w.http.URL+path, body))(w)
	for i := 0; i < len(header); i += 2 {
		r.Header.Add(header[i], header[i+1])
	}
	res := must(w.http.Client().Do(r))(w)
	defer res.Body.Close()
	return reply{res, string(must(io.ReadAll(res.Body))(w))}
}

func (w *testServer) ping(token string) reply {
	w.Helper()
	return w.send("POST", Path+token, nil)
}

// want fails the test if an answer differs or is not documented.
func (w *testServer) want(got reply, status int, body string) {
	w.Helper()
	if got.StatusCode != status || got.body != body || got.Header.Get("Content-Type") != "application/json" {
		w.Errorf("answer %s %q (%s), want %d %s", got.Status, got.body, got.Header.Get("Content-Type"), status, body)
	}
	if err := documented(got.Request.Method, got.Request.URL.Path, got.StatusCode, got.body); err != nil {
		w.Errorf("%s %s is not as documented: %v", got.Request.Method, got.Status, err)
	}
}

// Bodies that docs/api.md documents.
const (
	okBody       = `{"ok":true}`
	notFoundBody = `{"message":"Not found."}`
)

// background passes pings to the handler in goroutines, and returns when all of them
// are pending. statuses waits for the answers.
func (w *testServer) background(tokens ...string) (statuses func() []int) {
	w.Helper()
	before := w.pending()
	got := make([]int, len(tokens))
	var wg sync.WaitGroup
	for i, token := range tokens {
		wg.Go(func() {
			rec := httptest.NewRecorder()
			w.ServeHTTP(rec, request("POST", Path+token, nil))
			got[i] = rec.Code
		})
	}
	w.until("the pings are pending", func() bool { return w.pending() == before+len(tokens) })
	return func() []int { wg.Wait(); return got }
}

func (w *testServer) pending() int {
	w.batcher.mu.Lock()
	defer w.batcher.mu.Unlock()
	return w.batcher.pending
}

// until yields to other goroutines until a condition holds.
func (w *testServer) until(what string, holds func() bool) {
	w.Helper()
	for deadline := time.Now().Add(30 * time.Second); !holds(); runtime.Gosched() {
		if time.Now().After(deadline) {
			w.Fatalf("not within 30 s: %s", what)
		}
	}
}

func request(method, path string, body io.Reader) *http.Request {
	r := httptest.NewRequest(method, path, body)
	r.RemoteAddr = "192.0.2.1:5000"
	return r
}

// beside returns connections to the database that do not go through the store.
func (w *testServer) beside() *sql.DB {
	w.Helper()
	if w.db != nil {
		return w.db
	}
	driver, dsn := "pgx", w.dsn
	if path, ok := strings.CutPrefix(w.dsn, "sqlite:"); ok {
		driver, dsn = "sqlite", "file:"+path+"?_txlock=immediate&_busy_timeout=10000"
	}
	db := must(sql.Open(driver, dsn))(w)
	w.Cleanup(func() { db.Close() })
	w.db = db
	return db
}

// blockCommits blocks every transaction of the store until release.
func (w *testServer) blockCommits() (release func()) {
	w.Helper()
	tx := must(w.beside().BeginTx(w.Context(), nil))(w) // on SQLite, this alone takes the write lock
	if !strings.HasPrefix(w.dsn, "sqlite:") {
		must(tx.Exec(`LOCK TABLE monitors, liveness IN EXCLUSIVE MODE`))(w)
	}
	return func() {
		w.Helper()
		if err := tx.Rollback(); err != nil {
			w.Error(err)
		}
	}
}

// breakDatabase makes every transaction of the store fail until repair.
func (w *testServer) breakDatabase() (repair func()) {
	w.Helper()
	db := w.beside()
	for _, table := range []string{"liveness", "monitors"} {
		must(db.Exec(`ALTER TABLE ` + table + ` RENAME TO ` + table + `_elsewhere`))(w)
	}
	return func() {
		w.Helper()
		for _, table := range []string{"liveness", "monitors"} {
			must(db.Exec(`ALTER TABLE ` + table + `_elsewhere RENAME TO ` + table))(w)
		}
	}
}
