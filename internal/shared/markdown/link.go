package markdown

import (
	"bytes"
	"fmt"
	"net/url"
	"strings"

	"github.com/yuin/goldmark/ast"
)

// mailto is the scheme of links to email addresses.
const mailto = "mailto:"

// link is a link, an image or a bare URL in a text.
type link struct {
	label   ast.Node // the children are the label; nil: the label is typed
	typed   string   // label of a bare URL
	address string   // the target; "": not a valid target
	before  string   // source text before the label
	after   string   // source text after the label
}

// linkOf returns the link of a link node.
func linkOf(n ast.Node, source []byte) link {
	switch n := n.(type) {
	case *ast.Link:
		return written(n, "[", n.Destination, n.Title)
	case *ast.Image:
		return written(n, "![", n.Destination, n.Title)
	case *ast.AutoLink:
		l := link{typed: string(n.Label(source))}
		target := string(n.URL(source))
		if n.AutoLinkType == ast.AutoLinkEmail {
			target = mailto + target
		}
		l.address = address(target)
		if source[n.Pos()] == '<' {
			l.before, l.after = "<", ">"
		}
		return l
	}
	return link{label: n}
}

// written returns a link of the form [label](destination "title").
func written(n ast.Node, open string, destination, title []byte) link {
	l := link{label: n, before: open, address: address(string(literal(destination)))}
	l.after = "](" + string(destination)
	if bytes.ContainsAny(destination, " ") {
		l.after = "](<" + string(destination) + ">"
	}
	if len(title) > 0 {
		l.after += ` "` + string(title) + `"`
	}
	l.after += ")"
	return l
}

// shown returns the address without the mailto scheme.
func (l link) shown() string { return strings.TrimPrefix(l.address, mailto) }

// address returns the URL of a typed target, or "" unless it is an absolute URL with
// an allowed scheme. Relative URLs would not work in mails and feeds.
func address(target string) string {
	target = percent(target)
	u, err := url.Parse(target)
	if err != nil {
		return ""
	}
	switch u.Scheme {
	case "http", "https":
		if u.Hostname() == "" {
			return ""
		}
	case "mailto":
		if u.Opaque == "" {
			return ""
		}
	default:
		return ""
	}
	return target
}

// percent encodes the characters that a URL must not contain. It keeps the letters of all scripts.
func percent(target string) string {
	var b strings.Builder
	for i := range len(target) {
		c := target[i]
		switch {
		case c == '%' && !(i+2 < len(target) && isHex(target[i+1]) && isHex(target[i+2])),
			c <= ' ', c == 0x7f, strings.IndexByte("\"<>\\^`{|}", c) >= 0:
			fmt.Fprintf(&b, "%%%02X", c)
		default:
			b.WriteByte(c)
		}
	}
	return b.String()
}

func isHex(c byte) bool {
	return '0' <= c && c <= '9' || 'a' <= c && c <= 'f' || 'A' <= c && c <= 'F'
}

// says reports whether a label equals the address of its link, apart from the scheme
// and a slash at the end.
func says(label, address string) bool {
	bare := func(s string) string {
		s = strings.ToLower(percent(strings.TrimSpace(s)))
		s = strings.TrimPrefix(s, mailto)
		s = strings.TrimPrefix(strings.TrimPrefix(s, "https://"), "http://")
		return strings.TrimSuffix(s, "/")
	}
	return bare(label) == bare(address)
}
