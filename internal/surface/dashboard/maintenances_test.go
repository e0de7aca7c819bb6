package dashboard

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/allswell/allswell/internal/domain/statuspage"
	"github.com/allswell/allswell/internal/resource"
	"github.com/allswell/allswell/internal/store"
)

func (v *visitor) maintenances() []store.ListedMaintenance {
	v.Helper()
	all, _, err := v.store.ListMaintenances(v.Context(), v.actor(), "", store.Pagination{Page: 1, PerPage: 50})
	if err != nil {
		v.Fatal(err)
	}
	return all
}

// TestMaintenanceFromPlanToEnd walks through a maintenance as a person does. The page is in Berlin.
func TestMaintenanceFromPlanToEnd(t *testing.T) {
	onEachEngine(t, func(s *site) {
		v, website, api := s.withPage()
		if _, err := s.store.ChangePage(
			s.Context(), v.actor(), "acme", resource.Page.From(statuspage.Page{TimeZone: "Europe/Berlin"}),
		); err != nil {
			s.Fatal(err)
		}
		page := v.wants(v.get("/admin/maintenances/new"), http.StatusOK, "Website", "Europe/Berlin", "1 day before")
		berlin, err := time.LoadLocation("Europe/Berlin")
		if err != nil {
			s.Fatal(err)
		}
		begin := time.Date(time.Now().Year()+1, 7, 1, 22, 0, 0, 0, berlin)
		fields := []string{
			"page", "acme", "id", page.hidden("id"), "title", "New disks", "scheduled_for", begin.Format(clockLayout),
			"scheduled_until", begin.Add(time.Hour).Format(clockLayout), "components", website.ID, "remind_before",
			"3600", "message", "We **replace** disks.",
		}
		v.wants(v.post("/admin/maintenances/new", append(fields, "action", "preview")...), http.StatusOK,
			"We <strong>replace</strong> disks.", "No subscriber will be notified.", "checked")
		if len(v.maintenances()) != 0 {
			s.Error("the preview planned a maintenance")
		}
		path := v.wants(v.post("/admin/maintenances/new", append(fields, "action", "publish")...), http.StatusSeeOther,
			"/admin/maintenances/mnt_").Header.Get("Location")
		// a second click
		v.wants(v.post("/admin/maintenances/new", append(fields, "action", "publish")...), http.StatusSeeOther, path)
		all := v.maintenances()
		if len(all) != 1 || !all[0].ScheduledFor.Equal(begin) || all[0].RemindBefore != time.Hour {
			s.Fatalf("maintenances: %+v", all)
		}
		v.wants(v.get("/admin/maintenances"), http.StatusOK, "New disks", "Scheduled", "Acme")
		screen := v.wants(v.get(path), http.StatusOK, "We <strong>replace</strong> disks.",
			"Ada Lovelace</strong> planned the maintenance", begin.Format(clockLayout))

		edit := []string{
			"seen", screen.hidden("seen"), "title", "Newer disks", "scheduled_for", begin.Format(clockLayout),
			"scheduled_until", begin.Add(2 * time.Hour).Format(clockLayout), "components", website.ID, "components",
			api.ID, "remind_before", "0",
		}
		v.wants(v.post(path+"/edit", edit...), http.StatusSeeOther, path)
		v.wants(v.post(path+"/edit", edit...), http.StatusConflict, "changed while you were writing", "Newer disks")
		if m := v.maintenances()[0]; m.Title != "Newer disks" || !m.ScheduledUntil.Equal(begin.Add(2*time.Hour)) ||
			m.RemindBefore != 0 {
			s.Errorf("edited: %+v", m)
		}
		late, seen := screen.hidden("seen"), v.get(path).hidden("seen")
		v.wants(v.post(path+"/edit", "seen", seen, "title", "Disks", "scheduled_for", "soon"),
			http.StatusUnprocessableEntity, `value="soon"`)
		v.wants(v.post(path+"/edit", "seen", late, "title", "Disks", "scheduled_for", "soon"), http.StatusConflict,
			"changed while you were writing")
		v.wants(v.post(path, "seen", late, "message", "my text", "state", "in_progress"), http.StatusConflict,
			"my text</textarea>")
		screen = v.get(path)
		v.wants(v.post(path, "seen", screen.hidden("seen"), "message", " ", "state", "scheduled"),
			http.StatusUnprocessableEntity, "This field is required.")
		v.wants(v.post(path, "seen", screen.hidden("seen"), "message", "We **begin**.", "state", "in_progress",
			"action", "preview"), http.StatusOK, "We <strong>begin</strong>.", "No subscriber will be notified.",
			`id="preview"`, `value="preview" formaction="`+path+`#preview" tabindex="-1"`)
		if m := v.maintenances()[0]; m.State != statuspage.MaintenanceScheduled {
			s.Errorf("the preview began the maintenance: %s", m.State)
		}
		begun := []string{"seen", screen.hidden("seen"), "message", "We begin.", "state", "in_progress"}
		v.wants(v.post(path, begun...), http.StatusSeeOther, path)
		v.wants(v.post(path, begun...), http.StatusSeeOther, path) // a second click
		screen = v.wants(v.get(path), http.StatusOK, "We begin.", "In progress", "API")
		if strings.Count(screen.body, "<p>We begin.</p>") != 1 {
			s.Error("the update was posted twice")
		}
		v.wants(v.get("/admin"), http.StatusOK, path)
		v.wants(v.get("/admin/"), http.StatusSeeOther, "/admin")
		ended := []string{"seen", screen.hidden("seen"), "message", " ", "state", "completed"} // needs no message
		v.wants(v.post(path, ended...), http.StatusSeeOther, path)
		v.wants(v.post(path, ended...), http.StatusSeeOther, path) // a second click
		screen = v.wants(v.get(path), http.StatusOK, "Completed")
		v.wants(v.post(path, "seen", screen.hidden("seen"), "message", "Done.", "state", "completed"),
			http.StatusSeeOther, path)
		v.wants(v.get(path), http.StatusOK, "Completed", "Done.")
		v.wants(v.get("/admin/maintenances"), http.StatusOK, "Past")
		v.wants(v.post(path+"/delete"), http.StatusSeeOther, path)
		v.wants(v.post(path+"/delete", "confirm", "yes"), http.StatusSeeOther, "/admin/maintenances")
		v.wants(v.get(path), http.StatusNotFound)
	})
}

// TestTimesOfAMaintenance: times that cannot be are refused beside their fields, and what was typed is kept.
func TestTimesOfAMaintenance(t *testing.T) {
	onEachEngine(t, func(s *site) {
		v, _, _ := s.withPage()
		begin := time.Now().UTC().AddDate(1, 0, 0).Format(clockLayout)
		for _, c := range []struct{ from, until, field, words string }{
			{"2999-01-01T10:00", "2999-01-01T11:00", "scheduled_for", "This must be within two years."},
			{"soon", "2999-01-01T11:00", "scheduled_for", ""},
			{"", "", "scheduled_until", "This field is required."},
			{begin, begin, "scheduled_until", "This must be at least a minute after “From”."},
		} {
			v.wants(v.post("/admin/maintenances/new", "page", "acme", "title", "Disks", "scheduled_for", c.from,
				"scheduled_until", c.until, "action", "publish"),
				http.StatusUnprocessableEntity, `id="e-`+c.field+`"`, `value="Disks"`, c.words)
		}
		if n := len(v.maintenances()); n != 0 {
			s.Errorf("%d maintenances", n)
		}
	})
}
