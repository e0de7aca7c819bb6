package page

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"github.com/allswell/allswell/internal/domain/statuspage"
)

// meanwhile is the form of a visitor, and the context of its request. It runs other once, after the form was read:
// between the first look at the limit and the comparison of the password, which first asks whether its context has
// ended.
type meanwhile struct {
	context.Context
	form  io.Reader
	other func()
	read  bool
}

func (m *meanwhile) Read(p []byte) (n int, err error) {
	n, err = m.form.Read(p)
	m.read = m.read || err == io.EOF
	return n, err
}

func (m *meanwhile) Err() error {
	if m.read && m.other != nil {
		other := m.other
		m.other = nil
		other()
	}
	return m.Context.Err()
}

// enterMeanwhile sends the form of a private page from an address, and lets other happen while the password is
// compared.
func (w *fixture) enterMeanwhile(address, path, secret, cookie string, other func()) *httptest.ResponseRecorder {
	w.t.Helper()
	m := &meanwhile{
		Context: w.t.Context(), form: strings.NewReader(url.Values{"password": {secret}}.Encode()), other: other,
	}
	r := httptest.NewRequestWithContext(m, "POST", path, m)
	r.Host, r.RemoteAddr = "localhost:8080", address+":1"
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	r.Header.Set("Sec-Fetch-Site", "same-origin")
	r.Header.Set("Cookie", cookie)
	rec := httptest.NewRecorder()
	w.site.Handler().ServeHTTP(rec, r)
	if m.other != nil {
		w.t.Errorf("nothing happens while %s compares the password: %d", path, rec.Code)
	}
	return rec
}

// TestPasswordGuessesAtTheSameTime makes wrong guesses while the form of another visitor is on its way. Above the
// limit, that visitor does not get to know whether the password was right.
func TestPasswordGuessesAtTheSameTime(t *testing.T) {
	const path, most = "/status/secret/access", maxWrongPasswords
	run(t, func(w *fixture) {
		for _, slug := range []string{"secret", "other"} {
			w.page(slug, "Secret")
			w.see(slug, statuspage.VisibilityPrivate)
			w.protect(slug, pagePassword)
		}
		visit := visitOf(w.t, w.enter("localhost:8080", path, pagePassword))
		var network []string // other addresses of the network of 2001:db8::1
		for n := range 10 {
			network = append(network, fmt.Sprintf("[2001:db8::a:%x]", n))
		}
		for _, c := range []struct {
			what, address, cookie string
			guessers              []string
			path                  string
			guesses               int // of each guesser
			refused               bool
		}{
			{"no guess", "192.0.2.1", "", []string{"192.0.2.1"}, path, 0, false},
			{"a guess below the limit", "192.0.2.1", "", []string{"192.0.2.1"}, path, most - 1, false},
			{"as many as are allowed", "192.0.2.1", "", []string{"192.0.2.1"}, path, most, true},
			{"more than are allowed", "192.0.2.1", "", []string{"192.0.2.1"}, path, most + 5, true},
			{"guesses at another page", "192.0.2.1", "", []string{"192.0.2.1"}, "/status/other/access", most, true},
			{"guesses from another address", "192.0.2.1", "", []string{"192.0.2.2"}, path, most, false},
			{"guesses from another address of the network", "[2001:db8::1]", "", network[:1], path, most, false},
			{"guesses from all of the network but one", "[2001:db8::1]", "", network[:9], path, most, false},
			{"guesses from all of the network", "[2001:db8::1]", "", network, path, most, true},
			{"guesses beside a visitor who is known", "192.0.2.1", visit, []string{"192.0.2.1"}, path, most, false},
		} {
			for _, right := range []bool{true, false} {
				w.clock.move(wrongPasswordWindow)
				if c.cookie != "" {
					w.clock.move(visitLifetime) // who is known still has to enter the password
				}
				secret, want := "nonsense", http.StatusForbidden
				if right {
					secret, want = pagePassword, http.StatusSeeOther
				}
				if c.refused {
					want = http.StatusTooManyRequests
				}
				rec := w.enterMeanwhile(c.address, path, secret, c.cookie, func() {
					for _, guesser := range c.guessers {
						for range c.guesses {
							w.enterMeanwhile(guesser, c.path, "nonsense", "", nil)
						}
					}
				})
				if rec.Code != want || (rec.Header().Get("Set-Cookie") != "") != (want == http.StatusSeeOther) {
					w.t.Errorf("%s meanwhile, right password: %v: %d, want %d, %v", c.what, right, rec.Code, want,
						rec.Header())
				}
			}
		}
	})
}
