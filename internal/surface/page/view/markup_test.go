package view

import (
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/allswell/allswell/internal/domain/statuspage"
	"github.com/allswell/allswell/internal/surface/htmltest"
	"golang.org/x/net/html"
)

// allowedAttributes are the permitted elements, with their attributes besides
// globalAttributes.
var allowedAttributes = map[string]string{
	"html": "data-locale data-zone", "head": "", "body": "", "title": "", "meta": "charset name content media",
	"link": "rel href hreflang type title", "script": "type src", "header": "", "nav": "",
	"main": "tabindex data-events data-tag data-updated", "footer": "", "section": "",
	"article": "",
	"div": "data-day data-local role hidden tabindex data-worker data-action data-incident data-done data-denied " +
		"data-failed",
	"h1": "", "h2": "", "h3": "", "h4": "", "p": "role", "span": "data-local role", "strong": "", "em": "", "del": "",
	"br": "", "hr": "", "i": "", "b": "", "bdi": "",
	"a": "href rel hreflang aria-current type", "ul": "", "ol": "start", "li": "", "dl": "", "dt": "", "dd": "",
	"blockquote": "", "pre": "", "code": "",
	"time": "datetime data-form", "img": "src alt height loading", "details": "open data-key", "summary": "",
	"table": "", "caption": "", "thead": "", "tbody": "", "tr": "data-n", "th": "scope", "td": "",
	"form": "method action", "fieldset": "", "legend": "", "label": "for", "button": "name value type",
	"input": "name type value maxlength required autocomplete inputmode aria-invalid aria-describedby autofocus " +
		"checked autocapitalize spellcheck",
	"select": "name required", "option": "value selected",
	"svg": "width height focusable viewBox preserveAspectRatio role", "use": "href", "symbol": "viewBox", "path": "d",
	"circle": "cx cy r", "rect": "x y width height rx",
}

const globalAttributes = "id class lang dir aria-label aria-labelledby aria-hidden"

// checkMarkup checks the elements, attributes and URLs of a page. Text of people
// may add links and nothing else.
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
			t.Errorf("%s: a script from %q", name, e.Attr("src"))
		}
	}
}

// checkAddress checks that a URL is on the page's own host, or, for links, has a
// scheme that runs no script.
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
	case u.Scheme == "" && u.Host == "" && (strings.HasPrefix(value, "/") || strings.HasPrefix(value, "#")) &&
		!strings.HasPrefix(value, "//"):
	case e.Data == "a" && slices.Contains([]string{"http", "https", "mailto"}, u.Scheme) && e.Attr("rel") != "":
	case e.Data == "link" && u.Scheme == "https" && u.Host == "status.acme.example":
	default:
		t.Errorf("%s: %s leads to %q", name, e.Data, value)
	}
}

// FuzzPages puts a text into all fields that people fill, and checks the markup of
// every page, in every language and at both URLs, and that the text is shown.
func FuzzPages(f *testing.F) {
	for _, seed := range []string{
		"Hello", hostile, "# head\n\n- a\n- b\n\n> quote\n\n```\ncode\n```\n1. one",
		"[x](javascript:alert(1)) <javascript:alert(1)> ![p](http://a.example/p.png)",
		"[x](data:text/html,<script>)", "<https://a.example> http://b.example/?q=\"onload=x", "*a **b ~~c~~** d*",
		"\x00\xff\u2028\u202e", "&amp;&#x3c;script&#62;", "{{.}}",
		"' onmouseover='x", "</textarea></title><style>*{}</style>", "<!-- -->", "]]>", "--><script>", "<svg/onload=x>",
		"www.a.example a@b.example",
	} {
		f.Add(seed, uint8(len(seed)))
	}
	all := presentations()
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
			title := p.All("head title")
			if len(title) == 1 && name == "component" &&
				!strings.Contains(plainText(title[0].RawText()), plainText(text)) {
				t.Errorf("%s is titled %q", name, title[0].RawText())
			}
		}
	})
}

// plainText returns a text without isolates, and with spaces folded.
func plainText(s string) string {
	s = strings.NewReplacer("\u2068", "", "\u2069", "", "\r\n", "\n", "\r", "\n").Replace(s)
	return strings.Join(strings.Fields(s), " ")
}

// TestMarkupOfHostileThemes checks that themes that the store would reject are
// harmless.
func TestMarkupOfHostileThemes(t *testing.T) {
	for _, text := range []string{
		"javascript:alert(1)", "data:text/html,x", "//evil.example", `"><script>alert(1)</script>`,
		"JaVaScRiPt:alert(1)",
	} {
		p := sample("x")
		p.Page.Footer = []statuspage.FooterLink{{Label: text, URL: text}}
		p.Page.Accent = text
		out, err := statusModel(englishPresentation(), p.Summarize(day)).Render(t.Context())
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
