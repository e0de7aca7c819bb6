package statuspages_test

import (
	"net/http"
	"testing"

	"github.com/allswell/allswell/internal/domain/statuspage"
	"github.com/allswell/allswell/internal/surface/dashboard/dashboardtest"
	"github.com/allswell/allswell/internal/surface/dashboard/statuspages"
)

// TestPostmortemScreen writes, publishes and deletes the post-mortem of an incident, while somebody else does so too.
func TestPostmortemScreen(t *testing.T) {
	dashboardtest.OnEachEngine(t, func(s *dashboardtest.Site) {
		v, _, _ := s.WithPage()
		i, err := s.Store.CreateIncident(s.Context(), v.Actor(), "acme",
			statuspage.Incident{Title: "Slow", State: statuspage.IncidentResolved}, statuspage.IncidentUpdate{}, nil)
		if err != nil {
			s.Fatal(err)
		}
		incident, path := "/admin/incidents/"+i.ID, statuspages.PostmortemPath(i.ID)
		v.Wants(v.Get(incident), http.StatusOK, "Write a post-mortem", path)
		empty := formOf(v, v.Wants(v.Get(path), http.StatusOK, "Save as draft", "No subscriber will be notified."),
			path)
		v.Wants(v.Post(path, "tag", empty["tag"], "body", " ", "action", "save"), http.StatusUnprocessableEntity,
			"This field is required.")
		v.Wants(v.Post(path, "tag", empty["tag"], "body", "A *full* disk", "action", "preview"), http.StatusOK,
			"<em>full</em>", "A *full* disk</textarea>")
		v.Wants(v.Post(path, "tag", empty["tag"], "body", "A *full* disk", "action", "save"), http.StatusSeeOther,
			incident)
		v.Wants(v.Get(incident), http.StatusOK, "visitors do not see it", "<em>full</em>", "wrote a post-mortem")
		v.Wants(v.Post(path, "tag", empty["tag"], "body", "Mine", "action", "save"), http.StatusConflict,
			"Nothing was saved", "“A *full* disk”", "Mine</textarea>")
		tag := formOf(v, v.Get(path), path)["tag"]
		v.Wants(v.Post(path, "tag", tag, "body", "A full disk", "action", "publish"), http.StatusSeeOther, incident)
		v.Wants(v.Get(incident), http.StatusOK, "published <time", "published the post-mortem")
		tag = formOf(v, v.Wants(v.Get(path), http.StatusOK, "Make it a draft again"), path)["tag"]
		v.Wants(v.Post(path+"/delete", "tag", empty["tag"]), http.StatusConflict, "Nothing was saved")
		v.Wants(v.Post(path+"/delete", "tag", tag), http.StatusSeeOther, incident)
		v.Wants(v.Get(incident), http.StatusOK, "deleted the post-mortem", "Write a post-mortem")
	})
}
