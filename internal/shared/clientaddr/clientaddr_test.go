package clientaddr

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"slices"
	"strings"
	"testing"
)

// throughProxies returns the address that a handler behind the middleware sees,
// and whether it would exempt the request from the limit of pings.
func throughProxies(c *Resolver, remote string, h http.Header) (seen string, exempt bool) {
	next := http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { seen, exempt = r.RemoteAddr, c.Exempt(r) })
	c.Middleware(next).ServeHTTP(httptest.NewRecorder(), &http.Request{RemoteAddr: remote, Header: h.Clone()})
	return seen, exempt
}

func mustNetworks(t testing.TB, list string) []netip.Prefix {
	t.Helper()
	networks, err := ParseNetworks(list)
	if err != nil {
		t.Fatal(err)
	}
	return networks
}

const proxyPeer = "10.0.0.1:4000"

func forwardedFor(lines ...string) http.Header { return http.Header{"X-Forwarded-For": lines} }

func forwarded(lines ...string) http.Header { return http.Header{"Forwarded": lines} }

// clientAddresses are requests, and the address of the client of each if 10.0.0.0/8 and fd00::/8 are trusted proxies.
// The header of the resolver is the one with which a name begins, or else X-Forwarded-For.
var clientAddresses = map[string]struct {
	remote string
	header http.Header
	want   string
}{
	"no headers":                   {proxyPeer, nil, proxyPeer},
	"one proxy":                    {proxyPeer, forwardedFor("192.0.2.1"), "192.0.2.1:0"},
	"the client's own entry":       {proxyPeer, forwardedFor("1.1.1.1, 192.0.2.1"), "192.0.2.1:0"},
	"the client's own line":        {proxyPeer, forwardedFor("1.1.1.1", "192.0.2.1"), "192.0.2.1:0"},
	"two proxies":                  {proxyPeer, forwardedFor("1.1.1.1,192.0.2.1 ,\t10.2.3.4"), "192.0.2.1:0"},
	"two proxies, two lines":       {proxyPeer, forwardedFor("1.1.1.1,192.0.2.1", "10.2.3.4"), "192.0.2.1:0"},
	"proxies only":                 {proxyPeer, forwardedFor("10.9.9.9, 10.2.3.4"), "10.9.9.9:0"},
	"with a port":                  {proxyPeer, forwardedFor("192.0.2.1:5678"), "192.0.2.1:5678"},
	"IPv6":                         {proxyPeer, forwardedFor("2001:db8::1"), "[2001:db8::1]:0"},
	"IPv6 in brackets":             {proxyPeer, forwardedFor("[2001:db8::1]"), "[2001:db8::1]:0"},
	"IPv6 in brackets with a port": {proxyPeer, forwardedFor("[2001:db8::1]:443"), "[2001:db8::1]:443"},
	"IPv6 with a zone":             {proxyPeer, forwardedFor("fe80::1%eth0"), "[fe80::1]:0"},
	"IPv4 written as IPv6":         {proxyPeer, forwardedFor("::ffff:192.0.2.1"), "192.0.2.1:0"},
	"a proxy written as IPv6":      {proxyPeer, forwardedFor("192.0.2.1, ::ffff:10.0.0.7"), "192.0.2.1:0"},
	"the peer written as IPv6":     {"[::ffff:10.0.0.1]:4000", forwardedFor("192.0.2.1"), "192.0.2.1:0"},
	"an IPv6 peer":                 {"[fd00::5]:4000", forwardedFor("192.0.2.1"), "192.0.2.1:0"},
	"an IPv6 peer with a zone":     {"[fd00::5%eth0]:4000", forwardedFor("192.0.2.1"), "192.0.2.1:0"},
	"a peer that is not trusted":   {"192.0.2.9:4000", forwardedFor("1.1.1.1"), "192.0.2.9:4000"},
	"a peer without an address":    {"@", forwardedFor("1.1.1.1"), "@"},
	"malformed":                    {proxyPeer, forwardedFor("1.1.1.1, nonsense"), proxyPeer},
	"malformed behind a proxy":     {proxyPeer, forwardedFor("1.1.1.1, nonsense, 10.2.3.4"), "10.2.3.4:0"},
	"malformed beyond the client":  {proxyPeer, forwardedFor("nonsense, 192.0.2.1"), "192.0.2.1:0"},
	"an empty line":                {proxyPeer, forwardedFor(""), proxyPeer},
	"an empty last line":           {proxyPeer, forwardedFor("1.1.1.1", ""), proxyPeer},
	"an empty entry":               {proxyPeer, forwardedFor("1.1.1.1, "), proxyPeer},
	"a bad port":                   {proxyPeer, forwardedFor("192.0.2.1:99999"), proxyPeer},
	"a bad port in brackets":       {proxyPeer, forwardedFor("[2001:db8::1]:x"), proxyPeer},
	"IPv4 in brackets":             {proxyPeer, forwardedFor("[192.0.2.1]"), proxyPeer},
	"half a bracket":               {proxyPeer, forwardedFor("[2001:db8::1"), proxyPeer},
	"leading zeros":                {proxyPeer, forwardedFor("192.0.2.010"), proxyPeer},
	"a name":                       {proxyPeer, forwardedFor("localhost"), proxyPeer},
	"a very long zone":             {proxyPeer, forwardedFor("fe80::1%" + strings.Repeat("z", 1<<20)), proxyPeer},
	"a megabyte of entries": {proxyPeer, forwardedFor(strings.Repeat("1.1.1.1,", 1<<17) + "192.0.2.1"),
		"192.0.2.1:0"},
	"a megabyte of commas": {proxyPeer, forwardedFor(strings.Repeat(",", 1<<20)), proxyPeer},
	"a loop of proxies": {proxyPeer, forwardedFor("192.0.2.1" + strings.Repeat(",10.0.0.2", maxHops)),
		"10.0.0.2:0"},
	"the maximum number of proxies": {proxyPeer, forwardedFor("192.0.2.1" + strings.Repeat(",10.0.0.2", maxHops-1)),
		"192.0.2.1:0"},
	"a thousand lines": {proxyPeer,
		forwardedFor(append(slices.Repeat([]string{"1.1.1.1"}, 1000), "192.0.2.1")...), "192.0.2.1:0"},
	"Forwarded":             {proxyPeer, forwarded("for=192.0.2.1"), "192.0.2.1:0"},
	"Forwarded in capitals": {proxyPeer, forwarded("FOR=192.0.2.1;Proto=https"), "192.0.2.1:0"},
	"Forwarded, all parameters": {proxyPeer,
		forwarded(`by=10.0.0.1; for=192.0.2.1 ;host="example.com:80";proto=https`), "192.0.2.1:0"},
	"Forwarded, IPv6":                  {proxyPeer, forwarded(`for="[2001:db8::1]:4711"`), "[2001:db8::1]:4711"},
	"Forwarded, a port without quotes": {proxyPeer, forwarded(`for=192.0.2.1:80`), "192.0.2.1:80"},
	"Forwarded, several": {proxyPeer, forwarded(`for=1.1.1.1, for=192.0.2.1`, `for=10.1.1.1;by=10.0.0.1`),
		"192.0.2.1:0"},
	"Forwarded, escaped":           {proxyPeer, forwarded(`for="192.0.2\.1"`), "192.0.2.1:0"},
	"Forwarded, a comma in quotes": {proxyPeer, forwarded(`for=192.0.2.1;host="a, for=1.1.1.1"`), "192.0.2.1:0"},
	"Forwarded, unknown":           {proxyPeer, forwarded(`for=1.1.1.1, for=unknown`), proxyPeer},
	"Forwarded, hidden": {proxyPeer, forwarded(`for=1.1.1.1, for=_hidden, for=10.1.1.1`),
		"10.1.1.1:0"},
	"Forwarded without for":              {proxyPeer, forwarded(`for=1.1.1.1, proto=https`), proxyPeer},
	"Forwarded, for twice":               {proxyPeer, forwarded(`for=192.0.2.1;for=1.1.1.1`), proxyPeer},
	"Forwarded, an open quote before":    {proxyPeer, forwarded(`for=1.1.1.1;x=", for=192.0.2.1`), proxyPeer},
	"Forwarded, a quote across entries":  {proxyPeer, forwarded(`for=1.1.1.1;x=", for="[2001:db8::1]"`), proxyPeer},
	"Forwarded, an escape at the end":    {proxyPeer, forwarded(`for="192.0.2.1\`), proxyPeer},
	"Forwarded, an open quote elsewhere": {proxyPeer, forwarded(`for=1.1.1.1;x="`, `for=192.0.2.1`), "192.0.2.1:0"},
	"Forwarded, empty":                   {proxyPeer, forwarded(""), proxyPeer},
	"Forwarded, no value":                {proxyPeer, forwarded("for="), proxyPeer},
	"Forwarded, no name":                 {proxyPeer, forwarded("=192.0.2.1"), proxyPeer},
	"Forwarded, a megabyte": {proxyPeer, forwarded(strings.Repeat("for=1.1.1.1,", 1<<17) + "for=192.0.2.1"),
		proxyPeer},
	"another header, forged": {proxyPeer, http.Header{"X-Forwarded-For": {"192.0.2.1"}, "Forwarded": {"for=1.1.1.1"}},
		"192.0.2.1:0"},
	"other headers only": {proxyPeer,
		http.Header{"X-Real-Ip": {"1.1.1.1"}, "Forwarded": {"for=1.1.1.1"}, "Cf-Connecting-Ip": {"1.1.1.1"}},
		proxyPeer},
	"X-Real-IP": {proxyPeer, http.Header{"X-Real-Ip": {"192.0.2.1"}, "X-Forwarded-For": {"1.1.1.1"}},
		"192.0.2.1:0"},
	"X-Real-IP, a proxy's":   {proxyPeer, http.Header{"X-Real-Ip": {" 10.2.3.4"}}, "10.2.3.4:0"},
	"X-Real-IP, two lines":   {proxyPeer, http.Header{"X-Real-Ip": {"1.1.1.1", "192.0.2.1"}}, proxyPeer},
	"X-Real-IP, a list":      {proxyPeer, http.Header{"X-Real-Ip": {"1.1.1.1, 192.0.2.1"}}, proxyPeer},
	"X-Real-IP, empty":       {proxyPeer, http.Header{"X-Real-Ip": {""}}, proxyPeer},
	"CF-Connecting-IP, IPv6": {proxyPeer, http.Header{"Cf-Connecting-Ip": {"2001:db8::1"}}, "[2001:db8::1]:0"},
}

func TestClientAddress(t *testing.T) {
	for name, c := range clientAddresses {
		t.Run(name, func(t *testing.T) {
			cfg := Config{Trusted: mustNetworks(t, "10.0.0.0/8, fd00::/8")}
			for _, header := range headers {
				if strings.HasPrefix(name, header.name) {
					cfg.Header = header.name
				}
			}
			if got, _ := throughProxies(NewResolver(cfg), c.remote, c.header); got != c.want {
				t.Errorf("client address %s, want %s", got, c.want)
			}
			cfg.Trusted = nil
			if got, _ := throughProxies(NewResolver(cfg), c.remote, c.header); got != c.remote {
				t.Errorf("without trusted proxies: got %s, want %s", got, c.remote)
			}
		})
	}
}

// TestExemptClients checks that a client is exempt only if no header contradicts it. The proxy and a
// network of clients are exempt.
func TestExemptClients(t *testing.T) {
	const proxy = "10.0.0.1:4000"
	for name, c := range map[string]struct {
		remote string
		header http.Header
		want   bool
	}{
		"a job beside the proxy":     {proxy, nil, true},
		"an exempt client":           {proxy, http.Header{"X-Forwarded-For": {"1.1.1.1, 192.0.2.1"}}, true},
		"another client":             {proxy, http.Header{"X-Forwarded-For": {"192.0.2.1, 1.1.1.1"}}, false},
		"an exempt client, directly": {"192.0.2.1:5000", nil, true},
		"headers sent by a client": {"192.0.2.1:5000",
			http.Header{"X-Forwarded-For": {"1.1.1.1"}, "Forwarded": {"for=x"}}, true},
		"a forged exempt address": {"1.1.1.1:5000", http.Header{"X-Forwarded-For": {"192.0.2.1"}}, false},
		"another header agrees": {proxy,
			http.Header{"X-Forwarded-For": {"192.0.2.1"}, "Forwarded": {"for=192.0.2.1:99"}}, true},
		"another header disagrees": {proxy,
			http.Header{"X-Forwarded-For": {"192.0.2.1"}, "Forwarded": {"for=1.1.1.1"}}, false},
		"another header alone": {proxy, http.Header{"X-Real-Ip": {"1.1.1.1"}}, false},
		"another header names a proxy": {proxy,
			http.Header{"X-Forwarded-For": {"192.0.2.1, 10.2.2.2"}, "X-Real-Ip": {"10.2.2.2"}}, true},
		"another header is malformed": {proxy,
			http.Header{"X-Forwarded-For": {"192.0.2.1"}, "Forwarded": {"for=unknown"}}, false},
		"the configured header is malformed": {proxy, http.Header{"X-Forwarded-For": {"nonsense"}}, false},
		"an empty header":                    {proxy, http.Header{"X-Forwarded-For": {""}}, false},
		"too many proxies": {proxy,
			http.Header{"X-Forwarded-For": {"1.1.1.1" + strings.Repeat(",10.0.0.2", maxHops)}}, false},
	} {
		t.Run(name, func(t *testing.T) {
			cfg := Config{Trusted: mustNetworks(t, "10.0.0.0/8"), Exempt: mustNetworks(t, "10.0.0.0/8, 192.0.2.0/24")}
			if _, got := throughProxies(NewResolver(cfg), c.remote, c.header); got != c.want {
				t.Errorf("exempt: %t, want %t", got, c.want)
			}
		})
	}
	cfg := Config{Exempt: mustNetworks(t, "192.0.2.0/24")}
	if _, got := throughProxies(NewResolver(cfg), "192.0.2.1:5000", http.Header{"Forwarded": {"for=1.1.1.1"}}); !got {
		t.Error("a header is used without trusted proxies")
	}
}

// TestForgedHeadersOverTheWire sends forged headers to a real server.
func TestForgedHeadersOverTheWire(t *testing.T) {
	for name, c := range map[string]struct{ trusted, want string }{
		"a stranger":      {"10.0.0.0/8", "127.0.0.1"},
		"a trusted proxy": {"127.0.0.1", "192.0.2.7"},
	} {
		t.Run(name, func(t *testing.T) {
			echo := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				host, _, err := net.SplitHostPort(r.RemoteAddr)
				if err != nil {
					t.Error(err)
				}
				io.WriteString(w, host)
			})
			server := httptest.NewServer(NewResolver(Config{Trusted: mustNetworks(t, c.trusted)}).Middleware(echo))
			defer server.Close()
			conn, err := net.Dial("tcp", server.Listener.Addr().String())
			if err != nil {
				t.Fatal(err)
			}
			defer conn.Close()
			io.WriteString(conn,
				"GET / HTTP/1.1\r\nHost: a\r\nx-forwarded-for: 1.1.1.1\r\nX-FORWARDED-FOR:\t192.0.2.7 \r\n\r\n")
			res, err := http.ReadResponse(bufio.NewReader(conn), nil)
			if err != nil {
				t.Fatal(err)
			}
			defer res.Body.Close()
			if got, err := io.ReadAll(res.Body); err != nil || string(got) != c.want {
				t.Errorf("client address %q, %v; want %s", got, err, c.want)
			}
		})
	}
}

func TestParseNetworks(t *testing.T) {
	for list, want := range map[string]string{
		"":                                "[]",
		"  ":                              "[]",
		"192.0.2.1":                       "[192.0.2.1/32]",
		"10.0.0.0/8, 2001:db8::1":         "[10.0.0.0/8 2001:db8::1/128]",
		" 10.1.2.3/8\t,fd00::/8 ":         "[10.0.0.0/8 fd00::/8]",
		"::ffff:192.0.2.1":                "[192.0.2.1/32]",
		"0.0.0.0/0,::/0":                  "[0.0.0.0/0 ::/0]",
		"::ffff:10.0.0.0/104,127.0.0.1/8": "[10.0.0.0/8 127.0.0.0/8]",
	} {
		got, err := ParseNetworks(list)
		if err != nil {
			t.Errorf("ParseNetworks(%q): %v", list, err)
			continue
		}
		var words []string
		for _, p := range got {
			words = append(words, p.String())
		}
		if text := "[" + strings.Join(words, " ") + "]"; text != want {
			t.Errorf("ParseNetworks(%q) = %s, want %s", list, text, want)
		}
	}
	for list, bad := range map[string]string{
		"10.0.0.0/8,":                 "",
		",10.0.0.0/8":                 "",
		"10.0.0.0/8, example.com":     "example.com",
		"10.0.0.0/33":                 "10.0.0.0/33",
		"10.0.0.1:80":                 "10.0.0.1:80",
		"10.0.0.0/8 10.1.0.0/16":      "10.0.0.0/8 10.1.0.0/16",
		"fe80::1%eth0":                "fe80::1%eth0",
		"fe80::%eth0/64":              "fe80::%eth0/64",
		"::ffff:0:0/90":               "::ffff:0:0/90",
		"[::1]":                       "[::1]",
		"192.0.2.1, 10.0.0/8, nobody": "10.0.0/8",
	} {
		_, err := ParseNetworks(list)
		want := fmt.Sprintf("%q is neither an address nor a network", bad)
		if err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("ParseNetworks(%q) returns the error %v, want %s", list, err, want)
		}
	}
}

// FuzzClientAddress lets the client send any headers, and its proxy add the client's address to the
// configured one. The result is the client or, if the header is malformed, the proxy. It is never a
// different client, and never exempt.
func FuzzClientAddress(f *testing.F) {
	for _, s := range []string{
		"", "1.1.1.1", "1.1.1.1, 10.0.0.9", "for=1.1.1.1", `for="`, `for="[::1]`, `for=1.1.1.1;x="`,
		"for=10.0.0.3, for=1.1.1.1", "\\\"", ",,,", "[::", "%", ";", "=",
	} {
		f.Add(s, s, true)
		f.Add(s, "", false)
		f.Add("", s, false)
	}
	f.Add("10.0.0.1", "0", true)
	trusted, exempt := mustNetworks(f, "10.0.0.0/8"), mustNetworks(f, "10.0.0.0/8, 203.0.113.0/24")
	f.Fuzz(func(t *testing.T, plain, standard string, sameLine bool) {
		const proxy, client, stranger = "10.0.0.1:4000", "192.0.2.1", "203.0.113.9:4000"
		forged := http.Header{}
		if plain != "" {
			forged["X-Forwarded-For"] = []string{plain}
		}
		if standard != "" {
			forged["Forwarded"] = []string{standard}
		}
		cfg := Config{Trusted: trusted}
		if got, _ := throughProxies(NewResolver(cfg), stranger, forged); got != stranger {
			t.Fatalf("the client became %s", got)
		}
		cfg.Exempt = exempt
		for key, node := range map[string]string{
			"X-Forwarded-For": client,
			"Forwarded":       "for=" + client + ";proto=https",
		} {
			h := forged.Clone()
			switch had := h[key]; {
			case len(had) > 0 && sameLine:
				h[key] = []string{had[0] + ", " + node}
			default:
				h[key] = append(had, node)
			}
			cfg.Header = key
			got, isExempt := throughProxies(NewResolver(cfg), proxy, h)
			if isExempt {
				t.Fatalf("%s added to %s: the client is exempt as %s", node, key, got)
			}
			addr, err := netip.ParseAddrPort(got)
			if err != nil {
				t.Fatalf("the client address %s cannot be parsed: %v", got, err)
			}
			// The address of the proxy counts if the header is malformed.
			if a := addr.Addr().String(); a != client && a != "10.0.0.1" {
				t.Fatalf("%s added to %s: the client became %s", node, key, got)
			}
		}
	})
}

func TestOf(t *testing.T) {
	for remote, want := range map[string]string{
		"192.0.2.1:80": "192.0.2.1", "192.0.2.1": "192.0.2.1", "[::ffff:192.0.2.1]:80": "192.0.2.1",
		"[2001:db8::1]:80": "2001:db8::1", "2001:db8::1": "2001:db8::1", "[fe80::1%eth0]:80": "fe80::1",
		"@": "invalid IP", "": "invalid IP", "nonsense:80": "invalid IP",
	} {
		if got := Of(&http.Request{RemoteAddr: remote}).String(); got != want {
			t.Errorf("the address of %q is %s, want %s", remote, got, want)
		}
	}
}
