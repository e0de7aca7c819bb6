package dashboard

import (
	"errors"
	"net/http"
	"strings"

	"github.com/allswell/allswell/internal/domain/account"
	"github.com/allswell/allswell/internal/domain/kernel"
	"github.com/allswell/allswell/internal/resource/rights"
)

// ProxyHeaders are the header fields in which a reverse proxy names the person who has signed in there. Requests that
// do not come from a trusted proxy must not have them.
type ProxyHeaders struct {
	Email        string // "": no proxy signs in
	Name, Groups string // "": not reported
	SignOutURL   string // where people sign out of the proxy; "": not known
}

// proxyIdentity returns the identity that the proxy reports with the request. ok is false if it reports none.
func (v *visit) proxyIdentity() (i account.Identity, ok bool) {
	email := v.proxyValues(v.sso.Proxy.Email)
	if len(email) != 1 || email[0] == "" { // of two, the client may have sent one
		return i, false
	}
	i = account.Identity{
		Issuer: account.IssuerProxy, Subject: kernel.NormalizeEmail(email[0]), Email: email[0], EmailVerified: true,
	}
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
	if v.in.ID != "" {
		counts, err := v.Counts(v.r, v.in)
		if err != nil {
			return err
		}
		if !counts {
			v.in = account.SignedIn{}
		}
	}
	if v.in.ID != "" || !ok || route.needs == rights.Anyone || !v.opensScreen() || v.polled {
		return nil
	}
	if err := v.attempt(attempter{}); err != nil {
		return err
	}
	secret, err := v.store.SignInIdentity(v.r.Context(), identity, v.sso.Rules, v.browser())
	if err != nil {
		return err
	}
	v.cookie.set(v.w, secret)
	v.in, err = v.store.FindSession(v.r.Context(), secret)
	return err
}

// Counts reports whether a session counts with a request: one that the reverse proxy began does only while the proxy
// names the same person.
func (d *Dashboard) Counts(r *http.Request, in account.SignedIn) (bool, error) {
	if in.Method != account.SignInProxy {
		return true, nil
	}
	identity, ok := (&visit{Dashboard: d, r: r}).proxyIdentity()
	if !ok {
		return false, nil
	}
	user, err := d.store.IdentityUser(r.Context(), identity.Issuer, identity.Subject)
	if errors.Is(err, kernel.ErrNotFound) {
		return false, nil
	}
	return user == in.User.ID, err
}

// opensScreen reports whether somebody opens a screen, from here or by its address. Pictures and links of other sites
// begin no session: many of them would end the sessions that the person has. Old browsers, and all without HTTPS, do
// not send the header.
func (v *visit) opensScreen() bool {
	dest, site := v.r.Header.Get("Sec-Fetch-Dest"), v.r.Header.Get("Sec-Fetch-Site")
	return v.r.Method == http.MethodGet && (dest == "" || dest == "document") &&
		(site == "" || site == "none" || site == "same-origin")
}
