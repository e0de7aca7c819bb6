package kernel_test

import (
	"strings"
	"testing"
	"unicode"

	"github.com/allswell/allswell/internal/domain/kernel"
	"golang.org/x/text/unicode/norm"
)

func TestSlugOf(t *testing.T) {
	for name, want := range map[string]string{
		"API": "api", "Public API (v2)": "public-api-v2", "  a -- b  ": "a-b", "Zürich": "zurich",
		"Zu\u0308rich": "zurich", "ÆRØSKØBING": "aeroskobing",
		"Łódź, Straße 5": "lodz-strasse-5", "Ada’s job": "adas-job", "Đà Nẵng": "da-nang", "İstanbul": "istanbul",
		"Привет 2": "2", "日本": "component", "...": "component", "": "component",
		"comp_1": "comp-1", strings.Repeat("x", 80): strings.Repeat("x", 63),
		strings.Repeat("x", 62) + " y": strings.Repeat("x", 62),
	} {
		if got := kernel.SlugOf(name, "component"); got != want || !kernel.ValidSlug(got) {
			t.Errorf("SlugOf(%q) = %q, want %q", name, got, want)
		}
	}
}

// TestLatinLetters compares the table with Unicode: a letter that is an ASCII letter with marks becomes that letter.
func TestLatinLetters(t *testing.T) {
	for r := rune(0x80); r < 0x10000; r++ {
		plain := norm.NFD.String(string(unicode.ToLower(r)))
		if !unicode.Is(unicode.Latin, r) || plain[0] > unicode.MaxASCII {
			continue
		}
		if got := kernel.ToASCII(string(r)); got != plain[:1] {
			t.Errorf("ToASCII(%c, %U) = %q, want %q", r, r, got, plain[:1])
		}
	}
}

func TestFreeSlug(t *testing.T) {
	long := strings.Repeat("x", 63)
	for _, c := range []struct {
		slug, want string
		taken      []string
	}{
		{"api", "api", nil}, {"api", "api", []string{"api-2"}}, {"api", "api-2", []string{"api"}},
		{"api", "api-3", []string{"api-2", "api"}},
		{long, long[:61] + "-2", []string{long}},
	} {
		if got := kernel.FreeSlug(c.slug, c.taken); got != c.want || !kernel.ValidSlug(got) {
			t.Errorf("FreeSlug(%s, %q) = %q, want %q", c.slug, c.taken, got, c.want)
		}
	}
}

func FuzzSlugOf(f *testing.F) {
	f.Add("Public API")
	f.Fuzz(func(t *testing.T, name string) {
		slug := kernel.SlugOf(name, "x")
		if !kernel.ValidSlug(slug) || !kernel.ValidSlug(kernel.FreeSlug(slug, []string{slug})) {
			t.Errorf("%q gives %q", name, slug)
		}
	})
}
