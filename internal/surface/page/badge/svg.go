package badge

import (
	"encoding/xml"
	"fmt"
	"strings"
	"unicode"

	"github.com/allswell/allswell/internal/domain/kernel"
	"github.com/allswell/allswell/internal/shared/i18n"
	"golang.org/x/text/width"
)

// paint is the fill of a half of a badge, and the colour of the text on it. The
// contrast of each pair is at least 4.5 to 1.
type paint struct{ fill, text string }

// The paint of the label.
var (
	lightLabel = paint{"#555555", "#ffffff"}
	darkLabel  = paint{"#30373f", "#e9ebee"}
)

// lightMessage and darkMessage return the paint of the message.
func lightMessage(t *kernel.Tone) paint { return paint{t.Badge, t.OnSolid} }
func darkMessage(t *kernel.Tone) paint  { return paint{t.Text.Dark, "#11151a"} }

// Sizes in pixels.
const (
	height  = 20
	padding = 5 // on both sides of each text
	corner  = 3
)

// SVG returns the badge as an image in the flat style of shields.io, and the style sheet that it contains, or "". The
// Content-Security-Policy of the image has to allow the style sheet.
func (b Badge) SVG(theme string) (svg []byte, style string) {
	label, message := lightLabel, lightMessage(b.tone)
	switch theme {
	case ThemeDark:
		label, message = darkLabel, darkMessage(b.tone)
	case "":
		style = darkStyle(b.tone)
	}
	var d strings.Builder
	left, right := textWidth(b.label)+2*padding, textWidth(b.message)+2*padding
	description := xmlText(b.label + ": " + b.message)
	fmt.Fprintf(&d,
		`<svg xmlns="http://www.w3.org/2000/svg" width="%d" height="%d" role="img" aria-label="%s"><title>%s</title>`,
		left+right, height, description, description)
	if style != "" {
		d.WriteString("<style>" + style + "</style>")
	}
	const c, side = corner, height - 2*corner
	fmt.Fprintf(&d, `<path class="a" fill="%s" d="M%d 0H%dv%dH%da%d %d 0 0 1-%d-%dv-%da%d %d 0 0 1 %d-%dz"/>`,
		label.fill, c, left, height, c, c, c, c, c, side, c, c, c, c)
	fmt.Fprintf(&d, `<path class="b" fill="%s" d="M%d 0h%da%d %d 0 0 1 %d %dv%da%d %d 0 0 1-%d %dh-%dz"/>`,
		message.fill, left, right-c, c, c, c, c, side, c, c, c, c, right-c)
	d.WriteString(`<g text-anchor="middle" font-family="Verdana,Geneva,DejaVu Sans,sans-serif" font-size="11" ` +
		`text-rendering="geometricPrecision">`)
	writeText(&d, textBox{class: "c", text: b.label, fill: label.text, width: left})
	writeText(&d, textBox{class: "d", text: b.message, fill: message.text, x: left, width: right})
	d.WriteString("</g></svg>")
	return []byte(d.String()), style
}

// darkStyle returns a style sheet with the dark colours for readers who prefer them.
func darkStyle(t *kernel.Tone) string {
	label, on := darkLabel, darkMessage(t)
	return fmt.Sprintf("@media(prefers-color-scheme:dark){.a{fill:%s}.b{fill:%s}.c{fill:%s}.d{fill:%s}}",
		label.fill, on.fill, label.text, on.text)
}

// textBox is a half of the badge with its text.
type textBox struct {
	class, text, fill string
	x, width          int
}

// writeText writes a text in the middle of its box. textLength makes it fit whichever font the reader has; in scripts
// whose letters join, the letters are stretched and not spaced.
func writeText(d *strings.Builder, b textBox) {
	extra := ""
	if strings.ContainsFunc(b.text, func(r rune) bool { return glyphWidth(r) == 0 || !isMeasured(r) }) {
		extra = ` lengthAdjust="spacingAndGlyphs"`
	}
	if i := strings.IndexFunc(b.text, func(r rune) bool {
		return i18n.IsRightToLeft(r) || i18n.IsLeftToRight(r)
	}); i >= 0 {
		if strings.IndexFunc(b.text[i:], i18n.IsRightToLeft) == 0 {
			extra += ` direction="rtl"`
		}
	}
	fmt.Fprintf(d, `<text class="%s" fill="%s" x="%g" y="14" textLength="%d"%s>%s</text>`,
		b.class, b.fill, float64(b.x)+float64(b.width)/2, b.width-2*padding, extra, xmlText(b.text))
}

// xmlText escapes a text for XML, attributes included.
func xmlText(s string) string {
	var out strings.Builder
	xml.EscapeText(&out, []byte(s)) // never fails
	return out.String()
}

// glyphs are the widths of the characters from space to tilde in Verdana of 11 pixels, in tenths of a pixel.
var glyphs = [...]uint8{
	39, 43, 51, 90, 70, 118, 80, 30, 50, 50, 70, 90, 40, 50, 40, 50, 70, 70, 70, 70, 70, 70, 70, 70, 70, 70, 50, 50, 90,
	90, 90, 60, 110, 75, 75, 77, 85, 70, 63, 85, 83, 46, 50, 76, 61, 93, 82, 87, 66, 87, 77, 75, 68, 81, 75, 109, 75,
	68, 75, 50, 50, 50, 90, 70,
	70, 66, 69, 57, 69, 66, 39, 69, 70, 30, 38, 65, 30, 107, 70, 67, 69, 69, 47, 57, 43, 70, 65, 90, 65, 65, 58, 70, 50,
	70, 90,
}

// textWidth returns the width of a text in pixels, at least 1.
func textWidth(text string) int {
	tenths := 0
	for _, r := range text {
		tenths += glyphWidth(r)
	}
	return max(1, (tenths+5)/10)
}

// isMeasured reports whether glyphs has the width of a character. The width of others is estimated.
func isMeasured(r rune) bool { return r >= ' ' && int(r-' ') < len(glyphs) }

// glyphWidth returns the width of a character in tenths of a pixel.
func glyphWidth(r rune) int {
	switch {
	case isMeasured(r):
		return int(glyphs[r-' '])
	case unicode.In(r, unicode.Mn, unicode.Me, unicode.Cf):
		return 0
	case r >= 0x1f000 && r < 0x20000: // emoji
		return 140
	case isWide(r):
		return 110
	case i18n.IsRightToLeft(r):
		return 52
	case unicode.IsUpper(r):
		return 80
	default:
		return 68
	}
}

// isWide reports whether a character takes a full square, as Chinese characters do.
func isWide(r rune) bool {
	kind := width.LookupRune(r).Kind()
	return kind == width.EastAsianWide || kind == width.EastAsianFullwidth
}
