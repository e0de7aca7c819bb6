package kernel

import (
	"encoding/csv"
	"io"
	"strings"
)

// WriteCSV writes rows as CSV. Cells that a spreadsheet would take for a formula begin with an apostrophe.
func WriteCSV(w io.Writer, rows [][]string) error {
	out := csv.NewWriter(w)
	for _, row := range rows {
		safe := make([]string, len(row))
		for i, cell := range row {
			if IsFormula(cell) {
				cell = "'" + cell
			}
			safe[i] = cell
		}
		if err := out.Write(safe); err != nil {
			return err
		}
	}
	out.Flush()
	return out.Error()
}

// IsFormula reports whether a spreadsheet would take a cell for a formula.
func IsFormula(cell string) bool {
	return cell != "" && strings.ContainsRune("=+-@\t\r\n", rune(cell[0]))
}
