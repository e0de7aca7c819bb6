package statuspages_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/allswell/allswell/internal/domain/account"
	"github.com/allswell/allswell/internal/domain/kernel"
	"github.com/allswell/allswell/internal/domain/statuspage"
	"github.com/allswell/allswell/internal/resource"
	"github.com/allswell/allswell/internal/surface/dashboard/dashboardtest"
	"github.com/allswell/allswell/internal/surface/web"
)

// TestPreview shows a page as it would look, and only within the dashboard.
func TestPreview(t *testing.T) {
	dashboardtest.OnEachEngine(t, func(s *dashboardtest.Site) {
		v := s.Owner()
		private := statuspage.VisibilityPrivate
		_, err := s.Store.CreatePage(s.Context(), v.Actor(),
			resource.Page.From(statuspage.Page{Name: "Acme", Slug: "acme", Visibility: private}))
		if err != nil {
			s.Fatal(err)
		}
		const path = "/admin/pages/acme/preview?scheme="
		v.Wants(v.Get("/admin/pages/acme"), 200, path+"dark", `formtarget="preview-light"`)
		v.Wants(v.Get(path+"dark"), 200, `data-theme="dark"`, "Acme", "<style></style>")
		a := v.Wants(v.Post(path+"light", "name", "Acme <Cloud>", "accent", "#1b4f9c", "custom_css",
			".top > a { color: red }"), 200,
			`data-theme="light"`, "Acme &lt;Cloud&gt;", "#1b4f9c", ".top > a { color: red }</style>")
		policy := a.Header.Get("Content-Security-Policy")
		if !strings.Contains(policy, "style-src 'self' 'sha256-") ||
			!strings.Contains(policy, "frame-ancestors 'self'") || strings.Contains(policy, "script-src") ||
			a.Header.Get("X-Frame-Options") != "SAMEORIGIN" || strings.Contains(a.Text, "<script") {
			t.Errorf("the policy %q", policy)
		}
		// HTML parsers replace line ends, and the policy has the hash of what they have read.
		a = v.Wants(v.Post(path+"light", "custom_css", "a {\r top: 0;\r\n}"), 200, "<style>a {\n top: 0;\n}</style>")
		if !strings.Contains(a.Header.Get("Content-Security-Policy"), string(web.PolicyPreview("a {\n top: 0;\n}"))) {
			t.Error("the policy has the hash of another style sheet")
		}
		// What is not valid is shown as it was saved.
		a = v.Wants(v.Post(path+"light", "name", " ", "accent", "red", "custom_css",
			"</style><script>alert(1)</script>"), 200, "Acme", "<style></style>")
		if strings.Contains(a.Text, "alert") {
			t.Error("an invalid style sheet is shown")
		}
		if p, err := s.Store.Page(s.Context(), v.Actor(), "acme"); err != nil || p.Name != "Acme" || p.CustomCSS != "" {
			t.Errorf("a preview saved %+v, %v", p, err)
		}
		v.Wants(v.Get("/admin/pages/nowhere/preview"), http.StatusNotFound)
		editor := s.Member(v, kernel.RoleEditor)
		editor.Wants(editor.Get(path+"dark"), 200, "Acme")
		editor.Wants(editor.Post(path+"dark"), http.StatusForbidden)
		_, err = s.Store.CreatePage(s.Context(), v.Actor(),
			resource.Page.From(statuspage.Page{Name: "Other", Slug: "other"}))
		if err != nil {
			s.Fatal(err)
		}
		issued, err := s.Store.Invite(s.Context(), v.Actor(), account.NewInvitation{
			Email: "limited@example.com", Role: kernel.RoleEditor, Limit: account.LimitTo([]string{"other"}),
		})
		if err != nil {
			s.Fatal(err)
		}
		limited := s.Visitor()
		limited.Wants(limited.Post("/admin/accept", "code", issued.Code, "name", "Limited", "password",
			dashboardtest.GoodPassword), http.StatusSeeOther)
		limited.Wants(limited.Get("/admin/pages/other/preview"), 200, "Other")
		limited.Lacks(limited.Wants(limited.Get(path+"dark"), http.StatusNotFound), "Acme")
	})
}
