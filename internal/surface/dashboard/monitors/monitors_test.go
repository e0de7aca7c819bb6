package monitors_test

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/allswell/allswell/internal/domain/kernel"
	"github.com/allswell/allswell/internal/domain/monitor"
	"github.com/allswell/allswell/internal/domain/statuspage"
	"github.com/allswell/allswell/internal/resource"
	"github.com/allswell/allswell/internal/store"
	"github.com/allswell/allswell/internal/surface/dashboard/dashboardtest"
)

func ping(v *dashboardtest.Visitor, tokens ...string) {
	v.Helper()
	_, err := v.Store.RecordPings(v.Context(), tokens, store.LivenessRecord{Replica: "r"}, store.PingOrigins{})
	if err != nil {
		v.Fatal(err)
	}
}

func TestMonitorsAreListedAndChanged(t *testing.T) {
	dashboardtest.OnEachEngine(t, func(s *dashboardtest.Site) {
		v := s.Owner()
		v.Wants(v.Get("/admin/monitors"), http.StatusOK, "No monitors yet")
		all := v.Monitors("Backup", "Invoices", "<Übung>")
		ping(v, all[0].Token)
		list := v.Wants(v.Get("/admin/monitors"), http.StatusOK, "Backup", "Invoices", "&lt;Übung&gt;", "no ping yet",
			"every hour")
		if strings.Index(list.Text, ">Invoices<") > strings.Index(list.Text, ">Backup<") {
			s.Error("a monitor that is up is listed before one that waits")
		}
		v.Lacks(v.Wants(v.Get("/admin/monitors?state=waiting"), http.StatusOK, "Invoices"), ">Backup<")
		v.Lacks(v.Wants(v.Get("/admin/monitors?search=+übu"), http.StatusOK, "&lt;Übung&gt;"), ">Backup<")
		v.Wants(v.Get("/admin/monitors?search=x"), http.StatusOK, "No matching monitors", `value="x"`)
		v.Wants(v.Get("/admin/monitors?state=x"), http.StatusNotFound)

		v.Wants(v.Post("/admin/monitors/pause", "monitor", all[0].ID, "monitor", all[1].ID, "monitor", "mon_gone",
			"for", "", "next", "/admin/monitors?sort=name"),
			http.StatusSeeOther, "/admin/monitors?sort=name")
		v.Lacks(v.Wants(v.Get("/admin/monitors?state=disabled"), http.StatusOK, "Backup", "Invoices"), "Übung")
		v.Wants(v.Post("/admin/monitors", "monitor", all[0].ID, "action", "resume", "next", "https://evil.example/"),
			http.StatusSeeOther, "/admin/monitors")
		v.Lacks(v.Get("/admin/monitors?state=disabled"), ">Backup<")
		v.Wants(v.Post("/admin/monitors", "monitor", all[0].ID, "action", "x"), http.StatusNotFound)

		v.Wants(v.Get("/admin/monitors/delete?monitor="+all[1].ID+"&monitor="+all[2].ID), http.StatusOK,
			"Delete 2 monitors?", "Invoices")
		v.Wants(v.Post("/admin/monitors/delete", "monitor", all[1].ID, "monitor", all[2].ID), http.StatusSeeOther,
			"/admin/monitors")
		v.Wants(v.Get("/admin/monitors/delete?monitor="+all[1].ID), http.StatusSeeOther, "/admin/monitors")
		v.Wants(v.Get("/admin/monitors/"+all[1].ID), http.StatusNotFound)
		_, total, err := s.Store.Monitors(s.Context(), v.Actor(), store.MonitorFilter{},
			store.Pagination{Page: 1, PerPage: 1})
		if err != nil || total != 1 {
			s.Errorf("%d monitors left, %v", total, err)
		}
	})
}

func TestMonitorsArePaused(t *testing.T) {
	t.Parallel()
	dashboardtest.OnEachEngine(t, func(s *dashboardtest.Site) {
		v := s.Owner()
		all := v.Monitors("Backup", "Invoices")
		path := "/admin/monitors/" + all[0].ID
		form := v.Wants(v.Get(path), http.StatusOK, ">Pause…</a>")
		v.Lacks(form, ">Resume<")
		v.Wants(v.Get("/admin/monitors/pause?monitor="+all[0].ID+"&monitor="+all[1].ID), http.StatusOK,
			"Pause 2 monitors", "for 4 hours", "Time zone: UTC.")
		v.Wants(v.Get("/admin/monitors/pause?monitor=mon_gone"), http.StatusSeeOther, "/admin/monitors")
		pause := func(length, until string) dashboardtest.Answer {
			return v.Post("/admin/monitors/pause", "monitor", all[0].ID, "monitor", all[1].ID, "for", length,
				"paused_until", until, "next", path)
		}
		v.Wants(pause("4h", "2020-01-01T00:00"), http.StatusUnprocessableEntity, "must be in the future",
			`value="2020-01-01T00:00"`, `value="4h" selected`)
		v.Wants(pause("4h", "never"), http.StatusUnprocessableEntity, "This must be a time", `value="never"`)
		v.Wants(v.Get(path), http.StatusOK, ">Pause…</a>") // nothing was changed
		v.Wants(pause("4h", ""), http.StatusSeeOther, path)
		m, err := s.Store.Monitor(s.Context(), v.Actor(), all[1].ID)
		if rest := time.Until(m.PausedUntil); err != nil || m.Enabled || rest < 3*time.Hour || rest > 4*time.Hour {
			s.Errorf("paused for %v, %v", rest, err)
		}
		v.Wants(v.Get(path), http.StatusOK, "Paused until <time", ">Resume<", ">Paused<")
		v.Wants(v.Get("/admin/monitors"), http.StatusOK, "Paused until <time")
		v.Wants(pause("x", ""), http.StatusUnprocessableEntity, "Choose one of the durations.")
		v.Wants(pause("", ""), http.StatusSeeOther, path)
		v.Wants(v.Get(path), http.StatusOK, "Paused until someone resumes it")
	})
}

func TestMonitorsAreTagged(t *testing.T) {
	t.Parallel()
	dashboardtest.OnEachEngine(t, func(s *dashboardtest.Site) {
		v := s.Owner()
		all := v.Monitors("Backup", "Invoices")
		v.Lacks(v.Get("/admin/monitors"), "All tags")
		change := func(action, tags, next string) dashboardtest.Answer {
			return v.Post("/admin/monitors", "monitor", all[0].ID, "monitor", all[1].ID, "action", action, "tags", tags,
				"next", next)
		}
		v.Wants(change("add_tags", "prod, nightly", "/admin/monitors?tag=prod"), http.StatusSeeOther,
			"/admin/monitors?tag=prod")
		v.Wants(v.Get("/admin/monitors?tag=prod"), http.StatusOK, ">Backup<", ">Invoices<",
			`<option value="prod" selected>`, `<span class="tag">nightly</span>`)
		v.Wants(v.Post("/admin/monitors", "monitor", all[1].ID, "action", "remove_tags", "tags", "prod"),
			http.StatusSeeOther)
		v.Lacks(v.Wants(v.Get("/admin/monitors?tag=prod"), http.StatusOK, ">Backup<"), ">Invoices<")
		v.Wants(v.Get("/admin/monitors?tag=rod"), http.StatusOK, "No matching monitors")
		v.Wants(v.Get("/admin/monitors/"+all[1].ID), http.StatusOK, `href="/admin/monitors?tag=nightly"`)

		// What was chosen and typed is kept.
		v.Wants(change("add_tags", "<Prod>", "/admin/monitors?tag=prod"), http.StatusUnprocessableEntity,
			"lower-case letters", `value="&lt;Prod&gt;"`, "Select Backup\" checked")
		v.Wants(change("add_tags", "a b c d e f g h i", "/admin/monitors"), http.StatusUnprocessableEntity,
			"at most 10 items")
		v.Wants(v.Post("/admin/monitors", "action", "add_tags", "tags", "<Prod>"), http.StatusUnprocessableEntity,
			"lower-case letters")
		edit := v.Wants(v.Get("/admin/monitors/"+all[0].ID+"/edit"), http.StatusOK, `value="nightly prod"`)
		_, tag, _ := strings.Cut(edit.Text, `name="tag" value="&#34;`)
		v.Wants(v.Post("/admin/monitors/"+all[0].ID+"/edit", "name", "Backup", "interval", "1h", "component_id", "/",
			"tags", "weekly", "tag", `"`+tag[:16]+`"`), http.StatusSeeOther)
		m, err := s.Store.Monitor(s.Context(), v.Actor(), all[0].ID)
		if err != nil || !slices.Equal(m.Tags, []string{"weekly"}) {
			s.Errorf("tags %v, %v", m.Tags, err)
		}
	})
}

func TestIntervalIsSetFromTheRhythm(t *testing.T) {
	t.Parallel()
	dashboardtest.OnEachEngine(t, func(s *dashboardtest.Site) {
		v := s.Owner()
		m := v.Monitors("Backup")[0]
		path := "/admin/monitors/" + m.ID
		v.Lacks(v.Get(path), "Ping intervals")
		tag := kernel.EntityTag(resource.Monitor.Audited(m))
		v.Wants(v.Post(path+"/interval", "interval", "3840", "tag", "forged"), http.StatusConflict)
		v.Wants(v.Post(path+"/interval", "interval", "0", "tag", tag), http.StatusNotFound)
		v.Wants(v.Post(path+"/interval", "interval", "3840", "tag", tag), http.StatusSeeOther, path+"#pings")
		if m, err := s.Store.Monitor(s.Context(), v.Actor(), m.ID); err != nil || m.Interval != 64*time.Minute {
			s.Errorf("interval %v, %v", m.Interval, err)
		}
	})
}

func TestMonitorIsExplained(t *testing.T) {
	dashboardtest.OnEachEngine(t, func(s *dashboardtest.Site) {
		v := s.Owner()
		m := v.Monitors("Backup")[0]
		path := "/admin/monitors/" + m.ID
		v.Lacks(v.Wants(v.Get(path), http.StatusOK, "Waiting for the first ping.", m.Token, "curl -fsS", "No outages"),
			"24 hours</dt>", "previous URL")
		ping(v, m.Token)
		v.Wants(v.Get(path), http.StatusOK, "Last ping <time", "Next expected by <time", "it goes down at",
			"3 missed checks", "24 hours</dt><dd>")
		v.Wants(v.Post(path+"/rotate"), http.StatusSeeOther, path+"#ping")
		v.Lacks(v.Wants(v.Get(path), http.StatusOK, "previous URL works until <time"), m.Token)
		v.Wants(v.Get("/admin/monitors/"+m.Slug), http.StatusOK, "Backup")
		v.Wants(v.Get("/admin/monitors/nowhere"), http.StatusNotFound)
	})
}

func TestMonitorIsCreatedAndEdited(t *testing.T) {
	dashboardtest.OnEachEngine(t, func(s *dashboardtest.Site) {
		v := s.Owner()
		v.Wants(v.Post("/admin/setup/page", "name", "Acme", "slug", "acme"), http.StatusSeeOther)
		v.Wants(v.Post("/admin/setup/acme/components", "components", "API"), http.StatusSeeOther)
		components, _, err := s.Store.Components().List(s.Context(), v.Actor(), "acme", store.Filter{},
			store.Pagination{Page: 1, PerPage: 1})
		if err != nil {
			s.Fatal(err)
		}
		api := "acme/" + components[0].ID
		v.Lacks(v.Wants(v.Get("/admin/monitors/new"), http.StatusOK, "Acme › API", `value="25h"`,
			"Automatic: major outage"), `value="0"`, " open>")
		v.Wants(v.Post("/admin/monitors/new", "name", "", "interval", "60", "component_id", api, "failure_threshold",
			"x"), http.StatusUnprocessableEntity,
			"This field is required.", "needs a unit", "Must be a whole number.", `value="`+api+`" selected`)
		v.Wants(v.Post("/admin/monitors/new", "name", "x", "interval", "2h", "component_id", "acme/nowhere"),
			http.StatusUnprocessableEntity, "does not exist on this page")
		v.Wants(v.Post("/admin/monitors/new", "name", "x", "interval", "2h", "component_id", "nowhere/"),
			http.StatusUnprocessableEntity, "no page with this slug")
		done := v.Wants(v.Post("/admin/monitors/new", "name", " Backup ", "interval", "1d 1h", "component_id", api,
			"down_status", "", "failure_threshold", "", "auto_incidents", "draft"),
			http.StatusSeeOther, "/first-ping")
		path := strings.TrimSuffix(done.Header.Get("Location"), "/first-ping")
		m, err := s.Store.Monitor(s.Context(), v.Actor(), strings.TrimPrefix(path, "/admin/monitors/"))
		if err != nil || m.Name != "Backup" || m.Interval != 25*time.Hour || m.ComponentID != components[0].ID ||
			m.DownStatus != kernel.StatusMajorOutage || m.AutoIncidents != statuspage.AutoIncidentsDraft {
			s.Fatalf("monitor %+v, %v", m, err)
		}
		v.Wants(v.Get("/admin/monitors/new?copy="+m.ID), http.StatusOK, `value="25h"`, `value="`+api+`" selected`)

		edit := v.Wants(v.Get(path+"/edit"), http.StatusOK, `value="Backup"`, `name="tag" value="&#34;`)
		_, tag, _ := strings.Cut(edit.Text, `name="tag" value="&#34;`)
		tag = `"` + tag[:16] + `"`
		fields := []string{
			"name", "Nightly backup", "interval", "26h", "component_id", "acme/", "down_status", "degraded",
			"failure_threshold", "2", "auto_incidents", "", "tag", tag,
		}
		name := "Backup of the night"
		if _, err := s.Store.ChangeMonitor(s.Context(), v.Actor(), m.ID, func(c *monitor.MonitorConfig) error {
			c.Name = name
			return nil
		}); err != nil {
			s.Fatal(err)
		}
		conflict := v.Wants(v.Post(path+"/edit", fields...), http.StatusConflict, "Someone else changed this",
			"“Backup of the night”", `value="Nightly backup"`)
		_, tag, _ = strings.Cut(conflict.Text, `name="tag" value="&#34;`)
		fields[len(fields)-1] = `"` + tag[:16] + `"`
		v.Wants(v.Post(path+"/edit", fields...), http.StatusSeeOther, path)
		m, err = s.Store.Monitor(s.Context(), v.Actor(), m.ID)
		if err != nil || m.Name != "Nightly backup" || m.Interval != 26*time.Hour || m.ComponentID != "" ||
			m.PageSlug != "acme" ||
			m.DownStatus != kernel.StatusDegraded || m.FailureThreshold != 2 || m.AutoIncidents != "" || !m.Enabled {
			s.Errorf("monitor %+v, %v", m, err)
		}
		v.Wants(v.Post(path+"/edit", append(fields[:len(fields)-1], "forged")...), http.StatusConflict)
	})
}

// TestMonitorWithGivenToken creates a monitor that takes over the token of another service.
func TestMonitorWithGivenToken(t *testing.T) {
	dashboardtest.OnEachEngine(t, func(s *dashboardtest.Site) {
		v := s.Owner()
		const token = "f618072a-7bde-4eee-af63-71a77c5723bc"
		moved := v.Wants(v.Post("/admin/monitors/new", "name", "Moved", "interval", "1h", "component_id", "/", "token",
			" "+token+" "), http.StatusSeeOther, "/first-ping")
		m, err := s.Store.Monitor(s.Context(), v.Actor(), strings.Split(moved.Header.Get("Location"), "/")[3])
		if err != nil || m.Token != token {
			s.Errorf("a given token: %+v, %v, want %s", m, err, token)
		}
		v.Wants(v.Post("/admin/monitors/new", "name", "Again", "interval", "1h", "component_id", "/", "token", token),
			http.StatusUnprocessableEntity,
			"has already been taken", `<details class="more" data-key="advanced" open>`,
			`<details class="more" data-key="runs"><summary>`)
	})
}

// TestMonitorIsMoved moves a monitor to a component of another page.
func TestMonitorIsMoved(t *testing.T) {
	t.Parallel()
	dashboardtest.OnEachEngine(t, func(s *dashboardtest.Site) {
		v := s.Owner()
		v.Wants(v.Post("/admin/setup/page", "name", "Acme", "slug", "acme"), http.StatusSeeOther)
		_, err := s.Store.CreatePage(s.Context(), v.Actor(),
			resource.Page.From(statuspage.Page{Name: "Other", Slug: "other"}))
		if err != nil {
			s.Fatal(err)
		}
		component, err := s.Store.Components().Create(s.Context(), v.Actor(), "other",
			resource.Component.From(statuspage.Component{Name: "Jobs"}))
		if err != nil {
			s.Fatal(err)
		}
		m, err := s.Store.CreateMonitor(s.Context(), v.Actor(), monitor.MonitorOf(monitor.MonitorConfig{
			Name: "Backup", Interval: time.Hour, PageSlug: "acme",
		}))
		if err != nil {
			s.Fatal(err)
		}
		path := "/admin/monitors/" + m.ID
		v.Wants(v.Get(path+"/edit"), http.StatusOK, `value="acme/" selected`, "Other › Jobs")
		v.Wants(v.Post(path+"/edit", "name", "Backup", "interval", "1h", "component_id", "other/"+component.ID,
			"down_status", "degraded", "tag", kernel.EntityTag(resource.Monitor.Audited(m))), http.StatusSeeOther, path)
		v.Wants(v.Get(path), http.StatusOK, "Other › Jobs (degraded")
		moved, err := s.Store.Monitor(s.Context(), v.Actor(), m.ID)
		if err != nil || moved.PageSlug != "other" || moved.ComponentID != component.ID || moved.Token != m.Token {
			s.Errorf("moved: %+v, %v", moved, err)
		}
	})
}

// maxListBytes is the maximum size of a page of the list, compressed.
const maxListBytes = 100_000

func TestMonitorListIsSmall(t *testing.T) {
	dashboardtest.OnEachEngine(t, func(s *dashboardtest.Site) {
		v := s.Owner()
		var names []string
		for i := range 201 {
			names = append(names, fmt.Sprintf("%d %s", i+1, strings.Repeat("m", 100)))
		}
		v.Monitors(names...)
		first := v.Wants(v.Get("/admin/monitors?sort=name"), http.StatusOK, ">1 m", ">100 m", "1–100 of 201", "p=2")
		var body bytes.Buffer
		w := gzip.NewWriter(&body)
		w.Write([]byte(first.Text))
		w.Close()
		if body.Len() > maxListBytes {
			s.Errorf("%d bytes, %d compressed", len(first.Text), body.Len())
		}
		v.Lacks(first, ">101 m")
		v.Wants(v.Get("/admin/monitors?sort=name&p=3"), http.StatusOK, ">201 m", "201–201 of 201")
	})
}

// TestSignalsAreShown checks the signals of a monitor, their output, and the notes of the incident of a failure.
func TestSignalsAreShown(t *testing.T) {
	dashboardtest.OnEachEngine(t, func(s *dashboardtest.Site) {
		v := s.Owner()
		m := v.Monitors("Backup")[0]
		v.Wants(v.Post("/admin/setup/page", "name", "Acme", "slug", "acme"), http.StatusSeeOther)
		page, code, output := "acme", 3, "<b>disk full</b>"
		if _, err := s.Store.ChangeMonitor(s.Context(), v.Actor(), m.ID, func(c *monitor.MonitorConfig) error {
			c.PageSlug = page
			return nil
		}); err != nil {
			s.Fatal(err)
		}
		signals := []store.NewSignal{
			{Token: m.Token, Kind: monitor.SignalStart, Address: "192.0.2.1", UserAgent: "<i>curl"},
			{
				Token: m.Token, Kind: monitor.SignalFail, ExitCode: &code, Output: store.PackOutput([]byte(output)),
				OutputSize: len(output), OutputCut: true, Excerpt: output,
			},
		}
		if _, err := s.Store.RecordSignals(s.Context(), signals); err != nil {
			s.Fatal(err)
		}
		path := "/admin/monitors/" + m.ID
		shown := v.Wants(v.Get(path), http.StatusOK, "Down: job failed", "The job reported a failure at",
			"· exit code 3", "· 0 ms", "192.0.2.1 · &lt;i&gt;curl",
			"Output (end)", "&lt;b&gt;disk full&lt;/b&gt;", "All 16 bytes",
			"Run duration", "1 run, 1 failed: median 0 ms",
			"<td>Failed, exit code 3</td><td>0 ms</td>", "are kept for 90 days")
		v.Lacks(shown, "<b>disk", "Down: no ping")
		_, link, _ := strings.Cut(shown.Text, path+"/signals/")
		link, _, _ = strings.Cut(link, `"`)
		text := v.Wants(v.Get(path+"/signals/"+link), http.StatusOK, output)
		if text.Header.Get("Content-Type") != "text/plain; charset=utf-8" {
			s.Errorf("the header of an output: %v", text.Header)
		}
		v.Wants(v.Get(path+"/signals/sig_0000000000000000000a"), http.StatusNotFound)
		m, err := s.Store.Monitor(s.Context(), v.Actor(), m.ID)
		if err != nil {
			s.Fatal(err)
		}
		v.Wants(v.Get("/admin/incidents/"+m.IncidentID), http.StatusOK, ">Failures<", "exit code 3",
			"&lt;b&gt;disk full", "do not see this")
		v.Wants(v.Post(path+"/edit", "name", "Backup", "interval", "1h", "component_id", "acme/", "max_runtime", "0s",
			"tag", kernel.EntityTag(resource.Monitor.Audited(m))), http.StatusUnprocessableEntity,
			"This must be a whole number")
		v.Wants(v.Get(path+"/edit"), http.StatusOK, "Maximum duration", "Publish output of failed runs")
	})
}
