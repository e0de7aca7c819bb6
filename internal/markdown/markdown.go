// Package markdown turns what people type into updates and descriptions into
// safe HTML and into plain text.
//
// It understands the part of CommonMark that people use in a message: emphasis,
// code, links, lists, quotations, rules and headings, and beside it ~~deleted~~
// and bare addresses. Messages are often plain text, so a single newline is a
// line break, and what would make words vanish from such a text or change
// without being asked for has no meaning here: HTML and its character
// references, underlined headings, link definitions ("[Update]: solved" is one),
// tables, and the single tilde of "10:00~11:00".
//
// The cost is bounded. Of a text of n characters, HTML and Text make at most 40n
// bytes each. The work of parsing is counted, and what goes beyond maxWork,
// maxChars, maxLines, maxMarks or maxDepth is shown as it was typed: see
// docs/decisions/0032-bounded-pages.md for what the worst texts take.
package markdown

import (
	"bytes"
	"html/template"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	"github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/text"
	"github.com/yuin/goldmark/util"
)

const (
	// maxChars is the longest text that is taken for Markdown, in characters.
	maxChars = 25_000
	// maxLines is the most lines of a text that is taken for Markdown.
	maxLines = 1_200
	// maxDepth is how many quotations and lists can be inside each other.
	maxDepth = 6
	// maxMarks is how many marks of emphasis, deletion and links one paragraph
	// can have. Each may be compared with all others, and what is between.
	maxMarks = 500
)

// HTML renders a text as a sequence of block elements. Of elements there are
// p, br, strong, em, del, a, code, pre, ul, ol, li, blockquote and hr; of
// attributes, start of ol and href and rel of a. Links lead to http, https and
// mailto; others are shown as they were typed. An image is a link to it, a
// heading a strong paragraph. No white space is added, so that the surrounding
// element may keep that of the text (white-space: pre-wrap). The direction of
// the text is for the surrounding element to say.
//
// A blank text gives "". There are no errors: what means nothing is text.
func HTML(text string) template.HTML {
	source := clean(text)
	doc := parse(source)
	if doc == nil {
		return template.HTML(plainHTML(string(source)))
	}
	w := htmlWriter{source: source, open: make(map[string]bool)}
	w.children(doc)
	return template.HTML(w.out.String())
}

// Text renders a text for where there is no HTML: without the marks of emphasis,
// headings and code, a link as its label and the address in parentheses unless
// they say the same, items after "- " or their number, quoted lines after "> ",
// and a blank line between paragraphs. It ends without a newline.
//
// What a person typed as HTML is still in it: a caller who writes HTML or XML
// escapes it as any text.
func Text(text string) string {
	source := clean(text)
	doc := parse(source)
	if doc == nil {
		return strings.TrimSpace(string(source))
	}
	return strings.Trim(strings.Join(textBlocks(doc, source, false), "\n"), "\n")
}

// markdown is the parser. It is safe for concurrent use.
var markdown = parser.NewParser(
	parser.WithBlockParsers(
		util.Prioritized(parser.NewThematicBreakParser(), 200),
		util.Prioritized(shallow{parser.NewListParser()}, 300),
		util.Prioritized(parser.NewListItemParser(), 400),
		util.Prioritized(parser.NewCodeBlockParser(), 500),
		util.Prioritized(parser.NewATXHeadingParser(), 600),
		util.Prioritized(parser.NewFencedCodeBlockParser(), 700),
		util.Prioritized(shallow{parser.NewBlockquoteParser()}, 800),
		util.Prioritized(parser.NewParagraphParser(), 1000),
	),
	parser.WithInlineParsers(
		util.Prioritized(counted{parser.NewCodeSpanParser(), codeWork}, 100),
		util.Prioritized(few{counted{parser.NewLinkParser(), linkWork}}, 200),
		util.Prioritized(counted{parser.NewAutoLinkParser(), autoLinkWork}, 300),
		util.Prioritized(few{counted{parser.NewEmphasisParser(), markWork}}, 500),
		util.Prioritized(few{counted{deletion{extension.NewStrikethroughParser()}, markWork}}, 500),
		util.Prioritized(counted{addresses{extension.NewLinkifyParser(
			extension.WithLinkifyAllowedProtocols([]string{"http:", "https:"}),
		)}, addressWork}, 999),
	),
)

// parse returns nil for a text that is shown as it was typed.
func parse(source []byte) ast.Node {
	if utf8.RuneCount(source) > maxChars || bytes.Count(source, []byte("\n")) >= maxLines {
		return nil
	}
	return survive(func() ast.Node { return markdown.Parse(text.NewReader(source)) })
}

// survive returns nil if the parser panics. None of the texts tried makes it do
// that; but one that did would be stored, and come again with every page and
// every mail.
func survive(parse func() ast.Node) (doc ast.Node) {
	defer func() {
		if recover() != nil {
			doc = nil
		}
	}()
	return parse()
}

// shallow opens no block that would be deeper than maxDepth.
type shallow struct{ parser.BlockParser }

func (s shallow) Open(parent ast.Node, reader text.Reader, pc parser.Context) (ast.Node, parser.State) {
	depth := 0
	for n := parent; n != nil; n = n.Parent() {
		if k := n.Kind(); k == ast.KindList || k == ast.KindBlockquote {
			depth++
		}
	}
	if depth >= maxDepth {
		return nil, parser.NoChildren
	}
	return s.BlockParser.Open(parent, reader, pc)
}

// few takes the first maxMarks marks of a paragraph for marks.
type few struct{ parser.InlineParser }

// marks counts those of a paragraph in a context.
var marks = parser.NewContextKey()

func (f few) Parse(parent ast.Node, block text.Reader, pc parser.Context) ast.Node {
	n, _ := pc.Get(marks).(int)
	if n >= maxMarks {
		return nil
	}
	pc.Set(marks, n+1)
	return f.InlineParser.Parse(parent, block, pc)
}

// CloseBlock is called at the end of each paragraph.
func (f few) CloseBlock(parent ast.Node, block text.Reader, pc parser.Context) {
	pc.Set(marks, 0)
	if c, ok := f.InlineParser.(parser.CloseBlocker); ok {
		c.CloseBlock(parent, block, pc)
	}
}

// deletion takes two tildes for a mark, and not one.
type deletion struct{ parser.InlineParser }

func (d deletion) Parse(parent ast.Node, block text.Reader, pc parser.Context) ast.Node {
	if line, _ := block.PeekLine(); !bytes.HasPrefix(line, []byte("~~")) {
		return nil
	}
	return d.InlineParser.Parse(parent, block, pc)
}

// lineEnds are the ways to end a line besides "\n": of Windows, of old Macs, of
// word processors, of Unicode.
var lineEnds = strings.NewReplacer("\r\n", "\n", "\r", "\n", "\v", "\n", "\f", "\n",
	"\u0085", "\n", "\u2028", "\n", "\u2029", "\n")

// Clean returns plain text that HTML, XML and mail can carry, with "\n" between
// its lines. It removes control characters, and the characters that change the
// direction of the text that follows (U+202A to U+202E, U+2066 to U+2069), with
// which a text could reorder what is around it. Invalid UTF-8 and noncharacters
// become U+FFFD.
func Clean(text string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\n' || r == '\t':
			return r
		case unicode.IsControl(r), r >= 0x202a && r <= 0x202e, r >= 0x2066 && r <= 0x2069, r == 0xfeff:
			return -1
		case unicode.Is(unicode.Noncharacter_Code_Point, r):
			return unicode.ReplacementChar
		}
		return r
	}, lineEnds.Replace(text))
}

// Line is Clean for a name or a title: text of one line, with one space where
// there is white space, and none at its ends.
func Line(text string) string { return strings.Join(strings.Fields(Clean(text)), " ") }

// clean is Clean for the parser.
func clean(text string) []byte { return []byte(Clean(text)) }

// literal is what a reader sees of a piece of text: a backslash before a
// punctuation mark is not shown.
func literal(source []byte) []byte { return util.UnescapePunctuations(source) }

// codeSpan is what a reader sees of an inline code: its lines joined.
func codeSpan(n ast.Node, source []byte) []byte {
	var code []byte
	for c := n.FirstChild(); c != nil; c = c.NextSibling() {
		if t, ok := c.(*ast.Text); ok {
			code = append(code, t.Segment.Value(source)...)
		}
	}
	return bytes.ReplaceAll(code, []byte("\n"), []byte(" "))
}

// codeLines is a block of code as it was typed.
func codeLines(n ast.Node, source []byte) []byte {
	lines := n.Lines().Value(source)
	if len(lines) > 0 && !bytes.HasSuffix(lines, []byte("\n")) {
		lines = append(slices.Clip(lines), '\n')
	}
	return lines
}
