package main

import (
	"cmp"
	"encoding/json"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/allswell/allswell"
)

// printer writes what a client command got: as it came, for programs, or in
// words and aligned columns, for people. It never writes colour codes, and
// shows control characters instead of sending them to a terminal.
type printer struct {
	*console
	json bool
}

// raw prints data for programs.
func (p printer) raw(data any) error {
	encoded, err := json.MarshalIndent(data, "", "  ")
	if err != nil {
		return err
	}
	p.printf("%s\n", encoded)
	return nil
}

// object prints one object: as it came, or by show.
func object[T any](p printer, raw json.RawMessage, show func(T)) error {
	if p.json {
		return p.raw(raw)
	}
	v, err := decode[T](raw)
	if err != nil {
		return err
	}
	show(v)
	return nil
}

// table prints a list: as an array, or as a table with one row per object.
func table[T any](p printer, objects []json.RawMessage, total int, none string, header []string, row func(T) []string) error {
	if p.json {
		if objects == nil {
			objects = []json.RawMessage{}
		}
		return p.raw(objects)
	}
	if len(objects) == 0 {
		p.printf("%s\n", none)
		return nil
	}
	rows := [][]string{header}
	for _, raw := range objects {
		v, err := decode[T](raw)
		if err != nil {
			return err
		}
		rows = append(rows, row(v))
	}
	p.columns(rows)
	if total > len(objects) {
		p.printf("… and %d more (--limit).\n", total-len(objects))
	}
	return nil
}

// columns aligns rows; the last column is not padded.
func (p printer) columns(rows [][]string) {
	var widths []int
	for _, row := range rows {
		for i := range row {
			row[i] = visible(row[i])
			if i == len(widths) {
				widths = append(widths, 0)
			}
			widths[i] = max(widths[i], utf8.RuneCountInString(row[i]))
		}
	}
	for _, row := range rows {
		var line strings.Builder
		for i, cell := range row {
			line.WriteString(cell)
			if i < len(row)-1 {
				line.WriteString(strings.Repeat(" ", widths[i]-utf8.RuneCountInString(cell)+2))
			}
		}
		p.printf("%s\n", strings.TrimRight(line.String(), " "))
	}
}

// facts prints names and values below each other; empty values are left out.
func (p printer) facts(pairs ...[2]string) {
	var rows [][]string
	for _, pair := range pairs {
		if pair[1] != "" {
			rows = append(rows, []string{pair[0] + ":", pair[1]})
		}
	}
	p.columns(rows)
}

// done prints a sentence about what was done, for people only.
func (p printer) done(format string, args ...any) {
	if !p.json {
		p.printf(format+"\n", args...)
	}
}

// visible makes text safe for a terminal and for one line: what would move the
// cursor or change colours is shown as U+FFFD.
func visible(text string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\n' || r == '\t':
			return ' '
		case unicode.IsControl(r), unicode.Is(unicode.Bidi_Control, r):
			return unicode.ReplacementChar
		}
		return r
	}, text)
}

// paragraph is visible for texts of several lines, each with an indent.
func paragraph(text, indent string) string {
	lines := strings.Split(strings.TrimRight(text, "\n"), "\n")
	for i, line := range lines {
		lines[i] = strings.TrimRight(indent+visible(line), " ")
	}
	return strings.Join(lines, "\n")
}

// orEmpty returns what a nullable text points to.
func orEmpty(text *string) string {
	if text == nil {
		return ""
	}
	return *text
}

// orNone is orEmpty for what is worth saying that there is none.
func orNone(text *string) string { return cmp.Or(orEmpty(text), "none") }

// when writes an instant of the API for people, in this machine's zone.
func when(instant string) string {
	t, err := time.Parse(time.RFC3339, instant)
	if err != nil {
		return instant
	}
	return t.Local().Format("2006-01-02 15:04:05 MST")
}

// statusWords writes a status for people.
func statusWords(status string) string {
	if s := allswell.Status(status); s.Valid() {
		return s.Label()
	}
	return status
}
