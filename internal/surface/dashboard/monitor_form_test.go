package dashboard

import (
	"net/http"
	"net/url"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/allswell/allswell/internal/check"
	"github.com/allswell/allswell/internal/domain/monitor"
	"github.com/allswell/allswell/internal/domain/schedule"
	"github.com/allswell/allswell/internal/resource"
)

// TestScheduleInTheForm creates a monitor with a calendar, after a look at its times, and gives it a cron schedule and
// an interval.
func TestScheduleInTheForm(t *testing.T) {
	t.Parallel()
	onEachEngine(t, func(s *site) {
		v := s.owner()
		const create = "/admin/monitors/new"
		times := func(kind, times, zone string) []string {
			return []string{
				"name", "Refresh", "component_id", "/", "interval", "25h", "schedule.kind", kind,
				"schedule.expression", times, "schedule.time_zone", zone,
			}
		}
		v.lacks(v.wants(v.get(create), http.StatusOK, "as in a crontab", "as in a systemd timer"), "The next times,")
		weekly := times("calendar", "Fri 18:30 Asia/Tokyo", "")
		shown := v.wants(v.post(create, append(weekly, "preview", "times")...), http.StatusOK,
			"The next times, the first in ", "Fri ", ", 18:30 JST", `>Fri 18:30 Asia/Tokyo</textarea>`)
		if n := strings.Count(shown.body, ", 18:30 JST"); n != 5 {
			s.Errorf("%d times are shown", n)
		}
		v.lacks(v.wants(v.post(create, append(times("cron", "30 2 * *", "UTC"), "preview", "times")...), http.StatusOK,
			`>30 2 * *</textarea>`), "The next times,")
		v.wants(v.post(create, times("cron", "30 2 * *", "Mars")...), http.StatusUnprocessableEntity,
			"it must have five fields", "This must be the name of a zone")
		v.wants(v.post(create, times("calendar", "Fri..Mon", "")...), http.StatusUnprocessableEntity,
			"ends before it begins")
		v.wants(v.post(create, times("calendar", "02:30 Asia/Tokyo", "UTC")...), http.StatusUnprocessableEntity,
			"its zone Asia/Tokyo differs from time_zone")

		path := strings.TrimSuffix(v.wants(v.post(create, weekly...), http.StatusSeeOther,
			"/first-ping").Header.Get("Location"), "/first-ping")
		v.wants(v.get(path+"/first-ping"), http.StatusOK, "OnCalendar=Fri 18:30 Asia/Tokyo",
			"30 2 * * 1 /usr/local/bin/job")
		stored := func(cron schedule.Cron, interval, grace time.Duration) {
			s.Helper()
			m, err := s.store.Monitor(s.Context(), v.actor(), strings.TrimPrefix(path, "/admin/monitors/"))
			if err != nil || m.Cron != cron || m.Interval != interval || m.Grace != grace {
				s.Errorf("%v, every %v, with %v, %v", m.Cron, m.Interval, m.Grace, err)
			}
		}
		stored(schedule.NewCalendar("Fri 18:30", "Asia/Tokyo"), 7*24*time.Hour, 5*time.Minute)
		v.wants(v.get(path), http.StatusOK, "at Fri 18:30 (Asia/Tokyo), with 5 minutes of grace", ", 18:30 JST")
		edit := func(fields []string) {
			s.Helper()
			form := v.wants(v.get(path+"/edit"), http.StatusOK)
			_, tag, _ := strings.Cut(form.body, `name="tag" value="&#34;`)
			v.wants(v.post(path+"/edit", append(fields, "tag", `"`+tag[:16]+`"`)...), http.StatusSeeOther, path)
		}
		v.wants(v.get(path+"/edit"), http.StatusOK, `value="calendar" selected`, `>Fri 18:30</textarea>`,
			`value="Asia/Tokyo"`, "The next times,")
		edit(append(times("cron", "0 6 * * mon", "UTC"), "grace", "1h"))
		stored(schedule.Cron{Expression: "0 6 * * mon", TimeZone: "UTC"}, 7*24*time.Hour, time.Hour)
		v.wants(v.get(path+"/first-ping"), http.StatusOK, "0 6 * * mon /usr/local/bin/job")
		edit(append(times("calendar", "Mon 06:00\r\nTue 07:00\r\n", "UTC"), "grace", "1h"))
		stored(schedule.NewCalendar("Mon 06:00\nTue 07:00", "UTC"), 6*24*time.Hour-time.Hour, time.Hour)
		v.wants(v.get(path), http.StatusOK, "at Mon 06:00 and Tue 07:00, with 1 hour of grace")
		v.wants(v.get(path+"/edit"), http.StatusOK, ">Mon 06:00\nTue 07:00</textarea>")
		v.wants(v.get(path+"/first-ping"), http.StatusOK, "OnCalendar=Mon 06:00 UTC\nOnCalendar=Tue 07:00 UTC")
		v.wants(v.post(create, times("calendar", "Mon 06:00\r\nTue 25:00", "")...), http.StatusUnprocessableEntity,
			"line 2: in the hour")
		edit(append(times("cron", "0 6 * * 1\r\n0 7 * * 2", "UTC"), "grace", "1h"))
		v.wants(v.get(path+"/first-ping"), http.StatusOK, "0 6 * * 1 /usr/local/bin/job",
			"\n0 7 * * 2 /usr/local/bin/job")
		edit(append(times("kubernetes", "0 3 */5 * mon", "UTC"), "grace", "1h"))
		stored(schedule.Cron{Expression: "0 3 */5 * mon", TimeZone: "UTC", Kubernetes: true}, 5*24*time.Hour, time.Hour)
		v.wants(v.get(path), http.StatusOK, "at 0 3 */5 * mon (as in Kubernetes), with 1 hour of grace")
		v.wants(v.get(path+"/edit"), http.StatusOK, `value="kubernetes" selected`)
		v.wants(v.get(path+"/first-ping"), http.StatusOK, "schedule: &#34;0 3 */5 * mon&#34;", "timeZone: UTC")
		edit(times("interval", "0 6 * * mon", "UTC"))
		stored(schedule.Cron{}, 25*time.Hour, 0)
	})
}

// TestOtherErrorsAreInOrder checks the order of errors that stand above a form.
func TestOtherErrorsAreInOrder(t *testing.T) {
	f := newForm(nil)
	for _, name := range []string{"d", "b", "e", "a", "c"} {
		f.refuse(name, "The %s is wrong.", name)
	}
	f.draw(field{Name: "c"})
	if got := strings.Join(f.Others(), " "); got != "The a is wrong. The b is wrong. The d is wrong. The e is wrong." {
		t.Error(got)
	}
}

// TestSlugInTheForm creates a monitor whose slug is made from its name, and gives it another one.
func TestSlugInTheForm(t *testing.T) {
	t.Parallel()
	onEachEngine(t, func(s *site) {
		v := s.owner()
		fields := []string{"name", "Nightly job", "component_id", "/", "interval", "25h", "schedule.kind", "interval"}
		v.wants(v.get("/admin/monitors/new"), http.StatusOK, "Left empty, made from the name.")
		path := strings.TrimSuffix(v.wants(v.post("/admin/monitors/new", append(fields, "slug", "")...),
			http.StatusSeeOther, "/first-ping").Header.Get("Location"), "/first-ping")
		v.wants(v.post("/admin/monitors/new", append(fields[2:], "name", "Other", "slug", "nightly-job")...),
			http.StatusUnprocessableEntity, "has already been taken")
		edit := func(slug string) answer {
			s.Helper()
			form := v.wants(v.get(path+"/edit"), http.StatusOK, `value="nightly-job"`,
				"with the ping key of the page, must use the new one")
			_, tag, _ := strings.Cut(form.body, `name="tag" value="&#34;`)
			return v.post(path+"/edit", append(fields, "slug", slug, "tag", `"`+tag[:16]+`"`)...)
		}
		v.wants(edit(""), http.StatusUnprocessableEntity, "This field is required.")
		v.wants(edit("No"), http.StatusUnprocessableEntity, "lower-case letters")
		v.wants(edit("night"), http.StatusSeeOther, path)
		if m, err := s.store.Monitor(s.Context(), v.actor(), "night"); err != nil || !strings.HasSuffix(path, m.ID) {
			s.Errorf("%s: %v", m.ID, err)
		}
	})
}

// TestMonitorFormHasEachField checks that the form has an input for each described field, but for those that are
// changed elsewhere.
func TestMonitorFormHasEachField(t *testing.T) {
	elsewhere := map[string]bool{
		"type":              true, // a link to another form
		"token":             true, // only a new monitor is given one, and another path rotates it
		"schedule":          true, // schedule.kind, schedule.expression and schedule.time_zone
		"enabled":           true, // actions of the monitor's screen
		"paused_until":      true, // likewise
		"page":              true, // component_id has it, too
		"no_overlap_action": true, // no_overlap has it, too
		"config":            true, // the fields of the type
	}
	ofHeartbeats := map[string]bool{"slug": true} // of checks, others change it
	anywhere := make(map[string]bool)
	for _, kind := range append([]check.Type{{}}, check.Types...) {
		s := &monitorFormScreen{Monitor: monitor.Monitor{ID: "mon_1"}, Type: kind}
		inputs := make(map[string]bool)
		for _, g := range s.fieldGroups(nil, nil, nil, 2) {
			for _, x := range g.Fields {
				inputs[x.Name], anywhere[x.Name] = true, true
			}
		}
		for _, i := range resource.Monitor.Infos() {
			if !inputs[i.Name] && !elsewhere[i.Name] && !i.OfSome && !(kind.Name != "" && ofHeartbeats[i.Name]) {
				t.Errorf("the form of the type %q has no %s", kind.Name, i.Name)
			}
		}
		for _, f := range kind.Fields {
			if !inputs[f.Name] {
				t.Errorf("the form of the type %q has no %s", kind.Name, f.Name)
			}
		}
	}
	for _, i := range resource.Monitor.Infos() {
		if i.OfSome && !anywhere[i.Name] && !elsewhere[i.Name] {
			t.Errorf("no form has %s", i.Name)
		}
	}
}

// TestMonitorFormKeepsOtherFields checks that a monitor keeps what a form does not have, and that a new one has the
// defaults.
func TestMonitorFormKeepsOtherFields(t *testing.T) {
	typed := url.Values{"name": {"a"}, "interval": {"1h"}, "component_id": {"/"}}
	stored := monitor.MonitorConfig{
		Type: monitor.MonitorHeartbeat, Token: "secret", PublishOutput: true, FailureThreshold: 3, Tags: []string{"x"},
	}
	for isNew, want := range map[bool]monitor.MonitorConfig{
		true:  {Token: "secret", Enabled: true},
		false: {Token: "secret", PublishOutput: true, FailureThreshold: 3, Tags: []string{"x"}},
	} {
		got := stored
		if err := readMonitor(typed, check.Type{}, isNew)(&got); err != nil {
			t.Fatal(err)
		}
		if want.Type, want.Name, want.Interval = monitor.MonitorHeartbeat, "a", time.Hour; isNew {
			want.RunConditions = monitor.RunConditions{}.WithDefaults()
		}
		got.NoOverlapAction, want.NoOverlapAction = "", ""
		if !reflect.DeepEqual(got, want) {
			t.Errorf("new: %v: got %+v, want %+v", isNew, got, want)
		}
	}
}
