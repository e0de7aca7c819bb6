// Package picture draws the state of a page as an image of 1200×630 pixels, for the previews that
// chat programs and social networks show of a link (Open Graph).
//
// It writes Latin, Greek and Cyrillic letters only. Where a text has others, such as Arabic ones,
// the picture shows the state without words.
package picture

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"image"
	"image/png"
	"strings"

	"github.com/allswell/allswell/internal/domain/kernel"
	"github.com/allswell/allswell/internal/domain/statuspage"
	"github.com/allswell/allswell/internal/shared/i18n"
	"github.com/allswell/allswell/internal/shared/markdown"
)

// Name is the name of the picture, below the address of a page.
const Name = "picture.png"

// The size of the picture in pixels.
const (
	Width  = 1200
	Height = 630
)

// Picture is the contents of a picture. Pictures with the same contents have the same pixels.
type Picture struct {
	name     string // of the page
	headline string // large, in the banner
	above    string // small, above the headline; "": none
	foot     string // the address of the page
	severity kernel.Status
	accent   string                                // of the page; "": none
	days     [statuspage.HistoryDays]kernel.Status // the worst of each day, oldest first; "": no data
	mirrored bool                                  // for languages written from right to left
}

// New returns the picture of a page, in the language of the page. url is the page's address.
func New(sum statuspage.Summary, url string) Picture {
	l := i18n.Or(sum.Page.DefaultLanguage())
	p := Picture{
		name: markdown.Line(sum.Page.Name), headline: l.Banner(sum.Status), severity: sum.Severity().Canonical(),
		accent: sum.Page.Accent, mirrored: l.Dir == "rtl",
	}
	if lead, ok := sum.LeadIncident(); ok {
		p.above, p.headline = l.Impact(lead.Impact), markdown.Line(l.IncidentTitle(lead))
	}
	if _, address, ok := strings.Cut(url, "://"); ok {
		p.foot = address
	}
	for i, day := range sum.History[max(0, len(sum.History)-len(p.days)):] {
		p.days[i] = day.Worst()
	}
	return p
}

// Version returns a text that changes with the contents, for the URL of the picture: programs keep
// pictures by their URLs.
func (p Picture) Version() string {
	sum := sha256.Sum256(fmt.Appendf(nil, "%q", []any{
		p.name, p.headline, p.above, p.foot, p.severity, p.accent, p.days, p.mirrored,
	}))
	return hex.EncodeToString(sum[:4])
}

// The layout: margins and positions in pixels, from the top left.
const (
	margin       = 80
	inner        = Width - 2*margin
	bannerTop    = 180
	bannerHeight = 240
	bannerInset  = 56
	iconSize     = 128
	barsTop      = 464
	barsHeight   = 64
	barGap       = 4
)

// The colours around the banner, the same as of light pages.
const (
	paper = "#f6f7f9"
	ink   = "#14181d"
	muted = "#57606b"
	faint = "#dde2e8"
)

// Bounds returns the size of the picture.
func Bounds() image.Rectangle { return image.Rect(0, 0, Width, Height) }

// PNG returns the picture as a PNG image.
func (p Picture) PNG() ([]byte, error) {
	c := newCanvas(p.mirrored)
	tone := p.severity.Tone()
	c.fill(rectangle(0, 0, Width, Height, 0), paper)
	c.fill(rectangle(0, 0, Width, 12, 0), cmp.Or(p.accent, tone.Solid.Light))
	c.write(paragraph{p.name, bold(52), inner, 1}, margin, 118, ink)
	c.fill(rectangle(margin, bannerTop, inner, bannerHeight, 28), tone.Solid.Light)
	p.drawBanner(c, tone)
	p.drawBars(c)
	c.write(paragraph{p.foot, regular(28), inner, 1}, margin, 588, muted)
	var out bytes.Buffer
	err := (&png.Encoder{CompressionLevel: png.BestSpeed}).Encode(&out, c.image)
	return out.Bytes(), err
}

// drawBanner draws the icon and the texts of the banner; without a text that can be written, the icon is in the middle.
func (p Picture) drawBanner(c *canvas, tone *kernel.Tone) {
	const middle = bannerTop + bannerHeight/2
	const textLeft = margin + bannerInset + iconSize + 48
	const textWidth = margin + inner - bannerInset - textLeft
	drawable := make([]string, 0, 2)
	for _, s := range []string{p.above, p.headline} {
		if canWrite(s) {
			drawable = append(drawable, s)
		}
	}
	if len(drawable) == 0 {
		drawIcon(c, tone, (Width-iconSize)/2, middle-iconSize/2, iconSize)
		return
	}
	drawIcon(c, tone, margin+bannerInset, middle-iconSize/2, iconSize)
	if len(drawable) == 2 {
		above, headline := paragraph{drawable[0], regular(32), textWidth, 1},
			paragraph{drawable[1], bold(52), textWidth, 2}
		top := middle - (34+headline.countLines()*62)/2
		c.write(above, textLeft, top+26, tone.OnSolid)
		c.write(headline, textLeft, top+86, tone.OnSolid)
		return
	}
	only := paragraph{drawable[0], bold(60), textWidth, 2}
	c.write(only, textLeft, middle+22-(only.countLines()-1)*36, tone.OnSolid)
}

// drawBars draws the days. As on the page, their shapes tell them apart without colour; every pattern is a ladder.
func (p Picture) drawBars(c *canvas) {
	const rungs = 8
	width := (float32(inner) + barGap) / float32(len(p.days))
	for i, status := range p.days {
		x, colour, shape := margin+float32(i)*width, faint, kernel.Bar{}
		if status != "" {
			shape = status.Tone().Bar
			colour = shape.Fill.Light
		}
		part := func(from, to float32) { // in percent
			c.fill(rectangle(x, barsTop+from/100*barsHeight, width-barGap, (to-from)/100*barsHeight, 2), colour)
		}
		switch {
		case shape.Gap.To > 0:
			part(0, float32(shape.Gap.From))
			part(float32(shape.Gap.To), 100)
		case shape.Pattern != "":
			for rung := range rungs {
				top := float32(100*rung) / rungs
				part(top, top+60/rungs)
			}
		default:
			part(0, 100)
		}
	}
}

// AppIcon returns the PNG of the icon of pages as apps: the sign of an operational page, on its colour. size is its
// width in pixels, at most Height.
func AppIcon(size int) ([]byte, error) {
	c, tone, width := newCanvas(false), kernel.StatusOperational.Tone(), float32(size)
	c.fill([]path{{{0, 0}, {width, 0}, {width, width}, {0, width}}}, tone.Solid.Light)
	drawIcon(c, tone, width/5, width/5, width*3/5) // the edge may be cut to a circle
	var out bytes.Buffer
	err := png.Encode(&out, c.image.SubImage(image.Rect(0, 0, size, size)))
	return out.Bytes(), err
}
