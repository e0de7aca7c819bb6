package dashboard_test

import (
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/allswell/allswell/internal/domain/kernel"
	"github.com/allswell/allswell/internal/resource/rights"
	"github.com/allswell/allswell/internal/resource/rights/rightstest"
	"github.com/allswell/allswell/internal/surface/dashboard"
	"github.com/allswell/allswell/internal/surface/dashboard/dashboardtest"
	"github.com/allswell/allswell/internal/surface/dashboard/frame"
)

// TestOperationsFitRoutes checks the operation that each route names, and which routes need none.
func TestOperationsFitRoutes(t *testing.T) {
	var open []string
	for _, route := range dashboard.New(dashboard.Config{}).Routes() {
		method, path, _ := strings.Cut(route.Pattern, " "+frame.Path)
		path = strings.TrimPrefix(path, "/")
		if route.Needs == rights.Anyone || route.Needs == rights.Signed {
			open = append(open, method+":"+path)
		} else {
			rightstest.Check(t, method, path, route.Needs, false)
		}
	}
	slices.Sort(open)
	if want := strings.Fields(openRoutes); !slices.Equal(open, want) {
		t.Errorf("routes without a session: %v, want %v", open, want)
	}
}

// openRoutes are the routes that need no session. What they show and do needs a password, a code, a key or a signature.
const openRoutes = `GET:accept GET:alert-link GET:confirm-address GET:enter GET:forgot GET:oidc/callback GET:oidc/start
	GET:on-call.ics GET:reset GET:setup GET:sign-in
	POST:accept POST:alert-link POST:confirm-address POST:forgot POST:reset POST:setup POST:sign-in POST:sign-in/code
	POST:sign-in/passkey POST:sign-in/passkey/options POST:sign-out POST:slack`

// TestEveryRouteChecksTheRole requests every route without a session, and as a member with each role.
func TestEveryRouteChecksTheRole(t *testing.T) {
	t.Parallel()
	dashboardtest.OnEachEngine(t, func(s *dashboardtest.Site) {
		owner, stranger := s.Owner(), s.Visitor()
		members := map[kernel.Role]*dashboardtest.Visitor{kernel.RoleOwner: owner}
		for _, role := range kernel.Roles[:len(kernel.Roles)-1] {
			members[role] = s.Member(owner, role)
		}
		for _, route := range s.Dashboard.Routes() {
			requestAs(s, route, stranger, members)
		}
	})
}

// requestAs requests a route as a stranger and as each member, and checks who may.
func requestAs(
	s *dashboardtest.Site,
	route frame.Route,
	stranger *dashboardtest.Visitor,
	members map[kernel.Role]*dashboardtest.Visitor,
) {
	s.Helper()
	pattern := route.Pattern
	method, path, _ := strings.Cut(pattern, " ")
	path = strings.NewReplacer("{", "", "}", "").Replace(path)
	if path == "/admin/live" {
		path += "?of=/admin/nowhere" // a stream does not end
	}
	request := func(v *dashboardtest.Visitor) dashboardtest.Answer {
		if method == "GET" {
			return v.Get(path)
		}
		return v.Post(path)
	}
	open := route.Needs == rights.Anyone || route.Needs == rights.Signed
	a := request(stranger)
	location := a.Header.Get("Location")
	if strings.HasPrefix(location, "/admin/sign-in") == open && path != "/admin/sign-out" { // which leads there
		s.Errorf("%s without a session: status %d, Location %q", pattern, a.StatusCode, location)
	}
	if open {
		return
	}
	for role, member := range members {
		if a := request(member); (a.StatusCode == http.StatusForbidden) == route.Needs.AllowsRole(role) {
			s.Errorf("%s as %s: status %d", pattern, role, a.StatusCode)
		}
	}
}
