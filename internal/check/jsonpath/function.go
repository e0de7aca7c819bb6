package jsonpath

import (
	"unicode/utf8"

	"github.com/allswell/allswell/internal/check/pattern"
)

// valueType is a type of RFC 9535 for arguments and results of functions.
type valueType int

const (
	typeValue valueType = iota
	typeNodes
	typeLogical
)

// function is a function of filters. A function of typeValue returns a value, and a function of typeLogical matches a
// regular expression.
type function struct {
	name       string
	parameters []valueType
	result     valueType
	call       func(e *evaluation, c call, current node) value
	test       func(e *evaluation, c call, current node) bool
	mode       pattern.Mode // how the regular expression matches
}

var functions = []*function{
	{name: "length", parameters: []valueType{typeValue}, result: typeValue, call: length},
	{name: "count", parameters: []valueType{typeNodes}, result: typeValue, call: count},
	{name: "value", parameters: []valueType{typeNodes}, result: typeValue, call: onlyValue},
	{
		name: "match", parameters: []valueType{typeValue, typeValue}, result: typeLogical, test: matches,
		mode: pattern.Whole,
	},
	{
		name: "search", parameters: []valueType{typeValue, typeValue}, result: typeLogical, test: matches,
		mode: pattern.Part,
	},
}

func (c call) evaluate(e *evaluation, current node) value { return c.function.call(e, c, current) }
func (c call) holds(e *evaluation, current node) bool     { return c.function.test(e, c, current) }

// length returns the number of characters of a string, of elements of an array, or of members of an object.
func length(e *evaluation, c call, current node) value {
	switch v := c.values[0].evaluate(e, current); v.kind {
	case kindString:
		text := v.string(e)
		e.work(len(text))
		return integer(utf8.RuneCountInString(text))
	case kindArray, kindObject:
		return integer(e.countChildren(v.node))
	}
	return value{}
}

// count returns the number of nodes.
func count(e *evaluation, c call, current node) value {
	n := 0
	e.selectFrom(c.nodes, current, func(node) bool {
		n++
		return true
	})
	return integer(n)
}

// onlyValue returns the value of the only node. It returns nothing if there is no node, or more than one.
func onlyValue(e *evaluation, c call, current node) value {
	var found []node
	e.selectFrom(c.nodes, current, func(n node) bool {
		found = append(found, n)
		return len(found) < 2
	})
	if len(found) != 1 {
		return value{}
	}
	return e.valueOf(found[0])
}

// matches reports whether a string matches a regular expression. An invalid expression matches nothing.
func matches(e *evaluation, c call, current node) bool {
	v, p := c.values[0].evaluate(e, current), c.compiled
	if v.kind != kindString {
		return false
	}
	if p == nil {
		if p = e.compile(c.values[1].evaluate(e, current), c.function.mode); p == nil {
			return false
		}
	}
	text := []byte(v.string(e))
	e.work(len(text))
	matched, err := p.Match(text, e.stopped)
	if err != nil {
		panic(errStopped)
	}
	return matched
}

// compile compiles a regular expression from the document. It caches the last one, because a filter evaluates the same
// expression for each node.
func (e *evaluation) compile(v value, m pattern.Mode) *pattern.Pattern {
	if v.kind != kindString {
		return nil
	}
	text := v.string(e)
	if len(text) > maxDocumentPattern {
		return nil
	}
	if e.lastText != text || e.lastMode != m || e.lastPattern == nil {
		e.work(len(text) * patternWork)
		e.lastPattern, _ = pattern.CompileIRegexp(text, m) // nil if it is invalid
		e.lastText, e.lastMode = text, m
	}
	return e.lastPattern
}
