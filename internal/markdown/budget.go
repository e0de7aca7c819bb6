package markdown

import (
	"bytes"

	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/text"
)

// Parsing takes time that grows with the square of a text where much that could
// begin something ends nothing: each "`" or "[a](b" is looked for an end to the end
// of its paragraph. So the work is counted, in about the time that it takes to look
// at one byte, and once a text has used up maxWork, nothing in the rest of it has a
// meaning. Work is a number and not a time, so that a text is always shown alike.
const (
	maxWork = 400_000

	lineLook  = 100   // to look at a line, beside its bytes
	linkMake  = 1_000 // to make a link, and to write it
	linkLook  = 300   // to see that "]" ends nothing, or that "<" begins nothing
	wordLook  = 20    // to look at a byte for the end of an address
	emailLook = 320   // bytes of a word that may be a mail address
)

// counted calls a parser as long as there is work left. cost is the work that a
// call has taken; n is what it returned.
type counted struct {
	parser.InlineParser
	cost func(a attempt, n ast.Node) int
}

// attempt is a call of a parser.
type attempt struct {
	line  []byte // the rest of the line, from the mark on
	bytes int    // to the end of the paragraph, from the mark on
	lines int
	marks int // in the paragraph up to here
}

// work counts that of a text in a context.
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

// toTheEnd is the work of looking for an end that is not there.
func (a attempt) toTheEnd() int { return a.bytes + lineLook*a.lines }

// codeWork: a code that does not end is text.
func codeWork(a attempt, n ast.Node) int {
	if _, ok := n.(*ast.CodeSpan); ok {
		return 0
	}
	return a.toTheEnd()
}

// linkWork: what stands in brackets is only looked at if it may be a link.
func linkWork(a attempt, n ast.Node) int {
	switch {
	case a.line[0] != ']':
		return a.marks
	case n != nil:
		return linkMake + a.marks
	case len(a.line) > 1 && (a.line[1] == '(' || a.line[1] == '['):
		return a.toTheEnd()
	default:
		return linkLook + a.marks
	}
}

func autoLinkWork(_ attempt, n ast.Node) int {
	if n != nil {
		return linkMake
	}
	return linkLook
}

// markWork: each mark may be compared with all before it.
func markWork(a attempt, _ ast.Node) int { return a.marks }

func addressWork(a attempt, n ast.Node) int {
	switch {
	case n != nil:
		return linkMake
	case mayBeAddress(a.line):
		return wordLook * len(a.line)
	default:
		return 0
	}
}

// addresses looks only at words that may be addresses: it is asked about each.
type addresses struct{ parser.InlineParser }

func (w addresses) Parse(parent ast.Node, block text.Reader, pc parser.Context) ast.Node {
	if line, _ := block.PeekLine(); !mayBeAddress(line) {
		return nil
	}
	return w.InlineParser.Parse(parent, block, pc)
}

// mayBeAddress reports whether the word at the beginning of a line, behind the mark
// or space that stands before it, may be an address.
func mayBeAddress(line []byte) bool {
	if len(line) > 0 && bytes.IndexByte([]byte(" *_~("), line[0]) >= 0 {
		line = line[1:]
	}
	if bytes.HasPrefix(line, []byte("http")) || bytes.HasPrefix(line, []byte("www.")) {
		return true
	}
	at := bytes.IndexByte(line[:min(len(line), emailLook)], '@')
	return at >= 0 && !bytes.ContainsAny(line[:at], " \t\n<>([")
}
