package markdown

import (
	"bytes"

	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/text"
)

// Parsing takes quadratic time for texts with many unclosed delimiters: for each "`"
// or "[a](b" the parser searches the rest of the paragraph for its end. So the
// parsers count their work, in units of about the time that it takes to look at one
// byte. Once a text has used maxWork, the rest of it is shown as typed. Work is
// counted and not timed, so that a text is always rendered the same way.
const (
	maxWork = 400_000

	lineWork  = 100   // scanning a line, in addition to its bytes
	linkMade  = 1_000 // making and writing a link
	linkTried = 300   // finding that "]" or "<" does not belong to a link
	urlByte   = 20    // scanning a byte of a bare URL
	maxEmail  = 320   // bytes of a word that are searched for "@"
)

// counted calls a parser until the work of a text is used up. cost returns the work
// of a call that returned n.
type counted struct {
	parser.InlineParser
	cost func(a attempt, n ast.Node) int
}

// attempt describes one call of a parser.
type attempt struct {
	line  []byte // from the delimiter to the end of the line
	bytes int    // from the delimiter to the end of the paragraph
	lines int    // from the delimiter to the end of the paragraph
	marks int    // delimiters before this one in the paragraph
}

// work is the context key of the work done for the current text.
var work = parser.NewContextKey()

func (c counted) Parse(parent ast.Node, block text.Reader, pc parser.Context) ast.Node {
	done, _ := pc.Get(work).(int)
	if done >= maxWork {
		return nil
	}
	a := attempt{}
	var segment text.Segment
	a.line, segment = block.PeekLine()
	a.bytes, a.lines = len(a.line), 1
	if all := parent.Lines(); all != nil && all.Len() > 0 {
		at, _ := block.Position()
		a.bytes, a.lines = max(a.bytes, all.At(all.Len()-1).Stop-segment.Start), max(1, all.Len()-at)
	}
	a.marks, _ = pc.Get(marks).(int)
	n := c.InlineParser.Parse(parent, block, pc)
	pc.Set(work, done+c.cost(a, n))
	return n
}

// CloseBlock is called at the end of each paragraph.
func (c counted) CloseBlock(parent ast.Node, block text.Reader, pc parser.Context) {
	if closer, ok := c.InlineParser.(parser.CloseBlocker); ok {
		closer.CloseBlock(parent, block, pc)
	}
}

// toTheEnd returns the work of scanning the rest of the paragraph.
func (a attempt) toTheEnd() int { return a.bytes + lineWork*a.lines }

// codeWork counts the scan for the end of a code span that has none.
func codeWork(a attempt, n ast.Node) int {
	if _, ok := n.(*ast.CodeSpan); ok {
		return 0
	}
	return a.toTheEnd()
}

// linkWork counts the scan after "](" and "]["; other brackets are cheap.
func linkWork(a attempt, n ast.Node) int {
	switch {
	case a.line[0] != ']':
		return a.marks
	case n != nil:
		return linkMade + a.marks
	case len(a.line) > 1 && (a.line[1] == '(' || a.line[1] == '['):
		return a.toTheEnd()
	default:
		return linkTried + a.marks
	}
}

func autoLinkWork(_ attempt, n ast.Node) int {
	if n != nil {
		return linkMade
	}
	return linkTried
}

// markWork counts the comparison of a delimiter with all earlier ones.
func markWork(a attempt, _ ast.Node) int { return a.marks }

func addressWork(a attempt, n ast.Node) int {
	switch {
	case n != nil:
		return linkMade
	case mayBeAddress(a.line):
		return urlByte * len(a.line)
	default:
		return 0
	}
}

// addresses skips words that cannot be a bare URL: the parser is called for every word.
type addresses struct{ parser.InlineParser }

func (w addresses) Parse(parent ast.Node, block text.Reader, pc parser.Context) ast.Node {
	if line, _ := block.PeekLine(); !mayBeAddress(line) {
		return nil
	}
	return w.InlineParser.Parse(parent, block, pc)
}

// mayBeAddress reports whether the first word of line, after one optional delimiter
// or space, may be a URL or an email address.
func mayBeAddress(line []byte) bool {
	if len(line) > 0 && bytes.IndexByte([]byte(" *_~("), line[0]) >= 0 {
		line = line[1:]
	}
	if bytes.HasPrefix(line, []byte("http")) || bytes.HasPrefix(line, []byte("www.")) {
		return true
	}
	at := bytes.IndexByte(line[:min(len(line), maxEmail)], '@')
	return at >= 0 && !bytes.ContainsAny(line[:at], " \t\n<>([")
}
