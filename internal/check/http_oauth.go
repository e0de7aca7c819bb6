package check

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptrace"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/allswell/allswell/internal/domain/kernel"
	"github.com/allswell/allswell/internal/resource/configfield"
	lru "github.com/hashicorp/golang-lru/v2"
	"golang.org/x/oauth2"
	"golang.org/x/oauth2/clientcredentials"
)

var (
	oauthTokenURLField = Field{
		Name: "oauth2_token_url", Label: "OAuth2 token URL",
		Help: "URL that gives access tokens for client credentials.", Kind: configfield.KindText, Advanced: true,
		Max: kernel.MaxURLLength, Example: "https://login.example.com/token",
	}
	oauthClientIDField = Field{
		Name: "oauth2_client_id", Label: "OAuth2 client id", Help: "Id of the client at the token URL.",
		Kind: configfield.KindText, Advanced: true, Max: 255,
	}
	oauthClientSecretField = Field{
		Name: "oauth2_client_secret", Label: "OAuth2 client secret", Help: "Secret of the client at the token URL.",
		Kind: configfield.KindText, Secret: true, Advanced: true,
	}
	oauthScopesField = Field{
		Name: "oauth2_scopes", Label: "OAuth2 scopes", Help: "Scopes to request.",
		NoHint: true, Kind: configfield.KindList,
		Advanced: true, Max: 255,
	}
	oauthAudienceField = Field{
		Name: "oauth2_audience", Label: "OAuth2 audience",
		Help: "Audience of the token, for services that require one.",
		Kind: configfield.KindText, Advanced: true, Max: kernel.MaxURLLength, Example: "https://api.example.com/",
	}
	oauthResourceField = Field{
		Name: "oauth2_resource", Label: "OAuth2 resource",
		Help: "URI of the resource that the token is for (RFC 8707).",
		Kind: configfield.KindText, Advanced: true, Max: kernel.MaxURLLength, Example: "https://api.example.com/",
	}
)

// oauth has the fields of OAuth2 client credentials.
type oauth struct {
	OAuthTokenURL     string   `json:"oauth2_token_url,omitzero"`
	OAuthClientID     string   `json:"oauth2_client_id,omitzero"`
	OAuthClientSecret string   `json:"oauth2_client_secret,omitzero"`
	OAuthScopes       []string `json:"oauth2_scopes,omitempty"`
	OAuthAudience     string   `json:"oauth2_audience,omitzero"`
	OAuthResource     string   `json:"oauth2_resource,omitzero"`
}

func (a *oauth) checkOAuth(bad *kernel.ValidationError) {
	if a.OAuthTokenURL == "" {
		for field, value := range map[string]string{
			"oauth2_audience": a.OAuthAudience, "oauth2_resource": a.OAuthResource,
		} {
			if value != "" {
				bad.Add(field, "needs an %s", kernel.Name("oauth2_token_url"))
			}
		}
		return
	}
	u, err := url.Parse(a.OAuthResource)
	if a.OAuthResource != "" && (err != nil || u.Scheme == "" || u.Fragment != "") {
		bad.Add("oauth2_resource", "must be a URI without a fragment, such as https://api.example.com/")
	}
	checkURL(bad, "oauth2_token_url", &a.OAuthTokenURL, "http", "https")
	if a.OAuthClientID == "" {
		bad.Add("oauth2_client_id", "field is required with an %s", kernel.Name("oauth2_token_url"))
	}
}

// parameters returns what is sent to the token URL besides the credentials and the scopes.
func (a *oauth) parameters() url.Values {
	v := make(url.Values)
	for name, value := range map[string]string{"audience": a.OAuthAudience, "resource": a.OAuthResource} {
		if value != "" {
			v.Set(name, value)
		}
	}
	return v
}

// maxTokens is the maximum number of access tokens in memory.
const maxTokens = 1000

// tokenCache keeps access tokens until shortly before they expire, so that not every check requests one. The zero value
// is ready to use.
type tokenCache struct {
	once   sync.Once
	tokens *lru.Cache[[sha256.Size]byte, *oauth2.Token]
}

func (c *tokenCache) open() *lru.Cache[[sha256.Size]byte, *oauth2.Token] {
	// fails only for a size below 1
	c.once.Do(func() { c.tokens, _ = lru.New[[sha256.Size]byte, *oauth2.Token](maxTokens) })
	return c.tokens
}

// key identifies the token of a client.
func (a *oauth) key() [sha256.Size]byte {
	return sha256.Sum256(fmt.Appendf(nil, "%q",
		append([]string{a.OAuthTokenURL, a.OAuthClientID, a.OAuthClientSecret, a.OAuthAudience, a.OAuthResource},
			a.OAuthScopes...)))
}

// token returns an access token, or a failure. The time that this takes counts towards the timeout, but is not part of
// the measured phases or their total.
func (a *oauth) token(ctx context.Context, r *run, transport func(*run) *http.Transport) (*oauth2.Token, Outcome) {
	cache, key := r.network.tokens.open(), a.key()
	if token, ok := cache.Get(key); ok && token.Valid() {
		return token, Outcome{}
	}
	began := time.Now()
	own := &run{network: r.network, timeout: r.timeout, limit: maxWire}
	tokenURL, err := url.Parse(a.OAuthTokenURL)
	if err != nil {
		return nil, Outcome{Failure: "the OAuth2 token URL is not valid"}
	}
	requests := &requests{run: own, url: tokenURL}
	t := transport(own)
	defer t.CloseIdleConnections()
	t.TLSClientConfig.Certificates = nil
	client := &http.Client{
		Transport: t, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	config := clientcredentials.Config{
		ClientID: a.OAuthClientID, ClientSecret: a.OAuthClientSecret, TokenURL: a.OAuthTokenURL, Scopes: a.OAuthScopes,
		EndpointParams: a.parameters(),
	}
	ctx = context.WithValue(httptrace.WithClientTrace(ctx, requests.trace()), oauth2.HTTPClient, client)
	token, err := config.Token(ctx)
	var status *oauth2.RetrieveError
	switch {
	case errors.As(err, &status) && status.Response != nil:
		why := fmt.Sprintf("the OAuth2 token URL returned HTTP %d", status.Response.StatusCode)
		if code := shorten(status.ErrorCode); code != "" && !strings.Contains(code, " ") {
			why += " (" + code + ")"
		}
		return nil, Outcome{Failure: why, Answered: true, NotAsked: true}
	case err != nil:
		o := requests.fail(err)
		o.Failure = "no OAuth2 token: " + o.Failure
		o.Answered, o.NotAsked = own.answered, true
		return nil, o
	}
	cache.Add(key, token)
	r.mu.Lock()
	r.before = time.Since(began)
	r.mu.Unlock()
	return token, Outcome{}
}

// forget drops the access token of a client, because the target did not accept it.
func (a *oauth) forget(n *Network) {
	if a.OAuthTokenURL != "" {
		n.tokens.open().Remove(a.key())
	}
}
