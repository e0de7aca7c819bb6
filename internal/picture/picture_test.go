package picture

import (
	"bytes"
	"image/color"
	"image/png"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/allswell/allswell"
	"github.com/allswell/allswell/internal/i18n"
)

var now = time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC)

// summaryOf returns a page with one component in a status, which had an outage.
func summaryOf(status allswell.Status, language string, incidents ...allswell.Incident) allswell.Summary {
	at := func(days int) time.Time { return now.AddDate(0, 0, -days) }
	return allswell.PageContents{
		Page:       allswell.Page{Name: "Acme Cloud", Language: language, TimeZone: "UTC"},
		Components: []allswell.Component{{ID: "comp_1", Name: "API", Baseline: status}},
		Incidents:  incidents,
		Changes: map[string][]allswell.StatusChange{"comp_1": {
			{At: at(70), Status: allswell.StatusOperational}, {At: at(40), Status: allswell.StatusPartialOutage}, {At: at(38), Status: allswell.StatusOperational},
			{At: at(20), Status: allswell.StatusDegraded}, {At: at(19), Status: allswell.StatusMajorOutage}, {At: at(18), Status: allswell.StatusOperational},
			{At: at(9), Status: allswell.StatusMaintenance}, {At: at(8), Status: allswell.StatusOperational}, {At: at(1), Status: status},
		}},
		AsOf: now,
	}.Summarize(now)
}

// incident returns an active incident.
func incident(title string, impact allswell.Impact) allswell.Incident {
	return allswell.Incident{ID: "i", Title: title, Impact: impact, CreatedAt: now}
}

// cases are pages in all states, by the names of their pictures.
func cases() map[string]allswell.Summary {
	all := map[string]allswell.Summary{
		"incident":      summaryOf(allswell.StatusOperational, "", incident("Card payments fail at the checkout for some customers in Europe and Asia, and refunds take longer than usual", allswell.ImpactCritical)),
		"incident-de":   summaryOf(allswell.StatusDegraded, "de", incident("Müller & Söhne: Überweisungen verspätet", allswell.ImpactMinor)),
		"foreign-title": summaryOf(allswell.StatusOperational, "", incident("データベース", allswell.ImpactMajor)),
		"arabic":        summaryOf(allswell.StatusOperational, "ar"),
		"arabic-outage": summaryOf(allswell.StatusMajorOutage, "ar", incident("تعطّل", allswell.ImpactCritical)),
	}
	for _, s := range allswell.RankedStatuses {
		all[string(s)] = summaryOf(s, "")
	}
	return all
}

// TestPictures decodes the pictures of all states. With ALLSWELL_PICTURES set to a folder, it writes them there.
func TestPictures(t *testing.T) {
	versions := make(map[string]string)
	for name, sum := range cases() {
		p := New(sum, "https://status.acme.example")
		body, err := p.PNG()
		if err != nil {
			t.Fatal(err)
		}
		if folder := os.Getenv("ALLSWELL_PICTURES"); folder != "" {
			if err := os.WriteFile(filepath.Join(folder, name+".png"), body, 0o644); err != nil {
				t.Fatal(err)
			}
		}
		drawn, err := png.Decode(bytes.NewReader(body))
		if err != nil || drawn.Bounds() != Bounds() || len(body) > 150<<10 {
			t.Fatalf("%s: %v, %d bytes", name, err, len(body))
		}
		tone := sum.Severity().Tone()
		at := func(x, y int) color.Color { return color.RGBAModel.Convert(drawn.At(x, y)) }
		if got, want := at(margin+20, bannerTop+bannerHeight/2), parseColour(tone.Solid.Light); got != want {
			t.Errorf("%s: the banner is %v, want %v", name, got, want)
		}
		if again, err := New(sum, "https://status.acme.example").PNG(); err != nil || !bytes.Equal(again, body) {
			t.Errorf("%s: drawn again it is different, %v", name, err)
		}
		if other, ok := versions[p.Version()]; ok {
			t.Errorf("%s has the version of %s", name, other)
		}
		versions[p.Version()] = name
	}
}

// TestPictureWords checks what a picture says, and that it says nothing in letters that it cannot write.
func TestPictureWords(t *testing.T) {
	for name, want := range map[string][2]string{
		"incident": {"Critical impact", "Card payments fail at the checkout for some customers in Europe and Asia, and refunds take longer than usual"},
		"degraded": {"", "Some systems are degraded"}, "operational": {"", "All systems operational"}, "unknown": {"", "Status unknown"},
		"incident-de": {"Geringe Auswirkungen", "Müller & Söhne: Überweisungen verspätet"},
	} {
		p := New(cases()[name], "https://status.acme.example/status/acme")
		if p.above != want[0] || p.headline != want[1] || p.name != "Acme Cloud" || p.foot != "status.acme.example/status/acme" || p.mirrored {
			t.Errorf("%s: %+v", name, p)
		}
	}
	if !New(cases()["arabic"], "").mirrored {
		t.Error("the Arabic picture is not mirrored")
	}
	for text, want := range map[string]bool{
		"Käse, Ελλάδα, Москва – “1” …": true, "": false, "متوفر": false, "データ": false, "a\u2068b": false, "🔥": false,
	} {
		if canWrite(text) != want {
			t.Errorf("%q: %v", text, !want)
		}
	}
	for _, tag := range []string{"en", "de"} {
		for _, s := range allswell.RankedStatuses {
			if l := i18n.Or(tag); !canWrite(l.Banner(s)) {
				t.Errorf("%s: %q cannot be written", tag, l.Banner(s))
			}
		}
	}
}

// TestIcons checks that the shapes of all icons are in their square.
func TestIcons(t *testing.T) {
	for _, tone := range allswell.Tones() {
		shape, sign := body(tone.Icon.Body), stroke(parsePath(tone.Icon.Sign), 2.2)
		if len(shape) == 0 || len(sign) == 0 {
			t.Errorf("%s: %d shapes, %d lines", tone.Name, len(shape), len(sign))
		}
		for _, p := range append(shape, sign...) {
			for _, at := range p {
				if at.x < 0 || at.x > 24 || at.y < 0 || at.y > 24 {
					t.Errorf("%s: %v is outside", tone.Name, at)
				}
			}
		}
	}
}

func BenchmarkPNG(b *testing.B) {
	p := New(cases()["incident"], "https://status.acme.example")
	for b.Loop() {
		if _, err := p.PNG(); err != nil {
			b.Fatal(err)
		}
	}
}
