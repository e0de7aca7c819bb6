package check

import (
	"bufio"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"io"
	"math/big"
	"net"
	"net/http"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/coder/websocket"
	"github.com/emersion/go-smtp"
	"github.com/miekg/dns"
	probing "github.com/prometheus-community/pro-bing"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/health"
	"google.golang.org/grpc/health/grpc_health_v1"

	"github.com/allswell/allswell/test/freeport"
	"github.com/allswell/allswell/test/subprocess"
)

// authority issues certificates.
type authority struct {
	certificate *x509.Certificate
	key         *ecdsa.PrivateKey
	pem         string
}

func newAuthority(t *testing.T) *authority {
	t.Helper()
	a := &authority{key: newKey(t)}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "Test authority"}, IsCA: true,
		BasicConstraintsValid: true,
		NotBefore:             time.Now().Add(-240 * time.Hour), NotAfter: time.Now().Add(24000 * time.Hour),
		KeyUsage: x509.KeyUsageCertSign,
	}
	a.certificate, a.pem = a.sign(t, template, template, a.key)
	return a
}

func newKey(t *testing.T) *ecdsa.PrivateKey {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	return key
}

func (a *authority) sign(
	t *testing.T, template, parent *x509.Certificate, key *ecdsa.PrivateKey,
) (*x509.Certificate, string) {
	t.Helper()
	der, err := x509.CreateCertificate(rand.Reader, template, parent, &key.PublicKey, a.key)
	if err != nil {
		t.Fatal(err)
	}
	c, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	return c, string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}))
}

// issue returns a certificate for localhost and 127.0.0.1 that expires after some time, with its key, and both in PEM
// format.
func (a *authority) issue(t *testing.T, left time.Duration) (tls.Certificate, string) {
	t.Helper()
	key := newKey(t)
	_, certificate := a.sign(t, &x509.Certificate{
		SerialNumber: big.NewInt(2), DNSNames: []string{"localhost"}, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
		NotBefore: time.Now().Add(-200 * time.Hour), NotAfter: time.Now().Add(left),
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
	}, a.certificate, key)
	der, err := x509.MarshalECPrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	both := certificate + string(pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: der}))
	pair, err := tls.X509KeyPair([]byte(both), []byte(both))
	if err != nil {
		t.Fatal(err)
	}
	return pair, both
}

// listen listens on a loopback port until the test ends.
func listen(t testing.TB) (l net.Listener, port int) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	return l, l.Addr().(*net.TCPAddr).Port
}

// acceptEach handles each connection to a port in a goroutine of its own, and then closes it, until the test ends.
func acceptEach(t testing.TB, handle func(*net.TCPConn)) (port int) {
	t.Helper()
	l, port := listen(t)
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				defer conn.Close()
				handle(conn.(*net.TCPConn))
			}()
		}
	}()
	return port
}

// serveTLS answers handshakes.
func serveTLS(t *testing.T, config *tls.Config) (port int) {
	t.Helper()
	return acceptEach(t, func(conn *net.TCPConn) { _ = tls.Server(conn, config).Handshake() })
}

// TestTLS checks expiry, chain and name.
func TestTLS(t *testing.T) {
	a := newAuthority(t)
	const day = 24 * time.Hour
	for _, c := range []struct {
		name             string
		left             time.Duration
		failure, warning string
		more             []any
	}{
		{"good", 30*day + time.Hour, "", "", nil},
		{"expires soon", 20*day + time.Hour, "", "the certificate expires in 20 days", nil},
		{"expires tomorrow", day + time.Hour, "", "the certificate expires in 1 day", nil},
		{"expires today", time.Hour, "", "the certificate expires in less than a day", nil},
		{"too soon", 5*day + time.Hour, "the certificate expires in 5 days", "", []any{"down_days", 7}},
		{"no warning", 5*day + time.Hour, "", "", []any{"warn_days", 0}},
		{"expired", -25 * time.Hour,
			"a certificate expired on " + time.Now().Add(-25*time.Hour).UTC().Format("2006-01-02"), "", nil},
		{"expired, with insecure", -25 * time.Hour,
			"the certificate expired on " + time.Now().Add(-25*time.Hour).UTC().Format("2006-01-02"), "",
			[]any{"insecure", true}},
		{"another name", 30 * day, "the certificate is not valid for other.example, but for localhost", "",
			[]any{"server_name", "other.example"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			certificate, _ := a.issue(t, c.left)
			port := serveTLS(t, &tls.Config{Certificates: []tls.Certificate{certificate}})
			o := runOnce(t, "tls",
				fields(t, append([]any{"host", "127.0.0.1", "port", port, "ca_certificates", a.pem}, c.more...)...))
			expectFailure(t, o, c.failure)
			if o.Warning != c.warning || !o.Answered || o.CertificateExpiresAt.IsZero() {
				t.Errorf("outcome %+v", o)
			}
		})
	}
	certificate, client := a.issue(t, 30*day)
	port := serveTLS(t, &tls.Config{
		Certificates: []tls.Certificate{certificate}, MaxVersion: tls.VersionTLS12,
		ClientAuth: tls.RequireAnyClientCert,
	})
	expectGood(t,
		runOnce(t, "tls",
			fields(t, "host", "localhost", "port", port, "ca_certificates", a.pem, "client_certificate", client)))
	o := runOnce(t, "tls",
		fields(t, "host", "localhost", "port", port, "ca_certificates", newAuthority(t).pem, "client_certificate",
			client))
	expectFailure(t, o, "the certificate is not signed by a trusted authority")
}

// nameServer is a DNS server that knows some records, over UDP and TCP. Answers of more than 20 records do not fit into
// UDP.
func nameServer(t *testing.T, records ...string) (address string) {
	t.Helper()
	l, port := listen(t)
	packets, err := net.ListenPacket("udp", fmt.Sprintf("127.0.0.1:%d", port))
	if err != nil {
		t.Fatal(err)
	}
	var asked atomic.Bool // over UDP, the first question is lost
	handler := dns.HandlerFunc(func(w dns.ResponseWriter, query *dns.Msg) {
		_, isUDP := w.LocalAddr().(*net.UDPAddr)
		if isUDP && asked.CompareAndSwap(false, true) {
			return
		}
		answer := new(dns.Msg).SetReply(query)
		known := false
		for _, text := range records {
			record, err := dns.NewRR(text)
			if err != nil {
				panic(err)
			}
			if strings.EqualFold(record.Header().Name, query.Question[0].Name) {
				known = true
				if record.Header().Rrtype == query.Question[0].Qtype {
					answer.Answer = append(answer.Answer, record)
				}
			}
		}
		switch {
		case query.Question[0].Name == "broken.example.":
			answer.Rcode = dns.RcodeServerFailure
		case !known:
			answer.Rcode = dns.RcodeNameError
		}
		answer.RecursionAvailable = true
		answer.AuthenticatedData = query.Question[0].Name == "signed.example."
		if isUDP {
			answer.Truncate(dnsUDPSize)
		}
		_ = w.WriteMsg(answer)
	})
	for _, s := range []*dns.Server{{PacketConn: packets, Handler: handler}, {Listener: l, Handler: handler}} {
		started := make(chan struct{})
		s.NotifyStartedFunc = func() { close(started) }
		go func() { _ = s.ActivateAndServe() }()
		<-started
		t.Cleanup(func() { _ = s.Shutdown() })
	}
	return l.Addr().String()
}

// TestDNS checks records of a real name server.
func TestDNS(t *testing.T) {
	t.Parallel()
	records := []string{
		"www.example. 60 IN A 192.0.2.1", "www.example. 60 IN A 192.0.2.2",
		"www.example. 60 IN TXT \"v=spf1 \" \"-all\"",
		"example. 60 IN MX 10 mail.example.", "signed.example. 60 IN A 192.0.2.3",
		"alias.example. 60 IN CNAME WWW.example.",
		"1.2.0.192.in-addr.arpa. 60 IN PTR www.example.", "example. 60 IN CAA 0 issue \"letsencrypt.org\"",
	}
	for i := range 100 {
		records = append(records, fmt.Sprintf("many.example. 60 IN A 198.51.100.%d", i))
	}
	server := nameServer(t, records...)
	for _, c := range []struct {
		name, record, failure string
		more                  []any
	}{
		{"www.example", "A", "", []any{"expected_values", []string{"192.0.2.2"}}},
		{"www.example", "A", "the answer does not have 192.0.2.9, but 192.0.2.1, 192.0.2.2",
			[]any{"expected_values", []string{"192.0.2.1", "192.0.2.9"}}},
		{"www.example", "AAAA", "www.example has no AAAA record", nil},
		{"no.example", "A", "the name no.example does not exist", nil},
		{"broken.example", "A", "the name server failed (SERVFAIL)", nil},
		{"www.example", "TXT", "", []any{"expected_values", []string{"v=spf1 -all"}}},
		{"example.", "MX", "", []any{"expected_values", []string{"10 mail.example"}}},
		{"example", "CAA", "", []any{"expected_values", []string{"0 issue letsencrypt.org"}}},
		{"alias.example", "CNAME", "", []any{"expected_values", []string{"www.example"}}},
		{"192.0.2.1", "PTR", "", []any{"expected_values", []string{"www.example."}}},
		{"many.example", "A", "", []any{"expected_values", []string{"198.51.100.99"}}},
		{"signed.example", "A", "", []any{"dnssec", true}},
		{"www.example", "A", "the name server did not verify the answer with DNSSEC", []any{"dnssec", true}},
	} {
		t.Run(c.name+" "+c.record, func(t *testing.T) {
			p := probe(t, "dns",
				fields(t, append([]any{"host", c.name, "record_type", c.record, "resolver", server}, c.more...)...))
			timeout := testTimeout
			if c.name == "www.example" && c.record == "A" {
				timeout = 3 * time.Second // a third of it passes with the first question, which is lost
			}
			o := Run(t.Context(), new(Network), p, timeout)
			expectFailure(t, o, c.failure)
			if !o.Answered {
				t.Error("the name server answered")
			}
		})
	}
	refused := closedPort(t)
	o := runOnce(t, "dns", fields(t, "host", "a", "resolver", refused.String()))
	expectFailure(t, o, "connection refused by "+refused.String())
}

// TestICMP checks packets to this machine, and to an address without one.
func TestICMP(t *testing.T) {
	t.Parallel()
	o := runOnce(t, "icmp", fields(t, "host", "127.0.0.1", "packets", 2))
	if o.Unknown && strings.HasPrefix(o.Failure, "this machine does not permit ICMP") {
		t.Skip("skipped: ", o.Failure)
	}
	expectGood(t, o)
	if o.Phases.FirstByte <= 0 || o.Phases.Total >= echoInterval {
		t.Errorf("phases %+v", o.Phases)
	}
	// as of a name with this address
	o = Run(t.Context(), new(Network), &icmpProbe{Host: "169.254.169.254", Packets: 1}, testTimeout)
	expectFailure(t, o, "checks may not connect to 169.254.169.254: it belongs to a cloud's metadata service")
}

// TestLoss checks the share of lost packets: of the packets that were to be sent, or of the packets that were sent if
// these are more. An answer that comes twice makes up for none.
func TestLoss(t *testing.T) {
	r := &run{timeout: 10 * time.Second}
	const none = "no reply from 192.0.2.1 within 10 s"
	for _, c := range []struct {
		packets, sent, received, maxLoss int
		failure                          string
	}{
		{3, 3, 0, 50, none}, {3, 0, 0, 50, none}, {3, 3, 0, 99, none},
		{3, 3, 1, 50, "66 % of 3 packets were lost, expected at most 50 %"},
		{3, 3, 1, 66, ""}, {3, 3, 2, 50, ""}, {3, 3, 3, 0, ""},
		{3, 3, 2, 0, "33 % of 3 packets were lost, expected at most 0 %"},
		{4, 4, 2, 50, ""}, {4, 4, 2, 49, "50 % of 4 packets were lost, expected at most 49 %"},
		// The timeout came before all were sent.
		{20, 5, 5, 50, "75 % of 20 packets were lost, expected at most 50 %"}, {20, 10, 10, 50, ""},
		{20, 19, 19, 4, "5 % of 20 packets were lost, expected at most 4 %"},
		{3, 4, 3, 0, "25 % of 4 packets were lost, expected at most 0 %"},
		{3, 3, 6, 0, ""}, {20, 5, 9, 50, "55 % of 20 packets were lost, expected at most 50 %"},
	} {
		p := &icmpProbe{Host: "192.0.2.1", Packets: c.packets, MaxLoss: c.maxLoss}
		s := &probing.Statistics{PacketsSent: c.sent, PacketsRecv: c.received, AvgRtt: time.Millisecond}
		o := p.judge(r, s, netip.MustParseAddr(p.Host))
		if o.Failure != c.failure || o.Answered != (c.received > 0) {
			t.Errorf("judge %+v: %+v", c, o)
		}
	}
}

// TestGRPC checks the health of services of a real server.
func TestGRPC(t *testing.T) {
	a := newAuthority(t)
	certificate, _ := a.issue(t, 1000*time.Hour)
	state := health.NewServer()
	state.SetServingStatus("acme.Orders", grpc_health_v1.HealthCheckResponse_SERVING)
	state.SetServingStatus("acme.Mail", grpc_health_v1.HealthCheckResponse_NOT_SERVING)
	state.SetServingStatus("acme.New", grpc_health_v1.HealthCheckResponse_UNKNOWN)
	state.SetServingStatus("acme.Gone", grpc_health_v1.HealthCheckResponse_SERVICE_UNKNOWN)
	start := func(withHealth bool, options ...grpc.ServerOption) (port int) {
		l, port := listen(t)
		s := grpc.NewServer(options...)
		if withHealth {
			grpc_health_v1.RegisterHealthServer(s, state)
		}
		go func() { _ = s.Serve(l) }()
		t.Cleanup(s.Stop)
		return port
	}
	plain, secure, empty := start(true), start(true, grpc.Creds(credentials.NewServerTLSFromCert(&certificate))),
		start(false)
	web, err := strconv.Atoi(strings.TrimPrefix(webServer(t, false, http.NotFound).URL, "http://127.0.0.1:"))
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name    string
		port    int
		service string
		secure  bool
		failure string
	}{
		{"server", plain, "", false, ""},
		{"service", plain, "acme.Orders", false, ""},
		{"TLS", secure, "acme.Orders", true, ""},
		{"not serving", plain, "acme.Mail", false, "the service acme.Mail is not serving"},
		{"unknown health", plain, "acme.New", false, "the health of the service acme.New is unknown"},
		{"service that has gone", plain, "acme.Gone", false, "the server does not know the service acme.Gone"},
		{"unknown service", plain, "acme.Nothing", false, "the server does not know the service acme.Nothing"},
		{"no health checks", empty, "", false, "the server has no health checks (grpc.health.v1)"},
		{"HTTP/1.1", web, "", false, "127.0.0.1:" + strconv.Itoa(web) + " answered in HTTP/1.1, expected HTTP/2"},
	} {
		t.Run(c.name, func(t *testing.T) {
			more := []any{"host", "127.0.0.1", "port", c.port, "service", c.service, "tls", c.secure}
			if c.secure {
				more = append(more, "ca_certificates", a.pem)
			}
			o := runOnce(t, "grpc", fields(t, more...))
			at := "127.0.0.1:" + strconv.Itoa(web)
			if c.port == web && (o.Failure == "connection closed by "+at || o.Failure == at+" does not speak HTTP/2") {
				return // the server closes right after its response: the reset, or the end, can overtake the response
			}
			expectFailure(t, o, c.failure)
			if !o.Answered || c.secure && (o.Phases.TLS == 0 || o.CertificateExpiresAt.IsZero()) {
				t.Errorf("outcome %+v", o)
			}
		})
	}
}

// TestWebSocket checks messages with a real server.
func TestWebSocket(t *testing.T) {
	s := webServer(t, false, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/socket" {
			http.NotFound(w, r)
			return
		}
		conn, err := websocket.Accept(w, r, &websocket.AcceptOptions{Subprotocols: []string{"chat"}})
		if err != nil {
			return
		}
		defer conn.CloseNow()
		for {
			_, message, err := conn.Read(r.Context())
			if err != nil {
				return
			}
			if string(message) == "bye" {
				conn.Close(websocket.StatusNormalClosure, "")
				return
			}
			_ = conn.Write(r.Context(), websocket.MessageText, []byte("first"))
			_ = conn.Write(r.Context(), websocket.MessageText, append([]byte("echo "), message...))
		}
	})
	url := "ws" + strings.TrimPrefix(s.URL, "http") + "/socket"
	for _, c := range []struct {
		name, failure string
		more          []any
	}{
		{"ping", "", nil},
		{"message", "", []any{"send", "hello", "expect", "echo hello"}},
		{"subprotocol", "", []any{"subprotocol", "chat"}},
		{"another subprotocol", "the server did not choose the subprotocol mqtt", []any{"subprotocol", "mqtt"}},
		{"closed", "the server closed the WebSocket with status 1000", []any{"send", "bye", "expect", "x"}},
		{"no WebSocket", "HTTP 404 (expected 101)", []any{"url", strings.Replace(url, "/socket", "/", 1)}},
	} {
		t.Run(c.name, func(t *testing.T) {
			o := runOnce(t, "websocket", fields(t, append([]any{"url", url}, c.more...)...))
			expectFailure(t, o, c.failure)
			if !o.Answered {
				t.Errorf("outcome %+v", o)
			}
		})
	}
}

// mailBackend refuses nobody and accepts no mail.
type mailBackend struct{}

func (mailBackend) NewSession(*smtp.Conn) (smtp.Session, error) {
	return nil, &smtp.SMTPError{Code: 421, Message: "Out of\r\norder"}
}

// TestSMTP checks greetings of a real mail server, with and without TLS.
func TestSMTP(t *testing.T) {
	a := newAuthority(t)
	certificate, _ := a.issue(t, 1000*time.Hour)
	config := &tls.Config{Certificates: []tls.Certificate{certificate}}
	start := func(secure *tls.Config, backend smtp.Backend, wrap func(net.Listener) net.Listener) (port int) {
		l, port := listen(t)
		s := smtp.NewServer(backend)
		s.TLSConfig, s.ErrorLog, s.Domain = secure, quiet, "localhost"
		go func() { _ = s.Serve(wrap(l)) }()
		t.Cleanup(func() { _ = s.Close() })
		return port
	}
	same := func(l net.Listener) net.Listener { return l }
	accept := smtp.BackendFunc(func(*smtp.Conn) (smtp.Session, error) { return nil, nil })
	plain, offers := start(nil, accept, same), start(config, accept, same)
	secure := start(config, accept, func(l net.Listener) net.Listener { return tls.NewListener(l, config) })
	refuses := start(nil, mailBackend{}, same)
	for _, c := range []struct {
		name, security string
		port           int
		failure        string
	}{
		{"plain", "none", plain, ""},
		{"STARTTLS", "starttls", offers, ""},
		{"TLS", "tls", secure, ""},
		{"no STARTTLS", "starttls", plain, "the server does not offer STARTTLS"},
		{"refuses", "none", refuses, "the mail server answered EHLO with 421 Out of order"},
	} {
		t.Run(c.name, func(t *testing.T) {
			o := runOnce(t, "smtp",
				fields(t, "host", "localhost", "ip_version", "4", "port", c.port, "security", c.security,
					"ca_certificates", a.pem))
			if c.name == "refuses" {
				if !strings.HasPrefix(o.Failure, "the mail server answered EHLO with ") {
					t.Errorf("failure %q", o.Failure)
				}
			} else {
				expectFailure(t, o, c.failure)
			}
			if !o.Answered || c.failure == "" && c.security != "none" && o.CertificateExpiresAt.IsZero() {
				t.Errorf("outcome %+v", o)
			}
		})
	}
	web := webServer(t, false, http.NotFound)
	port := web.Listener.Addr().(*net.TCPAddr).Port
	o := Run(t.Context(), new(Network), probe(t, "smtp", fields(t, "host", "127.0.0.1", "port", port)),
		50*time.Millisecond)
	expectFailure(t, o, "no response from "+web.Listener.Addr().String()+" within 0.05 s")
}

// requireDatabases is the environment variable that, set to 1, makes tests fail instead of skip where a database server
// is not installed.
const requireDatabases = "ALLSWELL_TEST_REQUIRE_DATABASES"

// program returns the path of an installed program.
func program(t *testing.T, name string) string {
	t.Helper()
	for _, path := range []string{name, "/usr/sbin/" + name, "/usr/bin/" + name} {
		if found, err := exec.LookPath(path); err == nil {
			return found
		}
	}
	if os.Getenv(requireDatabases) == "1" {
		t.Fatalf("%s is not installed", name)
	}
	t.Skipf("skipped: %s is not installed", name)
	return ""
}

// await runs a probe until a server that starts answers as expected.
func await(t *testing.T, p Probe, expected func(Outcome) bool) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	for {
		o := Run(ctx, new(Network), p, testTimeout)
		if expected(o) {
			return
		}
		select {
		case <-time.After(20 * time.Millisecond):
		case <-ctx.Done():
			t.Fatalf("the server did not start: %+v", o)
		}
	}
}

// TestRedis checks a real server, with a password and without.
func TestRedis(t *testing.T) {
	bin := program(t, "redis-server")
	port := freeport.Port(t)
	dir := t.TempDir()
	cmd := exec.Command(bin, "--port", strconv.Itoa(port), "--bind", "127.0.0.1", "--dir", dir, "--save", "",
		"--requirepass", "secret")
	startServer(t, cmd)
	p := probe(t, "redis", fields(t, "host", "127.0.0.1", "port", port, "password", "secret"))
	await(t, p, func(o Outcome) bool { return o.Failure == "" && o.Answered })
	expectGood(t, runOnce(t, "redis", fields(t, "host", "127.0.0.1", "port", port)))
	expectGood(t,
		runOnce(t, "redis", fields(t, "host", "127.0.0.1", "port", port, "username", "default", "password", "secret")))
	o := runOnce(t, "redis", fields(t, "host", "127.0.0.1", "port", port, "password", "wrong"))
	expectFailure(t, o, "the server answered with the error WRONGPASS")
	other := answer(t, "*1\r\n$4\r\nPING\r\n", "-LOADING Redis is loading the dataset in memory\r\n")
	expectFailure(t, runOnce(t, "redis", fields(t, "host", "127.0.0.1", "port", other)),
		"the server answered with the error LOADING")
}

// answer answers each connection after it has received a text.
func answer(t *testing.T, after, with string) (port int) {
	t.Helper()
	return acceptEach(t, func(conn *net.TCPConn) {
		reader := bufio.NewReader(conn)
		for range len(after) {
			if _, err := reader.ReadByte(); err != nil {
				return
			}
		}
		fmt.Fprint(conn, with)
	})
}

// startServer starts a program that ends with the test.
func startServer(t *testing.T, cmd *exec.Cmd) {
	t.Helper()
	p, err := subprocess.Start(cmd, "KILL", "")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = p.Signal(os.Kill)
		<-p.Gone()
	})
}

// TestMySQL checks a real server. More checks than a server permits handshakes that do not end (max_connect_errors) do
// not block this host.
func TestMySQL(t *testing.T) {
	t.Parallel()
	port := fromAddress(t, "127.0.0.2", startMariaDB(t)) // the server blocks no loopback address but this
	p := probe(t, "mysql", fields(t, "host", "127.0.0.1", "port", port))
	await(t, p, func(o Outcome) bool { return o.Failure == "" && o.Answered })
	for range 20 {
		expectGood(t, Run(t.Context(), new(Network), p, testTimeout))
	}
	expectGood(t, runOnce(t, "mysql", fields(t, "host", "127.0.0.1", "port", port, "username", "root")))
	o := runOnce(t, "mysql", fields(t, "host", "127.0.0.1", "port", port, "username", "nobody"))
	if !strings.HasPrefix(o.Failure, "the server refused: Access denied for user 'nobody'@") {
		t.Errorf("failure %q", o.Failure)
	}
	for range 10 {
		expectGood(t, runOnce(t, "tcp", fields(t, "host", "127.0.0.1", "port", port)))
		expectGood(t, runOnce(t, "tcp", fields(t, "host", "127.0.0.1", "port", port, "expect", "MariaDB")))
		if !new(Network).Reaches(t.Context(), Target{"127.0.0.1", port}) {
			t.Error("the server is not reached")
		}
	}
	expectGood(t, Run(t.Context(), new(Network), p, testTimeout))
	for range 20 { // clients that connect and leave
		if conn, err := net.Dial("tcp", fmt.Sprint("127.0.0.1:", port)); err == nil {
			_, _ = io.ReadFull(conn, make([]byte, 5))
			conn.Close()
		}
	}
	for _, expect := range []string{"", "MariaDB", "blocked"} {
		o = runOnce(t, "tcp", fields(t, "host", "127.0.0.1", "port", port, "expect", expect))
		const blocked = "the server refused: Host '127.0.0.2' is blocked because of many connection errors"
		if !strings.HasPrefix(o.Failure, blocked) || !o.Answered {
			t.Errorf("after clients that leave, expecting %q: %+v", expect, o)
		}
	}
	o = Run(t.Context(), new(Network), p, testTimeout)
	if !strings.HasPrefix(o.Failure, "the server refused: Host '127.0.0.2' is blocked") {
		t.Errorf("after clients that leave: %+v", o)
	}
}

// startMariaDB starts a server that blocks a client after some connections that leave, and returns its port.
func startMariaDB(t *testing.T) (port int) {
	t.Helper()
	bin, install := program(t, "mariadbd"), program(t, "mariadb-install-db")
	program(t, "my_print_defaults") // which the other needs
	dir := t.TempDir()
	data := filepath.Join(dir, "data")
	owner := []string{}
	if os.Geteuid() == 0 {
		owner = append(owner, "--user=root")
	}
	setup := exec.Command(install,
		append([]string{
			"--no-defaults", "--datadir=" + data, "--auth-root-authentication-method=normal", "--skip-test-db",
			"--innodb-log-file-size=4M",
		}, owner...)...)
	if out, err := setup.CombinedOutput(); err != nil {
		t.Fatalf("mariadb-install-db: %v\n%s", err, out)
	}
	port = freeport.Port(t)
	users := filepath.Join(dir, "users.sql")
	if err := os.WriteFile(users, []byte("CREATE USER root@'%';\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	startServer(t, exec.Command(bin, slices.Concat([]string{
		"--no-defaults", "--datadir=" + data, "--init-file=" + users, "--bind-address=127.0.0.1",
		"--port=" + strconv.Itoa(port),
		"--socket=" + filepath.Join(dir, "socket"), "--pid-file=" + filepath.Join(dir, "pid"), "--max-connect-errors=5",
		"--innodb-flush-log-at-trx-commit=0", "--innodb-log-file-size=4M",
	}, owner)...))
	return port
}

// fromAddress forwards connections to a port of 127.0.0.1, which they reach from another address of this machine.
func fromAddress(t *testing.T, from string, to int) (port int) {
	t.Helper()
	d := net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(from)}}
	return acceptEach(t, func(conn *net.TCPConn) {
		server, err := d.Dial("tcp", fmt.Sprint("127.0.0.1:", to))
		if err != nil {
			_ = conn.SetLinger(0)
			return
		}
		defer server.Close()
		go func() {
			_, _ = io.Copy(conn, server)
			_ = conn.CloseWrite()
		}()
		_, _ = io.Copy(server, conn)
	})
}

// TestGreetings checks what a check of a port does for servers that speak first.
func TestGreetings(t *testing.T) {
	t.Parallel()
	const version = "8.0.36-community-and-some-more\x00"
	for _, c := range []struct {
		name, greeting, expect, failure string
		ends                            bool // the check sends something
	}{
		{"MySQL", "\x4a\x00\x00\x00\x0a" + version + strings.Repeat("x", 0x4a-1-len(version)), "", "", true},
		{"MySQL with a text", "\x4a\x00\x00\x00\x0a" + version + strings.Repeat("x", 0x4a-1-len(version)), "8.0", "",
			true},
		{"half a greeting", "\x4a\x00\x00\x00\x0a8.0.36", "", "", false},
		{"blocked", "\x16\x00\x00\x00\xff\x69\x04Host 'a' is blocked", "",
			"the server refused: Host 'a' is blocked; a check of type mysql does not cause this", false},
		{"too many connections", "\x17\x00\x00\x00\xff\x10\x04Too many connections", "",
			"the server refused: Too many connections", false},
		{"not for this host", "\x0f\x00\x00\x00\xff\x6a\x04not allowed.", "", "", false},
		{"another error", "\x0f\x00\x00\x00\xff\x00\x04not allowed.", "", "", false},
		{"SMTP", "220 mail.example.com ESMTP\r\n", "", "", false},
		{"SSH", "SSH-2.0-OpenSSH_9.9\r\n", "", "", false},
		{"silence", "", "", "", false},
	} {
		t.Run(c.name, func(t *testing.T) {
			sent := make(chan int, 1)
			port := acceptEach(t, func(conn *net.TCPConn) {
				fmt.Fprint(conn, c.greeting)
				if strings.HasPrefix(c.name, "half") {
					_ = conn.CloseWrite()
				}
				n, _ := conn.Read(make([]byte, 1000))
				sent <- n
			})
			o := runOnce(t, "tcp", fields(t, "host", "127.0.0.1", "port", port, "expect", c.expect))
			expectFailure(t, o, c.failure)
			if n := <-sent; n > 0 != c.ends || !o.Answered {
				t.Errorf("%d bytes were sent: %+v", n, o)
			}
		})
	}
}

// TestMySQLGreeting checks answers that a real server does not give to order.
func TestMySQLGreeting(t *testing.T) {
	for name, c := range map[string]struct{ greeting, failure string }{
		"too many connections": {"\x17\x00\x00\x00\xff\x10\x04Too many connections",
			"the server refused: Too many connections"},
		"another protocol": {"HTTP/1.1 400 Bad Request\r\n\r\n" + strings.Repeat("x", 0x505448),
			"the response from %s is not valid"},
		"empty": {"\x00\x00\x00\x00", "the response from %s is not valid"},
	} {
		t.Run(name, func(t *testing.T) {
			port := answer(t, "", c.greeting)
			o := runOnce(t, "mysql", fields(t, "host", "127.0.0.1", "port", port))
			expectFailure(t, o, strings.Replace(c.failure, "%s", fmt.Sprint("127.0.0.1:", port), 1))
		})
	}
}
