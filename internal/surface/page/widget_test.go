package page

import (
	"strings"
	"testing"
	"time"

	"github.com/allswell/allswell/internal/domain/kernel"
	"github.com/allswell/allswell/internal/domain/statuspage"
	"github.com/allswell/allswell/internal/surface/htmltest"
)

// TestWidget checks what other sites get to embed, and that private pages have none.
func TestWidget(t *testing.T) {
	run(t, func(w *fixture) {
		calm := w.do("GET", "/status/acme/widget")
		if got := htmltest.Parse(w.t, calm.Body.String()).One(w.t, "strong"); got != "All systems operational" {
			w.t.Errorf("it says %q", got)
		}
		w.incident("acme", statuspage.Incident{Title: hostile, Impact: kernel.ImpactMajor}, "")
		a := w.do("GET", "/status/acme/widget?lang=de")
		tree := htmltest.Parse(w.t, a.Body.String())
		if got := tree.One(w.t, "small"); !strings.Contains(got, "Untersuchung") && !strings.Contains(got, "·") {
			w.t.Errorf("in German: %q", got)
		}
		got := tree.All("a")[0].Attr("href")
		if !strings.HasPrefix(got, "http") || !strings.HasSuffix(got, "/status/acme?lang=de") {
			w.t.Errorf("it leads to %q", got)
		}
		policy := a.Header().Get("Content-Security-Policy")
		if !strings.Contains(policy, "frame-ancestors *; style-src 'sha256-") ||
			strings.Contains(policy, "script-src") || a.Header().Get("Refresh") != "60" {
			w.t.Errorf("the header is %v", a.Header())
		}
		other := w.do("GET", "/status/acme").Header().Get("Content-Security-Policy")
		if !strings.Contains(other, "frame-ancestors 'none'") {
			w.t.Errorf("the page itself can be framed: %s", other)
		}
		script := w.do("GET", "/status/acme/widget.js")
		if script.Header().Get("Content-Type") != "text/javascript; charset=utf-8" ||
			script.Header().Get("Cross-Origin-Resource-Policy") != "cross-origin" {
			w.t.Errorf("the script's header is %v", script.Header())
		}
		for name, body := range map[string]string{"widget": a.Body.String(), "widget.js": script.Body.String()} {
			if len(body) > 3000 {
				w.t.Errorf("%s has %d bytes before compression", name, len(body))
			}
		}
		private := statuspage.VisibilityPrivate
		p, err := w.store.ChangePage(w.t.Context(), w.ws, "acme", func(p *statuspage.Page) error {
			p.Visibility = private
			return nil
		})
		must(w, p, err)
		for _, path := range []string{"/status/acme/widget", "/status/acme/widget.js"} {
			if a := w.do("GET", path); a.Code != 404 {
				w.t.Errorf("%s of a private page: %d", path, a.Code)
			}
		}
	})
}

// TestWidgetIsLate checks that a widget in memory says so when the database has not answered for a while.
func TestWidgetIsLate(t *testing.T) {
	run(t, func(w *fixture) {
		w.clock.set(time.Now()) // the store's contact is by the host's clock
		before := w.do("GET", "/status/acme/widget")
		w.store.Close()
		w.clock.set(w.store.LastContact().Add(delayedAfter + time.Millisecond))
		after := w.do("GET", "/status/acme/widget")
		if after.Code != 200 || after.Body.String() == before.Body.String() {
			w.t.Errorf("the late widget: %d: %s", after.Code, after.Body)
		}
	})
}
