package console

import (
	"bytes"
	"encoding/json"
	"strings"
	"time"
	"unicode"
)

// Printer prints results: as JSON for programs, or as text for people. Text has no colour codes and no control
// characters of the data.
type Printer struct {
	*Console
	JSON bool
	Wide bool // cut nothing to fit the terminal
}

// Document prints JSON unchanged. On a terminal it is indented.
func (p Printer) Document(document json.RawMessage) error {
	if p.Width > 0 {
		var indented bytes.Buffer
		if err := json.Indent(&indented, document, "", "  "); err != nil {
			return err
		}
		document = indented.Bytes()
	}
	p.Printf("%s\n", document)
	return nil
}

// Raw prints data as indented JSON.
func (p Printer) Raw(data any) error {
	encoded, err := json.MarshalIndent(data, "", "  ")
	if err != nil {
		return err
	}
	p.Printf("%s\n", encoded)
	return nil
}

// Properties prints names and values, a pair on each line. Pairs with an empty value are omitted.
func (p Printer) Properties(pairs ...[2]string) {
	var rows [][]string
	for _, pair := range pairs {
		if pair[1] != "" {
			rows = append(rows, []string{pair[0] + ":", pair[1]})
		}
	}
	p.Columns(rows)
}

// Done prints a line about what the command did, but not for programs.
func (p Printer) Done(format string, args ...any) {
	if !p.JSON {
		p.Printf(format+"\n", args...)
	}
}

// Visible makes text safe for one line of a terminal: it is Harmless, and also turns line breaks and tabs into spaces.
func Visible(text string) string {
	return strings.NewReplacer("\n", " ", "\t", " ").Replace(Harmless(text))
}

// Harmless makes text safe for a terminal: characters that move the cursor, change colours or change the direction of
// text become U+FFFD. Line breaks and tabs stay.
func Harmless(text string) string {
	return strings.Map(func(r rune) rune {
		if r != '\n' && r != '\t' && (unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r)) {
			return unicode.ReplacementChar
		}
		return r
	}, text)
}

// Paragraph makes text of several lines safe for a terminal, and indents each line.
func Paragraph(text, indent string) string {
	lines := strings.Split(strings.TrimRight(text, "\n"), "\n")
	for i, line := range lines {
		lines[i] = strings.TrimRight(indent+Visible(line), " ")
	}
	return strings.Join(lines, "\n")
}

// timeLayout has the offset from UTC, because abbreviations of time zones are ambiguous.
const timeLayout = "2006-01-02 15:04:05 -07:00"

// Time formats a time in the time zone of this computer, with its offset. The zero time is "".
func Time(t time.Time) string { return TimeIn(t, time.Local) }

// TimeIn formats a time in a time zone, with its offset. The zero time is "".
func TimeIn(t time.Time, zone *time.Location) string {
	if t.IsZero() {
		return ""
	}
	return t.In(zone).Format(timeLayout)
}
