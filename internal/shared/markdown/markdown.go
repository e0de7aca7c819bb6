// Package markdown converts the Markdown of updates and descriptions to safe HTML and to plain text.
//
// It supports the parts of CommonMark that people use in messages: emphasis, code, links, lists, block quotes, thematic
// breaks and headings. It also supports ~~strikethrough~~ and bare URLs. Messages are often plain text, so a single
// newline is a line break, and syntax that would hide or change words of a plain text is disabled: HTML, character
// references, setext headings, link reference definitions ("[Update]: solved" is one), tables, and single tildes
// ("10:00~11:00").
//
// The cost is bounded. For a text of n characters, HTML and Text return at most 40n
// bytes each. Parsing is limited by maxWork, maxChars, maxLines, maxMarks and
// maxDepth; text beyond a limit is shown as typed.
// See docs/decisions/0024-markdown.md.
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
	// maxChars is the length of the longest text that is parsed, in characters.
	maxChars = 25_000
	// maxLines is the maximum number of lines of a text that is parsed.
	maxLines = 1_200
	// maxDepth is the maximum nesting of block quotes and lists.
	maxDepth = 6
	// maxMarks is the maximum number of emphasis, strikethrough and link delimiters
	// of one paragraph. The parser may compare each with all others.
	maxMarks = 500
)

// HTML renders a text as a sequence of block elements. The elements are p, br, strong, em, del, a, code, pre, ul, ol,
// li, blockquote and hr. The attributes are start of ol, and href and rel of a. The schemes of links are http, https
// and mailto; other links are shown as typed. An image becomes a link to it, a heading a paragraph in strong. HTML adds
// no white space, so that the surrounding element can use white-space: pre-wrap. The surrounding element sets the text
// direction.
//
// HTML returns "" for a blank text. It cannot fail: invalid syntax is shown as typed.
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

// Text renders a text as plain text. It removes the delimiters of emphasis, headings and code. A link is its label,
// followed by the address in parentheses unless both are the same. List items start with "- " or their number, quoted
// lines with "> ", and a blank line separates paragraphs. There is no newline at the end.
//
// The result is not escaped: it may contain HTML that was typed.
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

// parse returns nil for a text that has to be shown as typed.
func parse(source []byte) ast.Node {
	if utf8.RuneCount(source) > maxChars || bytes.Count(source, []byte("\n")) >= maxLines {
		return nil
	}
	return recovered(func() ast.Node { return markdown.Parse(text.NewReader(source)) })
}

// recovered returns nil if the parser panics. No text is known to cause a panic, but
// one that did would be stored, and would panic for every page and every mail.
func recovered(parse func() ast.Node) (doc ast.Node) {
	defer func() {
		if recover() != nil {
			doc = nil
		}
	}()
	return parse()
}

// shallow limits the nesting of blocks to maxDepth.
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

// few limits the number of delimiters of a paragraph to maxMarks.
type few struct{ parser.InlineParser }

// marks is the context key of the number of delimiters in the current paragraph.
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

// deletion accepts two tildes as a delimiter, but not one.
type deletion struct{ parser.InlineParser }

func (d deletion) Parse(parent ast.Node, block text.Reader, pc parser.Context) ast.Node {
	if line, _ := block.PeekLine(); !bytes.HasPrefix(line, []byte("~~")) {
		return nil
	}
	return d.InlineParser.Parse(parent, block, pc)
}

// lineEnds replaces the line ends of Windows, old Macs, word processors and Unicode by "\n".
var lineEnds = strings.NewReplacer("\r\n", "\n", "\r", "\n", "\v", "\n", "\f", "\n",
	"\u0085", "\n", "\u2028", "\n", "\u2029", "\n")

// Clean returns text that HTML, XML and mail can contain, with "\n" as line end. It removes control characters and the
// bidirectional formatting characters U+202A to U+202E and U+2066 to U+2069, which could reorder the text around it. It
// replaces invalid UTF-8 and noncharacters by U+FFFD.
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

// Line returns a cleaned text as one line, such as a name or a title. It replaces
// each run of white space by one space, and trims both ends.
func Line(text string) string { return strings.Join(strings.Fields(Clean(text)), " ") }

// clean returns Clean(text) as bytes.
func clean(text string) []byte { return []byte(Clean(text)) }

// literal removes the backslashes that escape punctuation.
func literal(source []byte) []byte { return util.UnescapePunctuations(source) }

// codeSpan returns the content of a code span as one line.
func codeSpan(n ast.Node, source []byte) []byte {
	var code []byte
	for c := n.FirstChild(); c != nil; c = c.NextSibling() {
		if t, ok := c.(*ast.Text); ok {
			code = append(code, t.Segment.Value(source)...)
		}
	}
	return bytes.ReplaceAll(code, []byte("\n"), []byte(" "))
}

// codeLines returns the content of a code block as typed.
func codeLines(n ast.Node, source []byte) []byte {
	lines := n.Lines().Value(source)
	if len(lines) > 0 && !bytes.HasSuffix(lines, []byte("\n")) {
		lines = append(slices.Clip(lines), '\n')
	}
	return lines
}
