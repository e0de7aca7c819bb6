package server

import (
	"errors"
	"net/netip"
	"net/url"
	"regexp"
	"slices"
	"strings"

	"github.com/allswell/allswell/internal/domain/account"
	"github.com/allswell/allswell/internal/shared/settings"
	"github.com/allswell/allswell/internal/surface/dashboard"
	"github.com/allswell/allswell/internal/surface/signin/openid"
)

// SignInSettings are the settings of the sign-in to the dashboard as text.
type SignInSettings struct {
	PasswordSignIn string `env:"ALLSWELL_PASSWORD_SIGN_IN" default:"on" placeholder:"on|off" help:"Whether people can sign in to the dashboard with a password. off requires OpenID Connect or a proxy that signs people in."`

	OIDCIssuer string `name:"oidc-issuer" env:"ALLSWELL_OIDC_ISSUER" placeholder:"URL" help:"OpenID Connect provider for the dashboard, such as https://login.example.com/realms/acme. Empty: none."`

	OIDCClientID string `name:"oidc-client-id" env:"ALLSWELL_OIDC_CLIENT_ID" placeholder:"ID" help:"Client id at the provider, with the redirect URL BASE_URL/admin/oidc/callback."`

	OIDCClientSecret string `name:"oidc-client-secret" env:"ALLSWELL_OIDC_CLIENT_SECRET" secret:"" placeholder:"SECRET" help:"Client secret at the provider. Empty: a public client."`

	OIDCName string `name:"oidc-name" env:"ALLSWELL_OIDC_NAME" default:"single sign-on" placeholder:"NAME" help:"Name of the provider on the button."`

	OIDCScopes string `name:"oidc-scopes" env:"ALLSWELL_OIDC_SCOPES" default:"openid email profile" placeholder:"SCOPES" help:"Scopes to request, separated by spaces or commas."`

	OIDCGroupsClaim string `name:"oidc-groups-claim" env:"ALLSWELL_OIDC_GROUPS_CLAIM" default:"groups" placeholder:"CLAIM" help:"Claim with the groups of a person."`

	ProxyEmailHeader string `env:"ALLSWELL_PROXY_EMAIL_HEADER" placeholder:"HEADER" help:"Header with the email address of the person who has signed in, set by ALLSWELL_TRUSTED_PROXIES, such as Remote-Email. Empty: no sign-in by proxies."`

	ProxyNameHeader string `env:"ALLSWELL_PROXY_NAME_HEADER" placeholder:"HEADER" help:"Header with the person's name, such as Remote-Name."`

	ProxyGroupsHeader string `env:"ALLSWELL_PROXY_GROUPS_HEADER" placeholder:"HEADER" help:"Header with the person's groups, separated by commas or |, such as Remote-Groups."`

	ProxySignOutURL string `name:"proxy-sign-out-url" env:"ALLSWELL_PROXY_SIGN_OUT_URL" placeholder:"URL" help:"URL at which people sign out of the proxy."`

	SSORoles string `name:"sso-roles" env:"ALLSWELL_SSO_ROLES" placeholder:"RULES" help:"Roles of groups and of email domains at the provider or the proxy: ops=admin, @example.com=viewer. The highest counts."`

	SSOCreateAccounts string `name:"sso-create-accounts" env:"ALLSWELL_SSO_CREATE_ACCOUNTS" default:"on" placeholder:"on|off" help:"Whether people to whom ALLSWELL_SSO_ROLES gives a role join at their first sign-in. off: only by invitation."`

	SSOWorkspace string `name:"sso-workspace" env:"ALLSWELL_SSO_WORKSPACE" default:"default" placeholder:"NAME" help:"Workspace to which ALLSWELL_SSO_ROLES applies."`
}

// SignInConfig holds the values of SignInSettings.
type SignInConfig struct {
	NoPasswords bool
	OIDC        openid.Config // without Issuer: none
	OIDCName    string
	Proxy       dashboard.ProxyHeaders
	Rules       account.SignInRules
}

// parse returns the values of the settings. baseURL is the service's base URL. hasProxies means that the service trusts
// proxies.
func (s *SignInSettings) parse(p *settings.Parser, baseURL string, hasProxies bool) SignInConfig {
	words := func(value string) ([]string, error) {
		return strings.FieldsFunc(value, func(r rune) bool { return r == ' ' || r == ',' }), nil
	}
	text := func(value string) (string, error) { return value, nil }
	c := SignInConfig{
		NoPasswords: !settings.Parse(p, &s.PasswordSignIn, settings.Switch),
		OIDC: openid.Config{
			Issuer: settings.Parse(p, &s.OIDCIssuer, issuerURL), ClientID: settings.Parse(p, &s.OIDCClientID, text),
			ClientSecret: settings.Parse(p, &s.OIDCClientSecret, text),
			Scopes:       settings.Parse(p, &s.OIDCScopes, words),
			GroupsClaim:  settings.Parse(p, &s.OIDCGroupsClaim, text),
		},
		OIDCName: settings.Parse(p, &s.OIDCName, text),
		Proxy: dashboard.ProxyHeaders{
			Email:      settings.Parse(p, &s.ProxyEmailHeader, headerName),
			Name:       settings.Parse(p, &s.ProxyNameHeader, headerName),
			Groups:     settings.Parse(p, &s.ProxyGroupsHeader, headerName),
			SignOutURL: settings.Parse(p, &s.ProxySignOutURL, settings.HTTPURL),
		},
	}
	c.Rules = settings.Parse(p, &s.SSORoles, func(value string) (r account.SignInRules, err error) {
		r.Groups, r.Domains, err = account.ParseSignInRoles(value)
		return r, err
	})
	c.Rules.CreateAccounts, c.Rules.Workspace = settings.Parse(p, &s.SSOCreateAccounts, settings.Switch),
		settings.Parse(p, &s.SSOWorkspace, text)
	switch {
	case c.OIDC.Issuer == "" && c.Proxy.Email == "" && c.NoPasswords:
		p.Refuse(&s.PasswordSignIn, "on unless ALLSWELL_OIDC_ISSUER or ALLSWELL_PROXY_EMAIL_HEADER is set")
	case c.OIDC.Issuer != "" && c.OIDC.ClientID == "":
		p.Refuse(&s.OIDCClientID, "set when ALLSWELL_OIDC_ISSUER is")
	case c.OIDC.Issuer != "" && baseURL == "":
		p.Refuse(&s.OIDCIssuer, "empty unless ALLSWELL_BASE_URL is set, to which the provider redirects")
	case c.Proxy.Email != "" && !hasProxies:
		p.Refuse(&s.ProxyEmailHeader, "empty unless ALLSWELL_TRUSTED_PROXIES is set")
	case c.Proxy.Email == "" && c.Proxy.Name+c.Proxy.Groups != "":
		p.Refuse(&s.ProxyEmailHeader, "set when ALLSWELL_PROXY_NAME_HEADER or ALLSWELL_PROXY_GROUPS_HEADER is")
	}
	return c
}

// issuerURL parses the URL that names an OpenID Connect provider. It returns "" for the empty value.
func issuerURL(value string) (string, error) {
	u, err := url.Parse(value)
	if value == "" {
		return "", nil
	}
	expected := errors.New("the https:// address that the provider calls its issuer, such as " +
		"https://login.example.com/realms/acme")
	if err != nil || u.Hostname() == "" || u.User != nil || u.RawQuery != "" || u.ForceQuery || u.Fragment != "" {
		return "", expected
	}
	address, err := netip.ParseAddr(u.Hostname())
	local := u.Hostname() == "localhost" || err == nil && address.IsLoopback()
	if u.Scheme != "https" && !(u.Scheme == "http" && local) {
		return "", expected
	}
	return value, nil
}

var headerPattern = regexp.MustCompile(`^[A-Za-z0-9-]{1,64}$`)

// headerName parses the name of a header field. It returns "" for the empty value.
func headerName(value string) (string, error) {
	if value != "" && !headerPattern.MatchString(value) {
		return "", errors.New("the name of a header, such as Remote-Email")
	}
	return value, nil
}

// proxyHeaders returns the header fields that only trusted proxies may send.
func (c SignInConfig) proxyHeaders() []string {
	if c.Proxy.Email == "" {
		return nil
	}
	return slices.DeleteFunc([]string{c.Proxy.Email, c.Proxy.Name, c.Proxy.Groups}, func(name string) bool {
		return name == ""
	})
}

// singleSignOn returns the configuration of the dashboard. base is the URL of the service.
func (c SignInConfig) singleSignOn(base string) dashboard.SingleSignOn {
	sso := dashboard.SingleSignOn{ProviderName: c.OIDCName, Proxy: c.Proxy, Rules: c.Rules, NoPasswords: c.NoPasswords}
	if c.OIDC.Issuer != "" {
		oidc := c.OIDC
		oidc.RedirectURL = base + dashboard.OIDCCallbackPath
		sso.Provider = openid.New(oidc)
	}
	return sso
}
