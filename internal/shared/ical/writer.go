// Package ical writes calendars in the format iCalendar (RFC 5545).
package ical

import (
	"strings"
	"time"
	"unicode/utf8"
)

// Refresh is the interval at which calendar programs are asked to load a calendar again.
const Refresh = "PT1H"

// Writer writes the lines of a calendar. The zero value is an empty calendar.
type Writer struct{ b strings.Builder }

// String returns what was written.
func (w *Writer) String() string { return w.b.String() }

// Line writes a property whose value is not text, such as an address, or the begin or the end of a component.
func (w *Writer) Line(name, value string) { w.fold(name + ":" + value) }

// escapes escapes a text (RFC 5545, 3.3.11).
var escapes = strings.NewReplacer(`\`, `\\`, ";", `\;`, ",", `\,`, "\r", "", "\n", `\n`)

// Text writes a property whose value is text.
func (w *Writer) Text(name, value string) { w.Line(name, escapes.Replace(value)) }

// Time writes a property whose value is an instant.
func (w *Writer) Time(name string, t time.Time) { w.Line(name, FormatTime(t)) }

// FormatTime returns an instant, to the second.
func FormatTime(t time.Time) string { return t.UTC().Format("20060102T150405Z") }

// fold writes a line in parts of at most 75 bytes (RFC 5545, 3.1), without cutting a character.
func (w *Writer) fold(line string) {
	const limit = 74 // with the space of a continuation
	for len(line) > limit {
		end := limit
		for !utf8.RuneStart(line[end]) {
			end--
		}
		w.b.WriteString(line[:end] + "\r\n ")
		line = line[end:]
	}
	w.b.WriteString(line + "\r\n")
}
