package assets

import (
	"regexp"
	"strings"
	"testing"
)

// TestColoursOfBothSchemes checks that every colour that depends on the scheme has both values, in a form that browsers
// from before 2024 understand, and that both ways to choose the dark scheme set the same properties.
func TestColoursOfBothSchemes(t *testing.T) {
	for name, style := range map[string]string{
		"style.css": string(all()["style.css"].current().Body()), "an accent": string(accentStyle("#ff8800")),
	} {
		if strings.Contains(style, "light-dark(") {
			t.Errorf("%s uses light-dark()", name)
		}
		values := regexp.MustCompile(`:\s*var\(--light, ?#\w+\) var\(--dark, ?#\w+\)[;}]`).FindAllString(style, -1)
		light, dark := strings.Count(style, "var(--light,"), strings.Count(style, "var(--dark,")
		if len(values) != light || len(values) != dark || light == 0 {
			t.Errorf("%s: %d light values and %d dark ones, %d together", name, light, dark, len(values))
		}
	}
	dark := regexp.MustCompile(`:root(\S*) \{[^}]*--light: ; --dark: initial; \}`).
		FindAllStringSubmatch(string(all()["style.css"].current().Body()), -1)
	if len(dark) != 2 || dark[0][1] != `[data-theme="dark"]` || dark[1][1] != `:not([data-theme="light"])` {
		t.Errorf("dark is chosen by %q", dark)
	}
}
