package jsonpath

import (
	"errors"

	"github.com/allswell/allswell/internal/check/pattern"
)

// Limits of the work of an evaluation.
const (
	maxWork            = 10_000_000 // visited values, and bytesPerWork bytes that are read each, which take about 1 s
	bytesPerWork       = 32
	patternWork        = 100 * bytesPerWork // bytes that take as long as compiling one of a regular expression
	maxDocumentPattern = 1000               // bytes of a regular expression of a document; longer ones match nothing
	workPerQuestion    = 1024               // between two questions whether to stop
)

// Errors of an evaluation.
var (
	ErrWork    = errors.New("the path needs too much work for this document")
	ErrStopped = errors.New("the evaluation was stopped")
)

var errStopped, errWork = errors.New("stopped"), errors.New("too much work") // what an evaluation panics with

// evaluation evaluates a path on a document. Its methods panic with errStopped or errWork.
type evaluation struct {
	*Document
	stopped     func() bool
	done        int // work
	asked       int // the work at which stopped was asked
	lastPattern *pattern.Pattern
	lastText    string
	lastMode    pattern.Mode
}

// First returns the first value that the path selects, in the order of the document; ok is false if there is none. It
// calls stop repeatedly; when stop returns true, the error is ErrStopped. The error is ErrWork if the evaluation needs
// too much work.
func (p *Path) First(d *Document, stop func() bool) (found Value, ok bool, err error) {
	err = p.Select(d, stop, func(v Value) bool {
		found, ok = v, true
		return false
	})
	return found, ok && err == nil, err
}

// Select calls yield with the values that the path selects, until it returns false. It returns the same errors as
// First.
func (p *Path) Select(d *Document, stop func() bool, yield func(Value) bool) (err error) {
	defer func() {
		switch cause := recover(); cause {
		case nil:
		case errStopped:
			err = ErrStopped
		case errWork:
			err = ErrWork
		default:
			panic(cause)
		}
	}()
	e := &evaluation{Document: d, stopped: stop}
	e.selectFrom(p.root, node{}, func(n node) bool { return yield(Value{d, n}) })
	return nil
}

// work notes that a value of some bytes is visited.
func (e *evaluation) work(size int) {
	e.done += 1 + size/bytesPerWork
	if e.done-e.asked < workPerQuestion {
		return
	}
	e.asked = e.done
	if e.done > maxWork {
		panic(errWork)
	}
	if e.stopped() {
		panic(errStopped)
	}
}

// each is Document.children with its work.
func (e *evaluation) each(parent node, yield func(name []byte, n node) bool) {
	e.children(parent, func(name []byte, n node) bool {
		size := len(name)
		if c := e.text[n.at]; c != '[' && c != '{' {
			size += int(n.end - n.at)
		}
		e.work(size)
		return yield(name, n)
	})
}

func (e *evaluation) countChildren(parent node) (n int) {
	e.each(parent, func([]byte, node) bool {
		n++
		return true
	})
	return n
}

// selectFrom calls yield with the nodes that a query selects, until it returns false.
func (e *evaluation) selectFrom(q query, current node, yield func(node) bool) bool {
	from := current
	if !q.relative {
		from = e.root()
	}
	return e.walk(q.segments, from, yield)
}

// walk applies segments to a node. It returns false if yield did.
func (e *evaluation) walk(segments []segment, n node, yield func(node) bool) bool {
	e.work(0)
	if len(segments) == 0 {
		return yield(n)
	}
	s := segments[0]
	next := func(child node) bool { return e.walk(segments[1:], child, yield) }
	for i := range s.selectors {
		if !e.apply(&s.selectors[i], n, next) {
			return false
		}
	}
	if !s.descendant {
		return true
	}
	more := true
	e.each(n, func(_ []byte, child node) bool {
		if c := e.text[child.at]; c == '[' || c == '{' { // others have no children
			more = e.walk(segments, child, yield)
		}
		return more
	})
	return more
}

// apply calls yield with the children of a node that a selector selects. It returns false if yield did.
func (e *evaluation) apply(s *selector, n node, yield func(node) bool) bool {
	array, object := e.text[n.at] == '[', e.text[n.at] == '{'
	more := true
	switch {
	case s.kind == selectName && object:
		if child, ok := e.member(n, s.name); ok {
			return yield(child)
		}
	case s.kind == selectIndex && array:
		return e.element(n, s.index, yield)
	case s.kind == selectSlice && array:
		return e.slice(n, s, yield)
	case s.kind == selectAll || s.kind == selectFilter:
		e.each(n, func(_ []byte, child node) bool {
			if s.kind == selectAll || s.filter.holds(e, child) {
				more = yield(child)
			}
			return more
		})
	}
	return more
}

// member returns the member of an object with a name: the last one if there are several, as in browsers.
func (e *evaluation) member(object node, name string) (found node, ok bool) {
	e.each(object, func(quoted []byte, child node) bool {
		if isName(quoted, name) {
			found, ok = child, true
		}
		return true
	})
	return found, ok
}

func (e *evaluation) element(array node, index int, yield func(node) bool) bool {
	if index < 0 {
		index += e.countChildren(array)
	}
	if index < 0 {
		return true
	}
	more, at := true, 0
	e.each(array, func(_ []byte, child node) bool {
		if at == index {
			more = yield(child)
		}
		at++
		return at <= index
	})
	return more
}

// slice selects elements of an array as RFC 9535 defines it in section 2.3.4.2.2.
func (e *evaluation) slice(array node, s *selector, yield func(node) bool) bool {
	if s.step == 0 {
		return true
	}
	length := e.countChildren(array)
	first, end := 0, length
	if s.step < 0 {
		first, end = length-1, -1
	}
	if s.start != nil {
		first = fromEnd(*s.start, length)
	}
	if s.end != nil {
		end = fromEnd(*s.end, length)
	}
	if s.step > 0 {
		first, end = min(max(first, 0), length), min(max(end, 0), length)
	} else {
		first, end = min(max(first, -1), length-1), min(max(end, -1), length-1)
	}
	return e.every(array, s.step, first, end, yield)
}

// fromEnd returns the index that a negative one counts from the end.
func fromEnd(index, length int) int {
	if index < 0 {
		return index + length
	}
	return index
}

// every selects the elements first, first+step and so on before end, which may be backwards.
func (e *evaluation) every(array node, step, first, end int, yield func(node) bool) bool {
	at, more := 0, true
	if step > 0 {
		e.each(array, func(_ []byte, child node) bool {
			if at >= first && at < end && (at-first)%step == 0 {
				more = yield(child)
			}
			at++
			return more && at < end
		})
		return more
	}
	var selected []node
	e.each(array, func(_ []byte, child node) bool {
		if at <= first && at > end && (first-at)%-step == 0 {
			selected = append(selected, child)
		}
		at++
		return at <= first
	})
	for i := len(selected) - 1; i >= 0 && more; i-- {
		more = yield(selected[i])
	}
	return more
}
