package ical

import (
	"strings"
	"testing"
)

// TestFoldedLines compares lines of all lengths around the lengths at which they are folded: each part has at most 75
// bytes with the space before it, as many as fit without cutting a character, and a line that fits is not folded.
func TestFoldedLines(t *testing.T) {
	a := func(n int) string { return strings.Repeat("a", n) }
	for _, c := range []struct{ line, want string }{
		{"", "\r\n"},
		{a(73), a(73) + "\r\n"},
		{a(74), a(74) + "\r\n"},
		{a(75), a(74) + "\r\n a\r\n"},
		{a(148), a(74) + "\r\n " + a(74) + "\r\n"},
		{a(149), a(74) + "\r\n " + a(74) + "\r\n a\r\n"},
		{a(72) + "ü", a(72) + "ü\r\n"},
		{a(73) + "ü", a(73) + "\r\n ü\r\n"},
		{a(71) + "🦊", a(71) + "\r\n 🦊\r\n"},
		{a(70) + "🦊", a(70) + "🦊\r\n"},
		{a(70) + "🦊z", a(70) + "🦊\r\n z\r\n"},
	} {
		var w Writer
		if w.fold(c.line); w.String() != c.want {
			t.Errorf("%q is folded to %q, want %q", c.line, w.String(), c.want)
		}
	}
}
