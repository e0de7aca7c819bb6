package repository

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

var (
	buttonTag     = regexp.MustCompile(`<button\b(?:[^>"]|"[^"]*")*>`)
	buttonType    = regexp.MustCompile(`\stype="(?:submit|button|reset)"`)
	unquotedValue = regexp.MustCompile(`<[a-z][a-z0-9-]*(?:\s+[a-z-]+(?:="[^"]*")?)*\s+[a-z-]+=[^"\s>]`)
)

// A button without a type submits its form, and a value without quotes ends at the first space.
func TestTemplatesQuoteValuesAndButtonsHaveAType(t *testing.T) {
	seen := 0
	err := filepath.WalkDir("internal", func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || filepath.Ext(path) != ".html" {
			return err
		}
		seen++
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		for number, line := range strings.Split(string(text), "\n") {
			for _, tag := range buttonTag.FindAllString(line, -1) {
				if !buttonType.MatchString(tag) {
					t.Errorf("%s:%d: a button without a type: %s", path, number+1, tag)
				}
			}
			if value := unquotedValue.FindString(line); value != "" {
				t.Errorf("%s:%d: a value without quotes: %s", path, number+1, value)
			}
		}
		return nil
	})
	if err != nil || seen == 0 {
		t.Fatalf("%d templates: %v", seen, err)
	}
}
