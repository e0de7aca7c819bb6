package dashboard_test

import (
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/allswell/allswell/internal/domain/account"
	"github.com/allswell/allswell/internal/domain/kernel"
	"github.com/allswell/allswell/internal/resource/rights"
	"github.com/allswell/allswell/internal/surface/dashboard"
	"github.com/allswell/allswell/internal/surface/dashboard/dashboardtest"
	"github.com/allswell/allswell/internal/surface/dashboard/frame"
)

// TestDangerousChangesAskForThePassword requests every dangerous change a while after the sign-in.
func TestDangerousChangesAskForThePassword(t *testing.T) {
	dangerous := func(path string) bool {
		return strings.HasPrefix(path, "/admin/members/") || strings.HasPrefix(path, "/admin/tokens") ||
			path == "/admin/pages/page/delete" || path == "/admin/channels/channel/delete" ||
			path == "/admin/system/backup" ||
			strings.HasPrefix(path, "/admin/account/authenticator") || path == "/admin/account/recovery-codes" ||
			path == "/admin/account/passkeys" || path == "/admin/account/passkeys/passkey/remove"
	}
	dashboardtest.OnEachEngine(t, func(s *dashboardtest.Site) {
		owner := s.Owner()
		s.Dashboard.Now = func() time.Time { return time.Now().Add(account.ConfirmationAge + time.Minute) }
		for _, route := range s.Dashboard.Routes() {
			method, path, _ := strings.Cut(route.Pattern, " ")
			path = strings.NewReplacer("{", "", "}", "").Replace(path)
			if method == "GET" {
				continue
			}
			asked := false
			if route.Needs != rights.Anyone && route.Needs != rights.Signed {
				asked = strings.Contains(owner.Post(path, "name", "<typed>").Text, "Confirm it’s you")
			}
			if asked != dangerous(path) {
				s.Errorf("%s asks for the password: %v", route.Pattern, asked)
			}
		}
	})
}

// TestForgedRequestsChangeNothing sends every POST as a page of another site could cause it.
func TestForgedRequestsChangeNothing(t *testing.T) {
	dashboardtest.OnEachEngine(t, func(s *dashboardtest.Site) {
		owner := s.Owner()
		for _, route := range s.Dashboard.Routes() {
			method, path, _ := strings.Cut(route.Pattern, " ")
			if method == "GET" {
				continue
			}
			for header, value := range map[string]string{
				"Sec-Fetch-Site": "cross-site", "Origin": "https://evil.example",
			} {
				r, err := http.NewRequest(method, s.Base+strings.NewReplacer("{", "", "}", "").Replace(path),
					strings.NewReader(""))
				if err != nil {
					s.Fatal(err)
				}
				r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
				r.Header.Set(header, value)
				if a := owner.Do(r); a.StatusCode != http.StatusForbidden {
					s.Errorf("%s with %s: status %d", route.Pattern, value, a.StatusCode)
				}
			}
		}
	})
}

func TestSecurityHeaders(t *testing.T) {
	t.Parallel()
	dashboardtest.OnEachEngine(t, func(s *dashboardtest.Site) {
		owner := s.Owner()
		for _, path := range []string{"/admin", "/admin/sign-in", "/admin/nowhere", "/admin/setup?code=x"} {
			a := owner.Get(path)
			for name, want := range map[string]string{
				"Cache-Control": "no-store", "X-Frame-Options": "DENY", "Referrer-Policy": "same-origin",
			} {
				if got := a.Header.Get(name); got != want {
					s.Errorf("%s: %s %q, want %q", path, name, got, want)
				}
			}
			policy := a.Header.Get("Content-Security-Policy")
			if !strings.Contains(policy, "frame-ancestors 'none'") || strings.Contains(policy, "unsafe") {
				s.Errorf("%s: policy %q", path, policy)
			}
		}
		owner.Wants(owner.Get("/admin/nowhere"), http.StatusNotFound, "Not found")
		large := owner.Post("/admin/setup/page", "name", strings.Repeat("x", frame.MaxFormBytes))
		owner.Wants(large, http.StatusRequestEntityTooLarge)
	})
}

// TestOnlyTextIsAccepted sends what PostgreSQL does not store.
func TestOnlyTextIsAccepted(t *testing.T) {
	dashboardtest.OnEachEngine(t, func(s *dashboardtest.Site) {
		stranger, owner := s.Visitor(), s.Owner()
		for _, bad := range []string{"\x00", "a\x00b", "\xff"} {
			stranger.Wants(stranger.Post("/admin/sign-in", "email", bad, "password", "x"), http.StatusBadRequest,
				"could not be read")
			owner.Wants(owner.Post("/admin/account", "name", bad), http.StatusBadRequest, "could not be read")
			owner.Wants(owner.Get("/admin/monitors/"+url.PathEscape(bad)), http.StatusNotFound)
			owner.Wants(owner.Get("/admin/monitors?page="+url.QueryEscape(bad)), http.StatusOK)
			owner.Wants(owner.Get("/admin/monitors?search="+url.QueryEscape(bad)), http.StatusOK)
			owner.Wants(owner.Get("/admin/search?q="+url.QueryEscape(bad)), http.StatusOK, "Nothing has")
			owner.Wants(owner.Get("/admin/live?of="+url.QueryEscape("/admin/monitors/"+url.PathEscape(bad))),
				http.StatusNotFound)
		}
	})
}

// TestQueriesThatAreNoText opens every screen with parameters that PostgreSQL does not store: none of them fails.
func TestQueriesThatAreNoText(t *testing.T) {
	dashboardtest.OnEachEngine(t, func(s *dashboardtest.Site) {
		const bad = "a\x00\xff"
		owner := s.Owner()
		owner.Page("Acme", "acme")
		for _, route := range s.Dashboard.Routes() {
			path, isRead := strings.CutPrefix(strings.ReplaceAll(route.Pattern, "{page}", "acme"), "GET ")
			if !isRead || strings.Contains(path, "{") || path == "/admin/live" { // an event stream does not end
				continue
			}
			for _, name := range []string{
				"action", "actor", "code", "component_id", "copy", "in", "key", "kind", "monitor", "name", "next",
				"object", "page", "page_slug",
				"q", "search", "sort", "state", "subscriber", "tag", "template", "type",
			} {
				a := owner.Get(path + "?" + url.Values{name: {bad}}.Encode())
				if a.StatusCode >= http.StatusInternalServerError {
					s.Errorf("the query of %s with %s: %d", path, name, a.StatusCode)
				}
			}
		}
	})
}

// TestOnlyAdminsSeeSubscribers checks that every screen and form of subscribers needs the role admin: they have
// personal data.
func TestOnlyAdminsSeeSubscribers(t *testing.T) {
	found := 0
	for _, route := range dashboard.New(dashboard.Config{}).Routes() {
		if strings.Contains(route.Pattern, "/subscribers") {
			found++
			if route.Needs.Role != kernel.RoleAdmin {
				t.Errorf("%s needs the role %s", route.Pattern, route.Needs.Role)
			}
		}
	}
	if found == 0 {
		t.Error("there are no routes of subscribers")
	}
}
