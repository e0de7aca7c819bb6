package jsonpath

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/allswell/allswell/internal/check/pattern"
)

// Limits of paths.
const (
	maxLength  = 4096 // bytes
	maxNesting = 100  // filters, parentheses and calls within each other
	maxInteger = 1<<53 - 1
)

// parser reads a path. Its methods panic with a parseError, which Parse returns.
type parser struct {
	text    string
	at      int
	nesting int
}

type parseError struct{ error }

// Parse parses a path. The error says where it is not valid.
func Parse(text string) (path *Path, err error) {
	if len(text) > maxLength {
		return nil, fmt.Errorf("it is longer than %d bytes", maxLength)
	}
	if !utf8.ValidString(text) {
		return nil, errors.New("it is not valid UTF-8")
	}
	defer func() {
		switch cause := recover().(type) {
		case nil:
		case parseError:
			path, err = nil, cause.error
		default:
			panic(cause)
		}
	}()
	p := &parser{text: text}
	p.expect("$")
	root := query{segments: p.segments()}
	if p.at < len(text) {
		p.fail("unexpected text")
	}
	return &Path{root}, nil
}

func (p *parser) fail(format string, args ...any) {
	rest := p.text[p.at:]
	if rest == "" {
		panic(parseError{fmt.Errorf(format+" at its end", args...)})
	}
	panic(parseError{fmt.Errorf(format+" at %q", append(args, rest)...)})
}

func (p *parser) nest() {
	if p.nesting++; p.nesting > maxNesting {
		p.fail("more than %d levels", maxNesting)
	}
}

// peek returns the next byte; 0 at the end.
func (p *parser) peek() byte {
	if p.at < len(p.text) {
		return p.text[p.at]
	}
	return 0
}

func (p *parser) sees(prefix string) bool { return strings.HasPrefix(p.text[p.at:], prefix) }

func (p *parser) accept(prefix string) bool {
	if !p.sees(prefix) {
		return false
	}
	p.at += len(prefix)
	return true
}

func (p *parser) expect(prefix string) {
	if !p.accept(prefix) {
		p.fail("expected %s", prefix)
	}
}

// blank skips blank space.
func (p *parser) blank() {
	for p.at < len(p.text) && strings.IndexByte(" \t\n\r", p.text[p.at]) >= 0 {
		p.at++
	}
}

// segments reads the segments of a query. Blank space after the last one is not read.
func (p *parser) segments() (all []segment) {
	for {
		before := p.at
		p.blank()
		switch {
		case p.accept(".."):
			all = append(all, p.dotted(segment{descendant: true}))
		case p.accept("."):
			if p.peek() == '[' {
				p.fail("expected a name or *")
			}
			all = append(all, p.dotted(segment{}))
		case p.peek() == '[':
			all = append(all, segment{selectors: p.brackets()})
		default:
			p.at = before
			return all
		}
	}
}

// dotted reads what follows a dot: *, a name or, of a descendant segment, brackets.
func (p *parser) dotted(s segment) segment {
	switch {
	case p.accept("*"):
		s.selectors = []selector{{kind: selectAll}}
	case p.peek() == '[':
		s.selectors = p.brackets()
	default:
		s.selectors = []selector{{kind: selectName, name: p.shortName()}}
	}
	return s
}

// shortName reads a name without quotes.
func (p *parser) shortName() string {
	from := p.at
	for _, c := range p.text[from:] {
		digit := '0' <= c && c <= '9'
		if c != '_' && (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') && c < 0x80 && (!digit || p.at == from) {
			break
		}
		p.at += utf8.RuneLen(c)
	}
	if p.at == from {
		p.fail("expected a name or *; other names are written as ['name'],")
	}
	return p.text[from:p.at]
}

func (p *parser) brackets() (all []selector) {
	p.expect("[")
	for {
		p.blank()
		all = append(all, p.selector())
		p.blank()
		if p.accept("]") {
			return all
		}
		if !p.accept(",") {
			p.fail("expected , or ]")
		}
	}
}

func (p *parser) selector() selector {
	switch c := p.peek(); {
	case c == '"' || c == '\'':
		return selector{kind: selectName, name: p.quoted()}
	case p.accept("*"):
		return selector{kind: selectAll}
	case p.accept("?"):
		p.nest()
		p.blank()
		filter := p.or()
		p.nesting--
		return selector{kind: selectFilter, filter: filter}
	case c == ':' || c == '-' || '0' <= c && c <= '9':
		return p.indexOrSlice()
	}
	p.fail("expected a selector")
	return selector{}
}

func (p *parser) indexOrSlice() selector {
	s := selector{kind: selectSlice, step: 1, start: p.optionalInteger()}
	before := p.at
	if p.blank(); !p.accept(":") {
		p.at = before
		return selector{kind: selectIndex, index: *s.start} // there is one: it did not begin with a colon
	}
	p.blank()
	s.end = p.optionalInteger()
	before = p.at
	if p.blank(); !p.accept(":") {
		p.at = before
		return s
	}
	p.blank()
	if step := p.optionalInteger(); step != nil {
		s.step = *step
	}
	return s
}

// optionalInteger reads an integer, or returns nil if there is none.
func (p *parser) optionalInteger() *int {
	from := p.at
	p.accept("-")
	digits := p.digits()
	switch {
	case p.at == from:
		return nil
	case digits == "" || digits[0] == '0' && p.at-from > 1:
		p.at = from
		p.fail("expected an integer without leading zeros")
	}
	n, err := strconv.ParseInt(p.text[from:p.at], 10, 64)
	if err != nil || n > maxInteger || n < -maxInteger {
		p.at = from
		p.fail("the integer is too large")
	}
	i := int(n)
	return &i
}

func (p *parser) digits() string {
	from := p.at
	for c := p.peek(); '0' <= c && c <= '9'; c = p.peek() {
		p.at++
	}
	return p.text[from:p.at]
}

// quoted reads a string literal.
func (p *parser) quoted() string {
	quote := p.peek()
	p.at++
	var b strings.Builder
	for {
		c, size := utf8.DecodeRuneInString(p.text[p.at:])
		switch {
		case size == 0:
			p.fail("the quotes do not end")
		case c == rune(quote):
			p.at++
			return b.String()
		case c < ' ':
			p.fail("control character")
		case c == '\\':
			p.at++
			b.WriteRune(p.escaped(quote))
			continue
		default:
			b.WriteRune(c)
		}
		p.at += size
	}
}

// escaped reads what follows a backslash.
func (p *parser) escaped(quote byte) rune {
	c := p.peek()
	if c == 'u' {
		return p.hexEscaped()
	}
	p.at++
	if c == quote {
		return rune(quote)
	}
	if i := strings.IndexByte(`bfnrt/\`, c); i >= 0 && c != 0 {
		return rune("\b\f\n\r\t/\\"[i])
	}
	p.at--
	p.fail("unknown escape")
	return 0
}

// hexEscaped reads uXXXX, or two of them for a surrogate pair.
func (p *parser) hexEscaped() rune {
	first := p.hexadecimal()
	if first < 0xd800 || first > 0xdfff {
		return first
	}
	if first < 0xdc00 && p.accept(`\`) {
		if second := p.hexadecimal(); 0xdc00 <= second && second <= 0xdfff {
			return (first-0xd800)<<10 + second - 0xdc00 + 0x10000
		}
	}
	p.fail("surrogate without its other half")
	return 0
}

func (p *parser) hexadecimal() rune {
	if len(p.text)-p.at < 5 || p.peek() != 'u' {
		p.fail("expected uXXXX")
	}
	n, err := strconv.ParseUint(p.text[p.at+1:p.at+5], 16, 32)
	if err != nil || strings.ContainsAny(p.text[p.at+1:p.at+5], "+-_") {
		p.fail("expected uXXXX")
	}
	p.at += 5
	return rune(n)
}

// compileLiteral returns the compiled literal of a call, or nil if the argument is not a valid literal. It panics with
// a parseError if the literal is too large.
func compileLiteral(o operand, m pattern.Mode) *pattern.Pattern {
	l, ok := o.(literal)
	if !ok || l.kind != kindString {
		return nil
	}
	compiled, err := pattern.CompileIRegexp(l.text, m)
	if errors.Is(err, pattern.ErrTooLarge) {
		panic(parseError{err})
	}
	if err != nil {
		return nil
	}
	return compiled
}
