package page

import (
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/allswell/allswell/internal/domain/audience"
	"github.com/allswell/allswell/internal/domain/kernel"
	"github.com/allswell/allswell/internal/domain/monitor"
	"github.com/allswell/allswell/internal/domain/statuspage"
	"github.com/allswell/allswell/internal/resource"
	"github.com/allswell/allswell/internal/shared/i18n/i18ntest"
	"github.com/allswell/allswell/internal/store"
	"github.com/allswell/allswell/internal/surface/page/feed"
)

func TestComponentPage(t *testing.T) {
	run(t, func(w *fixture) {
		t := w.t
		c := w.component("acme", "Check & pay", "")
		path := "/status/acme/components/" + c.ID
		p := w.get(path, 200)
		if got := p.One(t, "h1") + ", " + p.One(t, ".now"); got != "Check & pay, Operational" {
			t.Errorf("it shows %q", got)
		}
		got := p.Texts("#incidents")
		if len(got) != 1 || !strings.Contains(p.Text(), "This component has had no incidents.") {
			t.Errorf("without incidents it shows %q", p.Text())
		}
		days := p.All(".days tbody tr")
		if len(days) != 90 || days[0].Text() != "Saturday, 21 NovemberOperational100%" &&
			days[0].Text() != "Saturday, 21 NovemberNo data yet" {
			t.Errorf("%d days, the first %q", len(days), days[0].Text())
		}
	})
}

// TestIncidentsOfComponent shows an incident and maintenance of a component, and the days after the incident.
func TestIncidentsOfComponent(t *testing.T) {
	run(t, func(w *fixture) {
		ctx, t := w.t.Context(), w.t
		c := w.component("acme", "Check & pay", "")
		path := "/status/acme/components/" + c.ID
		other := w.component("acme", "Other", "")
		inc := w.incident("acme", statuspage.Incident{
			Title: "No payments", Impact: kernel.ImpactCritical,
			Affected: []statuspage.AffectedComponent{{ComponentID: c.ID, Status: kernel.StatusMajorOutage}},
		}, "Cards are refused.")
		w.incident("acme", statuspage.Incident{
			Title:    "Elsewhere",
			Affected: []statuspage.AffectedComponent{{ComponentID: other.ID, Status: kernel.StatusDegraded}},
		}, "")
		w.maintenance("acme", resource.Maintenance.From(statuspage.Maintenance{
			Title: "New tills", Components: statuspage.ComponentRefs(c.ID), ScheduledFor: day.Add(48 * time.Hour),
			ScheduledUntil: day.Add(50 * time.Hour),
		}))
		w.clock.move(36 * time.Minute)
		p := w.get(path, 200)
		got := p.Texts("article h3")
		if !slices.Equal(got, []string{"No payments", "New tills"}) || p.One(t, ".now") != "Major Outage" {
			t.Errorf("it shows %q and the status %q", got, p.One(t, ".now"))
		}
		if text := p.Text(); !strings.Contains(text, "Incidents of this component No past incidents") {
			t.Errorf("below the active incident it shows %q", text)
		}
		state := statuspage.IncidentResolved
		inc, err := w.store.ChangeIncident(ctx, w.ws, inc.ID, func(i *statuspage.Incident) error {
			i.State = state
			return nil
		}, statuspage.IncidentUpdate{}, "")
		must(w, inc, err)
		w.clock.move(36 * time.Minute)
		p = w.get(path, 200)
		if got := p.Texts(".past h3"); !slices.Equal(got, []string{"No payments"}) {
			t.Errorf("past incidents: %q", got)
		}
		today := p.All(".days tbody tr")[0].Text()
		if !strings.HasPrefix(today, "Saturday, 21 NovemberMajor Outage, 36 minutes") {
			t.Errorf("today: %q", today)
		}
		if got := p.All(".bars")[0].Children(); got[89].Attr("class") != "m" || got[88].Data != "b" {
			t.Errorf("the bars end with %q, %q", got[88].Data, got[89].Attr("class"))
		}
		if got := p.Texts(".figures dt"); !slices.Equal(got, []string{"since 21 Nov"}) {
			t.Errorf("figures of %q", got)
		}
		// The next day has its own bar, without a commit.
		w.clock.set(day.AddDate(0, 0, 1))
		p = w.get(path, 200)
		if got := p.All(".days tbody tr")[0].Text(); got != "Sunday, 22 NovemberOperational100%" {
			t.Errorf("tomorrow: %q", got)
		}
	})
}

func TestComponentIsEmbedded(t *testing.T) {
	run(t, func(w *fixture) {
		t := w.t
		c := w.component("acme", "Check & pay", "")
		path := "/status/acme/components/" + c.ID
		p := w.get(path, 200)
		link := "http://localhost:8080" + path
		got, want := p.One(t, "pre"), `<a href="`+link+`"><img src="`+link+`/badge.svg" alt="Check &amp; pay"></a>`
		if got != want {
			t.Errorf("to embed: %s, want %s", got, want)
		}
		for _, a := range p.All(".feeds a") {
			if rec := w.do("GET", a.Attr("href")); rec.Code != 200 {
				t.Errorf("%s answers %d", a.Attr("href"), rec.Code)
			}
		}
		if src := p.All(".badge img")[0].Attr("src"); w.do("GET", src).Code != 200 {
			t.Errorf("there is no badge at %s", src)
		}
	})
}

func TestComponentsThatDoNotExist(t *testing.T) {
	run(t, func(w *fixture) {
		ctx, t := w.t.Context(), w.t
		c := w.component("acme", "Check & pay", "")
		path := "/status/acme/components/" + c.ID
		w.page("other", "Other")
		w.get("/status/other/components/"+c.ID, 404)
		for _, id := range []string{
			"", "x", strings.ToUpper(c.ID), c.ID + "/", c.ID + "0", c.ID + "/other", "comp_00000000000000000000",
		} {
			w.get("/status/acme/components/"+id, 404)
		}
		if err := w.store.Components().Delete(ctx, w.ws, "acme", c.ID, kernel.Precondition{}); err != nil {
			t.Fatal(err)
		}
		w.get(path, 404)
	})
}

// TestUptimeExplanation checks the weight of a partial outage that the page
// explains.
func TestUptimeExplanation(t *testing.T) {
	if got := i18ntest.Language(t, "en").WholePercent(kernel.StatusPartialOutage.Downtime()); got != "30%" {
		t.Errorf("a partial outage is said to count %s", got)
	}
}

// TestIncidentShowsCurrentStatus checks that an incident shows the current status
// of its components, also after a person has set it.
func TestIncidentShowsCurrentStatus(t *testing.T) {
	run(t, func(w *fixture) {
		c := w.component("acme", "Website", kernel.StatusOperational)
		inc := w.incident("acme",
			statuspage.Incident{
				Title:    "Slow",
				Affected: []statuspage.AffectedComponent{{ComponentID: c.ID, Status: kernel.StatusDegraded}},
			},
			"")
		for _, want := range []string{"WebsiteDegraded", "WebsiteOperational"} {
			for _, path := range []string{"/status/acme", "/status/acme/incidents/" + inc.ID} {
				got := w.get(path, 200).All("ul.affected")
				if len(got) != 1 || strings.ReplaceAll(got[0].Text(), " ", "") != want {
					w.t.Errorf("%s: %v, want %s", path, w.get(path, 200).Texts("ul.affected"), want)
				}
			}
			w.status("acme", c.ID, kernel.StatusOperational)
		}
	})
}

// TestHiddenComponent: nothing that a visitor can get names the component or has its status.
func TestHiddenComponent(t *testing.T) {
	run(t, func(w *fixture) {
		w.site.mail = true
		shown := w.component("acme", "Website", "")
		hidden, err := w.store.Components().Create(w.t.Context(), w.ws, "acme",
			resource.Component.From(statuspage.Component{
				Name: "Backstage", Baseline: kernel.StatusMajorOutage, Hidden: true,
			}))
		must(w, hidden, err)
		both := []statuspage.AffectedComponent{
			{ComponentID: shown.ID, Status: kernel.StatusDegraded},
			{ComponentID: hidden.ID, Status: kernel.StatusMajorOutage},
		}
		message := "We look into it."
		inc := w.incident("acme", statuspage.Incident{Title: "Slow", Affected: both}, message)
		m := w.maintenance("acme", resource.Maintenance.From(statuspage.Maintenance{
			Title: "Work", ScheduledFor: w.clock.now().Add(time.Hour),
			ScheduledUntil: w.clock.now().Add(2 * time.Hour),
			Components:     statuspage.ComponentRefs(shown.ID, hidden.ID),
		}))
		check := func(when string) { w.hidesComponent(when, shown.ID, hidden.ID, inc.ID, m.ID) }
		check("hidden")
		if got := w.get("/status/acme", 200).One(w.t, "title"); strings.Contains(got, "outage") {
			w.t.Errorf("the title is %q", got)
		}
		// Hidden after it was seen, with updates that name it.
		hide := func(on bool) {
			e, err := w.store.Components().Change(w.t.Context(), w.ws, "", hidden.ID,
				func(c *statuspage.Component) error {
					c.Hidden = on
					return nil
				}, kernel.Precondition{})
			must(w, e, err)
		}
		hide(false)
		u, err := w.store.PostUpdate(w.t.Context(), w.ws, inc.ID, statuspage.IncidentUpdate{Message: "More."}, nil)
		must(w, u, err)
		if body := w.do("GET", "/status/acme").Body.String(); !strings.Contains(body, "Backstage") {
			w.t.Error("the page lacks the component while it is shown")
		}
		hide(true)
		check("hidden again")
		err = w.store.RequestSignUp(w.t.Context(), store.SignUp{
			Slug: "acme",
			Subscriber: audience.NewSubscriber{
				Channel: audience.ChannelEmail, Target: "a@example.com", Components: []string{hidden.ID},
			},
		})
		if invalid := (*kernel.ValidationError)(nil); !errors.As(err, &invalid) {
			w.t.Errorf("subscribing to the hidden component: %v", err)
		}
	})
}

// hidesComponent checks that no part of the page names a hidden component, or has its status.
func (w *fixture) hidesComponent(when, shown, hidden, incident, maintenance string) {
	w.t.Helper()
	paths := []string{
		"/", "/status/acme", "/status/acme/history", "/status/acme/incidents/" + incident,
		"/status/acme/maintenances/" + maintenance,
		"/status/acme/components/" + shown, "/status/acme/history.atom", "/status/acme/history.rss",
		"/status/acme/" + feed.CalendarName,
		"/status/acme/badge.svg", "/status/acme/badge.json", "/status/acme/badge.json?show=incidents",
		"/status/acme/api/v2/summary.json", "/status/acme/api/v2/components.json",
		"/status/acme/api/v2/status.json",
		"/status/acme/api/v2/incidents.json", "/status/acme/api/v2/scheduled-maintenances.json",
	}
	for _, path := range paths {
		rec := w.do("GET", path)
		body := rec.Body.String()
		if rec.Code != 200 || strings.Contains(body, "Backstage") || strings.Contains(body, hidden) ||
			strings.Contains(body, "Major system outage") {
			w.t.Errorf("%s: %s: %d, names the component or its status", when, path, rec.Code)
		}
	}
	for _, part := range []string{"", "/badge.svg", "/badge.json", "/history.atom", "/history.rss"} {
		if rec := w.do("GET", "/status/acme/components/"+hidden+part); rec.Code != 404 {
			w.t.Errorf("%s: its %q: %d", when, part, rec.Code)
		}
	}
}

// TestResponseTimes shows the response times of a component's checks only if its page shall.
func TestResponseTimes(t *testing.T) {
	run(t, func(w *fixture) {
		ctx, t := w.t.Context(), w.t
		c := w.component("acme", "Shop", "")
		path := "/status/acme/components/" + c.ID
		w.showResponseTimes(true)
		if got := w.get(path, 200).All("#times"); len(got) != 0 {
			t.Error("response times of a component without checks")
		}
		m := w.secretCheck(c.ID)
		w.clock.move(10 * time.Minute)
		p := w.get(path, 200)
		if p.One(t, "#times") != "Response times" || !strings.Contains(p.Text(), "No results yet.") {
			t.Errorf("before the first result: %s", p.Text())
		}
		now, err := w.store.Clock(ctx)
		must(w, now, err)
		failed := monitor.CheckResult{
			MonitorID: m.ID, Version: 1, Replica: "a", DueAt: now, StartedAt: now, Status: monitor.CheckFailed,
		}
		if err := w.store.RecordCheckResults(ctx, []monitor.CheckResult{failed}); err != nil {
			t.Fatal(err)
		}
		w.clock.move(6 * time.Minute)
		p = w.get(path, 200)
		if len(p.All("svg.times")) != 0 || len(p.All("svg.failures")) != 1 ||
			p.All("svg.failures")[0].Attr("aria-label") != "Checks: 1. Failed: 1." {
			t.Error("without a good result there is a scale of times, or no text for the failures")
		}
		var results []monitor.CheckResult
		for i, status := range []monitor.CheckStatus{monitor.CheckOK, monitor.CheckOK, monitor.CheckFailed} {
			results = append(results, monitor.CheckResult{
				MonitorID: m.ID, Version: 1, Replica: "a", DueAt: now, StartedAt: now, Status: status,
				Reason: "connection refused by secret.example.com",
				Phases: monitor.CheckPhases{Total: time.Duration(i+1) * 100 * time.Millisecond},
			})
		}
		if err := w.store.RecordCheckResults(ctx, results); err != nil {
			t.Fatal(err)
		}
		w.clock.move(6 * time.Minute)
		p = w.get(path, 200)
		if got := p.All(".scroll tbody tr"); len(got) != 1 || !strings.Contains(got[0].Text(), "200 ms") {
			t.Errorf("rows %v", got)
		}
		if got := p.All("svg.failures rect"); len(got) != 1 {
			t.Errorf("%d failures are drawn", len(got))
		}
		if strings.Contains(p.Text(), "ecret") {
			t.Error("the page names the monitor or its target")
		}
		w.showResponseTimes(false)
		if got := w.get(path, 200).All("#times"); len(got) != 0 {
			t.Error("response times of a page that shows none")
		}
	})
}

func (w *fixture) showResponseTimes(shown bool) {
	w.t.Helper()
	p, err := w.store.ChangePage(w.t.Context(), w.ws, "acme", func(p *statuspage.Page) error {
		p.ResponseTimes = shown
		return nil
	})
	must(w, p, err)
}

// secretCheck creates a check of a component, whose name and target the page must not show.
func (w *fixture) secretCheck(component string) monitor.Monitor {
	w.t.Helper()
	m, err := w.store.CreateMonitor(w.t.Context(), w.ws, monitor.MonitorOf(monitor.MonitorConfig{
		Type: "http", Name: "Secret name", Interval: time.Minute, PageSlug: "acme", ComponentID: component,
		Check: monitor.CheckSpec{Config: json.RawMessage(`{"url":"https://secret.example.com"}`)},
	}))
	return must(w, m, err)
}
