package statuspages_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/allswell/allswell/internal/domain/statuspage"
	"github.com/allswell/allswell/internal/resource"
	"github.com/allswell/allswell/internal/store"
	"github.com/allswell/allswell/internal/surface/dashboard/dashboardtest"
	"github.com/allswell/allswell/internal/surface/dashboard/frame"
)

func maintenances(v *dashboardtest.Visitor) []store.ListedMaintenance {
	v.Helper()
	all, _, err := v.Store.ListMaintenances(v.Context(), v.Actor(), "", store.Pagination{Page: 1, PerPage: 50})
	if err != nil {
		v.Fatal(err)
	}
	return all
}

// TestMaintenanceFromPlanToEnd walks through a maintenance as a person does. The page is in Berlin.
func TestMaintenanceFromPlanToEnd(t *testing.T) {
	dashboardtest.OnEachEngine(t, func(s *dashboardtest.Site) {
		v, website, api := s.WithPage()
		path, begin := planMaintenance(v, website.ID)
		v.Wants(v.Get("/admin/maintenances"), http.StatusOK, "New disks", "Scheduled", "Acme")
		screen := v.Wants(v.Get(path), http.StatusOK, "We <strong>replace</strong> disks.",
			"Ada Lovelace</strong> scheduled the maintenance", begin.Format(frame.ClockLayout))
		editMaintenance(v, path, screen, begin, website.ID, api.ID)
		screen = beginMaintenance(v, path)
		v.Wants(v.Get("/admin"), http.StatusOK, path)
		v.Wants(v.Get("/admin/"), http.StatusSeeOther, "/admin")
		ended := []string{"seen", screen.Hidden("seen"), "message", " ", "state", "completed"} // needs no message
		v.Wants(v.Post(path, ended...), http.StatusSeeOther, path)
		v.Wants(v.Post(path, ended...), http.StatusSeeOther, path) // a second click
		screen = v.Wants(v.Get(path), http.StatusOK, "Completed")
		v.Wants(v.Post(path, "seen", screen.Hidden("seen"), "message", "Done.", "state", "completed"),
			http.StatusSeeOther, path)
		v.Wants(v.Get(path), http.StatusOK, "Completed", "Done.")
		v.Wants(v.Get("/admin/maintenances"), http.StatusOK, "Past")
		v.Wants(v.Post(path+"/delete"), http.StatusSeeOther, path)
		v.Wants(v.Post(path+"/delete", "confirm", "yes"), http.StatusSeeOther, "/admin/maintenances")
		v.Wants(v.Get(path), http.StatusNotFound)
	})
}

// planMaintenance plans maintenance of a component in Berlin after a preview, and returns its path and when it begins.
func planMaintenance(v *dashboardtest.Visitor, website string) (path string, begin time.Time) {
	v.Helper()
	inBerlin := resource.Page.From(statuspage.Page{TimeZone: "Europe/Berlin"})
	if _, err := v.Store.ChangePage(v.Context(), v.Actor(), "acme", inBerlin); err != nil {
		v.Fatal(err)
	}
	page := v.Wants(v.Get("/admin/maintenances/new"), http.StatusOK, "Website", "Europe/Berlin", "1 day before")
	berlin, err := time.LoadLocation("Europe/Berlin")
	if err != nil {
		v.Fatal(err)
	}
	begin = time.Date(time.Now().Year()+1, 7, 1, 22, 0, 0, 0, berlin)
	fields := []string{
		"page", "acme", "id", page.Hidden("id"), "title", "New disks", "scheduled_for",
		begin.Format(frame.ClockLayout),
		"scheduled_until", begin.Add(time.Hour).Format(frame.ClockLayout), "components", website,
		"remind_before", "3600", "message", "We **replace** disks.",
	}
	v.Wants(v.Post("/admin/maintenances/new", append(fields, "action", "preview")...), http.StatusOK,
		"We <strong>replace</strong> disks.", "No subscriber will be notified.", "checked")
	if len(maintenances(v)) != 0 {
		v.Error("the preview planned a maintenance")
	}
	path = v.Wants(v.Post("/admin/maintenances/new", append(fields, "action", "publish")...), http.StatusSeeOther,
		"/admin/maintenances/mnt_").Header.Get("Location")
	// A second click plans nothing more.
	v.Wants(v.Post("/admin/maintenances/new", append(fields, "action", "publish")...), http.StatusSeeOther, path)
	all := maintenances(v)
	if len(all) != 1 || !all[0].ScheduledFor.Equal(begin) || all[0].RemindBefore != time.Hour {
		v.Fatalf("maintenances: %+v", all)
	}
	return path, begin
}

// editMaintenance edits maintenance, and sends forms that are older than the change.
func editMaintenance(
	v *dashboardtest.Visitor, path string, screen dashboardtest.Answer, begin time.Time, website, api string,
) {
	v.Helper()
	edit := []string{
		"seen", screen.Hidden("seen"), "title", "Newer disks", "scheduled_for", begin.Format(frame.ClockLayout),
		"scheduled_until", begin.Add(2 * time.Hour).Format(frame.ClockLayout), "components", website,
		"components", api, "remind_before", "0",
	}
	v.Wants(v.Post(path+"/edit", edit...), http.StatusSeeOther, path)
	v.Wants(v.Post(path+"/edit", edit...), http.StatusConflict, "changed while you were writing", "Newer disks")
	m := maintenances(v)[0]
	if m.Title != "Newer disks" || !m.ScheduledUntil.Equal(begin.Add(2*time.Hour)) || m.RemindBefore != 0 {
		v.Errorf("edited: %+v", m)
	}
	late, seen := screen.Hidden("seen"), v.Get(path).Hidden("seen")
	v.Wants(v.Post(path+"/edit", "seen", seen, "title", "Disks", "scheduled_for", "soon"),
		http.StatusUnprocessableEntity, `value="soon"`)
	v.Wants(v.Post(path+"/edit", "seen", late, "title", "Disks", "scheduled_for", "soon"), http.StatusConflict,
		"changed while you were writing")
	v.Wants(v.Post(path, "seen", late, "message", "my text", "state", "in_progress"), http.StatusConflict,
		"my text</textarea>")
}

// beginMaintenance begins maintenance after a preview, and returns its screen.
func beginMaintenance(v *dashboardtest.Visitor, path string) dashboardtest.Answer {
	v.Helper()
	screen := v.Get(path)
	v.Wants(v.Post(path, "seen", screen.Hidden("seen"), "message", " ", "state", "scheduled"),
		http.StatusUnprocessableEntity, "This field is required.")
	v.Wants(v.Post(path, "seen", screen.Hidden("seen"), "message", "We **begin**.", "state", "in_progress",
		"action", "preview"), http.StatusOK, "We <strong>begin</strong>.", "No subscriber will be notified.",
		`id="preview"`, `value="preview" formaction="`+path+`#preview" tabindex="-1"`)
	if m := maintenances(v)[0]; m.State != statuspage.MaintenanceScheduled {
		v.Errorf("the preview began the maintenance: %s", m.State)
	}
	begun := []string{"seen", screen.Hidden("seen"), "message", "We begin.", "state", "in_progress"}
	v.Wants(v.Post(path, begun...), http.StatusSeeOther, path)
	v.Wants(v.Post(path, begun...), http.StatusSeeOther, path) // a second click
	screen = v.Wants(v.Get(path), http.StatusOK, "We begin.", "In progress", "API")
	if strings.Count(screen.Text, "<p>We begin.</p>") != 1 {
		v.Error("the update was posted twice")
	}
	return screen
}

// TestTimesOfAMaintenance: times that cannot be are refused beside their fields, and what was typed is kept.
func TestTimesOfAMaintenance(t *testing.T) {
	dashboardtest.OnEachEngine(t, func(s *dashboardtest.Site) {
		v, _, _ := s.WithPage()
		begin := time.Now().UTC().AddDate(1, 0, 0).Format(frame.ClockLayout)
		for _, c := range []struct{ from, until, field, words string }{
			{"2999-01-01T10:00", "2999-01-01T11:00", "scheduled_for", "This must be within two years."},
			{"soon", "2999-01-01T11:00", "scheduled_for", ""},
			{"", "", "scheduled_until", "This field is required."},
			{begin, begin, "scheduled_until", "This must be at least a minute after “From”."},
		} {
			v.Wants(v.Post("/admin/maintenances/new", "page", "acme", "title", "Disks", "scheduled_for", c.from,
				"scheduled_until", c.until, "action", "publish"),
				http.StatusUnprocessableEntity, `id="e-`+c.field+`"`, `value="Disks"`, c.words)
		}
		if n := len(maintenances(v)); n != 0 {
			s.Errorf("%d maintenances", n)
		}
	})
}
