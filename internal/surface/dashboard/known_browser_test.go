package dashboard

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/allswell/allswell/internal/shared/clientaddr"
	"github.com/allswell/allswell/internal/shared/fair"
	"github.com/allswell/allswell/internal/surface/signin/password"
)

// known returns the value of the cookie with which an answer makes the browser known, or "".
func known(a answer) string {
	for _, c := range a.Cookies() {
		if strings.HasSuffix(c.Name, "-known") {
			return c.Value
		}
	}
	return ""
}

func (v *visitor) signInAs(email, secret string) answer {
	v.Helper()
	return v.post("/admin/sign-in", "email", email, "password", secret)
}

// TestKnownBrowsersHaveTheirOwnLimit checks that strangers at the same address cannot use up the attempts of a browser
// that has signed in before, and that its attempts have a limit too.
func TestKnownBrowsersHaveTheirOwnLimit(t *testing.T) {
	onEachEngine(t, func(s *site) {
		s.owner()
		v, stranger := s.visitor(), s.visitor()
		first := v.wants(v.signInAs("ada@example.com", goodPassword), http.StatusSeeOther, "/admin")
		if known(first) == "" {
			s.Fatal("the browser is not remembered")
		}
		if known(stranger.signInAs("ada@example.com", "not this one")) != "" {
			s.Error("a wrong password makes a browser known")
		}
		for i := range 2 * signInsPerAddress {
			stranger.signInAs(fmt.Sprintf("nobody%d@example.com", i/5), "not this one")
		}
		stranger.wants(stranger.signInAs("ada@example.com", goodPassword), http.StatusTooManyRequests)
		s.dashboard = restarted(s)
		v.wants(v.signInAs("ada@example.com", goodPassword), http.StatusSeeOther, "/admin")
		v.wants(v.signInAs("eve@example.com", goodPassword), http.StatusTooManyRequests) // it is not known to others
		for range signInsPerAccount {
			v.signInAs("ada@example.com", "not this one")
		}
		v.wants(v.signInAs("ada@example.com", "not this one"), http.StatusTooManyRequests)
	})
}

// restarted returns a dashboard of the same store that knows only what is stored, apart from its limits.
func restarted(s *site) *Dashboard {
	limits := s.dashboard.signIns
	d := New(Config{Store: s.store, BaseURL: s.base})
	d.signIns = limits
	s.Cleanup(d.EndStreams)
	s.server.Config.Handler = clientaddr.NewResolver(clientaddr.Config{}).Middleware(d.Handler())
	return d
}

func TestMarksOfBrowsers(t *testing.T) {
	d, start := New(Config{BaseURL: "https://allswell.example"}), time.Unix(1_700_000_000, 0)
	hash := func(secret string) string {
		h, err := password.Hash(t.Context(), password.Proven(fair.User("u")), secret)
		if err != nil {
			t.Fatal(err)
		}
		return h
	}
	ada, bob := hash("four words at random"), hash("four words at random")
	now := start
	d.now = func() time.Time { return now }
	var cookie *http.Cookie
	visitWith := func() (*visit, *httptest.ResponseRecorder) {
		r, w := httptest.NewRequest("POST", "/admin/sign-in", nil), httptest.NewRecorder()
		if cookie != nil {
			r.AddCookie(cookie)
		}
		return &visit{Dashboard: d, w: w, r: r}, w
	}
	remember := func(hash string) {
		v, w := visitWith()
		v.rememberBrowser(hash)
		cookie = w.Result().Cookies()[0]
	}
	isKnown := func(hash string, want bool) {
		t.Helper()
		v, _ := visitWith()
		if got := v.knownBrowsers().find(hash, now) != ""; got != want {
			t.Errorf("known: %v", got)
		}
	}
	isKnown(ada, false)
	remember(ada)
	if !cookie.HttpOnly || !cookie.Secure || cookie.SameSite != http.SameSiteLaxMode ||
		cookie.Name != "__Host-allswell-known" {
		t.Errorf("cookie %v", cookie)
	}
	isKnown(ada, true)
	isKnown(bob, false)
	isKnown("", false)
	remember(bob)
	remember(bob) // replaces its own mark only
	isKnown(ada, true)
	isKnown(bob, true)
	for range 100 {
		remember(hash("another account"))
	}
	isKnown(ada, false)
	if len(cookie.Value) > 1000 {
		t.Errorf("the cookie has %d bytes", len(cookie.Value))
	}
	remember(ada)
	now = start.Add(knownBrowserAge - time.Second)
	isKnown(ada, true)
	now = start.Add(knownBrowserAge)
	isKnown(ada, false)
	now = start
	whole := *cookie
	for i := range len(strings.Split(whole.Value, "~")[0]) {
		changed := []byte(whole.Value)
		if changed[i] ^= 1; changed[i] == '~' {
			continue
		}
		cookie = &http.Cookie{Name: whole.Name, Value: string(changed)}
		if i < len(changed)-1 { // the last character of the signature has bits that are not used
			isKnown(ada, false)
		}
	}
	for _, nonsense := range []string{
		"", "~", "..", "a.b.c", "a.99999999999999999999.c", strings.Repeat("~", 5000), strings.Repeat("a.1.b~", 5000),
	} {
		cookie = &http.Cookie{Name: whole.Name, Value: nonsense}
		isKnown(ada, false)
	}
}
