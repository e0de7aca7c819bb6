package view

import (
	"strings"
	"testing"

	"github.com/allswell/allswell"
	"github.com/allswell/allswell/internal/htmltest"
)

// TestWidgetWhileDelayed checks that a widget claims nothing while the database cannot be reached, not even an incident.
func TestWidgetWhileDelayed(t *testing.T) {
	for name, sum := range map[string]allswell.Summary{
		"calm":   {Page: allswell.Page{Name: "Acme"}, Status: allswell.StatusOperational},
		"outage": {Page: allswell.Page{Name: "Acme"}, Status: allswell.StatusMajorOutage, Active: []allswell.Incident{{Title: "Down", Impact: allswell.ImpactMajor, State: "investigating"}}},
	} {
		html, style, err := Widget(englishPresentation(), sum, true)
		if err != nil {
			t.Fatal(err)
		}
		tree := htmltest.Parse(t, string(html))
		if got := tree.One(t, "strong"); got != "Status unknown" || strings.Contains(tree.Text(), "Down") {
			t.Errorf("%s: the widget says %q: %s", name, got, tree.Text())
		}
		if unknown := allswell.StatusUnknown.Tone().Text.Light; !strings.Contains(style, unknown) {
			t.Errorf("%s: the style lacks the colour %s: %s", name, unknown, style)
		}
	}
}
