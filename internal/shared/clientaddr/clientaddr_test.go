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

func TestClientAddress(t *testing.T) {
	const proxy = "10.0.0.1:4000"
	xff := func(lines ...string) http.Header { return http.Header{"X-Forwarded-For": lines} }
	fwd := func(lines ...string) http.Header { return http.Header{"Forwarded": lines} }
	for name, c := range map[string]struct {
		remote string
		header http.Header
		want   string
	}{
		"no headers":                   {proxy, nil, proxy},
		"one proxy":                    {proxy, xff("192.0.2.1"), "192.0.2.1:0"},
		"the client's own entry":       {proxy, xff("1.1.1.1, 192.0.2.1"), "192.0.2.1:0"},
		"the client's own line":        {proxy, xff("1.1.1.1", "192.0.2.1"), "192.0.2.1:0"},
		"two proxies":                  {proxy, xff("1.1.1.1,192.0.2.1 ,\t10.2.3.4"), "192.0.2.1:0"},
		"two proxies, two lines":       {proxy, xff("1.1.1.1,192.0.2.1", "10.2.3.4"), "192.0.2.1:0"},
		"proxies only":                 {proxy, xff("10.9.9.9, 10.2.3.4"), "10.9.9.9:0"},
		"with a port":                  {proxy, xff("192.0.2.1:5678"), "192.0.2.1:5678"},
		"IPv6":                         {proxy, xff("2001:db8::1"), "[2001:db8::1]:0"},
		"IPv6 in brackets":             {proxy, xff("[2001:db8::1]"), "[2001:db8::1]:0"},
		"IPv6 in brackets with a port": {proxy, xff("[2001:db8::1]:443"), "[2001:db8::1]:443"},
		"IPv6 with a zone":             {proxy, xff("fe80::1%eth0"), "[fe80::1]:0"},
		"IPv4 written as IPv6":         {proxy, xff("::ffff:192.0.2.1"), "192.0.2.1:0"},
		"a proxy written as IPv6":      {proxy, xff("192.0.2.1, ::ffff:10.0.0.7"), "192.0.2.1:0"},
		"the peer written as IPv6":     {"[::ffff:10.0.0.1]:4000", xff("192.0.2.1"), "192.0.2.1:0"},
		"an IPv6 peer":                 {"[fd00::5]:4000", xff("192.0.2.1"), "192.0.2.1:0"},
		"an IPv6 peer with a zone":     {"[fd00::5%eth0]:4000", xff("192.0.2.1"), "192.0.2.1:0"},
		"a peer that is not trusted":   {"192.0.2.9:4000", xff("1.1.1.1"), "192.0.2.9:4000"},
		"a peer without an address":    {"@", xff("1.1.1.1"), "@"},
		"malformed":                    {proxy, xff("1.1.1.1, nonsense"), proxy},
		"malformed behind a proxy":     {proxy, xff("1.1.1.1, nonsense, 10.2.3.4"), "10.2.3.4:0"},
		"malformed beyond the client":  {proxy, xff("nonsense, 192.0.2.1"), "192.0.2.1:0"},
		"an empty line":                {proxy, xff(""), proxy},
		"an empty last line":           {proxy, xff("1.1.1.1", ""), proxy},
		"an empty entry":               {proxy, xff("1.1.1.1, "), proxy},
		"a bad port":                   {proxy, xff("192.0.2.1:99999"), proxy},
		"a bad port in brackets":       {proxy, xff("[2001:db8::1]:x"), proxy},
		"IPv4 in brackets":             {proxy, xff("[192.0.2.1]"), proxy},
		"half a bracket":               {proxy, xff("[2001:db8::1"), proxy},
		"leading zeros":                {proxy, xff("192.0.2.010"), proxy},
		"a name":                       {proxy, xff("localhost"), proxy},
		"a very long zone":             {proxy, xff("fe80::1%" + strings.Repeat("z", 1<<20)), proxy},
		"a megabyte of entries": {proxy, xff(strings.Repeat("1.1.1.1,", 1<<17) + "192.0.2.1"),
			"192.0.2.1:0"},
		"a megabyte of commas": {proxy, xff(strings.Repeat(",", 1<<20)), proxy},
		"a loop of proxies": {proxy, xff("192.0.2.1" + strings.Repeat(",10.0.0.2", maxHops)),
			"10.0.0.2:0"},
		"the maximum number of proxies": {proxy, xff("192.0.2.1" + strings.Repeat(",10.0.0.2", maxHops-1)),
			"192.0.2.1:0"},
		"a thousand lines": {proxy,
			xff(append(slices.Repeat([]string{"1.1.1.1"}, 1000), "192.0.2.1")...), "192.0.2.1:0"},
		"Forwarded":             {proxy, fwd("for=192.0.2.1"), "192.0.2.1:0"},
		"Forwarded in capitals": {proxy, fwd("FOR=192.0.2.1;Proto=https"), "192.0.2.1:0"},
		"Forwarded, all parameters": {proxy,
			fwd(`by=10.0.0.1; for=192.0.2.1 ;host="example.com:80";proto=https`), "192.0.2.1:0"},
		"Forwarded, IPv6":                  {proxy, fwd(`for="[2001:db8::1]:4711"`), "[2001:db8::1]:4711"},
		"Forwarded, a port without quotes": {proxy, fwd(`for=192.0.2.1:80`), "192.0.2.1:80"},
		"Forwarded, several": {proxy, fwd(`for=1.1.1.1, for=192.0.2.1`, `for=10.1.1.1;by=10.0.0.1`),
			"192.0.2.1:0"},
		"Forwarded, escaped":                 {proxy, fwd(`for="192.0.2\.1"`), "192.0.2.1:0"},
		"Forwarded, a comma in quotes":       {proxy, fwd(`for=192.0.2.1;host="a, for=1.1.1.1"`), "192.0.2.1:0"},
		"Forwarded, unknown":                 {proxy, fwd(`for=1.1.1.1, for=unknown`), proxy},
		"Forwarded, hidden":                  {proxy, fwd(`for=1.1.1.1, for=_hidden, for=10.1.1.1`), "10.1.1.1:0"},
		"Forwarded without for":              {proxy, fwd(`for=1.1.1.1, proto=https`), proxy},
		"Forwarded, for twice":               {proxy, fwd(`for=192.0.2.1;for=1.1.1.1`), proxy},
		"Forwarded, an open quote before":    {proxy, fwd(`for=1.1.1.1;x=", for=192.0.2.1`), proxy},
		"Forwarded, a quote across entries":  {proxy, fwd(`for=1.1.1.1;x=", for="[2001:db8::1]"`), proxy},
		"Forwarded, an escape at the end":    {proxy, fwd(`for="192.0.2.1\`), proxy},
		"Forwarded, an open quote elsewhere": {proxy, fwd(`for=1.1.1.1;x="`, `for=192.0.2.1`), "192.0.2.1:0"},
		"Forwarded, empty":                   {proxy, fwd(""), proxy},
		"Forwarded, no value":                {proxy, fwd("for="), proxy},
		"Forwarded, no name":                 {proxy, fwd("=192.0.2.1"), proxy},
		"Forwarded, a megabyte": {proxy, fwd(strings.Repeat("for=1.1.1.1,", 1<<17) + "for=192.0.2.1"),
			proxy},
		"another header, forged": {proxy, http.Header{"X-Forwarded-For": {"192.0.2.1"}, "Forwarded": {"for=1.1.1.1"}},
			"192.0.2.1:0"},
		"other headers only": {proxy,
			http.Header{"X-Real-Ip": {"1.1.1.1"}, "Forwarded": {"for=1.1.1.1"}, "Cf-Connecting-Ip": {"1.1.1.1"}},
			proxy},
		"X-Real-IP": {proxy, http.Header{"X-Real-Ip": {"192.0.2.1"}, "X-Forwarded-For": {"1.1.1.1"}},
			"192.0.2.1:0"},
		"X-Real-IP, a proxy's":   {proxy, http.Header{"X-Real-Ip": {" 10.2.3.4"}}, "10.2.3.4:0"},
		"X-Real-IP, two lines":   {proxy, http.Header{"X-Real-Ip": {"1.1.1.1", "192.0.2.1"}}, proxy},
		"X-Real-IP, a list":      {proxy, http.Header{"X-Real-Ip": {"1.1.1.1, 192.0.2.1"}}, proxy},
		"X-Real-IP, empty":       {proxy, http.Header{"X-Real-Ip": {""}}, proxy},
		"CF-Connecting-IP, IPv6": {proxy, http.Header{"Cf-Connecting-Ip": {"2001:db8::1"}}, "[2001:db8::1]:0"},
	} {
		t.Run(name, func(t *testing.T) {
			cfg := Config{Trusted: mustNetworks(t, "10.0.0.0/8, fd00::/8")}
			for _, header := range headers {
				if strings.HasPrefix(name, header.name) {
					cfg.Header = header.name
				}
			}
			if got, _ := throughProxies(NewResolver(cfg), c.remote, c.header); got != c.want {
				t.Errorf("got %s, want %s", got, c.want)
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
				t.Errorf("got %q, %v, want %s", got, err, c.want)
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
			t.Errorf("%q: %v", list, err)
			continue
		}
		var words []string
		for _, p := range got {
			words = append(words, p.String())
		}
		if text := "[" + strings.Join(words, " ") + "]"; text != want {
			t.Errorf("%q: %s, want %s", list, text, want)
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
		if want := fmt.Sprintf("%q is neither an address nor a network", bad); err == nil ||
			!strings.HasPrefix(err.Error(), want) {
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
				t.Fatalf("%s: %v", got, err)
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
