package dashboard

import (
	"net/http"
	"testing"

	"github.com/allswell/allswell"
)

// TestTabsOfAlerts checks that the screens of alerts share a place in the navigation, and that members who are limited to some pages see only what
// is theirs.
func TestTabsOfAlerts(t *testing.T) {
	t.Parallel()
	onEachEngine(t, func(s *site) {
		v := s.owner()
		v.wants(v.post("/admin/setup/page", "name", "Acme", "slug", "acme"), http.StatusSeeOther)
		a := v.wants(v.get("/admin/channels"), http.StatusOK, `<nav class="tabs" aria-label="Alerts">`, `<a href="/admin/channels" aria-current="page">Channels</a>`, `<a href="/admin/alert-rules">Rules</a>`)
		v.wants(a, http.StatusOK, `aria-current="page"><svg class="icon" aria-hidden="true"><use href="#i-bell"/></svg>Alerts</a>`)
		v.lacks(v.get("/admin/monitors"), `<nav class="tabs" aria-label="Alerts">`)

		issued, err := s.store.Invite(s.Context(), v.actor(), allswell.NewInvitation{Email: "grace@example.com", Role: allswell.RoleEditor, Limit: allswell.PageLimit{Limited: true, Pages: []string{"acme"}}})
		if err != nil {
			s.Fatal(err)
		}
		limited := s.visitor()
		limited.wants(limited.post("/admin/accept", "code", issued.Code, "name", "Grace", "password", goodPassword), http.StatusSeeOther, "/admin")
		for _, path := range []string{"/admin/channels", "/admin/alert-rules"} {
			limited.lacks(limited.wants(limited.get(path), http.StatusForbidden, "limited to some pages"), `href="/admin/channels"`)
		}
	})
}
