package console

import (
	"strings"
	"testing"
)

func TestVisible(t *testing.T) {
	for text, want := range map[string]string{
		"plain": "plain", "a\nb\tc": "a b c", "\x1b[31mred\x07": "\ufffd[31mred\ufffd", "\u202eevil": "\ufffdevil",
		"\u0085": "\ufffd",
	} {
		if got := Visible(text); got != want {
			t.Errorf("%q is shown as %q, want %q", text, got, want)
		}
	}
}

// TestTerminalsGetNoControlCharacters: texts of other people are printed unchanged unless standard output is a
// terminal.
func TestTerminalsGetNoControlCharacters(t *testing.T) {
	const text = "a\tb\x1b]0;title\x07\x9b\u009b2J\u202e\r\n"
	for width, want := range map[int]string{0: text, 80: "a\tb\ufffd]0;title\ufffd\ufffd\ufffd2J\ufffd\ufffd\n"} {
		var out strings.Builder
		c := &Console{Out: &out, Width: width}
		c.Printf("%s", text)
		if out.String() != want {
			t.Errorf("width %d: %q, want %q", width, out.String(), want)
		}
	}
}
