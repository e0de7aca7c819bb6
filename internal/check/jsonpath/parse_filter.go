package jsonpath

import (
	"slices"
	"strings"
)

// or reads a logical expression.
func (p *parser) or() condition {
	all := anyOf{p.and()}
	for p.acceptOperator("||") {
		all = append(all, p.and())
	}
	if len(all) == 1 {
		return all[0]
	}
	return all
}

func (p *parser) and() condition {
	all := allOf{p.basic()}
	for p.acceptOperator("&&") {
		all = append(all, p.basic())
	}
	if len(all) == 1 {
		return all[0]
	}
	return all
}

// acceptOperator reads an operator with the blank space around it, or nothing.
func (p *parser) acceptOperator(operator string) bool {
	before := p.at
	p.blank()
	if !p.accept(operator) {
		p.at = before
		return false
	}
	p.blank()
	return true
}

// basic reads an expression in parentheses, a comparison or a test. Each except the comparison may be negated by !.
func (p *parser) basic() condition {
	if p.accept("!") {
		p.blank()
		if p.peek() == '(' {
			return not{p.parentheses()}
		}
		before := p.at
		c := p.testOrComparison()
		if _, compared := c.(comparison); compared {
			p.at = before
			p.fail("! before a comparison needs parentheses")
		}
		return not{c}
	}
	if p.peek() == '(' {
		return p.parentheses()
	}
	return p.testOrComparison()
}

func (p *parser) parentheses() condition {
	p.expect("(")
	p.nest()
	p.blank()
	c := p.or()
	p.blank()
	p.expect(")")
	p.nesting--
	return c
}

func (p *parser) testOrComparison() condition {
	from := p.at
	left := p.term()
	op := p.comparator()
	if op != "" {
		right := p.term()
		return comparison{p.comparable(left, from), p.comparable(right, from), op}
	}
	switch t := left.(type) {
	case query:
		return exists{t}
	case call:
		if t.function.result == typeLogical {
			return t
		}
		p.fail("the result of %s() must be compared", t.function.name)
	}
	p.at = from
	p.fail("expected a query, a comparison or a function")
	return nil
}

// comparator reads a comparison operator with the blank space around it, or returns "".
func (p *parser) comparator() string {
	for _, op := range []string{"==", "!=", "<=", ">=", "<", ">"} {
		if p.acceptOperator(op) {
			return op
		}
	}
	return ""
}

// comparable returns a term as an operand of a comparison.
func (p *parser) comparable(term any, from int) operand {
	switch t := term.(type) {
	case literal:
		return t
	case query:
		if t.singular() {
			return singleQuery{t}
		}
		p.at = from
		p.fail("only a query that selects at most one value can be compared")
	case call:
		if t.function.result == typeValue {
			return t
		}
		p.at = from
		p.fail("the result of %s() cannot be compared", t.function.name)
	}
	return nil
}

// term reads a literal, a query or a call of a function.
func (p *parser) term() any {
	switch c := p.peek(); {
	case c == '@' || c == '$':
		p.at++
		return query{relative: c == '@', segments: p.segments()}
	case c == '"' || c == '\'':
		return literal{value{kind: kindString, text: p.quoted()}}
	case c == '-' || '0' <= c && c <= '9':
		return literal{p.number()}
	case 'a' <= c && c <= 'z':
		return p.word()
	}
	p.fail("expected a value, a query or a function")
	return nil
}

func (p *parser) number() value {
	from := p.at
	p.accept("-")
	if integer := p.digits(); integer == "" || integer[0] == '0' && len(integer) > 1 {
		p.at = from
		p.fail("expected a number")
	}
	if p.accept(".") && p.digits() == "" {
		p.fail("expected digits")
	}
	if p.accept("e") || p.accept("E") {
		if !p.accept("-") {
			p.accept("+")
		}
		if p.digits() == "" {
			p.fail("expected digits")
		}
	}
	n, _ := parseNumber(p.text[from:p.at]) // has the form of one
	return value{kind: kindNumber, number: n}
}

// word reads true, false, null or a call.
func (p *parser) word() any {
	from := p.at
	for strings.IndexByte("abcdefghijklmnopqrstuvwxyz0123456789_", p.peek()) >= 0 && p.peek() != 0 {
		p.at++
	}
	name := p.text[from:p.at]
	switch {
	case p.peek() == '(':
		return p.call(name, from)
	case name == "true" || name == "false":
		return literal{value{kind: kindBool, text: name}}
	case name == "null":
		return literal{value{kind: kindNull}}
	}
	p.at = from
	p.fail("unknown word")
	return nil
}

// call reads the arguments of a function.
func (p *parser) call(name string, from int) call {
	i := slices.IndexFunc(functions, func(f *function) bool { return f.name == name })
	if i < 0 {
		p.at = from
		p.fail("unknown function")
	}
	c := call{function: functions[i]}
	p.expect("(")
	p.nest()
	for n, parameter := range c.function.parameters {
		if p.blank(); n > 0 {
			p.expect(",")
			p.blank()
		}
		p.argument(&c, parameter)
	}
	p.blank()
	p.expect(")")
	p.nesting--
	if c.function.test != nil {
		c.compiled = compileLiteral(c.values[1], c.function.mode)
	}
	return c
}

func (p *parser) argument(c *call, parameter valueType) {
	from := p.at
	term := p.term()
	if parameter == typeValue {
		c.values = append(c.values, p.comparable(term, from))
		return
	}
	q, ok := term.(query)
	if !ok {
		p.at = from
		p.fail("%s() needs a query", c.function.name)
	}
	c.nodes = q
}
