package dashboard

import (
	"net/http"
	"strings"
	"testing"

	"github.com/allswell/allswell/internal/domain/statuspage"
)

// TestEditAndDeleteUpdatesOfAnIncident changes what was posted, while somebody else does so too.
func TestEditAndDeleteUpdatesOfAnIncident(t *testing.T) {
	onEachEngine(t, func(s *site) {
		v, _, _ := s.withPage()
		i, err := s.store.CreateIncident(s.Context(), v.actor(), "acme", statuspage.Incident{Title: "Slow"},
			statuspage.IncidentUpdate{Message: "teh first"}, nil)
		if err != nil {
			s.Fatal(err)
		}
		path := "/admin/incidents/" + i.ID
		edit := path + "/updates/" + i.Updates[0].ID
		v.wants(v.get(path), http.StatusOK, edit)
		form := v.formOf(v.wants(v.get(edit), http.StatusOK, "teh first</textarea>", "Nobody is notified"), edit)
		v.wants(v.post(edit, "tag", form["tag"], "message", " "), http.StatusUnprocessableEntity,
			"This field is required.")
		v.wants(v.post(edit, "tag", form["tag"], "message", "the first"), http.StatusSeeOther, path)
		v.wants(v.get(path), http.StatusOK, "<p>the first</p>", "· edited <time", "edited an update")
		late := v.formOf(v.wants(v.post(edit, "tag", form["tag"], "message", "my first"), http.StatusConflict,
			"Nothing was saved", "“the first”", "my first</textarea>"), edit)
		v.wants(v.post(edit+"/delete", "tag", form["tag"]), http.StatusConflict, "Nothing was saved")
		v.wants(v.post(edit, "tag", late["tag"], "message", "my first"), http.StatusSeeOther, path)
		v.wants(v.post(edit+"/delete", "tag", v.formOf(v.get(edit), edit)["tag"]), http.StatusSeeOther, path)
		v.wants(v.get(edit), http.StatusNotFound)
		if after := v.wants(
			v.get(path), http.StatusOK, "We are investigating this incident.", "deleted an update",
		); strings.Contains(after.body, edit) {
			s.Error("the deleted update can be edited")
		}
	})
}

// TestIncidentThatNotifiesNobody opens, updates and resolves an incident silently.
func TestIncidentThatNotifiesNobody(t *testing.T) {
	onEachEngine(t, func(s *site) {
		v, _, _ := s.withPage()
		fields := []string{
			"page", "acme", "title", "Slow", "message", "We look.", "state", "investigating", "notify", "false",
		}
		preview := v.wants(v.post("/admin/incidents/new", append(fields, "action", "preview")...), http.StatusOK,
			"No subscriber will be notified.", `value="false" checked`)
		path := v.wants(v.post("/admin/incidents/new",
			append(fields, "action", "publish", "id", preview.hidden("id"))...), http.StatusSeeOther).
			Header.Get("Location")
		screen := v.wants(v.get(path), http.StatusOK, "· nobody was notified",
			"opened the incident, nobody was notified", "not be notified of its end alone")
		v.wants(v.post(path, "seen", screen.hidden("seen"), "message", "Done.", "state", "resolved", "action",
			"resolve", "notify", "false"), http.StatusSeeOther, path)
		v.wants(v.get(path), http.StatusOK, "resolved the incident, nobody was notified")
	})
}
