package kernel

// Tone is the appearance of a status or an impact: its colours and its icon. Style sheets,
// icons, badges and mails use it.
type Tone struct {
	Name    string // of the CSS class: "tone-" + Name
	Icon    Icon
	Text    Shades // of text on a page
	Solid   Shades // of a filled area, such as the banner
	OnSolid string // of text on Solid
	Badge   string // background of a badge's right half, below text in OnSolid
	Favicon string
	Bar     Bar
}

// Shades are a colour on a light and on a dark page, as "#rrggbb".
type Shades struct{ Light, Dark string }

// Icon is an SVG drawing in a square of 24 units. Each tone has a different shape, so that
// nothing is shown by colour alone.
type Icon struct {
	Body string // an SVG element, filled
	Sign string // the data of an SVG path, drawn on Body
}

// Bar is the appearance of a day in the history of a component, by the worst status of the day.
type Bar struct {
	Class string // CSS class, one letter; "" for operational days, which are the most frequent
	Fill  Shades

	// Gap or Pattern distinguishes statuses without colour. A bar with neither is filled.
	Gap     Gap
	Pattern string // CSS background
}

// Gap is where a bar is not filled, in percent of its height from the top.
type Gap struct{ From, To int }

// NeutralTone is the tone of incidents without an impact.
var NeutralTone = Tone{
	Name: "none", Text: Shades{"#555c65", "#a5adb7"}, Solid: Shades{"#4b535d", "#3b434c"}, OnSolid: "#ffffff",
}

// Tones returns the tones of all statuses, in the order of Statuses.
func Tones() []*Tone {
	var tones []*Tone
	for i := range StatusTable {
		if StatusTable[i].aliasOf == "" {
			tones = append(tones, &StatusTable[i].tone)
		}
	}
	return tones
}
