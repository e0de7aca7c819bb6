package dashboard

import (
	"net/http"
	"testing"

	"github.com/allswell/allswell/internal/domain/statuspage"
)

// TestPostmortemScreen writes, publishes and deletes the post-mortem of an incident, while somebody else does so too.
func TestPostmortemScreen(t *testing.T) {
	onEachEngine(t, func(s *site) {
		v, _, _ := s.withPage()
		i, err := s.store.CreateIncident(s.Context(), v.actor(), "acme",
			statuspage.Incident{Title: "Slow", State: statuspage.IncidentResolved}, statuspage.IncidentUpdate{}, nil)
		if err != nil {
			s.Fatal(err)
		}
		incident, path := "/admin/incidents/"+i.ID, postmortemPath(i.ID)
		v.wants(v.get(incident), http.StatusOK, "Write a post-mortem", path)
		empty := v.formOf(v.wants(v.get(path), http.StatusOK, "Save as draft", "No subscriber will be notified."), path)
		v.wants(v.post(path, "tag", empty["tag"], "body", " ", "action", "save"), http.StatusUnprocessableEntity,
			"This field is required.")
		v.wants(v.post(path, "tag", empty["tag"], "body", "A *full* disk", "action", "preview"), http.StatusOK,
			"<em>full</em>", "A *full* disk</textarea>")
		v.wants(v.post(path, "tag", empty["tag"], "body", "A *full* disk", "action", "save"), http.StatusSeeOther,
			incident)
		v.wants(v.get(incident), http.StatusOK, "visitors do not see it", "<em>full</em>", "wrote a post-mortem")
		v.wants(v.post(path, "tag", empty["tag"], "body", "Mine", "action", "save"), http.StatusConflict,
			"Nothing was saved", "“A *full* disk”", "Mine</textarea>")
		tag := v.formOf(v.get(path), path)["tag"]
		v.wants(v.post(path, "tag", tag, "body", "A full disk", "action", "publish"), http.StatusSeeOther, incident)
		v.wants(v.get(incident), http.StatusOK, "published <time", "published the post-mortem")
		tag = v.formOf(v.wants(v.get(path), http.StatusOK, "Make it a draft again"), path)["tag"]
		v.wants(v.post(path+"/delete", "tag", empty["tag"]), http.StatusConflict, "Nothing was saved")
		v.wants(v.post(path+"/delete", "tag", tag), http.StatusSeeOther, incident)
		v.wants(v.get(incident), http.StatusOK, "deleted the post-mortem", "Write a post-mortem")
	})
}
