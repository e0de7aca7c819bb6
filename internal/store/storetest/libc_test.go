package storetest

import (
	"os"
	"os/exec"
	"regexp"
	"strings"
	"testing"
)

// TestLibcIsTheOneOfTheSQLiteDriver checks the version of modernc.org/libc.
// modernc.org/sqlite is C translated to Go for one version of it; with another, older or
// newer, it may corrupt memory. Any dependency can raise the version of libc.
func TestLibcIsTheOneOfTheSQLiteDriver(t *testing.T) {
	list := func(format, module string) string {
		t.Helper()
		out, err := exec.Command("go", "list", "-m", "-f", format, module).Output()
		if err != nil {
			t.Fatalf("go list -m %s: %v", module, err)
		}
		return strings.TrimSpace(string(out))
	}
	mod, err := os.ReadFile(list("{{.GoMod}}", "modernc.org/sqlite"))
	if err != nil {
		t.Fatal(err)
	}
	wants := regexp.MustCompile(`(?m)^\s*modernc\.org/libc (\S+)`).FindSubmatch(mod)
	if wants == nil {
		t.Fatal("modernc.org/sqlite does not name modernc.org/libc in its go.mod")
	}
	if got, want := list("{{.Version}}", "modernc.org/libc"), string(wants[1]); got != want {
		t.Errorf("go.mod selects modernc.org/libc %s; this modernc.org/sqlite needs exactly %s", got, want)
	}
}
