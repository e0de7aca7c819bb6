package page

import (
	"context"
	"encoding/json"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"math"
	"net/http/httptest"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/allswell/allswell"
	"github.com/allswell/allswell/internal/cache"
)

// drawing is what a badge is made of.
type drawing struct {
	texts []string // title, label, message
	style string
	fills []string // of the two grounds and the two texts
}

// readBadge parses a badge, which may have nothing but what a badge is made of.
func readBadge(t testing.TB, svg []byte) (d drawing) {
	t.Helper()
	allowed := map[string]string{
		"svg": "xmlns width height role aria-label", "title": "", "style": "", "path": "class fill d",
		"g": "text-anchor font-family font-size text-rendering", "text": "class fill x y textLength lengthAdjust direction",
	}
	dec := xml.NewDecoder(strings.NewReader(string(svg)))
	var open []string
	for {
		token, err := dec.Token()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatalf("%v in %s", err, svg)
		}
		switch token := token.(type) {
		case xml.StartElement:
			attributes, ok := allowed[token.Name.Local]
			if !ok || token.Name.Space != "http://www.w3.org/2000/svg" {
				t.Fatalf("an element %v in %s", token.Name, svg)
			}
			for _, a := range token.Attr {
				if !slices.Contains(strings.Fields(attributes), a.Name.Local) {
					t.Errorf("%s has %v in %s", token.Name.Local, a.Name, svg)
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
				t.Errorf("%q in %s", token, in)
			}
		default:
			t.Errorf("%T in %s", token, svg)
		}
	}
	return d
}

func TestBadge(t *testing.T) {
	sum := allswell.PageContents{
		Page:       allswell.Page{Name: "Acme", TimeZone: "UTC"},
		Components: []allswell.Component{{ID: "comp_1", Name: "Website", Baseline: allswell.StatusDegradedPerformance}, {ID: "comp_2", Name: "API", Baseline: allswell.StatusOperational}},
		Changes:    map[string][]allswell.StatusChange{"comp_1": {{At: day.AddDate(0, 0, -10), Status: allswell.StatusOperational}, {At: day.Add(-3 * time.Hour), Status: allswell.StatusMajorOutage}, {At: day.Add(-2 * time.Hour), Status: allswell.StatusDegradedPerformance}}},
		AsOf:       day,
	}.Summarize(day)
	for _, c := range []struct {
		language, component string
		uptime              bool
		want                badge
	}{
		{"", "", false, badge{"Acme", "Degraded", "degraded"}},
		{"", "comp_1", false, badge{"Website", "Degraded", "degraded"}},
		{"", "comp_2", false, badge{"API", "Operational", "ok"}},
		{"", "comp_1", true, badge{"Website", "99.58% uptime", "degraded"}}, // an hour of ten days: 99.583
		{"", "", true, badge{"Acme", "99.58% uptime", "degraded"}},
		{"", "comp_2", true, badge{"API", "Uptime: not known", "unknown"}},
		{"de", "comp_1", true, badge{"Website", "99,58 % Verfügbarkeit", "degraded"}},
		{"de", "comp_2", false, badge{"API", "Funktioniert", "ok"}},
	} {
		sum.Page.Language = c.language
		facts := badgeFactsOf(sum)
		fact, ok := facts.of(c.component)
		got := fact.badge(facts.lang, c.uptime)
		got.message = strings.ReplaceAll(got.message, "\u00a0", " ")
		if !ok || got != c.want {
			t.Errorf("%+v: %+v", c, got)
		}
	}
	if _, ok := badgeFactsOf(sum).of("comp_3"); ok {
		t.Error("there is a badge of a component that is not there")
	}
	for share, want := range map[float64]string{1: "ok", 0.999: "ok", 0.9989: "degraded", 0.99: "degraded", 0.9899: "partial", 0.95: "partial", 0.9499: "major", 0: "major"} {
		if got := uptimeTone(share); got != want {
			t.Errorf("%v is %s, want %s", share, got, want)
		}
	}
}

// Everything can be read, in both themes, and a theme changes colours alone.
func TestBadgeColours(t *testing.T) {
	for _, s := range allswell.Statuses {
		b := badge{"Acme", s.Label(), tone(s)}
		auto, style := b.svg("")
		light, none := b.svg(themeLight)
		dark, _ := b.svg(themeDark)
		a, l, d := readBadge(t, auto), readBadge(t, light), readBadge(t, dark)
		if a.style != style || style != darkStyle(b.tone) || none != "" || l.style != "" || d.style != "" {
			t.Errorf("%s: the style is %q, of the others %q and %q", s, a.style, l.style, d.style)
		}
		if !slices.Equal(a.fills, l.fills) || len(l.fills) != 4 || len(d.fills) != 4 {
			t.Errorf("%s: fills %q, %q, %q", s, a.fills, l.fills, d.fills)
		}
		want := fmt.Sprintf("@media(prefers-color-scheme:dark){.a{fill:%s}.b{fill:%s}.c{fill:%s}.d{fill:%s}}", d.fills[0], d.fills[1], d.fills[2], d.fills[3])
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
				t.Errorf("%s: one side is like the other", s)
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

func TestBadgeWish(t *testing.T) {
	long := strings.Repeat("ü", 61)
	for query, want := range map[string]badgeWish{
		"": {}, "theme=dark": {theme: themeDark}, "theme=light&style=uptime": {theme: themeLight, uptime: true},
		"theme=blue&style=flat&x=1": {}, "label=": {}, "label=%20%00%0a": {}, "label=a%0d%0ab": {label: "a b"}, "label=%ff": {label: "\ufffd"},
		"label=" + url.QueryEscape(long): {label: strings.Repeat("ü", 59) + "…"}, "label=a;b&theme=dark": {theme: themeDark}, "%": {},
	} {
		if got := badgeWishOf(httptest.NewRequest("GET", "/badge.svg?"+query, nil)); got != want {
			t.Errorf("%q: %+v, want %+v", query, got, want)
		}
	}
}

func FuzzBadge(f *testing.F) {
	for i, s := range newsSeeds {
		f.Add(s, newsSeeds[(i+1)%len(newsSeeds)], i%2 == 0)
	}
	f.Fuzz(func(t *testing.T, name, label string, arabic bool) {
		p := allswell.Page{Name: name}
		if arabic {
			p.Language = "ar"
		}
		facts := badgeFactsOf(allswell.Summary{Page: p, Status: allswell.StatusPartialOutage})
		b := facts.page.badge(facts.lang, false)
		r := httptest.NewRequest("GET", "/badge.svg?"+url.Values{"label": {label}}.Encode(), nil)
		for _, c := range []struct{ typed, drawn string }{{name, b.label}, {label, badgeWishOf(r).label}} {
			want := []rune(asLine(c.typed))
			if len(want) > maxBadgeLabel {
				want = append([]rune(strings.TrimRight(string(want[:maxBadgeLabel-1]), " ")), '…')
			}
			if c.drawn != string(want) {
				t.Errorf("%q is drawn as %q, want %q", c.typed, c.drawn, string(want))
			}
			b.label = c.drawn
			svg, _ := b.svg("")
			d := readBadge(t, svg)
			said := c.drawn + ": " + b.message
			if !slices.Equal(d.texts, []string{said, said, c.drawn, b.message}) || !utf8.Valid(svg) || len(svg) > 4000 {
				t.Errorf("%d bytes with %q, want %q and %q", len(svg), d.texts, c.drawn, b.message)
			}
			var shield map[string]any
			if err := json.Unmarshal(b.json(), &shield); err != nil {
				t.Fatal(err)
			}
			if want := map[string]any{"schemaVersion": 1.0, "label": c.drawn, "message": b.message, "color": "bd4b0a"}; fmt.Sprint(shield) != fmt.Sprint(want) {
				t.Errorf("%v, want %v", shield, want)
			}
		}
	})
}

// TestBadgeOfSilence: no badge claims a status that pages show as old.
func TestBadgeOfSilence(t *testing.T) {
	run(t, func(w *world) {
		t := w.t
		c := w.component("acme", "Website", "")
		w.clock.set(time.Now()) // which the store's contact is counted by
		w.status("acme", c.ID, allswell.StatusDegraded)
		w.get("/status/acme", 200)
		seen := []string{"/status/acme/badge.svg", "/status/acme/badge.json", "/status/acme/badge.svg?label=Status", "/status/acme/components/" + c.ID + "/badge.svg"}
		says := func(status string) {
			t.Helper()
			for _, path := range seen {
				if got := w.do("GET", path); got.Code != 200 || !strings.Contains(got.Body.String(), status) {
					t.Errorf("%s: %d, not %s: %s", path, got.Code, status, got.Body)
				}
			}
		}
		says("Degraded")
		contact := w.store.LastContact()
		w.store.Close()
		w.clock.set(contact.Add(delayedAfter + time.Millisecond))
		says("Unknown")
		w.clock.set(contact.Add(delayedAfter))
		says("Degraded")
		w.clock.set(contact.Add(30 * time.Hour))
		says("Unknown")
	})
}

// TestOldBadgeIsBrief: a badge that was drawn of an old snapshot is not taken for
// a new one.
func TestOldBadgeIsBrief(t *testing.T) {
	run(t, func(w *world) {
		t := w.t
		c := w.component("acme", "Website", "")
		w.get("/status/acme", 200)
		e := w.site.index.Last().find("acme")
		loads := e.summary.Load
		e.summary.Load = func(context.Context) (*snapshot, time.Time, error) { return nil, time.Time{}, errors.New("broken") }
		w.status("acme", c.ID, allswell.StatusMajorOutage)
		if got := w.do("GET", "/status/acme/badge.svg").Body.String(); !strings.Contains(got, "Operational") {
			t.Errorf("while the page cannot be made: %s", got)
		}
		e.summary.Load = loads
		w.clock.move(cache.RetryDelay)
		if got := w.do("GET", "/status/acme/badge.svg").Body.String(); !strings.Contains(got, "Major Outage") {
			t.Errorf("after it: %s", got)
		}
	})
}
