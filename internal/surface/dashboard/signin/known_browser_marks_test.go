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

// markedBrowser is a browser with a cookie that marks accounts which have signed in with it.
type markedBrowser struct {
	*testing.T
	screens *Screens
	frame   *frame.Frame
	start   time.Time
	now     time.Time
	cookie  *http.Cookie // nil: none
}

func newMarkedBrowser(t *testing.T) *markedBrowser {
	f := frame.New(nil, "https://allswell.example", nil, nil)
	b := &markedBrowser{T: t, screens: New(f, Config{}), frame: f, start: time.Unix(1_700_000_000, 0)}
	b.now = b.start
	f.Now = func() time.Time { return b.now }
	return b
}

// hashOf returns the hash of a password.
func hashOf(t *testing.T, secret string) string {
	t.Helper()
	h, err := password.Hash(t.Context(), password.Proven(fair.User("u")), secret)
	if err != nil {
		t.Fatal(err)
	}
	return h
}

// request returns a request of the browser, and the recorder of its response.
func (b *markedBrowser) request() (*request, *httptest.ResponseRecorder) {
	r, w := httptest.NewRequest("POST", "/admin/sign-in", nil), httptest.NewRecorder()
	if b.cookie != nil {
		r.AddCookie(b.cookie)
	}
	return b.screens.enter(&frame.Request{Frame: b.frame, W: w, Request: r}), w
}

func (b *markedBrowser) remember(hash string) {
	r, w := b.request()
	r.rememberBrowser(hash)
	b.cookie = w.Result().Cookies()[0]
}

// isKnown checks whether the account with the hash has a mark.
func (b *markedBrowser) isKnown(hash string, want bool) {
	b.Helper()
	r, _ := b.request()
	if got := r.knownBrowsers().find(hash, b.now) != ""; got != want {
		b.Errorf("known: %t, want %t", got, want)
	}
}

func TestMarksOfBrowsers(t *testing.T) {
	b := newMarkedBrowser(t)
	ada, bob := hashOf(t, "four words at random"), hashOf(t, "four words at random")
	b.isKnown(ada, false)
	b.remember(ada)
	if !b.cookie.HttpOnly || !b.cookie.Secure || b.cookie.SameSite != http.SameSiteLaxMode ||
		b.cookie.Name != "__Host-allswell-known" {
		t.Errorf("cookie %v", b.cookie)
	}
	b.isKnown(ada, true)
	b.isKnown(bob, false)
	b.isKnown("", false)
	b.remember(bob)
	b.remember(bob) // replaces its own mark only
	b.isKnown(ada, true)
	b.isKnown(bob, true)
	for range 100 {
		b.remember(hashOf(t, "another account"))
	}
	b.isKnown(ada, false)
	if len(b.cookie.Value) > 1000 {
		t.Errorf("the cookie has %d bytes", len(b.cookie.Value))
	}
}

func TestMarksOfBrowsersExpire(t *testing.T) {
	b, ada := newMarkedBrowser(t), hashOf(t, "four words at random")
	b.remember(ada)
	b.now = b.start.Add(knownBrowserAge - time.Second)
	b.isKnown(ada, true)
	b.now = b.start.Add(knownBrowserAge)
	b.isKnown(ada, false)
}

func TestForgedMarksOfBrowsers(t *testing.T) {
	b, ada := newMarkedBrowser(t), hashOf(t, "four words at random")
	b.remember(ada)
	b.isKnown(ada, true)
	whole := *b.cookie
	for i := range len(strings.Split(whole.Value, "~")[0]) {
		changed := []byte(whole.Value)
		if changed[i] ^= 1; changed[i] == '~' {
			continue
		}
		b.cookie = &http.Cookie{Name: whole.Name, Value: string(changed)}
		if i < len(changed)-1 { // the last character of the signature has bits that are not used
			b.isKnown(ada, false)
		}
	}
	for _, nonsense := range []string{
		"", "~", "..", "a.b.c", "a.99999999999999999999.c", strings.Repeat("~", 5000), strings.Repeat("a.1.b~", 5000),
	} {
		b.cookie = &http.Cookie{Name: whole.Name, Value: nonsense}
		b.isKnown(ada, false)
	}
}
