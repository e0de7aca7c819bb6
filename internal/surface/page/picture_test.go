package page

import (
	"bytes"
	"image/png"
	"strings"
	"testing"

	"github.com/allswell/allswell/internal/domain/kernel"
	"github.com/allswell/allswell/internal/domain/statuspage"
	"github.com/allswell/allswell/internal/surface/page/picture"
)

// TestPicture checks the picture of a page, and how the head of the page refers to it.
func TestPicture(t *testing.T) {
	run(t, func(w *fixture) {
		t := w.t
		head := func(path, property string) string {
			t.Helper()
			found := w.get(path, 200).All("meta[property=" + property + "]")
			if len(found) != 1 {
				t.Fatalf("%s has %d elements %s", path, len(found), property)
			}
			return found[0].Attr("content")
		}
		calm := head("/status/acme", "og:image")
		address, version, ok := strings.Cut(calm, "/status/acme/picture.png?v=")
		if !ok || !strings.HasPrefix(address, "http") || len(version) != 8 {
			t.Fatalf("the picture is at %s", calm)
		}
		rec := w.do("GET", "/status/acme/picture.png?v="+version)
		drawn, err := png.Decode(bytes.NewReader(rec.Body.Bytes()))
		if err != nil || drawn.Bounds() != picture.Bounds() || rec.Code != 200 ||
			rec.Header().Get("Content-Type") != "image/png" ||
			rec.Header().Get("Cross-Origin-Resource-Policy") != "cross-origin" {
			t.Fatalf("the picture: %d %v, %v", rec.Code, rec.Header(), err)
		}
		tag := rec.Header().Get("Etag")
		if again := w.do("GET", "/status/acme/picture.png", "If-None-Match", tag); tag == "" || again.Code != 304 {
			t.Errorf("asked again: %d", again.Code)
		}
		if rec := w.do("POST", "/status/acme/picture.png"); rec.Code != 405 {
			t.Errorf("POST: %d", rec.Code)
		}

		inc := w.incident("acme", statuspage.Incident{Title: "Cards are refused", Impact: kernel.ImpactCritical}, "")
		for path, want := range map[string]string{
			"/status/acme":                     "Critical impact: Cards are refused – Acme",
			"/status/acme/incidents/" + inc.ID: "Cards are refused – Acme",
		} {
			if got := head(path, "og:title"); got != want {
				t.Errorf("%s: %q, want %q", path, got, want)
			}
			if got := head(path, "og:image"); got == calm {
				t.Errorf("%s: the picture has the address of the calm one", path)
			}
			if got := head(path, "og:description"); !strings.Contains(got, "Critical impact") {
				t.Errorf("%s: %q", path, got)
			}
		}
		now := w.do("GET", "/status/acme/picture.png", "If-None-Match", tag)
		for range 30 { // drawing can take longer than a request waits for a new version
			if now.Code == 304 {
				now = w.do("GET", "/status/acme/picture.png", "If-None-Match", tag)
			}
		}
		if now.Code != 200 || now.Header().Get("Etag") == tag {
			t.Errorf("with an incident: %d %v", now.Code, now.Header())
		}
	})
}
