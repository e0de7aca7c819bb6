package server

import (
	"reflect"
	"strings"
	"testing"

	"github.com/allswell/allswell/internal/domain/account"
	"github.com/allswell/allswell/internal/domain/kernel"
	"github.com/allswell/allswell/internal/surface/dashboard"
	"github.com/allswell/allswell/internal/surface/signin/openid"
)

// signInDefaults are the defaults of the settings of the sign-in.
var signInDefaults = SignInConfig{
	OIDC:     openid.Config{Scopes: []string{"openid", "email", "profile"}, GroupsClaim: "groups"},
	OIDCName: "single sign-on",
	Rules: account.SignInRules{
		Workspace: "default", Groups: map[string]kernel.Role{}, Domains: map[string]kernel.Role{},
		CreateAccounts: true,
	},
}

func TestSignInSettings(t *testing.T) {
	got, err := Settings{
		BaseURL: "https://status.example.com", TrustedProxies: "10.0.0.0/8", SignInSettings: SignInSettings{
			PasswordSignIn: "off", OIDCIssuer: "https://login.example.com/realms/acme", OIDCClientID: "allswell",
			OIDCClientSecret: "hunter2", OIDCName: "Acme",
			OIDCScopes: "openid, email", OIDCGroupsClaim: "roles", ProxyEmailHeader: "Remote-Email",
			ProxySignOutURL: "https://auth.example.com/logout",
			SSORoles:        "ops=Admin, cn=boss=owner,@Example.com=viewer", SSOCreateAccounts: "off",
			SSOWorkspace: "platform",
		},
	}.Parse()
	want := SignInConfig{
		NoPasswords: true, OIDCName: "Acme",
		OIDC: openid.Config{
			Issuer: "https://login.example.com/realms/acme", ClientID: "allswell", ClientSecret: "hunter2",
			Scopes: []string{"openid", "email"}, GroupsClaim: "roles",
		},
		Proxy: dashboard.ProxyHeaders{Email: "Remote-Email", SignOutURL: "https://auth.example.com/logout"},
		Rules: account.SignInRules{
			Workspace: "platform", Groups: map[string]kernel.Role{"ops": kernel.RoleAdmin, "cn=boss": kernel.RoleOwner},
			Domains: map[string]kernel.Role{"example.com": kernel.RoleViewer},
		},
	}
	if err != nil || !reflect.DeepEqual(got.SignIn, want) {
		t.Errorf("got  %+v, %v\nwant %+v", got.SignIn, err, want)
	}
	sso := got.SignIn.singleSignOn(got.BaseURL)
	if sso.Provider == nil || sso.Provider.Issuer() != want.OIDC.Issuer || !sso.NoPasswords {
		t.Errorf("the dashboard has %+v", sso)
	}
	base := Settings{BaseURL: "https://status.example.com"}
	for want, s := range map[string]SignInSettings{
		"ALLSWELL_PASSWORD_SIGN_IN (--password-sign-in) must be on unless": {PasswordSignIn: "off"},
		"ALLSWELL_OIDC_CLIENT_ID (--oidc-client-id) must be set":           {OIDCIssuer: "https://login.example.com"},
		"ALLSWELL_OIDC_ISSUER (--oidc-issuer) must be the https://":        {OIDCIssuer: "http://login.example.com"},
		"that the provider calls its issuer": {
			OIDCIssuer: "https://login.example.com/?x=y",
		},
		"(--proxy-email-header) must be empty unless":         {ProxyEmailHeader: "Remote-Email"},
		"(--proxy-email-header) must be the name of a header": {ProxyEmailHeader: "Remote Email"},
		"(--proxy-email-header) must be set when":             {ProxyNameHeader: "Remote-Name"},
		"(--sso-roles) must be GROUP=ROLE and @DOMAIN=ROLE":   {SSORoles: "ops=king"},
	} {
		base.SignInSettings = s
		if _, err := base.Parse(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("the error for %+v: %v, want %s", s, err, want)
		}
	}
	local := Settings{SignInSettings: SignInSettings{OIDCIssuer: "http://127.0.0.1:3000", OIDCClientID: "x"}}
	if _, err := local.Parse(); err == nil || !strings.Contains(err.Error(), "unless ALLSWELL_BASE_URL is set") {
		t.Errorf("without a base URL: %v", err)
	}
	local.BaseURL = "http://localhost:8080"
	if _, err := local.Parse(); err != nil {
		t.Error(err)
	}
}
