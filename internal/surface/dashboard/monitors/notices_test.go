package monitors_test

import (
	"net/http"
	"testing"
	"time"

	"github.com/allswell/allswell/internal/domain/alert"
	"github.com/allswell/allswell/internal/resource"
	"github.com/allswell/allswell/internal/surface/dashboard/dashboardtest"
)

// TestNoticesAboveScreens shows that alerts reach nobody where people look for problems, and a silence of everything on
// every screen.
func TestNoticesAboveScreens(t *testing.T) {
	dashboardtest.OnEachEngine(t, func(s *dashboardtest.Site) {
		v := s.Owner()
		const nowhere, silenced = "Alerts go nowhere yet", "All alerts are silenced until"
		v.Lacks(v.Get("/admin"), nowhere)
		m := v.Monitors("Backup")[0]
		for _, path := range []string{"/admin", "/admin/alerts", "/admin/monitors", "/admin/monitors/" + m.ID} {
			v.Lacks(v.Wants(v.Get(path), http.StatusOK, nowhere, `href="/admin/channels/new"`), silenced)
		}
		v.Lacks(v.Get("/admin/pages"), nowhere)
		_, err := s.Store.Silences().Create(s.Context(), v.Actor(), "", resource.Silence.From(alert.Silence{
			EndsAt: time.Now().Add(time.Hour), Comment: "moving house",
		}))
		if err != nil {
			s.Fatal(err)
		}
		time.Sleep(2 * time.Millisecond) // until it has begun
		v.Wants(v.Get("/admin/pages"), http.StatusOK, silenced, "moving house")
		v.Wants(v.Get("/admin/monitors"), http.StatusOK, silenced, `title="Alerts silenced"`)
		v.Wants(v.Get("/admin/monitors/"+m.ID), http.StatusOK, "Alerts of this monitor are silenced until")
	})
}
