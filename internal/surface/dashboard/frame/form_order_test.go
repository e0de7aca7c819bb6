package frame

import (
	"strings"
	"testing"
)

// TestOtherErrorsAreInOrder checks the order of errors that stand above a form.
func TestOtherErrorsAreInOrder(t *testing.T) {
	f := NewForm(nil)
	for _, name := range []string{"d", "b", "e", "a", "c"} {
		f.Refuse(name, "The %s is wrong.", name)
	}
	f.Draw(Field{Name: "c"})
	if got := strings.Join(f.Others(), " "); got != "The a is wrong. The b is wrong. The d is wrong. The e is wrong." {
		t.Errorf("the other errors: %s", got)
	}
}
