package dashboard

import (
	"net/http"
	"testing"

	"github.com/allswell/allswell/internal/domain/statuspage"
)

// TestMergeScreen merges an incident into another one.
func TestMergeScreen(t *testing.T) {
	onEachEngine(t, func(s *site) {
		v, _, _ := s.withPage()
		open := func(title string) string {
			i, err := s.store.CreateIncident(s.Context(), v.actor(), "acme", statuspage.Incident{Title: title},
				statuspage.IncidentUpdate{}, nil)
			if err != nil {
				s.Fatal(err)
			}
			return i.ID
		}
		first := open("Slow")
		path := "/admin/incidents/" + first
		second := open("Power failure")
		v.wants(v.get(path), http.StatusOK, "Merge it into another incident", "Power failure</option>")
		v.wants(v.post(path+"/merge", "incident_id", first), http.StatusUnprocessableEntity,
			"cannot be merged into itself")
		v.wants(v.post(path+"/merge", "incident_id", second), http.StatusSeeOther, "/admin/incidents/"+second)
		v.wants(v.get(path), http.StatusOK, "Merged into <a", "merged the incident into another one")
		v.wants(v.post(path+"/merge", "incident_id", open("Slow disks")), http.StatusUnprocessableEntity,
			"A resolved incident cannot be merged.")
		v.wants(v.get("/admin/incidents/"+second), http.StatusOK, "merged “Slow” into it")
		v.wants(v.post(path+"/take-over", "taken", "true"), http.StatusUnprocessableEntity,
			"No monitor opened the incident.")
	})
}
