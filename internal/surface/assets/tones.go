package assets

import (
	"fmt"
	"strings"

	"github.com/allswell/allswell/internal/domain/kernel"
)

// toneStyle returns the beginning of style.css: the colours and the classes of all tones.
func toneStyle() string {
	var colours, classes strings.Builder
	for _, t := range append(kernel.Tones(), &kernel.NeutralTone) {
		fmt.Fprintf(&colours, "--%s:%s;--%[1]s-solid:%[3]s;", t.Name, lightDark(t.Text), lightDark(t.Solid))
		fmt.Fprintf(&classes, ".tone-%s{--tone:var(--%[1]s);--solid:var(--%[1]s-solid);--on-solid:%[2]s}\n", t.Name,
			t.OnSolid)
	}
	return ":root{" + colours.String() + "}\n" + classes.String()
}

// barStyle returns the beginning of history.css: the colours and the shapes of the bars of all statuses.
func barStyle() string {
	var colours, classes strings.Builder
	for _, t := range kernel.Tones() {
		bar, property := t.Bar, "--bar-"+t.Name
		fmt.Fprintf(&colours, "%s:%s;", property, lightDark(bar.Fill))
		if bar.Class == "" {
			continue // the style of all bars
		}
		fmt.Fprintf(&classes, ".bars .%s{--c:var(%s)}\n", bar.Class, property)
		fmt.Fprintf(&classes, ".pop[data-bar=\"%s\"]{--c:var(%s)}\n", bar.Class, property)
		pattern := bar.Pattern
		if g := bar.Gap; g.To > 0 {
			pattern = fmt.Sprintf("linear-gradient(var(--c) %d%%,transparent 0 %d%%,var(--c) 0)", g.From, g.To)
		}
		if pattern != "" {
			fmt.Fprintf(&classes, ".bars .%s::before{background:%s}\n", bar.Class, pattern)
		}
	}
	return ":root{" + colours.String() + "}\n" + classes.String()
}

// lightDark returns the CSS of a colour of light and dark pages; see style.css.
func lightDark(s kernel.Shades) string {
	return fmt.Sprintf("var(--light,%s) var(--dark,%s)", s.Light, s.Dark)
}

// favicon draws the favicon of a tone.
func favicon(t *kernel.Tone) string {
	return fmt.Sprintf(`<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 24 24">%s`+
		`<path d="%s" fill="none" stroke="#fff" stroke-width="2.2" stroke-linecap="round" `+
		`stroke-linejoin="round"/></svg>`,
		strings.Replace(t.Icon.Body, " ", ` fill="`+t.Favicon+`" `, 1), t.Icon.Sign)
}
