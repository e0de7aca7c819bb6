package signin

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/allswell/allswell/internal/shared/fair"
	"github.com/allswell/allswell/internal/surface/dashboard/frame"
	"github.com/allswell/allswell/internal/surface/signin/password"
)

func TestMarksOfBrowsers(t *testing.T) {
	f, start := frame.New(nil, "https://allswell.example", nil, nil), time.Unix(1_700_000_000, 0)
	screens := New(f, Config{})
	hash := func(secret string) string {
		h, err := password.Hash(t.Context(), password.Proven(fair.User("u")), secret)
		if err != nil {
			t.Fatal(err)
		}
		return h
	}
	ada, bob := hash("four words at random"), hash("four words at random")
	now := start
	f.Now = func() time.Time { return now }
	var cookie *http.Cookie
	requestWith := func() (*request, *httptest.ResponseRecorder) {
		r, w := httptest.NewRequest("POST", "/admin/sign-in", nil), httptest.NewRecorder()
		if cookie != nil {
			r.AddCookie(cookie)
		}
		return screens.enter(&frame.Request{Frame: f, W: w, Request: r}), w
	}
	remember := func(hash string) {
		r, w := requestWith()
		r.rememberBrowser(hash)
		cookie = w.Result().Cookies()[0]
	}
	isKnown := func(hash string, want bool) {
		t.Helper()
		r, _ := requestWith()
		if got := r.knownBrowsers().find(hash, now) != ""; got != want {
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
