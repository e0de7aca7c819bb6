package statuspages_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/allswell/allswell/internal/surface/dashboard/dashboardtest"
)

func TestShare(t *testing.T) {
	dashboardtest.OnEachEngine(t, func(s *dashboardtest.Site) {
		v := s.Owner()
		v.Post("/admin/pages", "name", `A "B" <C>`, "slug", "acme")
		a := v.Wants(v.Get("/admin/pages/acme/share"), http.StatusOK, s.Base+"/status/acme/widget.js",
			`src="/status/acme/widget"`, "[![Status]("+s.Base+"/status/acme/badge.svg)]",
			// escaped for the site, and for the screen
			"data-title=&#34;Status of A &amp;#34;B&amp;#34; &amp;lt;C&amp;gt;&#34;")
		if policy := a.Header.Get("Content-Security-Policy"); !strings.Contains(policy, "frame-src 'self'") {
			s.Errorf("policy %q", policy)
		}
		fill(v, v.Get("/admin/pages/acme"), "/admin/pages/acme", "visibility", "private")
		a = v.Wants(v.Get("/admin/pages/acme/share"), http.StatusOK, "private pages have none")
		if strings.Contains(a.Text, "widget.js") {
			s.Error("a private page can be embedded")
		}
	})
}
