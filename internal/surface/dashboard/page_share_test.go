package dashboard

import (
	"net/http"
	"strings"
	"testing"
)

func TestShare(t *testing.T) {
	onEachEngine(t, func(s *site) {
		v := s.owner()
		v.post("/admin/pages", "name", `A "B" <C>`, "slug", "acme")
		a := v.wants(v.get("/admin/pages/acme/share"), http.StatusOK, s.base+"/status/acme/widget.js",
			`src="/status/acme/widget"`, "[![Status]("+s.base+"/status/acme/badge.svg)]",
			// escaped for the site, and for the screen
			"data-title=&#34;Status of A &amp;#34;B&amp;#34; &amp;lt;C&amp;gt;&#34;")
		if policy := a.Header.Get("Content-Security-Policy"); !strings.Contains(policy, "frame-src 'self'") {
			s.Errorf("policy %q", policy)
		}
		v.fill(v.get("/admin/pages/acme"), "/admin/pages/acme", "visibility", "private")
		if a := v.wants(
			v.get("/admin/pages/acme/share"), http.StatusOK, "private pages have none",
		); strings.Contains(a.body, "widget.js") {
			s.Error("a private page can be embedded")
		}
	})
}
