package ping

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"net/url"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/allswell/allswell/internal/domain/monitor"
	"github.com/allswell/allswell/internal/domain/statuspage"
	"github.com/allswell/allswell/internal/resource"
	"github.com/allswell/allswell/internal/store"
	"github.com/allswell/allswell/internal/store/storetest"
)

// FuzzPing checks that for any method, token, address and body, only valid tokens are
// recorded, and the answer is one of the documented ones.
func FuzzPing(f *testing.F) {
	s := storetest.Open(f, "sqlite:"+filepath.Join(f.TempDir(), "a.db"), store.Options{})
	ws, _ := storetest.Workspace(f, s, "default")
	must(s.CreatePage(f.Context(), ws, resource.Page.From(statuspage.Page{Name: "Acme", Slug: "acme"})))(f)
	m := must(s.CreateMonitor(f.Context(), ws, monitor.MonitorOf(monitor.MonitorConfig{
		Name: "nightly", Interval: time.Hour, PageSlug: "acme",
	})))(f)
	server := New(Config{Replica: "a", RateLimit: 1_000_000})
	if err := server.Start(context.Background(), s); err != nil {
		f.Fatal(err)
	}
	f.Cleanup(func() { server.Close(context.Background()) })

	// "TOKEN" is replaced by the valid token, which differs from run to run.
	for _, token := range []string{
		"TOKEN", "", "x", "TOKEN/", "TOKENTOKEN", "../TOKEN", "%", "TOKEN\x00", strings.Repeat("a", 32),
		strings.Repeat("é", 16), "' OR 1=1 --", "[\"TOKEN\"]", "\xff\xfe", "{TOKEN}", "TOKEN,TOKEN",
	} {
		f.Add("POST", token, "192.0.2.1:1234", "{}")
		f.Add("GET", token, "[2001:db8::1%eth0]:1", "")
	}
	f.Add("PUT", "TOKEN", "", "\x00")
	f.Add("", "TOKEN", "@", "x")
	f.Fuzz(func(t *testing.T, method, token, remote, body string) {
		token = strings.ReplaceAll(token, "TOKEN", m.Token)
		r := &http.Request{
			Method: method, URL: &url.URL{Path: Path + token}, Header: http.Header{}, RemoteAddr: remote,
			Body: http.NoBody, ContentLength: int64(len(body)),
		}
		if body != "" {
			r.Body = httptest.NewRequest("POST", "/", strings.NewReader(body)).Body
		}
		rec := httptest.NewRecorder()
		server.ServeHTTP(rec, r)
		want := http.StatusNotFound
		switch {
		case method != "POST" && method != "GET" && method != "HEAD":
			want = http.StatusMethodNotAllowed
		case strings.TrimSuffix(token, "/") == m.Token:
			want = http.StatusOK
		}
		if rec.Code != want {
			t.Fatalf("%s %q: %d, want %d", method, token, rec.Code, want)
		}
		if method == "HEAD" {
			return
		}
		var keys map[string]any
		if err := json.Unmarshal(rec.Body.Bytes(), &keys); err != nil || len(keys) != 1 {
			t.Fatalf("%s: %v", rec.Body, err)
		}
		if strings.Contains(rec.Body.String(), m.Token) {
			t.Fatal("the answer repeats the token")
		}
	})
}
