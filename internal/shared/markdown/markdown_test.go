package markdown

import (
	"fmt"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/yuin/goldmark/ast"
	gmtext "github.com/yuin/goldmark/text"
	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"
	"pgregory.net/rapid"
)

// href returns the start tag of a link.
func href(address string) string {
	return `<a href="` + address + `" rel="nofollow noopener noreferrer">`
}

var cases = []struct{ name, typed, html, text string }{
	{"nothing", "", "", ""},
	{"blank", " \n\t\n", "", ""},
	{"a sentence", "We are on it.", "<p>We are on it.</p>", "We are on it."},
	{"lines", "a\nb\r\nc\rd\u2028e", "<p>a<br>b<br>c<br>d<br>e</p>", "a\nb\nc\nd\ne"},
	{"paragraphs", "\n\na\n\n\n\nb\n", "<p>a</p><p>b</p>", "a\n\nb"},
	{"marked line breaks", "a  \nb\\\nc", "<p>a<br>b<br>c</p>", "a\nb\nc"},
	{"emphasis", "*a* _b_ **c** ~~d~~ ***e***",
		"<p><em>a</em> <em>b</em> <strong>c</strong> <del>d</del> <em><strong>e</strong></em></p>", "a b c d e"},
	{"nested emphasis", "*a *b* c* **d **e** f**", "<p><em>a b c</em> <strong>d e f</strong></p>", "a b c d e f"},
	{"not emphasis", "snake_case_name 2 * 3 * 4 *", "<p>snake_case_name 2 * 3 * 4 *</p>",
		"snake_case_name 2 * 3 * 4 *"},
	{"a tilde is a range", "10:00~11:00, 14:00~15:00", "<p>10:00~11:00, 14:00~15:00</p>", "10:00~11:00, 14:00~15:00"},
	{"escapes", `\*a\* C:\dir`, `<p>*a* C:\dir</p>`, `*a* C:\dir`},
	{"code", "run `a *b* <c>  d`\n\n```sh\n<x> &  y\n\n  z\n```",
		"<p>run <code>a *b* &lt;c&gt;  d</code></p><pre><code>&lt;x&gt; &amp;  y\n\n  z\n</code></pre>",
		"run a *b* <c>  d\n\n<x> &  y\n\n  z"},
	{"indented code", "    a\n      b", "<pre><code>a\n  b\n</code></pre>", "a\n  b"},
	{"unfinished code", "```\na", "<pre><code>a\n</code></pre>", "a"},
	{"a list", "- a\n- b\n  c\n  - d\n- e", "<ul><li>a</li><li>b<br>c<ul><li>d</li></ul></li><li>e</li></ul>",
		"- a\n- b\n  c\n  - d\n- e"},
	{"a wide list", "* a\n\n* b\n\n  c", "<ul><li><p>a</p></li><li><p>b</p><p>c</p></li></ul>", "- a\n\n- b\n\n  c"},
	{"a numbered list", "1. a\n2. b", "<ol><li>a</li><li>b</li></ol>", "1. a\n2. b"},
	{"a numbered list from 9", "9) a\n10) b", `<ol start="9"><li>a</li><li>b</li></ol>`, "9. a\n10. b"},
	{"an empty item", "-\n- a", "<ul><li></li><li>a</li></ul>", "-\n- a"},
	{"a quotation", "> a\n> b\n>\n> - c\n\nd", "<blockquote><p>a<br>b</p><ul><li>c</li></ul></blockquote><p>d</p>",
		"> a\n> b\n>\n> - c\n\nd"},
	{"a rule", "a\n\n***\nb", "<p>a</p><hr><p>b</p>", "a\n\n---\n\nb"},
	{"headings", "# a *b* **c**\n### d ###\n#e\n#",
		"<p><strong>a <em>b</em> c</strong></p><p><strong>d</strong></p><p>#e</p><p>#</p>", "a b c\n\nd\n\n#e\n\n#"},
	{"a line under text is a rule", "Hello\n---\nA\n===", "<p>Hello</p><hr><p>A<br>===</p>", "Hello\n\n---\n\nA\n==="},
	{"a link", "[our *page*](https://example.com/a?b=c&d=ü \"title\")",
		"<p>" + href("https://example.com/a?b=c&amp;d=ü") + "our <em>page</em></a></p>",
		"our page (https://example.com/a?b=c&d=ü)"},
	{"a link whose label is its address", "[Example.com](https://example.com/)",
		"<p>" + href("https://example.com/") + "Example.com</a></p>", "Example.com"},
	{"a link without a label", "[](https://example.com) [ ](http://b.cd)",
		"<p>" + href("https://example.com") + "https://example.com</a> " + href("http://b.cd") + "http://b.cd</a></p>",
		"https://example.com http://b.cd"},
	{"bare addresses", "See https://example.com/a_b_c. (http://b.cd) www.e.fg",
		"<p>See " + href("https://example.com/a_b_c") + "https://example.com/a_b_c</a>. (" + href("http://b.cd") +
			"http://b.cd</a>) " + href("http://www.e.fg") + "www.e.fg</a></p>",
		"See https://example.com/a_b_c. (http://b.cd) www.e.fg"},
	{"addresses in brackets", "<https://example.com> <a@b.cd> <c:d>",
		"<p>" + href("https://example.com") + "https://example.com</a> " + href("mailto:a@b.cd") +
			"a@b.cd</a> &lt;c:d&gt;</p>",
		"https://example.com a@b.cd <c:d>"},
	{"mail", "a@b.cd [Ann](mailto:ann@b.cd) [ann@b.cd](MAILTO:ann@b.cd)",
		"<p>" + href("mailto:a@b.cd") + "a@b.cd</a> " + href("mailto:ann@b.cd") + "Ann</a> " +
			href("MAILTO:ann@b.cd") + "ann@b.cd</a></p>",
		"a@b.cd Ann (ann@b.cd) ann@b.cd"},
	{"an image", "![a *b*](https://example.com/c.png) ![](http://d.ef)",
		"<p>" + href("https://example.com/c.png") + "a <em>b</em></a> " + href("http://d.ef") + "http://d.ef</a></p>",
		"a b (https://example.com/c.png) http://d.ef"},
	{"a link in a link", "[a ![b](https://c.de) <https://f.gh>](https://i.jk)",
		"<p>" + href("https://i.jk") + "a b https://f.gh</a></p>", "a b https://f.gh (https://i.jk)"},
	{"a link in an image", "![a [b](https://c.de)](https://i.jk)", "<p>" + href("https://i.jk") + "a b</a></p>",
		"a b (https://i.jk)"},
	{"a script for a link", "[a](javascript:alert(1)) [b](<JAVA\tSCRIPT:alert(1) x>)",
		"<p>[a](javascript:alert(1)) [b](&lt;JAVA\tSCRIPT:alert(1) x&gt;)</p>",
		"[a](javascript:alert(1)) [b](<JAVA\tSCRIPT:alert(1) x>)"},
	{"data for a link", "![*a*](data:text/html,x \"t\") <vbscript:x>",
		"<p>![<em>a</em>](data:text/html,x &#34;t&#34;) &lt;vbscript:x&gt;</p>",
		`![a](data:text/html,x "t") <vbscript:x>`},
	{"a mail address without a label", "[](mailto:a@b.cd)", "<p>" + href("mailto:a@b.cd") + "a@b.cd</a></p>", "a@b.cd"},
	{"relative links", "[a](/b) [c](//d.ef) [g](h) [i](https:j) [k](http:///l) [m]() [n](mailto:)",
		"<p>[a](/b) [c](//d.ef) [g](h) [i](https:j) [k](http:///l) [m]() [n](mailto:)</p>",
		"[a](/b) [c](//d.ef) [g](h) [i](https:j) [k](http:///l) [m]() [n](mailto:)"},
	{"a link that tries to leave its attribute", `[a](https://b.cd/"onclick='x'>) [e](<https://f.gh/ i>)`,
		"<p>" + href("https://b.cd/%22onclick=&#39;x&#39;%3E") + "a</a> " + href("https://f.gh/%20i") + "e</a></p>",
		"a (https://b.cd/%22onclick='x'%3E) e (https://f.gh/%20i)"},
	{"percent", "[a](https://b.cd/100%) [e](https://b.cd/%41%zz)",
		"<p>" + href("https://b.cd/100%25") + "a</a> " + href("https://b.cd/%41%25zz") + "e</a></p>",
		"a (https://b.cd/100%25) e (https://b.cd/%41%25zz)"},
	{"no definitions", "[Update]: solved\n\n[Update] see [it][Update]",
		"<p>[Update]: solved</p><p>[Update] see [it][Update]</p>", "[Update]: solved\n\n[Update] see [it][Update]"},
	{"HTML is text", "<b>a</b> <!-- c --> &lt; &copy; &#65;\n\n<script>\nx\n</script>\n",
		"<p>&lt;b&gt;a&lt;/b&gt; &lt;!-- c --&gt; &amp;lt; &amp;copy; " +
			"&amp;#65;</p><p>&lt;script&gt;<br>x<br>&lt;/script&gt;</p>",
		"<b>a</b> <!-- c --> &lt; &copy; &#65;\n\n<script>\nx\n</script>"},
	{"no tables", "| a | b |\n|---|---|\n| c | d |", "<p>| a | b |<br>|---|---|<br>| c | d |</p>",
		"| a | b |\n|---|---|\n| c | d |"},
	{"a cron schedule", "*/5 * * * * runs", "<p>*/5 * * * * runs</p>", "*/5 * * * * runs"},
	{"controls", "a\x00b\x1b[31mc\u202ed\u2066e\ufefff\xffg\ufffe", "<p>ab[31mcdef\ufffdg\ufffd</p>",
		"ab[31mcdef\ufffdg\ufffd"},
	{"control characters in a scheme", "[a](java\x00script:x) [b](\u2066https://c.de)",
		"<p>[a](javascript:x) " + href("https://c.de") + "b</a></p>", "[a](javascript:x) b (https://c.de)"},
	{"other scripts", "**حادث** في `api`، 障害は*解決*済み",
		"<p><strong>حادث</strong> في <code>api</code>، 障害は<em>解決</em>済み</p>", "حادث في api، 障害は解決済み"},
	{"too long", strings.Repeat("*a*\n", maxChars/4) + "\n<b>",
		"<p>" + strings.Repeat("*a*<br>", maxChars/4-1) + "*a*</p><p>&lt;b&gt;</p>",
		strings.Repeat("*a*\n", maxChars/4) + "\n<b>"},
	{"the maximum length", strings.Repeat("ä", maxChars-3) + "*b*",
		"<p>" + strings.Repeat("ä", maxChars-3) + "<em>b</em></p>", strings.Repeat("ä", maxChars-3) + "b"},
}

func TestCases(t *testing.T) {
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			if got := string(HTML(c.typed)); got != c.html {
				t.Errorf("HTML %q\nwant %q", got, c.html)
			}
			if got := Text(c.typed); got != c.text {
				t.Errorf("Text %q\nwant %q", got, c.text)
			}
		})
	}
}

func TestDepthIsBounded(t *testing.T) {
	for _, c := range []struct{ mark, element string }{
		{">", "blockquote"}, {"- ", "ul"}, {"1. ", "ol"}, {"> - ", "ul"},
	} {
		typed := strings.Repeat(c.mark, 3000) + "end"
		doc := document(t, typed)
		got := 0
		for n := range doc.Descendants() {
			if n.Type == html.ElementNode && (n.Data == "blockquote" || n.Data == "ul" || n.Data == "ol") {
				got++
			}
		}
		if got != maxDepth {
			t.Errorf("%q: %d quotations and lists, want %d", c.mark, got, maxDepth)
		}
		if !strings.HasSuffix(visible(doc), "end") || !strings.HasSuffix(Text(typed), "end") {
			t.Errorf("%q: the end is not there", c.mark)
		}
	}
}

func TestMarksAreBounded(t *testing.T) {
	const beyond = 100
	typed := strings.Repeat("*a* ", maxMarks/2+beyond)
	want := "<p>" + strings.Repeat("<em>a</em> ", maxMarks/2) + strings.TrimSpace(strings.Repeat("*a* ", beyond)) +
		"</p>"
	if got := string(HTML(typed)); got != want {
		t.Errorf("HTML %q\nwant %q", got, want)
	}
	odd, want1 := "[ "+typed,
		strings.Repeat("<em>a</em> ", maxMarks/2-1)+strings.TrimSpace(strings.Repeat("*a* ", beyond+1))
	if got := string(HTML(odd)); got != "<p>[ "+want1+"</p>" {
		t.Errorf("HTML %q\nwant %q", got, want1)
	}
	// The next paragraph counts anew.
	if got := string(HTML(typed + "\n\n*b*")); got != want+"<p><em>b</em></p>" {
		t.Errorf("the next paragraph: %q", got)
	}
}

// hostile are texts that take an unlimited parser much time, or render to much output.
func hostile() []string {
	var all []string
	for _, unit := range []string{
		"[", "]", "[](", "[a](b", "[a](<b", "![", "![](http:", "*a_ ", "*a ", "_a", "**a", "a**b", "~~*_a", "`a", "<",
		"<a@b>",
		"\\", "&", "\"", "a\n", "#\n", "-\n*\n", ">\n\n", "1.\n", "---\n", "```\n", "> ", "- ", "1. ", "http://a.b ",
		"www.a.b ",
		"a@b.c ", "[a](http://b)", "![](http://b)", "[a]:b\n", "\u202e", "\xff", "\x00",
	} {
		all = append(all, strings.Repeat(unit, maxChars/len(unit)))
	}
	return append(all,
		strings.Repeat("*a ", 4000)+strings.Repeat("b_ ", 4000),
		strings.Repeat("[", 8000)+strings.Repeat("*a*b ", 1800)+strings.Repeat("]", 8000),
		strings.Repeat("![", 2200)+strings.Repeat("](http://a)", 1800),
		strings.Repeat("- ", 6000)+"a"+strings.Repeat("\n", 12000),
		strings.Repeat("999999999. ", 10)+"a"+strings.Repeat("\nb", 12000),
		strings.Repeat("> ", 10)+"a"+strings.Repeat("\nb", 12000),
	)
}

func TestHostileTexts(t *testing.T) {
	t.Parallel()
	for _, typed := range hostile() {
		t.Run(fmt.Sprintf("%.20q", typed), func(t *testing.T) { check(t, typed) })
	}
}

func TestAnyMixOfMarks(t *testing.T) {
	mark := rapid.SampledFrom([]string{
		"a", "b c", " ", "  ", "\n", "\n\n", "\n    ", "\t", "*", "**", "_", "~~", "~", "`", "``", "\n```\n",
		"\n~~~ x\n", "[", "![", "]", "(", ")",
		"](http://d.ef)", "](/g)", "](<h i>)", "](javascript:j 'k')", "<", ">", "\n> ", "\n- ", "\n1. ", "\n  2) ",
		"\n# ", "\n---\n", "===", "\\", "&amp;", "\"",
		"<b>", "</p>", "<!--", "https://l.mn/o?p=q", " www.r.st", " u@v.wx ", "<https://y.z>", "<u@v.wx>", "<y:z>", "%",
		"]: ", "\u202e", "\xff", "ä", "中", "🙂",
	})
	rapid.Check(t, func(t *rapid.T) {
		check(t, strings.Join(rapid.SliceOfN(mark, 1, 60).Draw(t, "marks"), ""))
	})
}

func TestPanicOfTheParser(t *testing.T) {
	if doc := recovered(func() ast.Node { panic("index out of range") }); doc != nil {
		t.Errorf("made %v", doc)
	}
	if doc := recovered(func() ast.Node { return ast.NewDocument() }); doc == nil {
		t.Error("made nothing")
	}
}

// TestPlainTextIsUnchanged checks that text without syntax is rendered unchanged.
func TestPlainTextIsUnchanged(t *testing.T) {
	chars := rapid.StringOfN(rapid.RuneFrom([]rune("abcXYZ019äßжعה中🙂<>&\"'/(){}|;:,.?!=+-%$#@^")), 1, 10, -1)
	word := rapid.Custom(func(t *rapid.T) string {
		return "w" + chars.Draw(t, "chars") // so that no line starts with a list marker or a heading
	}).Filter(func(s string) bool {
		at := strings.Index(s, "@") // an email address would become a link
		return at < 0 || !strings.ContainsAny(s[at:], ".>")
	})
	line := rapid.SliceOfN(word, 1, 8)
	lines := rapid.SliceOfN(line, 1, 5)
	rapid.Check(t, func(t *rapid.T) {
		var typed []string
		for _, paragraph := range rapid.SliceOfN(lines, 1, 4).Draw(t, "paragraphs") {
			var joined []string
			for _, words := range paragraph {
				joined = append(joined, strings.TrimRight(strings.Join(words, " "), " "))
			}
			typed = append(typed, strings.Join(joined, "\n"))
		}
		text := strings.Join(typed, "\n\n")
		if got := Text(text); got != text {
			t.Fatalf("Text %q\nwant %q", got, text)
		}
		if got := visible(document(t, text)); got != text {
			t.Fatalf("HTML shows %q\nwant      %q", got, text)
		}
	})
}

// tester is implemented by testing.T and rapid.T.
type tester interface {
	Helper()
	Errorf(format string, args ...any)
	Fatalf(format string, args ...any)
}

// document parses the HTML of a text.
func document(t tester, typed string) *html.Node {
	t.Helper()
	body := &html.Node{Type: html.ElementNode, Data: "div", DataAtom: atom.Div}
	nodes, err := html.ParseFragment(strings.NewReader(string(HTML(typed))), body)
	if err != nil {
		t.Fatalf("parsing the HTML of %q: %v", typed, err)
	}
	for _, n := range nodes {
		body.AppendChild(n)
	}
	return body
}

// visible returns the text of a node, with "\n" for <br> and a blank line between paragraphs.
func visible(n *html.Node) string {
	var b strings.Builder
	for d := range n.Descendants() {
		switch {
		case d.Type == html.TextNode:
			b.WriteString(d.Data)
		case d.Data == "br":
			b.WriteString("\n")
		case d.Data == "p" && b.Len() > 0:
			b.WriteString("\n\n")
		}
	}
	return b.String()
}

// allowed maps the elements that HTML writes to their attributes.
var allowed = map[string][]string{
	"p": nil, "br": nil, "strong": nil, "em": nil, "del": nil, "a": {"href", "rel"}, "code": nil, "pre": nil,
	"ul": nil, "ol": {"start"}, "li": nil, "blockquote": nil, "hr": nil,
}

// check checks the documented properties of HTML and Text.
func check(t tester, typed string) {
	t.Helper()
	markdown.Parse(gmtext.NewReader(clean(typed))) // without recover
	made, text := string(HTML(typed)), Text(typed)
	chars := utf8.RuneCountInString(typed)
	if len(made) > 40*chars || len(text) > 40*chars {
		t.Errorf("of %d characters, %d bytes of HTML and %d of text", chars, len(made), len(text))
	}
	carried := func(r rune) bool {
		return r != '\n' && r != '\t' &&
			(unicode.IsControl(r) || r >= 0x202a && r <= 0x202e || r >= 0x2066 && r <= 0x2069)
	}
	for _, s := range []string{made, text} {
		if !utf8.ValidString(s) || strings.ContainsFunc(s, carried) {
			t.Errorf("not a clean text: %q", s)
		}
	}
	doc := document(t, typed)
	// Rendering the parsed document gives the same bytes: all elements are closed and
	// correctly nested.
	var again strings.Builder
	for c := doc.FirstChild; c != nil; c = c.NextSibling {
		if err := html.Render(&again, c); err != nil {
			t.Fatalf("rendering the HTML again: %v", err)
		}
	}
	if got := strings.NewReplacer("<br/>", "<br>", "<hr/>", "<hr>").Replace(again.String()); got != made {
		t.Errorf("read as %q\nwritten %q", got, made)
	}
	for n := range doc.Descendants() {
		checkNode(t, n)
	}
	// The text contains everything that the HTML shows, in the same order.
	if left := missing(visible(doc), text); left != "" {
		t.Errorf("of %q the text %q lacks %q", visible(doc), text, left)
	}
}

func checkNode(t tester, n *html.Node) {
	t.Helper()
	if n.Type == html.TextNode {
		return
	}
	names, ok := allowed[n.Data]
	if n.Type != html.ElementNode || !ok {
		t.Fatalf("the element %q is not allowed", n.Data)
	}
	for _, a := range n.Attr {
		switch {
		case len(names) == 0 || a.Key != names[0] && a.Key != names[len(names)-1] || a.Namespace != "":
			t.Errorf("<%s %s> is not allowed", n.Data, a.Key)
		case a.Key == "href" && !leads(a.Val):
			t.Errorf("a link to %q", a.Val)
		case a.Key == "rel" && a.Val != "nofollow noopener noreferrer":
			t.Errorf("rel is %q", a.Val)
		case a.Key == "start" && (a.Val == "" || strings.Trim(a.Val, "0123456789") != ""):
			t.Errorf("start is %q", a.Val)
		}
	}
	if n.Data == "a" && (len(n.Attr) != 2 || strings.TrimSpace(visible(n)) == "") {
		t.Errorf("a link with %v that shows %q", n.Attr, visible(n))
	}
}

// leads reports whether a URL is absolute and has an allowed scheme.
func leads(address string) bool {
	lower := strings.ToLower(address)
	for _, start := range []string{"http://", "https://", "mailto:"} {
		if rest, ok := strings.CutPrefix(lower, start); ok {
			return rest != "" && !strings.ContainsAny(rest, " \"<>\\\t\n") && !strings.ContainsAny(rest[:1], "/?#")
		}
	}
	return false
}

// missing returns the rest of want from the first character on that text does not
// contain in this order. It ignores white space.
func missing(want, text string) string {
	rest := []rune(text)
	for i, r := range want {
		if unicode.IsSpace(r) {
			continue
		}
		for len(rest) > 0 && rest[0] != r {
			rest = rest[1:]
		}
		if len(rest) == 0 {
			return want[i:]
		}
		rest = rest[1:]
	}
	return ""
}

func seed(f *testing.F) {
	for _, c := range cases {
		f.Add(c.typed[:min(len(c.typed), 200)])
	}
	for _, typed := range hostile() {
		f.Add(typed[:min(len(typed), 200)])
	}
}

func FuzzHTML(f *testing.F) {
	seed(f)
	f.Fuzz(func(t *testing.T, typed string) { check(t, typed) })
}

// FuzzText checks that Text adds no letters and does not reorder any. Only in URLs it
// may percent-encode characters.
func FuzzText(f *testing.F) {
	seed(f)
	f.Fuzz(func(t *testing.T, typed string) {
		text := Text(typed)
		if !utf8.ValidString(text) || strings.Trim(text, "\n") != text {
			t.Errorf("Text = %q, want valid UTF-8 without line feeds at the ends", text)
		}
		letters := strings.Map(func(r rune) rune {
			if unicode.IsLetter(r) && !strings.ContainsRune("ABCDEF", r) {
				return r
			}
			return -1
		}, text)
		if left := missing(letters, typed); left != "" {
			t.Errorf("%q has %q, which was not typed in %q", text, left, typed)
		}
	})
}

func TestProse(t *testing.T) {
	for typed, want := range map[string]string{
		"":               "",
		" one\r\n\ttwo ": "one two",
		"We know:\n\n- *first* point\n- second\n\n> quoted\n> twice\n\nEnd.": "We know: first point · second quoted " +
			"twice End.",
		"1. one\n2. two\n   - deep\n   - deeper": "one · two deep · deeper",
		"# Head\n\n---\n\nbody `code`":           "Head body code",
		"```\na  b\nc\n```":                      "a b c",
		"see [here](https://a.example/)":         "see here (https://a.example/)",
		"1 > 2 - 3":                              "1 > 2 - 3",
		"-":                                      "",
		strings.Repeat("x", maxChars) + " \n y":  strings.Repeat("x", maxChars) + " y",
	} {
		if got := Prose(typed); got != want {
			t.Errorf("Prose(%.40q) = %.80q, want %.80q", typed, got, want)
		}
	}
}

// TestLine checks that names and titles become one line without formatting characters.
func TestLine(t *testing.T) {
	for text, want := range map[string]string{
		" a\r\n b\tc\u2028d\u00a0e ": "a b c d e", "a\u202eb\u2066c\u2069d\ufeff": "abcd", "\u202e\x07": "",
		"a\x1b[31mb\x00\u0085c": "a[31mb c", "\xff\ufffe": "\ufffd\ufffd", "الحالة\u200f (1)": "الحالة\u200f (1)",
	} {
		if got := Line(text); got != want || Line(got) != got {
			t.Errorf("Line(%q) = %q, want %q", text, got, want)
		}
	}
	if got := Clean("a\u202e\r\nb\x07\tc\n\nd "); got != "a\nb\tc\n\nd " {
		t.Errorf("Clean = %q", got)
	}
}

// TestExcerpt checks that spaces are folded and that long messages are shortened.
func TestExcerpt(t *testing.T) {
	for message, want := range map[string]string{
		"":                           "",
		" one\r\n\ttwo ":             "one two",
		strings.Repeat("é", 280):     strings.Repeat("é", 280),
		strings.Repeat("é", 281):     strings.Repeat("é", 280) + "…",
		strings.Repeat("word ", 100): strings.Repeat("word ", 55) + "word…",
	} {
		if got := Excerpt(message); got != want {
			t.Errorf("Excerpt(%.20q) = %q", message, got)
		}
	}
}
