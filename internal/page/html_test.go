package page

import (
	"strings"
	"testing"

	"golang.org/x/net/html"
)

// tree is a parsed page.
type tree struct{ *html.Node }

func parse(t *testing.T, text string) tree {
	t.Helper()
	root, err := html.Parse(strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	return tree{root}
}

// all returns the elements that a selector finds: names, #ids, .classes and
// [attributes], joined for one element and by spaces for what is inside of it.
func (t tree) all(selector string) (found []tree) {
	found = []tree{t}
	for _, part := range strings.Fields(selector) {
		var next []tree
		seen := map[*html.Node]bool{}
		for _, f := range found {
			for n := range f.Descendants() {
				if n.Type == html.ElementNode && !seen[n] && matches(n, part) {
					seen[n] = true
					next = append(next, tree{n})
				}
			}
		}
		found = next
	}
	return found
}

// texts returns the text of each element found, spaces folded.
func (t tree) texts(selector string) []string {
	var texts []string
	for _, f := range t.all(selector) {
		texts = append(texts, f.text())
	}
	return texts
}

// one returns the text of the only element found.
func (t tree) one(tb testing.TB, selector string) string {
	tb.Helper()
	found := t.all(selector)
	if len(found) != 1 {
		tb.Fatalf("%d elements match %q, want 1", len(found), selector)
	}
	return found[0].text()
}

// text returns all text inside, spaces folded.
func (t tree) text() string { return strings.Join(strings.Fields(t.rawText()), " ") }

func (t tree) rawText() string {
	var b strings.Builder
	for n := range t.Descendants() {
		if n.Type == html.TextNode {
			b.WriteString(n.Data)
		}
	}
	return b.String()
}

func (t tree) attr(name string) string {
	for _, a := range t.Attr {
		if a.Key == name {
			return a.Val
		}
	}
	return ""
}

func matches(n *html.Node, part string) bool {
	e := tree{n}
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
			ok = e.attr("id") == token[1:]
		case '.':
			ok = strings.Contains(" "+e.attr("class")+" ", " "+token[1:]+" ")
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
