package badge

import (
	"encoding/json"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"math"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/allswell/allswell/internal/domain/kernel"
	"github.com/allswell/allswell/internal/domain/statuspage"
	"github.com/allswell/allswell/internal/shared/markdown/markdowntest"
)

// drawing is a parsed badge.
type drawing struct {
	texts []string // title, label, message
	style string
	fills []string // of the two backgrounds and the two texts
}

// readBadge parses a badge, which may have only the known elements and attributes.
func readBadge(t testing.TB, svg []byte) (d drawing) {
	t.Helper()
	allowed := map[string]string{
		"svg": "xmlns width height role aria-label", "title": "", "style": "", "path": "class fill d",
		"g":    "text-anchor font-family font-size text-rendering",
		"text": "class fill x y textLength lengthAdjust direction",
	}
	dec := xml.NewDecoder(strings.NewReader(string(svg)))
	var open []string
	for {
		token, err := dec.Token()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatalf("the badge: %v in %s", err, svg)
		}
		switch token := token.(type) {
		case xml.StartElement:
			attributes, ok := allowed[token.Name.Local]
			if !ok || token.Name.Space != "http://www.w3.org/2000/svg" {
				t.Fatalf("an element %v in %s", token.Name, svg)
			}
			for _, a := range token.Attr {
				if !slices.Contains(strings.Fields(attributes), a.Name.Local) {
					t.Errorf("the element: %s has %v in %s", token.Name.Local, a.Name, svg)
				}
				if a.Name.Local == "fill" {
					d.fills = append(d.fills, a.Value)
				}
				if a.Name.Local == "aria-label" {
					d.texts = append(d.texts, a.Value)
				}
			}
			open = append(open, token.Name.Local)
			if n := token.Name.Local; n == "title" || n == "text" {
				d.texts = append(d.texts, "")
			}
		case xml.EndElement:
			open = open[:len(open)-1]
		case xml.CharData:
			switch in := open[len(open)-1]; in {
			case "title", "text":
				d.texts[len(d.texts)-1] += string(token)
			case "style":
				d.style += string(token)
			default:
				t.Errorf("text outside of text elements: %q in %s", token, in)
			}
		default:
			t.Errorf("a token that no badge needs: %T in %s", token, svg)
		}
	}
	return d
}

func TestBadge(t *testing.T) {
	sum := statuspage.PageContents{
		Page: statuspage.Page{Name: "Acme", TimeZone: "UTC"},
		Components: []statuspage.Component{
			{ID: "comp_1", Name: "Website", Baseline: kernel.StatusDegradedPerformance},
			{ID: "comp_2", Name: "API", Baseline: kernel.StatusOperational},
		},
		Changes: map[string][]statuspage.StatusChange{
			"comp_1": {{At: day.AddDate(0, 0, -10), Status: kernel.StatusOperational},
				{At: day.Add(-3 * time.Hour), Status: kernel.StatusMajorOutage},
				{At: day.Add(-2 * time.Hour), Status: kernel.StatusDegradedPerformance}},
		},
		AsOf: day,
	}.Summarize(day)
	for _, c := range []struct {
		language, component string
		uptime              bool
		label, message      string
		tone                kernel.Status
	}{
		{"", "", false, "Acme", "Degraded", kernel.StatusDegraded},
		{"", "comp_1", false, "Website", "Degraded", kernel.StatusDegraded},
		{"", "comp_2", false, "API", "Operational", kernel.StatusOperational},
		{"", "comp_1", true, "Website", "99.58% uptime", kernel.StatusDegraded}, // an hour of ten days: 99.583
		{"", "", true, "Acme", "99.58% uptime", kernel.StatusDegraded},
		{"", "comp_2", true, "API", "Uptime: not known", kernel.StatusUnknown},
		{"de", "comp_1", true, "Website", "99,58 % Verfügbarkeit", kernel.StatusDegraded},
		{"de", "comp_2", false, "API", "Funktioniert", kernel.StatusOperational},
	} {
		sum.Page.Language = c.language
		got, ok := NewSet(sum).Badge(c.component, Options{Uptime: c.uptime}, false)
		got.message = strings.ReplaceAll(got.message, "\u00a0", " ")
		if want := (Badge{c.label, c.message, c.tone.Tone()}); !ok || got != want {
			t.Errorf("the badge of %+v: %+v", c, got)
		}
		if got, _ := NewSet(sum).Badge(c.component, Options{}, true); got.tone != kernel.StatusUnknown.Tone() {
			t.Errorf("outdated: %+v", got)
		}
	}
	set := NewSet(sum)
	if _, ok := set.Badge("comp_3", Options{}, false); ok || set.Has("comp_3") || !set.Has("comp_1") || !set.Has("") {
		t.Error("there is a badge of an unknown component")
	}
	for share, want := range map[float64]string{
		1: "ok", 0.999: "ok", 0.9989: "degraded", 0.99: "degraded", 0.9899: "partial", 0.95: "partial",
		0.9499: "major", 0: "major",
	} {
		if got := uptimeTone(share).Name; got != want {
			t.Errorf("the tone of the uptime: %v is %s, want %s", share, got, want)
		}
	}
}

// TestBadgeOfIncidents checks that a badge with ?show=incidents says how many incidents are active if their impact is
// worse than the status.
func TestBadgeOfIncidents(t *testing.T) {
	incident := func(impact kernel.Impact, components ...string) statuspage.Incident {
		inc := statuspage.Incident{ID: string(impact), Title: "It fails", Impact: impact, CreatedAt: day}
		for _, id := range components {
			inc.Affected = append(inc.Affected, statuspage.AffectedComponent{ComponentID: id})
		}
		return inc
	}
	for _, c := range []struct {
		status    kernel.Status
		incidents []statuspage.Incident
		page, api string
		tone      string // of the page's badge
	}{
		{kernel.StatusOperational, nil, "Operational", "Operational", "ok"},
		{kernel.StatusOperational, []statuspage.Incident{incident(kernel.ImpactNone, "comp_1")}, "Operational",
			"Operational", "ok"},
		{kernel.StatusOperational, []statuspage.Incident{incident(kernel.ImpactCritical)}, "1 active incident",
			"Operational", "major"},
		{kernel.StatusOperational,
			[]statuspage.Incident{incident(kernel.ImpactMinor, "comp_1"), incident(kernel.ImpactMajor)},
			"2 active incidents", "1 active incident", "partial"},
		{kernel.StatusPartialOutage, []statuspage.Incident{incident(kernel.ImpactMinor, "comp_1")}, "Partial Outage",
			"Partial Outage", "partial"},
	} {
		set := NewSet(statuspage.PageContents{
			Page:       statuspage.Page{Name: "Acme"},
			Components: []statuspage.Component{{ID: "comp_1", Name: "API", Baseline: c.status}}, Incidents: c.incidents,
		}.Summarize(day))
		show := ParseOptions(url.Values{"show": {"incidents"}})
		page, _ := set.Badge("", show, false)
		api, _ := set.Badge("comp_1", show, false)
		if page.message != c.page || api.message != c.api || page.tone.Name != c.tone {
			t.Errorf("%+v: the page's badge says %q in %s, the component's %q", c, page.message, page.tone.Name,
				api.message)
		}
		if plain, _ := set.Badge("", Options{}, false); plain.message != c.status.Label() {
			t.Errorf("%+v: without the option the badge says %q", c, plain.message)
		}
		if late, _ := set.Badge("", show, true); late.tone.Name != "unknown" {
			t.Errorf("%+v: the outdated badge is %s", c, late.tone.Name)
		}
	}
}

// TestBadgeColours checks that all text is readable in both themes, and that a theme
// changes only colours.
func TestBadgeColours(t *testing.T) {
	for _, s := range kernel.Statuses {
		b := Badge{"Acme", s.Label(), s.Tone()}
		auto, style := b.SVG("")
		light, none := b.SVG(ThemeLight)
		dark, _ := b.SVG(ThemeDark)
		a, l, d := readBadge(t, auto), readBadge(t, light), readBadge(t, dark)
		if a.style != style || style != darkStyle(b.tone) || none != "" || l.style != "" || d.style != "" {
			t.Errorf("%s: the style is %q, of the others %q and %q", s, a.style, l.style, d.style)
		}
		if !slices.Equal(a.fills, l.fills) || len(l.fills) != 4 || len(d.fills) != 4 {
			t.Errorf("%s: fills %q, %q, %q", s, a.fills, l.fills, d.fills)
		}
		want := fmt.Sprintf("@media(prefers-color-scheme:dark){.a{fill:%s}.b{fill:%s}.c{fill:%s}.d{fill:%s}}",
			d.fills[0], d.fills[1], d.fills[2], d.fills[3])
		if style != want {
			t.Errorf("%s: %s, want %s", s, style, want)
		}
		for _, fills := range [][]string{l.fills, d.fills} {
			for i := range 2 {
				if c := contrastOf(t, fills[i], fills[i+2]); c < 4.5 {
					t.Errorf("%s: %s on %s has a contrast of %.2f", s, fills[i+2], fills[i], c)
				}
			}
			if fills[0] == fills[1] {
				t.Errorf("%s: both sides have the same colour", s)
			}
		}
	}
}

// contrastOf returns the contrast of two colours (WCAG 2.2, 1.4.3).
func contrastOf(t *testing.T, a, b string) float64 {
	luminance := func(c string) float64 {
		n, err := strconv.ParseUint(c[1:], 16, 24)
		if err != nil {
			t.Fatal(err)
		}
		sum := 0.0
		for i, weight := range []float64{0.2126, 0.7152, 0.0722} {
			v := float64(n>>(16-8*i)&255) / 255
			if v <= 0.03928 {
				v /= 12.92
			} else {
				v = math.Pow((v+0.055)/1.055, 2.4)
			}
			sum += weight * v
		}
		return sum
	}
	x, y := luminance(a), luminance(b)
	return (max(x, y) + 0.05) / (min(x, y) + 0.05)
}

func TestTextWidth(t *testing.T) {
	for text, want := range map[string]int{
		"": 1, "i": 3, "Operational": 64, "build": 27, "passing": 42, // as shields.io measures them
		"日本": 22, "e\u0301": 7, "👍": 14,
	} {
		if got := textWidth(text); got != want {
			t.Errorf("%q takes %d, want %d", text, got, want)
		}
	}
}

func TestParseOptions(t *testing.T) {
	long := strings.Repeat("ü", 61)
	for query, want := range map[string]Options{
		"": {}, "theme=dark": {Theme: ThemeDark}, "theme=light&style=uptime": {Theme: ThemeLight, Uptime: true},
		"theme=blue&style=flat&x=1": {}, "label=": {}, "label=%20%00%0a": {}, "label=a%0d%0ab": {Label: "a b"},
		"label=%ff":                      {Label: "\ufffd"},
		"label=" + url.QueryEscape(long): {Label: strings.Repeat("ü", 59) + "…"},
		"label=a;b&theme=dark":           {Theme: ThemeDark}, "%": {},
	} {
		values, _ := url.ParseQuery(query) // as net/http does
		if got := ParseOptions(values); got != want {
			t.Errorf("%q: %+v, want %+v", query, got, want)
		}
	}
}

func FuzzBadge(f *testing.F) {
	for i, s := range markdowntest.Seeds {
		f.Add(s, markdowntest.Seeds[(i+1)%len(markdowntest.Seeds)], i%2 == 0)
	}
	f.Fuzz(func(t *testing.T, name, label string, arabic bool) {
		p := statuspage.Page{Name: name}
		if arabic {
			p.Language = "ar"
		}
		b, _ := NewSet(statuspage.Summary{Page: p, Status: kernel.StatusPartialOutage}).Badge("", Options{}, false)
		for _, c := range []struct{ typed, drawn string }{
			{name, b.label}, {label, ParseOptions(url.Values{"label": {label}}).Label},
		} {
			want := []rune(markdowntest.Line(c.typed))
			if len(want) > maxLabel {
				want = append([]rune(strings.TrimRight(string(want[:maxLabel-1]), " ")), '…')
			}
			if c.drawn != string(want) {
				t.Errorf("%q is drawn as %q, want %q", c.typed, c.drawn, string(want))
			}
			b.label = c.drawn
			svg, _ := b.SVG("")
			d := readBadge(t, svg)
			said := c.drawn + ": " + b.message
			if !slices.Equal(d.texts, []string{said, said, c.drawn, b.message}) || !utf8.Valid(svg) || len(svg) > 4000 {
				t.Errorf("%d bytes with %q, want %q and %q", len(svg), d.texts, c.drawn, b.message)
			}
			var shield map[string]any
			if err := json.Unmarshal(b.JSON(), &shield); err != nil {
				t.Fatal(err)
			}
			endpoint := map[string]any{
				"schemaVersion": 1.0, "label": c.drawn, "message": b.message, "color": "bd4b0a",
			}
			if fmt.Sprint(shield) != fmt.Sprint(endpoint) {
				t.Errorf("%v, endpoint %v", shield, endpoint)
			}
		}
	})
}

var day = time.Date(2020, 11, 21, 15, 4, 5, 0, time.UTC)
