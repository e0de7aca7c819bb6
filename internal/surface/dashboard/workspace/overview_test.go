package workspace_test

import (
	"net/http"
	"testing"

	"github.com/allswell/allswell/internal/domain/statuspage"
	"github.com/allswell/allswell/internal/surface/dashboard/dashboardtest"
)

func TestOverviewListsTheLastHour(t *testing.T) {
	t.Parallel()
	dashboardtest.OnEachEngine(t, func(s *dashboardtest.Site) {
		v := s.Owner()
		v.Wants(v.Post("/admin/setup/page", "name", "Acme"), http.StatusSeeOther)
		v.Lacks(v.Wants(v.Get("/admin"), http.StatusOK, "<title>Overview – Allswell</title>"), "Last hour")
		i, err := s.Store.CreateIncident(s.Context(), v.Actor(), "acme", statuspage.Incident{Title: "Slow <API>"},
			statuspage.IncidentUpdate{}, nil)
		if err != nil {
			s.Fatal(err)
		}
		v.Wants(v.Get("/admin"), http.StatusOK, "<title>(1) Overview – Allswell</title>", "Last hour",
			`<span class="quiet">Incident opened:</span> <a class="row-link" href="/admin/incidents/`+i.ID+
				`">Slow &lt;API&gt;</a>`)
	})
}
