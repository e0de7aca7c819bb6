package statuspages_test

import (
	"net/http"
	"testing"

	"github.com/allswell/allswell/internal/domain/statuspage"
	"github.com/allswell/allswell/internal/surface/dashboard/dashboardtest"
)

// TestMergeScreen merges an incident into another one.
func TestMergeScreen(t *testing.T) {
	dashboardtest.OnEachEngine(t, func(s *dashboardtest.Site) {
		v, _, _ := s.WithPage()
		open := func(title string) string {
			i, err := s.Store.CreateIncident(s.Context(), v.Actor(), "acme", statuspage.Incident{Title: title},
				statuspage.IncidentUpdate{}, nil)
			if err != nil {
				s.Fatal(err)
			}
			return i.ID
		}
		first := open("Slow")
		path := "/admin/incidents/" + first
		second := open("Power failure")
		v.Wants(v.Get(path), http.StatusOK, "Merge…", "Power failure</option>")
		v.Wants(v.Post(path+"/merge", "incident_id", first), http.StatusUnprocessableEntity,
			"cannot be merged into itself")
		v.Wants(v.Post(path+"/merge", "incident_id", second), http.StatusSeeOther, "/admin/incidents/"+second)
		v.Wants(v.Get(path), http.StatusOK, "Merged into <a", "merged the incident into another one")
		v.Wants(v.Post(path+"/merge", "incident_id", open("Slow disks")), http.StatusUnprocessableEntity,
			"A resolved incident cannot be merged.")
		v.Wants(v.Get("/admin/incidents/"+second), http.StatusOK, "merged “Slow” into it")
		v.Wants(v.Post(path+"/take-over", "taken", "true"), http.StatusUnprocessableEntity,
			"No monitor opened the incident.")
	})
}
