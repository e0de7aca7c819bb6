package page

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"

	"github.com/allswell/allswell/internal/domain/account"
	"github.com/allswell/allswell/internal/domain/statuspage"
	"github.com/allswell/allswell/internal/resource"
	"github.com/allswell/allswell/internal/store"
	"github.com/allswell/allswell/internal/store/storetest"
	"github.com/allswell/allswell/internal/surface/assets"
	"github.com/allswell/allswell/internal/surface/web"
)

func TestHeadersAndMethods(t *testing.T) {
	run(t, func(w *fixture) {
		t := w.t
		inc := w.incident("acme", statuspage.Incident{Title: "One"}, "")
		for _, path := range []string{"/", "/status/acme", "/status/acme/history", "/status/acme/incidents/" + inc.ID} {
			get, head := w.do("GET", path), w.do("HEAD", path)
			body := get.Body.Bytes()
			if get.Code != 200 || get.Header().Get("Cache-Control") != web.CacheRevalidate ||
				get.Header().Get("Content-Length") != strconv.Itoa(len(body)) {
				t.Errorf("GET %s: %d %v", path, get.Code, get.Header())
			}
			if head.Code != 200 || head.Body.Len() != 0 {
				t.Errorf("HEAD %s: %d with %d bytes", path, head.Code, head.Body.Len())
			}
			if get.Header().Get("Etag") == "" || fmt.Sprint(get.Header()) != fmt.Sprint(head.Header()) {
				t.Errorf("%s: GET has %v, HEAD has %v", path, get.Header(), head.Header())
			}
			for name, want := range map[string]string{
				"Content-Security-Policy": string(web.PolicyPage(web.PageContent{Script: true})),
				"X-Content-Type-Options":  "nosniff", "Vary": "Accept-Encoding, Accept-Language",
				"Referrer-Policy": "strict-origin-when-cross-origin",
			} {
				if got := get.Header().Get(name); got != want {
					t.Errorf("%s: %s is %q", path, name, got)
				}
			}
			packed := w.do("GET", path, "Accept-Encoding", "gzip")
			if got := packed.Header().Get("Content-Encoding"); got != "gzip" {
				t.Errorf("%s: encoding %q", path, got)
			}
			if got := gunzip(t, packed.Body); !bytes.Equal(got, body) {
				t.Errorf("%s: %d bytes compressed, %d not", path, len(got), len(body))
			}
			if got := w.do("GET", path, "If-None-Match", get.Header().Get("Etag")); got.Code != 304 {
				t.Errorf("%s again: %d", path, got.Code)
			}
			for _, method := range []string{"POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE", "get"} {
				rec := w.do(method, path)
				if rec.Code != 405 || rec.Header().Get("Allow") != "GET, HEAD" ||
					rec.Header().Get("Content-Type") != typeHTML {
					t.Errorf("%s %s: %d %v", method, path, rec.Code, rec.Header())
				}
			}
		}
		for _, path := range []string{
			"/nope", "/status", "/status/", "/status/acme/nope", "/status/acme/history/", "/status/acme/incidents",
			"/assets/", "/assets/style.css", "/assets/style.0123.css", "/assets/../site.go",
			"/assets/nope.0123456789abcdef.css", "/assets/.0123456789abcdef", "//",
		} {
			w.get(path, 404)
		}
		// The page as an app begins with a slash at its end; its links stay below it.
		with := w.do("GET", "/status/acme/")
		if with.Code != 200 ||
			with.Body.String() != w.do("GET", "/status/acme").Body.String() ||
			!strings.Contains(with.Body.String(), `<link rel="canonical" href="http://localhost:8080/status/acme">`) {
			t.Errorf("with a slash: %s", with.Body)
		}
	})
}

func gunzip(t *testing.T, compressed io.Reader) []byte {
	t.Helper()
	z, err := gzip.NewReader(compressed)
	if err != nil {
		t.Fatal(err)
	}
	body, err := io.ReadAll(z)
	if err != nil {
		t.Fatal(err)
	}
	return body
}

func TestAssets(t *testing.T) {
	w := open(t, "sqlite:"+storetest.TempDir(t)+"/a.db", &clock{})
	for name, want := range map[string]string{
		"style.css": "text/css; charset=utf-8", "icon-operational.svg": "image/svg+xml",
		"page.js": "text/javascript; charset=utf-8",
	} {
		url := assets.URL(name)
		rec := w.do("GET", url)
		if rec.Code != 200 || rec.Header().Get("Cache-Control") != web.CacheForever || rec.Body.Len() == 0 {
			t.Errorf("%s: %d %v", name, rec.Code, rec.Header())
		}
		if got := rec.Header().Get("Content-Type"); got != want {
			t.Errorf("%s: type %q", name, got)
		}
		dot := strings.LastIndexByte(url, '.')
		rec = w.do("GET", url[:dot-16]+"0123456789abcdef"+url[dot:])
		if rec.Code != 200 || rec.Header().Get("Cache-Control") != "no-cache" {
			t.Errorf("%s of another version: %d %v", name, rec.Code, rec.Header())
		}
	}
}

func BenchmarkPage(b *testing.B) {
	s := storetest.Open(b, "sqlite:"+b.TempDir()+"/a.db", store.Options{})
	ws, _ := storetest.Workspace(b, s, account.DefaultWorkspace)
	site := New(Config{Store: s})
	_, err := s.CreatePage(b.Context(), ws, resource.Page.From(statuspage.Page{Name: "Acme", Slug: "acme"}))
	if err != nil {
		b.Fatal(err)
	}
	r := httptest.NewRequest("GET", "/status/acme", nil)
	r.Header.Set("Accept-Encoding", "gzip")
	r.Header.Set("Accept-Language", "de-AT,de;q=0.9,en;q=0.5")
	w := &discard{header: make(http.Header)}
	site.route(w, r)
	b.ReportAllocs()
	for b.Loop() {
		site.route(w, r)
	}
}

// discard is a ResponseWriter that discards everything.
type discard struct{ header http.Header }

func (d *discard) Header() http.Header { return d.header }

func (d *discard) Write(p []byte) (int, error) { return len(p), nil }

func (d *discard) WriteHeader(int) {}
