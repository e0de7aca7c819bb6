package console

import "testing"

func TestVisible(t *testing.T) {
	for text, want := range map[string]string{
		"plain": "plain", "a\nb\tc": "a b c", "\x1b[31mred\x07": "\ufffd[31mred\ufffd", "\u202eevil": "\ufffdevil", "\u0085": "\ufffd",
	} {
		if got := Visible(text); got != want {
			t.Errorf("%q is shown as %q, want %q", text, got, want)
		}
	}
}
