package assets

import (
	"fmt"
	"strings"

	"github.com/allswell/allswell"
)

// toneStyle returns the beginning of style.css: the colours and the classes of
// all tones.
func toneStyle() string {
	var light, dark, classes strings.Builder
	for _, t := range append(allswell.Tones(), &allswell.NeutralTone) {
		n := t.Name
		fmt.Fprintf(&light, "--%s:%s;--%[1]s-solid:%[3]s;", n, t.Text.Light, t.Solid.Light)
		fmt.Fprintf(&dark, "--%s:%s;--%[1]s-solid:%[3]s;", n, t.Text.Dark, t.Solid.Dark)
		fmt.Fprintf(&classes, ".tone-%s{--tone:var(--%[1]s);--solid:var(--%[1]s-solid);--on-solid:%[2]s}\n", n, t.OnSolid)
	}
	return themed(light.String(), dark.String()) + classes.String()
}

// barStyle returns the beginning of history.css: the colours and the shapes of the
// bars of all statuses.
func barStyle() string {
	var light, dark, classes strings.Builder
	for _, t := range allswell.Tones() {
		bar, property := t.Bar, "--bar-"+t.Name
		fmt.Fprintf(&light, "%s:%s;", property, bar.Fill.Light)
		fmt.Fprintf(&dark, "%s:%s;", property, bar.Fill.Dark)
		if bar.Class == "" {
			continue // the style of all bars
		}
		fmt.Fprintf(&classes, ".bars .%s{--c:var(%s);block-size:%s}\n", bar.Class, property, bar.Height)
		fmt.Fprintf(&classes, ".pop[data-bar=\"%s\"]{--c:var(%s)}\n", bar.Class, property)
		if bar.Pattern != "" {
			fmt.Fprintf(&classes, ".bars .%s::before{background:%s}\n", bar.Class, bar.Pattern)
		}
	}
	return themed(light.String(), dark.String()) + classes.String()
}

// themed returns custom properties for light and dark pages, and for paper.
func themed(light, dark string) string {
	return fmt.Sprintf(":root{%s}\n@media (prefers-color-scheme:dark){:root{%s}}\n@media print{:root{%[1]s}}\n", light, dark)
}

// favicon draws the favicon of a tone.
func favicon(t *allswell.Tone) string {
	return fmt.Sprintf(`<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 24 24">%s`+
		`<path d="%s" fill="none" stroke="#fff" stroke-width="2.2" stroke-linecap="round" stroke-linejoin="round"/></svg>`,
		strings.Replace(t.Icon.Body, " ", ` fill="`+t.Favicon+`" `, 1), t.Icon.Sign)
}
