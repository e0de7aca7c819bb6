package dashboard

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/allswell/allswell/internal/domain/kernel"
	"github.com/allswell/allswell/internal/domain/monitor"
	"github.com/allswell/allswell/internal/domain/schedule"
	"github.com/allswell/allswell/internal/domain/statuspage"
	"github.com/allswell/allswell/internal/resource"
	"github.com/allswell/allswell/internal/store"
)

// monitors creates monitors with the names.
func (v *visitor) monitors(names ...string) (all []monitor.Monitor) {
	v.Helper()
	for _, name := range names {
		m, err := v.store.CreateMonitor(v.Context(), v.actor(), monitor.MonitorOf(monitor.MonitorConfig{
			Name: name, Interval: time.Hour,
		}))
		if err != nil {
			v.Fatal(err)
		}
		all = append(all, m)
	}
	return all
}

// TestFormsChangeALimitedNumberOfMonitors chooses as many monitors as one form changes, and one more.
func TestFormsChangeALimitedNumberOfMonitors(t *testing.T) {
	for n, want := range map[int]int{
		0: 0, 1: 1, maxMonitorsChosen: maxMonitorsChosen, maxMonitorsChosen + 1: maxMonitorsChosen,
	} {
		if got := chosenMonitors(url.Values{"monitor": make([]string, n)}); len(got) != want {
			t.Errorf("of %d monitors %d are changed", n, len(got))
		}
	}
}

func (v *visitor) ping(tokens ...string) {
	v.Helper()
	if _, err := v.store.RecordPings(
		v.Context(), tokens, store.LivenessRecord{Replica: "r"}, store.PingOrigins{},
	); err != nil {
		v.Fatal(err)
	}
}

// lacks checks that a body has none of the texts.
func (v *visitor) lacks(a answer, texts ...string) {
	v.Helper()
	for _, text := range texts {
		if strings.Contains(a.body, text) {
			v.Errorf("%s has %q", a.Request.URL, text)
		}
	}
}

func TestMonitorsAreListedAndChanged(t *testing.T) {
	onEachEngine(t, func(s *site) {
		v := s.owner()
		v.wants(v.get("/admin/monitors"), http.StatusOK, "Nothing is watched yet")
		all := v.monitors("Backup", "Invoices", "<Übung>")
		v.ping(all[0].Token)
		list := v.wants(v.get("/admin/monitors"), http.StatusOK, "Backup", "Invoices", "&lt;Übung&gt;", "never pinged",
			"within 1 hour")
		if strings.Index(list.body, ">Invoices<") > strings.Index(list.body, ">Backup<") {
			s.Error("a monitor that is up is listed before one that waits")
		}
		v.lacks(v.wants(v.get("/admin/monitors?state=waiting"), http.StatusOK, "Invoices"), ">Backup<")
		v.lacks(v.wants(v.get("/admin/monitors?search=+übu"), http.StatusOK, "&lt;Übung&gt;"), ">Backup<")
		v.wants(v.get("/admin/monitors?search=x"), http.StatusOK, "No such monitors", `value="x"`)
		v.wants(v.get("/admin/monitors?state=x"), http.StatusNotFound)

		v.wants(v.post("/admin/monitors/pause", "monitor", all[0].ID, "monitor", all[1].ID, "monitor", "mon_gone",
			"for", "", "next", "/admin/monitors?sort=name"),
			http.StatusSeeOther, "/admin/monitors?sort=name")
		v.lacks(v.wants(v.get("/admin/monitors?state=disabled"), http.StatusOK, "Backup", "Invoices"), "Übung")
		v.wants(v.post("/admin/monitors", "monitor", all[0].ID, "action", "resume", "next", "https://evil.example/"),
			http.StatusSeeOther, "/admin/monitors")
		v.lacks(v.get("/admin/monitors?state=disabled"), ">Backup<")
		v.wants(v.post("/admin/monitors", "monitor", all[0].ID, "action", "x"), http.StatusNotFound)

		v.wants(v.get("/admin/monitors/delete?monitor="+all[1].ID+"&monitor="+all[2].ID), http.StatusOK,
			"Delete 2 monitors?", "Invoices")
		v.wants(v.post("/admin/monitors/delete", "monitor", all[1].ID, "monitor", all[2].ID), http.StatusSeeOther,
			"/admin/monitors")
		v.wants(v.get("/admin/monitors/delete?monitor="+all[1].ID), http.StatusSeeOther, "/admin/monitors")
		v.wants(v.get("/admin/monitors/"+all[1].ID), http.StatusNotFound)
		if _, total, err := s.store.Monitors(
			s.Context(), v.actor(), store.MonitorFilter{}, store.Pagination{Page: 1, PerPage: 1},
		); err != nil || total != 1 {
			s.Errorf("%d monitors left, %v", total, err)
		}
	})
}

func TestMonitorsArePaused(t *testing.T) {
	t.Parallel()
	onEachEngine(t, func(s *site) {
		v := s.owner()
		all := v.monitors("Backup", "Invoices")
		path := "/admin/monitors/" + all[0].ID
		form := v.wants(v.get(path), http.StatusOK, ">Pause…</a>")
		v.lacks(form, ">Resume<")
		v.wants(v.get("/admin/monitors/pause?monitor="+all[0].ID+"&monitor="+all[1].ID), http.StatusOK,
			"Pause 2 monitors", "for 4 hours", "In the time zone UTC")
		v.wants(v.get("/admin/monitors/pause?monitor=mon_gone"), http.StatusSeeOther, "/admin/monitors")
		pause := func(length, until string) answer {
			return v.post("/admin/monitors/pause", "monitor", all[0].ID, "monitor", all[1].ID, "for", length,
				"paused_until", until, "next", path)
		}
		v.wants(pause("4h", "2020-01-01T00:00"), http.StatusUnprocessableEntity, "must be in the future",
			`value="2020-01-01T00:00"`, `value="4h" selected`)
		v.wants(pause("4h", "never"), http.StatusUnprocessableEntity, "This must be a time", `value="never"`)
		v.wants(v.get(path), http.StatusOK, ">Pause…</a>") // nothing was changed
		v.wants(pause("4h", ""), http.StatusSeeOther, path)
		m, err := s.store.Monitor(s.Context(), v.actor(), all[1].ID)
		if rest := time.Until(m.PausedUntil); err != nil || m.Enabled || rest < 3*time.Hour || rest > 4*time.Hour {
			s.Errorf("paused for %v, %v", rest, err)
		}
		v.wants(v.get(path), http.StatusOK, "paused until <time", ">Resume<", ">Paused<")
		v.wants(v.get("/admin/monitors"), http.StatusOK, "paused until <time")
		v.wants(pause("x", ""), http.StatusUnprocessableEntity, "Choose one of the durations.")
		v.wants(pause("", ""), http.StatusSeeOther, path)
		v.wants(v.get(path), http.StatusOK, "paused until somebody resumes it")
	})
}

func TestMonitorsAreTagged(t *testing.T) {
	t.Parallel()
	onEachEngine(t, func(s *site) {
		v := s.owner()
		all := v.monitors("Backup", "Invoices")
		v.lacks(v.get("/admin/monitors"), "All tags")
		change := func(action, tags, next string) answer {
			return v.post("/admin/monitors", "monitor", all[0].ID, "monitor", all[1].ID, "action", action, "tags", tags,
				"next", next)
		}
		v.wants(change("add_tags", "prod, nightly", "/admin/monitors?tag=prod"), http.StatusSeeOther,
			"/admin/monitors?tag=prod")
		v.wants(v.get("/admin/monitors?tag=prod"), http.StatusOK, ">Backup<", ">Invoices<",
			`<option value="prod" selected>`, `<span class="tag">nightly</span>`)
		v.wants(v.post("/admin/monitors", "monitor", all[1].ID, "action", "remove_tags", "tags", "prod"),
			http.StatusSeeOther)
		v.lacks(v.wants(v.get("/admin/monitors?tag=prod"), http.StatusOK, ">Backup<"), ">Invoices<")
		v.wants(v.get("/admin/monitors?tag=rod"), http.StatusOK, "No such monitors")
		v.wants(v.get("/admin/monitors/"+all[1].ID), http.StatusOK, `href="/admin/monitors?tag=nightly"`)

		// What was chosen and typed is kept.
		v.wants(change("add_tags", "<Prod>", "/admin/monitors?tag=prod"), http.StatusUnprocessableEntity,
			"lower-case letters", `value="&lt;Prod&gt;"`, "Choose Backup\" checked")
		v.wants(change("add_tags", "a b c d e f g h i", "/admin/monitors"), http.StatusUnprocessableEntity,
			"at most 10 items")
		v.wants(v.post("/admin/monitors", "action", "add_tags", "tags", "<Prod>"), http.StatusUnprocessableEntity,
			"lower-case letters")
		edit := v.wants(v.get("/admin/monitors/"+all[0].ID+"/edit"), http.StatusOK, `value="nightly prod"`)
		_, tag, _ := strings.Cut(edit.body, `name="tag" value="&#34;`)
		v.wants(v.post("/admin/monitors/"+all[0].ID+"/edit", "name", "Backup", "interval", "1h", "component_id", "/",
			"tags", "weekly", "tag", `"`+tag[:16]+`"`), http.StatusSeeOther)
		m, err := s.store.Monitor(s.Context(), v.actor(), all[0].ID)
		if err != nil || !slices.Equal(m.Tags, []string{"weekly"}) {
			s.Errorf("tags %v, %v", m.Tags, err)
		}
	})
}

func TestIntervalIsSetFromTheRhythm(t *testing.T) {
	t.Parallel()
	onEachEngine(t, func(s *site) {
		v := s.owner()
		m := v.monitors("Backup")[0]
		path := "/admin/monitors/" + m.ID
		v.lacks(v.get(path), "Gaps between pings")
		tag := kernel.EntityTag(resource.Monitor.Audited(m))
		v.wants(v.post(path+"/interval", "interval", "3840", "tag", "forged"), http.StatusConflict)
		v.wants(v.post(path+"/interval", "interval", "0", "tag", tag), http.StatusNotFound)
		v.wants(v.post(path+"/interval", "interval", "3840", "tag", tag), http.StatusSeeOther, path+"#pings")
		if m, err := s.store.Monitor(s.Context(), v.actor(), m.ID); err != nil || m.Interval != 64*time.Minute {
			s.Errorf("interval %v, %v", m.Interval, err)
		}
	})
}

func TestPingChart(t *testing.T) {
	at := time.Date(2026, 11, 21, 4, 0, 0, 0, time.UTC)
	e := monitor.Explanation{Interval: time.Hour, Threshold: 3, Period: time.Minute}
	m := monitor.Monitor{
		ID:            "mon_1",
		MonitorConfig: monitor.MonitorConfig{Interval: time.Hour, DownStatus: kernel.StatusMajorOutage},
	}
	if newPingChart(m, e) != nil {
		t.Error("a chart without gaps")
	}
	for i := range 61 {
		length := 61 * time.Minute
		if i == 40 {
			length = 48 * time.Hour
		}
		at = at.Add(length)
		e.PingGaps = append(e.PingGaps, monitor.PingGap{PingedAt: at, Length: length})
	}
	c := newPingChart(m, e)
	if len(c.Bars) != chartBars || c.Rhythm != "every 1 hour 1 minute" || c.Seconds() != 64*60 ||
		c.Longest.Length != 48*time.Hour || c.Median != 61*time.Minute {
		t.Errorf("chart %+v", c)
	}
	tones := map[string]int{}
	for _, b := range c.Bars {
		tones[b.Tone]++
		if b.X < 0 || b.Y < 0 || b.X+b.Width > chartWidth || b.Y+b.Height != chartHeight {
			t.Errorf("bar %+v", b)
		}
	}
	if tones[kernel.StatusDegraded.Tone().Name] != 59 || tones[kernel.StatusMajorOutage.Tone().Name] != 1 ||
		c.DownY >= c.DueY || c.DownY <= 0 {
		t.Errorf("tones %v, lines at %d and %d", tones, c.DueY, c.DownY)
	}
	var body strings.Builder
	template, err := templateOf("monitor")
	if err != nil {
		t.Fatal(err)
	}
	s := monitorScreen{
		MonitorDetail: store.MonitorDetail{MonitorListEntry: store.MonitorListEntry{Monitor: m}}, Chart: c,
		CanEdit: true,
	}
	if err := template.ExecuteTemplate(&body, "main", s); err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{
		"This job seems to run every 1 hour 1 minute.", `value="3840">Set to 1 hour 4 minutes</button>`, "<title",
		"As a table",
	} {
		if !strings.Contains(body.String(), text) {
			t.Errorf("the screen lacks %q", text)
		}
	}
}

// TestPingChartOfACron checks that bars of a monitor with a Cron are late by its times, and that there are no lines.
func TestPingChartOfACron(t *testing.T) {
	m := monitor.Monitor{
		ID: "mon_1",
		MonitorConfig: monitor.MonitorConfig{
			Cron: schedule.NewCalendar("Mon..Fri 06:00", ""), Interval: 72 * time.Hour, Grace: 30 * time.Minute,
			DownStatus: kernel.StatusMajorOutage,
		},
	}
	e := monitor.Explanation{Interval: m.Interval, Cron: m.Cron, Grace: m.Grace, Threshold: 3, Period: time.Minute}
	friday := time.Date(2026, 11, 20, 6, 10, 0, 0, time.UTC)
	last := friday
	for _, after := range []time.Duration{
		72*time.Hour + 21*time.Minute, 96*time.Hour + 25*time.Minute, 120 * time.Hour, 168*time.Hour + 22*time.Minute,
	} {
		at := friday.Add(after)
		e.PingGaps = append(e.PingGaps, monitor.PingGap{PingedAt: at, Length: at.Sub(last)})
		last = at
	}
	c := newPingChart(m, e)
	var late []time.Duration
	for _, gap := range c.Gaps {
		late = append(late, gap.Late)
	}
	if want := []time.Duration{24*time.Hour + 2*time.Minute, 0, 5 * time.Minute, 0}; !slices.Equal(late, want) {
		t.Errorf("late by %v, want %v", late, want)
	}
	var body strings.Builder
	template, err := templateOf("monitor")
	if err == nil {
		err = template.ExecuteTemplate(&body, "main", monitorScreen{
			MonitorDetail: store.MonitorDetail{MonitorListEntry: store.MonitorListEntry{Monitor: m}}, Chart: c,
		})
	}
	if err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{
		"A ping is due at Mon..Fri 06:00, with 30 minutes of grace. The monitor is down 3 minutes later.",
		"<td>5 minutes</td>", "between two due times",
	} {
		if !strings.Contains(body.String(), text) {
			t.Errorf("the screen lacks %q", text)
		}
	}
	if strings.Contains(body.String(), `class="due"`) || strings.Contains(body.String(), "due within") {
		t.Error("the screen shows the line of an interval")
	}
}

func TestMonitorIsExplained(t *testing.T) {
	onEachEngine(t, func(s *site) {
		v := s.owner()
		m := v.monitors("Backup")[0]
		path := "/admin/monitors/" + m.ID
		v.lacks(v.wants(v.get(path), http.StatusOK, "waits for its first ping", m.Token, "curl -fsS", "None so far"),
			"24 hours</dt>", "previous address")
		v.ping(m.Token)
		v.wants(v.get(path), http.StatusOK, "The last ping came at <time", "is due within 1 hour", "It goes down at",
			"3 checks in a row", "24 hours</dt><dd>")
		v.wants(v.post(path+"/rotate"), http.StatusSeeOther, path+"#ping")
		v.lacks(v.wants(v.get(path), http.StatusOK, "previous address works until <time"), m.Token)
		v.wants(v.get("/admin/monitors/"+m.Slug), http.StatusOK, "Backup")
		v.wants(v.get("/admin/monitors/nowhere"), http.StatusNotFound)
	})
}

func TestMonitorIsCreatedAndEdited(t *testing.T) {
	onEachEngine(t, func(s *site) {
		v := s.owner()
		v.wants(v.post("/admin/setup/page", "name", "Acme", "slug", "acme"), http.StatusSeeOther)
		v.wants(v.post("/admin/setup/acme/components", "components", "API"), http.StatusSeeOther)
		components, _, err := s.store.Components().List(s.Context(), v.actor(), "acme", store.Filter{},
			store.Pagination{Page: 1, PerPage: 1})
		if err != nil {
			s.Fatal(err)
		}
		api := "acme/" + components[0].ID
		v.lacks(v.wants(v.get("/admin/monitors/new"), http.StatusOK, "Acme › API", `value="25h"`,
			"Default: major outage"), `value="0"`, " open>")
		v.wants(v.post("/admin/monitors/new", "name", "", "interval", "60", "component_id", api, "failure_threshold",
			"x"), http.StatusUnprocessableEntity,
			"This field is required.", "needs a unit", "Must be a whole number.", `value="`+api+`" selected`)
		v.wants(v.post("/admin/monitors/new", "name", "x", "interval", "2h", "component_id", "acme/nowhere"),
			http.StatusUnprocessableEntity, "does not exist on this page")
		v.wants(v.post("/admin/monitors/new", "name", "x", "interval", "2h", "component_id", "nowhere/"),
			http.StatusUnprocessableEntity, "no page with this slug")
		done := v.wants(v.post("/admin/monitors/new", "name", " Backup ", "interval", "1d 1h", "component_id", api,
			"down_status", "", "failure_threshold", "", "auto_incidents", "draft"),
			http.StatusSeeOther, "/first-ping")
		path := strings.TrimSuffix(done.Header.Get("Location"), "/first-ping")
		m, err := s.store.Monitor(s.Context(), v.actor(), strings.TrimPrefix(path, "/admin/monitors/"))
		if err != nil || m.Name != "Backup" || m.Interval != 25*time.Hour || m.ComponentID != components[0].ID ||
			m.DownStatus != kernel.StatusMajorOutage || m.AutoIncidents != statuspage.AutoIncidentsDraft {
			s.Fatalf("monitor %+v, %v", m, err)
		}
		v.wants(v.get("/admin/monitors/new?copy="+m.ID), http.StatusOK, `value="25h"`, `value="`+api+`" selected`)
		const token = "f618072a-7bde-4eee-af63-71a77c5723bc"
		moved := v.wants(v.post("/admin/monitors/new", "name", "Moved", "interval", "1h", "component_id", "/", "token",
			" "+token+" "), http.StatusSeeOther, "/first-ping")
		if m, err := s.store.Monitor(
			s.Context(), v.actor(), strings.Split(moved.Header.Get("Location"), "/")[3],
		); err != nil || m.Token != token {
			s.Errorf("a given token: %+v, %v", m, err)
		}
		v.wants(v.post("/admin/monitors/new", "name", "Again", "interval", "1h", "component_id", "/", "token", token),
			http.StatusUnprocessableEntity,
			"has already been taken", `<details class="more" data-key="advanced" open>`,
			`<details class="more" data-key="runs"><summary>`)

		edit := v.wants(v.get(path+"/edit"), http.StatusOK, `value="Backup"`, `name="tag" value="&#34;`)
		_, tag, _ := strings.Cut(edit.body, `name="tag" value="&#34;`)
		tag = `"` + tag[:16] + `"`
		fields := []string{
			"name", "Nightly backup", "interval", "26h", "component_id", "acme/", "down_status", "degraded",
			"failure_threshold", "2", "auto_incidents", "", "tag", tag,
		}
		name := "Backup of the night"
		if _, err := s.store.ChangeMonitor(s.Context(), v.actor(), m.ID, func(c *monitor.MonitorConfig) error {
			c.Name = name
			return nil
		}); err != nil {
			s.Fatal(err)
		}
		conflict := v.wants(v.post(path+"/edit", fields...), http.StatusConflict, "Somebody else has changed this",
			"“Backup of the night”", `value="Nightly backup"`)
		_, tag, _ = strings.Cut(conflict.body, `name="tag" value="&#34;`)
		fields[len(fields)-1] = `"` + tag[:16] + `"`
		v.wants(v.post(path+"/edit", fields...), http.StatusSeeOther, path)
		m, err = s.store.Monitor(s.Context(), v.actor(), m.ID)
		if err != nil || m.Name != "Nightly backup" || m.Interval != 26*time.Hour || m.ComponentID != "" ||
			m.PageSlug != "acme" ||
			m.DownStatus != kernel.StatusDegraded || m.FailureThreshold != 2 || m.AutoIncidents != "" || !m.Enabled {
			s.Errorf("monitor %+v, %v", m, err)
		}
		v.wants(v.post(path+"/edit", append(fields[:len(fields)-1], "forged")...), http.StatusConflict)
	})
}

// TestMonitorIsMoved moves a monitor to a component of another page.
func TestMonitorIsMoved(t *testing.T) {
	t.Parallel()
	onEachEngine(t, func(s *site) {
		v := s.owner()
		v.wants(v.post("/admin/setup/page", "name", "Acme", "slug", "acme"), http.StatusSeeOther)
		if _, err := s.store.CreatePage(
			s.Context(), v.actor(), resource.Page.From(statuspage.Page{Name: "Other", Slug: "other"}),
		); err != nil {
			s.Fatal(err)
		}
		component, err := s.store.Components().Create(s.Context(), v.actor(), "other",
			resource.Component.From(statuspage.Component{Name: "Jobs"}))
		if err != nil {
			s.Fatal(err)
		}
		m, err := s.store.CreateMonitor(s.Context(), v.actor(), monitor.MonitorOf(monitor.MonitorConfig{
			Name: "Backup", Interval: time.Hour, PageSlug: "acme",
		}))
		if err != nil {
			s.Fatal(err)
		}
		path := "/admin/monitors/" + m.ID
		v.wants(v.get(path+"/edit"), http.StatusOK, `value="acme/" selected`, "Other › Jobs")
		v.wants(v.post(path+"/edit", "name", "Backup", "interval", "1h", "component_id", "other/"+component.ID,
			"down_status", "degraded", "tag", kernel.EntityTag(resource.Monitor.Audited(m))), http.StatusSeeOther, path)
		v.wants(v.get(path), http.StatusOK, "Other › Jobs: degraded")
		moved, err := s.store.Monitor(s.Context(), v.actor(), m.ID)
		if err != nil || moved.PageSlug != "other" || moved.ComponentID != component.ID || moved.Token != m.Token {
			s.Errorf("moved: %+v, %v", moved, err)
		}
	})
}

// maxListBytes is the maximum size of a page of the list, compressed.
const maxListBytes = 100_000

func TestMonitorListIsSmall(t *testing.T) {
	onEachEngine(t, func(s *site) {
		v := s.owner()
		var names []string
		for i := range 2*perPage + 1 {
			names = append(names, fmt.Sprintf("%03d %s", i, strings.Repeat("m", 100)))
		}
		v.monitors(names...)
		first := v.wants(v.get("/admin/monitors?sort=name"), http.StatusOK, "000 m", "049 m", "1–50 of 101", "p=2")
		var body bytes.Buffer
		w := gzip.NewWriter(&body)
		w.Write([]byte(first.body))
		w.Close()
		if body.Len() > maxListBytes/10 || len(first.body) > maxListBytes {
			s.Errorf("%d bytes, %d compressed", len(first.body), body.Len())
		}
		v.lacks(first, "050 m")
		v.wants(v.get("/admin/monitors?sort=name&p=3"), http.StatusOK, "100 m", "101–101 of 101")
	})
}

func TestConditionsHaveNames(t *testing.T) {
	for _, c := range monitor.MonitorConditions {
		if conditionName(c) == "" {
			t.Errorf("%s has no name", c)
		}
	}
	if slices.Contains(monitor.MonitorConditions, "") || len(conditionNames) != len(monitor.MonitorConditions) {
		t.Error("the conditions and their names differ")
	}
}

// TestSignalsAreShown checks the signals of a monitor, their output, and the notes of the incident of a failure.
func TestSignalsAreShown(t *testing.T) {
	onEachEngine(t, func(s *site) {
		v := s.owner()
		m := v.monitors("Backup")[0]
		v.wants(v.post("/admin/setup/page", "name", "Acme", "slug", "acme"), http.StatusSeeOther)
		page, code, output := "acme", 3, "<b>disk full</b>"
		if _, err := s.store.ChangeMonitor(s.Context(), v.actor(), m.ID, func(c *monitor.MonitorConfig) error {
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
		if _, err := s.store.RecordSignals(s.Context(), signals); err != nil {
			s.Fatal(err)
		}
		path := "/admin/monitors/" + m.ID
		shown := v.wants(v.get(path), http.StatusOK, "The job has failed", "The job reported a failure at",
			"exit code 3", "after 0s", "from 192.0.2.1", "&lt;i&gt;curl",
			"Output, its end", "&lt;b&gt;disk full&lt;/b&gt;", "All 16 bytes",
			"Durations of runs", "1 run, of which 1 failed: the median is 0s",
			"<td>Failed, exit code 3</td><td>0s</td>", "are kept for 90 days")
		v.lacks(shown, "<b>disk", "The job is silent")
		_, link, _ := strings.Cut(shown.body, path+"/signals/")
		link, _, _ = strings.Cut(link, `"`)
		text := v.wants(v.get(path+"/signals/"+link), http.StatusOK, output)
		if text.Header.Get("Content-Type") != "text/plain; charset=utf-8" {
			s.Error(text.Header)
		}
		v.wants(v.get(path+"/signals/sig_0000000000000000000a"), http.StatusNotFound)
		m, err := s.store.Monitor(s.Context(), v.actor(), m.ID)
		if err != nil {
			s.Fatal(err)
		}
		v.wants(v.get("/admin/incidents/"+m.IncidentID), http.StatusOK, ">Failures<", "exit code 3",
			"&lt;b&gt;disk full", "do not see this")
		v.wants(v.post(path+"/edit", "name", "Backup", "interval", "1h", "component_id", "acme/", "max_runtime", "0s",
			"tag", kernel.EntityTag(resource.Monitor.Audited(m))), http.StatusUnprocessableEntity,
			"This must be a whole number")
		v.wants(v.get(path+"/edit"), http.StatusOK, "A run may take", "is for members only")
	})
}
