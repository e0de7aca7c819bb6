package page

import (
	"fmt"
	"html/template"
	"math"
	"strconv"
	"strings"
	"time"

	"golang.org/x/text/feature/plural"
	"golang.org/x/text/language"
	"golang.org/x/text/unicode/bidi"

	"github.com/allswell/allswell"
)

// lang is one language of the public pages. It is not changed once loaded.
type lang struct {
	Tag       string // "de"
	Dir       string // "ltr" or "rtl"
	Name      string // its own name: "Deutsch"
	Locale    string // for Intl in the browser, so that it writes as we do: "ar-u-nu-latn"
	Separator string // between the names of a list: ", "

	tag         language.Tag
	weekdays    []string // from Sunday on
	months      []string // in a date
	monthsAlone []string // in "January 2026"
	monthsShort []string
	zones       map[string]string // abbreviations of time zones, where it has its own
	decimal     string
	groupMark   string // between thousands
	formats     map[string]pattern
	messages    map[string]*message
}

// message is a text with its plural forms. One that has none has Other alone.
type message struct {
	forms  [plural.Many + 1]pattern
	plural bool
}

// pattern is a text with places to be filled.
type pattern []piece

// piece is a text, or the name of what takes its place.
type piece struct{ text, name string }

// T returns the message under a key. args are names and values in turn, which
// fill the message's places: l.T("components.operational", "n", 3, "total", 5).
// A message with plural forms picks by "n", or by "count". Numbers are written
// as the language does, and all else is kept apart from a text that runs the
// other way. An unknown key is its own message; tests find it.
func (l *lang) T(key string, args ...any) string {
	return l.say(key, args, func(v any) string { return l.isolate(l.spell(v)) }, func(text string) string { return text })
}

// HTML is like T, for messages with elements in them: values of type
// template.HTML are put in as they are, and all else is escaped.
func (l *lang) HTML(key string, args ...any) template.HTML {
	return template.HTML(l.say(key, args, func(v any) string {
		if html, ok := v.(template.HTML); ok {
			return string(html)
		}
		return template.HTMLEscapeString(l.isolate(l.spell(v)))
	}, template.HTMLEscapeString))
}

func (l *lang) say(key string, args []any, value func(any) string, text func(string) string) string {
	m := l.messages[key]
	if m == nil {
		return text(key)
	}
	form := m.forms[plural.Other]
	if m.plural {
		if chosen := m.forms[l.form(args)]; chosen != nil {
			form = chosen
		}
	}
	if len(form) == 1 && form[0].name == "" { // most messages are
		return text(form[0].text)
	}
	var out strings.Builder
	for _, p := range form {
		switch v, given := argument(args, p.name); {
		case p.name == "":
			out.WriteString(text(p.text))
		case given:
			out.WriteString(value(v))
		default:
			out.WriteString("{" + p.name + "}")
		}
	}
	return out.String()
}

// argument returns the value after a name.
func argument(args []any, name string) (any, bool) {
	for i := 0; i+1 < len(args); i += 2 {
		if args[i] == name {
			return args[i+1], true
		}
	}
	return nil, false
}

// form returns the plural form for the number among args.
func (l *lang) form(args []any) plural.Form {
	v, ok := argument(args, "n")
	if !ok {
		v, _ = argument(args, "count")
	}
	n, ok := v.(int)
	if !ok {
		return plural.Other
	}
	return l.formOf(n)
}

// formOf returns the plural form for a whole number.
func (l *lang) formOf(n int) plural.Form {
	return plural.Cardinal.MatchPlural(l.tag, max(n, -n, 0), 0, 0, 0, 0) // the least number has no opposite
}

// spell writes a value of a message.
func (l *lang) spell(v any) string {
	switch v := v.(type) {
	case string:
		return v
	case int:
		return l.Number(v)
	default:
		return fmt.Sprint(v)
	}
}

// The marks around a text whose direction is its own.
const (
	firstStrongIsolate = "\u2068"
	popIsolate         = "\u2069"
)

// isolate keeps a value that may run the other way than the language from
// moving the text around it. Texts without direction stay as they are in
// languages that run from left to right, and so do bare numbers in all.
func (l *lang) isolate(value string) string {
	foreign := isRightToLeft
	if l.Dir == "rtl" {
		foreign = isLeftToRight
	}
	if !strings.ContainsFunc(value, foreign) {
		return value
	}
	return firstStrongIsolate + value + popIsolate
}

func isRightToLeft(r rune) bool {
	p, _ := bidi.LookupRune(r)
	return p.Class() == bidi.R || p.Class() == bidi.AL
}

func isLeftToRight(r rune) bool {
	p, _ := bidi.LookupRune(r)
	return p.Class() == bidi.L
}

// Status returns the words for a status of a component or a group.
func (l *lang) Status(s allswell.Status) string { return l.T("status." + string(s)) }

// Banner returns the one sentence that a page opens with.
func (l *lang) Banner(s allswell.Status) string { return l.T("banner." + string(s.Canonical())) }

// State returns the word for how far people have come with an incident.
func (l *lang) State(s allswell.State) string { return l.T("state." + string(s)) }

// Impact returns the words for how bad an incident is.
func (l *lang) Impact(i allswell.Impact) string { return l.T("impact." + string(i)) }

// MaintenanceState returns the word for how far a planned maintenance is.
func (l *lang) MaintenanceState(s allswell.MaintenanceState) string {
	return l.T("maintenance." + string(s))
}

// Duration writes d in at most two units that are neighbours, as
// allswell.SpeakDuration does: "5 minutes", "1 hour 30 minutes". Less than half
// a second, or less than nothing, is "0 seconds".
func (l *lang) Duration(d time.Duration) string {
	d = max(d, 0).Round(time.Second)
	units := []struct {
		key  string
		size time.Duration
	}{{"duration.days", 24 * time.Hour}, {"duration.hours", time.Hour}, {"duration.minutes", time.Minute}, {"duration.seconds", time.Second}}
	for i, u := range units {
		n := d / u.size
		if n == 0 {
			continue
		}
		large := l.T(u.key, "n", int(n))
		if i+1 == len(units) {
			return large
		}
		next := units[i+1]
		rest := (d - n*u.size) / next.size
		if rest == 0 {
			return large
		}
		small := l.T(next.key, "n", int(rest))
		return l.formats["two_units"].fill(func(name string) string {
			if name == "large" {
				return large
			}
			return small
		})
	}
	return l.T("duration.seconds", "n", 0)
}

// Date writes the day of t: "Monday, 2 January". This and the following write t
// in its own zone.
func (l *lang) Date(t time.Time) string { return l.write(l.formats["date"], l.months, t) }

// DateYear writes the day of t: "2 January 2026".
func (l *lang) DateYear(t time.Time) string { return l.write(l.formats["date_year"], l.months, t) }

// Month writes the month of t: "January 2026".
func (l *lang) Month(t time.Time) string { return l.write(l.formats["month"], l.monthsAlone, t) }

// Moment writes t to the minute, with the zone: "2 Jan 2026, 15:04 CET".
func (l *lang) Moment(t time.Time) string { return l.write(l.formats["moment"], l.months, t) }

// DayClock writes t to the minute, where the year is plain: "2 Jan, 15:04".
func (l *lang) DayClock(t time.Time) string { return l.write(l.formats["day_clock"], l.months, t) }

// Clock writes the time of the day: "15:04".
func (l *lang) Clock(t time.Time) string { return l.write(l.formats["clock"], l.months, t) }

// ClockZone writes the time of the day with the zone: "15:04 CET".
func (l *lang) ClockZone(t time.Time) string { return l.write(l.formats["clock_zone"], l.months, t) }

func (l *lang) write(p pattern, months []string, t time.Time) string {
	return p.fill(func(name string) string {
		switch name {
		case "weekday":
			return l.weekdays[t.Weekday()]
		case "day":
			return strconv.Itoa(t.Day())
		case "month":
			return months[t.Month()-1]
		case "mon":
			return l.monthsShort[t.Month()-1]
		case "year":
			return strconv.Itoa(t.Year())
		case "clock":
			return l.Clock(t)
		case "hour":
			return t.Format("15")
		case "minute":
			return t.Format("04")
		default:
			return l.zone(t)
		}
	})
}

// zone returns the abbreviation of the zone of t. Zones without one are named
// by their distance from UTC.
func (l *lang) zone(t time.Time) string {
	abbreviation, _ := t.Zone()
	if own := l.zones[abbreviation]; own != "" {
		return own
	}
	if strings.HasPrefix(abbreviation, "+") || strings.HasPrefix(abbreviation, "-") || abbreviation == "" {
		return "UTC" + t.Format("-07:00")
	}
	return abbreviation
}

// Percent writes a share of 1, rounded down, so that only a flawless record is
// "100%": to at most two decimals, or three above 99.99. What is not known has
// its own words.
func (l *lang) Percent(v float64, known bool) string {
	if !known || math.IsNaN(v) {
		return l.T("uptime.not_known")
	}
	v = min(max(v, 0), 1)
	parts := int(math.Floor(v*100_000 + 1e-6)) // 0.9998 is a little less in binary
	if v < 1 {
		parts = min(parts, 99_999)
	}
	if parts < 99_990 {
		parts -= parts % 10
	}
	text := strconv.Itoa(parts / 1000)
	if fraction := strings.TrimRight(fmt.Sprintf("%03d", parts%1000), "0"); fraction != "" {
		text += l.decimal + fraction
	}
	return l.formats["percent"].fill(func(string) string { return text })
}

// Number writes a whole number.
func (l *lang) Number(n int) string {
	digits := strconv.Itoa(n)
	sign := ""
	if n < 0 {
		sign, digits = "-", digits[1:]
	}
	for i := len(digits) - 3; i > 0; i -= 3 {
		digits = digits[:i] + l.groupMark + digits[i:]
	}
	return sign + digits
}

// fill returns the pattern with each place filled.
func (p pattern) fill(value func(name string) string) string {
	var out strings.Builder
	for _, piece := range p {
		if piece.name == "" {
			out.WriteString(piece.text)
		} else {
			out.WriteString(value(piece.name))
		}
	}
	return out.String()
}
