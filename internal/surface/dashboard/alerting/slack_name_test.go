package alerting

import (
	"strings"
	"testing"

	"github.com/allswell/allswell/internal/domain/kernel"
)

// TestSlackName checks whom an acknowledgement names.
func TestSlackName(t *testing.T) {
	for user, want := range map[string]string{
		"Grace": "Grace", "": "", " \x00\u202e ": "", "a\nb": "ab",
		strings.Repeat("x", 300): strings.Repeat("x", kernel.MaxNameLength-1) + "…",
	} {
		if got := slackName(user); got != want {
			t.Errorf("%q: %q, want %q", user, got, want)
		}
	}
}
