// Package openidtest is an OpenID Connect provider for tests, which can be made to misbehave.
package openidtest

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/coreos/go-oidc/v3/oidc"
	"github.com/coreos/go-oidc/v3/oidc/oidctest"
)

// ClientID and ClientSecret belong to the provider's client.
const (
	ClientID     = "allswell"
	ClientSecret = "hunter2 & co"
)

// Provider is a provider at which everybody is signed in. Change its fields between requests only.
type Provider struct {
	URL    string
	Claims map[string]any // of the person who is signed in
	Info   map[string]any // what the userinfo endpoint says; nil: there is none

	Sign   func(claims map[string]any) string // nil: with the provider's key
	Forget bool                               // codes can be used again
	Dead   atomic.Bool                        // the endpoints for programs fail
	Hang   atomic.Bool                        // they do not answer

	t      testing.TB
	key    *ecdsa.PrivateKey
	mu     sync.Mutex
	codes  map[string]url.Values // the request of each code
	Seen   []url.Values          // the requests for sign-ins
	closed chan struct{}
}

// New starts a provider at which Ada is signed in.
func New(t testing.TB) *Provider {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	p := &Provider{t: t, key: key, codes: map[string]url.Values{}, closed: make(chan struct{}), Claims: map[string]any{
		"sub": "ada-1", "email": "ada@example.com", "email_verified": true, "name": "Ada Lovelace",
		"groups": []string{},
	}}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /.well-known/openid-configuration", p.programs(p.discovery))
	mux.HandleFunc("GET /keys", p.programs(p.keys))
	mux.HandleFunc("POST /token", p.programs(p.token))
	mux.HandleFunc("GET /userinfo", p.programs(p.userinfo))
	mux.HandleFunc("GET /authorize", p.authorize)
	server := httptest.NewServer(mux)
	p.URL = server.URL
	t.Cleanup(func() {
		close(p.closed)
		server.Close()
	})
	return p
}

// programs wraps an endpoint for programs.
func (p *Provider) programs(next http.HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		switch {
		case p.Hang.Load():
			select {
			case <-p.closed:
			case <-r.Context().Done():
			}
		case p.Dead.Load():
			http.Error(w, "down", http.StatusServiceUnavailable)
		default:
			next(w, r)
		}
	}
}

func (p *Provider) answer(w http.ResponseWriter, body any) {
	w.Header().Set("Content-Type", "application/json")
	if err := json.NewEncoder(w).Encode(body); err != nil {
		p.t.Error(err)
	}
}

func (p *Provider) discovery(w http.ResponseWriter, _ *http.Request) {
	d := map[string]any{
		"issuer": p.URL, "authorization_endpoint": p.URL + "/authorize", "token_endpoint": p.URL + "/token",
		"jwks_uri":                              p.URL + "/keys",
		"end_session_endpoint":                  p.URL + "/end?a=b",
		"id_token_signing_alg_values_supported": []string{"ES256", "none", "HS256"},
	}
	if p.Info != nil {
		d["userinfo_endpoint"] = p.URL + "/userinfo"
	}
	p.answer(w, d)
}

func (p *Provider) keys(w http.ResponseWriter, _ *http.Request) {
	encode := func(n []byte) string { return base64.RawURLEncoding.EncodeToString(n) }
	point, err := p.key.PublicKey.Bytes() // 4, x, y
	if err != nil {
		p.t.Error(err)
	}
	p.answer(w, map[string]any{"keys": []map[string]string{{
		"kty": "EC", "crv": "P-256", "kid": "key-1", "alg": "ES256", "use": "sig", "x": encode(point[1:33]),
		"y": encode(point[33:]),
	}}})
}

// authorize signs in immediately and redirects back.
func (p *Provider) authorize(w http.ResponseWriter, r *http.Request) {
	query := r.URL.Query()
	code := rand.Text()
	p.mu.Lock()
	p.codes[code] = query
	p.Seen = append(p.Seen, query)
	p.mu.Unlock()
	back := url.Values{"code": {code}, "state": {query.Get("state")}}
	http.Redirect(w, r, query.Get("redirect_uri")+"?"+back.Encode(), http.StatusSeeOther)
}

// token exchanges a code, as RFC 6749 and RFC 7636 demand.
func (p *Provider) token(w http.ResponseWriter, r *http.Request) {
	id, secret, basic := r.BasicAuth()
	if basic {
		id, _ = url.QueryUnescape(id)
		secret, _ = url.QueryUnescape(secret)
	} else {
		id, secret = r.FormValue("client_id"), r.FormValue("client_secret")
	}
	p.mu.Lock()
	request, ok := p.codes[r.FormValue("code")]
	if !p.Forget {
		delete(p.codes, r.FormValue("code"))
	}
	p.mu.Unlock()
	sum := sha256.Sum256([]byte(r.FormValue("code_verifier")))
	if !ok || id != ClientID || secret != ClientSecret || request.Get("redirect_uri") != r.FormValue("redirect_uri") ||
		request.Get("code_challenge_method") != "S256" ||
		request.Get("code_challenge") != base64.RawURLEncoding.EncodeToString(sum[:]) {
		w.WriteHeader(http.StatusBadRequest)
		p.answer(w, map[string]string{"error": "invalid_grant"})
		return
	}
	claims := map[string]any{
		"iss": p.URL, "aud": ClientID, "exp": time.Now().Add(time.Minute).Unix(), "iat": time.Now().Unix(),
		"nonce": request.Get("nonce"),
	}
	maps.Copy(claims, p.Claims)
	sign := p.Sign
	if sign == nil {
		sign = p.SignWith(p.key)
	}
	p.answer(w, map[string]any{"access_token": "access", "token_type": "Bearer", "id_token": sign(claims)})
}

// SignWith returns a function that signs claims with a key.
func (p *Provider) SignWith(key *ecdsa.PrivateKey) func(claims map[string]any) string {
	return func(claims map[string]any) string {
		text, err := json.Marshal(claims)
		if err != nil {
			p.t.Error(err)
		}
		return oidctest.SignIDToken(key, "key-1", oidc.ES256, string(text))
	}
}

func (p *Provider) userinfo(w http.ResponseWriter, r *http.Request) {
	if r.Header.Get("Authorization") != "Bearer access" {
		http.Error(w, "who?", http.StatusUnauthorized)
		return
	}
	p.answer(w, p.Info)
}
