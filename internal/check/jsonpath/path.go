// Package jsonpath evaluates JSONPath, as RFC 9535 defines it, on the text of a JSON document. It builds no values: a
// node is a place in the text. Numbers are compared exactly, nodes are in the order of the document, and the work of an
// evaluation is limited and can be stopped.
package jsonpath

import "github.com/allswell/allswell/internal/check/pattern"

// Path is a parsed JSONPath. It is safe for concurrent use.
type Path struct{ root query }

// query is a list of segments that are applied to the root of the document, or to the current node of a filter.
type query struct {
	relative bool // begins with @
	segments []segment
}

// singular reports whether the query can only select one node.
func (q query) singular() bool {
	for _, s := range q.segments {
		if s.descendant || len(s.selectors) != 1 {
			return false
		}
		if kind := s.selectors[0].kind; kind != selectName && kind != selectIndex {
			return false
		}
	}
	return true
}

// segment selects children, or descendants, of each node.
type segment struct {
	descendant bool
	selectors  []selector
}

type selectorKind int

const (
	selectName selectorKind = iota
	selectAll
	selectIndex
	selectSlice
	selectFilter
)

type selector struct {
	kind       selectorKind
	name       string
	index      int
	start, end *int // of a slice; nil: its default
	step       int
	filter     condition
}

// condition is a logical expression of a filter.
type condition interface {
	holds(e *evaluation, current node) bool
}

type (
	anyOf  []condition
	allOf  []condition
	not    struct{ condition }
	exists struct{ query }

	comparison struct {
		left, right operand
		op          string
	}
)

// operand is a value of a comparison or of an argument.
type operand interface {
	evaluate(e *evaluation, current node) value
}

// The operands, besides calls.
type (
	literal     struct{ value }
	singleQuery struct{ query }
)

// call is a call of a function.
type call struct {
	function *function
	values   []operand        // arguments of the type ValueType
	nodes    query            // the argument of the type NodesType
	compiled *pattern.Pattern // the second argument of match and search, if it is a valid literal
}
