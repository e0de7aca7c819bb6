package monitor

import (
	"strings"
	"testing"
	"unicode/utf8"
)

// TestFailedBody checks what is kept of responses.
func TestFailedBody(t *testing.T) {
	full := strings.Repeat("x", MaxFailedBody)
	for body, want := range map[string]string{
		"":                                "",
		"short":                           "short",
		full:                              full,
		full + "y":                        full,
		full[1:] + "é":                    full[1:], // a character that would be cut
		full[2:] + "é":                    full[2:] + "é",
		"a\x00b\xff":                      "a\ufffdb\ufffd",
		strings.Repeat("\x00", len(full)): strings.Repeat("\ufffd", len(full)/3),
	} {
		if got := FailedBody(body); got != want || len(got) > MaxFailedBody || !utf8.ValidString(got) {
			t.Errorf("%d bytes %.10q become %d bytes %.10q, expected %d", len(body), body, len(got), got, len(want))
		}
	}
}
