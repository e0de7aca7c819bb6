package kernel_test

import (
	"fmt"
	"regexp"
	"strings"
	"testing"

	"github.com/allswell/allswell/internal/domain/kernel"
)

// barShape returns what distinguishes a bar without colour; "": nothing.
func barShape(b kernel.Bar) string {
	if b.Gap.To > b.Gap.From {
		return fmt.Sprint(b.Gap)
	}
	return b.Pattern
}

// TestStatusTable checks that every status has all columns of its row in the table of
// statuses, and that the columns that distinguish statuses are unique.
func TestStatusTable(t *testing.T) {
	colour := regexp.MustCompile(`^#[0-9a-f]{6}$`)
	seen := map[string]kernel.Status{}
	for _, s := range kernel.RankedStatuses {
		tone := s.Tone()
		for what, text := range map[string]string{
			"label": s.Label(), "banner": kernel.Banner(s), "tone": tone.Name,
			"icon": tone.Icon.Body, "bar class": tone.Bar.Class, "bar shape": barShape(tone.Bar), "badge": tone.Badge,
			"favicon": tone.Favicon,
		} {
			if text == "" && !(strings.HasPrefix(what, "bar ") && s == kernel.StatusOperational) {
				t.Errorf("%s has no %s", s, what)
			}
			if other, taken := seen[what+text]; taken {
				t.Errorf("status %s has the same %s as %s", s, what, other)
			}
			seen[what+text] = s
		}
		for _, c := range []string{
			tone.Text.Light, tone.Text.Dark, tone.Solid.Light, tone.Solid.Dark, tone.OnSolid, tone.Badge, tone.Favicon,
			tone.Bar.Fill.Light, tone.Bar.Fill.Dark,
		} {
			if !colour.MatchString(c) {
				t.Errorf("%s has the colour %q", s, c)
			}
		}
		if !kernel.ImpactOf(s).Valid() || s.Downtime() < 0 || s.Downtime() > 1 || tone.Icon.Sign == "" {
			t.Errorf("the row of %s is not complete", s)
		}
		if like := s.Statuspage(); like.Component == "" || like.Indicator == "" {
			t.Errorf("%s has no counterpart of Statuspage", s)
		}
	}
	for i, s := range kernel.RankedStatuses[1:] {
		if !kernel.RankedStatuses[i].Worse(s) {
			t.Errorf("%s does not rank above %s", kernel.RankedStatuses[i], s)
		}
	}
	for _, i := range kernel.Impacts {
		if i.Label() == "" || i.Tone().Name == "" {
			t.Errorf("the row of the impact %s is not complete", i)
		}
	}
}
