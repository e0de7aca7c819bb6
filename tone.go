package allswell

// Tone is how a status or an impact is shown: its colours and its icon. Style
// sheets, icons, badges and mails are made of it.
type Tone struct {
	Name    string // of the CSS class: "tone-" + Name
	Icon    Icon
	Text    Shades // of text on a page
	Solid   Shades // of a filled area, such as the banner
	OnSolid string // of text on Solid
	Badge   string // of a badge's right half on a light ground; OnSolid stands on it
	Favicon string
	Bar     Bar
}

// Shades are a colour on a light and on a dark page, as "#rrggbb".
type Shades struct{ Light, Dark string }

// Icon is a drawing in a square of 24 units. The shape differs for each tone, so
// that nothing is told by colour alone.
type Icon struct {
	Body string // an SVG element, filled
	Sign string // the data of a path, drawn on Body
}

// Bar is how a day is drawn in the history of a component, by the day's worst
// status.
type Bar struct {
	Class   string // of CSS, one letter; "" for operational days, of which there are most
	Height  string // of the bar: the worse, the taller
	Pattern string // CSS background; "": filled
	Fill    Shades
}

// NeutralTone is the tone of what has no impact.
var NeutralTone = Tone{
	Name: "none", Text: Shades{"#555c65", "#a5adb7"}, Solid: Shades{"#4b535d", "#3b434c"}, OnSolid: "#ffffff",
}

// Tones returns the tones of all statuses, in the order of Statuses.
func Tones() []*Tone {
	var tones []*Tone
	for i := range statusTable {
		if statusTable[i].aliasOf == "" {
			tones = append(tones, &statusTable[i].tone)
		}
	}
	return tones
}
