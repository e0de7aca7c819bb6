package openid

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"net/http"
	"net/url"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/allswell/allswell/internal/domain/account"
	"github.com/allswell/allswell/internal/surface/signin/openid/openidtest"
)

const callback = "http://status.example/admin/oidc/callback"

func newProvider(p *openidtest.Provider) *Provider {
	return New(Config{
		Issuer: p.URL, ClientID: openidtest.ClientID, ClientSecret: openidtest.ClientSecret,
		Scopes: []string{"email", "openid"}, GroupsClaim: "groups", RedirectURL: callback,
	})
}

// authorize follows an address of the provider, and returns the query with which it leads back.
func authorize(t *testing.T, target string) url.Values {
	t.Helper()
	client := &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	response, err := client.Get(target)
	if err != nil {
		t.Fatal(err)
	}
	response.Body.Close()
	back, err := response.Location()
	if err != nil {
		t.Fatal(err)
	}
	return back.Query()
}

// signIn goes through a whole sign-in.
func signIn(t *testing.T, p *Provider, f Flow) (account.Identity, error) {
	t.Helper()
	target, err := p.AuthURL(t.Context(), f, false)
	if err != nil {
		return account.Identity{}, err
	}
	back := authorize(t, target)
	if !f.Matches(back.Get("state")) || Flow("other").Matches(back.Get("state")) || Flow("").Matches("") {
		t.Error("the state does not belong to its flow alone")
	}
	return p.Finish(t.Context(), f, back.Get("code"))
}

func TestSignIn(t *testing.T) {
	fake := openidtest.New(t)
	p := newProvider(fake)
	fake.Claims["groups"], fake.Claims["auth_time"] = []string{"ops", "staff"}, 1234567
	got, err := signIn(t, p, "secret")
	want := account.Identity{
		Issuer: fake.URL, Subject: "ada-1", Email: "ada@example.com", EmailVerified: true, Name: "Ada Lovelace",
		Groups: []string{"ops", "staff"}, GroupsKnown: true, ConfirmedAt: time.Unix(1234567, 0),
	}
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("got  %+v, %v\nwant %+v", got, err, want)
	}
	request := fake.Seen[0]
	if request.Get("scope") != "openid email" || request.Get("response_type") != "code" || request.Has("prompt") ||
		strings.Contains(request.Encode(), "secret") {
		t.Errorf("request %v", request)
	}
	target, err := p.AuthURL(t.Context(), "secret", true)
	if err != nil || !strings.Contains(target, "prompt=login") || !strings.Contains(target, "max_age=0") {
		t.Errorf("a new proof is asked for at %s, %v", target, err)
	}
	out, err := p.SignOutURL(t.Context(), "http://status.example/")
	if err != nil ||
		out != fake.URL+"/end?a=b&client_id=allswell&post_logout_redirect_uri=http%3A%2F%2Fstatus.example%2F" {
		t.Errorf("sign out at %s, %v", out, err)
	}
}

// TestUserinfo reads claims that the ID token lacks.
func TestUserinfo(t *testing.T) {
	fake := openidtest.New(t)
	fake.Claims = map[string]any{"sub": "ada-1", "email_verified": true}
	fake.Info = map[string]any{"sub": "ada-1", "email": "ada@example.com", "preferred_username": "ada", "groups": "ops"}
	p := newProvider(fake)
	got, err := signIn(t, p, "x")
	if err != nil || got.Email != "ada@example.com" || got.EmailVerified || got.Name != "ada" ||
		!reflect.DeepEqual(got.Groups, []string{"ops"}) {
		t.Errorf("the identity: %+v, %v", got, err)
	}
	fake.Info["sub"] = "grace-1"
	if got, err := signIn(t, p, "y"); err == nil || !strings.Contains(err.Error(), "another user") {
		t.Errorf("data of another user: %+v, %v", got, err)
	}
}

// hostileToken is a token that an attacker could make, and a part of the error that it causes.
type hostileToken struct {
	claims map[string]any
	sign   func(p *openidtest.Provider) func(map[string]any) string
	want   string
}

// encoded returns a part of a token.
func encoded(v any) string {
	text, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return base64.RawURLEncoding.EncodeToString(text)
}

func hostileTokens(t *testing.T) map[string]hostileToken {
	t.Helper()
	other, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	return map[string]hostileToken{
		"another nonce":    {claims: map[string]any{"nonce": "x"}, want: "nonce"},
		"no nonce":         {claims: map[string]any{"nonce": nil}, want: "nonce"},
		"another audience": {claims: map[string]any{"aud": "other"}, want: "audience"},
		"another party": {
			claims: map[string]any{"aud": []string{"allswell", "other"}, "azp": "other"}, want: `the client "other"`,
		},
		"expired":        {claims: map[string]any{"exp": time.Now().Add(-time.Minute).Unix()}, want: "expired"},
		"another issuer": {claims: map[string]any{"iss": "https://evil.example"}, want: "different provider"},
		"another key": {want: "signature", sign: func(p *openidtest.Provider) func(map[string]any) string {
			return p.SignWith(other)
		}},
		"no signature": {
			want: "unexpected signature algorithm", sign: func(*openidtest.Provider) func(map[string]any) string {
				return func(claims map[string]any) string {
					return encoded(map[string]string{"alg": "none"}) + "." + encoded(claims) + "."
				}
			},
		},
		"signed with the client's secret": {
			want: "unexpected signature algorithm", sign: func(*openidtest.Provider) func(map[string]any) string {
				return func(claims map[string]any) string {
					text := encoded(map[string]string{"alg": "HS256"}) + "." + encoded(claims)
					mac := hmac.New(sha256.New, []byte(openidtest.ClientSecret))
					mac.Write([]byte(text))
					return text + "." + base64.RawURLEncoding.EncodeToString(mac.Sum(nil))
				}
			},
		},
		"no token": {want: "malformed", sign: func(*openidtest.Provider) func(map[string]any) string {
			return func(map[string]any) string { return "" }
		}},
	}
}

// TestHostileTokens checks that no ID token is accepted that the provider did not issue for this sign-in.
func TestHostileTokens(t *testing.T) {
	for name, c := range hostileTokens(t) {
		t.Run(name, func(t *testing.T) {
			fake := openidtest.New(t)
			for claim, value := range c.claims {
				fake.Claims[claim] = value
			}
			if c.sign != nil {
				fake.Sign = c.sign(fake)
			}
			if got, err := signIn(t, newProvider(fake), "x"); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%+v, %v; want an error with %q", got, err, c.want)
			}
		})
	}
}

// TestCodeNeedsItsVerifier exchanges the code of another flow.
func TestCodeNeedsItsVerifier(t *testing.T) {
	fake := openidtest.New(t)
	p := newProvider(fake)
	target, err := p.AuthURL(t.Context(), "one", false)
	if err != nil {
		t.Fatal(err)
	}
	got, err := p.Finish(t.Context(), "another", authorize(t, target).Get("code"))
	if err == nil || !strings.Contains(err.Error(), "invalid_grant") {
		t.Errorf("the code with another verifier: %+v, %v", got, err)
	}
}

// TestBrokenProvider checks that a provider that fails or hangs ends the sign-in, and that it works when it is back.
func TestBrokenProvider(t *testing.T) {
	fake := openidtest.New(t)
	p := newProvider(fake)
	fake.Dead.Store(true)
	if _, err := p.AuthURL(t.Context(), "x", false); err == nil || !strings.Contains(err.Error(), "503") {
		t.Errorf("dead: %v", err)
	}
	fake.Dead.Store(false)
	fake.Hang.Store(true)
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if _, err := newProvider(fake).AuthURL(ctx, "x", false); err == nil {
		t.Error("a hanging provider leads on")
	}
	fake.Hang.Store(false)
	if _, err := signIn(t, newProvider(fake), "x"); err != nil {
		t.Errorf("back again: %v", err)
	}
	wrong := newProvider(fake)
	wrong.config.Issuer += "/"
	if _, err := wrong.AuthURL(t.Context(), "x", false); err == nil || !strings.Contains(err.Error(), "issuer") {
		t.Errorf("another issuer: %v", err)
	}
	if p.client.Timeout == 0 {
		t.Error("requests have no deadline")
	}
}

// TestVerifiedAddresses checks which providers vouch for which addresses.
func TestVerifiedAddresses(t *testing.T) {
	for _, c := range []struct {
		issuer, email, claims string
		want                  bool
	}{
		{"https://login.example.com", "a@example.com", `{"email_verified":true}`, true},
		{"https://login.example.com", "a@example.com", `{"email_verified":"true"}`, true},
		{"https://login.example.com", "a@example.com", `{"email_verified":false}`, false},
		{"https://login.example.com", "a@example.com", `{"xms_edov":true}`, false},
		{"https://login.example.com", "a@example.com", `{}`, false},
		{"https://accounts.google.com", "a@gmail.com", `{"email_verified":true}`, true},
		{"https://accounts.google.com", "a@example.com", `{"email_verified":true}`, false},
		{"https://accounts.google.com", "a@Example.com", `{"email_verified":true,"hd":"example.com"}`, true},
		{"https://accounts.google.com", "a@example.com", `{"email_verified":true,"hd":"evil.example"}`, false},
		{"https://login.microsoftonline.com/tenant/v2.0", "a@example.com", `{"xms_edov":true}`, true},
		{"https://login.microsoftonline.com/tenant/v2.0", "a@example.com", `{"xms_edov":"1"}`, true},
		{"https://login.microsoftonline.com/tenant/v2.0", "a@example.com", `{}`, false},
	} {
		var said claims
		if err := json.Unmarshal([]byte(c.claims), &said); err != nil {
			t.Fatal(err)
		}
		if got := said.isVerified(c.issuer, c.email); got != c.want {
			t.Errorf("whether the address is verified: %s, %s, %s: %v", c.issuer, c.email, c.claims, got)
		}
	}
}
