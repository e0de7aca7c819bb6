package api

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestContractRowsExist holds the names in this package's part of
// docs/contract-rows.md to the tests.
func TestContractRowsExist(t *testing.T) {
	page, err := os.ReadFile(filepath.Join("..", "..", "docs", "contract-rows.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, part, ok := strings.Cut(string(page), "\n### In internal/api\n")
	if !ok {
		t.Fatal("docs/contract-rows.md has no part for this package")
	}
	part, _, _ = strings.Cut(part, "\n### ")
	files, err := filepath.Glob("*_test.go")
	if err != nil {
		t.Fatal(err)
	}
	var source strings.Builder
	for _, name := range files {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		source.Write(text)
	}
	cases := strings.ReplaceAll(source.String(), " ", "_") // as go test spells them
	named := make(map[string]bool)
	for _, m := range regexp.MustCompile("\\| `(Test\\w+)(?:/\\*/([^`]+))?` \\|").FindAllStringSubmatch(part, -1) {
		named[m[1]] = true
		if !strings.Contains(source.String(), "\nfunc "+m[1]+"(t *testing.T)") {
			t.Errorf("there is no test %s", m[1])
		}
		// A case's name, or the name that " is 422" is put behind.
		name := m[2]
		if !strings.Contains(cases, `"`+name+`"`) && !strings.Contains(cases, `"`+strings.TrimSuffix(name, "_is_422")+`"`) {
			t.Errorf("%s has no case %q", m[1], name)
		}
	}
	for _, m := range regexp.MustCompile(`\nfunc (TestContract[1-9]\w*)\(`).FindAllStringSubmatch(source.String(), -1) {
		if !named[m[1]] {
			t.Errorf("%s is not listed", m[1])
		}
	}
}
