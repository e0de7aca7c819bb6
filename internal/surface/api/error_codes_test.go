package api

import (
	"os"
	"regexp"
	"slices"
	"testing"

	"github.com/allswell/allswell/internal/surface/web"
)

// TestErrorCodes checks that docs/api.md and the client have the error codes of package web. The client
// has two more, for the statuses without a code.
func TestErrorCodes(t *testing.T) {
	want := make([]string, len(web.ErrorCodes))
	for i, code := range web.ErrorCodes {
		want[i] = string(code)
	}
	slices.Sort(want)
	compare := func(where string, got []string) {
		t.Helper()
		slices.Sort(got)
		if !slices.Equal(got, want) {
			t.Errorf("%s has the codes %q, want %q", where, got, want)
		}
	}

	compare("docs/api.md", matches(t, "../../../docs/api.md", "(?m)^\\| [45]\\d\\d \\| `([a-z_]+)` \\|"))
	codes := matches(t, "../../../client/errors.go", `(?m)^\tCode[A-Z]\w+ += "([a-z_]+)"`)
	compare("client/errors.go", slices.DeleteFunc(codes, func(code string) bool {
		return code == "unauthenticated" || code == "not_found"
	}))
	compare("internal/surface/web/fail.go",
		matches(t, "../web/fail.go", `(?m)^\tCode[A-Z]\w+ +ErrorCode += "([a-z_]+)"`))
}

// matches returns the first submatch of each match of a pattern in a file.
func matches(t *testing.T, file, pattern string) []string {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var found []string
	for _, match := range regexp.MustCompile(pattern).FindAllSubmatch(text, -1) {
		found = append(found, string(match[1]))
	}
	return found
}
