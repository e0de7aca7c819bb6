// Package pattern matches regular expressions that people configure. Their size is limited, and a match can be stopped:
// the time of package regexp grows with the size of the expression times the length of the text.
package pattern

import (
	"errors"
	"regexp"
	"regexp/syntax"
	"unicode/utf8"
)

// MaxSize is the maximum size of an expression, in instructions of its program. A literal character is one instruction,
// and x{100} are a hundred x.
const MaxSize = 1500

// Limits of a match.
const (
	directWork = 1 << 24 // instructions times bytes that are matched without a stop, which takes at most about 0.2 s
	stopWork   = 1 << 18 // instructions times characters between two questions whether to stop
)

// Errors of Compile and Match.
var (
	ErrTooLarge = errors.New("the regular expression is too large")
	ErrStopped  = errors.New("the match was stopped")
)

// Pattern is a regular expression. It is safe for concurrent use.
type Pattern struct {
	expression *regexp.Regexp
	size       int
}

// Compile compiles a regular expression in RE2 syntax. The error is ErrTooLarge, or an error of regexp/syntax.
func Compile(text string) (*Pattern, error) {
	tree, err := syntax.Parse(text, syntax.Perl)
	if err != nil {
		return nil, err
	}
	return compile(text, tree)
}

// CompileIRegexp compiles a regular expression of RFC 9485, in which . is any character but \n and \r. With the mode
// Whole, it matches only whole texts. The errors are those that Compile returns.
func CompileIRegexp(text string, m Mode) (*Pattern, error) {
	tree, err := syntax.Parse(text, syntax.Perl|syntax.DotNL)
	if err != nil {
		return nil, err
	}
	replaceDot(tree)
	text = tree.String()
	if m == Whole {
		text = `\A(?:` + text + `)\z`
	}
	return Compile(text)
}

// Mode is what a regular expression of RFC 9485 matches.
type Mode int

// The modes.
const (
	Part  Mode = iota // a part of a text
	Whole             // the whole text
)

// anyCharacter is what . means in RFC 9485.
var anyCharacter, _ = syntax.Parse(`[^\n\r]`, syntax.Perl) // is valid

func replaceDot(tree *syntax.Regexp) {
	if tree.Op == syntax.OpAnyChar {
		*tree = *anyCharacter
	}
	for _, sub := range tree.Sub {
		replaceDot(sub)
	}
}

func compile(text string, tree *syntax.Regexp) (*Pattern, error) {
	program, err := syntax.Compile(tree.Simplify())
	if err != nil {
		return nil, err
	}
	if len(program.Inst) > MaxSize {
		return nil, ErrTooLarge
	}
	expression, err := regexp.Compile(text)
	if err != nil {
		return nil, err
	}
	return &Pattern{expression, len(program.Inst)}, nil
}

// Match reports whether a text matches. It calls stop before the match, and repeatedly during a long one; when stop
// returns true, the error is ErrStopped.
func (p *Pattern) Match(text []byte, stop func() bool) (bool, error) {
	if stop() {
		return false, ErrStopped
	}
	if p.size*len(text) <= directWork {
		return p.expression.Match(text), nil
	}
	r := &reader{rest: text, stop: stop, every: max(1, stopWork/p.size)}
	matched := p.expression.MatchReader(r)
	if r.stopped {
		return false, ErrStopped
	}
	return matched, nil
}

// reader reads a text until it is stopped.
type reader struct {
	rest    []byte
	stop    func() bool
	every   int // characters between two questions
	read    int
	stopped bool
}

var errEnd = errors.New("end of the text")

// ReadRune returns the next character.
func (r *reader) ReadRune() (rune, int, error) {
	if r.read++; r.read%r.every == 0 && r.stop() {
		r.stopped = true
	}
	if r.stopped || len(r.rest) == 0 {
		return 0, 0, errEnd
	}
	c, size := utf8.DecodeRune(r.rest)
	r.rest = r.rest[size:]
	return c, size, nil
}
