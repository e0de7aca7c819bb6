package check

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"
)

// TestTokenURLIsNotLeft checks that the client's secret does not follow a redirect of the OAuth2 token URL.
func TestTokenURLIsNotLeft(t *testing.T) {
	t.Parallel()
	var other string
	s := webServer(t, false, func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/token":
			w.Header().Set("Location", "/other")
			w.WriteHeader(http.StatusTemporaryRedirect) // repeats the body
		case "/other":
			_, _, ok := r.BasicAuth()
			other = fmt.Sprint(ok, " ", r.FormValue("client_secret"))
		}
	})
	o := Run(t.Context(), new(Network), probe(t, "http", fields(t, "url", s.URL, "oauth2_token_url", s.URL+"/token", "oauth2_client_id", "client",
		"oauth2_client_secret", "secret")), testTimeout)
	if expectFailure(t, o, "the OAuth2 token URL answered status 307"); other != "" {
		t.Errorf("the secret was sent to another URL: %s", other)
	}
}

// TestFirstExpiry checks which certificate of a chain counts.
func TestFirstExpiry(t *testing.T) {
	day := func(n int) *x509.Certificate {
		return &x509.Certificate{NotAfter: time.Date(2026, 3, n, 0, 0, 0, 0, time.UTC)}
	}
	for name, c := range map[string]struct {
		sent, verified []*x509.Certificate
		want           int
	}{
		"the server's":                       {[]*x509.Certificate{day(1), day(2)}, []*x509.Certificate{day(1), day(2), day(3)}, 1},
		"the intermediate one":               {[]*x509.Certificate{day(2), day(1)}, []*x509.Certificate{day(2), day(1), day(3)}, 1},
		"not the root":                       {[]*x509.Certificate{day(2)}, []*x509.Certificate{day(2), day(3), day(1)}, 2},
		"a certificate that is its own root": {[]*x509.Certificate{day(5)}, []*x509.Certificate{day(5)}, 5},
		"of what was sent, if unverified":    {[]*x509.Certificate{day(9), day(8)}, nil, 8},
	} {
		state := tls.ConnectionState{PeerCertificates: c.sent}
		if c.verified != nil {
			state.VerifiedChains = [][]*x509.Certificate{c.verified}
		}
		if got := firstExpiry(state); got.Day() != c.want {
			t.Errorf("%s: March %d, not %d", name, got.Day(), c.want)
		}
	}
}

// TestTargetsMayNotSendWithoutEnd checks the limit of what is read from a target, over all of its connections.
func TestTargetsMayNotSendWithoutEnd(t *testing.T) {
	r := &run{limit: 10}
	for _, c := range []struct {
		sent int
		want error
	}{{4, nil}, {6, nil}, {1, errTooLong}} {
		here, there := net.Pipe()
		go func() {
			io.WriteString(there, strings.Repeat("x", c.sent))
			there.Close()
		}()
		conn := &countedConn{Conn: here, run: r}
		if _, err := io.ReadFull(conn, make([]byte, c.sent)); c.want == nil && err != nil {
			t.Errorf("after %d bytes: %v", r.received, err)
		}
		if _, err := conn.Read(make([]byte, 1)); c.want != nil && !errors.Is(err, c.want) {
			t.Errorf("after %d bytes: %v", r.received, err)
		}
		here.Close()
	}
}
