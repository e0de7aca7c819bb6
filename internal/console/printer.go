package console

import (
	"encoding/json"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"
)

// Printer prints results: as JSON for programs, or as text for people. Text has no colour codes and no control
// characters of the data.
type Printer struct {
	*Console
	JSON bool
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

// Columns prints rows with aligned columns.
func (p Printer) Columns(rows [][]string) {
	var widths []int
	for _, row := range rows {
		for i := range row {
			row[i] = Visible(row[i])
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
		p.Printf("%s\n", strings.TrimRight(line.String(), " "))
	}
}

// Facts prints names and values, a pair on each line. Pairs with an empty value are left out.
func (p Printer) Facts(pairs ...[2]string) {
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

// Visible makes text safe for one line of a terminal: line breaks become spaces, and characters that move the cursor,
// change colours or change the direction of text become U+FFFD.
func Visible(text string) string {
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

// Paragraph makes text of several lines safe for a terminal, and indents each line.
func Paragraph(text, indent string) string {
	lines := strings.Split(strings.TrimRight(text, "\n"), "\n")
	for i, line := range lines {
		lines[i] = strings.TrimRight(indent+Visible(line), " ")
	}
	return strings.Join(lines, "\n")
}

// Time formats a time in the time zone of this computer. The zero time is "".
func Time(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.Local().Format("2006-01-02 15:04:05 MST")
}
