package picture

import (
	"bytes"
	"image/color"
	"image/png"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/allswell/allswell/internal/domain/kernel"
	"github.com/allswell/allswell/internal/domain/statuspage"
	"github.com/allswell/allswell/internal/shared/i18n"
)

var now = time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC)

// summaryOf returns a page with one component in a status, which had an outage.
func summaryOf(status kernel.Status, language string, incidents ...statuspage.Incident) statuspage.Summary {
	at := func(days int) time.Time { return now.AddDate(0, 0, -days) }
	return statuspage.PageContents{
		Page:       statuspage.Page{Name: "Acme Cloud", Language: language, TimeZone: "UTC"},
		Components: []statuspage.Component{{ID: "comp_1", Name: "API", Baseline: status}},
		Incidents:  incidents,
		Changes: map[string][]statuspage.StatusChange{"comp_1": {
			{At: at(70), Status: kernel.StatusOperational}, {At: at(40), Status: kernel.StatusPartialOutage},
			{At: at(38), Status: kernel.StatusOperational},
			{At: at(20), Status: kernel.StatusDegraded}, {At: at(19), Status: kernel.StatusMajorOutage},
			{At: at(18), Status: kernel.StatusOperational},
			{At: at(9), Status: kernel.StatusMaintenance}, {At: at(8), Status: kernel.StatusOperational},
			{At: at(1), Status: status},
		}},
		AsOf: now,
	}.Summarize(now)
}

// incident returns an active incident.
func incident(title string, impact kernel.Impact) statuspage.Incident {
	return statuspage.Incident{ID: "i", Title: title, Impact: impact, CreatedAt: now}
}

// cases are pages in all states, by the names of their pictures.
func cases() map[string]statuspage.Summary {
	all := map[string]statuspage.Summary{
		"incident": summaryOf(kernel.StatusOperational, "",
			incident("Card payments fail at the checkout for some customers in Europe and Asia, and refunds take "+
				"longer than usual", kernel.ImpactCritical)),
		"incident-de": summaryOf(kernel.StatusDegraded, "de",
			incident("Müller & Söhne: Überweisungen verspätet", kernel.ImpactMinor)),
		"foreign-title": summaryOf(kernel.StatusOperational, "", incident("データベース", kernel.ImpactMajor)),
		"arabic":        summaryOf(kernel.StatusOperational, "ar"),
		"arabic-outage": summaryOf(kernel.StatusMajorOutage, "ar", incident("تعطّل", kernel.ImpactCritical)),
	}
	for _, s := range kernel.RankedStatuses {
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
		"incident": {"Critical impact",
			"Card payments fail at the checkout for some customers in Europe and Asia, and refunds take longer than " +
				"usual"},
		"degraded": {"", "Some systems are degraded"}, "operational": {"", "All systems operational"},
		"unknown":     {"", "Status unknown"},
		"incident-de": {"Geringe Auswirkungen", "Müller & Söhne: Überweisungen verspätet"},
	} {
		p := New(cases()[name], "https://status.acme.example/status/acme")
		if p.above != want[0] || p.headline != want[1] || p.name != "Acme Cloud" ||
			p.foot != "status.acme.example/status/acme" || p.mirrored {
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
		for _, s := range kernel.RankedStatuses {
			if l := i18n.Or(tag); !canWrite(l.Banner(s)) {
				t.Errorf("%s: %q cannot be written", tag, l.Banner(s))
			}
		}
	}
}

// TestIcons checks that the shapes of all icons are in their square.
func TestIcons(t *testing.T) {
	for _, tone := range kernel.Tones() {
		shape, sign := icons[tone.Name].body, stroke(icons[tone.Name].sign, signWidth)
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
