package view

import (
	"strings"
	"testing"

	"github.com/allswell/allswell/internal/domain/kernel"
	"github.com/allswell/allswell/internal/domain/statuspage"
	"github.com/allswell/allswell/internal/surface/htmltest"
)

// TestWidgetWhileDelayed checks that a widget claims nothing while the database cannot be reached, not even an
// incident.
func TestWidgetWhileDelayed(t *testing.T) {
	for name, sum := range map[string]statuspage.Summary{
		"calm": {Page: statuspage.Page{Name: "Acme"}, Status: kernel.StatusOperational},
		"outage": {
			Page: statuspage.Page{Name: "Acme"}, Status: kernel.StatusMajorOutage,
			Active: []statuspage.Incident{{Title: "Down", Impact: kernel.ImpactMajor, State: "investigating"}},
		},
	} {
		html, style, err := Widget(englishPresentation(), sum, true)
		if err != nil {
			t.Fatal(err)
		}
		tree := htmltest.Parse(t, string(html))
		if got := tree.One(t, "strong"); got != "Status unknown" || strings.Contains(tree.Text(), "Down") {
			t.Errorf("%s: the widget says %q: %s", name, got, tree.Text())
		}
		if unknown := kernel.StatusUnknown.Tone().Text.Light; !strings.Contains(style, unknown) {
			t.Errorf("%s: the style lacks the colour %s: %s", name, unknown, style)
		}
	}
}
