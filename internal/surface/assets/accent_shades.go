package assets

import "github.com/allswell/allswell/internal/domain/kernel"

// Accent is an accent colour in shades that are readable on light and on dark pages.
type Accent struct {
	Text   kernel.Shades // of text, and of the area of a button
	OnText kernel.Shades // of text on such a button
}

// DefaultAccent is the accent of links and buttons on pages without one.
var DefaultAccent = Accent{
	Text:   kernel.Shades{Light: "#1b4f9c", Dark: "#9dc3ff"},
	OnText: kernel.Shades{Light: "#ffffff", Dark: "#0e1217"},
}

// AdaptAccent returns the readable shades of an accent, which is "#rrggbb". ok is false for any
// other text; the result is then DefaultAccent.
func AdaptAccent(accent string) (a Accent, ok bool) {
	c, ok := parseColour(accent)
	if !ok {
		return DefaultAccent, false
	}
	return Accent{
		Text:   kernel.Shades{Light: lightScheme.readable(c).String(), Dark: darkScheme.readable(c).String()},
		OnText: kernel.Shades{Light: lightScheme.button.String(), Dark: darkScheme.button.String()},
	}, true
}
