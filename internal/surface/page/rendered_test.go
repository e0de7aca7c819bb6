package page

import (
	"context"
	"net/http"
	"runtime"
	"strings"
	"testing"
	"time"
	"weak"

	"github.com/allswell/allswell/internal/domain/kernel"
	"github.com/allswell/allswell/internal/domain/statuspage"
	"github.com/allswell/allswell/internal/shared/i18n"
	"github.com/allswell/allswell/internal/surface/htmltest"
	"github.com/allswell/allswell/internal/surface/page/view"
)

// TestVariantsShareOneLoad checks that a page is loaded once for all its variants,
// and that each variant is rendered once.
func TestVariantsShareOneLoad(t *testing.T) {
	run(t, func(w *fixture) {
		t := w.t
		w.domain("acme", "status.acme.example")
		w.get("/status/acme", 200)
		e := w.site.index.Last().find("acme")
		w.store.Close()
		for range 2 {
			for _, l := range i18n.All() {
				for host, path := range map[string]string{"example.com": "/status/acme", "status.acme.example": "/"} {
					for _, path := range []string{path, path + "?lang=" + l.Tag} {
						rec := w.at(host, "GET", path, "Accept-Language", l.Tag)
						got := htmltest.Parse(t, rec.Body.String()).All("html")[0].Attr("lang")
						if rec.Code != 200 || got != l.Tag {
							t.Errorf("the variant at %s%s: %d in %s", host, path, rec.Code, got)
						}
					}
				}
			}
		}
		if got, _ := w.site.rendered.Stats(); got != 4*len(i18n.All()) {
			t.Errorf("%d variants", got)
		}
		german := key{entry: e, kind: "status", variant: view.Variant{Language: i18n.Find("de")}}
		_, err := getRendered(t.Context(), w.site, german, &e.snapshot.Loads,
			func(context.Context) (*renderedPage, time.Time, error) {
				t.Error("the German page is rendered again")
				return nil, time.Time{}, kernel.ErrNotFound
			})
		if err != nil {
			t.Error(err)
		}
	})
}

// TestVariantsAreLimited requests more variants than fit into memory, and pages
// that do not exist.
func TestVariantsAreLimited(t *testing.T) {
	run(t, func(w *fixture) {
		t := w.t
		w.get("/status/acme", 200)
		_, size := w.site.rendered.Stats()
		budget := 3 * size
		w.site.rendered = w.site.newRendered(budget)
		for _, l := range i18n.All() {
			for _, path := range []string{
				"/status/acme", "/status/acme/nothing", "/status/acme/history?month=1999-01",
			} {
				for _, path := range []string{
					path, path + map[bool]string{true: "&", false: "?"}[strings.Contains(path, "?")] + "lang=" + l.Tag,
				} {
					w.do("GET", path, "Accept-Language", l.Tag)
				}
			}
			if n, bytes := w.site.rendered.Stats(); bytes > budget || n == 0 {
				t.Fatalf("%d documents of %d bytes are in memory, the limit is %d", n, bytes, budget)
			}
		}
		c := w.component("acme", "Website", kernel.StatusMajorOutage)
		for range 2 {
			for _, l := range i18n.All() {
				got := w.do("GET", "/status/acme?lang="+l.Tag).Body.String()
				if !strings.Contains(got, l.Banner(kernel.StatusMajorOutage)) {
					t.Errorf("an old page in %s", l.Name)
				}
			}
		}
		w.status("acme", c.ID, kernel.StatusOperational)
		got := w.do("GET", "/status/acme?lang=de").Body.String()
		if strings.Contains(got, i18n.Find("de").Banner(kernel.StatusMajorOutage)) {
			t.Error("an old page after a change")
		}
	})
}

// TestOldSnapshotsAreFreed checks that cached documents of a page's parts do not
// keep an old snapshot in memory.
func TestOldSnapshotsAreFreed(t *testing.T) {
	run(t, func(w *fixture) {
		t := w.t
		c := w.component("acme", "Website", "")
		inc := w.incident("acme", statuspage.Incident{Title: "One"}, "")
		for _, path := range []string{
			"", "?lang=de", "/nothing", "/history", "/incidents/" + inc.ID, "/components/" + c.ID, "/badge.svg",
			"/history.atom", "/api/v2/summary.json",
		} {
			w.do("GET", "/status/acme"+path)
		}
		old := weak.Make(w.site.index.Last().find("acme").snapshot.Last())
		w.status("acme", c.ID, kernel.StatusMajorOutage)
		w.get("/status/acme", 200)
		runtime.GC()
		runtime.GC()
		if old.Value() != nil {
			t.Error("an old snapshot is still in memory")
		}
	})
}

// TestLoadsAreLimited checks that, with all loads in use, what is not in memory
// gets 503, and what is in memory is served.
func TestLoadsAreLimited(t *testing.T) {
	t.Parallel()
	run(t, func(w *fixture) {
		inc := w.incident("acme", statuspage.Incident{Title: "One"}, "")
		w.get("/status/acme/incidents/"+inc.ID, 200)
		free := occupy(w.site.loads)
		w.get("/status/acme/incidents/"+inc.ID, 200)
		w.get("/status/acme", 200)
		w.get("/status/acme/history", http.StatusServiceUnavailable)
		free()
		w.get("/status/acme/history", 200)
	})
}
