package markdown

import (
	"html/template"
	"strconv"
	"strings"

	"github.com/yuin/goldmark/ast"
	extast "github.com/yuin/goldmark/extension/ast"
)

// htmlWriter writes nodes as HTML. It never nests an inline element in another of the same name, which bounds the depth
// of the output: links must not be nested, and nested emphasis looks the same.
type htmlWriter struct {
	source []byte
	out    strings.Builder
	open   map[string]bool // open inline elements
}

func (w *htmlWriter) escape(s string) { template.HTMLEscape(&w.out, []byte(s)) }

func (w *htmlWriter) children(n ast.Node) {
	for c := n.FirstChild(); c != nil; c = c.NextSibling() {
		w.node(c)
	}
}

// element writes the children of a node in an element.
func (w *htmlWriter) element(name string, n ast.Node) {
	w.out.WriteString("<" + name + ">")
	w.children(n)
	w.out.WriteString("</" + name + ">")
}

// inlineElement is element for inline elements, which are not nested in themselves.
func (w *htmlWriter) inlineElement(name string, n ast.Node) {
	if w.open[name] {
		w.children(n)
		return
	}
	w.open[name] = true
	w.element(name, n)
	w.open[name] = false
}

func (w *htmlWriter) node(n ast.Node) {
	switch n := n.(type) {
	case *ast.Paragraph:
		w.element("p", n)
	case *ast.Heading:
		w.heading(n)
	case *ast.Blockquote:
		w.element("blockquote", n)
	case *ast.List:
		w.list(n)
	case *ast.ListItem:
		w.element("li", n)
	case *ast.ThematicBreak:
		w.out.WriteString("<hr>")
	case *ast.CodeBlock, *ast.FencedCodeBlock:
		w.out.WriteString("<pre><code>")
		w.escape(string(codeLines(n, w.source)))
		w.out.WriteString("</code></pre>")
	case *ast.CodeSpan:
		w.out.WriteString("<code>")
		w.escape(string(codeSpan(n, w.source)))
		w.out.WriteString("</code>")
	case *ast.Emphasis:
		w.inlineElement([]string{"em", "strong"}[n.Level-1], n)
	case *extast.Strikethrough:
		w.inlineElement("del", n)
	case *ast.Text:
		w.text(n)
	case *ast.Link, *ast.Image, *ast.AutoLink:
		w.link(n)
	default:
		w.children(n)
	}
}

// heading writes a paragraph in strong, to keep the outline of the page unchanged.
func (w *htmlWriter) heading(n *ast.Heading) {
	w.out.WriteString("<p>")
	if n.HasChildren() {
		w.inlineElement("strong", n)
	} else {
		w.out.WriteString(strings.Repeat("#", n.Level))
	}
	w.out.WriteString("</p>")
}

func (w *htmlWriter) list(n *ast.List) {
	if !n.IsOrdered() {
		w.element("ul", n)
		return
	}
	w.out.WriteString("<ol")
	if n.Start != 1 {
		w.out.WriteString(` start="` + strconv.Itoa(n.Start) + `"`)
	}
	w.out.WriteString(">")
	w.children(n)
	w.out.WriteString("</ol>")
}

func (w *htmlWriter) text(n *ast.Text) {
	w.escape(string(literal(n.Segment.Value(w.source))))
	if n.SoftLineBreak() || n.HardLineBreak() {
		w.out.WriteString("<br>")
	}
}

func (w *htmlWriter) link(n ast.Node) {
	l := linkOf(n, w.source)
	switch {
	case l.address == "": // not a link: as typed
		w.escape(l.before)
		w.label(l)
		w.escape(l.after)
	case w.open["a"]:
		w.label(l)
	default:
		w.out.WriteString(`<a href="`)
		w.escape(l.address)
		w.out.WriteString(`" rel="nofollow noopener noreferrer">`)
		w.open["a"] = true
		if l.label != nil && strings.TrimSpace(inline(l.label, w.source, true)) == "" {
			w.escape(l.shown()) // a link with an empty label would be invisible
		} else {
			w.label(l)
		}
		w.open["a"] = false
		w.out.WriteString("</a>")
	}
}

func (w *htmlWriter) label(l link) {
	w.escape(l.typed)
	if l.label != nil {
		w.children(l.label)
	}
}

// plainHTML renders a text as typed, without parsing it.
func plainHTML(text string) string {
	var b strings.Builder
	for paragraph := range strings.SplitSeq(text, "\n\n") {
		if paragraph = strings.TrimSpace(paragraph); paragraph != "" {
			b.WriteString("<p>" + strings.ReplaceAll(template.HTMLEscapeString(paragraph), "\n", "<br>") + "</p>")
		}
	}
	return b.String()
}
