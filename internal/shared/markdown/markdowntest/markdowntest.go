// Package markdowntest has texts that try to break out of their context, and an independent version of markdown.Line.
package markdowntest

import (
	"strings"
)

// Line is an independent implementation of markdown.Line.
func Line(s string) string {
	var words []string
	word := ""
	for _, r := range s + " " {
		switch {
		case strings.ContainsRune("\t\n\v\f\r \u0085\u00a0\u1680\u2028\u2029\u202f\u205f\u3000", r),
			r >= 0x2000 && r <= 0x200a:
			if word != "" {
				words = append(words, word)
			}
			word = ""
		case r < 0x20, r >= 0x7f && r < 0xa0, r >= 0x202a && r <= 0x202e, r >= 0x2066 && r <= 0x2069, r == 0xfeff:
		case r >= 0xfdd0 && r <= 0xfdef, r&0xfffe == 0xfffe:
			word += "\ufffd"
		default:
			word += string(r)
		}
	}
	return strings.Join(words, " ")
}

// Seeds are texts that try to break out of their context.
var Seeds = []string{
	"It is dark", Hostile, "]]>", "a\r\nb\rc\n", "\x00\x01\x1f\x7f\u0085\ufffe\uffff\U0001fffe",
	"\u202eabc\u2066\u2069", "مرحبا & <b>שלום</b>",
	`\;,:"\n\N` + "\n;", " x ", "", "&amp;&#0;<![CDATA[", strings.Repeat("ü👩‍👩‍👧", 40), "\xff\xfe",
	"[x](javascript:alert(1)) <http://a.b/\">",
	"BEGIN:VEVENT\r\nEND:VCALENDAR", "\u2028\u2029\v\f\t", "--><!--", "{{.}} %s %d {n}", `\*stars\* that are none`,
}

// Hostile is a text that tries to break out of HTML, XML and templates.
const Hostile = `</title></p></time>"'><script>alert(1)</script><img src=x ` +
	`onerror=alert(1)>{{.}}&lt;javascript:alert(1)` + "\u202e"
