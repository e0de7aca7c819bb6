package signin

import (
	"errors"
	"net/http"
	"strings"

	"github.com/allswell/allswell/internal/domain/account"
	"github.com/allswell/allswell/internal/domain/kernel"
	"github.com/allswell/allswell/internal/resource/rights"
	"github.com/allswell/allswell/internal/surface/dashboard/frame"
)

// ProxyHeaders are the header fields in which a reverse proxy names the person who has signed in there. Requests that
// do not come from a trusted proxy must not contain them.
type ProxyHeaders struct {
	Email        string // "": no proxy signs in
	Name, Groups string // "": not reported
	SignOutURL   string // where people sign out of the proxy; "": not known
}

// proxyIdentity returns the identity that the proxy reports with the request. ok is false if it reports none.
func (r *request) proxyIdentity() (i account.Identity, ok bool) {
	email := r.proxyValues(r.SingleSignOn.Proxy.Email)
	if len(email) != 1 || email[0] == "" { // of two, the client may have sent one
		return i, false
	}
	i = account.Identity{
		Issuer: account.IssuerProxy, Subject: kernel.NormalizeEmail(email[0]), Email: email[0], EmailVerified: true,
	}
	if name := r.proxyValues(r.SingleSignOn.Proxy.Name); len(name) == 1 {
		i.Name = name[0]
	}
	if groups := r.proxyValues(r.SingleSignOn.Proxy.Groups); len(groups) == 1 {
		i.GroupsKnown = true
		for _, g := range strings.FieldsFunc(groups[0], func(c rune) bool { return c == ',' || c == '|' }) {
			i.Groups = append(i.Groups, strings.TrimSpace(g))
		}
	}
	return i, true
}

// proxyValues returns the values of a header field that are text.
func (r *request) proxyValues(name string) []string {
	if name == "" {
		return nil
	}
	values := r.Header.Values(name)
	for _, value := range values {
		if !frame.IsText(value) {
			return nil
		}
	}
	return values
}

// admitByProxy signs in the person whom the proxy names, and signs out a person whom it no longer names.
func (r *request) admitByProxy(route frame.Route) error {
	if r.SingleSignOn.Proxy.Email == "" {
		return nil
	}
	identity, ok := r.proxyIdentity()
	if r.SignedIn.ID != "" {
		counts, err := r.Counts(r.Request.Request, r.SignedIn)
		if err != nil {
			return err
		}
		if !counts {
			r.SignedIn = account.SignedIn{}
		}
	}
	if r.SignedIn.ID != "" || !ok || route.Needs == rights.Anyone || !r.opensScreen() || r.Polled {
		return nil
	}
	if err := r.Attempt(frame.Attempter{}); err != nil {
		return err
	}
	secret, err := r.Store.SignInIdentity(r.Context(), identity, r.SingleSignOn.Rules, r.Browser())
	if err != nil {
		return err
	}
	r.SessionCookie.Set(r.W, secret)
	r.SignedIn, err = r.Store.FindSession(r.Context(), secret)
	return err
}

// Counts reports whether a session is valid for a request. A session that the reverse proxy began is valid only while
// the proxy names the same person.
func (s *Screens) Counts(r *http.Request, in account.SignedIn) (bool, error) {
	if in.Method != account.SignInProxy {
		return true, nil
	}
	identity, ok := s.enter(&frame.Request{Request: r}).proxyIdentity()
	if !ok {
		return false, nil
	}
	user, err := s.frame.Store.IdentityUser(r.Context(), identity.Issuer, identity.Subject)
	if errors.Is(err, kernel.ErrNotFound) {
		return false, nil
	}
	return user == in.User.ID, err
}

// opensScreen reports whether the visitor opens a screen, by a link of the dashboard or by its URL. Images and links on
// other sites must not begin a session: many of them would end the person's other sessions. Old browsers do not send
// the headers, and no browser sends them over plain HTTP.
func (r *request) opensScreen() bool {
	dest, site := r.Header.Get("Sec-Fetch-Dest"), r.Header.Get("Sec-Fetch-Site")
	return r.Method == http.MethodGet && (dest == "" || dest == "document") &&
		(site == "" || site == "none" || site == "same-origin")
}
