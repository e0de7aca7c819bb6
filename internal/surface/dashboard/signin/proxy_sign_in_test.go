package signin_test

import (
	"net/http"
	"net/netip"
	"strings"
	"testing"

	"github.com/allswell/allswell/internal/domain/account"
	"github.com/allswell/allswell/internal/domain/kernel"
	"github.com/allswell/allswell/internal/shared/clientaddr"
	"github.com/allswell/allswell/internal/surface/dashboard/dashboardtest"
	"github.com/allswell/allswell/internal/surface/dashboard/signin"
)

// behindProxy returns a handler of the dashboard that trusts proxies of a network.
func behindProxy(s *dashboardtest.Site, network string) http.Handler {
	return clientaddr.NewResolver(clientaddr.Config{
		Trusted:     []netip.Prefix{netip.MustParsePrefix(network)},
		OnlyTrusted: []string{"Remote-Email", "Remote-Name", "Remote-Groups"},
	}).Middleware(s.Dashboard.Handler())
}

// as requests a path with header fields, in name and value.
func as(v *dashboardtest.Visitor, path string, headers ...string) dashboardtest.Answer {
	v.Helper()
	r, err := http.NewRequest("GET", v.Base+path, nil)
	if err != nil {
		v.Fatal(err)
	}
	for i := 0; i < len(headers); i += 2 {
		r.Header.Add(headers[i], headers[i+1])
	}
	return v.Do(r)
}

func TestProxySignsIn(t *testing.T) {
	dashboardtest.OnEachEngine(t, func(s *dashboardtest.Site) {
		owner := s.Owner()
		s.Dashboard.SignIn.SingleSignOn.Rules = account.SignInRules{
			Groups: map[string]kernel.Role{"ops": kernel.RoleAdmin, "dev": kernel.RoleEditor}, CreateAccounts: true,
		}
		s.Dashboard.SignIn.SingleSignOn.Proxy = signin.ProxyHeaders{
			Email: "Remote-Email", Name: "Remote-Name", Groups: "Remote-Groups",
			SignOutURL: "https://auth.example.com/logout",
		}
		s.Server.Config.Handler = behindProxy(s, "127.0.0.0/8")
		ada := []string{"Remote-Email", "Ada@example.com", "Remote-Groups", "staff"}
		grace := []string{
			"Remote-Email", "grace@example.com", "Remote-Name", "Grace Hopper", "Remote-Groups", "staff, ops",
		}

		v := s.Visitor()
		v.Wants(as(v, "/admin/sign-in", grace...), http.StatusOK, "Continue as grace@example.com")
		v.Wants(as(v, "/admin/members", grace...), http.StatusOK, "Grace Hopper", "ada@example.com")
		first := v.Actor().SessionID
		v.Wants(as(v, "/admin", grace...), http.StatusOK)
		if v.Actor().SessionID != first {
			s.Error("every request begins a session")
		}
		owner.Wants(owner.Get("/admin/audit?kind=session"), http.StatusOK, "proxy")

		// The session is of no use without the proxy, and for nobody else.
		v.Wants(v.Get("/admin"), http.StatusSeeOther, "/admin/sign-in")
		v.Wants(as(v, "/admin/account", ada...), http.StatusOK, "Ada Lovelace")
		v.Wants(as(v, "/admin/account", "Remote-Email", "grace@example.com", "Remote-Groups", "dev"), http.StatusOK,
			"Grace Hopper", "Editor")
		v.Wants(as(v, "/admin", "Remote-Email", "eve@example.com", "Remote-Groups", "sales"), http.StatusForbidden,
			"None of your groups has a role")
		v.Wants(as(v, "/admin", "Remote-Email", "ada@example.com", "Remote-Email", "grace@example.com"),
			http.StatusSeeOther, "/admin/sign-in")
		v.Wants(as(v, "/admin", "Remote-Email", "\xff@example.com"), http.StatusSeeOther, "/admin/sign-in")
		v.Wants(as(v, "/admin/sign-in?signed_out=1"), http.StatusOK, "https://auth.example.com/logout")

		// What it adds would outlive the sign-in at the proxy.
		usePasskeys(s)
		w := s.Visitor()
		w.Wants(as(w, "/admin", append([]string{"Sec-Fetch-Dest", "image"}, grace...)...), http.StatusSeeOther,
			"/admin/sign-in")
		w.Wants(as(w, "/admin",
			append([]string{"Sec-Fetch-Dest", "document", "Sec-Fetch-Site", "cross-site"},
				grace...)...), http.StatusSeeOther, "/admin/sign-in")
		w.Wants(as(w, "/admin/account",
			append([]string{"Sec-Fetch-Dest", "document", "Sec-Fetch-Site", "none"}, grace...)...), http.StatusOK,
			"so you need no passkey")
		w.Wants(as(w, "/admin/account/authenticator", grace...), http.StatusForbidden, "cannot change passkeys")

		// Clients that are no trusted proxy name nobody.
		s.Server.Config.Handler = behindProxy(s, "192.0.2.0/24")
		w = s.Visitor()
		w.Wants(as(w, "/admin", ada...), http.StatusSeeOther, "/admin/sign-in")
		s.Server.Config.Handler = behindProxy(s, "127.0.0.0/8")
		s.Dashboard.SignIn.SingleSignOn.Proxy = signin.ProxyHeaders{}
		w.Wants(as(w, "/admin", ada...), http.StatusSeeOther, "/admin/sign-in")
	})
}

// TestAcceptanceByProxyNeedsTheProxy accepts an invitation in a session of the reverse proxy: the session that follows
// is of no use without the proxy either.
func TestAcceptanceByProxyNeedsTheProxy(t *testing.T) {
	dashboardtest.OnEachEngine(t, func(s *dashboardtest.Site) {
		s.Owner()
		s.Dashboard.SignIn.SingleSignOn.Proxy = signin.ProxyHeaders{Email: "Remote-Email"}
		s.Server.Config.Handler = behindProxy(s, "127.0.0.0/8")
		second, err := s.Store.IssueTokenFor(s.Context(), "Second", account.NewToken{
			Name: "x", Scope: kernel.ScopeAdmin,
		})
		if err != nil {
			s.Fatal(err)
		}
		issued, err := s.Store.Invite(s.Context(), kernel.SystemActor("test", second.WorkspaceID),
			account.NewInvitation{Email: "ada@example.com", Role: kernel.RoleViewer})
		if err != nil {
			s.Fatal(err)
		}
		v := s.Visitor()
		v.Wants(as(v, "/admin", "Remote-Email", "ada@example.com"), http.StatusOK, "Ada Lovelace")
		r, err := http.NewRequest("POST", v.Base+"/admin/accept", strings.NewReader("code="+issued.Code))
		if err != nil {
			s.Fatal(err)
		}
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		r.Header.Set("Remote-Email", "ada@example.com")
		v.Wants(v.Do(r), http.StatusSeeOther, "/admin")
		v.Wants(as(v, "/admin", "Remote-Email", "ada@example.com"), http.StatusOK, "Second", "Viewer")
		v.Wants(v.Get("/admin"), http.StatusSeeOther, "/admin/sign-in")
	})
}
