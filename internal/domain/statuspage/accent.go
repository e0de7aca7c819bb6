package statuspage

import (
	"fmt"
	"math"
	"strconv"

	"github.com/allswell/allswell/internal/domain/kernel"
)

// AccentShades is an accent colour in shades that are readable on light and on dark pages.
type AccentShades struct {
	Text   kernel.Shades // of text, and of the area of a button
	OnText kernel.Shades // of text on such a button
}

// DefaultAccent is the accent of links and buttons on pages without one.
var DefaultAccent = AccentShades{
	Text:   kernel.Shades{Light: "#1b4f9c", Dark: "#9dc3ff"},
	OnText: kernel.Shades{Light: "#ffffff", Dark: "#0e1217"},
}

// The colours that text is read on, which the style sheet of pages has too.
var (
	PaperShades = kernel.Shades{Light: "#f6f7f9", Dark: "#0e1217"}
	CardShades  = kernel.Shades{Light: "#ffffff", Dark: "#171c23"}
)

// AdaptAccent returns the readable shades of an accent, which is "#rrggbb". ok is false for any
// other text; the result is then DefaultAccent.
func AdaptAccent(accent string) (a AccentShades, ok bool) {
	c, ok := parseColour(accent)
	if !ok {
		return DefaultAccent, false
	}
	return AccentShades{
		Text:   kernel.Shades{Light: lightScheme.readable(c).String(), Dark: darkScheme.readable(c).String()},
		OnText: DefaultAccent.OnText,
	}, true
}

// colour is a colour in sRGB.
type colour struct{ r, g, b uint8 }

// scheme has the colours of a light or a dark page.
type scheme struct {
	grounds []colour // that text is read on
	step    float64  // of lightness, in the direction of more contrast
	button  colour   // the text of a button that is filled with the accent
}

var (
	lightScheme = scheme{
		[]colour{mustParse(PaperShades.Light), mustParse(CardShades.Light)}, -0.005,
		mustParse(DefaultAccent.OnText.Light),
	}
	darkScheme = scheme{
		[]colour{mustParse(PaperShades.Dark), mustParse(CardShades.Dark)}, +0.005, mustParse(DefaultAccent.OnText.Dark),
	}
)

// mustParse returns the colour of a constant.
func mustParse(s string) colour {
	c, ok := parseColour(s)
	if !ok {
		panic(s + " is no colour")
	}
	return c
}

// minContrast is the minimum contrast of text (WCAG 2.2, 1.4.3).
const minContrast = 4.5

// parseColour parses "#rrggbb".
func parseColour(s string) (colour, bool) {
	if len(s) != 7 || s[0] != '#' {
		return colour{}, false
	}
	v, err := strconv.ParseUint(s[1:], 16, 24)
	if err != nil {
		return colour{}, false
	}
	return colour{uint8(v >> 16), uint8(v >> 8), uint8(v)}, true
}

func (c colour) String() string { return fmt.Sprintf("#%02x%02x%02x", c.r, c.g, c.b) }

// linear returns the components of a colour in linear light.
func (c colour) linear() (r, g, b float64) {
	part := func(v uint8) float64 {
		x := float64(v) / 255
		if x <= 0.04045 {
			return x / 12.92
		}
		return math.Pow((x+0.055)/1.055, 2.4)
	}
	return part(c.r), part(c.g), part(c.b)
}

// luminance returns the relative luminance of WCAG, from 0 to 1.
func (c colour) luminance() float64 {
	r, g, b := c.linear()
	return 0.2126*r + 0.7152*g + 0.0722*b
}

// contrast returns the contrast ratio of WCAG, from 1 to 21.
func contrast(a, b colour) float64 {
	x, y := a.luminance(), b.luminance()
	return (max(x, y) + 0.05) / (min(x, y) + 0.05)
}

// oklab is a colour in the Oklab colour space: its lightness, from 0 to 1, and two components that determine hue and
// chroma (Björn Ottosson, "A perceptual color space for image processing").
type oklab struct{ l, a, b float64 }

func (c colour) oklab() oklab {
	r, g, b := c.linear()
	l := math.Cbrt(0.4122214708*r + 0.5363325363*g + 0.0514459929*b)
	m := math.Cbrt(0.2119034982*r + 0.6806995451*g + 0.1073969566*b)
	s := math.Cbrt(0.0883024619*r + 0.2817188376*g + 0.6299787005*b)
	return oklab{
		0.2104542553*l + 0.7936177850*m - 0.0040720468*s,
		1.9779984951*l - 2.4285922050*m + 0.4505937099*s,
		0.0259040371*l + 0.7827717662*m - 0.8086757660*s,
	}
}

// colour returns the nearest sRGB colour with the same hue and lightness. It reduces the chroma as far as necessary.
func (o oklab) colour() colour {
	const steps = 50
	for i := range steps {
		keep := 1 - float64(i)/steps
		if c, ok := (oklab{o.l, o.a * keep, o.b * keep}).inGamut(); ok {
			return c
		}
	}
	grey, _ := oklab{l: min(max(o.l, 0), 1)}.inGamut()
	return grey
}

// inGamut converts a colour; ok is false if it is outside of sRGB.
func (o oklab) inGamut() (c colour, ok bool) {
	cube := func(x float64) float64 { return x * x * x }
	l := cube(o.l + 0.3963377774*o.a + 0.2158037573*o.b)
	m := cube(o.l - 0.1055613458*o.a - 0.0638541728*o.b)
	s := cube(o.l - 0.0894841775*o.a - 1.2914855480*o.b)
	ok = true
	part := func(x float64) uint8 {
		const slack = 0.002 // half a step of 8 bits
		if x < -slack || x > 1+slack {
			ok = false
		}
		x = min(max(x, 0), 1)
		if x <= 0.0031308 {
			x *= 12.92
		} else {
			x = 1.055*math.Pow(x, 1/2.4) - 0.055
		}
		return uint8(math.Round(x * 255))
	}
	c = colour{
		part(4.0767416621*l - 3.3077115913*m + 0.2309699292*s),
		part(-1.2684380046*l + 2.6097574011*m - 0.3413193965*s),
		part(-0.0041960863*l - 0.7034186147*m + 1.7076147010*s),
	}
	return c, ok
}

// readable returns the colour nearest to c, with its hue, that is readable as text
// on all backgrounds of a scheme, and as the background of a button.
func (s scheme) readable(c colour) colour {
	if s.legible(c) {
		return c
	}
	o := c.oklab()
	for o.l = min(max(o.l, 0), 1) + s.step; o.l > 0 && o.l < 1; o.l += s.step {
		if got := o.colour(); s.legible(got) {
			return got
		}
	}
	return oklab{l: min(max(o.l, 0), 1)}.colour() // black or white
}

func (s scheme) legible(c colour) bool {
	for _, ground := range s.grounds {
		if contrast(c, ground) < minContrast {
			return false
		}
	}
	return contrast(c, s.button) >= minContrast
}
