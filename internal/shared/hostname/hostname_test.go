package hostname

import (
	"strings"
	"testing"
)

// TestASCII checks names as people write them.
func TestASCII(t *testing.T) {
	for name, want := range map[string]string{
		"bücher.example": "xn--bcher-kva.example", "BÜCHER.example": "xn--bcher-kva.example",
		"bücher.example.":      "xn--bcher-kva.example.",
		"bu\u0308cher.example": "xn--bcher-kva.example", "bücher。example": "xn--bcher-kva.example",
		"www．example．com": "www.example.com",
		"ｅｘａｍｐｌｅ.com":     "example.com", "１２７.０.０.１": "127.0.0.1", "169。254。169。254": "169.254.169.254",
		"faß.example":         "xn--fa-hia.example",
		"_sip.bücher.example": "_sip.xn--bcher-kva.example", "*.bücher.example": "*.xn--bcher-kva.example",
		"例え.テスト":         "xn--r8jz45g.xn--zckzah",
		"Shop_1.example": "Shop_1.example", "r3---sn-a.example": "r3---sn-a.example", "::1": "::1",
		"xn--bcher-kva.example": "xn--bcher-kva.example",
		"XN--BCHER-KVA.example": "XN--BCHER-KVA.example", "": "", "مثال.إختبار": "xn--mgbh0fb.xn--kgbechtv",
	} {
		if got, ok := ASCII(name); !ok || got != want {
			t.Errorf("ASCII(%s) = %q, %t; want %q", name, got, ok, want)
		}
	}
	for _, name := range []string{
		"b\u0000ü.example", "\u00ad.example", "ü\u202e.example", "a ü.example", "\u0301a.example", "ü／x.example",
		"ü：80", "ü＠x", "ü\xff.example",
		strings.Repeat("ü", 64) + ".example", strings.Repeat("bücher.", 40) + "example", "⒈ü.example", "-ü.example",
		"a\u0080.example",
	} {
		if got, ok := ASCII(name); ok {
			t.Errorf("ASCII(%q) = %q, want none", name, got)
		}
	}
	// A label of 63 bytes fits, and one of 64 does not.
	for n, want := range map[int]int{55: 63, 56: 0} {
		if got, ok := ASCII(strings.Repeat("a", n) + "ü"); ok != (want > 0) || ok && len(got) != want {
			t.Errorf("%d letters: %q of %d bytes, %t", n, got, len(got), ok)
		}
	}
	// A name of 253 bytes fits, and one of 254 does not.
	for length, want := range map[int]bool{253: true, 254: false} {
		name := "ü." + strings.Repeat("a.", 200)
		name = name[:length-len("xn--tda.")+len("ü.")-1] + "a"
		if got, ok := ASCII(name); ok != want {
			t.Errorf("%d bytes: %q of %d bytes, %t", length, got, len(got), ok)
		}
	}
}

// TestInText checks that only the host of a URL, of a mail address and of HOST:PORT is changed.
func TestInText(t *testing.T) {
	for text, want := range map[string]string{
		"https://bücher.example/ä?q=ü#ö":      "https://xn--bcher-kva.example/ä?q=ü#ö",
		"https://bücher.example:8443/":        "https://xn--bcher-kva.example:8443/",
		"https://jörg:geheim@bücher.example/": "https://jörg:geheim@xn--bcher-kva.example/",
		"https://b%C3%BCcher.example/":        "https://xn--bcher-kva.example/",
		"https://bücher.example?x":            "https://xn--bcher-kva.example?x",
		"http://[fe80::1%25eth0]:80/ü":        "http://[fe80::1%25eth0]:80/ü",
		"https://www.example.com/ü":           "https://www.example.com/ü", "bücher": "bücher", "": "",
		"https://a%zz/":     "https://a%zz/",
		"http://１２７.０.０.１/": "http://127.0.0.1/", "https://bücher:8443/": "https://xn--bcher-kva:8443/",
		"https:///ü": "https:///ü", "https://:ü/": "https://:ü/",
	} {
		if got, ok := InURL(text); !ok || got != want {
			t.Errorf("InURL(%s) = %q, %t; want %q", text, got, ok, want)
		}
	}
	if got, ok := InURL("https://ü\u202e.example/"); ok {
		t.Errorf("a name without an ASCII form: %q", got)
	}
	for text, want := range map[string]string{
		"jörg@bücher.example": "jörg@xn--bcher-kva.example", "a@b@bücher.example": "a@b@xn--bcher-kva.example",
	} {
		if got, ok := InAddress(text); !ok || got != want {
			t.Errorf("InAddress(%s) = %q, %t; want %q", text, got, ok, want)
		}
	}
	for text, want := range map[string]string{
		"bücher.example:53": "xn--bcher-kva.example:53", "bücher.example": "xn--bcher-kva.example",
		"[::1]:53": "[::1]:53", "bücher:53": "xn--bcher-kva:53",
	} {
		if got, ok := InHostPort(text); !ok || got != want {
			t.Errorf("InHostPort(%s) = %q, %t; want %q", text, got, ok, want)
		}
	}
}
