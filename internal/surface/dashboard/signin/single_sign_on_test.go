package signin_test

import (
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/allswell/allswell/internal/domain/account"
	"github.com/allswell/allswell/internal/domain/kernel"
	"github.com/allswell/allswell/internal/surface/dashboard/dashboardtest"
	"github.com/allswell/allswell/internal/surface/dashboard/signin"
	"github.com/allswell/allswell/internal/surface/signin/openid"
	"github.com/allswell/allswell/internal/surface/signin/openid/openidtest"
)

// provider starts an OpenID Connect provider at which Ada is signed in, and configures the dashboard with it.
func provider(s *dashboardtest.Site) *openidtest.Provider {
	fake := openidtest.New(s.T)
	s.Dashboard.SignIn.SingleSignOn.Provider = openid.New(openid.Config{
		Issuer: fake.URL, ClientID: openidtest.ClientID, ClientSecret: openidtest.ClientSecret, GroupsClaim: "groups",
		RedirectURL: s.Base + signin.OIDCCallbackPath,
	})
	s.Dashboard.SignIn.SingleSignOn.ProviderName = "Acme SSO"
	return fake
}

// atProvider follows a redirect to the provider, and returns the path to which it leads back.
func atProvider(v *dashboardtest.Visitor, a dashboardtest.Answer) string {
	v.Helper()
	v.Wants(a, http.StatusSeeOther, "/authorize?")
	response, err := (&http.Client{CheckRedirect: v.Client.CheckRedirect}).Get(a.Header.Get("Location"))
	if err != nil {
		v.Fatal(err)
	}
	response.Body.Close()
	path, ok := strings.CutPrefix(response.Header.Get("Location"), v.Base)
	if !ok {
		v.Fatalf("the provider leads to %s", response.Header.Get("Location"))
	}
	return path
}

// through signs in at the provider, and returns the answer to the return.
func through(v *dashboardtest.Visitor, start string) dashboardtest.Answer {
	v.Helper()
	return v.Get(atProvider(v, v.Get(start)))
}

func TestSingleSignOn(t *testing.T) {
	dashboardtest.OnEachEngine(t, func(s *dashboardtest.Site) {
		owner, fake := s.Owner(), provider(s)
		v := s.Visitor()
		v.Wants(v.Get("/admin/sign-in?next=/admin/monitors"), http.StatusOK, "Continue with Acme SSO",
			"/admin/oidc/start?next=%2Fadmin%2Fmonitors", `name="password"`)
		v.Wants(through(v, "/admin/oidc/start?next=/admin/monitors"), http.StatusSeeOther, "/admin/monitors")
		v.Wants(v.Get("/admin"), http.StatusOK, "Ada Lovelace", "Owner")
		v.Wants(v.Get("/admin/account"), http.StatusOK, "single sign-on, signed in")
		owner.Wants(owner.Get("/admin/audit?kind=session"), http.StatusOK, "oidc")

		// Signing out leads to where the provider signs out.
		v.Wants(v.Post("/admin/sign-out"), http.StatusSeeOther, "signed_out")
		v.Wants(v.Get("/admin/sign-in?signed_out=1"), http.StatusOK, "Sign out of Acme SSO, too",
			"/end?a=b&amp;client_id=allswell")

		// Groups give roles.
		fake.Claims = map[string]any{
			"sub": "grace-1", "email": "grace@other.example", "email_verified": true, "groups": []string{"ops"},
		}
		v.Wants(through(v, "/admin/oidc/start"), http.StatusForbidden, "You are not a member of any workspace here")
		s.Dashboard.SignIn.SingleSignOn.Rules = account.SignInRules{
			Groups: map[string]kernel.Role{"ops": kernel.RoleEditor, "boss": kernel.RoleOwner}, CreateAccounts: true,
		}
		v.Wants(through(v, "/admin/oidc/start"), http.StatusSeeOther, "/admin")
		v.Wants(v.Get("/admin/members"), http.StatusForbidden, "editor")
		if a := v.Wants(v.Get("/admin/account"), http.StatusOK); strings.Contains(a.Text, `type="password"`) {
			s.Error("somebody without a password can change it")
		}
		fake.Claims["groups"] = []string{"boss"}
		v.Wants(through(v, "/admin/oidc/start"), http.StatusSeeOther, "/admin")
		v.Wants(v.Get("/admin/members"), http.StatusOK, "grace@other.example")

		// The address of an account is nobody else's, whatever the provider says without having checked it.
		fake.Claims = map[string]any{
			"sub": "eve-1", "email": "ada@example.com", "email_verified": false, "groups": []string{"boss"},
		}
		w := s.Visitor()
		w.Wants(through(w, "/admin/oidc/start"), http.StatusForbidden,
			"does not say that your email address is verified")
		w.Wants(w.Get("/admin"), http.StatusSeeOther, "/admin/sign-in")
	})
}

// TestSignInReturnsToItsBrowserOnce replays returns from the provider, and opens them elsewhere.
func TestSignInReturnsToItsBrowserOnce(t *testing.T) {
	dashboardtest.OnEachEngine(t, func(s *dashboardtest.Site) {
		s.Owner()
		fake := provider(s)
		fake.Forget = true // codes can be used again, so that only the state is in the way
		victim, attacker := s.Visitor(), s.Visitor()
		back := atProvider(attacker, attacker.Get("/admin/oidc/start"))
		at, err := url.Parse(s.Base)
		if err != nil {
			s.Fatal(err)
		}
		kept := attacker.Client.Jar.Cookies(at)
		const refused = "not begun in this browser"
		victim.Wants(victim.Get(back), http.StatusBadRequest, refused)
		victim.Get("/admin/oidc/start")
		victim.Wants(victim.Get(back), http.StatusBadRequest, refused)
		victim.Wants(victim.Get(signin.OIDCCallbackPath), http.StatusBadRequest, refused)
		victim.Wants(victim.Get(signin.OIDCCallbackPath+"?error=<b>&error_description=<script>"), http.StatusBadRequest,
			refused)

		attacker.Wants(attacker.Get(back), http.StatusSeeOther, "/admin")
		attacker.Wants(attacker.Post("/admin/sign-out"), http.StatusSeeOther)
		attacker.Wants(attacker.Get(back), http.StatusBadRequest, refused)
		attacker.Client.Jar.SetCookies(at, kept)
		attacker.Wants(attacker.Get(back), http.StatusBadRequest, refused)

		// What the provider refuses is shown as text, and only to the browser that asked.
		state := func(v *dashboardtest.Visitor) string {
			u, err := url.Parse(v.Get("/admin/oidc/start?next=//evil.example").Header.Get("Location"))
			if err != nil {
				s.Fatal(err)
			}
			return signin.OIDCCallbackPath + "?state=" + u.Query().Get("state")
		}
		shown := victim.Wants(victim.Get(state(victim)+"&error=access_denied&error_description=<script>no"),
			http.StatusForbidden, "Acme SSO says: &lt;script&gt;no")
		if strings.Contains(shown.Text, "<script>no") {
			s.Error("markup of the provider is shown")
		}
		victim.Wants(victim.Get(state(victim)+"&code=x&iss=https://evil.example"), http.StatusBadRequest,
			"not from Acme SSO")
		victim.Wants(victim.Get(state(victim)+"&code=x"), http.StatusBadGateway, "in the log of the service")
		victim.Wants(through(victim, "/admin/oidc/start?next=https://evil.example/admin/"), http.StatusSeeOther,
			"/admin")
	})
}

func TestSingleSignOnWithABrokenProvider(t *testing.T) {
	dashboardtest.OnEachEngine(t, func(s *dashboardtest.Site) {
		fake, v := provider(s), s.Visitor()
		fake.Dead.Store(true)
		v.Wants(v.Get("/admin/oidc/start"), http.StatusBadGateway, "Acme SSO cannot be reached", `name="password"`)
		v.Wants(v.Get("/admin/sign-in?signed_out=1"), http.StatusOK)
		s.Dashboard.SignIn.SingleSignOn.Provider = nil
		v.Wants(v.Get("/admin/oidc/start"), http.StatusNotFound)
		v.Wants(v.Get(signin.OIDCCallbackPath), http.StatusNotFound)
	})
}

// TestProviderConfirms makes a dangerous change with a new proof of identity at the provider.
func TestProviderConfirms(t *testing.T) {
	dashboardtest.OnEachEngine(t, func(s *dashboardtest.Site) {
		fake := provider(s)
		fake.Claims["groups"] = []string{"boss"}
		s.Dashboard.SignIn.SingleSignOn.Rules = account.SignInRules{
			Groups: map[string]kernel.Role{"boss": kernel.RoleOwner}, CreateAccounts: true,
		}
		v := s.Visitor()
		v.Wants(through(v, "/admin/oidc/start"), http.StatusSeeOther, "/admin")
		invite := func() dashboardtest.Answer {
			return v.Post("/admin/members/invite", "email", "bob@example.com", "role", "viewer")
		}
		asked := v.Wants(invite(), http.StatusOK, "Confirm it’s you", "Confirm with Acme SSO",
			`value="bob@example.com"`)
		if strings.Contains(asked.Text, `type="password"`) {
			s.Error("a password is asked for that does not exist")
		}
		const confirm = "/admin/oidc/start?confirm=1"
		v.Wants(through(v, confirm), http.StatusForbidden, "auth_time")
		fake.Claims["auth_time"] = time.Now().Add(-time.Hour).Unix()
		v.Wants(through(v, confirm), http.StatusForbidden, "did not ask for a new proof")
		fake.Claims["auth_time"] = time.Now().Unix()
		fake.Claims["sub"] = "eve-1"
		v.Wants(through(v, confirm), http.StatusForbidden, "someone other")
		v.Wants(invite(), http.StatusOK, "Confirm it’s you")
		fake.Claims["sub"] = "ada-1"
		v.Wants(through(v, confirm), http.StatusOK, "press Continue")
		v.Wants(invite(), http.StatusCreated, "/admin/accept?code=")
		if last := fake.Seen[len(fake.Seen)-1]; last.Get("prompt") != "login" || last.Get("max_age") != "0" {
			s.Errorf("the request for a proof: %v", last)
		}
		stranger := s.Visitor()
		stranger.Wants(stranger.Get(confirm), http.StatusSeeOther, "/admin/sign-in")
	})
}

// TestWithoutPasswords turns sign-ins with passwords off.
func TestWithoutPasswords(t *testing.T) {
	dashboardtest.OnEachEngine(t, func(s *dashboardtest.Site) {
		owner, fake := s.Owner(), provider(s)
		s.Dashboard.SignIn.SingleSignOn.NoPasswords = true
		v := s.Visitor()
		a := v.Wants(v.Get("/admin/sign-in"), http.StatusOK, "Continue with Acme SSO")
		if strings.Contains(a.Text, `type="password"`) {
			s.Error("a password is asked for")
		}
		v.Wants(v.Post("/admin/sign-in", "email", "ada@example.com", "password", dashboardtest.GoodPassword),
			http.StatusForbidden, "Signing in with a password is turned off.")

		// Invitations are accepted by signing in.
		issued, err := s.Store.Invite(s.Context(), owner.Actor(), account.NewInvitation{
			Email: "bob@example.com", Role: kernel.RoleEditor,
		})
		if err != nil {
			s.Fatal(err)
		}
		fake.Claims = map[string]any{"sub": "bob-1", "email": "bob@example.com", "email_verified": true, "name": "Bob"}
		shown := v.Wants(v.Get("/admin/accept?code="+issued.Code), http.StatusOK, "Continue with Acme SSO")
		if strings.Contains(shown.Text, `type="password"`) {
			s.Error("a password is asked for")
		}
		v.Wants(v.Post("/admin/accept", "code", issued.Code, "name", "Bob", "password", dashboardtest.GoodPassword),
			http.StatusForbidden)
		back := v.Wants(through(v,
			"/admin/oidc/start?next="+
				url.QueryEscape("/admin/accept?code="+issued.Code+"&signed_in=1")), http.StatusSeeOther,
			"/admin/accept")
		v.Wants(v.Get(back.Header.Get("Location")), http.StatusSeeOther, "/admin")
		v.Wants(v.Get("/admin"), http.StatusOK, "Bob", "Editor")

		// In an emergency, a link of the server works.
		code, err := s.Store.IssueResetCode(s.Context(), "ada@example.com")
		if err != nil {
			s.Fatal(err)
		}
		w := s.Visitor()
		w.Wants(w.Post("/admin/reset", "code", code, "password", "another set of words"), http.StatusSeeOther, "/admin")
		w.Wants(w.Get("/admin"), http.StatusOK, "Owner")
	})
}
