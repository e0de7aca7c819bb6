package statuspages_test

import (
	"net/http"
	"testing"
	"time"

	"github.com/allswell/allswell/internal/surface/dashboard/dashboardtest"
	"github.com/allswell/allswell/internal/surface/dashboard/frame"
)

// TestBackdatedIncidentScreen records an incident that is over, and adds what happened in between.
func TestBackdatedIncidentScreen(t *testing.T) {
	dashboardtest.OnEachEngine(t, func(s *dashboardtest.Site) {
		v, _, _ := s.WithPage()
		now, err := s.Store.Clock(s.Context())
		if err != nil {
			s.Fatal(err)
		}
		at := func(hours time.Duration) string { return now.Add(hours * time.Hour).UTC().Format(frame.ClockLayout) }
		v.Wants(v.Get("/admin/incidents/new?page=acme"), http.StatusOK, "Backdate",
			"Time zone: UTC (from the page)")
		fields := []string{
			"page", "acme", "title", "Slow", "message", "It was slow.", "state", "investigating", "resolved_at",
			at(-2),
		}
		v.Wants(v.Post("/admin/incidents/new", append(fields, "began_at", at(2), "action", "publish")...),
			http.StatusUnprocessableEntity, "must not be before the beginning", `data-key="past" open`)
		v.Wants(v.Post("/admin/incidents/new", append(fields, "began_at", at(-400*24), "action", "publish")...),
			http.StatusUnprocessableEntity, "at most 365 days ago")
		fields = append(fields, "began_at", at(-5))
		v.Wants(v.Post("/admin/incidents/new", append(fields, "action", "preview")...), http.StatusOK,
			"No subscriber will be notified.")
		path := v.Wants(v.Post("/admin/incidents/new", append(fields, "action", "publish")...),
			http.StatusSeeOther).Header.Get("Location")
		seen := v.Wants(v.Get(path), http.StatusOK, "resolved <time", ", recorded <time",
			"opened the incident, no one was notified").Hidden("seen")
		v.Wants(v.Post(path, "seen", seen, "message", "Found.", "state", "identified", "at", at(1), "action", "update"),
			http.StatusUnprocessableEntity, "in the future")
		v.Wants(v.Post(path, "seen", seen, "message", "", "state", "identified", "at", at(-4), "action", "update"),
			http.StatusUnprocessableEntity, "An update with a time needs a message.")
		v.Wants(v.Post(path, "seen", seen, "message", "Found.", "state", "identified", "at", at(-4), "action",
			"update"), http.StatusSeeOther, path)
		v.Wants(v.Get(path), http.StatusOK, "<p>Found.</p>", "<strong>Identified</strong>", "resolved <time")
	})
}
