package picture

import (
	"image"
	"image/color"
	"math"
	"strconv"
	"strings"
	"sync"

	"golang.org/x/image/font"
	"golang.org/x/image/font/gofont/gobold"
	"golang.org/x/image/font/gofont/goregular"
	"golang.org/x/image/font/opentype"
	"golang.org/x/image/font/sfnt"
	"golang.org/x/image/math/fixed"
	"golang.org/x/image/vector"
)

// canvas is an image that is drawn on.
type canvas struct {
	image    *image.RGBA
	raster   *vector.Rasterizer
	mirrored bool // left and right are exchanged, except within texts and icons
}

func newCanvas(mirrored bool) *canvas {
	return &canvas{image.NewRGBA(Bounds()), vector.NewRasterizer(Width, Height), mirrored}
}

// fill fills the inside of paths with a colour, which is "#rrggbb".
func (c *canvas) fill(paths []path, colour string) {
	if c.mirrored {
		paths = mirror(paths)
	}
	box := boundsOf(paths).Intersect(Bounds())
	c.raster.Reset(box.Dx(), box.Dy())
	for _, p := range paths {
		for i, at := range p {
			x, y := at.x-float32(box.Min.X), at.y-float32(box.Min.Y)
			if i == 0 {
				c.raster.MoveTo(x, y)
			} else {
				c.raster.LineTo(x, y)
			}
		}
		c.raster.ClosePath()
	}
	c.raster.Draw(c.image, box, image.NewUniform(parseColour(colour)), image.Point{})
}

// mirror exchanges left and right.
func mirror(paths []path) []path {
	out := make([]path, len(paths))
	for i, p := range paths {
		for _, at := range p {
			out[i] = append(out[i], point{Width - at.x, at.y})
		}
	}
	return out
}

// boundsOf returns the smallest rectangle of whole pixels around paths.
func boundsOf(paths []path) (box image.Rectangle) {
	for _, p := range paths {
		for _, at := range p {
			box = box.Union(image.Rect(int(math.Floor(float64(at.x))), int(math.Floor(float64(at.y))),
				int(math.Floor(float64(at.x)))+1, int(math.Floor(float64(at.y)))+1))
		}
	}
	return box
}

// parseColour parses "#rrggbb".
func parseColour(s string) color.RGBA {
	v, _ := strconv.ParseUint(strings.TrimPrefix(s, "#"), 16, 32)
	return color.RGBA{uint8(v >> 16), uint8(v >> 8), uint8(v), 0xff}
}

// typeface is a typeface in a size.
type typeface struct {
	font func() *sfnt.Font
	size float64
}

func bold(size float64) typeface    { return typeface{boldFont, size} }
func regular(size float64) typeface { return typeface{regularFont, size} }

var (
	boldFont    = sync.OnceValue(func() *sfnt.Font { return parseFont(gobold.TTF) })
	regularFont = sync.OnceValue(func() *sfnt.Font { return parseFont(goregular.TTF) })
)

func parseFont(ttf []byte) *sfnt.Font {
	f, err := opentype.Parse(ttf)
	if err != nil {
		panic(err) // the fonts are embedded
	}
	return f
}

// canWrite reports whether the typefaces have all letters of a text. Both have the same.
func canWrite(text string) bool {
	var buffer sfnt.Buffer
	for _, r := range text {
		if i, err := boldFont().GlyphIndex(&buffer, r); err != nil || i == 0 {
			return false
		}
	}
	return text != ""
}

// paragraph is a text in at most maxLines lines of at most width pixels.
type paragraph struct {
	text            string
	typeface        typeface
	width, maxLines int
}

// open returns the face that draws the paragraph, which the caller closes.
func (p paragraph) open() font.Face {
	face, err := opentype.NewFace(p.typeface.font(), &opentype.FaceOptions{
		Size: p.typeface.size, DPI: 72, Hinting: font.HintingNone,
	})
	if err != nil {
		panic(err) // the options are valid
	}
	return face
}

// countLines returns how many lines a paragraph has that canWrite.
func (p paragraph) countLines() int {
	face := p.open()
	defer face.Close()
	return len(wrap(face, p.text, p.width, p.maxLines))
}

// write draws a paragraph, unless its text cannot be written. y is the base line of its first line.
func (c *canvas) write(p paragraph, x, y int, colour string) {
	if !canWrite(p.text) {
		return
	}
	face := p.open()
	defer face.Close()
	d := font.Drawer{Dst: c.image, Src: image.NewUniform(parseColour(colour)), Face: face}
	for i, line := range wrap(face, p.text, p.width, p.maxLines) {
		left := x
		if c.mirrored {
			left = Width - x - d.MeasureString(line).Ceil()
		}
		d.Dot = fixed.P(left, y+i*int(p.typeface.size*1.2))
		d.DrawString(line)
	}
}

// wrap breaks a text into lines between words. What does not fit is replaced by an ellipsis.
func wrap(face font.Face, text string, width, maxLines int) (lines []string) {
	fits := func(s string) bool { return font.MeasureString(face, s).Ceil() <= width }
	words := strings.Fields(text)
	for len(words) > 0 && len(lines) < maxLines {
		n := 1
		for n < len(words) && fits(strings.Join(words[:n+1], " ")) {
			n++
		}
		line := strings.Join(words[:n], " ")
		if rest := len(words) > n; rest && len(lines) == maxLines-1 || !fits(line) {
			line = shorten(line, func(s string) bool { return fits(s + "…") }) + "…"
			n = len(words) // the rest is omitted
		}
		lines, words = append(lines, line), words[n:]
	}
	return lines
}

// shorten removes letters from the end of a line until it fits.
func shorten(line string, fits func(string) bool) string {
	letters := []rune(line)
	for len(letters) > 0 && !fits(string(letters)) {
		letters = letters[:len(letters)-1]
	}
	return strings.TrimRight(string(letters), " ")
}
