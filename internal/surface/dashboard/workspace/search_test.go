package workspace_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/allswell/allswell/internal/domain/kernel"
	"github.com/allswell/allswell/internal/domain/statuspage"
	"github.com/allswell/allswell/internal/surface/dashboard/dashboardtest"
	"github.com/allswell/allswell/internal/surface/dashboard/workspace"
)

func TestSearchFindsScreensAndObjects(t *testing.T) {
	t.Parallel()
	dashboardtest.OnEachEngine(t, func(s *dashboardtest.Site) {
		v := s.Owner()
		v.Wants(v.Post("/admin/setup/page", "name", "Acme", "slug", "acme"), http.StatusSeeOther)
		v.Wants(v.Post("/admin/setup/acme/components", "components", "Night train"), http.StatusSeeOther)
		m := v.Monitors("Nightly <backup>")[0]
		_, err := s.Store.CreateIncident(s.Context(), v.Actor(), "acme",
			statuspage.Incident{Title: "No night train"}, statuspage.IncidentUpdate{}, nil)
		if err != nil {
			s.Fatal(err)
		}
		v.Wants(v.Get("/admin"), http.StatusOK, `href="/admin/search"`)
		v.Wants(v.Get("/admin/search"), http.StatusOK, `href="/admin/audit"`, "Report an incident",
			`href="/admin/account"`)
		a := v.Wants(v.Get("/admin/search?q=+NIGHT+"), http.StatusOK, "/admin/monitors/"+m.ID, "Nightly &lt;backup&gt;",
			"/admin/pages/acme/components/comp_", "Investigating · Acme", `value="NIGHT"`)
		if _, found, _ := strings.Cut(a.Text, `id="found"`); strings.Contains(found, "/admin/audit") {
			s.Error("screens are found that lack the word")
		}
		v.Wants(v.Get("/admin/search?q=audit+LOG"), http.StatusOK, `class="hit" href="/admin/audit"`)
		v.Wants(v.Get("/admin/search?q=alerts+rul"), http.StatusOK, `class="hit" href="/admin/alert-rules"`,
			"Alerts › Rules")
		v.Wants(v.Get("/admin/search?q=acme"), http.StatusOK, `class="hit" href="/admin/pages/acme/components"`)
		v.Wants(v.Get("/admin/search?q="+strings.Repeat("x", 1000)), http.StatusOK,
			"Nothing has “"+strings.Repeat("x", workspace.MaxSearchText)+"”")

		viewer := s.Member(v, kernel.RoleViewer)
		a = viewer.Wants(viewer.Get("/admin/search?q=n"), http.StatusOK, "Night train",
			`class="hit" href="/admin/incidents"`)
		viewer.Lacks(a, `class="hit" href="/admin/incidents/new"`, `href="/admin/pages/acme/components/comp_`,
			`href="/admin/tokens"`)
	})
}
