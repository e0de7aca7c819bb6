// Package openid signs people in at an OpenID Connect provider: with the authorization code flow, PKCE, a state and a
// nonce. It knows neither the browser's requests nor the accounts.
package openid

import (
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"slices"
	"sync/atomic"
	"time"

	"github.com/allswell/allswell/internal/domain/account"
	"github.com/allswell/allswell/internal/shared/addressguard"
	"github.com/allswell/allswell/internal/shared/cache"
	"github.com/coreos/go-oidc/v3/oidc"
	"golang.org/x/oauth2"
)

const (
	// requestTimeout limits one request to the provider, and finishTimeout all requests of Finish.
	requestTimeout = 5 * time.Second
	finishTimeout  = 10 * time.Second

	// discoveryAge is how long the provider's configuration is used before it is read again.
	discoveryAge = time.Hour

	// maxResponse is the maximum size of a response of the provider in bytes.
	maxResponse = 1 << 20
)

// Config configures a Provider. All fields but ClientSecret and GroupsClaim are required.
type Config struct {
	Issuer                 string
	ClientID, ClientSecret string
	Scopes                 []string
	GroupsClaim            string // "": groups are not read
	RedirectURL            string // to which the provider redirects
}

// Provider is an OpenID Connect provider. Its configuration is read with the first sign-in.
type Provider struct {
	config     Config
	client     *http.Client
	discovered cache.Value[*discovered]
}

// discovered is the configuration that the provider publishes.
type discovered struct {
	*oidc.Provider
	verifier *oidc.IDTokenVerifier
	oauth    oauth2.Config
	endpoint struct {
		EndSession string `json:"end_session_endpoint"`
	}
}

// New returns a provider. It sends no request.
func New(c Config) *Provider {
	transport := http.DefaultTransport.(*http.Transport).Clone()
	transport.DialContext = (&net.Dialer{Timeout: requestTimeout, Control: addressguard.Control}).DialContext
	p := &Provider{config: c, client: &http.Client{
		Timeout: requestTimeout, Transport: limitedTransport{transport},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}
	p.discovered.Version, p.discovered.Now, p.discovered.Load = new(atomic.Uint64), time.Now, p.discover
	return p
}

// Issuer returns the URL that names the provider.
func (p *Provider) Issuer() string { return p.config.Issuer }

// discover reads the configuration of the provider.
func (p *Provider) discover(ctx context.Context) (*discovered, time.Time, error) {
	found, err := oidc.NewProvider(oidc.ClientContext(ctx, p.client), p.config.Issuer)
	if err != nil {
		return nil, time.Time{}, fmt.Errorf("reading the provider's configuration: %w", err)
	}
	d := &discovered{
		Provider: found, verifier: found.Verifier(&oidc.Config{ClientID: p.config.ClientID}), oauth: oauth2.Config{
			ClientID: p.config.ClientID, ClientSecret: p.config.ClientSecret, Endpoint: found.Endpoint(),
			RedirectURL: p.config.RedirectURL,
			Scopes: slices.Concat([]string{oidc.ScopeOpenID},
				slices.DeleteFunc(slices.Clone(p.config.Scopes), func(s string) bool {
					return s == oidc.ScopeOpenID
				})),
		},
	}
	if err := found.Claims(&d.endpoint); err != nil {
		return nil, time.Time{}, fmt.Errorf("reading the provider's configuration: %w", err)
	}
	if !isWebURL(d.oauth.Endpoint.AuthURL) || !isWebURL(d.oauth.Endpoint.TokenURL) {
		return nil, time.Time{}, errors.New("reading the provider's configuration: it names no endpoints")
	}
	return d, time.Now().Add(discoveryAge), nil
}

func isWebURL(text string) bool {
	u, err := url.Parse(text)
	return err == nil && (u.Scheme == "https" || u.Scheme == "http") && u.Host != ""
}

// configuration returns the configuration of the provider, or the error of reading it.
func (p *Provider) configuration(ctx context.Context) (*discovered, error) {
	d, err := p.discovered.Get(ctx)
	if d != nil {
		return d, nil // perhaps an hour old
	}
	return nil, err
}

// Flow is the random secret of one sign-in. Only the browser that began the sign-in keeps it. The state, the nonce and
// the verifier of the code are derived from it.
type Flow string

func (f Flow) derive(purpose string) string {
	sum := sha256.Sum256([]byte(purpose + " " + string(f)))
	return base64.RawURLEncoding.EncodeToString(sum[:])
}

// Matches reports whether a state that the provider returned belongs to the flow.
func (f Flow) Matches(state string) bool {
	return f != "" && subtle.ConstantTimeCompare([]byte(f.derive("state")), []byte(state)) == 1
}

// AuthURL returns the URL of the provider at which the person signs in. With again, the provider must ask for a new
// proof of identity, even if the person is signed in there.
func (p *Provider) AuthURL(ctx context.Context, f Flow, again bool) (string, error) {
	d, err := p.configuration(ctx)
	if err != nil {
		return "", err
	}
	options := []oauth2.AuthCodeOption{oidc.Nonce(f.derive("nonce")), oauth2.S256ChallengeOption(f.derive("verifier"))}
	if again {
		options = append(options, oauth2.SetAuthURLParam("prompt", "login"), oauth2.SetAuthURLParam("max_age", "0"))
	}
	return d.oauth.AuthCodeURL(f.derive("state"), options...), nil
}

// SignOutURL returns the URL of the provider that ends the person's session there and redirects to back. It is "" if
// the provider has none.
func (p *Provider) SignOutURL(ctx context.Context, back string) (string, error) {
	d, err := p.configuration(ctx)
	if err != nil || !isWebURL(d.endpoint.EndSession) {
		return "", err
	}
	u, err := url.Parse(d.endpoint.EndSession)
	if err != nil {
		return "", err
	}
	query := u.Query()
	query.Set("client_id", p.config.ClientID)
	query.Set("post_logout_redirect_uri", back)
	u.RawQuery = query.Encode()
	return u.String(), nil
}

// Finish exchanges the code from the provider for the identity of the person, within finishTimeout. The caller must
// have compared the state.
func (p *Provider) Finish(ctx context.Context, f Flow, code string) (account.Identity, error) {
	ctx, cancel := context.WithTimeout(ctx, finishTimeout)
	defer cancel()
	d, err := p.configuration(ctx)
	if err != nil {
		return account.Identity{}, err
	}
	ctx = oidc.ClientContext(ctx, p.client)
	token, err := d.oauth.Exchange(ctx, code, oauth2.VerifierOption(f.derive("verifier")))
	if err != nil {
		return account.Identity{}, fmt.Errorf("exchanging the code: %w", err)
	}
	raw, ok := token.Extra("id_token").(string)
	if !ok {
		return account.Identity{}, errors.New("the provider sent no ID token")
	}
	id, err := d.verifier.Verify(ctx, raw)
	if err != nil {
		return account.Identity{}, fmt.Errorf("verifying the ID token: %w", err)
	}
	if subtle.ConstantTimeCompare([]byte(id.Nonce), []byte(f.derive("nonce"))) != 1 {
		return account.Identity{}, errors.New("verifying the ID token: the nonce does not belong to the request")
	}
	claims := make(claims)
	if err := id.Claims(&claims); err != nil {
		return account.Identity{}, fmt.Errorf("reading the ID token: %w", err)
	}
	if party := claims.text("azp"); len(id.Audience) > 1 && party != p.config.ClientID {
		return account.Identity{}, fmt.Errorf("verifying the ID token: it was issued to the client %q", party)
	}
	if err := p.complete(ctx, d, token, id.Subject, claims); err != nil {
		return account.Identity{}, err
	}
	return claims.identity(p.config, id.Subject), nil
}

// complete adds claims that are missing in the ID token from the provider's userinfo endpoint.
func (p *Provider) complete(ctx context.Context, d *discovered, token *oauth2.Token, subject string, c claims) error {
	_, email := c["email"]
	_, groups := c[p.config.GroupsClaim]
	if d.UserInfoEndpoint() == "" || email && (groups || p.config.GroupsClaim == "") {
		return nil
	}
	info, err := d.UserInfo(ctx, oauth2.StaticTokenSource(token))
	if err != nil {
		return fmt.Errorf("reading the user's data: %w", err)
	}
	if info.Subject != subject {
		return errors.New("reading the user's data: it belongs to another user")
	}
	more := make(claims)
	if err := info.Claims(&more); err != nil {
		return fmt.Errorf("reading the user's data: %w", err)
	}
	for _, name := range []string{"email", "name", "preferred_username", p.config.GroupsClaim} {
		if _, known := c[name]; known || more[name] == nil {
			continue
		}
		c[name] = more[name]
		if name == "email" { // email_verified is about this address
			c["email_verified"] = more["email_verified"]
		}
	}
	return nil
}
