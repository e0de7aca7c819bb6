package page

import (
	"context"
	"fmt"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/allswell/allswell"
	"github.com/allswell/allswell/internal/feed"
	"github.com/allswell/allswell/internal/i18n"
	"github.com/allswell/allswell/internal/i18n/i18ntest"
	"github.com/allswell/allswell/internal/markdown"
	"github.com/allswell/allswell/internal/statuspage"
	"github.com/allswell/allswell/internal/store"
)

// longWorld is a page with an incident and a maintenance of many long updates.
func longWorld(t *testing.T, updates int, message string) (w *world, incident, maintenance string) {
	w = open(t, "sqlite:"+t.TempDir()+"/a.db", &clock{})
	w.page("acme", "Acme")
	inc := w.incident("acme", allswell.NewIncident{Title: "Long", Message: &message})
	planned, err := w.store.CreateMaintenance(t.Context(), w.ws, "acme", allswell.NewMaintenance{Title: "Disks", Message: &message,
		ScheduledFor: w.clock.now().Add(time.Hour), ScheduledUntil: w.clock.now().Add(2 * time.Hour)})
	m := must(w, planned, err)
	for range updates - 1 {
		w.clock.move(time.Second)
		if _, err := w.store.PostUpdate(t.Context(), w.ws, inc.ID, message); err != nil {
			t.Fatal(err)
		}
		if _, err := w.store.PostMaintenanceUpdate(t.Context(), w.ws, m.ID, message, ""); err != nil {
			t.Fatal(err)
		}
	}
	return w, inc.ID, m.ID
}

// TestSixHundredLongUpdates: whatever is asked of such a page is small, is
// rendered once, and leads to every update.
func TestSixHundredLongUpdates(t *testing.T) {
	const updates = 600
	w, inc, m := longWorld(t, updates, strings.Repeat("long words *of* <one> ", allswell.MaxMessageLength/22))
	paths := []string{"", "/history", "/incidents/" + inc, "/maintenances/" + m, "/history.atom", "/history.rss", "/history.ics"}
	for _, name := range statuspage.Names {
		paths = append(paths, "/"+statuspage.Prefix+name)
	}
	for _, path := range paths {
		rec := w.do("GET", "/status/acme"+path)
		if rec.Code != 200 || rec.Body.Len() > maxDocument {
			t.Errorf("%s: %d, %d bytes", path, rec.Code, rec.Body.Len())
		}
	}
	if n, bytes := w.site.rendered.Stats(); n < len(paths)-len(statuspage.Names)+1 || bytes > maxRenderedBytes {
		t.Errorf("%d documents are kept, in %d bytes", n, bytes)
	}
	// Many requests, one rendering.
	k := key{entry: w.site.index.Last().find("acme"), kind: "incident", name: inc, variant: variant{lang: i18ntest.Language(t, "en")}}
	_, err := loadRendered(t.Context(), w.site, k, func(context.Context) (*renderedPage, time.Time, error) {
		t.Error("the page of the incident is rendered again")
		return nil, time.Time{}, allswell.ErrNotFound
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
func walkTimeline(t *testing.T, w *world, base string, want int) {
	t.Helper()
	seen, path := 0, base
	for parts := 0; path != "" && parts < 100; parts++ {
		rec := w.do("GET", path)
		body := rec.Body.String()
		if rec.Code != 200 || len(body) > maxDocument {
			t.Fatalf("%s: %d, %d bytes", path, rec.Code, len(body))
		}
		if canonical := `<link rel="canonical" href="` + path + `">`; !strings.Contains(body, canonical) {
			t.Errorf("%s does not say %s", path, canonical)
		}
		if again := w.do("GET", path, "If-None-Match", rec.Header().Get("Etag")); again.Code != 304 {
			t.Errorf("%s again: %d", path, again.Code)
		}
		if leads := strings.Contains(body, `href="`+base+`#timeline"`); leads != (path != base) {
			t.Errorf("%s leads to the newest: %v", path, leads)
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
	w, inc, m := longWorld(t, 120, "Short.")
	for _, base := range []string{"/status/acme/incidents/" + inc, "/status/acme/maintenances/" + m} {
		walkTimeline(t, w, base, 120)
		body := w.do("GET", base).Body.String()
		if n := strings.Count(body, `<p class="when">`); n != store.TimelinePageSize {
			t.Errorf("%d updates on the newest part", n)
		}
		for _, wrong := range []string{"", "0", "1", "-5", "+9", "07", "x", "9.5", "122", "9999", "10000", "99999999999999999999"} {
			w.get(base+"?before="+wrong, 404)
		}
		w.get(base+"?before=121", 200)
		if body := w.do("GET", base+"?before=2&lang=ar").Body.String(); !strings.Contains(body, "التحديث 1") || !strings.Contains(body, `href="`+base+`?lang=ar#timeline"`) {
			t.Error("in Arabic, the oldest update is not named, or does not lead to the newest")
		}
		if body := w.do("GET", base+"?lang=de").Body.String(); !strings.Contains(body, "Meldungen 71 bis 120") || !strings.Contains(body, `?before=71&amp;lang=de#timeline`) {
			t.Error("in German, the newest part is not named, or does not lead on in German")
		}
	}
	// The end of a resolved incident is told once, on the newest part.
	yes := true
	w.clock.move(time.Second)
	if _, err := w.store.ChangeIncident(t.Context(), w.ws, inc, allswell.IncidentChange{Resolved: &yes}); err != nil {
		t.Fatal(err)
	}
	walkTimeline(t, w, "/status/acme/incidents/"+inc, 121)
}

// TestWorstPage: the largest page that can be made, of what makes the most bytes.
func TestWorstPage(t *testing.T) {
	p, page := worstPage()
	sum := p.Summarize(day)
	for _, l := range []*i18n.Language{i18ntest.Language(t, "en"), i18ntest.Language(t, "ar")} {
		at := presentation{base: "/status/acme", lang: l, zone: time.UTC, mail: true}
		screens := map[string]screen{
			"status":      withSubscribe(statusScreen(at, sum), sum.Blocks),
			"history":     historyScreen(at, page, sum.Status, month{monthOf(day, time.UTC), page.CreatedAt, day, p}),
			"incident":    incidentScreen(at, page, sum.Status, incidentPart{Incident: sum.Active[0]}, day),
			"maintenance": maintenanceScreen(at, page, sum.Status, maintenancePart{Maintenance: p.Maintenances[0]}, day),
			"component":   componentScreen(at, "https://status.example", sum, p.Components[0], p),
		}
		for name, s := range screens {
			sh, err := newRenderedPage(t.Context(), s)
			if err != nil {
				t.Errorf("%s in %s: %v", name, l.Tag, err)
				continue
			}
			t.Logf("%s in %s: %d bytes", name, l.Tag, len(sh.doc.Body()))
		}
		newest := p // as store.LoadNewest loads it
		newest.Page.Language, newest.Incidents, newest.Maintenances = l.Tag, p.Incidents[:store.MaxNewest], p.Maintenances[:store.MaxNewest]
		bodies, err := statuspage.Documents(sum, newest, "https://status.example")
		if err != nil {
			t.Fatal(err)
		}
		f, _ := feed.New(newest, "", "https://status.example")
		for name, write := range map[string]func() ([]byte, error){"atom": f.Atom, "rss": f.RSS} {
			if bodies[name], err = write(); err != nil {
				t.Fatal(err)
			}
		}
		bodies["ics"] = feed.Calendar(p, "https://status.example")
		for name, body := range bodies {
			t.Logf("%s in %s: %d bytes", name, l.Tag, len(body))
			if len(body) > maxDocument {
				t.Errorf("%s in %s: %d bytes", name, l.Tag, len(body))
			}
		}
	}
}

// worstPage has as much of everything as it can have, and text that takes the most
// bytes as HTML and as JSON. Further incidents add nothing: there is no room for these.
func worstPage() (allswell.PageContents, allswell.Page) {
	text := func(n int) string { return strings.Repeat("\"", n) }
	description := text(allswell.MaxDescriptionLength)
	page := allswell.Page{ID: "page_1", Slug: "acme", Name: text(allswell.MaxNameLength), Description: &description, CreatedAt: day.Add(-80 * 24 * time.Hour)}
	p := allswell.PageContents{Page: page, AsOf: day}
	var affected []allswell.AffectedComponent
	var changes []allswell.AffectedChange
	var named []allswell.ComponentName
	for n := range allswell.MaxGroups {
		p.Groups = append(p.Groups, allswell.Group{ID: fmt.Sprint("grp_", n), Name: text(allswell.MaxNameLength)})
	}
	for n := range allswell.MaxComponents {
		id := fmt.Sprintf("comp_%020d", n)
		p.Components = append(p.Components, allswell.Component{ID: id, Name: text(allswell.MaxNameLength), Description: &description,
			GroupID: fmt.Sprint("grp_", n%allswell.MaxGroups), Baseline: allswell.StatusDegraded})
		affected = append(affected, allswell.AffectedComponent{ComponentID: id, Name: text(allswell.MaxNameLength), Status: allswell.StatusMajorOutage})
		changes = append(changes, allswell.AffectedChange{ComponentID: id, Name: text(allswell.MaxNameLength), New: allswell.StatusMajorOutage})
		named = append(named, allswell.ComponentName{ID: id, Name: text(allswell.MaxNameLength)})
	}
	message := text(allswell.MaxMessageLength)
	for n := range 300 {
		at := day.Add(-time.Duration(n) * time.Minute)
		inc := allswell.Incident{ID: fmt.Sprintf("00000000-0000-7000-8000-%012d", n), Title: text(allswell.MaxTitleLength), Impact: allswell.ImpactCritical,
			State: allswell.IncidentInvestigating, CreatedAt: at, UpdatedAt: at, Affected: affected}
		if n >= 100 {
			inc.Resolved, inc.ResolvedAt = true, at
		}
		for k := range 50 {
			inc.Updates = append(inc.Updates, allswell.IncidentUpdate{ID: "upd_1", Number: k + 1, Message: message, Affected: changes, CreatedAt: at})
		}
		p.Incidents = append(p.Incidents, inc)
	}
	for n := range 200 {
		at := day.Add(time.Duration(n) * time.Minute)
		m := allswell.Maintenance{ID: fmt.Sprintf("mnt_%020d", n), Title: text(allswell.MaxTitleLength), State: allswell.MaintenanceScheduled,
			ScheduledFor: at, ScheduledUntil: at.Add(time.Hour), Components: named}
		if n >= 100 {
			m.State, m.BegunAt = allswell.MaintenanceInProgress, day.Add(-time.Hour)
		}
		for k := range 50 {
			m.Updates = append(m.Updates, allswell.MaintenanceUpdate{ID: "upd_2", Number: k + 1, Message: message, CreatedAt: at})
		}
		p.Maintenances = append(p.Maintenances, m)
	}
	return p, page
}

// TestWorkOfAPageIsBounded: no more Markdown is rendered for a page than roomChars,
// however much there is.
func TestWorkOfAPageIsBounded(t *testing.T) {
	r, s := newBudget(), i18n.UpdateText{Message: strings.Repeat("x", allswell.MaxMessageLength)}
	rendered := 0
	for range 1_000 {
		if _, ok := r.message(english(), s, 0); ok {
			rendered += len(s.Message)
		}
	}
	if rendered != budgetChars {
		t.Errorf("%d characters were rendered, want %d", rendered, budgetChars)
	}
	if len(markdown.HTML(s.Message)) < allswell.MaxMessageLength {
		t.Error("it is not rendered")
	}
}

// TestNothingIsRenderedForNobody: a template is not executed to its end for nobody.
func TestNothingIsRenderedForNobody(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	p, _ := worstPage()
	if _, err := newRenderedPage(ctx, statusScreen(english(), p.Summarize(day))); err != context.Canceled {
		t.Errorf("rendered with %v", err)
	}
	w := open(t, "sqlite:"+t.TempDir()+"/a.db", &clock{})
	w.page("acme", "Acme")
	inc := w.incident("acme", allswell.NewIncident{Title: "One"})
	w.do("GET", "/status/acme")
	r := httptest.NewRequest("GET", "/status/acme/incidents/"+inc.ID, nil).WithContext(ctx)
	rec := httptest.NewRecorder()
	w.site.Handler().ServeHTTP(rec, r)
	if rec.Code != 503 {
		t.Errorf("for nobody: %d", rec.Code)
	}
	w.get("/status/acme/incidents/"+inc.ID, 200)
}

// TestMonthsSayWhatIsLeftOut: a month of more incidents than are loaded says so.
func TestMonthsSayWhatIsLeftOut(t *testing.T) {
	p, page := worstPage()
	p.Incidents = p.Incidents[:250]
	p.Since = day.Add(-5 * 24 * time.Hour)
	s := historyScreen(english(), page, allswell.StatusOperational, month{monthOf(day, time.UTC), page.CreatedAt, day, p})
	out, err := render(t.Context(), s)
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(out), "are not shown") {
		t.Error("nothing is said of the incidents that are not shown")
	}
	if days := s.Body.(historyBody).Days; len(days) != 6 {
		t.Errorf("%d days, want those of which all is known", len(days))
	}
}
