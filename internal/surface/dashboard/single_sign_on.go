package dashboard

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
	"github.com/allswell/allswell/internal/surface/signin/openid"
)

// SingleSignOn configures sign-ins by others. The zero value is none.
type SingleSignOn struct {
	Provider     *openid.Provider // nil: none
	ProviderName string           // on buttons
	Proxy        ProxyHeaders
	Rules        account.SignInRules
	NoPasswords  bool // nobody can sign in with a password
}

// OIDCCallbackPath is the path of the redirect URL at the provider.
const OIDCCallbackPath = Path + "/oidc/callback"

// proofAge is the maximum age of a proof of identity that a change has asked the provider for.
const proofAge = 3 * time.Minute

// oidcLink returns the address that begins a sign-in at the provider and ends at path; "" without a provider.
func (v *visit) oidcLink(path string) string {
	if v.sso.Provider == nil {
		return ""
	}
	return Path + "/oidc/start?" + url.Values{"next": {path}}.Encode()
}

// startOIDC redirects to the provider. With the query "confirm", a signed-in user proves their identity again.
func (v *visit) startOIDC() error {
	if v.sso.Provider == nil {
		return errNotFound
	}
	query := v.r.URL.Query()
	confirm := query.Has("confirm")
	if confirm && v.in.ID == "" {
		return errSignedOut
	}
	if err := v.attempt(attempter{}); err != nil {
		return err
	}
	code, err := v.store.IssueStateCode(v.r.Context())
	if err != nil {
		return err
	}
	flow := openid.Flow(code)
	target, err := v.sso.Provider.AuthURL(v.r.Context(), flow, confirm)
	if err != nil {
		return v.refuseOIDC(http.StatusBadGateway, err, "%s cannot be reached. Please try again in a moment.",
			v.sso.ProviderName)
	}
	v.setFlow(oidcFlow{flow, confirm, localPath(query.Get("next"))})
	return v.redirect(target)
}

// oidcFlow is the state of a sign-in at the provider, which the browser keeps.
type oidcFlow struct {
	openid.Flow
	confirm bool
	next    string
}

// flowCookie returns the cookie of a sign-in at the provider.
func (v *visit) flowCookie(value string, maxAge int) *http.Cookie {
	return &http.Cookie{
		Name: v.cookie.name + "-oidc", Value: value, Path: "/", MaxAge: maxAge, HttpOnly: true, Secure: v.cookie.secure,
		SameSite: http.SameSiteLaxMode,
	}
}

func (v *visit) setFlow(f oidcFlow) {
	purpose := "sign-in"
	if f.confirm {
		purpose = "confirm"
	}
	value := strings.Join([]string{string(f.Flow), purpose, base64.RawURLEncoding.EncodeToString([]byte(f.next))}, ".")
	http.SetCookie(v.w, v.flowCookie(value, int(account.StateCodeAge.Seconds())))
}

// takeFlow returns the sign-in that the provider has led back from. ok is false if the browser did not begin it, or
// not lately. It works once.
func (v *visit) takeFlow() (f oidcFlow, ok bool, err error) {
	c, err := v.r.Cookie(v.flowCookie("", 0).Name)
	if err != nil {
		return f, false, nil
	}
	parts := strings.Split(c.Value, ".")
	if len(parts) != 3 {
		return f, false, nil
	}
	next, err := base64.RawURLEncoding.DecodeString(parts[2])
	f = oidcFlow{openid.Flow(parts[0]), parts[1] == "confirm", localPath(string(next))}
	if err != nil || !f.Matches(v.r.URL.Query().Get("state")) {
		return f, false, nil
	}
	http.SetCookie(v.w, v.flowCookie("", -1))
	err = v.store.TakeStateCode(v.r.Context(), string(f.Flow))
	if errors.Is(err, kernel.ErrNotFound) {
		return f, false, nil
	}
	return f, err == nil, err
}

// finishOIDC signs in the person whom the provider names.
func (v *visit) finishOIDC() error {
	if v.sso.Provider == nil {
		return errNotFound
	}
	flow, ok, err := v.takeFlow()
	if err != nil {
		return err
	}
	query := v.r.URL.Query()
	issuer, problem := query.Get("iss"), query.Get("error")
	switch {
	case !ok:
		return v.refuseOIDC(http.StatusBadRequest, nil,
			"The sign-in was not begun in this browser, or more than ten minutes ago. Please try again.")
	case issuer != "" && issuer != v.sso.Provider.Issuer():
		return v.refuseOIDC(http.StatusBadRequest, fmt.Errorf("the response is from %q", issuer),
			"The response is not from %s. Please try again.", v.sso.ProviderName)
	case problem != "":
		if text := query.Get("error_description"); text != "" {
			problem = text
		}
		return v.refuseOIDC(http.StatusForbidden, nil, "%s says: %s", v.sso.ProviderName,
			strings.ToValidUTF8(problem[:min(len(problem), 300)], ""))
	}
	identity, err := v.sso.Provider.Finish(v.r.Context(), flow.Flow, query.Get("code"))
	if err != nil {
		return v.refuseOIDC(http.StatusBadGateway, err,
			"The sign-in with %s failed. The reason is in the log of the service.", v.sso.ProviderName)
	}
	if flow.confirm {
		return v.confirmOIDC(identity)
	}
	secret, err := v.store.SignInIdentity(v.r.Context(), identity, v.sso.Rules, v.browser())
	var refusal account.IdentityError
	if errors.As(err, &refusal) {
		return v.refuseOIDC(http.StatusForbidden, fmt.Errorf("%w (%s)", err, identity.Subject), "%s", refusal.Error())
	}
	return v.startSession(secret, err, flow.next)
}

// refuseOIDC shows the sign-in with the reason why one with the provider failed. err, if any, is logged.
func (v *visit) refuseOIDC(status int, err error, message string, args ...any) error {
	if err != nil {
		v.log.WarnContext(v.r.Context(), "a sign-in with OpenID Connect failed", "issuer", v.sso.Provider.Issuer(),
			"error", err)
	}
	if v.in.ID != "" {
		return v.showFailure(failure{Status: status, Title: "The sign-in failed", Text: fmt.Sprintf(message, args...)})
	}
	s := v.newSignIn(url.Values{})
	s.refuse("provider", message, args...)
	return v.showSignInForm(status, s)
}

// confirmOIDC notes that somebody who is signed in has proved their identity again.
func (v *visit) confirmOIDC(identity account.Identity) error {
	if v.in.ID == "" {
		return errSignedOut
	}
	user, err := v.store.IdentityUser(v.r.Context(), identity.Issuer, identity.Subject)
	switch {
	case errors.Is(err, kernel.ErrNotFound) || err == nil && user != v.in.User.ID:
		return v.refuseOIDC(http.StatusForbidden, nil,
			"%s names somebody else than the account that is signed in here, %s.", v.sso.ProviderName, v.in.User.Email)
	case err != nil:
		return err
	case identity.ConfirmedAt.IsZero():
		return v.refuseOIDC(http.StatusForbidden, nil,
			"%s does not say when you proved your identity (auth_time), so it cannot confirm changes.",
			v.sso.ProviderName)
	case v.now().Sub(identity.ConfirmedAt) > proofAge:
		return v.refuseOIDC(http.StatusForbidden, nil, "%s did not ask for a new proof of your identity.",
			v.sso.ProviderName)
	}
	if err := v.store.ConfirmSession(v.r.Context(), v.actor()); err != nil {
		return err
	}
	return v.showFailure(failure{
		Status: http.StatusOK, Title: "Confirmed", Text: "Close this tab, and press Continue in the other one.",
	})
}
