package dashboard

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/allswell/allswell/internal/domain/kernel"
	"github.com/allswell/allswell/internal/store"
)

func TestAnnouncements(t *testing.T) {
	onEachEngine(t, func(s *site) {
		v := s.owner()
		v.post("/admin/pages", "name", "Acme", "slug", "acme")
		v.post("/admin/pages", "name", "Other", "slug", "other")
		v.fill(v.get("/admin/pages/acme"), "/admin/pages/acme", "time_zone", "Europe/Berlin")
		const path = "/admin/pages/acme/announcements"
		list := v.wants(v.get(path), http.StatusOK, "No announcements", "Europe/Berlin")
		v.wants(v.fill(list, path, "title", " ", "message", "kept", "shown_from", "2026-01-02T10:00", "shown_until",
			"2026-01-02T09:00"), http.StatusUnprocessableEntity,
			"This field is required.", "This must be after “Shown from”.", "kept</textarea>")
		v.wants(v.fill(list, path, "title", "We <move>", "message", "**soon**\r\nnow", "level", "warning"),
			http.StatusSeeOther, path)
		later := time.Now().AddDate(0, 1, 0).UTC().Format(time.DateOnly) + "T10:00"
		v.wants(v.fill(list, path, "title", "Later", "shown_from", later), http.StatusSeeOther, path)
		v.wants(v.get(path), http.StatusOK, "We &lt;move&gt;", "<strong>soon</strong>", ">shown<", ">warning<",
			">planned<")

		all, _, err := s.store.Announcements().List(s.Context(), v.actor(), "acme", store.Filter{}, listAll)
		if err != nil || len(all) != 2 {
			s.Fatalf("%d announcements, %v", len(all), err)
		}
		moving, edit := all[1], path+"/"+all[1].ID
		form := v.wants(v.get(edit), http.StatusOK, "We &lt;move&gt;")
		v.wants(v.fill(form, edit, "message", "done"), http.StatusSeeOther, path)
		changed, err := s.store.Announcements().Get(s.Context(), v.actor(), "", moving.ID)
		if err != nil || changed.Message != "done" || !changed.ShownFrom.Equal(moving.ShownFrom) ||
			!changed.ShownUntil.IsZero() {
			s.Errorf("it is %+v, %v", changed, err)
		}
		v.wants(v.fill(form, edit, "title", "Mine"), http.StatusConflict, "“done” meanwhile", `value="Mine"`)
		v.wants(v.fill(v.get(edit), edit, "shown_until", strings.Replace(later, "T10", "T12", 1)), http.StatusSeeOther,
			path)
		v.wants(v.get("/admin/pages/other/announcements/"+moving.ID), http.StatusNotFound)

		viewer := s.member(v, kernel.RoleViewer)
		viewer.wants(viewer.get(path), http.StatusOK, "Later")
		viewer.wants(viewer.get(edit), http.StatusForbidden)
		v.wants(v.post(edit+"/delete"), http.StatusSeeOther, path)
		if a := v.get(path); strings.Contains(a.body, "move") {
			s.Error("a deleted announcement is shown")
		}
	})
}
