// Package i18ntest has helpers for tests of translated output.
package i18ntest

import (
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/allswell/allswell/internal/shared/i18n"
)

// Language returns the language of a tag.
func Language(t testing.TB, tag string) *i18n.Language {
	t.Helper()
	for _, l := range i18n.All() {
		if l.Tag == tag {
			return l
		}
	}
	t.Fatalf("there is no language %q", tag)
	return nil
}

// Leftovers returns the parts of a rendered text that look like the key of a
// missing message, or like an unfilled placeholder.
func Leftovers(text string) []string {
	var areas []string
	for _, key := range i18n.English().Keys() {
		area, _, _ := strings.Cut(key, ".")
		areas = append(areas, regexp.QuoteMeta(area))
	}
	areas = slices.Compact(areas)
	form := regexp.MustCompile(`\b(` + strings.Join(areas, "|") + `)\.[a-z_]+(\.[a-z_]+)*\b|\{[a-z_]+\}`)
	return form.FindAllString(text, -1)
}
