package monitors_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/allswell/allswell/internal/check"
	"github.com/allswell/allswell/internal/domain/kernel"
	"github.com/allswell/allswell/internal/domain/monitor"
	"github.com/allswell/allswell/internal/resource/configfield"
	"github.com/allswell/allswell/internal/store"
	"github.com/allswell/allswell/internal/surface/dashboard/dashboardtest"
	"github.com/allswell/allswell/internal/surface/dashboard/monitors"
)

// TestFormsOfAllTypes checks that the form of each type has all of its fields, and that what it requires makes a
// monitor.
func TestFormsOfAllTypes(t *testing.T) {
	t.Parallel()
	dashboardtest.OnEachEngine(t, func(s *dashboardtest.Site) {
		v := s.Owner()
		v.Lacks(v.Wants(v.Get("/admin/monitors/new?type=grpc"), http.StatusOK, `placeholder="accounts.example.com"`,
			`placeholder="50051"`), "db.example.com", "5432")
		for _, kind := range check.Types {
			path := "/admin/monitors/new?type=" + string(kind.Name)
			form := v.Wants(v.Get(path), http.StatusOK, `name="type" value="`+string(kind.Name)+`"`, "Test now",
				`aria-current="page">`+kind.Label)
			fields := []string{"type", string(kind.Name), "name", kind.Label, "component_id", "/", "interval", "1m"}
			for _, f := range kind.Fields {
				if !strings.Contains(form.Text, `name="`+f.Name+`"`) {
					s.Errorf("the form of %s lacks %s", kind.Name, f.Name)
				}
				if f.Required {
					fields = append(fields, f.Name, f.Example)
				} else if f.Kind == configfield.KindFlag || f.Choices != nil {
					fields = append(fields, f.Name, f.Default)
				}
			}
			made := v.Wants(v.Post("/admin/monitors/new", fields...), http.StatusSeeOther, "/admin/monitors/mon_")
			screen := made.Header.Get("Location")
			v.Wants(v.Get(screen), http.StatusOK, "Waiting for the first check", kind.Label, "Recent checks",
				"Test now")
			v.Lacks(v.Get(screen), "curl -fsS")
			v.Wants(v.Get(screen+"/edit"), http.StatusOK, `name="type" value="`+string(kind.Name)+`"`)
			v.Wants(v.Get("/admin/monitors/new?copy="+strings.TrimPrefix(screen, "/admin/monitors/")), http.StatusOK,
				`name="type" value="`+string(kind.Name)+`"`)
		}
		v.Wants(v.Get("/admin/monitors/new?type=nonsense"), http.StatusNotFound)
		v.Wants(v.Get("/admin/monitors"), http.StatusOK, "db.example.com", "https://www.example.com/health",
			"every minute")
		v.Lacks(v.Wants(v.Get("/admin/monitors?type=http"), http.StatusOK, "https://www.example.com/health",
			`<option value="http" selected>HTTP`), "db.example.com")
		v.Wants(v.Get("/admin/monitors?type=nonsense"), http.StatusNotFound)
	})
}

// TestCheckInTheForm tests, creates and edits a check.
func TestCheckInTheForm(t *testing.T) {
	t.Parallel()
	dashboardtest.OnEachEngine(t, func(s *dashboardtest.Site) {
		target := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if _, password, _ := r.BasicAuth(); password != "hunter2" {
				w.WriteHeader(http.StatusUnauthorized)
				fmt.Fprint(w, "Who are <you>?")
			}
		}))
		defer target.Close()
		v := s.Owner()
		const create = "/admin/monitors/new"
		fields := []string{
			"type", "http", "name", "Shop", "component_id", "/", "interval", "30s", "url", target.URL, "method", "GET",
			"follow_redirects", "true",
			"expected_statuses", "200\r\n301-302", "headers", "X-A: b", "slow_after", "800ms", "username", "me",
		}
		v.Wants(v.Post(create, append(fields, "preview", "test")...), http.StatusOK, `aria-label="Type"`,
			`aria-current="page">HTTP`, "HTTP 401", "Failed", "First byte", "Who are &lt;you&gt;?", `value="me"`)
		v.Wants(v.Post(create, append(fields, "preview", "test", "password", "hunter2")...), http.StatusOK, "OK</span>",
			"Total", `value="hunter2"`)
		unnamed := append(slices.Clone(fields), "preview", "test", "password", "hunter2")
		unnamed[3] = ""
		v.Wants(v.Post(create, unnamed...), http.StatusOK, "OK</span>")
		list, err := s.Store.MonitorList(s.Context(), v.Actor(), store.MonitorQuery{},
			store.Pagination{Page: 1, PerPage: 9})
		if err != nil || list.Total != 0 {
			s.Errorf("a test has made %d monitors, %v", list.Total, err)
		}
		wrong := append(fields, "timeout", "1m", "url", "", "confirm_from", "x")
		wrong[9] = ""
		v.Wants(v.Post(create, wrong...), http.StatusUnprocessableEntity, "This field is required.",
			`href="/admin/monitors/new?type=dns"`, "must be shorter than the interval, ", "Must be a whole number.")
		v.Wants(v.Post(create, append(wrong, "preview", "test")...), http.StatusUnprocessableEntity,
			"This field is required.")
		screen := v.Wants(v.Post(create, append(fields, "password", "hunter2")...), http.StatusSeeOther,
			"/admin/monitors/mon_").Header.Get("Location")
		v.Lacks(v.Wants(v.Get(screen), http.StatusOK, "200, 301-302", "X-A: b", "800 ms", "set, not shown",
			"/edit#f-password"), "hunter2")
		v.Lacks(v.Wants(v.Post(screen+"/test"), http.StatusOK, "Test result", "OK</span>", screen+"?range=week#checks"),
			"data-events")
		edit := func(fields ...string) {
			s.Helper()
			form := v.Wants(v.Get(screen+"/edit"), http.StatusOK, "A value is saved", "Saved password", "301-302")
			v.Lacks(form, "hunter2")
			v.Wants(form, http.StatusOK, `data-key="type" open>`)
			_, tag, _ := strings.Cut(form.Text, `name="tag" value="&#34;`)
			v.Wants(v.Post(screen+"/edit", append(fields, "tag", `"`+tag[:16]+`"`)...), http.StatusSeeOther, screen)
		}
		// with the saved password
		v.Wants(v.Post(screen+"/edit", append(fields, "preview", "test")...), http.StatusOK, "OK</span>")
		v.Wants(v.Post(screen+"/edit", append(fields, "preview", "test", "remove.password", "true")...), http.StatusOK,
			"HTTP 401")
		edit(append(fields, "interval", "30s")...)
		v.Wants(v.Post(screen+"/test"), http.StatusOK, "OK</span>")
		edit(append(fields, "remove.password", "true")...)
		v.Lacks(v.Wants(v.Get(screen), http.StatusOK), "set, not shown")
		v.Wants(v.Post(screen+"/edit", append(fields, "tag", `"0"`)...), http.StatusConflict)
	})
}

// TestResultsOnTheScreen shows results and relatives. Viewers see no responses.
func TestResultsOnTheScreen(t *testing.T) {
	t.Parallel()
	dashboardtest.OnEachEngine(t, func(s *dashboardtest.Site) {
		v := s.Owner()
		router, _ := failingRouter(v)
		v.Wants(v.Get("/admin/monitors/"+router.ID), http.StatusOK, "Failing", "connection refused by 127.0.0.1:1",
			"the &lt;response&gt;", "Web shop", "Depends on this monitor", "localhost")
		v.Wants(v.Get("/admin/monitors/web-shop"), http.StatusOK, "Router", "Parent</p>")
		v.Wants(v.Get("/admin/monitors"), http.StatusOK, `problem">connection refused by 127.0.0.1:1`)
		v.Lacks(v.Get("/admin/monitors/"+router.ID), "Locations</h2>", "Checking gaps")
		viewer := s.Member(v, kernel.RoleViewer)
		viewer.Lacks(viewer.Wants(viewer.Get("/admin/monitors/"+router.ID), http.StatusOK,
			"connection refused by 127.0.0.1:1"), "the &lt;response&gt;")
	})
}

// failingRouter creates the monitor Router, on which Web shop depends, with the result of a failed check.
func failingRouter(v *dashboardtest.Visitor) (router monitor.Monitor, result monitor.CheckResult) {
	v.Helper()
	router, err := v.Store.CreateMonitor(v.Context(), v.Actor(), monitor.MonitorOf(monitor.MonitorConfig{
		Name: "Router", Type: "tcp", Check: monitor.CheckSpec{Config: []byte(`{"host":"localhost","port":1}`)},
	}))
	if err != nil {
		v.Fatal(err)
	}
	shop := monitor.MonitorConfig{Name: "Web shop", Interval: monitor.MaxCheckInterval, ParentID: router.ID}
	if _, err := v.Store.CreateMonitor(v.Context(), v.Actor(), monitor.MonitorOf(shop)); err != nil {
		v.Fatal(err)
	}
	claimed, _, err := v.Store.ClaimChecks(v.Context(), store.CheckClaim{Replica: "r", Limit: 10})
	if err != nil || len(claimed) != 1 {
		v.Fatal(claimed, err)
	}
	result = monitor.CheckResult{
		MonitorID: router.ID, Version: claimed[0].Version, Replica: "r", DueAt: claimed[0].DueAt,
		StartedAt: claimed[0].DueAt, Status: monitor.CheckFailed,
		Reason: "connection refused by 127.0.0.1:1", Body: "the <response>",
		Phases: monitor.CheckPhases{Total: 12_000_000},
	}
	if err := v.Store.RecordCheckResults(v.Context(), []monitor.CheckResult{result}); err != nil {
		v.Fatal(err)
	}
	return router, result
}

// TestViewsOfLocations shows the results of several locations on the screen of a monitor.
func TestViewsOfLocations(t *testing.T) {
	t.Parallel()
	dashboardtest.OnEachEngine(t, func(s *dashboardtest.Site) {
		v := s.Owner()
		router, result := failingRouter(v)
		elsewhere, later, unknown := result, result, result
		elsewhere.Location, elsewhere.Reason = "virginia", "first failure"
		later.Location, later.Status, later.Reason, later.StartedAt = "frankfurt", monitor.CheckOK, "",
			result.StartedAt.Add(time.Millisecond)
		unknown.Location, unknown.Status, unknown.Reason, unknown.StartedAt = "virginia", monitor.CheckUnknown,
			"no network", result.StartedAt.Add(2*time.Millisecond)
		all := []monitor.CheckResult{elsewhere, later, unknown}
		if err := s.Store.RecordCheckResults(s.Context(), all); err != nil {
			s.Fatal(err)
		}
		screen := v.Wants(v.Get("/admin/monitors/"+router.ID), http.StatusOK, `id="why">Unknown</h2>`,
			"No data since", "the server&#39;s own network did not work, or it was not allowed", `class="gap"`,
			"A failure at one location counts.")
		_, views, _ := strings.Cut(screen.Text, "Locations</h2>")
		views, _, _ = strings.Cut(views, "</ul>")
		for _, want := range []string{"frankfurt", "OK · 12 ms", "virginia", "Unknown · no network"} {
			before, after, ok := strings.Cut(views, want)
			if !ok || strings.Contains(before, "first failure") {
				s.Errorf("the views do not have %q next: %s", want, views)
			}
			views = after
		}
	})
}

// TestSuppressedOnTheScreen shows which parent suppresses the failures of a check.
func TestSuppressedOnTheScreen(t *testing.T) {
	t.Parallel()
	dashboardtest.OnEachEngine(t, func(s *dashboardtest.Site) {
		v := s.Owner()
		create := func(name, parent string) monitor.Monitor {
			m, err := s.Store.CreateMonitor(s.Context(), v.Actor(), monitor.MonitorOf(monitor.MonitorConfig{
				Name: name, Type: "tcp", FailureThreshold: 1, ParentID: parent,
				Check: monitor.CheckSpec{Config: []byte(`{"host":"localhost","port":1}`)},
			}))
			if err != nil {
				s.Fatal(err)
			}
			return m
		}
		router := create("Router", "")
		behind := create("Behind the router", router.ID)
		claimed, _, err := s.Store.ClaimChecks(s.Context(), store.CheckClaim{Replica: "r", Limit: 10})
		if err != nil || len(claimed) != 2 {
			s.Fatal(claimed, err)
		}
		fail := func(m monitor.Monitor) {
			r := monitor.CheckResult{
				MonitorID: m.ID, Version: claimed[0].Version, Replica: "r", DueAt: claimed[0].DueAt,
				StartedAt: claimed[0].DueAt, Status: monitor.CheckFailed, Reason: "no answer",
			}
			if err := s.Store.RecordCheckResults(s.Context(), []monitor.CheckResult{r}); err != nil {
				s.Fatal(err)
			}
		}
		const link = `Parent monitor: <a href="/admin/monitors/`
		v.Lacks(v.Wants(v.Get("/admin/monitors/"+behind.ID), http.StatusOK, "Router"), link)
		fail(router)
		fail(behind)
		v.Wants(v.Get("/admin/monitors/"+behind.ID), http.StatusOK, "Suppressed",
			link+router.ID+`">Router</a> <span class="pill tone-partial">Down`)
		v.Lacks(v.Wants(v.Get("/admin/monitors/"+router.ID), http.StatusOK, "Behind the router", "Suppressed"), link)
		v.Lacks(v.Wants(v.Get("/admin/monitors/pause?monitor="+router.ID), http.StatusOK,
			"Checks stop until it resumes.", "Any current outage ends"), "ping URL")
		v.Lacks(v.Wants(v.Get("/admin/monitors/delete?monitor="+router.ID), http.StatusOK,
			"This permanently deletes the monitor with its outages"), "Ping URLs")
		v.Lacks(v.Wants(v.Get("/admin"), http.StatusOK, "(1) Overview", "Down: no answer"),
			"Behind the router", "ping")
	})
}

// TestOnlyChecksAreTested: a monitor that waits for pings has nothing to test.
func TestOnlyChecksAreTested(t *testing.T) {
	dashboardtest.OnEachEngine(t, func(s *dashboardtest.Site) {
		owner := s.Owner()
		m, err := s.Store.CreateMonitor(s.Context(), owner.Actor(), monitor.MonitorOf(monitor.MonitorConfig{
			Name: "Job", Interval: time.Minute,
		}))
		if err != nil {
			s.Fatal(err)
		}
		owner.Wants(owner.Post("/admin/monitors/"+m.ID+"/test"), http.StatusNotFound)
	})
}

// TestParentBeyondTheList checks that saving the form of a check keeps a parent that the list of choices is too short
// for.
func TestParentBeyondTheList(t *testing.T) {
	t.Parallel()
	dashboardtest.OnEachEngine(t, func(s *dashboardtest.Site) {
		v := s.Owner()
		create := func(name, parent string) monitor.Monitor {
			m, err := s.Store.CreateMonitor(s.Context(), v.Actor(), monitor.MonitorOf(monitor.MonitorConfig{
				Name: name, Type: "tcp", ParentID: parent,
				Check: monitor.CheckSpec{Config: []byte(`{"host":"localhost","port":1}`)},
			}))
			if err != nil {
				s.Fatal(err)
			}
			return m
		}
		parent := create("Z", "")
		child := create("A", parent.ID)
		path := "/admin/monitors/" + child.ID + "/edit"
		v.Wants(v.Get(path), http.StatusOK, `<option value="`+parent.ID+`" selected>Z</option>`)
		for n := range monitors.MaxParents {
			create(fmt.Sprintf("M %03d", n), "")
		}
		v.Wants(v.Get(path), http.StatusOK, `<option value="`+parent.ID+`" selected>`+parent.ID+`</option>`)
	})
}
