package view

import (
	"net/url"
	"slices"
	"strings"
	"testing"

	"golang.org/x/net/html"

	"github.com/allswell/allswell"
	"github.com/allswell/allswell/internal/htmltest"
)

// allowedAttributes are the elements that a page may have, with their
// attributes besides those of all.
var allowedAttributes = map[string]string{
	"html": "data-locale data-zone", "head": "", "body": "", "title": "", "meta": "charset name content media",
	"link": "rel href hreflang type title", "script": "type src", "header": "", "nav": "", "main": "tabindex data-events data-tag data-updated", "footer": "", "section": "",
	"article": "", "div": "data-day data-local role", "h1": "", "h2": "", "h3": "", "h4": "", "p": "role", "span": "data-local", "strong": "", "em": "", "del": "", "br": "", "hr": "", "i": "", "b": "", "bdi": "",
	"a": "href rel hreflang aria-current type", "ul": "", "ol": "start", "li": "", "dl": "", "dt": "", "dd": "", "blockquote": "", "pre": "", "code": "",
	"time": "datetime data-form", "img": "src alt height loading", "details": "open data-key", "summary": "",
	"table": "", "caption": "", "thead": "", "tbody": "", "tr": "data-n", "th": "scope", "td": "",
	"form": "method action", "fieldset": "", "legend": "", "label": "for", "button": "name value",
	"input": "name type value maxlength required autocomplete inputmode aria-invalid aria-describedby autofocus checked",
	"svg":   "width height focusable", "use": "href", "symbol": "viewBox", "path": "d", "circle": "cx cy r", "rect": "x y width height rx",
}

const globalAttributes = "id class lang dir aria-label aria-labelledby aria-hidden"

// checkMarkup holds a page to the elements, attributes and addresses that ours
// have. What people have typed can bring links and nothing else.
func checkMarkup(t *testing.T, name string, p htmltest.Tree) {
	t.Helper()
	for n := range p.Descendants() {
		if n.Type == html.CommentNode {
			t.Errorf("%s: a comment %q", name, n.Data)
		}
		if n.Type != html.ElementNode {
			continue
		}
		allowed, known := allowedAttributes[n.Data]
		if !known {
			t.Errorf("%s: the element %s", name, n.Data)
		}
		for _, a := range n.Attr {
			if !slices.Contains(strings.Fields(allowed+" "+globalAttributes), a.Key) || a.Namespace != "" {
				t.Errorf("%s: the attribute %s of %s", name, a.Key, n.Data)
			}
		}
		e := htmltest.Tree{Node: n}
		for _, attr := range []string{"href", "src", "action"} {
			checkAddress(t, name, e, attr)
		}
		if n.Data == "script" && (n.FirstChild != nil || !strings.HasPrefix(e.Attr("src"), "/assets/")) {
			t.Errorf("%s: a script of %q", name, e.Attr("src"))
		}
	}
}

// checkAddress holds an address to our own host, and that of a link to schemes
// that run nothing.
func checkAddress(t *testing.T, name string, e htmltest.Tree, attr string) {
	t.Helper()
	value := e.Attr(attr)
	if value == "" {
		return
	}
	u, err := url.Parse(value)
	switch {
	case err != nil:
		t.Errorf("%s: the address %q: %v", name, value, err)
	case u.Scheme == "" && u.Host == "" && (strings.HasPrefix(value, "/") || strings.HasPrefix(value, "#")) && !strings.HasPrefix(value, "//"):
	case e.Data == "a" && slices.Contains([]string{"http", "https", "mailto"}, u.Scheme) && e.Attr("rel") != "":
	case e.Data == "link" && u.Scheme == "https" && u.Host == "status.acme.example":
	default:
		t.Errorf("%s: %s leads to %q", name, e.Data, value)
	}
}

// FuzzPages puts a text into all places that people fill, and holds every page,
// in every language and at both addresses, to its markup, and to showing the
// text.
func FuzzPages(f *testing.F) {
	for _, seed := range []string{
		"Hello", hostile, "# head\n\n- a\n- b\n\n> quote\n\n```\ncode\n```\n1. one", "[x](javascript:alert(1)) <javascript:alert(1)> ![p](http://a.example/p.png)",
		"[x](data:text/html,<script>)", "<https://a.example> http://b.example/?q=\"onload=x", "*a **b ~~c~~** d*", "\x00\xff\u2028\u202e", "&amp;&#x3c;script&#62;", "{{.}}",
		"' onmouseover='x", "</textarea></title><style>*{}</style>", "<!-- -->", "]]>", "--><script>", "<svg/onload=x>", "www.a.example a@b.example",
	} {
		f.Add(seed, uint8(len(seed)))
	}
	all := places()
	f.Fuzz(func(t *testing.T, text string, which uint8) {
		if len(text) > 2000 {
			return
		}
		text = strings.ToValidUTF8(strings.ReplaceAll(text, "\x00", ""), "?") // nothing else gets into the store
		at := all[int(which)%len(all)]
		for _, s := range models(at, text) {
			out, err := s.Render(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			p := htmltest.Parse(t, string(out))
			name := s.template
			checkMarkup(t, name, p)
			htmltest.CheckPage(t, name, p)
			if title := p.All("head title"); len(title) == 1 && name == "component" && !strings.Contains(plainText(title[0].RawText()), plainText(text)) {
				t.Errorf("%s is titled %q", name, title[0].RawText())
			}
		}
	})
}

// plainText is a text without what a parser folds or a message sets around it.
func plainText(s string) string {
	s = strings.NewReplacer("\u2068", "", "\u2069", "", "\r\n", "\n", "\r", "\n").Replace(s)
	return strings.Join(strings.Fields(s), " ")
}

// TestMarkupOfHostileLooks: what the store refuses would do no harm either.
func TestMarkupOfHostileLooks(t *testing.T) {
	for _, text := range []string{"javascript:alert(1)", "data:text/html,x", "//evil.example", `"><script>alert(1)</script>`, "JaVaScRiPt:alert(1)"} {
		p := sample("x")
		p.Page.Footer = []allswell.FooterLink{{Label: text, URL: text}}
		p.Page.Accent = text
		out, err := statusModel(english(), p.Summarize(day)).Render(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		for _, a := range htmltest.Parse(t, string(out)).All("footer a[rel=noopener]") {
			if u, err := url.Parse(a.Attr("href")); err != nil || u.Scheme == "javascript" || u.Scheme == "data" {
				t.Errorf("%q leads to %q", text, a.Attr("href"))
			}
		}
	}
}
