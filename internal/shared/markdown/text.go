package markdown

import (
	"strconv"
	"strings"

	"github.com/yuin/goldmark/ast"
)

// Prose renders a text as one line. It is like Text, but without list markers, quote
// markers and thematic breaks. A middle dot separates list items.
func Prose(text string) string {
	source := clean(text)
	doc := parse(source)
	if doc == nil {
		return strings.Join(strings.Fields(string(source)), " ")
	}
	return prose(doc, source)
}

func prose(n ast.Node, source []byte) string {
	separator := " "
	switch n.Kind() {
	case ast.KindList:
		separator = " · "
	case ast.KindDocument, ast.KindBlockquote, ast.KindListItem:
	case ast.KindThematicBreak:
		return ""
	case ast.KindCodeBlock, ast.KindFencedCodeBlock:
		return strings.Join(strings.Fields(string(codeLines(n, source))), " ")
	default:
		return strings.Join(strings.Fields(inline(n, source, false)), " ")
	}
	var parts []string
	for c := n.FirstChild(); c != nil; c = c.NextSibling() {
		if part := prose(c, source); part != "" {
			parts = append(parts, part)
		}
	}
	return strings.Join(parts, separator)
}

// textBlocks returns the lines of the children of a block, with blank lines between the children unless tight is set.
func textBlocks(parent ast.Node, source []byte, tight bool) []string {
	var lines []string
	for n := parent.FirstChild(); n != nil; n = n.NextSibling() {
		if len(lines) > 0 && !tight {
			lines = append(lines, "")
		}
		lines = append(lines, textBlock(n, source)...)
	}
	return lines
}

func textBlock(n ast.Node, source []byte) []string {
	switch n := n.(type) {
	case *ast.Blockquote:
		return indent(textBlocks(n, source, false), "> ", "> ")
	case *ast.List:
		return textList(n, source)
	case *ast.ThematicBreak:
		return []string{"---"}
	case *ast.CodeBlock, *ast.FencedCodeBlock:
		return strings.Split(strings.TrimSuffix(string(codeLines(n, source)), "\n"), "\n")
	case *ast.Heading:
		if !n.HasChildren() {
			return []string{strings.Repeat("#", n.Level)}
		}
	}
	return strings.Split(inline(n, source, false), "\n")
}

// textList indents items by two or three characters, whatever the width of their
// number, so that the output of nested lists stays short.
func textList(list *ast.List, source []byte) []string {
	var lines []string
	number := list.Start
	for item := list.FirstChild(); item != nil; item = item.NextSibling() {
		if len(lines) > 0 && !list.IsTight {
			lines = append(lines, "")
		}
		mark, rest := "- ", "  "
		if list.IsOrdered() {
			mark, rest = strconv.Itoa(number)+". ", "   "
			number++
		}
		lines = append(lines, indent(textBlocks(item, source, list.IsTight), mark, rest)...)
	}
	return lines
}

// indent prefixes the first line with first and the other lines with rest. It treats an empty slice as one empty line.
func indent(lines []string, first, rest string) []string {
	if len(lines) == 0 {
		lines = []string{""}
	}
	for i, line := range lines {
		before := rest
		if i == 0 {
			before = first
		}
		if line == "" {
			before = strings.TrimRight(before, " ")
		}
		lines[i] = before + line
	}
	return lines
}

// inline returns the text of a node's children. If inLink is set, links are rendered as their labels.
func inline(parent ast.Node, source []byte, inLink bool) string {
	var b strings.Builder
	writeInline(&b, parent, source, inLink)
	return b.String()
}

func writeInline(b *strings.Builder, parent ast.Node, source []byte, inLink bool) {
	for n := parent.FirstChild(); n != nil; n = n.NextSibling() {
		switch n := n.(type) {
		case *ast.Text:
			b.Write(literal(n.Segment.Value(source)))
			if n.SoftLineBreak() || n.HardLineBreak() {
				b.WriteByte('\n')
			}
		case *ast.CodeSpan:
			b.Write(codeSpan(n, source))
		case *ast.Link, *ast.Image, *ast.AutoLink:
			writeLink(b, linkOf(n, source), source, inLink)
		default:
			writeInline(b, n, source, inLink)
		}
	}
}

func writeLink(b *strings.Builder, l link, source []byte, inLink bool) {
	if l.address == "" {
		b.WriteString(l.before)
	}
	switch {
	case l.label == nil:
		b.WriteString(l.typed)
	case l.address == "" || inLink:
		writeInline(b, l.label, source, inLink)
	default:
		label := inline(l.label, source, true)
		shown := l.shown()
		switch {
		case strings.TrimSpace(label) == "":
			b.WriteString(shown)
		case says(label, l.address):
			b.WriteString(label)
		default:
			b.WriteString(label + " (" + shown + ")")
		}
	}
	if l.address == "" {
		b.WriteString(l.after)
	}
}
