package check

import (
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/miekg/dns"
)

// TestFaultsOfThisMachine checks which errors of the operating system say nothing about the target.
func TestFaultsOfThisMachine(t *testing.T) {
	for number, own := range map[syscall.Errno]bool{
		syscall.EMFILE: true, syscall.ENFILE: true, syscall.EADDRNOTAVAIL: true, syscall.ENOBUFS: true,
		syscall.ENOMEM: true, syscall.EACCES: true, syscall.EPERM: true,
		syscall.ECONNREFUSED: false, syscall.ECONNRESET: false, syscall.EHOSTUNREACH: false, syscall.ENETUNREACH: false,
		syscall.ETIMEDOUT: false,
	} {
		r := &run{network: new(Network), timeout: testTimeout, stage: stageConnecting, address: "192.0.2.1:80"}
		o := r.fail(&net.OpError{Op: "dial", Err: os.NewSyscallError("connect", number)})
		if o.Unknown != own || o.Failure == "" {
			t.Errorf("%v: unknown %t, %q", number, o.Unknown, o.Failure)
		}
	}
}

// TestFailingNameServers: a name server that the check names has answered with SERVFAIL. This machine's own one may say
// so because it has no network, so it has not.
func TestFailingNameServers(t *testing.T) {
	server, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { server.Close() })
	go func() {
		for packet := make([]byte, dnsUDPSize); ; {
			size, from, err := server.ReadFrom(packet)
			if err != nil {
				return
			}
			query := new(dns.Msg)
			if query.Unpack(packet[:size]) != nil {
				continue
			}
			answer := new(dns.Msg).SetRcode(query, dns.RcodeServerFailure)
			if query.Question[0].Name == "none.example.com." {
				answer.Rcode = dns.RcodeNameError
			}
			text, _ := answer.Pack()
			_, _ = server.WriteTo(text, from)
		}
	}()
	address := server.LocalAddr().String()
	own, named := new(Network), []any{"resolver", address}
	own.nameServer = address
	for _, c := range []struct {
		name     string
		resolver []any
		answered bool
	}{
		{"www.example.com", named, true}, {"www.example.com", nil, false}, {"none.example.com", named, true},
		{"none.example.com", nil, true},
	} {
		o := Run(t.Context(), own, probe(t, "dns", fields(t, append([]any{"host", c.name}, c.resolver...)...)),
			testTimeout)
		if o.Failure == "" || o.Answered != c.answered {
			t.Errorf("%s of %v: %+v", c.name, c.resolver, o)
		}
	}
}

// TestProxyFailsAfterARedirect: the target has answered through the proxy, and then the proxy does not lead to where it
// redirects.
func TestProxyFailsAfterARedirect(t *testing.T) {
	target := webServer(t, true, func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, "https://elsewhere.example/", http.StatusFound)
	})
	var connected atomic.Bool
	proxy := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		first := connected.CompareAndSwap(false, true)
		if first {
			w.WriteHeader(http.StatusOK)
		}
		from, sent, err := http.NewResponseController(w).Hijack()
		if err != nil {
			return
		}
		defer from.Close()
		if !first {
			fmt.Fprint(from, "SSH-2.0\r\n\r\n")
			return
		}
		to, err := net.Dial("tcp", target.Listener.Addr().String())
		if err != nil {
			return
		}
		relay(to, sent, from)
	}))
	t.Cleanup(proxy.Close)
	o := runOnce(t, "http", fields(t, "url", "https://hidden.example/", "insecure", true, "proxy", proxy.URL))
	expectFailure(t, o,
		strings.TrimPrefix(proxy.URL, "http://")+` (the proxy) does not speak HTTP: its answer begins with "SSH-2.0"`)
}

// TestCookiesOfPublicSuffixes checks to whom a check sends the cookie that a redirect has set.
func TestCookiesOfPublicSuffixes(t *testing.T) {
	for domain, want := range map[string]map[string]bool{
		"":              {"shop.example.co.uk": true, "www.example.co.uk": false, "other.co.uk": false},
		"example.co.uk": {"shop.example.co.uk": true, "www.example.co.uk": true, "other.co.uk": false},
		"co.uk":         {"shop.example.co.uk": false, "www.example.co.uk": false, "other.co.uk": false},
		"other.co.uk":   {"shop.example.co.uk": false, "www.example.co.uk": false, "other.co.uk": false},
	} {
		jar := newJar()
		jar.SetCookies(&url.URL{Scheme: "https", Host: "shop.example.co.uk"}, []*http.Cookie{
			{Name: "session", Value: "1", Domain: domain},
		})
		for host, sent := range want {
			if got := len(jar.Cookies(&url.URL{Scheme: "https", Host: host})) > 0; got != sent {
				t.Errorf("a cookie of shop.example.co.uk for %q: %s gets it %t", domain, host, got)
			}
		}
	}
}

// TestRefusedConnectionsOfMySQL checks which refusals show that a server works: refusals of a user that the check does
// not name.
func TestRefusedConnectionsOfMySQL(t *testing.T) {
	for code, works := range map[uint16]bool{
		1044: true, 1045: true, 1251: true, 1698: true, 3159: true, // no permission, or another way to sign in
		1040: false, 1129: false, 1053: false, // too many connections, a blocked host, a shutdown
	} {
		for _, user := range []string{"", "app"} {
			refusal := append(binary.LittleEndian.AppendUint16([]byte{mysqlError}, code), "#28000no"...)
			conn := struct {
				io.Reader
				io.Writer
			}{strings.NewReader(string(mysqlPacket(2, refusal))), io.Discard}
			o := (&mysqlProbe{Username: user}).signInAs(&run{network: new(Network)}, conn)
			if good := works && user == ""; !o.Answered || (o.Failure == "") != good {
				t.Errorf("error %d to user %q: %+v", code, user, o)
			}
		}
	}
}

// TestWebSocketsFollowNoRedirect: what a check sends is for its URL only.
func TestWebSocketsFollowNoRedirect(t *testing.T) {
	var asked atomic.Bool
	other := webServer(t, false, func(http.ResponseWriter, *http.Request) { asked.Store(true) })
	s := webServer(t, false, func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, other.URL, http.StatusTemporaryRedirect)
	})
	o := runOnce(t, "websocket",
		fields(t, "url", "ws"+strings.TrimPrefix(s.URL, "http"), "secret_headers", map[string]string{"X-Key": "k"}))
	if expectFailure(t, o, "HTTP 307 (expected 101)"); asked.Load() {
		t.Error("another server was asked")
	}
}

// TestTimeOfAStream: how long a check listens to a stream without an end says nothing about the target.
func TestTimeOfAStream(t *testing.T) {
	body, server := io.Pipe() // it says nothing
	defer server.Close()
	r := &run{network: new(Network), timeout: 1}
	response := &http.Response{Header: http.Header{"Content-Type": {"text/event-stream"}}, Body: body}
	b, err := (&httpProbe{MaxBodySize: 100}).receive(t.Context(), r, response, true)
	if err != nil || len(b.Raw) != 0 || r.before <= 0 {
		t.Errorf("received %q, %v, waited %v", b.Raw, err, r.before)
	}
}
