package dashboard

import (
	"net/http"
	"net/netip"
	"strings"
	"testing"

	"github.com/allswell/allswell/internal/domain/account"
	"github.com/allswell/allswell/internal/domain/kernel"
	"github.com/allswell/allswell/internal/shared/clientaddr"
)

// behindProxy returns a handler of the dashboard that trusts proxies of a network.
func (s *site) behindProxy(network string) http.Handler {
	return clientaddr.NewResolver(clientaddr.Config{
		Trusted:     []netip.Prefix{netip.MustParsePrefix(network)},
		OnlyTrusted: []string{"Remote-Email", "Remote-Name", "Remote-Groups"},
	}).Middleware(s.dashboard.Handler())
}

// as requests a path with header fields, in name and value.
func (v *visitor) as(path string, headers ...string) answer {
	v.Helper()
	r, err := http.NewRequest("GET", v.base+path, nil)
	if err != nil {
		v.Fatal(err)
	}
	for i := 0; i < len(headers); i += 2 {
		r.Header.Add(headers[i], headers[i+1])
	}
	return v.do(r)
}

func TestProxySignsIn(t *testing.T) {
	onEachEngine(t, func(s *site) {
		owner := s.owner()
		s.dashboard.sso.Rules = account.SignInRules{
			Groups: map[string]kernel.Role{"ops": kernel.RoleAdmin, "dev": kernel.RoleEditor}, CreateAccounts: true,
		}
		s.dashboard.sso.Proxy = ProxyHeaders{
			Email: "Remote-Email", Name: "Remote-Name", Groups: "Remote-Groups",
			SignOutURL: "https://auth.example.com/logout",
		}
		s.server.Config.Handler = s.behindProxy("127.0.0.0/8")
		ada := []string{"Remote-Email", "Ada@example.com", "Remote-Groups", "staff"}
		grace := []string{
			"Remote-Email", "grace@example.com", "Remote-Name", "Grace Hopper", "Remote-Groups", "staff, ops",
		}

		v := s.visitor()
		v.wants(v.as("/admin/sign-in", grace...), http.StatusOK, "Continue as grace@example.com")
		v.wants(v.as("/admin/members", grace...), http.StatusOK, "Grace Hopper", "ada@example.com")
		first := v.actor().SessionID
		v.wants(v.as("/admin", grace...), http.StatusOK)
		if v.actor().SessionID != first {
			s.Error("every request begins a session")
		}
		owner.wants(owner.get("/admin/audit?kind=session"), http.StatusOK, "proxy")

		// The session is of no use without the proxy, and for nobody else.
		v.wants(v.get("/admin"), http.StatusSeeOther, "/admin/sign-in")
		v.wants(v.as("/admin/account", ada...), http.StatusOK, "Ada Lovelace")
		v.wants(v.as("/admin/account", "Remote-Email", "grace@example.com", "Remote-Groups", "dev"), http.StatusOK,
			"Grace Hopper", "Editor")
		v.wants(v.as("/admin", "Remote-Email", "eve@example.com", "Remote-Groups", "sales"), http.StatusForbidden,
			"None of your groups has a role")
		v.wants(v.as("/admin", "Remote-Email", "ada@example.com", "Remote-Email", "grace@example.com"),
			http.StatusSeeOther, "/admin/sign-in")
		v.wants(v.as("/admin", "Remote-Email", "\xff@example.com"), http.StatusSeeOther, "/admin/sign-in")
		v.wants(v.as("/admin/sign-in?signed_out=1"), http.StatusOK, "https://auth.example.com/logout")

		// What it adds would outlive the sign-in at the proxy.
		s.usePasskeys()
		w := s.visitor()
		w.wants(w.as("/admin", append([]string{"Sec-Fetch-Dest", "image"}, grace...)...), http.StatusSeeOther,
			"/admin/sign-in")
		w.wants(w.as("/admin",
			append([]string{"Sec-Fetch-Dest", "document", "Sec-Fetch-Site", "cross-site"},
				grace...)...), http.StatusSeeOther, "/admin/sign-in")
		w.wants(w.as("/admin/account",
			append([]string{"Sec-Fetch-Dest", "document", "Sec-Fetch-Site", "none"}, grace...)...), http.StatusOK,
			"so you need no passkey")
		w.wants(w.as("/admin/account/authenticator", grace...), http.StatusForbidden, "cannot change passkeys")

		// Clients that are no trusted proxy name nobody.
		s.server.Config.Handler = s.behindProxy("192.0.2.0/24")
		w = s.visitor()
		w.wants(w.as("/admin", ada...), http.StatusSeeOther, "/admin/sign-in")
		s.server.Config.Handler = s.behindProxy("127.0.0.0/8")
		s.dashboard.sso.Proxy = ProxyHeaders{}
		w.wants(w.as("/admin", ada...), http.StatusSeeOther, "/admin/sign-in")
	})
}

// TestAcceptanceByProxyNeedsTheProxy accepts an invitation in a session of the reverse proxy: the session that follows
// is of no use without the proxy either.
func TestAcceptanceByProxyNeedsTheProxy(t *testing.T) {
	onEachEngine(t, func(s *site) {
		s.owner()
		s.dashboard.sso.Proxy = ProxyHeaders{Email: "Remote-Email"}
		s.server.Config.Handler = s.behindProxy("127.0.0.0/8")
		second, err := s.store.IssueTokenFor(s.Context(), "Second", account.NewToken{
			Name: "x", Scope: kernel.ScopeAdmin,
		})
		if err != nil {
			s.Fatal(err)
		}
		issued, err := s.store.Invite(s.Context(), kernel.SystemActor("test", second.WorkspaceID),
			account.NewInvitation{Email: "ada@example.com", Role: kernel.RoleViewer})
		if err != nil {
			s.Fatal(err)
		}
		v := s.visitor()
		v.wants(v.as("/admin", "Remote-Email", "ada@example.com"), http.StatusOK, "Ada Lovelace")
		r, err := http.NewRequest("POST", v.base+"/admin/accept", strings.NewReader("code="+issued.Code))
		if err != nil {
			s.Fatal(err)
		}
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		r.Header.Set("Remote-Email", "ada@example.com")
		v.wants(v.do(r), http.StatusSeeOther, "/admin")
		v.wants(v.as("/admin", "Remote-Email", "ada@example.com"), http.StatusOK, "Second", "Viewer")
		v.wants(v.get("/admin"), http.StatusSeeOther, "/admin/sign-in")
	})
}
