package repository

import (
	"go/ast"
	"go/parser"
	"go/token"
	"strings"
	"testing"
)

// maxTestLines is the maximum length of a function in a test, so that it fits a screen.
const maxTestLines = 60

// TestTestsFitAScreen checks how long the functions of tests are. Tables stand above them.
func TestTestsFitAScreen(t *testing.T) {
	walkGo(t, func(name string, source []byte) {
		if !strings.HasSuffix(name, "_test.go") {
			return
		}
		files := token.NewFileSet()
		file, err := parser.ParseFile(files, name, source, parser.SkipObjectResolution)
		if err != nil {
			t.Error(err)
			return
		}
		for _, d := range file.Decls {
			f, ok := d.(*ast.FuncDecl)
			if !ok {
				continue
			}
			first, last := files.Position(f.Pos()), files.Position(f.End())
			if n := last.Line - first.Line + 1; n > maxTestLines {
				t.Errorf("%s: %s has %d lines: divide it, or put its table above it", first, f.Name.Name, n)
			}
		}
	})
}
