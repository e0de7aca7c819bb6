package dashboard

import (
	"net/http"
	"testing"
	"time"
)

// TestBackdatedIncidentScreen records an incident that is over, and adds what happened in between.
func TestBackdatedIncidentScreen(t *testing.T) {
	onEachEngine(t, func(s *site) {
		v, _, _ := s.withPage()
		now, err := s.store.Clock(s.Context())
		if err != nil {
			s.Fatal(err)
		}
		at := func(hours time.Duration) string { return now.Add(hours * time.Hour).UTC().Format(clockLayout) }
		v.wants(v.get("/admin/incidents/new?page=acme"), http.StatusOK, "It began earlier",
			"In the zone of the page, UTC.")
		fields := []string{
			"page", "acme", "title", "Slow", "message", "It was slow.", "state", "investigating", "resolved_at",
			at(-2),
		}
		v.wants(v.post("/admin/incidents/new", append(fields, "began_at", at(2), "action", "publish")...),
			http.StatusUnprocessableEntity, "must not be before the beginning", `data-key="past" open`)
		v.wants(v.post("/admin/incidents/new", append(fields, "began_at", at(-400*24), "action", "publish")...),
			http.StatusUnprocessableEntity, "at most 365 days ago")
		fields = append(fields, "began_at", at(-5))
		v.wants(v.post("/admin/incidents/new", append(fields, "action", "preview")...), http.StatusOK,
			"No subscriber will be notified.")
		path := v.wants(v.post("/admin/incidents/new", append(fields, "action", "publish")...),
			http.StatusSeeOther).Header.Get("Location")
		seen := v.wants(v.get(path), http.StatusOK, "resolved <time", ", recorded <time",
			"opened the incident, nobody was notified").hidden("seen")
		v.wants(v.post(path, "seen", seen, "message", "Found.", "state", "identified", "at", at(1), "action", "update"),
			http.StatusUnprocessableEntity, "in the future")
		v.wants(v.post(path, "seen", seen, "message", "", "state", "identified", "at", at(-4), "action", "update"),
			http.StatusUnprocessableEntity, "An update with a time needs a message.")
		v.wants(v.post(path, "seen", seen, "message", "Found.", "state", "identified", "at", at(-4), "action",
			"update"), http.StatusSeeOther, path)
		v.wants(v.get(path), http.StatusOK, "<p>Found.</p>", "<strong>Identified</strong>", "resolved <time")
	})
}
