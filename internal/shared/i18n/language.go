// Package i18n holds the languages of status pages, feeds, badges and mails: messages with plural forms, dates,
// durations and percentages. A language is one file, languages/TAG.json.
package i18n

import (
	"fmt"
	"html/template"
	"maps"
	"slices"
	"strings"

	"github.com/allswell/allswell/internal/domain/kernel"
	"github.com/allswell/allswell/internal/domain/statuspage"
	"golang.org/x/text/feature/plural"
	"golang.org/x/text/language"
	"golang.org/x/text/unicode/bidi"
)

// Language is one language. It is immutable once loaded.
type Language struct {
	Tag       string // BCP 47: "de"
	Dir       string // "ltr" or "rtl"
	Name      string // in the language itself: "Deutsch"
	Locale    string // for Intl in the browser, so that it uses the same formats: "ar-u-nu-latn"
	Separator string // between the items of a list: ", "

	tag         language.Tag
	weekdays    []string // from Sunday
	months      []string // in a date
	monthsAlone []string // in "January 2026"
	monthsShort []string
	zones       map[string]string // localized abbreviations of time zones
	decimal     string
	groupMark   string // between thousands
	formats     map[string]pattern
	messages    map[string]*message
}

// message is a text with its plural forms. A message without plural forms has Other only.
type message struct {
	forms  [plural.Many + 1]pattern
	plural bool
}

// pattern is a text with placeholders.
type pattern []piece

// piece is literal text, or the name of a placeholder.
type piece struct{ text, name string }

// T returns the message of a key. args are alternating names and values of the message's placeholders:
// l.T("components.operational", "n", 3, "total", 5). The value of "n" or "count" selects the plural form. Numbers are
// formatted for the language, and values with the opposite direction are isolated. T returns an unknown key unchanged;
// a test finds such keys.
func (l *Language) T(key string, args ...any) string {
	return l.render(key, args, func(v any) string {
		return l.Isolate(l.formatValue(v))
	}, func(text string) string { return text })
}

// HTML is like T with HTML escaping. Values of type template.HTML are inserted unescaped.
func (l *Language) HTML(key string, args ...any) template.HTML {
	return template.HTML(l.render(key, args, func(v any) string {
		if html, ok := v.(template.HTML); ok {
			return string(html)
		}
		return template.HTMLEscapeString(l.Isolate(l.formatValue(v)))
	}, template.HTMLEscapeString))
}

// Has reports whether the language has a message of the key.
func (l *Language) Has(key string) bool { return l.messages[key] != nil }

func (l *Language) render(key string, args []any, value func(any) string, text func(string) string) string {
	m := l.messages[key]
	if m == nil {
		return text(key)
	}
	form := m.forms[plural.Other]
	if m.plural {
		if chosen := m.forms[l.pluralForm(args)]; chosen != nil {
			form = chosen
		}
	}
	if len(form) == 1 && form[0].name == "" { // most messages
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

// argument returns the value that follows a name in args.
func argument(args []any, name string) (any, bool) {
	for i := 0; i+1 < len(args); i += 2 {
		if args[i] == name {
			return args[i+1], true
		}
	}
	return nil, false
}

// pluralForm returns the plural form for the count in args.
func (l *Language) pluralForm(args []any) plural.Form {
	v, ok := argument(args, "n")
	if !ok {
		v, _ = argument(args, "count")
	}
	n, ok := v.(int)
	if !ok {
		return plural.Other
	}
	return l.pluralFormOf(n)
}

func (l *Language) pluralFormOf(n int) plural.Form {
	return plural.Cardinal.MatchPlural(l.tag, max(n, -n, 0), 0, 0, 0, 0) // -math.MinInt is negative
}

func (l *Language) formatValue(v any) string {
	switch v := v.(type) {
	case string:
		return v
	case int:
		return l.Number(v)
	default:
		return fmt.Sprint(v)
	}
}

// The Unicode marks around an isolated text.
const (
	firstStrongIsolate = '\u2068'
	popIsolate         = '\u2069'
)

// Isolate encloses a value in Unicode isolates if it contains letters of the opposite direction outside of isolates, so
// that the text around it keeps its order. It returns other values unchanged.
func (l *Language) Isolate(value string) string {
	foreign := IsRightToLeft
	if l.Dir == "rtl" {
		foreign = IsLeftToRight
	}
	depth := 0
	for _, r := range value {
		switch {
		case r == firstStrongIsolate:
			depth++
		case r == popIsolate:
			depth--
		case depth <= 0 && foreign(r):
			return string(firstStrongIsolate) + value + string(popIsolate)
		}
	}
	return value
}

// IsRightToLeft reports whether r is a letter of a right-to-left script.
func IsRightToLeft(r rune) bool {
	p, _ := bidi.LookupRune(r)
	return p.Class() == bidi.R || p.Class() == bidi.AL
}

// IsLeftToRight reports whether r is a letter of a left-to-right script.
func IsLeftToRight(r rune) bool {
	p, _ := bidi.LookupRune(r)
	return p.Class() == bidi.L
}

// Status returns the label of a status.
func (l *Language) Status(s kernel.Status) string { return l.T("status." + string(s)) }

// Banner returns the sentence at the top of a page with the given status.
func (l *Language) Banner(s kernel.Status) string { return l.T("banner." + string(s.Canonical())) }

// State returns the label of an incident's state.
func (l *Language) State(s statuspage.IncidentState) string { return l.T("state." + string(s)) }

// Impact returns the label of an incident's impact.
func (l *Language) Impact(i kernel.Impact) string { return l.T("impact." + string(i)) }

// MaintenanceState returns the label of a maintenance's state.
func (l *Language) MaintenanceState(s statuspage.MaintenanceState) string {
	return l.T("maintenance." + string(s))
}

// Keys returns the keys of all messages, sorted.
func (l *Language) Keys() []string { return slices.Sorted(maps.Keys(l.messages)) }
