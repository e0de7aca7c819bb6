package dashboard

import (
	"errors"
	"net/http"
	"strings"

	"github.com/allswell/allswell"
)

// ProxyHeaders are the header fields in which a reverse proxy names the person who has signed in there. Requests that
// do not come from a trusted proxy must not have them.
type ProxyHeaders struct {
	Email        string // "": no proxy signs in
	Name, Groups string // "": not reported
	SignOutURL   string // where people sign out of the proxy; "": not known
}

// proxyIdentity returns whom the proxy names with the request. ok is false if it names nobody.
func (v *visit) proxyIdentity() (i allswell.Identity, ok bool) {
	email := v.proxyValues(v.sso.Proxy.Email)
	if len(email) != 1 || email[0] == "" { // of two, the client may have sent one
		return i, false
	}
	i = allswell.Identity{Issuer: allswell.IssuerProxy, Subject: allswell.NormalizeEmail(email[0]), Email: email[0], EmailVerified: true}
	if name := v.proxyValues(v.sso.Proxy.Name); len(name) == 1 {
		i.Name = name[0]
	}
	if groups := v.proxyValues(v.sso.Proxy.Groups); len(groups) == 1 {
		i.GroupsKnown = true
		for _, g := range strings.FieldsFunc(groups[0], func(r rune) bool { return r == ',' || r == '|' }) {
			i.Groups = append(i.Groups, strings.TrimSpace(g))
		}
	}
	return i, true
}

// proxyValues returns the values of a header field that are text.
func (v *visit) proxyValues(name string) []string {
	if name == "" {
		return nil
	}
	values := v.r.Header.Values(name)
	for _, value := range values {
		if !isText(value) {
			return nil
		}
	}
	return values
}

// admitByProxy signs in the person whom the proxy names, and signs out a person whom it no longer names.
func (v *visit) admitByProxy(route route) error {
	identity, ok := v.proxyIdentity()
	if v.in.ID != "" && v.in.Method == allswell.SignInProxy {
		user, err := "", error(allswell.ErrNotFound)
		if ok {
			user, err = v.store.IdentityUser(v.r.Context(), identity.Issuer, identity.Subject)
		}
		if err != nil && !errors.Is(err, allswell.ErrNotFound) {
			return err
		}
		if err != nil || user != v.in.User.ID {
			v.in = allswell.SignedIn{}
		}
	}
	if v.in.ID != "" || !ok || route.access == accessAnyone || v.r.Method != http.MethodGet || v.isByItself() {
		return nil
	}
	secret, err := v.store.SignInIdentity(v.r.Context(), identity, v.sso.Rules, v.browser())
	if err != nil {
		return err
	}
	v.cookie.set(v.w, secret)
	v.in, err = v.store.FindSession(v.r.Context(), secret)
	return err
}

// isByItself reports whether no person has caused the request.
func (v *visit) isByItself() bool { return v.r.Context().Value(byItself{}) != nil }
