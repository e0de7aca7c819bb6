package dashboard

import (
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/allswell/allswell/internal/domain/account"
	"github.com/allswell/allswell/internal/domain/kernel"
	"github.com/allswell/allswell/internal/surface/signin/openid"
	"github.com/allswell/allswell/internal/surface/signin/openid/openidtest"
)

// provider starts an OpenID Connect provider at which Ada is signed in, and configures the dashboard with it.
func (s *site) provider() *openidtest.Provider {
	fake := openidtest.New(s.T)
	s.dashboard.sso.Provider = openid.New(openid.Config{
		Issuer: fake.URL, ClientID: openidtest.ClientID, ClientSecret: openidtest.ClientSecret, GroupsClaim: "groups",
		RedirectURL: s.base + OIDCCallbackPath,
	})
	s.dashboard.sso.ProviderName = "Acme SSO"
	return fake
}

// atProvider follows a redirect to the provider, and returns the path to which it leads back.
func (v *visitor) atProvider(a answer) string {
	v.Helper()
	v.wants(a, http.StatusSeeOther, "/authorize?")
	response, err := (&http.Client{CheckRedirect: v.client.CheckRedirect}).Get(a.Header.Get("Location"))
	if err != nil {
		v.Fatal(err)
	}
	response.Body.Close()
	path, ok := strings.CutPrefix(response.Header.Get("Location"), v.base)
	if !ok {
		v.Fatalf("the provider leads to %s", response.Header.Get("Location"))
	}
	return path
}

// through signs in at the provider, and returns the answer to the return.
func (v *visitor) through(start string) answer {
	v.Helper()
	return v.get(v.atProvider(v.get(start)))
}

func TestSingleSignOn(t *testing.T) {
	onEachEngine(t, func(s *site) {
		owner, fake := s.owner(), s.provider()
		v := s.visitor()
		v.wants(v.get("/admin/sign-in?next=/admin/monitors"), http.StatusOK, "Continue with Acme SSO",
			"/admin/oidc/start?next=%2Fadmin%2Fmonitors", `name="password"`)
		v.wants(v.through("/admin/oidc/start?next=/admin/monitors"), http.StatusSeeOther, "/admin/monitors")
		v.wants(v.get("/admin"), http.StatusOK, "Ada Lovelace", "Owner")
		v.wants(v.get("/admin/account"), http.StatusOK, "signed in with single sign-on")
		owner.wants(owner.get("/admin/audit?kind=session"), http.StatusOK, "oidc")

		// Signing out leads to where the provider signs out.
		v.wants(v.post("/admin/sign-out"), http.StatusSeeOther, "signed_out")
		v.wants(v.get("/admin/sign-in?signed_out=1"), http.StatusOK, "Sign out of Acme SSO, too",
			"/end?a=b&amp;client_id=allswell")

		// Groups give roles.
		fake.Claims = map[string]any{
			"sub": "grace-1", "email": "grace@other.example", "email_verified": true, "groups": []string{"ops"},
		}
		v.wants(v.through("/admin/oidc/start"), http.StatusForbidden, "You are not a member of any workspace here")
		s.dashboard.sso.Rules = account.SignInRules{
			Groups: map[string]kernel.Role{"ops": kernel.RoleEditor, "boss": kernel.RoleOwner}, CreateAccounts: true,
		}
		v.wants(v.through("/admin/oidc/start"), http.StatusSeeOther, "/admin")
		v.wants(v.get("/admin/members"), http.StatusForbidden, "editor")
		if a := v.wants(v.get("/admin/account"), http.StatusOK); strings.Contains(a.body, `type="password"`) {
			s.Error("somebody without a password can change it")
		}
		fake.Claims["groups"] = []string{"boss"}
		v.wants(v.through("/admin/oidc/start"), http.StatusSeeOther, "/admin")
		v.wants(v.get("/admin/members"), http.StatusOK, "grace@other.example")

		// The address of an account is nobody else's, whatever the provider says without having checked it.
		fake.Claims = map[string]any{
			"sub": "eve-1", "email": "ada@example.com", "email_verified": false, "groups": []string{"boss"},
		}
		w := s.visitor()
		w.wants(w.through("/admin/oidc/start"), http.StatusForbidden,
			"does not say that your e-mail address is verified")
		w.wants(w.get("/admin"), http.StatusSeeOther, "/admin/sign-in")
	})
}

// TestSignInReturnsToItsBrowserOnce replays returns from the provider, and opens them elsewhere.
func TestSignInReturnsToItsBrowserOnce(t *testing.T) {
	onEachEngine(t, func(s *site) {
		s.owner()
		fake := s.provider()
		fake.Forget = true // codes can be used again, so that only the state is in the way
		victim, attacker := s.visitor(), s.visitor()
		back := attacker.atProvider(attacker.get("/admin/oidc/start"))
		at, err := url.Parse(s.base)
		if err != nil {
			s.Fatal(err)
		}
		kept := attacker.client.Jar.Cookies(at)
		const refused = "not begun in this browser"
		victim.wants(victim.get(back), http.StatusBadRequest, refused)
		victim.get("/admin/oidc/start")
		victim.wants(victim.get(back), http.StatusBadRequest, refused)
		victim.wants(victim.get(OIDCCallbackPath), http.StatusBadRequest, refused)
		victim.wants(victim.get(OIDCCallbackPath+"?error=<b>&error_description=<script>"), http.StatusBadRequest,
			refused)

		attacker.wants(attacker.get(back), http.StatusSeeOther, "/admin")
		attacker.wants(attacker.post("/admin/sign-out"), http.StatusSeeOther)
		attacker.wants(attacker.get(back), http.StatusBadRequest, refused)
		attacker.client.Jar.SetCookies(at, kept)
		attacker.wants(attacker.get(back), http.StatusBadRequest, refused)

		// What the provider refuses is shown as text, and only to the browser that asked.
		state := func(v *visitor) string {
			u, err := url.Parse(v.get("/admin/oidc/start?next=//evil.example").Header.Get("Location"))
			if err != nil {
				s.Fatal(err)
			}
			return OIDCCallbackPath + "?state=" + u.Query().Get("state")
		}
		shown := victim.wants(victim.get(state(victim)+"&error=access_denied&error_description=<script>no"),
			http.StatusForbidden, "Acme SSO says: &lt;script&gt;no")
		if strings.Contains(shown.body, "<script>no") {
			s.Error("markup of the provider is shown")
		}
		victim.wants(victim.get(state(victim)+"&code=x&iss=https://evil.example"), http.StatusBadRequest,
			"not from Acme SSO")
		victim.wants(victim.get(state(victim)+"&code=x"), http.StatusBadGateway, "in the log of the service")
		victim.wants(victim.through("/admin/oidc/start?next=https://evil.example/admin/"), http.StatusSeeOther,
			"/admin")
	})
}

func TestSingleSignOnWithABrokenProvider(t *testing.T) {
	onEachEngine(t, func(s *site) {
		fake, v := s.provider(), s.visitor()
		fake.Dead.Store(true)
		v.wants(v.get("/admin/oidc/start"), http.StatusBadGateway, "Acme SSO cannot be reached", `name="password"`)
		v.wants(v.get("/admin/sign-in?signed_out=1"), http.StatusOK)
		s.dashboard.sso.Provider = nil
		v.wants(v.get("/admin/oidc/start"), http.StatusNotFound)
		v.wants(v.get(OIDCCallbackPath), http.StatusNotFound)
	})
}

// TestProviderConfirms makes a dangerous change with a new proof of identity at the provider.
func TestProviderConfirms(t *testing.T) {
	onEachEngine(t, func(s *site) {
		fake := s.provider()
		fake.Claims["groups"] = []string{"boss"}
		s.dashboard.sso.Rules = account.SignInRules{
			Groups: map[string]kernel.Role{"boss": kernel.RoleOwner}, CreateAccounts: true,
		}
		v := s.visitor()
		v.wants(v.through("/admin/oidc/start"), http.StatusSeeOther, "/admin")
		invite := func() answer { return v.post("/admin/members/invite", "email", "bob@example.com", "role", "viewer") }
		asked := v.wants(invite(), http.StatusOK, "Confirm that it is you", "Confirm with Acme SSO",
			`value="bob@example.com"`)
		if strings.Contains(asked.body, `type="password"`) {
			s.Error("a password is asked for that does not exist")
		}
		const confirm = "/admin/oidc/start?confirm=1"
		v.wants(v.through(confirm), http.StatusForbidden, "auth_time")
		fake.Claims["auth_time"] = time.Now().Add(-time.Hour).Unix()
		v.wants(v.through(confirm), http.StatusForbidden, "did not ask for a new proof")
		fake.Claims["auth_time"] = time.Now().Unix()
		fake.Claims["sub"] = "eve-1"
		v.wants(v.through(confirm), http.StatusForbidden, "somebody else")
		v.wants(invite(), http.StatusOK, "Confirm that it is you")
		fake.Claims["sub"] = "ada-1"
		v.wants(v.through(confirm), http.StatusOK, "press Continue")
		v.wants(invite(), http.StatusCreated, "/admin/accept?code=")
		if last := fake.Seen[len(fake.Seen)-1]; last.Get("prompt") != "login" || last.Get("max_age") != "0" {
			s.Errorf("the request for a proof: %v", last)
		}
		stranger := s.visitor()
		stranger.wants(stranger.get(confirm), http.StatusSeeOther, "/admin/sign-in")
	})
}

// TestWithoutPasswords turns sign-ins with passwords off.
func TestWithoutPasswords(t *testing.T) {
	onEachEngine(t, func(s *site) {
		owner, fake := s.owner(), s.provider()
		s.dashboard.sso.NoPasswords = true
		v := s.visitor()
		if a := v.wants(
			v.get("/admin/sign-in"), http.StatusOK, "Continue with Acme SSO",
		); strings.Contains(a.body, `type="password"`) {
			s.Error("a password is asked for")
		}
		v.wants(v.post("/admin/sign-in", "email", "ada@example.com", "password", goodPassword), http.StatusForbidden,
			"Nobody can sign in with a password")

		// Invitations are accepted by signing in.
		issued, err := s.store.Invite(s.Context(), owner.actor(), account.NewInvitation{
			Email: "bob@example.com", Role: kernel.RoleEditor,
		})
		if err != nil {
			s.Fatal(err)
		}
		fake.Claims = map[string]any{"sub": "bob-1", "email": "bob@example.com", "email_verified": true, "name": "Bob"}
		shown := v.wants(v.get("/admin/accept?code="+issued.Code), http.StatusOK, "Continue with Acme SSO")
		if strings.Contains(shown.body, `type="password"`) {
			s.Error("a password is asked for")
		}
		v.wants(v.post("/admin/accept", "code", issued.Code, "name", "Bob", "password", goodPassword),
			http.StatusForbidden)
		back := v.wants(v.through("/admin/oidc/start?next="+
			url.QueryEscape("/admin/accept?code="+issued.Code+"&signed_in=1")), http.StatusSeeOther, "/admin/accept")
		v.wants(v.get(back.Header.Get("Location")), http.StatusSeeOther, "/admin")
		v.wants(v.get("/admin"), http.StatusOK, "Bob", "Editor")

		// In an emergency, a link of the server works.
		code, err := s.store.IssueResetCode(s.Context(), "ada@example.com")
		if err != nil {
			s.Fatal(err)
		}
		w := s.visitor()
		w.wants(w.post("/admin/reset", "code", code, "password", "another set of words"), http.StatusSeeOther, "/admin")
		w.wants(w.get("/admin"), http.StatusOK, "Owner")
	})
}
