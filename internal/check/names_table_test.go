package check

import (
	"net"
	"strings"
	"testing"

	"github.com/allswell/allswell/internal/domain/kernel"
	"github.com/miekg/dns"
)

// TestNamesOutsideThePublicDNS checks which names only this machine's own name server can know.
func TestNamesOutsideThePublicDNS(t *testing.T) {
	six := func(last string) string { return last + strings.Repeat(".0", 23) + ".8.b.d.0.1.0.0.2.ip6.arpa" }
	public6 := "1" + strings.Repeat(".0", 23) + ".0.6.8.4.1.0.0.2.ip6.arpa"
	for name, want := range map[string]bool{
		"example.com": false, "EXAMPLE.COM.": false, "a.b.example.co.uk": false, "x.github.io": false,
		"localhost": true, "db": true, "db.": true,
		"db.internal": true, "printer.local": true, "a.corp": true, "home.arpa": true, "nas.home.arpa": true,
		"NAS.Home.Arpa.": true, "nothome.arpa": false,
		"1.0.0.10.in-addr.arpa": true, "8.8.8.8.in-addr.arpa": false, "8.8.8.8.IN-ADDR.ARPA.": false,
		"1.8.8.8.8.in-addr.arpa": true, "8.8.in-addr.arpa": true,
		"10.0.0.1.in-addr.arpa": false, "in-addr.arpa": true, "ip6.arpa": true, public6: false, six("1"): true,
		"0." + public6:     true,
		"1.0.0.2.ip6.arpa": true, strings.Replace(public6, "1", "x", 1): true,
	} {
		if got := isInternalName(name); got != want {
			t.Errorf("%s: %t", name, got)
		}
	}
	for name, want := range map[string]string{
		"4.3.2.1.in-addr.arpa": "1.2.3.4", public6: "2001:4860:0000:0000:0000:0000:0000:0001", "0." + public6: "",
		"4.3.2.1.example.com": "",
	} {
		if got := addressOfReverse(name); got != want {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
}

func newRR(t *testing.T, text string) dns.RR {
	t.Helper()
	record, err := dns.NewRR(text)
	if err != nil {
		t.Fatal(err)
	}
	return record
}

// TestInternalRecords checks which answers may tell of this machine's network, without looking up a name.
func TestInternalRecords(t *testing.T) {
	for text, want := range map[string]bool{
		"a.example. A 8.8.8.8": false, "a.example. A 10.0.0.1": true, "a.example. AAAA 2001:4860::1": false,
		"a.example. AAAA fd00::1":         true,
		"a.example. AAAA ::ffff:10.0.0.1": true, `a.example. TXT "10.0.0.1"`: false,
	} {
		if got := isPrivateRecord(newRR(t, text)); got != want {
			t.Errorf("%s: %t", text, got)
		}
	}
	if !isPrivateRecord(&dns.A{}) || !isPrivateRecord(&dns.A{A: net.IP{1, 2}}) {
		t.Error("an address that cannot be read is public")
	}
}

func TestTargetsOfRecords(t *testing.T) {
	for text, want := range map[string]string{
		"a.example. CNAME b.example.": "b.example.", "a.example. MX 1 b.example.": "b.example.",
		"a.example. SRV 1 2 3 b.example.": "b.example.",
		"a.example. NS b.example.":        "b.example.", "a.example. PTR b.example.": "b.example.",
		`a.example. TXT "b.example."`: "", "a.example. A 8.8.8.8": "",
	} {
		if got := targetOf(newRR(t, text)); got != want {
			t.Errorf("%s: %q", text, got)
		}
	}
}

func TestInternalMessages(t *testing.T) {
	r := &run{network: new(Network)}
	for name, c := range map[string]struct {
		kind   uint16
		code   int
		answer []string
		extra  string
		hidden bool
	}{
		"public":          {dns.TypeA, dns.RcodeSuccess, []string{"a.example. A 8.8.8.8"}, "", false},
		"no such name":    {dns.TypeA, dns.RcodeNameError, []string{"a.example. A 8.8.8.8"}, "", true},
		"without records": {dns.TypeA, dns.RcodeSuccess, nil, "", true},
		"of another type": {dns.TypeAAAA, dns.RcodeSuccess, []string{"a.example. A 8.8.8.8"}, "", true},
		"with a private address": {dns.TypeA, dns.RcodeSuccess,
			[]string{"a.example. A 8.8.8.8", "a.example. A 10.0.0.1"}, "", true},
		"with a private address besides": {dns.TypeA, dns.RcodeSuccess, []string{"a.example. A 8.8.8.8"},
			"b.example. A 10.0.0.1", true},
		"of no server": {dns.TypeMX, dns.RcodeSuccess, []string{"a.example. MX 0 ."}, "", false},
		"that leads to a name of its own": {dns.TypeMX, dns.RcodeSuccess, []string{"a.example. MX 0 mail.internal."},
			"", true},
	} {
		m := new(dns.Msg)
		m.SetQuestion("a.example.", c.kind)
		m.Rcode = c.code
		for _, text := range c.answer {
			m.Answer = append(m.Answer, newRR(t, text))
		}
		if c.extra != "" {
			m.Extra = append(m.Extra, newRR(t, c.extra))
		}
		if got := r.isInternal(t.Context(), m); got != c.hidden {
			t.Errorf("an answer %s: %t", name, got)
		}
	}
}

// TestHostsOfChecks checks which hosts are valid, and how they are kept.
func TestHostsOfChecks(t *testing.T) {
	label, name := strings.Repeat("a", 63), strings.Repeat("a.", 126)+"a"
	const required, invalid = "The host field is required.", "The host must be a host name or an IP address."
	for host, want := range map[string]string{
		" example.com ": "example.com", "example.com.": "example.com.", "A_b-1.example": "A_b-1.example",
		"[::1]": "::1", "192.0.2.1": "192.0.2.1",
		label + ".example": label + ".example", name: name, "bücher.example": "xn--bcher-kva.example",
		"": required, " [] ": required, label + "a.example": invalid, name + "a": invalid, "a..example": invalid,
		".example": invalid, ".": invalid, "a b": invalid,
		"a/b": invalid, "a:b": invalid, "ü\u202e.example": invalid,
	} {
		var bad kernel.ValidationError
		got := host
		checkHost(&bad, "host", &got)
		if bad.Has("host") {
			got = bad.Messages()["host"][0]
		}
		if got != want {
			t.Errorf("host %.70q: %.70q, want %.70q", host, got, want)
		}
	}
	for address, why := range map[string]string{
		"169.254.169.254": "it belongs to a cloud's metadata service", "169.254.0.1": "it is link-local",
		"0.0.0.0": "it is not the address of one host",
	} {
		var bad kernel.ValidationError
		host, text := address, "http://"+address+"/"
		checkHost(&bad, "host", &host)
		checkURL(&bad, "url", &text, "http", "https")
		for _, field := range []string{"host", "url"} {
			got, want := strings.Join(bad.Messages()[field], " "), "The "+field+" may not be at "+address+": "+why+"."
			if got != want {
				t.Errorf("problem of the %s: %q, want %q", field, got, want)
			}
		}
	}
}

// TestURLsOfChecks checks which URLs are valid, and how they are kept.
func TestURLsOfChecks(t *testing.T) {
	const begin = "The url must begin with http:// or https://, such as https://www.example.com."
	const invalid = "The url must be an http(s) URL without user name or fragment."
	for text, want := range map[string]string{
		" https://example.com/a?b ": "https://example.com/a?b", "http://[::1]:8080/": "http://[::1]:8080/",
		"https://bücher.example/": "https://xn--bcher-kva.example/",
		"http://example.com:1":    "http://example.com:1", "http://example.com:65535": "http://example.com:65535",
		"example.com": begin, "": begin, "ftp://example.com/": invalid, "https://user@example.com/": invalid,
		"https://example.com/#a": invalid,
		"https://example.com:/":  invalid, "https:///": invalid, "https://a b/": invalid, "https://a..b/": invalid,
		"https://ü\u202e.example/": invalid,
		"http://example.com/%zz":   invalid,
	} {
		var bad kernel.ValidationError
		got := text
		u := checkURL(&bad, "url", &got, "http", "https")
		if bad.Has("url") {
			got = bad.Messages()["url"][0]
		}
		if got != want || (u.Host == "") != strings.HasPrefix(want, "The ") {
			t.Errorf("%q: %q of host %q, want %q", text, got, u.Host, want)
		}
	}
	for _, text := range []string{"http://example.com:0/", "http://example.com:65536/"} {
		var bad kernel.ValidationError
		if u := checkURL(&bad, "url", &text, "http", "https"); !bad.Has("url") || u.Host != "" {
			t.Errorf("%s: %v", text, bad.Messages())
		}
	}
	headers := map[string]string{"host": " bücher.example:80 ", "X-Host": "bücher.example"}
	var bad kernel.ValidationError
	checkHostHeader(&bad, "headers", headers)
	if headers["host"] != "xn--bcher-kva.example:80" || headers["X-Host"] != "bücher.example" || bad.Err() != nil {
		t.Errorf("headers %q, %v", headers, bad.Err())
	}
	if checkHostHeader(&bad, "headers", map[string]string{"HOST": "ü\u202e.example"}); !bad.Has("headers") {
		t.Error("a Host without an ASCII form is valid")
	}
}
