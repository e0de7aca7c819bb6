package signin

import (
	"encoding/base64"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/allswell/allswell/internal/domain/account"
	"github.com/allswell/allswell/internal/domain/kernel"
	"github.com/allswell/allswell/internal/surface/dashboard/frame"
	"github.com/allswell/allswell/internal/surface/signin/openid"
)

// SingleSignOn configures sign-ins through an identity provider or a reverse proxy. The zero value has neither.
type SingleSignOn struct {
	Provider     *openid.Provider // nil: none
	ProviderName string           // on buttons
	Proxy        ProxyHeaders
	Rules        account.SignInRules
	NoPasswords  bool // nobody can sign in with a password
}

// OIDCCallbackPath is the path of the redirect URL at the provider.
const OIDCCallbackPath = frame.Path + "/oidc/callback"

// proofAge is the maximum age of a proof of identity that the provider was asked for because of a change.
const proofAge = 3 * time.Minute

// oidcLink returns the URL that begins a sign-in at the provider and ends at path; "" without a provider.
func (r *request) oidcLink(path string) string {
	if r.SingleSignOn.Provider == nil {
		return ""
	}
	return frame.Path + "/oidc/start?" + url.Values{"next": {path}}.Encode()
}

// startOIDC redirects to the provider. With the query "confirm", a signed-in user proves their identity again.
func (r *request) startOIDC() error {
	if r.SingleSignOn.Provider == nil {
		return kernel.ErrNotFound
	}
	query := r.URL.Query()
	confirm := query.Has("confirm")
	if confirm && r.SignedIn.ID == "" {
		return frame.ErrSignedOut
	}
	if err := r.Attempt(frame.Attempter{}); err != nil {
		return err
	}
	code, err := r.Store.IssueStateCode(r.Context())
	if err != nil {
		return err
	}
	flow := openid.Flow(code)
	target, err := r.SingleSignOn.Provider.AuthURL(r.Context(), flow, confirm)
	if err != nil {
		return r.refuseOIDC(http.StatusBadGateway, err, "%s cannot be reached. Please try again in a moment.",
			r.SingleSignOn.ProviderName)
	}
	r.setFlow(oidcFlow{flow, confirm, frame.LocalPath(query.Get("next"))})
	return r.Redirect(target)
}

// oidcFlow is the state of a sign-in at the provider, which the browser keeps.
type oidcFlow struct {
	openid.Flow
	confirm bool
	next    string
}

// flowCookie returns the cookie of a sign-in at the provider.
func (r *request) flowCookie(value string, maxAge int) *http.Cookie {
	return &http.Cookie{
		Name: r.SessionCookie.Name + "-oidc", Value: value, Path: "/", MaxAge: maxAge, HttpOnly: true,
		Secure: r.SessionCookie.Secure, SameSite: http.SameSiteLaxMode,
	}
}

func (r *request) setFlow(f oidcFlow) {
	purpose := "sign-in"
	if f.confirm {
		purpose = "confirm"
	}
	value := strings.Join([]string{string(f.Flow), purpose, base64.RawURLEncoding.EncodeToString([]byte(f.next))}, ".")
	http.SetCookie(r.W, r.flowCookie(value, int(account.StateCodeAge.Seconds())))
}

// takeFlow returns the sign-in that ends with this request from the provider. ok is false if the browser did not begin
// it, or not recently. Each sign-in is returned once.
func (r *request) takeFlow() (f oidcFlow, ok bool, err error) {
	c, err := r.Cookie(r.flowCookie("", 0).Name)
	if err != nil {
		return f, false, nil
	}
	parts := strings.Split(c.Value, ".")
	if len(parts) != 3 {
		return f, false, nil
	}
	next, err := base64.RawURLEncoding.DecodeString(parts[2])
	f = oidcFlow{openid.Flow(parts[0]), parts[1] == "confirm", frame.LocalPath(string(next))}
	if err != nil || !f.Matches(r.URL.Query().Get("state")) {
		return f, false, nil
	}
	http.SetCookie(r.W, r.flowCookie("", -1))
	err = r.Store.TakeStateCode(r.Context(), string(f.Flow))
	if errors.Is(err, kernel.ErrNotFound) {
		return f, false, nil
	}
	return f, err == nil, err
}

// finishOIDC signs in the person whom the provider names.
func (r *request) finishOIDC() error {
	if r.SingleSignOn.Provider == nil {
		return kernel.ErrNotFound
	}
	flow, ok, err := r.takeFlow()
	if err != nil {
		return err
	}
	query := r.URL.Query()
	issuer, problem := query.Get("iss"), query.Get("error")
	switch {
	case !ok:
		return r.refuseOIDC(http.StatusBadRequest, nil,
			"The sign-in was not begun in this browser, or more than ten minutes ago. Please try again.")
	case issuer != "" && issuer != r.SingleSignOn.Provider.Issuer():
		return r.refuseOIDC(http.StatusBadRequest, fmt.Errorf("the response is from %q", issuer),
			"The response is not from %s. Please try again.", r.SingleSignOn.ProviderName)
	case problem != "":
		if text := query.Get("error_description"); text != "" {
			problem = text
		}
		return r.refuseOIDC(http.StatusForbidden, nil, "%s says: %s", r.SingleSignOn.ProviderName,
			strings.ToValidUTF8(problem[:min(len(problem), 300)], ""))
	}
	identity, err := r.SingleSignOn.Provider.Finish(r.Context(), flow.Flow, query.Get("code"))
	if err != nil {
		return r.refuseOIDC(http.StatusBadGateway, err,
			"The sign-in with %s failed. The reason is in the log of the service.", r.SingleSignOn.ProviderName)
	}
	if flow.confirm {
		return r.confirmOIDC(identity)
	}
	secret, err := r.Store.SignInIdentity(r.Context(), identity, r.SingleSignOn.Rules, r.Browser())
	var refusal account.IdentityError
	if errors.As(err, &refusal) {
		return r.refuseOIDC(http.StatusForbidden, fmt.Errorf("%w (%s)", err, identity.Subject), "%s", refusal.Error())
	}
	return r.startSession(secret, err, flow.next)
}

// refuseOIDC shows the sign-in form with the reason why a sign-in at the provider failed. It logs err unless err is
// nil.
func (r *request) refuseOIDC(status int, err error, message string, args ...any) error {
	if err != nil {
		r.Log.WarnContext(r.Context(), "a sign-in with OpenID Connect failed", "issuer",
			r.SingleSignOn.Provider.Issuer(), "error", err)
	}
	if r.SignedIn.ID != "" {
		return r.ShowFailure(frame.Failure{
			Status: status, Title: "The sign-in failed", Text: fmt.Sprintf(message, args...),
		})
	}
	s := r.newSignIn(url.Values{})
	s.Refuse("provider", message, args...)
	return r.showSignInForm(status, s)
}

// confirmOIDC confirms the session after the signed-in user has proved their identity at the provider.
func (r *request) confirmOIDC(identity account.Identity) error {
	if r.SignedIn.ID == "" {
		return frame.ErrSignedOut
	}
	user, err := r.Store.IdentityUser(r.Context(), identity.Issuer, identity.Subject)
	switch {
	case errors.Is(err, kernel.ErrNotFound) || err == nil && user != r.SignedIn.User.ID:
		return r.refuseOIDC(http.StatusForbidden, nil,
			"%s names someone other than the account that is signed in here, %s.", r.SingleSignOn.ProviderName,
			r.SignedIn.User.Email)
	case err != nil:
		return err
	case identity.ConfirmedAt.IsZero():
		return r.refuseOIDC(http.StatusForbidden, nil,
			"%s does not say when you proved your identity (auth_time), so it cannot confirm changes.",
			r.SingleSignOn.ProviderName)
	case r.Now().Sub(identity.ConfirmedAt) > proofAge:
		return r.refuseOIDC(http.StatusForbidden, nil, "%s did not ask for a new proof of your identity.",
			r.SingleSignOn.ProviderName)
	}
	if err := r.Store.ConfirmSession(r.Context(), r.Actor()); err != nil {
		return err
	}
	return r.ShowFailure(frame.Failure{
		Status: http.StatusOK, Title: "Confirmed", Text: "Close this tab, and press Continue in the other one.",
	})
}
