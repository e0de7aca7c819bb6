package statuspages_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/allswell/allswell/internal/domain/statuspage"
	"github.com/allswell/allswell/internal/surface/dashboard/dashboardtest"
)

// TestEditAndDeleteUpdatesOfAnIncident changes what was posted, while somebody else does so too.
func TestEditAndDeleteUpdatesOfAnIncident(t *testing.T) {
	dashboardtest.OnEachEngine(t, func(s *dashboardtest.Site) {
		v, _, _ := s.WithPage()
		i, err := s.Store.CreateIncident(s.Context(), v.Actor(), "acme", statuspage.Incident{Title: "Slow"},
			statuspage.IncidentUpdate{Message: "teh first"}, nil)
		if err != nil {
			s.Fatal(err)
		}
		path := "/admin/incidents/" + i.ID
		edit := path + "/updates/" + i.Updates[0].ID
		v.Wants(v.Get(path), http.StatusOK, edit)
		form := formOf(v, v.Wants(v.Get(edit), http.StatusOK, "teh first</textarea>", "No one is notified"), edit)
		v.Wants(v.Post(edit, "tag", form["tag"], "message", " "), http.StatusUnprocessableEntity,
			"This field is required.")
		v.Wants(v.Post(edit, "tag", form["tag"], "message", "the first"), http.StatusSeeOther, path)
		v.Wants(v.Get(path), http.StatusOK, "<p>the first</p>", "· edited <time", "edited an update")
		late := formOf(v, v.Wants(v.Post(edit, "tag", form["tag"], "message", "my first"), http.StatusConflict,
			"Nothing was saved", "“the first”", "my first</textarea>"), edit)
		v.Wants(v.Post(edit+"/delete", "tag", form["tag"]), http.StatusConflict, "Nothing was saved")
		v.Wants(v.Post(edit, "tag", late["tag"], "message", "my first"), http.StatusSeeOther, path)
		v.Wants(v.Post(edit+"/delete", "tag", formOf(v, v.Get(edit), edit)["tag"]), http.StatusSeeOther, path)
		v.Wants(v.Get(edit), http.StatusNotFound)
		after := v.Wants(v.Get(path), http.StatusOK, "We are investigating this incident.", "deleted an update")
		if strings.Contains(after.Text, edit) {
			s.Error("the deleted update can be edited")
		}
	})
}

// TestIncidentThatNotifiesNobody opens, updates and resolves an incident silently.
func TestIncidentThatNotifiesNobody(t *testing.T) {
	dashboardtest.OnEachEngine(t, func(s *dashboardtest.Site) {
		v, _, _ := s.WithPage()
		fields := []string{
			"page", "acme", "title", "Slow", "message", "We look.", "state", "investigating", "notify", "false",
		}
		preview := v.Wants(v.Post("/admin/incidents/new", append(fields, "action", "preview")...), http.StatusOK,
			"No subscriber will be notified.", `value="false" checked`)
		path := v.Wants(v.Post("/admin/incidents/new",
			append(fields, "action", "publish", "id", preview.Hidden("id"))...), http.StatusSeeOther).
			Header.Get("Location")
		screen := v.Wants(v.Get(path), http.StatusOK, "· no one was notified",
			"opened the incident, no one was notified", "not be notified of its end alone")
		v.Wants(v.Post(path, "seen", screen.Hidden("seen"), "message", "Done.", "state", "resolved", "action",
			"resolve", "notify", "false"), http.StatusSeeOther, path)
		v.Wants(v.Get(path), http.StatusOK, "resolved the incident, no one was notified")
	})
}
