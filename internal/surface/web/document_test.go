package web

import (
	"bytes"
	"compress/gzip"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

func TestAcceptsGzip(t *testing.T) {
	for field, want := range map[string]bool{
		"":                          false,
		"gzip":                      true,
		"gzip, deflate, br, zstd":   true,
		"deflate, GZIP":             true,
		"br;q=1.0, gzip;q=0.8":      true,
		"br, gzip;q=0":              false,
		"gzip; q=0.000":             false,
		"gzip;Q=0":                  false,
		"*":                         true,
		"*;q=0":                     false,
		"gzip;q=0, *":               false,
		"identity, *;q=0.5":         true,
		"x-gzip":                    true,
		"gzipped":                   false,
		"identity":                  false,
		",,;q=1,":                   false,
		"gzip;q=nonsense":           true,
		strings.Repeat(",", 10_000): false,
	} {
		if got := acceptsGzip([]string{field}); got != want {
			t.Errorf("whether gzip is accepted: %.40q: %v", field, got)
		}
	}
	if acceptsGzip(nil) || !acceptsGzip([]string{"br", "gzip"}) {
		t.Error("the fields are not combined")
	}
}

func TestDocument(t *testing.T) {
	page := DocumentHeader{ContentType: "text/html; charset=utf-8", CacheControl: CacheRevalidate, ByLanguage: true}
	body := []byte(strings.Repeat("<p>All’s well.</p>", 100))
	d := NewDocument(body, page)
	plain, packed := d.identity.etag[0], d.gzip.etag[0]
	if plain == packed {
		t.Fatal("both encodings have the same strong tag")
	}
	if other := NewDocument(append(body, ' '), page); other.identity.etag[0] == plain {
		t.Fatal("different content has the same tag")
	}
	long := []byte(strings.Repeat("<p>All’s well.</p>", 100_000))
	tag := NewDocument(long, page).identity.etag[0]
	long[len(long)-5]++
	if NewDocument(long, page).identity.etag[0] == tag {
		t.Fatal("long content has the tag of content that differs at its end")
	}
	for _, tc := range []struct {
		name, method, accept string
		match                []string
		status               int
		tag                  string
	}{
		{"plain", "GET", "", nil, 200, plain},
		{"packed", "GET", "gzip, br", nil, 200, packed},
		{"head", "HEAD", "", nil, 200, plain},
		{"packed head", "HEAD", "gzip", nil, 200, packed},
		{"known", "GET", "gzip", []string{packed}, 304, packed},
		{"known in the other encoding", "GET", "gzip", []string{plain}, 304, packed},
		{"weak", "GET", "", []string{"W/" + plain}, 304, plain},
		{"in a list", "GET", "", []string{`"a,b", W/"c" ,` + plain + `, "d"`}, 304, plain},
		{"in a second field", "GET", "", []string{`"a"`, plain}, 304, plain},
		{"star", "GET", "", []string{" * "}, 304, plain},
		{"known head", "HEAD", "", []string{plain}, 304, plain},
		{"another", "GET", "", []string{`"a", W/"b"`}, 200, plain},
		{"unquoted", "GET", "", []string{strings.Trim(plain, `"`)}, 200, plain},
		{"half a tag", "GET", "", []string{plain[:len(plain)-1]}, 200, plain},
		{"empty", "GET", "", []string{""}, 200, plain},
	} {
		t.Run(tc.name, func(t *testing.T) {
			r := httptest.NewRequest(tc.method, "/", nil)
			if tc.accept != "" {
				r.Header.Set("Accept-Encoding", tc.accept)
			}
			r.Header["If-None-Match"] = tc.match
			w := httptest.NewRecorder()
			d.ServeHTTP(w, r)
			checkAnswer(t, w, tc.status, body, r)
			if got := w.Header().Get("Etag"); got != tc.tag {
				t.Errorf("tag %s, want %s", got, tc.tag)
			}
		})
	}
}

// checkAnswer checks that status, headers and body of an answer are consistent.
func checkAnswer(t *testing.T, w *httptest.ResponseRecorder, status int, body []byte, r *http.Request) {
	t.Helper()
	if w.Code != status {
		t.Fatalf("status %d, want %d", w.Code, status)
	}
	h := w.Header()
	if h.Get("Cache-Control") != CacheRevalidate || !strings.HasPrefix(h.Get("Vary"), "Accept-Encoding") {
		t.Errorf("header %v", h)
	}
	if status == http.StatusNotModified {
		if w.Body.Len() != 0 || h.Get("Content-Length") != "" || h.Get("Content-Encoding") != "" {
			t.Errorf("a 304 with %d bytes and %v", w.Body.Len(), h)
		}
		return
	}
	if r.Method == http.MethodHead {
		if w.Body.Len() != 0 || h.Get("Content-Length") == "" {
			t.Errorf("a HEAD with %d bytes and length %q", w.Body.Len(), h.Get("Content-Length"))
		}
		return
	}
	got := w.Body.Bytes()
	if h.Get("Content-Encoding") == "gzip" {
		z, err := gzip.NewReader(bytes.NewReader(got))
		if err != nil {
			t.Fatal(err)
		}
		if got, err = io.ReadAll(z); err != nil {
			t.Fatal(err)
		}
	}
	if !bytes.Equal(got, body) {
		t.Errorf("%d bytes, want %d", len(got), len(body))
	}
}

func FuzzIfNoneMatch(f *testing.F) {
	d := NewDocument([]byte("body"), DocumentHeader{})
	for _, seed := range []string{"", "*", `"a"`, `W/"a", "b"`, `"`, `,,W/`, d.identity.etag[0]} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, field string) {
		known := d.matches([]string{field})
		tagged := strings.Contains(field, d.identity.etag[0]) || strings.Contains(field, d.gzip.etag[0])
		if known && !tagged && strings.TrimSpace(field) != "*" {
			t.Errorf("%q matches", field)
		}
		acceptsGzip([]string{field})
	})
}
