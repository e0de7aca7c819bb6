package dashboard

import (
	"net/http"
	"strings"
	"testing"

	"github.com/allswell/allswell"
)

// TestEveryRouteChecksTheRole requests every route without a session, and as a member with each role too low for it.
func TestEveryRouteChecksTheRole(t *testing.T) {
	onEachEngine(t, func(s *site) {
		owner, stranger := s.owner(), s.visitor()
		members := map[allswell.Role]*visitor{allswell.RoleOwner: owner}
		for _, route := range s.dashboard.routes() {
			method, path, _ := strings.Cut(route.pattern, " ")
			path = strings.NewReplacer("{", "", "}", "").Replace(path)
			if path == "/admin/live" {
				path += "?of=/admin/nowhere" // a stream does not end
			}
			request := func(v *visitor) answer {
				if method == "GET" {
					return v.get(path)
				}
				return v.post(path)
			}
			if route.access == accessAnyone {
				continue
			}
			stranger.wants(request(stranger), http.StatusSeeOther, "/admin/sign-in")
			for role, member := range members {
				if a := request(member); (a.StatusCode == http.StatusForbidden) == role.Includes(allswell.Role(route.access)) {
					s.Errorf("%s as %s: status %d", route.pattern, role, a.StatusCode)
				}
			}
		}
	})
}

// TestForgedRequestsChangeNothing sends every POST as a page of another site could cause it.
func TestForgedRequestsChangeNothing(t *testing.T) {
	onEachEngine(t, func(s *site) {
		owner := s.owner()
		for _, route := range s.dashboard.routes() {
			method, path, _ := strings.Cut(route.pattern, " ")
			if method == "GET" {
				continue
			}
			for header, value := range map[string]string{"Sec-Fetch-Site": "cross-site", "Origin": "https://evil.example"} {
				r, err := http.NewRequest(method, s.base+strings.NewReplacer("{", "", "}", "").Replace(path), strings.NewReader(""))
				if err != nil {
					s.Fatal(err)
				}
				r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
				r.Header.Set(header, value)
				if a := owner.do(r); a.StatusCode != http.StatusForbidden {
					s.Errorf("%s with %s: status %d", route.pattern, value, a.StatusCode)
				}
			}
		}
	})
}

func TestSecurityHeaders(t *testing.T) {
	onEachEngine(t, func(s *site) {
		owner := s.owner()
		for _, path := range []string{"/admin", "/admin/sign-in", "/admin/nowhere", "/admin/setup?code=x"} {
			a := owner.get(path)
			for name, want := range map[string]string{"Cache-Control": "no-store", "X-Frame-Options": "DENY", "Referrer-Policy": "same-origin"} {
				if got := a.Header.Get(name); got != want {
					s.Errorf("%s: %s %q, want %q", path, name, got, want)
				}
			}
			if policy := a.Header.Get("Content-Security-Policy"); !strings.Contains(policy, "frame-ancestors 'none'") || strings.Contains(policy, "unsafe") {
				s.Errorf("%s: policy %q", path, policy)
			}
		}
		owner.wants(owner.get("/admin/nowhere"), http.StatusNotFound, "Not found")
		large := owner.post("/admin/setup/page", "name", strings.Repeat("x", maxFormBytes))
		owner.wants(large, http.StatusRequestEntityTooLarge)
	})
}
