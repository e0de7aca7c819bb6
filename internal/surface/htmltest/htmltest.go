// Package htmltest parses HTML documents and checks them in tests.
package htmltest

import (
	"strings"
	"testing"

	"golang.org/x/net/html"
)

// Tree is a parsed document, or an element of one.
type Tree struct{ *html.Node }

// Parse parses a document.
func Parse(t testing.TB, text string) Tree {
	t.Helper()
	root, err := html.Parse(strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	return Tree{root}
}

// All returns the elements that a selector matches. A selector consists of names, #ids, .classes and [attributes]. They
// are joined if one element has them; a space precedes descendants.
func (t Tree) All(selector string) (found []Tree) {
	found = []Tree{t}
	for _, part := range strings.Fields(selector) {
		var next []Tree
		seen := map[*html.Node]bool{}
		for _, f := range found {
			for n := range f.Descendants() {
				if n.Type == html.ElementNode && !seen[n] && matches(n, part) {
					seen[n] = true
					next = append(next, Tree{n})
				}
			}
		}
		found = next
	}
	return found
}

// Children returns the elements directly inside.
func (t Tree) Children() (found []Tree) {
	for n := range t.ChildNodes() {
		if n.Type == html.ElementNode {
			found = append(found, Tree{n})
		}
	}
	return found
}

// Texts returns the text of each element that matches, with white space collapsed.
func (t Tree) Texts(selector string) []string {
	var texts []string
	for _, f := range t.All(selector) {
		texts = append(texts, f.Text())
	}
	return texts
}

// One returns the text of the only element that matches. It fails the test if there is not exactly one.
func (t Tree) One(tb testing.TB, selector string) string {
	tb.Helper()
	found := t.All(selector)
	if len(found) != 1 {
		tb.Fatalf("%d elements match %q, want 1", len(found), selector)
	}
	return found[0].Text()
}

// Text returns all text inside, with white space collapsed.
func (t Tree) Text() string { return strings.Join(strings.Fields(t.RawText()), " ") }

// RawText returns all text inside, with its white space.
func (t Tree) RawText() string {
	var b strings.Builder
	for n := range t.Descendants() {
		if n.Type == html.TextNode {
			b.WriteString(n.Data)
		}
	}
	return b.String()
}

// Attr returns the value of an attribute; "": there is none, or it is empty.
func (t Tree) Attr(name string) string {
	for _, a := range t.Node.Attr {
		if a.Key == name {
			return a.Val
		}
	}
	return ""
}

func matches(n *html.Node, part string) bool {
	e := Tree{n}
	for part != "" {
		end := strings.IndexAny(part[1:], "#.[") + 1
		if end == 0 {
			end = len(part)
		}
		token := part[:end]
		part = part[end:]
		ok := false
		switch token[0] {
		case '#':
			ok = e.Attr("id") == token[1:]
		case '.':
			ok = strings.Contains(" "+e.Attr("class")+" ", " "+token[1:]+" ")
		case '[':
			name, value, given := strings.Cut(strings.Trim(token, "[]"), "=")
			for _, a := range n.Attr {
				ok = ok || a.Key == name && (!given || a.Val == value)
			}
		default:
			ok = n.Data == token
		}
		if !ok {
			return false
		}
	}
	return true
}
