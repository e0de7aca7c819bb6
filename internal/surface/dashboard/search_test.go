package dashboard

import (
	"net/http"
	"strings"
	"testing"

	"github.com/allswell/allswell/internal/domain/kernel"
	"github.com/allswell/allswell/internal/domain/statuspage"
)

func TestSearchFindsScreensAndObjects(t *testing.T) {
	t.Parallel()
	onEachEngine(t, func(s *site) {
		v := s.owner()
		v.wants(v.post("/admin/setup/page", "name", "Acme", "slug", "acme"), http.StatusSeeOther)
		v.wants(v.post("/admin/setup/acme/components", "components", "Night train"), http.StatusSeeOther)
		m := v.monitors("Nightly <backup>")[0]
		if _, err := s.store.CreateIncident(
			s.Context(), v.actor(), "acme", statuspage.Incident{Title: "No night train"}, statuspage.IncidentUpdate{},
			nil,
		); err != nil {
			s.Fatal(err)
		}
		v.wants(v.get("/admin"), http.StatusOK, `href="/admin/search"`)
		v.wants(v.get("/admin/search"), http.StatusOK, `href="/admin/audit"`, "Report an incident",
			`href="/admin/account"`)
		a := v.wants(v.get("/admin/search?q=+NIGHT+"), http.StatusOK, "/admin/monitors/"+m.ID, "Nightly &lt;backup&gt;",
			"/admin/pages/acme/components/comp_", "Investigating · Acme", `value="NIGHT"`)
		if _, found, _ := strings.Cut(a.body, `id="found"`); strings.Contains(found, "/admin/audit") {
			s.Error("screens are found that lack the word")
		}
		v.wants(v.get("/admin/search?q=audit+LOG"), http.StatusOK, `class="hit" href="/admin/audit"`)
		v.wants(v.get("/admin/search?q=alerts+rul"), http.StatusOK, `class="hit" href="/admin/alert-rules"`,
			"Alerts › Rules")
		v.wants(v.get("/admin/search?q=acme"), http.StatusOK, `class="hit" href="/admin/pages/acme/components"`)
		v.wants(v.get("/admin/search?q="+strings.Repeat("x", 1000)), http.StatusOK,
			"Nothing has “"+strings.Repeat("x", maxSearchText)+"”")

		viewer := s.member(v, kernel.RoleViewer)
		a = viewer.wants(viewer.get("/admin/search?q=n"), http.StatusOK, "Night train",
			`class="hit" href="/admin/incidents"`)
		viewer.lacks(a, `class="hit" href="/admin/incidents/new"`, `href="/admin/pages/acme/components/comp_`,
			`href="/admin/tokens"`)
	})
}
