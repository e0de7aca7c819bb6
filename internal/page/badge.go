package page

import (
	"context"
	"encoding/json"
	"encoding/xml"
	"fmt"
	"net/http"
	"strings"
	"time"
	"unicode"

	"golang.org/x/text/width"

	"github.com/allswell/allswell"
	"github.com/allswell/allswell/internal/i18n"
	"github.com/allswell/allswell/internal/markdown"
	"github.com/allswell/allswell/internal/web"
)

// maxBadgeLabel is the most characters of a badge's left side.
const maxBadgeLabel = 60

// The themes of a badge. Without one it follows the reader's preference.
const (
	themeLight = "light"
	themeDark  = "dark"
)

// badgeFacts is what the badges of a page tell.
type badgeFacts struct {
	lang       *i18n.Language
	page       badgeFact
	components map[string]badgeFact // by id
}

type badgeFact struct {
	name   string
	status allswell.Status
	uptime float64 // of allswell.HistoryDays, from 0 to 1
	known  bool    // the uptime is
}

func badgeFactsOf(sum allswell.Summary) badgeFacts {
	f := badgeFacts{i18n.Or(sum.Page.Language), newBadgeFact(sum.Page.Name, sum.Status, sum.History), make(map[string]badgeFact)}
	for _, block := range sum.Blocks {
		for _, c := range block.Components {
			f.components[c.ID] = newBadgeFact(c.Name, c.Status(), sum.Histories[c.ID])
		}
	}
	return f
}

func newBadgeFact(name string, status allswell.Status, record allswell.History) badgeFact {
	f := badgeFact{name: markdown.Clip(markdown.Line(name), maxBadgeLabel), status: status.Canonical()}
	f.uptime, f.known = record.Last(allswell.HistoryDays).Uptime()
	return f
}

// of returns the fact of a component, or of the page.
func (f badgeFacts) of(component string) (badgeFact, bool) {
	if component == "" {
		return f.page, true
	}
	fact, ok := f.components[component]
	return fact, ok
}

// badge is one badge: a label on the left, a message on the right.
type badge struct {
	label, message string
	tone           string
}

func (f badgeFact) badge(l *i18n.Language, uptime bool) badge {
	if !uptime {
		return badge{f.name, l.Status(f.status), tone(f.status)}
	}
	if !f.known {
		return badge{f.name, l.T("uptime.heading") + ": " + l.T("uptime.not_known"), "unknown"}
	}
	return badge{f.name, l.T("uptime.of", "percent", l.Percent(f.uptime, true)), uptimeTone(f.uptime)}
}

// uptimeTone returns the tone of an uptime.
func uptimeTone(share float64) string {
	switch {
	case share >= 0.999:
		return "ok"
	case share >= 0.99:
		return "degraded"
	case share >= 0.95:
		return "partial"
	default:
		return "major"
	}
}

// badgeWish is what an address asks of a badge. What it asks that we do not
// have is as if it had not been asked.
type badgeWish struct {
	label  string // "": the name
	theme  string
	uptime bool
}

func badgeWishOf(r *http.Request) (w badgeWish) {
	if r.URL.RawQuery == "" {
		return w
	}
	query := r.URL.Query()
	w.label = markdown.Clip(markdown.Line(query.Get("label")), maxBadgeLabel)
	if theme := query.Get("theme"); theme == themeLight || theme == themeDark {
		w.theme = theme
	}
	w.uptime = query.Get("style") == "uptime"
	return w
}

// serveBadge answers with a badge. Those with a label of the address are drawn
// for each request, because there is no end of labels; the others are kept.
// When pages have to say that they are old, no badge claims a status.
func (s *Site) serveBadge(w http.ResponseWriter, r *http.Request, v visit, component, name string) {
	wish := badgeWishOf(r)
	_, late := s.late()
	e := v.entry
	load := func(context.Context) (*web.Document, time.Time, error) {
		badges := e.summary.Last().badges
		fact, ok := badges.of(component)
		if !ok {
			return nil, time.Time{}, allswell.ErrNotFound
		}
		if late {
			fact.status = allswell.StatusUnknown // nothing of its colour tells that it is old
		}
		b := fact.badge(badges.lang, wish.uptime)
		if wish.label != "" {
			b.label = wish.label
		}
		return b.document(name, wish.theme), time.Time{}, nil
	}
	if wish.label != "" {
		doc, _, err := load(r.Context())
		s.serveMachine(w, r, v, doc, err)
		return
	}
	kind := fmt.Sprint(name, " ", wish.theme, " ", wish.uptime, " ", late)
	doc, err := getRendered(r.Context(), s, key{entry: e, kind: kind, name: component}, &e.summary.Loads, load)
	s.serveMachine(w, r, v, doc, err)
}

func (b badge) document(name, theme string) *web.Document {
	if name == badgeJSONName {
		return newMachine(b.json(), typeJSON, cacheBadge)
	}
	svg, style := b.svg(theme)
	h := web.DocumentHeader{ContentType: typeSVG, CacheControl: cacheBadge, Policy: web.PolicyData}
	if style != "" {
		h.Policy = h.Policy.WithStyle(style)
	}
	return web.NewDocument(svg, h)
}

// json writes the badge for https://shields.io/badges/endpoint-badge.
func (b badge) json() []byte {
	body, err := json.Marshal(struct {
		SchemaVersion int    `json:"schemaVersion"`
		Label         string `json:"label"`
		Message       string `json:"message"`
		Color         string `json:"color"`
	}{1, b.label, b.message, badgeLight.tones[b.tone].fill[1:]})
	if err != nil {
		panic(err) // strings and a number
	}
	return body
}

// paint is a ground with the text on it.
type paint struct{ fill, text string }

// palette is the colours of one theme. Each text stands out from its ground by
// at least 4.5 to 1.
type palette struct {
	label paint
	tones map[string]paint
}

var (
	badgeLight = palette{paint{"#555555", "#ffffff"}, map[string]paint{
		"ok": {"#0f6f46", "#ffffff"}, "degraded": {"#f4c13d", "#2a1c00"}, "partial": {"#bd4b0a", "#ffffff"},
		"major": {"#b3261e", "#ffffff"}, "maintenance": {"#2357b8", "#ffffff"}, "unknown": {"#6b7280", "#ffffff"},
	}}
	badgeDark = palette{paint{"#30373f", "#e9ebee"}, map[string]paint{
		"ok": {"#54c992", "#11151a"}, "degraded": {"#f0c04a", "#11151a"}, "partial": {"#ff9c61", "#11151a"},
		"major": {"#ff857d", "#11151a"}, "maintenance": {"#8bb6ff", "#11151a"}, "unknown": {"#a5adb7", "#11151a"},
	}}
)

// The measures of a badge, in pixels.
const (
	badgeHeight  = 20
	badgePadding = 5 // on both sides of each text
	badgeCorner  = 3
)

// svg draws the badge in the flat style that readers know from shields.io, and
// returns its style sheet as well, "" if it has none.
func (b badge) svg(theme string) (svg []byte, style string) {
	colours := badgeLight
	switch theme {
	case themeDark:
		colours = badgeDark
	case "":
		style = darkStyle(b.tone)
	}
	var d strings.Builder
	left, right := textWidth(b.label)+2*badgePadding, textWidth(b.message)+2*badgePadding
	said := xmlText(b.label + ": " + b.message)
	fmt.Fprintf(&d, `<svg xmlns="http://www.w3.org/2000/svg" width="%d" height="%d" role="img" aria-label="%s"><title>%s</title>`,
		left+right, badgeHeight, said, said)
	if style != "" {
		d.WriteString("<style>" + style + "</style>")
	}
	const c, side = badgeCorner, badgeHeight - 2*badgeCorner
	on := colours.tones[b.tone]
	fmt.Fprintf(&d, `<path class="a" fill="%s" d="M%d 0H%dv%dH%da%d %d 0 0 1-%d-%dv-%da%d %d 0 0 1 %d-%dz"/>`,
		colours.label.fill, c, left, badgeHeight, c, c, c, c, c, side, c, c, c, c)
	fmt.Fprintf(&d, `<path class="b" fill="%s" d="M%d 0h%da%d %d 0 0 1 %d %dv%da%d %d 0 0 1-%d %dh-%dz"/>`,
		on.fill, left, right-c, c, c, c, c, side, c, c, c, c, right-c)
	d.WriteString(`<g text-anchor="middle" font-family="Verdana,Geneva,DejaVu Sans,sans-serif" font-size="11" text-rendering="geometricPrecision">`)
	writeBadgeText(&d, "c", b.label, colours.label.text, 0, left)
	writeBadgeText(&d, "d", b.message, on.text, left, right)
	d.WriteString("</g></svg>")
	return []byte(d.String()), style
}

// darkStyle gives a badge of the light palette the dark colours where the
// reader prefers them.
func darkStyle(tone string) string {
	label, on := badgeDark.label, badgeDark.tones[tone]
	return fmt.Sprintf("@media(prefers-color-scheme:dark){.a{fill:%s}.b{fill:%s}.c{fill:%s}.d{fill:%s}}",
		label.fill, on.fill, label.text, on.text)
}

// writeBadgeText writes a text in the middle of a part of the badge. It takes
// the room that it was given whichever font is there. Letters that may be
// joined are not pulled apart, but made narrower or wider.
func writeBadgeText(d *strings.Builder, class, text, fill string, from, width int) {
	extra := ""
	if strings.ContainsFunc(text, func(r rune) bool { return glyphWidth(r) == 0 || !isMeasured(r) }) {
		extra = ` lengthAdjust="spacingAndGlyphs"`
	}
	if i := strings.IndexFunc(text, func(r rune) bool { return i18n.IsRightToLeft(r) || i18n.IsLeftToRight(r) }); i >= 0 {
		if strings.IndexFunc(text[i:], i18n.IsRightToLeft) == 0 {
			extra += ` direction="rtl"`
		}
	}
	fmt.Fprintf(d, `<text class="%s" fill="%s" x="%g" y="14" textLength="%d"%s>%s</text>`,
		class, fill, float64(from)+float64(width)/2, width-2*badgePadding, extra, xmlText(text))
}

// xmlText escapes a text for XML, attributes included.
func xmlText(s string) string {
	var out strings.Builder
	xml.EscapeText(&out, []byte(s)) // a strings.Builder does not fail
	return out.String()
}

// glyphs are the widths of the characters from space to tilde in Verdana of 11
// pixels, in tenths of a pixel.
var glyphs = [...]uint8{
	39, 43, 51, 90, 70, 118, 80, 30, 50, 50, 70, 90, 40, 50, 40, 50, 70, 70, 70, 70, 70, 70, 70, 70, 70, 70, 50, 50, 90, 90, 90, 60,
	110, 75, 75, 77, 85, 70, 63, 85, 83, 46, 50, 76, 61, 93, 82, 87, 66, 87, 77, 75, 68, 81, 75, 109, 75, 68, 75, 50, 50, 50, 90, 70,
	70, 66, 69, 57, 69, 66, 39, 69, 70, 30, 38, 65, 30, 107, 70, 67, 69, 69, 47, 57, 43, 70, 65, 90, 65, 65, 58, 70, 50, 70, 90,
}

// textWidth returns how many pixels a text takes, at least one.
func textWidth(text string) int {
	tenths := 0
	for _, r := range text {
		tenths += glyphWidth(r)
	}
	return max(1, (tenths+5)/10)
}

// isMeasured reports whether the width of a character is known; others are
// guessed.
func isMeasured(r rune) bool { return r >= ' ' && int(r-' ') < len(glyphs) }

// glyphWidth returns the width of a character in tenths of a pixel.
func glyphWidth(r rune) int {
	switch {
	case isMeasured(r):
		return int(glyphs[r-' '])
	case unicode.In(r, unicode.Mn, unicode.Me, unicode.Cf):
		return 0
	case r >= 0x1f000 && r < 0x20000: // pictures
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

// isWide reports whether a character takes a full square, as Chinese ones do.
func isWide(r rune) bool {
	kind := width.LookupRune(r).Kind()
	return kind == width.EastAsianWide || kind == width.EastAsianFullwidth
}
