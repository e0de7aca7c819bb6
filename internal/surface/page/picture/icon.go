package picture

import (
	"math"

	"github.com/allswell/allswell/internal/domain/kernel"
)

// point is a point of an image, from the top left.
type point struct{ x, y float32 }

// path is a line from point to point. A filled path is closed.
type path []point

// icon is the icon of a tone, in a square of 24 units. The icons are in icons_generated.go.
type icon struct {
	body []path // areas
	sign []path // lines, drawn on the body
}

//go:generate go test -run ^TestIconsAreCurrent$ . -update

// signWidth is the width of the lines of a sign.
const signWidth = 2.2

// arcSteps is how many lines stand for the arc of a circle.
const arcSteps = 48

// drawIcon draws the icon of a tone in a square with the given top left corner and size. An icon is not mirrored.
func drawIcon(c *canvas, tone *kernel.Tone, x, y, size float32) {
	scale := size / 24
	if c.mirrored {
		x = Width - x - size
		c.mirrored = false
		defer func() { c.mirrored = true }()
	}
	place := func(paths []path) []path {
		out := make([]path, len(paths))
		for i, p := range paths {
			for _, at := range p {
				out[i] = append(out[i], point{x + at.x*scale, y + at.y*scale})
			}
		}
		return out
	}
	shape := icons[tone.Name]
	c.fill(place(shape.body), tone.OnSolid)
	c.fill(place(stroke(shape.sign, signWidth)), tone.Solid.Light)
}

// circle returns a circle.
func circle(centre point, r float32) path { return corner(nil, centre, r, 0, 2*math.Pi) }

// rectangle returns a rectangle with round corners of radius r.
func rectangle(x, y, w, h, r float32) []path {
	if r == 0 {
		return []path{{{x, y}, {x + w, y}, {x + w, y + h}, {x, y + h}}}
	}
	p := corner(nil, point{x + w - r, y + r}, r, -math.Pi/2, 0)
	p = corner(p, point{x + w - r, y + h - r}, r, 0, math.Pi/2)
	p = corner(p, point{x + r, y + h - r}, r, math.Pi/2, math.Pi)
	p = corner(p, point{x + r, y + r}, r, math.Pi, 3*math.Pi/2)
	return []path{p}
}

// corner appends an arc around a centre, between two angles.
func corner(p path, centre point, r float32, from, to float64) path {
	for i := range arcSteps + 1 {
		sin, cos := math.Sincos(from + (to-from)*float64(i)/arcSteps)
		p = append(p, point{centre.x + r*float32(cos), centre.y + r*float32(sin)})
	}
	return p
}

// stroke returns the area of lines of a width, with round ends and corners. All its parts turn the
// same way, so that they can overlap.
func stroke(paths []path, width float32) (area []path) {
	r := width / 2
	for _, p := range paths {
		for i, to := range p {
			area = append(area, circle(to, r))
			if i == 0 {
				continue
			}
			from := p[i-1]
			dx, dy := to.x-from.x, to.y-from.y
			length := float32(math.Hypot(float64(dx), float64(dy)))
			if length == 0 {
				continue
			}
			nx, ny := -dy/length*r, dx/length*r
			area = append(area, path{
				{from.x - nx, from.y - ny}, {to.x - nx, to.y - ny}, {to.x + nx, to.y + ny}, {from.x + nx, from.y + ny},
			})
		}
	}
	return area
}
