package check

import (
	"bufio"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/miekg/dns"
	probing "github.com/prometheus-community/pro-bing"
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
	o := Run(t.Context(), new(Network),
		probe(t, "http", fields(t, "url", s.URL, "oauth2_token_url", s.URL+"/token", "oauth2_client_id", "client",
			"oauth2_client_secret", "secret")), testTimeout)
	if expectFailure(t, o, "the OAuth2 token URL returned HTTP 307"); other != "" {
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
		"the server's": {[]*x509.Certificate{day(1), day(2)},
			[]*x509.Certificate{day(1), day(2), day(3)}, 1},
		"the intermediate one": {[]*x509.Certificate{day(2), day(1)},
			[]*x509.Certificate{day(2), day(1), day(3)}, 1},
		"not the root": {[]*x509.Certificate{day(2)}, []*x509.Certificate{day(2), day(3), day(1)},
			2},
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

// TestClientCertificateIsForTheTarget checks that neither another host to which a redirect leads, nor the way back from
// there, nor the OAuth2 token URL sees the client certificate.
func TestClientCertificateIsForTheTarget(t *testing.T) {
	_, client := newAuthority(t).issue(t, 24*time.Hour)
	var seen []string
	serve := func(name string, h http.HandlerFunc) *httptest.Server {
		s := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			seen = append(seen, fmt.Sprintf("%s%s %d", name, r.URL.Path, len(r.TLS.PeerCertificates)))
			h(w, r)
		}))
		s.Config.ErrorLog, s.TLS = quiet, &tls.Config{ClientAuth: tls.RequestClientCert}
		s.StartTLS()
		t.Cleanup(s.Close)
		return s
	}
	var target *httptest.Server
	tokens := serve("tokens", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprint(w, `{"access_token": "t", "token_type": "Bearer"}`)
	})
	other := serve("other", func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, target.URL+"/back", http.StatusFound)
	})
	target = serve("target", func(w http.ResponseWriter, r *http.Request) {
		if to := map[string]string{"/": "/same", "/same": other.URL + "/"}[r.URL.Path]; to != "" {
			http.Redirect(w, r, to, http.StatusFound)
		}
	})
	expectGood(t, runOnce(t, "http", fields(t, "url", target.URL+"/", "insecure", true, "client_certificate", client,
		"oauth2_token_url", tokens.URL+"/", "oauth2_client_id", "client", "oauth2_client_secret", "secret")))
	want := "tokens/ 0, target/ 1, target/same 1, other/ 0, target/back 0"
	if got := strings.Join(seen, ", "); got != want {
		t.Errorf("certificates seen: %s\nwant: %s", got, want)
	}
}

// TestForgedAnswersOfDNS checks that an answer counts only if it has the id and the question of the query.
func TestForgedAnswersOfDNS(t *testing.T) {
	for name, forge := range map[string]func(*dns.Msg){
		"another id":   func(m *dns.Msg) { m.Id++ },
		"another name": func(m *dns.Msg) { m.Question[0].Name = "other.example." },
		"another type": func(m *dns.Msg) { m.Question[0].Qtype = dns.TypeAAAA },
		"no answer":    func(m *dns.Msg) { m.Response = false },
		"no question":  func(m *dns.Msg) { m.Question = nil },
	} {
		t.Run(name, func(t *testing.T) {
			packets, err := net.ListenPacket("udp", "127.0.0.1:0")
			if err != nil {
				t.Fatal(err)
			}
			defer packets.Close()
			go func() {
				buffer, query := make([]byte, 1500), new(dns.Msg)
				n, from, err := packets.ReadFrom(buffer)
				if err != nil || query.Unpack(buffer[:n]) != nil {
					return
				}
				for _, a := range []struct {
					record string
					change func(*dns.Msg)
				}{
					{"www.example. 60 IN A 198.51.100.66", forge},
					{"www.example. 60 IN A 192.0.2.1", func(*dns.Msg) {}},
				} {
					answer := new(dns.Msg).SetReply(query)
					record, _ := dns.NewRR(a.record)
					answer.Answer = []dns.RR{record}
					a.change(answer)
					packed, _ := answer.Pack()
					_, _ = packets.WriteTo(packed, from)
				}
			}()
			expectGood(t, runOnce(t, "dns", fields(t, "host", "www.example", "resolver", packets.LocalAddr().String(),
				"expected_values", []string{"192.0.2.1"})))
		})
	}
}

// TestExpectedTextInParts checks that an expected text is found however the network cuts the answer.
func TestExpectedTextInParts(t *testing.T) {
	const answer = "+OK PONG, all is well"
	for cut := 1; cut < len(answer); cut++ {
		client, server := net.Pipe()
		go func() {
			_, _ = io.WriteString(server, answer[:cut])
			_, _ = io.WriteString(server, answer[cut:])
			server.Close()
		}()
		r := &run{network: new(Network), timeout: testTimeout}
		if o, _ := (&tcpProbe{Expect: "PONG"}).talk(r, client); o.Failure != "" {
			t.Errorf("in two parts, %q and %q: %s", answer[:cut], answer[cut:], o.Failure)
		}
		client.Close()
	}
}

// TestPermittedLoss checks both sides of the share of packets that may be lost.
func TestPermittedLoss(t *testing.T) {
	for permitted, good := range map[int]bool{24: false, 25: true, 26: true} {
		p := &icmpProbe{Packets: 4, MaxLoss: permitted}
		sent := &probing.Statistics{PacketsSent: 4, PacketsRecv: 3}
		o := p.judge(&run{timeout: testTimeout}, sent, netip.MustParseAddr("192.0.2.1"))
		if (o.Failure == "") != good {
			t.Errorf("a quarter is lost, %d %% are permitted: %q", permitted, o.Failure)
		}
	}
}

// TestRefusedConnectionsOfPostgreSQL checks which refusals show that a server works. A refused user or database shows
// it, unless the check names the user or the database itself.
func TestRefusedConnectionsOfPostgreSQL(t *testing.T) {
	for code, works := range map[string]bool{
		"28000": true, "28P01": true, "3D000": true, "53300": false, "57P03": false,
	} {
		for _, p := range []postgresProbe{{}, {Username: "u"}, {Database: "d"}, {Username: "u", Database: "d"}} {
			failure, done := p.judge('E', []byte("SFATAL\x00C"+code+"\x00Mno\x00\x00"))
			if want := works && p.Username == "" && p.Database == ""; !done || (failure == "") != want {
				t.Errorf("%s to user %q and database %q: %q", code, p.Username, p.Database, failure)
			}
		}
	}
}

// TestEncryptedBodyStaysEncrypted checks that no redirect makes a check send in clear what it sent over TLS.
func TestEncryptedBodyStaysEncrypted(t *testing.T) {
	p := probe(t, "http",
		fields(t, "url", "https://shop.example.com/", "method", "POST", "body", "secret")).(*httpProbe)
	for target, want := range map[string]error{
		"https://other.example.com/": nil, "http://other.example.com/": http.ErrUseLastResponse,
		"http://shop.example.com/": http.ErrUseLastResponse,
	} {
		r := &run{network: new(Network)}
		next := httptest.NewRequest(http.MethodPost, target, strings.NewReader("secret"))
		first := httptest.NewRequest(http.MethodPost, p.URL, strings.NewReader("secret"))
		follow := p.redirect(p.transport(r), &requests{run: r, url: p.url})
		if err := follow(next, []*http.Request{first}); !errors.Is(err, want) {
			t.Errorf("a redirect to %s: %v, want %v", target, err, want)
		}
	}
}

// TestOffersOfSTARTTLS checks in which answers to EHLO a mail server offers STARTTLS: in a line of its own, in letters
// of any size (RFC 5321, section 2.4). It is refused here, so that the check ends.
func TestOffersOfSTARTTLS(t *testing.T) {
	t.Parallel()
	const offered, missing = "the mail server answered STARTTLS with 454 not now", "the server does not offer STARTTLS"
	answers := make(chan string, 1)
	port := acceptEach(t, func(conn *net.TCPConn) {
		fmt.Fprint(conn, "220 mail.example.com ESMTP\r\n")
		lines := bufio.NewReader(conn)
		for answer := <-answers; ; answer = "454 not now" {
			if _, err := lines.ReadString('\n'); err != nil {
				return
			}
			fmt.Fprint(conn, answer+"\r\n")
		}
	})
	p := probe(t, "smtp", fields(t, "host", "127.0.0.1", "port", port, "security", "starttls"))
	for _, c := range []struct{ answer, failure string }{
		{"250-mail\r\n250 STARTTLS", offered}, {"250-mail\r\n250 starttls", offered},
		{"250-mail\r\n250 StartTLS", offered},
		{"250-mail\r\n250-STARTTLS\r\n250 SIZE 10", offered},
		{"250-mail\r\n250-SIZE 10\r\n250-starttls\r\n250 HELP", offered},
		{"250 mail", missing}, {"250-mail\r\n250 HELP", missing}, {"250 mail without STARTTLS", missing},
		{"250-mail\r\n250 X-STARTTLS", missing}, {"250-mail\r\n250 STARTTLS2", missing},
		{"250-mail\r\n250 AUTH STARTTLS", missing},
	} {
		answers <- c.answer
		o := Run(t.Context(), new(Network), p, testTimeout)
		if o.Failure != c.failure || !o.Answered {
			t.Errorf("%q: %+v, expected %q", c.answer, o, c.failure)
		}
	}
}

// TestNetworkByOtherRules checks that the same network by other rules differs in its rules only: each field is copied,
// or belongs to one of the two, or is shared.
func TestNetworkByOtherRules(t *testing.T) {
	own := []string{"Rules", "trusted", "tokens", "capacity", "shared"}
	n := &Network{Resolver: new(net.Resolver), Hello: "status.example.com", nameServer: "192.0.2.1:53"}
	copied := n.With(Rules{Discreet: true})
	if !copied.Discreet || copied.shared != n || copied.trusted || copied.room() != n.room() {
		t.Errorf("by other rules: discreet %t, trusted %t", copied.Discreet, copied.trusted)
	}
	before, after := reflect.ValueOf(n).Elem(), reflect.ValueOf(copied).Elem()
	for i := range before.NumField() {
		name := before.Type().Field(i).Name
		switch {
		case slices.Contains(own, name):
		case before.Field(i).IsZero():
			t.Errorf("the test sets no %s", name)
		case !before.Field(i).Equal(after.Field(i)):
			t.Errorf("%s is not copied", name)
		}
	}
}
