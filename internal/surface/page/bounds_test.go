package page

import (
	"context"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/allswell/allswell/internal/domain/kernel"
	"github.com/allswell/allswell/internal/domain/statuspage"
	"github.com/allswell/allswell/internal/resource"
	"github.com/allswell/allswell/internal/shared/i18n/i18ntest"
	"github.com/allswell/allswell/internal/store"
	"github.com/allswell/allswell/internal/store/storetest"
	"github.com/allswell/allswell/internal/surface/page/statuspageapi"
	"github.com/allswell/allswell/internal/surface/page/view"
)

// newLongTimelines returns a fixture with an incident and a maintenance of many
// long updates.
func newLongTimelines(t *testing.T, updates int, message string) (w *fixture, incident, maintenance string) {
	w = open(t, "sqlite:"+storetest.TempDir(t)+"/a.db", &clock{})
	w.page("acme", "Acme")
	inc := w.incident("acme", statuspage.Incident{Title: "Long"}, message)
	planned, err := w.store.CreateMaintenance(t.Context(), w.ws, "acme",
		resource.Maintenance.From(statuspage.Maintenance{
			Title: "Disks", Updates: []statuspage.MaintenanceUpdate{{Message: message}},
			ScheduledFor: w.clock.now().Add(time.Hour), ScheduledUntil: w.clock.now().Add(2 * time.Hour),
		}))
	m := must(w, planned, err)
	for range updates - 1 {
		w.clock.move(time.Second)
		_, err := w.store.PostUpdate(t.Context(), w.ws, inc.ID, statuspage.IncidentUpdate{Message: message}, nil)
		if err != nil {
			t.Fatal(err)
		}
		_, err = w.store.PostMaintenanceUpdate(t.Context(), w.ws, m.ID,
			resource.MaintenanceUpdate.From(statuspage.MaintenanceUpdate{Message: message}), "")
		if err != nil {
			t.Fatal(err)
		}
	}
	return w, inc.ID, m.ID
}

// TestManyLongUpdates checks that every document of a page with many long updates
// is small, is rendered once, and leads to every update.
func TestManyLongUpdates(t *testing.T) {
	t.Parallel()
	const updates = 200 // 5 MB each
	w, inc, m := newLongTimelines(t, updates, strings.Repeat("long words *of* <one> ", kernel.MaxMessageLength/22))
	paths := []string{
		"", "/history", "/incidents/" + inc, "/maintenances/" + m, "/history.atom", "/history.rss", "/history.ics",
	}
	for _, name := range statuspageapi.Names {
		paths = append(paths, "/"+statuspageapi.Prefix+name)
	}
	for _, path := range paths {
		rec := w.do("GET", "/status/acme"+path)
		if rec.Code != 200 || rec.Body.Len() > view.MaxBytes {
			t.Errorf("%s: %d, %d bytes", path, rec.Code, rec.Body.Len())
		}
	}
	if n, bytes := w.site.rendered.Stats(); n < len(paths)-len(statuspageapi.Names)+1 || bytes > maxRenderedBytes {
		t.Errorf("%d documents of %d bytes are in memory", n, bytes)
	}
	// Many requests, one rendering.
	k := key{
		entry: w.site.index.Last().find("acme"), kind: "incident", name: inc,
		variant: view.Variant{Language: i18ntest.Language(t, "en")},
	}
	_, err := loadRendered(t.Context(), w.site, k, func(context.Context) (*renderedPage, time.Time, error) {
		t.Error("the page of the incident is rendered again")
		return nil, time.Time{}, kernel.ErrNotFound
	})
	if err != nil {
		t.Error(err)
	}
	for _, base := range []string{"/status/acme/incidents/" + inc, "/status/acme/maintenances/" + m} {
		walkTimeline(t, w, base, updates)
	}
}

// walkTimeline follows the links from the newest part of a timeline to the oldest,
// and counts the updates.
func walkTimeline(t *testing.T, w *fixture, base string, want int) {
	t.Helper()
	seen, path := 0, base
	for parts := 0; path != "" && parts < 100; parts++ {
		rec := w.do("GET", path)
		body := rec.Body.String()
		if rec.Code != 200 || len(body) > view.MaxBytes {
			t.Fatalf("%s: %d, %d bytes", path, rec.Code, len(body))
		}
		canonical := `<link rel="canonical" href="http://localhost:8080` + path + `">`
		if !strings.Contains(body, canonical) {
			t.Errorf("%s does not have %s", path, canonical)
		}
		if again := w.do("GET", path, "If-None-Match", rec.Header().Get("Etag")); again.Code != 304 {
			t.Errorf("%s again: %d", path, again.Code)
		}
		if leads := strings.Contains(body, `href="`+base+`#timeline"`); leads != (path != base) {
			t.Errorf("%s links to the newest part: %v", path, leads)
		}
		seen += strings.Count(body, `<p class="when">`)
		path = ""
		if older := regexp.MustCompile(`href="([^"]*\?before=\d+)#timeline"`).FindStringSubmatch(body); older != nil {
			path = older[1]
		}
	}
	if seen != want {
		t.Errorf("%s: %d updates on all parts, want %d", base, seen, want)
	}
}

func TestTimelineInParts(t *testing.T) {
	w, inc, m := newLongTimelines(t, 120, "Short.")
	for _, base := range []string{"/status/acme/incidents/" + inc, "/status/acme/maintenances/" + m} {
		walkTimeline(t, w, base, 120)
		body := w.do("GET", base).Body.String()
		if n := strings.Count(body, `<p class="when">`); n != store.TimelinePageSize {
			t.Errorf("%d updates on the newest part", n)
		}
		for _, wrong := range []string{
			"", "0", "1", "-5", "+9", "07", "x", "9.5", "122", "9999", "10000", "99999999999999999999",
		} {
			w.get(base+"?before="+wrong, 404)
		}
		w.get(base+"?before=121", 200)
		body = w.do("GET", base+"?before=2&lang=ar").Body.String()
		if !strings.Contains(body, "التحديث 1") || !strings.Contains(body, `href="`+base+`?lang=ar#timeline"`) {
			t.Error("in Arabic, the oldest update has no number, or no link to the newest part")
		}
		body = w.do("GET", base+"?lang=de").Body.String()
		if !strings.Contains(body, "Meldungen 71 bis 120") ||
			!strings.Contains(body, `?before=71&amp;lang=de#timeline`) {
			t.Error("in German, the newest part has no numbers, or no link in German")
		}
	}
	// The update that resolves the incident is on the newest part only.
	yes := true
	w.clock.move(time.Second)
	if _, err := w.store.ChangeIncident(t.Context(), w.ws, inc, func(i *statuspage.Incident) error {
		i.SetResolved(yes)
		return nil
	}, statuspage.IncidentUpdate{}, ""); err != nil {
		t.Fatal(err)
	}
	walkTimeline(t, w, "/status/acme/incidents/"+inc, 121)
}

// TestCancelledRequest checks that rendering stops when the client has gone.
func TestCancelledRequest(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	w := open(t, "sqlite:"+storetest.TempDir(t)+"/a.db", &clock{})
	w.page("acme", "Acme")
	inc := w.incident("acme", statuspage.Incident{Title: "One"}, "")
	w.do("GET", "/status/acme")
	r := httptest.NewRequest("GET", "/status/acme/incidents/"+inc.ID, nil).WithContext(ctx)
	rec := httptest.NewRecorder()
	w.site.Handler().ServeHTTP(rec, r)
	if rec.Code != 503 {
		t.Errorf("cancelled: %d", rec.Code)
	}
	w.get("/status/acme/incidents/"+inc.ID, 200)
}
