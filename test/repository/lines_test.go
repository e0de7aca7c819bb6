package repository

import (
	"go/scanner"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"
)

// maxColumns is the length at which lines of Go end. A tab counts tabColumns.
const maxColumns, tabColumns = 120, 4

// maxTextColumns is how much of a line may be texts before it may be longer: texts that cannot be broken well, such as
// addresses, hashes, JSON, and the tags of fields.
const maxTextColumns = 70

// TestLinesEnd checks that lines of Go can be read without scrolling. Generated files are exempt, and the lines of a
// text between back quotes, whose line ends are part of it: but not statements in the store.
func TestLinesEnd(t *testing.T) {
	walkGo(t, func(name string, source []byte) {
		if strings.Contains(string(source[:min(len(source), 400)]), "DO NOT EDIT") {
			return
		}
		lines := strings.Split(string(source), "\n")
		texts := textColumns(source, len(lines), strings.HasPrefix(name, "internal/store/"))
		for i, line := range lines {
			columns := utf8.RuneCountInString(line) + (tabColumns-1)*strings.Count(line, "\t")
			if columns > maxColumns && texts[i] < maxTextColumns {
				t.Errorf("%s:%d has %d columns: lines end at %d", name, i+1, columns, maxColumns)
			}
		}
	})
}

// walkGo calls f with the name and the source of each file of Go in the repository.
func walkGo(t *testing.T, f func(name string, source []byte)) {
	t.Helper()
	err := filepath.WalkDir(".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || filepath.Ext(name) != ".go" {
			return err
		}
		source, err := os.ReadFile(name)
		if err == nil {
			f(filepath.ToSlash(name), source)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

// textColumns returns how many columns of each line are of strings. A line within a text that spans several counts as
// long enough, unless such texts are statements.
func textColumns(source []byte, lines int, statements bool) []int {
	columns := make([]int, lines)
	files := token.NewFileSet()
	file := files.AddFile("", -1, len(source))
	var s scanner.Scanner
	s.Init(file, source, nil, 0)
	for {
		pos, tok, literal := s.Scan()
		if tok == token.EOF {
			return columns
		}
		if tok != token.STRING {
			continue
		}
		first := file.Line(pos) - 1
		switch spans := strings.Count(literal, "\n"); {
		case spans == 0:
			columns[first] += utf8.RuneCountInString(literal)
		case !statements:
			for i := range spans + 1 {
				columns[first+i] = maxTextColumns
			}
		}
	}
}
