package monitors_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/allswell/allswell/internal/domain/schedule"
	"github.com/allswell/allswell/internal/surface/dashboard/dashboardtest"
)

// scheduleFields returns the fields of the form of a monitor with a schedule.
func scheduleFields(kind, times, zone string) []string {
	return []string{
		"name", "Refresh", "component_id", "/", "interval", "25h", "schedule.kind", kind, "schedule.expression", times,
		"schedule.time_zone", zone,
	}
}

// TestScheduleInTheForm creates a monitor with a calendar, after a look at its times, and gives it a cron schedule and
// an interval.
func TestScheduleInTheForm(t *testing.T) {
	t.Parallel()
	dashboardtest.OnEachEngine(t, func(s *dashboardtest.Site) {
		v := s.Owner()
		const create = "/admin/monitors/new"
		v.Lacks(v.Wants(v.Get(create), http.StatusOK, ">Cron<", "OnCalendar"), "Next runs (")
		weekly := scheduleFields("calendar", "Fri 18:30 Asia/Tokyo", "")
		shown := v.Wants(v.Post(create, append(weekly, "preview", "times")...), http.StatusOK,
			"Next runs (your time in brackets), first in ", "Fri ", ", 18:30 JST", `>Fri 18:30 Asia/Tokyo</textarea>`)
		if n := strings.Count(shown.Text, ", 18:30 JST"); n != 5 {
			s.Errorf("%d times are shown", n)
		}
		v.Lacks(v.Wants(v.Post(create, append(scheduleFields("cron", "30 2 * *", "UTC"), "preview", "times")...),
			http.StatusOK,
			`>30 2 * *</textarea>`), "Next runs (")
		v.Wants(v.Post(create, scheduleFields("cron", "30 2 * *", "Mars")...), http.StatusUnprocessableEntity,
			"it must have five fields", "This must be the name of a zone")
		v.Wants(v.Post(create, scheduleFields("calendar", "Fri..Mon", "")...), http.StatusUnprocessableEntity,
			"ends before it begins")
		v.Wants(v.Post(create, scheduleFields("calendar", "02:30 Asia/Tokyo", "UTC")...),
			http.StatusUnprocessableEntity,
			"its zone Asia/Tokyo differs from time_zone")
		v.Wants(v.Post(create, scheduleFields("calendar", "Mon 06:00\r\nTue 25:00", "")...),
			http.StatusUnprocessableEntity,
			"line 2: hour must be")
	})
}

// TestScheduleIsEditedInTheForm gives a monitor one kind of schedule after the other.
func TestScheduleIsEditedInTheForm(t *testing.T) {
	t.Parallel()
	dashboardtest.OnEachEngine(t, func(s *dashboardtest.Site) {
		v := s.Owner()
		weekly := scheduleFields("calendar", "Fri 18:30 Asia/Tokyo", "")
		path := strings.TrimSuffix(v.Wants(v.Post("/admin/monitors/new", weekly...), http.StatusSeeOther,
			"/first-ping").Header.Get("Location"), "/first-ping")
		v.Wants(v.Get(path+"/first-ping"), http.StatusOK, "OnCalendar=Fri 18:30 Asia/Tokyo",
			"30 2 * * 1 /usr/local/bin/job")
		stored := func(cron schedule.Cron, interval, grace time.Duration) {
			s.Helper()
			m, err := s.Store.Monitor(s.Context(), v.Actor(), strings.TrimPrefix(path, "/admin/monitors/"))
			if err != nil || m.Cron != cron || m.Interval != interval || m.Grace != grace {
				s.Errorf("%v, every %v, with %v, %v", m.Cron, m.Interval, m.Grace, err)
			}
		}
		stored(schedule.NewCalendar("Fri 18:30", "Asia/Tokyo"), 7*24*time.Hour, 5*time.Minute)
		v.Wants(v.Get(path), http.StatusOK, "Fri 18:30 (Asia/Tokyo), grace 5 min", ", 18:30 JST")
		edit := func(fields []string) {
			s.Helper()
			form := v.Wants(v.Get(path+"/edit"), http.StatusOK)
			_, tag, _ := strings.Cut(form.Text, `name="tag" value="&#34;`)
			v.Wants(v.Post(path+"/edit", append(fields, "tag", `"`+tag[:16]+`"`)...), http.StatusSeeOther, path)
		}
		v.Wants(v.Get(path+"/edit"), http.StatusOK, `value="calendar" selected`, `>Fri 18:30</textarea>`,
			`value="Asia/Tokyo"`, "Next runs (")
		edit(append(scheduleFields("cron", "0 6 * * mon", "UTC"), "grace", "1h"))
		stored(schedule.Cron{Expression: "0 6 * * mon", TimeZone: "UTC"}, 7*24*time.Hour, time.Hour)
		v.Wants(v.Get(path+"/first-ping"), http.StatusOK, "0 6 * * mon /usr/local/bin/job")
		edit(append(scheduleFields("calendar", "Mon 06:00\r\nTue 07:00\r\n", "UTC"), "grace", "1h"))
		stored(schedule.NewCalendar("Mon 06:00\nTue 07:00", "UTC"), 6*24*time.Hour-time.Hour, time.Hour)
		v.Wants(v.Get(path), http.StatusOK, "Mon 06:00 and Tue 07:00, grace 1 h")
		v.Wants(v.Get(path+"/edit"), http.StatusOK, ">Mon 06:00\nTue 07:00</textarea>")
		v.Wants(v.Get(path+"/first-ping"), http.StatusOK, "OnCalendar=Mon 06:00 UTC\nOnCalendar=Tue 07:00 UTC")
		edit(append(scheduleFields("cron", "0 6 * * 1\r\n0 7 * * 2", "UTC"), "grace", "1h"))
		v.Wants(v.Get(path+"/first-ping"), http.StatusOK, "0 6 * * 1 /usr/local/bin/job",
			"\n0 7 * * 2 /usr/local/bin/job")
		edit(append(scheduleFields("kubernetes", "0 3 */5 * mon", "UTC"), "grace", "1h"))
		stored(schedule.Cron{Expression: "0 3 */5 * mon", TimeZone: "UTC", Kubernetes: true}, 5*24*time.Hour, time.Hour)
		v.Wants(v.Get(path), http.StatusOK, "0 3 */5 * mon (as in Kubernetes), grace 1 h")
		v.Wants(v.Get(path+"/edit"), http.StatusOK, `value="kubernetes" selected`)
		v.Wants(v.Get(path+"/first-ping"), http.StatusOK, "schedule: &#34;0 3 */5 * mon&#34;", "timeZone: UTC")
		edit(scheduleFields("interval", "0 6 * * mon", "UTC"))
		stored(schedule.Cron{}, 25*time.Hour, 0)
	})
}

// TestSlugInTheForm creates a monitor whose slug is made from its name, and gives it another one.
func TestSlugInTheForm(t *testing.T) {
	t.Parallel()
	dashboardtest.OnEachEngine(t, func(s *dashboardtest.Site) {
		v := s.Owner()
		fields := []string{"name", "Nightly job", "component_id", "/", "interval", "25h", "schedule.kind", "interval"}
		v.Wants(v.Get("/admin/monitors/new"), http.StatusOK, "Leave empty to derive it from the name.")
		path := strings.TrimSuffix(v.Wants(v.Post("/admin/monitors/new", append(fields, "slug", "")...),
			http.StatusSeeOther, "/first-ping").Header.Get("Location"), "/first-ping")
		v.Wants(v.Post("/admin/monitors/new", append(fields[2:], "name", "Other", "slug", "nightly-job")...),
			http.StatusUnprocessableEntity, "has already been taken")
		edit := func(slug string) dashboardtest.Answer {
			s.Helper()
			form := v.Wants(v.Get(path+"/edit"), http.StatusOK, `value="nightly-job"`,
				"Jobs that ping by slug must use the new one")
			_, tag, _ := strings.Cut(form.Text, `name="tag" value="&#34;`)
			return v.Post(path+"/edit", append(fields, "slug", slug, "tag", `"`+tag[:16]+`"`)...)
		}
		v.Wants(edit(""), http.StatusUnprocessableEntity, "This field is required.")
		v.Wants(edit("No"), http.StatusUnprocessableEntity, "lower-case letters")
		v.Wants(edit("night"), http.StatusSeeOther, path)
		if m, err := s.Store.Monitor(s.Context(), v.Actor(), "night"); err != nil || !strings.HasSuffix(path, m.ID) {
			s.Errorf("%s: %v", m.ID, err)
		}
	})
}
