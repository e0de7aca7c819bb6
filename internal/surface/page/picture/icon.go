package picture

import (
	"encoding/xml"
	"math"
	"strconv"
	"strings"

	"github.com/allswell/allswell/internal/domain/kernel"
)

// point is a point of an image, from the top left.
type point struct{ x, y float32 }

// path is a line from point to point. A filled path is closed.
type path []point

// arcSteps is how many lines stand for the arc of a circle.
const arcSteps = 48

// drawIcon draws the icon of a tone in a square with the given top left corner and size. An icon
// is not mirrored.
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
	c.fill(place(body(tone.Icon.Body)), tone.OnSolid)
	c.fill(place(stroke(parsePath(tone.Icon.Sign), 2.2)), tone.Solid.Light)
}

// body returns the shape of the SVG element of an icon: a circle, a rectangle or a path.
func body(element string) []path {
	var e struct {
		XMLName xml.Name
		Data    string  `xml:"d,attr"`
		CX      float32 `xml:"cx,attr"`
		CY      float32 `xml:"cy,attr"`
		R       float32 `xml:"r,attr"`
		X       float32 `xml:"x,attr"`
		Y       float32 `xml:"y,attr"`
		Width   float32 `xml:"width,attr"`
		Height  float32 `xml:"height,attr"`
		RX      float32 `xml:"rx,attr"`
	}
	if err := xml.Unmarshal([]byte(element), &e); err != nil {
		return nil // a tone without an icon
	}
	switch e.XMLName.Local {
	case "circle":
		return []path{circle(point{e.CX, e.CY}, e.R)}
	case "rect":
		return rectangle(e.X, e.Y, e.Width, e.Height, e.RX)
	default:
		return parsePath(e.Data)
	}
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
			area = append(area, path{{from.x - nx, from.y - ny}, {to.x - nx, to.y - ny}, {to.x + nx, to.y + ny}, {from.x + nx, from.y + ny}})
		}
	}
	return area
}

// pathReader reads the data of an SVG path.
type pathReader struct {
	rest  string
	paths []path
	at    point // where the pen is
}

// parsePath parses the data of an SVG path with the commands M, L, H, V, C, A and Z, absolute and
// relative. Curves become short lines.
func parsePath(data string) []path {
	r := &pathReader{rest: data}
	var command byte
	for r.skip(); r.rest != ""; r.skip() {
		if c := r.rest[0]; c >= 'A' && c <= 'Z' || c >= 'a' && c <= 'z' {
			command, r.rest = c, r.rest[1:]
		}
		r.draw(command)
	}
	return r.paths
}

func (r *pathReader) skip() { r.rest = strings.TrimLeft(r.rest, " ,") }

// number reads the next number, which ends before a second point or a sign.
func (r *pathReader) number() float32 {
	r.skip()
	end, dot := 0, false
	for ; end < len(r.rest); end++ {
		switch c := r.rest[end]; {
		case c >= '0' && c <= '9', c == '-' && end == 0:
			continue
		case c == '.' && !dot:
			dot = true
			continue
		}
		break
	}
	v, err := strconv.ParseFloat(r.rest[:end], 32)
	if err != nil {
		panic("picture: the path of an icon has no number at " + strconv.Quote(r.rest)) // icons are constants
	}
	r.rest = r.rest[end:]
	return float32(v)
}

// flag reads a flag of an arc, which is one digit.
func (r *pathReader) flag() bool {
	r.skip()
	f := r.rest[0] == '1'
	r.rest = r.rest[1:]
	return f
}

// point reads a point, relative to origin.
func (r *pathReader) point(origin point) point {
	x := r.number()
	return point{origin.x + x, origin.y + r.number()}
}

// lineTo draws a line.
func (r *pathReader) lineTo(to point) {
	last := len(r.paths) - 1
	r.paths[last], r.at = append(r.paths[last], to), to
}

// draw reads the arguments of a command and draws it.
func (r *pathReader) draw(command byte) {
	origin := r.at
	if command >= 'A' && command <= 'Z' {
		origin = point{}
	}
	switch command | 0x20 {
	case 'm':
		r.at = r.point(origin)
		r.paths = append(r.paths, path{r.at})
	case 'l':
		r.lineTo(r.point(origin))
	case 'h':
		r.lineTo(point{origin.x + r.number(), r.at.y})
	case 'v':
		r.lineTo(point{r.at.x, origin.y + r.number()})
	case 'c':
		a, b, from := r.point(origin), r.point(origin), r.at
		to := r.point(origin)
		for i := range arcSteps {
			r.lineTo(bezier(from, a, b, to, float32(i+1)/arcSteps))
		}
	case 'a':
		radius := r.number()
		r.number() // the second radius, which is the same
		r.number() // the rotation, which does nothing to a circle
		large, sweep := r.flag(), r.flag()
		r.arcTo(r.point(origin), radius, large, sweep)
	case 'z':
		r.lineTo(r.paths[len(r.paths)-1][0])
	default:
		panic("picture: the path of an icon has the command " + strconv.Quote(string(command))) // icons are constants
	}
}

// bezier returns the point of a cubic Bézier curve at t, from 0 to 1.
func bezier(from, a, b, to point, t float32) point {
	u := 1 - t
	at := func(p, q, r, s float32) float32 { return u*u*u*p + 3*u*u*t*q + 3*u*t*t*r + t*t*t*s }
	return point{at(from.x, a.x, b.x, to.x), at(from.y, a.y, b.y, to.y)}
}

// arcTo draws the arc of a circle to a point (SVG 1.1, appendix F.6).
func (r *pathReader) arcTo(to point, radius float32, large, sweep bool) {
	from := r.at
	dx, dy := float64(to.x-from.x), float64(to.y-from.y)
	chord := math.Hypot(dx, dy)
	if chord == 0 {
		return
	}
	size := max(float64(radius), chord/2)
	height := math.Sqrt(max(0, size*size-chord*chord/4)) // from the chord to the centre
	if large == sweep {
		height = -height
	}
	cx := float64(from.x+to.x)/2 - height*dy/chord
	cy := float64(from.y+to.y)/2 + height*dx/chord
	begin := math.Atan2(float64(from.y)-cy, float64(from.x)-cx)
	turn := math.Atan2(float64(to.y)-cy, float64(to.x)-cx) - begin
	switch {
	case sweep && turn < 0:
		turn += 2 * math.Pi
	case !sweep && turn > 0:
		turn -= 2 * math.Pi
	}
	for i := range arcSteps {
		sin, cos := math.Sincos(begin + turn*float64(i+1)/arcSteps)
		r.lineTo(point{float32(cx + size*cos), float32(cy + size*sin)})
	}
	r.paths[len(r.paths)-1][len(r.paths[len(r.paths)-1])-1] = to
	r.at = to
}
