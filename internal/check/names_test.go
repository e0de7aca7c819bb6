package check

import (
	"bufio"
	"context"
	"crypto/tls"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/allswell/allswell/internal/domain/monitor"
)

// TestNamesInOtherScripts checks that every host of every type is in ASCII before it is used, and that no type connects
// to an address which is written in another script.
func TestNamesInOtherScripts(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		kind, field string
		url         string // the scheme
		more        map[string]any
	}{
		{"http", "url", "https", nil}, {"http", "proxy", "socks5", map[string]any{"url": "http://a"}},
		{"websocket", "url", "wss", nil},
		{"http", "oauth2_token_url", "https",
			map[string]any{"url": "https://a", "oauth2_client_id": "c", "oauth2_client_secret": "s"}},
		{"tcp", "host", "", map[string]any{"port": 1}}, {"tls", "host", "", nil},
		{"tls", "server_name", "", map[string]any{"host": "a"}},
		{"dns", "host", "", nil}, {"dns", "resolver", "", map[string]any{"host": "a"}}, {"icmp", "host", "", nil},
		{"grpc", "host", "", map[string]any{"port": 1}}, {"smtp", "host", "", nil}, {"postgres", "host", "", nil},
		{"mysql", "host", "", nil},
		{"redis", "host", "", nil},
	} {
		read := func(host string) (string, error) {
			all := map[string]any{c.field: host}
			if c.url != "" {
				all[c.field] = c.url + "://" + host + ":8443/ä?b=ü"
			}
			for name, value := range c.more {
				all[name] = value
			}
			text, err := json.Marshal(all)
			if err != nil {
				t.Fatal(err)
			}
			typ, _ := TypeOf(monitor.MonitorType(c.kind))
			config, _, err := typ.Read(object(t, string(text)))
			return string(config), err
		}
		config, err := read("bücher.example")
		want := "xn--bcher-kva.example"
		if err != nil || !strings.Contains(config, want) ||
			strings.Contains(config, "bücher") || c.url != "" && !strings.Contains(config, want+":8443/ä?b=ü") {
			t.Errorf("%s %s: %s, %v", c.kind, c.field, config, err)
		}
		for _, bad := range []string{
			"bücher\u202e.example", strings.Repeat("ü", 64) + ".example", strings.Repeat("bücher.", 40) + "example",
			"ü／x.example",
		} {
			if config, err := read(bad); err == nil {
				t.Errorf("%s %s: %q is accepted: %s", c.kind, c.field, bad, config)
			}
		}
		for _, never := range []string{"１６９。２５４。１６９。２５４", "169.254.169.２54"} {
			config, err := read(never)
			if err == nil && !(c.kind == "dns" && c.field == "host") && c.field != "server_name" {
				t.Errorf("%s %s: %q is accepted: %s", c.kind, c.field, never, config)
			}
		}
	}
}

// TestNameOnTheWire checks which name the resolver, the web server and the TLS server see.
func TestNameOnTheWire(t *testing.T) {
	t.Parallel()
	names := make(chan string, 2)
	s := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { names <- r.Host }))
	s.TLS = &tls.Config{GetConfigForClient: func(hello *tls.ClientHelloInfo) (*tls.Config, error) {
		names <- hello.ServerName
		return nil, nil
	}}
	s.StartTLS()
	t.Cleanup(s.Close)
	server := nameServer(t, "xn--bcher-kva.example. 60 IN A 127.0.0.1")
	n := &Network{Resolver: &net.Resolver{
		PreferGo: true, Dial: func(ctx context.Context, _, _ string) (net.Conn, error) {
			return new(net.Dialer).DialContext(ctx, "tcp", server)
		},
	}}
	port := s.Listener.Addr().(*net.TCPAddr).Port
	o := Run(t.Context(), n,
		probe(t, "http", fields(t, "url", fmt.Sprintf("https://Bücher.example:%d/", port), "insecure", true)),
		testTimeout)
	expectGood(t, o)
	sni, host := <-names, <-names
	if sni != "xn--bcher-kva.example" || host != fmt.Sprintf("xn--bcher-kva.example:%d", port) {
		t.Errorf("the server sees %q and %q", sni, host)
	}
	o = Run(t.Context(), n,
		probe(t, "http",
			fields(t, "url", s.URL, "insecure", true, "headers", map[string]string{"host": "bücher.example:80"})),
		testTimeout)
	expectGood(t, o)
	if sni, host := <-names, <-names; sni != "" || host != "xn--bcher-kva.example:80" {
		t.Errorf("with a header, the server sees %q and %q", sni, host)
	}
}

// TestHello checks what mail servers are greeted with: a name or an address, and never a name that they cannot look up.
func TestHello(t *testing.T) {
	t.Parallel()
	greetings := make(chan string, 1)
	port := acceptEach(t, func(conn *net.TCPConn) {
		fmt.Fprint(conn, "220 mail.example.com ESMTP\r\n")
		line, _ := bufio.NewReader(conn).ReadString('\n')
		greetings <- line
		fmt.Fprint(conn, "250 hello\r\n")
	})
	for name, want := range map[string]string{
		"status.example.com": "EHLO status.example.com\r\n", "": "EHLO [127.0.0.1]\r\n",
	} {
		n := &Network{Hello: name}
		for _, n := range []*Network{n, n.With(Rules{Discreet: true})} {
			expectGood(t,
				Run(t.Context(), n, probe(t, "smtp", fields(t, "host", "127.0.0.1", "port", port)), testTimeout))
			if got := <-greetings; got != want {
				t.Errorf("greeting as %q: %q", name, got)
			}
		}
	}
}

// TestValuesOfRecords checks that values are compared by value, in any notation.
func TestValuesOfRecords(t *testing.T) {
	t.Parallel()
	server := nameServer(t,
		`a.example. 60 IN AAAA 2001:db8::a`, `m.example. 60 IN AAAA ::ffff:192.0.2.1`,
		`t.example. 60 IN TXT "v=DKIM1; p=AB" "cd\"x\\y"`,
		`u.example. 60 IN TXT "caf\195\169 \240\159\152\128"`, `q.example. 60 IN TXT "\"quoted\""`,
		`c.example. 60 IN CAA 0 issue "letsencrypt.org; validationmethods=dns-01"`,
		`d.example. 60 IN CAA 128 iodef "mailto:a@example.com"`, `s.example. 60 IN SRV 1 02 443 Web.example.`,
		`x.example. 60 IN MX 10 xn--bcher-kva.example.`,
		`o.example. 60 IN MX 0 .`, `z.example. 60 IN SOA ns.example. admin.example. 7 3600 600 86400 60`,
		`e.example. 60 IN TXT ""`, `n.example. 60 IN NS NS1.example.`,
	)
	for _, c := range []struct{ name, kind, good, bad string }{
		{"a", "AAAA", "2001:db8::a", "2001:db8::b"}, {"a", "AAAA", "2001:0DB8:0:0::A", ""},
		{"a", "AAAA", "2001:db8:0:0:0:0:0:000a", ""},
		{"m", "AAAA", "::ffff:192.0.2.1", "::ffff:192.0.2.2"}, {"m", "AAAA", "192.0.2.1", ""},
		{"m", "AAAA", "::ffff:c000:201", ""},
		{"t", "TXT", `v=DKIM1; p=ABcd"x\y`, `v=DKIM1; p=abcd"x\y`},
		{"t", "TXT", `"v=DKIM1; p=AB" "cd\"x\\y"`, `"v=DKIM1; p=AB"`},
		{"t", "TXT", `"v=DKIM1; p=AB"  "cd\"x\092y"`, `v=DKIM1; p=AB`}, {"u", "TXT", "café 😀", "cafe 😀"},
		{"u", "TXT", `"caf\195\169 😀"`, ""},
		{"u", "TXT", `caf\195\169 \240\159\152\128`, ""}, {"q", "TXT", `"quoted"`, "quoted"},
		{"q", "TXT", `"\"quoted\""`, ""}, {"e", "TXT", `""`, "x"},
		{"c", "CAA", `0 issue "letsencrypt.org; validationmethods=dns-01"`, `0 issue "letsencrypt.org"`},
		{"c", "CAA", `00 ISSUE  LetsEncrypt.org;validationmethods=dns-01`, "1 issue letsencrypt.org"},
		{"d", "CAA", "128 iodef mailto:a@example.com", "0 iodef mailto:a@example.com"},
		{"s", "SRV", "1 2 443 web.EXAMPLE", "1 2 44 web.example"},
		{"s", "SRV", "01  2 443 web.example.", ""}, {"x", "MX", "10 bücher.example", "1 bücher.example"},
		{"x", "MX", "10 BÜCHER.example.", ""}, {"o", "MX", "0 .", "0 a"},
		{"z", "SOA", "NS.example admin.example 7 3600 600 86400 60", "ns.example admin.example 8 3600 600 86400 60"},
		{"n", "NS", `"ns1.example."`, "ns2.example"},
	} {
		ask := func(value string) Outcome {
			return runOnce(t, "dns",
				fields(t, "host", c.name+".example", "record_type", c.kind, "resolver", server, "expected_values",
					[]string{value}))
		}
		if o := ask(c.good); o.Failure != "" {
			t.Errorf("%s %s: %s", c.kind, c.good, o.Failure)
		}
		if c.bad != "" {
			if o := ask(c.bad); !strings.HasPrefix(o.Failure, "the answer does not have ") {
				t.Errorf("%s %s: %+v", c.kind, c.bad, o)
			}
		}
	}
}
