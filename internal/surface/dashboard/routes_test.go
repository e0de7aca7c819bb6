package dashboard

import (
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/allswell/allswell/internal/domain/account"
	"github.com/allswell/allswell/internal/domain/kernel"
	"github.com/allswell/allswell/internal/resource/rights"
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
	onEachEngine(t, func(s *site) {
		owner := s.owner()
		s.dashboard.now = func() time.Time { return time.Now().Add(account.ConfirmationAge + time.Minute) }
		for _, route := range s.dashboard.routes() {
			method, path, _ := strings.Cut(route.pattern, " ")
			path = strings.NewReplacer("{", "", "}", "").Replace(path)
			if method == "GET" {
				continue
			}
			asked := false
			if route.needs != rights.Anyone && route.needs != rights.Signed {
				asked = strings.Contains(owner.post(path, "name", "<typed>").body, "Confirm that it is you")
			}
			if asked != dangerous(path) {
				s.Errorf("%s asks for the password: %v", route.pattern, asked)
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
			for header, value := range map[string]string{
				"Sec-Fetch-Site": "cross-site", "Origin": "https://evil.example",
			} {
				r, err := http.NewRequest(method, s.base+strings.NewReplacer("{", "", "}", "").Replace(path),
					strings.NewReader(""))
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
	t.Parallel()
	onEachEngine(t, func(s *site) {
		owner := s.owner()
		for _, path := range []string{"/admin", "/admin/sign-in", "/admin/nowhere", "/admin/setup?code=x"} {
			a := owner.get(path)
			for name, want := range map[string]string{
				"Cache-Control": "no-store", "X-Frame-Options": "DENY", "Referrer-Policy": "same-origin",
			} {
				if got := a.Header.Get(name); got != want {
					s.Errorf("%s: %s %q, want %q", path, name, got, want)
				}
			}
			if policy := a.Header.Get("Content-Security-Policy"); !strings.Contains(policy, "frame-ancestors 'none'") ||
				strings.Contains(policy, "unsafe") {
				s.Errorf("%s: policy %q", path, policy)
			}
		}
		owner.wants(owner.get("/admin/nowhere"), http.StatusNotFound, "Not found")
		large := owner.post("/admin/setup/page", "name", strings.Repeat("x", maxFormBytes))
		owner.wants(large, http.StatusRequestEntityTooLarge)
	})
}

// TestOnlyTextIsAccepted sends what PostgreSQL does not store.
func TestOnlyTextIsAccepted(t *testing.T) {
	onEachEngine(t, func(s *site) {
		stranger, owner := s.visitor(), s.owner()
		for _, bad := range []string{"\x00", "a\x00b", "\xff"} {
			stranger.wants(stranger.post("/admin/sign-in", "email", bad, "password", "x"), http.StatusBadRequest,
				"could not be read")
			owner.wants(owner.post("/admin/account", "name", bad), http.StatusBadRequest, "could not be read")
			owner.wants(owner.get("/admin/monitors/"+url.PathEscape(bad)), http.StatusNotFound)
			owner.wants(owner.get("/admin/monitors?page="+url.QueryEscape(bad)), http.StatusOK)
			owner.wants(owner.get("/admin/monitors?search="+url.QueryEscape(bad)), http.StatusOK)
			owner.wants(owner.get("/admin/search?q="+url.QueryEscape(bad)), http.StatusOK, "Nothing has")
			owner.wants(owner.get("/admin/live?of="+url.QueryEscape("/admin/monitors/"+url.PathEscape(bad))),
				http.StatusNotFound)
		}
	})
}

// TestQueriesThatAreNoText opens every screen with parameters that PostgreSQL does not store: none of them fails.
func TestQueriesThatAreNoText(t *testing.T) {
	onEachEngine(t, func(s *site) {
		const bad = "a\x00\xff"
		v := &visit{
			Dashboard: s.dashboard, w: httptest.NewRecorder(),
			r: httptest.NewRequest("GET", "/admin?search="+url.QueryEscape(bad), nil),
		}
		if err := v.admit(route{needs: rights.Anyone}); err != nil || !hasOnlyText(v.r.URL.Query()) {
			s.Errorf("the query is %q, %v", v.r.URL.RawQuery, err)
		}
		owner := s.owner()
		owner.page("Acme", "acme")
		for _, route := range s.dashboard.routes() {
			path, isRead := strings.CutPrefix(strings.ReplaceAll(route.pattern, "{page}", "acme"), "GET ")
			if !isRead || strings.Contains(path, "{") || path == "/admin/live" { // an event stream does not end
				continue
			}
			for _, name := range []string{
				"action", "actor", "code", "component_id", "copy", "in", "key", "kind", "monitor", "name", "next",
				"object", "page", "page_slug",
				"q", "search", "sort", "state", "subscriber", "tag", "template", "type",
			} {
				if a := owner.get(
					path + "?" + url.Values{name: {bad}}.Encode(),
				); a.StatusCode >= http.StatusInternalServerError {
					s.Errorf("%s with %s: %d", path, name, a.StatusCode)
				}
			}
		}
	})
}

// TestOnlyAdminsSeeSubscribers checks that every screen and form of subscribers needs the role admin: they have
// personal data.
func TestOnlyAdminsSeeSubscribers(t *testing.T) {
	found := 0
	for _, route := range new(Dashboard).routes() {
		if strings.Contains(route.pattern, "/subscribers") {
			found++
			if route.needs.Role != kernel.RoleAdmin {
				t.Errorf("%s needs the role %s", route.pattern, route.needs.Role)
			}
		}
	}
	if found == 0 {
		t.Error("there are no routes of subscribers")
	}
}
