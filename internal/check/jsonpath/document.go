package jsonpath

import (
	"bytes"
	"encoding/json"
	"errors"
	"math"
	"sync"
)

// maxDepth is the maximum number of arrays and objects within each other.
const maxDepth = 1000

// Errors of ParseDocument.
var (
	ErrInvalid = errors.New("not valid JSON")
	ErrDepth   = errors.New("more than 1000 arrays and objects within each other")
)

// Document is a JSON document: its text, and where its arrays and objects end. It takes at most four times as much
// memory as the text.
type Document struct {
	text       []byte
	containers []container // arrays and objects, in the order in which they begin
}

// container is the end of an array or object.
type container struct {
	end  uint32 // the offset after it
	next uint32 // the index of the first container after it
}

// node is a value of a document. The zero node is none.
type node struct {
	at        uint32 // offset
	end       uint32 // the offset after it
	container uint32 // index of the first container that begins here or later
}

// ParseDocument parses a JSON text, which must not be changed afterwards. The error is ErrInvalid or ErrDepth.
func ParseDocument(text []byte) (*Document, error) {
	if len(text) > math.MaxInt32 || !json.Valid(text) {
		return nil, ErrInvalid
	}
	d := &Document{text, takeContainers(bytes.Count(text, []byte("[")) + bytes.Count(text, []byte("{")))}
	var open []uint32
	for i := 0; i < len(text); i++ {
		switch text[i] {
		case '"':
			i = endOfString(text, i) - 1
		case '[', '{':
			if len(open) == maxDepth {
				d.Release()
				return nil, ErrDepth
			}
			open = append(open, uint32(len(d.containers)))
			d.containers = append(d.containers, container{})
		case ']', '}':
			d.containers[open[len(open)-1]] = container{uint32(i + 1), uint32(len(d.containers))}
			open = open[:len(open)-1]
		}
	}
	return d, nil
}

// containers keeps lists of containers of documents for the next ones, so that large documents leave no garbage.
var containers sync.Pool // of *[]container

// takeContainers returns an empty list for up to n containers.
func takeContainers(n int) []container {
	if list, ok := containers.Get().(*[]container); ok && cap(*list) >= n {
		return (*list)[:0]
	}
	return make([]container, 0, n)
}

// Release keeps the memory of the document for later documents. The document and its values must not be used
// afterwards.
func (d *Document) Release() {
	list := d.containers
	d.containers = nil
	containers.Put(&list)
}

// endOfString returns the offset after the string that begins at i.
func endOfString(text []byte, i int) int {
	for i++; text[i] != '"'; i++ {
		if text[i] == '\\' {
			i++
		}
	}
	return i + 1
}

// skipSpace returns the offset of the next character that is no space.
func skipSpace(text []byte, i int) int {
	for i < len(text) && (text[i] == ' ' || text[i] == '\n' || text[i] == '\t' || text[i] == '\r') {
		i++
	}
	return i
}

// nodeAt returns the value that begins at an offset, with the index of the first container from there on.
func (d *Document) nodeAt(i int, container uint32) node {
	switch d.text[i] {
	case '[', '{':
		return node{uint32(i), d.containers[container].end, container}
	case '"':
		return node{uint32(i), uint32(endOfString(d.text, i)), container}
	}
	end := i
	for end < len(d.text) && bytes.IndexByte([]byte(" \n\t\r,]}"), d.text[end]) < 0 {
		end++
	}
	return node{uint32(i), uint32(end), container}
}

func (d *Document) root() node { return d.nodeAt(skipSpace(d.text, 0), 0) }

// raw returns the text of a value.
func (d *Document) raw(n node) []byte { return d.text[n.at:n.end] }

// children calls yield with the elements of an array, or the members of an object with their names as they are written,
// until it returns false.
func (d *Document) children(parent node, yield func(name []byte, n node) bool) {
	opening := d.text[parent.at]
	if opening != '[' && opening != '{' {
		return
	}
	next := parent.container + 1
	for i := skipSpace(d.text, int(parent.at)+1); d.text[i] != ']' && d.text[i] != '}'; {
		var name []byte
		if opening == '{' {
			end := endOfString(d.text, i)
			name = d.text[i:end]
			i = skipSpace(d.text, skipSpace(d.text, end)+1) // after the colon
		}
		n := d.nodeAt(i, next)
		if !yield(name, n) {
			return
		}
		if c := d.text[i]; c == '[' || c == '{' {
			next = d.containers[next].next
		}
		if i = skipSpace(d.text, int(n.end)); d.text[i] == ',' {
			i = skipSpace(d.text, i+1)
		}
	}
}
