package statuspages_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/allswell/allswell/internal/domain/kernel"
	"github.com/allswell/allswell/internal/store"
	"github.com/allswell/allswell/internal/surface/dashboard/dashboardtest"
	"github.com/allswell/allswell/internal/surface/dashboard/frame"
)

func TestAnnouncements(t *testing.T) {
	dashboardtest.OnEachEngine(t, func(s *dashboardtest.Site) {
		v := s.Owner()
		v.Post("/admin/pages", "name", "Acme", "slug", "acme")
		v.Post("/admin/pages", "name", "Other", "slug", "other")
		fill(v, v.Get("/admin/pages/acme"), "/admin/pages/acme", "time_zone", "Europe/Berlin")
		const path = "/admin/pages/acme/announcements"
		list := v.Wants(v.Get(path), http.StatusOK, "No announcements", "Europe/Berlin")
		v.Wants(fill(v, list, path, "title", " ", "message", "kept", "shown_from", "2026-01-02T10:00", "shown_until",
			"2026-01-02T09:00"), http.StatusUnprocessableEntity,
			"This field is required.", "This must be after “Shown from”.", "kept</textarea>")
		v.Wants(fill(v, list, path, "title", "We <move>", "message", "**soon**\r\nnow", "level", "warning"),
			http.StatusSeeOther, path)
		later := time.Now().AddDate(0, 1, 0).UTC().Format(time.DateOnly) + "T10:00"
		v.Wants(fill(v, list, path, "title", "Later", "shown_from", later), http.StatusSeeOther, path)
		v.Wants(v.Get(path), http.StatusOK, "We &lt;move&gt;", "<strong>soon</strong>", ">shown<", ">warning<",
			">planned<")

		all, _, err := s.Store.Announcements().List(s.Context(), v.Actor(), "acme", store.Filter{}, frame.ListAll)
		if err != nil || len(all) != 2 {
			s.Fatalf("%d announcements, %v", len(all), err)
		}
		moving, edit := all[1], path+"/"+all[1].ID
		form := v.Wants(v.Get(edit), http.StatusOK, "We &lt;move&gt;")
		v.Wants(fill(v, form, edit, "message", "done"), http.StatusSeeOther, path)
		changed, err := s.Store.Announcements().Get(s.Context(), v.Actor(), "", moving.ID)
		if err != nil || changed.Message != "done" || !changed.ShownFrom.Equal(moving.ShownFrom) ||
			!changed.ShownUntil.IsZero() {
			s.Errorf("it is %+v, %v", changed, err)
		}
		v.Wants(fill(v, form, edit, "title", "Mine"), http.StatusConflict, "“done” meanwhile", `value="Mine"`)
		v.Wants(fill(v, v.Get(edit), edit, "shown_until", strings.Replace(later, "T10", "T12", 1)), http.StatusSeeOther,
			path)
		v.Wants(v.Get("/admin/pages/other/announcements/"+moving.ID), http.StatusNotFound)

		viewer := s.Member(v, kernel.RoleViewer)
		viewer.Wants(viewer.Get(path), http.StatusOK, "Later")
		viewer.Wants(viewer.Get(edit), http.StatusForbidden)
		v.Wants(v.Post(edit+"/delete"), http.StatusSeeOther, path)
		if a := v.Get(path); strings.Contains(a.Text, "move") {
			s.Error("a deleted announcement is shown")
		}
	})
}
