package notify

import (
	"context"
	"errors"
	"io"
	"log"
	"net"
	"net/netip"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/allswell/allswell/internal/domain/audience"
	"github.com/allswell/allswell/internal/domain/kernel"
	"github.com/allswell/allswell/internal/shared/addressguard"
	"github.com/allswell/allswell/internal/store"
	"github.com/allswell/allswell/internal/store/storetest"
	"golang.org/x/net/dns/dnsmessage"
)

var webhookNoLog = log.New(io.Discard, "", 0)

// webhookResolver returns a resolver that asks a name server of the test. addresses returns
// the answer: IPv4 addresses, or "servfail".
func webhookResolver(t *testing.T, addresses func(name string) []string) *net.Resolver {
	server, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { server.Close() })
	go func() {
		for packet := make([]byte, 1500); ; {
			n, from, err := server.ReadFrom(packet)
			if err != nil {
				return
			}
			if answer := webhookResolve(packet[:n], addresses); answer != nil {
				_, _ = server.WriteTo(answer, from)
			}
		}
	}()
	return &net.Resolver{PreferGo: true, Dial: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "udp", server.LocalAddr().String())
	}}
}

func webhookResolve(packet []byte, addresses func(string) []string) []byte {
	var m dnsmessage.Message
	if m.Unpack(packet) != nil || len(m.Questions) != 1 {
		return nil
	}
	q := m.Questions[0]
	m.Response, m.Authoritative, m.Additionals = true, true, nil
	for _, text := range addresses(q.Name.String()) {
		if text == "servfail" {
			m.RCode = dnsmessage.RCodeServerFailure
		} else if q.Type == dnsmessage.TypeA {
			m.Answers = append(m.Answers, dnsmessage.Resource{
				Header: dnsmessage.ResourceHeader{Name: q.Name, Type: q.Type, Class: q.Class},
				Body:   &dnsmessage.AResource{A: netip.MustParseAddr(text).As4()},
			})
		}
	}
	answer, _ := m.Pack()
	return answer
}

// webhookNoAnswer is the reason of all attempts without a response.
const webhookNoAnswer = "The webhook gave no HTTP answer. Its name must resolve to a public address, it must answer " +
	"within 10 seconds, and the certificate of an https URL must be valid."

// webhookNotAllowed is the reason of all attempts to a URL with an IP address that is not allowed.
func webhookNotAllowed(address string) string {
	return "The address is not allowed: webhooks may not go to " + address +
		" (ALLSWELL_WEBHOOK_ALLOW_PRIVATE, ALLSWELL_WEBHOOK_DENY)."
}

// guardedHosts are addresses that are not public, in any notation.
var guardedHosts = []string{
	"127.0.0.1", "127.9.9.9", "0.0.0.0", "0.1.2.3", "10.0.0.1", "172.16.0.1", "172.31.255.255", "192.168.0.1",
	"169.254.169.254", "100.64.0.1", "100.100.100.200", "192.0.0.8", "192.0.2.1", "198.18.0.1", "198.51.100.1",
	"203.0.113.1", "224.0.0.1", "239.255.255.250", "240.0.0.1", "255.255.255.255",
	"[::1]", "[::]", "[fe80::1]", "[fe80::1%25lo]", "[fd00::1]", "[fd00:ec2::254]", "[fec0::1]", "[ff02::1]",
	"[::ffff:127.0.0.1]", "[::ffff:10.0.0.1]", "[::ffff:169.254.169.254]", "[::127.0.0.1]",
	"[64:ff9b::7f00:1]", "[64:ff9b::a9fe:a9fe]", "[64:ff9b:1::7f00:1]", "[64:ff9b:1::a9fe:a9fe]", "[2002:7f00:1::]",
	"[2002:a9fe:a9fe::1]", "[2001::1]",
	"[2001:0:7f00:1::1]", "[::ffff:0:7f00:1]", "168.63.129.16", "[::ffff:168.63.129.16]", "192.0.0.192",
	"169.254.170.2", "[2001:db8::1]",
	"localhost", "LOCALHOST", "0x7f000001", "0x7f.0.0.1", "127-0-0-1.example.com",
	// Names of digits are 127.0.0.1 to some resolvers, and no names to others.
	"127.1", "2130706433", "0177.0.0.1", "017700000001", "127.0.0.1.",
}

// TestWebhookGuard checks that no connection is made to an address that is not public, in
// any notation.
func TestWebhookGuard(t *testing.T) {
	address, accepted := serveConnections(t, func(conn net.Conn, _ int) {
		if webhookReadRequest(conn) == nil {
			_, _ = io.WriteString(conn, "HTTP/1.1 204 No Content\r\n\r\n")
		}
	})
	_, port, _ := net.SplitHostPort(address)

	// With the guard off the same target is reached.
	o := webhookSend(t, webhookSender(t), "http://"+address)
	if o.Result != audience.SendAccepted || accepted.Load() != 1 {
		t.Fatalf("outcome without the guard: %+v, %d connections", o, accepted.Load())
	}
	w := newWebhooks(Config{BaseURL: webhookTestBase})
	defer w.close()
	w.dialer.Resolver = webhookResolver(t, func(string) []string { return []string{"127.0.0.1"} })
	for _, host := range guardedHosts {
		for _, scheme := range []string{"http://", "https://"} {
			o := webhookSend(t, w, scheme+host+":"+port)
			digits := strings.Trim(host, "0123456789.") == "" && net.ParseIP(host) == nil
			guarded := strings.Contains(o.Detail, addressguard.ErrRefused.Error())
			want := webhookNoAnswer
			literal, _ := url.PathUnescape(strings.Trim(host, "[]"))
			if _, err := netip.ParseAddr(literal); err == nil {
				want = webhookNotAllowed(literal)
			}
			if refused := w.refusesAddress(scheme+host+":"+port) != nil; refused != (want != webhookNoAnswer) {
				t.Errorf("%s%s: refused beforehand: %t", scheme, host, refused)
			}
			if o.Result != audience.SendFailed || o.Reason != want ||
				!guarded && !(digits && strings.Contains(o.Detail, "no such host")) {
				t.Errorf("%s%s: %+v", scheme, host, o)
			}
		}
	}
	if accepted.Load() != 1 {
		t.Errorf("%d connections", accepted.Load())
	}
	if w.transport.Proxy != nil {
		t.Error("a proxy would bypass the guard")
	}
	for _, public := range []string{"1.1.1.1:443", "172.32.0.1:80", "192.169.0.1:8443", "[2606:4700::1111]:9999"} {
		network := "tcp4"
		if public[0] == '[' {
			network = "tcp6"
		}
		if err := w.dialer.Control(network, public, nil); err != nil {
			t.Error(err)
		}
	}
}

// TestCheckTarget checks which targets are refused before anything is sent to them.
func TestCheckTarget(t *testing.T) {
	t.Parallel()
	st := storetest.Open(t, "sqlite:"+t.TempDir()+"/allswell.db", store.Options{})
	for _, c := range []struct {
		name    string
		config  Config
		channel audience.Channel
		target  string
		want    bool // refused
	}{
		{"private", Config{}, audience.ChannelWebhook, "http://10.0.0.1/", true},
		{"IPv6", Config{}, audience.ChannelWebhook, "https://[fd00::1]:8443/a", true},
		{"mapped", Config{}, audience.ChannelWebhook, "http://[::ffff:192.168.0.1]/", true},
		{"public", Config{}, audience.ChannelWebhook, "http://1.1.1.1/", false},
		{"a name", Config{}, audience.ChannelWebhook, "http://localhost/", true},
		{"a name that is allowed", Config{AllowPrivate: true}, audience.ChannelWebhook, "http://localhost/", false},
		{"private ones are allowed", Config{AllowPrivate: true}, audience.ChannelWebhook, "http://10.0.0.1/", false},
		{"denied", Config{AllowPrivate: true, Deny: []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8")}},
			audience.ChannelWebhook, "http://10.0.0.1/", true},
		{"mail", Config{}, audience.ChannelEmail, "a@example.com", false},
	} {
		c.config.Store = st
		err := New(c.config).CheckTarget(t.Context(), c.channel, c.target)
		var invalid *kernel.ValidationError
		if (err != nil) != c.want ||
			err != nil && (!errors.As(err, &invalid) || len(invalid.Messages()["target"]) != 1) {
			t.Errorf("%s: %v", c.name, err)
		}
	}
}

// TestRefusedNames checks that a name is refused if it has only addresses that are.
func TestRefusedNames(t *testing.T) {
	w := newWebhooks(Config{BaseURL: webhookTestBase})
	defer w.close()
	w.dialer.Resolver = webhookResolver(t, func(name string) []string {
		return map[string][]string{
			"private.test.": {"10.0.0.1", "127.0.0.1"}, "public.test.": {"93.184.215.14"},
			"mixed.test.": {"10.0.0.1", "93.184.215.14"},
		}[strings.TrimSuffix(name, ".")+"."]
	})
	for host, want := range map[string]bool{
		"private.test": true, "public.test": false, "mixed.test": false, "none.test": false, "10.0.0.1": true,
		"1.1.1.1": false,
	} {
		err := w.refuses(t.Context(), "https://"+host+":8443/hook")
		if (err != nil) != want ||
			err != nil && strings.Contains(strings.ReplaceAll(err.Error(), host, ""), "10.0.0.1") {
			t.Errorf("%s: %v", host, err)
		}
	}
}

// TestWebhookGuardRebinding checks a name that resolves to a public address first and to
// a private one when it is called.
func TestWebhookGuardRebinding(t *testing.T) {
	address, accepted := serveConnections(t, func(net.Conn, int) {})
	_, port, _ := net.SplitHostPort(address)
	var asked atomic.Int32
	w := newWebhooks(Config{BaseURL: webhookTestBase})
	defer w.close()
	w.dialer.Resolver = webhookResolver(t, func(string) []string {
		if asked.Add(1) == 1 {
			return []string{"93.184.215.14"}
		}
		return []string{"127.0.0.1", "10.0.0.1"}
	})
	ctx, cancel := context.WithTimeout(t.Context(), testTimeout)
	defer cancel()
	first, err := w.dialer.Resolver.LookupNetIP(ctx, "ip4", "rebind.test")
	if err != nil || len(first) != 1 ||
		w.dialer.Control("tcp4", net.JoinHostPort(first[0].String(), port), nil) != nil {
		t.Fatalf("first lookup: %+v, %v", first, err)
	}
	o := webhookSend(t, w, "http://rebind.test:"+port)
	if o.Result != audience.SendFailed || o.Reason != webhookNoAnswer ||
		!strings.Contains(o.Detail, addressguard.ErrRefused.Error()) {
		t.Errorf("outcome after the rebinding: %+v", o)
	}
	if asked.Load() < 2 || accepted.Load() != 0 {
		t.Errorf("%d lookups, %d connections", asked.Load(), accepted.Load())
	}
}
