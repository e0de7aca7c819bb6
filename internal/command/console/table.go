package console

import (
	"regexp"
	"slices"
	"strings"
	"unicode"

	"golang.org/x/text/width"
)

// Columns prints rows with aligned columns. Cells are not cut.
func (p Printer) Columns(rows [][]string) { p.rows(visibleRows(rows), 0) }

// Table prints rows with aligned columns. The first row is the header. On a terminal, cells are cut so that the rows
// fit, unless Wide is set. The first column, which has ids or slugs, is cut last.
func (p Printer) Table(rows [][]string) {
	limit := p.Width
	if p.Wide {
		limit = 0
	}
	p.rows(visibleRows(rows), limit)
}

func visibleRows(rows [][]string) [][]string {
	out := make([][]string, len(rows))
	for i, row := range rows {
		out[i] = make([]string, len(row))
		for k, cell := range row {
			out[i][k] = Visible(cell)
		}
	}
	return out
}

// gap is the number of spaces between two columns.
const gap = 2

// rows prints rows that fit into limit columns of the terminal; 0: no limit.
func (p Printer) rows(rows [][]string, limit int) {
	if limit > 0 && totalWidth(fitWidths(rows, 0)) > limit {
		dropSeconds(rows)
	}
	widths := fitWidths(rows, limit)
	for _, row := range rows {
		var line strings.Builder
		for i, cell := range row {
			cell = cut(cell, widths[i])
			line.WriteString(cell)
			if i < len(row)-1 {
				line.WriteString(strings.Repeat(" ", widths[i]-textWidth(cell)+gap))
			}
		}
		p.Printf("%s\n", strings.TrimRight(line.String(), " "))
	}
}

// timeCell matches a cell that Time has formatted.
var timeCell = regexp.MustCompile(`^(\d{4}-\d\d-\d\d \d\d:\d\d)(?::\d\d)?( [-+]\d\d:\d\d)$`)

// dropSeconds removes the seconds of all times in rows.
func dropSeconds(rows [][]string) {
	for _, row := range rows {
		for i := range row {
			row[i] = timeCell.ReplaceAllString(row[i], "$1$2")
		}
	}
}

// fitWidths returns the widths of the columns, which are reduced until a row fits into limit; 0: no limit.
func fitWidths(rows [][]string, limit int) []int {
	var widths []int
	var times []bool
	for _, row := range rows {
		for i, cell := range row {
			if i == len(widths) {
				widths, times = append(widths, 0), append(times, false)
			}
			widths[i] = max(widths[i], textWidth(cell))
			times[i] = times[i] || timeCell.MatchString(cell)
		}
	}
	if limit == 0 {
		return widths
	}
	excess := totalWidth(widths) - limit
	last := len(widths) - 1
	// The last column is a name or another text. Times are cut later, because half of one misleads.
	for _, stage := range []struct {
		least int
		may   func(i int) bool
	}{
		{16, func(i int) bool { return i == last && i > 0 }},
		{10, func(i int) bool { return i > 0 && !times[i] }},
		{len("2026-11-21 04:00…"), func(i int) bool { return times[i] }},
		{4, func(i int) bool { return i > 0 }},
		{4, func(int) bool { return true }},
	} {
		for ; excess > 0; excess-- {
			widest := -1
			for i, w := range widths {
				if stage.may(i) && w > stage.least && (widest < 0 || w > widths[widest]) {
					widest = i
				}
			}
			if widest < 0 {
				break
			}
			widths[widest]--
		}
	}
	return widths
}

// totalWidth returns the width of a row.
func totalWidth(widths []int) int {
	total := (len(widths) - 1) * gap
	for _, w := range widths {
		total += w
	}
	return total
}

// cut returns text, or its beginning and an ellipsis if it is wider than most.
func cut(text string, most int) string {
	if textWidth(text) <= most {
		return text
	}
	used := 0
	for i, r := range text {
		if used += runeWidth(r); used > most-1 {
			return strings.TrimRight(text[:i], " ") + "…"
		}
	}
	return text
}

// textWidth returns how many columns of a terminal a text takes.
func textWidth(text string) int {
	n := 0
	for _, r := range text {
		n += runeWidth(r)
	}
	return n
}

func runeWidth(r rune) int {
	if r < 0x300 {
		return 1
	}
	if unicode.In(r, unicode.Mn, unicode.Me, unicode.Cf) {
		return 0
	}
	if k := width.LookupRune(r).Kind(); k == width.EastAsianWide || k == width.EastAsianFullwidth {
		return 2
	}
	return 1
}

// ShortestPrefixes returns for each id its shortest prefix of at least least bytes that no other id begins with.
func ShortestPrefixes(ids []string, least int) []string {
	sorted := slices.Compact(slices.Sorted(slices.Values(ids)))
	length := make(map[string]int, len(sorted))
	for i, id := range sorted {
		n := least
		if i > 0 {
			n = max(n, commonPrefix(id, sorted[i-1])+1)
		}
		if i+1 < len(sorted) {
			n = max(n, commonPrefix(id, sorted[i+1])+1)
		}
		length[id] = min(n, len(id))
	}
	out := make([]string, len(ids))
	for i, id := range ids {
		out[i] = id[:length[id]]
	}
	return out
}

func commonPrefix(a, b string) int {
	n := 0
	for n < len(a) && n < len(b) && a[n] == b[n] {
		n++
	}
	return n
}
