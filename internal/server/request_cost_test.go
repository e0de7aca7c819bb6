package server

import (
	"io"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/allswell/allswell/internal/domain/account"
	"github.com/allswell/allswell/internal/store/storetest"
)

// blankWriter is a ResponseWriter that keeps the header and discards the body.
type blankWriter struct {
	header http.Header
	status int
}

func (w *blankWriter) Header() http.Header         { return w.header }
func (w *blankWriter) WriteHeader(status int)      { w.status = status }
func (w *blankWriter) Write(p []byte) (int, error) { return len(p), nil }

// pageRequests returns a function for each kind of request for a status page. It serves one request and returns the
// status. Everything that is rendered once has been rendered.
func pageRequests(tb testing.TB) map[string]func() int {
	s, _ := newServerOn(tb, "sqlite:"+tb.TempDir()+"/pages.db", Settings{})
	tb.Cleanup(s.Close)
	s.router.accessLog = newAccessLog(Config{}, Config{}.Logger(io.Discard))
	_, token := storetest.Workspace(tb, s.store, account.DefaultWorkspace)
	if w := ask(s, "POST", "x", "/api/v1/pages", token, `{"name":"Acme","slug":"acme"}`); w.Code != http.StatusCreated {
		tb.Fatalf("creating a page: %s", w.Body)
	}
	etag := ask(s, "GET", "x", "/status/acme", "", "").Header().Get("ETag")
	requests := make(map[string]func() int)
	for name, header := range map[string][2]string{
		"304": {"If-None-Match", etag}, "gzip": {"Accept-Encoding", "gzip"}, "plain": {"Accept-Language", "en"},
	} {
		r := httptest.NewRequest("GET", "/status/acme", nil)
		r.Header.Set(header[0], header[1])
		w := &blankWriter{header: make(http.Header, 16)}
		requests[name] = func() int {
			clear(w.header)
			w.status = http.StatusOK
			s.servers[0].Handler.ServeHTTP(w, r)
			return w.status
		}
		requests[name]()
	}
	return requests
}

// TestPageRequestsAllocateLittle checks that a page in memory is served with few allocations: the request id and the
// two functions that would render the page.
func TestPageRequestsAllocateLittle(t *testing.T) {
	const most = 5 + lostByPools // usually 4
	for name, request := range pageRequests(t) {
		if status := request(); (status == http.StatusNotModified) != (name == "304") {
			t.Errorf("%s: status %d", name, status)
		}
		if n := testing.AllocsPerRun(1000, func() { request() }); n > most {
			t.Errorf("%s: %.0f allocations, want at most %d", name, n, most)
		}
	}
}

func BenchmarkPageRequests(b *testing.B) {
	for name, request := range pageRequests(b) {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				request()
			}
		})
	}
}
