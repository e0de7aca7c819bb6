package page

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/allswell/allswell/internal/domain/kernel"
	"github.com/allswell/allswell/internal/domain/statuspage"
	"github.com/allswell/allswell/internal/resource"
	"github.com/allswell/allswell/internal/surface/page/statuspageapi"
	"github.com/allswell/allswell/internal/surface/page/statuspageapi/statuspagetest"
	"github.com/allswell/allswell/internal/surface/web"
)

// statuspageFixture fills the page acme: two components in a group, a resolved and
// an active incident, and maintenances of three states.
func statuspageFixture(w *fixture) {
	w.t.Helper()
	ctx := w.t.Context()
	group, err := w.store.Groups().Create(ctx, w.ws, "acme", resource.Group.From(statuspage.Group{Name: "Regions"}))
	must(w, group, err)
	north, err := w.store.Components().Create(ctx, w.ws, "acme", resource.Component.From(statuspage.Component{
		Name: "North", GroupID: group.ID, Description: text("Up there"),
	}))
	must(w, north, err)
	south, err := w.store.Components().Create(ctx, w.ws, "acme", resource.Component.From(statuspage.Component{
		Name: "South", GroupID: group.ID,
	}))
	must(w, south, err)
	over := w.incident("acme",
		statuspage.Incident{
			Title: "Dark", Impact: kernel.ImpactMajor,
			Affected: []statuspage.AffectedComponent{{ComponentID: south.ID, Status: kernel.StatusMajorOutage}},
		},
		"We look.")
	w.clock.move(time.Minute)
	resolved := true
	over, err = w.store.ChangeIncident(ctx, w.ws, over.ID, func(i *statuspage.Incident) error {
		i.SetResolved(resolved)
		return nil
	}, statuspage.IncidentUpdate{}, "")
	must(w, over, err)
	w.clock.move(time.Minute)
	w.incident("acme",
		statuspage.Incident{
			Title: "Slow <b>\u2028", Impact: kernel.ImpactMinor, State: statuspage.IncidentMonitoring,
			Affected: []statuspage.AffectedComponent{{ComponentID: north.ID, Status: kernel.StatusPartialOutage}},
		},
		"It is *slow*.\nStill.")
	for title, from := range map[string]time.Duration{"Later": time.Hour, "Now": 0, "Short": 0} {
		until := w.clock.now().Add(2 * time.Hour)
		m, err := w.store.CreateMaintenance(ctx, w.ws, "acme", resource.Maintenance.From(statuspage.Maintenance{
			Title: title, Updates: []statuspage.MaintenanceUpdate{{Message: *text("Planned.")}},
			ScheduledFor: w.clock.now().Add(from), ScheduledUntil: until,
			Components: statuspage.ComponentRefs(south.ID),
		}))
		must(w, m, err)
		if title == "Short" {
			completed := statuspage.MaintenanceCompleted
			m, err = w.store.ChangeMaintenance(ctx, w.ws, m.ID, func(m *statuspage.Maintenance) error {
				m.State = completed
				return nil
			}, "")
			must(w, m, err)
		}
	}
}

func TestStatuspageOverHTTP(t *testing.T) {
	run(t, func(w *fixture) {
		statuspageFixture(w)
		for path := range statuspagetest.Documents {
			w.checkStatuspagePath("/status/acme/api/v2/" + path)
		}
	})
}

// checkStatuspagePath checks a document, and all methods of its path.
func (w *fixture) checkStatuspagePath(path string) {
	w.t.Helper()
	t := w.t
	rec := w.do("GET", path)
	body := rec.Body.Bytes()
	checkStatuspageDocument(t, rec, 200, body)
	for _, fault := range statuspagetest.Faults(strings.TrimPrefix(path, "/status/acme/api/v2/"), body) {
		t.Error(fault)
	}
	if got := rec.Header().Get("Content-Type"); got != "application/json" {
		t.Errorf("%s: type %s", path, got)
	}
	tag := rec.Header().Get("Etag")
	again := w.do("GET", path, "If-None-Match", tag)
	checkStatuspageDocument(t, again, 304, nil)
	head := w.do("HEAD", path)
	checkStatuspageDocument(t, head, 200, nil)
	if tag == "" || fmt.Sprint(head.Header()) != fmt.Sprint(rec.Header()) {
		t.Errorf("%s: GET has %v, HEAD has %v", path, rec.Header(), head.Header())
	}
	packed := w.do("GET", path, "Accept-Encoding", "gzip")
	if packed.Header().Get("Content-Encoding") != "gzip" || packed.Header().Get("Etag") == tag {
		t.Errorf("%s packed: %v", path, packed.Header())
	}
	checkStatuspageDocument(t, packed, 200, body)
	for _, rec := range []*httptest.ResponseRecorder{
		rec, again, head, packed, w.do("POST", path), w.do("OPTIONS", path), w.do("GET", path+"/x"),
	} {
		if got := rec.Header().Get("Access-Control-Allow-Origin"); got != "*" {
			t.Errorf("%s: %d with Access-Control-Allow-Origin %q", path, rec.Code, got)
		}
	}
	for _, method := range []string{"POST", "PUT", "PATCH", "DELETE", "TRACE", "get"} {
		checkStatuspageError(t, w.do(method, path), 405)
	}
	rec = w.do("OPTIONS", path, "Origin", "https://other.example", "Access-Control-Request-Method", "GET",
		"Access-Control-Request-Headers", "if-none-match")
	if rec.Code != 204 || rec.Header().Get("Access-Control-Allow-Methods") != "GET, HEAD, OPTIONS" ||
		rec.Header().Get("Access-Control-Allow-Headers") != "*" {
		t.Errorf("OPTIONS %s: %d %v", path, rec.Code, rec.Header())
	}
}

func TestUnknownStatuspageDocuments(t *testing.T) {
	run(t, func(w *fixture) {
		t := w.t
		statuspageFixture(w)
		for _, path := range []string{
			"", "x.json", "summary", "summary.json/", "incidents", "incidents/", "incidents/summary.json",
			"components.JSON", "/summary.json", "subscribers.json",
		} {
			checkStatuspageError(t, w.do("GET", "/status/acme/api/v2/"+path), 404)
		}
		for _, path := range []string{
			"/status/acme/api/v2", "/status/acme/api/v1/summary.json", "/status/nobody/api/v2",
			"/status//api/v2/summary.json",
		} {
			if rec := w.do("GET", path); rec.Code != 404 {
				t.Errorf("%s: %d", path, rec.Code)
			}
		}
	})
}

// TestStatuspageDocumentsOfNoPage asks for documents where no page is; where all pages are, they would be no one's.
func TestStatuspageDocumentsOfNoPage(t *testing.T) {
	run(t, func(w *fixture) {
		t := w.t
		for _, path := range []string{
			"/status/nobody/api/v2/summary.json", "/status/Not a slug/api/v2/summary.json", "/status/nobody/api/v2/x",
			"/api/v2/summary.json",
		} {
			path = strings.ReplaceAll(path, " ", "%20")
			missing, other, asked := w.do("GET", path), w.do("POST", path), w.do("OPTIONS", path)
			checkStatuspageError(t, missing, 404)
			checkStatuspageError(t, other, 405)
			for _, rec := range []*httptest.ResponseRecorder{missing, other, asked} {
				if rec.Header().Get("Access-Control-Allow-Origin") != "*" {
					t.Errorf("%s: %d with %v", path, rec.Code, rec.Header())
				}
			}
			if asked.Code != 204 {
				t.Errorf("OPTIONS %s: %d", path, asked.Code)
			}
		}
	})
}

// checkStatuspageDocument checks the status, the headers and the body of a
// response; body is the decompressed body.
func checkStatuspageDocument(t *testing.T, rec *httptest.ResponseRecorder, status int, body []byte) {
	t.Helper()
	got, h := rec.Body.Bytes(), rec.Header()
	if h.Get("Content-Encoding") == "gzip" {
		z, err := gzip.NewReader(rec.Body)
		if err != nil {
			t.Fatal(err)
		}
		if got, err = io.ReadAll(z); err != nil {
			t.Fatal(err)
		}
	}
	if rec.Code != status || !bytes.Equal(got, body) {
		t.Errorf("the document: %d with %q, want %d with %q", rec.Code, got, status, body)
	}
	for name, want := range map[string]string{
		"Cache-Control": web.CacheRevalidate, "Vary": "Accept-Encoding", "Access-Control-Allow-Origin": "*",
		"Cross-Origin-Resource-Policy": "cross-origin",
	} {
		if h.Get(name) != want {
			t.Errorf("the header: %s is %q, want %q", name, h.Get(name), want)
		}
	}
}

func checkStatuspageError(t *testing.T, rec *httptest.ResponseRecorder, status int) {
	t.Helper()
	var said struct{ Message string }
	if err := json.Unmarshal(rec.Body.Bytes(), &said); err != nil || said.Message == "" || rec.Code != status {
		t.Errorf("%d with %s, want %d with a message", rec.Code, rec.Body, status)
	}
	if allow := rec.Header().Get("Allow"); (status == 405) != (allow == "GET, HEAD, OPTIONS") {
		t.Errorf("%d with Allow %q", status, allow)
	}
	if cached := rec.Header().Get("Cache-Control"); cached != "no-store" {
		t.Errorf("%d with Cache-Control %q", status, cached)
	}
}

// TestStatuspageChanges checks that each change shows immediately, and follows the links.
func TestStatuspageChanges(t *testing.T) {
	run(t, func(w *fixture) {
		statuspageFixture(w)
		t := w.t
		summary := w.statuspageSummary
		s := summary("acme")
		if len(s.Components) != 3 || s.Components[0].Status != "partial_outage" ||
			s.Components[2].Status != "under_maintenance" ||
			len(s.Incidents) != 1 || len(s.Maintenances) != 2 || s.Maintenances[0].Name != "Now" ||
			s.Status.Indicator != "major" {
			t.Fatalf("the summary: %+v", s)
		}
		links := []string{
			s.Page.URL, s.Incidents[0].Shortlink, s.Maintenances[0].Shortlink, s.Maintenances[1].Shortlink,
		}
		for _, link := range links {
			path, ok := strings.CutPrefix(link, "http://localhost:8080")
			if rec := w.do("GET", path); !ok || rec.Code != 200 {
				t.Errorf("%s: %d", link, rec.Code)
			}
		}
		before := s.Page.UpdatedAt
		w.clock.move(time.Minute)
		w.status("acme", s.Components[1].ID, kernel.StatusMajorOutage)
		s = summary("acme")
		if s.Components[1].Status != "major_outage" || s.Status.Indicator != "critical" || s.Page.UpdatedAt <= before {
			t.Errorf("after a change: %+v", s)
		}
	})
}

type statuspageSummary struct {
	Page struct {
		Name, URL string
		UpdatedAt string `json:"updated_at"`
	}
	Components   []struct{ ID, Status string }
	Incidents    []struct{ ID, Shortlink string }
	Maintenances []struct{ Name, Shortlink string } `json:"scheduled_maintenances"`
	Status       struct{ Indicator string }
}

func (w *fixture) statuspageSummary(slug string) (s statuspageSummary) {
	w.t.Helper()
	rec := w.do("GET", "/status/"+slug+"/api/v2/summary.json")
	if err := json.Unmarshal(rec.Body.Bytes(), &s); err != nil || rec.Code != 200 {
		w.t.Fatalf("the summary: %d: %v", rec.Code, err)
	}
	return s
}

func TestStatuspageOfRenamedPage(t *testing.T) {
	run(t, func(w *fixture) {
		statuspageFixture(w)
		t, summary := w.t, w.statuspageSummary
		p, err := w.store.ChangePage(t.Context(), w.ws, "acme", func(p *statuspage.Page) error {
			p.Slug = "other"
			return nil
		})
		must(w, p, err)
		w.page("acme", "Acme the second")
		s := summary("other")
		if s.Page.Name != "Acme" || s.Page.URL != "http://localhost:8080/status/other" || len(s.Components) != 3 {
			t.Errorf("under the new slug: %+v", s)
		}
		s = summary("acme")
		if s.Page.Name != "Acme the second" || len(s.Components) != 0 || s.Status.Indicator != "none" {
			t.Errorf("under the old slug: %+v", s)
		}
		p, err = w.store.ChangePage(t.Context(), w.ws, "acme", func(p *statuspage.Page) error {
			p.Name = "Other"
			return nil
		})
		must(w, p, err)
		if s := summary("acme"); s.Page.Name != "Other" {
			t.Errorf("renamed: %+v", s.Page)
		}
	})
}

func TestStatuspageAtOwnDomain(t *testing.T) {
	run(t, func(w *fixture) {
		statuspageFixture(w)
		t, summary := w.t, w.statuspageSummary
		p, err := w.store.ChangePage(t.Context(), w.ws, "acme", func(p *statuspage.Page) error {
			p.Domain = "status.acme.example"
			return nil
		})
		must(w, p, err)
		if s := summary("acme"); s.Page.URL != "https://status.acme.example" {
			t.Errorf("with a domain: %+v", s.Page)
		}
		own, slugged := w.do("GET", "https://status.acme.example/api/v2/summary.json"),
			w.do("GET", "/status/acme/api/v2/summary.json")
		if own.Code != 200 || own.Body.String() != slugged.Body.String() {
			t.Errorf("at the page's own domain: %d with %s", own.Code, own.Body)
		}
		checkStatuspageError(t, w.do("GET", "https://status.acme.example/api/v2/subscribers.json"), 404)
		checkStatuspageError(t, w.do("POST", "https://status.acme.example/api/v2/summary.json"), 405)
		if err := w.store.DeletePage(t.Context(), w.ws, "acme"); err != nil {
			t.Fatal(err)
		}
		checkStatuspageError(t, w.do("GET", "/status/acme/api/v2/summary.json"), 404)
	})
}

// TestStatuspageNames checks that the documents that are served are the generated ones.
func TestStatuspageNames(t *testing.T) {
	got, want := slices.Sorted(slices.Values(statuspageapi.Names)), slices.Sorted(maps.Keys(statuspagetest.Documents))
	if !slices.Equal(got, want) {
		t.Errorf("the names of the documents: %v, want %v", got, want)
	}
}
