package jsonpath

import (
	"bytes"
	"encoding/json"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// kind is a kind of values.
type kind int

const (
	kindNothing kind = iota // of an operand without a value
	kindNull
	kindBool
	kindNumber
	kindString
	kindArray
	kindObject
)

// value is a value in a filter: a node, or one that was computed.
type value struct {
	kind   kind
	text   string // of a string without a node, or true or false
	number number
	node   node // of a string, an array or an object; the zero node: none
}

func integer(n int) value {
	exact, _ := parseNumber(strconv.Itoa(n)) // has the form of one
	return value{kind: kindNumber, number: exact}
}

// valueOf returns the value of a node.
func (e *evaluation) valueOf(n node) value {
	switch c := e.text[n.at]; c {
	case '{':
		return value{kind: kindObject, node: n}
	case '[':
		return value{kind: kindArray, node: n}
	case '"':
		return value{kind: kindString, node: n}
	case 'n':
		return value{kind: kindNull}
	case 't', 'f':
		return value{kind: kindBool, text: string(e.raw(n))}
	}
	e.work(int(n.end - n.at))
	exact, _ := parseNumber(string(e.raw(n))) // is valid JSON
	return value{kind: kindNumber, number: exact}
}

// Value is a value that a path selects.
type Value struct {
	document *Document
	node     node
}

// JSON returns the value as the document has it.
func (v Value) JSON() []byte { return v.document.raw(v.node) }

// String returns the characters of a string, and another value as the document has it.
func (v Value) String() string {
	if raw := v.JSON(); raw[0] != '"' {
		return string(raw)
	}
	return unquote(v.JSON())
}

// Beginning returns String, or the first n bytes of JSON if that is longer.
func (v Value) Beginning(n int) string {
	if raw := v.JSON(); len(raw) > n {
		return string(raw[:n])
	}
	return v.String()
}

// Is reports whether the value is the expected one: the same characters, the same number in any notation, or an array
// or object with the same values, whatever the order of the members.
func (v Value) Is(expected string) bool {
	raw := v.JSON()
	if len(raw) > maxComparison || len(expected) > maxComparison {
		return false
	}
	if raw[0] == '"' {
		return v.String() == expected
	}
	var a, b any
	if number, ok := parseNumber(expected); ok && decodeJSON(raw, &a) {
		n, isNumber := a.(json.Number)
		exact, _ := parseNumber(string(n))
		return isNumber && exact.compare(number) == 0
	}
	return decodeJSON(raw, &a) && decodeJSON([]byte(expected), &b) && sameJSON(a, b)
}

// maxComparison is the maximum number of bytes of values that Is compares. Longer ones are different.
const maxComparison = 1 << 20

func decodeJSON(text []byte, v *any) bool {
	if !json.Valid(text) { // a decoder ignores what follows a value
		return false
	}
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.UseNumber()
	return decoder.Decode(v) == nil
}

// sameJSON reports whether two decoded values are equal.
func sameJSON(a, b any) bool {
	switch a := a.(type) {
	case json.Number:
		b, ok := b.(json.Number)
		x, _ := parseNumber(string(a))
		y, _ := parseNumber(string(b))
		return ok && x.compare(y) == 0
	case []any:
		b, ok := b.([]any)
		return ok && slices.EqualFunc(a, b, sameJSON)
	case map[string]any:
		b, ok := b.(map[string]any)
		return ok && maps.EqualFunc(a, b, sameJSON)
	}
	return a == b
}

// string returns the text of a string.
func (v value) string(e *evaluation) string {
	if v.node.end == 0 {
		return v.text
	}
	e.work(int(v.node.end - v.node.at))
	return unquote(e.raw(v.node))
}

// unquote returns the text of a valid JSON string.
func unquote(quoted []byte) string {
	if bytes.IndexByte(quoted, '\\') < 0 {
		return string(quoted[1 : len(quoted)-1])
	}
	var text string
	_ = json.Unmarshal(quoted, &text) // is valid
	return text
}

// isName reports whether a quoted name is the given one.
func isName(quoted []byte, name string) bool {
	if bytes.IndexByte(quoted, '\\') < 0 {
		return string(quoted[1:len(quoted)-1]) == name
	}
	return unquote(quoted) == name
}

func (l literal) evaluate(*evaluation, node) value { return l.value }

func (q singleQuery) evaluate(e *evaluation, current node) (v value) {
	e.selectFrom(q.query, current, func(n node) bool {
		v = e.valueOf(n)
		return false
	})
	return v
}

func (all anyOf) holds(e *evaluation, current node) bool {
	for _, c := range all {
		if c.holds(e, current) {
			return true
		}
	}
	return false
}

func (all allOf) holds(e *evaluation, current node) bool {
	for _, c := range all {
		if !c.holds(e, current) {
			return false
		}
	}
	return true
}

func (n not) holds(e *evaluation, current node) bool { return !n.condition.holds(e, current) }

func (x exists) holds(e *evaluation, current node) (found bool) {
	e.selectFrom(x.query, current, func(node) bool {
		found = true
		return false
	})
	return found
}

func (c comparison) holds(e *evaluation, current node) bool {
	a, b := c.left.evaluate(e, current), c.right.evaluate(e, current)
	switch c.op {
	case "==":
		return e.equal(a, b)
	case "!=":
		return !e.equal(a, b)
	case "<":
		return e.less(a, b)
	case ">":
		return e.less(b, a)
	case "<=":
		return e.less(a, b) || e.equal(a, b)
	default:
		return e.less(b, a) || e.equal(a, b)
	}
}

// less reports whether a number or string is less than another one.
func (e *evaluation) less(a, b value) bool {
	switch {
	case a.kind != b.kind:
		return false
	case a.kind == kindNumber:
		return a.number.compare(b.number) < 0
	case a.kind == kindString:
		return strings.Compare(a.string(e), b.string(e)) < 0
	}
	return false
}

// equal reports whether two values are equal. Nothing is equal to nothing.
func (e *evaluation) equal(a, b value) bool {
	if a.kind != b.kind {
		return false
	}
	switch a.kind {
	case kindBool:
		return a.text == b.text
	case kindNumber:
		return a.number.compare(b.number) == 0
	case kindString:
		return a.string(e) == b.string(e)
	case kindArray:
		return e.equalArrays(a.node, b.node)
	case kindObject:
		return e.countChildren(a.node) == e.countChildren(b.node) && e.hasMembers(a.node, b.node)
	}
	return true
}

func (e *evaluation) equalArrays(a, b node) bool {
	var others []node
	e.each(b, func(_ []byte, n node) bool {
		others = append(others, n)
		return true
	})
	at, same := 0, true
	e.each(a, func(_ []byte, n node) bool {
		same = at < len(others) && e.equal(e.valueOf(n), e.valueOf(others[at]))
		at++
		return same
	})
	return same && at == len(others)
}

// hasMembers reports whether object has all members of other, with equal values.
func (e *evaluation) hasMembers(other, object node) bool {
	same := true
	e.each(other, func(name []byte, n node) bool {
		member, ok := e.member(object, unquote(name))
		same = ok && e.equal(e.valueOf(n), e.valueOf(member))
		return same
	})
	return same
}
